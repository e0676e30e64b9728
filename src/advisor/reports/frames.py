"""The rows behind the numbers as tables to sort, filter and take away: headings with units, text that stays text."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from advisor.advice import Advice
from advisor.candidates import age_days
from advisor.reports import sentences as say
from advisor.reports.presentation import words
from advisor.tables import Benchmarks, Catalogue, percentile_columns
from advisor.text import inert_cell

MOST_ROWS: Final = 1000
"""Rows that a page shows of a table; the CSV report holds all."""

_COMMON: Final = {
    "option": "option",
    "kind": "kind",
    "region": "region",
    "purchase_option": "bought",
    "cost_usd_per_100k": "$ per 100,000",
    "cost_low_usd_per_100k": "$ per 100,000, low",
    "cost_high_usd_per_100k": "$ per 100,000, high",
    "cost_usd_per_100k_served": "served $ per 100,000",
    "latency_percentile_ms": "{p}, ms",
    "latency_percentile_low_ms": "{p} low, ms",
    "latency_percentile_high_ms": "{p} high, ms",
    "latency_mean_ms": "mean, ms",
    "price_usd_per_hour": "$ per hour",
    "cost_usd_per_month": "$ per month",
    "probability_best": "chance of best",
    "probability_kept": "chance it is kept",
    "grade": "evidence",
    "verdict": "verdict",
    "measured": "measured",
    "memory": "memory",
    "memory_needed_mib": "host needs, MiB",
    "memory_mib": "host has, MiB",
    "accelerator_memory_needed_mib": "each device needs, MiB",
    "accelerator_memory_mib": "each device has, MiB",
    "backend": "backend",
    "precision": "precision",
    "software": "software",
    "batch_size": "batch size",
    "concurrency": "concurrency",
    "copies": "copies",
    "throughput_per_s": "throughput, 1/s",
    "sample_count": "requests",
    "run_count": "runs",
    "quality": "quality",
    "measured_on": "measured on",
    "price_as_of": "price of",
    "source": "latency source",
    "price_source": "price source",
    "note": "note",
}
_REJECTED: Final = {
    "option": "option",
    "kind": "kind",
    "region": "region",
    "purchase_option": "bought",
    "failed": "step",
    "reason": "reason",
    "value": "value",
    "limit": "limit",
    "unit": "unit",
}
_ALWAYS: Final = frozenset({"option", "kind", "region", "bought", "step", "reason"})


def ranked(advice: Advice, most: int = MOST_ROWS) -> pd.DataFrame:
    """Return the ranked options as a table; columns in which nothing is known are left out."""
    table = _named(advice.ranked.head(most), _COMMON, advice)
    table.insert(0, "rank", range(1, len(table) + 1))
    return table


def rejected(advice: Advice, most: int = MOST_ROWS) -> pd.DataFrame:
    """Return the rejected options with the step, the reason and the miss."""
    return _named(advice.rejected.head(most), {**_REJECTED, **_COMMON}, advice)


def sources(advice: Advice) -> pd.DataFrame:
    """Return what the shown figures rest on, with the age in days on the day of the question."""
    rows = [
        {
            "role": source.role,
            "source": inert_cell(source.source),
            "what it is": inert_cell(source.description),
            "as of": source.as_of,
            "age, days": age_days(advice.question.today, source.as_of),
            "rows": source.row_count,
        }
        for source in advice.sources
    ]
    return pd.DataFrame(rows, columns=["role", "source", "what it is", "as of", "age, days", "rows"])


def measurements(advice: Advice, benchmarks: Benchmarks, most: int = MOST_ROWS) -> pd.DataFrame:
    """Return the benchmark rows of the asked model and input, with every figure that was reported."""
    question, rows = advice.question, benchmarks.rows
    mine = rows[rows["model"] == question.model] if question.model is not None else rows
    if question.sequence_length is not None:
        mine = mine[(mine["sequence_length"] == question.sequence_length).fillna(False).to_numpy(bool)]
    if question.input_shape is not None:
        mine = mine[mine["input_shape"] == question.input_shape]
    names = {str(name): words(str(name)) for name in mine.columns}
    names |= {column: f"P{p:g}, ms" for p, column in percentile_columns(mine).items()}
    return _named(mine.head(most), names, advice)


def prices(advice: Advice, catalogue: Catalogue, most: int = MOST_ROWS) -> pd.DataFrame:
    """Return the price rows that the answer could use: its types in its regions and purchase options."""
    both = pd.concat([advice.ranked, advice.rejected]) if len(advice.rejected) else advice.ranked
    types = {*both["instance_type"], *both["attached_accelerator"]} - {""}
    rows = catalogue.prices
    keep = rows["instance_type"].isin(types)
    if "all" not in advice.question.region:
        keep &= rows["region"].isin(advice.question.region)
    if "all" not in advice.question.purchase:
        keep &= rows["purchase_option"].isin(advice.question.purchase)
    return _named(rows[keep].head(most), {str(name): words(str(name)) for name in rows.columns}, advice)


def unmeasured(advice: Advice) -> str:
    """Count and name the types that are sold in the asked regions and have no benchmark of this model and input."""
    return say.unmeasured(advice, shown=40) or "Every type that is sold there was measured."


def figures(table: pd.DataFrame) -> list[str]:
    """Name the columns that hold numbers with a fraction."""
    return [str(name) for name in table.columns if pd.api.types.is_float_dtype(table[name].dtype)]


def left_out(table: pd.DataFrame) -> str:
    """Say that a table is cut, where it is."""
    if len(table) < MOST_ROWS:
        return ""
    return f"The first {MOST_ROWS:,} rows; the CSV report holds every option."


def matching(table: pd.DataFrame, text: str) -> pd.DataFrame:
    """Return the rows in which some cell holds every word of `text`, whatever its case."""
    keep = pd.Series(True, index=table.index)
    for word in text.casefold().split():
        found = pd.Series(False, index=table.index)
        for column in table.columns:
            found |= table[column].astype("str").str.casefold().str.contains(word, regex=False)
        keep &= found
    return table[keep]


def _named(rows: pd.DataFrame, names: Mapping[str, str], advice: Advice) -> pd.DataFrame:
    shown: dict[str, Any] = {}
    for column, name in names.items():
        if column not in rows.columns:
            continue
        cells = rows[column]
        if pd.api.types.is_string_dtype(cells.dtype):
            cells = cells.map(inert_cell)
            empty = bool((cells == "").all())
        else:
            empty = bool(cells.isna().all())
        heading = name.replace("{p}", f"P{advice.question.percentile:g}")
        if not empty or heading in _ALWAYS:
            shown[heading] = cells
    return pd.DataFrame(shown).reset_index(drop=True)
