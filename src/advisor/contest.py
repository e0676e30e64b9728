"""Every candidate with its costs, the step it was lost at, and its place: the three steps on arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isnan, nan
from typing import Final

import numpy as np
import numpy.typing as npt

from advisor import ranking
from advisor.arrays import BoolArray, FloatArray, IntArray
from advisor.candidates import Candidates, PriceBook, join, unit_cost, unit_cost_served
from advisor.constraints import PASSED, STEPS, Facts, Failure, filtered, fitted, late
from advisor.judgement import Judgement
from advisor.measurements import Measurement
from advisor.memory import MemoryCheck, check
from advisor.workload import Workload

StepArray = npt.NDArray[np.int8]

_CODE: Final = {step: code for code, step in enumerate(STEPS)}


@dataclass(frozen=True)
class Option:
    """One measured option with all that is known of it before a price.

    Attributes:
        barred: a filter that leaves it out, or None.
        failure: the first later step that it fails whatever its price (hardware, memory, latency), or None.
    """

    measurement: Measurement
    facts: Facts
    judgement: Judgement
    memory: MemoryCheck
    barred: Failure | None
    failure: Failure | None

    @property
    def suspect(self) -> bool:
        """Its own note doubts its figures: it is never first."""
        return self.measurement.suspect


def make_option(measurement: Measurement, facts: Facts, judgement: Judgement, workload: Workload) -> Option:
    """Put a measurement through the steps that need no price."""
    memory = check(workload, facts.hardware, measurement.peak_host_mib, measurement.peak_device_mib)
    return Option(
        measurement,
        facts,
        judgement,
        memory,
        filtered(measurement, facts, workload),
        fitted(memory, facts, measurement, workload) or late(measurement, judgement, workload),
    )


@dataclass(frozen=True)
class Contest:
    """All candidates with what decides between them; arrays have shape (n,).

    Attributes:
        step: code of the first step that a candidate fails; `PASSED` where none.
        open: it passes every step but, maybe, latency, and is not suspect: it could win.
        cost: USD per 100,000 from the mean latency; NaN: unknown.
        cost_served: USD per 100,000 from the throughput; NaN: unknown.
        objective_cost: the one of the two that the question compares.
        order: places of the ranked candidates, best first.
    """

    options: tuple[Option, ...]
    candidates: Candidates
    workload: Workload
    step: StepArray
    open: BoolArray
    cost: FloatArray
    cost_served: FloatArray
    objective_cost: FloatArray
    order: IntArray

    def option(self, place: int) -> Option:
        """The option of a candidate."""
        return self.options[int(self.candidates.measurement[place])]

    def exact_cost(self, place: int) -> Fraction:
        """The objective's cost as a fraction: sums and products of the figures as they are written."""
        option, at = self.option(place), self.candidates
        price = Fraction(repr(float(at.host_usd_per_hour[place])))
        if option.measurement.configuration["attached_accelerator"]:
            each = Fraction(repr(float(at.accelerator_book.usd_per_hour[at.accelerator_row[place]])))
            price += each * option.measurement.configuration["attached_accelerator_count"]
        if self.workload.objective == "served-cost":
            return price * 100_000 / 3600 / Fraction(repr(option.measurement.throughput_per_s))
        kept = Fraction(1)
        if option.measurement.error_count and option.measurement.sample_count:
            count = option.measurement.sample_count
            kept = Fraction(count, count + option.measurement.error_count)
        return (
            price
            * Fraction(repr(option.measurement.mean_ms))
            / 36
            / option.measurement.items_in_flight
            / kept
        )


def hold(options: Sequence[Option], candidates: Candidates, workload: Workload) -> Contest:
    """Cost every candidate, find the step at which it is lost, and rank those that pass all.

    Suspect measurements come after all others; where only suspects are left, they are lost at the latency step.
    """
    of, price = candidates.measurement, candidates.usd_per_hour
    units, served = _unit_costs(options)
    cost, cost_served = price * units[of], price * served[of]
    objective = cost_served if workload.objective == "served-cost" else cost

    own_step = np.array([_earliest(option) for option in options], np.int8)
    price_step = _price_steps(options, candidates, objective, workload)
    step = np.minimum(own_step[of], price_step)
    suspect = np.array([option.suspect for option in options], bool)
    able = ((own_step == PASSED) | (own_step == _CODE["latency"])) & ~suspect
    contest = Contest(
        tuple(options),
        candidates,
        workload,
        step,
        able[of] & (price_step == PASSED),
        cost,
        cost_served,
        objective,
        np.empty(0, np.int64),
    )
    passed = np.flatnonzero(step == PASSED)
    doubted = suspect[of[passed]]
    ranked = rank(contest, passed[~doubted])
    if not ranked.size:
        step[passed] = _CODE["latency"]
    elif doubted.any():
        ranked = np.concatenate([ranked, rank(contest, passed[doubted])])
    return replace(contest, order=ranked)


def _unit_costs(options: Sequence[Option]) -> tuple[FloatArray, FloatArray]:
    """USD per 100,000 for each USD per hour of each option: from the mean latency, and from the throughput."""
    measurements = [option.measurement for option in options]
    units = unit_cost(
        np.array([m.mean_ms for m in measurements], float),
        np.array([m.items_in_flight for m in measurements], float),
        np.array([m.error_fraction for m in measurements], float),
    )
    return units, unit_cost_served(np.array([m.throughput_per_s for m in measurements], float))


def _objective_units(options: Sequence[Option], workload: Workload) -> FloatArray:
    """The one of the two that the question compares."""
    return _unit_costs(options)[1 if workload.objective == "served-cost" else 0]


def cheapest_places(
    options: Sequence[Option], book: PriceBook, accelerators: PriceBook, workload: Workload
) -> list[tuple[Option, int, float, float]]:
    """Return the cheapest candidate of each region and purchase option that passes every step.

    The price is a common factor of all measurements of one option, so that the one of least cost per dollar is the
    cheapest at every price: only that one is joined, and a million candidates are never made.

    Returns:
        Option, row of the book, price in USD per hour and the objective's cost, by rising region and purchase option.
    """
    units = _objective_units(options, workload)
    best: dict[str, int] = {}
    for place in np.argsort(units, kind="stable").tolist():
        if _earliest(options[place]) == PASSED and not options[place].suspect:
            best.setdefault(options[place].measurement.option, place)
    kept = [options[place] for place in best.values()]
    if not kept:
        return []
    at = [option.measurement.configuration for option in kept]
    found = join(
        [a["instance_type"] for a in at],
        [a["attached_accelerator"] for a in at],
        [a["attached_accelerator_count"] for a in at],
        book,
        accelerators,
    )
    cost = found.usd_per_hour * units[list(best.values())][found.measurement]
    passed = np.flatnonzero(_price_steps(kept, found, cost, workload) == PASSED)
    where = book.place[found.host_row[passed]]
    least = np.full(int(where.max(initial=-1)) + 1, inf)
    np.minimum.at(least, where, cost[passed])
    first = np.full(least.size, -1)
    hits = np.flatnonzero(cost[passed] == least[where])[::-1]
    first[where[hits]] = passed[hits]  # the last write, of the first candidate, stays
    return [
        (kept[found.measurement[i]], int(found.host_row[i]), float(found.usd_per_hour[i]), float(cost[i]))
        for i in first[first >= 0].tolist()
    ]


def _earliest(option: Option) -> int:
    found = option.barred or option.failure
    return PASSED if found is None else _CODE[found.step]


def _price_steps(
    options: Sequence[Option], candidates: Candidates, objective: FloatArray, workload: Workload
) -> StepArray:
    """The first step that each candidate fails by its price; the later steps are set first."""
    of, book = candidates.measurement, candidates.book
    step = np.full(of.size, PASSED, np.int8)
    step[np.isnan(objective)] = _CODE["cost"]
    step[np.isnan(candidates.usd_per_hour)] = _CODE["price"]
    if book.stale.any() and not workload.stale_spot:
        step[np.append(book.stale, False)[candidates.host_row]] = _CODE["price"]
    if book.elsewhere:
        hosts = [option.measurement.configuration["instance_type"] for option in options]
        elsewhere = np.array([host in book.elsewhere for host in hosts], bool)
        step[elsewhere[of] & (candidates.host_row < 0)] = _CODE["availability"]
    if not workload.include_retired:
        step[retired(options, candidates)] = _CODE["availability"]
    if workload.max_usd_per_hour is not None:
        step[candidates.usd_per_hour > workload.max_usd_per_hour] = _CODE["filter"]
    return step


def retired(options: Sequence[Option], candidates: Candidates) -> IntArray:
    """Places of the candidates with a type that is no longer sold, but for those at the user's own price."""
    closed_options = np.array([bool(option.facts.closed_types) for option in options], bool)
    if not closed_options.any():
        return np.empty(0, np.int64)
    places = np.flatnonzero(closed_options[candidates.measurement])
    of = [options[m] for m in candidates.measurement[places].tolist()]
    own_host = np.append(candidates.book.own, False)[candidates.host_row[places]]
    own_accelerator = np.append(candidates.accelerator_book.own, False)[candidates.accelerator_row[places]]
    found = np.zeros(places.size, bool)
    for name, own in (("instance_type", own_host), ("attached_accelerator", own_accelerator)):
        found |= (
            np.array([o.measurement.configuration[name] in o.facts.closed_types for o in of], bool) & ~own
        )
    return places[found]


def rank(contest: Contest, places: IntArray) -> IntArray:
    """Some candidates in the order of the objective."""
    of, cost = contest.candidates.measurement[places], contest.objective_cost[places]
    latency = np.array([option.judgement.percentile_ms for option in contest.options], float)
    if contest.workload.objective != "latency":
        by_latency = np.unique(np.nan_to_num(latency, nan=inf), return_inverse=True)[1]
        return places[ranking.order(cost, by_latency[of], lambda i: contest.exact_cost(int(places[i])))]
    bound = np.array([option.judgement.percentile_high_ms for option in contest.options], float)
    unknown = np.isnan(latency)
    shown = np.nan_to_num(np.where(unknown, bound, latency), nan=inf)
    return places[np.lexsort((places, cost, shown[of], unknown[of]))]


def contenders(contest: Contest) -> IntArray:
    """The cheapest candidate of each option that passes every step but, maybe, latency; suspects do not compete.

    Dearer regions and purchase options of the same option cannot be the cheapest that keeps the promise.
    """
    places = np.flatnonzero(contest.open)
    if not places.size:
        return places
    of = contest.candidates.measurement[places]
    starts = np.flatnonzero(np.r_[True, of[1:] != of[:-1]])
    cheapest = np.minimum.reduceat(contest.objective_cost[places], starts)
    is_cheapest = contest.objective_cost[places] == np.repeat(cheapest, np.diff(np.r_[starts, of.size]))
    found = places[is_cheapest]
    first: IntArray = found[np.unique(contest.candidates.measurement[found], return_index=True)[1]]
    return first


def switches(contest: Contest, places: IntArray) -> list[tuple[float, int]]:
    """Where the recommendation passes from one candidate to another as the limit rises: (limit in ms, place)."""
    edges = np.array([contest.option(int(p)).judgement.keeps_from_ms for p in places], float)
    cost = contest.objective_cost[places]

    def first(among: IntArray) -> int:
        if contest.workload.objective != "latency":
            near = cost[among].min() * (1 + 2 * float(ranking.TIE_FRACTION))
            among = among[cost[among] <= near]
        return int(np.searchsorted(places, rank(contest, places[among])[0]))

    return [(edge, int(places[place])) for edge, place in ranking.stretches(edges, first)]


@dataclass(frozen=True)
class Chances:
    """Chances of the candidates, shape (n,); NaN: not known.

    Attributes:
        best: chance of being the cheapest that keeps the promise.
        among_best: cannot be told from the best.
        none_kept: chance that no option keeps the promise; NaN: not known.
        left_out: options whose spread or chance is unknown, by name.
        single_run: options whose error includes the assumed run-to-run spread.
    """

    best: FloatArray
    among_best: BoolArray
    none_kept: float
    left_out: tuple[str, ...]
    single_run: int


def chances(contest: Contest, places: IntArray) -> Chances:
    """Return the chance of each contender to be the cheapest that keeps the promise.

    The error of a log cost is that of log(mean); with one run only, the assumed run-to-run spread is added to it
    (in squares). Options of unknown spread take no part, and nothing is said where fewer than two others are left.
    Places that sell a contender at the same cost share its chance; dearer ones have none.
    """
    size = contest.candidates.measurement.size
    best, among = np.full(size, nan), np.zeros(size, bool)
    of = [contest.option(int(place)) for place in places]
    errors = np.array([_log_cost_se(option, contest.workload) for option in of], float)
    kept = np.array([option.judgement.probability_kept for option in of], float)
    known = ~np.isnan(errors) & ~np.isnan(kept)
    left_out = tuple(dict.fromkeys(o.measurement.option for o, k in zip(of, known, strict=True) if not k))
    if not known.any() or (known.sum() < 2 and left_out):
        return Chances(best, among, nan, left_out, 0)
    chance, none_kept = ranking.probability_best(
        np.log(contest.objective_cost[places[known]]), errors[known], kept[known]
    )
    dominated = np.isin(contest.candidates.measurement, contest.candidates.measurement[places[known]])
    best[dominated & contest.open] = 0.0
    contender = np.full(len(contest.options), -1)
    contender[contest.candidates.measurement[places[known]]] = np.arange(known.sum())
    own = contender[contest.candidates.measurement]
    same = contest.open & (own >= 0) & (contest.objective_cost == contest.objective_cost[places[known]][own])
    best[same], among[same] = chance[own[same]], ranking.best_set(chance)[own[same]]
    single = sum(o.measurement.run_count == 1 for o, k in zip(of, known, strict=True) if k)
    return Chances(best, among, nan if left_out else none_kept, left_out, single)


def _log_cost_se(option: Option, workload: Workload) -> float:
    within = option.judgement.log_mean_se
    if isnan(within) or option.measurement.run_count > 1:
        return within
    return float(np.hypot(within, workload.between_run_sd_fraction))


def winning(contest: Contest) -> tuple[FloatArray, FloatArray]:
    """Return the hourly price and the mean latency at or under which each candidate would be (or stays) first.

    With all else as it is: the price at which its cost equals the least of the others; the mean at which it does
    and, where the limit is missed, at which the percentile, moved in proportion, keeps it. NaN where none can.
    """
    at, cost, workload = contest.candidates, contest.objective_cost, contest.workload
    size = cost.size
    price, mean = np.full(size, nan), np.full(size, nan)
    suspect = np.array([option.suspect for option in contest.options], bool)[at.measurement]
    rivals = contest.order[~suspect[contest.order]]
    if workload.objective == "latency" or not size:
        return price, mean
    lowest = cost[rivals].min() if rivals.size else nan
    others = np.full(size, lowest)
    if rivals.size:
        cheapest = rivals[np.argmin(cost[rivals])]
        others[cheapest] = np.delete(cost[rivals], np.argmin(cost[rivals])).min() if rivals.size > 1 else nan
    per_dollar = _objective_units(contest.options, workload)[at.measurement]
    means = np.array([option.measurement.mean_ms for option in contest.options], float)[at.measurement]

    priced_out = (contest.step == _CODE["filter"]) & (at.usd_per_hour > (workload.max_usd_per_hour or inf))
    barred = np.array([o.barred is not None or o.failure is not None for o in contest.options], bool)[
        at.measurement
    ]
    by_price = ~barred & ~suspect & ((contest.step == PASSED) | priced_out | (contest.step == _CODE["price"]))
    price[by_price] = (others / per_dollar)[by_price]
    if workload.max_usd_per_hour is not None:
        price[by_price] = np.fmin(price[by_price], workload.max_usd_per_hour)

    late_only = (contest.step == _CODE["latency"]) & contest.open
    keeps = np.array([option.judgement.keeps_from_ms for option in contest.options], float)[at.measurement]
    with np.errstate(invalid="ignore", divide="ignore"):
        shrink = np.where(late_only, (workload.latency_limit_ms or nan) / keeps, 1.0)
        factor = np.fmin(shrink, others / cost) if rivals.size else shrink
    by_mean = ((contest.step == PASSED) & ~suspect & ~np.isnan(others)) | (late_only & np.isfinite(keeps))
    if workload.objective == "cost":
        mean[by_mean] = (means * np.where(late_only, factor, others / cost))[by_mean]
    if contest.order.size:
        first = contest.order[0]
        price[first] = np.fmax(price[first], at.usd_per_hour[first]) if not isnan(price[first]) else nan
        mean[first] = np.fmax(mean[first], means[first]) if not isnan(mean[first]) else nan
    return price, mean
