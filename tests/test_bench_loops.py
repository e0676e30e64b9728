"""The loops: what is sent, what is timed, and from when."""

import threading
import time
from array import array

import numpy as np
import pytest

from advisor.bench.loops import Timed, arrivals, closed_loop, many_lanes, merge, simulated


class Collected:
    """Stands for the ledger: keeps what it is given and allows `allowed` requests."""

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self.parts: list[Timed] = []

    def __call__(self, timed: Timed) -> int:
        if len(timed):
            self.parts.append(timed)
        return self.allowed

    @property
    def all(self) -> Timed:
        return merge(self.parts)


def test_a_closed_loop_sends_exactly_what_is_allowed_and_its_inputs_in_turn() -> None:
    sent: list[str] = []
    kept = Collected(7)
    closed_loop(sent.append, ("a", "b", "c"), 3, kept)
    assert sent == ["a", "b", "c", "a", "b", "c", "a"]
    assert len(kept.all) == 7


def test_a_closed_loop_times_the_call_and_nothing_else() -> None:
    kept = Collected(5)
    closed_loop(lambda _: time.sleep(0.01), (None,), 5, kept)
    latency = kept.all.latency_ms()
    assert latency.min() >= 10.0
    assert np.median(latency) < 40.0


def test_a_failed_request_is_kept_at_its_place_with_one_line_of_reason() -> None:
    calls = iter(range(10))

    def infer(_: object) -> None:
        call = next(calls)
        if call == 1:
            raise TimeoutError
        if call == 3:
            raise ValueError("two\nlines of AKIA" + "A" * 16)

    kept = Collected(5)
    closed_loop(infer, (None,), 5, kept)
    assert kept.all.errors == {1: "timeout", 3: "ValueError: two lines of [key]"}
    assert len(kept.all) == 5


def test_an_interrupt_keeps_what_was_timed_before_it() -> None:
    calls = iter(range(10))

    def infer(_: object) -> None:
        if next(calls) == 4:
            raise KeyboardInterrupt

    kept = Collected(100)
    with pytest.raises(KeyboardInterrupt):
        closed_loop(infer, (None,), 100, kept)
    assert len(kept.all) == 4


def test_lanes_keep_that_many_requests_in_flight_and_send_each_once() -> None:
    lock = threading.Lock()
    now, most = 0, 0

    def infer(_: object) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= 1

    kept = Collected(40)
    many_lanes([infer] * 4, (None,), 40, kept)
    assert most == 4
    assert len(kept.all) == 40
    assert list(kept.all.due_s) == sorted(kept.all.due_s)


def test_failures_of_several_lanes_keep_their_places() -> None:
    def infer(body: int) -> None:
        time.sleep(0.001)
        if body == 0:
            raise ConnectionError("HTTP 503")

    kept = Collected(30)
    many_lanes([infer] * 3, (0, 1, 2), 30, kept)
    errors = sum(len(part.errors) for part in kept.parts)
    assert errors == 10
    assert set(kept.all.errors.values()) == {"ConnectionError: HTTP 503"}


def test_an_open_loop_counts_from_the_scheduled_time_when_every_lane_is_busy() -> None:
    kept = Collected(4)
    many_lanes([lambda _: time.sleep(0.1)], (None,), 4, kept, np.array([0.0, 0.01, 0.02, 0.03]))
    latency = kept.all.latency_ms()
    assert latency == pytest.approx([100, 190, 280, 370], abs=40)
    assert np.diff(np.array(kept.all.due_s)) == pytest.approx([0.01] * 3)


def test_an_open_loop_does_not_send_early() -> None:
    kept = Collected(20)
    many_lanes([lambda _: None] * 4, (None,), 20, kept, arrivals("constant", 200.0, 20, 0))
    lag = np.array(kept.all.start_s) - np.array(kept.all.due_s)
    assert lag.min() >= 0.0
    span = kept.all.due_s[-1] - kept.all.due_s[0]
    assert span == pytest.approx(19 / 200.0)


def test_poisson_arrivals_have_the_rate_and_exponential_gaps() -> None:
    times = arrivals("poisson", 50.0, 20_000, 3)
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(0.02, rel=0.03)
    assert np.mean(gaps > 0.02) == pytest.approx(np.exp(-1.0), abs=0.015)
    assert np.array_equal(times, arrivals("poisson", 50.0, 20_000, 3))
    assert not np.array_equal(times, arrivals("poisson", 50.0, 20_000, 4))


def test_a_simulated_closed_loop_runs_each_lane_back_to_back() -> None:
    kept = Collected(6)
    end = simulated(lambda: 0.010, lambda: False, lanes=2, allowed=6, collect=kept)
    assert end == pytest.approx(0.030)
    assert list(kept.all.due_s) == pytest.approx([0, 0, 0.01, 0.01, 0.02, 0.02])


def test_a_simulated_open_loop_is_the_single_server_queue() -> None:
    """Sojourn time of M/M/1 is exponential with mean 1 / (mu - lambda) (Kleinrock 1975, section 3.2)."""
    random = np.random.default_rng(5)
    count = 200_000
    kept = Collected(count)
    simulated(
        lambda: float(random.exponential(0.001)),
        lambda: False,
        lanes=1,
        allowed=count,
        collect=kept,
        schedule_s=arrivals("poisson", 500.0, count, 1),
    )
    latency = kept.all.latency_ms()
    assert latency.mean() == pytest.approx(2.0, rel=0.05)
    assert np.percentile(latency, 90) == pytest.approx(2.0 * np.log(10), rel=0.05)


def test_merging_puts_requests_in_the_order_they_were_due() -> None:
    a = Timed(array("d", [1, 3]), array("d", [1, 3]), array("d", [2, 4]), {1: "x"})
    b = Timed(array("d", [2]), array("d", [2.5]), array("d", [9]), {0: "y"})
    merged = merge([a, b])
    assert list(merged.due_s) == [1, 2, 3]
    assert list(merged.end_s) == [2, 9, 4]
    assert merged.errors == {1: "y", 2: "x"}
