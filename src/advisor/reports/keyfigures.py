"""The answer in four figures and a line: what the dashboard and the HTML report show first."""

from dataclasses import replace

from advisor.advice import Advice
from advisor.evidence import Estimate
from advisor.reports import sentences as say
from advisor.reports.presentation import (
    Presentation,
    money,
    per_words,
    percentile_name,
    plain,
    records,
    shown_cost,
    words,
)
from advisor.reports.rows import evidence_cell, interval_line, percentile_cell
from advisor.text import printable
from advisor.wording import chance


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
        what.append(f"{percentile_name(question.percentile)} within {plain(question.latency_limit_ms)} ms")
    what.append(", ".join(question.region))
    what.append(", ".join(map(words, question.purchase)))
    what.append(f"lowest {question.objective.replace('-', ' ')} first")
    what.append(f"as of {question.today.isoformat()}")
    return printable("; ".join(what))


def key_figures(advice: Advice, presentation: Presentation) -> list[tuple[str, str, str]]:
    """Return what matters of the answer, four times: name, figure, what belongs to it.

    Where nothing qualifies the four say so, and which limit could be kept.
    """
    best = advice.recommended
    question = advice.question
    name = percentile_name(question.percentile)
    limit = (
        "no limit asked" if question.latency_limit_ms is None else f"limit {plain(question.latency_limit_ms)} ms"
    )  # fmt: skip
    per = per_words(presentation.per)
    if best is None:
        option, from_ms, cost = _nearest(advice, presentation)
        return [
            ("Option", "none", "nothing keeps every limit"),
            ("Nearest option", option, "kept from the limit at the right" if from_ms != "unknown" else ""),
            (f"{name} latency", from_ms, limit),
            (f"Its cost {per}", cost, ""),
        ]
    row = records(advice.ranked.iloc[best.rank - 1 : best.rank])[0]
    percentile = percentile_cell(row, question.latency_limit_ms)
    factor = shown_cost(1.0, presentation.per)
    interval = interval_line(
        best.cost_usd_per_100k.low,
        best.cost_usd_per_100k.high,
        lambda usd: f"${money(usd * factor)}",
    )
    return [
        ("Option", printable(best.option), say.place(best)),
        (
            f"Cost {per}",
            f"${money(best.cost_usd_per_100k.point * factor)}",
            _steady(
                best.cost_usd_per_100k,
                _interval(interval[0] if interval else "", money(best.cost_usd_per_100k.point * factor)),
            ),
        ),
        (
            f"{name} latency",
            f"{_with_signs(percentile[0])} ms" if percentile[0] != "unknown" else "unknown",
            "; ".join([limit, *(_interval(line, "") for line in percentile[1:])]),
        ),
        (
            "Chance of being best",
            "unknown" if best.probability_best is None else chance(best.probability_best),
            f"evidence {evidence_cell(row)[0]}",
        ),
    ]


def _steady(estimate: Estimate, said: str) -> str:
    """Say that an interval is of the steady state where a warm-up in the figure puts it outside."""
    low, high = estimate.low, estimate.high
    outside = (low is not None and estimate.point < low) or (high is not None and estimate.point > high)
    return said.replace("interval", "steady") if outside else said


def _interval(line: str, point: str) -> str:
    """Write an interval, or that it is narrower than the digits that are shown."""
    if not line:
        return "no interval known"
    if line.startswith(">= "):
        return f"at least {line[3:]}"
    if line.startswith("<= "):
        return f"at most {line[3:]}"
    if point and line.replace("$", "") == f"{point}-{point}":
        return "interval within these digits"
    return f"interval {line}"


def _with_signs(text: str) -> str:
    return text.replace("<=", "≤").replace(">=", "≥")


def _nearest(advice: Advice, presentation: Presentation) -> tuple[str, str, str]:
    """Return the option that qualifies at the least limit above the asked one, that limit, and its cost."""
    limit = advice.question.latency_limit_ms
    for switch, stretch in zip(advice.switches, say.stretches(advice), strict=True):
        if switch.option is not None and (limit is None or switch.from_ms >= limit):
            cost = switch.cost_usd_per_100k
            return (
                printable(switch.option),
                f"{stretch.removeprefix('from ').split()[0]} ms",
                "unknown" if cost is None else f"${money(shown_cost(cost, presentation.per))}",
            )
    return "none", "unknown", "unknown"


def lead(advice: Advice) -> list[str]:
    """Say what the recommended option costs by the hour and by the month, and how far it is ahead of the next."""
    return [printable(sentence) for sentence in say.bill(_first(advice))]


def _first(advice: Advice) -> Advice:
    """Leave the rows that no sentence is about: of many thousand, two are enough."""
    best = 1 if advice.recommended is None else advice.recommended.rank
    return replace(advice, ranked=advice.ranked.head(max(2, best)))


def would_change(advice: Advice, presentation: Presentation) -> list[str]:
    """Say what would change the answer: the neighbouring stretches of limits, and the next option's winning price."""
    said = []
    here = say.asked_stretch(advice)
    if here is not None:
        moves = say.movement(advice, presentation.per)
        around = [*moves[here + 1 : here + 2], *reversed(moves[max(0, here - 2) : here])]
        said += [printable(f"limit {stretch}: {who}") for stretch, who in around]
    said += [
        printable(f"{option} {how}")
        for option, how in say.reversals(_first(advice), 2)
        if advice.recommended is not None
    ]
    return said
