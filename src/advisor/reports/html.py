"""The report as one HTML page: charts inside as drawings, no script, no request, everything escaped, printable."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from advisor.advice import Advice
from advisor.errors import MissingExtraError
from advisor.reports import sentences as say
from advisor.reports.keyfigures import asked, key_figures
from advisor.reports.presentation import Presentation
from advisor.reports.rows import losses, ranking_columns
from advisor.text import printable

_PANEL_WIDTH: Final = 920
_GAP: Final = 20


@dataclass(frozen=True)
class Table:
    """A table as text: headings and cells with the mark that they are numbers (aligned right)."""

    headings: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[tuple[Sequence[str], bool]]]
    first_wins: bool = False


@dataclass(frozen=True)
class Drawing:
    """A chart as SVG text that is ready to stand in a page."""

    panels: Sequence[Any]
    caption: str
    alt: str


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    title: str
    figures: Sequence[Drawing] = ()
    table: Table | None = None
    items: Sequence[str] = field(default=())
    small: str = ""


def html(advice: Advice, presentation: Presentation) -> bytes:
    """Write the report as one self-contained HTML page in UTF-8.

    Raises:
        MissingExtraError: jinja2, altair or vl-convert is not installed.
    """
    try:
        import altair  # noqa: F401
        import jinja2
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"the HTML report needs {error.name}: install the extra `dashboard` (pip install '.[dashboard]' in a checkout)"
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("advisor.reports"), autoescape=True, trim_blocks=True, keep_trailing_newline=True
    )  # fmt: skip
    page = environment.get_template("report.html").render(
        title=printable(advice.headline),
        headline=printable(advice.headline),
        bill=[printable(sentence) for sentence in say.bill(advice)],
        asked=asked(advice),
        figures=key_figures(advice, presentation),
        sections=list(_sections(advice, presentation)),
    )
    return page.encode()


def _sections(advice: Advice, presentation: Presentation) -> Iterator[Section]:
    from advisor.reports import charts

    if len(advice.ranked) or len(advice.rejected):
        yield Section(
            "Cost and latency", figures=_drawn(charts.cost_and_latency(advice)), table=_ranking(advice, presentation),
            small=" ".join(filter(None, [_more(len(advice.ranked), presentation.top, "passed"), say.legend(advice, presentation.top)])),
        )  # fmt: skip
        yield Section("Trade-off", figures=_drawn(charts.tradeoff(advice)))
    moves, reversals = say.movement(advice, presentation.per), say.reversals(advice, presentation.top)
    if moves or reversals:
        yield Section(
            "What would change the answer",
            figures=[*_drawn(charts.limit_sensitivity(advice)), *_drawn(charts.price_sensitivity(advice))],
            items=[
                printable(f"{subject}: {said}")
                for subject, said in (reversals if moves else moves + reversals)
            ],
        )
    fit = charts.memory(advice)
    if fit.panels:
        yield Section("Memory", figures=_drawn(fit))
    lost = losses(advice)
    if lost:
        yield Section(
            "Rejected",
            table=Table(
                [("option", False), ("step", False), ("reason", False)],
                [
                    [((printable(text),), False) for text in (loss.option, loss.step, loss.reason)]
                    for loss in lost[: presentation.top]
                ],
            ),
            small=_more(len(lost), presentation.top, "rejected"),
        )
    left = say.unmeasured(advice)
    notes = [note.text for note in advice.notes] + ([left] if left else [])
    if notes:
        yield Section("Notes", items=[printable(note) for note in notes])
    used = say.sources(advice)
    if used:
        yield Section("Sources", items=[printable(f"{role}: {text}") for role, text in used])


def _more(total: int, top: int, what: str) -> str:
    return f"{total - top:,} more {what}." if total > top else ""


def _ranking(advice: Advice, presentation: Presentation) -> Table | None:
    if advice.ranked.empty:
        return None
    columns = ranking_columns(advice, presentation)
    return Table(
        [(column.heading, column.number) for column in columns],
        [
            [([printable(line) for line in column.cells[at]], column.number) for column in columns]
            for at in range(len(columns[0].cells))
        ],
        first_wins=advice.recommended is not None and advice.recommended.rank == 1,
    )


def _drawn(figure: Any) -> list[Drawing]:
    import json

    from markupsafe import Markup

    if not figure.panels:
        return []
    room = _PANEL_WIDTH - _GAP * (len(figure.panels) - 1)
    svgs = [
        Markup(  # noqa: S704 - written by the chart renderer, which escapes the text it is given
            _svg(json.dumps(panel.properties(width=round(room * weight / sum(figure.weights))).to_dict()))
        )
        for panel, weight in zip(figure.panels, figure.weights, strict=True)
    ]
    return [Drawing(svgs, figure.caption, figure.alt)]


@lru_cache(maxsize=64)
def _svg(spec: str) -> str:
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return re.sub(r' aria-label="[^"]*"| aria-roledescription="[^"]*"| role="[^"]*"', "", drawn)
