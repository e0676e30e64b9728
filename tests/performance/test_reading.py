"""Reading 10 million requests against `pandas.read_csv` of the same file: time and memory, each in its own process."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

REQUESTS = 10_000_000
RUNS = 10
ROUNDS = 5
ARRAY_MB = REQUESTS * 8 / 1e6

TIMING = """
import json, sys, time
import pandas as pd
from advisor import formats
big, small, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
formats.read(small); pd.read_csv(small)
times = {"pandas": [], "ours": []}
for _ in range(rounds):
    for name, read in (("pandas", pd.read_csv), ("ours", formats.read)):
        start = time.perf_counter()
        found = read(big)
        times[name].append(time.perf_counter() - start)
        assert len(found if name == "pandas" else found.samples) > 0
        del found
print(json.dumps(times))
"""

MEMORY = """
import json, resource, sys
from pathlib import Path
from advisor import formats
big, small = sys.argv[1], sys.argv[2]
formats.read(small)
page = resource.getpagesize()
idle = int(Path("/proc/self/statm").read_text().split()[1]) * page / 1e6
found = formats.read(big)
status = Path("/proc/self/status").read_text()  # not ru_maxrss: that starts at the size of the process that started this one
peak = int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
print(json.dumps({"above_idle_mb": peak - idle, "counts": found.rows["sample_count"].tolist(),
                  "means": found.rows["latency_mean_ms"].tolist()}))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file of 10 million requests in ten runs, and a small one that warms up the readers."""
    folder, rng = tmp_path_factory.mktemp("reading"), np.random.default_rng(1)
    big, small = folder / "big.csv", folder / "small.csv"
    header = "model,instance_type,run_id,latency_ms\n"
    with big.open("w") as file:
        file.write(header)
        for run in range(RUNS):
            latencies = rng.lognormal(2, 0.2, REQUESTS // RUNS)
            file.write(
                "".join(f"bert-base,c5.2xlarge,{run},{latency:.6f}\n" for latency in latencies.tolist())
            )
    small.write_text(header + "bert-base,c5.2xlarge,0,5\n" * 1000)
    return big, small


def measured(script: str, *arguments: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.performance
def test_ten_million_requests_take_at_most_one_and_a_half_times_pandas(files: tuple[Path, Path]) -> None:
    times = measured(TIMING, *files, ROUNDS)
    ratio = median(times["ours"]) / median(times["pandas"])
    print(f"\nread and summarise {REQUESTS:,} requests: {ratio:.2f} x pandas.read_csv (<= 1.5)")
    assert ratio <= 1.5


@pytest.mark.performance
def test_ten_million_requests_need_at_most_five_times_their_array(files: tuple[Path, Path]) -> None:
    found = measured(MEMORY, *files)
    assert found["counts"] == [REQUESTS // RUNS] * RUNS
    assert found["means"] == pytest.approx([np.exp(2.02)] * RUNS, rel=1e-3)
    above = found["above_idle_mb"]
    print(f"\npeak above the idle process: {above:.0f} MB, {above / ARRAY_MB:.2f} x the bare array (<= 5)")
    assert above <= 5 * ARRAY_MB
