"""The report for a terminal: plain text, or coloured where the terminal understands it."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from rich.cells import cell_len, chop_cells

from advisor.advice import Advice
from advisor.reports import sentences as say
from advisor.reports.presentation import Presentation
from advisor.reports.rows import Cell, Column, Loss, losses, ranking_columns
from advisor.text import printable

Span = tuple[str, str]
"""Text and its style, in rich's words; no style where it is empty."""
Line = list[Span]

_LEAST_WIDTH: Final = 60
_GAP: Final = "  "
_INDENT: Final = 3
_OPTION_WIDTH: Final = 36
_OPTION_LEAST: Final = 16
_NAME_WIDTH: Final = 30
_SACRIFICED: Final = ("served", "month", "best", "mean", "price", "keeps")
"""Columns given up on a narrow terminal, the first one first."""


def terminal(advice: Advice, presentation: Presentation) -> bytes:
    """Write the report as UTF-8 text that fits `presentation.width` columns (never fewer than 60)."""
    width = max(_LEAST_WIDTH, presentation.width)
    lines = list(_report(advice, presentation, width))
    if presentation.colour:
        return _coloured(lines, width)
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines).encode()


def _coloured(lines: Sequence[Line], width: int) -> bytes:
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        height=100,
        color_system="standard",
        force_terminal=True,
        no_color=False,
        legacy_windows=False,
    )
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)
    return out.getvalue().encode()


def _report(advice: Advice, presentation: Presentation, width: int) -> Iterator[Line]:
    yield from _paragraph(advice.headline, width, "bold green" if advice.recommended else "bold yellow")
    for sentence in say.bill(advice):
        yield from _paragraph(sentence, width)
    if len(advice.ranked):
        yield []
        yield from _ranking(advice, presentation, width)
    lost = losses(advice)
    shown = lost[: presentation.top]
    yield from _section("rejected", [(loss.option, loss.step, loss.reason) for loss in shown], width)
    if len(lost) > len(shown):
        yield from _remark(_rest(lost[len(shown) :], len(lost)), width)
    moves = say.movement(advice, presentation.per)
    yield from _section("the answer moves with the limit", moves, width)
    yield from _section("what would change it", say.reversals(advice, presentation.top), width)
    yield from _section("notes", [("-", note) for note in say.notes(advice)], width)
    yield from _section("sources", say.sources(advice), width)


def _rest(lost: Sequence[Loss], total: int) -> str:
    counts = Counter(loss.step for loss in lost)
    said = ", ".join(f"{count} {step}" for step, count in counts.items())
    return f"{len(lost)} more rejected ({said}): show them with --top {total}"


# -------------------------------------------------------------------------------------------------- layout


def _wrapped(content: object, width: int) -> list[str]:
    """Break text between words; a word that is wider than a line is broken where the line ends."""
    lines = [""]
    for word in printable(content).split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        pieces = [word] if cell_len(word) <= width else list(chop_cells(word, width))
        lines[-1:] = [lines[-1], *pieces] if lines[-1] else pieces
    return lines


def _paragraph(content: object, width: int, style: str = "") -> Iterator[Line]:
    for line in _wrapped(content, width):
        yield [(line, style)]


def _remark(content: str, width: int) -> Iterator[Line]:
    for line in _wrapped(content, width - _INDENT):
        yield [(" " * _INDENT, ""), (line, "dim")]


def _section(title: str, rows: Sequence[tuple[str, ...]], width: int) -> Iterator[Line]:
    """A heading and rows below it, the last cell wrapped with a hanging indent; nothing without rows."""
    if not rows:
        return
    yield []
    yield [(title, "bold")]
    widths = [
        min(_NAME_WIDTH, max(cell_len(printable(cell)) for cell in cells))
        for cells in list(zip(*rows, strict=True))[:-1]
    ]
    widths.append(width - _INDENT - sum(widths) - len(_GAP) * len(widths))
    for row in rows:
        cells = [
            [(line, "") for line in _wrapped(cell, wide)] for cell, wide in zip(row, widths, strict=True)
        ]
        for line in _side_by_side(cells, widths, [False] * len(widths)):
            yield [(" " * _INDENT, ""), *line]


def _side_by_side(
    cells: Sequence[Sequence[Span]], widths: Sequence[int], right: Sequence[bool]
) -> Iterator[Line]:
    for parts in zip_longest(*cells, fillvalue=("", "")):
        line: Line = []
        for (text, style), width, number in zip(parts, widths, right, strict=True):
            padding = (" " * (width - cell_len(text)), "")
            line += [padding, (text, style)] if number else [(text, style), padding]
            line.append((_GAP, ""))
        yield line[:-1]


# ------------------------------------------------------------------------------------------------- ranking


def _ranking(advice: Advice, presentation: Presentation, width: int) -> Iterator[Line]:
    columns, left_out = _fitting(ranking_columns(advice, presentation), width)
    others = sum(_width(column) + len(_GAP) for column in columns if column.name != "option")
    free = max(_OPTION_LEAST, min(_OPTION_WIDTH, width - others))
    columns = [_folded(column, free) if column.name == "option" else column for column in columns]
    widths = [_width(column) for column in columns]
    right = [column.number for column in columns]
    yield from _side_by_side([[(printable(column.heading), "dim")] for column in columns], widths, right)
    best = advice.recommended.rank if advice.recommended else 0
    for place in range(len(columns[0].cells)):
        cells = [_spans(column, place, place + 1 == best) for column in columns]
        yield from _side_by_side(cells, widths, right)
    yield []
    more = len(advice.ranked) - presentation.top
    if more > 0:
        yield from _remark(f"{more} more passed: show them with --top {len(advice.ranked)}", width)
    if left_out:
        yield from _remark(f"not shown at {width} columns: {', '.join(left_out)}", width)
    yield from _remark(say.legend(advice, presentation.top), width)


def _spans(column: Column, place: int, best: bool) -> list[Span]:
    first, *under = (printable(line) for line in column.cells[place])
    style = "bold" if best else ""
    if column.name == "keeps":
        style = "green" if first == "yes" else "yellow"
    if column.name == "evidence" and first.endswith(" pass"):
        style = "green"
    return [(first, style), *((line, "dim") for line in under)]


def _width(column: Column) -> int:
    lines: Iterable[str] = (line for cell in column.cells for line in cell)
    return max(cell_len(printable(line)) for line in (column.heading, *lines))


def _fitting(columns: list[Column], width: int) -> tuple[list[Column], list[str]]:
    """Choose what fits: all in columns, then the kind below the option, then fewer columns."""
    if _total(columns, folded=False) <= width:
        return columns, []
    columns = _kind_below(columns)
    left_out = []
    for name in _SACRIFICED:
        if _total(columns, folded=True) <= width:
            break
        left_out += [column.heading for column in columns if column.name == name]
        columns = [column for column in columns if column.name != name]
    return columns, left_out


def _total(columns: Sequence[Column], *, folded: bool) -> int:
    """The width of a table; `folded`: with the lines below the option folded to the width of its name."""
    widths = []
    for column in columns:
        least = _width(column)
        if column.name == "option":
            names = max(cell_len(printable(cell[0])) for cell in column.cells)
            least = max(_OPTION_LEAST, min(_NAME_WIDTH, names if folded else least))
        widths.append(least)
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _kind_below(columns: Sequence[Column]) -> list[Column]:
    kinds = next(column.cells for column in columns if column.name == "kind")

    def below(option: Column) -> Column:
        pairs = zip(option.cells, kinds, strict=True)
        return replace(option, cells=[(cell[0], ", ".join((*kind, *cell[1:]))) for cell, kind in pairs])

    return [
        below(column) if column.name == "option" else column for column in columns if column.name != "kind"
    ]


def _folded(column: Column, width: int) -> Column:
    """Fold the options to a width: names between words, the choices below them between two choices."""
    return replace(
        column,
        cells=[(*_wrapped(cell[0], width), *_packed(", ".join(cell[1:]), width)) for cell in column.cells],
    )


def _packed(choices: str, width: int) -> Cell:
    """Break a list of choices between two of them, and within one only where it is wider than a line."""
    lines: list[str] = []
    for choice in printable(choices).split(", ") if choices else ():
        if lines and cell_len(f"{lines[-1]}, {choice}") < width:
            lines[-1] += f", {choice}"
            continue
        if lines:
            lines[-1] += ","
        lines += _wrapped(choice, width - 1)
    return tuple(lines)
