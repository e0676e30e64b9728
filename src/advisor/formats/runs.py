"""Raw requests sorted into runs, and the figures of each run."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from advisor.arrays import BoolArray, FloatArray, IntArray
from advisor.formats import cells, columns
from advisor.formats.cells import Cell
from advisor.formats.rows import Rows, settle
from advisor.tables import BENCHMARK_KEY, Samples

MOST_RUNS: Final = 100_000
"""More runs in one file are a mistake (a `run_id` that counts requests)."""


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
    failed: BoolArray | None
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


def _groups(coded: Mapping[str, Coded], length: int) -> Iterator[tuple[IntArray | None, dict[str, Any]]]:
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
