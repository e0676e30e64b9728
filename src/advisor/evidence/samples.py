"""What raw latencies prove: `assess` for one series, `assess_many` for a list of them at once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from advisor.arrays import FloatArray, IntArray
from advisor.errors import InputError
from advisor.evidence.conclude import conclude
from advisor.evidence.measure import Runs, by_length, stack
from advisor.evidence.promise import LONGEST_MS, MOST_LOOKS, MOST_REQUESTS, SHORTEST_MS, Promise
from advisor.evidence.types import Assessment, Drift, Series
from advisor.evidence.warmup import drifts, warmup_counts

_BATCH_ELEMENTS: Final = 1 << 21


def assess(
    samples_ms: npt.ArrayLike,
    limit_ms: float | None,
    percentile: float = 90,
    confidence: float = 0.95,
    run_ids: Sequence[object] | npt.NDArray[np.int64] | None = None,
    error_count: int = 0,
    look: int = 1,
) -> Assessment:
    """Say what the raw latencies of one benchmark prove about a promise.

    Args:
        samples_ms: successful requests in the order measured, ms, finite and > 0.
        limit_ms: the limit, ms; None where no limit is asked.
        percentile: the promised percentile, between 0 and 100.
        confidence: of the two-sided intervals; a single look errs with (1 - confidence) / 2 a side.
        run_ids: one label a request where there are several runs.
        error_count: failed requests; they count as infinitely slow.
        look: how many times this growing series has been judged, counting this one.

    Raises:
        InputError: the samples are not latencies, or there are none and no errors either.
        QuestionError: limit, percentile, confidence or look is out of bounds.
    """
    try:
        latency_ms = np.asarray(samples_ms, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("latencies must be a list of numbers") from None
    series = Series(latency_ms, run_ids, error_count, look)
    return assess_many([series], limit_ms, percentile, confidence)[0]


def assess_many(
    series: Sequence[Series],
    limit_ms: float | None,
    percentile: float = 90,
    confidence: float = 0.95,
    *,
    warmup: bool = True,
) -> list[Assessment]:
    """Assess many series under one promise; see `assess`.

    Args:
        warmup: look for warm-up and drift; without, every request counts.

    Raises:
        InputError: as `assess`; the text names the position in the list.
        QuestionError: as `assess`.
    """
    promise = Promise(limit_ms, percentile, confidence)
    parts = [_runs(one, position) for position, one in enumerate(series)]
    found: list[Assessment] = []
    for batch in _batches(parts):
        found += _assess_batch(series[batch], parts[batch], promise, warmup)
    return found


def _runs(series: Series, position: int) -> list[FloatArray]:
    samples = np.ascontiguousarray(series.latency_ms, dtype=np.float64)
    where = f"series {position + 1}: "
    if samples.ndim != 1:
        raise InputError(f"{where}latencies must be a list of numbers, not of shape {samples.shape}")
    if not (1 <= series.look <= MOST_LOOKS and 0 <= series.error_count <= MOST_REQUESTS):
        raise InputError(
            f"{where}look counts from 1 (to {MOST_LOOKS} at most) and error_count from 0 (to {MOST_REQUESTS})"
        )
    if samples.size == 0:
        if series.error_count == 0:
            raise InputError(f"{where}there is no request at all, neither successful nor failed")
        return []
    if not (samples.min() >= SHORTEST_MS and samples.max() <= LONGEST_MS):
        raise InputError(
            f"{where}every latency must be a finite number of ms above 0 ({SHORTEST_MS:g} to {LONGEST_MS:g})"
        )
    if series.run_ids is None:
        return [samples]
    labels = np.asarray(series.run_ids)
    if labels.dtype == object:  # labels that have no order among themselves, such as None and "a"
        labels = labels.astype(str)
    if labels.shape != samples.shape:
        raise InputError(f"{where}{labels.size} run labels for {samples.size} latencies")
    _, first, code = np.unique(labels, return_index=True, return_inverse=True)
    return [samples[code == run] for run in np.argsort(first)]


def _batches(parts: list[list[FloatArray]]) -> Iterator[slice]:
    """Cut the list where the work arrays would grow too large; a series of any size is one batch at least."""
    start = elements = 0
    for position, runs in enumerate(parts):
        size = sum(run.size for run in runs)
        if position > start and elements + size > _BATCH_ELEMENTS:
            yield slice(start, position)
            start, elements = position, 0
        elements += size
    if start < len(parts):
        yield slice(start, len(parts))


def _assess_batch(
    series: Sequence[Series], parts: Sequence[list[FloatArray]], promise: Promise, warmup: bool
) -> list[Assessment]:
    rows = [run for runs in parts for run in runs]
    owner = np.repeat(np.arange(len(parts)), [len(runs) for runs in parts])
    cuts = np.zeros(len(rows), dtype=np.int64)
    if warmup:
        for members, block in by_length(rows):
            cuts[members] = warmup_counts(block)
    runs = Runs.of([row[cut:] for row, cut in zip(rows, cuts.tolist(), strict=True)], owner, len(parts))
    found = conclude(series, runs, promise)
    if not warmup:
        return found
    drift = [one for members, block in by_length(runs.rows) for one in _drifts(runs, members, block)]
    for position in sorted({run for run, _ in drift}):
        found[position] = _with_drift(found[position], [one for run, one in drift if run == position])
    del runs  # the untrimmed series need the room
    trimmed = np.unique(owner[cuts > 0]).tolist()
    if trimmed:
        whole = _assess_batch(
            [series[i] for i in trimmed], [parts[i] for i in trimmed], promise, warmup=False
        )
        for position, untrimmed in zip(trimmed, whole, strict=True):
            found[position] = _with_warmup(found[position], untrimmed, int(cuts[owner == position].sum()))
    return found


def _drifts(runs: Runs, members: IntArray, block: FloatArray) -> Iterator[tuple[int, Drift]]:
    found = drifts(block, stack(runs.ordered, members))
    return ((int(runs.owner[run]), one) for run, one in zip(members.tolist(), found, strict=True) if one)


def _with_drift(assessment: Assessment, moved: list[Drift]) -> Assessment:
    largest = max(moved, key=lambda one: abs(one.change_fraction))
    change = largest.change_fraction
    where = f" from request {largest.at_index}" if largest.at_index is not None else ""
    text = (
        f"latency rose by {100 * change:.0f} % during the run{where} (throttling?)"
        if change > 0
        else f"latency fell by {-100 * change:.0f} % during the run{where} (still warming up?)"
    )
    return replace(assessment, drift=largest, notes=(*assessment.notes, text))


def _with_warmup(trimmed: Assessment, untrimmed: Assessment, count: int) -> Assessment:
    notes = [f"the first {count} requests are warm-up and do not decide"]
    if untrimmed.verdict != trimmed.verdict:
        notes.append(f"with the warm-up the verdict would be {untrimmed.verdict}, not {trimmed.verdict}")
    return replace(
        trimmed,
        warmup_count=count,
        quantile_untrimmed_ms=untrimmed.quantile_untrimmed_ms,
        mean_untrimmed_ms=untrimmed.mean_untrimmed_ms,
        notes=(*trimmed.notes, *notes),
    )
