"""What raw latencies prove: verdicts, intervals, grades, failures, runs, looks."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.arrays import FloatArray
from advisor.errors import InputError, QuestionError
from advisor.evidence import Estimate, Series, assess, assess_many


def lognormal(n: int, seed: int = 0, sigma: float = 0.25) -> FloatArray:
    return np.asarray(10 * np.exp(sigma * np.random.default_rng(seed).standard_normal(n)))


def autoregressive(n: int, correlation: float, seed: int = 0) -> FloatArray:
    shocks = np.random.default_rng(seed).standard_normal(n)
    logs = np.empty(n)
    logs[0] = shocks[0]
    for i in range(1, n):
        logs[i] = correlation * logs[i - 1] + np.sqrt(1 - correlation**2) * shocks[i]
    return np.asarray(10 * np.exp(0.25 * logs))


def close(
    estimate: Estimate | None, point: float, low: float | None, high: float | None, within: float = 1e-6
) -> bool:
    """Whether an estimate is what is expected, unknown bounds included."""
    assert estimate is not None
    pairs = ((estimate.point, point), (estimate.low, low), (estimate.high, high))
    return all(
        one is two if one is None or two is None else abs(one - two) <= within * abs(two)
        for one, two in pairs
    )


@pytest.mark.parametrize(("percentile", "least"), [(90, 36), (95, 72), (99, 368)])
def test_the_least_requests_without_a_miss_that_prove_a_promise(percentile: float, least: int) -> None:
    assert assess(np.full(least, 5.0), 10, percentile).verdict == "pass"
    assert assess(np.full(least - 1, 5.0), 10, percentile).verdict == "undecided"


def test_a_limit_that_every_request_meets_exactly_is_met_and_one_just_below_is_not() -> None:
    samples = np.full(100, 8.2)
    assert assess(samples, 8.2).verdict == "pass"
    assert assess(samples, 8.2 * (1 - 1e-12)).verdict == "pass"  # 0.0082 s meets 8.2 ms
    assert assess(samples, 8.2 * (1 - 1e-6)).verdict == "fail"


def test_the_share_within_the_limit_has_the_published_clopper_pearson_interval() -> None:
    # 5 of 10 and 0 of 10 at 95 %: any table of exact binomial limits
    half = assess([5.0, 15.0] * 5, 10, 50).share_within
    assert close(half, 0.5, 0.1871, 0.8129, 3e-4)
    none = assess([15.0] * 10, 10, 50).share_within
    assert close(none, 0.0, 0.0, 0.3085, 3e-4)


def test_the_interval_of_the_mean_is_students_for_independent_requests() -> None:
    samples = [11.2, 9.8, 10.4, 10.1, 9.5, 10.9, 10.2, 9.9, 10.6, 10.0]
    mean = assess(samples, None).mean_ms
    half = 2.262157 * np.std(samples, ddof=1) / np.sqrt(10)  # t with 9 degrees of freedom, .975
    assert close(mean, 10.26, 10.26 - half, 10.26 + half)


def test_the_shown_percentile_is_numpys_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    for n in (1, 2, 3, 7, 36, 100, 999):
        samples = rng.lognormal(size=n)
        for percentile in (1, 50, 90, 95, 99, 99.9):
            shown = assess_many([Series(samples)], None, percentile, warmup=False)[0].quantile_ms
            assert shown is not None
            assert shown.point == np.percentile(samples, percentile)


def test_the_interval_of_a_percentile_is_made_of_order_statistics_of_the_exact_binomial() -> None:
    samples = np.sort(lognormal(200))[np.random.default_rng(1).permutation(200)]
    shown = assess(samples, None).quantile_ms
    ordered = np.sort(samples)

    def at_most(k: int) -> float:
        return sum(comb(200, i) * 0.9**i * 0.1 ** (200 - i) for i in range(k + 1))

    assert shown is not None
    assert shown.low is not None
    assert shown.high is not None
    low, high = int(np.searchsorted(ordered, shown.low)) + 1, int(np.searchsorted(ordered, shown.high)) + 1
    assert at_most(low - 1) <= 0.025 + 0.01  # P(the low end lies above the quantile)
    assert 1 - at_most(high - 1) <= 0.025 + 0.01  # P(the high end lies below it)
    assert at_most(low + 3) > 0.025  # and no wider than needed
    assert 1 - at_most(high - 5) > 0.025


def test_no_upper_bound_is_given_where_the_requests_are_too_few() -> None:
    few, enough = lognormal(35, 3), lognormal(36, 3)
    assert assess(enough, None).tau == 1
    shown_few, shown = assess(few, None).quantile_ms, assess(enough, None).quantile_ms
    assert shown_few is not None
    assert shown_few.high is None
    assert shown is not None
    assert shown.high == enough.max()


@pytest.mark.parametrize(("correlation", "tau"), [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)])
def test_correlated_requests_are_worth_fewer_independent_ones(correlation: float, tau: float) -> None:
    samples = autoregressive(60_000, correlation)
    mean = assess(samples, None).mean_ms
    assert mean is not None
    assert mean.low is not None
    half = mean.point - mean.low
    expected = 1.96 * samples.std() * np.sqrt(tau / samples.size)  # (1 + r) / (1 - r), closed form
    assert half == pytest.approx(expected, rel=0.12)


def test_correlation_widens_the_interval_and_can_take_a_verdict_away() -> None:
    limit = 10 * np.exp(0.25 * 1.55)  # 94 % of all requests are within it
    independent, dependent = lognormal(1000, 3), autoregressive(1000, 0.9, 3)
    assert assess(independent, limit).verdict == "pass"
    held = assess(dependent, limit)
    assert held.verdict == "undecided"
    assert held.tau is not None
    assert held.tau > 3
    assert held.effective_count == pytest.approx(1000 / held.tau)


def test_failed_requests_count_as_infinitely_slow() -> None:
    samples = np.full(180, 5.0)
    # 180 of 200, exact binomial limits
    assert close(assess(samples, 10, error_count=20).share_within, 0.9, 0.8498, 0.9378, 1e-3)
    assert assess(samples, 10, error_count=0).verdict == "pass"
    assert assess(samples, 10, error_count=20).verdict == "undecided"
    assert assess(samples, 10, error_count=60).verdict == "fail"


def test_where_every_request_failed_the_promise_is_broken_and_no_latency_is_made_up() -> None:
    found = assess([], 10, error_count=50)
    assert found.verdict == "fail"
    assert found.share_within is not None
    assert found.share_within.point == 0
    assert (found.quantile_ms, found.mean_ms, found.log_mean_se) == (None, None, None)
    assert "every request failed" in found.notes
    few = assess([], 10, error_count=1)
    assert few.verdict == "undecided"


def test_one_or_two_requests_and_a_constant_series_give_answers_without_bounds() -> None:
    one = assess([5.0], 10)
    assert one.mean_ms == Estimate(5.0)
    assert one.quantile_ms == Estimate(5.0)
    assert one.log_mean_se is None
    two = assess([5.0, 6.0], 10)
    assert close(
        two.mean_ms, 5.5, 5.5 - 12.7062 * 0.5, 5.5 + 12.7062 * 0.5, 1e-4
    )  # t with one degree of freedom
    constant = assess(np.full(1000, 5.1), 10)
    assert constant.verdict == "pass"
    assert constant.mean_ms == Estimate(5.1)  # no spread was seen, which is not the same as none
    assert constant.tau == 1


def test_verdict_and_interval_use_the_same_level_so_that_they_cannot_disagree() -> None:
    series = [Series(autoregressive(150, 0.6, seed)) for seed in range(40)]
    for limit in (12.5, 13.3, 13.8, 14.2, 15.0):
        for found in assess_many(series, limit):
            assert found.share_within is not None
            assert found.share_within.low is not None
            assert found.share_within.high is not None
            assert (found.verdict == "pass") == (found.share_within.low >= 0.9)
            assert (found.verdict == "fail") == (found.share_within.high < 0.9)
            assert found.quantile_ms is not None
            low, high = found.quantile_ms.low, found.quantile_ms.high
            assert (found.verdict == "pass") == (high is not None and high <= limit)
            assert (found.verdict == "fail") == (low is not None and low > limit)


def test_later_looks_need_more_so_that_repeated_looks_stay_honest() -> None:
    def least(look: int) -> int:
        return next(n for n in range(1, 200) if assess(np.full(n, 5.0), 10, look=look).verdict == "pass")

    # smallest n with .9^n <= .05 / (j (j + 1))
    assert [least(look) for look in (1, 2, 3)] == [36, 46, 53]


def test_confidence_sets_the_level() -> None:
    def least(confidence: float) -> int:
        return next(
            n for n in range(1, 200) if assess(np.full(n, 5.0), 10, confidence=confidence).verdict == "pass"
        )

    assert least(0.99) == 51  # .9^51 <= .005 < .9^50
    assert least(0.90) == 29  # .9^29 <= .05 < .9^28


def test_one_run_is_grade_b_and_speaks_for_itself_only() -> None:
    found = assess(lognormal(1000), 20)
    assert (found.verdict, found.grade, found.run_count) == ("pass", "B", 1)
    assert any("one run" in note for note in found.notes)


@pytest.mark.parametrize(("runs", "grade"), [(2, "B"), (4, "B"), (5, "A"), (9, "A")])
def test_five_separate_runs_are_grade_a(runs: int, grade: str) -> None:
    found = assess(lognormal(runs * 200), 20, run_ids=np.repeat(np.arange(runs), 200))
    assert (found.grade, found.run_count) == (grade, runs)


def test_the_spread_between_runs_counts_where_it_is_larger() -> None:
    levels = np.array([0.8, 0.95, 1.0, 1.1, 1.3, 0.9])
    runs = [lognormal(200, i) * level for i, level in enumerate(levels)]
    labels = np.repeat(np.arange(6), 200)
    apart = np.array([run.mean() for run in runs])
    by_run = assess(np.concatenate(runs), 15, run_ids=labels)
    assert by_run.mean_ms is not None
    assert by_run.mean_ms.high is not None
    half = 2.570582 * apart.std(ddof=1) / np.sqrt(6)  # t with 5 degrees of freedom, .975
    assert by_run.mean_ms.high - by_run.mean_ms.point == pytest.approx(half)
    assert by_run.log_mean_se == pytest.approx(apart.std(ddof=1) / np.sqrt(6) / apart.mean())
    assert by_run.effective_count is not None
    shares = np.array([(run <= 15).mean() for run in runs])
    share = shares.mean()
    worth = share * (1 - share) / (shares.var(ddof=1) / 6) * (1.961973 / 2.570582) ** 2  # t of 1199 and of 5
    assert by_run.effective_count == pytest.approx(worth, rel=1e-4)


def test_runs_without_a_spread_between_them_are_worth_all_their_requests() -> None:
    one = lognormal(200, 2)
    alone = assess(one, 13.8)
    found = assess(np.tile(one, 5), 13.8, run_ids=np.repeat(list("abcde"), 200))
    assert alone.effective_count is not None
    assert found.effective_count == pytest.approx(5 * alone.effective_count)


def test_runs_need_not_be_of_one_length_nor_one_after_the_other() -> None:
    samples = lognormal(700, 5)
    labels = np.array(["a"] * 100 + ["b"] * 250 + ["c"] * 350)
    mixed = np.argsort(np.concatenate([np.arange(100), np.arange(250), np.arange(350)]), kind="stable")
    first = assess(samples, 13, run_ids=labels)
    second = assess(samples[mixed], 13, run_ids=labels[mixed])
    assert first.run_count == 3
    assert first.share_within == second.share_within
    assert first.quantile_ms == second.quantile_ms
    assert first.mean_ms is not None
    assert second.mean_ms is not None
    assert first.mean_ms.high == pytest.approx(second.mean_ms.high)


def test_a_run_of_one_request_is_a_run() -> None:
    found = assess([10.0, 11.0, 12.0], 20, run_ids=[1, 2, 3])
    assert found.mean_ms is not None
    assert found.mean_ms.high == pytest.approx(11 + 4.302653 / np.sqrt(3))  # t with 2 degrees of freedom


def test_many_series_give_what_each_gives_alone() -> None:
    series = [
        Series(lognormal(300, 1)),
        Series(autoregressive(1000, 0.8, 2)),
        Series(lognormal(300, 3), run_ids=np.repeat([0, 1, 2], 100)),
        Series(np.concatenate([lognormal(100, 4) * 2, lognormal(700, 5)])),
        Series(np.empty(0), error_count=3),
        Series(lognormal(1, 6)),
        Series(lognormal(1000, 7), error_count=9, look=2),
    ]
    alone = [
        assess(one.latency_ms, 14, run_ids=one.run_ids, error_count=one.error_count, look=one.look)
        for one in series
    ]
    together = assess_many(series, 14)
    assert [one.verdict for one in together] == [one.verdict for one in alone]
    for first, second in zip(together, alone, strict=True):
        assert first.share_within is not None
        assert second.share_within is not None
        assert first.share_within.low == pytest.approx(second.share_within.low, rel=1e-9)
        assert first.quantile_ms == second.quantile_ms
        assert (first.warmup_count, first.more_needed, first.notes) == (
            second.warmup_count,
            second.more_needed,
            second.notes,
        )
    assert assess_many([], 14) == []


def test_more_series_than_one_batch_holds_are_all_assessed(monkeypatch: pytest.MonkeyPatch) -> None:
    series = [Series(lognormal(n, n)) for n in (700, 300, 20, 2500, 30, 40)]
    whole = assess_many(series, 12)
    monkeypatch.setattr("advisor.evidence.samples._BATCH_ELEMENTS", 1000)
    assert assess_many(series, 12) == whole


def test_without_a_limit_nothing_is_judged_and_the_figures_stand() -> None:
    found = assess(lognormal(1000), None)
    assert (found.verdict, found.share_within, found.probability, found.more_needed) == (
        "undecided",
        None,
        None,
        None,
    )
    assert found.more_helps
    assert found.quantile_ms is not None
    assert found.quantile_ms.high is not None
    assert found.effective_count is not None


def test_the_probability_is_the_jeffreys_posterior() -> None:
    # 9 of 10 within: 1 - I_.9(9.5, 1.5), by numerical integration
    grid = np.linspace(1e-6, 1 - 1e-6, 2_000_001)
    density = grid**8.5 * (1 - grid) ** 0.5
    expected = density[grid >= 0.9].sum() / density.sum()
    assert assess([5.0] * 9 + [15.0], 10).probability == pytest.approx(expected, abs=1e-5)


def test_more_needed_settles_the_verdict_at_the_next_look() -> None:
    short = assess(np.full(20, 5.0), 10)
    assert short.more_needed == 26  # 46 without a miss at the second look
    assert assess(np.full(46, 5.0), 10, look=2).verdict == "pass"
    assert assess(np.full(45, 5.0), 10, look=2).verdict == "undecided"


def test_more_needed_is_right_four_times_in_five() -> None:
    limit = 10 * np.exp(0.25 * 1.6449)  # 95 % within
    more = assess(np.where(np.arange(60) % 20 == 0, 20.0, 10.0), limit).more_needed  # 95 % within
    assert more is not None
    later = [Series(lognormal(60 + more, seed), look=2) for seed in range(150)]
    settled = [one.verdict == "pass" for one in assess_many(later, limit)]
    assert 0.7 <= np.mean(settled) <= 0.92


def test_at_the_limit_itself_more_requests_do_not_help() -> None:
    at_limit = assess([5.0] * 90 + [15.0] * 10, 10)
    assert (at_limit.verdict, at_limit.more_needed, at_limit.more_helps) == ("undecided", None, False)
    settled = assess([5.0] * 200, 10)
    assert (settled.more_needed, settled.more_helps) == (None, True)


def test_outliers_are_labelled_and_kept() -> None:
    samples = lognormal(400, sigma=0.05)
    samples[[50, 300]] = 900.0
    found = assess(samples, 20)
    assert found.outlier_count == 2
    assert found.mean_ms is not None
    assert found.mean_ms.point == pytest.approx(samples.mean())
    assert any("2 outliers" in note and "31 %" in note for note in found.notes)
    assert assess(lognormal(400, sigma=0.05), 20).outlier_count == 0


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([], "no request at all"),
        ([1.0, float("nan")], "finite"),
        ([1.0, float("inf")], "finite"),
        ([1.0, 0.0], "above 0"),
        ([1.0, -3.0], "above 0"),
        ([[1.0, 2.0]], "list of numbers"),
    ],
)
def test_what_is_no_latency_is_refused_in_one_line(samples: list[float], words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        assess(samples, 10)
    assert "\n" not in str(error.value)


def test_the_message_names_which_series_is_wrong() -> None:
    with pytest.raises(InputError, match="series 2"):
        assess_many([Series(lognormal(5)), Series(np.array([-1.0]))], 10)


@pytest.mark.parametrize(
    ("limit_ms", "percentile", "confidence"),
    [
        (0.0, 90, 0.95),
        (-1.0, 90, 0.95),
        (float("nan"), 90, 0.95),
        (float("inf"), 90, 0.95),
        (10.0, 0, 0.95),
        (10.0, 100, 0.95),
        (10.0, 90, 0.0),
        (10.0, 90, 1.0),
    ],
)
def test_a_question_out_of_bounds_is_refused(limit_ms: float, percentile: float, confidence: float) -> None:
    with pytest.raises(QuestionError):
        assess([1.0, 2.0], limit_ms, percentile, confidence)


def test_run_labels_errors_and_looks_are_checked() -> None:
    with pytest.raises(InputError, match="2 run labels for 3 latencies"):
        assess([1.0, 2.0, 3.0], 10, run_ids=[1, 2])
    with pytest.raises(InputError, match="look"):
        assess([1.0], 10, look=0)
    with pytest.raises(InputError, match="error_count"):
        assess([1.0], 10, error_count=-1)


latencies = st.lists(st.floats(0.1, 1000, allow_nan=False), min_size=1, max_size=120)


@settings(max_examples=60, deadline=None)
@given(latencies, st.floats(0.1, 1000), st.integers(0, 30), st.sampled_from([50.0, 90.0, 99.0]))
def test_any_latencies_give_ordered_bounds_that_hold_the_point(
    samples: list[float], limit: float, errors: int, percentile: float
) -> None:
    found = assess(samples, limit, percentile, error_count=errors)
    for estimate in (found.share_within, found.quantile_ms, found.mean_ms):
        assert estimate is not None
        # a mean of equal latencies may differ from them by a rounding
        assert estimate.low is None or estimate.low <= estimate.point * (1 + 1e-12)
        assert estimate.high is None or estimate.point <= estimate.high * (1 + 1e-12)
    assert found.probability is not None
    assert 0 <= found.probability <= 1
    assert found.tau is not None
    assert found.tau >= 1 - 1e-9


@settings(max_examples=40, deadline=None)
@given(latencies, st.floats(0.1, 1000), st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_unit_of_time_does_not_matter(samples: list[float], limit: float, factor: float) -> None:
    first = assess(samples, limit)
    second = assess(np.array(samples) * factor, limit * factor)
    assert first.verdict == second.verdict
    assert first.share_within == second.share_within


@settings(max_examples=40, deadline=None)
@given(latencies, st.floats(0.1, 1000), st.floats(1, 10))
def test_a_looser_limit_never_lowers_the_share_within(
    samples: list[float], limit: float, factor: float
) -> None:
    tight, loose = assess(samples, limit), assess(samples, limit * factor)
    assert tight.share_within is not None
    assert loose.share_within is not None
    assert loose.share_within.point >= tight.share_within.point
