"""Families of simulated latencies with a known distribution: independent, correlated, and switching between two states.

Times are ms around 10. The quantile of each family is exact (closed form, or solved from the closed form of the distribution).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """One kind of latencies.

    Attributes:
        name: as shown in the tables.
        draw: (replications, n, generator) -> latencies in ms, shape (replications, n).
        below: latency in ms -> share of latencies at or under it.
        mean_ms: their mean.
        held_out: never looked at while the method was chosen.
    """

    name: str
    draw: Callable[[int, int, np.random.Generator], FloatArray]
    below: Callable[[float], float]
    mean_ms: float
    held_out: bool = False

    def quantile(self, share: float) -> float:
        """Return the latency in ms that this share of the latencies is at or under."""
        return float(
            optimize.brentq(lambda latency_ms: self.below(latency_ms) - share, 1e-3, 1e4, xtol=1e-12)
        )


def _lognormal(sigma: float) -> Callable[[float], float]:
    return lambda latency_ms: float(special.ndtr(np.log(latency_ms / 10) / sigma))


def _two_levels(
    slow_share: float, slow_ms: float, slow_sigma: float, fast_sigma: float = 0.05
) -> Callable[[float], float]:
    fast, slow = _lognormal(fast_sigma), _lognormal(slow_sigma)
    return lambda x: (1 - slow_share) * fast(x) + slow_share * slow(x * 10 / slow_ms)


def _lognormal_mean(sigma: float) -> float:
    return 10 * float(np.exp(sigma**2 / 2))


def _two_level_mean(slow_share: float, slow_ms: float, slow_sigma: float) -> float:
    return (1 - slow_share) * _lognormal_mean(0.05) + slow_share * slow_ms / 10 * _lognormal_mean(slow_sigma)


def independent(sigma: float) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """Independent lognormal latencies."""
    return lambda count, n, rng: 10 * np.exp(sigma * rng.standard_normal((count, n)))


def two_modes(
    slow_share: float, slow_ms: float, slow_sigma: float
) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """Independent requests, a part of them slow."""

    def draw(count: int, n: int, rng: np.random.Generator) -> FloatArray:
        return _levels(rng.random((count, n)) < slow_share, slow_ms, slow_sigma, rng)

    return draw


def autoregressive(correlation: float, sigma: float) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """Lognormal latencies whose logarithm follows an autoregression of order 1."""

    def draw(count: int, n: int, rng: np.random.Generator) -> FloatArray:
        logs = rng.standard_normal((count, n))
        logs[:, 1:] *= np.sqrt(1 - correlation**2)
        for request in range(1, n):
            logs[:, request] += correlation * logs[:, request - 1]
        return 10 * np.exp(sigma * logs)

    return draw


def moving_average(width: int, sigma: float) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """Lognormal latencies whose logarithm is the mean of the last `width` + 1 shocks."""

    def draw(count: int, n: int, rng: np.random.Generator) -> FloatArray:
        sums = np.cumsum(rng.standard_normal((count, n + width + 1)), axis=1)
        return np.asarray(
            10 * np.exp(sigma * (sums[:, width + 1 :] - sums[:, : -width - 1]) / np.sqrt(width + 1))
        )

    return draw


def two_states(
    slow_share: float, dwell: float, slow_ms: float, slow_sigma: float
) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """A machine that is slow for a while, `dwell` requests on average, and then fast again."""

    def draw(count: int, n: int, rng: np.random.Generator) -> FloatArray:
        slow = np.empty((count, n), dtype=np.bool_)
        slow[:, 0] = rng.random(count) < slow_share
        leave, enter = 1 / dwell, slow_share / (1 - slow_share) / dwell
        chance = rng.random((count, n))
        for request in range(1, n):
            before = slow[:, request - 1]
            slow[:, request] = np.where(before, chance[:, request] >= leave, chance[:, request] < enter)
        return _levels(slow, slow_ms, slow_sigma, rng)

    return draw


def _levels(
    slow: npt.NDArray[np.bool_], slow_ms: float, slow_sigma: float, rng: np.random.Generator
) -> FloatArray:
    noise = rng.standard_normal(slow.shape)
    return np.where(slow, slow_ms * np.exp(slow_sigma * noise), 10 * np.exp(0.05 * noise))


def _steady(
    name: str,
    draw: Callable[[int, int, np.random.Generator], FloatArray],
    sigma: float = 0.25,
    *,
    held_out: bool = False,
) -> Family:
    return Family(name, draw, _lognormal(sigma), _lognormal_mean(sigma), held_out)


def _modes(name: str, slow_share: float) -> Family:
    levels = (slow_share, 20, 0.05)
    return Family(name, two_modes(*levels), _two_levels(*levels), _two_level_mean(*levels))


def _states(name: str, slow_share: float, dwell: float, *, held_out: bool = False) -> Family:
    draw = two_states(slow_share, dwell, 13, 0.08)
    levels = (slow_share, 13, 0.08)
    return Family(name, draw, _two_levels(*levels), _two_level_mean(*levels), held_out)


FAMILIES = (
    _steady("independent lognormal", independent(0.25)),
    _modes("two modes, slow 20 %", 0.20),
    _modes("two modes, slow 9 % (a gap at P90)", 0.09),
    _steady("AR(.5)", autoregressive(0.5, 0.25)),
    _steady("AR(.9)", autoregressive(0.9, 0.25)),
    _steady("MA(20)", moving_average(20, 0.25)),
    _steady("AR(.7) heavy", autoregressive(0.7, 0.8), sigma=0.8),
    _states("two states, slow 15 %, dwell 5", 0.15, 5),
    _states("two states, slow 20 %, dwell 20", 0.20, 20),
    _states("two states, slow 15 %, dwell 20", 0.15, 20, held_out=True),
    _states("two states, slow 25 %, dwell 15", 0.25, 15, held_out=True),
    _steady("AR(.8) wide", autoregressive(0.8, 0.5), sigma=0.5, held_out=True),
)
"""Names are stable: results are compared by them."""

DESIGN = ("independent lognormal", "AR(.5)", "AR(.9)", "two states, slow 20 %, dwell 20")
"""The families in which repeated looks are studied."""
