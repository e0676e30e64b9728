"""Which rows answer a question, and what is made of the runs of one configuration."""

from typing import Any

import pytest

from advisor.errors import QuestionError
from advisor.measurements import ask, version_key
from tests import builders


def test_version_order_puts_1_10_after_1_9() -> None:
    names = ["neuron 2.9", "neuron 2.10", "neuron 10.0", "armnn 22.11", "neuron"]
    assert sorted(names, key=version_key) == [
        "armnn 22.11",
        "neuron",
        "neuron 2.9",
        "neuron 2.10",
        "neuron 10.0",
    ]


def softwares(*rows: dict[str, Any]) -> tuple[list[str], int]:
    asked = ask(
        builders.benchmarks(*({"latency_mean_ms": 5, **row} for row in rows)), builders.ask(model="net")
    )
    return [m.software for m in asked.measurements], asked.older_software_count


def test_the_newest_software_of_a_configuration_counts() -> None:
    assert softwares({"software": "rt 1.9"}, {"software": "rt 1.10"}) == (["rt 1.10"], 1)
    dated = (
        {"software": "rt 1.9", "measured_on": "2026-05-02"},
        {"software": "rt 1.10", "measured_on": "2026-05-01"},
    )
    assert softwares(*dated) == (["rt 1.9"], 1)
    assert softwares({"software": "rt 1.9"}, {"software": "rt 1.10", "backend": "torch"}) == (
        ["rt 1.9", "rt 1.10"],
        0,
    )


def test_operating_choices_are_separate_candidates_and_runs_are_not() -> None:
    rows: list[dict[str, Any]] = [
        {"latency_mean_ms": 4, "run_id": "a", "sample_count": 1, "peak_memory_mib": 10},
        {
            "latency_mean_ms": 8,
            "run_id": "b",
            "sample_count": 3,
            "error_count": 1,
            "note": "slow",
            "quality": "suspect",
        },
        {"latency_mean_ms": 9, "batch_size": 8, "concurrency": 2},
        {"latency_mean_ms": 9, "batch_size": 8, "concurrency": 4},
    ]
    one, two, three = ask(builders.benchmarks(*rows), builders.ask(model="net")).measurements
    assert (one.run_count, one.sample_count, one.error_count, one.mean_ms) == (2, 4, 1, 7)
    assert (one.error_fraction, one.suspect, one.context["note"], one.peak_host_mib) == (
        0.2,
        True,
        "slow",
        10,
    )
    assert (two.items_in_flight, three.items_in_flight) == (16, 32)


def test_throughput_of_several_runs_is_all_inferences_over_all_time() -> None:
    rows: list[dict[str, Any]] = [
        {"latency_mean_ms": 4, "run_id": "a", "sample_count": 100, "throughput_per_s": 10},  # 10 s
        {"latency_mean_ms": 4, "run_id": "b", "sample_count": 100, "throughput_per_s": 50},  # 2 s
    ]
    (found,) = ask(builders.benchmarks(*rows), builders.ask(model="net")).measurements
    assert found.throughput_per_s == pytest.approx(200 / 12)


def test_an_unknown_count_among_the_runs_leaves_the_count_unknown() -> None:
    rows = [{"latency_mean_ms": 4, "run_id": "a", "sample_count": 9}, {"latency_mean_ms": 8, "run_id": "b"}]
    (found,) = ask(builders.benchmarks(*rows), builders.ask(model="net")).measurements
    assert found.sample_count is None
    assert found.mean_ms == 6


def test_length_and_shape_must_equal_the_question() -> None:
    given = builders.benchmarks(
        {"latency_mean_ms": 1, "sequence_length": 128},
        {"latency_mean_ms": 2, "sequence_length": 512},
        {"latency_mean_ms": 3, "model": "vision", "input_shape": "3x224x224"},
        {"latency_mean_ms": 3, "model": "vision", "input_shape": ""},
        {"latency_mean_ms": 4, "model": "small", "sequence_length": 7},
    )
    assert [m.mean_ms for m in ask(given, builders.ask(model="net", sequence_length=512)).measurements] == [2]
    with pytest.raises(QuestionError, match=r"which sequence length\? net was measured at 128 and 512"):
        ask(given, builders.ask(model="net"))
    with pytest.raises(
        QuestionError, match="net was not measured at sequence length 64; there are: 128 and 512"
    ):
        ask(given, builders.ask(model="net", sequence_length=64))
    with pytest.raises(QuestionError, match=r"which input shape\? vision was measured at none and 3x224x224"):
        ask(given, builders.ask(model="vision"))
    assert len(ask(given, builders.ask(model="vision", input_shape="")).measurements) == 1
    only = ask(given, builders.ask(model="small"))
    assert (only.workload.sequence_length, only.filled) == (7, ("sequence length 7",))
    with pytest.raises(QuestionError, match=r"which model\? test benchmarks hold net, small and vision"):
        ask(given, builders.ask())


def test_the_only_model_of_the_files_need_not_be_named() -> None:
    asked = ask(builders.benchmarks({"latency_mean_ms": 1}), builders.ask())
    assert (asked.workload.model, asked.filled) == ("net", ("model net",))
