"""Benchmarks to files that `read` gives back unchanged."""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final

import numpy as np

from advisor.errors import InputError
from advisor.formats import cells, columns
from advisor.formats.json_lines import HEADER
from advisor.formats.rows import plain
from advisor.formats.runs import CODED, VARYING
from advisor.tables import Benchmarks, percentile_columns
from advisor.text import closest, printable

NEEDED: Final = ("model", "instance_type")
FAILED: Final = "failed"
"""What the `error` column of written raw samples says; why a request failed is not kept."""

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The creation date of a workbook, so that the same benchmarks give the same bytes."""

Column = tuple[str, list[Any]]


def write(benchmarks: Benchmarks, path: str | Path, *, raw: bool | None = None) -> None:
    """Write benchmarks to a new file, or over an old one, in one step.

    Args:
        benchmarks: what to write.
        path: the file; its ending says the format (.csv, .json, .jsonl, .parquet, .xlsx).
        raw: one row a request (every row must have samples), or one row a run; None: raw where every row has samples.

    Raises:
        InputError: no such format, a file that cannot be written, or raw samples asked where there are none.
    """
    path = Path(path)
    encode = _ENCODERS.get(path.suffix.lower())
    if encode is None:
        raise InputError(
            f"{printable(path)}: cannot be written as {path.suffix or 'a file without an ending'}"
            f"{closest(path.suffix, _ENCODERS)}: use {', '.join(_ENCODERS)}"
        )
    has_samples = bool(benchmarks.samples) and len(benchmarks.samples) == len(benchmarks.rows)
    if raw is None and benchmarks.samples and not has_samples:
        raise InputError(
            f"{printable(path)}: some rows have raw samples and some not: write them to two files"
        )
    if raw and not has_samples:
        raise InputError(f"{printable(path)}: not every row has raw samples")
    table = raw_table(benchmarks) if has_samples and raw is not False else summary_table(benchmarks)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as stream:
            encode(table, stream)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{printable(path)}: cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def summary_table(benchmarks: Benchmarks) -> list[Column]:
    """Return one row a run; columns that say nothing are left out."""
    rows = benchmarks.rows
    kept = {*NEEDED, "latency_mean_ms", *percentile_columns(rows).values()}
    found = [(str(name), plain(rows[name])) for name in rows.columns]
    return [(name, values) for name, values in found if name in kept or _says(name, values)]


def raw_table(benchmarks: Benchmarks) -> list[Column]:
    """Return one row a request, the failed ones of a run after its others; columns that say nothing are left out.

    Raises:
        InputError: a run without a request.
    """
    rows, order = benchmarks.rows, range(len(benchmarks.rows))
    samples = [benchmarks.samples[at] for at in order]
    counts = [len(found.latency_ms) + found.error_count for found in samples]
    if 0 in counts:
        raise InputError("a run without a single request cannot be written as raw samples")
    table = []
    for name in (*CODED, *VARYING):
        if name not in rows:
            continue
        values = plain(rows[name])
        if name in NEEDED or _says(name, values):
            table.append((name, _repeated(values, counts)))
    looks = [found.look for found in samples]
    if any(look != 1 for look in looks):
        table.append(("look", _repeated(looks, counts)))
    latencies: list[Any] = []
    errors: list[Any] = []
    for found in samples:
        latencies.extend([*found.latency_ms.tolist(), *[None] * found.error_count])
        errors.extend([*[""] * len(found.latency_ms), *[FAILED] * found.error_count])
    table.append(("latency_ms", latencies))
    if any(errors):
        table.append(("error", errors))
    return table


def _says(name: str, values: Sequence[Any]) -> bool:
    default = columns.DEFAULTS.get(name, 0 if name == "attached_accelerator_count" else "")
    return any(value is not None and value != default for value in values)


def _repeated(values: Sequence[Any], counts: Sequence[int]) -> list[Any]:
    return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]


def _is_text(name: str) -> bool:
    column = columns.declared().get(name)
    return column is not None and column.kind == "text"


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _lines(table: list[Column]) -> Iterator[list[Any]]:
    for row in zip(*(values for _, values in table), strict=True):
        yield [_number(value) for value in row]


def _csv(table: list[Column], stream: BinaryIO) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    text.write(f"# {HEADER} {columns.VERSION}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in table])
    escaped = [
        (name, [cells.escape(value) for value in values] if _is_text(name) else values)
        for name, values in table
    ]
    writer.writerows(["" if value is None else value for value in row] for row in _lines(escaped))
    text.flush()
    text.detach()


def _objects(table: list[Column]) -> Iterator[str]:
    names = [name for name, _ in table]
    for row in _lines(table):
        said = {
            name: value
            for name, value in zip(names, row, strict=True)
            if value is not None or name.startswith("latency_")
        }
        yield json.dumps(said, ensure_ascii=False, allow_nan=False)


def _json(table: list[Column], stream: BinaryIO) -> None:
    rows = ",\n".join(_objects(table))
    stream.write(f'{{"{HEADER}": {columns.VERSION}, "rows": [\n{rows}\n]}}\n'.encode())


def _json_lines(table: list[Column], stream: BinaryIO) -> None:
    for line in _objects(table):
        stream.write(line.encode() + b"\n")


def _parquet(table: list[Column], stream: BinaryIO) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {name: columns.declared().get(name) or columns.percentile(name) for name, _ in table}
    arrow_types = {"text": pa.string(), "count": pa.int64(), "number": pa.float64(), "latency": pa.float64()}
    found = pa.table({name: pa.array(values, arrow_types[kinds[name].kind]) for name, values in table})
    found = found.replace_schema_metadata({HEADER: str(columns.VERSION)})
    parquet.write_table(found, stream, compression="zstd")


def _xlsx(table: list[Column], stream: BinaryIO) -> None:
    import xlsxwriter
    from xlsxwriter.worksheet import Worksheet

    class Exact(Worksheet):  # type: ignore[misc]
        """Writes every digit of a number; the library writes sixteen, which is not always the same number."""

        def _xml_number_element(self, number: Any, attributes: Any = ()) -> None:
            shown = "".join(f' {key}="{value}"' for key, value in attributes)
            self.fh.write(f"<c{shown}><v>{number!r}</v></c>")

    length = len(table[0][1]) if table else 0
    if length > 2**20 - 2:
        raise InputError("a sheet holds 1,048,574 rows at most: write CSV or Parquet")
    book = xlsxwriter.Workbook(stream, {"in_memory": True, "constant_memory": False})
    book.set_properties({"created": _EPOCH})
    sheet = book.add_worksheet("results", worksheet_class=Exact)
    sheet.write_string(0, 0, f"# {HEADER} {columns.VERSION}")
    sheet.freeze_panes(2, 0)
    for at, (name, _) in enumerate(table):
        sheet.write_string(1, at, name)
    for number, row in enumerate(_lines(table), start=2):
        for at, value in enumerate(row):
            if isinstance(value, str):
                if value and sheet.write_string(number, at, value) != 0:
                    raise InputError(f"a text of {len(value):,} characters is too long for a spreadsheet")
            elif value is not None:
                sheet.write_number(number, at, value)
    book.close()


_ENCODERS: Final[Mapping[str, Callable[[list[Column], BinaryIO], None]]] = MappingProxyType(
    {".csv": _csv, ".json": _json, ".jsonl": _json_lines, ".parquet": _parquet, ".xlsx": _xlsx}
)
