"""How many requests would settle a verdict: the exact search over the binomial distribution."""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

FloatArray = npt.NDArray[np.float64]

POWER: Final = 0.8
"""Chance with which the counted requests settle the verdict, where the share stays what it is."""


def least_count(allowed: FloatArray, errors: FloatArray, level: FloatArray) -> FloatArray:
    """Return the least n at which `errors` or fewer among n prove a rate below `allowed`.

    That is the least n with `P(Binomial(n, allowed) <= errors) <= level`: for level .01, allowed .1 and no error 44, for one 64
    (the integers of MLPerf's early stopping).
    """
    count = np.ceil(special.bdtrin(errors, level, allowed))
    count = np.maximum(count, errors + 1)
    for _ in range(3):  # the inverse is good to a rounding; the distribution function decides
        smaller = (count - 1 > errors) & (_at_most(errors, count - 1, allowed) <= level)
        larger = _at_most(errors, count, allowed) > level
        count = count - smaller + larger
    return count


def needed_count(rate: FloatArray, allowed: FloatArray, level: FloatArray, ceiling: FloatArray) -> FloatArray:
    """Return the least n from which on a true rate below `allowed` is proved with a chance of at least `POWER`.

    Args:
        rate: the true rate, shape (s,).
        allowed: what it must be proved to lie below, shape (s,).
        level: error allowed, shape (s,).
        ceiling: where more than this is needed the answer is infinite, shape (s,).

    Returns:
        Shape (s,). Infinite where the rate is not below `allowed`.
    """
    lowest = np.zeros(rate.shape)
    highest = np.ceil(ceiling * allowed) + 1
    possible = (rate < allowed) & _suffices(highest, rate, allowed, level)
    while True:  # the least number of errors e from which on the worst n that allows e has enough power
        open_ = possible & (lowest < highest)
        if not open_.any():
            break
        middle = np.floor((lowest + highest) / 2)
        enough = _suffices(middle, rate, allowed, level)
        highest = np.where(open_ & enough, middle, highest)
        lowest = np.where(open_ & ~enough, middle + 1, lowest)
    count = least_count(allowed, lowest, level)
    return np.where(possible & (count <= ceiling), count, np.inf)


def _suffices(
    errors: FloatArray, rate: FloatArray, allowed: FloatArray, level: FloatArray
) -> npt.NDArray[np.bool_]:
    worst = least_count(allowed, errors + 1, level) - 1
    return np.asarray(_at_most(errors, worst, rate) >= POWER)


def _at_most(errors: FloatArray, count: FloatArray, rate: FloatArray) -> FloatArray:
    """P(Binomial(count, rate) <= errors)."""
    left = np.maximum(count - errors, 1e-12)
    return np.where(count <= errors, 1.0, special.betainc(left, errors + 1, 1 - rate))
