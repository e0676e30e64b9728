"""What raw latencies prove: `assess` for one series, `assess_many` for a list of them at once."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from advisor.errors import InputError
from advisor.evidence.autocorrelation import inflation, ranks, share_inflation
from advisor.evidence.intervals import (
    linear_quantile,
    probability_above,
    quantile_ranks,
    share_limits,
    side_level,
    t_quantile,
)
from advisor.evidence.promise import Promise, more_needed
from advisor.evidence.runs import effective_count, mean_errors
from advisor.evidence.types import Assessment, Drift, Estimate, Series
from advisor.evidence.warmup import drifts, warmup_counts

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_Number = TypeVar("_Number", np.float64, np.int32)

_BATCH_ELEMENTS: Final = 1 << 21
_OUTLIER_FACTOR: Final = 3.0
_OUTLIER_PART: Final = 0.05
"""Outliers that hold less of the time than this are counted without a note."""


def assess(  # noqa: PLR0917
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
    series = Series(np.asarray(samples_ms, dtype=np.float64), run_ids, error_count, look)
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
    if series.look < 1 or series.error_count < 0:
        raise InputError(f"{where}look counts from 1 and error_count from 0")
    if samples.size == 0:
        if series.error_count == 0:
            raise InputError(f"{where}there is no request at all, neither successful nor failed")
        return []
    if not (samples.min() > 0 and samples.max() < np.inf):
        raise InputError(f"{where}every latency must be a finite number of ms above 0")
    if series.run_ids is None:
        return [samples]
    labels = np.asarray(series.run_ids)
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


def _by_length(rows: Sequence[FloatArray]) -> Iterator[tuple[IntArray, FloatArray]]:
    lengths = np.array([row.size for row in rows], dtype=np.int64)
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        yield members, _stack(rows, members)


def _stack(rows: Sequence[npt.NDArray[_Number]], members: IntArray) -> npt.NDArray[_Number]:
    """Put rows of one length under each other; a single long row is not copied."""
    return (
        rows[int(members[0])][None, :] if members.size == 1 else np.stack([rows[m] for m in members.tolist()])
    )


@dataclass(frozen=True)
class _Runs:
    """Figures of each run, shape (r,)."""

    owner: IntArray
    size: FloatArray
    mean: FloatArray
    variance: FloatArray
    mean_tau: FloatArray
    within: FloatArray
    within_tau: FloatArray
    below: FloatArray
    below_tau: FloatArray


def _assess_batch(
    series: Sequence[Series], parts: Sequence[list[FloatArray]], promise: Promise, warmup: bool
) -> list[Assessment]:
    rows = [run for runs in parts for run in runs]
    owner = np.repeat(np.arange(len(parts)), [len(runs) for runs in parts])
    cuts = np.zeros(len(rows), dtype=np.int64)
    drift: list[Drift | None] = [None] * len(rows)
    if warmup:
        for members, block in _by_length(rows):
            cuts[members] = warmup_counts(block)
    kept = [row[cut:] for row, cut in zip(rows, cuts, strict=True)]
    runs, ordered = _measure(kept, owner, len(parts), promise, drift if warmup else None)
    found = _conclude(series, runs, ordered, promise)
    for position in np.unique(owner[[one is not None for one in drift]]).tolist():
        moved = [one for one, of in zip(drift, owner, strict=True) if of == position and one is not None]
        found[position] = _with_drift(found[position], moved)
    for position in np.unique(owner[cuts > 0]).tolist():
        one = slice(position, position + 1)
        untrimmed = _assess_batch(series[one], parts[one], promise, warmup=False)[0]
        found[position] = _with_warmup(found[position], untrimmed, int(cuts[owner == position].sum()))
    return found


def _measure(
    rows: Sequence[FloatArray],
    owner: IntArray,
    series_count: int,
    promise: Promise,
    drift: list[Drift | None] | None,
) -> tuple[_Runs, list[FloatArray]]:
    """Return the figures of each run, and the sorted latencies of each series; fill in the drifts where asked."""
    rank: list[npt.NDArray[np.int32]] = [np.empty(0, dtype=np.int32)] * len(rows)
    ordered = [np.empty(0)] * len(rows)
    for members, block in _by_length(rows):
        for member, *ranked in zip(members.tolist(), *ranks(block), strict=True):
            rank[member], ordered[member] = ranked
    pooled = [np.empty(0)] * series_count
    for position in range(series_count):
        own = [ordered[run] for run in np.flatnonzero(owner == position).tolist()]
        pooled[position] = own[0] if len(own) == 1 else np.sort(np.concatenate(own)) if own else np.empty(0)
    quantile = np.array([one[_rank(one.size, promise.share) - 1] if one.size else np.nan for one in pooled])

    mean, variance, mean_tau, within, within_tau, below, below_tau = np.ones((7, len(rows)))
    for members, block in _by_length(rows):
        inside = block <= promise.widest_ms
        under = block <= quantile[owner[members]][:, None]
        of_ranks, of_block, of_inside, of_under = inflation(_stack(rank, members), block, inside, under)
        mean[members] = block.mean(axis=1)
        variance[members] = _variance(block)
        mean_tau[members] = of_block
        for hits, tau, indicator, own_tau in (
            (within, within_tau, inside, of_inside),
            (below, below_tau, under, of_under),
        ):
            hits[members] = indicator.sum(axis=1)
            constant = (hits[members] == 0) | (hits[members] == block.shape[1])
            tau[members] = share_inflation(own_tau, of_ranks, constant)
        if drift is not None:
            for member, one in zip(members.tolist(), drifts(block, _stack(ordered, members)), strict=True):
                drift[member] = one
    size = np.array([row.size for row in rows], dtype=np.float64)
    return _Runs(owner, size, mean, variance, mean_tau, within, within_tau, below, below_tau), pooled


def _rank(size: int, share: float) -> int:
    """Rank of the sample quantile by counting: at least that share of the requests is at or under it."""
    return max(1, min(size, int(np.ceil(size * share - 1e-9))))


def _variance(block: FloatArray) -> FloatArray:
    return np.asarray(block.var(axis=1, ddof=1)) if block.shape[1] > 1 else np.zeros(block.shape[0])


def _conclude(
    series: Sequence[Series], runs: _Runs, ordered: Sequence[FloatArray], promise: Promise
) -> list[Assessment]:
    count = len(series)
    look = np.array([one.look for one in series], dtype=np.int64)
    errors = np.array([one.error_count for one in series], dtype=np.float64)
    level = side_level(promise.confidence, look)
    size = np.bincount(runs.owner, runs.size, count)
    run_count = np.bincount(runs.owner, minlength=count)

    at_quantile = effective_count(runs.owner, runs.size, runs.below, runs.below_tau, level)
    lower, upper = quantile_ranks(promise.share, size.astype(np.int64), at_quantile, level)
    mean, error, freedom = mean_errors(
        runs.owner, runs.size, mean=runs.mean, variance=runs.variance, tau=runs.mean_tau, level=level
    )
    half = t_quantile(freedom, level) * error
    quantiles = [
        _quantile(*one, promise.share) for one in zip(ordered, lower.tolist(), upper.tolist(), strict=True)
    ]
    found = [
        Assessment(
            verdict="undecided",
            grade="A" if separate >= 5 else "B",
            probability=None,
            share_within=None,
            quantile_ms=quantile,
            mean_ms=Estimate(
                middle, *((middle - width, middle + width) if math.isfinite(width) else (None, None))
            )
            if separate
            else None,
            quantile_untrimmed_ms=quantile.point if quantile else None,
            mean_untrimmed_ms=middle if separate else None,
            tau=requests / worth if separate else None,
            effective_count=worth if separate else None,
            tau_tolerated=None,
            more_needed=None,
            more_helps=True,
            run_count=separate,
            warmup_count=0,
            drift=None,
            outlier_count=outlier_count,
            log_mean_se=se / middle if separate and math.isfinite(se) else None,
            notes=(*_run_notes(separate), *outlier_notes),
        )
        for separate, quantile, middle, width, se, requests, worth, (outlier_count, outlier_notes) in zip(
            run_count.tolist(),
            quantiles,
            mean.tolist(),
            half.tolist(),
            error.tolist(),
            size.tolist(),
            at_quantile.tolist(),
            map(_outliers, ordered),
            strict=True,
        )
    ]
    if promise.limit_ms is None:
        return found

    requests = size + errors
    share = np.bincount(runs.owner, runs.within, count) / requests
    worth = effective_count(runs.owner, runs.size, runs.within, runs.within_tau, level)
    worth = np.where(size > 0, worth * requests / np.maximum(size, 1), errors)
    low, high = share_limits(share, share, worth, level)
    probability = probability_above(share, worth, promise.share)
    verdicts = [promise.verdict(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]
    open_ = np.array([verdict == "undecided" for verdict in verdicts])
    further = np.full(count, np.inf)
    further[open_] = more_needed(promise, share[open_], requests[open_], worth[open_], look[open_])
    return [
        replace(
            one,
            verdict=verdict,
            probability=chance,
            share_within=Estimate(*estimate),
            quantile_ms=_agreeing(one.quantile_ms, row, promise.widest_ms, verdict)
            if one.quantile_ms and not failed
            else one.quantile_ms,
            tau=total / worth_it,
            effective_count=worth_it,
            more_needed=int(more) if math.isfinite(more) else None,
            more_helps=verdict != "undecided" or math.isfinite(more),
        )
        for one, row, verdict, chance, estimate, failed, total, worth_it, more in zip(
            found,
            ordered,
            verdicts,
            probability.tolist(),
            zip(share.tolist(), low.tolist(), high.tolist(), strict=True),
            errors.tolist(),
            requests.tolist(),
            worth.tolist(),
            further.tolist(),
            strict=True,
        )
    ]


def _quantile(ordered: FloatArray, lower: int, upper: int, share: float) -> Estimate | None:
    if ordered.size == 0:
        return None
    return Estimate(
        linear_quantile(ordered, share),
        float(ordered[lower - 1]) if lower >= 1 else None,
        float(ordered[upper - 1]) if upper <= ordered.size else None,
    )


def _agreeing(quantile: Estimate, ordered: FloatArray, limit_ms: float, verdict: str) -> Estimate:
    """Make the interval agree with the verdict: it holds latencies beyond the limit unless that is disproved.

    The interval is what the test does not reject. At the limit itself the test is exact (its correlation is that of the limit,
    not of the sample quantile), so there it decides.
    """
    within = int(ordered.searchsorted(limit_ms, side="right"))
    longest_within = float(ordered[within - 1]) if within else None
    shortest_beyond = float(ordered[within]) if within < ordered.size else None
    low, high = quantile.low, quantile.high
    if verdict == "pass":
        high = longest_within if high is None or high > limit_ms else high
    elif high is not None and high <= limit_ms:
        high = shortest_beyond
    if verdict == "fail":
        low = shortest_beyond if low is None or low <= limit_ms else low
    elif low is not None and low > limit_ms:
        low = longest_within
    return replace(quantile, low=low, high=high)


def _outliers(ordered: FloatArray) -> tuple[int, tuple[str, ...]]:
    """Label what lies three quartile distances outside the middle half (Tukey's far out); nothing is removed."""
    if ordered.size == 0:
        return 0, ()
    first, third = linear_quantile(ordered, 0.25), linear_quantile(ordered, 0.75)
    reach = _OUTLIER_FACTOR * (third - first)
    above = int(ordered.size - ordered.searchsorted(third + reach, side="right"))
    below = int(ordered.searchsorted(first - reach, side="left"))
    part = float(ordered[ordered.size - above :].sum() / ordered.sum()) if above else 0.0
    if part < _OUTLIER_PART:
        return above + below, ()
    return above + below, (
        f"{above} outliers above {third + reach:.4g} ms (kept) hold {part:.0%} of the time",
    )


def _run_notes(run_count: int) -> tuple[str, ...]:
    if run_count == 0:
        return ("every request failed",)
    if run_count == 1:
        return ("one run: it speaks for that run only, another hour or instance can differ",)
    if run_count < 5:
        return (
            f"{run_count} runs: the intervals include the spread between them; five or more runs make grade A",
        )
    return ()


def _with_drift(assessment: Assessment, moved: list[Drift]) -> Assessment:
    largest = max(moved, key=lambda one: abs(one.change_fraction))
    change = largest.change_fraction
    where = f" from request {largest.at_index}" if largest.at_index is not None else ""
    text = (
        f"latency rose by {change:.0%} during the run{where} (throttling?)"
        if change > 0
        else f"latency fell by {-change:.0%} during the run{where} (still warming up?)"
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
