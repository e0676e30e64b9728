"""Cost and latency side by side: the classic picture of this job."""

from typing import Any, Final

import numpy as np
import pandas as pd

from advisor.advice import Advice
from advisor.reports.charts.points import left_out, points
from advisor.reports.charts.style import Figure, dressed, ground, kind_colour, kind_shape, log_ticks
from advisor.reports.presentation import percentile_name, plain

_RANKED: Final = 14
_ROWS: Final = 22
_ROW_HEIGHT: Final = 27
_AXIS_HEIGHT: Final = 52


def cost_and_latency(advice: Advice, *, dark: bool = False) -> Figure:
    """Draw the cost per 100,000 inferences as bars and, beside it, the asked percentile against the limit.

    Args:
        advice: the answer; the ranked come first in their order, then the rejected from the cheapest.
        dark: the chart stands on a dark page.
    """
    ranked = min(len(advice.ranked), _RANKED)
    rows = points(advice, ranked, _ROWS - ranked)
    rows = rows[rows["cost_usd"].notna() | rows["latency_ms"].notna()]
    total = len(advice.ranked) + len(advice.rejected)
    name = percentile_name(advice.question.percentile)
    if rows.empty:
        return Figure(
            (), "No option here has both a price and a measured latency, so there is nothing to draw."
        )
    said = [
        (
            f"Bars: price per second x mean latency, for 100,000 inferences. Points: {name}, or the nearest bound of it that is "
            "known. Filled: keeps every limit, in rank order. Hollow: rejected, the cheapest first."
        ),
        left_out(len(rows), total, "options (all are in the data)"),
    ]
    return Figure(
        panels=(_bars(rows, dark), _latencies(rows, advice, name, dark)),
        weights=(3, 2),
        caption=" ".join(part for part in said if part),
        alt=f"{len(rows)} options: cost per 100,000 inferences in dollars and {name} latency in milliseconds",
    )


def _tooltip(name: str) -> list[Any]:
    import altair as alt

    return [
        alt.Tooltip("label:N", title="option"),
        alt.Tooltip("kind_words:N", title="kind"),
        alt.Tooltip("cost_words:N", title="cost"),
        alt.Tooltip("latency_words:N", title="latency"),
        alt.Tooltip("price_words:N", title="price"),
        alt.Tooltip("where:N", title="bought"),
        alt.Tooltip("why:N", title=name),
    ]


def _rows_axis(rows: pd.DataFrame, *, labelled: bool) -> Any:
    import altair as alt

    return alt.Y(
        "label:N",
        sort=list(rows["label"]),
        title=None,
        axis=alt.Axis(labels=labelled, ticks=False, domain=False, labelPadding=8),
    )


def _height(rows: pd.DataFrame) -> int:
    return len(rows) * _ROW_HEIGHT + _AXIS_HEIGHT


def _bars(rows: pd.DataFrame, dark: bool) -> Any:
    import altair as alt

    on = ground(dark)
    kinds = list(rows["kind_words"])
    base = alt.Chart(rows).encode(y=_rows_axis(rows, labelled=True), tooltip=_tooltip("answer"))
    rejected = alt.datum.state == "rejected"
    bars = base.mark_bar(cornerRadiusEnd=3, height={"band": 0.62}).encode(
        x=alt.X(
            "cost_usd:Q",
            title="cost per 100,000 inferences, $",
            axis=alt.Axis(tickCount=5),
            scale=alt.Scale(domainMin=0, padding=0, domainMax=float(rows["cost_usd"].max()) * 1.22 or 1.0),
        ),
        fill=kind_colour(kinds, legend=False),
        stroke=kind_colour(kinds, legend=False),
        fillOpacity=alt.condition(rejected, alt.value(0.12), alt.value(1.0)),
        strokeDash=alt.condition(rejected, alt.value([4, 3]), alt.value([1, 0])),
        strokeWidth=alt.condition(rejected, alt.value(1.3), alt.value(0)),
    )
    figures = base.mark_text(align="left", dx=6, fontSize=12, color=on.ink).encode(
        x="cost_usd:Q", text="end_words:N", opacity=alt.condition(rejected, alt.value(0.8), alt.value(1.0))
    )
    chart = alt.layer(bars, figures).transform_calculate(
        end_words="replace(datum.cost_words, ' per 100,000', '') + '  ' + datum.kind_words"
    )
    return dressed(chart.properties(height=_height(rows)), dark)


def _latencies(rows: pd.DataFrame, advice: Advice, name: str, dark: bool) -> Any:
    import altair as alt

    on = ground(dark)
    kinds = list(rows["kind_words"])
    base = alt.Chart(rows).encode(y=_rows_axis(rows, labelled=False), tooltip=_tooltip("answer"))
    x = alt.X(
        "latency_ms:Q",
        title=f"{name} latency, ms (log scale)",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(values=log_ticks(*_reach(rows, advice)), format="~g"),
    )
    whiskers = (
        base.mark_rule(strokeWidth=1.6)
        .encode(
            x=alt.X("latency_low_ms:Q", title=x["title"]),
            x2="latency_high_ms:Q",
            color=kind_colour(kinds, legend=False),
        )
        .transform_filter("isValid(datum.latency_low_ms) && isValid(datum.latency_high_ms)")
    )
    dots = {"x": x, "shape": kind_shape(kinds, legend=False), "color": kind_colour(kinds, legend=False)}
    kept = base.transform_filter("datum.state != 'rejected'").mark_point(size=95, filled=True, opacity=1)
    lost = base.transform_filter("datum.state == 'rejected'").mark_point(size=95, strokeWidth=1.8, opacity=1)
    layers = [
        layer
        for layer, there in (
            (whiskers, (rows["latency_low_ms"].notna() & rows["latency_high_ms"].notna()).any()),
            (kept.encode(**dots), (rows["state"] != "rejected").any()),
            (lost.encode(**dots), (rows["state"] == "rejected").any()),
        )
        if there
    ]
    limit = advice.question.latency_limit_ms
    if limit is not None:
        mark = alt.Chart(pd.DataFrame({"limit_ms": [limit], "said": [f"limit {plain(limit)} ms"]}))
        layers = [
            mark.mark_rule(strokeDash=[6, 4], strokeWidth=1.6, color=on.rule).encode(
                x=alt.X("limit_ms:Q", title=x["title"])
            ),
            *layers,
            mark.mark_text(
                align="left", baseline="bottom", dx=5, dy=-3, fontSize=12, color=on.rule, y="height"
            ).encode(x=alt.X("limit_ms:Q", title=x["title"]), text="said:N"),
        ]
    return dressed(alt.layer(*layers).properties(height=_height(rows)), dark)


def _reach(rows: pd.DataFrame, advice: Advice) -> tuple[float, float]:
    drawn = rows[["latency_ms", "latency_low_ms", "latency_high_ms"]].assign(
        limit_ms=advice.question.latency_limit_ms
    )
    figures = drawn.to_numpy(dtype=float)
    return float(np.nanmin(figures)), float(np.nanmax(figures))
