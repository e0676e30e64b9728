"""Savings plan rates and spot history: what is kept of them, and what their figures mean."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import PricesError
from advisor.prices.sources.ask import Ask, Scope
from advisor.prices.sources.savings_plans import read_csv, savings_plans, savings_plans_api
from advisor.prices.sources.spot import INTERRUPTIBLE, read_history, region_of, spot, statistics
from tests.aws_answers import CASES, PUBLISHED, SAMPLES, case, files, savings_csv, serving

ROOT = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"


def saved(tmp_path: Path, api: str, *names: str) -> Path:
    """Copy committed answers to where a person would save them."""
    (tmp_path / api).mkdir()
    for name in names:
        (tmp_path / api / f"{name}.json").write_bytes((CASES / api / f"{name}.json").read_bytes())
    return tmp_path


def rates(data: bytes) -> dict[str, float]:
    prices = read_csv(io.BytesIO(data), "file", Ask()).prices
    return {
        f"{r['instance_type']} {r['purchase_option']}": r["price_usd_per_hour"]
        for r in prices.to_dict("records")
    }


def test_only_hourly_linux_rates_of_shared_instances_in_use_are_kept() -> None:
    plain = {"DiscountedRate": "0.0700"}
    assert rates(
        savings_csv([
            plain,
            plain | {"DiscountedUsageType": "USW2-UnusedBox:m5.large", "DiscountedRate": "0.01"},
            plain | {"DiscountedUsageType": "USW2-DedicatedUsage:m5.large", "DiscountedRate": "0.02"},
            plain | {"DiscountedUsageType": "USW2-HostUsage:m5", "DiscountedRate": "0.03"},
            plain | {"DiscountedOperation": "RunInstances:0002", "DiscountedRate": "0.04"},
            plain | {"Unit": "Lambda-GB-Second", "DiscountedRate": "0.05"},
            plain | {"DiscountedUsageType": "BoxUsage:c5.large", "DiscountedRate": "0.06"},
        ])
    ) == {"m5.large compute_savings_plan_1yr_no_upfront": 0.07, "c5.large compute_savings_plan_1yr_no_upfront": 0.06}  # fmt: skip


def test_a_rate_is_the_whole_price_and_the_upfront_part_is_inside_it() -> None:
    data = savings_csv([
        {"DiscountedRate": "0.05", "PurchaseOption": payment, "LeaseContractLength": "3", "Product Family": "EC2InstanceSavingsPlans"}
        for payment in ("No Upfront", "Partial Upfront", "All Upfront")
    ])  # fmt: skip
    rows = read_csv(io.BytesIO(data), "file", Ask()).prices.set_index("purchase_option")
    assert set(rows["price_usd_per_hour"]) == {0.05}
    assert set(rows["months"]) == {36}
    total = 0.05 * 24 * 365 * 3
    assert rows["upfront_usd"].to_dict() == pytest.approx({
        "ec2_instance_savings_plan_3yr_no_upfront": 0.0,
        "ec2_instance_savings_plan_3yr_partial_upfront": total / 2,
        "ec2_instance_savings_plan_3yr_all_upfront": total,
    })  # fmt: skip


def test_two_rates_of_one_plan_are_refused_and_equal_ones_are_one() -> None:
    found = read_csv(
        io.BytesIO(savings_csv([{"DiscountedRate": "0.07"}, {"DiscountedRate": "0.08"}])), "file", Ask()
    )
    assert found.prices.empty
    assert found.refused[0].reason == "compute_savings_plan_1yr_no_upfront: 2 rates remain"
    assert len(rates(savings_csv([{"DiscountedRate": "0.07"}] * 2))) == 1


def test_a_rate_of_zero_or_of_an_unknown_term_is_refused() -> None:
    data = savings_csv([{"DiscountedRate": "0.0"}, {"DiscountedRate": "0.1", "LeaseContractLength": "7"}])
    found = read_csv(io.BytesIO(data), "file", Ask())
    assert [r.reason for r in found.refused] == [
        "a savings plan of unknown term or payment (7 years, No Upfront)",
        "compute_savings_plan_1yr_no_upfront: no rate above 0",
    ]


def test_savings_plan_files_are_found_by_their_index() -> None:
    index = b'{"publicationDate": "x", "regions": [{"regionCode": "us-west-2", "versionUrl": "%s/1/us-west-2/index.json"}]}' % ROOT.encode()  # fmt: skip
    site = {f"{ROOT}/current/region_index.json": index, f"{ROOT}/1/us-west-2/index.csv": savings_csv([{"DiscountedRate": "0.07"}])}  # fmt: skip
    with serving(files(site)) as base:
        (part,) = savings_plans(Ask(base_url=base))
        found = part.fetch()
    assert part.name == "us-west-2"
    assert found.replaces == {Scope("us-west-2", "ec2", "savings_plan")}
    assert set(found.prices["as_of"]) == {PUBLISHED[:10]}


def test_a_savings_plan_file_that_is_cut_off_is_an_error() -> None:
    data = savings_csv([{"DiscountedRate": "0.07"}])
    cut = data[: data.rindex(b"RunInstances")]
    with pytest.raises(PricesError, match="line 7: 10 columns of 24: the file is cut off"):
        read_csv(io.BytesIO(cut), "file", Ask())


def test_answers_of_the_savings_plan_api_give_the_same_kind_of_rows(tmp_path: Path) -> None:
    folder = saved(tmp_path, "DescribeSavingsPlansOfferingRates", "page_1", "page_2")
    prices = [part.fetch().prices for part in savings_plans_api(Ask(saved=folder))]
    assert {(r["instance_type"], r["purchase_option"]): r["price_usd_per_hour"] for p in prices for r in p.to_dict("records")} == {
        ("m5.large", "compute_savings_plan_1yr_no_upfront"): 0.07,
        ("m5.large", "compute_savings_plan_1yr_partial_upfront"): 0.068,
        ("m5.large", "ec2_instance_savings_plan_3yr_all_upfront"): 0.036,
        ("c5.large", "compute_savings_plan_1yr_no_upfront"): 0.061,
    }  # fmt: skip


def test_a_savings_plan_in_yuan_is_kept_in_yuan(tmp_path: Path) -> None:
    (part,) = savings_plans_api(Ask(saved=saved(tmp_path, "DescribeSavingsPlansOfferingRates", "china")))
    (row,) = part.fetch().prices.to_dict("records")
    assert (row["currency"], row["price_local_per_hour"], row["note"]) == ("CNY", 0.5, "upfront 4380 CNY")


@pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the recorded answers of AWS (../shared) are not beside this checkout"
)
def test_the_recorded_savings_plan_sample_keeps_its_linux_boxes() -> None:
    data = (SAMPLES / "bulk_savingsplan_ap-east-2_20250911_sample.csv").read_bytes()
    assert rates(data) == {
        "r7g.12xlarge ec2_instance_savings_plan_3yr_partial_upfront": 1.1721,
        "r7g.2xlarge ec2_instance_savings_plan_3yr_partial_upfront": 0.1954,
    }


def figures(name: str, **ask: Any) -> dict[tuple[str, str], float]:
    rows = read_history(
        case(f"DescribeSpotPriceHistory/{name}")["SpotPriceHistory"], "answer", Ask(**ask)
    ).prices
    return {(r["zone"], r["statistic"]): r["price_usd_per_hour"] for r in rows.to_dict("records")}


def test_mean_least_and_last_of_a_spot_window_are_three_figures() -> None:
    # The window is 2026-11-13 to 2026-11-20: 2 days at 0.06 (set before it), 4 at 0.03, 1 at 0.04.
    found = figures("two_zones")
    assert found[("us-west-2a", "window_mean")] == pytest.approx((2 * 0.06 + 4 * 0.03 + 1 * 0.04) / 7)
    assert found[("us-west-2a", "window_min")] == 0.03
    assert found[("us-west-2a", "last")] == 0.04


def test_a_shorter_window_forgets_what_was_before() -> None:
    assert figures("two_zones", window_days=1)[("us-west-2a", "window_min")] == 0.04


def test_a_zone_with_one_change_at_the_end_of_the_window_has_that_price() -> None:
    assert {v for (zone, _), v in figures("two_zones").items() if zone == "us-west-2b"} == {0.05}


def test_a_local_zone_is_a_region_of_its_own_and_windows_is_left_out() -> None:
    rows = read_history(
        case("DescribeSpotPriceHistory/two_zones")["SpotPriceHistory"], "answer", Ask()
    ).prices
    assert set(rows.loc[rows["zone"] == "us-west-2-lax-1a", "region"]) == {"us-west-2-lax-1"}
    assert rows["price_usd_per_hour"].max() < 0.09
    assert rows["note"].str.startswith(INTERRUPTIBLE).all()
    assert set(rows.loc[rows["region"] == "us-west-2", "as_of"]) == {"2026-11-20"}


def test_the_two_linux_products_are_not_mixed_and_zero_is_no_price() -> None:
    found = read_history(case("DescribeSpotPriceHistory/both_products")["SpotPriceHistory"], "answer", Ask())
    assert set(found.prices["price_usd_per_hour"]) == {0.04}
    assert [r.reason for r in found.refused] == ["a spot price of 0 in us-west-2b"]


def test_a_spot_entry_without_a_price_is_an_error() -> None:
    with pytest.raises(PricesError, match="not of the documented shape"):
        read_history([{"ProductDescription": "Linux/UNIX", "InstanceType": "m5.large"}], "answer", Ask())


def test_a_zone_of_no_known_shape_is_refused_by_name() -> None:
    entry = {"ProductDescription": "Linux/UNIX", "InstanceType": "m5.large", "AvailabilityZone": "us-east-1-wl1-bos-wlz-1", "Timestamp": "2026-11-20T00:00:00Z", "SpotPrice": "0.1"}  # fmt: skip
    found = read_history([entry], "answer", Ask())
    assert found.prices.empty
    assert "us-east-1-wl1-bos-wlz-1" in found.refused[0].reason


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-west-2a", "us-west-2"),
        ("us-gov-east-1c", "us-gov-east-1"),
        ("us-west-2-lax-1a", "us-west-2-lax-1"),
        ("us-east-1-wl1-bos-wlz-1", None),
        ("use1-az1", None),
        ("", None),
    ],
)
def test_the_region_of_a_zone(zone: str, region: str | None) -> None:
    assert region_of(zone) == region


@pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the recorded answers of AWS (../shared) are not beside this checkout"
)
def test_the_recorded_spot_history_gives_each_zone_its_last_price(tmp_path: Path) -> None:
    import json

    (tmp_path / "DescribeSpotPriceHistory_m5.json").write_bytes(
        (SAMPLES / "DescribeSpotPriceHistory_m5.large.json").read_bytes()
    )
    (part,) = spot(Ask(saved=tmp_path))
    rows = part.fetch().prices
    recorded = json.loads((SAMPLES / "DescribeSpotPriceHistory_m5.large.json").read_text())[
        "SpotPriceHistory"
    ]
    for zone in {entry["AvailabilityZone"] for entry in recorded}:
        newest = max((e for e in recorded if e["AvailabilityZone"] == zone), key=lambda e: e["Timestamp"])
        row = rows[(rows["zone"] == zone) & (rows["statistic"] == "last")]
        assert row["price_usd_per_hour"].tolist() == [float(newest["SpotPrice"])]


hours = st.lists(st.integers(0, 400), min_size=1, max_size=12, unique=True).map(sorted)


@given(hours, st.data())
def test_the_mean_of_a_spot_window_is_that_of_its_hours(times: list[int], data: st.DataObject) -> None:
    prices = data.draw(st.lists(st.integers(1, 1000), min_size=len(times), max_size=len(times)))
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    end = times[-1] + data.draw(st.integers(1, 50))
    start = end - data.draw(st.integers(1, 300))
    series = [(begin + timedelta(hours=h), float(p)) for h, p in zip(times, prices, strict=True)]
    found = statistics(series, begin + timedelta(hours=start), begin + timedelta(hours=end))
    in_force = [
        prices[max(i for i, t in enumerate(times) if t <= hour)] for hour in range(max(start, times[0]), end)
    ]
    assert found["window_mean"] == pytest.approx(sum(in_force) / len(in_force))
    assert found["window_min"] == min(in_force)
    assert found["last"] == prices[-1]
