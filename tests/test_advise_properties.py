"""What holds for every question over every table."""

import dataclasses
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from advisor.advice import Advice
from advisor.advise import advise
from advisor.errors import QuestionError
from advisor.tables import BENCHMARK_CONFIGURATION, Benchmarks, Catalogue, Prices, Ranked, Rejected
from advisor.workload import Workload
from tests import builders, strategies

thorough = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CANDIDATE = [*BENCHMARK_CONFIGURATION, "region", "purchase_option"]


def answer(catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload) -> Advice:
    try:
        return advise(catalogue, benchmarks, workload)
    except QuestionError:
        assume(False)
        raise


def same(left: Advice, right: Advice) -> None:
    pd.testing.assert_frame_equal(left.ranked, right.ranked)
    pd.testing.assert_frame_equal(left.rejected, right.rejected)
    for field in dataclasses.fields(Advice):
        if field.name not in {"ranked", "rejected"}:
            assert repr(getattr(left, field.name)) == repr(getattr(right, field.name)), field.name


def keys(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(frame[CANDIDATE].fillna(-1).itertuples(index=False, name=None))


@thorough
@given(
    strategies.catalogues(),
    strategies.benchmark_tables(),
    strategies.workloads(),
    st.randoms(use_true_random=False),
)
def test_input_order_never_changes_an_answer(
    catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload, random: Any
) -> None:
    given_order = answer(catalogue, benchmarks, workload)
    order = list(range(len(benchmarks.rows)))
    random.shuffle(order)
    mixed = builders.shuffled(benchmarks, order)
    price_order = list(range(len(catalogue.prices)))
    random.shuffle(price_order)
    other = dataclasses.replace(
        catalogue,
        prices=Prices.validate(catalogue.prices.iloc[price_order].reset_index(drop=True)),
        instances=catalogue.instances.iloc[::-1].reset_index(drop=True),
    )
    same(given_order, answer(other, mixed, workload))


@thorough
@given(strategies.catalogues(), strategies.benchmark_tables(), strategies.workloads())
def test_every_measured_option_is_ranked_or_rejected_once_for_each_price(
    catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload
) -> None:
    advice = answer(catalogue, benchmarks, workload)
    expected = []
    configurations = benchmarks.rows[list(BENCHMARK_CONFIGURATION)].fillna(-1).drop_duplicates()
    for configuration in configurations.itertuples(index=False, name=None):
        kind = configuration[BENCHMARK_CONFIGURATION.index("instance_type")]
        places = {
            (price.region, price.purchase_option)
            for price in catalogue.prices.itertuples()
            if price.instance_type == kind
            and workload.region
            in {("all",), (price.region,), (price.region, "eu-west-1"), ("us-west-2", price.region)}
            and ("all" in workload.purchase or price.purchase_option in workload.purchase)
        }
        expected += [(*configuration, *place) for place in places or {("", "")}]
    assert sorted(map(str, keys(advice.ranked) + keys(advice.rejected))) == sorted(map(str, expected))


@thorough
@given(
    strategies.catalogues(), strategies.benchmark_tables(), strategies.workloads(), strategies.latencies_ms
)
def test_a_looser_limit_loses_nothing(
    catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload, further: float
) -> None:
    assume(workload.latency_limit_ms is not None)
    tight = answer(catalogue, benchmarks, workload)
    wider = workload.model_copy(update={"latency_limit_ms": (workload.latency_limit_ms or 0) + further})
    loose = answer(catalogue, benchmarks, wider)
    assert set(keys(tight.ranked)) <= set(keys(loose.ranked))


@thorough
@given(
    strategies.catalogues(),
    strategies.benchmark_tables(),
    strategies.workloads(),
    st.sampled_from([0.5, 2.0, 64.0]),
)
def test_prices_times_k_give_costs_times_k_in_the_same_order(
    catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload, factor: float
) -> None:
    question = workload.model_copy(update={"max_usd_per_hour": None})
    once = answer(catalogue, benchmarks, question)
    prices = catalogue.prices.assign(price_usd_per_hour=catalogue.prices["price_usd_per_hour"] * factor)
    scaled = answer(dataclasses.replace(catalogue, prices=Prices.validate(prices)), benchmarks, question)
    for column in (
        "cost_usd_per_100k",
        "cost_usd_per_100k_served",
        "cost_usd_per_month",
        "cost_low_usd_per_100k",
    ):
        left = pd.concat([once.ranked, once.rejected]).set_index(CANDIDATE)[column].sort_index()
        right = pd.concat([scaled.ranked, scaled.rejected]).set_index(CANDIDATE)[column].sort_index()
        np.testing.assert_allclose(right.to_numpy(), left.to_numpy() * factor, rtol=1e-12)
    column = "cost_usd_per_100k_served" if question.objective == "served-cost" else "cost_usd_per_100k"
    costs = np.sort(once.ranked[column].to_numpy())
    tied = (np.diff(costs) <= 0.011 * costs[:-1]).any()  # a cent is not the same share of a dearer cost
    if not tied or question.objective == "latency":
        assert keys(once.ranked) == keys(scaled.ranked)


@thorough
@given(strategies.catalogues(), strategies.benchmark_tables(), strategies.workloads())
def test_the_answer_is_what_its_tables_say(
    catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload
) -> None:
    advice = answer(catalogue, benchmarks, workload)
    ranked, rejected = advice.ranked, advice.rejected
    pd.testing.assert_frame_equal(Ranked.validate(ranked), ranked)
    pd.testing.assert_frame_equal(Rejected.validate(rejected), rejected)

    assert set(ranked["measured"]) <= {"meets" if workload.latency_limit_ms else "skipped"}
    assert ranked["price_usd_per_hour"].notna().all()
    assert set(ranked["memory"]) <= (
        {"not_checked", "unknown"} if workload.model_size_bytes is None else {"fits"}
    )
    assert (
        not ((ranked["purchase_option"] == "spot") & (ranked["price_as_of"] < "2026-11-22")).any()
        or workload.stale_spot
    )
    assert (rejected["reason"] != "").all()
    if len(ranked):
        assert ranked["quality"].iloc[0] == "ok"
    if workload.decide == "measured":
        assert (advice.recommended is None) == ranked.empty
        assert advice.recommended is None or advice.recommended.rank == 1
    else:
        assert advice.recommended == advice.proven
    if advice.proven is not None:
        assert (ranked["verdict"].iloc[: advice.proven.rank - 1] != "pass").all()
        assert ranked["verdict"].iloc[advice.proven.rank - 1] == "pass"
    shown = pd.concat([ranked, rejected])
    chances = shown.groupby(list(BENCHMARK_CONFIGURATION), dropna=False)["probability_best"].max()
    assert chances.between(0, 1).where(chances.notna(), True).all()
    assert chances.sum() <= 1 + 1e-9


def by_the_rules(ranked: pd.DataFrame, column: str) -> list[int]:
    """The order of a table by the words of the tie rule, with decimals and loops."""
    exact = {i: Decimal(repr(float(cost))) for i, cost in enumerate(ranked[column])}
    latency = {i: np.inf if np.isnan(v) else v for i, v in enumerate(ranked["latency_percentile_ms"])}
    left = sorted(exact, key=lambda i: (exact[i], i))
    found: list[int] = []
    while left:
        leader = left[0]
        cent = exact[leader].quantize(Decimal("0.01"), ROUND_HALF_UP)
        group = [
            i
            for i in left
            if exact[i].quantize(Decimal("0.01"), ROUND_HALF_UP) == cent
            and exact[i] <= exact[leader] * Decimal("1.01")
        ]
        found += sorted(group, key=lambda i: (latency[i], exact[i], i))
        left = [i for i in left if i not in group]
    return found


@thorough
@given(strategies.catalogues(), strategies.benchmark_tables(), strategies.workloads())
def test_the_ranking_is_that_of_the_tie_rule(
    catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload
) -> None:
    question = workload.model_copy(update={"objective": "cost"})
    sound = answer(catalogue, benchmarks, question).ranked.query("quality == 'ok'")
    order = by_the_rules(sound, "cost_usd_per_100k")
    costs = sound["cost_usd_per_100k"].to_numpy()
    assert costs[order].tolist() == costs.tolist()


@thorough
@given(strategies.catalogues(), strategies.benchmark_tables(), strategies.workloads())
def test_the_cheapest_of_each_place_is_the_cheapest_ranked_there(
    catalogue: Catalogue, benchmarks: Benchmarks, workload: Workload
) -> None:
    question = workload.model_copy(update={"region": ("all",)})
    advice = answer(catalogue, benchmarks, question)
    column = "cost_usd_per_100k_served" if workload.objective == "served-cost" else "cost_usd_per_100k"
    sound = advice.ranked[advice.ranked["quality"] == "ok"]
    expected = sound.groupby(["region", "purchase_option"])[column].min()
    found = {(place.region, place.purchase_option): place.cost_usd_per_100k for place in advice.places}
    assert found == pytest.approx(expected.to_dict())


@settings(thorough, max_examples=15)
@given(
    strategies.full_catalogues(),
    strategies.benchmark_tables(),
    st.sampled_from([50.0, 90.0]),
    st.sampled_from(["cost", "latency"]),
)
def test_the_limits_at_which_the_answer_moves_are_those_at_which_it_moves(
    catalogue: Catalogue, benchmarks: Benchmarks, percentile: float, objective: str
) -> None:
    def at(limit: float) -> Advice:
        question = builders.ask(latency_limit_ms=limit, percentile=percentile, objective=objective)
        return advise(catalogue, benchmarks, question)

    switches = at(20.0).switches
    assert [switch.from_ms for switch in switches[1:]] == [switch.to_ms for switch in switches[:-1]]
    for switch in switches:
        end = switch.to_ms or switch.from_ms * 3
        for limit in {switch.from_ms, (switch.from_ms + end) / 2, end * (1 - 1e-6)} - {0.0}:
            there = at(limit).recommended
            if switch.option is None:
                assert there is None
            else:
                assert there is not None
                assert (there.option, there.region) == (switch.option, switch.region)


@thorough
@given(
    strategies.full_catalogues(),
    strategies.benchmark_tables(one_each=True),
    st.none() | strategies.latencies_ms,
    st.data(),
)
def test_an_option_wins_under_its_winning_price_and_loses_over_it(
    catalogue: Catalogue, benchmarks: Benchmarks, limit: float | None, data: st.DataObject
) -> None:
    question = builders.ask(latency_limit_ms=limit)
    ranked = advise(catalogue, benchmarks, question).ranked
    shown = ranked[ranked["winning_price_usd_per_hour"].notna()]
    assert len(shown) == (len(ranked) if len(ranked) > 1 else 0)
    assume(len(shown))
    row = shown.iloc[data.draw(st.integers(0, len(shown) - 1))]

    def recommended_at(factor: float) -> str:
        prices = catalogue.prices.copy()
        prices.loc[prices["instance_type"] == row["instance_type"], "price_usd_per_hour"] = (
            row["winning_price_usd_per_hour"] * factor
        )
        choice = advise(
            dataclasses.replace(catalogue, prices=Prices.validate(prices)), benchmarks, question
        ).recommended
        assert choice is not None
        return choice.instance_type

    assert recommended_at(0.98) == row["instance_type"]
    assert recommended_at(1.03) != row["instance_type"]


def test_a_question_about_nothing_is_refused() -> None:
    with pytest.raises(QuestionError, match="no benchmark of bert in test benchmarks"):
        advise(
            builders.catalogue([{"instance_type": "c5.large", "price_usd_per_hour": 0.1}]),
            builders.benchmarks({"latency_mean_ms": 5}),
            builders.ask(model="bert"),
        )
