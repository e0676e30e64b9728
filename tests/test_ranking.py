"""Order, ties, probability of being best: against loops, closed forms and simulation."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from advisor import ranking


def ordered(costs: list[str], latencies: list[float]) -> list[int]:
    """Order of costs written as decimals."""
    rank = np.unique(latencies, return_inverse=True)[1]
    found = ranking.order(np.array([float(c) for c in costs]), rank, lambda i: Fraction(costs[i]))
    return [int(place) for place in found]


def test_the_cheaper_comes_first_whatever_its_latency() -> None:
    assert ordered(["0.30", "0.20", "0.10"], [1, 2, 3]) == [2, 1, 0]


def test_equal_to_the_cent_and_within_one_percent_the_faster_comes_first() -> None:
    assert ordered(["2.204", "2.202"], [1, 2]) == [0, 1]


def test_equal_to_the_cent_but_over_one_percent_apart_the_cheaper_comes_first() -> None:
    assert ordered(["0.2440", "0.2399"], [1, 2]) == [1, 0]


def test_within_one_percent_but_not_of_one_cent_the_cheaper_comes_first() -> None:
    assert ordered(["2.206", "2.204"], [1, 2]) == [1, 0]


def test_half_a_cent_is_rounded_up_exactly() -> None:
    assert float("2.675") < 2.675000000000001  # in binary it lies under the half
    assert ordered(["2.675", "2.6749", "2.6751"], [1, 2, 0]) == [1, 2, 0]
    assert ordered(["2.6849", "2.675"], [1, 2]) == [0, 1]


def test_exactly_one_percent_is_within_one_percent() -> None:
    assert ordered(["0.4646", "0.46"], [1, 2]) == [0, 1]
    assert ordered(["0.464601", "0.46"], [1, 2]) == [1, 0]


def test_a_group_is_led_by_its_cheapest_so_that_ties_do_not_chain() -> None:
    # 0.2000 leads what is within 0.2020; 0.2030 is within 1 % of 0.2018, but not of the leader.
    assert ordered(["0.2030", "0.2018", "0.2000"], [0, 1, 2]) == [1, 2, 0]


def test_equal_cost_and_latency_keep_the_order_of_the_key() -> None:
    assert ordered(["0.5"] * 40, [3] * 40) == list(range(40))


def by_the_rule(costs: list[Fraction], latency: list[int]) -> list[int]:
    left, found = sorted(range(len(costs)), key=lambda i: (costs[i], i)), []
    while left:
        cent = (costs[left[0]] * 100 + Fraction(1, 2)) // 1
        group = [
            i
            for i in left
            if (costs[i] * 100 + Fraction(1, 2)) // 1 == cent and costs[i] <= costs[left[0]] * 101 / 100
        ]
        found += sorted(group, key=lambda i: (latency[i], costs[i], i))
        left = [i for i in left if i not in group]
    return found


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 4)), min_size=1, max_size=60),
    st.sampled_from([1, 10, 1000]),
)
def test_the_order_is_that_of_the_rule_in_fractions(rows: list[tuple[int, int]], scale: int) -> None:
    costs = [Fraction(thousandths, 1000 * scale) for thousandths, _ in rows]
    latency = [rank for _, rank in rows]
    found = ranking.order(np.array([float(c) for c in costs]), np.array(latency), lambda i: costs[i])
    assert found.tolist() == by_the_rule(costs, latency)


def test_the_order_of_many_candidates_is_that_of_the_rule() -> None:
    rng = np.random.default_rng(5)
    costs = [Fraction(int(c), 10_000) for c in rng.integers(1, 9_000, 700)]
    latency = rng.integers(0, 50, 700)
    found = ranking.order(np.array([float(c) for c in costs]), latency, lambda i: costs[i])
    assert found.tolist() == by_the_rule(costs, latency.tolist())


def test_nothing_is_ordered_of_nothing() -> None:
    assert ranking.order(np.empty(0), np.empty(0, np.int64), lambda _: Fraction(0)).tolist() == []


def drawn(y: np.ndarray, se: np.ndarray, kept: np.ndarray, draws: int) -> tuple[np.ndarray, float]:
    rng = np.random.default_rng(11)
    centre, sd = ranking.shrunken(y, se)
    wins, none, size = np.zeros(y.size), 0, 2_000_000 // y.size
    for start in range(0, draws, size):
        n = min(size, draws - start)
        cost = np.where(
            rng.random((n, y.size)) < kept, centre + sd * rng.standard_normal((n, y.size)), np.inf
        )
        some = np.isfinite(cost.min(axis=1))
        none += int((~some).sum())
        wins += np.bincount(cost.argmin(axis=1)[some], minlength=y.size)
    return wins / draws, none / draws


def test_equal_errors_are_shrunk_by_the_classical_formula() -> None:
    y, se = np.random.default_rng(8).standard_normal(50), np.full(50, 0.4)
    spread = y.var(ddof=1) - 0.4**2  # with equal errors the equation has this solution
    weight = spread / (spread + 0.4**2)
    centre, sd = ranking.shrunken(y, se)
    assert centre == pytest.approx(weight * y + (1 - weight) * y.mean(), rel=1e-3)
    assert sd == pytest.approx(np.sqrt(weight) * se, rel=1e-3)


def test_an_unsure_option_is_shrunk_towards_the_sure_ones() -> None:
    # 2.5 % apart with 5 % of error: nothing tells the two from each other, and nothing is near 0 or 1.
    chance, _ = ranking.probability_best(np.log([0.200, 0.205]), np.array([0.0005, 0.05]), np.ones(2))
    assert 0.4 < chance[0] < 0.75


@pytest.mark.parametrize("spread", [0.02, 0.05, 0.3])
def test_the_best_set_holds_the_cheapest_at_its_rate_where_errors_are_unlike(spread: float) -> None:
    rng = np.random.default_rng(6)
    hits = []
    for _ in range(300):
        true = rng.standard_normal(6) * spread
        se = np.where(rng.random(6) < 0.5, 0.05, 0.002)
        chance, _ = ranking.probability_best(true + se * rng.standard_normal(6), se, np.ones(6))
        hits.append(ranking.best_set(chance)[true.argmin()])
    assert np.mean(hits) >= 0.93


def test_two_options_have_the_closed_form() -> None:
    y, se, kept = np.log([0.20, 0.21]), np.array([0.05, 0.03]), np.array([1.0, 1.0])
    centre, sd = ranking.shrunken(y, se)
    found, none = ranking.probability_best(y, se, kept)
    expected = ndtr((centre[1] - centre[0]) / np.hypot(*sd))
    assert found == pytest.approx([expected, 1 - expected], abs=1e-4)
    assert none == 0


def test_an_option_alone_is_best_as_often_as_it_keeps_the_promise() -> None:
    found, none = ranking.probability_best(np.log([0.2]), np.array([0.05]), np.array([0.7]))
    assert found == pytest.approx([0.7])
    assert none == pytest.approx(0.3)


def test_equal_options_share_the_chance() -> None:
    found, _ = ranking.probability_best(np.zeros(5), np.full(5, 0.1), np.ones(5))
    assert found == pytest.approx(np.full(5, 0.2), abs=1e-6)


@pytest.mark.parametrize("case", ["wide", "near", "narrow among wide", "doubtful", "hopeless", "exact"])
def test_the_chance_is_that_of_a_million_draws(case: str) -> None:
    rng = np.random.default_rng(2)
    n = 30
    y, se, kept = rng.standard_normal(n) * 0.3, np.full(n, 0.05), rng.uniform(0, 1, n)
    if case == "near":
        y, se = rng.standard_normal(n) * 0.01, np.exp(rng.uniform(np.log(0.005), np.log(0.05), n))
    elif case == "narrow among wide":
        y, se, kept = (
            rng.standard_normal(n) * 0.05,
            np.where(np.arange(n) % 7 == 0, 0.0005, 0.08),
            np.full(n, 0.9),
        )
    elif case == "doubtful":
        kept = np.full(n, 0.02)
    elif case == "hopeless":
        kept = np.zeros(n)
    elif case == "exact":
        se, kept = np.full(n, 0.0), np.full(n, 0.5)
    found, none = ranking.probability_best(y, se, kept)
    expected, expected_none = drawn(y, se, kept, 1_000_000)
    assert np.abs(found - expected).max() <= 0.003
    assert none == pytest.approx(expected_none, abs=0.003)
    assert found.sum() + none == pytest.approx(1, abs=2e-3)


@pytest.mark.performance
def test_the_chance_of_a_thousand_options_is_that_of_a_million_draws() -> None:
    rng = np.random.default_rng(4)
    y, kept = rng.standard_normal(1000) * 0.3, rng.uniform(0, 1, 1000)
    se = np.exp(rng.uniform(np.log(0.005), np.log(0.05), 1000))
    found, _ = ranking.probability_best(y, se, kept)
    assert np.abs(found - drawn(y, se, kept, 1_000_000)[0]).max() <= 0.003


def test_the_best_set_is_the_smallest_with_95_percent() -> None:
    assert ranking.best_set(np.array([0.1, 0.6, 0.3, 0.0])).tolist() == [True, True, True, False]
    assert ranking.best_set(np.array([0.04, 0.6, 0.36])).tolist() == [False, True, True]
    assert ranking.best_set(np.array([0.95, 0.05])).tolist() == [True, False]
    assert ranking.best_set(np.array([0.0, 0.0])).tolist() == [False, False]
    assert ranking.best_set(np.array([0.3, 0.02])).tolist() == [True, True]  # 95 % of what there is
