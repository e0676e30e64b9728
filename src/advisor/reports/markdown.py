"""The report as Markdown (the tables of GitHub's dialect): for a pull request, a wiki or a ticket."""

import re
from collections.abc import Iterable, Iterator, Sequence

from advisor.advice import Advice
from advisor.reports import sentences as say
from advisor.reports.presentation import Presentation
from advisor.reports.rows import losses, ranking_columns
from advisor.text import printable

_SPECIAL = re.compile(r"([\\`*_\[\]|~#!$])")


def markdown(advice: Advice, presentation: Presentation) -> bytes:
    """Write the report as Markdown in UTF-8. Names cannot become markup, links, HTML or a table border."""
    return "\n".join(_blocks(advice, presentation)).encode()


def escaped(content: object) -> str:
    """Write text so that Markdown shows it as it is, on one line."""
    text = printable(re.sub(r"\s+", " ", str(content)))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SPECIAL.sub(r"\\\1", text).replace("@", "&#64;")
    return re.sub(r"(?i)\b(https?|ftp|www)([:.])", r"\1&#8203;\2", text)


def _blocks(advice: Advice, presentation: Presentation) -> Iterator[str]:
    yield f"**{escaped(advice.headline)}**\n"
    for sentence in say.bill(advice):
        yield f"{escaped(sentence)}\n"
    if len(advice.ranked):
        columns = ranking_columns(advice, presentation)
        yield from _table(
            [column.heading or "rank" for column in columns],
            [[_cell(column.cells[place]) for column in columns] for place in range(len(columns[0].cells))],
            [column.number for column in columns],
        )
        more = len(advice.ranked) - presentation.top
        if more > 0:
            yield f"{more} more passed.\n"
        legend = say.legend(advice, presentation.top)
        if legend:
            yield f"{escaped(legend)}\n"
    if len(advice.rejected):
        yield "### Rejected\n"
        lost = losses(advice)
        yield from _text_table(
            ("option", "step", "reason"),
            [(loss.option, loss.step, loss.reason) for loss in lost[: presentation.top]],
        )
        if len(lost) > presentation.top:
            yield f"{len(lost) - presentation.top} more rejected.\n"
    moves = say.movement(advice, presentation.per)
    if moves:
        yield "### The answer moves with the limit\n"
        yield from _text_table(("limit", "recommended"), moves)
    reversals = say.reversals(advice, presentation.top)
    if reversals:
        yield "### What would change it\n"
        yield from _text_table(("option", "when"), reversals)
    notes = say.notes(advice)
    if notes:
        yield "### Notes\n"
        yield "\n".join(f"- {escaped(note)}" for note in notes) + "\n"
    used = say.sources(advice)
    if used:
        yield "### Sources\n"
        yield "\n".join(f"- {escaped(role)}: {escaped(text)}" for role, text in used) + "\n"


def _cell(lines: Sequence[str]) -> str:
    return escaped(lines[0]) + "".join(f" ({escaped(line)})" for line in lines[1:])


def _text_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    return _table(headings, [[escaped(cell) for cell in row] for row in rows], [False] * len(headings))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    yield f"| {' | '.join(escaped(heading) for heading in headings)} |"
    yield f"|{'|'.join('---:' if number else '---' for number in right)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
