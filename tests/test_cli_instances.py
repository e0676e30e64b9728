"""`advisor instances`: which types it lists, what it shows of them, and how it ends."""

import csv
import io
import json

import pytest

from advisor.cli import main


@pytest.fixture(autouse=True)
def no_own_files(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.delenv("ADVISOR_PRICES", raising=False)
    monkeypatch.setenv("ADVISOR_DATA_HOME", str(tmp_path_factory.mktemp("data")))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["instances", *arguments])
    out, err = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, out, err


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    code, out, _ = run(capsys, *arguments, "--format", "csv")
    assert code == 0
    return [row["instance_type"] for row in csv.DictReader(io.StringIO(out))]


def test_a_family_is_listed_by_size_with_its_hardware(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--family", "inf2", "--family", "g6f")
    assert code == 0
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "type kind vCPU GiB CPU accelerator GiB each sold",
        "g6f.large gpu 2 8 x86_64 0.125 x L4 2.79 yes",
        "g6f.xlarge gpu 4 16 x86_64 0.125 x L4 2.79 yes",
        "g6f.2xlarge gpu 8 32 x86_64 0.25 x L4 5.59 yes",
        "g6f.4xlarge gpu 16 64 x86_64 0.5 x L4 11.18 yes",
        "inf2.xlarge inferentia 4 16 x86_64 1 x Inferentia2 32 yes",
        "inf2.8xlarge inferentia 32 128 x86_64 1 x Inferentia2 32 yes",
        "inf2.24xlarge inferentia 96 384 x86_64 6 x Inferentia2 32 yes",
        "inf2.48xlarge inferentia 192 768 x86_64 12 x Inferentia2 32 yes",
    ]
    assert err == "8 types; packaged prices\n"


def test_the_whole_list_fits_100_columns(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--include-retired")
    assert code == 0
    assert len(out.splitlines()) > 1400
    assert max(map(len, out.splitlines())) <= 100


def test_retired_types_are_listed_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "--family", "p3dn", "--family", "p3") == ["p3dn.24xlarge"]
    assert listed(capsys, "--family", "p3", "--include-retired") == [
        "p3.2xlarge",
        "p3.8xlarge",
        "p3.16xlarge",
    ]
    code, out, err = run(capsys, "--family", "p3")
    assert (code, out, err) == (1, "", "0 types; packaged prices\n")


def test_each_kind_is_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "--kind", "attached", "--include-retired") == [
        "eia1.large",
        "eia1.medium",
        "eia1.xlarge",
        "eia2.large",
        "eia2.medium",
        "eia2.xlarge",
    ]
    trainium = listed(capsys, "--kind", "trainium")
    assert trainium == ["trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge", "trn2.3xlarge", "trn2.48xlarge"]
    graviton = set(listed(capsys, "--kind", "graviton"))
    assert {"m7g.2xlarge", "a1.2xlarge"} <= graviton
    assert not {"g5g.xlarge", "m5.large"} & graviton  # a GPU on an Arm host; an x86 CPU


def test_architecture_and_memory_narrow_the_list_and_equal_memory_fits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert listed(
        capsys, "--family", "g5g", "--family", "g5", "--arch", "arm64", "--min-memory", "64GiB"
    ) == [
        "g5g.8xlarge",
        "g5g.16xlarge",
        "g5g.metal",
    ]
    # g5g.8xlarge has 64 GiB = 68.7 GB
    assert "g5g.8xlarge" not in listed(capsys, "--family", "g5g", "--min-memory", "69GB")


def test_types_without_hardware_facts_pass_no_memory_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert "c6gn.metal" in listed(capsys, "--family", "c6gn", "--include-retired")
    assert "c6gn.metal" not in listed(capsys, "--family", "c6gn", "--include-retired", "--min-memory", "1B")


def test_the_json_has_every_column_and_null_for_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--family", "cg1", "--include-retired", "--format", "json")
    (row,) = json.loads(out)["instances"]
    assert row["instance_type"] == "cg1.4xlarge"
    assert row["memory_mib"] is None
    assert row["vcpu_count"] is None
    assert row["availability"] == "closed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--family", "inf3"], "there is no family 'inf3' in the prices in use (did you mean inf2?)"),
        (["--min-memory", "32"], '--min-memory: "32" is not a size: write a number with B, kB, MB, GB, KiB, MiB or GiB, like 440MB'),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_exits_2_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(capsys, *arguments) == (2, "", f"advisor: {said}\n")


def test_the_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "  advisor instances --family g5 --min-memory 32GiB" in out
