"""From the figures of the runs to what they prove."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from advisor.arrays import FloatArray, IntArray
from advisor.evidence.intervals import (
    linear_quantile,
    probability_above,
    quantile_ranks,
    share_limits,
    side_level,
    t_quantile,
)
from advisor.evidence.measure import Runs
from advisor.evidence.promise import Promise, more_needed
from advisor.evidence.runs import effective_count, mean_errors
from advisor.evidence.types import Assessment, Estimate, Series, Verdict

_OUTLIER_FACTOR: Final = 3.0
_OUTLIER_PART: Final = 0.05
"""Outliers that hold less of the time than this are counted without a note."""


class _Enclosed(NamedTuple):
    """Ranks of the order statistics around each quantile, and how many requests it rests on; shape (s,)."""

    lower: IntArray
    upper: IntArray
    worth: FloatArray


class _Within(NamedTuple):
    """Requests within the limit, and how many requests their share rests on; shape (s,)."""

    hits: FloatArray
    worth: FloatArray


def conclude(series: Sequence[Series], runs: Runs, promise: Promise) -> list[Assessment]:
    """Assess each series from the figures of its runs.

    Args:
        series: as given; their errors and looks are used.
        runs: their runs, warm-up cut.
        promise: what is judged.
    """
    look = np.array([one.look for one in series], dtype=np.int64)
    level = side_level(promise.confidence, look)
    enclosed, within = _enclose(runs, promise, level)
    found = _without_limit(runs, promise.share, level, enclosed)
    if promise.limit_ms is None:
        return found
    errors = np.array([one.error_count for one in series], dtype=np.float64)
    return _with_limit(found, runs, promise, within, errors=errors, look=look)


def _enclose(runs: Runs, promise: Promise, level: FloatArray) -> tuple[_Enclosed, _Within]:
    """Enclose the quantiles, and count the requests within the limit.

    The interval holds the latencies that the test of the share does not reject, and the correlation of "at or under x" depends
    on x. So the first interval, with the correlation at the sample quantile, is corrected with that at its own ends.
    """
    share = promise.share
    size = np.array([row.size for row in runs.pooled])
    middle = np.clip(np.ceil(size * share - 1e-9).astype(np.int64), 1, np.maximum(size, 1))

    def latency(rank: IntArray) -> FloatArray:
        inside = np.where((rank < 1) | (rank > size), middle, rank).tolist()
        return np.array(
            [row[i - 1] if row.size else np.nan for row, i in zip(runs.pooled, inside, strict=True)]
        )

    def count(hits: FloatArray, tau: FloatArray) -> FloatArray:
        return effective_count(runs.owner, runs.size, hits, tau, level)

    (hits, within), (tau, within_tau) = runs.at_or_under(
        latency(middle), np.full(size.shape, promise.widest_ms)
    )
    worth = count(hits, tau)
    lower, upper = quantile_ranks(share, size, worth, level)
    (at_lower, at_upper), (lower_tau, upper_tau) = runs.at_or_under(latency(lower), latency(upper))
    lower, _ = quantile_ranks(share, size, count(at_lower, np.maximum(lower_tau, tau)), level)
    _, upper = quantile_ranks(share, size, count(at_upper, np.maximum(upper_tau, tau)), level)
    hits_within = np.bincount(runs.owner, within, size.size).astype(np.float64)
    return _Enclosed(lower, upper, worth), _Within(hits_within, count(within, within_tau))


def _without_limit(runs: Runs, share: float, level: FloatArray, enclosed: _Enclosed) -> list[Assessment]:
    mean, error, freedom = mean_errors(
        runs.owner, runs.size, mean=runs.mean, variance=runs.variance, tau=runs.mean_tau, level=level
    )
    columns = (*enclosed, mean, t_quantile(freedom, level) * error, error, freedom)
    run_count = np.bincount(runs.owner, minlength=len(level)).tolist()
    rows = np.column_stack(columns).tolist()
    return [
        _assessment(*one, share=share) if one[1] else _all_failed()
        for one in zip(runs.pooled, run_count, rows, strict=True)
    ]


def _assessment(ordered: FloatArray, run_count: int, figures: list[float], *, share: float) -> Assessment:
    lower, upper, worth, middle, half, error, freedom = figures
    quantile = Estimate(
        linear_quantile(ordered, share),
        float(ordered[int(lower) - 1]) if lower >= 1 else None,
        float(ordered[int(upper) - 1]) if upper <= ordered.size else None,
    )
    outlier_count, notes = _outliers(ordered)
    return Assessment(
        verdict="undecided",
        grade="A" if run_count >= 5 else "B",
        probability=None,
        share_within=None,
        quantile_ms=quantile,
        mean_ms=Estimate(middle, middle - half, middle + half) if math.isfinite(half) else Estimate(middle),
        quantile_untrimmed_ms=quantile.point,
        mean_untrimmed_ms=middle,
        tau=ordered.size / worth,
        effective_count=worth,
        tau_tolerated=None,
        more_needed=None,
        more_helps=True,
        run_count=run_count,
        warmup_count=0,
        drift=None,
        outlier_count=outlier_count,
        log_mean_se=error / middle if math.isfinite(error) else None,
        notes=(*_run_notes(run_count), *notes),
        mean_freedom=freedom if math.isfinite(error) else None,
    )


def _all_failed() -> Assessment:
    return Assessment(
        verdict="undecided",
        grade="B",
        probability=None,
        share_within=None,
        quantile_ms=None,
        mean_ms=None,
        quantile_untrimmed_ms=None,
        mean_untrimmed_ms=None,
        tau=None,
        effective_count=None,
        tau_tolerated=None,
        more_needed=None,
        more_helps=True,
        run_count=1,
        warmup_count=0,
        drift=None,
        outlier_count=0,
        log_mean_se=None,
        notes=("every request failed",),
    )


def _with_limit(
    found: list[Assessment],
    runs: Runs,
    promise: Promise,
    within: _Within,
    *,
    errors: FloatArray,
    look: IntArray,
) -> list[Assessment]:
    """Add the verdict. Failed requests are beyond any limit; they are worth as much as the others."""
    size = np.array([row.size for row in runs.pooled], dtype=np.float64)
    requests = size + errors
    share = within.hits / requests
    worth = np.where(size > 0, within.worth * requests / np.maximum(size, 1), errors)
    low, high = share_limits(share, share, worth, side_level(promise.confidence, look))
    probability = probability_above(share, worth, promise.share)
    verdicts = [promise.verdict(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]
    open_ = np.array([verdict == "undecided" for verdict in verdicts])
    further = np.full(size.shape, np.inf)
    further[open_] = more_needed(promise, share[open_], requests[open_], worth[open_], look[open_])

    judged = []
    rows = np.column_stack((share, low, high, probability, requests / worth, worth, further)).tolist()
    for one, row, verdict, failed, figures in zip(
        found, runs.pooled, verdicts, errors.tolist(), rows, strict=True
    ):
        point, least, most, chance, tau, count, more = figures
        quantile = one.quantile_ms
        if quantile and not failed:
            quantile = _agreeing(quantile, row, promise.widest_ms, verdict)
        judged.append(
            replace(
                one,
                verdict=verdict,
                probability=chance,
                share_within=Estimate(point, least, most),
                quantile_ms=quantile,
                tau=tau,
                effective_count=count,
                more_needed=int(more) if math.isfinite(more) else None,
                more_helps=verdict != "undecided" or math.isfinite(more),
            )
        )
    return judged


def _agreeing(quantile: Estimate, ordered: FloatArray, limit_ms: float, verdict: Verdict) -> Estimate:
    """Make the interval agree with the verdict: it holds latencies beyond the limit unless that is disproved.

    The interval is what the test does not reject. At the limit itself the test is exact (its correlation is that of the limit,
    not of an end of the interval), so there it decides.
    """
    within = int(ordered.searchsorted(limit_ms, side="right"))
    longest_within = float(ordered[within - 1]) if within else None
    shortest_beyond = float(ordered[within]) if within < ordered.size else None
    low, high = quantile.low, quantile.high
    if verdict == "pass":
        high = longest_within if high is None or high > limit_ms else high
    elif high is not None and high <= limit_ms:
        high = shortest_beyond
    if verdict == "fail":
        low = shortest_beyond if low is None or low <= limit_ms else low
    elif low is not None and low > limit_ms:
        low = longest_within
    return Estimate(quantile.point, low, high)


def _outliers(ordered: FloatArray) -> tuple[int, tuple[str, ...]]:
    """Label what lies three quartile distances outside the middle half (Tukey's far out); nothing is removed."""
    first, third = linear_quantile(ordered, 0.25), linear_quantile(ordered, 0.75)
    reach = _OUTLIER_FACTOR * (third - first)
    above = int(ordered.size - ordered.searchsorted(third + reach, side="right"))
    below = int(ordered.searchsorted(first - reach, side="left"))
    part = float(ordered[ordered.size - above :].sum() / ordered.sum()) if above else 0.0
    if part < _OUTLIER_PART:
        return above + below, ()
    return above + below, (
        f"{above} outliers above {third + reach:.4g} ms (kept) hold {100 * part:.0f} % of the time",
    )


def _run_notes(run_count: int) -> tuple[str, ...]:
    if run_count == 1:
        return ("one run: it speaks for that run only, another hour or instance can differ",)
    if run_count < 5:
        return (
            f"{run_count} runs: the intervals include the spread between them; five or more runs make grade A",
        )
    return ()
