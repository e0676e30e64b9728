"""Steps, reasons, evidence and notes of small contests in which everything is known."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from advisor.advice import Advice
from advisor.advise import advise
from tests import builders

PRICES = [
    {"instance_type": "c5.large", "price_usd_per_hour": 0.36},
    {"instance_type": "g5.xlarge", "price_usd_per_hour": 1.08},
    {"instance_type": "m7g.large", "price_usd_per_hour": 0.18},
]
INSTANCES = [
    {"instance_type": "c5.large", "memory_mib": 4096.0},
    {"instance_type": "g5.xlarge", "memory_mib": 16384.0, "accelerator_kind": "gpu", "accelerator_count": 1.0,
     "accelerator_memory_mib": 24576.0},
    {"instance_type": "m7g.large", "memory_mib": 8192.0, "cpu_arch": "arm64"},
]  # fmt: skip


def row(name: str, mean: float, p90: float, **more: Any) -> dict[str, Any]:
    return {"instance_type": name, "latency_mean_ms": mean, "latency_p90_ms": p90, **more}


CPU, GPU, ARM = row("c5.large", 10, 12), row("g5.xlarge", 4, 5), row("m7g.large", 30, 40)


def answer(*rows: dict[str, Any], prices: Any = PRICES, instances: Any = INSTANCES, **asked: Any) -> Advice:
    return advise(builders.catalogue(prices, instances), builders.benchmarks(*rows), builders.ask(**asked))


def rejected(advice: Advice, option: str) -> dict[str, Any]:
    (found,) = advice.rejected[advice.rejected["option"] == option].to_dict("records")
    return {str(name): value for name, value in found.items()}


def texts(advice: Advice, code: str) -> list[str]:
    return [note.text for note in advice.notes if note.code == code]


def test_objectives_order_by_cost_by_latency_and_by_served_cost() -> None:
    rows = (CPU | {"throughput_per_s": 50}, GPU | {"throughput_per_s": 900}, ARM | {"throughput_per_s": 20})
    assert answer(*rows).ranked["option"].tolist() == ["c5.large", "g5.xlarge", "m7g.large"]
    assert answer(*rows, objective="latency").ranked["option"].tolist() == [
        "g5.xlarge",
        "c5.large",
        "m7g.large",
    ]
    assert answer(*rows, objective="served-cost").ranked["option"].tolist() == [
        "g5.xlarge",
        "c5.large",
        "m7g.large",
    ]


def test_without_the_percentile_the_fastest_is_ranked_last_and_said() -> None:
    fast = {"instance_type": "g5.xlarge", "latency_mean_ms": 1, "latency_p99_ms": 2}
    faster = {"instance_type": "m7g.large", "latency_mean_ms": 1, "latency_p99_ms": 1.5}
    advice = answer(CPU, fast, faster, objective="latency")
    assert advice.ranked["option"].tolist() == ["c5.large", "m7g.large", "g5.xlarge"]
    assert texts(advice, "percentile_order") == [
        "P90 is not known of m7g.large and g5.xlarge: ranked after the others, by its upper bound"
    ]


def test_a_suspect_measurement_is_never_first() -> None:
    suspect = CPU | {"quality": "suspect"}
    advice = answer(suspect, GPU)
    assert advice.ranked["option"].tolist() == ["g5.xlarge", "c5.large"]
    assert advice.ranked["cost_usd_per_100k"].is_monotonic_decreasing
    assert texts(advice, "suspect") == ["doubted by their own note and never first: c5.large"]
    alone = answer(suspect)
    assert alone.recommended is None
    assert rejected(alone, "c5.large")["reason"].startswith("the measurement is doubted by its own note")


def test_a_suspect_measurement_changes_no_answer_and_takes_no_chance() -> None:
    known = {"latency_std_ms": 0.5, "sample_count": 1000}
    advice = answer(CPU | known | {"quality": "suspect"}, GPU | known, latency_limit_ms=8)
    assert [switch.option for switch in advice.switches] == [None, "g5.xlarge"]
    assert "would be" not in rejected(advice, "c5.large")["reason"]
    wide = answer(CPU | known | {"quality": "suspect"}, GPU | known, latency_limit_ms=50)
    assert wide.ranked["probability_best"].isna().tolist() == [False, True]
    assert wide.ranked["probability_best"].iloc[0] > 0.99


def test_a_suspect_measurement_leads_no_group_of_equals() -> None:
    # Without the suspect the two others are equals, and the faster is first; it must not split them.
    prices = [
        {"instance_type": name, "price_usd_per_hour": usd}
        for name, usd in (("a.l", 0.3600), ("b.l", 0.3628), ("s.l", 0.3584))
    ]
    rows = (row("a.l", 10, 12), row("b.l", 10, 11), row("s.l", 10, 9, quality="suspect"))
    assert answer(*rows, prices=prices, instances=None).ranked["option"].tolist() == ["b.l", "a.l", "s.l"]


@pytest.mark.parametrize(
    ("asked", "option", "reason"),
    [
        ({"exclude": "g5"}, "g5.xlarge", "left out by --exclude g5"),
        ({"exclude": "g5.xlarge"}, "g5.xlarge", "left out by --exclude g5.xlarge"),
        ({"arch": "x86_64"}, "m7g.large", "arm64, not x86_64"),
        ({"accelerator_kind": ["cpu", "gpu"]}, "m7g.large", "of kind graviton, not cpu and gpu"),
        ({"batch_size": 1}, "c5.large", "measured at batch size 4, not at the asked batch size 1"),
        (
            {"concurrency": [1, 2]},
            "c5.large",
            "measured at concurrency 8, not at the asked concurrency 1 and 2",
        ),
    ],
)
def test_what_the_question_leaves_out_says_so(asked: dict[str, Any], option: str, reason: str) -> None:
    advice = answer(CPU | {"batch_size": 4, "concurrency": 8}, GPU, ARM, **asked)
    found = rejected(advice, option)
    assert (found["failed"], found["reason"]) == ("filter", reason)
    assert len(advice.ranked) == 2


def test_a_family_that_only_begins_alike_is_not_excluded() -> None:
    assert len(answer(GPU, exclude="g").ranked) == 1
    assert len(answer(GPU, exclude="g5.x").ranked) == 1


def test_an_option_is_excluded_however_it_is_written() -> None:
    prices = [*PRICES, {"instance_type": "eia2.medium", "price_usd_per_hour": 0.12}]
    attached = CPU | {"attached_accelerator": "eia2.medium", "attached_accelerator_count": 1}
    for name in (
        "c5.large+eia2.medium",
        "c5.large + 1 x eia2.medium",
        "C5.large + eia2.medium",
        "eia2.medium",
        "eia2",
    ):
        assert len(answer(CPU, attached, prices=prices, exclude=name).ranked) == 1, name
    assert len(answer(CPU, attached, prices=prices, exclude="c5.large+2xeia2.medium").ranked) == 2


def test_the_first_failed_step_is_the_reason() -> None:
    advice = answer(CPU, GPU, ARM, model_size="6GiB", latency_limit_ms=20)
    cpu = rejected(advice, "c5.large")
    assert (cpu["failed"], cpu["value"], cpu["limit"], cpu["unit"]) == ("memory", 4, 6, "GiB")
    assert cpu["reason"] == "needs 6.00 GiB on the host, which has 4.00 GiB"
    arm = rejected(advice, "m7g.large")
    assert (arm["failed"], arm["value"], arm["limit"], arm["unit"]) == ("latency", 40, 20, "ms")
    assert advice.ranked["memory"].tolist() == ["fits"]


def test_hardware_that_nobody_knows_is_rejected_only_where_a_size_is_asked() -> None:
    known = [instance for instance in INSTANCES if instance["instance_type"] != "c5.large"]
    assert answer(CPU, instances=known).ranked[["memory", "kind"]].to_numpy().tolist() == [
        ["unknown", "other"]
    ]
    found = rejected(answer(CPU, instances=known, model_size="1MB"), "c5.large")
    assert found["failed"] == "hardware"
    assert found["reason"] == "the memory of c5.large is not known, so that nothing is known to fit"


def test_the_share_of_late_requests_is_told() -> None:
    samples = CPU | {"samples": [10.0] * 80 + [30.0] * 20}
    found = rejected(answer(samples, latency_limit_ms=20), "c5.large")
    assert found["reason"].startswith("80 % of the requests within 20 ms, 90 % asked (mean 14.0, P90 30.0)")
    failing = CPU | {"sample_count": 80, "error_count": 20}
    found = rejected(answer(failing, latency_limit_ms=20), "c5.large")
    assert (found["value"], found["limit"], found["unit"]) == (0.2, pytest.approx(0.1), "fraction")
    assert found["reason"] == "20 % of the requests failed: no P90 limit is kept (mean 10.0, P90 12.0)"
    bare = {"instance_type": "c5.large", "latency_mean_ms": 10, "latency_p50_ms": 9, "latency_p99_ms": 30}
    assert rejected(answer(bare, latency_limit_ms=20), "c5.large")["reason"].startswith(
        "unknown: P90 was not reported; "
    )


def test_the_limit_from_which_a_rejected_option_would_win_is_told_with_its_cost() -> None:
    advice = answer(CPU, GPU, ARM, latency_limit_ms=8)
    assert rejected(advice, "c5.large")["reason"].endswith("; would be cheapest from 12 ms ($0.100)")
    assert "would be" not in rejected(advice, "m7g.large")["reason"]  # dearer than c5.large at every limit
    assert [(s.from_ms, s.to_ms, s.option) for s in advice.switches] == [
        (0.0, 5.0, None),
        (5.0, 12.0, "g5.xlarge"),
        (12.0, None, "c5.large"),
    ]


def test_winning_price_and_mean_are_where_the_costs_are_equal() -> None:
    advice = answer(CPU, GPU, latency_limit_ms=20)  # $0.10 and $0.12
    first, second = advice.ranked.to_dict("records")
    assert second["winning_price_usd_per_hour"] == pytest.approx(0.9)
    assert second["winning_latency_mean_ms"] == pytest.approx(4 * 10 / 12)
    assert first["winning_price_usd_per_hour"] == pytest.approx(0.432)  # up to here it stays first
    late = answer(CPU, GPU, latency_limit_ms=8)
    lost = rejected(late, "c5.large")
    assert pd.isna(lost["winning_price_usd_per_hour"])  # no price makes it faster
    assert lost["winning_latency_mean_ms"] == pytest.approx(10 * 8 / 12)


def test_the_cheapest_proved_option_stands_beside_the_cheapest_measured_one() -> None:
    rng = np.random.default_rng(0)
    unsure = CPU | {"samples": rng.permutation(np.r_[np.full(19, 10.0), 30.0])}
    sure = GPU | {"samples": rng.permutation(np.r_[np.full(990, 4.0), np.full(10, 9.0)])}
    advice = answer(unsure, sure, latency_limit_ms=20)
    assert advice.recommended is not None
    assert advice.proven is not None
    assert (advice.recommended.option, advice.recommended.verdict) == ("c5.large", "undecided")
    assert (advice.proven.option, advice.proven.verdict, advice.proven.rank) == ("g5.xlarge", "pass", 2)
    more = advice.proven.cost_usd_per_100k.point / advice.recommended.cost_usd_per_100k.point - 1
    assert f"the cheapest proved one is g5.xlarge at $0.121, {100 * more:.1f} % more" in advice.headline
    assert f"about {advice.recommended.more_needed} further requests would settle it" in advice.headline
    decided = answer(unsure, sure, latency_limit_ms=20, decide="proven")
    assert decided.recommended == advice.proven
    assert decided.headline.endswith("proved; c5.large is first as measured ($0.110) but not proved")
    assert decided.ranked["option"].tolist() == advice.ranked["option"].tolist()


def test_one_run_carries_the_assumed_spread_between_runs_and_two_their_own() -> None:
    def chance(spread: float, *cpu: dict[str, Any]) -> float:
        rows = [
            {**r, "latency_std_ms": 0.1, "sample_count": 1000, "run_id": str(i)} for i, r in enumerate(cpu)
        ]
        gpu = [{**GPU, "latency_std_ms": 0.1, "sample_count": 1000, "run_id": str(i)} for i in range(2)]
        advice = answer(*rows, *gpu, latency_limit_ms=20, between_run_sd_fraction=spread)
        assert bool(texts(advice, "between_run")) == (len(cpu) == 1 and spread > 0)
        return float(advice.ranked["probability_best"].iloc[0])

    assert chance(0.0, CPU) > 0.99
    assert 0.5 < chance(0.3, CPU) < 0.9
    assert chance(0.3, CPU, CPU) == chance(0.0, CPU, CPU)


def test_an_option_of_unknown_spread_has_no_probability_and_it_is_said() -> None:
    known = {"latency_std_ms": 0.5, "sample_count": 1000}
    advice = answer(CPU | known, GPU | known, ARM, latency_limit_ms=50)
    assert advice.ranked["probability_best"].notna().tolist() == [True, True, False]
    assert texts(advice, "no_probability")[0].startswith("no probability of being best for m7g.large")
    assert advice.probability_none_kept is None
    nothing = answer(CPU | known, GPU, latency_limit_ms=50)
    assert nothing.ranked["probability_best"].isna().all()
    assert not nothing.ranked["among_best"].any()


def test_a_dearer_region_of_an_option_is_never_the_best() -> None:
    known = {"latency_std_ms": 0.5, "sample_count": 1000}
    prices = [*PRICES, {**PRICES[0], "region": "us-east-1", "price_usd_per_hour": 0.37}]
    ranked = answer(CPU | known, GPU | known, prices=prices, region="all").ranked
    chances = ranked.set_index(["option", "region"])["probability_best"]
    assert chances["c5.large", "us-east-1"] == 0
    assert chances.sum() == pytest.approx(1)


def test_places_that_sell_an_option_at_one_cost_share_its_chance() -> None:
    known = {"latency_std_ms": 0.5, "sample_count": 1000}
    more = [
        {"instance_type": "c5.large", "region": region, "price_usd_per_hour": price}
        for region, price in (("us-east-1", 0.36), ("eu-west-1", 0.37))
    ]
    alone = answer(CPU | known, GPU | known).ranked.set_index("option")
    ranked = answer(CPU | known, GPU | known, prices=[*PRICES, *more], region="all").ranked
    found = ranked.set_index(["option", "region"])
    assert 0 < alone["probability_best"]["c5.large"] < 1
    for region in ("us-west-2", "us-east-1"):
        assert found["probability_best"]["c5.large", region] == alone["probability_best"]["c5.large"]
        assert found["among_best"]["c5.large", region] == alone["among_best"]["c5.large"]
    assert found["probability_best"]["c5.large", "eu-west-1"] == 0
    assert not found["among_best"]["c5.large", "eu-west-1"]


def test_what_a_reader_must_know_is_noted() -> None:
    rows = (
        CPU
        | {
            "throughput_per_s": 300,
            "load_kind": "closed",
            "note": "see the source",
        },
        GPU
        | {"load_kind": "open", "output_token_count": 100, "software": "rt 2", "measured_on": "2026-01-02"},
        GPU
        | {"load_kind": "open", "output_token_count": 100, "software": "rt 1", "measured_on": "2026-01-01"},
        ARM | {"output_token_count": 300, "latency_p99_ms": 45, "sample_count": 99, "error_count": 1},
    )
    prices = [{**price, "as_of": "2026-08-31"} for price in PRICES[:1]] + PRICES[1:]
    advice = answer(*rows, prices=prices, latency_limit_ms=50)
    assert texts(advice, "stale_prices") == []
    assert texts(advice, "memory_not_checked") == ["memory not checked: give --model-size"]
    assert texts(advice, "older_software") == [
        "1 measurement with an older software version left out: the newest of each configuration counts"
    ]
    assert texts(advice, "errors") == [
        "requests failed on m7g.large (1 %): costs are per successful inference"
    ]
    assert texts(advice, "comparability") == [
        "ranked options differ in kind of load: closed and open",
        "ranked options differ in mean output tokens: 100 and 300",
    ]
    assert len(texts(advice, "little")) == 1
    assert "would need 3.00 in flight, and 1 were" in texts(advice, "little")[0]
    assert texts(advice, "benchmark_row") == ["c5.large: see the source"]
    assert texts(advice, "filled_in") == ["not asked, and used because the files hold no other: model net"]
    assert [note.code for note in advice.notes][-1] == "busy_time"


def test_a_run_that_ended_before_its_first_request_is_left_out_and_said() -> None:
    begun = GPU | {"latency_mean_ms": np.nan, "latency_p90_ms": np.nan, "samples": []}
    assert texts(answer(CPU, begun), "empty_runs") == ["1 run left out: ended before the first request"]
    assert texts(answer(CPU, GPU), "empty_runs") == []


@pytest.mark.parametrize(("as_of", "text"), [
    ("2026-08-31", []),
    ("2026-08-30", ["prices of 2026-08-30 are 91 days old: advisor prices refresh"]),
])  # fmt: skip
def test_prices_older_than_ninety_days_are_noted(as_of: str, text: list[str]) -> None:
    assert texts(answer(CPU, prices=[{**PRICES[0], "as_of": as_of}]), "stale_prices") == text


@pytest.mark.parametrize(("as_of", "noted"), [("2026-08-04", False), ("2026-08-03", True)])
def test_regions_whose_prices_lie_ninety_days_apart_are_noted(as_of: str, noted: bool) -> None:
    prices = [PRICES[0], {**PRICES[0], "region": "us-east-1", "as_of": as_of}]
    assert bool(texts(answer(CPU, prices=prices, region="all"), "region_dates")) == noted


def test_types_without_a_benchmark_are_one_count() -> None:
    advice = answer(CPU)
    assert (advice.unmeasured_count, advice.unmeasured) == (2, ("g5.xlarge", "m7g.large"))


def test_the_sources_of_what_is_shown_are_told() -> None:
    roles = [(source.role, source.source, source.row_count) for source in answer(CPU, GPU).sources]
    assert roles == [("hardware", "facts", 2), ("latency", "made for a test", 2), ("prices", "list", 2)]


def test_what_states_no_source_is_not_listed_as_one() -> None:
    nameless = [{**facts, "source": ""} for facts in INSTANCES]
    assert "hardware" not in {source.role for source in answer(CPU, GPU, instances=nameless).sources}


def test_an_own_price_is_noted_once() -> None:
    own = [{**PRICES[0], "purchase_option": "custom", "note": "own price"}]
    advice = answer(CPU, GPU, prices=[*PRICES, *own])
    assert "own price" not in texts(advice, "price_row")
    other = [{**PRICES[0], "purchase_option": "custom", "note": "until March"}]
    assert texts(answer(CPU, GPU, prices=[*PRICES, *other]), "price_row") == ["until March"]


def test_where_nothing_qualifies_the_headline_names_the_nearest() -> None:
    advice = answer(CPU, GPU, latency_limit_ms=2)
    assert advice.recommended is None
    assert advice.headline == (
        "No option serves net within 2 ms at P90 in us-west-2; the nearest is g5.xlarge, which keeps 5 ms"
    )
