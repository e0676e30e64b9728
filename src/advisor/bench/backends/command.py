"""A process, started without a shell, that answers one line for each line it is sent."""

import json
import queue
import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from advisor.bench.backends.loaded import Loaded
from advisor.bench.inputs import Requests
from advisor.bench.settings import Point, Settings
from advisor.errors import MeasurementError, QuestionError


@contextmanager
def command(settings: Settings, point: Point, requests: Requests) -> Iterator[Loaded]:  # noqa: ARG001
    """Start the process; a request is one line of JSON, its answer is the next line.

    One process answers one request at a time: with more requests in flight than copies, requests wait in line, and
    their wait counts.

    Raises:
        QuestionError: no program.
        MeasurementError: the program cannot be started.
    """
    arguments = _split(settings.model)
    program = Path(arguments[0]).name
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            bufsize=1,
            start_new_session=True,  # Ctrl-C is for the measurement, which ends the process itself
        )
    except OSError as error:
        raise MeasurementError(f"{program} cannot be started: {error.strerror}") from None
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    turn = threading.Lock()

    def infer(line: str) -> str:
        with turn:
            if process.poll() is not None:
                raise ChildProcessError(f"{program} ended with code {process.returncode}")
            assert process.stdin is not None  # noqa: S101 - it was opened as a pipe
            process.stdin.write(line)
            process.stdin.flush()
            try:
                answer = lines.get(timeout=settings.timeout_s)
            except queue.Empty:
                process.kill()
                raise TimeoutError from None
            if answer is None:
                raise ChildProcessError(f"{program} ended with code {process.wait()}")
            return answer

    try:
        yield Loaded(
            infer=infer,
            bodies=tuple(line_of(body) for body in requests.bodies),
            backend="command",
            software=program,
            host="pids",
            pids=(process.pid,),
        )
    finally:
        process.kill()
        process.wait()
        reader.join()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                _close(pipe)


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except OSError:  # what was not yet sent to a process that is gone
        return


def _split(text: str) -> list[str]:
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise QuestionError(f"--model is not a command line: {error}") from None
    if not arguments:
        raise QuestionError("--model is an empty command line")
    return arguments


def _read(process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str | None]") -> None:
    assert process.stdout is not None  # noqa: S101 - it was opened as a pipe
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def line_of(body: Any) -> str:
    """Return a request as one line of JSON: arrays become nested lists."""
    if isinstance(body, dict):
        body = {
            key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in body.items()
        }
    return json.dumps(body, ensure_ascii=False) + "\n"
