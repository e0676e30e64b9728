"""XLSX workbooks: every sheet that has a header with `model` and `instance_type`."""

import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, time
from typing import Any, BinaryIO, Final

from advisor.errors import InputError
from advisor.formats import columns
from advisor.formats.cells import Cell
from advisor.formats.rows import Rows
from advisor.formats.source import Source
from advisor.formats.table import Block, Table, read_table
from advisor.text import printable

LAST_ROW: Final = 2**20
_BLOCK_ROWS: Final = 10_000
_CHUNK_BYTES: Final = 2**20
_OVERLAP_BYTES: Final = 16
_FORMULA: Final = re.compile(rb"<(?:\w+:)?f[\s/>]")
_DECLARATION: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
_VERSION: Final = re.compile(r"#\s*advisor_result\s+(\d+)")
_OLD: Final = b"\xd0\xcf\x11\xe0"


def recognises(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Tell by the first four bytes: a ZIP archive, or an old or encrypted workbook (which is refused)."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06", _OLD))


def read(source: Source, known_types: Collection[str] | None = None) -> Rows:
    """Read a workbook of raw samples or summaries.

    Raises:
        InputError: what cannot be read, with file and row of the sheet.
    """
    with source.seekable() as stream:
        if stream.read(4) == _OLD:
            raise InputError(f"{source.name}: an old (.xls) or encrypted workbook: save it as a plain .xlsx")
        stream.seek(0)
        try:
            return _read(source, stream, formulas=_inspect(source, stream), known_types=known_types)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{source.name}: cut off or damaged: it cannot be read as a workbook") from error


def _inspect(source: Source, stream: BinaryIO) -> bool:
    """Expand every part under the limit; tell whether there are formulas.

    Raises:
        InputError: too large, or XML with declarations, which could expand without end.
    """
    formulas, count = False, 0
    with zipfile.ZipFile(stream) as archive:
        parts = archive.infolist()
        if not any(part.filename == "[Content_Types].xml" for part in parts):
            raise InputError(f"{source.name}: a ZIP archive that is no workbook: give the files inside it")
        if sum(part.file_size for part in parts) > source.max_expanded_bytes:
            raise source.too_large()
        for part in parts:
            with archive.open(part) as member:
                tail = b""
                while data := member.read(_CHUNK_BYTES):
                    count += len(data)
                    if count > source.max_expanded_bytes:
                        raise source.too_large()
                    seen = tail + data
                    if _DECLARATION.search(seen):
                        raise InputError(f"{source.name}: holds XML declarations that no workbook needs")
                    formulas = formulas or (
                        part.filename.startswith("xl/worksheets/") and _FORMULA.search(seen) is not None
                    )
                    tail = data[-_OVERLAP_BYTES:]
    stream.seek(0)
    return formulas


def _read(source: Source, stream: BinaryIO, *, formulas: bool, known_types: Collection[str] | None) -> Rows:
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        written = openpyxl.load_workbook(stream, read_only=True) if formulas else None
        sheets = [sheet for sheet in book.worksheets if _is_table(sheet)]
        if not sheets:
            if not any(
                any(value is not None for value in row) for sheet in book.worksheets for row in _rows(sheet)
            ):
                raise InputError(f"{source.name}: is empty")
            raise InputError(f'{source.name}: no sheet has a header with "model" and "instance_type"')
        done = Rows(source.name, {}, [])
        for sheet in sheets:
            name = source.name if len(sheets) == 1 else f'{source.name} sheet "{printable(sheet.title)}"'
            beside = None if written is None else written[sheet.title]
            rows = read_table(Table(name, _blocks(name, sheet, beside)), known_types)
            rows.places = [f"{name.removeprefix(source.name)} {place}".lstrip() for place in rows.places]
            done.extend(rows)
    return done


def _rows(sheet: Any) -> Iterator[Sequence[Any]]:
    sheet.reset_dimensions()
    found: Iterator[Sequence[Any]] = sheet.iter_rows(max_row=LAST_ROW, values_only=True)
    return found


def _skipped(row: Sequence[Any]) -> bool:
    """Tell a row that says nothing, or a comment."""
    first = next((value for value in row if value is not None and str(value).strip()), None)
    return first is None or (isinstance(first, str) and first.lstrip().startswith("#"))


def _is_table(sheet: Any) -> bool:
    header = next((row for row in _rows(sheet) if not _skipped(row)), ())
    names = {str(value).strip() for value in header}
    return {"model", "instance_type"} <= names


def _blocks(name: str, sheet: Any, written: Any) -> Iterator[Block]:
    """Yield the rows under the header; a formula gives its stored result."""
    header: list[str] | None = None
    block: list[list[Cell]] = []
    numbers: list[int] = []
    beside = iter(()) if written is None else _rows(written)
    for number, row in enumerate(_rows(sheet), start=1):
        formulas = next(beside, ())
        if header is None:
            if _skipped(row):
                _refuse_newer(name, row)
                continue
            header = [str("" if value is None else value).strip() for value in row]
            while header and not header[-1]:
                header.pop()
            continue
        _refuse_unstored(name, number, row, formulas)
        if all(value is None or value == "" for value in row):
            continue
        block.append(_cells(name, number, header, row))
        numbers.append(number)
        if len(block) == _BLOCK_ROWS:
            yield _block(header, block, numbers)
            block, numbers = [], []
    if header is not None and block:
        yield _block(header, block, numbers)


def _block(header: list[str], rows: list[list[Cell]], numbers: list[int]) -> Block:
    kept = [at for at, name in enumerate(header) if name]
    return Block([header[at] for at in kept], [[row[at] for row in rows] for at in kept], numbers)


def _refuse_newer(name: str, row: Sequence[Any]) -> None:
    for value in row:
        version = _VERSION.match(str(value).strip())
        if version and int(version[1]) > columns.VERSION:
            raise InputError(f"{name}: is of version {version[1]}, this advisor reads {columns.VERSION}")


def _refuse_unstored(name: str, number: int, row: Sequence[Any], formulas: Sequence[Any]) -> None:
    for at, formula in enumerate(formulas):
        stored = row[at] if at < len(row) else None
        if stored is None and formula is not None:
            raise InputError(
                f"{name} row {number}: the formula {printable(formula)[:40]} has no stored result: "
                "open the file in a spreadsheet program and save it"
            )


def _cells(name: str, number: int, header: list[str], row: Sequence[Any]) -> list[Cell]:
    found: list[Cell] = []
    for at, value in enumerate(row):
        named = at < len(header) and header[at]
        if not named and value is not None and str(value).strip():
            raise InputError(f'{name} row {number}: "{printable(value)}" stands in a column without a name')
        if at < len(header):
            found.append(_cell(value))
    return found + [None] * (len(header) - len(found))


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
