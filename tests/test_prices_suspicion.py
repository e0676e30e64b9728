"""What is suspicious in a new price list, and what is not; and what changed between two."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.prices import snapshot, suspicion
from advisor.prices.diff import diff
from advisor.prices.sources.ask import PriceRow, Scope, price_frame
from advisor.tables import PRICE_KEY, Accelerators, Catalogue, Instances, Locations, Prices, Sources

CHANGES = Path(__file__).parent / "data" / "price_changes.csv"
NAN = float("nan")


def price(
    instance_type: str, usd: float, region: str = "us-west-2", as_of: str = "2026-11-01", **more: Any
) -> PriceRow:
    return PriceRow(
        instance_type, region, more.pop("option", "on_demand"), price_usd_per_hour=usd, as_of=as_of, **more
    )


@cache
def empty(model: Any) -> Any:
    """The table without rows."""
    return snapshot.checked(pd.DataFrame(columns=list(model.to_schema().columns)), model, "test")


def catalogue(*rows: PriceRow, sizes: dict[str, tuple[int, float]] | None = None) -> Catalogue:
    """A catalogue of price rows; `sizes` are vCPUs and GiB by type, else all is unknown."""
    types = sorted({row.instance_type for row in rows} | set(sizes or {}))
    known = sizes or {}
    instances = pd.DataFrame(
        {
            "instance_type": types,
            "vcpu_count": [known.get(t, (None, NAN))[0] for t in types],
            "memory_mib": [known.get(t, (None, NAN))[1] * 1024 for t in types],
            "accelerator_kind": ["none" if t in known else "" for t in types],
            "availability": "sold",
        }
    )
    columns = Instances.to_schema().columns
    texts = [name for name, column in columns.items() if str(column.dtype) not in {"float64", "Int64"}]
    instances = instances.reindex(columns=list(columns)).assign(**{t: instances.get(t, pd.Series("", index=instances.index)).astype("str") for t in texts})  # fmt: skip
    instances[["accelerator_count", "accelerator_memory_mib"]] = NAN
    instances["neuron_core_count"] = instances["neuron_core_count"].astype("Int64")

    return Catalogue(
        instances=snapshot.checked(instances, Instances, "test"),
        accelerators=empty(Accelerators),
        prices=snapshot.checked(snapshot.sort_prices(price_frame(list(rows), "test")), Prices, "test"),
        locations=empty(Locations),
        sources=empty(Sources),
    )


def found(old: list[PriceRow], new: list[PriceRow], *replaced: Scope, sizes: Any = None) -> list[str]:
    return suspicion.suspicious(catalogue(*old, sizes=sizes), catalogue(*new, sizes=sizes), replaced)


def history() -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    """Each recorded price with the one that followed it."""
    rows = pd.read_csv(CHANGES).sort_values(["instance_type", "region", "first_seen_on"])
    return [
        (a, b)
        for _, group in rows.groupby(["instance_type", "region"])
        for a, b in zip(group.to_dict("records"), group.to_dict("records")[1:], strict=False)
    ]


def test_the_cut_of_june_2025_is_suspicious_in_every_type_and_region() -> None:
    cut = [pair for pair in history() if not pair[0]["instance_type"].startswith("r7g")]
    old = [price(a["instance_type"], a["price_usd_per_hour"], a["region"], a["last_seen_on"]) for a, _ in cut]
    new = [
        price(b["instance_type"], b["price_usd_per_hour"], b["region"], b["first_seen_on"]) for _, b in cut
    ]
    lines = found(old, new)
    assert {line.split(" on_demand: moved -")[0] for line in lines} == {
        f"{a.instance_type} {a.region}" for a in old
    }
    assert {"p4d.24xlarge us-east-1", "p5.48xlarge us-east-1"} <= {
        " ".join(line.split()[:2]) for line in lines
    }


def test_the_tenfold_prices_of_one_week_are_suspicious_when_they_come_and_when_they_go() -> None:
    week = [pair for pair in history() if pair[0]["instance_type"].startswith("r7g")]
    wrong = [
        price(a["instance_type"], a["price_usd_per_hour"], a["region"], a["first_seen_on"]) for a, _ in week
    ]
    right = [
        price(b["instance_type"], b["price_usd_per_hour"], b["region"], b["first_seen_on"]) for _, b in week
    ]
    before = [row._replace(as_of="2025-03-17") for row in right]
    assert len(week) == 9
    assert len(found(before, wrong)) == len(found(wrong, right)) == 9
    assert not found(before, right)


def test_a_list_price_may_move_by_a_fifth_within_a_year() -> None:
    after = {
        "up.at": 120.0,
        "up.above": 120.1,
        "down.at": 80.0,
        "down.above": 79.9,
        "u7i.in2025": 88.46,
        "same.as": 100.0,
    }
    lines = found(
        [price(name, 100.0, as_of="2026-01-01") for name in after],
        [price(name, amount, as_of="2026-11-01") for name, amount in after.items()],
    )
    assert {line.split()[0] for line in lines} == {"up.above", "down.above"}


def test_any_price_may_move_threefold_over_a_longer_time() -> None:
    after = {"up.at": 300.0, "up.above": 300.1, "down.at": 100 / 3, "down.above": 33.2, "up.twice": 200.0}
    lines = found(
        [price(name, 100.0, as_of="2024-01-01") for name in after],
        [price(name, amount, as_of="2026-11-01") for name, amount in after.items()],
    )
    assert {line.split()[0] for line in lines} == {"up.above", "down.above"}


def test_a_spot_price_may_double_and_not_quadruple() -> None:
    spot = {"option": "spot", "statistic": "last", "zone": "us-west-2a"}
    (line,) = found(
        [price("a.large", 0.02, **spot), price("b.large", 0.02, **spot)],
        [price("a.large", 0.04, **spot), price("b.large", 0.08, **spot)],
    )
    assert line.startswith("b.large us-west-2 spot last us-west-2a: moved +300%")


def test_the_line_says_what_moved_from_when_to_when() -> None:
    old, new = price("m5.large", 0.1, as_of="2026-01-02"), price("m5.large", 1.0, as_of="2026-03-04")
    (line,) = found([old], [new])
    assert line == "m5.large us-west-2 on_demand: moved +900%, from 0.1 (2026-01-02) to 1 (2026-03-04)"


HERE = Scope("us-west-2", "ec2", "list")
FOUR = [price(f"m5.{n}xlarge", 0.1 * n) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(("kept", "is_suspicious"), [(0, True), (1, True), (2, False), (4, False)])
def test_a_region_may_lose_half_of_its_types_and_not_more(kept: int, is_suspicious: bool) -> None:
    lines = found(FOUR, FOUR[:kept], HERE)
    assert bool(lines) == is_suspicious
    if is_suspicious:
        assert lines == [f"us-west-2: ec2 list prices of {kept} types, where 4 had one"]


def test_a_region_that_was_not_asked_for_whole_cannot_be_empty() -> None:
    assert not found(FOUR, FOUR[:1])


def test_a_new_type_is_held_against_its_price_in_other_regions() -> None:
    elsewhere = [price("m9.large", 0.1, region) for region in ("us-east-1", "eu-west-1")]
    assert not found(elsewhere, [*elsewhere, price("m9.large", 0.3)])
    (line,) = found(elsewhere, [*elsewhere, price("m9.large", 0.31)])
    assert line == "m9.large us-west-2: 0.31 is 3.1 times the type's median over the regions"
    assert found(elsewhere, [*elsewhere, price("m9.large", 0.03)])
    two_regions = [price("m9.large", 0.1), price("m9.large", 0.55, "us-east-1")]
    assert not found([], two_regions)  # of two, no one knows which is wrong


def test_a_reserved_price_above_on_demand_is_suspicious_and_an_equal_one_is_not() -> None:
    on_demand = price("m5.large", 0.1)
    for amount, count in ((0.1, 0), (0.1001, 1)):
        reserved = price("m5.large", amount, option="reserved_1yr_no_upfront", months=12)
        assert len(found([on_demand], [on_demand, reserved])) == count


def test_a_size_out_of_line_with_its_family_is_suspicious() -> None:
    sizes = {"m5.large": (2, 8.0), "m5.xlarge": (4, 16.0), "m5.2xlarge": (8, 32.0)}
    right = [price("m5.large", 0.096), price("m5.xlarge", 0.192), price("m5.2xlarge", 0.384)]
    assert not found([], right, sizes=sizes)
    (line,) = found(right[:2], [*right[:2], price("m5.2xlarge", 0.0384)], sizes=sizes)
    assert line == "m5.2xlarge us-west-2 on_demand: 0.0384 is below the smaller m5.xlarge (0.192)"


def test_what_was_odd_before_is_not_said_again() -> None:
    odd = [price("m5.large", 0.1), price("m5.large", 0.2, option="reserved_1yr_no_upfront", months=12)]
    assert found([], odd)
    assert not found(odd, odd)


def test_what_can_never_be_accepted_is_broken() -> None:
    good = catalogue(price("m5.large", 0.1))
    without = catalogue(price("m5.large", 0.1))
    without = Catalogue(without.instances.iloc[:0], without.accelerators, without.prices, without.locations, without.sources)  # fmt: skip
    assert suspicion.broken(good, good) == []
    assert suspicion.broken(good, without) == ["m5.large: priced, but without a row of hardware facts"]
    assert suspicion.broken(without, without) == []


def test_a_diff_says_what_was_added_removed_and_moved() -> None:
    old = catalogue(
        price("a.large", 1.0), price("b.large", 2.0), price("c.large", 3.0), price("d.large", NAN)
    )
    new = catalogue(
        price("b.large", 3.0),
        price("c.large", 3.0 * (1 + 1e-12)),
        price("d.large", 4.0),
        price("e.large", 5.0),
    )
    changes = diff(old.prices, new.prices)
    assert changes[["change", "instance_type"]].to_numpy().tolist() == [
        ["added", "e.large"],
        ["removed", "a.large"],
        ["moved", "b.large"],
        ["moved", "d.large"],
    ]
    assert changes["change_fraction"].tolist() == pytest.approx([NAN, NAN, 0.5, NAN], nan_ok=True)
    assert changes["old_as_of"].tolist() == ["", "2026-11-01", "2026-11-01", "2026-11-01"]


def test_prices_in_another_currency_are_compared_in_it() -> None:
    rows = [
        PriceRow("m5.large", "cn-north-1", "on_demand", currency="CNY", price_local_per_hour=p)
        for p in (1.0, 1.5)
    ]
    (change,) = diff(catalogue(rows[0]).prices, catalogue(rows[1]).prices).to_dict("records")
    assert (change["change"], change["currency"], change["change_fraction"]) == ("moved", "CNY", 0.5)


tables = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([1.0, 2.0, 3.0]), max_size=6)


@settings(deadline=None, max_examples=10)
@given(tables, tables)
def test_a_diff_is_the_difference_of_two_tables(old: dict[str, float], new: dict[str, float]) -> None:
    frames = [price_frame([price(f"{t}.large", p) for t, p in table.items()], "test") for table in (old, new)]
    changes = diff(*frames)
    named = {
        kind: {t.removesuffix(".large") for t in group["instance_type"]}
        for kind, group in changes.groupby("change")
    }
    assert named.get("added", set()) == new.keys() - old.keys()
    assert named.get("removed", set()) == old.keys() - new.keys()
    assert named.get("moved", set()) == {t for t in old.keys() & new.keys() if old[t] != new[t]}
    assert not changes.duplicated(list(PRICE_KEY)).any()
    back = diff(*reversed(frames))
    assert len(back) == len(changes)
