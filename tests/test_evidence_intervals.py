"""The limits of a share and of a quantile from an effective count, against closed forms and published tables."""

import numpy as np
import pytest

from advisor.evidence import Series, assess_many
from advisor.evidence.intervals import (
    probability_above,
    quantile_ranks,
    share_limits,
    side_level,
    t_quantile,
)
from advisor.evidence.measure import Runs
from advisor.evidence.runs import effective_count
from tests.studies.families import two_states


def one(value: float) -> np.ndarray:
    return np.array([float(value)])


def test_the_levels_of_all_looks_add_up_to_one_minus_the_confidence() -> None:
    levels = side_level(0.95, np.arange(1, 200_000))
    assert levels[0] == pytest.approx(0.025)
    assert levels[1] == pytest.approx(0.05 / 6)
    assert levels.sum() == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # exact binomial limits at 95 %, as in any table
    [(0, 10, 0.0, 0.3085), (1, 10, 0.0025, 0.4450), (9, 10, 0.5550, 0.9975), (10, 10, 0.6915, 1.0)],
)
def test_the_limits_of_a_share_are_those_of_clopper_and_pearson(
    hits: int, n: int, low: float, high: float
) -> None:
    found = share_limits(one(hits / n), one(hits / n), one(n), one(0.025))
    assert found[0][0] == pytest.approx(low, abs=5e-5)
    assert found[1][0] == pytest.approx(high, abs=5e-5)


def test_a_bracket_of_the_share_widens_the_limits_on_its_own_side_only() -> None:
    low, high = share_limits(one(0.8), one(0.9), one(100), one(0.025))
    assert low == share_limits(one(0.8), one(0.8), one(100), one(0.025))[0]
    assert high == share_limits(one(0.9), one(0.9), one(100), one(0.025))[1]


def test_bounds_need_enough_effective_requests_however_many_there_are() -> None:
    # all of 5 independent requests lie on one side of the median with .5^5 = .031, of 6 with .016
    lower, upper = quantile_ranks(0.5, np.array([1000]), one(5), one(0.025))
    assert (lower[0], upper[0]) == (0, 1001)
    lower, upper = quantile_ranks(0.5, np.array([1000]), one(6), one(0.025))
    assert lower[0] >= 1
    assert upper[0] <= 1000
    low_tail = quantile_ranks(0.1, np.array([1000]), one(30), one(0.025))
    assert low_tail[0][0] == 0
    assert low_tail[1][0] <= 1000


def test_students_t_is_that_of_the_tables_and_without_a_degree_of_freedom_infinite() -> None:
    found = t_quantile(np.array([1.0, 4.0, 9.0, 0.0]), np.full(4, 0.025))
    assert found == pytest.approx([12.7062, 2.776445, 2.262157, np.inf], rel=1e-5)


def test_the_probability_grows_with_the_share_and_is_never_0_or_1() -> None:
    found = [float(probability_above(one(k / 10), one(10), 0.9)[0]) for k in range(11)]
    assert found == sorted(found)
    assert found[0] > 0
    assert found[-1] < 1


def test_the_interval_of_a_quantile_uses_the_correlation_at_its_own_ends_too() -> None:
    rows = two_states(0.12, 20, 13, 0.08)(40, 1000, np.random.default_rng(6))
    found = assess_many([Series(row) for row in rows], None, warmup=False)
    runs = Runs.of(list(rows), np.arange(40), 40)
    hits, tau = runs.at_or_under(np.array([row[899] for row in runs.pooled]))
    level = np.full(40, 0.025)
    size = np.full(40, 1000)
    lower, upper = quantile_ranks(
        0.9, size, effective_count(runs.owner, runs.size, hits[0], tau[0], level), level
    )
    wider = {"low": 0, "high": 0}
    for assessment, row, low, high in zip(found, runs.pooled, lower.tolist(), upper.tolist(), strict=True):
        assert assessment.quantile_ms is not None
        shown = assessment.quantile_ms
        plain_low = row[low - 1] if low else -np.inf
        plain_high = row[high - 1] if high <= 1000 else np.inf
        own_low = -np.inf if shown.low is None else shown.low
        own_high = np.inf if shown.high is None else shown.high
        assert own_low <= plain_low
        assert own_high >= plain_high
        wider["low"] += own_low < plain_low
        wider["high"] += own_high > plain_high
    assert min(wider.values()) >= 3
