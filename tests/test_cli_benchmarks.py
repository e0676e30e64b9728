"""`advisor benchmarks`: list, show, check, template."""

import csv
import io
import json
from pathlib import Path

import pytest

from advisor.cli import main

REQUESTS = Path(__file__).parent / "data" / "results" / "requests.csv"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["benchmarks", *arguments])
    code = stopped.value.code
    assert isinstance(code, int)
    return code


def test_the_list_names_models_options_and_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", str(REQUESTS), "--format", "json") == 0
    out = capsys.readouterr()
    (model,) = json.loads(out.out)["models"]
    assert (model["model"], model["options"], model["evidence"]) == (
        "net",
        "m5.large + eia2.medium",
        "raw samples",
    )
    assert (model["row_count"], model["sampled_row_count"]) == (3, 3)
    assert out.err == f"1 of 1 models; {REQUESTS}\n"


def test_the_list_without_paths_is_of_the_packaged_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--model", "bert_base_uncased", "--model", "openai-gpt") == 0
    out = capsys.readouterr()
    lines = out.out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("bert_base_uncased  8 16 32 64 128 256 512")
    assert "m5.large + eia2.xlarge" in lines[2]
    assert "packaged benchmarks" in out.err


def test_the_list_as_csv_has_one_row_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", str(REQUESTS), "--format", "csv") == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["model"] == "net"


def test_a_model_that_is_not_there_is_said_with_the_closest(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (("show", "nett", str(REQUESTS)), ("list", str(REQUESTS), "--model", "nett")):
        assert run(*arguments) == 2
        assert (
            f"no benchmark of nett in {REQUESTS} (did you mean net?); there are: net"
            in capsys.readouterr().err
        )


def test_show_prints_the_rows_of_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "openai-gpt") == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[-4:] == ["ms", "P50", "P90", "P95"]
    assert row.split()[-4:] == ["10.28", "9.767", "10.77", "13.06"]
    assert run("show", "net", str(REQUESTS), "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)["benchmarks"]
    assert [row["sample_count"] for row in rows] == [3, 1, 1]
    assert run("show", "net", str(REQUESTS), "--format", "csv") == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == 3


def test_check_says_what_it_understood_of_each_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.csv"
    summary.write_text(
        "model,instance_type,latency_p50_ms,latency_p99_ms,quality\na,c5.large,5,5,ok\nb,g5.xlarge,5,6,suspect\n"
    )
    assert run("check", str(REQUESTS), str(summary)) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{REQUESTS}: raw samples, 6 requests (1 failed) in 3 rows, one a run; net on 1 option",
        f"{summary}: summaries, 2 rows; a, b on 2 options",
        "  1 suspect, never ranked first",
        "  1 x P50 equals P99: rounded, or not a distribution",
    ]


def test_check_counts_the_requests_of_every_section(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sweep.jsonl"
    section = '{{"advisor_result": 1, "benchmark": {{"model": "net", "instance_type": "c5.large", "concurrency": {}}}}}\n'
    request, end = '{"latency_ms": 5, "run_id": "1"}\n', '{"end": {}}\n'
    path.write_text(section.format(1) + request * 2 + end + section.format(2) + request * 3 + end)
    assert run("check", str(path)) == 0
    assert ": raw samples, 5 requests (0 failed) in 2 rows" in capsys.readouterr().out


def test_check_looks_at_every_file_and_ends_with_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("model,instance_type,latency_ms\nnet,c5.lage,1\n")
    assert run("check", str(bad), str(REQUESTS)) == 2
    out = capsys.readouterr()
    assert out.err.startswith(f'advisor: {bad} line 2: instance_type "c5.lage" is not an instance type')
    assert f"{REQUESTS}: raw samples" in out.out


def test_check_finds_the_same_benchmark_in_two_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.csv").write_bytes(REQUESTS.read_bytes())
    assert run("check", str(tmp_path / "copy.csv"), str(REQUESTS)) == 2
    assert "are the same benchmark" in capsys.readouterr().err


def test_check_refuses_what_expands_too_far(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import gzip

    packed = tmp_path / "x.csv.gz"
    packed.write_bytes(gzip.compress(REQUESTS.read_bytes()))
    assert run("check", str(packed), "--max-expanded-size", "100B") == 2
    assert "expands to more than 100 bytes" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [(), ("--raw",)])
def test_check_accepts_the_template_as_it_is(
    flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "template.csv"
    assert run("template", *flags, "--output", str(path)) == 0
    assert run("check", str(path)) == 0
    assert run("template", *flags, "--output", str(path)) == 2
    assert "exists: name another --output" in capsys.readouterr().err
    path.write_text("old")
    assert run("template", *flags, "--output", str(path), "--force") == 0
    assert path.read_text().startswith("# advisor_result 1\n")


def test_the_template_goes_to_stdout_alone(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("template") == 0
    out = capfdbinary.readouterr()
    assert out.out.startswith(b"# advisor_result 1\n")
    assert out.err == b""
