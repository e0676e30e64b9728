"""What the text reports say in sentences: the bill, what would change the answer, notes and sources.

Nothing here is escaped or laid out; every report does that for its target.
"""

import math
from typing import Final

from advisor.advice import Advice, Choice, Switch
from advisor.reports.presentation import (
    Per,
    hourly,
    known,
    milliseconds,
    money,
    percent,
    plain,
    records,
    shown_cost,
    whole_money,
    words,
)
from advisor.reports.rows import OPERATING, called
from advisor.tables import HOURS_PER_MONTH
from advisor.wording import lower_limits


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
        way = (row["option"], *(str(row[name]) for name in OPERATING))
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
