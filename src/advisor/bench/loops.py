"""The loops that send requests and time them. Nothing here knows a model, a file or a rule.

A *closed loop* sends the next request when an answer is back, so it cannot see how long a request that was never
sent would have waited. An *open loop* sends on a schedule and counts latency from the scheduled time, as a user
would (the omission is described by G. Tene, "How NOT to measure latency", 2013).
"""

import heapq
import itertools
import sys
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import Any, Final

import numpy as np

from advisor.arrays import FloatArray
from advisor.text import clean

INTERVAL_S: Final = 0.1
"""Time between two collections: what a kill can lose."""

_LONGEST_REASON: Final = 200
_SWITCH_INTERVAL_S: Final = 0.0005
"""How long a thread may keep the interpreter from another one; Python's own 5 ms would delay arrivals."""

_HEAD_START_S: Final = 0.05
_LONGEST_SLEEP_S: Final = 1.0
_PATIENCE_S: Final = 5.0
"""How long the end of a measurement waits for requests that are still in flight."""


@dataclass
class Timed:
    """Requests that were timed: three columns that hold no object the garbage collector would follow.

    Attributes:
        due_s: scheduled time (open loop) or the start again (closed loop).
        start_s, end_s: when the request was sent and answered, on the clock of the loop.
        errors: position -> what failed.
    """

    due_s: "array[float]" = field(default_factory=lambda: array("d"))
    start_s: "array[float]" = field(default_factory=lambda: array("d"))
    end_s: "array[float]" = field(default_factory=lambda: array("d"))
    errors: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.end_s)

    def take(self) -> "Timed":
        """Return what is there and start again empty."""
        count = len(self.end_s)
        taken = Timed(self.due_s[:count], self.start_s[:count], self.end_s[:count], self.errors)
        for column in (self.due_s, self.start_s, self.end_s):
            del column[:count]
        self.errors = {}
        return taken

    def latency_ms(self) -> FloatArray:
        """Latencies in milliseconds, failures included, shape (n,)."""
        latency: FloatArray = (np.array(self.end_s) - np.array(self.due_s[: len(self)])) * 1000.0
        return latency


Infer = Callable[[Any], object]
Collect = Callable[[Timed], int]
"""Take what was timed since the last call and return how many requests may still be sent in all; 0 ends the loop."""


def reason(error: BaseException) -> str:
    """Say in one line what failed."""
    if isinstance(error, TimeoutError):
        return "timeout"
    text = clean(str(error).replace("\n", " "))[:_LONGEST_REASON]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def closed_loop(infer: Infer, bodies: Sequence[Any], allowed: int, collect: Collect) -> None:
    """Send one request after another until `collect` allows no more.

    Args:
        infer: sends one request and waits for the answer.
        bodies: what is sent, in turn.
        allowed: requests that may be sent before `collect` must be asked.
        collect: called at least every `INTERVAL_S` and when `allowed` is reached.
    """
    timed = Timed()
    started, ended, clock = timed.start_s, timed.end_s, perf_counter
    due = clock() + INTERVAL_S
    sent = 0
    try:
        for body in itertools.cycle(bodies):
            begin = clock()
            try:
                infer(body)
            except Exception as error:  # noqa: BLE001 - a failed request is a result
                timed.errors[len(ended)] = reason(error)
            end = clock()
            started.append(begin)
            ended.append(end)
            sent += 1
            if end >= due or sent >= allowed:
                allowed = _collected(timed, collect)
                if sent >= allowed:
                    return
                due = clock() + INTERVAL_S
    finally:
        if ended:
            _collected(timed, collect)


def _collected(timed: Timed, collect: Collect) -> int:
    timed.due_s.extend(timed.start_s[: len(timed.end_s)])
    return collect(timed.take())


def many_lanes(
    infers: Sequence[Infer],
    bodies: Sequence[Any],
    allowed: int,
    collect: Collect,
    schedule_s: FloatArray | None = None,
) -> None:
    """Keep one thread a lane sending: closed loop, or open loop on a schedule.

    Args:
        infers: one a lane.
        bodies: what is sent, in turn.
        allowed: requests that may be sent in all, until `collect` says otherwise.
        collect: called from this thread every `INTERVAL_S` with requests in the order they were due.
        schedule_s: arrival times in seconds from now; a lane that is free waits for the next arrival, so that a
            request that finds every lane busy is late and its wait counts.
    """
    lanes = [_Lane() for _ in infers]
    state = _State(allowed)
    tickets = itertools.count()
    begin = perf_counter() + (_HEAD_START_S if schedule_s is not None else 0.0)
    threads = [
        threading.Thread(
            target=_send,
            args=(infer, lane, tickets),
            kwargs={"bodies": bodies, "state": state, "begin": begin, "schedule_s": schedule_s},
            daemon=True,
        )
        for infer, lane in zip(infers, lanes, strict=True)
    ]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            sleep(INTERVAL_S / 2)
            state.allowed = collect(merge([lane.take() for lane in lanes]))
    finally:
        state.allowed = 0
        deadline = perf_counter() + _PATIENCE_S
        for thread in threads:
            thread.join(max(0.0, deadline - perf_counter()))
        sys.setswitchinterval(interval)
        rest = merge([lane.take() for lane in lanes])
        if len(rest):
            collect(rest)


@dataclass
class _State:
    allowed: int


class _Lane:
    def __init__(self) -> None:
        self.timed = Timed()
        self.lock = threading.Lock()

    def add(self, due: float, start: float, end: float, error: str | None) -> None:
        with self.lock:
            if error is not None:
                self.timed.errors[len(self.timed)] = error
            self.timed.due_s.append(due)
            self.timed.start_s.append(start)
            self.timed.end_s.append(end)

    def take(self) -> Timed:
        with self.lock:
            return self.timed.take()


def _send(
    infer: Infer,
    lane: _Lane,
    tickets: Iterator[int],
    *,
    bodies: Sequence[Any],
    state: _State,
    begin: float,
    schedule_s: FloatArray | None,
) -> None:
    clock = perf_counter
    for ticket in tickets:
        if ticket >= state.allowed or (schedule_s is not None and ticket >= len(schedule_s)):
            return
        body = bodies[ticket % len(bodies)]
        due = clock()
        if schedule_s is not None:
            due = begin + float(schedule_s[ticket])
            while (wait := due - clock()) > 0:
                sleep(min(wait, _LONGEST_SLEEP_S))
                if ticket >= state.allowed:
                    return
        error = None
        start = clock()
        try:
            infer(body)
        except Exception as failure:  # noqa: BLE001 - a failed request is a result
            error = reason(failure)
        end = clock()
        lane.add(start if schedule_s is None else due, start, end, error)


def merge(parts: Sequence[Timed]) -> Timed:
    """Put several lanes into one, in the order the requests were due."""
    due = np.concatenate([np.array(part.due_s) for part in parts])
    order = np.argsort(due, kind="stable")
    errors: dict[int, str] = {}
    offset = 0
    for part in parts:
        errors.update({offset + i: text for i, text in part.errors.items()})
        offset += len(part)
    columns = [
        array("d", np.concatenate([np.array(getattr(part, name)) for part in parts])[order].tobytes())
        for name in ("due_s", "start_s", "end_s")
    ]
    place = {int(old): new for new, old in enumerate(order)} if errors else {}
    due_s, start_s, end_s = columns
    return Timed(due_s, start_s, end_s, {place[i]: text for i, text in errors.items()})


def simulated(
    service_s: Callable[[], float],
    fails: Callable[[], bool],
    *,
    lanes: int,
    allowed: int,
    collect: Collect,
    schedule_s: FloatArray | None = None,
    begin_s: float = 0.0,
) -> float:
    """Do the same on a virtual clock, where every duration is given and none is waited for.

    Returns:
        The virtual time when the last request was answered.
    """
    free = [begin_s] * lanes
    timed = Timed()
    last = begin_s
    for ticket in itertools.count():
        if ticket >= allowed or (schedule_s is not None and ticket >= len(schedule_s)):
            allowed = collect(timed.take())
            if ticket >= allowed or (schedule_s is not None and ticket >= len(schedule_s)):
                break
        lane_free = heapq.heappop(free)
        due = lane_free if schedule_s is None else begin_s + float(schedule_s[ticket])
        start = max(due, lane_free)
        end = start + service_s()
        if fails():
            timed.errors[len(timed)] = "simulated failure"
        timed.due_s.append(due)
        timed.start_s.append(start)
        timed.end_s.append(end)
        heapq.heappush(free, end)
        last = max(last, end)
    return last


def arrivals(kind: str, rate_per_s: float, count: int, seed: int) -> FloatArray:
    """Return arrival times in seconds, shape (count,): constant spacing, or a Poisson process."""
    if kind == "constant":
        return np.arange(count) / rate_per_s
    gaps = np.random.default_rng(seed).exponential(1.0 / rate_per_s, count)
    times: FloatArray = np.cumsum(gaps)
    return times
