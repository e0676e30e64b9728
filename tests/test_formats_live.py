"""The sections that the live benchmark writes."""

import json
from typing import Any

import pytest

from advisor import formats
from advisor.errors import InputError
from advisor.formats.rows import INTERRUPTED

HEADER: dict[str, Any] = {
    "advisor_result": 1,
    "benchmark": {"model": "net", "instance_type": "c5.large", "concurrency": 1, "note": ""},
    "settings": {"requests": 3},
    "environment": {"python": "3.11"},
}
REQUESTS: list[dict[str, Any]] = [
    {"latency_ms": 10.0, "run_id": "1", "started_at": "2026-11-29T10:00:00.123456Z"},
    {"error": "timeout", "run_id": "1", "started_at": "2026-11-29T10:00:01Z"},
    {"latency_ms": 20.0, "run_id": "2", "started_at": "2026-11-29T11:00:00Z"},
]
END: dict[str, Any] = {"end": {"request_count": 3, "look": 3, "peak_memory_mib": 512, "cold_call_ms": 99.0}}


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def section(concurrency: int) -> dict[str, Any]:
    return {**HEADER, "benchmark": {**HEADER["benchmark"], "concurrency": concurrency}}


def test_a_section_gives_its_runs_with_the_closing_figures() -> None:
    found = formats.read_upload("x.jsonl", lines(HEADER, *REQUESTS, END))
    assert found.rows["run_id"].tolist() == ["1", "2"]
    assert found.rows["sample_count"].tolist() == [1, 1]
    assert found.rows["error_count"].tolist() == [1, 0]
    assert found.rows["peak_memory_mib"].tolist() == [512.0, 512.0]
    assert found.rows["measured_on"].tolist() == ["2026-11-29"] * 2
    assert found.rows["note"].tolist() == ["", ""]
    assert [found.samples[at].look for at in (0, 1)] == [3, 3]


def test_a_sweep_gives_a_configuration_for_each_section() -> None:
    data = lines(section(1), *REQUESTS, END, section(2), REQUESTS[0], REQUESTS[2])
    rows = formats.read_upload("x.jsonl", data).rows
    assert rows[["concurrency", "run_id"]].to_numpy().tolist() == [[1, "1"], [1, "2"], [2, "1"], [2, "2"]]
    assert rows["note"].tolist() == ["", "", INTERRUPTED, INTERRUPTED]


def test_an_interrupted_measurement_is_readable_wherever_it_was_cut() -> None:
    data = lines(HEADER, *REQUESTS, END)
    start = len(lines(HEADER))
    ends = [at for at in range(start, len(data)) if data[at : at + 1] == b"\n"]
    for length in sorted(
        {*range(start, len(data) - 1, 23), *ends, *(end + 1 for end in ends), *(end - 1 for end in ends)}
    ):
        found = formats.read_upload("x.jsonl", data[:length])
        whole = data[:length].count(b"\n") - 1
        complete = data[length : length + 1] == b"\n"
        counted = int(found.rows["sample_count"].sum() + found.rows["error_count"].sum())
        assert counted == min(whole + complete, 3)
        notes = set(found.rows["note"])
        assert notes == ({INTERRUPTED} if whole + complete < 4 else {""})


def test_an_interrupted_measurement_keeps_its_own_note() -> None:
    header = {**HEADER, "benchmark": {**HEADER["benchmark"], "note": "closed loop"}}
    rows = formats.read_upload("x.jsonl", lines(header, REQUESTS[0])).rows
    assert rows["note"].tolist() == [f"closed loop; {INTERRUPTED}"]


def test_nothing_measured_is_a_row_without_figures() -> None:
    found = formats.read_upload("x.jsonl", lines(HEADER))
    assert found.rows[["sample_count", "error_count"]].to_numpy().tolist() == [[0, 0]]
    assert found.rows["latency_mean_ms"].isna().all()
    assert len(found.samples[0].latency_ms) == 0


def test_a_resumed_section_has_the_figures_of_its_last_end() -> None:
    found = formats.read_upload("x.jsonl", lines(HEADER, REQUESTS[0], END, REQUESTS[2], {"end": {"look": 4}}))
    assert found.rows["sample_count"].tolist() == [1, 1]
    assert found.samples[0].look == 4
    interrupted = formats.read_upload("x.jsonl", lines(HEADER, REQUESTS[0], END, REQUESTS[2]))
    assert set(interrupted.rows["note"]) == {INTERRUPTED}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"advisor_result": 2, "benchmark": {}}], "x line 1: is of version 2, this advisor reads 1"),
        ([{"advisor_result": 1}], 'x line 1: has no object "benchmark"'),
        ([{"advisor_result": 1, "benchmark": {"model": "net"}}], 'x line 1: no column "instance_type"'),
        (
            [{"advisor_result": 1, "benchmark": {"model": "n", "instance_type": "c", "latency_p90_ms": 1}}],
            'x line 1: column "latency_p90_ms" belongs to a summary',
        ),
        ([HEADER, {"latency_ms": 0, "run_id": "1"}], "x line 2: latency_ms 0 is not above 0"),
        ([HEADER, {"run_id": "1"}], "x line 2: latency_ms is empty and no error is given"),
        ([HEADER, {"latency_ms": 1, "typo": 1}], 'x: unknown column "typo"'),
        ([HEADER, REQUESTS[0], HEADER, REQUESTS[0]], "x line 2 and x line 4 are the same benchmark"),
        (
            [HEADER, REQUESTS[0], {"end": {"peak_memory_mib": -1}}],
            "x line 1: the end of this section: peak_memory_mib",
        ),
    ],
)
def test_a_mistake_in_a_measurement_is_said(records: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError) as error:
        formats.read_upload("x", lines(*records))
    assert str(error.value).startswith(message)


def test_a_broken_line_in_the_middle_is_an_error() -> None:
    with pytest.raises(InputError, match="x line 3: no JSON object"):
        formats.read_upload("x", lines(HEADER, REQUESTS[0]) + b'{"latency_ms"\n' + lines(REQUESTS[1]))
