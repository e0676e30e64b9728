"""A whole measurement: what it proves, when it stops, and what is left when it is stopped."""

import gc
import json
import multiprocessing
import os
import random
import signal
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from advisor.bench import Progress, Settings, run
from advisor.bench.loops import Timed
from advisor.bench.resultfile import read
from advisor.errors import MeasurementError, QuestionError
from advisor.evidence import assess
from tests import bench_models

RECORDED = Path(__file__).parent / "data" / "bench"
MODELS = "tests.bench_models"


@pytest.fixture(autouse=True)
def _off_ec2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(bench_models, "calls", 0)


def fake(**fields: Any) -> Settings:
    return Settings.make(**({"backend": "fake", "model": "lognormal:10:0.25"} | fields))


def python(function: str, **fields: Any) -> Settings:
    return Settings.make(backend="python", model=f"{MODELS}:{function}", **fields)


DISTRIBUTIONS = {
    "lognormal:10:0.25": lambda p: 10 * np.exp(0.25 * ndtri(p)),
    "exponential:10": lambda p: -10 * np.log(1 - p),
    "uniform:5:15": lambda p: 5 + 10 * p,
}


@pytest.mark.parametrize("model", DISTRIBUTIONS)
def test_measured_percentiles_are_those_of_the_distribution_within_the_printed_interval(
    model: str, tmp_path: Path
) -> None:
    """A nominal 95 % interval misses one time in twenty; fewer than 25 right of 30 has a chance under 1 in 300."""
    right = []
    for seed in range(10):
        for percentile in (50.0, 90.0, 99.0):
            found = run(
                fake(model=model, requests=1000, seed=seed, percentile=percentile),
                tmp_path / "r.jsonl",
                force=True,
            )
            assessment = found.sections[0].assessment
            assert assessment is not None
            assert assessment.quantile_ms is not None
            low, high = assessment.quantile_ms.low, assessment.quantile_ms.high
            assert low is not None
            assert high is not None
            right.append(low <= DISTRIBUTIONS[model](percentile / 100) <= high)
    assert sum(right) >= 25


@pytest.mark.parametrize(
    "fields",
    [
        {"requests": 500, "error_fraction": 0.05},
        {"requests": 500, "rate": 80.0, "arrivals": "poisson"},
        {"until": "decided", "latency_limit_ms": 15.0, "concurrency": "1,4"},
        {"runs": 3, "requests": 50},
    ],
)
def test_a_seeded_run_repeats_to_the_byte(fields: dict[str, Any], tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    run(fake(**fields), first)
    run(fake(**fields), second)
    assert first.read_bytes() == second.read_bytes()
    run(fake(**fields, seed=1), second, force=True)
    assert first.read_bytes() != second.read_bytes()


def test_a_thousand_requests_are_sent_where_nothing_else_is_asked(tmp_path: Path) -> None:
    run(fake(), tmp_path / "r.jsonl")
    (section,) = read(tmp_path / "r.jsonl")
    assert len(section.latency_ms) == 1000
    assert section.end is not None
    assert section.end["stopped"] == "requests"


def test_a_clear_case_is_decided_at_the_first_look_and_a_close_one_later(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    p90 = float(DISTRIBUTIONS["lognormal:10:0.25"](0.9))
    clear = run(fake(until="decided", latency_limit_ms=p90 * 1.3), path, force=True).sections[0]
    assert clear.end is not None
    assert (clear.end["request_count"], clear.end["look"], clear.end["verdict"]) == (200, 1, "pass")
    close = run(fake(until="decided", latency_limit_ms=p90 * 0.96), path, force=True).sections[0]
    assert close.end is not None
    assert close.end["verdict"] == "fail"
    assert close.end["request_count"] == 200 * 2 ** (close.end["look"] - 1) > 200


def test_looking_often_does_not_make_a_wrong_pass_likelier(tmp_path: Path) -> None:
    """Exactly at the limit, "pass" is wrong; with 5 % allowed, more than 6 of 30 has a chance under 1 in 300."""
    p90 = float(DISTRIBUTIONS["lognormal:10:0.25"](0.9))
    wrong = 0
    for seed in range(30):
        found = run(
            fake(until="decided", latency_limit_ms=p90, seed=seed, requests=1600),
            tmp_path / "r.jsonl",
            force=True,
        )
        end = found.sections[0].end
        assert end is not None
        wrong += end["verdict"] == "pass"
    assert wrong <= 6


def test_a_ceiling_between_two_looks_counts_as_one_more_look(tmp_path: Path) -> None:
    p90 = float(DISTRIBUTIONS["lognormal:10:0.25"](0.9))
    found = run(fake(until="decided", latency_limit_ms=p90 * 1.005, requests=1000), tmp_path / "r.jsonl")
    end = found.sections[0].end
    assert end is not None
    assert (end["request_count"], end["look"]) == (1000, 4)
    samples = read(tmp_path / "r.jsonl")[0].latency_ms
    judged = found.sections[0].assessment
    assert judged is not None
    fourth, first = (assess(samples, p90 * 1.005, 90, look=look).share_within for look in (4, 1))
    assert judged.share_within is not None
    assert fourth is not None
    assert judged.share_within.low == pytest.approx(fourth.low, rel=1e-6)
    assert fourth != first


def test_time_alone_ends_a_measurement_that_is_given_nothing_else(tmp_path: Path) -> None:
    assert Settings.make(backend="python", model="m:f", seconds="1h").request_ceiling > 10**8
    assert Settings.make(backend="python", model="m:f", seconds="60s", rate=2000).request_ceiling > 120_000


def test_a_measurement_until_a_width_stops_when_the_interval_is_that_narrow(tmp_path: Path) -> None:
    section = run(fake(until_width="4%"), tmp_path / "r.jsonl").sections[0]
    assert section.end is not None
    assert section.end["stopped"] == "narrow enough"
    assert section.assessment is not None
    estimate = section.assessment.quantile_ms
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert (estimate.high - estimate.low) / estimate.point <= 0.04
    assert 500 < section.end["request_count"] < 10_000


def test_seconds_end_a_run(tmp_path: Path) -> None:
    section = run(fake(model="constant:10", seconds="1s", requests=1000), tmp_path / "r.jsonl").sections[0]
    assert section.end is not None
    assert section.end["request_count"] == 1000
    began = time.monotonic()
    run(python("slow", seconds=0.4), tmp_path / "s.jsonl")
    assert time.monotonic() - began < 5
    assert 20 < len(read(tmp_path / "s.jsonl")[0].latency_ms) < 450


def test_separate_runs_have_their_ids_and_five_make_grade_a(tmp_path: Path) -> None:
    section = run(fake(runs=5, requests=100), tmp_path / "r.jsonl").sections[0]
    assert section.assessment is not None
    assert section.assessment.grade == "A"
    assert section.assessment.run_count == 5
    (kept,) = read(tmp_path / "r.jsonl")
    assert [kept.run_ids.count(run_id) for run_id in "12345"] == [100] * 5


def test_runs_that_do_not_decide_are_followed_by_more(tmp_path: Path) -> None:
    p90 = float(DISTRIBUTIONS["lognormal:10:0.25"](0.9))
    settings = fake(runs=5, requests=100, until="decided", latency_limit_ms=p90)
    section = run(settings, tmp_path / "r.jsonl").sections[0]
    assert section.end is not None
    assert section.end["request_count"] in (1000, 2000)
    clear = run(settings.model_copy(update={"latency_limit_ms": 20.0}), tmp_path / "s.jsonl").sections[0]
    assert clear.end is not None
    assert (clear.end["request_count"], clear.end["verdict"]) == (500, "pass")


def test_runs_are_spread_over_time(tmp_path: Path) -> None:
    began = time.monotonic()
    run(python("echo", runs=3, spread_s="300ms", requests=5), tmp_path / "r.jsonl")
    assert 0.6 <= time.monotonic() - began < 5


def test_a_sweep_is_one_section_a_configuration(tmp_path: Path) -> None:
    settings = python("echo", input="ids:int64:BxS", batch_size="1,2", sequence_length="25,50", requests=5)
    run(settings, tmp_path / "r.jsonl")
    rows = [section.header["benchmark"] for section in read(tmp_path / "r.jsonl")]
    assert [(row["batch_size"], row["sequence_length"]) for row in rows] == [
        (1, 25),
        (1, 50),
        (2, 25),
        (2, 50),
    ]


def test_failures_are_kept_as_failures(tmp_path: Path) -> None:
    section = run(python("fails_every_tenth", requests=100), tmp_path / "r.jsonl").sections[0]
    assert section.end is not None
    assert section.end["error_count"] == 10
    (kept,) = read(tmp_path / "r.jsonl")
    assert len(kept.latency_ms) == 90
    assert kept.errors[0] == ("1", "RuntimeError: tenth")


def test_failures_count_against_the_promise(tmp_path: Path) -> None:
    """One request in five fails: 90 % cannot be within any limit."""
    settings = fake(error_fraction=0.2, until="decided", latency_limit_ms=1e6)
    section = run(settings, tmp_path / "r.jsonl").sections[0]
    assert section.end is not None
    assert section.end["verdict"] == "fail"
    assert section.end["error_count"] == pytest.approx(0.2 * section.end["request_count"], rel=0.4)


def test_a_model_that_only_fails_is_an_error_and_not_a_measurement(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"the first \d+ requests all failed \(RuntimeError: broken\)"):
        run(python("never_works", requests=100_000), tmp_path / "r.jsonl")
    assert read(tmp_path / "r.jsonl")[0].end is None


def test_a_model_whose_first_request_fails_leaves_no_file(tmp_path: Path) -> None:
    bench_models.calls = 9
    with pytest.raises(MeasurementError, match="the first request failed: RuntimeError: tenth"):
        run(python("fails_every_tenth"), tmp_path / "r.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_the_cold_call_is_reported_by_itself_and_circumstances_are_noted(tmp_path: Path) -> None:
    section = run(python("cold", requests=100), tmp_path / "r.jsonl").sections[0]
    assert section.end is not None
    assert section.end["cold_call_ms"] >= 100.0
    assert section.end["request_count"] == 100
    assert max(read(tmp_path / "r.jsonl")[0].latency_ms) < 100.0
    assert section.end["peak_memory_mib"] > 10
    assert section.end["gc_collection_count"] >= 0
    assert section.end["load_average"] >= 0
    assert section.header["environment"]["cpu"]["governor"]


def test_a_warm_up_is_found(tmp_path: Path) -> None:
    ledger = _ledger(tmp_path)
    ledger.start_run("1", 600)
    latency = np.where(np.arange(600) < 100, 0.040, 0.010) * np.random.default_rng(0).uniform(0.98, 1.02, 600)
    due = np.arange(600) * 0.05
    ledger(Timed(array("d", due), array("d", due), array("d", due + latency)))
    assert 95 <= ledger.figures()["warmup_count"] <= 110


def test_copies_in_processes_share_the_requests(tmp_path: Path) -> None:
    settings = python("slow", copies=2, parallel="processes", concurrency=4, requests=80)
    section = run(settings, tmp_path / "r.jsonl").sections[0]
    assert section.end is not None
    assert section.end["request_count"] == 80
    row = section.header["benchmark"]
    assert (row["copies"], row["concurrency"]) == (2, 4)
    assert section.end["peak_memory_mib"] > 20


def test_garbage_collection_can_be_off_and_is_on_again_afterwards(tmp_path: Path) -> None:
    section = run(python("echo", requests=3000, gc="off"), tmp_path / "r.jsonl").sections[0]
    assert section.end is not None
    assert section.end["gc_collection_count"] == 0
    assert gc.isenabled()


def test_progress_tells_requests_percentiles_verdict_and_dollars(tmp_path: Path) -> None:
    seen: list[Progress] = []
    run(
        fake(until="decided", latency_limit_ms=20, usd_per_hour=3.6),
        tmp_path / "r.jsonl",
        report=seen.append,
    )
    last = seen[-1]
    assert (last.request_count, last.verdict, last.section, last.section_count) == (200, "pass", 1, 1)
    assert list(last.percentiles_ms) == [50.0, 90.0, 99.0]
    assert last.spent_usd == pytest.approx(0.001 * last.elapsed_s)
    assert last.remaining_s == 0.0


def test_ctrl_c_leaves_what_was_measured_and_resume_finishes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "flag"
    flag.touch()
    monkeypatch.setenv("BENCH_TEST_FLAG", str(flag))
    path = tmp_path / "r.jsonl"
    settings = python("interrupted", requests=200)
    found = run(settings, path)
    assert found.interrupted
    (section,) = read(path)
    assert section.end is None
    assert len(section.latency_ms) == 49

    again = run(settings, path, resume=True)
    assert not again.interrupted
    (section,) = read(path)
    assert len(section.latency_ms) == 200
    assert [section.run_ids.count(run_id) for run_id in "12"] == [49, 151]
    assert section.end is not None
    assert section.end["request_count"] == 200

    before = path.read_bytes()
    run(settings, path, resume=True)
    assert path.read_bytes() == before


def test_resume_makes_up_the_cut_run_and_then_the_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "flag"
    flag.touch()
    monkeypatch.setenv("BENCH_TEST_FLAG", str(flag))
    path = tmp_path / "r.jsonl"
    settings = python("interrupted", requests=60, runs=2)
    assert run(settings, path).interrupted
    run(settings, path, resume=True)
    (section,) = read(path)
    assert [section.run_ids.count(run_id) for run_id in "123"] == [49, 11, 60]
    assert section.end is not None
    assert section.end["request_count"] == 120


def test_resume_is_refused_with_other_settings_and_names_them(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run(fake(requests=20), path)
    with pytest.raises(MeasurementError, match=r"other settings \(--requests, --seed\)"):
        run(fake(requests=21, seed=2), path, resume=True)
    with pytest.raises(MeasurementError, match=r"other settings \(--model\)"):
        run(fake(requests=20, model="constant:3"), path, resume=True)


def _measure_until_killed(path: Path) -> None:
    gc.freeze()
    run(python("slow", requests=100_000), path)


def test_killed_at_thirty_random_moments_the_file_is_readable_each_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    chance = random.Random(7)
    readable = 0
    for attempt in range(30):
        path = tmp_path / f"{attempt}.jsonl"
        process = context.Process(target=_measure_until_killed, args=(path,))
        process.start()
        time.sleep(chance.uniform(0.0, 0.6))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        if path.exists():
            (section,) = read(path)
            assert section.end is None
            assert all(0.5 < latency < 1000 for latency in section.latency_ms)
            readable += bool(section.latency_ms)
    assert readable >= 10


def test_a_closed_loop_file_says_that_it_cannot_see_waits(tmp_path: Path) -> None:
    row = run(fake(requests=10), tmp_path / "r.jsonl").sections[0].header["benchmark"]
    assert row["load_kind"] == "closed"
    assert "cannot see how long a request that was not sent would have waited" in row["note"]


def test_an_open_loop_file_says_its_rate_and_how_late_it_was(tmp_path: Path) -> None:
    section = run(python("echo", rate=200.0, requests=60), tmp_path / "r.jsonl").sections[0]
    assert section.header["benchmark"]["load_kind"] == "open"
    assert "poisson arrivals at 200 per second" in section.header["benchmark"]["client"]
    assert section.end is not None
    assert section.end["generator_lag_p99_ms"] >= 0
    assert section.end["generator_was_bottleneck"] == (section.end["generator_lag_p99_ms"] > 1.0)


def _ledger(tmp_path: Path, **fields: Any) -> Any:
    from advisor.bench.ledger import Ledger
    from advisor.bench.settings import points

    class Nowhere:
        def requests(self, *_: object) -> None:
            """Keep nothing."""

    settings = fake(rate=100.0, in_flight_limit=2, **fields)
    writer: Any = Nowhere()
    return Ledger(settings, points(settings)[0], writer, label="x", section=1, section_count=1)


def test_a_generator_that_was_late_is_said_to_be_the_bottleneck(tmp_path: Path) -> None:
    ledger = _ledger(tmp_path)
    ledger.start_run("1", 100)
    due = [i * 0.01 for i in range(100)]
    late = [0.0015 if i % 20 == 0 else 0.0001 for i in range(100)]
    start = [d + wait for d, wait in zip(due, late, strict=True)]
    ledger(Timed(array("d", due), array("d", start), array("d", [s + 0.002 for s in start])))
    ledger.end_run()
    figures = ledger.figures()
    assert figures["generator_was_bottleneck"]
    assert figures["quality"] == "suspect"
    assert "the generator was the bottleneck" in figures["notes"][0]
    assert figures["in_flight_limit_reached_fraction"] == 0.0


def test_a_full_in_flight_limit_is_told_from_a_late_generator(tmp_path: Path) -> None:
    ledger = _ledger(tmp_path)
    ledger.start_run("1", 100)
    due = [i * 0.01 for i in range(100)]
    start = [i // 2 * 0.05 for i in range(100)]
    ledger(Timed(array("d", due), array("d", start), array("d", [s + 0.05 for s in start])))
    ledger.end_run()
    figures = ledger.figures()
    assert not figures["generator_was_bottleneck"]
    assert figures["in_flight_limit_reached_fraction"] > 0.9
    assert any("2 were in flight: raise --in-flight-limit" in note for note in figures["notes"])


def test_drift_is_flagged(tmp_path: Path) -> None:
    ledger = _ledger(tmp_path)
    ledger.start_run("1", 900)
    noise = np.random.default_rng(0).normal(0, 0.0002, 900)
    latency = np.where(np.arange(900) < 550, 0.010, 0.013) + noise
    due = np.arange(900) * 0.02
    ledger(Timed(array("d", due), array("d", due), array("d", due + latency)))
    ledger.end_run()
    figures = ledger.figures()
    assert figures["drift_fraction"] == pytest.approx(0.3, abs=0.05)
    assert any("drifted by +" in note for note in figures["notes"])


def test_what_is_written_holds_no_path_host_header_or_argument(tmp_path: Path) -> None:
    settings = Settings.make(
        backend="http",
        model="http://user:pw@inference.internal:8443/v2/models/m/infer?key=abc",
        header=("Authorization: Bearer sesame",),
        input_file="/home/somebody/requests.jsonl",
    )
    text = json.dumps(settings.shown())
    for secret in ("user", "pw", "inference.internal", "abc", "sesame", "somebody"):
        assert secret not in text
    assert json.loads(text)["model"] == "http://[host]/v2/models/m/infer"
    assert json.loads(text)["header_names"] == ["Authorization"]
    command = Settings.make(backend="command", model="/opt/me/serve --token sesame")
    assert "sesame" not in json.dumps(command.shown())
    assert "/opt/me" not in json.dumps(command.shown())


def test_settings_that_differ_only_in_a_secret_are_told_apart() -> None:
    def made(value: str) -> dict[str, Any]:
        return Settings.make(backend="http", model="http://a/b", header=(f"Key: {value}",)).shown()

    assert made("one") != made("two")
    assert made("one") == made("one")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"backend": "tensorflw"}, "is not one of command, fake"),
        ({"backend": "pythn"}, "did you mean python"),
        ({"model": "lognormal:10"}, "is not a distribution in ms"),
        ({"until": "decided"}, "--until decided needs --latency-limit-ms"),
        ({"concurrency": "1,x"}, "--concurrency"),
        ({"rate": 5, "concurrency": "2"}, "give one of them"),
        ({"copies": 2}, "2 copies need --concurrency 2 or more"),
        ({"spread_s": "ten minutes"}, "is not a duration"),
        ({"until_width": "two"}, "is not a share"),
        ({"device": "gpu"}, "--device"),
        ({"device": "cuda:0"}, "needs --backend torch or onnxruntime"),
        ({"input": "ids-1x2"}, "is not name:type:shape"),
        ({"input": "ids:int63:1x2"}, "did you mean int64"),
        ({"input": "ids:int64:1xS"}, "has an S: give --sequence-length"),
        ({"batch_size": "1,2"}, "needs --input name:type:shape"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(
    fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(QuestionError, match=message) as error:
        run(fake(**fields), tmp_path / "r.jsonl")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_off_ec2_a_result_is_local_and_a_stated_type_is_marked(tmp_path: Path) -> None:
    row = run(python("echo", requests=5), tmp_path / "a.jsonl").sections[0].header["benchmark"]
    assert row["instance_type"] == "local"
    row = (
        run(python("echo", requests=5, instance_type="c5.large"), tmp_path / "b.jsonl")
        .sections[0]
        .header["benchmark"]
    )
    assert row["instance_type"] == "c5.large"
    assert "instance type stated by the user" in row["note"]


def test_on_ec2_a_stated_type_that_is_wrong_is_refused(tmp_path: Path) -> None:
    from tests.test_bench_surroundings import ON_EC2, metadata

    with metadata(ON_EC2) as base:
        found = run(python("echo", requests=5), tmp_path / "a.jsonl", metadata_base=base)
        assert found.sections[0].header["benchmark"]["instance_type"] == "g4dn.xlarge"
        assert found.sections[0].header["environment"]["region"] == "us-west-2"
        with pytest.raises(QuestionError, match=r"this machine is a g4dn\.xlarge"):
            run(python("echo", instance_type="c5.large"), tmp_path / "b.jsonl", metadata_base=base)


def test_a_server_elsewhere_needs_to_be_said_what_it_runs_on(tmp_path: Path) -> None:
    settings = Settings.make(backend="http", model="http://example.org/predict", input="x:float32:1x2")
    with pytest.raises(QuestionError, match="say what it runs on with --instance-type"):
        run(settings, tmp_path / "r.jsonl")


def test_the_accelerator_is_the_one_of_the_asked_ordinal_and_must_be_healthy() -> None:
    from advisor.bench.placement import placement
    from advisor.bench.surroundings import elastic_inference

    listing = elastic_inference(RECORDED / "describe-accelerators" / "tool.json")

    def placed(device: str) -> dict[str, Any]:
        settings = Settings.make(backend="torch", model="m.ts", device=device)
        return placement(settings, {"elastic_inference": listing}).columns

    assert placed("eia:0")["attached_accelerator"] == "eia2.medium"
    assert placed("eia:0")["attached_accelerator_count"] == 1
    with pytest.raises(MeasurementError, match="the accelerator says it is unhealthy"):
        placed("eia:1")
    with pytest.raises(MeasurementError, match="no such accelerator is attached; there is eia:0, eia:1"):
        placed("eia:2")
