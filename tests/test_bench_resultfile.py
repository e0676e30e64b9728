"""The measured-result file: readable at every moment, never overwritten, one writer."""

import json
import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advisor.bench.resultfile import read, writing
from advisor.errors import InputError, MeasurementError

HEADER = {"benchmark": {"model": "m", "instance_type": "local"}, "settings": {}, "environment": {}}


def fill(path: Path, **how: bool) -> None:
    with writing(path, **how) as writer:
        if not writer.sections:
            writer.header(HEADER)
        writer.requests(
            "1", [1_000_000, 2_000_000, 3_000_000], np.array([1.5, 9.0, 2.25]), {1: 'said "no"\n'}
        )
        writer.end({"request_count": 3})


def test_what_is_written_is_read_back_with_failures_apart(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    fill(path)
    (section,) = read(path)
    assert section.latency_ms == [1.5, 2.25]
    assert section.run_ids == ["1", "1"]
    assert section.errors == [("1", 'said "no"\n')]
    assert section.end == {"request_count": 3}
    assert section.request_count == 3


def test_the_lines_are_those_that_the_readers_of_result_files_know(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    fill(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"advisor_result": 1, **HEADER}
    assert lines[1] == {"latency_ms": 1.5, "run_id": "1", "started_at": "1970-01-01T00:00:01.000000Z"}
    assert lines[2]["error"] == 'said "no"\n'
    assert set(lines[4]) == {"end"}


def test_a_file_that_exists_is_kept_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("mine")
    with pytest.raises(
        MeasurementError, match="exists: continue it with --resume, or replace it with --force"
    ):
        fill(path)
    assert path.read_text() == "mine"
    fill(path, force=True)
    assert read(path)[0].end is not None


def test_force_keeps_the_old_file_until_the_new_one_has_begun(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("mine")
    with pytest.raises(RuntimeError), writing(path, force=True):
        raise RuntimeError
    assert [found.name for found in tmp_path.iterdir()] == ["r.jsonl"]
    assert path.read_text() == "mine"


def test_a_cut_off_last_line_is_left_out_and_removed_when_resumed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    fill(path)
    whole = path.read_bytes()
    for cut in range(1, len(whole.splitlines()[-1]) + 1):
        path.write_bytes(whole[:-cut])
        sections = read(path)
        assert sections[0].latency_ms == [1.5, 2.25]
        with writing(path, resume=True) as writer:
            assert writer.sections[0].latency_ms == [1.5, 2.25]
        assert path.read_bytes().endswith(b"\n")
        assert len(path.read_bytes().splitlines()) == 4


def test_a_file_cut_off_anywhere_after_its_header_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    fill(path)
    whole = path.read_bytes()
    for length in range(len(whole.splitlines(keepends=True)[0]), len(whole)):
        path.write_bytes(whole[:length])
        assert len(read(path)) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no measurement"),
        ("a,b\n1,2\n", "line 1 is not JSON"),
        ('{"latency_ms": 1}\n', "line 1 does not belong"),
        ('{"advisor_result": 1}\n{"cut\n{"end": {}}\n', "line 2 is not JSON"),
    ],
)
def test_what_is_no_result_file_is_refused_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read(path)


def _hold(path: Path, ready: Any, done: Any) -> None:
    with writing(path) as writer:
        writer.header(HEADER)
        ready.set()
        done.wait(20)


def test_a_second_writer_of_one_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, ready, done))
    other.start()
    assert ready.wait(20)
    for how in ({"resume": True}, {"force": True}):
        with pytest.raises(MeasurementError, match="another measurement is writing"):
            fill(path, **how)
    done.set()
    other.join()
    fill(path, resume=True)
    assert len(read(path)) == 1


def test_a_folder_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"the folder .* does not exist"):
        fill(tmp_path / "nowhere" / "r.jsonl")
