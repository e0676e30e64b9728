"""`advisor prices refresh` from the address to the folder: all of it or nothing."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from advisor import prices
from advisor.cli import prices_refresh
from advisor.errors import PricesError
from advisor.prices import snapshot, store
from advisor.prices.refresh import fetch, grouped, merge, refresh
from advisor.prices.sources import ALL, SOURCES
from advisor.prices.sources.ask import Answer, Ask, Part, PriceRow, Refusal, Scope, price_frame
from advisor.prices.sources.instance_types import read_types
from advisor.tables import Catalogue, Prices
from tests.aws_answers import (
    CASES,
    TWELVE_TERMS,
    case,
    files,
    item,
    offer_csv,
    offer_site,
    other_units,
    serving,
)
from tests.test_prices_suspicion import catalogue, price

HERE = Scope("us-west-2", "ec2", "list")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Run the command; give its exit code, stdout and stderr, with an AdvisorError as its text and 2."""
    result = CliRunner().invoke(prices_refresh.refresh, [str(a) for a in arguments], standalone_mode=False)
    if isinstance(result.exception, PricesError):
        return 2, result.stdout, f"{result.stderr}{result.exception}"
    if result.exception:
        raise result.exception
    return result.return_value, result.stdout, result.stderr


def oregon(on_demand: str = "0.0960000000") -> bytes:
    units = [item(f"M{n}", f"m5.{n}xlarge", on_demand=f"0.{n}920000000") for n in (1, 2, 3)]
    return offer_csv([*other_units(), item("ONE", on_demand=on_demand, reserved=TWELVE_TERMS), *units])


IRELAND = offer_csv([item("EU", "m5.large", "eu-west-1", "0.1070000000")])
SITE = offer_site({"us-west-2": oregon(), "eu-west-1": IRELAND})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small folder of the committed layout: m5.large in three regions, a reserved term and a spot price."""
    base = catalogue(
        price("m5.large", 0.096, as_of="2026-01-01", source="old"),
        price("m5.large", 0.096, "us-east-1", as_of="2026-01-01", source="old"),
        price("m5.large", 0.107, "eu-west-1", as_of="2026-01-01", source="old"),
        price(
            "m5.large", 0.0594, option="reserved_1yr_no_upfront", months=12, as_of="2026-01-01", source="old"
        ),
        price("m5.large", 0.04, option="spot", statistic="last", as_of="2026-01-01", source="old"),
        price("m5.large", 0.05, option="custom", as_of="2026-01-01", source="mine"),
        sizes={"m5.large": (2, 8.0)},
    )
    into = tmp_path / "pricing_data"
    into.mkdir()
    snapshot.write(base, into)
    (into / "README.md").write_text("about this folder")
    return into


def content(into: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(into.iterdir())}


def test_a_refresh_goes_into_the_data_folder_and_is_used_from_then_on(own_folders: Path) -> None:
    with serving(files(SITE)) as base:
        code, out, err = run("--base-url", base, "--accept")  # the packaged regions hold hundreds of types
    assert code == 0
    current = store.refreshed()
    assert current is not None
    assert current.is_relative_to(own_folders)
    assert out.endswith(f"kept in {current}\n")
    assert "bulk us-west-2: 16 prices, 1 refused (" not in err
    assert "bulk us-west-2: 16 prices (" in err
    loaded = prices.load()
    assert loaded.origin == ("refreshed prices (newest of 2026-11-20)",)
    here = loaded.prices[
        (loaded.prices["region"] == "us-west-2") & (loaded.prices["purchase_option"] == "on_demand")
    ]
    assert {"m5.large", "m5.1xlarge"} <= set(here["instance_type"])
    assert "c5.large" not in set(here["instance_type"])
    there = loaded.prices[loaded.prices["region"] == "us-east-1"]
    packaged = prices.packaged().prices
    assert len(there) == (packaged["region"] == "us-east-1").sum()


def test_the_same_answers_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    with serving(files(SITE)) as base:
        assert run("--base-url", base, "--into", folder)[0] == 0
        first = content(folder)
        assert run("--base-url", base, "--into", folder, "--workers", "1")[0] == 0
    assert content(folder) == first
    assert {path.name for path in folder.iterdir()} >= {"README.md", "on_demand.csv", "reserved.csv"}


def test_what_was_answered_replaces_what_was_known_of_it_and_nothing_else(folder: Path) -> None:
    with serving(files(SITE)) as base:
        run("--base-url", base, "--into", folder, "--region", "us-west-2")
    rows = snapshot.read(folder).prices
    kept = rows[rows["source"] != "aws_offer_file"]
    assert kept[["region", "purchase_option"]].to_numpy().tolist() == [
        ["eu-west-1", "on_demand"],
        ["us-east-1", "on_demand"],
        ["us-west-2", "custom"],
        ["us-west-2", "spot"],
    ]
    assert (rows["source"] == "aws_offer_file").sum() == 16
    sources = snapshot.read(folder).sources.set_index("source")
    assert sources.loc["aws_offer_file", "as_of"] == "2026-11-20"


def test_a_region_that_fails_keeps_the_last_good_prices_of_all_and_is_named(folder: Path) -> None:
    before = content(folder)
    site = {path: data for path, data in SITE.items() if "eu-west-1/" not in path}
    with serving(files(site)) as base:
        code, out, err = run("--base-url", base, "--into", folder)
    assert (code, out) == (2, "")
    assert "1 of 2 failed, the last good prices stay: bulk eu-west-1 (" in err
    assert "HTTP 404" in err
    assert content(folder) == before


@pytest.mark.parametrize(
    "wrong", [b"", b"FormatVersion", oregon()[:-15], oregon().replace(b'"0.0960000000"', b'"0.0960000000')]
)
def test_a_file_that_is_not_whole_changes_nothing(folder: Path, wrong: bytes) -> None:
    before = content(folder)
    with serving(files(offer_site({"us-west-2": wrong}))) as base:
        assert run("--base-url", base, "--into", folder)[0] == 2
    assert content(folder) == before


def test_a_suspicious_price_needs_to_be_accepted(folder: Path) -> None:
    before = content(folder)
    with serving(files(offer_site({"us-west-2": oregon("0.9600000000")}))) as base:
        code, _, err = run("--base-url", base, "--into", folder)
        assert code == 2
        assert (
            "suspicious: m5.large us-west-2 on_demand: moved +900%, from 0.096 (2026-01-01) to 0.96 (2026-11-20)"
            in err
        )
        assert "the last good prices stay" in err
        assert content(folder) == before
        assert run("--base-url", base, "--into", folder, "--accept")[0] == 0
    rows = snapshot.read(folder).prices
    assert 0.96 in set(rows["price_usd_per_hour"])


def test_an_empty_region_needs_to_be_accepted(folder: Path) -> None:
    for units in ([], other_units()):  # of the other units a capacity block stays visible, which is no price
        with serving(files(offer_site({"us-west-2": offer_csv(units)}))) as base:
            code, _, err = run("--base-url", base, "--into", folder)
        assert code == 2
        assert "suspicious: us-west-2: ec2 list prices of 0 types, where 1 had one" in err


def test_saved_answers_are_read_instead_of_asking(folder: Path) -> None:
    code, out, _ = run("--from", CASES, "--source", "savings-plans-api", "--source", "spot", "--source", "instance-types", "--into", folder, "--accept")  # fmt: skip
    assert code == 0
    rows = snapshot.read(folder).prices
    assert set(rows["source"]) >= {"aws_savings_plan_api", "aws_spot_history"}
    assert ", 0 removed, 0 moved" in out


def test_without_an_account_an_aws_source_is_one_clear_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    code, out, err = run(
        "--source", "all", "--region", "us-west-2", "--base-url", "http://127.0.0.1:9", "--into", folder
    )
    assert (code, out) == (2, "")
    assert err.count("\n") <= 1


def test_a_refresh_while_another_runs_is_refused(folder: Path) -> None:
    before = content(folder)
    with store.locked(store.prices_folder()):
        code, _, err = run("--from", CASES, "--source", "api", "--into", folder)
    assert code == 2
    assert "another refresh is running" in err
    assert content(folder) == before


def test_a_newer_price_is_not_replaced_by_an_older_answer() -> None:
    base = catalogue(price("m5.large", 0.2, as_of="2026-11-25"), price("m5.xlarge", 0.4, as_of="2026-01-01"))
    old = price_frame([price("m5.large", 0.1, as_of="2026-11-20")], "test")
    merged = merge(base, [Answer(old, frozenset({HERE}), as_of="2026-11-20")])
    assert merged.prices[["instance_type", "price_usd_per_hour"]].to_numpy().tolist() == [["m5.large", 0.2]]


def test_a_newly_priced_type_is_visible_with_what_is_known_of_it() -> None:
    base = catalogue(price("g5.xlarge", 1.006), sizes={"g5.xlarge": (4, 16.0)})
    rows = [
        price("ml.g5.xlarge", 1.408, source="s"),
        price("ml.quux.large", 0.1),
        price("z9.large", 0.2, "mars-north-1"),
        price("z9.large", 0.3, "mars-north-1-oly-1"),
        price("eia9.large", 0.3),
    ]
    merged = merge(base, [Answer(price_frame(rows, "test"), as_of="2026-11-01")])
    facts = merged.instances.set_index("instance_type")
    assert list(facts.loc["ml.g5.xlarge", ["vcpu_count", "memory_mib", "availability"]]) == [
        4,
        16384.0,
        "sold",
    ]
    assert facts.loc[["ml.quux.large", "z9.large"], "memory_mib"].isna().all()
    assert "eia9.large" not in facts.index
    assert merged.accelerators["accelerator_type"].tolist() == ["eia9.large"]
    assert merged.locations[["region", "location_type"]].to_numpy().tolist() == [
        ["mars-north-1", "region"],
        ["mars-north-1-oly-1", "local_zone"],
        ["us-west-2", "region"],
    ]


def test_hardware_facts_that_an_answer_does_not_state_stay() -> None:
    base = catalogue(price("inf1.xlarge", 0.228))
    known = base.instances.assign(
        memory_mib=8192.0, vcpu_count=4, processor="Intel Xeon", accelerator_kind="inferentia", accelerator_name="Inferentia",
        accelerator_count=1.0, accelerator_memory_mib=8192.0, as_of="2020-01-01", source="old",
    )  # fmt: skip
    base = replace(base, instances=known)
    types = case("DescribeInstanceTypes/older_shapes")["InstanceTypes"]
    told = read_types([types[0] | {"MemoryInfo": {}}], "answer", "2026-11-20")
    nothing: Any = price_frame([], "test")
    row = merge(base, [Answer(nothing, instances=told, as_of="2026-11-20")]).instances.iloc[0]
    assert (row["memory_mib"], row["processor"], row["accelerator_memory_mib"]) == (
        8192.0,
        "Intel Xeon",
        8192.0,
    )
    assert (row["as_of"], row["availability_as_of"]) == ("2026-11-20", "2026-11-20")


def test_an_accelerator_without_count_or_memory_is_unknown_and_does_not_break_the_refresh() -> None:
    base = catalogue(price("inf1.xlarge", 0.228))
    told = read_types(case("DescribeInstanceTypes/older_shapes")["InstanceTypes"][:1], "answer", "2026-11-20")
    nothing: Any = price_frame([], "test")
    merged = merge(base, [Answer(nothing, instances=told, as_of="2026-11-20")])
    assert merged.instances["accelerator_kind"].tolist() == [""]
    assert merged.instances["accelerator_name"].tolist() == ["Inferentia"]


def test_a_price_of_a_type_that_ec2_does_not_offer_says_so_until_it_does() -> None:
    base = catalogue(price("m5.large", 0.1, note="list"), price("ml.m5.large", 0.2), price("c5.large", 0.1))
    nothing: Any = price_frame([], "test")
    offered = [Answer(nothing, offered={"us-west-2": frozenset({"c5.large"})}, as_of="2026-11-20")]
    merged = merge(base, offered)
    notes = merged.prices.set_index("instance_type")["note"].to_dict()
    assert notes == {
        "m5.large": "list; EC2 did not offer it in this region on 2026-11-20",
        "ml.m5.large": "",
        "c5.large": "",
    }
    later = [Answer(nothing, offered={"us-west-2": frozenset({"m5.large"})}, as_of="2026-11-21")]
    again = merge(merged, later).prices.set_index("instance_type")["note"].to_dict()
    assert again == {
        "m5.large": "list",
        "ml.m5.large": "",
        "c5.large": "EC2 did not offer it in this region on 2026-11-21",
    }


def parts_of(monkeypatch: pytest.MonkeyPatch, *fetches: Callable[[], Answer]) -> Sequence[str]:
    """Put a source of these parts among the sources."""
    monkeypatch.setitem(
        SOURCES, "test", lambda _: [Part(f"region-{n}", fetch) for n, fetch in enumerate(fetches)]
    )
    return ("test",)


def answer_of(*rows: PriceRow) -> Answer:
    return Answer(price_frame(list(rows), "test"), as_of="2026-11-20")


def test_answers_come_in_the_order_of_the_parts_whichever_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    second = threading.Event()

    def slow() -> Answer:
        assert second.wait(10)
        return answer_of(price("a.large", 1.0))

    def quick() -> Answer:
        second.set()
        return answer_of(price("b.large", 2.0))

    told: list[str] = []
    answers = fetch(parts_of(monkeypatch, slow, quick), Ask(), 2, told.append)
    assert [a.prices["instance_type"].tolist() for a in answers] == [["a.large"], ["b.large"]]
    assert sorted(line.partition(" (")[0] for line in told) == [
        "test region-0: 1 prices",
        "test region-1: 1 prices",
    ]
    assert [line.partition(" (")[2] for line in told] == ["1 of 2)", "2 of 2)"]


def test_no_more_than_the_asked_number_of_regions_is_fetched_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def watched() -> Answer:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        threading.Event().wait(0.01)
        with lock:
            now[0] -= 1
        return answer_of()

    fetch(parts_of(monkeypatch, *[watched] * 8), Ask(), 3, lambda _: None)
    assert most[0] == 3


def test_every_region_that_failed_is_named_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(reason: str) -> Callable[[], Answer]:
        def fetch_it() -> Answer:
            raise PricesError(reason)

        return fetch_it

    names = parts_of(monkeypatch, failing("timed out"), answer_of, failing("timed out"), failing("HTTP 404"))
    with pytest.raises(PricesError) as error:
        fetch(names, Ask(), 2, lambda _: None)
    assert str(error.value) == (
        "3 of 4 failed, the last good prices stay: test region-0, test region-2 (timed out); test region-3 (HTTP 404)"
    )


def test_an_interrupted_refresh_stops_and_leaves_the_last_good_one(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    def interrupted() -> Answer:
        raise KeyboardInterrupt

    parts_of(monkeypatch, interrupted, answer_of)
    before = content(folder)
    with pytest.raises(KeyboardInterrupt):
        refresh(snapshot.read(folder), ("test",), Ask())
    assert content(folder) == before


def test_nothing_asked_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PricesError, match="nothing to refresh"):
        fetch(parts_of(monkeypatch), Ask(), 1, lambda _: None)


def test_broken_facts_are_never_kept_even_if_accepted(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    share = case("DescribeInstanceTypes/accelerators")["InstanceTypes"][
        3:5
    ]  # a part of an L4, and a whole T4
    share[1]["GpuInfo"]["Gpus"][0]["Name"] = "L4"
    told = read_types(share, "answer", "2026-11-20")
    nothing: Any = price_frame([], "test")
    parts_of(monkeypatch, lambda: Answer(nothing, instances=told, as_of="2026-11-20"))
    with pytest.raises(
        PricesError, match=r"broken and were not kept: g6f\.large: the memory is not the share"
    ):
        refresh(snapshot.read(folder), ("test",), Ask())


def test_refusals_of_one_type_and_reason_are_one_line() -> None:
    refused = [
        Refusal("mac1.metal", r, "sold on dedicated hardware only")
        for r in ("us-west-2", "eu-west-1", "us-east-1")
    ]
    assert grouped([*refused, Refusal("m5.large", "us-west-2", "2 SKUs remain (A, B)")]) == [
        "m5.large in us-west-2: 2 SKUs remain (A, B)",
        "mac1.metal in eu-west-1 and 2 more: sold on dedicated hardware only",
    ]


@pytest.mark.parametrize("name", list(SOURCES))
def test_every_source_reads_saved_files_and_says_when_there_are_none(name: str, tmp_path: Path) -> None:
    with pytest.raises(PricesError, match="nothing saved from"):
        SOURCES[name](Ask(saved=tmp_path))
    with pytest.raises(PricesError, match="no such folder"):
        SOURCES[name](Ask(saved=tmp_path / "missing"))


@pytest.mark.parametrize(("name", "saved"), [("api", "GetProducts/m5.large"), ("spot", "DescribeSpotPriceHistory/two_zones"), ("savings-plans-api", "DescribeSavingsPlansOfferingRates/page_1"), ("instance-types", "DescribeInstanceTypes/accelerators")])  # fmt: skip
def test_every_source_gives_checked_rows_sorted_out_by_parts(name: str, saved: str, tmp_path: Path) -> None:
    api, _, _ = saved.partition("/")
    (tmp_path / f"{api}.json").write_text(json.dumps(case(saved)))
    (part,) = SOURCES[name](Ask(saved=tmp_path))
    found = part.fetch()
    assert list(found.prices.columns) == list(Prices.to_schema().columns)
    assert (
        found.prices["source"].isin(["aws_price_list_api", "aws_spot_history", "aws_savings_plan_api"]).all()
    )


def test_the_command_knows_every_source() -> None:
    assert (*SOURCES, "all") == prices_refresh.SOURCE_NAMES
    assert set(ALL) < set(SOURCES)
    assert prices.SOURCES is SOURCES


def show(*arguments: str | Path) -> str:
    result = CliRunner().invoke(prices_refresh.diff, [str(a) for a in arguments], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.stdout


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    def written(name: str, found: Catalogue) -> Path:
        (tmp_path / name).mkdir()
        snapshot.write(found, tmp_path / name)
        return tmp_path / name

    old = catalogue(price("a.large", 1.0), price("b.large", 2.0, "eu-west-1"), price("c.large", 3.0))
    new = catalogue(price("b.large", 1.5, "eu-west-1"), price("c.large", 3.0), price("d.large", 0.25))
    return written("old", old), written("new", new)


def test_a_diff_can_be_read(two: tuple[Path, Path]) -> None:
    lines = show(*two).splitlines()
    assert lines[0] == "1 added, 1 removed, 1 moved"
    assert [" ".join(line.split()) for line in lines[3:]] == [
        "moved b.large eu-west-1 on_demand USD 2 1.5 -25.0%",
        "added d.large us-west-2 on_demand USD - 0.25",
        "removed a.large us-west-2 on_demand USD 1 -",
    ]
    assert show(*two, "--top", "1").splitlines()[-1] == "and 2 more (--top 0 shows all; --format csv, json)"
    assert show(two[0], two[0]) == "0 added, 0 removed, 0 moved\n"


def test_a_diff_as_csv_and_json_holds_the_same_rows(two: tuple[Path, Path], tmp_path: Path) -> None:
    data = json.loads(show(*two, "--format", "json"))
    assert data["schema_version"] == 1
    assert [(row["change"], row["instance_type"], row["change_fraction"]) for row in data["changes"]] == [
        ("added", "d.large", None),
        ("removed", "a.large", None),
        ("moved", "b.large", -0.25),
    ]
    show(*two, "--format", "csv", "--output", tmp_path / "diff.csv")
    table = pd.read_csv(tmp_path / "diff.csv")
    assert table["instance_type"].tolist() == ["d.large", "a.large", "b.large"]


def test_a_diff_of_what_was_never_refreshed_says_what_to_do() -> None:
    with pytest.raises(PricesError, match="there are no refreshed prices yet: run `advisor prices refresh`"):
        show("packaged", "refreshed")
