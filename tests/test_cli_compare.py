"""`advisor compare` from files and options to its four forms."""

import json
from pathlib import Path

import numpy as np
import pytest

from advisor.cli import main
from tests.comparisons import golden_comparisons

GOLDEN = Path(__file__).parent / "golden" / "comparisons"

BERT = ["--model", "bert_base_uncased", "--sequence-length", "512"]


def run(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["compare", *arguments])
    out, err = capsysbinary.readouterr()
    return int(end.value.code or 0), out.decode(), err.decode()


def raw_csv(path: Path, mean_ms: float, seed: int, header: str = "", row: str = "") -> str:
    latencies = mean_ms * np.exp(0.2 * np.random.default_rng(seed).standard_normal(400))
    lines = [f"model,instance_type,latency_ms{header}"]
    lines += [f"net,c5.large,{latency:.6f}{row}" for latency in latencies]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_options_are_looked_up_in_the_packaged_benchmarks(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, out, _ = run(capsysbinary, "--baseline", "g5.2xlarge", "--candidate", "inf2.xlarge", *BERT)
    assert code == 0
    # published means 9.90821 and 10.72539 ms; $1.212 and $0.7582 an hour
    assert "mean latency 8.2 % higher (no interval) and cost per inference 32.3 % lower" in " ".join(
        out.split()
    )
    assert "only a summary is known" in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_files_are_read_and_several_candidates_are_set_against_one_baseline(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    old = raw_csv(tmp_path / "old.csv", 50, 1)
    same, faster = raw_csv(tmp_path / "same.csv", 50, 2), raw_csv(tmp_path / "faster.csv", 40, 3)
    code, out, _ = run(
        capsysbinary, "--baseline", old, "--candidate", same, "--candidate", faster, "--format", "json"
    )
    assert code == 0
    found = json.loads(out)
    assert found["schema_version"] == 1
    assert [one["candidate"] for one in found["comparisons"]] == [
        "same.csv (c5.large)",
        "faster.csv (c5.large)",
    ]
    means = [one["changes"][0] for one in found["comparisons"]]
    assert [one["figure"] for one in means] == ["latency_mean_ms"] * 2
    assert [one["meaning"] for one in means] == ["no significant difference", "lower"]
    assert means[1]["change_low_fraction"] < -0.2 < means[1]["change_high_fraction"]
    prices = [
        change for one in found["comparisons"] for change in one["changes"] if "price" in change["figure"]
    ]
    assert {price["baseline"] for price in prices} == {0.085}  # c5.large in us-west-2, on demand


def test_the_terminal_report_says_what_is_significant(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    old, new = raw_csv(tmp_path / "old.csv", 50, 1), raw_csv(tmp_path / "new.csv", 40, 3)
    _, out, _ = run(capsysbinary, "--baseline", old, "--candidate", new)
    row = next(line for line in out.splitlines() if line.startswith("latency mean"))
    assert row.endswith("lower")
    assert " to " in row
    assert "an interval holds the true change with 95 % confidence" in out
    _, same, _ = run(capsysbinary, "--baseline", old, "--candidate", raw_csv(tmp_path / "same.csv", 50, 2))
    assert "mean latency without a significant difference" in same


def test_csv_and_markdown_hold_every_figure(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    output = tmp_path / "found.csv"
    code, out, _ = run(
        capsysbinary, "--baseline", "g5.2xlarge", "--candidate", "inf2.xlarge", *BERT, "--output", str(output)
    )
    assert (code, out) == (0, "")
    lines = output.read_text(encoding="utf-8").splitlines()
    assert lines[0] == (
        "baseline_option,candidate_option,figure,baseline,candidate,change_fraction,change_low_fraction,"
        "change_high_fraction,meaning"
    )
    assert len(lines) == 1 + 8  # mean, P50, P90, P95 (both report it), P99, throughput, price, cost
    _, text, _ = run(
        capsysbinary, "--baseline", "g5.2xlarge", "--candidate", "inf2.xlarge", *BERT, "--format", "markdown"
    )
    assert "| latency P95, ms | 10.1 | 10.8 | +6.2 % |" in text


def test_a_different_load_is_refused_with_exit_code_2(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    old = raw_csv(tmp_path / "old.csv", 50, 1)
    batched = raw_csv(tmp_path / "batched.csv", 80, 2, ",batch_size", ",8")
    code, out, err = run(capsysbinary, "--baseline", old, "--candidate", batched)
    assert (code, out) == (2, "")
    assert "batch size 1 against 8" in err
    assert len(err.splitlines()) == 1
    code, out, _ = run(capsysbinary, "--baseline", old, "--candidate", batched, "--anyway")
    assert code == 0
    assert "not measured alike: batch size 1 against 8" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--baseline", "nowhere.csv", "--candidate", "inf2.xlarge"), "no such file"),
        (("--baseline", "inf2.xlarg", "--candidate", "inf2.xlarge", *BERT), "did you mean inf2.xlarge"),
        (("--baseline", "inf2.xlarge", "--candidate", "g5.2xlarge"), "--model"),
        (("--candidate", "g5.2xlarge"), "--baseline"),
        (
            ("--baseline", "inf2.xlarge", "--candidate", "g5.2xlarge", *BERT, "--confidence", "2"),
            "confidence",
        ),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], words: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, out, err = run(capsysbinary, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_names_from_files_cannot_become_markup_or_formulas(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    wild = raw_csv(tmp_path / "=1+|<b>.csv", 50, 1)
    _, text, _ = run(capsysbinary, "--baseline", wild, "--candidate", wild, "--format", "markdown")
    assert "<b>" not in text
    assert "\\|" in text
    _, table, _ = run(capsysbinary, "--baseline", wild, "--candidate", wild, "--format", "csv")
    assert table.splitlines()[1].startswith("'=1+")


@pytest.mark.parametrize("name", sorted(golden_comparisons()))
def test_a_comparison_is_shown_as_its_golden_file_says(name: str) -> None:
    """After a change that is meant: `python scripts/build_golden.py`, and read the difference."""
    shown = golden_comparisons()[name]
    assert shown == (GOLDEN / name).read_bytes()
    if name.endswith(".txt"):
        assert max(len(line) for line in shown.decode().splitlines()) <= 100
