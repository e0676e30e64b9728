"""Rows of benchmarks: as one file gives them, and those of several files put together."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.arrays import BoolArray
from advisor.errors import InputError
from advisor.formats import cells, columns
from advisor.tables import BENCHMARK_KEY, BenchmarkRows, Benchmarks, Samples, percentile_columns

_OPTION: Final = re.compile(r"([^+\s]+)\s*\+\s*(?:(\d+)\s*x\s*)?([^+\s]+)")
CLOSE: Final = 1 + 1e-9
INTERRUPTED: Final = "interrupted measurement: the file ends before the run did"


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

    def add(odd: BoolArray, clause: Any) -> None:
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
    odd = (np.abs(in_flight / stated - 1) > 0.05 * CLOSE) & (frame["load_kind"] != "open").to_numpy()
    add(
        odd,
        lambda at: (
            f"throughput {rate[at]:.4g}/s x mean {mean[at]:.4g} ms is {in_flight[at]:.3g} in flight, "
            f"not the stated {stated[at]:g}"
        ),
    )
    return pd.Series(notes, index=frame.index, dtype="str")
