"""What must fit against what there is, on the host and on each device."""

from typing import Final

import pandas as pd

from advisor.advice import Advice
from advisor.reports.charts.points import everything, left_out
from advisor.reports.charts.style import DASHES, SERIES, Figure, dressed, ground
from advisor.reports.presentation import known, number
from advisor.tables import MIB_PER_GIB
from advisor.text import printable

_OPTIONS: Final = 30
_NEEDED: Final = ("memory_needed_mib", "accelerator_memory_needed_mib")
_COLUMNS: Final = ("option", *_NEEDED, "memory_mib", "accelerator_memory_mib")
_WIDEST_PERCENT: Final = 160.0


def memory(advice: Advice, *, dark: bool = False) -> Figure:
    """Draw the share of the memory that the model needs at least, per host and per device.

    Args:
        advice: the answer; each option is shown once, the ranked first.
        dark: the chart stands on a dark page.
    """
    import altair as alt

    on = ground(dark)
    options = everything(advice, _COLUMNS).drop_duplicates(["option", *_NEEDED])
    rows = []
    for row in options.head(_OPTIONS).to_dict("records"):
        for where, needed, there in (
            ("host", row["memory_needed_mib"], row["memory_mib"]),
            ("each device", row["accelerator_memory_needed_mib"], row["accelerator_memory_mib"]),
        ):
            if known(needed) and known(there):
                rows.append(
                    {
                        "option": printable(row["option"]),
                        "where": where,
                        "percent": min(100 * needed / there, _WIDEST_PERCENT),
                        "said": f"{number(needed / MIB_PER_GIB, 2)} of {number(there / MIB_PER_GIB, 2)} GiB"
                        + ("" if needed <= there else ": does not fit"),
                        "fits": needed <= there,
                    }
                )
    if not rows:
        return Figure(
            (),
            "The memory was not checked: give the model's size (440MB, 1.3GiB) among the controls, and this view shows "
            "what must fit against what there is.",
        )
    frame = pd.DataFrame(rows)
    base = alt.Chart(frame).encode(
        y=alt.Y(
            "option:N",
            sort=list(dict.fromkeys(frame["option"])),
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelPadding=8),
        ),
        yOffset=alt.YOffset("where:N", sort=["host", "each device"]),
        tooltip=[
            alt.Tooltip("option:N"),
            alt.Tooltip("where:N", title="memory of"),
            alt.Tooltip("said:N", title="needs at least"),
        ],
    )
    x = alt.X(
        "percent:Q",
        title="needed at least, % of the memory there is",
        scale=alt.Scale(domain=[0, max(130.0, float(frame["percent"].max()) * 1.25)], nice=False),
        axis=alt.Axis(values=[0, 25, 50, 75, 100, 125, 150]),
    )
    bars = base.mark_bar(cornerRadiusEnd=2).encode(
        x=x,
        color=alt.Color(
            "where:N",
            title=None,
            sort=["host", "each device"],
            scale=alt.Scale(domain=["host", "each device"], range=[SERIES[4], SERIES[0]]),
            legend=alt.Legend(orient="top"),
        ),
    )
    texts = base.mark_text(align="left", dx=5, fontSize=11, color=on.ink).encode(x=x, text="said_where:N")
    full = (
        alt.Chart(pd.DataFrame({"percent": [100]}))
        .mark_rule(color=on.rule, strokeDash=DASHES[1])
        .encode(x=alt.X("percent:Q", title=x["title"]))
    )
    layout = alt.layer(
        bars,
        texts.transform_calculate(said_where="datum.where + ': ' + datum.said"),
        full,
    ).properties(height=len(set(frame["option"])) * 46 + 90)
    said = [
        "A lower bound: model size + input size x headroom, or the measured peak where that is higher. Real use is often much higher.",
        left_out(min(len(options), _OPTIONS), len(options), "options"),
    ]
    return Figure(
        panels=(dressed(layout, dark),),
        caption=" ".join(part for part in said if part),
        alt="; ".join(f"{row['option']} {row['where']}: {row['said']}" for row in rows[:12]),
    )
