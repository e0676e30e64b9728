"""How long a command takes to start, as a ratio to what it cannot do without, measured in turns in one run.

Processor time is compared: of programs that do one thing after the other it is what a quiet machine's clock would say,
and other work on this machine does not change it.
"""

import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence

import pytest

pytestmark = pytest.mark.performance

# pandera takes hypothesis along where it is installed; users do not have it, so neither side of a ratio may.
_WITHOUT_TOOLS = "import sys; sys.modules['hypothesis'] = None\n"
_COMMAND = _WITHOUT_TOOLS + "from advisor.cli import main; main({arguments!r})"


def seconds(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr.decode()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(ours: str, base: str, rounds: int) -> float:
    """Return the ratio of the medians of two programs that run in turns."""
    times = [
        (seconds([sys.executable, "-c", ours]), seconds([sys.executable, "-c", base])) for _ in range(rounds)
    ]
    mine, theirs = statistics.median(a for a, _ in times), statistics.median(b for _, b in times)
    print(f"\n{mine:.3f} s against {theirs:.3f} s: {mine / theirs:.2f} x")
    return mine / theirs


def test_help_starts_within_six_times_an_empty_program() -> None:
    assert ratio(_COMMAND.format(arguments=["--help"]), "pass", rounds=15) <= 6


def test_the_default_question_is_answered_within_twice_the_imports_of_pandas_and_pandera() -> None:
    base = _WITHOUT_TOOLS + "import pandas, pandera.pandas"
    assert ratio(_COMMAND.format(arguments=["recommend"]), base, rounds=7) <= 2.0
