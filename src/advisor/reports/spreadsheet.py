"""The answer as a workbook to plan with: prices and requests to change, costs and ranks that follow.

Every formula is written with the value that it has today, so that a viewer that does not calculate shows the right figures.
"""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from advisor.advice import Advice
from advisor.reports import presentation as say
from advisor.reports.presentation import Presentation, Row, known
from advisor.tables import HOURS_PER_MONTH, Rejected
from advisor.text import printable

RANKED_MOST: Final = 2_000
"""Rows of the live ranking: its rank formulas compare every row with every other."""
REJECTED_MOST: Final = 50_000
REQUESTS_PER_MONTH: Final = 1_000_000
"""Where the planner starts from; a cell to change."""

_PRICE_KEY: Final = ("option", "region", "purchase_option", "statistic", "price_usd_per_hour")
_PRICES_FROM: Final = 10
"""First row (from 0) of the prices on the sheet Inputs."""

Value = str | float | int | None


@dataclass(frozen=True)
class _Formats:
    heading: Format
    title: Format
    wrapped: Format
    entry: Format
    entry_count: Format
    money: Format
    dollars: Format
    price: Format
    milliseconds: Format
    share: Format
    count: Format
    text: Format
    faint: Format


@dataclass(frozen=True)
class _Column:
    """A column of the ranking: its heading, its values of today, and the formula where it is live.

    `formula` takes the row number as Excel counts it.
    """

    heading: str
    values: Sequence[Value]
    style: Format
    width: float
    formula: Callable[[int], str] | None = None


def spreadsheet(advice: Advice, presentation: Presentation) -> bytes:  # noqa: ARG001
    """Write a workbook: Inputs, Ranking (live), Rejected, Sources, Notes. Text that looks like a formula stays text."""
    out = io.BytesIO()
    book = Workbook(out, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    # A fixed date: the same answer gives the same bytes.
    asked_on = advice.question.today
    book.set_properties({"title": "EC2 serving advice", "created": _midnight(asked_on)})
    style = _formats(book)
    rows = say.records(advice.ranked.head(RANKED_MOST))
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


def _formats(book: Workbook) -> _Formats:
    def made(**properties: Any) -> Format:
        return book.add_format({"valign": "top", **properties})

    entry = {"bg_color": "#FFF2CC", "border": 1, "border_color": "#BF9000"}
    return _Formats(
        heading=made(bold=True, text_wrap=True, bg_color="#DDE6F0", bottom=1, valign="vcenter"),
        title=made(bold=True, font_size=13, text_wrap=True),
        wrapped=made(text_wrap=True, indent=1, align="left"),
        entry=made(num_format="0.0000######", **entry),
        entry_count=made(num_format="#,##0", **entry),
        money=made(num_format="#,##0.000##"),
        dollars=made(num_format="#,##0.00"),
        price=made(num_format="0.0000"),
        milliseconds=made(num_format="#,##0.00"),
        share=made(num_format="0.00%"),
        count=made(num_format="#,##0"),
        text=made(indent=1, align="left"),
        faint=made(font_color="#808080"),
    )


# ------------------------------------------------------------------------------------------------- inputs


def _priced(rows: Sequence[Row]) -> dict[tuple[Any, ...], int]:
    """Number the prices: one an option, region and purchase option, in the order of the ranking."""
    numbers: dict[tuple[Any, ...], int] = {}
    for row in rows:
        numbers.setdefault(_price_key(row), len(numbers) + 1)
    return numbers


def _price_key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _PRICE_KEY)


def _inputs(sheet: Worksheet, style: _Formats, advice: Advice, rows: Sequence[Row]) -> None:
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
        ("percentile that must keep it; asked, not live", say.percentile_name(question.percentile)),
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
    _headings(sheet, _PRICES_FROM - 1, headings, style)
    numbers = _priced(rows)
    written = set()
    for row in rows:
        number = numbers[_price_key(row)]
        if number in written:
            continue
        written.add(number)
        line = _PRICES_FROM + number - 1
        bought = say.words(row["purchase_option"])
        bought += "" if row["statistic"] in ("list", "") else f" ({say.words(row['statistic'])})"
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
    sheet.freeze_panes(_PRICES_FROM, 0)


# ------------------------------------------------------------------------------------------------- ranking


def _ranking(sheet: Worksheet, style: _Formats, advice: Advice, rows: Sequence[Row]) -> None:
    columns = _ranking_columns(style, advice, rows)
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
    sheet.set_column(_BEHIND_FROM, len(columns) - 1, 11, None, {"level": 1, "hidden": True})
    sheet.freeze_panes(1, 3)
    sheet.print_area(0, 0, len(rows), _PRINTED_TO)
    if rows:
        sheet.autofilter(0, 0, len(rows), len(columns) - 1)


def _ranking_columns(style: _Formats, advice: Advice, rows: Sequence[Row]) -> Mapping[str, _Column]:
    """The columns of the live ranking, in their order; formulas speak of each other by these keys."""
    columns = _facts(style, advice, rows)
    letter: dict[str, str] = {}

    def cell(name: str, line: int) -> str:
        return f"${letter[name]}{line}"

    def all_of(name: str) -> str:
        return f"${letter[name]}$2:${letter[name]}${len(rows) + 1}"

    def rank_formula(line: int) -> str:
        same = {name: f"({all_of(name)}={cell(name, line)})" for name in _RANKED_BY}
        ahead = {name: f"({all_of(name)}<{cell(name, line)})" for name in _RANKED_BY}
        places = []
        for position, name in enumerate(_RANKED_BY):
            conditions = [*(same[before] for before in _RANKED_BY[:position]), ahead[name]]
            places.append(f"SUMPRODUCT(1*{'*'.join(conditions)})")
        return "=1+" + "+".join(places)

    objective = _OBJECTIVES[advice.question.objective]
    today = _Today(rows, objective)
    prices_end = _PRICES_FROM + len(_priced(rows))
    requests, hours = "Inputs!$E$3", "Inputs!$E$4"
    live: dict[str, _Column] = {
        "rank": _Column(
            "rank now",
            [place for place, _ in enumerate(rows, 1)],
            style.count,
            7,
            rank_formula,
        ),
        "price": _Column(
            "price (USD/h), from Inputs",
            [row["price_usd_per_hour"] for row in rows],
            style.price,
            12,
            lambda n: (
                f"=INDEX(Inputs!$E${_PRICES_FROM + 1}:$E${prices_end},"
                f"MATCH({cell('price_number', n)},Inputs!$A${_PRICES_FROM + 1}:$A${prices_end},0))"
            ),
        ),
        "in_flight": _Column(
            "items in flight",
            [_in_flight(row) for row in rows],
            style.count,
            8,
            lambda n: f"={cell('batch', n)}*{cell('concurrency', n)}",
        ),
        "cost": _Column(
            "cost (USD per 100,000), busy time",
            [_or_none(row["cost_usd_per_100k"]) for row in rows],
            style.money,
            12,
            lambda n: (
                f'=IF({cell("mean", n)}="","",{cell("price", n)}/3600*{cell("mean", n)}/1000/{cell("in_flight", n)}'
                f"*100000/(1-{cell('errors', n)}))"
            ),
        ),
        "served": _Column(
            "cost served (USD per 100,000), from the throughput",
            [_or_none(row["cost_usd_per_100k_served"]) for row in rows],
            style.money,
            13,
            lambda n: (
                f'=IF({cell("throughput", n)}="","",{cell("price", n)}/3600/{cell("throughput", n)}*100000)'
            ),
        ),
        "month_busy": _Column(
            "the requests of a month (USD), busy time",
            [_busy_bill(row) for row in rows],
            style.dollars,
            12,
            lambda n: f'=IF({cell("cost", n)}="","",{cell("cost", n)}/100000*{requests})',
        ),
        "busy_hours": _Column(
            "busy hours a month (h)",
            [_busy_hours(row) for row in rows],
            style.milliseconds,
            11,
            lambda n: f'=IF({cell("month_busy", n)}="","",{cell("month_busy", n)}/{cell("price", n)})',
        ),
        "month_on": _Column(
            "one instance always on (USD a month)",
            [row["cost_usd_per_month"] for row in rows],
            style.dollars,
            12,
            lambda n: f"={cell('price', n)}*{hours}",
        ),
        "instances": _Column(
            "instances at least (count)",
            [_instances(row) for row in rows],
            style.count,
            9,
            lambda n: (
                f'=IF({cell("busy_hours", n)}="","",MAX(1,ROUNDUP(ROUND({cell("busy_hours", n)}/{hours},9),0)))'
            ),
        ),
        "fleet": _Column(
            "those always on (USD a month)",
            [_fleet(row) for row in rows],
            style.dollars,
            12,
            lambda n: f'=IF({cell("instances", n)}="","",{cell("instances", n)}*{cell("month_on", n)})',
        ),
        "metric": _Column(
            "what is ranked",
            today.metric,
            style.faint,
            9,
            None
            if objective == "latency"
            else lambda n: f'=IF({cell(objective, n)}="",{_UNKNOWN:G},{cell(objective, n)})',
        ),
        "tie": _Column(
            "decides ties",
            today.tie,
            style.faint,
            9,
            (lambda n: f'=IF({cell("cost", n)}="",{_UNKNOWN:G},{cell("cost", n)})')
            if objective == "latency"
            else None,
        ),
        "order": _Column(
            "order before ties",
            today.order,
            style.faint,
            9,
            lambda n: (
                f"=1+SUMPRODUCT(--({all_of('metric')}<{cell('metric', n)}))"
                f"+SUMPRODUCT(({all_of('metric')}={cell('metric', n)})*({all_of('asked_rank')}<{cell('asked_rank', n)}))"
            ),
        ),
        "group": _Column(
            "leader of the tie group, by order",
            today.group,
            style.faint,
            9,
            lambda n: _group_formula(n, f"SMALL({all_of('metric')},ROW()-1)", letter["group"], objective),
        ),
        "leader": _Column(
            "leader of this row's group",
            today.leader,
            style.faint,
            9,
            lambda n: f"=INDEX({all_of('group')},{cell('order', n)})",
        ),
    }
    made = {name: live.get(name) or columns[name] for name in _LAYOUT}
    letter.update({name: xl_col_to_name(place) for place, name in enumerate(made)})
    return made


_LAYOUT: Final = (
    "rank", "asked_rank", "option", "kind", "region", "purchase", "price_number", "price", "mean", "percentile", "cost",
    "month_on", "month_busy", "busy_hours", "instances", "fleet", "measured", "verdict", "grade", "best",
    "batch", "concurrency", "in_flight", "errors", "throughput", "served", "percentile_low", "percentile_high", "backend",
    "precision", "software", "note", "suspect", "tie", "metric", "order", "group", "leader",
)  # fmt: skip
_RANKED_BY: Final = ("suspect", "leader", "tie", "order")
"""What the rank goes by, the first first; the last is different in every row."""
_OBJECTIVES: Final = {"cost": "cost", "served-cost": "served", "latency": "latency"}
"""Objective of the question -> what the column "what is ranked" holds."""
_UNKNOWN: Final = 1e99
"""Stands for an unknown figure in a formula that has to sort: it comes last."""
_BOUND_ONLY: Final = 1e9
"""Added to a bound in ms, so that it comes after every known latency."""
_PRINTED_TO: Final = _LAYOUT.index("best")
_BEHIND_FROM: Final = _LAYOUT.index("suspect")
"""From here on the columns only serve the rank: folded away, to be opened by who wants to see how it comes about."""


def _facts(style: _Formats, advice: Advice, rows: Sequence[Row]) -> dict[str, _Column]:
    """The columns that hold what was measured and how it is bought."""
    numbers = _priced(rows)
    percentile = say.percentile_name(advice.question.percentile)

    def taken(heading: str, name: str, form: Format, width: float) -> _Column:
        return _Column(heading, [_or_none(row[name]) for row in rows], form, width)

    return {
        "asked_rank": _Column("rank in the report", [place for place, _ in enumerate(rows, 1)], style.count, 8),
        "option": taken("option", "option", style.text, 30),
        "kind": taken("kind", "kind", style.text, 11),
        "region": taken("region", "region", style.text, 14),
        "purchase": _Column("purchase option", [say.words(row["purchase_option"]) for row in rows], style.text, 14),
        "price_number": _Column("price no. on Inputs", [numbers[_price_key(row)] for row in rows], style.count, 9),
        "mean": taken("mean latency (ms), of a batch where batched", "latency_mean_ms", style.milliseconds, 12),
        "batch": taken("batch size (count)", "batch_size", style.count, 8),
        "concurrency": taken("concurrency (count)", "concurrency", style.count, 12),
        "errors": taken("failed requests (share)", "error_fraction", style.share, 10),
        "throughput": taken("throughput (1/s)", "throughput_per_s", style.milliseconds, 12),
        "percentile": taken(f"{percentile} (ms), where reported or sampled", "latency_percentile_ms", style.milliseconds, 12),
        "percentile_low": taken(f"{percentile} at least (ms)", "latency_percentile_low_ms", style.milliseconds, 10),
        "percentile_high": taken(f"{percentile} at most (ms)", "latency_percentile_high_ms", style.milliseconds, 10),
        "measured": taken("limit, as measured", "measured", style.text, 10),
        "verdict": taken("verdict", "verdict", style.text, 11),
        "grade": taken("evidence grade", "grade", style.text, 9),
        "best": taken("chance of being best", "probability_best", style.share, 9),
        "backend": taken("backend", "backend", style.text, 18),
        "precision": taken("precision", "precision", style.text, 10),
        "software": taken("software", "software", style.text, 24),
        "note": taken("note", "note", style.text, 50),
        "suspect": _Column("suspect figures come last", [int(row["quality"] == "suspect") for row in rows], style.faint, 9),
    }  # fmt: skip


def _group_formula(line: int, smallest: str, group: str, objective: str) -> str:
    """The leader of the tie group of the row that is `line - 1`th by metric; costs tie by the cent and 1 %."""
    if line == 2 or objective == "latency":
        return f"={smallest}"
    above = f"${group}{line - 1}"
    return f"=IF(AND(ROUND({smallest},2)=ROUND({above},2),{smallest}<=1.01*{above}),{above},{smallest})"


class _Today:
    """Today's values of the columns behind the rank: what is ranked, what decides ties, the order, the groups of ties."""

    def __init__(self, rows: Sequence[Row], objective: str) -> None:
        cost = "cost_usd_per_100k_served" if objective == "served" else "cost_usd_per_100k"
        costs = [float(row[cost]) if known(row[cost]) else _UNKNOWN for row in rows]
        by_cost = objective != "latency"
        metric = costs if by_cost else [_latency(row) for row in rows]
        ordered = sorted(range(len(rows)), key=lambda place: (metric[place], place))
        order = [0] * len(rows)
        groups: list[float] = []
        for position, place in enumerate(ordered):
            order[place] = position + 1
            mine = metric[place]
            tied = by_cost and bool(groups) and _cent(mine) == _cent(groups[-1]) and mine <= 1.01 * groups[-1]
            groups.append(groups[-1] if tied else mine)
        self.metric: list[Value] = list(metric)
        self.tie: list[Value] = [_percentile(row) for row in rows] if by_cost else list(costs)
        self.order: list[Value] = list(order)
        self.group: list[Value] = list(groups)
        self.leader: list[Value] = [groups[position - 1] for position in order]


def _cent(cost: float) -> float:
    return math.floor(100 * cost + 0.5)


def _percentile(row: Row) -> float:
    return float(row["latency_percentile_ms"]) if known(row["latency_percentile_ms"]) else _UNKNOWN


def _latency(row: Row) -> float:
    """The percentile; where it is not known its upper bound, after all that are known."""
    if known(row["latency_percentile_ms"]):
        return float(row["latency_percentile_ms"])
    high = row["latency_percentile_high_ms"]
    return _BOUND_ONLY + float(high) if known(high) else _UNKNOWN


def _or_none(value: Any) -> Value:
    return value if known(value) else None


def _in_flight(row: Row) -> int:
    return int(row["batch_size"] * row["concurrency"])


def _busy_bill(row: Row) -> float | None:
    cost = row["cost_usd_per_100k"]
    return float(cost * REQUESTS_PER_MONTH / 100_000) if known(cost) else None


def _busy_hours(row: Row) -> float | None:
    bill = _busy_bill(row)
    return None if bill is None else bill / float(row["price_usd_per_hour"])


def _instances(row: Row) -> int | None:
    busy = _busy_hours(row)
    return None if busy is None else max(1, math.ceil(round(busy / HOURS_PER_MONTH, 9)))


def _fleet(row: Row) -> float | None:
    count = _instances(row)
    return None if count is None else count * float(row["cost_usd_per_month"])


# ---------------------------------------------------------------------------------------- the other sheets


def _rejected(sheet: Worksheet, style: _Formats, advice: Advice) -> None:
    units = {
        name: (column.metadata or {}).get("unit", "") for name, column in Rejected.to_schema().columns.items()
    }
    first = ["option", "failed", "reason", "value", "limit", "unit", "region", "purchase_option"]
    names = first + [name for name in units if name not in first]
    headings = [f"{say.words(name)} ({units[name]})" if units[name] else say.words(name) for name in names]
    _headings(sheet, 0, headings, style)
    sheet.set_row(0, 48)
    for line, row in enumerate(say.records(advice.rejected.head(REJECTED_MOST)), 1):
        for place, name in enumerate(names):
            form = (
                style.wrapped
                if name == "reason"
                else style.milliseconds
                if isinstance(row[name], float)
                else style.text
            )
            _write(sheet, line, place, _or_none(row[name]), form)
    sheet.set_column(0, len(names) - 1, 14)
    sheet.set_column(0, 0, 30)
    sheet.set_column(2, 2, 70)
    sheet.freeze_panes(1, 1)
    if len(advice.rejected):
        sheet.autofilter(0, 0, min(len(advice.rejected), REJECTED_MOST), len(names) - 1)


def _sources(sheet: Worksheet, style: _Formats, advice: Advice) -> None:
    _headings(sheet, 0, ("role", "source", "what it is", "as of", "rows (count)"), style)
    rows: list[tuple[Value, ...]] = [("read", "", origin, "", None) for origin in advice.origin]
    rows += [(s.role, s.source, s.description, s.as_of, s.row_count) for s in advice.sources]
    for line, row in enumerate(rows, 1):
        for place, value in enumerate(row):
            _write(sheet, line, place, value, style.wrapped)
    for place, width in enumerate((10, 26, 90, 12, 10)):
        sheet.set_column(place, place, width)
    sheet.freeze_panes(1, 0)


def _notes(sheet: Worksheet, style: _Formats, advice: Advice) -> None:
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
    sheet.set_column(0, 0, 130)
    _headings(sheet, 0, ("note",), style)
    for line, text in enumerate(texts, 1):
        sheet.write_string(line, 0, printable(text), style.wrapped)


def _headings(sheet: Worksheet, line: int, headings: Sequence[str], style: _Formats) -> None:
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
