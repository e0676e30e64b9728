"""The answer as a workbook to plan with: prices and requests to change, costs and ranks that follow.

Every formula is written with the value that it has today, so that a viewer that does not calculate shows the right figures.
"""

import io
import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, Final

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from advisor.advice import Advice
from advisor.reports import sentences as say
from advisor.reports.live_ranking import (
    BEHIND_FROM,
    PRICES_FROM,
    PRINTED_TO,
    REQUESTS_PER_MONTH,
    Value,
    or_none,
    price_key,
    priced,
    ranking_columns,
)
from advisor.reports.presentation import Presentation, Row, percentile_name, records, words
from advisor.reports.styles import Styles, styles
from advisor.tables import HOURS_PER_MONTH, Rejected
from advisor.text import printable

RANKED_MOST: Final = 2_000
"""Rows of the live ranking: its rank formulas compare every row with every other."""
REJECTED_MOST: Final = 50_000


def spreadsheet(advice: Advice, presentation: Presentation) -> bytes:  # noqa: ARG001
    """Write a workbook: Inputs, Ranking (live), Rejected, Sources, Notes. Text that looks like a formula stays text."""
    out = io.BytesIO()
    book = Workbook(out, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    # A fixed date: the same answer gives the same bytes.
    asked_on = advice.question.today
    book.set_properties({"title": "EC2 serving advice", "created": _midnight(asked_on)})
    style = styles(book)
    rows = records(advice.ranked.head(RANKED_MOST))
    _inputs(book.add_worksheet("Inputs"), style, advice, rows)
    _ranking(book.add_worksheet("Ranking"), style, advice, rows)
    _rejected(book.add_worksheet("Rejected"), style, advice)
    _sources(book.add_worksheet("Sources"), style, advice)
    _notes(book.add_worksheet("Notes"), style, advice)
    for sheet in book.worksheets():
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
    book.close()
    return out.getvalue()


def _inputs(sheet: Worksheet, style: Styles, advice: Advice, rows: Sequence[Row]) -> None:
    question = advice.question
    sheet.merge_range(0, 0, 0, 6, "", style.title)
    sheet.write_string(0, 0, printable(advice.headline), style.title)
    sheet.set_row(0, 36)
    sheet.write_string(1, 0, "Change the yellow cells; the sheet Ranking follows.", style.faint)
    sheet.write_string(2, 1, "requests a month (count)", style.text)
    sheet.write_number(2, 4, REQUESTS_PER_MONTH, style.entry_count)
    sheet.write_string(3, 1, "hours a month that an instance is kept on (h)", style.text)
    sheet.write_number(3, 4, HOURS_PER_MONTH, style.entry_count)
    asked: list[tuple[str, Value]] = [
        (
            "latency limit (ms); asked, not live: the options were judged by it",
            question.latency_limit_ms or "none asked",
        ),
        ("percentile that must keep it; asked, not live", percentile_name(question.percentile)),
        ("model; asked, not live", question.model or ""),
    ]
    for line, (label, value) in enumerate(asked, 4):
        sheet.write_string(line, 1, label, style.text)
        _write(sheet, line, 4, value, style.text)
    headings = (
        "price no.",
        "option",
        "region",
        "purchase option",
        "price (USD/h)",
        "price of",
        "source of the price",
    )
    _headings(sheet, PRICES_FROM - 1, headings, style)
    numbers = priced(rows)
    written = set()
    for row in rows:
        number = numbers[price_key(row)]
        if number in written:
            continue
        written.add(number)
        line = PRICES_FROM + number - 1
        bought = words(row["purchase_option"])
        bought += "" if row["statistic"] in ("list", "") else f" ({words(row['statistic'])})"
        sheet.write_number(line, 0, number, style.count)
        for place, text in (
            (1, row["option"]),
            (2, row["region"]),
            (3, bought),
            (5, row["price_as_of"]),
            (6, row["price_source"]),
        ):
            _write(sheet, line, place, text, style.text)
        _write(sheet, line, 4, row["price_usd_per_hour"], style.entry)
    for place, width in enumerate((9, 34, 18, 26, 14, 12, 26)):
        sheet.set_column(place, place, width)
    sheet.freeze_panes(PRICES_FROM, 0)


def _ranking(sheet: Worksheet, style: Styles, advice: Advice, rows: Sequence[Row]) -> None:
    columns = ranking_columns(style, advice, rows)
    _headings(sheet, 0, [column.heading for column in columns.values()], style)
    sheet.set_row(0, 62)
    for place, column in enumerate(columns.values()):
        sheet.set_column(place, place, column.width)
        for line, value in enumerate(column.values, 1):
            if column.formula is None:
                _write(sheet, line, place, value, column.style)
            else:
                sheet.write_formula(
                    line, place, column.formula(line + 1), column.style, "" if value is None else value
                )
    sheet.set_column(BEHIND_FROM, len(columns) - 1, 11, None, {"level": 1, "hidden": True})
    sheet.freeze_panes(1, 3)
    sheet.print_area(0, 0, len(rows), PRINTED_TO)
    if rows:
        sheet.autofilter(0, 0, len(rows), len(columns) - 1)


def _rejected(sheet: Worksheet, style: Styles, advice: Advice) -> None:
    units = {
        name: (column.metadata or {}).get("unit", "") for name, column in Rejected.to_schema().columns.items()
    }
    first = ["option", "failed", "reason", "value", "limit", "unit", "region", "purchase_option"]
    names = first + [name for name in units if name not in first]
    headings = [f"{words(name)} ({units[name]})" if units[name] else words(name) for name in names]
    _headings(sheet, 0, headings, style)
    sheet.set_row(0, 48)
    for line, row in enumerate(records(advice.rejected.head(REJECTED_MOST)), 1):
        for place, name in enumerate(names):
            form = (
                style.wrapped
                if name == "reason"
                else style.milliseconds
                if isinstance(row[name], float)
                else style.text
            )
            _write(sheet, line, place, or_none(row[name]), form)
    sheet.set_column(0, len(names) - 1, 14)
    sheet.set_column(0, 0, 30)
    sheet.set_column(2, 2, 70)
    sheet.freeze_panes(1, 1)
    if len(advice.rejected):
        sheet.autofilter(0, 0, min(len(advice.rejected), REJECTED_MOST), len(names) - 1)


def _sources(sheet: Worksheet, style: Styles, advice: Advice) -> None:
    _headings(sheet, 0, ("role", "source", "what it is", "as of", "rows (count)"), style)
    rows: list[tuple[Value, ...]] = [("read", "", origin, "", None) for origin in advice.origin]
    rows += [(s.role, s.source, s.description, s.as_of, s.row_count) for s in advice.sources]
    widths = (10, 46, 90, 12, 14)
    for place, width in enumerate(widths):
        sheet.set_column(place, place, width)
    for line, row in enumerate(rows, 1):
        _room(sheet, line, zip(row, widths, strict=True))
        for place, value in enumerate(row):
            _write(sheet, line, place, value, style.wrapped)
    sheet.freeze_panes(1, 0)


def _notes(sheet: Worksheet, style: Styles, advice: Advice) -> None:
    texts = [
        "The cost per 100,000 is price per second x mean latency / items in flight: busy time only, the instance never idles.",
        "Beside it stands what the instance costs when it is always on.",
        "The fleet is the least that could serve the requests if they came evenly; it says nothing of peaks or of waiting.",
        "Ranks follow the prices on Inputs, among the options of the sheet Ranking: those that keep the limit at any price.",
        "Of costs that are equal to the cent and within 1 % the lower percentile comes first.",
        *(note.text for note in advice.notes),
    ]
    left = say.unmeasured(advice)
    texts += [left] if left else []
    if len(advice.ranked) > RANKED_MOST:
        texts.append(
            f"Ranking holds the first {RANKED_MOST:,} of {len(advice.ranked):,} options; the CSV report has all."
        )
    if len(advice.rejected) > REJECTED_MOST:
        texts.append(
            f"Rejected holds the first {REJECTED_MOST:,} of {len(advice.rejected):,}; the CSV report has all."
        )
    width = 130
    sheet.set_column(0, 0, width)
    _headings(sheet, 0, ("note",), style)
    for line, text in enumerate(texts, 1):
        _room(sheet, line, [(text, width)])
        sheet.write_string(line, 0, printable(text), style.wrapped)


def _room(sheet: Worksheet, line: int, cells: Iterable[tuple[Value, int]]) -> None:
    """Make a row as high as its wrapped text: a viewer that does not do so itself lets the lines overlap."""
    lines = max(math.ceil(len(str(value)) / (0.85 * width)) for value, width in cells)
    if lines > 1:
        sheet.set_row(line, 15 * lines)


def _headings(sheet: Worksheet, line: int, headings: Sequence[str], style: Styles) -> None:
    for place, heading in enumerate(headings):
        sheet.write_string(line, place, printable(heading), style.heading)


def _write(sheet: Worksheet, line: int, place: int, value: Any, form: Format) -> None:
    if value is None:
        sheet.write_blank(line, place, None, form)
    elif isinstance(value, str):
        sheet.write_string(line, place, printable(value)[:_CELL_MOST], form)
    else:
        sheet.write(line, place, value, form)


_CELL_MOST: Final = 32_767
"""Characters that a cell may hold."""


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001
