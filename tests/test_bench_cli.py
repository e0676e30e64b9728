"""`advisor bench`: flags, recipes, what is printed where, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from advisor.bench import demo, demonstration, recipes
from advisor.bench.resultfile import read
from advisor.bench.settings import Settings
from advisor.cli import cli
from advisor.cli.bench import _SECTIONS, run
from advisor.errors import AdvisorError, QuestionError

FAKE = ("bench", "run", "--backend", "fake", "--model", "lognormal:10:0.25")


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.chdir(tmp_path)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, standalone_mode=False)


def refused(*arguments: str) -> str:
    found = call(*arguments)
    assert isinstance(found.exception, AdvisorError)
    return str(found.exception)


def test_a_measurement_prints_its_answer_and_tells_the_rest_on_stderr() -> None:
    found = call(*FAKE, "--latency-limit-ms", "15", "--until", "decided", "--usd-per-hour", "3.6")
    assert found.return_value == 0
    assert found.stdout.startswith("fake fake batch 1, concurrency 1: P90 ")
    assert "pass at 15 ms" in found.stdout
    assert "200 requests, P50 " in found.stderr
    assert "spent" in found.stderr
    assert "kept in fake.jsonl; read it with: advisor recommend --benchmarks fake.jsonl" in found.stderr
    assert len(read(Path("fake.jsonl"))[0].latency_ms) == 200


def test_quiet_shows_no_progress() -> None:
    found = call(*FAKE, "--requests", "20", "--quiet")
    assert "requests, P50" not in found.stderr


def test_a_result_is_not_overwritten_but_continued_or_replaced_on_request() -> None:
    call(*FAKE, "--requests", "20")
    assert "fake.jsonl exists: continue it with --resume, or replace it with --force" in refused(*FAKE)
    assert "other settings (--requests)" in refused(*FAKE, "--resume")
    assert "give --resume or --force, not both" in refused(*FAKE, "--resume", "--force")
    assert call(*FAKE, "--requests", "30", "--force").return_value == 0
    assert len(read(Path("fake.jsonl"))[0].latency_ms) == 30


def test_every_setting_has_a_flag_under_one_heading_and_help() -> None:
    placed = [field for fields in _SECTIONS.values() for field in fields]
    assert sorted(placed) == sorted(Settings.model_fields)
    shown = call("bench", "run", "--help").stdout
    for title in (*_SECTIONS, "Result"):
        assert f"{title}:\n" in shown
    for parameter in run.params:
        assert parameter.opts[0] in shown
    assert "Examples:" in shown


def test_a_sweep_prints_one_line_a_configuration() -> None:
    found = call(
        "bench", "run", "--backend", "python", "--model", "tests.bench_models:echo", "--input", "ids:int64:BxS",
        "--batch-size", "1,2", "--sequence-length", "25,50", "--requests", "5", "--quiet",
    )  # fmt: skip
    assert [line.split(":")[0] for line in found.stdout.splitlines()] == [
        "echo python length 25 batch 1, concurrency 1",
        "echo python length 50 batch 1, concurrency 1",
        "echo python length 25 batch 2, concurrency 1",
        "echo python length 50 batch 2, concurrency 1",
    ]
    assert "speaks for" not in found.stdout
    assert found.stderr.count("   -  one run: it speaks for that run only") == 4


def test_what_is_missing_or_wrong_is_one_line() -> None:
    assert refused("bench", "run") == "give --model and --backend, or --recipe"
    assert "did you mean bert-base?" in refused("bench", "run", "--recipe", "bert-bas")
    assert refused(*FAKE, "--until", "decided") == "--until decided needs --latency-limit-ms"
    assert refused(*FAKE, "--seconds", "soon").startswith("--seconds: ")
    assert "is not a distribution" in refused("bench", "run", "--backend", "fake", "--model", "x")


def test_every_recipe_is_listed_and_makes_settings_that_say_random_weights() -> None:
    assert recipes.names() == ["bert-base", "mobilenet", "resnet-50", "small-gpt"]
    listed = call("bench", "recipes").stdout
    for name in recipes.names():
        settings = Settings.make(**recipes.read(name))
        assert name in listed
        assert "random weights" in settings.note


def test_a_flag_wins_over_the_recipe() -> None:
    Path("mine.toml").write_text('backend = "fake"\nmodel = "constant:10"\nrequests = 7\n')
    assert call("bench", "run", "--recipe", "mine.toml", "--requests", "9", "-o", "r.jsonl").return_value == 0
    assert len(read(Path("r.jsonl"))[0].latency_ms) == 9
    Path("mine.toml").write_text("backend = ")
    assert "mine.toml is not a recipe" in refused("bench", "run", "--recipe", "mine.toml")
    Path("mine.toml").write_text('backend = "fake"\nmodel = "constant:10"\nspeed = 7\n')
    with pytest.raises(QuestionError, match="--speed: Extra inputs are not permitted"):
        Settings.make(**recipes.read("mine.toml"))


def test_where_says_in_json_what_a_result_would_say() -> None:
    assert json.loads(call("bench", "where").stdout)["cpu"]["model"]


def test_the_demo_sets_this_machine_beside_the_committed_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demonstration, "infer", lambda _: time.sleep(0.02))
    found = call("bench", "demo", "--requests", "3", "-o", "demo.jsonl")
    assert found.return_value == 0
    assert "inf2.xlarge serves distilbert_base_uncased (length 16) within 15 ms" in found.stdout
    assert "local" in found.stdout
    assert "This machine has no price, so it cannot be ranked" in found.stderr
    (section,) = read(Path("demo.jsonl"))
    assert "numpy with random weights" in section.header["benchmark"]["note"]


def test_the_demo_ranks_this_machine_where_its_price_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demonstration, "infer", lambda _: None)
    seen: list[object] = []
    found = demo(seen.append, usd_per_hour=0.01, requests=50)
    assert found.priced
    assert found.advice.recommended is not None
    assert found.advice.recommended.instance_type == "local"
    assert found.advice.recommended.price_usd_per_hour == 0.01
    assert seen


def test_the_demos_network_has_the_arithmetic_of_the_model_it_stands_for() -> None:
    """DistilBERT has 66.4 million parameters, 42.5 million of them in its six layers (Sanh et al. 2019)."""
    import numpy as np

    from advisor.bench.demonstration import _draw_weights, infer

    _, *layers = _draw_weights()
    assert sum(matrix.size for layer in layers for matrix in layer) == 6 * 12 * 768 * 768
    out = infer(np.arange(32).reshape(2, 16))
    assert out.shape == (2, 16, 768)
    assert np.isfinite(out).all()
    assert not np.allclose(out[0], out[1])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_terminate_end_with_a_file_that_can_be_resumed(
    how: signal.Signals, tmp_path: Path
) -> None:
    root = Path(__file__).resolve().parents[1]
    arguments = [
        "bench",
        "run",
        "--backend",
        "python",
        "--model",
        "tests.bench_models:slow",
        "--requests",
        "100000",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "advisor", *arguments, "-o", "r.jsonl"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        path = tmp_path / "r.jsonl"
        deadline = time.monotonic() + 60
        while not (path.exists() and path.stat().st_size > 5000) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(how)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; go on with --resume; so far in r.jsonl" in told
    assert "Traceback" not in told
    (section,) = read(path)
    assert section.end is None
    assert len(section.latency_ms) > 10
