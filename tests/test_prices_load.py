"""The catalogue in use: which files it is made of, a user's own rows, currencies, and every line of refusal."""

import gzip
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor import prices
from advisor.data import committed
from advisor.errors import InputError, PricesError
from advisor.prices import snapshot
from advisor.tables import PRICE_KEY, Catalogue

HEADER = "instance_type,region,purchase_option,price_usd_per_hour,as_of,source\n"
M5 = "m5.large,us-west-2,on_demand,0.05,2026-11-01,contract\n"


@pytest.fixture(autouse=True)
def no_own_files(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.delenv("ADVISOR_PRICES", raising=False)
    monkeypatch.setenv("ADVISOR_DATA_HOME", str(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def base() -> Catalogue:
    return prices.packaged()


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(catalogue: Catalogue, name: str, **where: str) -> list[dict[str, Any]]:
    found = catalogue.prices[catalogue.prices["instance_type"] == name]
    for column, value in where.items():
        found = found[found[column] == value]
    return found.to_dict("records")  # type: ignore[return-value]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        prices.read_rows(path, regions={"us-west-2", "us-east-1", "eu-west-1"})
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    return said.removeprefix(f"{path}: ")


def test_without_anything_of_ones_own_the_packaged_prices_are_used() -> None:
    catalogue = prices.load()
    assert catalogue.origin == ("packaged prices",)
    assert catalogue.own == frozenset()


def test_prices_are_sorted_by_their_key_and_labelled_from_0(base: Catalogue) -> None:
    keys = list(zip(*(base.prices[name] for name in PRICE_KEY), strict=True))
    assert list(base.prices.index) == list(range(len(base.prices)))
    assert keys == sorted(keys)


def test_an_own_row_wins_by_key_and_is_named(tmp_path: Path, base: Catalogue) -> None:
    catalogue = prices.load(saved(tmp_path / "rates.csv", HEADER + M5))
    (row,) = rows_of(catalogue, "m5.large", region="us-west-2", purchase_option="on_demand")
    assert row["price_usd_per_hour"] == 0.05
    assert row["note"] == "own price"
    assert catalogue.origin == ("rates.csv (1 own row)", "packaged prices")
    assert len(catalogue.prices) == len(base.prices)
    (own,) = catalogue.own
    assert catalogue.prices.loc[own, "source"] == "contract"
    assert catalogue.prices.loc[own, "instance_type"] == "m5.large"
    assert "contract" in set(catalogue.sources["source"])


def test_an_own_row_of_another_key_stands_beside_the_packaged_one(tmp_path: Path, base: Catalogue) -> None:
    text = HEADER + M5.replace("on_demand", "reserved_3yr_all_upfront")
    catalogue = prices.load(saved(tmp_path / "rates.csv", text))
    assert len(catalogue.prices) == len(base.prices) + 1
    (row,) = rows_of(catalogue, "m5.large", region="us-west-2", purchase_option="on_demand")
    assert row["price_usd_per_hour"] == 0.096


def test_the_path_goes_before_the_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADVISOR_PRICES", str(saved(tmp_path / "env.csv", HEADER + M5)))
    other = saved(tmp_path / "path.csv", HEADER + M5.replace("0.05", "0.06"))
    assert prices.load().origin[0] == "env.csv (1 own row)"
    assert prices.load(other).origin[0] == "path.csv (1 own row)"


def test_a_refreshed_snapshot_goes_before_the_packaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("ADVISOR_DATA_HOME", str(home))
    shutil.copytree(committed("pricing_data"), home / "prices" / "snapshots" / "abc")
    saved(home / "prices" / "current", "abc")
    assert prices.load().origin == ("refreshed prices (newest of 2026-07-20)",)
    own = prices.load(saved(tmp_path / "rates.csv", HEADER + M5))
    assert own.origin == ("rates.csv (1 own row)", "refreshed prices (newest of 2026-07-20)")


def test_an_own_price_makes_a_retired_type_available_and_says_so(tmp_path: Path, base: Catalogue) -> None:
    text = (
        HEADER
        + "p2.xlarge,us-west-2,on_demand,0.45,2026-11-01,contract\neia2.medium,us-west-2,custom,0.1,2026-11-02,contract\n"
    )
    catalogue = prices.load(saved(tmp_path / "rates.csv", text))
    facts = catalogue.instances.set_index("instance_type").loc["p2.xlarge"].to_dict()
    assert [facts[f"availability{part}"] for part in ("", "_as_of", "_source")] == [
        "sold",
        "2026-11-01",
        "contract",
    ]
    assert catalogue.accelerators.set_index("accelerator_type").loc["eia2.medium", "availability"] == "sold"
    assert catalogue.accelerators.set_index("accelerator_type").loc["eia2.large", "availability"] == "closed"
    (row,) = rows_of(catalogue, "p2.xlarge", region="us-west-2", purchase_option="on_demand")
    assert row["note"] == "own price of a type that AWS no longer sells"
    assert base.instances.set_index("instance_type").loc["p2.xlarge", "availability"] == "closed"


def test_an_own_row_without_a_price_does_not_make_a_retired_type_available(tmp_path: Path) -> None:
    catalogue = prices.load(
        saved(tmp_path / "rates.csv", HEADER + "p2.xlarge,us-west-2,on_demand,,2026-11-01,contract\n")
    )
    assert catalogue.instances.set_index("instance_type").loc["p2.xlarge", "availability"] == "closed"
    (row,) = rows_of(catalogue, "p2.xlarge", region="us-west-2", purchase_option="on_demand")
    assert math.isnan(row["price_usd_per_hour"])


@pytest.mark.parametrize("unknown", ["", "N/A", "-"])
def test_an_unknown_price_stays_unknown(tmp_path: Path, unknown: str) -> None:
    catalogue = prices.load(saved(tmp_path / "rates.csv", HEADER + M5.replace("0.05", unknown)))
    (row,) = rows_of(catalogue, "m5.large", region="us-west-2", purchase_option="on_demand")
    assert math.isnan(row["price_usd_per_hour"])


def test_own_hardware_may_be_anywhere_and_its_facts_are_unknown(tmp_path: Path) -> None:
    text = HEADER + "basement.gpu1,basement,custom,0.2,2026-11-01,power bill\n"
    catalogue = prices.load(saved(tmp_path / "rates.csv", text))
    facts = catalogue.instances.set_index("instance_type").loc["basement.gpu1"]
    assert facts["availability"] == "sold"
    assert facts["accelerator_kind"] == ""
    assert pd.isna(facts["memory_mib"])
    assert rows_of(catalogue, "basement.gpu1")[0]["region"] == "basement"


def test_an_own_ml_type_has_the_hardware_of_the_ec2_size_and_never_its_price(tmp_path: Path) -> None:
    text = HEADER + "ml.g5.2xlarge,us-west-2,on_demand,1.515,2026-11-01,sagemaker\n"
    catalogue = prices.load(saved(tmp_path / "rates.csv", text))
    facts = catalogue.instances.set_index("instance_type").loc["ml.g5.2xlarge"]
    assert facts["memory_mib"] == 32 * 1024
    assert facts["accelerator_name"] == "A10G"
    assert [row["price_usd_per_hour"] for row in rows_of(catalogue, "ml.g5.2xlarge")] == [1.515]


def test_a_price_in_another_currency_has_no_usd_price_without_a_rate(tmp_path: Path) -> None:
    text = (
        HEADER.replace("source", "source,currency")
        + "c5.large,cn-north-1,on_demand,0.7,2026-11-01,contract,CNY\n"
    )
    path = saved(tmp_path / "rates.csv", text)
    (row,) = rows_of(prices.load(path), "c5.large", region="cn-north-1")
    assert math.isnan(row["price_usd_per_hour"])
    assert row["price_local_per_hour"] == 0.7
    (row,) = rows_of(prices.load(path, rates={"CNY": 0.14}), "c5.large", region="cn-north-1")
    assert row["price_usd_per_hour"] == pytest.approx(0.098, rel=1e-12)
    (row,) = rows_of(prices.load(path, rates={"EUR": 1.1}), "c5.large", region="cn-north-1")
    assert math.isnan(row["price_usd_per_hour"])


def test_rows_in_two_currencies_stand_beside_each_other(tmp_path: Path) -> None:
    line = "c5.large,us-west-2,on_demand,0.7,2026-11-01,contract"
    text = HEADER.replace("source", "source,currency") + f"{line},CNY\n{line},EUR\n"
    catalogue = prices.load(saved(tmp_path / "rates.csv", text), rates={"CNY": 0.14, "EUR": 1.1})
    found = rows_of(catalogue, "c5.large", region="us-west-2", purchase_option="on_demand")
    assert [(r["currency"], r["price_usd_per_hour"]) for r in found] == [
        ("CNY", pytest.approx(0.098)),
        ("EUR", pytest.approx(0.77)),
        ("USD", 0.085),
    ]


def test_a_rate_never_touches_a_usd_price(base: Catalogue) -> None:
    catalogue = prices.load(rates={"CNY": 0.14, "USD": 2.0})
    pd.testing.assert_frame_equal(catalogue.prices, base.prices)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_a_rate_that_is_not_positive_is_refused(rate: float) -> None:
    with pytest.raises(PricesError, match="the rate of CNY must be a positive number"):
        prices.load(rates={"CNY": rate})


def test_a_folder_in_the_layout_of_the_snapshot_wins_by_key(tmp_path: Path, base: Catalogue) -> None:
    saved(
        tmp_path / "on_demand.csv",
        "instance_type,region,price_usd_per_hour,as_of,source\nm5.large,us-west-2,0.05,2026-11-01,x\n",
    )
    catalogue = prices.load(tmp_path)
    (row,) = rows_of(catalogue, "m5.large", region="us-west-2", purchase_option="on_demand")
    assert row["price_usd_per_hour"] == 0.05
    assert len(catalogue.prices) == len(base.prices)
    assert catalogue.origin == (f"{tmp_path.name}/ (1 own row)", "packaged prices")


def test_a_folder_may_state_its_own_availability(tmp_path: Path) -> None:
    for name in ("on_demand.csv", "instances.csv"):
        shutil.copy(committed("pricing_data") / name, tmp_path)
    catalogue = prices.load(tmp_path)
    assert catalogue.instances.set_index("instance_type").loc["p2.xlarge", "availability"] == "closed"


def test_prices_times_k_in_a_folder_are_the_prices_in_use_times_k(tmp_path: Path, base: Catalogue) -> None:
    doubled = base.prices.assign(price_usd_per_hour=base.prices["price_usd_per_hour"] * 2)
    snapshot.write(replace(base, prices=doubled), tmp_path)
    catalogue = prices.load(tmp_path)
    pd.testing.assert_series_equal(
        catalogue.prices["price_usd_per_hour"], base.prices["price_usd_per_hour"] * 2
    )
    assert len(catalogue.own) == len(base.prices)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("other.csv", None, "no price file here"),
        ("on_demand.csv", "instance_type,regoin\n", "unknown column regoin (did you mean region?)"),
        ("on_demand.csv", "instance_type,region,price_usd_per_hour\nm5.large,us-west-2,abc\n", "cannot be read"),
        ("on_demand.csv", "instance_type,region,price_usd_per_hour\nm5.large,us-west-2,-1\n", "price_usd_per_hour does not satisfy"),
        ("on_demand.csv", "instance_type,region,price_usd_per_hour\nm5.large,us-west-9,1\n", "AWS has no region 'us-west-9' (did you mean us-west-2?)"),
        ("on_demand.csv", "instance_type,region,price_usd_per_hour\nm5.large,us-west-2,1\nm5.large,us-west-2,2\n", "is priced twice"),
        ("snapshot.toml", "layout_version = 2\n", "layout_version 2 is not the one this version reads"),
        ("snapshot.toml", "layout_version = \n", "cannot be read"),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        saved(tmp_path / name, text)
    with pytest.raises(PricesError) as caught:
        prices.load(tmp_path)
    assert said in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_snapshot_that_is_written_and_read_is_the_same(tmp_path: Path, base: Catalogue) -> None:
    snapshot.write(base, tmp_path)
    again = snapshot.read(tmp_path)
    for name in ("instances", "accelerators", "prices", "locations", "sources"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(base, name))
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (committed("pricing_data") / path.name).read_bytes()


def test_every_kind_of_price_goes_through_the_snapshot_unchanged(tmp_path: Path, base: Catalogue) -> None:
    text = HEADER.replace("source", "source,currency,zone,statistic,months,upfront_usd,note")
    text += "".join(
        f"{line}\n"
        for line in (
            "m5.large,us-west-2,compute_savings_plan_1yr_no_upfront,0.07,2026-11-01,s,USD,,,12,,",
            "m5.large,cn-north-1,on_demand,0.7,2026-11-01,s,CNY,,,,,",
            "m5.large,us-west-2,spot,0.03,2026-11-01,s,USD,us-west-2a,last,,,",
            "m5.large,us-west-2,reserved_3yr_partial_upfront,0.04123456789,2026-11-01,s,USD,,,36,500.5,",
            'm5.large,us-west-2,custom,,2026-11-01,s,USD,,,,,"a, note; with ""marks"""',
        )
    )
    catalogue = prices.load(saved(tmp_path / "rates.csv", text))
    folder = tmp_path / "snapshot"
    folder.mkdir()
    snapshot.write(catalogue, folder)
    pd.testing.assert_frame_equal(snapshot.read(folder).prices, catalogue.prices)
    assert (folder / "savings_plans.csv").is_file()
    assert (folder / "other.csv").is_file()


def test_a_file_that_a_new_snapshot_no_longer_needs_is_removed(tmp_path: Path, base: Catalogue) -> None:
    snapshot.write(base, tmp_path)
    fewer = base.prices[base.prices["purchase_option"] != "spot"].reset_index(drop=True)
    snapshot.write(replace(base, prices=fewer), tmp_path)
    assert not (tmp_path / "spot.csv").exists()
    assert len(snapshot.read(tmp_path).prices) == len(fewer)


@pytest.mark.parametrize(
    "kind",
    ["gzip", "zstd", "utf-16", "bom", "semicolon", "decimal comma", "tabs", "xlsx", "quoted", "blank lines"],
)
def test_the_same_row_is_read_from_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rates"
    text = HEADER + M5.replace("0.05", "1234.5")
    if kind == "gzip":
        path.write_bytes(gzip.compress(text.encode()))
    elif kind == "zstd":
        path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    elif kind in {"utf-16", "bom"}:
        path.write_text(text, encoding="utf-16" if kind == "utf-16" else "utf-8-sig")
    elif kind == "semicolon":
        saved(path, text.replace(",", ";"))
    elif kind == "decimal comma":
        saved(path, text.replace(",", ";").replace("1234.5", "1.234,5"))
    elif kind == "tabs":
        saved(path, text.replace(",", "\t"))
    elif kind == "quoted":
        saved(path, text.replace("1234.5", '"1,234.50"'))
    elif kind == "blank lines":
        saved(path, "\n" + text.replace("\n", "\r\n\r\n"))
    else:
        book = openpyxl.Workbook()
        for line in text.splitlines():
            book.active.append([float(cell) if cell == "1234.5" else cell for cell in line.split(",")])
        path = tmp_path / "rates.xlsx"
        book.save(path)
    (row,) = prices.read_rows(path).to_dict("records")
    assert row["price_usd_per_hour"] == 1234.5
    assert row["instance_type"] == "m5.large"
    assert row["as_of"] == "2026-11-01"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("m5.large,us-west-2,on_demand,0,2026-11-01,x", "row 2, price_usd_per_hour: 0 is not a number above 0"),
        ("m5.large,us-west-2,on_demand,-0.1,2026-11-01,x", "row 2, price_usd_per_hour: -0.1 is not a number above 0"),
        ("m5.large,us-west-2,on_demand,1e999,2026-11-01,x", "row 2, price_usd_per_hour: 1e999 is not a number above 0"),
        ("m5.large,us-west-2,on_demand,nan,2026-11-01,x", "row 2, price_usd_per_hour: 'nan' is not a number"),
        ("m5.large,us-west-2,on_demand,$0.1,2026-11-01,x", "row 2, price_usd_per_hour: '$0.1' is not a number"),
        ('m5.large,us-west-2,on_demand,"1,234",2026-11-01,x', "row 2, price_usd_per_hour: '1,234' can be read in two ways"),
        ('m5.large,us-west-2,on_demand,"9,99",2026-11-01,x', "row 2, price_usd_per_hour: '9,99' can be read in two ways"),
        ("m5.large,us-west-2,on_demand,0.1,01/11/2026,x", "row 2, as_of: '01/11/2026' is not a date like 2026-11-29"),
        ("m5.large,us-west-2,on_demand,0.1,2026-13-01,x", "row 2, as_of: '2026-13-01' is not a date"),
        ("m5.large,us-west-2,on_demand,0.1,2026-11-01junk,x", "row 2, as_of: '2026-11-01junk' is not a date"),
        ("m5.large,us-west-2,on_demand,0.1,,x", "row 2, as_of: is empty"),
        (",us-west-2,on_demand,0.1,2026-11-01,x", "row 2, instance_type: is empty"),
        ("m5.large,us-west2,on_demand,0.1,2026-11-01,x", "row 2, region: AWS has no region 'us-west2' (did you mean us-west-2?)"),
        ("m5.large,us-west-2,on-demand,0.1,2026-11-01,x", "row 2, purchase_option: 'on-demand' is none (did you mean on_demand?)"),
        ("m5.large,us-west-2,on_demand,0.1,2026-11-01", "row 2 has 5 cells where the header has 6: is the file cut off?"),
        ("m5.large,us-west-2,on_demand,0.1,2026-11-01,x,y", "row 2 has 7 cells where the header has 6"),
        ('m5.large,us-west-2,on_demand,0.1,2026-11-01,"x', "row 2 cannot be read"),
        (M5 + "\n" + M5, "row 4 prices m5.large us-west-2 on_demand list USD again (first in row 2)"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, line: str, said: str) -> None:
    assert refusal(saved(tmp_path / "rates.csv", HEADER + line)).startswith(said)


def test_a_row_that_cannot_be_read_stops_the_loading(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"row 2, region: AWS has no region 'us-west2' \(did you mean us-west-2\?\)"
    ):
        prices.load(saved(tmp_path / "rates.csv", HEADER + M5.replace("us-west-2", "us-west2")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        (HEADER, "no price row after the header"),
        (HEADER.replace("region", "regoin") + M5, "unknown column 'regoin' (did you mean region?)"),
        (HEADER.replace("source", "region") + M5, "the column region is there twice"),
        ("instance_type,region,purchase_option,as_of,source\n", "the column price_usd_per_hour is missing"),
    ],
)
def test_a_file_that_holds_no_price_rows_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(saved(tmp_path / "rates.csv", text)).startswith(said)


@pytest.mark.parametrize(
    "column", ["instance_type", "region", "purchase_option", "price_usd_per_hour", "as_of", "source"]
)
def test_a_column_that_is_needed_and_missing_is_named(tmp_path: Path, column: str) -> None:
    names = HEADER.strip().split(",")
    cells = M5.strip().split(",")
    at = names.index(column)
    text = ",".join(names[:at] + names[at + 1 :]) + "\n" + ",".join(cells[:at] + cells[at + 1 :]) + "\n"
    assert refusal(saved(tmp_path / "rates.csv", text)).startswith(f"the column {column} is missing")


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("months", "1.5", "row 2, months: 1.5 is not a whole number"),
        ("months", "-1", "row 2, months: -1 is not 0 or above"),
        ("upfront_usd", "-0.5", "row 2, upfront_usd: -0.5 is not 0 or above"),
        ("currency", "yuan", "row 2, currency: 'yuan' is no currency code like USD or CNY"),
    ],
)
def test_an_optional_cell_that_cannot_be_is_refused(
    tmp_path: Path, column: str, value: str, said: str
) -> None:
    text = f"{HEADER.strip()},{column}\n{M5.strip()},{value}\n"
    assert refusal(saved(tmp_path / "rates.csv", text)) == said


def test_an_upfront_payment_of_0_and_whole_months_are_read(tmp_path: Path) -> None:
    text = f"{HEADER.strip()},upfront_usd,months\n{M5.strip()},0,36\n"
    (row,) = prices.read_rows(saved(tmp_path / "rates.csv", text)).to_dict("records")
    assert (row["upfront_usd"], row["months"]) == (0.0, 36)


def test_in_a_file_with_decimal_commas_a_point_before_three_digits_is_refused(tmp_path: Path) -> None:
    text = (HEADER + M5 + M5.replace("m5.large", "m5.xlarge")).replace(",", ";")
    ambiguous = text.replace("0.05", "0,05", 1).replace("0.05", "1.234", 1)
    assert refusal(saved(tmp_path / "rates.csv", ambiguous)).startswith(
        "row 3, price_usd_per_hour: '1.234' can be read in two ways"
    )


def test_text_in_another_encoding_is_refused_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_bytes((HEADER + M5.replace("contract", "Verträge")).encode("latin-1"))
    assert refusal(path) == "row 2 is not UTF-8 text: save the file as UTF-8"


def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv.gz"
    path.write_bytes(gzip.compress((HEADER + M5).encode())[:-12])
    assert refusal(path).startswith("cannot be expanded")


def test_a_file_that_expands_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("advisor.prices.rows.MAX_EXPANDED_BYTES", 2**20)
    path = tmp_path / "rates.csv.gz"
    path.write_bytes(gzip.compress(b"x" * (2**20 + 1)))
    assert refusal(path) == "more than 1 MiB of price rows: split the file"
    path.write_bytes(gzip.compress((HEADER + M5).encode() + b"\n" * (2**20 - len(HEADER + M5))))
    assert len(prices.read_rows(path)) == 1


def test_a_workbook_with_a_formula_that_was_never_calculated_is_refused(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(HEADER.strip().split(","))
    book.active.append(["m5.large", "us-west-2", "on_demand", "=0.1/2", "2026-11-01", "x"])
    path = tmp_path / "rates.xlsx"
    book.save(path)
    assert refusal(path).startswith("row 2 holds a formula without a stored result")


def test_a_file_that_only_begins_like_a_workbook_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rates.xlsx"
    path.write_bytes(b"PK\x03\x04nothing")
    assert refusal(path).startswith("is not a workbook that can be read")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.csv") == "cannot be opened (No such file or directory)"


def test_control_characters_and_account_ids_do_not_come_in(tmp_path: Path) -> None:
    text = HEADER + M5.replace("contract", "\x1b[31mdeal of 123456789012")
    (row,) = prices.read_rows(saved(tmp_path / "rates.csv", text)).to_dict("records")
    assert row["source"] == "[31mdeal of [account]"


def test_a_price_row_keeps_the_note_that_it_has(tmp_path: Path) -> None:
    text = f"{HEADER.strip()},note\n{M5.strip()},agreed in May\n"
    catalogue = prices.load(saved(tmp_path / "rates.csv", text))
    (row,) = rows_of(catalogue, "m5.large", region="us-west-2", purchase_option="on_demand")
    assert row["note"] == "agreed in May"


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["m5.large", "p2.xlarge", "own.box"]),
            st.sampled_from(["us-west-2", "eu-west-1"]),
            st.sampled_from(["on_demand", "custom", "reserved_1yr_no_upfront"]),
            st.floats(1e-4, 1e3),
        ),
        min_size=1,
        max_size=8,
        unique_by=lambda row: row[:3],
    ),
    st.randoms(),
)
def test_the_order_of_own_rows_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, float]], random: Any
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    lines = [f"{name},{region},{option},{usd!r},2026-11-01,x\n" for name, region, option, usd in rows]
    shuffled = lines.copy()
    random.shuffle(shuffled)
    first = prices.read_rows(saved(folder / "a.csv", HEADER + "".join(lines)))
    second = prices.read_rows(saved(folder / "b.csv", HEADER + "".join(shuffled)))
    pd.testing.assert_frame_equal(first, second)
    assert sorted(first["price_usd_per_hour"]) == sorted(usd for *_, usd in rows)


def test_a_local_price_of_its_own_column_leaves_the_users_own_conversion_alone(tmp_path: Path) -> None:
    text = HEADER.replace("source", "source,currency,price_local_per_hour")
    text += "c5.large,cn-north-1,on_demand,0.1,2026-11-01,contract,CNY,0.7\n"
    (row,) = prices.read_rows(saved(tmp_path / "rates.csv", text)).to_dict("records")
    assert (row["price_usd_per_hour"], row["price_local_per_hour"]) == (0.1, 0.7)


def test_a_spot_figure_whose_statistic_is_not_named_is_stated_and_a_list_price_is_a_list_price(
    tmp_path: Path,
) -> None:
    text = HEADER + M5 + M5.replace("on_demand", "spot")
    rows = prices.read_rows(saved(tmp_path / "rates.csv", text))
    assert dict(zip(rows["purchase_option"], rows["statistic"], strict=True)) == {
        "on_demand": "list",
        "spot": "stated",
    }


def test_the_row_in_a_message_is_the_line_of_the_file_after_a_cell_of_several_lines(tmp_path: Path) -> None:
    text = f'{HEADER.strip()},note\n{M5.strip()},"agreed\nin May"\n{M5.replace("0.05", "zero").strip()},\n'
    assert refusal(saved(tmp_path / "rates.csv", text)) == "row 4, price_usd_per_hour: 'zero' is not a number"
