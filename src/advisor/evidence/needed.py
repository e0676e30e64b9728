"""How many requests would settle a verdict: the exact search over the binomial distribution.

The least n with enough power is not the first one: as n grows, the power falls until one more miss is allowed, and then jumps.
So the search goes over the number of misses, where the worst n for each is known, and not over n.
"""

from typing import Final

import numpy as np
from scipy import special

from advisor.arrays import BoolArray, FloatArray

POWER: Final = 0.8
"""Chance with which the counted requests settle the verdict, where the share stays what it is."""


def least_count(allowed: FloatArray, misses: FloatArray, level: FloatArray) -> FloatArray:
    """Return the least n at which that many misses or fewer prove that the share of misses is below `allowed`.

    That is the least n with `P(Binomial(n, allowed) <= misses) <= level`. At level .01 and .1 allowed it is 44 without a miss and
    64 with one; at .01 allowed 459 and 662 (the integers of MLPerf's early stopping).
    """
    count = np.maximum(np.ceil(special.bdtrin(misses, level, allowed)), misses + 1)
    for _ in range(2):  # the inverse is good to a rounding; the distribution function decides
        smaller = (count - 1 > misses) & (_at_most(misses, count - 1, allowed) <= level)
        count = count - smaller + (_at_most(misses, count, allowed) > level)
    return count


def needed_count(rate: FloatArray, allowed: FloatArray, level: FloatArray, ceiling: FloatArray) -> FloatArray:
    """Return the least n from which on the side of a share of misses is proved with a chance of at least `POWER`.

    Where the powers of neighbouring numbers of misses are not in order (they differ in the third digit there), the first found
    counts.

    Args:
        rate: the true share of misses, shape (s,).
        allowed: the share that it is proved to lie below or above, shape (s,), between 0 and 1.
        level: error allowed, shape (s,).
        ceiling: where more than this is needed the answer is infinite, shape (s,).

    Returns:
        Shape (s,). Infinite also where the rate is the allowed one.
    """
    cases, case = np.unique(np.stack([rate, allowed, level]), axis=1, return_inverse=True)
    furthest = np.zeros(cases.shape[1])
    np.maximum.at(furthest, case, ceiling)
    needed = _needed(cases[0], cases[1], cases[2], furthest)[case]
    return np.where(needed <= ceiling, needed, np.inf)


def _needed(rate: FloatArray, allowed: FloatArray, level: FloatArray, ceiling: FloatArray) -> FloatArray:
    highest = np.ceil(ceiling * np.maximum(allowed, rate)) + 1
    reached = (rate != allowed) & _suffices(highest, rate, allowed, level)
    needed = np.full(rate.shape, np.inf)
    if reached.any():
        rate, allowed, level = rate[reached], allowed[reached], level[reached]
        misses = _least_misses(rate, allowed, level, highest[reached])
        first_of_few = least_count(allowed, misses, level)
        needed[reached] = np.where(rate < allowed, first_of_few, _first_of_many(misses, rate, allowed, level))
    return needed


def _least_misses(
    rate: FloatArray, allowed: FloatArray, level: FloatArray, highest: FloatArray
) -> FloatArray:
    """Return the number of misses from which on even the worst n has enough power; `highest` has it."""
    lowest = np.where(
        (rate > allowed) & (allowed > level), 1.0, 0.0
    )  # one miss alone can prove nothing there
    near = _normal_count(rate, allowed, level) * np.where(rate < allowed, allowed, rate)
    probes = [np.floor(0.95 * near), np.ceil(1.2 * near + 2)]
    while (lowest < highest).any():
        middle = probes.pop() if probes else np.floor((lowest + highest) / 2)
        middle = np.clip(middle, lowest, highest)
        enough = _suffices(middle, rate, allowed, level)
        lowest = np.where(enough, lowest, np.minimum(middle + 1, highest))
        highest = np.where(enough, middle, highest)
    return lowest


def _first_of_many(
    misses: FloatArray, rate: FloatArray, allowed: FloatArray, level: FloatArray
) -> FloatArray:
    """Return the first n with enough power where many misses prove: it may lie among those with one miss less."""
    following = _worst_count(misses, allowed, level, np.zeros(rate.shape, dtype=np.bool_))
    earlier = np.ceil(special.bdtrin(np.maximum(misses - 1, 0), 1 - POWER, np.minimum(rate, 1 - 1e-9)))
    return np.where(misses > 0, np.minimum(earlier, following), following)


def _normal_count(rate: FloatArray, allowed: FloatArray, level: FloatArray) -> FloatArray:
    """The textbook count of the normal approximation, 2 to 17 % low; only where to start looking."""
    far = special.ndtri(1 - level) * np.sqrt(allowed * (1 - allowed))
    near = special.ndtri(POWER) * np.sqrt(rate * (1 - rate))
    return np.asarray(((far + near) / (allowed - rate)) ** 2)


def _suffices(misses: FloatArray, rate: FloatArray, allowed: FloatArray, level: FloatArray) -> BoolArray:
    few = rate < allowed
    found = _at_most(misses, _worst_count(misses, allowed, level, few), rate)
    return np.where(few, found, 1 - found) >= POWER


def _worst_count(misses: FloatArray, allowed: FloatArray, level: FloatArray, few: BoolArray) -> FloatArray:
    """Return the n with the least power among those for which `misses` is critical.

    For few misses to prove anything that is the last n before one more is allowed; for many (over `misses`) the first n after
    which one more is demanded.
    """
    neighbour = np.where(few, misses + 1, misses - 1)
    bound = special.bdtrin(np.maximum(neighbour, 0), np.where(few, level, 1 - level), allowed)
    return np.where(few, np.ceil(bound) - 1, np.where(neighbour < 0, 1.0, np.floor(bound) + 1))


def _at_most(misses: FloatArray, count: FloatArray, rate: FloatArray) -> FloatArray:
    """P(Binomial(count, rate) <= misses)."""
    left = np.maximum(count - misses, 1e-12)
    return np.where(count <= misses, 1.0, special.betainc(left, misses + 1, 1 - rate))
