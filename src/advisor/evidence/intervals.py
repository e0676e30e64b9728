"""Intervals and verdicts from three numbers: the share within the limit, how many requests it is worth, and the level."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from advisor.arrays import FloatArray, IntArray

EQUAL: Final = 1 + 1e-9
"""Latencies equal to the limit within this factor count as equal, so that 0.0082 s meets 8.2 ms."""


def side_level(confidence: float, look: npt.ArrayLike) -> FloatArray:
    """Return the error allowed on each side at the j-th look at growing data: `alpha / (j (j + 1))`.

    The first look has alpha / 2, the two-sided interval; over any number of looks the sum stays at alpha a side.
    """
    j = np.asarray(look, dtype=np.float64)
    return (1 - confidence) / (j * (j + 1))


def share_limits(
    low_share: FloatArray, high_share: FloatArray, count: FloatArray, level: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of a share of which the sample's value lies between `low_share` and `high_share`.

    Clopper and Pearson (1934) with the effective count of Korn and Graubard (1998):
    `low = Beta^-1(level; k, n - k + 1)`, `high = Beta^-1(1 - level; k + 1, n - k)`, k = n x share.

    Args:
        low_share: shape (s,), 0 .. 1; used for the lower limit.
        high_share: shape (s,), 0 .. 1; used for the upper limit.
        count: effective requests, shape (s,), > 0.
        level: error allowed on each side, shape (s,).
    """
    hits = count * low_share
    misses = count * (1 - high_share)
    low = special.betaincinv(np.maximum(hits, 1e-12), count - hits + 1, level)
    high = special.betaincinv(count - misses + 1, np.maximum(misses, 1e-12), 1 - level)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def probability_above(share: FloatArray, count: FloatArray, wanted: float) -> FloatArray:
    """Return the probability that the true share is at least `wanted`, with the prior of Jeffreys."""
    hits = count * share
    return np.asarray(special.betaincc(hits + 0.5, count - hits + 0.5, wanted))


def quantile_ranks(
    wanted: float, size: IntArray, count: FloatArray, level: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the ranks (1 .. size) of the order statistics that enclose the quantile, after Woodruff (1952).

    Args:
        wanted: the quantile, 0 .. 1.
        size: requests that are sorted.
        count: what they are worth.
        level: error allowed on each side.

    Returns:
        Lower ranks, where 0 means that no bound can be given, and upper ranks, where size + 1 means the same.
    """
    share = np.full(count.shape, wanted)
    low, high = share_limits(share, share, count, level)
    lower = np.floor(size * low).astype(np.int64)
    upper = np.ceil(size * high).astype(np.int64)
    lower = np.where((1 - wanted) ** count > level, 0, lower)
    upper = np.where((wanted**count > level) | (upper > size), size + 1, upper)
    return lower, upper


def linear_quantile(ordered: FloatArray, wanted: float) -> float:
    """Return the quantile of sorted latencies as `numpy.quantile(..., method="linear")` does, to the last bit."""
    virtual = (ordered.size - 1) * wanted
    below = math.floor(virtual)
    part = virtual - below
    left, right = float(ordered[below]), float(ordered[min(below + 1, ordered.size - 1)])
    return left + (right - left) * part if part < 0.5 else right - (right - left) * (1 - part)


def t_quantile(freedom: FloatArray, level: FloatArray) -> FloatArray:
    """Return the upper `level` point of Student's t; infinite where there is no degree of freedom."""
    usable = freedom > 0
    found = special.stdtrit(np.where(usable, freedom, 1.0), 1 - level)
    return np.where(usable, found, np.inf)
