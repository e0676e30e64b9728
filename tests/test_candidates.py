"""Which price counts, and what becomes of an option that has none."""

from typing import Any

import pandas as pd
import pytest

from advisor.advice import Advice
from advisor.advise import advise
from advisor.errors import QuestionError
from tests import builders

NAN = float("nan")
GPU = {
    "memory_mib": 32768.0,
    "accelerator_kind": "gpu",
    "accelerator_count": 1.0,
    "accelerator_memory_mib": 16384.0,
}


def priced(name: str = "c5.large", usd: float = 0.36, **more: Any) -> dict[str, Any]:
    return {"instance_type": name, "price_usd_per_hour": usd, **more}


def measured(name: str = "c5.large", mean: float = 10.0, **more: Any) -> dict[str, Any]:
    return {"instance_type": name, "latency_mean_ms": mean, **more}


def answer(prices: list[dict[str, Any]], *rows: dict[str, Any], **asked: Any) -> Advice:
    facts = {k: asked.pop(k) for k in ("instances", "accelerators", "own", "regions") if k in asked}
    return advise(
        builders.catalogue(prices, **facts),
        builders.benchmarks(*(rows or (measured(),))),
        builders.ask(**asked),
    )


def only(frame: pd.DataFrame) -> dict[str, Any]:
    assert len(frame) == 1
    return {str(name): value for name, value in frame.iloc[0].items()}


def test_cost_is_price_a_second_times_mean_latency() -> None:
    row = only(answer([priced()]).ranked)
    assert row["cost_usd_per_100k"] == pytest.approx(0.36 / 3600 * 0.010 * 100_000)
    assert row["cost_usd_per_month"] == pytest.approx(0.36 * 730)


def test_cost_is_shared_by_the_items_in_flight_and_borne_by_the_successful_requests() -> None:
    row = only(
        answer([priced()], measured(batch_size=4, concurrency=2, sample_count=90, error_count=10)).ranked
    )
    assert row["cost_usd_per_100k"] == pytest.approx(0.1 / 8 / 0.9)
    assert row["error_fraction"] == pytest.approx(0.1)


def test_served_cost_comes_from_the_throughput_and_a_difference_is_noted() -> None:
    advice = answer([priced()], measured(throughput_per_s=50))
    assert only(advice.ranked)["cost_usd_per_100k_served"] == pytest.approx(0.36 / 3600 / 50 * 100_000)
    assert "served_cost" in {note.code for note in advice.notes}
    assert "served_cost" not in {
        note.code for note in answer([priced()], measured(throughput_per_s=96)).notes
    }


def test_an_attached_accelerator_is_priced_unrounded_and_by_its_count() -> None:
    row = measured("m5.large", 100, attached_accelerator="eia2.medium", attached_accelerator_count=2)
    prices = [priced("m5.large", 0.096), priced("eia2.medium", 0.1234, as_of="2026-10-01")]
    found = only(answer(prices, row, accelerators=[{"accelerator_type": "eia2.medium"}]).ranked)
    assert found["price_usd_per_hour"] == pytest.approx(0.096 + 2 * 0.1234)
    assert found["accelerator_price_usd_per_hour"] == pytest.approx(0.2468)
    assert (found["option"], found["kind"]) == ("m5.large + 2 x eia2.medium", "attached")
    assert found["price_as_of"] == "2026-10-01"  # the older of the two


def test_an_accelerator_is_bought_on_demand_in_the_region_of_its_host() -> None:
    prices = [
        priced("m5.large", 0.05, purchase_option="reserved_1yr_no_upfront"),
        priced("m5.large", 0.07, purchase_option="reserved_1yr_no_upfront", region="us-east-1"),
        priced("eia2.medium", 0.12),
        priced("eia2.medium", 0.01, purchase_option="spot"),
    ]
    row = measured("m5.large", attached_accelerator="eia2.medium", attached_accelerator_count=1)
    advice = answer(
        prices, row, accelerators=[{"accelerator_type": "eia2.medium"}], region="all", purchase="all"
    )
    assert only(advice.ranked)["price_usd_per_hour"] == pytest.approx(0.17)
    assert advice.rejected.empty
    elsewhere = answer(
        prices, row, accelerators=[{"accelerator_type": "eia2.medium"}], region="us-east-1", purchase="all"
    )
    assert only(elsewhere.rejected)["reason"] == (
        "no price of eia2.medium is known in us-east-1; it is priced in us-west-2"
    )


def spot(usd: float, **more: Any) -> dict[str, Any]:
    return priced(usd=usd, **{"purchase_option": "spot", "statistic": "last", "as_of": "2026-11-28", **more})


@pytest.mark.parametrize(
    ("rows", "usd", "statistic"),
    [
        ([spot(0.1, statistic="window_min"), spot(0.2, statistic="last"), spot(0.3, statistic="window_mean")], 0.3, "window_mean"),
        ([spot(0.1, zone="us-west-2a"), spot(0.2)], 0.2, "last"),
        ([spot(0.2, zone="us-west-2a"), spot(0.1, zone="us-west-2b")], 0.1, "last in us-west-2b"),
        ([spot(0.1, statistic="window_mean", as_of="2026-11-01"), spot(0.2)], 0.2, "last"),
    ],
)  # fmt: skip
def test_one_spot_figure_counts_the_fairest_and_freshest(
    rows: list[dict[str, Any]], usd: float, statistic: str
) -> None:
    advice = answer(rows, purchase="spot")
    row = only(advice.ranked)
    assert (row["price_usd_per_hour"], row["statistic"]) == (usd, statistic)
    assert "spot" in {note.code for note in advice.notes}


@pytest.mark.parametrize(("as_of", "ranked"), [("2026-11-22", True), ("2026-11-21", False)])
def test_a_spot_price_older_than_seven_days_is_shown_and_not_ranked(as_of: str, ranked: bool) -> None:
    advice = answer([spot(0.1, as_of=as_of)], purchase="spot")
    assert len(advice.ranked) == ranked
    if not ranked:
        row = only(advice.rejected)
        assert (row["failed"], row["price_usd_per_hour"]) == ("price", 0.1)
        assert "is older than 7 days on 2026-11-29: --stale-spot ranks it" in row["reason"]
        assert len(answer([spot(0.1, as_of=as_of)], purchase="spot", stale_spot=True).ranked) == 1


def test_a_stale_spot_price_changes_no_answer() -> None:
    prices = [
        priced("c5.large", 0.5),
        priced("m5.large", 0.9),
        spot(0.001, instance_type="m5.large", as_of="2026-01-01"),
    ]
    rows = (measured("c5.large", latency_p90_ms=11), measured("m5.large", latency_p90_ms=30))
    advice = answer(prices, *rows, purchase="all", latency_limit_ms=20)
    assert [switch.option for switch in advice.switches] == [None, "c5.large"]
    reasons = advice.rejected.set_index("purchase_option")["reason"]
    assert not reasons.str.contains("would be cheapest").any()


def test_the_users_own_price_counts_and_says_so() -> None:
    own = [priced(usd=0.18, purchase_option="custom")]
    advice = answer([priced(), spot(0.01)], own=own, purchase="all")
    row = only(advice.ranked)
    assert (row["price_usd_per_hour"], row["purchase_option"]) == (0.18, "custom")
    assert "your own price counts for c5.large" in {note.text for note in advice.notes}


def test_own_hardware_competes_in_every_region() -> None:
    own = [priced("local", 0.05, purchase_option="custom", region="our-rack")]
    advice = answer([priced()], measured(), measured("local", 12), own=own)
    assert advice.ranked["option"].tolist() == ["local", "c5.large"]
    assert advice.ranked["region"].tolist() == ["our-rack", "us-west-2"]
    assert (
        len(answer([priced()], own=[priced(usd=0.1, purchase_option="custom", region="us-east-1")]).ranked)
        == 1
    )


def test_a_closed_type_is_rejected_unless_asked_or_priced_by_the_user() -> None:
    closed = [
        {"instance_type": "p2.xlarge", "availability": "closed", "availability_as_of": "2026-10-27", **GPU}
    ]
    advice = answer([priced("p2.xlarge")], measured("p2.xlarge"), instances=closed)
    row = only(advice.rejected)
    assert row["failed"] == "availability"
    assert row["reason"] == "p2.xlarge is no longer sold (as of 2026-10-27): --include-retired ranks it"
    assert "1 option no longer sold left out: --include-retired ranks them" in {
        note.text for note in advice.notes
    }
    assert (
        len(
            answer(
                [priced("p2.xlarge")], measured("p2.xlarge"), instances=closed, include_retired=True
            ).ranked
        )
        == 1
    )
    assert len(answer([], measured("p2.xlarge"), instances=closed, own=[priced("p2.xlarge")]).ranked) == 1


@pytest.mark.parametrize(
    ("prices", "asked", "failed", "reason"),
    [
        ([], {}, "price", "no price of c5.large is known in any region: give one with --prices"),
        ([priced(region="us-east-1"), priced(region="eu-west-1")], {}, "availability",
         "not sold in us-west-2; sold in eu-west-1 and us-east-1"),
        ([priced()], {"purchase": "spot"}, "price", "no spot price in us-west-2; there it is priced on demand"),
        ([priced(usd=NAN)], {}, "price", "the price of c5.large is not known in us-west-2"),
        ([priced(usd=NAN, region="cn-north-1", currency="CNY")], {"region": "cn-north-1"}, "price",
         "c5.large is priced in CNY in cn-north-1: give a rate with --rate CNY=..."),
        ([priced(usd=NAN, purchase_option="capacity_block")], {"purchase": "all"}, "price",
         "c5.large is sold as a capacity block only: the price is set when it is reserved"),
        ([priced(usd=NAN, purchase_option="capacity_block")], {}, "price",
         "c5.large is sold as a capacity block only in us-west-2"),
    ],
)  # fmt: skip
def test_an_option_without_a_price_says_so_once(
    prices: list[dict[str, Any]], asked: dict[str, Any], failed: str, reason: str
) -> None:
    advice = answer(prices, instances=[{"instance_type": "c5.large"}], **asked)
    row = only(advice.rejected)
    assert (row["failed"], row["reason"]) == (failed, reason)
    assert pd.isna(row["price_usd_per_hour"])
    assert advice.recommended is None


def test_where_one_of_several_asked_regions_has_no_price_a_note_says_so() -> None:
    advice = answer([priced()], region=["us-west-2", "eu-west-1"])
    assert "no on demand price in eu-west-1: c5.large" in {note.text for note in advice.notes}


def test_sagemaker_types_have_the_hardware_of_the_ec2_size_and_their_own_price() -> None:
    instances = [{"instance_type": "g5.xlarge", **GPU}]
    rows = measured("ml.g5.xlarge"), measured("g5.xlarge")
    prices = [priced("g5.xlarge", 1.0)]
    size = {"model_size": "16GiB"}
    advice = answer(prices, *rows, instances=instances, **size, headroom=1)
    assert only(advice.ranked)["option"] == "g5.xlarge"
    row = only(advice.rejected)
    assert (row["option"], row["failed"], row["kind"], row["accelerator_memory_mib"]) == (
        "ml.g5.xlarge", "price", "gpu", 16384)  # fmt: skip
    both = answer([*prices, priced("ml.g5.xlarge", 1.4)], *rows, instances=instances).ranked
    assert both["price_usd_per_hour"].tolist() == [1.0, 1.4]


def test_a_mean_that_nobody_reported_gives_no_cost() -> None:
    row = {"instance_type": "c5.large", "latency_p90_ms": 5}
    advice = answer([priced()], row, latency_limit_ms=9)
    assert only(advice.rejected)["reason"] == "cost unknown: no mean latency was reported"
    served = answer([priced()], {**row, "throughput_per_s": 10}, latency_limit_ms=9, objective="served-cost")
    assert served.recommended is not None
    assert served.recommended.cost_usd_per_100k_served == pytest.approx(1.0)
    assert "for $1.00 per 100,000 inferences" in served.headline


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"region": "us-wset-2"}, r"no region us-wset-2 \(did you mean us-west-2\?\)"),
        ({"purchase": "on-demand"}, r"no purchase option on-demand \(did you mean on_demand\?\)"),
    ],
)
def test_a_region_or_purchase_option_that_does_not_exist_is_refused(
    asked: dict[str, str], message: str
) -> None:
    with pytest.raises(QuestionError, match=message):
        answer([priced()], **asked)


def test_a_ceiling_on_the_price_rejects_what_is_over_it_and_not_what_is_at_it() -> None:
    prices = [priced("c5.large", 0.36), priced("m5.large", 0.37)]
    advice = answer(prices, measured("c5.large"), measured("m5.large"), max_usd_per_hour=0.36)
    assert only(advice.ranked)["option"] == "c5.large"
    row = only(advice.rejected)
    assert (row["failed"], row["value"], row["limit"], row["unit"]) == ("filter", 0.37, 0.36, "USD/h")
    assert row["winning_price_usd_per_hour"] == pytest.approx(0.36)
