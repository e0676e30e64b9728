"""Result files: raw samples and summaries, read into checked tables and written back.

A format is two functions in one module, named once in `FORMATS`: `recognises(head, name)` and `read(source, known_types)`.
"""

import glob
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from advisor.data import committed
from advisor.errors import InputError
from advisor.formats import delimited, json_array, json_lines, parquet, spreadsheet
from advisor.formats.rows import Rows, assemble, plain
from advisor.formats.source import MAX_EXPANDED_BYTES, Source
from advisor.formats.writing import write
from advisor.tables import Benchmarks
from advisor.text import printable


@dataclass(frozen=True)
class Format:
    """How files of one kind are read.

    Attributes:
        recognises: tells by the first 64 KiB (expanded) and the name whether a file is of this kind.
        read: reads it.
    """

    recognises: Callable[[bytes, str], bool]
    read: Callable[[Source, Collection[str] | None], Rows]


FORMATS: Final[dict[str, Format]] = {
    "parquet": Format(parquet.recognises, parquet.read),
    "xlsx": Format(spreadsheet.recognises, spreadsheet.read),
    "json": Format(json_array.recognises, json_array.read),
    "jsonl": Format(json_lines.recognises, json_lines.read),
    "csv": Format(delimited.recognises, delimited.read),
}
"""Asked in this order; CSV is last because it is what any text may be."""

EXTENSIONS: Final = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson", ".xlsx")
"""What is looked for in a folder, also followed by .gz or .zst."""


def read(
    paths: str | Path | Iterable[str | Path],
    *,
    known_types: Collection[str] | None = None,
    max_expanded_bytes: int = MAX_EXPANDED_BYTES,
) -> Benchmarks:
    """Read result files.

    Args:
        paths: files, folders (their files, not those of folders inside) and globs.
        known_types: instance types there are; None: any is accepted.
        max_expanded_bytes: what a compressed, XLSX or Parquet file may expand to.

    Raises:
        InputError: nothing found, or what cannot be read, with file and row.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files = find(given)
    return together(read_files(files, known_types=known_types, max_expanded_bytes=max_expanded_bytes))


def together(parts: Sequence[Rows]) -> Benchmarks:
    """Put the rows of several files together.

    Raises:
        InputError: the same benchmark twice.
    """
    return assemble(parts, tuple(part.name for part in parts))


def read_files(
    files: Iterable[Path],
    *,
    known_types: Collection[str] | None = None,
    max_expanded_bytes: int = MAX_EXPANDED_BYTES,
) -> list[Rows]:
    """Read files one by one, not yet put together."""
    return [
        _read(Source(printable(path), path, None, max_expanded_bytes), path.name, known_types)
        for path in files
    ]


def read_upload(
    name: str,
    data: bytes,
    *,
    known_types: Collection[str] | None = None,
    max_expanded_bytes: int = MAX_EXPANDED_BYTES,
) -> Benchmarks:
    """Read one file from its bytes; the name is only shown, no file of that name is touched.

    Raises:
        InputError: what cannot be read, with name and row.
    """
    shown = printable(name) or "upload"
    rows = _read(Source(shown, None, data, max_expanded_bytes), shown, known_types)
    return assemble([rows], (shown,))


def packaged() -> Benchmarks:
    """Read the committed benchmarks.

    Raises:
        PricesError: this installation does not hold them.
        InputError: one of them cannot be read.
    """
    folder = committed("benchmarks")
    parts = [_read(Source(f"benchmarks/{path.name}", path), path.name, None) for path in find([folder])]
    return assemble(parts, ("packaged benchmarks",))


def combine(*benchmarks: Benchmarks) -> Benchmarks:
    """Put benchmarks together.

    Raises:
        InputError: the same benchmark in two of them.
    """
    parts = []
    for found in benchmarks:
        values = {str(name): plain(found.rows[name]) for name in found.rows.columns}
        parts.append(Rows(", ".join(found.origin), values, [""] * len(found.rows), dict(found.samples)))
    return assemble(parts, tuple(origin for found in benchmarks for origin in found.origin))


def find(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files that files, folders and globs stand for, each once.

    Raises:
        InputError: one of them stands for nothing, or none is given.
    """
    found: dict[Path, Path] = {}
    for given in paths:
        for path in _files(given):
            found.setdefault(path.resolve(), path)
    if not found:
        raise InputError("no result file given")
    return list(found.values())


def _files(given: str | Path) -> list[Path]:
    try:
        path = Path(given).expanduser()
        if path.is_dir():
            inside = sorted(entry for entry in path.iterdir() if _is_result(entry))
            if not inside:
                raise InputError(
                    f"{printable(given)}: no result file in this folder ({', '.join(EXTENSIONS)})"
                )
            return inside
        if path.is_file():
            return [path]
        if path.exists():
            raise InputError(f"{printable(given)}: is no regular file")
        matches = sorted(
            Path(match)
            for match in glob.glob(str(path))  # noqa: PTH207 (absolute patterns too)
            if Path(match).is_file()
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{printable(given)}: cannot be looked up: {error}") from error
    if not matches:
        what = "nothing matches" if glob.has_magic(str(given)) else "no such file or folder:"
        raise InputError(f"{what} {printable(given)}")
    return matches


def _is_result(path: Path) -> bool:
    if path.name.startswith(".") or not path.is_file():
        return False
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in EXTENSIONS


def _read(source: Source, name: str, known_types: Collection[str] | None) -> Rows:
    head = source.head()
    if not head:
        raise InputError(f"{source.name}: is empty")
    chosen = next(found for found in FORMATS.values() if found.recognises(head, name))
    try:
        return chosen.read(source, known_types)
    except (OSError, MemoryError) as error:
        raise InputError(f"{source.name}: cannot be read: {error or 'not enough memory'}") from error


__all__ = [
    "EXTENSIONS",
    "FORMATS",
    "MAX_EXPANDED_BYTES",
    "Format",
    "combine",
    "find",
    "packaged",
    "read",
    "read_files",
    "read_upload",
    "together",
    "write",
]
