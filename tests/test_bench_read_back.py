"""A result file is read by the readers of result files, whole or interrupted, with what was found out while measuring."""

from pathlib import Path

import numpy as np
import pytest

from advisor import formats
from advisor.bench import Settings, run
from advisor.bench.resultfile import writing

HEADER = {
    "benchmark": {
        "model": "m",
        "instance_type": "local",
        "load_kind": "open",
        "quality": "ok",
        "note": "stated",
    },
    "settings": {},
    "environment": {},
}


def test_every_column_of_a_fake_measurement_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    settings = Settings.make(
        backend="fake", model="lognormal:10:0.25", latency_limit_ms=15, concurrency="2", runs=2, requests=300,
        error_fraction=0.02, name="my-model",
    )  # fmt: skip
    section = run(settings, path).sections[0]
    assert section.end is not None
    found = formats.read(path)
    assert list(found.rows["run_id"]) == ["1", "2"]
    assert set(found.rows["model"]) == {"my-model"}
    assert set(found.rows["concurrency"]) == {2}
    assert set(found.rows["load_kind"]) == {"closed"}
    assert found.rows["error_count"].sum() == section.end["error_count"] > 0
    assert found.rows["sample_count"].sum() == 600 - section.end["error_count"]
    assert found.rows["throughput_per_s"].iloc[0] == section.end["throughput_per_s"]
    assert (
        sum(len(samples.latency_ms) for samples in found.samples.values()) == found.rows["sample_count"].sum()
    )


def test_throughput_keeps_littles_law(tmp_path: Path) -> None:
    """In flight = rate x latency (Little 1961), exactly so for a closed loop that is never idle."""
    path = tmp_path / "r.jsonl"
    run(Settings.make(backend="fake", model="gamma:4:2.5", concurrency="4", requests=4000), path)
    row = formats.read(path).rows.iloc[0]
    assert row["throughput_per_s"] * row["latency_mean_ms"] / 1000 == pytest.approx(4.0, rel=0.01)


def test_throughput_counts_inferences_and_not_batches(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run(Settings.make(backend="fake", model="constant:10", input="x:float32:Bx2", batch_size="1,4"), path)
    rows = formats.read(path).rows
    assert list(rows["batch_size"]) == [1, 4]
    assert list(rows["throughput_per_s"]) == pytest.approx([100.0, 400.0])


def test_what_was_found_out_while_measuring_is_in_the_note_and_the_quality(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with writing(path) as writer:
        writer.header(HEADER)
        writer.requests("1", [1], np.array([2.0]), {})
        writer.end({"look": 1, "quality": "suspect", "notes": ["the generator was the bottleneck"]})
    row = formats.read(path).rows.iloc[0]
    assert row["note"].startswith("stated; the generator was the bottleneck")
    assert row["quality"] == "suspect"


def test_an_interrupted_measurement_is_read_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run(Settings.make(backend="fake", model="constant:10", requests=50), path)
    path.write_bytes(path.read_bytes()[:-600])
    found = formats.read(path)
    assert 30 <= found.rows["sample_count"].iloc[0] < 50
    assert "interrupted" in found.rows["note"].iloc[0]
