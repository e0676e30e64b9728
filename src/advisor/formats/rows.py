"""From the cells of a file to rows of benchmarks."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.arrays import FloatArray
from advisor.errors import InputError
from advisor.formats import cells, columns
from advisor.formats.cells import Cell, Numbers
from advisor.formats.columns import Column
from advisor.tables import BENCHMARK_KEY, BenchmarkRows, Benchmarks, Samples, percentile_columns

MOST_RUNS: Final = 100_000
"""More runs in one file are a mistake (a `run_id` that counts requests)."""

_OPTION: Final = re.compile(r"([^+\s]+)\s*\+\s*(?:(\d+)\s*x\s*)?([^+\s]+)")
_CLOSE: Final = 1 + 1e-9
INTERRUPTED: Final = "interrupted measurement: the file ends before the run did"


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


@dataclass
class Rows:
    """Rows of benchmarks as one file gives them: equally long lists, not yet a frame.

    Attributes:
        name: how messages call the file.
        columns: values by column of `BenchmarkRows`; a column may be absent.
        places: where each row stands ("line 7"; empty: not known).
        samples: position -> raw latencies.
        request_count: rows of a file of raw samples.
    """

    name: str
    columns: dict[str, list[Any]]
    places: list[str]
    samples: dict[int, Samples] = field(default_factory=dict)
    request_count: int = 0

    def where(self, position: int) -> str:
        """Return the file and the place of a row."""
        return f"{self.name} {self.places[position]}".rstrip()

    def extend(self, other: "Rows") -> None:
        """Add the rows of another part of the same file."""
        before, more = len(self.places), len(other.places)
        for name in {*self.columns, *other.columns}:
            values = self.columns.setdefault(name, [None] * before)
            values.extend(other.columns.get(name) or [None] * more)
        self.places.extend(other.places)
        self.samples |= {before + at: found for at, found in other.samples.items()}
        self.request_count += other.request_count


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


def settle(values: Mapping[str, Any]) -> tuple[str, str, int]:
    """Return instance type, attached accelerator and its count of one row.

    Raises:
        ValueError: they contradict each other.
    """
    host = str(values["instance_type"])
    accelerator = str(values.get("attached_accelerator") or "")
    count = values.get("attached_accelerator_count")
    if "+" in host:
        option = _OPTION.fullmatch(host)
        if option is None:
            raise ValueError(f'instance_type "{host}" is no option like m5.large+2xeia2.medium')
        if accelerator or count:
            raise ValueError(
                f'instance_type "{host}" and attached_accelerator both name an accelerator: keep one'
            )
        host, accelerator, count = option[1], option[3], cells.count(option[2] or "1")
        if count == 0:
            raise ValueError(f'instance_type "{values["instance_type"]}" has no accelerator')
    if not accelerator:
        if count:
            raise ValueError(f"attached_accelerator_count is {count} but attached_accelerator is empty")
        return host, "", 0
    if count == 0:
        raise ValueError(f'attached_accelerator_count is 0 but attached_accelerator is "{accelerator}"')
    return host, accelerator, count or 1


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

    def first(bad: npt.NDArray[np.bool_], what: str) -> None:
        if bad.any():
            raise table.error(numbers[int(np.argmax(bad))], what)

    low, high = (_floats(found.get(f"latency_{end}_ms"), length) for end in ("min", "max"))
    mean = _floats(found.get("latency_mean_ms"), length)
    empty = np.array([count == 0 for count in found.get("sample_count") or repeat(None, length)])
    known = ~np.isnan(low) | ~np.isnan(high) | ~np.isnan(mean)
    first(low > high * _CLOSE, "latency_min_ms is above latency_max_ms")
    below = {"latency_mean_ms": mean}
    running, running_name = np.full(length, -np.inf), np.full(length, "", dtype=object)
    for name in percentile_columns(pd.DataFrame(columns=list(found))).values():
        values = _floats(found[name], length)
        known |= ~np.isnan(values)
        below[name] = values
        falls = values * _CLOSE < running
        if falls.any():
            at = int(np.argmax(falls))
            raise table.error(numbers[at], f"{name} is below {running_name[at]}: percentiles cannot fall")
        higher = values > running
        running = np.where(higher, values, running)
        running_name[higher] = name
    for name, values in below.items():
        first(values * _CLOSE < low, f"{name} is below latency_min_ms")
        first(values > high * _CLOSE, f"{name} is above latency_max_ms")
    first(~known & ~empty, "has no latency figure")


@dataclass
class _Run:
    values: dict[str, Any]
    number: int
    chunks: list[FloatArray] = field(default_factory=list)
    error_count: int = 0
    look: int = 1
    highest: dict[str, float] = field(default_factory=dict)
    token_sum: float = 0.0
    token_count: int = 0
    token_low: float = np.inf
    token_high: float = -np.inf


CODED: Final = (
    *(
        name
        for name, column in columns.declared().items()
        if column.kind in ("text", "count") and name not in ("error", "started_at", *columns.ONLY_SUMMARY)
    ),
    "throughput_per_s",
)
"""Columns of raw samples that are the same for every request of a run."""

VARYING: Final = ("peak_memory_mib", "peak_accelerator_memory_mib", "output_token_count")
"""Columns of raw samples that may differ by request: the greatest peak and the mean of the tokens are kept."""


@dataclass(frozen=True)
class Coded:
    """A column with few different values: `values[codes[i]]` is the value of row i."""

    codes: npt.NDArray[np.integer[Any]]
    values: list[Any]


class Indexed(Protocol):
    """Cells by position."""

    def __getitem__(self, position: int, /) -> Cell:
        """Return one cell."""
        ...


@dataclass(frozen=True)
class Requests:
    """A block of requests by column.

    Attributes:
        coded: the columns of `CODED` that there are.
        latency_ms: shape (n,); of a failed request anything.
        failed: shape (n,), or None: all succeeded.
        varying: the columns of `VARYING` that there are.
        started: when each request started, where the file says so and does not say the day.
        numbers: row numbers for messages; None: not known.
    """

    coded: Mapping[str, Coded]
    latency_ms: FloatArray
    failed: npt.NDArray[np.bool_] | None
    varying: Mapping[str, FloatArray]
    started: Indexed | None = None
    numbers: Sequence[int] | None = None


class Runs:
    """Raw requests sorted into runs, block by block, in the order of the file.

    Requests whose configuration, software, `run_id` and `measured_on` are equal are one run. What else is said of a run
    must be the same in all its rows.
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[Any, ...], _Run] = {}
        self.request_count = 0

    def add(self, block: Requests) -> None:
        """Take in a block of requests.

        Raises:
            Misplaced: a row that contradicts the run it belongs to, by its position in the block.
        """
        self.request_count += len(block.latency_ms)
        for positions, values in _groups(block.coded, len(block.latency_ms)):
            run = self._run(values, int(positions[0]) if positions is not None else 0, block)
            taken, failed = block.latency_ms, block.failed
            if positions is not None:
                taken, failed = taken[positions], None if failed is None else failed[positions]
            if failed is not None:
                run.error_count += int(failed.sum())
                taken = taken[~failed]
            run.chunks.append(taken)
            for name, column in block.varying.items():
                _vary(run, name, column if positions is None else column[positions])

    def _run(self, values: dict[str, Any], start: int, block: Requests) -> _Run:
        try:
            host, accelerator, count = settle(values)
            values["instance_type"], values["attached_accelerator"] = host, accelerator
            values["attached_accelerator_count"] = count
            look = values.pop("look", None) or 1
            key = tuple(values.get(name) for name in BENCHMARK_KEY)
            known = self._runs.get(key)
            if known is not None:
                _same(known, values, look)
                return known
            _few(len(self._runs))
            if "measured_on" not in values and block.started is not None:
                values["measured_on"] = cells.day(cells.text(cells.as_text(block.started[start])))
        except ValueError as error:
            raise Misplaced(start, str(error)) from None
        number = 0 if block.numbers is None else block.numbers[start]
        run = self._runs[key] = _Run(values, number, look=look)
        return run

    def rows(self, name: str, word: str) -> Rows:
        """Return one row a run, with its figures."""
        runs = list(self._runs.values())
        self._runs = {}
        found: dict[str, list[Any]] = {}
        samples = {}
        for position, run in enumerate(runs):
            latency = run.chunks[0] if len(run.chunks) == 1 else np.concatenate(run.chunks or [np.empty(0)])
            run.chunks.clear()
            latency = np.ascontiguousarray(latency, dtype=np.float64)
            latency.flags.writeable = False
            samples[position] = Samples(latency, run.error_count, run.look)
            values = {**run.values, **figures(latency, run.error_count), **run.highest}
            if run.token_count:
                same = run.token_low == run.token_high
                values["output_token_count"] = run.token_low if same else run.token_sum / run.token_count
            for column, value in values.items():
                found.setdefault(column, [None] * len(runs))[position] = value
        places = [f"{word} {run.number}" if run.number else "" for run in runs]
        return Rows(name, found, places, samples, self.request_count)


class Misplaced(Exception):  # noqa: N818
    """A row of a block that cannot be taken in."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(what)
        self.position = position


def figures(latency_ms: FloatArray, error_count: int) -> dict[str, Any]:
    """Return the summary of a run's successful requests; the standard deviation has n - 1 below."""
    if len(latency_ms) == 0:
        return {"sample_count": 0, "error_count": error_count}
    low, high = float(latency_ms.min()), float(latency_ms.max())
    mean = min(max(float(latency_ms.mean()), low), high)
    return {
        "sample_count": len(latency_ms),
        "error_count": error_count,
        "latency_mean_ms": mean,
        "latency_std_ms": _deviation(latency_ms, mean) if len(latency_ms) > 1 else None,
        "latency_min_ms": low,
        "latency_max_ms": high,
    }


def _deviation(latency_ms: FloatArray, mean: float) -> float:
    """Return the standard deviation (n - 1) of at least two values, without a second array of their size."""
    squares = []
    for start in range(0, len(latency_ms), 2**16):
        away = latency_ms[start : start + 2**16] - mean
        squares.append(float(away @ away))
    return math.sqrt(math.fsum(squares) / (len(latency_ms) - 1))


def _few(runs: int) -> None:
    if runs >= MOST_RUNS:
        raise ValueError(f"has more than {MOST_RUNS:,} runs: does run_id count requests?")


def _same(run: _Run, values: Mapping[str, Any], look: int) -> None:
    known = {**run.values, "look": run.look}
    for name, value in {**values, "look": look}.items():
        if known.get(name) != value:
            raise ValueError(
                f"{name} differs within one run: {_quoted(known.get(name))}, then {_quoted(value)}"
            )


def _quoted(value: object) -> str:
    return "empty" if value is None or value == "" else f'"{value}"'


def _vary(run: _Run, name: str, column: FloatArray) -> None:
    given = column[~np.isnan(column)]
    if len(given) == 0:
        return
    if name == "output_token_count":
        run.token_sum += float(given.sum())
        run.token_count += len(given)
        run.token_low = min(run.token_low, float(given.min()))
        run.token_high = max(run.token_high, float(given.max()))
    else:
        run.highest[name] = max(run.highest.get(name, -np.inf), float(given.max()))


def _groups(
    coded: Mapping[str, Coded], length: int
) -> Iterator[tuple[npt.NDArray[np.int64] | None, dict[str, Any]]]:
    """Yield the positions (None: all of them) and the values of each combination, by first appearance."""
    several = {name: column for name, column in coded.items() if len(column.values) > 1}
    fixed = {name: column.values[0] for name, column in coded.items() if len(column.values) == 1}
    combined = np.zeros(length, dtype=np.int64)
    size = 1
    for column in several.values():
        if size * len(column.values) >= 2**62:
            combined, kept = pd.factorize(combined)
            size = len(kept)
        combined = combined * len(column.values) + column.codes
        size *= len(column.values)
    if size == 1:
        yield None, fixed
        return
    codes, kept = pd.factorize(combined)
    if len(kept) == 1:
        bounds = np.array([0, length])
        order = np.arange(length) if length else np.empty(0, dtype=np.int64)
    else:
        small = codes.astype(np.uint16) if len(kept) < 2**16 else codes
        order = np.argsort(small, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(kept)))])
    for at in range(len(kept)):
        positions = order[bounds[at] : bounds[at + 1]]
        values = {name: column.values[column.codes[positions[0]]] for name, column in several.items()}
        yield (None if len(kept) == 1 else positions), {**fixed, **values}


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


def _latencies(
    table: Table, column: Column, block: Block, at: int, failed: npt.NDArray[np.bool_] | None
) -> FloatArray:
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


def assemble(parts: Sequence[Rows], origin: tuple[str, ...]) -> Benchmarks:
    """Return the benchmarks of several files.

    Raises:
        InputError: the same benchmark twice, naming both rows.
    """
    length = sum(len(part.places) for part in parts)
    names = {name for part in parts for name in part.columns}
    frame = pd.DataFrame(
        {name: _series(name, parts, length) for name in (*columns.declared(), *sorted(names)) if _kept(name)}
    )
    percentiles = percentile_columns(frame)
    frame = frame[
        [name for name in frame.columns if name not in percentiles.values()] + list(percentiles.values())
    ]
    _refuse_repeated(frame, parts)
    frame["note"] = _noted(frame)
    order = frame.sort_values(list(BENCHMARK_KEY), kind="stable", na_position="first").index
    samples = {}
    offset = 0
    for part in parts:
        samples.update({offset + position: found for position, found in part.samples.items()})
        offset += len(part.places)
    return Benchmarks(
        rows=DataFrame[BenchmarkRows](frame.loc[order].reset_index(drop=True)),
        samples={new: samples[old] for new, old in enumerate(order) if old in samples},
        origin=origin,
    )


def plain(column: "pd.Series[Any]") -> list[Any]:
    """Return the values of a column, None where it has none."""
    return column.astype(object).where(column.notna(), None).to_list()


def _kept(name: str) -> bool:
    return name not in columns.RAW


def _series(name: str, parts: Sequence[Rows], length: int) -> "pd.Series[Any]":
    column = columns.declared().get(name) or columns.percentile(name)
    default = columns.DEFAULTS.get(name)
    values: list[Any] = []
    for part in parts:
        found = part.columns.get(name)
        values.extend([default] * len(part.places) if found is None else found)
    if column.kind == "text":
        return pd.Series([value or default or "" for value in values], dtype="str")
    if column.kind == "count":
        filled = [default if value is None else value for value in values]
        if name in ("sequence_length", *columns.ONLY_SUMMARY):
            return pd.Series([pd.NA if value is None else value for value in filled], dtype="Int64")
        return pd.Series([0 if value is None else value for value in filled], dtype="int64")
    return pd.Series(np.array(values, dtype=float) if length else np.empty(0), dtype="float64")


def _refuse_repeated(frame: pd.DataFrame, parts: Sequence[Rows]) -> None:
    again = frame.duplicated(list(BENCHMARK_KEY)).to_numpy()
    if not again.any():
        return
    second = int(np.argmax(again))
    key = frame[list(BENCHMARK_KEY)].fillna({"sequence_length": 0})
    first = int(np.argmax((key == key.iloc[second]).all(axis=1).to_numpy()))
    wheres = [part.where(position) for part in parts for position in range(len(part.places))]
    row = frame.iloc[second]
    raise InputError(
        f"{wheres[first]} and {wheres[second]} are the same benchmark ({row['model']} on {row['instance_type']}): "
        "tell runs apart by run_id or measured_on"
    )


def _noted(frame: pd.DataFrame) -> "pd.Series[str]":
    """Return the notes, with what is odd about a row added."""
    notes = frame["note"].to_list()
    mean = frame["latency_mean_ms"].to_numpy()

    def add(odd: npt.NDArray[np.bool_], clause: Any) -> None:
        for at in np.flatnonzero(odd):
            text = clause(int(at)) if callable(clause) else clause
            if text not in notes[at]:
                notes[at] = f"{notes[at]}; {text}" if notes[at] else text

    if "latency_p90_ms" in frame:
        add(mean > frame["latency_p90_ms"].to_numpy(), "the mean is above P90: a few requests were very slow")
    if "latency_p50_ms" in frame and "latency_p99_ms" in frame:
        p50, p99 = frame["latency_p50_ms"].to_numpy(), frame["latency_p99_ms"].to_numpy()
        add(p50 == p99, "P50 equals P99: rounded, or not a distribution")
    stated = (frame["batch_size"] * frame["concurrency"]).to_numpy(dtype=float)
    rate = frame["throughput_per_s"].to_numpy()
    in_flight = rate * mean / 1000
    odd = (np.abs(in_flight / stated - 1) > 0.05 * _CLOSE) & (frame["load_kind"] != "open").to_numpy()
    add(
        odd,
        lambda at: (
            f"throughput {rate[at]:.4g}/s x mean {mean[at]:.4g} ms is {in_flight[at]:.3g} in flight, "
            f"not the stated {stated[at]:g}"
        ),
    )
    return pd.Series(notes, index=frame.index, dtype="str")
