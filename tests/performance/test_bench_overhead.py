"""What the harness adds to a request, and how well it keeps a schedule of a thousand a second (`make bench`)."""

import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from advisor.bench import Settings, run
from advisor.bench.resultfile import read

pytestmark = pytest.mark.performance

REQUESTS = 50_000


@pytest.fixture(autouse=True)
def _off_ec2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def nothing() -> None:
    """Answer at once."""


def test_the_harness_adds_at_most_5_microseconds_a_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Time from one request's start to the next one's, median, against a bare loop of the same call."""
    starts = np.empty(REQUESTS)
    latencies = np.empty(REQUESTS)
    for i in range(REQUESTS):
        begin = perf_counter()
        nothing()
        latencies[i] = perf_counter() - begin
        starts[i] = begin
    bare_s, bare_latency_s = float(np.median(np.diff(starts))), float(np.median(latencies))

    path = tmp_path / "r.jsonl"
    run(Settings.make(backend="python", model=f"{__name__}:nothing", requests=REQUESTS), path)
    latency_ms = np.array(read(path)[0].latency_ms)
    harness_s = _median_spacing(path)
    with capsys.disabled():
        print(
            f"\nbare loop {bare_s * 1e6:.2f} us a request, harness {harness_s * 1e6:.2f} us; "
            f"latency {bare_latency_s * 1e6:.2f} us bare, {np.median(latency_ms) * 1e3:.2f} us measured"
        )
    assert harness_s - bare_s <= 5e-6
    assert np.median(latency_ms) / 1000.0 - bare_latency_s <= 5e-6


def _median_spacing(path: Path) -> float:
    """Return the median time between starts in seconds: over tens of requests, as time stamps are in microseconds."""
    stamps = [
        line.split('"started_at": "')[1][:26]
        for line in path.read_text().splitlines()
        if "latency_ms" in line
    ]
    times = np.array(stamps, "datetime64[us]").astype(np.int64)
    return float(np.median(np.diff(times[::20]))) / 20 / 1e6


def test_a_thousand_arrivals_a_second_are_kept_or_the_generator_is_said_to_be_the_bottleneck(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Path(__file__).parent.parent / "bench_server.py"
    with subprocess.Popen(
        [sys.executable, str(server), "answer"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{int(process.stdout.readline())}"
            settings = Settings.make(
                backend="http",
                model=url,
                input="x:float32:1x2",
                rate=1000.0,
                arrivals="constant",
                requests=5000,
            )
            end = run(settings, tmp_path / "r.jsonl").sections[0].end
        finally:
            process.kill()
    assert end is not None
    with capsys.disabled():
        print(
            f"\n{end['arrival_rate_per_s']:.0f} arrivals a second, lag P99 {end['generator_lag_p99_ms']:.2f} ms, "
            f"in-flight limit reached {end['in_flight_limit_reached_fraction']:.1%}"
        )
    kept = end["generator_lag_p99_ms"] <= 1.0
    assert kept != end["generator_was_bottleneck"]
    if not kept:
        assert end["quality"] == "suspect"
        assert any("the generator was the bottleneck" in note for note in end["notes"])
    latency = np.array(read(tmp_path / "r.jsonl")[0].latency_ms)
    assert len(latency) == 5000
    assert end["arrival_rate_per_s"] == pytest.approx(1000, rel=0.1)
