"""What would change the answer: the limit, or a price."""

import math
from typing import Any, Final

import pandas as pd

from advisor.advice import Advice, Switch
from advisor.reports.charts.points import labels, left_out
from advisor.reports.charts.style import KIND_WORDS, SERIES, Figure, dressed, ground, kind_colour, log_ticks
from advisor.reports.presentation import hourly, known, money, plain, words
from advisor.reports.sentences import asked_stretch, stretches
from advisor.text import printable

_STRETCHES: Final = 60
_OPTIONS: Final = 16
_NOTHING: Final = "nothing qualifies"
_LARGEST_RISE: Final = 3.0


def limit_sensitivity(advice: Advice, *, dark: bool = False) -> Figure:
    """Draw which option is recommended over each stretch of latency limits.

    Args:
        advice: the answer, with its `switches`.
        dark: the chart stands on a dark page.
    """
    import altair as alt

    limit = advice.question.latency_limit_ms
    if limit is None:
        return Figure((), "No latency limit is asked, so there is none to move.")
    if not advice.switches:
        return Figure((), "No measured option here would be recommended at any limit.")
    on = ground(dark)
    ends = [s.to_ms for s in advice.switches if s.to_ms] + [
        s.from_ms for s in advice.switches if s.from_ms > 0
    ]
    lowest, highest = min([limit, *ends]) / 1.35, max([limit, *ends]) * 1.6
    places = {(s.region, s.purchase_option) for s in advice.switches if s.option is not None}
    here = asked_stretch(advice)
    shown = _nearest(list(zip(advice.switches, stretches(advice), strict=True)), here or 0)
    rows = pd.DataFrame(
        [
            {
                "who": _who(switch, several=len(places) > 1),
                "from_ms": max(switch.from_ms, lowest),
                "to_ms": highest if switch.to_ms is None else switch.to_ms,
                "stretch": stretch,
                "cost_words": "" if switch.cost_usd_per_100k is None else f"${money(switch.cost_usd_per_100k)}",
                "asked": here is not None and switch is advice.switches[here],
                "nothing": switch.option is None,
                "late": switch.from_ms > math.sqrt(lowest * highest),
            }
            for switch, stretch in shown
        ]
    )  # fmt: skip
    rows["said"] = [
        ", ".join(filter(None, said)) for said in zip(rows["stretch"], rows["cost_words"], strict=True)
    ]
    order = list(dict.fromkeys(reversed(rows["who"].tolist())))
    y = alt.Y(
        "who:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8, grid=True)
    )
    x = alt.X(
        "from_ms:Q",
        title="latency limit, ms (log scale)",
        scale=alt.Scale(type="log", domain=[lowest, highest], nice=False),
        axis=alt.Axis(values=log_ticks(lowest, highest), format="~g", grid=False),
    )
    tooltip = [
        alt.Tooltip("who:N", title="recommended"),
        alt.Tooltip("stretch:N", title="limit"),
        alt.Tooltip("cost_words:N", title="per 100,000"),
    ]
    base = alt.Chart(rows).encode(y=y)
    bars = base.mark_bar(size=20, cornerRadius=3).encode(
        x=x,
        x2="to_ms:Q",
        color=alt.condition("datum.nothing", alt.value(on.grid), alt.value(SERIES[0])),
        opacity=alt.condition("datum.asked || datum.nothing", alt.value(1.0), alt.value(0.45)),
        tooltip=tooltip,
    )
    words_of: dict[str, Any] = {"dy": -19, "fontSize": 12, "color": on.muted}
    early = base.transform_filter("!datum.late").mark_text(align="left", dx=2, **words_of)
    late = base.transform_filter("datum.late").mark_text(align="right", dx=-2, **words_of)
    mark = alt.Chart(pd.DataFrame({"limit_ms": [limit], "said": [f"asked: {plain(limit)} ms"]}))
    chart = alt.layer(
        bars,
        early.encode(x=x, text="said:N"),
        late.encode(x=alt.X("to_ms:Q", title=x["title"]), text="said:N"),
        mark.mark_rule(strokeDash=[6, 4], strokeWidth=1.6, color=on.rule).encode(
            x=alt.X("limit_ms:Q", title=x["title"])
        ),
        mark.mark_text(
            align="left", dx=5, baseline="bottom", dy=-3, fontSize=12, color=on.rule, y="height"
        ).encode(x=alt.X("limit_ms:Q", title=x["title"]), text="said:N"),
    ).properties(height=len(order) * 58 + 66)
    said = [
        "Each bar: the limits over which that option is the recommended one, with its cost per 100,000 inferences.",
        left_out(len(shown), len(advice.switches), "stretches"),
    ]
    return Figure(
        panels=(dressed(chart, dark),),
        caption=" ".join(part for part in said if part),
        alt="; ".join(f"{row.stretch}: {row.who}" for row in rows.itertuples()),
    )


def _nearest(switches: list[tuple[Switch, str]], asked: int) -> list[tuple[Switch, str]]:
    """Keep the stretches around the asked limit."""
    first = max(0, min(asked - _STRETCHES // 2, len(switches) - _STRETCHES))
    return switches[first : first + _STRETCHES]


def _who(switch: Switch, *, several: bool) -> str:
    if switch.option is None:
        return _NOTHING
    place = f", {switch.region}, {words(switch.purchase_option)}" if several and switch.region else ""
    return printable(switch.option + place)


def price_sensitivity(advice: Advice, *, dark: bool = False) -> Figure:
    """Draw how far each hourly price would have to move, the others staying, before the first place changes hands.

    Args:
        advice: the answer.
        dark: the chart stands on a dark page.
    """
    import altair as alt

    on = ground(dark)
    first = advice.ranked.head(_OPTIONS)
    if first.empty:
        return Figure((), "Nothing qualifies, so no price can move the answer.")
    rows = []
    for at, (label, row) in enumerate(zip(labels(first, first), first.to_dict("records"), strict=True)):
        now = row["price_usd_per_hour"]
        then = row["winning_price_usd_per_hour"]
        if not (known(now) and known(then)):
            continue
        change = then / now - 1
        rows.append(
            {
                "label": label,
                "kind_words": KIND_WORDS[row["kind"]],
                "change_percent": 100 * min(change, _LARGEST_RISE),
                "said": f"{100 * change:+,.0f} % (${hourly(now)} to ${hourly(then)} an hour)",
                "what": "loses the first place" if at == 0 else "takes the first place",
            }
        )
    if not rows:
        return Figure((), "One option only qualifies: no price of another can move the answer.")
    frame = pd.DataFrame(rows)
    largest = max(5.0, math.ceil(frame["change_percent"].abs().max()))
    base = alt.Chart(frame).encode(
        y=alt.Y(
            "label:N",
            sort=list(frame["label"]),
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelPadding=8),
        ),
        tooltip=[
            alt.Tooltip("label:N", title="option"),
            alt.Tooltip("said:N", title="price"),
            alt.Tooltip("what:N", title="effect"),
        ],
    )
    x = alt.X(
        "change_percent:Q",
        title="change of its hourly price, %",
        scale=alt.Scale(domain=_room(frame, largest), nice=False),
        axis=alt.Axis(tickCount=7, format="+,.0f"),
    )
    bars = base.mark_bar(height={"band": 0.55}, cornerRadiusEnd=3).encode(
        x=x, color=kind_colour(list(frame["kind_words"]), legend=False)
    )
    rises = base.transform_filter("datum.change_percent >= 0").mark_text(
        align="left", dx=6, fontSize=12, color=on.ink
    )
    falls = base.transform_filter("datum.change_percent < 0").mark_text(
        align="left", dx=6, fontSize=12, color=on.ink
    )
    zero = (
        alt.Chart(pd.DataFrame({"x": [0]})).mark_rule(color=on.muted).encode(x=alt.X("x:Q", title=x["title"]))
    )
    chart = alt.layer(
        bars, rises.encode(x=x, text="said:N"), falls.encode(x=alt.datum(0), text="said:N"), zero
    ).properties(height=len(frame) * 32 + 62)
    said = [
        "How far a price must move, all others staying, before the first place changes hands.",
        "An option whose percentile is what holds it back does not appear: no price helps it.",
        left_out(len(first), len(advice.ranked), "qualifying options"),
    ]
    return Figure(
        panels=(dressed(chart, dark),),
        caption=" ".join(part for part in said if part),
        alt="; ".join(f"{row['label']}: {row['said']}, {row['what']}" for row in rows),
    )


def _room(frame: pd.DataFrame, largest: float) -> list[float]:
    """Leave room for the words: behind a rise, and right of zero for a fall."""
    fall = float(frame["change_percent"].min())
    rise = float(frame["change_percent"].max())
    return [min(0.0, 1.08 * fall), max(0.0, rise) + 1.1 * largest]
