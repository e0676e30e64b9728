"""Whatever is thrown at the readers, they read it or say one line; and the quick reader agrees with the careful one."""

import gzip
import random
import string
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor import formats
from advisor.errors import InputError
from advisor.formats import delimited
from advisor.tables import Benchmarks

DATA = Path(__file__).parent / "data" / "results"
NAMES = [f"requests.{ending}" for ending in ("csv", "json", "jsonl", "parquet", "xlsx")]
LIMIT = 2**22

CELLS = ["", "net", "c5.large", "5", "5.5", "-1", "0", "inf", "nan", "1,234", '"1,234.5"', "1e400", "x" * 50, '"', '"a\nb"', "=1", "'=1", "#", "\x00", "é", "\ud7ff", "null", "true", "oom", "m5.large+2xeia2.medium", "2026-11-29", "1" * 12, "\u202e"]  # fmt: skip
COLUMNS = ["model", "instance_type", "latency_ms", "latency_s", "latency_p90_ms", "latency_mean_us", "latency_min_ms", "error", "run_id", "look", "started_at", "measured_on", "batch_size", "sample_count", "throughput_per_s", "peak_memory_mib", "attached_accelerator_count", "note", "", "zzz"]  # fmt: skip


def outcome(name: str, data: bytes) -> Benchmarks | str:
    """Return what was read, or the one line that was said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return formats.read_upload(name, data, max_expanded_bytes=LIMIT)
        except InputError as error:
            said = str(error)
    assert "\n" not in said
    return said


@given(st.binary(max_size=200), st.sampled_from(["", "PAR1", "PK\x03\x04", "[", "{", '{"advisor_result": 1', "\ufeff", "# x\n", "model,instance_type,latency_ms\n"]))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_random_bytes_are_read_or_refused_in_one_line(data: bytes, start: str) -> None:
    outcome("x", start.encode("utf-8") + data)
    outcome("x", gzip.compress(data))


@given(
    st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=7),
    st.lists(st.lists(st.sampled_from(CELLS), min_size=1, max_size=7), max_size=4),
    st.sampled_from([",", ";", "\t"]),
)
@settings(max_examples=100, deadline=None)
def test_random_cells_are_read_or_refused_in_one_line(
    header: list[str], rows: list[list[str]], separator: str
) -> None:
    text = "\n".join(separator.join(row) for row in [["model", "instance_type", *header], *rows])
    outcome("x.csv", text.encode())


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(CELLS))
keys = st.sampled_from([*COLUMNS, "rows", "end", "benchmark", "advisor_result"])
objects = st.dictionaries(keys, st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=6)
documents = st.one_of(
    scalars, objects, st.lists(objects, max_size=3), st.dictionaries(keys, objects, max_size=3)
)


@given(documents)
@settings(max_examples=100, deadline=None)
def test_random_json_is_read_or_refused_in_one_line(value: object) -> None:
    import json

    text = json.dumps(value)
    outcome("x.json", text.encode())
    outcome(
        "x.jsonl",
        f'{{"advisor_result": 1, "benchmark": {{"model": "m", "instance_type": "c"}}}}\n{text}\n'.encode(),
    )
    outcome("x.jsonl", f'{{"advisor_result": 1, "benchmark": {text}}}\n{{"latency_ms": 1}}\n'.encode())


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_or_refused_in_one_line(name: str) -> None:
    data, rng = (DATA / name).read_bytes(), random.Random(7)
    for _ in range(25):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 8)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        outcome(name, bytes(broken))
        outcome(name, bytes(broken[: rng.randrange(len(broken))]))


def careful(data: bytes, monkeypatch: pytest.MonkeyPatch) -> Benchmarks | str:
    with monkeypatch.context() as patch:
        patch.setattr(delimited, "_fast", lambda *_: None)
        return outcome("x.csv", data)


def test_the_quick_reader_agrees_with_the_careful_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(11)
    quick = 0
    for _ in range(60):
        separator = rng.choice([",", ";", "\t"])
        names = ["model", "instance_type", "latency_ms", *rng.sample(["error", "run_id", "note", "throughput_per_s", "peak_memory_mib", "output_token_count", "started_at", "batch_size", "look"], 3)]  # fmt: skip
        rng.shuffle(names)
        good = {
            "model": ["net", "b"], "instance_type": ["c5.large", "m5.large+eia2.medium"], "latency_ms": ["5", "7.25", "1e1"],
            "error": ["", "", "oom", "0"], "run_id": ["1", "2", "'=1"], "note": ["n"], "throughput_per_s": ["8.5"],
            "peak_memory_mib": ["", "10", "20.5"], "output_token_count": ["", "3", "4"], "started_at": ["2026-11-29T10:00:00Z"],
            "batch_size": ["1", "2"], "look": ["2"],
        }  # fmt: skip
        odd = ["", "5,5", '"5,5"', "x", "0", "-1", "1" * 12, "nan", " 6 ", "007", '"a\nb"']
        rows = [
            [rng.choice(good[name]) if rng.random() > 0.02 else rng.choice(odd) for name in names]
            for _ in range(rng.randint(1, 12))
        ]
        data = "\n".join(separator.join(row) for row in [names, *rows]).encode() + rng.choice(
            [b"", b"\n", b"\n\n"]
        )
        monkeypatch.setattr(delimited, "_PIECE_BYTES", rng.choice([64, 300, 2**20]))
        left, right = outcome("x.csv", data), careful(data, monkeypatch)
        if isinstance(left, str) or isinstance(right, str):
            assert left == right
            continue
        quick += 1
        pd.testing.assert_frame_equal(left.rows, right.rows, check_exact=True)
        assert left.samples.keys() == right.samples.keys()
        for label, found in left.samples.items():
            assert np.array_equal(found.latency_ms, right.samples[label].latency_ms)
            assert (found.error_count, found.look) == (
                right.samples[label].error_count,
                right.samples[label].look,
            )
    assert quick > 20


def test_the_quick_reader_reads_plain_raw_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the careful reader was asked")

    monkeypatch.setattr(delimited, "_blocks", never)
    for text in (
        "# advisor_result 1\nmodel,instance_type,latency_us,error,run_id\nnet,c5.large,5,,1\nnet,c5.large,,oom,2\n",
        "model;instance_type;latency_ms\nnet;c5.large;5,5\n",
        'model,instance_type,latency_ms,note\nnet,c5.large,5,"a, b"\n',
    ):
        assert len(formats.read_upload("x.csv", text.encode()).samples) == text.count("c5.large")


def test_letters_of_every_kind_do_not_break_the_header() -> None:
    for letter in string.printable:
        outcome("x.csv", f"mod{letter}el,instance_type,latency_ms\nnet,c5.large,5\n".encode())
