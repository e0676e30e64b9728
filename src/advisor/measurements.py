"""Once a benchmark: which rows answer the question, and the runs of one configuration made one measurement."""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Final

import numpy as np
import pandas as pd

from advisor.arrays import FloatArray
from advisor.errors import QuestionError
from advisor.evidence import Series, Summary
from advisor.tables import BENCHMARK_CONFIGURATION, Benchmarks, percentile_columns
from advisor.text import closest
from advisor.wording import listing, option_name
from advisor.workload import Workload

_NUMBERS = re.compile(r"(\d+)")
_CONTEXT: Final = ("load_kind", "client", "source", "note", "measured_on")


@dataclass(frozen=True)
class Measurement:
    """One benchmark: all runs of one configuration and software version.

    Attributes:
        configuration: the values of `BENCHMARK_CONFIGURATION`, by name; `sequence_length` may be None.
        software: the version, the newest of the configuration.
        series: the runs that have raw latencies, one after the other, or None.
        sorted_ms: the same latencies sorted; empty without samples.
        summaries: the runs of which only figures are known.
        mean_ms: mean of all successful requests, runs weighted by count; NaN: unknown.
        run_means_ms: the mean of each run, where known.
        throughput_per_s: inferences a second, all runs together; NaN: unknown.
        sample_count: successful requests; None: some run does not state it.
        error_count: failed requests that are stated.
        run_count: separate runs.
        peak_host_mib, peak_device_mib: the highest measured peaks; NaN: unknown.
        output_token_count: mean output tokens; NaN: unknown.
        suspect: a run's own note doubts its figures.
        context: load_kind, client, source, note and measured_on, different values joined.
    """

    configuration: dict[str, Any]
    software: str
    series: Series | None
    sorted_ms: FloatArray
    summaries: tuple[Summary, ...]
    mean_ms: float
    run_means_ms: tuple[float, ...]
    throughput_per_s: float
    sample_count: int | None
    error_count: int
    run_count: int
    peak_host_mib: float
    peak_device_mib: float
    output_token_count: float
    suspect: bool
    context: dict[str, str]

    @property
    def option(self) -> str:
        """The option as it is shown."""
        at = self.configuration
        return option_name(at["instance_type"], at["attached_accelerator"], at["attached_accelerator_count"])

    @property
    def items_in_flight(self) -> int:
        """Inferences in flight at once: batch size x concurrency."""
        return int(self.configuration["batch_size"]) * int(self.configuration["concurrency"])

    @property
    def error_fraction(self) -> float:
        """Share of failed requests; NaN where requests failed among an unknown number."""
        if self.error_count == 0:
            return 0.0
        return nan if self.sample_count is None else self.error_count / (self.error_count + self.sample_count)


def option_key(option: str) -> str:
    """Return an option's name without the freedom of writing: `m5.large + 1 x eia2.medium` is `m5.large+eia2.medium`."""
    packed = re.sub(r"\s+", "", option).lower()
    return re.sub(r"\+1x(?=[a-z])", "+", packed)


@dataclass(frozen=True)
class Asked:
    """The rows that answer a question.

    Attributes:
        workload: the question, with model, length and shape filled in.
        measurements: one a configuration, sorted by its key.
        filled: what was left open and is now used, in words ("sequence length 512"), for a note.
        older_software_count: measurements left out because a newer software version of the configuration counts.
        empty_run_count: runs left out because they ended before their first request.
    """

    workload: Workload
    measurements: tuple[Measurement, ...]
    filled: tuple[str, ...]
    older_software_count: int
    empty_run_count: int = 0


def version_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that orders versions as people read them: "1.9" before "1.10"."""
    return tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part) for part in _NUMBERS.split(text) if part
    )


def ask(benchmarks: Benchmarks, workload: Workload) -> Asked:
    """Find the measurements that answer the question.

    Model, sequence length and input shape must equal the question's. What the question leaves open is filled in
    where the files hold one value only.

    A run that was interrupted before its first request says nothing and is left out.

    Raises:
        QuestionError: the files do not hold the model, length or shape, or hold several and none is asked; or there is
            not one request of the model.
    """
    rows: pd.DataFrame = benchmarks.rows
    origin = listing(benchmarks.origin) or "the benchmarks"
    if rows.empty:
        raise QuestionError(f"there is no benchmark in {origin}: give --benchmarks, or leave it out")
    filled: list[str] = []

    model = workload.model
    held = sorted(set(rows["model"]))
    if model is None:
        if len(held) > 1:
            raise QuestionError(f"which model? {origin} hold {listing(held, 12)}: give --model")
        model = held[0]
        filled.append(f"model {model}")
    elif model not in held:
        raise QuestionError(
            f"no benchmark of {model} in {origin}{closest(model, held)}; there are: {listing(held, 12)}"
        )
    rows = rows[rows["model"] == model]
    all_runs = len(rows)
    rows = _with_requests(benchmarks, rows, origin)
    empty = all_runs - len(rows)

    rows, length = _pin(rows, "sequence_length", workload.sequence_length, model, filled)
    rows, shape = _pin(rows, "input_shape", workload.input_shape, model, filled)
    question = workload.model_copy(
        update={"model": model, "sequence_length": length, "input_shape": shape or None}
    )
    measurements, older = _merge(benchmarks, rows)
    return Asked(question, measurements, tuple(filled), older, empty)


def _with_requests(benchmarks: Benchmarks, rows: pd.DataFrame, origin: str) -> pd.DataFrame:
    """Keep the runs in which there was a request, successful or failed, or whose requests were not counted."""
    none = (rows["sample_count"].eq(0) & rows["error_count"].fillna(0).eq(0)).fillna(False).to_numpy(bool)
    samples = [benchmarks.samples.get(label) for label in rows.index]
    none |= [run is not None and run.latency_ms.size == 0 and run.error_count == 0 for run in samples]
    if none.all():
        raise QuestionError(
            f"{origin} hold no request of {rows['model'].iloc[0]}, neither successful nor failed: measure it again"
        )
    return rows[~none] if none.any() else rows


def _pin(
    rows: pd.DataFrame, name: str, wanted: Hashable, model: str, filled: list[str]
) -> tuple[pd.DataFrame, Any]:
    """Keep the rows whose column `name` has the wanted value, or the only value that is held."""
    column = rows[name]
    values = [None if value is pd.NA else value for value in column.to_numpy(object)]
    held = sorted(set(values), key=lambda value: (value is not None, value))
    words, flag = name.replace("_", " "), f"--{name.replace('_', '-')}"
    shown = listing(["none" if value in {None, ""} else value for value in held], 12)
    if wanted is None and len(held) > 1:
        raise QuestionError(f"which {words}? {model} was measured at {shown}: give {flag}")
    value = held[0] if wanted is None else wanted
    if value not in held:
        raise QuestionError(f"{model} was not measured at {words} {wanted}; there are: {shown}")
    if wanted is None and value not in {None, ""}:
        filled.append(f"{words} {value}")
    return rows[np.fromiter((v == value for v in values), bool, len(values))], value


def _merge(benchmarks: Benchmarks, rows: pd.DataFrame) -> tuple[tuple[Measurement, ...], int]:
    """Make one measurement a configuration, of its newest software."""
    columns = [rows[name].to_numpy(object) for name in BENCHMARK_CONFIGURATION]
    software = rows["software"].to_numpy(object)
    measured_on = rows["measured_on"].to_numpy(object)
    found: dict[tuple[Any, ...], dict[str, list[int]]] = {}
    for position, key in enumerate(zip(*columns, strict=True)):
        whole = tuple(None if value is pd.NA else value for value in key)
        found.setdefault(whole, {}).setdefault(software[position], []).append(position)

    records = rows.to_dict("records")
    percentiles = {column: p for p, column in percentile_columns(rows).items()}
    labels = rows.index.to_list()
    measurements, older = [], 0
    for key in sorted(found, key=lambda k: tuple((v is not None, v) for v in k)):
        versions = found[key]
        newest = max(versions, key=lambda v: (max(measured_on[i] for i in versions[v]), version_key(v), v))
        older += len(versions) - 1
        runs = [(labels[i], records[i]) for i in sorted(versions[newest])]
        configuration = dict(zip(BENCHMARK_CONFIGURATION, key, strict=True))
        measurements.append(_one(benchmarks, configuration, newest, runs, percentiles))
    return tuple(measurements), older


def _one(
    benchmarks: Benchmarks,
    configuration: dict[str, Any],
    software: str,
    runs: Sequence[tuple[int, dict[Hashable, Any]]],
    percentiles: dict[str, float],
) -> Measurement:
    sampled = [(label, benchmarks.samples[label]) for label, _ in runs if label in benchmarks.samples]
    series = None
    if sampled:
        series = Series(
            np.concatenate([run.latency_ms for _, run in sampled]),
            np.repeat(np.arange(len(sampled)), [run.latency_ms.size for _, run in sampled])
            if len(sampled) > 1
            else None,
            sum(run.error_count for _, run in sampled),
            max(run.look for _, run in sampled),
        )
    summaries = tuple(_summary(row, percentiles) for label, row in runs if label not in benchmarks.samples)
    sampled_runs = [
        (float(run.latency_ms.mean()), run.latency_ms.size) for _, run in sampled if run.latency_ms.size
    ]
    means = sampled_runs + [(s.mean_ms, s.count) for s in summaries if s.mean_ms is not None]
    counts = [run.latency_ms.size for _, run in sampled] + [s.count for s in summaries]
    rates = [
        (1 / float(row["throughput_per_s"]), _count(row["sample_count"]))
        for _, row in runs
        if not isnan(row["throughput_per_s"])
    ]
    return Measurement(
        configuration=configuration,
        software=software,
        series=series,
        sorted_ms=np.sort(series.latency_ms) if series is not None else np.empty(0),
        summaries=summaries,
        mean_ms=_weighted(means),
        run_means_ms=tuple(mean for mean, _ in means),
        throughput_per_s=1 / _weighted(rates),
        sample_count=None if None in counts else sum(count for count in counts if count is not None),
        error_count=sum(run.error_count for _, run in sampled) + sum(s.error_count for s in summaries),
        run_count=len(runs),
        peak_host_mib=_highest(row["peak_memory_mib"] for _, row in runs),
        peak_device_mib=_highest(row["peak_accelerator_memory_mib"] for _, row in runs),
        output_token_count=_weighted(
            [(row["output_token_count"], 1) for _, row in runs if not isnan(row["output_token_count"])]
        ),
        suspect=any(row["quality"] == "suspect" for _, row in runs),
        context={
            name: "; ".join(dict.fromkeys(str(row[name]) for _, row in runs if row[name]))
            for name in _CONTEXT
        },
    )


def _summary(row: dict[Hashable, Any], percentiles: dict[str, float]) -> Summary:
    def known(name: str) -> float | None:
        return None if isnan(row[name]) else float(row[name])

    return Summary(
        percentiles_ms={p: float(row[name]) for name, p in percentiles.items() if not isnan(row[name])},
        mean_ms=known("latency_mean_ms"),
        std_ms=known("latency_std_ms"),
        min_ms=known("latency_min_ms"),
        max_ms=known("latency_max_ms"),
        count=_count(row["sample_count"]),
        error_count=_count(row["error_count"]) or 0,
    )


def _count(value: Any) -> int | None:
    return None if value is pd.NA or value is None else int(value)


def _weighted(values: Sequence[tuple[float, int | None]]) -> float:
    """Mean weighted by count; unweighted where a count is unknown; NaN of nothing."""
    if not values:
        return nan
    if len(values) == 1:
        return values[0][0]
    weights = [count for _, count in values]
    if None in weights or not any(weights):
        weights = [1] * len(values)
    return float(np.average([value for value, _ in values], weights=[float(w or 0) for w in weights]))


def _highest(values: Iterable[Any]) -> float:
    known = [float(value) for value in values if not isnan(value)]
    return max(known, default=nan)
