"""What the text reports say, in one place: numbers as read by a person, columns, sentences.

Nothing here is escaped or laid out; the terminal and the Markdown report do that for their target.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas as pd

from advisor.advice import Advice, Choice, Switch
from advisor.evidence import Estimate
from advisor.tables import HOURS_PER_MONTH
from advisor.wording import chance, lower_limits, purchase_name

Per = Literal["1k", "100k", "1M"]
PER: Final[Mapping[Per, int]] = {"1k": 1_000, "100k": 100_000, "1M": 1_000_000}
"""Unit in which a cost is shown -> inferences."""

Row = Mapping[Any, Any]
Cell = tuple[str, ...]
"""The lines of one cell: the figure, then what belongs to it (an interval)."""

words: Final = purchase_name
"""Write a code name as words: on_demand -> on demand."""


@dataclass(frozen=True)
class Presentation:
    """How an advice is shown; it changes no figure.

    Attributes:
        top: rows shown of the ranked and of the rejected; the rest is counted.
        per: inferences that a shown cost is for (JSON, CSV and the spreadsheet keep per 100,000).
        width: columns of a terminal.
        colour: the target understands colours.
    """

    top: int = 10
    per: Per = "100k"
    width: int = 100
    colour: bool = False


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


def known(value: Any) -> bool:
    """Whether a cell of a table holds something: not None, NaN, NA or empty text."""
    return not (
        value is None or value is pd.NA or value == "" or (isinstance(value, float) and math.isnan(value))
    )


def number(value: float, digits: int = 3) -> str:
    """Write a positive number with at least `digits` significant digits, never in powers of ten: 0.0123, 10.7, 1,234."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    decimals = max(0, digits - 1 - magnitude)
    shown = f"{value:,.{decimals}f}"
    if decimals and abs(float(shown.replace(",", ""))) >= 10.0 ** (magnitude + 1):
        shown = f"{value:,.{decimals - 1}f}"
    return shown


def milliseconds(value: float, limit: float | None = None) -> str:
    """Write a latency with as many digits as it takes to stand on its own side of `limit` when read."""
    for digits in range(3, 10):
        shown = number(value, digits)
        read = float(shown.replace(",", ""))
        if limit is None or math.isclose(value, limit, rel_tol=1e-9) or (read > limit) == (value > limit):
            break
    return shown


def plain(value: float) -> str:
    """Write what a person asked for as they wrote it: 15.0 -> 15, 10.5 -> 10.5."""
    return f"{value:,.10g}" if abs(value) < 1e9 else f"{value:g}"


def money(value: float) -> str:
    """Write dollars with cents, three significant digits where cents hold fewer, whole dollars from a thousand up."""
    return number(value) if abs(value) < 1 else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}"


def whole_money(value: float) -> str:
    """Write a monthly sum: whole dollars from a hundred up."""
    return f"{value:,.0f}" if abs(value) >= 100 else money(value)


def hourly(value: float) -> str:
    """Write an hourly price: four decimals, and three significant digits where those hold fewer."""
    return f"{value:,.4f}" if value >= 0.01 else number(value)


def percent(fraction: float) -> str:
    """Write a share as per cent; what is not certain never reads 0 % or 100 %."""
    shown = f"{100 * fraction:.0f}"
    if shown == "100" and fraction < 1:
        return ">99 %"
    if shown == "0" and fraction > 0:
        return "<1 %"
    return f"{shown} %"


def share(fraction: float, least: bool) -> str:
    """Write a bound of a share of requests, rounded so that it stays true."""
    scaled = 1000 * fraction
    tenths = math.floor(scaled + 1e-9) if least else math.ceil(scaled - 1e-9)
    return f"{tenths / 10:g} %"


def percentile_name(percentile: float) -> str:
    """Write a percentile: 90 -> P90, 99.9 -> P99.9."""
    return f"P{percentile:g}"


def per_words(per: Per) -> str:
    """Write the unit of a cost: per 100,000."""
    return f"per {PER[per]:,}"


def shown_cost(cost_usd_per_100k: float, per: Per) -> float:
    """Convert a cost per 100,000 inferences to the unit that is shown."""
    return cost_usd_per_100k * PER[per] / PER["100k"]


def records(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a frame as mappings, in its order."""
    return list(frame.to_dict("records"))


# ---------------------------------------------------------------------------------------------- the ranking

_CHOICES: Final[Mapping[str, Callable[[Any], str]]] = {
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
    return [name for name in _CHOICES if len({str(row[name]) for row in rows}) > 1]


def choices(row: Row, names: Iterable[str]) -> str:
    """Write the named choices of a row: `us-east-1, spot, batch 8`."""
    return ", ".join(_CHOICES[name](row[name]) for name in names if known(row[name]))


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
            f"<= {milliseconds(high, limit)}",
            *((f">= {milliseconds(low, limit)}",) if known(low) else ()),
        )
    if known(low):
        return (f">= {milliseconds(low, limit)}",)
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


# ------------------------------------------------------------------------------------------- the rejected


_FIGURES: Final = re.compile(r"\d+(?:[.,]\d+)*")
_OPERATING: Final = [name for name in _CHOICES if name not in ("region", "purchase_option", "statistic")]


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
        option: [name for name in differing(mine) if name in _OPERATING] for option, mine in own.items()
    }
    for row in rows:
        reason = _FIGURES.sub("#", row["reason"])
        key = (row["option"], choices(row, operating[row["option"]]), row["failed"], reason)
        groups.setdefault(key, []).append(row)
    return [
        Loss(f"{option} ({how})" if how else option, step, same[0]["reason"] + _elsewhere(same))
        for (option, how, step, _), same in groups.items()
    ]


# --------------------------------------------------------------------------------------------- sentences


def place(choice: Choice) -> str:
    """Write where and how an option is bought: `us-west-2, on demand`."""
    return ", ".join(part for part in (choice.region, words(choice.purchase_option)) if part)


def bill(advice: Advice) -> list[str]:
    """Say what the recommended option costs by the hour and by the month, and what the cost per inference assumes."""
    best = advice.recommended
    if best is None:
        return []
    rows = records(advice.ranked)
    lead = ""
    if best.rank == 1 and len(rows) > 1 and known(rows[1]["cost_usd_per_100k"]):
        other = rows[1]
        less = 1 - best.cost_usd_per_100k.point / other["cost_usd_per_100k"]
        if less >= 0.005:
            lead = f" Its cost is {percent(less)} below the next that passes, {called(other, rows)}."
    return [
        f"{place(best)}, ${hourly(best.price_usd_per_hour)} an hour.{lead}",
        (
            "That cost counts busy time only, as if the instance never idled. "
            f"Kept on all month ({HOURS_PER_MONTH:.0f} h) it is ${whole_money(best.cost_usd_per_month)}, busy or idle."
        ),
    ]


def stretches(advice: Advice) -> list[str]:
    """Write the stretches of limits of `advice.switches`; each limit, when asked, gives the answer that begins there."""
    begins = [switch for switch in advice.switches if switch.from_ms > 0]
    limits = lower_limits([switch.from_ms for switch in begins], advice.question.latency_limit_ms)
    shown = {switch.from_ms: limit for switch, limit in zip(begins, limits, strict=True)}

    def written(switch: Switch) -> str:
        if switch.to_ms is None:
            return f"from {shown.get(switch.from_ms, '0')} ms"
        to = shown.get(switch.to_ms) or milliseconds(switch.to_ms)
        return f"below {to} ms" if switch.from_ms <= 0 else f"{shown[switch.from_ms]} to {to} ms"

    return [written(switch) for switch in advice.switches]


def winners(advice: Advice, per: Per) -> list[str]:
    """Write who wins in each stretch of `advice.switches`."""
    several = len({(s.region, s.purchase_option) for s in advice.switches if s.option is not None}) > 1
    said = []
    for switch in advice.switches:
        if switch.option is None:
            said.append("nothing qualifies")
            continue
        where = f" in {switch.region}, {words(switch.purchase_option)}" if several and switch.region else ""
        usd = switch.cost_usd_per_100k
        said.append(switch.option + where + ("" if usd is None else f" (${money(shown_cost(usd, per))})"))
    return said


def movement(advice: Advice, per: Per) -> list[tuple[str, str]]:
    """Return how the recommendation moves with the limit: stretches of limits and who wins there."""
    limit = advice.question.latency_limit_ms
    asked = asked_stretch(advice)
    return [
        (stretch, f"{who}   <- asked: {plain(limit)} ms" if limit is not None and place == asked else who)
        for place, (stretch, who) in enumerate(zip(stretches(advice), winners(advice, per), strict=True))
    ]


def asked_stretch(advice: Advice) -> int | None:
    """Return the place in `advice.switches` of the stretch that holds the asked limit."""
    limit = advice.question.latency_limit_ms
    if limit is None:
        return None
    begun = [
        place
        for place, switch in enumerate(advice.switches)
        if switch.from_ms <= limit or math.isclose(switch.from_ms, limit, rel_tol=1e-9)
    ]
    return begun[-1] if begun else None


def reversals(advice: Advice, top: int) -> list[tuple[str, str]]:
    """Return for each shown way of serving but the first, at its cheapest: at which price or mean latency it would win."""
    rows = records(advice.ranked)
    seen = set()
    said = []
    for place, row in enumerate(rows[:top]):
        way = (row["option"], *(str(row[name]) for name in _OPERATING))
        if way in seen:
            continue
        seen.add(way)
        if not place:
            continue
        ways = []
        if known(row["winning_price_usd_per_hour"]):
            ways.append(
                f"${hourly(row['winning_price_usd_per_hour'])} an hour (now ${hourly(row['price_usd_per_hour'])})"
            )
        if known(row["winning_latency_mean_ms"]):
            ways.append(
                f"a mean of {milliseconds(row['winning_latency_mean_ms'])} ms (now {milliseconds(row['latency_mean_ms'])})"
            )
        if ways:
            said.append((called(row, rows), "would win at " + " or at ".join(ways)))
    return said


_GRADES: Final = {
    "A": "samples of five or more runs",
    "B": "samples of one to four runs",
    "C": "a histogram",
    "D": "a summary only",
    "E": "predicted, not measured",
}
_VERDICTS: Final = {
    "pass": "proved to keep the limit",
    "fail": "proved to miss it",
    "undecided": "not proved either way",
}


def legend(advice: Advice, top: int) -> str:
    """Explain the grades and verdicts that are shown."""
    rows = records(advice.ranked.head(top))
    said = [
        f"{grade}: {text}" for grade, text in _GRADES.items() if any(row["grade"] == grade for row in rows)
    ]
    said += [
        f"{word}: {text}" for word, text in _VERDICTS.items() if any(row["verdict"] == word for row in rows)
    ]
    if any(known(row["probability_best"]) for row in rows):
        said.append("best: chance of being the cheapest that keeps the promise")
    if not said:
        return ""
    what = (
        ""
        if all(row["grade"] == "A" for row in rows)
        else ", of the run that was measured, not of the next hour"
    )
    return f"{'; '.join(said)}; intervals and proofs at {percent(advice.question.confidence)}{what}"


def unmeasured(advice: Advice, shown: int = 8) -> str:
    """Count the types that are sold and have no benchmark of this model and input; name them where they are few."""
    count = advice.unmeasured_count
    if not count:
        return ""
    others = "1 other instance type is" if count == 1 else f"{count:,} other instance types are"
    names = f": {', '.join(advice.unmeasured)}" if count <= shown else ""
    regions = advice.question.region
    where = (
        "" if "all" in regions else f" in {', '.join(regions)}" if len(regions) <= 3 else " in these regions"
    )
    return f"{others} sold{where} and not measured with this model and input{names}"


def notes(advice: Advice) -> list[str]:
    """Return what the reader must know beside the figures; what `bill` says already is left out."""
    said = [note.text for note in advice.notes if note.code != "busy_time" or advice.recommended is None]
    left = unmeasured(advice)
    return [*said, left] if left else said


def sources(advice: Advice) -> list[tuple[str, str]]:
    """Return what the figures rest on: the files used, then each source with its date."""
    said = [("read", "; ".join(advice.origin))] if advice.origin else []
    said += [
        (
            source.role,
            f"{source.description or source.source}{f', as of {source.as_of}' if source.as_of else ''}",
        )
        for source in advice.sources
    ]
    return said


def estimate_words(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Write a figure with its interval in brackets."""
    line = interval_line(estimate.low, estimate.high, write)
    return f"{write(estimate.point)} ({line[0]})" if line else write(estimate.point)
