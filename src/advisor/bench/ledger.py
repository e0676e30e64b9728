"""What one section has measured so far: keeps it in the file, judges it, says when to stop."""

import gc
import math
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

import numpy as np

from advisor.arrays import FloatArray
from advisor.bench.loops import Timed
from advisor.bench.resultfile import Section, Writer
from advisor.bench.settings import Point, Settings
from advisor.errors import MeasurementError
from advisor.evidence import Assessment, Estimate, assess

FIRST_LOOK: Final = 200
"""Requests at the first look; later looks come at doubling counts, each judged with a smaller share of the error
rate (see `advisor.evidence`), so that looking often does not make a wrong verdict likelier."""

_WIDTH_GROWTH: Final = 1.25
_PATIENT_COUNT: Final = 3200
"""Requests before a percentile that sits at its limit is given up."""

_HOPELESS: Final = 50
"""Failures without one success after which nothing is worth waiting for."""

_PROGRESS_S: Final = 1.0
_PROGRESS_COST: Final = 0.05
"""Share of the time that showing progress may take."""

_LATE_S: Final = 0.001
_HANDOVER_S: Final = 0.0005
"""Time that a lane may take from one request to the next one that waits for it."""

_SHOWN: Final = (50.0, 90.0, 99.0)


@dataclass(frozen=True)
class Progress:
    """What is known while measuring.

    Attributes:
        label: the configuration in short.
        section, section_count: which of the sweep it is, from 1.
        run_id: the run that is going on.
        request_count, error_count: of this configuration, all runs.
        percentiles_ms: P50, P90 and P99 of the successful requests with intervals, where there are enough.
        verdict: pass, fail or undecided at the last look; None before it or without a limit.
        elapsed_s: since this configuration was started.
        remaining_s: estimate, where there is one.
        spent_usd: price x time, where the price is known.
    """

    label: str
    section: int
    section_count: int
    run_id: str
    request_count: int
    error_count: int
    percentiles_ms: dict[float, Estimate]
    verdict: str | None
    elapsed_s: float
    remaining_s: float | None
    spent_usd: float | None


Report = Callable[[Progress], None]


@dataclass
class Ledger:
    """Collects the requests of one section.

    Attributes:
        exact: the loop can stop at any count, so that a look happens exactly at its count.
        origin_us: microseconds since 1970 at zero of the loop's clock.
        memory_mib: returns the memory in use now, or None.
    """

    settings: Settings
    point: Point
    writer: Writer
    label: str
    section: int
    section_count: int
    usd_per_hour: float | None = None
    report: Report | None = None
    exact: bool = True
    origin_us: float = 0.0
    batch_size: int = 1
    memory_mib: Callable[[], float | None] = lambda: None

    run_id: str = "1"
    run_requests: int = 0
    run_ceiling: int = 0
    look: int = 0
    due_look: int = FIRST_LOOK
    assessment: Assessment | None = None
    stopped: str = ""
    latency_ms: "array[float]" = field(default_factory=lambda: array("d"))
    run_ids: list[str] = field(default_factory=list)
    error_count: int = 0
    last_error: str = ""
    busy_s: float = 0.0
    peak_memory_mib: float | None = None
    timed: list[tuple[FloatArray, FloatArray, FloatArray]] = field(default_factory=list)

    _run_begin: float | None = None
    _run_end: float = 0.0
    _begin: float = field(default_factory=perf_counter)
    _next_progress: float = 0.0

    def restore(self, before: Section) -> None:
        """Take over what an interrupted measurement left."""
        self.latency_ms.extend(before.latency_ms)
        self.run_ids.extend(before.run_ids)
        self.error_count = len(before.errors)
        if self._looks_within_run:
            self.look = sum(count <= self.request_count for count in self._looks())
            self.due_look = self._next_look()

    @property
    def request_count(self) -> int:
        """Requests of the section, failures included."""
        return len(self.latency_ms) + self.error_count

    @property
    def _looks_within_run(self) -> bool:
        return self.settings.until_rule and self.settings.runs == 1

    def _looks(self) -> Iterator[int]:
        growth = _WIDTH_GROWTH if self.settings.until_width else 2.0
        count = float(FIRST_LOOK)
        while count <= max(self.request_count, FIRST_LOOK) * growth + 1:
            yield math.ceil(count)
            count *= growth

    def _next_look(self) -> int:
        return next(count for count in self._looks() if count > self.request_count)

    def start_run(self, run_id: str, ceiling: int) -> int:
        """Begin a run of at most `ceiling` requests; returns how many may be sent before the ledger is asked."""
        self.run_id, self.run_requests, self.run_ceiling = run_id, 0, ceiling
        self.stopped, self._run_begin = "", None
        self.assessment = None
        return self._allowed()

    def end_run(self) -> None:
        """Add the run's duration to the time in which requests were sent."""
        if self._run_begin is not None:
            self.busy_s += self._run_end - self._run_begin

    def __call__(self, timed: Timed) -> int:
        """Keep what was timed; returns how many requests of this run may be sent, 0 to stop."""
        if len(timed):
            self._keep(timed)
        self._stop_or_go_on()
        self._show()
        return 0 if self.stopped else self._allowed()

    def _keep(self, timed: Timed) -> None:
        due, start, end = (np.array(column) for column in (timed.due_s, timed.start_s, timed.end_s))
        latency = timed.latency_ms()
        started_us = np.round(self.origin_us + due * 1e6).astype(np.int64)
        self.writer.requests(self.run_id, started_us.tolist(), latency, timed.errors)
        succeeded = np.ones(len(timed), bool)
        succeeded[list(timed.errors)] = False
        kept = latency[succeeded]
        self.latency_ms.extend(kept)
        self.run_ids.extend([self.run_id] * len(kept))
        self.error_count += len(timed.errors)
        self.run_requests += len(timed)
        for text in timed.errors.values():
            self.last_error = text
        self.timed.append((due, start, end))
        if self._run_begin is None:
            self._run_begin = float(due.min())
        self._run_end = max(self._run_end, float(end.max()))
        used = self.memory_mib()
        if used is not None:
            self.peak_memory_mib = max(used, self.peak_memory_mib or 0.0)

    def _allowed(self) -> int:
        if not (self.exact and self._looks_within_run):
            return self.run_ceiling
        return min(self.run_ceiling, self.run_requests + self.due_look - self.request_count)

    def _stop_or_go_on(self) -> None:
        if not self.latency_ms and self.error_count >= _HOPELESS:
            raise MeasurementError(
                f"{self.label}: the first {self.error_count} requests all failed ({self.last_error}): nothing was measured"
            )
        if self._looks_within_run and self.request_count >= self.due_look:
            self.look += 1
            self.due_look = self._next_look()
            self.judge()
        if self.run_requests >= self.run_ceiling:
            self.stopped = self.stopped or "requests"
        if self.settings.seconds and self._run_begin is not None:
            elapsed = self._run_end - self._run_begin
            if elapsed >= self.settings.seconds:
                self.stopped = self.stopped or "seconds"

    def judge(self) -> Assessment | None:
        """Judge everything measured so far; sets `stopped` where the rule is met."""
        if not self.latency_ms:
            return None
        settings = self.settings
        found = assess(
            np.array(self.latency_ms),
            settings.latency_limit_ms,
            settings.percentile,
            settings.confidence,
            run_ids=self.run_ids,
            error_count=self.error_count,
            look=max(self.look, 1),
        )
        self.assessment = found
        if settings.until and found.verdict != "undecided":
            self.stopped = "decided"
        elif settings.until and not found.more_helps and self.request_count >= _PATIENT_COUNT:
            self.stopped = "more requests will not settle it"
        elif settings.until_width and _width(found.quantile_ms) <= settings.until_width:
            self.stopped = "narrow enough"
        return found

    def _show(self) -> None:
        now = perf_counter()
        if self.report is None or now < self._next_progress:
            return
        self.report(self.progress())
        self._next_progress = perf_counter() + max(_PROGRESS_S, (perf_counter() - now) / _PROGRESS_COST)

    def progress(self) -> Progress:
        """Return what is known now."""
        elapsed = perf_counter() - self._begin
        return Progress(
            label=self.label,
            section=self.section,
            section_count=self.section_count,
            run_id=self.run_id,
            request_count=self.request_count,
            error_count=self.error_count,
            percentiles_ms=self._percentiles(),
            verdict=self.assessment.verdict
            if self.assessment is not None and self.settings.latency_limit_ms is not None
            else None,
            elapsed_s=elapsed,
            remaining_s=self._remaining(),
            spent_usd=None if self.usd_per_hour is None else self.usd_per_hour * elapsed / 3600.0,
        )

    def _percentiles(self) -> dict[float, Estimate]:
        if not self.latency_ms:
            return {}
        samples = np.array(self.latency_ms)
        found = {p: assess(samples, None, p, self.settings.confidence, run_ids=self.run_ids) for p in _SHOWN}
        return {p: answer.quantile_ms for p, answer in found.items() if answer.quantile_ms is not None}

    def _remaining(self) -> float | None:
        if self.stopped:
            return 0.0
        if self._run_begin is None or not self.run_requests:
            return None
        elapsed = max(self._run_end - self._run_begin, 1e-9)
        missing = float(self.run_ceiling - self.run_requests)
        if self.assessment is not None and self.assessment.more_needed is not None:
            missing = min(missing, self.assessment.more_needed)
        remaining = missing * elapsed / self.run_requests
        if self.settings.seconds:
            remaining = min(remaining, self.settings.seconds - elapsed)
        return max(remaining, 0.0)

    def figures(self) -> dict[str, Any]:
        """Return the closing figures that follow from the requests."""
        stopped = self.stopped
        if self._looks_within_run and self.request_count not in self._looks():
            self.look += 1
        found = self.judge()
        figures: dict[str, Any] = {
            "request_count": self.request_count,
            "error_count": self.error_count,
            "look": max(self.look, 1),
            "stopped": stopped,
            "duration_s": round(self.busy_s, 6),
            "peak_memory_mib": _rounded(self.peak_memory_mib, 1),
        }
        if self.busy_s > 0 and self.latency_ms:
            here = sum(len(due) for due, _, _ in self.timed)
            share = len(self.latency_ms) / self.request_count
            figures["throughput_per_s"] = round(here * share * self.batch_size / self.busy_s, 6)
        notes: list[str] = []
        if found is not None:
            figures["warmup_count"] = found.warmup_count
            if self.settings.latency_limit_ms is not None:
                figures["verdict"] = found.verdict
            if found.drift is not None:
                figures["drift_fraction"] = round(found.drift.change_fraction, 4)
                notes.append(
                    f"latency drifted by {100 * found.drift.change_fraction:+.0f} % while it was measured"
                )
        if self.settings.open_loop:
            figures |= self._schedule(notes)
        return {key: value for key, value in figures.items() if value is not None} | {"notes": notes}

    def _schedule(self, notes: list[str]) -> dict[str, Any]:
        """Say how well the schedule was kept, and whose fault it was where it was not."""
        due, start, end = (np.concatenate(column) for column in zip(*self.timed, strict=True))
        lag = start - due
        limit = self.settings.in_flight_limit
        in_flight = np.searchsorted(np.sort(start), start, "right") - np.searchsorted(
            np.sort(end), start - _HANDOVER_S
        )
        full = (lag > _LATE_S) & (in_flight >= limit)
        own = lag[~full]
        p99 = float(np.percentile(own, 99)) if len(own) else 0.0
        figures: dict[str, Any] = {
            "generator_lag_p99_ms": round(p99 * 1000.0, 4),
            "generator_was_bottleneck": bool(p99 > _LATE_S),
            "in_flight_limit_reached_fraction": round(float(full.mean()), 6),
            "arrival_rate_per_s": round(len(due) / self.busy_s, 3) if self.busy_s else None,
        }
        if p99 > _LATE_S:
            figures["quality"] = "suspect"
            notes.append(
                f"the generator was the bottleneck: 1 % of its requests left more than {p99 * 1000:.1f} ms late"
            )
        if full.mean() > 0.01:
            notes.append(
                f"{100 * full.mean():.0f} % of the requests waited because {limit} were in flight: raise --in-flight-limit"
            )
        return figures


def _width(estimate: Estimate | None) -> float:
    if estimate is None or estimate.low is None or estimate.high is None:
        return math.inf
    return (estimate.high - estimate.low) / estimate.point


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


@dataclass
class Collections:
    """What Python's garbage collector did."""

    count: int = 0
    pause_s: float = 0.0


@contextmanager
def garbage_collection(kind: str) -> Iterator[Collections]:
    """Count and time collections; what exists before is set aside, so that only new objects are looked at."""
    seen = Collections()
    began = 0.0

    def note(phase: str, _: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = perf_counter()
        else:
            seen.count += 1
            seen.pause_s += perf_counter() - began

    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    if kind == "off":
        gc.disable()
    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)
        gc.unfreeze()
        if was_enabled:
            gc.enable()
