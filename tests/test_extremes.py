"""Figures that no measurement has are refused in one line; odd ones that are right get a sane answer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from advisor.advise import advise
from advisor.cli import main
from advisor.cli.output import write
from advisor.errors import InputError, QuestionError
from advisor.evidence import Summary, assess, assess_histogram, assess_summary, share_bracket
from advisor.reports import EXPORTERS, Presentation
from tests import builders


@pytest.mark.parametrize("latency_ms", [1e308, 1.001e12, 5e-324, 0.999e-12])
def test_a_latency_that_nobody_can_measure_is_refused(latency_ms: float) -> None:
    with pytest.raises(InputError, match="every latency must be a finite number of ms above 0"):
        assess([1.0, latency_ms], 10)


@pytest.mark.parametrize("latency_ms", [1e12, 1e-12])
def test_the_longest_and_the_shortest_latency_are_judged_like_any_other(latency_ms: float) -> None:
    # 36 requests without a miss prove a P90 (0.9 ** 36 < 0.025), however long they are
    assert assess(np.full(36, latency_ms), latency_ms).verdict == "pass"
    assert assess(np.tile([latency_ms, 1.0], 500), latency_ms).verdict == (
        "pass" if latency_ms > 1 else "fail"
    )


@pytest.mark.parametrize("samples", [["x"], [None, [1]], [[1], [1, 2]], [1 + 2j]])
def test_samples_that_are_no_numbers_are_refused(samples: list[object]) -> None:
    with pytest.raises(InputError, match=r"latencies must be a list of numbers|every latency"):
        assess(samples, 10)  # type: ignore[arg-type]


def test_run_labels_of_several_kinds_are_told_apart() -> None:
    assert assess([1.0, 2.0, 3.0, 4.0], 10, run_ids=["a", 1, None, "a"]).run_count == 3


@pytest.mark.parametrize("look", [10**30, float("nan"), 10**9 + 1, 0])
def test_a_look_that_is_no_count_is_refused(look: int) -> None:
    with pytest.raises(InputError, match="look counts from 1"):
        assess([1.0], 10, look=look)
    with pytest.raises(QuestionError, match="look counts from 1"):
        assess_summary(Summary({90.0: 1.0}, count=10), 10, look=look)


@pytest.mark.parametrize("limit_ms", [1e308, 1.001e12, float("inf"), float("nan"), 0.0])
def test_a_limit_that_no_promise_can_have_is_refused(limit_ms: float) -> None:
    with pytest.raises(QuestionError, match="the latency limit must be a number of ms above 0"):
        assess([1.0], limit_ms)


@pytest.mark.parametrize("limit_ms", [1e12, 1e-320])
def test_the_loosest_and_the_tightest_limit_are_judged(limit_ms: float) -> None:
    found = assess_summary(Summary(mean_ms=9.0, std_ms=1.0, count=1000), limit_ms)
    assert found.verdict == ("pass" if limit_ms > 9 else "fail")


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        (Summary({90.0: 9.0}, count=10**15 + 1), "counts its requests"),
        (Summary({90.0: 9.0}, count=10, error_count=10**30), "counts its requests"),
        (Summary({90.0: 9.0}, count=-1), "counts its requests"),
        (Summary(mean_ms=1e308, std_ms=1.0, count=10), "every latency of a summary"),
        (Summary(mean_ms=9.0, std_ms=float("nan"), count=10), "every latency of a summary"),
    ],
)
def test_a_summary_with_figures_that_none_can_have_is_refused(summary: Summary, words: str) -> None:
    with pytest.raises(InputError, match=words):
        assess_summary(summary, 10)


def test_a_histogram_of_more_requests_than_can_be_counted_is_refused() -> None:
    with pytest.raises(InputError, match="requests at most"):
        assess_histogram([1.0, 2.0], [10**17, 10**17], 10)


def test_cantelli_holds_where_the_squares_of_its_figures_would_vanish() -> None:
    # s = 1e-200, d = 1e-200: s^2 / (s^2 + d^2) = 1/2, though both squares are 0 in floating point
    assert share_bracket(Summary(mean_ms=1e-200, std_ms=1e-200), 2e-200)[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        ("throughput_per_s", "1e308", "is too large"),
        ("throughput_per_s", "1.001e15", "is too large"),
        ("throughput_per_s", "1e-320", "is too small"),
        ("latency_mean_ms", "0.999e-12", "is too small"),
        ("peak_memory_mib", "1e299", "is too large"),
    ],
)
def test_a_figure_in_a_file_that_nobody_can_measure_is_one_line_of_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, cell: str, words: str
) -> None:
    row = {"model": "net", "instance_type": "c5.large", "latency_mean_ms": "9", "latency_p90_ms": "11"}
    row[column] = cell
    file = tmp_path / "results.csv"
    file.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    with pytest.raises(SystemExit) as stopped:
        main(["recommend", "--benchmarks", str(file)])
    out, err = capsys.readouterr()
    assert (stopped.value.code, out, err.count("\n")) == (2, "", 1)
    assert "line 2" in err
    assert column in err
    assert words in err


@pytest.mark.parametrize("cell", ["1e15", "1e-12"])
def test_the_largest_and_the_smallest_figure_of_a_file_give_valid_json(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], cell: str
) -> None:
    file = tmp_path / "results.csv"
    file.write_text(
        "model,instance_type,latency_mean_ms,latency_p90_ms,throughput_per_s\n"
        f"net,c5.large,9,11,{cell}\nnet,c5.xlarge,8,10,\n"
    )
    with pytest.raises(SystemExit) as stopped:
        main(["recommend", "--benchmarks", str(file), "--latency-limit-ms", "15", "--format", "json"])
    assert stopped.value.code == 0

    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(capsysbinary.readouterr().out, parse_constant=refuse)


@pytest.mark.parametrize(
    "flags", [["--latency-limit-ms", "1.001e12"], ["--latency-limit-ms", "1e308"], ["--today", "0001-01-01"]]
)
def test_a_question_out_of_bounds_is_one_line_of_error(
    capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["recommend", *flags])
    out, err = capsys.readouterr()
    assert (stopped.value.code, out, err.count("\n")) == (2, "", 1)
    assert flags[0][2:].replace("-", "_") in err


PRICES = ({"instance_type": "c5.large", "price_usd_per_hour": 0.085},)
BEFORE_THE_FIRST = {"instance_type": "c5.xlarge", "samples": []}


@pytest.mark.parametrize("form", EXPORTERS)
def test_a_run_that_ended_before_its_first_request_does_not_hide_the_others(form: str) -> None:
    measured = builders.benchmarks(BEFORE_THE_FIRST, {"samples": [9.0] * 100})
    advice = advise(builders.catalogue(PRICES), measured, builders.ask(model="net", latency_limit_ms=10))
    assert advice.recommended is not None
    assert advice.recommended.option == "c5.large"
    assert EXPORTERS[form](advice, Presentation())


@pytest.mark.parametrize(
    "run", [BEFORE_THE_FIRST, {"sample_count": 0}, {"sample_count": 0, "error_count": 0}]
)
def test_a_model_without_a_single_request_is_an_error_that_names_it(run: dict[str, object]) -> None:
    with pytest.raises(QuestionError, match="no request of net"):
        advise(builders.catalogue(PRICES), builders.benchmarks(run), builders.ask(model="net"))


@pytest.mark.parametrize("form", EXPORTERS)
def test_a_run_whose_every_request_failed_is_reported_and_not_recommended(form: str) -> None:
    measured = builders.benchmarks({"samples": [], "error_count": 50})
    advice = advise(builders.catalogue(PRICES), measured, builders.ask(model="net", latency_limit_ms=10))
    assert advice.recommended is None
    assert EXPORTERS[form](advice, Presentation())


def test_a_pipe_that_is_named_as_output_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(b"a,b\n", pipe)
        assert os.read(reader, 100) == b"a,b\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert [file.name for file in tmp_path.iterdir()] == ["pipe.csv"]


def test_a_full_device_as_output_is_one_line_of_error_and_stays_a_device(tmp_path: Path) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("this system has no device that is always full")
    link = tmp_path / "full.csv"  # a link: a fault of `write` cannot replace the device itself
    link.symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"cannot write .*full\.csv: No space left on device"):
        write(b"a,b\n", link)
    assert link.is_symlink()
    assert Path("/dev/full").is_char_device()


def test_a_link_that_is_named_as_output_stays_a_link_to_the_new_content(tmp_path: Path) -> None:
    file, link = tmp_path / "real.csv", tmp_path / "link.csv"
    file.write_bytes(b"old")
    link.symlink_to(file)
    write(b"new", link)
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_a_closed_stdout_is_one_line_of_error() -> None:
    command = f'"{sys.executable}" -m advisor recommend >&-'
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "advisor: stdout is closed: name a file with --output\n")


@pytest.mark.parametrize(
    ("price", "code"), [("1e308", 2), ("1.001e12", 2), ("1e-320", 2), ("1e12", 0), ("1e-9", 0)]
)
def test_a_price_is_ranked_or_refused_by_its_size_without_an_overflow(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], price: str, code: int
) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(
        "instance_type,region,purchase_option,price_usd_per_hour,currency,as_of,source\n"
        f"inf1.2xlarge,us-west-2,on_demand,{price},USD,2026-11-01,me\n"
    )
    with pytest.raises(SystemExit) as stopped:
        main(["recommend", "--prices", str(file), "--format", "json"])
    assert stopped.value.code == code
    assert (b"for a price" in capfdbinary.readouterr().err) == (code == 2)
