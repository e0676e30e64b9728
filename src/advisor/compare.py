"""A candidate beside a baseline: what changed in latency, throughput, price and cost, and whether that is more than chance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import expm1, isfinite, isnan, log, nan, sqrt
from typing import Any, Final, Literal

import numpy as np

from advisor.candidates import accelerator_book, join, price_book, unit_cost
from advisor.errors import QuestionError
from advisor.evidence import (
    Assessment,
    Estimate,
    LogMean,
    Series,
    assess_many,
    mean_change,
    quantile_change,
)
from advisor.measurements import Measurement, ask, option_key
from advisor.tables import Benchmarks, Catalogue, percentile_column
from advisor.text import closest
from advisor.wording import figure, listing, percent
from advisor.workload import Workload

PERCENTILES: Final = (50.0, 90.0, 99.0)
_TOKENS_WORTH_A_NOTE: Final = 0.05

_LOAD: Final = {
    "model": "model",
    "sequence_length": "sequence length",
    "input_shape": "input shape",
    "batch_size": "batch size",
    "concurrency": "concurrency",
}
"""What must be the same for a comparison to mean anything, besides the kind of load."""

_SETUP: Final = {"backend": "backend", "precision": "precision", "copies": "copies", "shards": "shards"}
"""What may differ, and is told."""

Meaning = Literal["lower", "higher", "no significant difference", "no interval", "unknown"]


@dataclass(frozen=True)
class Side:
    """One of the two that are compared.

    Attributes:
        name: as shown: an option, or a file with its option.
        measurement: the benchmark, all runs of one configuration.
        price_usd_per_hour: of the option; NaN: unknown.
    """

    name: str
    measurement: Measurement
    price_usd_per_hour: float = nan


@dataclass(frozen=True)
class Change:
    """One figure on both sides.

    Attributes:
        figure: its name, with the unit: `latency_mean_ms`, `latency_p99_ms`, `cost_usd_per_100k`, ...
        baseline, candidate: the figure; NaN: unknown.
        change: relative change, -0.2 for 20 % less; None where a side is unknown. A bound is None where the data give none.
        meaning: whether the change is more than chance.
    """

    figure: str
    baseline: float
    candidate: float
    change: Estimate | None
    meaning: Meaning


@dataclass(frozen=True)
class Comparison:
    """A candidate beside a baseline.

    Attributes:
        baseline, candidate: names as shown.
        changes: mean, percentiles, throughput, hourly price and cost per 100,000 inferences, in this order.
        notes: what the reader must know, each one clause.
        confidence: of the intervals.
    """

    baseline: str
    candidate: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    confidence: float = 0.95


def find(benchmarks: Benchmarks, option: str | None, workload: Workload) -> Measurement:
    """Find the one measurement that is meant.

    Args:
        benchmarks: where to look.
        option: `c5.large`, `m5.large+2xeia2.medium`; None: the only one there is.
        workload: model, sequence length, input shape, batch size and concurrency narrow the choice.

    Raises:
        QuestionError: there is none, or more than one.
    """
    asked = ask(benchmarks, workload)
    options = sorted({one.option for one in asked.measurements})
    wanted = None if option is None else option_key(option)
    found = [
        one
        for one in asked.measurements
        if (wanted is None or option_key(one.option) == wanted)
        and (not workload.batch_size or one.configuration["batch_size"] in workload.batch_size)
        and (not workload.concurrency or one.configuration["concurrency"] in workload.concurrency)
    ]
    origin = listing(benchmarks.origin) or "the benchmarks"
    if not found:
        meant = option or "this load"
        raise QuestionError(
            f"no benchmark of {asked.workload.model} on {meant} in {origin}{closest(meant, options)}; "
            f"there are: {listing(options, 12)}"
        )
    if len(found) > 1:
        raise QuestionError(
            f"{len(found)} benchmarks of {asked.workload.model} on {option or 'several options'} in {origin}, which differ in "
            f"{listing(_differing(found))}: narrow the choice"
        )
    return found[0]


def _differing(measurements: Sequence[Measurement]) -> list[str]:
    names = (*_LOAD.items(), *_SETUP.items())
    told = [
        f"{words} ({listing(values, 8)})"
        for key, words in names
        if len(values := sorted({str(one.configuration[key]) for one in measurements})) > 1
    ]
    options = sorted({one.option for one in measurements})
    return [f"option ({listing(options, 8)})", *told] if len(options) > 1 else told


def hourly_price(catalogue: Catalogue, measurement: Measurement, workload: Workload) -> float:
    """Return the unrounded price of an option in USD per hour, in the first region and purchase option that are asked.

    NaN where it is unknown.
    """
    at = measurement.configuration
    host, attached = at["instance_type"], at["attached_accelerator"]
    found = join(
        [host],
        [attached],
        [at["attached_accelerator_count"]],
        price_book(catalogue, workload, [host]),
        accelerator_book(catalogue, [attached] if attached else [], workload),
    ).usd_per_hour
    known = found[~np.isnan(found)]
    return float(known.min()) if known.size else nan


def compare(baseline: Side, candidate: Side, *, confidence: float = 0.95, anyway: bool = False) -> Comparison:
    """Set a candidate against a baseline.

    Latencies are steady-state figures (a proved warm-up is cut), the cost is of every successful request. Intervals need raw
    latencies on both sides, or, for mean and cost, the means of two or more runs; two summaries have none.

    Args:
        baseline: what is there.
        candidate: what would replace it.
        confidence: of the intervals.
        anyway: compare even where load or shape differ, and note it.

    Raises:
        QuestionError: model, length, shape, batch size, concurrency or kind of load differ.
    """
    sides = (baseline.measurement, candidate.measurement)
    unlike = _unlike(*sides)
    if unlike and not anyway:
        raise QuestionError(
            f"{baseline.name} and {candidate.name} were not measured alike: {listing(unlike)}; --anyway compares them all the same"
        )
    steady = _assessed(sides, 50.0, confidence)
    billed = _assessed(sides, 50.0, confidence, warmup=False)
    changes = [_mean("latency_mean_ms", sides, steady, confidence)]
    changes += [
        _percentile(percentile, sides, _assessed(sides, percentile, confidence))
        for percentile in sorted({*PERCENTILES, *_reported_by_both(sides)})
    ]
    changes.append(_plain("throughput_per_s", *(one.throughput_per_s for one in sides)))
    prices = (baseline.price_usd_per_hour, candidate.price_usd_per_hour)
    changes.append(_exact("price_usd_per_hour", *prices))
    changes.append(_cost(sides, prices, _mean("latency_mean_ms", sides, billed, confidence)))
    notes = [f"not measured alike: {listing(unlike)}"] if unlike else []
    notes += _notes(baseline, candidate, steady)
    return Comparison(baseline.name, candidate.name, tuple(changes), tuple(notes), confidence)


Pair = tuple[Measurement, Measurement]
Assessed = tuple[Assessment | None, Assessment | None]


def _assessed(sides: Pair, percentile: float, confidence: float, *, warmup: bool = True) -> Assessed:
    """Assess the sides of which every run has raw latencies."""
    series = [_series(one) for one in sides]
    found = iter(
        assess_many([one for one in series if one is not None], None, percentile, confidence, warmup=warmup)
    )
    first, second = (None if one is None else next(found) for one in series)
    return first, second


def _series(measurement: Measurement) -> Series | None:
    series = measurement.series
    return series if series is not None and series.latency_ms.size and not measurement.summaries else None


def _mean(name: str, sides: Pair, assessed: Assessed, confidence: float) -> Change:
    values = [
        one.mean_ms.point if one is not None and one.mean_ms is not None else side.mean_ms
        for side, one in zip(sides, assessed, strict=True)
    ]
    first, second = (
        _log_mean(value, side, one) for value, side, one in zip(values, sides, assessed, strict=True)
    )
    if first is None or second is None:
        return _plain(name, *values)
    return _judged(name, values, mean_change(first, second, confidence))


def _log_mean(mean: float, side: Measurement, assessed: Assessment | None) -> LogMean | None:
    if assessed is not None:
        if assessed.log_mean_se is None or assessed.mean_freedom is None:
            return None
        return LogMean(mean, assessed.log_mean_se, assessed.mean_freedom)
    logs = np.log(side.run_means_ms)
    if logs.size < 2 or logs.size < side.run_count or not np.ptp(logs) > 0:
        return None
    return LogMean(mean, float(logs.std(ddof=1)) / sqrt(logs.size), logs.size - 1)


def _percentile(percentile: float, sides: Pair, assessed: Assessed) -> Change:
    name = percentile_column(percentile)
    first, second = (
        one.quantile_ms if one is not None else _reported(side, percentile)
        for side, one in zip(sides, assessed, strict=True)
    )
    values = [nan if one is None else one.point for one in (first, second)]
    if first is None or second is None or None in assessed:
        return _plain(name, *values)
    return _judged(name, values, quantile_change(first, second))


def _reported(side: Measurement, percentile: float) -> Estimate | None:
    """The reported percentile of a single run: percentiles of several runs are never averaged."""
    if len(side.summaries) != 1 or side.series is not None:
        return None
    point = side.summaries[0].percentiles_ms.get(percentile)
    return None if point is None else Estimate(point)


def _reported_by_both(sides: Pair) -> set[float]:
    """Percentiles beside the usual ones that both sides can show."""
    held = [
        set(side.summaries[0].percentiles_ms) if len(side.summaries) == 1 and side.series is None else None
        for side in sides
    ]
    known = [one for one in held if one is not None]
    return (
        set.intersection(*known) if known and len(known) == sum(_series(s) is None for s in sides) else set()
    )


def _cost(sides: Pair, prices: tuple[float, float], mean: Change) -> Change:
    per_dollar = unit_cost(
        np.array([mean.baseline, mean.candidate]),
        np.array([float(one.items_in_flight) for one in sides]),
        np.array([one.error_fraction for one in sides]),
    )
    first, second = (float(one) for one in per_dollar * np.array(prices))
    plain = _plain("cost_usd_per_100k", first, second)
    if plain.change is None or mean.change is None:
        return plain
    factor = (1 + plain.change.point) / (1 + mean.change.point)

    def scaled(bound: float | None) -> float | None:
        return None if bound is None else factor * (1 + bound) - 1

    return _judged(
        "cost_usd_per_100k",
        [first, second],
        Estimate(plain.change.point, scaled(mean.change.low), scaled(mean.change.high)),
    )


def _plain(name: str, baseline: float, candidate: float) -> Change:
    if not (isfinite(baseline) and isfinite(candidate)):
        return Change(name, baseline, candidate, None, "unknown")
    return Change(name, baseline, candidate, Estimate(expm1(log(candidate / baseline))), "no interval")


def _exact(name: str, baseline: float, candidate: float) -> Change:
    plain = _plain(name, baseline, candidate)
    if plain.change is None:
        return plain
    point = plain.change.point
    return _judged(name, [baseline, candidate], Estimate(point, point, point))


def _judged(name: str, values: Sequence[float], change: Estimate) -> Change:
    low, high = change.low, change.high
    meaning: Meaning = "no significant difference"
    if low is None and high is None:
        meaning = "no interval"
    elif high is not None and high < 0:
        meaning = "lower"
    elif low is not None and low > 0:
        meaning = "higher"
    return Change(name, values[0], values[1], change, meaning)


def _unlike(baseline: Measurement, candidate: Measurement) -> list[str]:
    """What must be alike and is not, in words."""
    pairs = [
        (words, baseline.configuration[key], candidate.configuration[key]) for key, words in _LOAD.items()
    ]
    loads = baseline.context["load_kind"], candidate.context["load_kind"]
    if all(loads):
        pairs.append(("kind of load", *loads))
    return [f"{words} {_shown(a)} against {_shown(b)}" for words, a, b in pairs if a != b]


def _shown(value: Any) -> str:
    return "not stated" if value in {None, ""} else str(value)


def _notes(baseline: Side, candidate: Side, assessed: Assessed) -> Iterator[str]:
    one, two = baseline.measurement, candidate.measurement
    yield from _setup_notes(one, two)
    bare = [
        side.name
        for side, found in zip((baseline, candidate), assessed, strict=True)
        if found is None and side.measurement.run_count == 1
    ]
    if bare:
        yield f"no interval: of {listing(bare)} only a summary is known, the latencies were not kept"
    for side, found in zip((baseline, candidate), assessed, strict=True):
        measurement = side.measurement
        if found is None and measurement.run_count > 1:
            yield f"of {side.name} only summaries are known: the spread between its {measurement.run_count} runs is all there is"
        if found is not None and found.run_count == 1:
            yield f"{side.name} was measured in one run: its intervals do not hold what differs from run to run"
        if found is not None and found.warmup_count:
            yield (
                f"the first {found.warmup_count} requests of {side.name} are warm-up: cut from the latencies, not from the cost"
            )
        if found is not None and found.drift is not None:
            yield f"the latency of {side.name} moved by {percent(abs(found.drift.change_fraction))} during the measurement"
        if measurement.error_count:
            share = measurement.error_fraction
            yield f"{'an unknown share' if isnan(share) else percent(share)} of the requests of {side.name} failed"
        if measurement.suspect:
            yield f"the figures of {side.name} are doubted by their own note"
        if isnan(side.price_usd_per_hour):
            yield f"no price of {side.name} is known, so no cost"


def _setup_notes(one: Measurement, two: Measurement) -> Iterator[str]:
    pairs = [(words, one.configuration[key], two.configuration[key]) for key, words in _SETUP.items()]
    pairs.append(("software", one.software, two.software))
    pairs.append(("client", one.context["client"], two.context["client"]))
    for words, first, second in pairs:
        if first != second:
            yield f"{words} differs: {_shown(first)} against {_shown(second)}"
    tokens = one.output_token_count, two.output_token_count
    if min(tokens) > 0 and abs(tokens[1] / tokens[0] - 1) > _TOKENS_WORTH_A_NOTE:
        yield f"mean output tokens differ: {figure(tokens[0])} against {figure(tokens[1])}"
