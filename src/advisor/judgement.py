"""Once a benchmark: the latency step (does the measured percentile keep the limit?) and what the evidence proves."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, isnan, log, nan, sqrt
from typing import Final

import numpy as np
from scipy.special import stdtrit

from advisor.arrays import FloatArray
from advisor.evidence import Assessment, Summary, assess_many, assess_summary, quantile_bracket, share_bracket
from advisor.evidence.intervals import EQUAL
from advisor.measurements import Measurement
from advisor.workload import Workload

_WORST: Final = ("fail", "undecided", "pass")


@dataclass(frozen=True)
class Judgement:
    """What one measurement says about the promise.

    Attributes:
        measured: meets, misses or unknown as it stands; skipped where no limit is asked.
        keeps_from_ms: the least limit that the measured percentile is known to keep; inf: none.
        share_low, share_high: the share of all requests of the sample within the limit lies between; NaN without a limit.
        percentile_ms: the asked percentile of the successful requests, where reported or sampled; else NaN.
        percentile_low_ms, percentile_high_ms: its interval, or the bracket that the other figures give; NaN: no bound.
        mean_low_ms, mean_high_ms: interval of the mean; NaN: no bound.
        verdict: pass, fail or undecided; empty without a limit.
        grade: A to E.
        probability_kept: chance that the promise is kept; NaN: nothing supports one.
        log_mean_se: standard error of log(mean) within the runs, or between them; NaN: unknown.
        more_needed: further requests that would settle the verdict; None: settled, or out of reach.
        more_helps: False where more requests will not settle it soon.
        warmup_count: requests that the evidence cuts as warm-up.
        drift_fraction: a drift that was found; NaN: none.
        remarks: what a reader must know, each one clause.
    """

    measured: str
    keeps_from_ms: float
    share_low: float
    share_high: float
    percentile_ms: float
    percentile_low_ms: float
    percentile_high_ms: float
    mean_low_ms: float
    mean_high_ms: float
    verdict: str
    grade: str
    probability_kept: float
    log_mean_se: float
    more_needed: int | None
    more_helps: bool
    warmup_count: int
    drift_fraction: float
    remarks: tuple[str, ...]


def judge(measurements: Sequence[Measurement], workload: Workload) -> list[Judgement]:
    """Judge every measurement against the question's limit and percentile.

    Raw latencies are decided by counting: the share of all requests, failures included, at or under the limit must
    reach the percentile. A summary is decided by its reported percentile; where that was not reported, or requests
    failed, by the bracket that all its figures give. Of several summaries the worst decides.
    """
    limit, percentile = workload.latency_limit_ms, workload.percentile
    sampled = [m.series for m in measurements if m.series is not None]
    assessed = iter(assess_many(sampled, limit, percentile, workload.confidence))
    judgements = []
    for measurement in measurements:
        parts: list[Assessment] = []
        if measurement.series is not None:
            parts.append(next(assessed))
        parts += [assess_summary(s, limit, percentile, workload.confidence) for s in measurement.summaries]
        judgements.append(_combine(measurement, parts, workload))
    return judgements


def keeps_from(measurement: Measurement, percentile: float) -> float:
    """Return the least limit in ms that the measurement is known to keep at `percentile`; inf: no limit is.

    From raw latencies an order statistic; from a summary the percentile, another figure that brackets it, or the
    solution of Cantelli's inequality. Of several summaries the worst decides.
    """
    edges = [_summary_keeps_from(summary, percentile) for summary in measurement.summaries]
    if measurement.series is not None:
        edges.append(_sample_keeps_from(measurement.sorted_ms, measurement.series.error_count, percentile))
    return max(edges, default=inf)


def share_within(measurement: Measurement, limit_ms: float) -> tuple[float, float]:
    """Return bounds of the share of all requests, failures included, at or under the limit; of the worst part."""
    shares = []
    if measurement.series is not None:
        within = bisect_right(measurement.sorted_ms, limit_ms * EQUAL)
        share = within / max(1, measurement.sorted_ms.size + measurement.series.error_count)
        shares.append((share, share))
    shares += [_summary_share(summary, limit_ms) for summary in measurement.summaries]
    return min(low for low, _ in shares), min(high for _, high in shares)


def _sample_keeps_from(sorted_ms: FloatArray, error_count: int, percentile: float) -> float:
    needed = max(1, ceil(percentile / 100 * (sorted_ms.size + error_count) - 1e-9))
    return float(sorted_ms[needed - 1]) if needed <= sorted_ms.size else inf


def _summary_share(summary: Summary, limit_ms: float) -> tuple[float, float]:
    low, high = share_bracket(summary, limit_ms)
    return (low * (1 - _failed(summary)[1]), high * (1 - _failed(summary)[0]))


def _failed(summary: Summary) -> tuple[float, float]:
    """Least and greatest share of failed requests: exact where the successful ones were counted."""
    if summary.error_count == 0:
        return 0.0, 0.0
    if summary.count is None:
        return 0.0, 1.0
    share = summary.error_count / (summary.error_count + summary.count)
    return share, share


def _summary_meets(summary: Summary, limit_ms: float, percentile: float) -> str:
    reported = summary.percentiles_ms.get(percentile)
    if reported is not None and reported > limit_ms * EQUAL:
        return "misses"
    if reported is not None and summary.error_count == 0:
        return "meets"
    low, high = _summary_share(summary, limit_ms)
    if low >= percentile / 100 - 1e-12:
        return "meets"
    return "misses" if high < percentile / 100 - 1e-12 else "unknown"


def _summary_keeps_from(summary: Summary, percentile: float) -> float:
    def meets(limit_ms: float) -> bool:
        return _summary_meets(summary, limit_ms, percentile) == "meets"

    reported = summary.percentiles_ms.get(percentile)
    if reported is not None and summary.error_count == 0:
        return reported
    figures = {
        *summary.percentiles_ms.values(),
        *(v for v in (summary.min_ms, summary.max_ms) if v is not None),
    }
    if summary.mean_ms is not None and summary.std_ms is not None:
        share = percentile / 100 / (1 - _failed(summary)[1]) if _failed(summary)[1] < 1 else 1.0
        if share < 1:
            figures |= {
                summary.mean_ms,
                summary.mean_ms + summary.std_ms * sqrt(share / (1 - share)) * EQUAL,
            }
    return _least(meets, sorted(figures))


def _least(meets: Callable[[float], bool], figures: Sequence[float]) -> float:
    """Return the least limit that `meets`: one of the figures, or between two of them by halving."""
    below = 0.0
    for figure in figures:
        if meets(figure):
            if not meets(figure / EQUAL**4):
                return figure
            above = figure
            while above > below * EQUAL:
                middle = (above + below) / 2
                below, above = (below, middle) if meets(middle) else (middle, above)
            return above
        below = figure
    return inf


def _combine(measurement: Measurement, parts: Sequence[Assessment], workload: Workload) -> Judgement:
    """One judgement of the assessments of a measurement's parts: the worst decides."""
    limit, percentile = workload.latency_limit_ms, workload.percentile
    edge = keeps_from(measurement, percentile)
    measured, shares = "skipped", (nan, nan)
    if limit is not None:
        shares = share_within(measurement, limit)
        measured = _measured(measurement, edge, limit, percentile)
    reported, low, high = _percentile(measurement, parts, percentile)
    mean_low, mean_high = _mean_interval(measurement, parts, workload.confidence)
    drifts = [part.drift.change_fraction for part in parts if part.drift is not None]
    verdict = min((part.verdict for part in parts), key=_WORST.index, default="undecided")
    worst = [part for part in parts if part.verdict == verdict]
    kept = [part.probability for part in parts]
    needs = [part.more_needed for part in worst]
    return Judgement(
        measured=measured,
        keeps_from_ms=edge,
        share_low=shares[0],
        share_high=shares[1],
        percentile_ms=reported,
        percentile_low_ms=low,
        percentile_high_ms=high,
        mean_low_ms=mean_low,
        mean_high_ms=mean_high,
        verdict="" if limit is None else verdict,
        grade=max((part.grade for part in parts), default="D"),
        probability_kept=1.0
        if limit is None
        else min((nan if p is None else p for p in kept), default=nan)
        if None not in kept
        else nan,
        log_mean_se=_log_mean_se(measurement, parts),
        more_needed=None if limit is None or not needs or None in needs else max(n or 0 for n in needs),
        more_helps=all(part.more_helps for part in worst),
        warmup_count=sum(part.warmup_count for part in parts),
        drift_fraction=max(drifts, key=abs, default=nan),
        remarks=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _measured(measurement: Measurement, edge: float, limit: float, percentile: float) -> str:
    if edge <= limit * EQUAL:
        return "meets"
    found = [_summary_meets(summary, limit, percentile) for summary in measurement.summaries]
    if measurement.series is not None:
        sample = _sample_keeps_from(measurement.sorted_ms, measurement.series.error_count, percentile)
        found.append("meets" if sample <= limit * EQUAL else "misses")
    return "misses" if "misses" in found else "unknown"


def _percentile(
    measurement: Measurement, parts: Sequence[Assessment], percentile: float
) -> tuple[float, float, float]:
    """The asked percentile with its bounds: sampled, reported, or bracketed; of several parts the highest."""
    found: list[tuple[float, float, float]] = []
    rest = list(parts)
    sampled = rest.pop(0) if measurement.series is not None else None
    if sampled is not None and measurement.sorted_ms.size:
        interval = sampled.quantile_ms
        point = float(np.percentile(measurement.sorted_ms, percentile))
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        found.append((point, _known(low), _known(high)))
    for summary, part in zip(measurement.summaries, rest, strict=False):
        reported = summary.percentiles_ms.get(percentile)
        if reported is None:
            low, high = quantile_bracket(summary, percentile / 100)
            found.append((nan, _known(low), _known(high)))
        else:
            interval = part.quantile_ms
            bounds = (None, None) if interval is None else (interval.low, interval.high)
            found.append((reported, _known(bounds[0]), _known(bounds[1])))
    if not found:
        return nan, nan, nan
    points, lows, highs = zip(*found, strict=True)
    known_lows = [low for low in lows if not isnan(low)]
    return (
        nan if any(map(isnan, points)) else max(points),
        max(known_lows, default=nan),
        nan if any(map(isnan, highs)) else max(highs),
    )


def _mean_interval(
    measurement: Measurement, parts: Sequence[Assessment], confidence: float
) -> tuple[float, float]:
    """Interval of the mean: the assessment's, or between the runs where there are several summaries."""
    if len(parts) == 1 and parts[0].mean_ms is not None:
        return _known(parts[0].mean_ms.low), _known(parts[0].mean_ms.high)
    se = _log_mean_se(measurement, parts)
    if len(parts) < 2 or isnan(se):
        return nan, nan
    spread = np.exp(stdtrit(len(parts) - 1, (1 + confidence) / 2) * se)
    return measurement.mean_ms / float(spread), measurement.mean_ms * float(spread)


def _log_mean_se(measurement: Measurement, parts: Sequence[Assessment]) -> float:
    """Standard error of log(mean): of one part its own; of several the larger of within and between them."""
    known = [part.log_mean_se for part in parts if part.log_mean_se is not None]
    if len(parts) == 1:
        return known[0] if known else nan
    logs = [log(mean) for mean in measurement.run_means_ms]
    between = float(np.std(logs, ddof=1)) / sqrt(len(logs)) if len(logs) > 1 else nan
    within = sqrt(sum(se**2 for se in known)) / len(parts) if len(known) == len(parts) and parts else nan
    return max((se for se in (between, within) if not isnan(se)), default=nan)


def _known(value: float | None) -> float:
    return nan if value is None else value
