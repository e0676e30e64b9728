"""What summaries and histograms prove: brackets, and then the count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.errors import InputError, QuestionError
from advisor.evidence import (
    Estimate,
    Summary,
    assess,
    assess_histogram,
    assess_summary,
    quantile_bracket,
    share_bracket,
)

# BERT base, 512 tokens, 100 requests each: published by P. Schmid (2022), mean, standard deviation and P95 in ms
INF2 = Summary({95.0: 10.751311500143856}, 10.72538773998076, 0.01291460337538872, count=100)
G5 = Summary({95.0: 10.119604550027361}, 9.908213470007468, 0.5765090557901038, count=100)
INF1 = Summary({95.0: 18.664766000051713}, 18.45345539999812, 0.16644954302218273, count=100)
C6I = Summary({95.0: 226.06799920035883}, 205.45253428000706, 9.368251694236125, count=100)


def test_the_published_inf2_run_is_100_of_100_within_15_ms_and_a_pass() -> None:
    assert share_bracket(INF2, 15) == (1.0, 1.0)
    found = assess_summary(INF2, 15)
    assert (found.verdict, found.grade) == ("pass", "D")
    assert found.share_within is not None
    assert found.share_within.low == pytest.approx(0.025**0.01)  # exact binomial, 100 of 100


def test_the_published_g5_run_is_95_of_100_within_10_5_ms_and_undecided() -> None:
    assert share_bracket(G5, 10.5)[0] == 0.95
    found = assess_summary(G5, 10.5)
    assert found.verdict == "undecided"
    assert found.share_within is not None
    assert found.share_within.low == pytest.approx(0.8872, abs=5e-5)  # 95 of 100, any table
    assert found.more_needed is not None
    assert found.more_helps


def test_the_published_runs_that_are_too_slow_fail() -> None:
    assert share_bracket(C6I, 15) == (0.0, 0.0)
    assert assess_summary(C6I, 15).verdict == "fail"
    assert share_bracket(INF1, 15) == (0.0, 0.0)
    assert assess_summary(INF1, 15).verdict == "fail"


def test_a_pass_says_up_to_which_correlation_it_would_stand() -> None:
    found = assess_summary(INF2, 15)
    # 100 of 100 worth n requests pass while .025^(1/n) >= .9: n = ln .025 / ln .9
    assert found.tau_tolerated == pytest.approx(100 / (np.log(0.025) / np.log(0.9)), rel=1e-6)
    assert any("independent" in note for note in found.notes)
    assert assess_summary(G5, 10.5).tau_tolerated is None


def test_without_a_count_nothing_is_proved() -> None:
    found = assess_summary(Summary({99.0: 5.0}, max_ms=6.0), 100)
    assert (found.verdict, found.share_within, found.probability) == ("undecided", None, None)
    assert any("how many" in note for note in found.notes)


def test_a_reported_percentile_brackets_the_share_on_its_side() -> None:
    summary = Summary({50.0: 10.0, 99.0: 20.0}, count=1000)
    assert share_bracket(summary, 9.9) == (0.0, 0.5)
    assert share_bracket(summary, 10.0) == (0.5, 0.99)
    assert share_bracket(summary, 19.9) == (0.5, 0.99)
    assert share_bracket(summary, 20.0) == (0.99, 1.0)


def test_minimum_and_maximum_bracket_the_share() -> None:
    summary = Summary(min_ms=5.0, max_ms=9.0, count=10)
    assert share_bracket(summary, 4.9) == (0.0, 0.0)
    assert share_bracket(summary, 5.0) == (0.1, 0.9)
    assert share_bracket(summary, 9.0) == (1.0, 1.0)
    assert share_bracket(Summary(min_ms=5.0, max_ms=9.0), 6) == (0.0, 1.0)


def test_mean_and_deviation_bracket_the_share_by_cantelli() -> None:
    # 1 / (1 + 9) of 100 requests can lie three deviations above the mean: ten of them at 13, but then none beyond it
    summary = Summary(mean_ms=10.0, std_ms=1.0, count=100)
    assert share_bracket(summary, 12.99) == (0.9, 1.0)
    assert share_bracket(summary, 13.0) == (0.91, 1.0)
    assert share_bracket(summary, 7.01) == (0.0, 0.1)
    assert share_bracket(summary, 6.99) == (0.0, 0.09)
    low, high = share_bracket(Summary(mean_ms=10.0, std_ms=1.0), 13.0)
    assert low == pytest.approx(0.9)
    assert high == 1.0
    no_spread = Summary(mean_ms=10.0, std_ms=0.0, count=7)
    assert share_bracket(no_spread, 10.0) == (1.0, 1.0)
    assert share_bracket(no_spread, 9.9) == (0.0, 0.0)


def test_nothing_known_brackets_nothing() -> None:
    assert share_bracket(Summary(), 10) == (0.0, 1.0)
    assert share_bracket(Summary(mean_ms=5.0, count=10), 10) == (0.0, 1.0)
    assert quantile_bracket(Summary(), 0.9) == (None, None)


def test_a_wide_bracket_is_too_coarse_to_decide() -> None:
    found = assess_summary(Summary({50.0: 10.0, 99.0: 20.0}, count=1000), 15)
    assert (found.verdict, found.probability, found.more_needed) == ("undecided", None, None)
    assert any("too coarse" in note for note in found.notes)


def test_the_probability_of_a_bracket_is_that_of_its_end_nearer_to_the_promise() -> None:
    below = assess_summary(Summary({20.0: 10.0, 60.0: 20.0}, count=200), 15)  # 40 to 120 of 200
    assert below.verdict == "fail"
    at_most = assess(np.random.default_rng(1).permutation(np.repeat([5.0, 25.0], [120, 80])), 15)
    assert at_most.tau == 1
    assert below.probability == pytest.approx(at_most.probability)
    above = assess_summary(Summary({95.0: 10.0}, count=200), 15)  # 190 to 200 of 200
    at_least = assess(np.random.default_rng(4).permutation(np.repeat([5.0, 25.0], [190, 10])), 15)
    assert at_least.tau == 1
    assert above.probability == pytest.approx(at_least.probability)


def test_figures_that_rounding_makes_contradict_each_other_give_the_range_between() -> None:
    rounded = Summary({95.0: 10.4}, mean_ms=10.0, std_ms=0.0, count=100)
    assert share_bracket(rounded, 10.2) == (0.95, 1.0)


def test_failed_requests_are_not_within_any_limit() -> None:
    summary = Summary(max_ms=5.0, count=90, error_count=10)
    found = assess_summary(summary, 10)
    assert found.share_within is not None
    assert found.share_within.point == pytest.approx(0.9)
    assert found.verdict == "undecided"
    assert assess_summary(Summary(count=0, error_count=40), 10).verdict == "fail"


def test_the_mean_of_a_summary_has_its_interval_from_deviation_and_count() -> None:
    found = assess_summary(Summary(mean_ms=10.0, std_ms=2.0, count=100), None)
    assert found.mean_ms is not None
    assert found.mean_ms.high == pytest.approx(10 + 1.984217 * 0.2)  # t with 99 degrees of freedom
    assert found.log_mean_se == pytest.approx(0.02)
    for unknown in (
        Summary(mean_ms=10.0, count=100),
        Summary(mean_ms=10.0, std_ms=2.0),
        Summary(mean_ms=10.0, std_ms=2.0, count=1),
    ):
        plain = assess_summary(unknown, None)
        assert plain.mean_ms == Estimate(10.0)
        assert plain.log_mean_se is None


def test_a_percentile_nobody_reported_is_not_filled_in() -> None:
    assert assess_summary(INF2, 15).quantile_ms is None
    shown = assess_summary(Summary({50.0: 8.0, 90.0: 10.0, 99.0: 20.0}, count=1000), 15).quantile_ms
    assert shown == Estimate(10.0, 8.0, 20.0)
    few = assess_summary(Summary({90.0: 10.0}, max_ms=30.0, count=35), 15).quantile_ms
    assert few == Estimate(10.0, None, None)
    assert assess_summary(Summary({90.0: 10.0}, max_ms=30.0), 15).quantile_ms == Estimate(10.0)


def test_later_looks_and_other_confidence_need_more() -> None:
    summary = Summary(max_ms=5.0, count=36)
    assert assess_summary(summary, 10).verdict == "pass"
    assert assess_summary(summary, 10, look=2).verdict == "undecided"
    assert assess_summary(summary, 10, confidence=0.99).verdict == "undecided"


def test_a_summary_of_nothing_and_a_wrong_look_are_refused() -> None:
    with pytest.raises(InputError, match="no request at all"):
        assess_summary(Summary(count=0), 10)
    with pytest.raises(QuestionError, match="look"):
        assess_summary(INF2, 15, look=0)


samples = st.lists(st.floats(0.5, 100), min_size=2, max_size=60)


@settings(max_examples=150, deadline=None)
@given(
    samples,
    st.floats(0.5, 100),
    st.booleans(),
    st.sampled_from(["linear", "inverted_cdf", "weibull", "lower"]),
)
def test_the_bracket_holds_the_true_share_whatever_is_known(
    latencies: list[float], limit: float, with_count: bool, method: str
) -> None:
    row = np.array(latencies)
    known = Summary(
        {float(p): float(np.percentile(row, p, method=method)) for p in (25, 50, 90, 95)},  # type: ignore[call-overload]
        float(row.mean()),
        float(row.std(ddof=1)),
        float(row.min()),
        float(row.max()),
        count=row.size if with_count else None,
    )
    parts = [
        known,
        Summary(known.percentiles_ms, count=known.count if with_count else row.size),
        Summary(mean_ms=known.mean_ms, std_ms=float(row.std()), count=known.count),
        Summary(min_ms=known.min_ms, max_ms=known.max_ms, count=known.count),
    ]
    true = float((row <= limit * (1 + 1e-9)).mean())
    if not with_count:
        parts = parts[1:]  # without a count the definition of a percentile cannot be allowed for
    for part in parts:
        low, high = share_bracket(part, limit)
        assert low - 1e-9 <= true <= high + 1e-9


@settings(max_examples=100, deadline=None)
@given(samples, st.sampled_from([0.5, 0.9, 0.99]))
def test_the_quantile_bracket_holds_the_samples_quantile(latencies: list[float], share: float) -> None:
    row = np.sort(latencies)
    true = float(row[max(0, int(np.ceil(row.size * share - 1e-9)) - 1)])
    mean, deviation = float(row.mean()), float(row.std())
    for part in (
        Summary(mean_ms=mean, std_ms=deviation, count=row.size),
        Summary(mean_ms=mean, std_ms=deviation),
        Summary(min_ms=float(row.min()), max_ms=float(row.max())),
    ):
        low, high = quantile_bracket(part, share)
        assert low is None or low <= true * (1 + 1e-9)
        assert high is not None
        assert true <= high * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(samples, st.floats(0.5, 100), st.floats(1, 3))
def test_a_looser_limit_never_lowers_the_bracket(latencies: list[float], limit: float, factor: float) -> None:
    row = np.array(latencies)
    # rounded figures, that may contradict each other
    known = Summary(
        {90.0: round(float(np.percentile(row, 90)), 1) or 0.1},
        round(float(row.mean()), 1),
        round(float(row.std()), 1),
        count=row.size,
    )
    tight, loose = share_bracket(known, limit), share_bracket(known, limit * factor)
    assert tight[0] <= loose[0] + 1e-12
    assert tight[1] <= loose[1] + 1e-12


def test_a_histogram_decides_by_the_bucket_that_holds_the_limit() -> None:
    edges, counts = [5.0, 10.0, 20.0, float("inf")], [50, 900, 30, 20]
    at_edge = assess_histogram(edges, counts, 10)
    assert (at_edge.verdict, at_edge.grade) == ("pass", "C")
    assert at_edge.share_within is not None
    assert at_edge.share_within.point == 0.95
    inside = assess_histogram(edges, counts, 9.9)  # between 50 and 950 of 1000
    assert inside.verdict == "undecided"
    assert any("too coarse" in note for note in inside.notes)
    assert assess_histogram(edges, counts, 4.9).verdict == "fail"
    beyond = assess_histogram(edges, counts, 15)  # between 950 and 980
    assert beyond.verdict == "pass"
    assert beyond.share_within is not None
    assert beyond.share_within.point == 0.95


def test_a_limit_at_an_edge_leaves_no_bucket_in_doubt() -> None:
    edges, counts = [5.0, 10.0, 20.0], [50, 100, 850]
    assert assess_histogram(edges, counts, 10).verdict == "fail"  # 150 of 1000, to the last one
    assert assess_histogram(edges, counts, 10 * (1 - 1e-12)).verdict == "fail"
    assert assess_histogram(edges, counts, 10.1).verdict == "undecided"
    assert assess_histogram(edges, counts, 20).verdict == "pass"


def test_a_histogram_shows_edges_and_makes_up_nothing() -> None:
    edges, counts = [5.0, 10.0, 20.0, float("inf")], [50, 900, 30, 20]
    found = assess_histogram(edges, counts, 10)
    assert found.quantile_ms == Estimate(10.0, 5.0, 10.0)
    assert found.mean_ms is None
    assert assess_histogram(edges, counts, 10, 99).quantile_ms is None  # it lies in the open bucket
    tail = assess_histogram([5.0, 10.0, 20.0], [50, 900, 50], None, 95).quantile_ms
    assert tail == Estimate(10.0, 5.0, 20.0)


def test_a_histogram_agrees_with_the_samples_it_was_made_of() -> None:
    row = np.random.default_rng(8).lognormal(2.3, 0.25, 1000)
    edges = np.arange(1, 60) / 2
    counts = np.histogram(row, bins=np.concatenate([[0.0], edges]))[0]
    for limit in (12.0, 13.5, 14.0, 15.0):
        from_counts, from_row = assess_histogram(edges, counts, limit), assess(row, limit)
        assert from_counts.share_within is not None
        assert from_row.share_within is not None
        assert from_counts.share_within.point == from_row.share_within.point


def test_failed_requests_count_in_a_histogram() -> None:
    assert assess_histogram([5.0], [90], 10).verdict == "pass"
    assert assess_histogram([5.0], [90], 10, error_count=10).verdict == "undecided"
    assert assess_histogram([5.0], [0], 10, error_count=40).verdict == "fail"


@pytest.mark.parametrize(
    ("edges", "counts", "words"),
    [
        ([], [], "one count"),
        ([1.0, 2.0], [1], "one count"),
        ([2.0, 1.0], [1, 1], "rise"),
        ([0.0, 1.0], [1, 1], "rise"),
        ([1.0, 2.0], [1, -1], "whole numbers"),
        ([1.0, 2.0], [1, 1.5], "whole numbers"),
        ([1.0, 2.0], [0, 0], "no request"),
    ],
)
def test_what_is_no_histogram_is_refused(edges: list[float], counts: list[float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        assess_histogram(edges, counts, 10)
