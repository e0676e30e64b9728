"""What a summary proves: nothing but brackets of the share within the limit, and then the count."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from advisor.errors import InputError
from advisor.evidence.brackets import assess_bracket
from advisor.evidence.intervals import EQUAL, share_limits, t_quantile
from advisor.evidence.promise import LONGEST_MS, MOST_REQUESTS, Promise
from advisor.evidence.types import Assessment, Estimate, Summary

_ROUNDING: Final = 1e-9


def share_bracket(summary: Summary, limit_ms: float) -> tuple[float, float]:
    """Return the least and the greatest share of the sample's successful requests that can lie within the limit.

    Everything known narrows it: percentiles, minimum, maximum, and mean with standard deviation. The last by Cantelli's
    inequality, which holds for the sample itself: at most `s^2 / (s^2 + d^2)` of it lies d or more on one side of its mean.
    The standard deviation may be that of a sample (n - 1) or of a population (n): it is taken as the latter, the safe side.
    With a count the bounds are whole requests, and a percentile holds for every common definition of it. Figures that
    contradict each other (rounded ones do) give the range between what they say. A looser limit never lowers either bound.

    Returns:
        (low, high), each 0 .. 1, low <= high.
    """
    low, high = 0.0, 1.0
    for least, most in _bounds(summary, limit_ms * EQUAL):
        low, high = max(low, least), min(high, most)
    return min(low, high), max(low, high)


def _bounds(summary: Summary, limit_ms: float) -> Iterator[tuple[float, float]]:
    n = summary.count or math.inf
    for percentile, latency_ms in summary.percentiles_ms.items():
        share = percentile / 100
        yield (_floor(share, n), 1.0) if latency_ms <= limit_ms else (0.0, 1 - _floor(1 - share, n))
    if summary.min_ms is not None:
        yield (1 / n, 1.0) if summary.min_ms <= limit_ms else (0.0, 0.0)
    if summary.max_ms is not None:
        yield (1.0, 1.0) if summary.max_ms <= limit_ms else (0.0, 1 - 1 / n)
    if summary.mean_ms is not None and summary.std_ms is not None and limit_ms != summary.mean_ms:
        distance, std = limit_ms - summary.mean_ms, summary.std_ms
        other_side = _floor((std / math.hypot(std, distance)) ** 2, n)
        yield (1 - other_side, 1.0) if distance > 0 else (0.0, other_side)


def _floor(share: float, n: float) -> float:
    """Round a share down to whole requests of n, where n is known."""
    return share if math.isinf(n) else math.floor(share * n + _ROUNDING) / n


def quantile_bracket(summary: Summary, share: float) -> tuple[float | None, float | None]:
    """Return the latencies between which the sample's quantile lies; None where a bound is not known.

    Args:
        summary: what is known.
        share: the quantile, 0 .. 1 (0.9 for P90).
    """
    known = [(percentile / 100, latency_ms) for percentile, latency_ms in summary.percentiles_ms.items()]
    lows = [latency_ms for of, latency_ms in known if of <= share + _ROUNDING]
    highs = [latency_ms for of, latency_ms in known if of >= share - _ROUNDING]
    if summary.min_ms is not None:
        lows.append(summary.min_ms)
    if summary.max_ms is not None:
        highs.append(summary.max_ms)
    if summary.mean_ms is not None and summary.std_ms is not None:
        if summary.count:
            rank = max(1, math.ceil(summary.count * share - _ROUNDING))
            below, above = rank / summary.count, (summary.count - rank + 1) / summary.count
        else:
            below, above = share, 1 - share
        if below > 0:
            lows.append(summary.mean_ms - summary.std_ms * math.sqrt(1 / below - 1))
        if above > 0:
            highs.append(summary.mean_ms + summary.std_ms * math.sqrt(1 / above - 1))
    low = max((one for one in lows if one > 0), default=None)
    return low, min(highs, default=None)


def assess_summary(
    summary: Summary, limit_ms: float | None, percentile: float = 90, confidence: float = 0.95, look: int = 1
) -> Assessment:
    """Say what the figures of a sample prove about a promise, if its requests were independent (grade D).

    The verdict rests on the bracket of the share within the limit and on the count; `share_within.point` is the least share that
    the sample proves. `tau_tolerated` says how much correlation the verdict would stand. Without a count nothing is proved.

    Args:
        summary: what is known of the sample.
        limit_ms: the limit, ms; None where no limit is asked.
        percentile: the promised percentile, between 0 and 100.
        confidence: of the two-sided intervals.
        look: how many times this growing sample has been judged, counting this one.

    Raises:
        InputError: the summary has neither a successful nor a failed request, or a figure that none can have.
        QuestionError: limit, percentile, confidence or look is out of bounds.
    """
    promise = Promise(limit_ms, percentile, confidence)
    level = promise.level(look)
    _refuse_impossible(summary)
    point = summary.percentiles_ms.get(percentile)
    quantile = None if point is None else Estimate(point)
    mean = None if summary.mean_ms is None else Estimate(summary.mean_ms)
    log_mean_se = None
    if summary.count and point is not None:
        quantile = _quantile(summary, point, promise.share, level)
    if summary.count and summary.count > 1 and summary.mean_ms is not None and summary.std_ms is not None:
        error = summary.std_ms / math.sqrt(summary.count)
        half = error * float(t_quantile(np.asarray(summary.count - 1.0), np.asarray(level)))
        mean = Estimate(summary.mean_ms, summary.mean_ms - half, summary.mean_ms + half)
        log_mean_se = error / summary.mean_ms
    return assess_bracket(
        promise,
        share_bracket(summary, limit_ms) if limit_ms is not None else (0.0, 1.0),
        count=summary.count,
        error_count=summary.error_count,
        look=look,
        grade="D",
        quantile=quantile,
        mean=mean,
        log_mean_se=log_mean_se,
    )


def _refuse_impossible(summary: Summary) -> None:
    figures = (
        *summary.percentiles_ms.values(),
        summary.mean_ms,
        summary.std_ms,
        summary.min_ms,
        summary.max_ms,
    )
    if not all(0 <= figure <= LONGEST_MS for figure in figures if figure is not None):
        raise InputError(f"every latency of a summary must be a number of ms between 0 and {LONGEST_MS:g}")
    if not all(0 <= number <= MOST_REQUESTS for number in (summary.count or 0, summary.error_count)):
        raise InputError(f"a summary counts its requests from 0 to {MOST_REQUESTS}")


def _quantile(summary: Summary, point: float, share: float, level: float) -> Estimate:
    """Woodruff's interval as far as the figures enclose it."""
    at, count = np.asarray(share), np.asarray(float(summary.count or 0))
    low, high = (float(one) for one in share_limits(at, at, count, np.asarray(level)))
    return Estimate(
        point,
        quantile_bracket(summary, low)[0] if (1 - share) ** count <= level else None,
        quantile_bracket(summary, high)[1] if share**count <= level else None,
    )
