"""The report as one HTML page: charts inside as drawings, no script, no request, everything escaped, printable."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from advisor.advice import Advice
from advisor.errors import MissingExtraError
from advisor.reports import presentation as say
from advisor.reports.presentation import Presentation
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


def asked(advice: Advice) -> str:
    """Write the question in one sentence: what is served, under which promise, bought where."""
    question = advice.question
    what = [str(question.model or "the only model")]
    if question.sequence_length is not None:
        what.append(f"{question.sequence_length} tokens")
    if question.input_shape:
        what.append(f"input {question.input_shape}")
    if question.latency_limit_ms is None:
        what.append("no latency limit")
    else:
        what.append(
            f"{say.percentile_name(question.percentile)} within {say.plain(question.latency_limit_ms)} ms"
        )
    what.append(", ".join(question.region))
    what.append(", ".join(map(say.words, question.purchase)))
    what.append(f"lowest {say.words(question.objective.replace('-', ' '))} first")
    what.append(f"as of {question.today.isoformat()}")
    return printable("; ".join(what))


def key_figures(advice: Advice, presentation: Presentation) -> list[tuple[str, str, str]]:
    """Return what matters of the recommended option: name, figure and what belongs to it."""
    best = advice.recommended
    if best is None:
        return []
    question = advice.question
    row = say.records(advice.ranked.iloc[best.rank - 1 : best.rank])[0]
    percentile = say.percentile_cell(row, question.latency_limit_ms)
    limit = (
        "no limit asked"
        if question.latency_limit_ms is None
        else f"limit {say.plain(question.latency_limit_ms)} ms"
    )
    cost = best.cost_usd_per_100k
    factor = say.shown_cost(1.0, presentation.per)
    interval = say.interval_line(cost.low, cost.high, lambda usd: f"${say.money(usd * factor)}")
    evidence = say.evidence_cell(row)[0]
    return [
        ("Option", printable(best.option), say.place(best)),
        (
            f"Cost {say.per_words(presentation.per)}",
            f"${say.money(cost.point * factor)}",
            f"interval {interval[0]}" if interval else "no interval: one figure only",
        ),
        (
            f"{say.percentile_name(question.percentile)} latency",
            f"{percentile[0]} ms" if percentile[0] != "unknown" else "unknown",
            "; ".join([limit, *(f"interval {line} ms" for line in percentile[1:])]),
        ),
        (
            "Chance of being the best",
            "unknown" if best.probability_best is None else say.percent(best.probability_best),
            f"evidence {evidence}",
        ),
    ]  # fmt: skip


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
    losses = say.losses(advice)
    if losses:
        yield Section(
            "Rejected",
            table=Table(
                [("option", False), ("step", False), ("reason", False)],
                [
                    [((printable(text),), False) for text in (loss.option, loss.step, loss.reason)]
                    for loss in losses[: presentation.top]
                ],
            ),
            small=_more(len(losses), presentation.top, "rejected"),
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
    columns = say.ranking_columns(advice, presentation)
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
