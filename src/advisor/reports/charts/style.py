"""What all charts share: the palette, the two grounds they stand on, and what a chart function returns.

Colours are those of Okabe and Ito (2008, "Color Universal Design"), which stay apart for every common kind of colour
blindness; each kind also has a shape of its own and its name in words, so that colour is never the only sign.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

from advisor.tables import Kind

MOST_MARKS: Final = 500
"""Marks a chart draws at most; what is left out is said in its caption."""

KIND_WORDS: Final[dict[Kind, str]] = {
    "cpu": "CPU",
    "graviton": "Graviton",
    "gpu": "GPU",
    "inferentia": "Inferentia",
    "trainium": "Trainium",
    "attached": "Attached accelerator",
    "other": "Other",
}
_COLOURS: Final[dict[Kind, str]] = {
    "cpu": "#56B4E9",
    "graviton": "#009E73",
    "gpu": "#E69F00",
    "inferentia": "#0072B2",
    "trainium": "#D55E00",
    "attached": "#CC79A7",
    "other": "#8C8C8C",
}
_SHAPES: Final[dict[Kind, str]] = {
    "cpu": "circle",
    "graviton": "square",
    "gpu": "triangle-up",
    "inferentia": "diamond",
    "trainium": "triangle-down",
    "attached": "cross",
    "other": "triangle-right",
}
SERIES: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Colours of series that are no kinds, each with a dash of `DASHES`."""
DASHES: Final = ([1, 0], [8, 3], [3, 3], [10, 3, 2, 3], [2, 2], [6, 2, 2, 2, 2, 2])
FONT: Final = "Source Sans, Source Sans Pro, Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Ground:
    """Colours that depend on what the chart stands on."""

    ink: str
    muted: str
    rule: str
    grid: str


LIGHT: Final = Ground(ink="#2f2d2b", muted="#6b6864", rule="#b3261e", grid="#e4e2df")
DARK: Final = Ground(ink="#edebe8", muted="#a9a5a0", rule="#ff8a80", grid="#3a3733")


@dataclass(frozen=True)
class Figure:
    """A chart ready to show.

    Attributes:
        panels: altair charts that stand side by side and share their rows; empty where there is nothing to draw.
        weights: relative widths of the panels.
        caption: what is shown, in which unit, what is left out; or why nothing can be drawn.
        alt: the same in one sentence for a reader who cannot see it.
    """

    panels: tuple[Any, ...]
    caption: str
    alt: str = ""
    weights: tuple[int, ...] = (1,)


def ground(dark: bool) -> Ground:
    """Return the colours of the light or the dark page."""
    return DARK if dark else LIGHT


def kind_colour(kinds: list[str], *, legend: bool = True) -> Any:
    """Colour by kind, with those kinds in the legend that are there."""
    import altair as alt

    there = [kind for kind in KIND_WORDS if KIND_WORDS[kind] in kinds]
    return alt.Color(
        "kind_words:N",
        title=None,
        scale=alt.Scale(domain=[KIND_WORDS[k] for k in there], range=[_COLOURS[k] for k in there]),
        legend=alt.Legend(orient="top", symbolType="circle") if legend else None,
    )


def kind_shape(kinds: list[str], *, legend: bool = True) -> Any:
    """Shape by kind; with the same title and domain as `kind_colour`, so that both make one legend."""
    import altair as alt

    there = [kind for kind in KIND_WORDS if KIND_WORDS[kind] in kinds]
    return alt.Shape(
        "kind_words:N",
        title=None,
        scale=alt.Scale(domain=[KIND_WORDS[k] for k in there], range=[_SHAPES[k] for k in there]),
        legend=alt.Legend(orient="top") if legend else None,
    )


def log_ticks(low: float, high: float) -> list[float]:
    """Return the ticks 1, 2, 5, 10, ... of a logarithmic axis that stand from `low` to `high`, thinned to about ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        there = [tick for tick in ticks if low * 0.85 <= tick <= high * 1.18]
        if len(there) <= 11:
            break
    return [float(f"{tick:.12g}") for tick in there]


def dressed(chart: Any, dark: bool) -> Any:
    """Give a chart the fonts, grid and ink of the page; transparent, so that it stands on either ground."""
    import altair as alt

    on = ground(dark)
    axis = {
        "labelColor": on.muted,
        "titleColor": on.muted,
        "gridColor": on.grid,
        "domainColor": on.grid,
        "tickColor": on.grid,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 260,
    }
    return (
        chart.properties(autosize=alt.AutoSizeParams(type="fit", contains="padding"))
        .configure(background="transparent", font=FONT)
        .configure_view(stroke=None)
        .configure_point(opacity=1)
        .configure_axis(**axis)
        .configure_legend(
            labelColor=on.ink, titleColor=on.muted, labelFontSize=12, symbolSize=90, titleFontWeight="normal"
        )
        .configure_title(color=on.ink, fontSize=13, fontWeight="normal", anchor="start")
        .configure_header(labelColor=on.ink, titleColor=on.muted, labelFontSize=12)
    )
