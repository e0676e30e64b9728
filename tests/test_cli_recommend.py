"""`advisor recommend`: flags, the question from a file, formats, exit codes; over the packaged data."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from advisor import formats, prices
from advisor.advise import advise
from advisor.cli import main, options
from advisor.cli.recommend import recommend
from advisor.tables import Benchmarks, Catalogue
from advisor.workload import EXAMPLE, Workload

Run = Callable[..., tuple[int, str, str]]
TODAY = "2026-11-29"


@cache
def packaged() -> tuple[Catalogue, Benchmarks]:
    """The packaged data, read once for this module."""
    return prices.packaged(), formats.packaged()


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs `advisor recommend` in this process: (exit code, stdout, stderr)."""
    load, (catalogue, benchmarks) = options.catalogue, packaged()
    monkeypatch.setattr(
        options, "catalogue", lambda path, rate=(): load(path, rate) if path or rate else catalogue
    )
    monkeypatch.setattr(formats, "packaged", lambda: benchmarks)

    def ran(*arguments: str, today: str = TODAY) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["recommend", "--today", today, *arguments])
        out, err = capsysbinary.readouterr()
        return int(stop.value.code or 0), out.decode("utf-8", "surrogateescape"), err.decode()

    return ran


def answer(run: Run, *arguments: str) -> Any:
    _, out, err = run("--format", "json", *arguments)
    assert err == ""
    return json.loads(out)


# ------------------------------------------------------------------------------------------- the question


def test_every_field_of_the_question_has_a_flag_with_its_description() -> None:
    flags: dict[str, Any] = {str(parameter.name): parameter for parameter in recommend.params}
    for field, info in Workload.model_fields.items():
        described = str(info.description)
        assert flags[field].help.startswith(described[0].upper() + described[1:])
    assert flags["latency_limit_ms"].opts == ["--latency-limit-ms"]
    assert flags["model_size_bytes"].opts == ["--model-size"]
    assert flags["input_size_bytes"].opts == ["--input-size"]
    assert flags["between_run_sd_fraction"].opts == ["--between-run-sd"]
    assert flags["region"].multiple


def test_without_arguments_the_example_is_asked_and_that_is_said(run: Run) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.startswith(
        "inf2.xlarge serves bert_base_uncased (length 512) within 15 ms at P90 for $0.226 per 100,000"
    )
    flat = " ".join(out.split())
    assert "--model bert_base_uncased, --sequence-length 512, --latency-limit-ms 15" in flat


def test_what_is_said_replaces_that_part_of_the_example(run: Run) -> None:
    found = answer(run, "--latency-limit-ms", "20")
    assert found["question"]["model"] == "bert_base_uncased"
    assert found["recommended"]["instance_type"] == "inf1.2xlarge"
    assert [note["text"] for note in found["notes"] if note["code"] == "example_question"] == [
        "no model was named, so the example is asked: --model bert_base_uncased, --sequence-length 512"
    ]


def test_a_named_model_is_asked_without_the_limit_of_the_example(run: Run) -> None:
    found = answer(run, "--model", "bert_base_uncased", "--sequence-length", "512")
    assert found["question"]["latency_limit_ms"] is None
    assert {row["measured"] for row in found["ranked"]} == {"skipped"}
    assert not any(note["code"] == "example_question" for note in found["notes"])


def test_the_command_gives_what_the_library_gives(run: Run) -> None:
    from advisor.reports.data import answer as as_json

    asked = Workload.ask(**EXAMPLE, region="all", percentile=95, today=TODAY)
    library = json.loads(json.dumps(as_json(advise(*packaged(), asked))))
    command = answer(
        run, "--model", "bert_base_uncased", "--sequence-length", "512", "--latency-limit-ms", "15", "--region", "all",
        "--percentile", "95",
    )  # fmt: skip
    assert command == library


def test_exit_code_is_1_where_nothing_qualifies(run: Run) -> None:
    code, out, _ = run("--latency-limit-ms", "9")
    assert code == 1
    assert out.startswith("No option serves")


def test_decide_proven_refuses_what_is_only_measured(run: Run) -> None:
    measured = answer(run, "--latency-limit-ms", "10.5")
    assert measured["recommended"]["instance_type"] == "g5.2xlarge"
    code, out, _ = run("--latency-limit-ms", "10.5", "--decide", "proven", "--format", "json")
    assert (code, json.loads(out)["recommended"]) == (1, None)


def test_repeated_flags_are_a_list_and_no_flags_undo_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "question.toml"
    file.write_text('exclude = ["inf2"]\ninclude_retired = true\n')
    asked = answer(run, "--workload", str(file))["question"]
    assert (asked["exclude"], asked["include_retired"]) == (["inf2"], True)
    asked = answer(
        run, "--workload", str(file), "--exclude", "g5", "--exclude", "c6i", "--no-include-retired"
    )["question"]
    assert (asked["exclude"], asked["include_retired"]) == (["g5", "c6i"], False)


def test_a_file_asks_the_same_as_its_flags(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "question.toml"
    file.write_text(
        'model = "bert_base_uncased"\nsequence_length = 128\nlatency_limit_ms = 5\nmodel_size = "440MB"\n'
        'region = ["us-east-1", "us-west-2"]\nbatch_size = 1\ntoday = 2026-11-29\n'
    )
    flags = [
        "--model",
        "bert_base_uncased",
        "--sequence-length",
        "128",
        "--latency-limit-ms",
        "5",
        "--model-size",
        "440MB",
    ]
    flags += ["--region", "us-east-1", "--region", "us-west-2", "--batch-size", "1"]
    assert answer(run, "--workload", str(file)) == answer(run, *flags)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("latency_limit = 5", 'unknown key "latency_limit" (did you mean latency_limit_ms?)'),
        ("model_size = 1\nmodel_size_bytes = 2", '"model_size_bytes" says again'),
        ("percentile = ", "not a TOML file"),
        ("percentile = 100", "percentile: Input should be less than 100"),
    ],
)
def test_a_bad_question_file_is_one_line(content: str, said: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "question.toml"
    file.write_text(content)
    code, out, err = run("--workload", str(file))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--latency-limit-ms", "-3"], "latency_limit_ms"),
        (["--latency-limit-ms", "15ms"], "latency_limit_ms"),
        (["--model-size", "440"], "440MB"),
        (["--model", "bert_base_uncase"], "did you mean bert_base_uncased?"),
        (["--region", "us-west-9"], "us-west-2"),
        (["--today", "tomorrow"], "today"),
        (["--rate", "CNY"], "CNY=0.14"),
        (["--rate", "CNY=-1"], "CNY=0.14"),
        (["--benchmarks", "/nowhere", "--max-expanded-size", "4"], "--max-expanded-size"),
        (["--benchmarks", "/nowhere"], "/nowhere"),
        (["--prices", "/nowhere"], "/nowhere"),
        (["--workload", "/nowhere.toml"], "/nowhere.toml"),
        (["--output", "/nowhere/answer.json"], "/nowhere/answer.json"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(flags: list[str], said: str, run: Run) -> None:
    code, out, err = run(*flags)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


# ------------------------------------------------------------------------------------------- own files

RESULTS = "model,instance_type,latency_mean_ms,latency_p90_ms\nmine,g5.2xlarge,9,10\nmine,c6i.2xlarge,20,25\n"


def test_own_results_replace_the_packaged_ones_and_no_limit_skips_the_step(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(RESULTS)
    found = answer(run, "--benchmarks", str(tmp_path / "mine.csv"))
    assert found["question"]["model"] == "mine"
    assert found["question"]["latency_limit_ms"] is None
    assert any("mine.csv" in origin for origin in found["origin"])
    assert found["recommended"]["instance_type"] == "c6i.2xlarge"  # 0.34 x 20 < 1.212 x 9


def test_own_results_may_come_from_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.csv").write_text(RESULTS)
    (tmp_path / "more.csv").write_text(RESULTS.replace("mine", "other"))
    monkeypatch.setenv(
        "ADVISOR_BENCHMARKS", os.pathsep.join(str(tmp_path / name) for name in ("mine.csv", "more.csv"))
    )
    found = answer(run, "--model", "other", "--latency-limit-ms", "15")
    assert found["recommended"]["instance_type"] == "g5.2xlarge"


def test_published_results_are_added_when_asked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(RESULTS)
    flags = [
        "--benchmarks",
        str(tmp_path / "mine.csv"),
        "--model",
        "bert_base_uncased",
        "--sequence-length",
        "512",
    ]
    code, _, err = run(*flags)
    assert (code, "mine" in err) == (2, True)
    assert (
        answer(run, *flags, "--with-published", "--latency-limit-ms", "15")["recommended"]["instance_type"]
        == "inf2.xlarge"
    )


def test_own_prices_win_and_a_rate_makes_another_currency_comparable(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "prices.csv"
    own.write_text(
        "instance_type,region,purchase_option,price_usd_per_hour,as_of,source\n"
        "g5.2xlarge,us-west-2,on_demand,0.1,2026-11-01,contract\n"
    )
    found = answer(run, "--prices", str(own))
    assert found["recommended"]["instance_type"] == "g5.2xlarge"
    assert found["recommended"]["price_usd_per_hour"] == 0.1


def test_a_rate_makes_another_currency_comparable(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "prices.csv"
    own.write_text(
        "instance_type,region,purchase_option,price_usd_per_hour,currency,as_of,source\n"
        "g5.2xlarge,cn-north-1,on_demand,9.5,CNY,2026-11-01,contract\n"
    )
    flags = ["--region", "cn-north-1", "--prices", str(own)]
    assert answer(run, *flags)["recommended"] is None
    found = answer(run, *flags, "--rate", "CNY=0.14")
    assert found["recommended"]["price_usd_per_hour"] == pytest.approx(1.33)  # 9.5 x 0.14


# ------------------------------------------------------------------------------------------- where it goes


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".json", b"{"), (".csv", b"status,"), (".md", b"**"), (".xlsx", b"PK"), (".txt", b"inf2")],
)
def test_the_suffix_of_the_output_file_chooses_the_format(
    suffix: str, start: bytes, run: Run, tmp_path: Path
) -> None:
    target = tmp_path / f"answer{suffix}"
    code, out, _ = run("--output", str(target))
    assert (code, out) == (0, "")
    assert target.read_bytes().startswith(start)


def test_a_named_format_wins_over_the_suffix(run: Run, tmp_path: Path) -> None:
    run("--output", str(tmp_path / "answer.txt"), "--format", "json")
    json.loads((tmp_path / "answer.txt").read_bytes())


def test_the_spreadsheet_can_be_piped(run: Run) -> None:
    _, out, _ = run("--format", "xlsx")
    assert (
        openpyxl.load_workbook(io.BytesIO(out.encode("utf-8", "surrogateescape"))).sheetnames[0] == "Inputs"
    )


def test_the_same_question_gives_the_same_bytes(run: Run) -> None:
    for form in ("terminal", "json", "csv", "markdown"):
        assert run("--format", form) == run("--format", form)


def on_a_terminal(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run the command with a terminal of 80 columns as its stdout."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "advisor", "recommend", *arguments],
        stdout=follower, stderr=follower, stdin=follower, env=os.environ | {"COLUMNS": "80", "TERM": "xterm"} | environment,
    ) as process:  # fmt: skip
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # Linux reports the end of a pseudo-terminal so.
                break
            if not part:
                break
            shown += part
        process.wait(timeout=60)
    os.close(leader)
    return process.returncode, shown.decode()


def test_a_terminal_gets_colours_and_its_own_width_and_no_color_is_respected() -> None:
    code, coloured = on_a_terminal("--today", TODAY)
    assert code == 0
    assert "\x1b[1;32minf2.xlarge serves" in coloured
    code, plain = on_a_terminal("--today", TODAY, NO_COLOR="1")
    assert "\x1b" not in plain
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 80


def test_a_spreadsheet_is_not_poured_into_a_terminal() -> None:
    code, shown = on_a_terminal("--format", "xlsx")
    assert (code, shown.strip()) == (2, "advisor: xlsx is not for a terminal: name a file with --output")
