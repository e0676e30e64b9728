"""An advice as rows a chart can draw: one a candidate, each with its label, figures and words for the hover."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from advisor.advice import Advice
from advisor.reports.charts.style import KIND_WORDS
from advisor.reports.presentation import hourly, known, milliseconds, money, percentile_name, words
from advisor.reports.rows import CHOICES, choices
from advisor.text import printable


def everything(advice: Advice, columns: Sequence[str]) -> pd.DataFrame:
    """Return some columns of all candidates, the ranked first."""
    if advice.rejected.empty:
        return advice.ranked[list(columns)]
    both: list[pd.DataFrame] = [advice.ranked[list(columns)], advice.rejected[list(columns)]]
    return pd.concat(both, ignore_index=True)


def labels(frame: pd.DataFrame, among: pd.DataFrame) -> list[str]:
    """Name each row of `frame`: its option, and the choices by which the rows of that option in `among` differ."""
    near = among.loc[among["option"].isin(frame["option"]), ["option", *CHOICES]]
    different_by: dict[str, list[str]] = {option: [] for option in near["option"].unique()}
    for name in CHOICES:
        different = near[["option", name]].drop_duplicates()
        for option in different.loc[different["option"].duplicated(), "option"].unique():
            different_by[option].append(name)
    said = []
    for row in frame.to_dict("records"):
        told_apart = choices(row, different_by[row["option"]])
        said.append(printable(f"{row['option']}, {told_apart}" if told_apart else row["option"]))
    return said


def _latency(row: Mapping[Any, Any], percentile: float) -> tuple[float, str]:
    """Return the latency to draw and how it is called: the percentile, a bound of it, or the mean."""
    name = percentile_name(percentile)
    for column, said in (
        ("latency_percentile_ms", "{} {} ms"),
        ("latency_percentile_high_ms", "{} at most {} ms"),
        ("latency_percentile_low_ms", "{} at least {} ms"),
    ):
        value = row[column]
        if isinstance(value, float) and known(value):
            return value, said.format(name, milliseconds(value))
    mean = row["latency_mean_ms"]
    if isinstance(mean, float) and known(mean):
        return mean, f"mean {milliseconds(mean)} ms ({name} unknown)"
    return float("nan"), f"{name} unknown"


def points(advice: Advice, most_ranked: int, most_rejected: int) -> pd.DataFrame:
    """Return the first ranked and the nearest rejected candidates as rows to draw.

    Args:
        most_ranked: ranked candidates taken, the best first.
        most_rejected: rejected candidates taken; those with a cost and a latency come first, the cheapest first.

    Returns:
        One row a candidate: `label`, `option`, `kind_words`, `state` (recommended, qualifies, rejected), `cost_usd`,
        `cost_low_usd`, `cost_high_usd` (per 100,000 inferences), `latency_ms`, `latency_low_ms`, `latency_high_ms`,
        `price_usd_per_hour`, and the words `cost_words`, `latency_words`, `price_words`, `where`, `why`.
    """
    ranked = advice.ranked.head(most_ranked)
    rejected = advice.rejected
    if len(rejected) > most_rejected or len(rejected) > 1:
        drawable = rejected["cost_usd_per_100k"].notna() & rejected["latency_mean_ms"].notna()
        order = np.lexsort(
            (np.arange(len(rejected)), rejected["cost_usd_per_100k"].to_numpy(), ~drawable.to_numpy())
        )
        rejected = rejected.iloc[order[:most_rejected]]
    taken = pd.concat([ranked, rejected]) if len(rejected) else ranked.copy()
    among = everything(advice, ["option", *CHOICES])
    best = None if advice.recommended is None else advice.recommended.rank - 1
    rows = []
    for at, (label, row) in enumerate(zip(labels(taken, among), taken.to_dict("records"), strict=True)):
        is_ranked = at < len(ranked)
        latency, latency_words = _latency(row, advice.question.percentile)
        cost, price = row["cost_usd_per_100k"], row["price_usd_per_hour"]
        rows.append(
            {
                "label": label,
                "option": printable(row["option"]),
                "kind_words": KIND_WORDS[row["kind"]],
                "state": ("recommended" if at == best else "qualifies") if is_ranked else "rejected",
                "rank": at + 1 if is_ranked else None,
                "cost_usd": cost,
                "cost_low_usd": row["cost_low_usd_per_100k"],
                "cost_high_usd": row["cost_high_usd_per_100k"],
                "latency_ms": latency,
                "latency_low_ms": row["latency_percentile_low_ms"],
                "latency_high_ms": row["latency_percentile_high_ms"],
                "price_usd_per_hour": price,
                "cost_words": f"${money(cost)} per 100,000" if known(cost) else "cost unknown",
                "latency_words": latency_words,
                "price_words": f"${hourly(price)} an hour" if known(price) else "price unknown",
                "where": ", ".join(p for p in (row["region"], words(row["purchase_option"])) if p),
                "why": printable(row["reason"]) if not is_ranked else f"rank {at + 1}",
            }
        )
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS: Final = [
    "label", "option", "kind_words", "state", "rank", "cost_usd", "cost_low_usd", "cost_high_usd", "latency_ms",
    "latency_low_ms", "latency_high_ms", "price_usd_per_hour", "cost_words", "latency_words", "price_words", "where",
    "why",
]  # fmt: skip


def left_out(shown: int, total: int, what: str) -> str:
    """Say how many of `what` a chart leaves out, or nothing where it shows all."""
    missing = total - shown
    return f"{missing:,} more {what} left out" if missing > 0 else ""
