"""How a report is presented: its settings, and figures written as a person reads them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas as pd

from advisor.wording import decimals, purchase_name

Per = Literal["1k", "100k", "1M"]
PER: Final[Mapping[Per, int]] = {"1k": 1_000, "100k": 100_000, "1M": 1_000_000}
"""Unit in which a cost is shown -> inferences."""

Row = Mapping[Any, Any]

words: Final = purchase_name
"""Write a code name as words: on_demand -> on demand."""


@dataclass(frozen=True)
class Presentation:
    """How an advice is shown; it changes no figure.

    Attributes:
        top: rows shown of the ranked and of the rejected; the rest is counted.
        per: inferences that a shown cost is for (JSON, CSV and the spreadsheet keep per 100,000).
        width: columns of a terminal.
        colour: the target understands colours.
    """

    top: int = 10
    per: Per = "100k"
    width: int = 100
    colour: bool = False


def known(value: Any) -> bool:
    """Whether a cell of a table holds something: not None, NaN, NA or empty text."""
    return not (
        value is None or value is pd.NA or value == "" or (isinstance(value, float) and math.isnan(value))
    )


def number(value: float, digits: int = 3) -> str:
    """Write a positive number with at least `digits` significant digits, never in powers of ten: 0.0123, 10.7, 1,234."""
    if value == 0:
        return "0"
    return f"{value:,.{max(0, decimals(value, digits))}f}"


def milliseconds(value: float, limit: float | None = None) -> str:
    """Write a latency with as many digits as it takes to stand on its own side of `limit` when read."""
    for digits in range(3, 10):
        shown = number(value, digits)
        read = float(shown.replace(",", ""))
        if limit is None or math.isclose(value, limit, rel_tol=1e-9) or (read > limit) == (value > limit):
            break
    return shown


def latency_bound(value: float, limit: float | None, least: bool) -> str:
    """Write a bound of a latency, rounded so that it stays true, on its own side of `limit` when read."""
    decimals_shown = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    for places in range(decimals_shown, decimals_shown + 7):
        scaled = value * 10**places
        rounded = (math.floor(scaled + 1e-6) if least else math.ceil(scaled - 1e-6)) / 10**places
        if limit is None or math.isclose(value, limit, rel_tol=1e-9) or (rounded > limit) == (value > limit):
            break
    return f"{rounded:,.{places}f}"


def plain(value: float) -> str:
    """Write what a person asked for as they wrote it: 15.0 -> 15, 10.5 -> 10.5."""
    return f"{value:,.10g}" if abs(value) < 1e9 else f"{value:g}"


def money(value: float) -> str:
    """Write dollars with cents, three significant digits where cents hold fewer, whole dollars from a thousand up."""
    return number(value) if abs(value) < 1 else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}"


def whole_money(value: float) -> str:
    """Write a monthly sum: whole dollars from a hundred up."""
    return f"{value:,.0f}" if abs(value) >= 100 else money(value)


def hourly(value: float) -> str:
    """Write an hourly price: four decimals, and three significant digits where those hold fewer."""
    return f"{value:,.4f}" if value >= 0.01 else number(value)


def percent(fraction: float) -> str:
    """Write a share as per cent; what is not certain never reads 0 % or 100 %."""
    shown = f"{100 * fraction:.0f}"
    if shown == "100" and fraction < 1:
        return ">99 %"
    if shown == "0" and fraction > 0:
        return "<1 %"
    return f"{shown} %"


def share(fraction: float, least: bool) -> str:
    """Write a bound of a share of requests, rounded so that it stays true."""
    scaled = 1000 * fraction
    tenths = math.floor(scaled + 1e-9) if least else math.ceil(scaled - 1e-9)
    return f"{tenths / 10:g} %"


def percentile_name(percentile: float) -> str:
    """Write a percentile: 90 -> P90, 99.9 -> P99.9."""
    return f"P{percentile:g}"


def per_words(per: Per) -> str:
    """Write the unit of a cost: per 100,000."""
    return f"per {PER[per]:,}"


def shown_cost(cost_usd_per_100k: float, per: Per) -> float:
    """Convert a cost per 100,000 inferences to the unit that is shown."""
    return cost_usd_per_100k * PER[per] / PER["100k"]


def records(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a frame as mappings, in its order."""
    return list(frame.to_dict("records"))
