"""What must hold of every catalogue before it is trusted. Each rule is one function that returns problems, one line each."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pandas as pd

from advisor.tables import PRICE_KEY, Catalogue

OUT_OF_LINE_RATIO: Final = 10.0
"""A price per vCPU this many times its family's median, or this many times under the type's own median elsewhere, is a mistake:
AWS listed r7g in us-gov-west-1 ten times too high in the week of 2025-03-24, and a reader of its list had p4d at a thousandth."""

_BUYING: Final = ["region", "purchase_option", "statistic", "zone", "currency"]


def check(catalogue: Catalogue) -> list[str]:
    """Return what is wrong with a catalogue, one line a problem, or nothing.

    The rules: prices are above 0; keys are there once; every priced type has a row of hardware facts (which may say that all
    is unknown); a part of a GPU is one device with its share of the memory; a commitment costs no more than on demand, whatever the
    dates of the two facts; within a family a size with at least as many vCPUs and as much memory, and as many accelerators,
    is not cheaper; no list price per vCPU is ten times its family's median, and none a tenth of the type's median elsewhere.
    Spot and `custom` prices are only held to the first three.
    """
    return [problem for rule in RULES for problem in rule(catalogue)]


def prices_are_positive(catalogue: Catalogue) -> list[str]:
    """Every known price is above 0; unknown is NaN."""
    prices = catalogue.prices
    wrong = prices[(prices["price_usd_per_hour"] <= 0) | (prices["price_local_per_hour"] <= 0)]
    return [f"{_name(row)}: the price is not above 0" for row in wrong.to_dict("records")]


def keys_are_unique(catalogue: Catalogue) -> list[str]:
    """No fact is there twice."""
    prices = catalogue.prices
    twice = prices[prices.duplicated(list(PRICE_KEY))]
    problems = [f"{_name(row)}: priced twice" for row in twice.to_dict("records")]
    for frame, key in (
        (catalogue.instances, "instance_type"),
        (catalogue.accelerators, "accelerator_type"),
        (catalogue.locations, "region"),
        (catalogue.sources, "source"),
    ):
        problems += [
            f"{name}: there twice in the table keyed by {key}"
            for name in frame.loc[frame.duplicated(key), key]
        ]
    return problems


def priced_types_are_known(catalogue: Catalogue) -> list[str]:
    """Every priced type has hardware facts, or a row that says they are unknown."""
    known = {*catalogue.instances["instance_type"], *catalogue.accelerators["accelerator_type"]}
    missing = sorted(set(catalogue.prices["instance_type"]) - known)
    return [f"{name}: priced, but without a row of hardware facts" for name in missing]


def devices_are_whole_or_one_part(catalogue: Catalogue) -> list[str]:
    """An accelerator count is a whole number, or a part of one device with that share of its memory; `none` has none."""
    facts = catalogue.instances
    count, memory, kind = (
        facts["accelerator_count"],
        facts["accelerator_memory_mib"],
        facts["accelerator_kind"],
    )
    has = ~kind.isin(["none", ""])
    part = count < 1
    whole = facts[has & ~part].groupby("accelerator_name")["accelerator_memory_mib"].max()
    share = facts["accelerator_name"].map(whole).astype("float64") * count
    return [
        f"{facts['instance_type'].loc[row]}: {problem}"
        for broken, problem in (
            (
                (kind == "none") & (count.notna() | memory.notna()),
                "has no accelerator, and a count or memory of one",
            ),
            (has & (count.isna() | memory.isna()), "has an accelerator without a count or memory"),
            ((count > 1) & (count % 1 != 0), "has neither whole accelerators nor a part of one"),
            (
                part & ((memory - share).abs() > 0.01 * share),
                "the memory is not the share that the count says",
            ),
        )
        for row in facts.index[broken]
    ]


def commitments_cost_no_more(catalogue: Catalogue) -> list[str]:
    """A reservation or savings plan costs no more an hour than on demand in the same region and currency."""
    prices = catalogue.prices
    committed = prices[prices["purchase_option"].str.contains(r"^reserved_|savings_plan", regex=True)]
    on_demand = prices[(prices["purchase_option"] == "on_demand") & (prices["statistic"] == "list")]
    both = committed.merge(
        on_demand, on=["instance_type", "region", "zone", "currency"], suffixes=("", "_on_demand")
    )
    problems = []
    for column in ("price_usd_per_hour", "price_local_per_hour"):
        dearer = both[both[column] > both[f"{column}_on_demand"] * (1 + 1e-9)]
        problems += [
            f"{_name(row)}: {row[column]:g} is above on demand ({row[f'{column}_on_demand']:g})"
            for row in dearer.to_dict("records")
        ]
    return problems


def bigger_sizes_cost_no_less(catalogue: Catalogue) -> list[str]:
    """Within a family and an equal number of accelerators, a size that is at least as big in vCPUs and memory is not cheaper."""
    rows = _listed(catalogue)[
        ["instance_type", "family", *_BUYING, "vcpu", "memory_mib", "accelerators", "price"]
    ]
    pairs = rows.merge(rows, on=["family", "accelerators", *_BUYING], suffixes=("", "_smaller"))
    bigger = (pairs["vcpu"] >= pairs["vcpu_smaller"]) & (pairs["memory_mib"] >= pairs["memory_mib_smaller"])
    cheaper = pairs[bigger & (pairs["price"] < pairs["price_smaller"] * (1 - 1e-9))]
    cheaper = cheaper.sort_values("price_smaller").drop_duplicates(["instance_type", *_BUYING], keep="last")
    cheaper = cheaper[
        (cheaper["vcpu"] > cheaper["vcpu_smaller"]) | (cheaper["memory_mib"] > cheaper["memory_mib_smaller"])
    ]
    return [
        f"{_name(row)}: {row['price']:g} is below the smaller {row['instance_type_smaller']} ({row['price_smaller']:g})"
        for row in cheaper.sort_values(["instance_type", *_BUYING]).to_dict("records")
    ]


def prices_are_in_line(catalogue: Catalogue) -> list[str]:
    """No price per vCPU is ten times its family's median, and none a tenth of the type's own median over the regions."""
    rows = _listed(catalogue)
    same = ["purchase_option", "statistic", "currency"]
    a_vcpu = rows["price"] / rows["vcpu"]
    over_family = a_vcpu / a_vcpu.groupby([rows[name] for name in ("family", *same)]).transform("median")
    of_itself = rows["price"] / rows.groupby(["instance_type", *same])["price"].transform("median")
    high = rows.assign(ratio=over_family)[over_family >= OUT_OF_LINE_RATIO]
    low = rows.assign(ratio=1 / of_itself)[of_itself <= 1 / OUT_OF_LINE_RATIO]
    return [
        *(
            f"{_name(row)}: {row['price']:g} is {row['ratio']:.1f} times the family's price per vCPU"
            for row in high.to_dict("records")
        ),
        *(
            f"{_name(row)}: {row['price']:g} is {row['ratio']:.0f} times below the type's price elsewhere"
            for row in low.to_dict("records")
        ),
    ]


RULES: Final[tuple[Callable[[Catalogue], list[str]], ...]] = (
    prices_are_positive,
    keys_are_unique,
    priced_types_are_known,
    devices_are_whole_or_one_part,
    commitments_cost_no_more,
    bigger_sizes_cost_no_less,
    prices_are_in_line,
)


def _listed(catalogue: Catalogue) -> pd.DataFrame:
    """The list prices and commitments with the facts that sizes are compared by; `price` is in the row's own currency."""
    prices = catalogue.prices
    prices = prices[~prices["purchase_option"].isin(["spot", "custom", "capacity_block"])]
    facts = catalogue.instances[
        ["instance_type", "vcpu_count", "memory_mib", "accelerator_count"]
    ].drop_duplicates("instance_type")
    rows = prices.merge(facts, on="instance_type")
    return rows.assign(
        family=rows["instance_type"].str.rsplit(".", n=1).str[0],
        vcpu=rows["vcpu_count"].astype("float64"),
        accelerators=rows["accelerator_count"].fillna(0.0),
        price=rows["price_usd_per_hour"].where(rows["currency"] == "USD", rows["price_local_per_hour"]),
    ).reset_index(drop=True)


def _name(row: Mapping[Any, Any]) -> str:
    """The key of a price row, without what is usual."""
    return " ".join(str(row[name]) for name in PRICE_KEY if row[name] not in {"", "list", "USD"})
