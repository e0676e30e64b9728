"""Several runs of one benchmark: the spread between them counts where it is the larger one.

Requests of one run share its hour, machine and neighbours. The runs, not the requests, are then what was sampled (Kalibera and
Jones 2013), with one degree of freedom less than there are runs (Korn and Graubard 1998).
"""

import numpy as np

from advisor.arrays import FloatArray, IntArray
from advisor.evidence.intervals import t_quantile


def effective_count(
    owner: IntArray, size: FloatArray, hits: FloatArray, tau: FloatArray, level: FloatArray
) -> FloatArray:
    """Return how many independent requests the share of hits of each series rests on.

    Args:
        owner: series of each run, shape (r,), 0 .. s - 1.
        size: requests of each run, shape (r,).
        hits: requests of each run that count, shape (r,).
        tau: inflation within each run, shape (r,).
        level: error allowed on each side, shape (s,).

    Returns:
        Shape (s,). With one run n / tau. With more, `min(n, f (1 - f) / v) (t_{n-1} / t_{R-1})^2` where the variance v between
        runs is the larger one.
    """
    total, runs = _totals(owner, size, level)
    share = np.bincount(owner, hits, len(level)) / total
    within_count = total**2 / np.maximum(np.bincount(owner, size * tau, len(level)), 1e-12)
    spread = share * (1 - share)
    between = _between(owner, size, value=hits / np.maximum(size, 1), pooled=share, total=total, runs=runs)
    larger = (between > spread / within_count) & (runs > 1)
    if not larger.any():
        return within_count
    ratio = t_quantile(np.where(larger, total - 1, 1.0), level) / t_quantile(
        np.where(larger, runs - 1, 1.0), level
    )
    between_count = np.minimum(total, spread / np.where(larger, between, 1.0)) * ratio**2
    return np.where(larger, between_count, within_count)


def mean_errors(
    owner: IntArray,
    size: FloatArray,
    *,
    mean: FloatArray,
    variance: FloatArray,
    tau: FloatArray,
    level: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean of each series, its standard error, and the degrees of freedom of that error.

    The error is the larger of that within the runs (`variance tau / n`) and that between them.

    Returns:
        Three arrays of shape (s,); the error is NaN where no spread was seen, which is not the same as none.
    """
    total, runs = _totals(owner, size, level)
    pooled = np.bincount(owner, size * mean, len(level)) / total
    within = np.bincount(owner, size * variance * tau, len(level)) / total**2
    worth = total**2 / np.maximum(np.bincount(owner, size * tau, len(level)), 1e-12)
    between = _between(owner, size, value=mean, pooled=pooled, total=total, runs=runs)
    larger = (between > within) & (runs > 1)
    error = np.sqrt(np.where(larger, between, within))
    return pooled, np.where(error > 0, error, np.nan), np.where(larger, runs - 1, worth - 1)


def _totals(owner: IntArray, size: FloatArray, level: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = np.maximum(np.bincount(owner, size, len(level)), 1.0)
    return total, np.bincount(owner, minlength=len(level)).astype(np.float64)


def _between(
    owner: IntArray,
    size: FloatArray,
    *,
    value: FloatArray,
    pooled: FloatArray,
    total: FloatArray,
    runs: FloatArray,
) -> FloatArray:
    squares = np.bincount(owner, (size * (value - pooled[owner])) ** 2, len(total))
    return np.asarray(runs / np.maximum(runs - 1, 1) * squares / total**2)
