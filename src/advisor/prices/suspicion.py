"""What a new price list says that AWS rarely does: each is a line for a person to look at before it is believed.

AWS is itself wrong at times: r7g in us-gov-west-1 was listed ten times too high for one week of March 2025. A refresh that
holds such a line is kept only when it is accepted by hand.
"""

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.prices import integrity
from advisor.prices.diff import Changes, diff
from advisor.prices.sources.ask import Scope, scopes
from advisor.tables import PRICE_KEY, Catalogue

MOVED_RATIO: Final = 3.0
LIST_MOVED_FRACTION: Final = 0.20
"""List prices hardly move: of all changes on demand between 2022-07 and 2026-08 in three regions, those by over a fifth are
the cut of p4d, p4de, p5 and p5en in June 2025 and one mistake."""
LIST_MEMORY_DAYS: Final = 366
SHRUNK_FRACTION: Final = 0.5
OUT_OF_LINE_RATIO: Final = 3.0
"""A type's price in one region against its median over the regions. In November 2025 these lay between 0.52 and 1.79."""
LEAST_REGIONS: Final = 3

PLAUSIBLE: Final = (
    integrity.commitments_cost_no_more,
    integrity.bigger_sizes_cost_no_less,
    integrity.prices_are_in_line,
)
"""Rules of integrity that AWS itself may break: they can be accepted. All others cannot."""


def broken(old: Catalogue, new: Catalogue) -> list[str]:
    """Return what no one may accept: integrity problems of the new catalogue that the old one did not have."""
    rules = [rule for rule in integrity.RULES if rule not in PLAUSIBLE]
    return [problem for rule in rules for problem in _new(rule(old), rule(new))]


def suspicious(old: Catalogue, new: Catalogue, replaced: Collection[Scope]) -> list[str]:
    """Return what needs to be accepted by hand, one line each.

    A price that moved over 3 x; a list price that moved by over a fifth within a year; a region that is empty or lost over half of
    its types; a new price over 3 x off the type's median over the regions; a commitment above on demand, a bigger size below
    a smaller one, a price out of line with its family.

    Args:
        old: the last good catalogue.
        new: the one that would replace it.
        replaced: what was asked for whole.
    """
    changes = diff(old.prices, new.prices)
    lines = _emptied(old, new, replaced) + _moved(changes) + _off_the_regions(changes, new)
    for rule in PLAUSIBLE:
        lines += _new(rule(old), rule(new))
    return lines


def _new(before: list[str], after: list[str]) -> list[str]:
    known = set(before)
    return [line for line in after if line not in known]


def _emptied(old: Catalogue, new: Catalogue, replaced: Collection[Scope]) -> list[str]:
    before, after = (_priced_types(catalogue) for catalogue in (old, new))
    lines = []
    for scope in sorted(replaced):
        name = "|".join(scope)
        had, has = int(before.get(name, 0)), int(after.get(name, 0))
        if had and has < had * SHRUNK_FRACTION:
            kind = f"{scope.product} {scope.group.replace('_', ' ')}"
            lines.append(f"{scope.region}: {kind} prices of {has} types, where {had} had one")
    return lines


def _priced_types(catalogue: Catalogue) -> "pd.Series[int]":
    """Types with a known price by scope; a capacity block has none."""
    prices = catalogue.prices
    known = prices[prices[["price_usd_per_hour", "price_local_per_hour"]].notna().any(axis=1)]
    return known.groupby(scopes(known))["instance_type"].nunique()


def _moved(changes: DataFrame[Changes]) -> list[str]:
    ratio = changes["new_price_per_hour"] / changes["old_price_per_hour"]
    far = (ratio > MOVED_RATIO) | (ratio < 1 / MOVED_RATIO)
    days = pd.to_datetime(changes["new_as_of"], errors="coerce") - pd.to_datetime(
        changes["old_as_of"], errors="coerce"
    )
    listed = changes["purchase_option"].eq("on_demand") & changes["statistic"].eq("list")
    soon = days.abs() <= pd.Timedelta(days=LIST_MEMORY_DAYS)
    by_a_fifth = listed & soon & ((ratio - 1).abs() > LIST_MOVED_FRACTION)
    return [_line(row) for row in changes[far | by_a_fifth].to_dict("records")]


def _line(row: Mapping[Hashable, Any]) -> str:
    name = " ".join(str(row[part]) for part in PRICE_KEY if row[part] not in {"", "list", "USD"})
    return (
        f"{name}: moved {row['change_fraction']:+.0%}, from {row['old_price_per_hour']:g} ({row['old_as_of']}) "
        f"to {row['new_price_per_hour']:g} ({row['new_as_of']})"
    )


def _off_the_regions(changes: DataFrame[Changes], new: Catalogue) -> list[str]:
    """Types that are new in a region have no price before: they are held against the type's price elsewhere."""
    listed = new.prices[new.prices["purchase_option"].eq("on_demand") & new.prices["currency"].eq("USD")]
    by_type = listed.groupby("instance_type")["price_usd_per_hour"]
    ratio = listed["price_usd_per_hour"] / by_type.transform("median")
    off = ((ratio > OUT_OF_LINE_RATIO) | (ratio < 1 / OUT_OF_LINE_RATIO)) & (
        by_type.transform("count") >= LEAST_REGIONS
    )
    added = pd.MultiIndex.from_frame(changes.loc[changes["change"] == "added", list(PRICE_KEY)])
    fresh = np.asarray(pd.MultiIndex.from_frame(listed[list(PRICE_KEY)]).isin(added))
    return [
        f"{row['instance_type']} {row['region']}: {row['price_usd_per_hour']:g} is {row['ratio']:.2g} times the type's "
        "median over the regions"
        for row in listed.assign(ratio=ratio)[off & fresh].to_dict("records")
    ]
