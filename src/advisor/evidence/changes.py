"""How much a mean or a percentile differs between two benchmarks, as a relative change with its interval.

Changes are judged on the logarithm: the ratio of two latencies is the difference of their logarithms.
"""

import math
from dataclasses import dataclass

import numpy as np

from advisor.evidence.intervals import side_level, t_quantile
from advisor.evidence.types import Estimate


@dataclass(frozen=True)
class LogMean:
    """A mean on the logarithm.

    Attributes:
        mean: the mean, > 0.
        log_se: standard error of log(mean).
        freedom: degrees of freedom of that error.
    """

    mean: float
    log_se: float
    freedom: float


def mean_change(baseline: LogMean, candidate: LogMean, confidence: float = 0.95) -> Estimate:
    """Return the relative change of a mean, -0.2 for 20 % less, with its interval.

    `log(m1 / m0) +- t sqrt(e0^2 + e1^2)`, t with the degrees of freedom of Welch (1947) and Satterthwaite (1946):
    `(e0^2 + e1^2)^2 / (e0^4 / f0 + e1^4 / f1)`.
    """
    change = math.log(candidate.mean / baseline.mean)
    squares = (baseline.log_se**2, candidate.log_se**2)
    if not (sum(squares) > 0 and baseline.freedom > 0 and candidate.freedom > 0):
        return Estimate(math.expm1(change))
    freedom = sum(squares) ** 2 / (squares[0] ** 2 / baseline.freedom + squares[1] ** 2 / candidate.freedom)
    half = float(t_quantile(np.asarray(freedom), side_level(confidence, 1))) * math.sqrt(sum(squares))
    return Estimate(math.expm1(change), math.expm1(change - half), math.expm1(change + half))


def quantile_change(baseline: Estimate, candidate: Estimate) -> Estimate:
    """Return the relative change of a percentile, with its interval.

    Two intervals of one confidence are combined on the logarithm by the method of variance estimates recovery (Zou and Donner
    2008): `low = d - sqrt((q1 - l1)^2 + (u0 - q0)^2)`, `high = d + sqrt((u1 - q1)^2 + (q0 - l0)^2)`. A bound is None where one of
    the two that it needs is.
    """
    change = math.log(candidate.point / baseline.point)
    below = _joint(_distance(candidate.point, candidate.low), _distance(baseline.point, baseline.high))
    above = _joint(_distance(candidate.point, candidate.high), _distance(baseline.point, baseline.low))
    return Estimate(
        math.expm1(change),
        None if below is None else math.expm1(change - below),
        None if above is None else math.expm1(change + above),
    )


def _distance(point: float, bound: float | None) -> float | None:
    return None if bound is None else math.log(bound / point)


def _joint(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else math.hypot(one, other)
