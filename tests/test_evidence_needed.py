"""The requests that would settle a verdict, against sums of the binomial distribution and published integers."""

from math import comb

import numpy as np
import pytest

from advisor.evidence.needed import least_count, needed_count


def at_most(misses: int, n: int, rate: float) -> float:
    return sum(comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(misses + 1))


@pytest.mark.parametrize(("allowed", "integers"), [(0.1, [44, 64, 81, 97]), (0.01, [459, 662, 838, 1001])])
def test_the_least_counts_are_the_integers_of_mlperfs_early_stopping(
    allowed: float, integers: list[int]
) -> None:
    # MLPerf inference: 64 = min_query_count of the P90 rule with one miss, 662 of the P99 rule, at 99 %
    misses = np.arange(4.0)
    assert least_count(np.full(4, allowed), misses, np.full(4, 0.01)).tolist() == integers


@pytest.mark.parametrize("level", [0.025, 0.05 / 6])
@pytest.mark.parametrize("allowed", [0.1, 0.3])
def test_the_least_count_is_the_first_that_proves(allowed: float, level: float) -> None:
    for misses in (0, 1, 5, 20):
        count = int(least_count(np.array([allowed]), np.array([float(misses)]), np.array([level]))[0])
        assert at_most(misses, count, allowed) <= level
        assert at_most(misses, count - 1, allowed) > level


def needed(rate: float, allowed: float, level: float, ceiling: float = 1e6) -> float:
    return float(needed_count(*(np.array([one]) for one in (rate, allowed, level, ceiling)))[0])


@pytest.mark.parametrize(
    ("allowed", "ratio", "count"),
    [
        (0.1, 0.8, 1365), (0.1, 0.7, 593), (0.1, 0.5, 203), (0.1, 0.3, 89), (0.1, 0.1, 46), (0.1, 0.0, 29),
        (0.05, 0.5, 434), (0.05, 0.3, 208), (0.05, 0.1, 93), (0.05, 0.0, 59),
        (0.01, 0.1, 473), (0.01, 0.0, 299),
    ],
)  # fmt: skip
def test_the_counts_of_an_exhaustive_search_are_found(allowed: float, ratio: float, count: int) -> None:
    assert needed(allowed * ratio, allowed, 0.05) == count


def cumulated(n: int, rate: float) -> np.ndarray:
    """P(at most 0 .. n misses among n)."""
    return np.cumsum([comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(n + 1)])


def brute(rate: float, allowed: float, level: float, top: int) -> int:
    """The least n from which on every n proves the side with a chance of .8."""
    last_without = 0
    for n in range(1, top):
        under, true = cumulated(n, allowed), cumulated(n, rate)
        if rate < allowed:
            critical = np.flatnonzero(under <= level)  # so few misses prove it
            power = true[critical[-1]] if critical.size else 0.0
        else:
            critical = np.flatnonzero(1 - under <= level)  # one miss more than so many proves it
            power = 1 - true[critical[0]] if critical.size else 0.0
        if power < 0.8:
            last_without = n
    return last_without + 1


@pytest.mark.parametrize(
    ("rate", "top"), [(0.0, 60), (0.02, 90), (0.05, 330), (0.25, 120), (0.4, 60), (0.8, 30), (1.0, 20)]
)
def test_both_sides_agree_with_brute_force(rate: float, top: int) -> None:
    assert needed(rate, 0.1, 0.025) == brute(rate, 0.1, 0.025, top)


def test_at_the_allowed_rate_nothing_is_ever_enough() -> None:
    assert needed(0.1, 0.1, 0.025) == np.inf


def test_what_lies_beyond_the_ceiling_is_infinite() -> None:
    assert needed(0.05, 0.1, 0.05, ceiling=203) == 203
    assert needed(0.05, 0.1, 0.05, ceiling=202) == np.inf
    assert needed(0.0999, 0.1, 0.05, ceiling=10_000) == np.inf


def test_cases_do_not_disturb_each_other() -> None:
    rates = np.array([0.05, 0.1, 0.2, 0.05, 0.0])
    levels = np.array([0.05, 0.05, 0.025, 0.025, 0.05])
    found = needed_count(rates, np.full(5, 0.1), levels, np.full(5, 1e5))
    assert found.tolist() == [
        needed(rate, 0.1, level) for rate, level in zip(rates.tolist(), levels.tolist(), strict=True)
    ]
