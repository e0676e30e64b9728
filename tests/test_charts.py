"""Charts as values: what they draw is read back from their specification."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice import Advice, Switch
from advisor.reports import charts
from advisor.reports.charts import style
from advisor.reports.charts.points import labels
from advisor.tables import KINDS, BenchmarkRows, Benchmarks, Samples
from tests import answers

ANSWER_CHARTS = ("cost_and_latency", "tradeoff", "limit_sensitivity", "price_sensitivity", "memory")


def marks(panel: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return each layer of a chart: its mark and the rows that it draws (before filters inside the chart)."""
    spec = panel.to_dict()
    found = []
    for layer in spec.get("layer", [spec]):
        name = (layer.get("data") or spec.get("data"))["name"]
        rows = spec["datasets"][name]
        for step in layer.get("transform", []):
            if step.get("filter") == "datum.state != 'rejected'":
                rows = [row for row in rows if row["state"] != "rejected"]
            if step.get("filter") == "datum.state == 'rejected'":
                rows = [row for row in rows if row["state"] == "rejected"]
        mark = layer["mark"] if isinstance(layer["mark"], str) else layer["mark"]["type"]
        found.append((mark, rows))
    return found


def rows_of(panel: Any, mark: str) -> list[dict[str, Any]]:
    return [row for kind, rows in marks(panel) if kind == mark for row in rows]


def mark_count(figure: charts.Figure) -> int:
    return sum(
        1 if mark in ("line", "area") else len(rows) for panel in figure.panels for mark, rows in marks(panel)
    )


@pytest.mark.parametrize("name", ANSWER_CHARTS)
@pytest.mark.parametrize("answer", list(answers.ALL))
@pytest.mark.parametrize("dark", [False, True])
def test_every_chart_of_every_answer_is_drawn_or_says_why_not(name: str, answer: str, dark: bool) -> None:
    figure = getattr(charts, name)(answers.ALL[answer](), dark=dark)
    assert figure.caption
    assert bool(figure.alt) == bool(figure.panels)
    assert len(figure.weights) == max(1, len(figure.panels))
    assert mark_count(figure) <= charts.MOST_MARKS


def test_the_bars_are_the_costs_in_rank_order_and_then_the_rejected_from_the_cheapest() -> None:
    advice = answers.default()
    bars, points = charts.cost_and_latency(advice).panels
    drawn = rows_of(bars, "bar")
    assert [(row["label"], row["state"]) for row in drawn] == [
        ("inf2.xlarge", "recommended"),
        ("g5.2xlarge", "qualifies"),
        ("inf1.2xlarge", "rejected"),
        ("c6i.2xlarge", "rejected"),
    ]
    assert [row["cost_usd"] for row in drawn[:2]] == list(advice.ranked["cost_usd_per_100k"])
    assert bars.to_dict()["layer"][0]["encoding"]["y"]["sort"] == [row["label"] for row in drawn]
    assert rows_of(points, "rule")[0]["limit_ms"] == 15.0


def test_rejected_options_are_hollow_and_the_reason_is_in_the_hover() -> None:
    advice = answers.default()
    for panel in (charts.cost_and_latency(advice).panels[1], charts.tradeoff(advice).panels[0]):
        spec = panel.to_dict()
        points = [layer for layer in spec["layer"] if layer["mark"]["type"] == "point"]
        assert [layer["mark"].get("filled", False) for layer in points] == [True, False]
        assert {tip["field"] for tip in points[1]["encoding"]["tooltip"]} >= {"why"}
    lost = [row for row in rows_of(charts.tradeoff(advice).panels[0], "point") if row["state"] == "rejected"]
    assert {row["label"]: row["why"] for row in lost}["c6i.2xlarge"].startswith("no request within 15 ms")


def test_a_percentile_that_is_not_reported_is_drawn_at_its_nearest_bound_and_called_so() -> None:
    table = answers.ranked(
        answers.row("c5.large", kind="cpu", price_usd_per_hour=0.085, latency_mean_ms=5.0, latency_percentile_ms=7.0),
        answers.row("m5.large", kind="cpu", price_usd_per_hour=0.096, latency_mean_ms=5.0,
                    latency_percentile_low_ms=6.0, latency_percentile_high_ms=8.0),
        answers.row("r5.large", kind="cpu", price_usd_per_hour=0.126, latency_mean_ms=5.0, latency_percentile_low_ms=6.5),
        answers.row("t2.large", kind="cpu", price_usd_per_hour=0.0928, latency_mean_ms=5.5),
    )  # fmt: skip
    advice = replace(answers.default(), ranked=table, rejected=answers.rejected())
    drawn = rows_of(charts.cost_and_latency(advice).panels[0], "bar")
    assert {row["label"]: (row["latency_ms"], row["latency_words"]) for row in drawn} == {
        "c5.large": (7.0, "P90 7.00 ms"),
        "m5.large": (8.0, "P90 at most 8.00 ms"),
        "r5.large": (6.5, "P90 at least 6.50 ms"),
        "t2.large": (5.5, "mean 5.50 ms (P90 unknown)"),
    }


def test_what_a_chart_leaves_out_is_counted_in_its_caption() -> None:
    advice = answers.many()
    total = len(advice.ranked) + len(advice.rejected)
    figure = charts.cost_and_latency(advice)
    shown = len(rows_of(figure.panels[0], "bar"))
    assert f"{total - shown} more options" in figure.caption
    assert "left out" not in charts.cost_and_latency(answers.default()).caption


def test_options_without_a_price_or_a_latency_are_not_drawn_and_are_counted() -> None:
    advice = answers.unknown()
    figure = charts.tradeoff(advice)
    drawn = {row["label"] for row in rows_of(figure.panels[0], "point")}
    unknown = (
        advice.ranked["cost_usd_per_100k"].isna().sum() + advice.rejected["cost_usd_per_100k"].isna().sum()
    )
    assert unknown > 0
    assert len(drawn) + unknown <= len(advice.ranked) + len(advice.rejected)
    assert "left out" in figure.caption


points_of_plane = st.lists(
    st.tuples(st.sampled_from([1.0, 2.0, 3.0, float("nan")]), st.sampled_from([1.0, 2.0, 3.0, float("nan")])),
    max_size=12,
)


@given(points_of_plane)
def test_the_front_is_what_no_other_point_beats(plane: list[tuple[float, float]]) -> None:
    latency = np.array([x for x, _ in plane], dtype=float)
    cost = np.array([y for _, y in plane], dtype=float)
    expected = []
    for x, y in plane:
        beaten = any(a <= x and b <= y and (a < x or b < y) for a, b in plane)
        expected.append(not beaten and not np.isnan(x + y))
    assert charts.pareto_front(latency, cost).tolist() == expected


def test_the_front_is_drawn_through_the_options_on_it() -> None:
    (line,) = [rows for mark, rows in marks(charts.tradeoff(answers.default()).panels[0]) if mark == "line"]
    assert {row["label"] for row in line} == {"g5.2xlarge", "inf2.xlarge", "inf1.2xlarge"}


def test_kinds_differ_in_colour_and_shape_and_have_a_name() -> None:
    # Okabe and Ito, "Color Universal Design" (2008), figure 16; grey for what is none of these kinds.
    okabe_ito = {"#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000"}
    colours = [style._COLOURS[kind] for kind in KINDS]
    assert len(set(colours)) == len(KINDS)
    assert set(colours) - okabe_ito == {style._COLOURS["other"]}
    assert len({style._SHAPES[kind] for kind in KINDS}) == len(KINDS)
    assert len({style.KIND_WORDS[kind] for kind in KINDS}) == len(KINDS)


def test_the_stretches_of_limits_are_the_switches_of_the_answer() -> None:
    advice = answers.default()
    bars = rows_of(charts.limit_sensitivity(advice).panels[0], "bar")
    assert [(row["who"], row["to_ms"]) for row in bars[:-1]] == [
        ("nothing qualifies", 10.1),
        ("g5.2xlarge", 10.8),
        ("inf2.xlarge", 18.7),
    ]
    assert [row["from_ms"] for row in bars[1:]] == [10.1, 10.8, 18.7]
    assert [row["asked"] for row in bars] == [False, False, True, False]


@pytest.mark.parametrize(("limit", "who"), [(10.79, "g5.2xlarge"), (10.8, "inf2.xlarge"), (18.69, "inf2.xlarge"), (18.7, "inf1.2xlarge")])  # fmt: skip
def test_a_limit_at_the_edge_of_a_stretch_belongs_to_the_stretch_above(limit: float, who: str) -> None:
    question = answers.QUESTION.model_copy(update={"latency_limit_ms": limit})
    bars = rows_of(charts.limit_sensitivity(replace(answers.default(), question=question)).panels[0], "bar")
    assert [row["who"] for row in bars if row["asked"]] == [who]


def test_of_many_stretches_those_around_the_asked_limit_are_drawn() -> None:
    switches = tuple(
        Switch(float(at), float(at + 1), f"o{at % 7}.large", "us-west-2", "on_demand", 0.1)
        for at in range(300)
    )
    advice = replace(answers.default(), switches=switches, question=answers.QUESTION.model_copy(update={"latency_limit_ms": 150.5}))  # fmt: skip
    figure = charts.limit_sensitivity(advice)
    bars = rows_of(figure.panels[0], "bar")
    assert [row["from_ms"] for row in bars if row["asked"]] == [150.0]
    assert mark_count(figure) <= charts.MOST_MARKS
    assert f"{300 - len(bars)} more stretches left out" in figure.caption


def test_the_change_of_a_price_is_the_winning_price_against_the_price_now() -> None:
    bars = rows_of(charts.price_sensitivity(answers.default()).panels[0], "bar")
    (g5,) = [row for row in bars if row["label"] == "g5.2xlarge"]
    assert g5["change_percent"] == pytest.approx(100 * (0.8194 / 1.212 - 1))
    assert g5["what"] == "takes the first place"


def memory_answer(needed_mib: float) -> Advice:
    table = answers.ranked(
        answers.row("g5.2xlarge", kind="gpu", price_usd_per_hour=1.212, latency_mean_ms=9.91, memory="fits",
                    memory_needed_mib=needed_mib, memory_mib=32768.0,
                    accelerator_memory_needed_mib=needed_mib, accelerator_memory_mib=needed_mib),
    )  # fmt: skip
    return replace(answers.default(), ranked=table, rejected=answers.rejected())


def test_memory_is_drawn_as_a_share_of_what_there_is_and_an_exact_fit_fits() -> None:
    bars = rows_of(charts.memory(memory_answer(8192.0)).panels[0], "bar")
    assert [(row["where"], row["percent"], row["fits"]) for row in bars] == [
        ("host", 25.0, True),
        ("each device", 100.0, True),
    ]
    assert bars[0]["said"] == "8.0 of 32 GiB"


def test_what_does_not_fit_says_so() -> None:
    advice = memory_answer(8192.0)
    table = advice.ranked.assign(accelerator_memory_mib=8191.0)
    bars = rows_of(charts.memory(replace(advice, ranked=table)).panels[0], "bar")
    assert bars[1]["said"].endswith("does not fit")


def test_memory_that_was_not_checked_is_explained_and_not_drawn() -> None:
    figure = charts.memory(answers.default())
    assert figure.panels == ()
    assert "not checked" in figure.caption


def everywhere(region_count: int, purchases: tuple[str, ...]) -> Advice:
    rows = [
        answers.row("g5.2xlarge", kind="gpu", region=f"region-{at:03}", purchase_option=purchase,
                    price_usd_per_hour=1 + at / 100 + order / 10, latency_mean_ms=9.91)
        for at in range(region_count)
        for order, purchase in enumerate(purchases)
    ]  # fmt: skip
    return replace(answers.default(), ranked=answers.ranked(*rows), rejected=answers.rejected())


def test_the_map_has_one_cell_a_region_and_purchase_option() -> None:
    advice = everywhere(3, ("on_demand", "spot"))
    cells = rows_of(charts.places(advice, "g5.2xlarge").panels[0], "rect")
    assert len(cells) == 6
    costs = {
        (row["region"], row["purchase_option"]): row["cost_usd_per_100k"]
        for row in advice.ranked.to_dict("records")
    }
    assert {(c["region"], c["purchase"].replace(" ", "_")): c["cost_usd"] for c in cells} == costs


def test_a_map_of_the_world_keeps_to_its_marks_and_counts_the_dearer_regions() -> None:
    figure = charts.places(everywhere(120, ("on_demand", "spot", "custom")), "g5.2xlarge")
    cells = rows_of(figure.panels[0], "rect")
    assert mark_count(figure) <= charts.MOST_MARKS
    shown = {cell["region"] for cell in cells}
    assert f"{120 - len(shown)} more dearer regions left out" in figure.caption
    assert "region-000" in shown
    assert "region-119" not in shown


def test_an_option_that_has_no_price_anywhere_is_explained() -> None:
    assert charts.places(answers.default(), "never.large").panels == ()


def measured_answer(*runs: np.ndarray[Any, Any], error_count: int = 0) -> tuple[Advice, Benchmarks]:
    """One option with samples, one with figures only."""
    known = {name: "" for name in BenchmarkRows.to_schema().columns if "latency_p" not in name}
    row = known | {
        "model": "bert_base_uncased", "sequence_length": 512, "instance_type": "g5.2xlarge", "backend": "pytorch",
        "precision": "fp32", "attached_accelerator_count": 0, "batch_size": 1, "concurrency": 1, "copies": 1, "shards": 1,
        "quality": "ok",
    }  # fmt: skip
    numbers = [
        n
        for n, c in BenchmarkRows.to_schema().columns.items()
        if "float" in str(c.dtype) or "Int" in str(c.dtype)
    ]
    blank = dict.fromkeys([n for n in numbers if n in row and row[n] == ""], None)
    rows = [row | blank | {"run_id": str(at)} for at in range(len(runs))]
    rows.append(row | blank | {"instance_type": "inf2.xlarge", "backend": "neuron", "latency_min_ms": 9.0,
                               "latency_p50_ms": 10.0, "latency_p95_ms": 10.8})  # fmt: skip
    table = BenchmarkRows.validate(pd.DataFrame(rows))
    samples = {at: Samples(run, error_count if at == 0 else 0) for at, run in enumerate(runs)}
    return answers.default(), Benchmarks(table, samples)


def test_the_distribution_is_the_share_of_requests_at_or_under_each_latency() -> None:
    advice, benchmarks = measured_answer(np.array([4.0, 1.0, 3.0, 2.0]))
    found = charts.measured(advice, benchmarks, ["g5.2xlarge", "inf2.xlarge"])
    line = [
        row
        for row in rows_of(charts.distributions(advice, found).panels[0], "line")
        if row["label"] == "g5.2xlarge"
    ]
    assert [(row["latency_ms"], row["share_percent"]) for row in line] == [(1.0, 25.0), (2.0, 50.0), (3.0, 75.0), (4.0, 100.0)]  # fmt: skip


def test_failed_requests_never_arrive_so_the_curve_ends_below_all() -> None:
    advice, benchmarks = measured_answer(np.array([1.0, 2.0, 3.0]), error_count=1)
    found = charts.measured(advice, benchmarks, ["g5.2xlarge"])
    line = rows_of(charts.distributions(advice, found).panels[0], "line")
    assert line[-1]["share_percent"] == 75.0


def test_figures_without_samples_are_points_that_nobody_joins_by_a_curve() -> None:
    advice, benchmarks = measured_answer(np.array([1.0, 2.0]))
    figure = charts.distributions(advice, charts.measured(advice, benchmarks, ["inf2.xlarge"]))
    points = rows_of(figure.panels[0], "point")
    assert [(row["share_percent"], row["latency_ms"]) for row in points] == [(0.0, 9.0), (50.0, 10.0), (95.0, 10.8)]  # fmt: skip
    assert "no samples" in figure.caption


def test_a_long_run_keeps_to_its_marks_and_to_its_ends() -> None:
    generator = np.random.default_rng(3)
    advice, benchmarks = measured_answer(generator.lognormal(2, 0.3, 20_000))
    found = charts.measured(advice, benchmarks, ["g5.2xlarge", "inf2.xlarge"])
    figure = charts.distributions(advice, found)
    line = [row for row in rows_of(figure.panels[0], "line") if row["label"] == "g5.2xlarge"]
    assert len(line) <= 100
    assert line[-1]["latency_ms"] == benchmarks.samples[0].latency_ms.max()
    assert line[0]["latency_ms"] == benchmarks.samples[0].latency_ms.min()


def test_a_run_is_drawn_in_slices_with_the_end_of_its_warm_up() -> None:
    generator = np.random.default_rng(5)
    run = generator.normal(10, 0.2, 2000)
    run[:150] += np.linspace(20, 5, 150)
    advice, benchmarks = measured_answer(run)
    figure = charts.over_time(advice, charts.measured(advice, benchmarks, ["g5.2xlarge", "inf2.xlarge"]))
    (panel,) = figure.panels
    medians = [row for row in rows_of(panel, "line") if row["figure"] == "median"]
    assert medians[-1]["request"] == 2000
    assert medians[0]["latency_ms"] == pytest.approx(np.median(run[: medians[0]["request"]]))
    marked = rows_of(panel, "rule")
    assert [row["said"] for row in marked][:1] == ["warm-up ends"]
    assert 100 <= marked[0]["request"] <= 300


def test_without_samples_there_is_no_time_to_draw() -> None:
    advice, benchmarks = measured_answer()
    figure = charts.over_time(advice, charts.measured(advice, benchmarks, ["inf2.xlarge"]))
    assert figure.panels == ()
    assert "one row a request" in figure.caption


def test_labels_say_only_what_tells_the_rows_of_one_option_apart() -> None:
    table = answers.ranked(
        answers.row("c5.large", kind="cpu", batch_size=1, backend="a"),
        answers.row("c5.large", kind="cpu", batch_size=8, backend="a"),
        answers.row("m5.large", kind="cpu", batch_size=1, backend="b"),
    )
    assert labels(table, table) == ["c5.large, batch 1", "c5.large, batch 8", "m5.large"]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (10, 200, [10, 20, 30, 50, 70, 100, 200]),
        (1, 1000, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]),
        (8, 9, [7, 10]),
    ],
)
def test_a_logarithmic_axis_has_round_ticks(low: float, high: float, expected: list[float]) -> None:
    assert style.log_ticks(low, high) == expected


def test_control_characters_of_names_never_reach_a_chart() -> None:
    advice = answers.hostile()
    for name in ANSWER_CHARTS:
        figure = getattr(charts, name)(advice)
        said = figure.caption + figure.alt + "".join(str(panel.to_dict()) for panel in figure.panels)
        assert "\x1b" not in said
        assert "\u202e" not in said
