"""One option everywhere it is sold: cost by region and purchase option."""

import math
from typing import Final

import pandas as pd

from advisor.advice import Advice
from advisor.reports.charts.points import everything, left_out
from advisor.reports.charts.style import MOST_MARKS, Figure, dressed, ground
from advisor.reports.presentation import hourly, known, money, words
from advisor.text import printable

_PURCHASES: Final = 9
_COLUMNS: Final = (
    "option", "region", "purchase_option", "cost_usd_per_100k", "price_usd_per_hour", "price_as_of",
)  # fmt: skip


def options(advice: Advice) -> list[str]:
    """Name the options of an answer, the ranked first."""
    names = list(advice.ranked["option"].unique()) + list(advice.rejected["option"].unique())
    return [str(name) for name in dict.fromkeys(names)]


def places(advice: Advice, option: str, *, dark: bool = False) -> Figure:
    """Draw the cost of one option in every region and purchase option of an answer.

    Args:
        advice: an answer whose question asked for several regions and purchase options.
        option: the option as shown in the answer.
        dark: the chart stands on a dark page.
    """
    import altair as alt

    on = ground(dark)
    both = everything(advice, _COLUMNS)
    mine = both[(both["option"] == option) & both["cost_usd_per_100k"].notna() & (both["region"] != "")]
    if mine.empty:
        return Figure(
            (), f"{printable(option)} has no price, or no mean latency, in any region that is known."
        )
    mine = mine.sort_values(["cost_usd_per_100k", "region", "purchase_option"], kind="stable")
    cells = mine.drop_duplicates(["region", "purchase_option"])
    purchases = [str(p) for p in cells["purchase_option"].value_counts().index[:_PURCHASES]]
    columns = ["on_demand"] * ("on_demand" in purchases) + sorted(set(purchases) - {"on_demand"})
    first = cells[cells["purchase_option"] == columns[0]]
    regions = list(dict.fromkeys([*first["region"], *cells["region"]]))
    cells = cells[cells["purchase_option"].isin(columns)]
    most_regions = MOST_MARKS // (2 * len(columns))
    shown = cells[cells["region"].isin(regions[:most_regions])]
    rows = pd.DataFrame(
        [
            {
                "region": printable(row["region"]),
                "purchase": words(printable(row["purchase_option"])),
                "cost_usd": row["cost_usd_per_100k"],
                "cost_words": f"${money(row['cost_usd_per_100k'])}",
                "price_words": f"${hourly(row['price_usd_per_hour'])} an hour"
                if known(row["price_usd_per_hour"])
                else "price unknown",
                "as_of": row["price_as_of"],
            }
            for row in shown.to_dict("records")
        ]
    )
    low, high = float(rows["cost_usd"].min()), float(rows["cost_usd"].max())
    middle = math.sqrt(low * high)
    base = alt.Chart(rows).encode(
        x=alt.X(
            "purchase:N",
            sort=[words(c) for c in columns],
            title=None,
            axis=alt.Axis(
                orient="top", labelAngle=0 if len(columns) <= 4 else -30, domain=False, ticks=False
            ),
        ),
        y=alt.Y("region:N", sort=regions, title=None, axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[
            alt.Tooltip("region:N"),
            alt.Tooltip("purchase:N", title="bought"),
            alt.Tooltip("cost_words:N", title="per 100,000"),
            alt.Tooltip("price_words:N", title="price"),
            alt.Tooltip("as_of:N", title="price of"),
        ],
    )
    tiles = base.mark_rect(cornerRadius=3, stroke=on.grid).encode(
        color=alt.Color(
            "cost_usd:Q",
            title="$ per 100,000",
            scale=alt.Scale(type="log", scheme="cividis", reverse=True),
            legend=None,
        )
    )
    texts = base.mark_text(fontSize=12).encode(
        text="cost_words:N",
        color=alt.condition(f"datum.cost_usd > {middle!r}", alt.value("#ffffff"), alt.value("#1b1b1b")),
    )
    chart = alt.layer(tiles, texts).properties(height=max(1, rows["region"].nunique()) * 24 + 120)
    said = [
        (
            f"{printable(option)}: cost per 100,000 inferences in dollars, the cheapest region first (by the first "
            "column). Empty: no price is known. Point at a cell for the price and its date."
        ),
        left_out(min(len(regions), most_regions), len(regions), "dearer regions"),
        left_out(len(columns), cells["purchase_option"].nunique(), "purchase options"),
    ]
    return Figure(
        panels=(dressed(chart, dark),),
        caption=" ".join(part for part in said if part),
        alt=f"{printable(option)} costs ${money(low)} to ${money(high)} per 100,000 inferences in "
        f"{rows['region'].nunique()} regions",
    )
