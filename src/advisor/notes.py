"""What the reader must know: the headline and the notes, worded in one place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Final

import numpy as np
import pandas as pd

from advisor.advice import Choice, Note
from advisor.candidates import SPOT_MAX_AGE, age_days
from advisor.constraints import PASSED
from advisor.contest import Chances, Contest, Option
from advisor.measurements import Asked
from advisor.prices.catalogue import OWN_NOTE
from advisor.tables import HOURS_PER_MONTH, Catalogue
from advisor.wording import (
    chance,
    figure,
    listing,
    lower_limits,
    milliseconds,
    money,
    percent,
    plural,
    purchase_name,
)
from advisor.workload import Workload

PRICES_OLD_DAYS: Final = 90
DIFFERENCE_WORTH_A_NOTE: Final = 0.05


@dataclass(frozen=True)
class Answer:
    """All that headline and notes speak of."""

    question: Workload
    asked: Asked
    contest: Contest
    chances: Chances
    catalogue: Catalogue
    ranked: pd.DataFrame
    rejected: pd.DataFrame
    recommended: Choice | None
    proven: Choice | None
    moves: Sequence[tuple[float, int]]

    def ranked_options(self) -> list[Option]:
        """The ranked options, each once, in the order of the ranking."""
        of = self.contest.candidates.measurement[self.contest.order]
        return [self.contest.options[place] for place in dict.fromkeys(of.tolist())]


def headline(answer: Answer) -> str:
    """One sentence that a manager can quote."""
    question, first, proven = answer.question, answer.recommended, answer.proven
    if first is None:
        return _nothing(answer)
    serves = f"{first.option} serves {_served(question)}{_promise(question)} for {_cost(first, question)} per 100,000 inferences"
    if question.latency_limit_ms is None:
        return f"{serves}; no latency limit was asked"
    if proven is None:
        return f"{serves} as measured, not proved{_settle(answer)}; no option is proved"
    if proven.rank == first.rank:
        cheaper = f"; {_first_as_measured(answer)}" if first.rank > 1 else ""
        return f"{serves}, proved{cheaper}"
    more = _objective_cost(proven, question) / _objective_cost(first, question) - 1
    return (
        f"{serves} as measured, not proved{_settle(answer)}; the cheapest proved one is {proven.option} "
        f"at {_cost(proven, question)}, {percent(more)} more"
    )


def _served(question: Workload) -> str:
    details = []
    if question.sequence_length is not None:
        details.append(f"length {question.sequence_length}")
    if question.input_shape:
        details.append(f"input {question.input_shape}")
    return f"{question.model}" + (f" ({', '.join(details)})" if details else "")


def _promise(question: Workload) -> str:
    if question.latency_limit_ms is None:
        return ""
    return f" within {milliseconds(question.latency_limit_ms)} at P{question.percentile:g}"


def _objective_cost(choice: Choice, question: Workload) -> float:
    served = choice.cost_usd_per_100k_served
    return (
        (nan if served is None else served)
        if question.objective == "served-cost"
        else choice.cost_usd_per_100k.point
    )


def _cost(choice: Choice, question: Workload) -> str:
    return money(_objective_cost(choice, question))


def _settle(answer: Answer) -> str:
    """What would settle the verdict of the option that is first as measured."""
    judgement = answer.contest.option(int(answer.contest.order[0])).judgement
    if judgement.verdict == "fail":
        return ", and its evidence is against it"
    if judgement.more_needed is not None:
        return f" (about {plural(judgement.more_needed, 'further request')} would settle it)"
    return (
        ""
        if judgement.more_helps
        else " (it is so near the limit that more requests will not settle it soon)"
    )


def _first_as_measured(answer: Answer) -> str:
    row = answer.ranked.iloc[0]
    column = "cost_usd_per_100k_served" if answer.question.objective == "served-cost" else "cost_usd_per_100k"
    return f"{row['option']} is first as measured ({money(row[column])}) but not proved"


def _nothing(answer: Answer) -> str:
    question = answer.question
    regions = listing(["any region" if r == "all" else r for r in question.region])
    what = f"{_served(question)}{_promise(question)} in {regions}"
    if len(answer.ranked):
        return f"No option is proved to serve {what}; {_first_as_measured(answer)}"
    if answer.moves:
        option = answer.contest.option(answer.moves[0][1]).measurement.option
        keeps = lower_limits([edge for edge, _ in answer.moves], question.latency_limit_ms)[0]
        return f"No option serves {what}; the nearest is {option}, which keeps {keeps} ms"
    return f"No option serves {what}"


def notes(answer: Answer) -> tuple[Note, ...]:
    """Every note that applies, in the order in which a reader needs them."""
    parts = (
        _about_the_question,
        _about_prices,
        _about_memory,
        _about_evidence,
        _about_chances,
        _about_load,
        _about_cost,
    )
    return tuple(note for part in parts for note in part(answer))


def _about_the_question(answer: Answer) -> Iterator[Note]:
    asked, question = answer.asked, answer.question
    if asked.filled:
        yield Note(
            "filled_in", f"not asked, and used because the files hold no other: {listing(asked.filled)}"
        )
    if asked.older_software_count:
        count = plural(asked.older_software_count, "measurement")
        yield Note(
            "older_software",
            f"{count} with an older software version left out: the newest of each configuration counts",
        )
    if asked.empty_run_count:
        yield Note(
            "empty_runs", f"{plural(asked.empty_run_count, 'run')} left out: ended before the first request"
        )
    retired = answer.rejected.loc[
        answer.rejected["reason"].str.contains("no longer sold", regex=False), "option"
    ]
    if retired.nunique():
        yield Note(
            "retired",
            f"{plural(retired.nunique(), 'option')} no longer sold left out: --include-retired ranks them",
        )
    suspects = sorted({o.measurement.option for o in answer.contest.options if o.suspect})
    if suspects:
        only = (
            ""
            if len(answer.ranked) or not (answer.rejected["quality"] == "suspect").any()
            else ", so that nothing is recommended where no other is left"
        )
        yield Note("suspect", f"doubted by their own note and never first: {listing(suspects)}{only}")
    if question.decide == "proven" and question.latency_limit_ms is not None:
        yield Note(
            "switches_as_measured",
            "the limits at which the answer moves are those of the options as measured, not as proved",
        )
    yield from _unpriced_places(answer)
    if question.objective == "latency":
        unknown = answer.ranked.loc[answer.ranked["latency_percentile_ms"].isna(), "option"].unique()
        if len(unknown):
            yield Note(
                "percentile_order",
                f"P{question.percentile:g} is not known of {listing(unknown)}: ranked after the others, by its upper bound",
            )


def _unpriced_places(answer: Answer) -> Iterator[Note]:
    """Where an option that is priced somewhere has no price in another asked region or purchase option."""
    question, at = answer.question, answer.contest.candidates
    if "all" in (*question.region, *question.purchase) or len(question.region) * len(question.purchase) == 1:
        return
    held: dict[str, set[tuple[str, str]]] = {}
    places = zip(at.book.rows["region"], at.book.rows["purchase_option"], strict=True)
    for host, place in zip(at.book.rows["instance_type"], places, strict=True):
        held.setdefault(host, set()).add(place)
    for region in question.region:
        for purchase in question.purchase:
            lacking = sorted(h for h, of in held.items() if not of & {(region, purchase), (region, "custom")})
            if lacking:
                yield Note(
                    "not_priced_there", f"no {purchase_name(purchase)} price in {region}: {listing(lacking)}"
                )


def _shown_prices(answer: Answer) -> pd.DataFrame:
    book = answer.contest.candidates
    rows = np.unique(book.host_row[book.host_row >= 0])
    attached = np.unique(book.accelerator_row[book.accelerator_row >= 0])
    return pd.concat([book.book.rows.iloc[rows], book.accelerator_book.rows.iloc[attached]])


def _about_prices(answer: Answer) -> Iterator[Note]:
    question, prices = answer.question, _shown_prices(answer)
    own = prices[prices.index.isin(list(answer.catalogue.own))]
    if len(own):
        yield Note("own_prices", f"your own price counts for {listing(sorted(set(own['instance_type'])))}")
    dated = prices[(prices["purchase_option"] != "spot") & (prices["as_of"] != "")]
    ages = {as_of: age_days(question.today, as_of) for as_of in dated["as_of"].unique()}
    old = {as_of: age for as_of, age in ages.items() if age is not None and age > PRICES_OLD_DAYS}
    if old:
        first, last = min(old), max(old)
        when = f"{first} are" if first == last else f"{first} to {last} are up to"
        yield Note("stale_prices", f"prices of {when} {old[first]} days old: advisor prices refresh")
    newest = dated.groupby("region")["as_of"].max()
    if len(newest) > 1:
        first, last = newest.min(), newest.max()
        apart = (age_days(question.today, first) or 0) - (age_days(question.today, last) or 0)
        if apart >= PRICES_OLD_DAYS:
            yield Note(
                "region_dates",
                f"prices of {newest.idxmin()} ({first}) and {newest.idxmax()} ({last}) lie {apart} days apart",
            )
    for note in dict.fromkeys(text for text in prices["note"] if text not in {"", OWN_NOTE}):
        yield Note("price_row", note)
    spot = answer.rejected["reason"].str.contains("--stale-spot", regex=False)
    if spot.any():
        yield Note(
            "stale_spot",
            f"{plural(int(spot.sum()), 'spot price')} older than {SPOT_MAX_AGE.days} days shown and not ranked: --stale-spot ranks them",
        )
    bought = answer.ranked["purchase_option"]
    if (bought == "spot").any():
        yield Note(
            "spot",
            "spot instances can be interrupted; a spot price is labelled with its statistic and moves by the hour",
        )
    bound = answer.ranked.loc[answer.ranked["months"].fillna(0) > 0, "months"]
    if len(bound):
        yield Note(
            "commitment",
            f"reserved and savings-plan prices bind the buyer for {listing(sorted(set(bound)))} months",
        )


def _about_memory(answer: Answer) -> Iterator[Note]:
    if answer.question.model_size_bytes is None:
        yield Note("memory_not_checked", "memory not checked: give --model-size")
    else:
        yield Note(
            "memory_lower_bound",
            "memory is checked against a lower bound (model + input, or a measured peak): real use is often higher; --headroom 1.5 asks for more",
        )


def _about_evidence(answer: Answer) -> Iterator[Note]:
    question, ranked = answer.question, answer.ranked
    options = [o for o in answer.contest.options if o.barred is None]
    summaries = [o for o in options if o.judgement.grade == "D"]
    if summaries:
        counts = sorted({o.measurement.sample_count for o in summaries if o.measurement.sample_count})
        of = (
            ""
            if not counts
            else f" of {plural(counts[0], 'request')}"
            if len(counts) == 1
            else f" of {counts[0]:,} to {counts[-1]:,} requests"
        )
        yield Note(
            "summaries",
            f"evidence D: {plural(len(summaries), 'summary', 'summaries')}{of}, taken as independent; measure with: advisor bench run",
        )
    one_run = [o for o in options if o.judgement.grade == "B" and o.measurement.run_count == 1]
    if one_run:
        names = sorted({o.measurement.option for o in one_run})
        each = "each " if len(names) > 1 else ""
        yield Note("one_run", f"one run {each}of {listing(names)}: its interval describes that run only")
    if question.latency_limit_ms is not None:
        unreported = sorted({o.measurement.option for o in options if isnan(o.judgement.percentile_ms)})
        if unreported:
            yield Note(
                "percentile_not_reported",
                f"P{question.percentile:g} not reported for {listing(unreported)}: decided by what the other figures prove",
            )
    warm = [o for o in options if o.judgement.warmup_count]
    if warm:
        yield Note(
            "warmup",
            f"warm-up found in {listing(sorted({o.measurement.option for o in warm}))}: cost and `measured` keep it, intervals and verdict leave it out",
        )
    drifting = [o for o in options if not isnan(o.judgement.drift_fraction)]
    if drifting:
        shown = listing(
            sorted(f"{o.measurement.option} ({100 * o.judgement.drift_fraction:+.0f} %)" for o in drifting)
        )
        yield Note("drift", f"latency moved during the run of {shown}")
    said = ranked.loc[ranked["note"] != "", ["option", "note"]].drop_duplicates()
    for note, options_of in said.groupby("note", sort=False)["option"]:
        yield Note("benchmark_row", f"{listing(sorted(set(options_of)))}: {note}")


def _about_chances(answer: Answer) -> Iterator[Note]:
    if answer.chances.left_out:
        yield Note(
            "no_probability",
            f"no probability of being best for {listing(answer.chances.left_out)}: the spread, or the chance to keep the limit, is not known",
        )
    if answer.chances.single_run and answer.question.between_run_sd_fraction:
        share = percent(answer.question.between_run_sd_fraction)
        yield Note(
            "between_run",
            f"probabilities assume that a mean differs by {share} from run to run where only one run was measured (--between-run-sd)",
        )
    none = answer.chances.none_kept
    if answer.question.latency_limit_ms is not None and not isnan(none) and none > 0.05:
        yield Note("none_kept", f"the chance that no option keeps the limit is {chance(none)}")


def _about_load(answer: Answer) -> Iterator[Note]:
    unique = answer.ranked_options()
    failing = {
        o.measurement.option: o.measurement.error_fraction for o in unique if o.measurement.error_count
    }
    if failing:
        shown = (
            f"{name} ({'an unknown share' if isnan(f) else percent(f)})"
            for name, f in sorted(failing.items())
        )
        yield Note("errors", f"requests failed on {listing(shown)}: costs are per successful inference")
    for words, values in (
        ("kind of load", {o.measurement.context["load_kind"] for o in unique}),
        ("client", {o.measurement.context["client"] for o in unique}),
        ("software", {o.measurement.software for o in unique}),
        (
            "mean output tokens",
            {figure(t) for o in unique if not isnan(t := o.measurement.output_token_count)},
        ),
    ):
        stated = sorted(values - {""})
        if len(stated) > 1:
            yield Note("comparability", f"ranked options differ in {words}: {listing(stated)}")
    for option in unique:
        m = option.measurement
        flight = m.throughput_per_s * m.mean_ms / 1000
        if flight > m.items_in_flight * (1 + DIFFERENCE_WORTH_A_NOTE):
            yield Note(
                "little",
                f"{m.option}: {figure(m.throughput_per_s)} a second at a mean of {figure(m.mean_ms)} ms would need "
                f"{figure(flight)} in flight, and {m.items_in_flight} were (Little's law): one of the figures is wrong",
            )


def _about_cost(answer: Answer) -> Iterator[Note]:
    contest = answer.contest
    cost, served = contest.cost[contest.order], contest.cost_served[contest.order]
    apart = np.abs(served / cost - 1) > DIFFERENCE_WORTH_A_NOTE
    if apart.any():
        names = dict.fromkeys(contest.option(int(place)).measurement.option for place in contest.order[apart])
        yield Note(
            "served_cost",
            f"cost from the throughput differs by over 5 % from cost by the mean latency for {listing(names)}",
        )
    if (contest.step == PASSED).any():
        yield Note(
            "busy_time",
            f"costs are of busy time, as if the instance never idles; a month ({HOURS_PER_MONTH:.0f} h) is paid either way",
        )
