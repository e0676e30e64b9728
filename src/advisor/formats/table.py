"""From the cells of a file, block by block, to rows of benchmarks."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd

from advisor.arrays import BoolArray, FloatArray
from advisor.errors import InputError
from advisor.formats import cells, columns
from advisor.formats.cells import Cell, Numbers
from advisor.formats.columns import Column
from advisor.formats.rows import CLOSE, Rows, settle
from advisor.formats.runs import CODED, VARYING, Coded, Misplaced, Requests, Runs
from advisor.tables import BENCHMARK_KEY, percentile_columns


@dataclass(frozen=True)
class Block:
    """Some rows of a file.

    Attributes:
        names: the header.
        cells: one sequence a column.
        numbers: the row number of each, as messages name it.
    """

    names: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    numbers: Sequence[int]


@dataclass(frozen=True)
class Table:
    """The cells of a file, block by block.

    Attributes:
        name: how messages call the file.
        blocks: at least one row in all.
        word: "line" or "row".
        numbers: how its numbers are written.
        scrubbed: (column, text without its secret) -> the texts that became it.
    """

    name: str
    blocks: Iterable[Block]
    word: str = "row"
    numbers: Numbers = field(default_factory=Numbers)
    scrubbed: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def told_apart(self, column: Column, raw: str, value: Any) -> Any:
        """Return the value of a key column; keys that only their secrets told apart get numbers instead."""
        if column.name not in BENCHMARK_KEY or column.kind != "text" or not cells.scrubbed(raw):
            return value
        seen = self.scrubbed.setdefault((column.name, value), [])
        if raw not in seen:
            seen.append(raw)
        position = seen.index(raw)
        return f"{value} {position + 1}" if position else value

    def error(self, number: int, what: str) -> InputError:
        """Return the error of one row."""
        return InputError(f"{self.name} {self.word} {number}: {what}")


def read_table(table: Table, known_types: Collection[str] | None = None) -> Rows:
    """Return the rows of a table of either kind.

    Raises:
        InputError: what cannot be read, with file and row.
    """
    blocks = iter(table.blocks)
    first = next(blocks, None)
    if first is None:
        raise InputError(f"{table.name}: has no rows")
    try:
        raw = columns.is_raw({column.name for column in columns.header(first.names, known_types)})
    except ValueError as error:
        raise InputError(f"{table.name}: {error}") from None
    chained = _chain(first, blocks)
    return _read_raw(table, chained, known_types) if raw else _read_summary(table, chained, known_types)


def _chain(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    yield first
    yield from rest


def _header(table: Table, names: Sequence[str], known_types: Collection[str] | None) -> list[Column]:
    try:
        return columns.header(names, known_types)
    except ValueError as error:
        raise InputError(f"{table.name}: {error}") from None


def _values(table: Table, column: Column, name: str, block: Block, found: Sequence[Cell]) -> list[Any]:
    """Return what the cells of a column say; an error names the row."""
    known: dict[Cell, Any] = {}
    out: list[Any] = []
    try:
        for cell in found:
            if isinstance(cell, str):
                if cell not in known:
                    known[cell] = table.told_apart(column, cell, column.value(cell, table.numbers))
                out.append(known[cell])
            else:
                out.append(column.value(cell, table.numbers))
    except ValueError as error:
        raise table.error(block.numbers[len(out)], f"{name} {error}") from None
    return out


def _read_summary(table: Table, blocks: Iterable[Block], known_types: Collection[str] | None) -> Rows:
    found: dict[str, list[Any]] = {}
    numbers: list[int] = []
    for block in blocks:
        header = _header(table, block.names, known_types)
        for column in header:
            if column.name not in found:
                found[column.name] = [None] * len(numbers)
        parsed = {
            column.name: _values(table, column, name, block, block.cells[at])
            for at, (column, name) in enumerate(zip(header, block.names, strict=True))
        }
        for name, values in found.items():
            values.extend(parsed.get(name) or repeat(None, len(block.numbers)))
        numbers.extend(block.numbers)
    try:
        columns.is_raw(found)
    except ValueError as error:
        raise InputError(f"{table.name}: {error}") from None
    started = found.pop("started_at", None)
    if started is not None and "measured_on" not in found:
        found["measured_on"] = started
    _settle_all(table, found, numbers)
    _check_figures(table, found, numbers)
    return Rows(table.name, found, [f"{table.word} {number}" for number in numbers])


def _settle_all(table: Table, found: dict[str, list[Any]], numbers: Sequence[int]) -> None:
    names = ("instance_type", "attached_accelerator", "attached_accelerator_count")
    lists = [found.get(name) or [None] * len(numbers) for name in names]
    out: list[tuple[str, str, int]] = []
    for position, values in enumerate(zip(*lists, strict=True)):
        try:
            out.append(settle(dict(zip(names, values, strict=True))))
        except ValueError as error:
            raise table.error(numbers[position], str(error)) from None
    for at, name in enumerate(names):
        found[name] = [settled[at] for settled in out]


def _floats(values: Sequence[Any] | None, length: int) -> FloatArray:
    return np.full(length, np.nan) if values is None else np.array(values, dtype=float)


def _check_figures(table: Table, found: Mapping[str, list[Any]], numbers: Sequence[int]) -> None:
    """Refuse a row whose latencies cannot all be figures of one sample."""
    length = len(numbers)

    def first(bad: BoolArray, what: str) -> None:
        if bad.any():
            raise table.error(numbers[int(np.argmax(bad))], what)

    low, high = (_floats(found.get(f"latency_{end}_ms"), length) for end in ("min", "max"))
    mean = _floats(found.get("latency_mean_ms"), length)
    empty = np.array([count == 0 for count in found.get("sample_count") or repeat(None, length)])
    known = ~np.isnan(low) | ~np.isnan(high) | ~np.isnan(mean)
    first(low > high * CLOSE, "latency_min_ms is above latency_max_ms")
    below = {"latency_mean_ms": mean}
    running, running_name = np.full(length, -np.inf), np.full(length, "", dtype=object)
    for name in percentile_columns(pd.DataFrame(columns=list(found))).values():
        values = _floats(found[name], length)
        known |= ~np.isnan(values)
        below[name] = values
        falls = values * CLOSE < running
        if falls.any():
            at = int(np.argmax(falls))
            raise table.error(numbers[at], f"{name} is below {running_name[at]}: percentiles cannot fall")
        higher = values > running
        running = np.where(higher, values, running)
        running_name[higher] = name
    for name, values in below.items():
        first(values * CLOSE < low, f"{name} is below latency_min_ms")
        first(values > high * CLOSE, f"{name} is above latency_max_ms")
    first(~known & ~empty, "has no latency figure")


def _read_raw(table: Table, blocks: Iterable[Block], known_types: Collection[str] | None) -> Rows:
    runs = Runs()
    for block in blocks:
        add_block(runs, table, block, known_types)
    return runs.rows(table.name, table.word)


def add_block(runs: Runs, table: Table, block: Block, known_types: Collection[str] | None) -> None:
    """Sort a block of raw samples into runs.

    Raises:
        InputError: what cannot be read, with file and row.
    """
    header = _header(table, block.names, known_types)
    if "latency_ms" not in {column.name for column in header}:
        nothing: Sequence[Cell] = [None] * len(block.numbers)
        block = Block([*block.names, "latency_ms"], [*block.cells, nothing], block.numbers)
        header = _header(table, block.names, known_types)
    try:
        columns.is_raw({column.name for column in header})
    except ValueError as error:
        raise InputError(f"{table.name}: {error}") from None
    by_name = {column.name: (column, at) for at, column in enumerate(header)}
    length = len(block.numbers)
    failed = None
    if "error" in by_name:
        said = [cells.as_text(cell).strip().lower() for cell in block.cells[by_name["error"][1]]]
        failed = np.array([word not in cells.SUCCESS for word in said])
    column, at = by_name["latency_ms"]
    latencies = _latencies(table, column, block, at, failed)
    coded = {}
    for name, (column, at) in by_name.items():
        if name in CODED:
            values = _values(table, column, block.names[at], block, block.cells[at])
            index: dict[Any, int] = {}
            codes = np.fromiter((index.setdefault(value, len(index)) for value in values), np.int64, length)
            coded[name] = Coded(codes, list(index))
    varying = {
        name: _floats(_values(table, column, block.names[at], block, block.cells[at]), length)
        for name, (column, at) in by_name.items()
        if name in VARYING
    }
    started = block.cells[by_name["started_at"][1]] if "started_at" in by_name else None
    try:
        runs.add(Requests(coded, latencies, failed, varying, started, block.numbers))
    except Misplaced as error:
        raise table.error(block.numbers[error.position], str(error)) from None


def _latencies(table: Table, column: Column, block: Block, at: int, failed: BoolArray | None) -> FloatArray:
    name, out = block.names[at], np.full(len(block.numbers), np.nan)
    for position, cell in enumerate(block.cells[at]):
        if failed is not None and failed[position]:
            continue
        try:
            value = column.value(cell, table.numbers)
        except ValueError as error:
            raise table.error(block.numbers[position], f"{name} {error}") from None
        if value is None:
            raise table.error(block.numbers[position], f"{name} is empty and no error is given")
        out[position] = value
    return out
