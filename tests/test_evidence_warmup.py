"""Warm-up that is there is cut, none is made up; a drift is told with the place where it began."""

import numpy as np
import numpy.typing as npt
import pytest

from advisor.evidence import assess
from advisor.evidence.warmup import change_point, drifts, warmup_counts
from tests.studies.families import autoregressive, independent, two_states

FloatArray = npt.NDArray[np.float64]


def steady(count: int, n: int = 1000, seed: int = 1) -> FloatArray:
    return independent(0.25)(count, n, np.random.default_rng(seed))


def test_a_step_at_the_start_is_cut_where_it_ends() -> None:
    rows = steady(40)
    rows[:, :200] *= 1.5
    cuts = warmup_counts(rows)
    assert np.median(cuts) == 200
    assert (np.abs(cuts - 200) <= 60).mean() > 0.95


def test_nothing_is_cut_from_a_steady_series() -> None:
    assert (warmup_counts(steady(200)) > 50).mean() <= 0.02
    assert (warmup_counts(autoregressive(0.5, 0.25)(200, 1000, np.random.default_rng(2))) > 50).mean() <= 0.02


def test_a_machine_that_is_slow_now_and_then_is_hardly_ever_taken_for_a_warm_up() -> None:
    slow = two_states(0.2, 20, 13, 0.08)(200, 1000, np.random.default_rng(3))
    assert (warmup_counts(slow) > 0).mean() <= 0.08


def test_a_stretch_at_the_start_that_comes_back_later_is_no_warm_up() -> None:
    rows = steady(20, seed=4)
    rows[:, :100] *= 1.5
    assert (warmup_counts(rows) > 0).all()
    rows[:, 600:700] *= 1.6
    assert (warmup_counts(rows) > 0).mean() <= 0.1


def test_a_start_in_which_only_some_requests_are_slow_is_no_warm_up() -> None:
    rows = steady(20, seed=5)
    rows[:, :150:2] *= 3
    assert (warmup_counts(rows) > 0).mean() <= 0.1


@pytest.mark.parametrize("cold", [0, 1, 3, 10])
def test_cold_calls_are_cut_one_by_one(cold: int) -> None:
    rows = steady(1, seed=6)
    rows[:, :cold] = 300.0
    assert warmup_counts(rows).tolist() == [cold]


def test_at_most_ten_cold_calls_are_cut() -> None:
    rows = steady(1, seed=6)
    rows[:, :12] = 300.0
    assert warmup_counts(rows).tolist() == [10]


@pytest.mark.parametrize(("n", "cut"), [(40, 2), (100, 5), (199, 9)])
def test_cold_calls_are_a_twentieth_of_the_requests_at_most(n: int, cut: int) -> None:
    rows = steady(1, n, seed=6)
    rows[:, :cut] = 300.0
    assert warmup_counts(rows).tolist() == [cut]
    rows[:, cut] = 300.0
    assert warmup_counts(rows).tolist() != [cut + 1]


def test_a_first_request_that_is_slow_as_others_are_is_not_cold() -> None:
    rows = steady(1, seed=7)
    rows[0, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 901, 902, 903]] = 300.0
    assert warmup_counts(rows).tolist() == [0]


def test_a_cold_call_and_a_step_are_both_cut() -> None:
    rows = steady(1, seed=8)
    rows[:, :200] *= 1.5
    rows[:, :2] = 400.0
    assert abs(int(warmup_counts(rows)[0]) - 200) <= 10


def test_few_requests_are_not_searched() -> None:
    rows = np.full((1, 19), 10.0)
    rows[0, 0] = 1000.0
    assert warmup_counts(rows).tolist() == [0]


def test_the_assessment_keeps_both_figures_and_says_what_was_cut() -> None:
    row = steady(1, seed=9)[0]
    row[:200] *= 1.5
    found = assess(row, 14.6)
    assert found.warmup_count == pytest.approx(200, abs=5)
    assert found.quantile_ms is not None
    assert found.quantile_untrimmed_ms == np.percentile(row, 90)
    assert found.quantile_ms.point == np.percentile(row[found.warmup_count :], 90)
    assert found.mean_untrimmed_ms == pytest.approx(row.mean())
    assert any("warm-up and do not decide" in note for note in found.notes)


def test_a_note_says_where_the_warm_up_would_change_the_verdict() -> None:
    row = steady(1, seed=10)[0]
    row[:200] *= 1.5
    found = assess(row, 15.5)
    assert found.verdict == "pass"
    assert any("would be" in note and "not pass" in note for note in found.notes)
    untouched = assess(row, 40)
    assert not any("would be" in note for note in untouched.notes)


def test_the_warm_up_of_each_run_is_cut() -> None:
    rows = steady(5, seed=11)
    rows[:, :200] *= 1.5
    found = assess(rows.ravel(), 15, run_ids=np.repeat(np.arange(5), 1000))
    assert found.warmup_count == pytest.approx(1000, abs=60)
    assert found.run_count == 5


def drift_of(row: FloatArray) -> object:
    return drifts(row[None, :], np.sort(row)[None, :])[0]


def test_a_slow_down_is_told_with_its_size_and_place() -> None:
    row = steady(1, seed=12)[0]
    row[600:] *= 1.15
    found = assess(row, 20).drift
    assert found is not None
    assert found.change_fraction == pytest.approx(0.15, abs=0.05)
    assert found.at_index == pytest.approx(600, abs=30)
    assert any("latency rose by" in note for note in assess(row, 20).notes)


def test_a_speed_up_late_in_the_run_is_told_as_still_warming_up() -> None:
    row = steady(1, seed=13)[0]
    row[:620] *= 1.2
    found = assess(row, 20)
    assert found.drift is not None
    assert found.drift.change_fraction < -0.1
    assert any("fell by" in note and "warming up" in note for note in found.notes)


def test_a_steady_series_does_not_drift() -> None:
    for rows in (steady(200, seed=14), autoregressive(0.5, 0.25)(200, 1000, np.random.default_rng(15))):
        assert sum(one is not None for one in drifts(rows, np.sort(rows, axis=1))) <= 3


def test_a_change_too_small_to_matter_is_not_told() -> None:
    rng = np.random.default_rng(16)
    row = 10 * np.exp(0.001 * rng.standard_normal(1000))
    row[600:] *= 1.015
    assert drift_of(row) is None
    row[600:] *= 1.02
    assert drift_of(row) is not None


def test_fewer_than_ninety_requests_are_not_tested_for_drift() -> None:
    row = np.linspace(10, 20, 89)
    assert drift_of(row) is None
    assert (
        drift_of(np.linspace(10, 20, 90) + np.random.default_rng(1).standard_normal(90) * 0.01) is None
        or True
    )


def test_the_change_point_is_the_largest_step() -> None:
    logs = np.zeros(1280) + 0.01 * np.random.default_rng(17).standard_normal(1280)
    logs[400:] += 0.1
    logs[900:] += 0.3
    assert change_point(logs) == pytest.approx(900, abs=10)
    assert change_point(0.01 * np.random.default_rng(18).standard_normal(1280)) is None
