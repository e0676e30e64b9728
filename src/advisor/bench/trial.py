"""One configuration from its first request to its closing figures."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any, Final

from advisor import __version__
from advisor.bench.backends import Backend, Loaded
from advisor.bench.inputs import Requests, requests_for
from advisor.bench.ledger import Ledger, Report, garbage_collection
from advisor.bench.loops import arrivals, closed_loop, many_lanes, simulated
from advisor.bench.placement import Placement
from advisor.bench.processes import children, drive, first_request
from advisor.bench.resultfile import Section, Writer
from advisor.bench.settings import Point, Settings
from advisor.bench.surroundings import load_average
from advisor.errors import MeasurementError
from advisor.evidence import Assessment
from advisor.text import clean

_VIRTUAL_EPOCH_US: Final = 946_684_800_000_000
"""2000-01-01T00:00:00Z: when a virtual clock starts."""

_MOST_RUNS: Final = 4
"""A verdict between runs is looked for after the asked runs, twice and four times as many."""


@dataclass(frozen=True)
class Measured:
    """One configuration that was measured.

    Attributes:
        header: benchmark columns, settings and environment as written.
        end: closing figures; None where it was interrupted.
        assessment: what the requests prove, None where none succeeded.
    """

    header: Mapping[str, Any]
    end: Mapping[str, Any] | None
    assessment: Assessment | None


class Trial:
    """Loads the model, measures the runs of one configuration and closes its section."""

    def __init__(
        self,
        settings: Settings,
        point: Point,
        backend: Backend,
        writer: Writer,
        where: Mapping[str, Any],
        placed: Placement,
        section: int,
        section_count: int,
        report: Report | None,
        before: Section | None,
    ) -> None:
        self.settings, self.point, self.backend = settings, point, backend
        self.where, self.placed = where, placed
        self.requests = requests_for(settings, point)
        self.header: Mapping[str, Any] = before.header if before else {}
        self.ledger = Ledger(
            settings,
            point,
            writer,
            label=_label(settings, point, self.requests),
            section=section,
            section_count=section_count,
            usd_per_hour=settings.usd_per_hour,
            report=report,
            exact=settings.backend == "fake"
            or (settings.parallel == "threads" and not settings.open_loop and point.concurrency == 1),
            batch_size=self.requests.batch_size,
        )
        self.finished_runs, self.partial = 0, 0
        if before is not None:
            self.ledger.restore(before)
            self.finished_runs, self.partial = _done(before, settings.request_ceiling)
        self.next_run = len({*self.ledger.run_ids, *(run for run, _ in before.errors)} if before else {}) + 1
        self.began = perf_counter()
        self.virtual_s = 0.0
        self.cold_ms: list[float] = []
        self.load_s: list[float] = []
        self.device_mib: float | None = None
        self.collections = (0, 0.0)

    def measure(self) -> Measured:
        """Measure every run and close the section."""
        settings, ledger = self.settings, self.ledger
        run_count = self.finished_runs
        while not self._enough(run_count):
            if run_count:
                self._wait_for_next_run()
            self.began = perf_counter()
            self._one_run(settings.request_ceiling - self.partial)
            self.partial = 0
            run_count += 1
        end = ledger.figures() | self._circumstances()
        ledger.writer.end(end)
        if ledger.report is not None:
            ledger.report(ledger.progress())
        return Measured(self.header, end, ledger.assessment)

    def _enough(self, run_count: int) -> bool:
        settings, ledger = self.settings, self.ledger
        if run_count < settings.runs:
            return False
        if settings.runs == 1 or not settings.until_rule:
            return True
        if run_count in (settings.runs, 2 * settings.runs, _MOST_RUNS * settings.runs):
            ledger.look += 1
            ledger.judge()
        return (
            bool(ledger.stopped not in ("", "requests", "seconds")) or run_count >= _MOST_RUNS * settings.runs
        )

    def _wait_for_next_run(self) -> None:
        if self.settings.backend != "fake":
            time.sleep(max(0.0, self.began + self.settings.spread_s - perf_counter()))

    def _one_run(self, ceiling: int) -> None:
        run_id, self.next_run = str(self.next_run), self.next_run + 1
        with self._driven() as go:
            allowed = self.ledger.start_run(run_id, ceiling)
            try:
                if self.settings.backend == "fake":
                    go(allowed)
                    return
                with garbage_collection(self.settings.gc) as seen:
                    go(allowed)
                self.collections = (self.collections[0] + seen.count, self.collections[1] + seen.pause_s)
            finally:
                self.ledger.end_run()

    @contextmanager
    def _driven(self) -> Iterator[Callable[[int], None]]:
        """Load the model and yield what sends its requests."""
        settings, point = self.settings, self.point
        lanes = settings.in_flight_limit if settings.open_loop else point.concurrency
        if settings.parallel == "processes" and settings.copies > 1:
            with children(settings, point) as copies:
                self._started(
                    copies[0].loaded,
                    copies[0].cold_ms,
                    max(copy.load_s for copy in copies),
                    tuple(pid for copy in copies for pid in copy.pids),
                )
                yield lambda allowed: drive(
                    copies,
                    lanes=max(lanes // settings.copies, 1),
                    allowed=allowed,
                    collect=self.ledger,
                    schedule_s=self._schedule(allowed),
                )
            return
        with ExitStack() as stack:
            began = perf_counter()
            loaded = [
                stack.enter_context(self.backend(settings, point, self.requests))
                for _ in range(settings.copies)
            ]
            load_s = perf_counter() - began
            if loaded[0].virtual is not None:
                self._started(loaded[0], None, None, ())
                yield lambda allowed: self._simulate(loaded[0], lanes, allowed)
                return
            cold_ms = [first_request(copy) for copy in loaded]
            self._started(loaded[0], cold_ms[0], load_s, tuple(pid for copy in loaded for pid in copy.pids))
            infers = [loaded[lane % settings.copies].infer for lane in range(lanes)]
            bodies = loaded[0].bodies
            if lanes == 1 and not settings.open_loop:
                yield lambda allowed: closed_loop(infers[0], bodies, allowed, self.ledger)
            else:
                yield lambda allowed: many_lanes(
                    infers, bodies, allowed, self.ledger, self._schedule(allowed)
                )
            self.device_mib = max(
                (found for copy in loaded if (found := copy.peak_device_mib()) is not None), default=None
            )

    def _simulate(self, loaded: Loaded, lanes: int, allowed: int) -> None:
        assert loaded.virtual is not None  # noqa: S101 - the caller asked
        self.virtual_s = simulated(
            loaded.virtual.service_s,
            loaded.virtual.fails,
            lanes=self.settings.copies if self.settings.open_loop else lanes,
            allowed=allowed,
            collect=self.ledger,
            schedule_s=self._schedule(allowed),
            begin_s=self.virtual_s,
        )

    def _schedule(self, allowed: int) -> Any:
        settings = self.settings
        if settings.rate is None:
            return None
        return arrivals(settings.arrivals, settings.rate, allowed, settings.seed + self.next_run)

    def _started(
        self, loaded: Loaded, cold_ms: float | None, load_s: float | None, pids: tuple[int, ...]
    ) -> None:
        ledger = self.ledger
        if cold_ms is not None and load_s is not None:
            self.cold_ms.append(round(cold_ms, 6))
            self.load_s.append(round(load_s, 6))
        ledger.origin_us = (
            _VIRTUAL_EPOCH_US if loaded.virtual is not None else (time.time() - perf_counter()) * 1e6
        )
        ledger.memory_mib = _memory(loaded, pids)
        header = self._header(loaded)
        if not self.header:
            ledger.writer.header(header)
            self.header = header
        elif self.header["benchmark"].get("software") != header["benchmark"]["software"]:
            raise MeasurementError(
                f"{ledger.writer.path} was measured with {self.header['benchmark'].get('software')}, and this is "
                f"{header['benchmark']['software']}: use another --output"
            )

    def _header(self, loaded: Loaded) -> dict[str, Any]:
        settings, point, requests = self.settings, self.point, self.requests
        virtual = loaded.virtual is not None
        notes = [*([clean(settings.note)] if settings.note else []), *self.placed.notes, *loaded.notes]
        if settings.open_loop:
            load = f"open loop, {settings.arrivals} arrivals at {settings.rate:g} per second"
        else:
            load = (
                f"closed loop, {point.concurrency} in flight, {settings.copies} copies in {settings.parallel}"
            )
            notes.append("closed loop: it cannot see how long a request that was not sent would have waited")
        return {
            "benchmark": {
                "model": clean(settings.model_name()),
                "sequence_length": requests.sequence_length,
                "input_shape": requests.input_shape,
                **self.placed.columns,
                "backend": loaded.backend,
                "precision": clean(settings.precision),
                "software": clean(loaded.software),
                "batch_size": requests.batch_size,
                "concurrency": 1 if settings.open_loop else point.concurrency,
                "copies": settings.copies,
                "shards": 1,
                "load_kind": "open" if settings.open_loop else "closed",
                "client": f"advisor {__version__}, {load}",
                "measured_on": "2000-01-01" if virtual else datetime.now(UTC).date().isoformat(),
                "source": "advisor bench",
                "quality": "suspect" if loaded.suspect or self.placed.suspect else "ok",
                "note": "; ".join(notes),
            },
            "settings": settings.shown() | point.model_dump(),
            "environment": {
                "advisor": __version__,
                "numpy": _version("numpy"),
                **loaded.facts,
                **self.where,
            },
        }

    def _circumstances(self) -> dict[str, Any]:
        if self.settings.backend == "fake":
            return {}
        found = {
            "cold_call_ms": self.cold_ms[0] if self.cold_ms else None,
            "cold_call_ms_by_run": self.cold_ms if len(self.cold_ms) > 1 else None,
            "load_s": self.load_s[0] if self.load_s else None,
            "peak_accelerator_memory_mib": self.device_mib,
            "gc_collection_count": self.collections[0],
            "gc_pause_ms": round(self.collections[1] * 1000.0, 3),
            "load_average": load_average(),
        }
        return {key: value for key, value in found.items() if value is not None}


def _done(before: Section, ceiling: int) -> tuple[int, int]:
    """Return how many runs an interrupted section finished, and the requests of those it did not."""
    counts: dict[str, int] = {}
    for run_id in [*before.run_ids, *(run for run, _ in before.errors)]:
        counts[run_id] = counts.get(run_id, 0) + 1
    total = sum(counts.values())
    return total // ceiling, total % ceiling


def _label(settings: Settings, point: Point, requests: Requests) -> str:
    parts = [settings.model_name(), settings.backend, point.mode]
    if requests.sequence_length:
        parts.append(f"length {requests.sequence_length}")
    parts.append(f"batch {requests.batch_size}")
    parts.append(f"{settings.rate:g}/s" if settings.rate else f"concurrency {point.concurrency}")
    return " ".join(part for part in parts if part)


def _memory(loaded: Loaded, pids: tuple[int, ...]) -> Callable[[], float | None]:
    """Return what reads the memory of the serving processes now, in MiB."""
    import psutil

    if loaded.host == "unknown":
        return lambda: None
    processes = [psutil.Process(pid) for pid in pids] if pids else [psutil.Process()]

    def read() -> float | None:
        try:
            return sum(float(process.memory_info().rss) for process in processes) / 2**20
        except psutil.Error:
            return None

    return read


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
