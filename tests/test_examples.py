"""The scripts of `examples/` run, and say what they are there to say."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SAYS = {
    "recommend.py": ["inf2.xlarge serves bert_base_uncased", "from about 18.7 ms: inf1.2xlarge", "c6i.2xlarge is out at the latency step"],
    "own_measurements.py": ["serves ranker within 45 ms at P90", "1. g5.xlarge at batch size 8", "3. c7i.xlarge at batch size 1"],
    "assess_samples.py": ["P90 ", "grade B", "independent ones"],
}  # fmt: skip


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_runs_and_says_what_it_is_there_for(name: str) -> None:
    found = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name], capture_output=True, text=True, check=False
    )
    assert found.stderr == ""
    assert found.returncode == 0
    for text in SAYS[name]:
        assert text in found.stdout
