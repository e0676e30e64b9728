"""How long a command takes to start, as a ratio to what it cannot do without, measured in turns in one run.

Processor time is compared: of programs that do one thing after the other it is what a quiet machine's clock would say,
and other work on this machine does not change it.
"""

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping

import pytest

pytestmark = pytest.mark.performance

# pandera takes hypothesis along where it is installed; users do not have it, so neither side of a ratio may.
_WITHOUT_TOOLS = "import sys; sys.modules['hypothesis'] = None\n"
_COMMAND = _WITHOUT_TOOLS + "from advisor.cli import main; main({arguments!r})"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which compiled modules are kept, as installers leave them, away from this checkout."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("compiled"))}


def seconds(program: str, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr.decode()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(ours: str, base: str, rounds: int, environment: Mapping[str, str]) -> float:
    """Return the ratio of the medians of two programs that run in turns, after one turn that is not counted."""
    turns = [(seconds(ours, environment), seconds(base, environment)) for _ in range(rounds + 1)][1:]
    mine, theirs = statistics.median(a for a, _ in turns), statistics.median(b for _, b in turns)
    print(f"\n{mine:.3f} s against {theirs:.3f} s: {mine / theirs:.2f} x")
    return mine / theirs


def test_help_starts_within_six_times_an_empty_program(environment: dict[str, str]) -> None:
    assert ratio(_COMMAND.format(arguments=["--help"]), "pass", 15, environment) <= 6


def test_the_default_question_is_answered_within_twice_the_imports_of_pandas_and_pandera(
    environment: dict[str, str],
) -> None:
    base = _WITHOUT_TOOLS + "import pandas, pandera.pandas"
    assert ratio(_COMMAND.format(arguments=["recommend"]), base, 7, environment) <= 2.0
