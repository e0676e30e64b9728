"""A candidate beside a baseline: the change of every figure with its interval."""

from math import isfinite
from typing import Any, Final

import pandas as pd

from advisor.compare import Change, Comparison
from advisor.evidence import Estimate
from advisor.reports.charts.style import SERIES, Figure, dressed, ground
from advisor.reports.presentation import milliseconds, money, number, percentile_name
from advisor.tables import percentile_of
from advisor.text import printable

_MEANINGS: Final = {
    "lower": (SERIES[0], "triangle-down"),
    "higher": (SERIES[5], "triangle-up"),
    "no significant difference": ("#8C8C8C", "circle"),
    "no interval": (SERIES[1], "square"),
}
"""What a change means -> its colour and shape."""


def figure_words(name: str) -> str:
    """Write the name of a figure with its unit."""
    percentile = percentile_of(name)
    if percentile is not None:
        return f"{percentile_name(percentile)} latency, ms"
    return {
        "latency_mean_ms": "mean latency, ms",
        "throughput_per_s": "throughput, 1/s",
        "price_usd_per_hour": "price, $ per hour",
        "cost_usd_per_100k": "cost, $ per 100,000",
    }.get(name, name.replace("_", " "))


def _shown(name: str, value: float) -> str:
    if not isfinite(value):
        return "unknown"
    if "usd" in name:
        return money(value)
    return milliseconds(value) if name.endswith("_ms") else number(value)


def interval_words(change: Estimate) -> str:
    """Write the ends of a relative change; an end that is not known is a question mark."""
    if change.low == change.high:
        return ""
    return " to ".join("?" if end is None else f"{100 * end:+.1f} %" for end in (change.low, change.high))


def changes_table(comparison: Comparison) -> pd.DataFrame:
    """Return a comparison as a table: the figure on both sides, its change, the interval, what it means."""
    rows = [
        {
            "figure": figure_words(change.figure),
            f"baseline: {printable(comparison.baseline)}": _shown(change.figure, change.baseline),
            f"candidate: {printable(comparison.candidate)}": _shown(change.figure, change.candidate),
            "change": "" if change.change is None else f"{100 * change.change.point:+.1f} %",
            "interval": "" if change.change is None else interval_words(change.change),
            "meaning": change.meaning,
        }
        for change in comparison.changes
    ]
    return pd.DataFrame(rows)


def changes(comparison: Comparison, *, dark: bool = False) -> Figure:
    """Draw the relative change of every figure that both sides have, with its interval.

    Args:
        comparison: what `advisor.compare.compare` found.
        dark: the chart stands on a dark page.
    """
    import altair as alt

    on = ground(dark)
    rows = [_row(change) for change in comparison.changes if change.change is not None]
    if not rows:
        return Figure((), "The two have no figure in common, so there is nothing to compare.")
    frame = pd.DataFrame(rows)
    meanings = [name for name in _MEANINGS if name in set(frame["meaning"])]
    legend = alt.Legend(orient="top")
    title = "change of the candidate against the baseline, %"
    y = alt.Y(
        "figure:N",
        sort=list(frame["figure"]),
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelPadding=8),
    )
    colour = alt.Color(
        "meaning:N",
        title=None,
        scale=alt.Scale(domain=meanings, range=[_MEANINGS[name][0] for name in meanings]),
        legend=legend,
    )
    shape = alt.Shape(
        "meaning:N",
        title=None,
        scale=alt.Scale(domain=meanings, range=[_MEANINGS[name][1] for name in meanings]),
        legend=legend,
    )
    reach = max(1.0, float(frame[["change_percent", "low_percent", "high_percent"]].abs().max(axis=None)))  # type: ignore[arg-type]
    x = alt.X(
        "change_percent:Q",
        title=title,
        scale=alt.Scale(domain=[-1.15 * reach, 1.75 * reach], nice=False),
        axis=alt.Axis(tickCount=8, format="+,.0f"),
    )
    tooltip = [
        alt.Tooltip("figure:N"),
        alt.Tooltip("sides:N", title="baseline, candidate"),
        alt.Tooltip("said:N", title="change"),
        alt.Tooltip("meaning:N"),
    ]
    whiskers = frame[frame["low_percent"] < frame["high_percent"]]
    layers: list[Any] = [
        alt.Chart(pd.DataFrame({"x": [0]})).mark_rule(color=on.muted).encode(x=alt.X("x:Q", title=title)),
        alt.Chart(frame)
        .mark_point(size=110, filled=True, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
        alt.Chart(frame)
        .mark_text(align="left", dx=12, fontSize=12, color=on.ink)
        .encode(x=alt.X("edge_percent:Q", title=title), y=y, text="said:N"),
    ]
    if len(whiskers):
        bars = alt.Chart(whiskers).mark_rule(strokeWidth=1.8)
        layers.insert(
            1, bars.encode(x=alt.X("low_percent:Q", title=title), x2="high_percent:Q", y=y, color=colour)
        )
    chart = alt.layer(*layers).properties(height=len(frame) * 32 + 100)
    return Figure(
        panels=(dressed(chart, dark),),
        caption=f"{printable(comparison.candidate)} against {printable(comparison.baseline)}. Whiskers: the interval of the "
        f"change at {100 * comparison.confidence:g} % confidence; without them the data gives none.",
        alt="; ".join(f"{row['figure']}: {row['said']}, {row['meaning']}" for row in rows),
    )


def _row(change: Change) -> dict[str, Any]:
    moved = change.change or Estimate(0.0)
    interval = interval_words(moved)
    low, high = (None if end is None else 100 * end for end in (moved.low, moved.high))
    return {
        "figure": figure_words(change.figure),
        "change_percent": 100 * moved.point,
        "low_percent": low,
        "high_percent": high,
        "edge_percent": max(100 * moved.point, high or 100 * moved.point),
        "said": f"{100 * moved.point:+.1f} %" + (f" ({interval})" if interval else ""),
        "sides": f"{_shown(change.figure, change.baseline)}, {_shown(change.figure, change.candidate)}",
        "meaning": change.meaning,
    }
