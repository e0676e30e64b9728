"""JSON lines: one object a request or a benchmark, or the sections that the live benchmark writes."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from advisor.errors import InputError
from advisor.formats import columns
from advisor.formats.cells import Cell, Numbers
from advisor.formats.delimited import BLOCK_ROWS, lines
from advisor.formats.rows import INTERRUPTED, Rows
from advisor.formats.runs import Runs
from advisor.formats.source import Source, encoding_of
from advisor.formats.table import Block, Table, add_block, read_table
from advisor.text import clean

HEADER: Final = "advisor_result"
"""The key that starts a section, and that carries the version."""


def recognises(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Tell whether the text starts with an object."""
    return head.decode(encoding_of(head), "ignore").lstrip().startswith("{")


def read(source: Source, known_types: Collection[str] | None = None) -> Rows:
    """Read JSON lines of raw samples, of summaries, or of a live benchmark.

    Raises:
        InputError: what cannot be read, with file and line.
    """
    records = _records(source)
    first = next(records, None)
    if first is None:
        raise InputError(f"{source.name}: is empty")
    if HEADER in first[1]:
        return _sections(source, first, records, known_types)
    return read_table(Table(source.name, blocks(source.name, "line", _records(source)), "line"), known_types)


def loads(text: str) -> Any:
    """Return what a JSON text says.

    Raises:
        ValueError: it is no JSON, names a key twice, or holds NaN or an infinity.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("names a key twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not finite: write null where a figure is not known")


def cell(value: Any) -> Cell:
    """Return a JSON value as a cell.

    Raises:
        ValueError: it is a list or an object.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError("holds a list or an object where one value is needed")


def blocks(name: str, word: str, records: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[Block]:
    """Yield numbered objects as blocks of cells.

    Raises:
        InputError: a value is a list or an object.
    """
    remaining = iter(records)
    while chunk := list(islice(remaining, BLOCK_ROWS)):
        names = list(dict.fromkeys(key for _, record in chunk for key in record))
        found: list[list[Cell]] = [[] for _ in names]
        for number, record in chunk:
            for key, column in zip(names, found, strict=True):
                try:
                    column.append(cell(record.get(key)))
                except ValueError as error:
                    raise InputError(f"{name} {word} {number}: {key} {error}") from None
        yield Block(names, found, [number for number, _ in chunk])


def _records(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects with their lines; of a measurement, a last line that is cut off ends the file."""
    measured = False
    for number, line in enumerate(lines(source), start=1):
        if not line.strip():
            continue
        try:
            record = loads(line)
        except ValueError as error:
            cut = not line.endswith("\n")
            if cut and measured:
                yield number, {}
                return
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise InputError(
                f"{source.name} line {number}: {'cut off' if cut else 'no JSON object'}: {reason}"
            ) from None
        if not isinstance(record, dict):
            raise InputError(f"{source.name} line {number}: every line must be one object ({{...}})")
        measured = measured or HEADER in record
        if not record:
            raise InputError(f"{source.name} line {number}: is an empty object")
        yield number, record


@dataclass
class _Section:
    """One measured configuration of a live benchmark."""

    table: Table
    number: int
    benchmark: dict[str, Cell]
    runs: Runs = field(default_factory=Runs)
    pending: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    end: dict[str, Any] | None = None

    def take(self, number: int, record: dict[str, Any], known_types: Collection[str] | None) -> None:
        self.end = None
        self.pending.append((number, record))
        if len(self.pending) == BLOCK_ROWS:
            self.flush(known_types)

    def flush(self, known_types: Collection[str] | None) -> None:
        same = self.benchmark
        merged = ((number, {**same, "latency_ms": None, **record}) for number, record in self.pending)
        for block in blocks(self.table.name, "line", merged):
            add_block(self.runs, self.table, block, known_types)
        self.pending = []


def _sections(
    source: Source,
    first: tuple[int, dict[str, Any]],
    rest: Iterator[tuple[int, dict[str, Any]]],
    known_types: Collection[str] | None,
) -> Rows:
    table = Table(source.name, (), "line")
    section = _section(table, *first, known_types)
    done = Rows(source.name, {}, [])
    for number, record in rest:
        if HEADER in record:
            _close(section, done, known_types)
            section = _section(table, number, record, known_types)
        elif isinstance(record.get("end"), dict):
            section.end = record["end"]
        elif record:
            section.take(number, record, known_types)
        else:
            section.end = None
    _close(section, done, known_types)
    return done


def _section(
    table: Table, number: int, record: dict[str, Any], known_types: Collection[str] | None
) -> _Section:
    version, benchmark = record[HEADER], record.get("benchmark")
    if version != columns.VERSION:
        raise table.error(number, f"is of version {version}, this advisor reads {columns.VERSION}")
    if not isinstance(benchmark, dict):
        raise table.error(number, 'has no object "benchmark" that says what was measured')
    block = next(blocks(table.name, "line", [(number, benchmark)]))
    try:
        columns.is_raw({"latency_ms", *(column.name for column in columns.header(block.names, known_types))})
    except ValueError as error:
        raise table.error(number, str(error)) from None
    return _Section(
        table, number, {key: found[0] for key, found in zip(block.names, block.cells, strict=True)}
    )


def _close(section: _Section, done: Rows, known_types: Collection[str] | None) -> None:
    """Add the rows of a section to those that are done."""
    section.flush(known_types)
    table = section.table
    if section.runs.request_count:
        rows = section.runs.rows(table.name, "line")
    else:
        rows = _empty(section, known_types)
    figures, look = _figures(section, known_types)
    for name, value in figures.items():
        rows.columns[name] = [value] * len(rows.places)
    added = [INTERRUPTED] if section.end is None else _notes(section.end)
    if added:
        notes = rows.columns.get("note") or [""] * len(rows.places)
        rows.columns["note"] = ["; ".join([note, *added] if note else added) for note in notes]
    if section.end is not None and section.end.get("quality") == "suspect":
        rows.columns["quality"] = ["suspect"] * len(rows.places)
    if look is not None:
        rows.samples = {at: replace(found, look=look) for at, found in rows.samples.items()}
    done.extend(rows)


def _notes(end: Mapping[str, Any]) -> list[str]:
    """Return what was found out while measuring, one clause each."""
    found = end.get("notes")
    return [clean(note) for note in found if isinstance(note, str)] if isinstance(found, list) else []


def _empty(section: _Section, known_types: Collection[str] | None) -> Rows:
    """Return the row of a section in which not one request was measured."""
    runs = Runs()
    block = next(
        blocks(
            section.table.name,
            "line",
            [(section.number, {**section.benchmark, "latency_ms": None, "error": "x"})],
        )
    )
    add_block(runs, section.table, block, known_types)
    rows = runs.rows(section.table.name, "line")
    rows.columns["error_count"] = [0]
    rows.samples = {at: replace(found, error_count=0) for at, found in rows.samples.items()}
    rows.request_count = 0
    return rows


def _figures(section: _Section, known_types: Collection[str] | None) -> tuple[dict[str, Any], int | None]:
    """Return the columns of benchmarks among the closing figures, and how often the series was judged."""
    declared, numbers = columns.declared(known_types), Numbers()
    found: dict[str, Any] = {}
    for name in (
        "look",
        "throughput_per_s",
        "peak_memory_mib",
        "peak_accelerator_memory_mib",
        "output_token_count",
    ):
        value = (section.end or {}).get(name)
        if value is None:
            continue
        try:
            found[name] = declared[name].value(cell(value), numbers)
        except ValueError as error:
            raise section.table.error(section.number, f"the end of this section: {name} {error}") from None
    return found, found.pop("look", None)
