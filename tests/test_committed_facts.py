"""The committed snapshot and tables, against figures from outside this repository, and the rules that guard them."""

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from advisor import formats, prices
from advisor.prices import integrity
from advisor.tables import Catalogue

ROOT = Path(__file__).parents[1]
FACTS = ROOT.parent / "shared" / "facts"
DATA = Path(__file__).parent / "data"

needs_facts = pytest.mark.skipif(
    not FACTS.is_dir(), reason="the folder of raw facts (../shared/facts) is not beside this checkout"
)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return prices.packaged()


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return formats.packaged().rows


def price(catalogue: Catalogue, name: str, region: str, option: str = "on_demand") -> float:
    table = catalogue.prices
    row = table[
        (table["instance_type"] == name) & (table["region"] == region) & (table["purchase_option"] == option)
    ]
    assert len(row) == 1
    return float(row["price_usd_per_hour"].iloc[0])


def hardware(catalogue: Catalogue, name: str) -> dict[Any, Any]:
    return catalogue.instances.set_index("instance_type").loc[name].to_dict()


@pytest.mark.parametrize(
    ("name", "region", "usd"),
    [  # list prices as AWS's own price pages and blog posts showed them
        ("inf2.xlarge", "us-west-2", 0.7582),
        ("inf1.2xlarge", "us-west-2", 0.362),
        ("g5.2xlarge", "us-west-2", 1.212),
        ("c6i.2xlarge", "us-west-2", 0.34),
        ("m5.large", "us-west-2", 0.096),
        ("c5.4xlarge", "us-west-2", 0.68),
        ("p2.xlarge", "us-west-2", 0.9),
        ("p3.2xlarge", "us-west-2", 3.06),
        ("trn1.32xlarge", "us-east-1", 21.5),
        ("c5.2xlarge", "us-west-2-lax-1", 0.408),
        ("p5.48xlarge", "us-east-1", 55.04),
        ("r7g.16xlarge", "us-gov-west-1", 4.1075),
        ("c6g.metal", "us-west-2", 2.176),
        ("eia1.large", "us-west-2", 0.26),
        ("eia2.xlarge", "us-west-2", 0.34),
    ],
)
def test_a_list_price_is_the_one_that_aws_publishes(
    catalogue: Catalogue, name: str, region: str, usd: float
) -> None:
    assert price(catalogue, name, region) == usd


def test_about_18000_on_demand_prices_cover_36_regions_and_their_local_zones(catalogue: Catalogue) -> None:
    on_demand = catalogue.prices[catalogue.prices["purchase_option"] == "on_demand"]
    assert 17_900 <= len(on_demand) <= 18_100
    kinds = catalogue.locations.set_index("region")["location_type"]
    priced = pd.Series(sorted(set(on_demand["region"]))).map(kinds)
    assert priced.notna().all()
    assert (priced == "region").sum() == 36
    assert (priced == "local_zone").sum() > 30


def test_every_fact_has_a_date_and_a_source_that_is_explained(catalogue: Catalogue) -> None:
    explained = set(catalogue.sources["source"])
    assert (catalogue.sources["description"].str.len() > 10).all()
    assert catalogue.prices["as_of"].str.fullmatch(r"20\d\d-\d\d-\d\d").all()
    for frame in (catalogue.prices, catalogue.instances, catalogue.accelerators):
        assert set(frame["source"]) - {""} <= explained
    for frame in (catalogue.instances, catalogue.accelerators):
        assert set(frame["availability_source"]) <= explained
        assert frame["availability_as_of"].str.fullmatch(r"20\d\d-\d\d-\d\d").all()


@pytest.mark.parametrize("family", ["p2", "p3", "g2", "g3", "g3s", "g4ad", "f1", "dl1", "cc2", "cr1", "hs1"])
def test_a_family_that_the_newest_list_no_longer_has_is_closed(catalogue: Catalogue, family: str) -> None:
    rows = catalogue.instances[catalogue.instances["instance_type"].str.startswith(f"{family}.")]
    assert len(rows) > 0
    assert set(rows["availability"]) == {"closed"}


@pytest.mark.parametrize(
    "name", ["p3dn.24xlarge", "inf1.xlarge", "inf2.xlarge", "g4dn.xlarge", "a1.2xlarge", "t2.medium"]
)
def test_a_type_that_the_newest_list_has_is_sold(catalogue: Catalogue, name: str) -> None:
    assert hardware(catalogue, name)["availability"] == "sold"


def test_elastic_inference_is_closed_and_its_eia2_prices_say_that_no_region_is_stated(
    catalogue: Catalogue,
) -> None:
    assert set(catalogue.accelerators["availability"]) == {"closed"}
    rows = catalogue.prices[catalogue.prices["instance_type"].str.startswith("eia")].set_index(
        "instance_type"
    )
    assert set(rows["region"]) == {"us-west-2"}
    assert rows.loc["eia2.medium", "note"] == "the source states no region"
    assert rows.loc["eia1.medium", "note"] == ""


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [  # AWS's instance type pages
        ("m5.large", "memory_mib", 8 * 1024),
        ("m5.large", "vcpu_count", 2),
        ("g5.2xlarge", "accelerator_count", 1),
        ("inf1.6xlarge", "accelerator_count", 4),
        ("inf2.xlarge", "accelerator_memory_mib", 32 * 1024),
        ("trn2.48xlarge", "accelerator_memory_mib", 96 * 1024),
        ("p5.48xlarge", "accelerator_count", 8),
        ("g6f.large", "accelerator_count", 0.125),
        ("g6f.large", "accelerator_memory_mib", 2861),
        ("m7g.2xlarge", "cpu_arch", "arm64"),
        ("trn2u.48xlarge", "accelerator_kind", ""),
    ],
)
def test_a_hardware_fact_is_the_one_that_aws_publishes(
    catalogue: Catalogue, name: str, column: str, value: object
) -> None:
    assert hardware(catalogue, name)[column] == value


def test_a_type_that_is_only_priced_is_listed_with_unknown_hardware(catalogue: Catalogue) -> None:
    facts = hardware(catalogue, "c6gn.metal")
    assert pd.isna(facts["vcpu_count"])
    assert pd.isna(facts["memory_mib"])
    assert facts["accelerator_kind"] == ""
    assert facts["availability"] == "closed"


def test_an_all_upfront_reservation_is_its_payment_over_8760_hours(catalogue: Catalogue) -> None:
    rows = catalogue.prices[catalogue.prices["purchase_option"] == "reserved_1yr_all_upfront"]
    assert len(rows) == 638
    assert set(rows["months"]) == {12}
    # the source rounds to a millionth of a dollar an hour, so half of that is the most it can be off
    assert ((rows["upfront_usd"] / 8760 - rows["price_usd_per_hour"]).abs() <= 0.5e-6 + 1e-12).all()


def test_spot_figures_name_their_statistic(catalogue: Catalogue) -> None:
    spot = catalogue.prices[catalogue.prices["purchase_option"] == "spot"]
    assert set(spot["statistic"]) == {"window_mean", "region_value", "website_value", "zone_minimum"}


def test_the_committed_snapshot_keeps_every_rule(catalogue: Catalogue) -> None:
    assert integrity.check(catalogue) == []


@pytest.fixture(scope="module")
def few(catalogue: Catalogue) -> Catalogue:
    """The families that the rules are tried on."""
    family = r"^(?:m5|g5|g6|g6f|p4d|p5|r7g)\."
    return replace(
        catalogue,
        instances=catalogue.instances[catalogue.instances["instance_type"].str.match(family)],
        prices=catalogue.prices[catalogue.prices["instance_type"].str.match(family)],
    )


def test_the_families_that_the_rules_are_tried_on_keep_them(few: Catalogue) -> None:
    assert len(few.prices) > 1000
    assert integrity.check(few) == []


def with_price(catalogue: Catalogue, name: str, region: str, column: str, value: float) -> Catalogue:
    table = catalogue.prices
    at = (
        (table["instance_type"] == name)
        & (table["region"] == region)
        & (table["purchase_option"] == "on_demand")
    )
    assert at.sum() == 1
    changed = table.copy()
    changed.loc[at, column] = value
    return replace(catalogue, prices=changed)


def with_fact(catalogue: Catalogue, name: str, **facts: float) -> Catalogue:
    changed = catalogue.instances.copy()
    for column, value in facts.items():
        changed.loc[changed["instance_type"] == name, column] = value
    return replace(catalogue, instances=changed)


@pytest.mark.parametrize("usd", [0.0, -1.0])
def test_a_price_that_is_not_above_0_is_a_problem(few: Catalogue, usd: float) -> None:
    broken = with_price(few, "m5.large", "us-west-2", "price_usd_per_hour", usd)
    assert "m5.large us-west-2 on_demand: the price is not above 0" in integrity.check(broken)


def test_an_unknown_price_is_no_problem(few: Catalogue) -> None:
    assert integrity.check(with_price(few, "m5.large", "us-west-2", "price_usd_per_hour", float("nan"))) == []


def test_a_key_that_is_there_twice_is_a_problem(few: Catalogue) -> None:
    row = few.prices[few.prices["instance_type"] == "p5.4xlarge"].head(1)
    doubled = pd.concat([few.prices, row], ignore_index=True)
    problems = integrity.check(replace(few, prices=doubled))
    assert len(problems) == 1
    assert problems[0].startswith("p5.4xlarge ")
    assert problems[0].endswith(": priced twice")


def test_a_type_that_is_there_twice_is_a_problem(few: Catalogue) -> None:
    doubled = pd.concat([few.accelerators, few.accelerators.head(1)], ignore_index=True)
    assert integrity.check(replace(few, accelerators=doubled)) == [
        "eia1.large: there twice in the table keyed by accelerator_type"
    ]


def test_a_priced_type_without_a_hardware_row_is_a_problem(few: Catalogue) -> None:
    facts = few.instances[few.instances["instance_type"] != "m5.large"]
    problems = integrity.check(replace(few, instances=facts))
    assert problems == ["m5.large: priced, but without a row of hardware facts"]


@pytest.mark.parametrize(
    ("name", "facts", "said"),
    [
        ("m5.large", {"accelerator_count": 1.0}, "has no accelerator, and a count or memory of one"),
        ("g5.xlarge", {"accelerator_count": float("nan")}, "has an accelerator without a count or memory"),
        (
            "g5.xlarge",
            {"accelerator_memory_mib": float("nan")},
            "has an accelerator without a count or memory",
        ),
        ("g5.xlarge", {"accelerator_count": 1.5}, "has neither whole accelerators nor a part of one"),
        ("g6f.large", {"accelerator_memory_mib": 22888.0}, "the memory is not the share that the count says"),
    ],
)
def test_devices_are_whole_or_one_part_of_one(
    few: Catalogue, name: str, facts: dict[str, float], said: str
) -> None:
    assert f"{name}: {said}" in integrity.check(with_fact(few, name, **facts))


def test_a_reservation_above_on_demand_is_a_problem_and_an_equal_one_is_not(few: Catalogue) -> None:
    reserved = price(few, "m5.large", "us-east-1", "reserved_1yr_all_upfront")
    equal = with_price(few, "m5.large", "us-east-1", "price_usd_per_hour", reserved)
    below = with_price(few, "m5.large", "us-east-1", "price_usd_per_hour", reserved * 0.999)
    said = "m5.large us-east-1 reserved_1yr_all_upfront: 0.056393 is above on demand (0.0563366)"
    assert said not in integrity.check(equal)
    assert not any("above on demand" in problem for problem in integrity.check(equal))
    assert said in integrity.check(below)


def test_a_bigger_size_that_is_cheaper_is_a_problem_and_an_equal_one_is_not(few: Catalogue) -> None:
    smaller = price(few, "m5.xlarge", "us-west-2")
    equal = with_price(few, "m5.2xlarge", "us-west-2", "price_usd_per_hour", smaller)
    cheaper = with_price(few, "m5.2xlarge", "us-west-2", "price_usd_per_hour", smaller - 0.001)
    assert integrity.check(equal) == []
    assert integrity.check(cheaper) == [
        "m5.2xlarge us-west-2 on_demand: 0.191 is below the smaller m5.xlarge (0.192)"
    ]


def test_sizes_with_more_accelerators_are_not_compared(few: Catalogue) -> None:
    # g5.16xlarge has more vCPUs and memory than g5.12xlarge, but one GPU for four: it may well be cheaper
    assert price(few, "g5.16xlarge", "us-west-2") < price(few, "g5.12xlarge", "us-west-2")
    fewer = with_fact(few, "g5.12xlarge", accelerator_count=1.0)
    assert any(
        problem.startswith("g5.16xlarge us-west-2 on_demand: 4.096 is below the smaller g5.12xlarge")
        for problem in integrity.check(fewer)
    )


def test_a_size_with_more_memory_and_fewer_vcpus_may_be_cheaper(few: Catalogue) -> None:
    cheaper = with_price(few, "m5.2xlarge", "us-west-2", "price_usd_per_hour", 0.09)
    said = "m5.2xlarge us-west-2 on_demand: 0.09 is below the smaller"
    assert any(problem.startswith(said) for problem in integrity.check(cheaper))
    assert not any(
        problem.startswith(said)
        for problem in integrity.check(with_fact(cheaper, "m5.2xlarge", vcpu_count=1))
    )


def test_the_tenfold_r7g_mistake_of_march_2025_is_caught(few: Catalogue) -> None:
    with (DATA / "price_changes.csv").open(encoding="utf-8", newline="") as file:
        mistaken = [row for row in csv.DictReader(file) if row["first_seen_on"] == "2025-03-24"]
    assert len(mistaken) == 9
    broken = few
    for row in mistaken:
        broken = with_price(
            broken,
            row["instance_type"],
            "us-gov-west-1",
            "price_usd_per_hour",
            float(row["price_usd_per_hour"]),
        )
    problems = integrity.check(broken)
    caught = [problem.split()[0] for problem in problems if "times the family's price per vCPU" in problem]
    assert caught == sorted(row["instance_type"] for row in mistaken)


@pytest.mark.parametrize(("times", "caught"), [(9.9, False), (10.1, True)])
def test_a_price_is_out_of_line_from_ten_times_the_family(few: Catalogue, times: float, caught: bool) -> None:
    m5 = few.prices.merge(few.instances, on="instance_type")
    m5 = m5[m5["instance_type"].str.startswith("m5.") & (m5["purchase_option"] == "on_demand")]
    median = (m5["price_usd_per_hour"] / m5["vcpu_count"].astype(float)).median()
    broken = with_price(few, "m5.metal", "us-west-2", "price_usd_per_hour", times * median * 96)
    assert any("the family's price per vCPU" in problem for problem in integrity.check(broken)) == caught


def test_the_p4d_at_a_thousandth_of_its_price_is_caught(few: Catalogue) -> None:
    broken = with_price(few, "p4d.24xlarge", "us-east-1", "price_usd_per_hour", 0.032)
    assert any("below the type's price elsewhere" in problem for problem in integrity.check(broken))


def test_the_published_tables_hold_what_their_sources_hold(rows: pd.DataFrame) -> None:
    by_model = rows.groupby("model").size()
    assert by_model["bert_base_uncased"] == 4 * 7
    assert rows["instance_type"].isin(prices.packaged().instances["instance_type"]).all()
    assert len(rows) == 137 + 343 + 85 + 16 + 9 + 1


@pytest.mark.parametrize(
    ("model", "where", "column", "value"),
    [
        ("openai-gpt", {"instance_type": "m5.large"}, "latency_p95_ms", 13.0613),
        ("openai-gpt", {"attached_accelerator": "eia2.xlarge"}, "latency_mean_ms", 10.2795),
        (
            "bert_base_uncased",
            {"instance_type": "inf2.xlarge", "sequence_length": 512},
            "latency_p95_ms",
            10.7513,
        ),
        (
            "bert_base_uncased",
            {"instance_type": "inf1.2xlarge", "sequence_length": 512},
            "latency_mean_ms",
            18.4535,
        ),
        ("faster-rcnn-resnet50", {"instance_type": "p3.2xlarge"}, "latency_mean_ms", 61.04),
        (
            "faster-rcnn-resnet50",
            {"instance_type": "m5.4xlarge", "attached_accelerator": ""},
            "latency_mean_ms",
            415.87,
        ),
        (
            "mobilenet-v1 float 1.0-192",
            {"instance_type": "m7g.2xlarge", "backend": "tflite"},
            "latency_p90_ms",
            14.98,
        ),
        ("mobilenet-v1 float 0.25-192", {"instance_type": "t2.medium"}, "latency_p90_ms", 14.72),
        ("bert-99", {"software": "pytorch 1.13.1"}, "latency_p99_9_ms", 93.96),
    ],
)
def test_a_published_figure_is_in_the_tables(
    rows: pd.DataFrame, model: str, where: dict[str, object], column: str, value: float
) -> None:
    found = rows[rows["model"] == model]
    for name, wanted in where.items():
        found = found[found[name] == wanted]
    assert len(found) == 1
    assert found[column].iloc[0] == pytest.approx(value, rel=5e-4)


def test_committed_prices_and_latencies_give_every_published_cost_of_faster_rcnn_to_the_cent(
    catalogue: Catalogue, rows: pd.DataFrame
) -> None:
    with (DATA / "faster_rcnn_published_costs.csv").open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 18
    for row in published:
        host, accelerator = row["instance_type"], row["attached_accelerator"]
        measured = rows[
            (rows["model"] == "faster-rcnn-resnet50")
            & (rows["instance_type"] == host)
            & (rows["attached_accelerator"] == accelerator)
        ]
        assert len(measured) == 1
        usd_per_hour = price(catalogue, host, "us-west-2")
        if accelerator:
            usd_per_hour += price(catalogue, accelerator, "us-west-2")
        cost = usd_per_hour / 3600 * measured["latency_mean_ms"].iloc[0] / 1000 * 100_000
        assert f"{cost:.2f}" == row["published_usd_per_100k"]


def test_rows_that_their_own_source_doubts_are_suspect(rows: pd.DataFrame) -> None:
    suspect = rows[rows["quality"] == "suspect"]
    assert (suspect["note"] != "").all()
    resnet = rows[(rows["model"] == "resnet-50") & (rows["instance_type"] == "g4dn.xlarge")]
    assert set(resnet[resnet["backend"] == "tensorrt"]["quality"]) == {"suspect"}
    assert set(resnet[resnet["backend"] == "keras"]["quality"]) == {"ok"}
    assert set(rows[rows["model"].str.startswith("mobilenet")]["quality"]) == {"ok"}


def test_a_neuron_row_that_only_repeats_an_earlier_release_is_left_out(rows: pd.DataFrame) -> None:
    resnet = rows[(rows["model"] == "resnet-50") & (rows["backend"] == "neuron tensorflow")]
    released = set(resnet["software"].str.split().str[1])
    assert "2.10.0" in released  # measured again
    assert "2.11.0" not in released  # every figure is that of 2.10.0


@needs_facts
@pytest.mark.parametrize(
    ("script", "committed"),
    [("build_pricing_data.py", "pricing_data"), ("build_benchmarks.py", "benchmarks")],
)
def test_the_script_makes_the_committed_bytes_again(script: str, committed: str, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script), str(FACTS), "--into", str(tmp_path)], check=True
    )
    made = sorted(path.name for path in tmp_path.iterdir())
    for name in made:
        assert (tmp_path / name).read_bytes() == (ROOT / committed / name).read_bytes(), name
    tables = {path.name for path in (ROOT / committed).glob("*.csv")}
    assert tables == {name for name in made if name.endswith(".csv")}


@needs_facts
def test_the_script_makes_the_committed_test_figures_again(tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, str(ROOT / "scripts" / "build_benchmarks.py"), str(FACTS)),
            *("--into", str(tmp_path / "tables"), "--test-data", str(tmp_path / "data")),
        ],
        check=True,
    )
    for path in (tmp_path / "data").iterdir():
        assert path.read_bytes() == (DATA / path.name).read_bytes(), path.name
