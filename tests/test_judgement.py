"""The latency step: what is measured, and from which limit on it is kept."""

from math import inf, isnan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.judgement import Judgement, judge, keeps_from, share_within
from advisor.measurements import Measurement, ask
from tests import builders, strategies


def measurement(*rows: dict[str, Any]) -> Measurement:
    """One measurement of some runs."""
    runs = [{"run_id": str(i), **row} for i, row in enumerate(rows)]
    (found,) = ask(builders.benchmarks(*runs), builders.ask(model="net")).measurements
    return found


def judged(limit_ms: float | None, *rows: dict[str, Any], percentile: float = 90) -> Judgement:
    question = builders.ask(latency_limit_ms=limit_ms, percentile=percentile)
    return judge([measurement(*rows)], question)[0]


TEN = {"samples": [1, 2, 3, 4, 5, 6, 7, 8, 9, 50]}


@pytest.mark.parametrize(("limit_ms", "expected"), [(8.999, "misses"), (9, "meets"), (9.001, "meets")])
def test_nine_of_ten_requests_within_the_limit_keep_a_p90_limit(limit_ms: float, expected: str) -> None:
    found = judged(limit_ms, TEN)
    assert found.measured == expected
    assert found.percentile_ms == pytest.approx(np.percentile(TEN["samples"], 90))


@pytest.mark.parametrize(("limit_ms", "expected"), [(8.19, "misses"), (8.2, "meets"), (8.21, "meets")])
def test_a_limit_that_is_met_exactly_is_met_whatever_the_unit_it_was_written_in(
    limit_ms: float, expected: str
) -> None:
    assert judged(limit_ms, {"samples": [0.0082 * 1000] * 10}).measured == expected
    assert judged(limit_ms, {"latency_p90_ms": 0.0082 * 1000}).measured == expected


@pytest.mark.parametrize(("errors", "expected"), [(0, "meets"), (2, "meets"), (3, "misses")])
def test_failed_requests_count_as_infinitely_slow(errors: int, expected: str) -> None:
    found = judged(100, {"samples": [1.0] * 9 + [2.0] * 9, "error_count": errors, "latency_mean_ms": 1.5})
    assert found.measured == expected  # 18 of 20 are nine tenths, 18 of 21 are not
    assert found.share_low == pytest.approx(18 / (18 + errors))


def test_more_than_a_tenth_of_failures_miss_any_p90_limit() -> None:
    row = {"latency_p90_ms": 5, "latency_max_ms": 6, "sample_count": 890}
    assert judged(10**6, {**row, "error_count": 110}).measured == "misses"
    assert judged(10**6, {**row, "sample_count": 900, "error_count": 100}).measured == "meets"
    assert keeps_from(measurement({**row, "error_count": 110}), 90) == inf


@pytest.mark.parametrize(("limit_ms", "expected"), [(4.9, "misses"), (5, "meets"), (5.1, "meets")])
def test_the_reported_percentile_decides(limit_ms: float, expected: str) -> None:
    found = judged(limit_ms, {"latency_p90_ms": 5, "latency_p50_ms": 3})
    assert (found.measured, found.percentile_ms, found.keeps_from_ms) == (expected, 5, 5)


def test_a_reported_percentile_of_the_successful_requests_does_not_hide_that_some_failed() -> None:
    row = {"latency_p90_ms": 5, "sample_count": 950, "error_count": 50}
    assert judged(4, row).measured == "misses"
    assert judged(10, row).measured == "unknown"  # 85.5 % at least, 95 % at most
    assert judged(10, {**row, "latency_p99_ms": 9}).measured == "meets"  # 94 % at least
    assert judged(10, {**row, "latency_p95_ms": 11, "latency_p90_ms": 5}).measured == "unknown"
    assert (
        judged(10, {**row, "error_count": 80, "sample_count": 920, "latency_p95_ms": 11}).measured == "misses"
    )


@pytest.mark.parametrize(
    ("limit_ms", "expected"),
    [(2, "misses"), (3.999, "misses"), (4, "unknown"), (6.999, "unknown"), (7, "meets"), (20, "meets")],
)
def test_other_percentiles_bracket_one_that_was_not_reported(limit_ms: float, expected: str) -> None:
    found = judged(limit_ms, {"latency_p80_ms": 4, "latency_p95_ms": 7})
    assert isnan(found.percentile_ms)
    assert (found.percentile_low_ms, found.percentile_high_ms) == (4, 7)
    assert found.keeps_from_ms == 7
    assert found.measured == expected


def test_cantelli_decides_from_mean_and_standard_deviation_alone() -> None:
    # At most s^2 / (s^2 + d^2) of a sample lies d or more above its mean: a tenth at d = 3 s.
    row = {"latency_mean_ms": 10, "latency_std_ms": 2}
    assert judged(10 + 3 * 2 + 0.01, row).measured == "meets"
    assert judged(10 + 3 * 2 - 0.01, row).measured == "unknown"
    assert judged(10 - 2 / 3 - 0.01, row).measured == "misses"  # less than nine tenths lie so far below
    assert judged(10 - 2 / 3 + 0.01, row).measured == "unknown"
    assert keeps_from(measurement(row), 90) == pytest.approx(16)
    assert keeps_from(measurement(row), 99) == pytest.approx(10 + 2 * sqrt(99))


def test_a_mean_alone_proves_nothing() -> None:
    found = judged(10**6, {"latency_mean_ms": 1})
    assert (found.measured, found.keeps_from_ms, found.verdict) == ("unknown", inf, "undecided")


def test_without_a_limit_the_step_is_skipped() -> None:
    found = judged(None, TEN)
    assert (found.measured, found.verdict) == ("skipped", "")
    assert isnan(found.share_low)


def test_the_worst_of_several_summaries_decides_and_percentiles_are_not_averaged() -> None:
    runs = ({"latency_p90_ms": 5, "latency_mean_ms": 4, "sample_count": 100},
            {"latency_p90_ms": 9, "latency_mean_ms": 8, "sample_count": 300})  # fmt: skip
    assert judged(8, *runs).measured == "misses"
    found = judged(9, *runs)
    assert (found.measured, found.percentile_ms, found.keeps_from_ms) == ("meets", 9, 9)
    assert measurement(*runs).mean_ms == pytest.approx(7)  # weighted by count


def test_runs_with_samples_are_pooled() -> None:
    found = judged(9, {"samples": [1, 2, 3, 4, 5]}, {"samples": [6, 7, 8, 9, 50]})
    assert (found.measured, found.share_low, found.share_high) == ("meets", 0.9, 0.9)


def test_a_run_of_only_figures_beside_samples_may_be_the_worst() -> None:
    runs = ({"samples": [1.0] * 10}, {"latency_p90_ms": 30})
    assert judged(29, *runs).measured == "misses"
    assert judged(30, *runs).measured == "meets"


def test_the_spread_between_runs_replaces_that_within() -> None:
    runs = [{"latency_mean_ms": mean, "latency_std_ms": 0.1, "sample_count": 1000} for mean in (10, 12)]
    between = np.std(np.log([10, 12]), ddof=1) / sqrt(2)
    assert judged(20, *runs).log_mean_se == pytest.approx(between)
    one = judged(20, runs[0]).log_mean_se
    assert one == pytest.approx(0.1 / sqrt(1000) / 10)


@settings(max_examples=100, deadline=None)
@given(strategies.benchmark_rows(), st.sampled_from([50.0, 90.0, 99.0]), strategies.latencies_ms)
def test_measured_is_what_the_edge_says_and_the_share_says(
    row: dict[str, Any], percentile: float, limit: float
) -> None:
    found = measurement(row)
    edge = keeps_from(found, percentile)
    measured = judged(limit, row, percentile=percentile).measured
    assert (measured == "meets") == (edge <= limit * (1 + 1e-9))
    low, high = share_within(found, limit)
    assert 0 <= low <= high <= 1
    if measured == "misses" and "samples" in row:
        assert high < percentile / 100
    if low > percentile / 100 + 1e-9:
        assert measured == "meets"
    looser = judged(limit * 2, row, percentile=percentile).measured
    assert ["misses", "unknown", "meets"].index(looser) >= ["misses", "unknown", "meets"].index(measured)


@settings(max_examples=60, deadline=None)
@given(st.lists(strategies.latencies_ms, min_size=1, max_size=40), strategies.latencies_ms, st.data())
def test_what_a_summary_proves_is_true_of_its_sample(
    sample: list[float], limit: float, data: st.DataObject
) -> None:
    values = np.sort(sample)
    figures = {
        "latency_mean_ms": values.mean(),
        "latency_std_ms": values.std(),
        "latency_min_ms": values[0],
        "latency_max_ms": values[-1],
        "latency_p50_ms": np.percentile(values, 50, method="inverted_cdf"),
        "latency_p95_ms": np.percentile(values, 95, method="inverted_cdf"),
    }
    kept = data.draw(st.sets(st.sampled_from(sorted(figures)), min_size=1))
    row = {name: float(figures[name]) for name in kept} | {"sample_count": len(sample)}
    if not any("std" not in name for name in kept):
        return
    measured = judged(limit, row).measured
    share = float((values <= limit * (1 + 1e-9)).mean())
    low, high = share_within(measurement(row), limit)
    assert low - 1e-9 <= share <= high + 1e-9
    if measured != "unknown":
        assert (measured == "meets") == (share >= 0.9 - 1e-12)


def test_unknown_figures_are_nan_and_never_nought() -> None:
    found = judged(5, {"latency_max_ms": 4})
    assert found.measured == "meets"
    assert isnan(found.log_mean_se)
    assert isnan(found.mean_low_ms)
    assert found.percentile_high_ms == 4
    assert isnan(found.percentile_low_ms)
