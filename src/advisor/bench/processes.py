"""Copies of the model in processes of their own, each with its share of the requests in flight."""

import contextlib
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from time import perf_counter
from typing import Any, Final

from advisor.arrays import FloatArray
from advisor.bench.backends import BACKENDS, Loaded
from advisor.bench.inputs import requests_for
from advisor.bench.loops import INTERVAL_S, Collect, Timed, closed_loop, many_lanes, merge
from advisor.bench.settings import Point, Settings
from advisor.errors import AdvisorError, MeasurementError

_STOP: Final = "stop"


@dataclass(frozen=True)
class Child:
    """A process that holds one copy of the model.

    Attributes:
        loaded: what it loaded (without what cannot be sent between processes).
        cold_ms, load_s: its first request, and the time it took to load.
        pids: processes whose memory is the model's.
    """

    connection: "Connection[Any, Any]"
    loaded: Loaded
    cold_ms: float
    load_s: float
    pids: tuple[int, ...]


@contextlib.contextmanager
def children(settings: Settings, point: Point) -> Iterator[list[Child]]:
    """Start one process a copy and wait until each has answered its first request.

    Raises:
        MeasurementError: a process died, or its model could not be loaded.
    """
    context = get_context("spawn")
    pipes = [context.Pipe() for _ in range(settings.copies)]
    running = [
        context.Process(target=_serve, args=(there, settings, point), daemon=True) for _, there in pipes
    ]
    try:
        for process in running:
            process.start()
        for _, there in pipes:
            there.close()
        yield [_ready(here) for here, _ in pipes]
    finally:
        for here, _ in pipes:
            here.close()
        for process in running:
            process.join(5.0)
            if process.is_alive():
                process.kill()
                process.join()


def _ready(connection: "Connection[Any, Any]") -> Child:
    answer = _received(connection)
    if isinstance(answer, AdvisorError):
        raise answer
    loaded, cold_ms, load_s, pid = answer
    pids = loaded.pids if loaded.host == "pids" else (pid,) if loaded.host == "process" else ()
    return Child(connection, loaded, cold_ms, load_s, pids)


def _received(connection: "Connection[Any, Any]") -> Any:
    try:
        return connection.recv()
    except EOFError:
        raise MeasurementError(
            "a process that held a copy of the model died: see its message above"
        ) from None


def drive(
    copies: Sequence[Child],
    *,
    lanes: int,
    allowed: int,
    collect: Collect,
    schedule_s: FloatArray | None = None,
) -> None:
    """Let the processes send their shares, and collect what they timed until `collect` allows no more.

    Args:
        copies: the processes.
        lanes: requests in flight in each.
        allowed: requests in all.
        collect: as for the loops.
        schedule_s: arrival times; process k of n takes every n-th from k on.
    """
    total = len(copies)
    for index, copy in enumerate(copies):
        share = len(range(index, allowed, total))
        copy.connection.send((lanes, share, None if schedule_s is None else schedule_s[index:allowed:total]))
    working = {copy.connection for copy in copies}
    stopping = False
    while working:
        parts = []
        for connection in wait(list(working), INTERVAL_S):
            assert isinstance(connection, Connection)  # noqa: S101 - only connections were given
            part = _received(connection)
            if part is None:
                working.discard(connection)
            else:
                parts.append(part)
        if collect(merge(parts) if parts else Timed()) == 0 and not stopping:
            stopping = True
            for connection in working:
                connection.send(_STOP)


def _serve(connection: "Connection[Any, Any]", settings: Settings, point: Point) -> None:
    """Run in the child: load, answer once, then send what was timed until told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _serve_copy(connection, settings, point)
    except AdvisorError as error:
        connection.send(error)
    except (EOFError, ConnectionError):  # the parent is gone
        return


def _serve_copy(connection: "Connection[Any, Any]", settings: Settings, point: Point) -> None:
    import os
    from dataclasses import replace

    requests = requests_for(settings, point)
    began = perf_counter()
    with BACKENDS[settings.backend](settings, point, requests) as loaded:
        load_s = perf_counter() - began
        cold_ms = first_request(loaded)
        plain = replace(loaded, infer=_nothing, bodies=(), peak_device_mib=_unknown)
        connection.send((plain, cold_ms, load_s, os.getpid()))
        lanes, share, schedule = connection.recv()
        allowed: int = share

        def collect(timed: Timed) -> int:
            nonlocal allowed
            if len(timed):
                connection.send(timed)
            if connection.poll() and connection.recv() == _STOP:
                allowed = 0
            return allowed

        if share and lanes == 1 and schedule is None:
            closed_loop(loaded.infer, loaded.bodies, share, collect)
        elif share:
            many_lanes([loaded.infer] * lanes, loaded.bodies, share, collect, schedule)
        connection.send(None)


def first_request(loaded: Loaded) -> float:
    """Send the first request and return its latency in milliseconds.

    Raises:
        MeasurementError: it failed.
    """
    from advisor.bench.loops import reason

    began = perf_counter()
    try:
        loaded.infer(loaded.bodies[0])
    except AdvisorError:
        raise
    except Exception as error:
        raise MeasurementError(f"the first request failed: {reason(error)}") from error
    return (perf_counter() - began) * 1000.0


def _nothing(_: Any) -> None:
    """Stand for what infers in a child, which cannot be sent to the parent."""


def _unknown() -> None:
    """Stand for a device memory that only the child can read."""
