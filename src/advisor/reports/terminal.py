"""The report for a terminal: plain text, or coloured where the terminal understands it."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.advice import Advice
from advisor.reports import presentation as say
from advisor.reports.presentation import Cell, Column, Presentation
from advisor.text import printable

_LEAST_WIDTH = 60
_GAP = 2
_OPTION_WIDTH = 30
_OPTION_LEAST = 16
_SACRIFICED = ("served", "month", "best", "mean", "price", "kind")
"""Columns given up on a narrow terminal, the first one first."""


def terminal(advice: Advice, presentation: Presentation) -> bytes:
    """Write the report as UTF-8 text that fits `presentation.width` columns (never fewer than 60)."""
    width = max(_LEAST_WIDTH, presentation.width)
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        height=100,
        color_system="standard" if presentation.colour else None,
        force_terminal=presentation.colour,
        no_color=not presentation.colour,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    console.print(_text(advice.headline, "bold green" if advice.recommended else "bold yellow"))
    for sentence in say.bill(advice):
        console.print(_text(sentence))
    for part in _parts(advice, presentation, width):
        console.print()
        console.print(part)
    lines = out.getvalue().splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines).encode()


def _text(content: object, style: str = "") -> Text:
    return Text(printable(content), style=style, overflow="fold")


def _parts(advice: Advice, presentation: Presentation, width: int) -> Iterator[Table | Text | Padding]:
    if len(advice.ranked):
        yield from _ranking(advice, presentation, width)
    if len(advice.rejected):
        yield from _rejected(advice, presentation)
    moves = say.movement(advice, presentation.per)
    if moves:
        yield _section("the answer moves with the limit", moves)
    reversals = say.reversals(advice, presentation.top)
    if reversals:
        yield _section("what would change it", reversals)
    notes = say.notes(advice)
    if notes:
        yield _section("notes", [("-", note) for note in notes])
    used = say.sources(advice)
    if used:
        yield _section("sources", used)


def _grid() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=False, collapse_padding=True)


def _section(title: str, rows: Iterable[tuple[str, ...]]) -> Table:
    """A heading and rows below it, the last column wrapped with a hanging indent."""
    rows = list(rows)
    grid = _grid()
    grid.add_column(width=1)
    for column in range(len(rows[0])):
        if column == len(rows[0]) - 1:
            grid.add_column(overflow="fold", ratio=1)
        else:
            grid.add_column(overflow="fold", max_width=_OPTION_WIDTH)
    for row in rows:
        grid.add_row("", *(_text(cell) for cell in row))
    outer = Table(box=None, pad_edge=False, padding=0, show_header=False)
    outer.add_column(overflow="fold")
    outer.add_row(_text(title, "bold"))
    outer.add_row(grid)
    return outer


# ------------------------------------------------------------------------------------------------- ranking


def _ranking(advice: Advice, presentation: Presentation, width: int) -> Iterator[Table | Text | Padding]:
    columns, left_out = _fitting(say.ranking_columns(advice, presentation), width)
    columns = _packed(columns, width)
    yield _ranking_table(columns, advice)
    more = len(advice.ranked) - presentation.top
    said = []
    if more > 0:
        said.append(f"{more} more passed: show them with --top {len(advice.ranked)}")
    if left_out:
        said.append(f"not shown at {width} columns: {', '.join(left_out)}")
    legend = say.legend(advice, presentation.top)
    if legend:
        said.append(legend)
    if said:
        yield Padding(_text("\n".join(said), "dim") if len(said) == 1 else _lines(said), (0, 0, 0, _GAP + 1))


def _lines(said: Sequence[str]) -> Table:
    grid = Table(box=None, pad_edge=False, padding=0, show_header=False)
    grid.add_column(overflow="fold")
    for line in said:
        grid.add_row(_text(line, "dim"))
    return grid


def _ranking_table(columns: Sequence[Column], advice: Advice) -> Table:
    table = Table(
        box=None, pad_edge=False, padding=(0, _GAP, 0, 0), collapse_padding=True, header_style="dim"
    )
    for column in columns:
        free = column.name == "option"
        table.add_column(
            _text(column.heading),
            justify="right" if column.number else "left",
            no_wrap=not free,
            overflow="fold",
            width=None if free else _width(column),
            min_width=min(_OPTION_LEAST, _width(column)) if free else None,
        )
    best = advice.recommended.rank if advice.recommended else 0
    for place in range(len(columns[0].cells)):
        style = "bold" if place + 1 == best else ""
        table.add_row(*(_cell(column, place) for column in columns), style=style)
    return table


def _cell(column: Column, place: int) -> Text:
    lines: Cell = column.cells[place]
    text = Text(overflow="fold")
    for position, line in enumerate(lines):
        text.append(
            ("\n" if position else "") + printable(line),
            "dim" if position else "",
        )
    if column.name == "keeps":
        text.stylize("green" if lines[0].startswith("yes") else "yellow")
    if column.name == "evidence" and lines[0].endswith(" pass"):
        text.stylize("green")
    return text


def _width(column: Column) -> int:
    return max(
        [
            cell_len(printable(column.heading)),
            *(cell_len(printable(line)) for cell in column.cells for line in cell),
        ]
    )


def _fitting(columns: list[Column], width: int) -> tuple[list[Column], list[str]]:
    """Choose what fits: all in columns, then the kind below the option, then fewer columns."""
    if _total(columns) <= width:
        return columns, []
    columns = _kind_below(columns)
    left_out = []
    for name in _SACRIFICED:
        if _total(columns, folded=True) <= width:
            break
        left_out += [column.heading for column in columns if column.name == name]
        columns = [column for column in columns if column.name != name]
    return columns, left_out


def _total(columns: Sequence[Column], *, folded: bool = False) -> int:
    """The width of a table; `folded`: with the lines below the option folded to the width of its name."""
    widths = []
    for column in columns:
        least = _width(column)
        if column.name == "option":
            names = max(cell_len(printable(cell[0])) for cell in column.cells)
            least = max(_OPTION_LEAST, min(_OPTION_WIDTH, names if folded else least))
        widths.append(least)
    return sum(widths) + _GAP * (len(widths) - 1)


def _packed(columns: Sequence[Column], width: int) -> list[Column]:
    """Break the choices below the options between two choices, at the width that is left for the options."""
    others = sum(_width(column) + _GAP for column in columns if column.name != "option")
    free = max(_OPTION_LEAST, min(_OPTION_WIDTH, width - others))

    def packed(cell: Cell) -> Cell:
        lines: list[str] = []
        for choice in (choice for line in cell[1:] for choice in line.split(", ")):
            whole = cell_len(printable(choice)) < free
            for place, piece in enumerate([choice] if whole else choice.split()):
                between = " " if place else ", "
                if lines and cell_len(printable(lines[-1] + between + piece)) <= free:
                    lines[-1] += between + piece
                elif lines:
                    lines[-1] += between.rstrip()
                    lines.append(piece)
                else:
                    lines.append(piece)
        return (cell[0], *lines)

    return [
        replace(column, cells=[packed(cell) for cell in column.cells]) if column.name == "option" else column
        for column in columns
    ]


def _kind_below(columns: Sequence[Column]) -> list[Column]:
    by_name = {column.name: column for column in columns}
    options = [
        (option[0], ", ".join((*kind, *option[1:])))
        for option, kind in zip(by_name["option"].cells, by_name["kind"].cells, strict=True)
    ]
    option = Column("option", by_name["option"].heading, options)
    return [option if column.name == "option" else column for column in columns if column.name != "kind"]


# ------------------------------------------------------------------------------------------------ rejected


def _rejected(advice: Advice, presentation: Presentation) -> Iterator[Table | Text | Padding]:
    losses = say.losses(advice)
    shown = losses[: presentation.top]
    yield _section("rejected", [(loss.option, loss.step, loss.reason) for loss in shown])
    rest = losses[presentation.top :]
    if rest:
        counts = {
            step: sum(loss.step == step for loss in rest)
            for step in dict.fromkeys(loss.step for loss in rest)
        }
        said = ", ".join(f"{count} {step}" for step, count in counts.items())
        yield Padding(
            _text(f"{len(rest)} more rejected ({said}): show them with --top {len(losses)}", "dim"),
            (0, 0, 0, _GAP + 1),
        )
