"""The live ranking of the workbook: the formula of every column, and the value that it has today."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name

from advisor.advice import Advice
from advisor.reports.presentation import Row, known, percentile_name, words
from advisor.reports.styles import Styles
from advisor.tables import HOURS_PER_MONTH

REQUESTS_PER_MONTH: Final = 1_000_000
"""Where the planner starts from; a cell to change."""

_PRICE_KEY: Final = ("option", "region", "purchase_option", "statistic", "price_usd_per_hour")
PRICES_FROM: Final = 10
"""First row (from 0) of the prices on the sheet Inputs."""

Value = str | float | int | None


@dataclass(frozen=True)
class SheetColumn:
    """A column of the ranking: its heading, its values of today, and the formula where it is live.

    `formula` takes the row number as Excel counts it.
    """

    heading: str
    values: Sequence[Value]
    style: Format
    width: float
    formula: Callable[[int], str] | None = None


def priced(rows: Sequence[Row]) -> dict[tuple[Any, ...], int]:
    """Number the prices: one an option, region and purchase option, in the order of the ranking."""
    numbers: dict[tuple[Any, ...], int] = {}
    for row in rows:
        numbers.setdefault(price_key(row), len(numbers) + 1)
    return numbers


def price_key(row: Row) -> tuple[Any, ...]:
    """Return what makes two rows use the same price."""
    return tuple(row[name] for name in _PRICE_KEY)


def ranking_columns(style: Styles, advice: Advice, rows: Sequence[Row]) -> Mapping[str, SheetColumn]:
    """Return the columns of the live ranking, in their order; formulas speak of each other by these keys."""
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
    prices_end = PRICES_FROM + len(priced(rows))
    requests, hours = "Inputs!$E$3", "Inputs!$E$4"
    live: dict[str, SheetColumn] = {
        "rank": SheetColumn(
            "rank now",
            [place for place, _ in enumerate(rows, 1)],
            style.count,
            7,
            rank_formula,
        ),
        "price": SheetColumn(
            "price (USD/h), from Inputs",
            [row["price_usd_per_hour"] for row in rows],
            style.price,
            12,
            lambda n: (
                f"=INDEX(Inputs!$E${PRICES_FROM + 1}:$E${prices_end},"
                f"MATCH({cell('price_number', n)},Inputs!$A${PRICES_FROM + 1}:$A${prices_end},0))"
            ),
        ),
        "in_flight": SheetColumn(
            "items in flight",
            [_in_flight(row) for row in rows],
            style.count,
            8,
            lambda n: f"={cell('batch', n)}*{cell('concurrency', n)}",
        ),
        "cost": SheetColumn(
            "cost (USD per 100,000), busy time",
            [or_none(row["cost_usd_per_100k"]) for row in rows],
            style.money,
            12,
            lambda n: (
                f'=IF({cell("mean", n)}="","",{cell("price", n)}/3600*{cell("mean", n)}/1000/{cell("in_flight", n)}'
                f"*100000/(1-{cell('errors', n)}))"
            ),
        ),
        "served": SheetColumn(
            "cost served (USD per 100,000), from the throughput",
            [or_none(row["cost_usd_per_100k_served"]) for row in rows],
            style.money,
            13,
            lambda n: (
                f'=IF({cell("throughput", n)}="","",{cell("price", n)}/3600/{cell("throughput", n)}*100000)'
            ),
        ),
        "month_busy": SheetColumn(
            "the requests of a month (USD), busy time",
            [_busy_bill(row) for row in rows],
            style.dollars,
            12,
            lambda n: f'=IF({cell("cost", n)}="","",{cell("cost", n)}/100000*{requests})',
        ),
        "busy_hours": SheetColumn(
            "busy hours a month (h)",
            [_busy_hours(row) for row in rows],
            style.milliseconds,
            11,
            lambda n: f'=IF({cell("month_busy", n)}="","",{cell("month_busy", n)}/{cell("price", n)})',
        ),
        "month_on": SheetColumn(
            "one instance always on (USD a month)",
            [row["cost_usd_per_month"] for row in rows],
            style.dollars,
            12,
            lambda n: f"={cell('price', n)}*{hours}",
        ),
        "instances": SheetColumn(
            "instances at least (count)",
            [_instances(row) for row in rows],
            style.count,
            9,
            lambda n: (
                f'=IF({cell("busy_hours", n)}="","",MAX(1,ROUNDUP(ROUND({cell("busy_hours", n)}/{hours},9),0)))'
            ),
        ),
        "fleet": SheetColumn(
            "those always on (USD a month)",
            [_fleet(row) for row in rows],
            style.dollars,
            12,
            lambda n: f'=IF({cell("instances", n)}="","",{cell("instances", n)}*{cell("month_on", n)})',
        ),
        "metric": SheetColumn(
            "what is ranked",
            today.metric,
            style.faint,
            9,
            None
            if objective == "latency"
            else lambda n: f'=IF({cell(objective, n)}="",{_UNKNOWN:G},{cell(objective, n)})',
        ),
        "tie": SheetColumn(
            "decides ties",
            today.tie,
            style.faint,
            9,
            (lambda n: f'=IF({cell("cost", n)}="",{_UNKNOWN:G},{cell("cost", n)})')
            if objective == "latency"
            else None,
        ),
        "order": SheetColumn(
            "order before ties",
            today.order,
            style.faint,
            9,
            lambda n: (
                f"=1+SUMPRODUCT(--({all_of('metric')}<{cell('metric', n)}))"
                f"+SUMPRODUCT(({all_of('metric')}={cell('metric', n)})*({all_of('asked_rank')}<{cell('asked_rank', n)}))"
            ),
        ),
        "group": SheetColumn(
            "leader of the tie group, by order",
            today.group,
            style.faint,
            9,
            lambda n: _group_formula(n, f"SMALL({all_of('metric')},ROW()-1)", letter["group"], objective),
        ),
        "leader": SheetColumn(
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
PRINTED_TO: Final = _LAYOUT.index("best")
BEHIND_FROM: Final = _LAYOUT.index("suspect")
"""From here on the columns only serve the rank: folded away, to be opened by who wants to see how it comes about."""


def _facts(style: Styles, advice: Advice, rows: Sequence[Row]) -> dict[str, SheetColumn]:
    """The columns that hold what was measured and how it is bought."""
    numbers = priced(rows)
    percentile = percentile_name(advice.question.percentile)

    def taken(heading: str, name: str, form: Format, width: float) -> SheetColumn:
        return SheetColumn(heading, [or_none(row[name]) for row in rows], form, width)

    return {
        "asked_rank": SheetColumn("rank in the report", [place for place, _ in enumerate(rows, 1)], style.count, 8),
        "option": taken("option", "option", style.text, 30),
        "kind": taken("kind", "kind", style.text, 11),
        "region": taken("region", "region", style.text, 14),
        "purchase": SheetColumn("purchase option", [words(row["purchase_option"]) for row in rows], style.text, 25),
        "price_number": SheetColumn("price no. on Inputs", [numbers[price_key(row)] for row in rows], style.count, 9),
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
        "best": taken("chance of being best", "probability_best", style.chance, 9),
        "backend": taken("backend", "backend", style.text, 18),
        "precision": taken("precision", "precision", style.text, 10),
        "software": taken("software", "software", style.text, 24),
        "note": taken("note", "note", style.text, 50),
        "suspect": SheetColumn("suspect figures come last", [int(row["quality"] == "suspect") for row in rows], style.faint, 9),
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


def or_none(value: Any) -> Value:
    """Return a value for a cell; unknown is an empty cell."""
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
