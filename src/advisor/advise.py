"""The front door: one question, one answer."""

from math import isnan

import numpy as np
import pandas as pd

from advisor import notes
from advisor.advice import Advice, Choice, Place, Role, SourceUsed, Switch
from advisor.arrays import IntArray
from advisor.candidates import accelerator_book, join, price_book
from advisor.constraints import check_names, hardware_facts
from advisor.contest import (
    Contest,
    chances,
    cheapest_places,
    contenders,
    hold,
    make_option,
    switches,
    winning,
)
from advisor.evidence import Estimate
from advisor.frames import tables
from advisor.judgement import judge
from advisor.measurements import ask
from advisor.reasons import Reasons
from advisor.tables import Benchmarks, Catalogue
from advisor.wording import lower_limits
from advisor.workload import Workload


def advise(catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload) -> Advice:
    """Say which option should serve the model, what it costs, how sure that is, and why the others lost.

    The three steps are memory, latency and cost; the order is that of the question's objective. Pure: no file, network,
    clock or print, and the same question over the same data gives the same answer whatever the order of its rows.

    Args:
        catalogue: hardware facts and prices (`advisor.prices.load`).
        benchmarks: measured latencies (`advisor.formats.read`).
        workload: the question.

    Returns:
        Every measured option of the asked model and input is in `ranked` or `rejected`, once for each asked region and
        purchase option that prices it, or once where none does.

    Raises:
        QuestionError: the data hold no such model, length, shape, region or purchase option, or several where one
            must be chosen.
    """
    check_names(workload, catalogue)
    asked = ask(benchmarks, workload)
    question, measurements = asked.workload, asked.measurements
    facts = hardware_facts(catalogue, measurements)
    options = [
        make_option(measurement, facts[measurement.option], judgement, question)
        for measurement, judgement in zip(measurements, judge(measurements, question), strict=True)
    ]
    at = [measurement.configuration for measurement in measurements]
    hosts, attached = [a["instance_type"] for a in at], [a["attached_accelerator"] for a in at]
    candidates = join(
        hosts,
        attached,
        [a["attached_accelerator_count"] for a in at],
        price_book(catalogue, question, sorted(set(hosts))),
        accelerator_book(catalogue, sorted(set(attached) - {""}), question),
    )
    contest = hold(options, candidates, question)

    competing = contenders(contest)
    moves = [] if question.latency_limit_ms is None else switches(contest, competing)
    likely = chances(contest, competing)
    edges = lower_limits([edge for edge, _ in moves], question.latency_limit_ms)
    wins_from = {place: shown for shown, (_, place) in reversed(list(zip(edges, moves, strict=True)))}
    rejected = _rejected_places(contest)
    reasons = Reasons(contest, catalogue, wins_from).of(rejected)
    ranked_frame, rejected_frame = tables(contest, likely, winning(contest), rejected, reasons)

    proven = _choice(ranked_frame, _first_proved(ranked_frame))
    recommended = (
        proven if question.decide == "proven" else _choice(ranked_frame, 0 if len(ranked_frame) else None)
    )
    unmeasured = _unmeasured(catalogue, question, set(hosts))
    answer = notes.Answer(
        question,
        asked,
        contest,
        likely,
        catalogue,
        ranked_frame,
        rejected_frame,
        recommended,
        proven,
        moves,
    )
    return Advice(
        question=question,
        headline=notes.headline(answer),
        recommended=recommended,
        proven=proven,
        ranked=ranked_frame,
        rejected=rejected_frame,
        unmeasured_count=len(unmeasured),
        unmeasured=unmeasured,
        switches=_switches(contest, moves),
        probability_none_kept=None
        if isnan(likely.none_kept) or question.latency_limit_ms is None
        else likely.none_kept,
        notes=notes.notes(answer),
        sources=_sources(contest, catalogue),
        origin=(*catalogue.origin, *benchmarks.origin),
        places=_places(contest),
    )


def _rejected_places(contest: Contest) -> IntArray:
    """The candidates that are not ranked: those that came furthest first, then by cost, then by key."""
    left = np.ones(contest.step.size, bool)
    left[contest.order] = False
    places = np.flatnonzero(left)
    return places[np.lexsort((places, contest.objective_cost[places], -contest.step[places]))]


def _first_proved(ranked: pd.DataFrame) -> int | None:
    proved = np.flatnonzero(((ranked["verdict"] == "pass") & (ranked["quality"] == "ok")).to_numpy())
    return int(proved[0]) if proved.size else None


def _choice(ranked: pd.DataFrame, place: int | None) -> Choice | None:
    if place is None:
        return None
    row = ranked.iloc[place]

    def estimate(point: str, low: str, high: str) -> Estimate:
        bounds = [None if isnan(row[name]) else float(row[name]) for name in (low, high)]
        return Estimate(float(row[point]), *bounds)

    percentile = "latency_percentile_ms"
    return Choice(
        rank=place + 1,
        option=row["option"],
        kind=row["kind"],
        instance_type=row["instance_type"],
        attached_accelerator=row["attached_accelerator"],
        attached_accelerator_count=int(row["attached_accelerator_count"]),
        region=row["region"],
        purchase_option=row["purchase_option"],
        price_usd_per_hour=float(row["price_usd_per_hour"]),
        cost_usd_per_100k=estimate("cost_usd_per_100k", "cost_low_usd_per_100k", "cost_high_usd_per_100k"),
        cost_usd_per_month=float(row["cost_usd_per_month"]),
        latency_mean_ms=estimate("latency_mean_ms", "latency_mean_low_ms", "latency_mean_high_ms"),
        latency_percentile_ms=None
        if isnan(row[percentile])
        else estimate(percentile, "latency_percentile_low_ms", "latency_percentile_high_ms"),
        verdict=row["verdict"],
        grade=row["grade"],
        probability_best=None if isnan(row["probability_best"]) else float(row["probability_best"]),
        more_needed=None if row["more_needed"] is pd.NA else int(row["more_needed"]),
        cost_usd_per_100k_served=None
        if isnan(row["cost_usd_per_100k_served"])
        else float(row["cost_usd_per_100k_served"]),
    )


def _switches(contest: Contest, moves: list[tuple[float, int]]) -> tuple[Switch, ...]:
    found = []
    ends: list[float | None] = [*(edge for edge, _ in moves[1:]), None][: len(moves)]
    for (edge, place), end in zip(moves, ends, strict=True):
        row = contest.candidates.book.rows.iloc[int(contest.candidates.host_row[place])]
        cost = float(contest.objective_cost[place])
        option = contest.option(place).measurement.option
        found.append(Switch(edge, end, option, row["region"], row["purchase_option"], cost))
    if found:
        found.insert(0, Switch(0.0, moves[0][0], None, "", "", None))
    return tuple(found)


def _places(contest: Contest) -> tuple[Place, ...]:
    """The cheapest option of each place, where several are asked."""
    asked, at = contest.workload, contest.candidates
    if "all" not in (*asked.region, *asked.purchase) and len(asked.region) * len(asked.purchase) == 1:
        return ()
    found = cheapest_places(contest.options, at.book, at.accelerator_book, asked)
    rows = at.book.at([row for _, row, _, _ in found])
    places = zip(found, rows["region"], rows["purchase_option"], strict=True)
    return tuple(
        Place(region, purchase, option.measurement.option, price, cost)
        for (option, _, price, cost), region, purchase in places
    )


def _unmeasured(catalogue: Catalogue, question: Workload, measured: set[str]) -> tuple[str, ...]:
    """Sold types with a price in the asked regions and purchase options that nobody measured for this question."""
    prices: pd.DataFrame = catalogue.prices
    wanted = np.ones(len(prices), bool)
    if "all" not in question.region:
        wanted = wanted & (prices["region"].isin(list(question.region)).to_numpy())
    if "all" not in question.purchase:
        wanted = wanted & (prices["purchase_option"].isin(list(question.purchase)).to_numpy())
    instances: pd.DataFrame = catalogue.instances
    sold = set(instances.loc[instances["availability"] == "sold", "instance_type"])
    return tuple(sorted((sold & set(prices["instance_type"].to_numpy(object)[wanted])) - measured))


def _sources(contest: Contest, catalogue: Catalogue) -> tuple[SourceUsed, ...]:
    """What the shown figures rest on, by role and source id."""
    described = {row["source"]: row for row in catalogue.sources.to_dict("records")}
    found: list[tuple[Role, str, str]] = []
    used = contest.candidates
    for book, rows in ((used.book, used.host_row), (used.accelerator_book, used.accelerator_row)):
        kept = book.rows.iloc[np.unique(rows[rows >= 0])]
        found += [
            ("prices", source, as_of) for source, as_of in zip(kept["source"], kept["as_of"], strict=True)
        ]
    by_name = {option.measurement.option: option.facts for option in contest.options}
    found += [("hardware", source, as_of) for facts in by_name.values() for source, as_of in facts.sources]
    found += [
        ("latency", source, option.measurement.context["measured_on"])
        for option in contest.options
        for source in option.measurement.context["source"].split("; ")
    ]
    groups: dict[tuple[Role, str], list[str]] = {}
    for role, source, as_of in found:
        if source:
            groups.setdefault((role, source), []).append(as_of)
    return tuple(
        SourceUsed(
            role,
            source,
            str(described[source]["description"]) if source in described and role != "latency" else source,
            max(dates),
            len(dates),
        )
        for (role, source), dates in sorted(groups.items())
    )
