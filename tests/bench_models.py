"""Models that the tests of the live benchmark measure."""

import os
import time
from pathlib import Path
from typing import Any

calls = 0


def echo(*arguments: Any) -> Any:
    """Answer at once."""
    return arguments


def slow(*_: Any) -> None:
    """Answer after a millisecond."""
    time.sleep(0.001)


def fails_every_tenth(*_: Any) -> None:
    """Fail every tenth time."""
    global calls  # noqa: PLW0603 - what a test counts
    calls += 1
    if calls % 10 == 0:
        raise RuntimeError("tenth")


def never_works(*_: Any) -> None:
    """Answer the first request only."""
    global calls  # noqa: PLW0603 - what a test counts
    calls += 1
    if calls > 1:
        raise RuntimeError("broken")


def interrupted(*_: Any) -> None:
    """Stop the measurement, as Ctrl-C does, once the file named in the environment exists."""
    global calls  # noqa: PLW0603 - what a test counts
    calls += 1
    flag = Path(os.environ["BENCH_TEST_FLAG"])
    if calls > 50 and flag.exists():
        flag.unlink()
        raise KeyboardInterrupt


def cold(*_: Any) -> None:
    """Take 100 ms the first time."""
    global calls  # noqa: PLW0603 - what a test counts
    calls += 1
    if calls == 1:
        time.sleep(0.1)
