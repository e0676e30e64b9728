"""Autocovariances against plain sums; the inflation against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.evidence.autocorrelation import autocovariances, inflation, lag_count, ranks, share_inflation


def plain(row: list[float], lag: int) -> float:
    mean = sum(row) / len(row)
    return sum((a - mean) * (b - mean) for a, b in zip(row, row[lag:], strict=False)) / len(row)


@pytest.mark.parametrize("n", [12, 31, 62, 63, 200])
def test_autocovariances_are_the_sums_of_products(n: int) -> None:
    rows = np.random.default_rng(n).exponential(size=(3, n))
    lags = min(30, n // 2)
    found = autocovariances(rows, lags)
    assert found.shape == (3, lags + 1)
    for row, covariances in zip(rows.tolist(), found.tolist(), strict=True):
        assert covariances == pytest.approx([plain(row, lag) for lag in range(lags + 1)], abs=1e-12)


def test_autocovariances_do_not_depend_on_how_the_work_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).exponential(size=(5, 1000))
    whole = autocovariances(rows, 30)
    for elements, product in ((50, 200_000), (2500, 200_000), (700, 1), (65_536, 10_000), (65_536, 40_000)):
        monkeypatch.setattr("advisor.evidence.autocorrelation._BLOCK_ELEMENTS", elements)
        monkeypatch.setattr("advisor.evidence.autocorrelation._PRODUCT_LIMIT", product)
        assert autocovariances(rows, 30) == pytest.approx(whole, abs=1e-12)


def test_autocovariances_take_ranks_and_yes_or_no() -> None:
    rows = np.random.default_rng(2).exponential(size=(2, 100))
    for kind in (rows > 1, (rows * 10).astype(np.int32)):
        assert autocovariances(kind, 5) == pytest.approx(autocovariances(kind.astype(float), 5))


def autoregression(coefficients: list[float], n: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    order = len(coefficients)
    series = np.zeros((count, n + 500))
    shocks = rng.standard_normal(series.shape)
    for i in range(order, n + 500):
        series[:, i] = shocks[:, i] + sum(c * series[:, i - k - 1] for k, c in enumerate(coefficients))
    return series[:, 500:]


@pytest.mark.parametrize(
    ("coefficients", "tau"),
    [
        ([0.0], 1.0),
        ([0.5], 3.0),  # (1 + r) / (1 - r)
        ([0.9], 19.0),
        # AR(2): sum of all autocorrelations = (1 + a2)(1 - a1 - a2)^-1 ... with r1 = a1 / (1 - a2)
        ([0.5, 0.3], (1 - 0.5 * (0.5 / 0.7) - 0.3 * (0.5 * 0.5 / 0.7 + 0.3)) / (1 - 0.8) ** 2),
    ],
)
def test_the_inflation_of_an_autoregression_is_that_of_the_closed_form(
    coefficients: list[float], tau: float
) -> None:
    found = inflation(autoregression(coefficients, 20_000, 12))
    assert np.median(found) == pytest.approx(tau, rel=0.06)


def solved(row: np.ndarray) -> float:
    """The inflation from the Yule-Walker equations of every order, solved one by one."""
    n = row.size
    covariance = np.array([plain(row.tolist(), lag) for lag in range(lag_count(n) + 1)])
    best, tau = 0.0, 1.0
    for order in range(1, covariance.size):
        matrix = covariance[np.abs(np.subtract.outer(np.arange(order), np.arange(order)))]
        coefficients = np.linalg.solve(matrix, covariance[1 : order + 1])
        residual = covariance[0] - coefficients @ covariance[1 : order + 1]
        aic = n * np.log(residual / covariance[0]) + 2 * order
        if aic < best:
            best = aic
            tau = residual * n / (n - order - 1) / (1 - coefficients.sum()) ** 2 / covariance[0]
    return max(1.0, tau)


@pytest.mark.parametrize("n", [30, 60, 200])
def test_the_inflation_is_that_of_the_yule_walker_equations_with_the_order_of_the_least_aic(n: int) -> None:
    rows = autoregression([0.4, 0.2], n, 8)
    assert inflation(rows)[0] == pytest.approx([solved(row) for row in rows], rel=1e-6)


def test_negative_correlation_is_not_credited() -> None:
    assert inflation(autoregression([-0.8], 5000, 2)).tolist() == [[1.0, 1.0]]


def test_a_series_without_spread_has_inflation_one_and_does_not_disturb_its_neighbours() -> None:
    rows = np.vstack([np.full(1000, 0.1), autoregression([0.5], 1000, 1)])
    both = inflation(rows)
    assert both[0, 0] == 1
    assert both[0, 1] == pytest.approx(inflation(rows[1:])[0, 0])
    assert both[0, 1] > 2


def test_inflation_is_never_above_the_number_of_requests() -> None:
    assert inflation(np.arange(50.0)[None, :])[0, 0] <= 50


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_very_short_series_are_taken_as_they_are(n: int) -> None:
    assert 1 <= inflation(np.arange(1.0, n + 1)[None, :])[0, 0] <= n


def test_several_stacks_are_fitted_as_each_alone() -> None:
    rows = autoregression([0.7], 400, 3)
    together = inflation(rows, rows > 0)
    assert together[0] == pytest.approx(inflation(rows)[0])
    assert together[1] == pytest.approx(inflation(rows > 0)[0])


def test_the_highest_order_is_ten_times_the_decimal_logarithm() -> None:
    assert [lag_count(n) for n in (1, 2, 20, 100, 1000, 10_000_000)] == [0, 1, 10, 20, 30, 70]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=40))
def test_equal_requests_share_a_rank_and_ranks_follow_the_order(values: list[int]) -> None:
    row = np.array(values, dtype=np.float64)
    rank, ordered = ranks(row[None, :])
    assert ordered[0].tolist() == sorted(values)
    assert rank[0].tolist() == [sum(other < value for other in values) for value in values]


def test_a_share_has_at_least_the_geometric_mean_of_its_own_inflation_and_that_of_the_latencies() -> None:
    own, whole = np.array([1.0, 9.0, 1.0]), np.array([4.0, 4.0, 4.0])
    assert share_inflation(own, whole, np.array([False, False, True])).tolist() == [2.0, 9.0, 4.0]
