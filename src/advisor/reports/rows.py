"""What the tables of the text reports say: the ranked option by option, and the rejected by reason.

Nothing here is escaped or laid out; the terminal and the Markdown report do that for their target.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from advisor.advice import Advice
from advisor.reports.presentation import (
    Presentation,
    Row,
    hourly,
    known,
    latency_bound,
    milliseconds,
    money,
    number,
    percentile_name,
    plain,
    records,
    share,
    shown_cost,
    whole_money,
    words,
)
from advisor.wording import chance

Cell = tuple[str, ...]
"""The lines of one cell: the figure, then what belongs to it (an interval)."""


@dataclass(frozen=True)
class Column:
    """One column of a shown table.

    Attributes:
        name: which column it is, for a layout that has to choose.
        heading: what stands above it, unit included.
        cells: one a row.
        number: aligned right.
    """

    name: str
    heading: str
    cells: Sequence[Cell]
    number: bool = False


CHOICES: Final[Mapping[str, Callable[[Any], str]]] = {
    "region": str,
    "purchase_option": words,
    "statistic": words,
    "batch_size": lambda count: f"batch {count}",
    "concurrency": lambda count: f"{count} in flight",
    "copies": lambda count: "1 copy" if count == 1 else f"{count} copies",
    "shards": lambda count: "1 shard" if count == 1 else f"{count} shards",
    "backend": str,
    "precision": str,
    "software": str,
}
"""Choices of buying and operating, with how each is written."""


def differing(rows: Sequence[Row]) -> list[str]:
    """Return the choices that are not the same in all rows."""
    return [name for name in CHOICES if len({str(row[name]) for row in rows}) > 1]


def choices(row: Row, names: Iterable[str]) -> str:
    """Write the named choices of a row: `us-east-1, spot, batch 8`."""
    return ", ".join(CHOICES[name](row[name]) for name in names if known(row[name]))


def called(row: Row, rows: Sequence[Row]) -> str:
    """Name a row in a sentence: the option, and what tells it from other rows of the same option."""
    told_apart = choices(row, differing([other for other in rows if other["option"] == row["option"]]))
    return f"{row['option']} ({told_apart})" if told_apart else str(row["option"])


def percentile_cell(row: Row, limit: float | None) -> Cell:
    """Write the asked percentile: a figure with its interval, a bound (`<= 10.8`), `~` where predicted, or `unknown`."""
    point, low, high = (
        row["latency_percentile_ms"], row["latency_percentile_low_ms"], row["latency_percentile_high_ms"],
    )  # fmt: skip
    if known(point):
        mark = "~" if row["grade"] == "E" else ""
        return (
            mark + milliseconds(point, limit),
            *interval_line(low, high, lambda ms: milliseconds(ms, limit)),
        )
    if known(high):
        return (
            f"<= {latency_bound(high, limit, least=False)}",
            *((f">= {latency_bound(low, limit, least=True)}",) if known(low) else ()),
        )
    if known(low):
        return (f">= {latency_bound(low, limit, least=True)}",)
    return ("unknown",)


def cost_interval(low: Any, high: Any, factor: float) -> Cell:
    """Write the interval of a cost as a second line, with as many digits as it takes to tell its ends apart."""
    if not (known(low) and known(high)):
        return interval_line(low, high, lambda usd: money(usd * factor))
    ends = [money(low * factor), money(high * factor)]
    for digits in range(3, 7):
        if ends[0] != ends[1]:
            break
        ends = [number(low * factor, digits), number(high * factor, digits)]
    return (f"{ends[0]}-{ends[1]}",)


def interval_line(low: Any, high: Any, write: Callable[[float], str]) -> Cell:
    """Write an interval as a second line, or no line where nothing is known."""
    if known(low) and known(high):
        return (f"{write(low)}-{write(high)}",)
    if known(low):
        return (f">= {write(low)}",)
    if known(high):
        return (f"<= {write(high)}",)
    return ()


_KEEPS: Final = {"meets": "yes", "misses": "no", "unknown": "unknown", "skipped": "not asked"}


def keeps_cell(row: Row) -> Cell:
    """Write whether the limit is kept as measured, with the share of requests within it."""
    low, high = row["share_within_low_fraction"], row["share_within_high_fraction"]
    said = _KEEPS[row["measured"]]
    if not (known(low) and known(high)):
        return (said,)
    if share(low, least=True) == share(high, least=False):
        return (said, share(low, least=True))
    return (said, f">= {share(low, least=True)}" if low > 0 else f"<= {share(high, least=False)}")


def evidence_cell(row: Row) -> Cell:
    """Write the grade of the evidence and what it proves."""
    doubt = ("suspect",) if row["quality"] == "suspect" else ()
    return (f"{row['grade']} {row['verdict']}".strip(), *doubt)


def ranking_columns(advice: Advice, presentation: Presentation) -> list[Column]:
    """Return the columns of the ranked options, at most `presentation.top` rows.

    A column that has nothing to say for any row is left out; choices stand under the option where they differ
    between rows.
    """
    shown = records(advice.ranked.head(presentation.top))
    names = differing(records(advice.ranked))
    limit, per = advice.question.latency_limit_ms, presentation.per
    cost_factor = shown_cost(1.0, per)

    def option(row: Row) -> Cell:
        under = choices(row, names)
        return (row["option"], under) if under else (row["option"],)

    def figure(name: str, write: Callable[[float], str]) -> list[Cell]:
        return [(write(row[name]),) if known(row[name]) else ("",) for row in shown]

    def cost(row: Row, name: str, low: str, high: str) -> Cell:
        if not known(row[name]):
            return ("unknown",)
        return (
            money(row[name] * cost_factor),
            *cost_interval(row[low], row[high], cost_factor),
        )

    columns = [
        Column(
            "rank",
            "",
            [(str(place),) for place, _ in enumerate(shown, 1)],
            True,
        ),
        Column("option", "option", [option(row) for row in shown]),
        Column("kind", "kind", [(row["kind"],) for row in shown]),
        Column(
            "percentile",
            f"{percentile_name(advice.question.percentile)} ms",
            [percentile_cell(row, limit) for row in shown],
            True,
        ),
    ]
    if limit is not None:
        columns.append(Column("keeps", f"<= {plain(limit)} ms", [keeps_cell(row) for row in shown]))
    columns += [
        Column("mean", "mean ms", figure("latency_mean_ms", milliseconds), True),
        Column("price", "$/h", figure("price_usd_per_hour", hourly), True),
        Column(
            "cost",
            f"$/{per}",
            [
                cost(row, "cost_usd_per_100k", "cost_low_usd_per_100k", "cost_high_usd_per_100k")
                for row in shown
            ],
            True,
        ),
    ]
    if any(known(row["cost_usd_per_100k_served"]) for row in shown):
        columns.append(
            Column(
                "served",
                f"served $/{per}",
                figure("cost_usd_per_100k_served", lambda usd: money(usd * cost_factor)),
                True,
            )
        )
    columns.append(Column("month", "$/month", figure("cost_usd_per_month", whole_money), True))
    if any(known(row["probability_best"]) for row in shown):
        columns.append(Column("best", "best", figure("probability_best", chance), True))
    columns.append(Column("evidence", "evidence", [evidence_cell(row) for row in shown]))
    return columns


_FIGURES: Final = re.compile(r"\d+(?:[.,]\d+)*")
OPERATING: Final = [name for name in CHOICES if name not in ("region", "purchase_option", "statistic")]


@dataclass(frozen=True)
class Loss:
    """Rejected candidates of one option that were lost for one reason."""

    option: str
    step: str
    reason: str


def _elsewhere(rows: Sequence[Row]) -> str:
    """Say where else the same loss occurs: by name where the places are few, else by their count."""
    said = []
    for name, noun in (("region", "regions"), ("purchase_option", "purchase options")):
        values = sorted({str(row[name]) for row in rows if known(row[name])})
        if len(values) > 3:
            said.append(f"{len(values)} {noun}")
        elif len(values) > 1:
            said.append(", ".join(words(value) if name == "purchase_option" else value for value in values))
    if not said:
        return ""
    alike = "" if len({row["reason"] for row in rows}) == 1 else f"{len(rows)} alike, "
    return f" ({alike}in {'; '.join(said)})"


def losses(advice: Advice) -> list[Loss]:
    """Return the rejected in their order; one option lost for one reason in several places is one loss.

    Reasons that differ only in their figures (a price in each region) are one reason; the first is shown.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    own: dict[str, list[Row]] = {}
    rows = records(advice.rejected)
    for row in (*records(advice.ranked), *rows):
        own.setdefault(row["option"], []).append(row)
    operating = {
        option: [name for name in differing(mine) if name in OPERATING] for option, mine in own.items()
    }
    for row in rows:
        reason = _FIGURES.sub("#", row["reason"])
        key = (row["option"], choices(row, operating[row["option"]]), row["failed"], reason)
        groups.setdefault(key, []).append(row)
    return [
        Loss(f"{option} ({how})" if how else option, step, same[0]["reason"] + _elsewhere(same))
        for (option, how, step, _), same in groups.items()
    ]
