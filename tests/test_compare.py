"""A candidate beside a baseline: worked changes, intervals that hold, refusals, notes."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from advisor.compare import Change, Comparison, Side, compare, find, hourly_price
from advisor.errors import QuestionError
from advisor.evidence import Estimate, LogMean, mean_change, quantile_change
from advisor.tables import Benchmarks
from tests.builders import ask, benchmarks, catalogue


def side(name: str = "", price: float = float("nan"), **row: Any) -> Side:
    measurement = find(benchmarks(row), None, ask())
    return Side(name or measurement.option, measurement, price)


def figures(comparison: Comparison) -> dict[str, Change]:
    return {change.figure: change for change in comparison.changes}


def change_of(comparison: Comparison, figure: str) -> Estimate:
    found = figures(comparison)[figure].change
    assert found is not None
    return found


def lognormal(n: int, mean_ms: float, seed: int) -> npt.NDArray[np.float64]:
    return np.asarray(mean_ms * np.exp(0.25 * np.random.default_rng(seed).standard_normal(n)))


def test_worked_changes() -> None:
    found = compare(
        side("old", 1.00, latency_mean_ms=50.0, latency_p99_ms=200.0, throughput_per_s=20.0),
        side("new", 0.50, latency_mean_ms=40.0, latency_p99_ms=150.0, throughput_per_s=25.0),
    )
    assert change_of(found, "latency_mean_ms").point == pytest.approx(-0.20)
    assert change_of(found, "latency_p99_ms").point == pytest.approx(-0.25)
    assert change_of(found, "throughput_per_s").point == pytest.approx(0.25)
    assert change_of(found, "price_usd_per_hour").point == pytest.approx(-0.50)
    assert change_of(found, "cost_usd_per_100k").point == pytest.approx(-0.60)  # cut to .5 x .8 = .4
    cost = figures(found)["cost_usd_per_100k"]
    assert cost.baseline == pytest.approx(1.00 / 3600 * 50 / 1000 * 100_000)


def test_the_figures_come_in_one_order() -> None:
    found = compare(side(latency_mean_ms=50.0), side(latency_mean_ms=40.0))
    assert [change.figure for change in found.changes] == [
        "latency_mean_ms",
        "latency_p50_ms",
        "latency_p90_ms",
        "latency_p99_ms",
        "throughput_per_s",
        "price_usd_per_hour",
        "cost_usd_per_100k",
    ]


def test_two_summaries_have_no_interval_and_that_is_said() -> None:
    row = {"latency_mean_ms": 50.0, "latency_std_ms": 1.0, "latency_p90_ms": 52.0, "sample_count": 1000}
    found = compare(side("old", 1.0, **row), side("new", 1.0, **row | {"latency_mean_ms": 40.0}))
    for name in ("latency_mean_ms", "latency_p90_ms", "cost_usd_per_100k"):
        assert figures(found)[name].meaning == "no interval"
        assert change_of(found, name).low is None
        assert change_of(found, name).high is None
    assert any("no interval" in note and "old and new" in note for note in found.notes)


def test_a_summary_beside_samples_has_no_interval_either() -> None:
    found = compare(side("old", latency_mean_ms=50.0), side("new", samples=lognormal(300, 40, 1)))
    assert figures(found)["latency_mean_ms"].meaning == "no interval"
    assert any("no interval" in note and "old" in note and "new" not in note for note in found.notes)


def test_what_a_side_does_not_know_is_unknown_and_not_filled_in() -> None:
    found = compare(side("old", latency_mean_ms=50.0, latency_p95_ms=60.0), side("new", latency_p95_ms=55.0))
    assert figures(found)["latency_mean_ms"].meaning == "unknown"
    assert figures(found)["latency_p90_ms"].change is None
    assert figures(found)["cost_usd_per_100k"].change is None
    assert change_of(found, "latency_p95_ms").point == pytest.approx(55 / 60 - 1)  # both reported it
    assert any("no price" in note for note in found.notes)


def test_the_same_latencies_differ_by_nothing_significant() -> None:
    found = compare(
        side("old", 1.0, samples=lognormal(800, 20, 1)), side("new", 1.0, samples=lognormal(800, 20, 2))
    )
    for name in (
        "latency_mean_ms",
        "latency_p50_ms",
        "latency_p90_ms",
        "latency_p99_ms",
        "cost_usd_per_100k",
    ):
        assert figures(found)[name].meaning == "no significant difference"
        low, high = change_of(found, name).low, change_of(found, name).high
        assert low is not None
        assert high is not None
        assert low <= 0 <= high
    assert any("one run" in note for note in found.notes)


def test_a_real_difference_is_called_lower_or_higher() -> None:
    slow, fast = (
        side("old", 1.0, samples=lognormal(800, 20, 1)),
        side("new", 1.0, samples=lognormal(800, 16, 2)),
    )
    there, back = compare(slow, fast), compare(fast, slow)
    for name in ("latency_mean_ms", "latency_p50_ms", "latency_p90_ms", "cost_usd_per_100k"):
        assert figures(there)[name].meaning == "lower"
        assert figures(back)[name].meaning == "higher"
        low, high = change_of(there, name).low, change_of(there, name).high
        assert low is not None
        assert high is not None
        assert low < -0.2 < high


def test_the_interval_of_the_cost_is_that_of_the_mean_times_the_price() -> None:
    samples = lognormal(500, 20, 1), lognormal(500, 19, 2)
    found = compare(side("old", 2.0, samples=samples[0]), side("new", 1.0, samples=samples[1]))
    mean, cost = change_of(found, "latency_mean_ms"), change_of(found, "cost_usd_per_100k")
    assert mean.low is not None
    assert mean.high is not None
    assert cost.low == pytest.approx(0.5 * (1 + mean.low) - 1)
    assert cost.high == pytest.approx(0.5 * (1 + mean.high) - 1)


def test_a_warm_up_is_cut_from_the_latencies_and_billed_in_the_cost() -> None:
    steady, warm = lognormal(800, 20, 3), lognormal(200, 40, 4)
    found = compare(
        side("old", 1.0, samples=steady),
        side("new", 1.0, samples=np.concatenate([warm, lognormal(800, 20, 5)])),
    )
    assert abs(change_of(found, "latency_mean_ms").point) < 0.05
    assert change_of(found, "cost_usd_per_100k").point > 0.15
    assert any("warm-up" in note for note in found.notes)


def test_failed_requests_make_each_success_dearer() -> None:
    good, bad = lognormal(300, 20, 6), lognormal(300, 20, 6)
    found = compare(side("old", 1.0, samples=good), side("new", 1.0, samples=bad, error_count=100))
    assert change_of(found, "cost_usd_per_100k").point == pytest.approx(4 / 3 - 1)
    assert any("25 % of the requests of new failed" in note for note in found.notes)


def runs(instance: str, means: list[float], seed: int) -> list[dict[str, Any]]:
    return [
        {"instance_type": instance, "run_id": str(i), "samples": lognormal(200, mean, seed + i)}
        for i, mean in enumerate(means)
    ]


def test_the_spread_between_runs_is_used_where_there_are_runs() -> None:
    measured = benchmarks(*runs("c5.large", [18, 22, 20], 1), *runs("c5.xlarge", [17, 21, 19], 9))
    sides = [Side(name, find(measured, name, ask())) for name in ("c5.large", "c5.xlarge")]
    found = compare(*sides)
    means = [
        np.array(
            [
                s.latency_ms.mean()
                for i, s in measured.samples.items()
                if measured.rows.instance_type[i] == name
            ]
        )
        for name in ("c5.large", "c5.xlarge")
    ]
    relative = [(one.std(ddof=1) / np.sqrt(3) / one.mean()) ** 2 for one in means]
    freedom = sum(relative) ** 2 / sum(r**2 / 2 for r in relative)  # Welch and Satterthwaite
    assert 3 < freedom < 4
    change = change_of(found, "latency_mean_ms")
    assert change.low is not None
    assert change.high is not None
    half = (np.log1p(change.high) - np.log1p(change.low)) / 2
    assert 2.776445 < half / np.sqrt(sum(relative)) < 3.182446  # t with 4 and with 3 degrees of freedom
    assert figures(found)["latency_mean_ms"].meaning == "no significant difference"
    assert not any("one run" in note for note in found.notes)


def test_summaries_of_several_runs_have_an_interval_of_the_mean_from_their_spread() -> None:
    def several(instance: str, means: list[float]) -> list[dict[str, Any]]:
        return [
            {"instance_type": instance, "run_id": str(i), "latency_mean_ms": mean, "latency_p90_ms": mean + 1}
            for i, mean in enumerate(means)
        ]

    measured = benchmarks(*several("c5.large", [50, 51, 49, 50.5]), *several("c5.xlarge", [40, 41, 39, 40.5]))
    found = compare(*(Side(name, find(measured, name, ask())) for name in ("c5.large", "c5.xlarge")))
    assert figures(found)["latency_mean_ms"].meaning == "lower"
    assert any("spread between its 4 runs" in note for note in found.notes)
    assert figures(found)["latency_p90_ms"].meaning == "unknown"  # percentiles of runs are not averaged


def test_a_run_without_a_mean_leaves_the_spread_between_runs_unknown() -> None:
    def several(instance: str, last: dict[str, float]) -> list[dict[str, Any]]:
        known = [{"latency_mean_ms": mean} for mean in (50.0, 51.0)]
        return [{"instance_type": instance, "run_id": str(i), **row} for i, row in enumerate([*known, last])]

    whole, part = (
        several("c5.large", {"latency_mean_ms": 49.0}),
        several("c5.xlarge", {"latency_p90_ms": 60.0}),
    )
    measured = benchmarks(*whole, *part)
    sides = [Side(name, find(measured, name, ask())) for name in ("c5.large", "c5.xlarge")]
    assert figures(compare(sides[0], sides[0]))["latency_mean_ms"].meaning == "no significant difference"
    assert figures(compare(*sides))["latency_mean_ms"].meaning == "no interval"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"model": "other"}, "model net against other"),
        ({"sequence_length": 128}, "sequence length not stated against 128"),
        ({"input_shape": "3x224x224"}, "input shape not stated against 3x224x224"),
        ({"batch_size": 8}, "batch size 1 against 8"),
        ({"concurrency": 4}, "concurrency 1 against 4"),
        ({"load_kind": "open"}, "kind of load closed against open"),
    ],
)
def test_what_was_not_measured_alike_is_refused_unless_asked_for(other: dict[str, Any], words: str) -> None:
    one = side("old", latency_mean_ms=50.0, load_kind="closed")
    two = side("new", **{"latency_mean_ms": 40.0, "load_kind": "closed", **other})
    with pytest.raises(QuestionError, match="--anyway") as error:
        compare(one, two)
    assert words in str(error.value)
    found = compare(one, two, anyway=True)
    assert any(words in note for note in found.notes)
    assert change_of(found, "latency_mean_ms").point == pytest.approx(-0.2)


def test_a_load_that_is_not_stated_is_not_refused() -> None:
    compare(side(latency_mean_ms=50.0, load_kind="closed"), side(latency_mean_ms=40.0))


def test_batched_costs_are_per_inference() -> None:
    found = compare(
        side("old", 1.0, latency_mean_ms=50.0),
        side("new", 1.0, latency_mean_ms=100.0, batch_size=4),
        anyway=True,
    )
    assert change_of(found, "cost_usd_per_100k").point == pytest.approx(-0.5)


def test_what_may_differ_is_told() -> None:
    found = compare(
        side("old", latency_mean_ms=50.0, backend="torch", software="1.9", output_token_count=100.0),
        side(
            "new",
            latency_mean_ms=40.0,
            backend="neuron",
            software="1.10",
            output_token_count=120.0,
            quality="suspect",
        ),
    )
    told = "; ".join(found.notes)
    assert "backend differs: torch against neuron" in told
    assert "software differs: 1.9 against 1.10" in told
    assert "output tokens differ: 100 against 120" in told
    assert "new are doubted" in told


def held() -> Benchmarks:
    return benchmarks(
        {"instance_type": "c5.large", "latency_mean_ms": 50.0},
        {"instance_type": "c5.large", "batch_size": 8, "latency_mean_ms": 90.0},
        {
            "instance_type": "m5.large",
            "attached_accelerator": "eia2.medium",
            "attached_accelerator_count": 2,
            "latency_mean_ms": 20.0,
        },
    )


def test_an_option_is_found_however_it_is_written() -> None:
    for written in ("m5.large+2xeia2.medium", "m5.large + 2 x eia2.medium", "M5.LARGE+2xEIA2.medium"):
        assert find(held(), written, ask()).mean_ms == 20.0


def test_an_option_that_is_not_there_or_not_one_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(QuestionError, match=r"c5\.larg .*did you mean c5\.large"):
        find(held(), "c5.larg", ask())
    with pytest.raises(QuestionError, match=r"differ in batch size \(1 and 8\)"):
        find(held(), "c5.large", ask())
    assert find(held(), "c5.large", ask(batch_size=8)).mean_ms == 90.0
    with pytest.raises(QuestionError, match="differ in option"):
        find(held(), None, ask(batch_size=1))


def test_the_hourly_price_is_host_and_accelerators_unrounded() -> None:
    known = catalogue(
        [
            {"instance_type": "c5.large", "price_usd_per_hour": 0.085},
            {"instance_type": "m5.large", "price_usd_per_hour": 0.096},
            {"instance_type": "eia2.medium", "price_usd_per_hour": 0.1234},
        ],
        accelerators=[{"accelerator_type": "eia2.medium"}],
    )
    with_two = find(held(), "m5.large+2xeia2.medium", ask())
    assert hourly_price(known, with_two, ask()) == pytest.approx(0.096 + 2 * 0.1234)
    assert np.isnan(hourly_price(known, with_two, ask(region="eu-west-1")))


def test_the_change_of_a_mean_is_welchs_on_the_logarithm() -> None:
    found = mean_change(LogMean(50, 0.03, 9), LogMean(40, 0.04, 15))
    freedom = (0.03**2 + 0.04**2) ** 2 / (0.03**4 / 9 + 0.04**4 / 15)
    assert freedom == pytest.approx(23.98, abs=0.01)
    half = 2.063899 * 0.05  # t with 24 degrees of freedom
    assert found.point == pytest.approx(-0.2)
    assert found.low == pytest.approx(0.8 * np.exp(-half) - 1, rel=1e-4)
    assert found.high == pytest.approx(0.8 * np.exp(half) - 1, rel=1e-4)


def test_a_change_without_a_known_spread_has_no_interval() -> None:
    assert mean_change(LogMean(50, 0.0, 9), LogMean(40, 0.0, 9)) == Estimate(pytest.approx(-0.2))  # type: ignore[arg-type]
    assert mean_change(LogMean(50, 0.1, 0), LogMean(40, 0.1, 9)).low is None


def test_the_change_of_a_percentile_joins_both_intervals() -> None:
    found = quantile_change(Estimate(100, 90, 120), Estimate(80, 70, 100))
    low = np.log(0.8) - np.hypot(np.log(80 / 70), np.log(120 / 100))
    high = np.log(0.8) + np.hypot(np.log(100 / 80), np.log(100 / 90))
    assert found.low == pytest.approx(np.exp(low) - 1)
    assert found.high == pytest.approx(np.exp(high) - 1)
    no_high = quantile_change(Estimate(100, 90, 120), Estimate(80, 70, None))
    assert no_high.high is None
    assert no_high.low is not None
    no_low = quantile_change(Estimate(100, 90, None), Estimate(80, 70, 100))
    assert no_low.low is None
    assert no_low.high is not None


def test_a_bound_on_one_side_is_enough_to_be_significant() -> None:
    rare = np.concatenate([np.full(300, 10.0), np.full(20, 60.0)])
    mixed = np.random.default_rng(3).permutation(rare)
    found = compare(side("old", samples=lognormal(330, 100, 1)), side("new", samples=mixed))
    assert figures(found)["latency_p90_ms"].meaning == "lower"


def test_intervals_of_changes_hold_the_true_change() -> None:
    from advisor.evidence import Series, assess_many

    held_mean: list[bool] = []
    held_quantile: list[bool] = []
    rng = np.random.default_rng(12)
    draws = [
        10 * np.exp(0.25 * rng.standard_normal((300, n))) * factor for n, factor in ((400, 1.0), (250, 0.9))
    ]
    found = [assess_many([Series(row) for row in rows], None) for rows in draws]
    for one, two in zip(*found, strict=True):
        assert one.mean_ms
        assert two.mean_ms
        assert one.log_mean_se
        assert two.log_mean_se
        assert one.mean_freedom
        assert two.mean_freedom
        assert one.quantile_ms
        assert two.quantile_ms
        mean = mean_change(
            LogMean(one.mean_ms.point, one.log_mean_se, one.mean_freedom),
            LogMean(two.mean_ms.point, two.log_mean_se, two.mean_freedom),
        )
        quantile = quantile_change(one.quantile_ms, two.quantile_ms)
        for held, change in ((held_mean, mean), (held_quantile, quantile)):
            held.append(
                (change.low is None or change.low <= -0.1) and (change.high is None or change.high >= -0.1)
            )
    # 95 % less three binomial standard errors of 300
    assert np.mean(held_mean) >= 0.91
    assert np.mean(held_quantile) >= 0.91
