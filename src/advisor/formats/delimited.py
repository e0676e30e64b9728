"""CSV: text separated by commas, semicolons or tabs."""

import csv
import io
import os
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from advisor.errors import InputError
from advisor.formats import arrow, cells, columns
from advisor.formats.cells import Numbers
from advisor.formats.rows import Rows
from advisor.formats.runs import VARYING, Misplaced, Requests, Runs
from advisor.formats.source import Source
from advisor.formats.table import Block, Table, read_table
from advisor.text import printable

BLOCK_ROWS: Final = 50_000
LONGEST_LINE: Final = 2**20
_SEPARATORS: Final = (",", ";", "\t")
_COMMENT: Final = re.compile(r'\s*"?\s*#')
_VERSION: Final = re.compile(r'\s*"?\s*#\s*advisor_result\s+(\d+)')
_SEPARATOR_LINE: Final = re.compile(r"sep=([,;\t])\s*")
_PIECE_BYTES: Final = 2**22


def recognises(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Tell whether this is text that no other format claims."""
    return True


@dataclass(frozen=True)
class _Layout:
    """How a file is laid out: lines before the data, separator, header, encoding."""

    skipped_lines: int
    separator: str
    names: list[str]
    encoding: str


def read(source: Source, known_types: Collection[str] | None = None) -> Rows:
    """Read a CSV file of raw samples or summaries.

    Raises:
        InputError: what cannot be read, with file and line.
    """
    layout = _layout(source)
    if layout.encoding == "utf-8-sig" and "" not in layout.names and "latency_" in " ".join(layout.names):
        rows = _fast(source, layout, known_types)
        if rows is not None:
            return rows
    blocks = _blocks(source, layout)
    return read_table(Table(source.name, blocks, "line", Numbers(layout.separator)), known_types)


def lines(source: Source) -> Iterator[str]:
    """Yield the lines of a text file with their ends.

    Raises:
        InputError: not text in this encoding, or a line of over a MiB.
    """
    number, encoding = 0, source.encoding()
    with source.open() as stream, io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        try:
            while line := text.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE:
                    raise InputError(
                        f"{source.name} line {number}: is longer than a MiB: this is no table of text"
                    )
                yield line
        except UnicodeDecodeError as error:
            raise _undecodable(source, encoding) from error


def _undecodable(source: Source, encoding: str) -> InputError:
    if encoding == "utf-16":
        return InputError(f"{source.name}: is not valid UTF-16: save it as UTF-8")
    offset = 0
    with source.open() as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                at = offset + error.start
                return InputError(
                    f"{source.name} line {number}: byte {at} (0x{line[error.start]:02x}) is not UTF-8 text: "
                    "save the file as UTF-8"
                )
            offset += len(line)
    return InputError(f"{source.name}: is not UTF-8 text: save the file as UTF-8")


def _layout(source: Source) -> _Layout:
    skipped, forced = 0, ""
    for line in lines(source):
        if "\x00" in line:
            raise InputError(f"{source.name}: is no text file (it holds zero bytes)")
        version = _VERSION.match(line)
        if version and int(version[1]) > columns.VERSION:
            raise InputError(
                f"{source.name}: is of version {version[1]}, this advisor reads {columns.VERSION}"
            )
        separator = _SEPARATOR_LINE.fullmatch(line)
        if separator:
            forced = separator[1]
        if separator or _COMMENT.match(line) or not line.strip():
            skipped += 1
            continue
        chosen, names = _header(line, forced)
        return _Layout(skipped + 1, chosen, names, source.encoding())
    raise InputError(f"{source.name}: has no header")


def _header(line: str, forced: str) -> tuple[str, list[str]]:
    """Return the separator under which most of the header is known, and the names."""
    best: tuple[int, str, list[str]] = (-1, ",", [])
    for separator in (forced,) if forced else _SEPARATORS:
        try:
            names = [name.strip() for name in next(csv.reader([line], delimiter=separator))]
        except (csv.Error, StopIteration):
            continue
        known = sum(_known(name) for name in names)
        if known > best[0]:
            best = (known, separator, names)
    return best[1], best[2]


def _known(name: str) -> bool:
    try:
        columns.find(name, columns.declared())
    except ValueError:
        return False
    return True


def _blocks(source: Source, layout: _Layout) -> Iterator[Block]:
    """Yield the rows, each field as text; the number of a row is its first line."""
    text = lines(source)
    for _ in range(layout.skipped_lines):
        next(text)
    reader = csv.reader(text, delimiter=layout.separator, strict=True)
    width = len(layout.names)
    rows: list[list[str]] = []
    numbers: list[int] = []
    start = layout.skipped_lines + 1
    try:
        for row in reader:
            number, start = start, layout.skipped_lines + reader.line_num + 1
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != width:
                few = "is it cut off?" if len(row) < width else "is a field with a separator not quoted?"
                raise InputError(
                    f"{source.name} line {number}: has {len(row)} fields, the header has {width}: {few}"
                )
            rows.append(row)
            numbers.append(number)
            if len(rows) == BLOCK_ROWS:
                yield _block(source, layout, rows, numbers)
                rows, numbers = [], []
    except csv.Error as error:
        raise InputError(
            f"{source.name} line {start}: {error}: is a quote missing, or the file cut off?"
        ) from None
    if rows:
        yield _block(source, layout, rows, numbers)


def _block(source: Source, layout: _Layout, rows: list[list[str]], numbers: list[int]) -> Block:
    by_name = {}
    for at, name in enumerate(layout.names):
        column = [row[at] for row in rows]
        if name == "":
            for cell, number in zip(column, numbers, strict=True):
                if cell.strip():
                    raise InputError(
                        f'{source.name} line {number}: "{printable(cell)}" stands in a column without a name'
                    )
            continue
        by_name[name, at] = [cells.unescape(cell) for cell in column]
    return Block([name for name, _ in by_name], list(by_name.values()), numbers)


def _fast(source: Source, layout: _Layout, known_types: Collection[str] | None) -> Rows | None:
    """Read raw samples by column; None where anything is not plain, so that the careful reader has the word."""
    try:
        header = columns.header(layout.names, known_types)
        if not columns.is_raw({column.name for column in header}):
            return None
    except ValueError:
        return None
    marks = (".", ",") if layout.separator == ";" else (".",)
    return next((rows for mark in marks if (rows := _stream(source, layout, header, mark)) is not None), None)


def _stream(source: Source, layout: _Layout, header: list[columns.Column], mark: str) -> Rows | None:
    """Read pieces of the file on several cores, and take them in, in order."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    by_name = {column.name: (column, name) for column, name in zip(header, layout.names, strict=True)}
    if "measured_on" in by_name:
        by_name.pop("started_at", None)
    floats = ("latency_ms", *VARYING)
    types = {name: pa.float64() if target in floats else pa.string() for target, (_, name) in by_name.items()}
    reading = arrow_csv.ReadOptions(
        block_size=2 * _PIECE_BYTES + LONGEST_LINE, column_names=layout.names, use_threads=False
    )
    parsing = arrow_csv.ParseOptions(delimiter=layout.separator)
    converting = arrow_csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=[""],
        strings_can_be_null=False,
        decimal_point=mark,
    )
    numbers = Numbers(",") if mark == "." else Numbers(";", ",")

    def requests(piece: bytes) -> list[Requests]:
        table = arrow_csv.read_csv(pa.py_buffer(piece), reading, parsing, converting)
        return [arrow.requests(batch, by_name, numbers, cells.unescape) for batch in table.to_batches()]

    runs = Runs()
    try:
        for batches in _in_order(requests, _pieces(source, layout.skipped_lines)):
            for found in batches:
                runs.add(found)
    except (pa.ArrowException, Misplaced, ValueError):
        return None
    return runs.rows(source.name, "line") if runs.request_count else None


def _in_order(work: Callable[[bytes], list[Requests]], pieces: Iterator[bytes]) -> Iterator[list[Requests]]:
    """Yield the result for each piece, in order, with only a few in work at a time."""
    workers = min(4, os.cpu_count() or 1)
    waiting: deque[Future[list[Requests]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for piece in pieces:
            waiting.append(pool.submit(work, piece))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _pieces(source: Source, skipped_lines: int) -> Iterator[bytes]:
    """Yield the data in pieces that end with a line.

    Raises:
        ValueError: a piece would end inside a quoted field, or has no line end.
    """
    with source.open() as stream:
        for _ in range(skipped_lines):
            if b"\r" in stream.readline(LONGEST_LINE).rstrip(b"\r\n"):
                raise ValueError("lines that end with a carriage return alone")
        rest = b""
        while data := stream.read(_PIECE_BYTES):
            end = data.rfind(b"\n") + 1
            if end == 0:
                raise ValueError("no line end")
            piece, rest = b"".join((rest, memoryview(data)[:end])), data[end:]
            if b'"' in piece and piece.count(b'"') % 2:
                raise ValueError("a piece ends inside quotes")
            if not piece.isspace():
                yield piece
        if rest and not rest.isspace():
            yield rest
