"""The answers that the committed data must give, against what was published."""

from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from advisor import formats, prices
from advisor.advice import Advice
from advisor.advise import advise
from advisor.errors import QuestionError
from advisor.tables import Benchmarks, Catalogue
from advisor.workload import EXAMPLE
from tests import builders

DATA = Path(__file__).parent / "data"


@cache
def committed() -> tuple[Catalogue, Benchmarks]:
    return prices.packaged(), formats.packaged()


def answer(**asked: Any) -> Advice:
    return advise(*committed(), builders.ask(**asked))


def default(**asked: Any) -> Advice:
    return answer(**{**EXAMPLE, **asked})


def cents(cost: float) -> str:
    return str(Decimal(repr(float(cost))).quantize(Decimal("0.01"), ROUND_HALF_UP))


def test_the_default_question_is_answered_by_inf2() -> None:
    advice = default()
    assert advice.ranked["option"].tolist() == ["inf2.xlarge", "g5.2xlarge"]
    assert advice.ranked["cost_usd_per_100k"].round(3).tolist() == [0.226, 0.334]
    assert advice.ranked["cost_usd_per_month"].round(0).tolist() == [553, 885]
    assert advice.recommended is not None
    assert advice.recommended.price_usd_per_hour == 0.7582
    rejected = advice.rejected.set_index("option")
    assert set(rejected["failed"]) == {"latency"}
    assert rejected.loc["inf1.2xlarge", "cost_usd_per_100k"] == pytest.approx(0.186, abs=5e-4)
    assert "mean 18.5, P95 18.7" in str(rejected.loc["inf1.2xlarge", "reason"])
    assert "would be cheapest from 18.7 ms ($0.186)" in str(rejected.loc["inf1.2xlarge", "reason"])
    assert rejected.loc["c6i.2xlarge", "measured"] == "misses"
    assert advice.headline == (
        "inf2.xlarge serves bert_base_uncased (length 512) within 15 ms at P90 for $0.226 per 100,000 inferences, proved"
    )


@pytest.mark.parametrize(
    ("limit_ms", "option"), [(20, "inf1.2xlarge"), (15, "inf2.xlarge"), (10.5, "g5.2xlarge"), (9, None)]
)
def test_the_answer_moves_with_the_limit(limit_ms: float, option: str | None) -> None:
    recommended = default(latency_limit_ms=limit_ms).recommended
    assert (recommended and recommended.option) == option


def test_the_limits_at_which_the_answer_moves_are_the_published_p95() -> None:
    moves = [(switch.from_ms, switch.option) for switch in default().switches]
    assert moves == [
        (0.0, None),
        (pytest.approx(10.119604550027361), "g5.2xlarge"),
        (pytest.approx(10.751311500143856), "inf2.xlarge"),
        (pytest.approx(18.664766000051713), "inf1.2xlarge"),
    ]


def test_inf2_is_proved_at_15_ms_and_g5_undecided_at_10_5_ms() -> None:
    proved = default()
    assert proved.proven == proved.recommended
    assert proved.recommended is not None
    assert (proved.recommended.verdict, proved.recommended.grade) == ("pass", "D")
    undecided = default(latency_limit_ms=10.5)
    assert undecided.proven is None
    assert undecided.recommended is not None
    assert undecided.recommended.verdict == "undecided"
    assert "as measured, not proved" in undecided.headline
    assert undecided.recommended.more_needed is not None
    assert f"about {undecided.recommended.more_needed} further requests" in undecided.headline


def test_decide_proven_recommends_only_what_is_proved() -> None:
    assert default(decide="proven").recommended == default().proven
    nothing = default(decide="proven", latency_limit_ms=10.5)
    assert nothing.recommended is None
    assert nothing.ranked["option"].tolist() == ["g5.2xlarge"]
    assert nothing.headline.startswith(
        "No option is proved to serve bert_base_uncased (length 512) within 10.5 ms"
    )


def test_faster_rcnn_costs_are_the_published_ones_to_the_cent() -> None:
    published = pd.read_csv(DATA / "faster_rcnn_published_costs.csv", dtype=str, keep_default_na=False)
    ranked = answer(model="faster-rcnn-resnet50", include_retired=True).ranked
    key = ["instance_type", "attached_accelerator"]
    costs = ranked.set_index(key)["cost_usd_per_100k"]
    assert len(published) == 18
    assert len(ranked) == 16
    for row in published.to_dict("records"):
        assert (
            cents(costs[row["instance_type"], row["attached_accelerator"]]) == row["published_usd_per_100k"]
        ), row
    assert {"attached", "cpu", "gpu"} == set(ranked["kind"])
    assert ranked["option"].iloc[0] == "m5.large + eia1.large"


def test_what_is_no_longer_sold_is_shown_and_rejected() -> None:
    advice = answer(model="faster-rcnn-resnet50")
    assert set(advice.ranked["kind"]) == {"cpu"}
    closed = advice.rejected[advice.rejected["failed"] == "availability"]
    assert len(closed) == 14
    assert closed["reason"].str.contains("no longer sold").all()
    assert "retired" in {note.code for note in advice.notes}


def gated_runs() -> pd.DataFrame:
    return pd.read_csv(DATA / "fmbench_gated_runs.csv")


@pytest.mark.parametrize("run", sorted(set(gated_runs()["run"])))
def test_gated_runs_have_the_published_flags_and_winner(run: str) -> None:
    rows = gated_runs().query("run == @run")
    benchmarks = builders.benchmarks(
        *(
            {
                "model": row["model"],
                "input_shape": row["input_shape"],
                "instance_type": row["instance_type"],
                "concurrency": row["concurrency"],
                "latency_p50_ms": row["latency_p50_ms"],
                "latency_p95_ms": row["latency_p95_ms"],
                "latency_p99_ms": row["latency_p99_ms"],
                "throughput_per_s": row["transactions_per_minute"] / 60,
                "measured_on": row["measured_on"],
            }
            for row in rows.to_dict("records")
        )
    )
    own = {row["instance_type"]: row["price_usd_per_hour"] for row in rows.to_dict("records")}
    catalogue = builders.catalogue(
        [],
        own=[
            {"instance_type": k, "purchase_option": "custom", "price_usd_per_hour": v} for k, v in own.items()
        ],
    )
    limit = rows["latency_limit_p95_ms"].unique()
    advice = advise(
        catalogue,
        benchmarks,
        builders.ask(latency_limit_ms=float(limit[0]), percentile=95, objective="served-cost"),
    )
    assert len(limit) == 1
    found = pd.concat([advice.ranked, advice.rejected]).set_index("concurrency")
    for row in rows.to_dict("records"):
        mine = found.loc[row["concurrency"]]
        assert (mine["measured"] == "misses") == row["published_latency_failed"], row
        assert mine["cost_usd_per_100k_served"] == pytest.approx(
            row["published_usd_per_transaction"] * 1e5, rel=1e-9
        )
    assert advice.ranked["concurrency"].iloc[0] == rows["published_best_concurrency"].iloc[0]
    assert advice.recommended is not None
    assert advice.recommended.cost_usd_per_100k_served == advice.ranked["cost_usd_per_100k_served"].iloc[0]


def test_mlperf_mobilenet_is_served_by_graviton_3_with_armnn() -> None:
    advice = answer(model="mobilenet-v1 float 1.0-224", latency_limit_ms=15)
    assert advice.ranked["option"].tolist() == ["m7g.2xlarge", "c5.4xlarge"]
    assert "armnn" in advice.ranked["software"].iloc[0].lower()
    assert advice.ranked["kind"].tolist() == ["graviton", "cpu"]
    rejected = advice.rejected
    assert set(rejected["option"]) == {"a1.2xlarge", "t2.medium", "m7g.2xlarge"}
    assert set(rejected["failed"]) == {"latency"}


def test_a_model_that_nobody_measured_is_refused_with_the_closest_name() -> None:
    with pytest.raises(
        QuestionError,
        match=r"no benchmark of bert_base_uncase .*did you mean bert_base_uncased\?.*there are: ",
    ):
        answer(model="bert_base_uncase")


def test_a_length_must_be_chosen_where_several_were_measured() -> None:
    with pytest.raises(
        QuestionError, match=r"which sequence length.*8, 16, 32, 64, 128, 256 and 512.*--sequence-length"
    ):
        answer(model="bert_base_uncased")
    with pytest.raises(QuestionError, match="not measured at sequence length 500; there are: 8, 16"):
        answer(model="bert_base_uncased", sequence_length=500)


def test_several_regions_and_purchases_rank_together() -> None:
    advice = default(region="all", purchase="all")
    places = advice.ranked[["option", "region", "purchase_option"]]
    assert not places.duplicated().any()
    assert {"on_demand", "reserved_1yr_all_upfront"} <= set(places["purchase_option"])
    stale = advice.rejected[advice.rejected["purchase_option"] == "spot"]
    assert len(stale)
    assert (stale.query("measured == 'meets'")["failed"] == "price").all()
    codes = {note.code for note in advice.notes}
    assert {"stale_spot", "commitment", "region_dates"} <= codes


def test_the_same_question_gives_the_same_answer() -> None:
    first, second = default(), default()
    pd.testing.assert_frame_equal(first.ranked, second.ranked)
    assert (first.headline, first.notes, first.sources) == (second.headline, second.notes, second.sources)
