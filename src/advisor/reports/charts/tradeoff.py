"""Latency against cost, with the front of options that nothing beats on both."""

from typing import Any, Final

import numpy as np
import pandas as pd

from advisor.advice import Advice
from advisor.arrays import BoolArray, FloatArray
from advisor.reports.charts.points import left_out, points
from advisor.reports.charts.style import Figure, dressed, ground, kind_colour, kind_shape, log_ticks
from advisor.reports.presentation import percentile_name, plain

_RANKED: Final = 70
_REJECTED: Final = 50
_LABELLED: Final = 8
_HEIGHT: Final = 430


def pareto_front(latency_ms: FloatArray, cost_usd: FloatArray) -> BoolArray:
    """Mark the points that no other point beats: none is at most as slow and at most as dear, and better in one.

    Args:
        latency_ms: shape (n,); NaN is never on the front.
        cost_usd: shape (n,); NaN is never on the front.

    Returns:
        Shape (n,); of equal points all are on the front.
    """
    on_front = np.zeros(len(latency_ms), dtype=bool)
    order = np.lexsort((cost_usd, latency_ms))
    best_cost, best_latency = np.inf, np.nan
    for at in order:
        if np.isnan(latency_ms[at]) or np.isnan(cost_usd[at]):
            continue
        if cost_usd[at] < best_cost or (cost_usd[at] == best_cost and latency_ms[at] == best_latency):
            on_front[at] = True
            best_cost, best_latency = cost_usd[at], latency_ms[at]
    return on_front


def tradeoff(advice: Advice, *, dark: bool = False) -> Figure:
    """Draw every option at its latency and cost; whiskers are intervals, hollow ones are rejected.

    Args:
        advice: the answer.
        dark: the chart stands on a dark page.
    """
    import altair as alt

    on = ground(dark)
    rows = points(advice, _RANKED, _REJECTED)
    rows = rows[rows["cost_usd"].notna() & rows["latency_ms"].notna()].reset_index(drop=True)
    total = len(advice.ranked) + len(advice.rejected)
    name = percentile_name(advice.question.percentile)
    if rows.empty:
        return Figure((), "No option here has both a cost and a latency, so there is no trade-off to draw.")
    rows["on_front"] = pareto_front(rows["latency_ms"].to_numpy(float), rows["cost_usd"].to_numpy(float))
    rows["said"] = _named(rows)
    kinds = list(rows["kind_words"])
    tooltip = [
        alt.Tooltip("label:N", title="option"),
        alt.Tooltip("kind_words:N", title="kind"),
        alt.Tooltip("latency_words:N", title="latency"),
        alt.Tooltip("cost_words:N", title="cost"),
        alt.Tooltip("price_words:N", title="price"),
        alt.Tooltip("where:N", title="bought"),
        alt.Tooltip("why:N", title="answer"),
    ]
    x = alt.X(
        "latency_ms:Q",
        title=f"{name} latency, ms (log scale)",
        scale=alt.Scale(type="log", nice=False, padding=34),
        axis=alt.Axis(
            values=log_ticks(*_reach(rows, "latency_ms", advice.question.latency_limit_ms)), format="~g"
        ),
    )
    y = alt.Y(
        "cost_usd:Q",
        title="cost per 100,000 inferences, $ (log scale)",
        scale=alt.Scale(type="log", nice=False, padding=24),
        axis=alt.Axis(values=log_ticks(*_reach(rows, "cost_usd", None)), format="~g"),
    )
    colour = kind_colour(kinds)
    front = alt.Chart(rows[rows["on_front"]]).mark_line(
        interpolate="step-after", strokeWidth=1.5, strokeDash=[2, 3], color=on.muted
    )
    point = {"x": x, "y": y, "color": colour, "shape": kind_shape(kinds), "tooltip": tooltip}
    rejected = rows["state"] == "rejected"
    latency_known = rows["latency_low_ms"].notna() & rows["latency_high_ms"].notna()
    cost_known = rows["cost_low_usd"].notna() & rows["cost_high_usd"].notna()
    layers: list[Any] = [
        front.encode(x=x, y=y, order="latency_ms:Q"),
        alt.Chart(rows[latency_known])
        .mark_rule(strokeWidth=1.4, opacity=0.8)
        .encode(x=alt.X("latency_low_ms:Q", title=x["title"]), x2="latency_high_ms:Q", y=y, color=colour),
        alt.Chart(rows[cost_known])
        .mark_rule(strokeWidth=1.4, opacity=0.8)
        .encode(x=x, y=alt.Y("cost_low_usd:Q", title=y["title"]), y2="cost_high_usd:Q", color=colour),
        alt.Chart(rows[~rejected]).mark_point(size=120, filled=True, opacity=1).encode(**point),
        alt.Chart(rows[rejected]).mark_point(size=120, strokeWidth=1.8, opacity=1).encode(**point),
        alt.Chart(rows[rows["said"] != ""])
        .mark_text(align="left", dx=10, dy=-10, fontSize=12, color=on.ink)
        .encode(x=x, y=y, text="said:N"),
    ]
    layers = [layer for layer in layers if len(layer.data)]
    limit = advice.question.latency_limit_ms
    if limit is not None:
        mark = alt.Chart(pd.DataFrame({"limit_ms": [limit], "said": [f"limit {plain(limit)} ms"]}))
        layers = [
            mark.mark_rule(strokeDash=[6, 4], strokeWidth=1.6, color=on.rule).encode(
                x=alt.X("limit_ms:Q", title=x["title"])
            ),
            mark.mark_text(align="left", baseline="top", dx=6, dy=4, fontSize=12, color=on.rule, y=0).encode(
                x="limit_ms:Q", text="said:N"
            ),
            *layers,
        ]
    chart = alt.layer(*layers).properties(height=_HEIGHT)
    said = [
        (
            "Lower left is better. Dotted: the front, where nothing else is both faster and cheaper. Whiskers: intervals, where the "
            "data gives them. Hollow: rejected; point at one for the reason."
        ),
        left_out(len(rows), total, "options (or without a cost or a latency)"),
    ]
    return Figure(
        panels=(dressed(chart, dark),),
        caption=" ".join(part for part in said if part),
        alt=f"{len(rows)} options by {name} latency and cost per 100,000 inferences; "
        f"on the front: {', '.join(rows.loc[rows['on_front'], 'label'].head(_LABELLED))}",
    )


def _named(rows: pd.DataFrame) -> list[str]:
    """Name the recommended option and those on the front, or all where they are few."""
    few = len(rows) <= _LABELLED
    named: list[str] = []
    for label, state, front in zip(rows["label"], rows["state"], rows["on_front"], strict=True):
        wanted = few or state == "recommended" or (front and sum(map(bool, named)) < _LABELLED)
        named.append(str(label) if wanted else "")
    return named


def _reach(rows: pd.DataFrame, column: str, limit: float | None) -> tuple[float, float]:
    drawn = rows[[column]].assign(limit=limit)
    figures = drawn.to_numpy(dtype=float)
    return float(np.nanmin(figures)), float(np.nanmax(figures))
