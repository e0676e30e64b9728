"""Which unit of a price list is meant, what its terms cost, and why others are refused."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.errors import PricesError
from advisor.prices.sources.ask import Answer, Ask, PriceRow, price_frame, product_of, scopes
from advisor.prices.sources.bulk import read_csv, read_json
from advisor.prices.sources.price_list import price_list, read_items
from advisor.prices.sources.skus import EC2
from tests.aws_answers import (
    CASES,
    PUBLISHED,
    SAMPLES,
    TWELVE_TERMS,
    case,
    item,
    offer_csv,
    offer_json,
    other_units,
)

NAN = float("nan")
NAMES = {"US West (Oregon)": "us-west-2", "US East (N. Virginia)": "us-east-1"}


def answer(*names: str, ask: Ask | None = None) -> Answer:
    """Read committed answers of GetProducts."""
    texts = [text for name in names for text in case(f"GetProducts/{name}")["PriceList"]]
    return read_items([(f"item {i}", text) for i, text in enumerate(texts)], ask or Ask(region_names=NAMES))


def by_option(found: Answer) -> dict[Any, Any]:
    """Prices in US dollars by purchase option, of an answer about one type in one region."""
    return found.prices.set_index("purchase_option")["price_usd_per_hour"].to_dict()


def test_of_all_units_of_m5_large_the_linux_shared_on_demand_one_is_the_price() -> None:
    found = answer("m5.large")
    assert by_option(found)["on_demand"] == 0.096
    row = found.prices[found.prices["purchase_option"] == "on_demand"].iloc[0]
    assert (row["region"], row["statistic"], row["currency"]) == ("us-west-2", "list", "USD")
    assert row["as_of"] == PUBLISHED[:10]


def test_the_twelve_reserved_terms_cost_hourly_plus_upfront_over_the_hours_of_the_term() -> None:
    prices = by_option(answer("m5.large"))
    upfronts = answer("m5.large").prices.set_index("purchase_option")["upfront_usd"]
    months = answer("m5.large").prices.set_index("purchase_option")["months"]
    assert len(prices) == 13
    for lease, offering, payment, hourly, upfront in TWELVE_TERMS:
        hours = {"1yr": 365 * 24, "3yr": 3 * 365 * 24}[lease]
        convertible = "convertible_" if offering == "convertible" else ""
        option = f"reserved_{lease}_{convertible}{payment.lower().replace(' ', '_')}"
        once = float(upfront or 0)
        assert prices[option] == pytest.approx(float(hourly) + once / hours, rel=1e-12)
        assert upfronts[option] == once
        assert months[option] == {"1yr": 12, "3yr": 36}[lease]


@pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the recorded answers of AWS (../shared) are not beside this checkout"
)
def test_a_recorded_product_of_2021_gives_its_published_prices() -> None:
    recorded = json.loads((SAMPLES / "GetProducts_m5.large.json").read_text())
    prices = by_option(read_items([("item 1", recorded)], Ask(region_names=NAMES)))
    assert prices["on_demand"] == 0.096
    assert len(prices) == 13
    for term in recorded["terms"]["Reserved"].values():
        said = term["termAttributes"]
        years = int(said["LeaseContractLength"][0])
        units = {d["unit"]: float(d["pricePerUnit"]["USD"]) for d in term["priceDimensions"].values()}
        convertible = "convertible_" if said["OfferingClass"] == "convertible" else ""
        payment = {"No Upfront": "no", "Partial Upfront": "partial", "All Upfront": "all"}[
            said["PurchaseOption"]
        ]
        expected = units["Hrs"] + units.get("Quantity", 0) / (365 * 24 * years)
        assert prices[f"reserved_{years}yr_{convertible}{payment}_upfront"] == pytest.approx(
            expected, rel=1e-12
        )


def test_a_type_of_which_two_units_remain_is_refused_and_the_others_are_not() -> None:
    found = answer("two_skus_remain")
    assert list(found.prices["instance_type"]) == ["c5.large"]
    (refusal,) = found.refused
    assert (refusal.instance_type, refusal.region) == ("m5.large", "us-west-2")
    assert refusal.reason == "2 SKUs remain (ONE, TWO)"


def test_a_capacity_block_at_zero_dollars_is_no_price_and_the_type_stays_visible() -> None:
    found = answer("capacity_block_only")
    (row,) = found.prices.to_dict("records")
    assert (row["instance_type"], row["purchase_option"]) == ("p5e.48xlarge", "capacity_block")
    assert pd.isna(row["price_usd_per_hour"])
    assert row["note"].startswith("capacity block only")
    assert found.refused == ()


def test_an_on_demand_price_of_zero_is_refused() -> None:
    found = answer("on_demand_at_zero")
    assert found.prices.empty
    assert found.refused[0].reason == "on_demand: the price is 0 or missing (SKU ZERO)"


def test_yuan_are_kept_apart_from_dollars() -> None:
    rows = answer("china").prices.set_index("purchase_option")
    assert set(rows["currency"]) == {"CNY"}
    assert rows["price_usd_per_hour"].isna().all()
    assert rows["upfront_usd"].isna().all()
    assert rows.loc["on_demand", "price_local_per_hour"] == 0.769
    assert rows.loc["reserved_1yr_all_upfront", "price_local_per_hour"] == pytest.approx(3924 / 8760)
    assert rows.loc["reserved_1yr_all_upfront", "note"] == "upfront 3924 CNY"


def test_one_unit_priced_in_two_currencies_gives_a_row_of_each() -> None:
    both = item("BOTH")
    (dimension,) = next(iter(both["terms"]["OnDemand"].values()))["priceDimensions"].values()
    dimension["pricePerUnit"] = {"USD": "0.1", "EUR": "0.09"}
    rows = read_items([("item", both)], Ask()).prices
    assert dict(zip(rows["currency"], rows["price_usd_per_hour"], strict=True)) == pytest.approx({"EUR": NAN, "USD": 0.1}, nan_ok=True)  # fmt: skip
    assert rows["price_local_per_hour"].tolist() == pytest.approx([0.09, NAN], nan_ok=True)


def test_a_local_zone_has_its_own_price() -> None:
    rows = answer("local_zone").prices
    assert dict(zip(rows["region"], rows["price_usd_per_hour"], strict=True)) == {
        "us-west-2": 0.34,
        "us-west-2-lax-1": 0.408,
    }


def test_bare_metal_has_the_shared_price_and_not_the_surcharged_one() -> None:
    assert by_option(answer("bare_metal")) == {"on_demand": 2.176}


def test_an_unknown_attribute_changes_nothing() -> None:
    assert by_option(answer("unknown_attribute")) == {"on_demand": 0.096}


def test_a_product_of_before_2022_is_placed_by_its_location_name() -> None:
    found = answer("year_2021")
    assert found.prices["region"].tolist() == ["us-west-2"]


def test_a_product_whose_location_has_no_known_code_is_an_error_and_not_a_guess() -> None:
    with pytest.raises(PricesError, match="no region is called 'US West"):
        answer("year_2021", ask=Ask())


def test_an_item_that_is_not_json_fails_with_its_place() -> None:
    with pytest.raises(PricesError, match="item 1 is not JSON"):
        answer("malformed_item")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tenancy": "Dedicated"}, "sold on dedicated hardware only"),
        ({"operatingSystem": "Windows"}, "no Linux price"),
        ({"preInstalledSw": "SQL Std"}, "sold with software only"),
        ({"licenseModel": "Bring your own license"}, "sold with a licence only"),
        ({"capacitystatus": "UnusedCapacityReservation"}, "listed for capacity reservations only"),
        ({"operation": "RunInstances:0010"}, "no plain RunInstances price"),
        ({"marketoption": "Spot"}, "not sold on demand"),
    ],
)
def test_each_condition_alone_refuses_with_its_reason(change: dict[str, Any], reason: str) -> None:
    found = read_items([("item", item("ONLY", **change))], Ask())
    assert found.prices.empty
    assert [refusal.reason for refusal in found.refused] == [reason]


def test_the_reason_is_that_of_the_unit_that_came_closest() -> None:
    units = [
        item("A", tenancy="Host"),
        item("B", licenseModel="Bring your own license"),
        item("C", operatingSystem="RHEL"),
    ]
    found = read_items([("item", unit) for unit in units], Ask())
    assert [refusal.reason for refusal in found.refused] == ["sold with a licence only"]


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        (("1yr", "standard", "All Upfront", "0.0", None), "reserved_1yr_all_upfront: the upfront fee is missing"),
        (("1yr", "standard", "No Upfront", "0.0", None), "reserved_1yr_no_upfront: the price is 0 or missing"),
        (("5 decades", "standard", "No Upfront", "0.1", None), "reserved_5 decadesyr_no_upfront: a term of unknown length"),
        (("1yr", "standard", "No Upfront", "ten", None), "reserved_1yr_no_upfront: a price is not a number"),
    ],
)  # fmt: skip
def test_a_term_that_cannot_be_priced_is_refused_and_the_on_demand_price_stays(
    term: Any, reason: str
) -> None:
    found = read_items([("item", item("ONE", reserved=[term]))], Ask())
    assert by_option(found) == {"on_demand": 0.096}
    assert [refusal.reason for refusal in found.refused] == [f"{reason} (SKU ONE)"]


def test_a_unit_without_on_demand_terms_says_so() -> None:
    found = read_items([("item", item("ONE", on_demand=None, reserved=TWELVE_TERMS[:1]))], Ask())
    assert by_option(found) == {"reserved_1yr_no_upfront": 0.06}
    assert [refusal.reason for refusal in found.refused] == ["SKU ONE has no on-demand price"]


def test_only_asked_regions_are_answered() -> None:
    assert answer("local_zone", ask=Ask(("us-west-2-lax-1",))).prices["region"].tolist() == [
        "us-west-2-lax-1"
    ]


def test_saved_answers_are_laid_over_and_never_empty_a_region(tmp_path: Path) -> None:
    assert answer("m5.large").replaces == frozenset()
    (tmp_path / "GetProducts").mkdir()
    (tmp_path / "GetProducts" / "one.json").write_bytes(
        (CASES / "GetProducts" / "m5.large.json").read_bytes()
    )
    (part,) = price_list(Ask(saved=tmp_path))
    assert len(part.fetch().prices) == 13


def test_a_folder_without_saved_answers_is_an_error_that_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(PricesError, match=r"nothing saved from GetProducts \(expected GetProducts/\*\.json"):
        price_list(Ask(saved=tmp_path))


amounts = st.integers(1, 10**7).map(lambda n: f"{n / 10_000:.10f}")
regions = st.sampled_from(["us-west-2", "eu-central-1", "us-west-2-lax-1"])
types = st.sampled_from(["m5.large", "c7g.metal", "inf2.xlarge", "u7i-12tb.224xlarge"])


@settings(deadline=None, max_examples=15)
@given(
    st.dictionaries(
        st.tuples(types, regions), st.tuples(amounts, st.sets(st.sampled_from(TWELVE_TERMS))), max_size=6
    ),
    st.randoms(use_true_random=False),
)
def test_the_api_the_csv_and_the_json_file_give_the_same_rows_in_any_order(
    priced: dict[tuple[str, str], tuple[str, set[Any]]], order: Any
) -> None:
    units = [
        item(f"SKU{number}", *key, on_demand, sorted(terms, key=str))
        for number, (key, (on_demand, terms)) in enumerate(priced.items())
    ]
    for key in priced:
        units += [replace_sku(unit, "-".join(key)) for unit in other_units(*key)]
    order.shuffle(units)
    from_csv = read_csv(io.BytesIO(offer_csv(units)), "file", Ask(), EC2)
    from_json = read_json(io.BytesIO(offer_json(units)), "file", Ask(), EC2)
    from_api = read_items([("item", json.dumps(unit)) for unit in units], Ask())
    pd.testing.assert_frame_equal(from_csv.prices, from_json.prices)
    pd.testing.assert_frame_equal(
        from_csv.prices.drop(columns="source"), from_api.prices.drop(columns="source")
    )
    assert from_csv.refused == from_json.refused == from_api.refused == ()
    on_demand = from_csv.prices[from_csv.prices["purchase_option"] == "on_demand"]
    assert {
        (row["instance_type"], row["region"]): row["price_usd_per_hour"]
        for row in on_demand.to_dict("records")
    } == {key: float(amount) for key, (amount, _) in priced.items()}


def replace_sku(unit: dict[str, Any], suffix: str) -> dict[str, Any]:
    """Give a unit a SKU of its own."""
    return unit | {"product": unit["product"] | {"sku": f"{unit['product']['sku']}-{suffix}"}}


def test_a_scope_is_region_product_and_group() -> None:
    rows = [
        PriceRow("m5.large", "us-west-2", "on_demand"),
        PriceRow("m5.large", "us-west-2", "reserved_3yr_no_upfront"),
        PriceRow("p5e.48xlarge", "us-west-2", "capacity_block"),
        PriceRow("ml.m5.large", "us-west-2", "on_demand"),
        PriceRow("eia2.medium", "us-west-2", "on_demand"),
        PriceRow("m5.large", "eu-west-1", "ec2_instance_savings_plan_1yr_no_upfront"),
        PriceRow("m5.large", "eu-west-1", "spot"),
        PriceRow("m5.large", "eu-west-1", "custom"),
    ]
    assert scopes(price_frame(rows, "test")).tolist() == [
        "us-west-2|ec2|list",
        "us-west-2|ec2|list",
        "us-west-2|ec2|list",
        "us-west-2|sagemaker|list",
        "us-west-2|attached|list",
        "eu-west-1|ec2|savings_plan",
        "eu-west-1|ec2|spot",
        "eu-west-1|ec2|custom",
    ]
    assert product_of("ml.eia2.medium") == "sagemaker"


def test_the_conditions_are_a_rule_that_reads_its_own_attributes() -> None:
    fewer = replace(EC2, conditions=EC2.conditions[:1])
    assert fewer.attributes == ("productFamily",)
    assert fewer.judge(("Compute Instance",)) > 0
    assert fewer.judge(("Dedicated Host",)) == 0
