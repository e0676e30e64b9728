"""Ratios, measured in one run; medians of processor time, so that other work on the machine disturbs little."""

import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from advisor import formats, prices, ranking
from advisor.advise import advise
from advisor.candidates import accelerator_book, join, price_book
from advisor.constraints import hardware_facts
from advisor.contest import Contest, Option, cheapest_places, hold, make_option
from advisor.judgement import judge
from advisor.measurements import ask
from advisor.tables import Benchmarks, Catalogue
from advisor.workload import EXAMPLE, Workload
from tests import builders

pytestmark = pytest.mark.performance

PURCHASES = ("on_demand", "spot", *(f"reserved_{y}yr_{k}" for y in (1, 3) for k in ("no", "partial", "all")))
REGIONS = tuple(f"region-{i}" for i in range(25))
TYPE_COUNT, BENCHMARKS_EACH = 500, 10
LIMIT_MS = 60.0


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """Median processor time of some calls."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def million() -> tuple[Catalogue, Benchmarks, Workload]:
    """500 types x 25 regions x 8 purchase options x 10 benchmarks; costs of hundreds of dollars, so that a cent ties none."""
    rng = np.random.default_rng(7)
    types = [f"t{i}.large" for i in range(TYPE_COUNT)]
    base = np.exp(rng.normal(6, 1, TYPE_COUNT))
    factor = np.exp(rng.normal(0, 0.3, (TYPE_COUNT, len(REGIONS), len(PURCHASES))))
    catalogue = builders.catalogue(
        [
            {
                "instance_type": name,
                "region": region,
                "purchase_option": purchase,
                "as_of": "2026-11-28",
                "price_usd_per_hour": float(base[i] * factor[i, j, k]),
            }
            for i, name in enumerate(types)
            for j, region in enumerate(REGIONS)
            for k, purchase in enumerate(PURCHASES)
        ],
        regions=REGIONS,
    )
    means = np.exp(rng.normal(3.5, 0.8, (TYPE_COUNT, BENCHMARKS_EACH)))
    benchmarks = builders.benchmarks(
        *(
            {
                "instance_type": name,
                "backend": f"backend-{k}",
                "latency_mean_ms": float(means[i, k]),
                "latency_p90_ms": float(means[i, k] * 1.2),
            }
            for i, name in enumerate(types)
            for k in range(BENCHMARKS_EACH)
        )
    )
    question = builders.ask(model="net", latency_limit_ms=LIMIT_MS, region="all", purchase="all")
    return catalogue, benchmarks, question


def places(catalogue: Catalogue, options: list[Option], question: Workload) -> set[tuple[str, ...]]:
    """Region, purchase option, type and backend of the cheapest candidate of each place: as `advise` does it."""
    book = price_book(
        catalogue, question, sorted({o.measurement.configuration["instance_type"] for o in options})
    )
    found = cheapest_places(options, book, accelerator_book(catalogue, [], question), question)
    rows = book.at([row for _, row, _, _ in found])
    names = [
        (o.measurement.configuration["instance_type"], o.measurement.configuration["backend"])
        for o, _, _, _ in found
    ]
    where = zip(rows["region"], rows["purchase_option"], strict=True)
    return {(*place, *name) for place, name in zip(where, names, strict=True)}


def whole(catalogue: Catalogue, options: list[Option], question: Workload) -> Contest:
    """Every candidate joined, costed, put through the steps and ordered."""
    hosts = [option.measurement.configuration["instance_type"] for option in options]
    book, nothing = (
        price_book(catalogue, question, sorted(set(hosts))),
        accelerator_book(catalogue, [], question),
    )
    return hold(options, join(hosts, [""] * len(hosts), [0] * len(hosts), book, nothing), question)


def plain(benchmarks: pd.DataFrame, prices: pd.DataFrame) -> pd.DataFrame:
    """What one writes without thinking: merge, cost, filter, the cheapest of each place."""
    joined = benchmarks.merge(prices, on="instance_type")
    joined["cost"] = joined["price_usd_per_hour"] / 3600 * joined["latency_mean_ms"] / 1000 * 100_000
    kept = joined[joined["latency_p90_ms"] <= LIMIT_MS]
    return kept.loc[kept.groupby(["region", "purchase_option"])["cost"].idxmin()]


def test_the_winners_of_a_million_candidates_are_found_five_times_faster_than_by_merge_and_groupby() -> None:
    catalogue, benchmarks, question = million()
    asked = ask(benchmarks, question)
    facts = hardware_facts(catalogue, asked.measurements)
    options = [
        make_option(m, facts[m.option], j, question)
        for m, j in zip(asked.measurements, judge(asked.measurements, question), strict=True)
    ]
    assert whole(catalogue, options, question).step.size == 1_000_000
    few = benchmarks.rows[["instance_type", "backend", "latency_mean_ms", "latency_p90_ms"]]
    priced = catalogue.prices[["instance_type", "region", "purchase_option", "price_usd_per_hour"]]
    best = plain(few, priced)[["region", "purchase_option", "instance_type", "backend"]]
    assert places(catalogue, options, question) == set(best.itertuples(index=False, name=None))

    ours = seconds(lambda: places(catalogue, options, question))
    ordered = seconds(lambda: whole(catalogue, options, question), times=3)
    narrow = seconds(lambda: plain(few, priced))
    full = seconds(lambda: plain(benchmarks.rows, catalogue.prices), times=3)
    print(
        f"\n1,000,000 candidates, the winner of each of 200 places: {ours * 1000:.0f} ms; merge + groupby of the four columns "
        f"needed {narrow / ours:.1f} x as long, of the whole tables {full / ours:.1f} x\n"
        f"all of them in order: {ordered * 1000:.0f} ms; merge + groupby of the whole tables {full / ordered:.1f} x as long"
    )
    assert narrow / ours >= 5


def monte_carlo(log_cost: np.ndarray, se: np.ndarray, kept: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The same chance by random draws from the shrunken costs."""
    rng = np.random.default_rng(seed)
    centre, sd = ranking.shrunken(log_cost, se)
    wins = np.zeros(log_cost.size)
    for start in range(0, draws, 4000):
        size = min(4000, draws - start)
        cost = rng.standard_normal((size, log_cost.size)) * sd + centre
        cost[rng.random((size, log_cost.size)) >= kept] = np.inf
        first = cost.argmin(axis=1)
        wins += np.bincount(first[np.isfinite(cost.min(axis=1))], minlength=log_cost.size)
    return wins / draws


def test_probability_of_best_is_fifteen_times_faster_than_4000_draws_of_1000_options() -> None:
    rng = np.random.default_rng(3)
    log_cost = rng.standard_normal(1000) * 0.3
    se, kept = np.exp(rng.uniform(np.log(0.005), np.log(0.05), 1000)), rng.uniform(0, 1, 1000)
    ours = seconds(lambda: ranking.probability_best(log_cost, se, kept), times=21)
    drawn = seconds(lambda: monte_carlo(log_cost, se, kept, 4000, 1))
    print(
        f"\nprobability of best, 1000 options: {ours * 1000:.2f} ms; 4,000 draws {drawn / ours:.0f} x as long"
    )
    assert drawn / ours >= 15


def test_the_default_question_is_answered_in_less_than_the_time_of_reading_its_data() -> None:
    catalogue, benchmarks = prices.packaged(), formats.packaged()
    question = builders.ask(**EXAMPLE)
    read = seconds(lambda: (prices.packaged(), formats.packaged()), times=3)
    ours = seconds(lambda: advise(catalogue, benchmarks, question))
    print(f"\ndefault question: {ours * 1000:.0f} ms; reading the committed data {read / ours:.1f} x as long")
    assert ours < read
