"""The command line as a whole: help, wrong use, the commands table, `schema`."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click
import pytest

from advisor.cli import COMMANDS, cli, main
from advisor.cli.output import write
from advisor.errors import InputError
from advisor.reports.schema import NAMES, TABLES, columns
from advisor.workload import Workload

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Return what runs the command line in this process: (exit code, stdout, stderr)."""

    def ran(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        out, err = capsysbinary.readouterr()
        return int(stop.value.code or 0), out.decode(), err.decode()

    return ran


def test_help_names_every_command_with_its_line(run: Run) -> None:
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for name, (_, text) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(text.split()[0])}", out, re.MULTILINE), name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists_and_its_help_has_an_example(name: str) -> None:
    module, attribute = COMMANDS[name][0].split(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert "Examples:" in command.get_help(click.Context(command, info_name=name)) or isinstance(
        command, click.Group
    )


def test_help_loads_no_data_library() -> None:
    code = "import sys; from advisor.cli import cli; cli.main(['--help'], standalone_mode=False); print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert not {"numpy", "pandas", "pydantic", "rich"} & set(
        out.splitlines()[-1].replace("'", "").strip("[]").split(", ")
    )


def test_the_version_is_printed(run: Run) -> None:
    code, out, _ = run("--version")
    assert code == 0
    assert re.fullmatch(r"advisor \d+\.\d+\.\d+\n", out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["recomend"], '"recomend" (did you mean recommend?)'),
        (["recommend", "--regoin", "x"], "--region"),
        (["recommend", "--top", "0"], "--top"),
        (["recommend", "left", "over"], "left"),
        (["schema", "rankd"], "rankd"),
        (["schema", "answer", "--format", "table"], "has no table"),
        (["\x1b[31mred"], "[31mred"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(arguments: list[str], said: str, run: Run) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("advisor: ")
    assert said in err
    assert "\x1b" not in err


def test_no_command_shows_the_help_and_is_wrong_use(run: Run) -> None:
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: advisor")


def test_a_reader_that_stops_early_is_no_error() -> None:
    read, write_end = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", "advisor", "schema", "answer"], stdout=write_end, stderr=subprocess.PIPE
    ) as process:
        os.close(read)
        os.close(write_end)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")


def test_a_full_disk_on_stdout_is_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "advisor", "schema", "answer"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.decode() == "advisor: output: No space left on device\n"


def test_completion_knows_the_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.shell_completion import ShellComplete

    completed = ShellComplete(cli, {}, "advisor", "_ADVISOR_COMPLETE")
    assert "recommend" in {item.value for item in completed.get_completions([], "rec")}
    assert "--latency-limit-ms" in {item.value for item in completed.get_completions(["recommend"], "--lat")}
    assert "served-cost" in {
        item.value for item in completed.get_completions(["recommend", "--objective"], "s")
    }


# -------------------------------------------------------------------------------------------------- schema


def test_schema_lists_what_it_can_describe(run: Run) -> None:
    _, out, _ = run("schema")
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(NAMES)


@pytest.mark.parametrize("name", TABLES)
def test_schema_describes_every_column_of_a_table(name: str, run: Run) -> None:
    code, out, _ = run("schema", name)
    assert code == 0
    for column, described in TABLES[name].to_schema().columns.items():
        shown = "latency_pNN_ms" if described.regex else column
        line = next(line for line in out.splitlines() if line.split()[:1] == [shown])
        assert described.description in line
        assert described.metadata["unit"] in line


def test_schema_describes_every_field_of_the_question() -> None:
    rows = {row["name"]: row for row in columns("workload")}
    assert list(rows) == list(Workload.model_fields)
    assert rows["percentile"] == {
        "name": "percentile", "type": "number", "unit": "", "bounds": "> 0; < 100", "default": "90.0",
        "meaning": "latency percentile that is promised",
    }  # fmt: skip
    assert rows["region"]["type"] == "list of string"
    assert rows["latency_limit_ms"]["unit"] == "ms"
    assert rows["arch"]["bounds"] == "x86_64, arm64"


def test_schema_as_json_describes_one_or_all(run: Run) -> None:
    _, out, _ = run("schema", "prices", "--format", "json")
    assert json.loads(out)["properties"]["price_usd_per_hour"] == {
        "type": ["number", "null"], "exclusiveMinimum": 0, "description": "effective price [USD/h]",
    }  # fmt: skip
    _, out, _ = run("schema", "--format", "json")
    assert list(json.loads(out)) == list(NAMES)


# -------------------------------------------------------------------------------------------- output files


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "answer.txt"
    target.write_bytes(b"old")
    target.chmod(0o640)
    write(b"new", target)
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_has_the_mode_that_the_user_asks_of_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(b"new", tmp_path / "answer.txt")
    finally:
        os.umask(before)
    assert (tmp_path / "answer.txt").stat().st_mode & 0o777 == 0o640


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "answer.txt"
    target.write_bytes(b"old")

    def full(self: Path, to: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"cannot write .*answer.txt: No space left on device"):
        write(b"new", target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file or directory"):
        write(b"new", tmp_path / "missing" / "answer.txt")
