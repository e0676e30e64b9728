"""Warm-up that can be proved is cut; a drift that can be proved is told.

A cut needs a reason: a truncation rule alone (MSER-5, White 1997) cuts a third of all correlated series that have no warm-up. So
its cut is kept only where head and tail differ

- by enough to matter,
- by more than chance; spread and correlation are those of both parts about their own means, since the tail alone, which the rule
  chose to be quiet, would flatter it,
- in nearly every request: in a warm-up all are slower, in a machine that is slow now and then only some are,
- by more than any later stretch does: a warm-up does not come back.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from advisor.arrays import FloatArray, IntArray
from advisor.evidence.autocorrelation import inflation
from advisor.evidence.types import Drift

_BATCH: Final = 5
_COLD_FACTOR: Final = 3.0
_COLD_LIMIT: Final = 10
_LEAST_EFFECT: Final = 0.02
_LEAST_Z: Final = 3.0
_SEGMENT_BLOCKS: Final = 128
_LEAST_THIRD: Final = 30
"""With fewer requests in a third their correlation cannot be told from a drift."""
_LATER_WINDOWS: Final = 4
_LEAST_SHIFT: Final = 0.5
"""Part of the effect by which the quartile that is nearer to the rest must have moved too."""


def warmup_counts(rows: FloatArray) -> IntArray:
    """Return how many requests to cut from the start of each row.

    Cold calls (over three times the median and over nearly all later requests; at most ten and a twentieth of the row) are cut
    one by one. Beyond them the cut of MSER-5 is kept where the mean log latencies of head and tail differ by 2 %, by three standard
    errors, by a shift of most requests, and by more than any later stretch of that length differs from the tail.

    Args:
        rows: shape (r, n), ms.
    """
    row_count, n = rows.shape
    limit = min(_COLD_LIMIT, n // 20)
    cuts = np.zeros(row_count, dtype=np.int64)
    if limit == 0:
        return cuts
    head = rows[:, :limit]
    for row in np.flatnonzero(head.max(axis=1) > _COLD_FACTOR * rows.min(axis=1)):
        later = np.partition(rows[row, limit:], _places(n - limit))
        middle, nearly_all = (later[place] for place in _places(n - limit))
        cold = head[row] > max(_COLD_FACTOR * middle, nearly_all)
        cuts[row] = np.cumprod(cold).sum()
    batch_count = n // _BATCH
    means = rows[:, : batch_count * _BATCH].reshape(row_count, batch_count, _BATCH).mean(axis=2)
    for row in np.flatnonzero(cuts):
        kept = rows[row, cuts[row] :]
        kept = kept[: kept.size // _BATCH * _BATCH].reshape(-1, _BATCH).mean(axis=1)
        cut = int(_mser(kept[None, :])[0]) * _BATCH
        cuts[row] += _gated(rows[row, cuts[row] :], cut)
    plain = np.flatnonzero(cuts == 0)
    for row, cut in zip(plain, _mser(means[plain]) * _BATCH, strict=True):
        cuts[row] = _gated(rows[row], int(cut))
    return cuts


def _places(n: int) -> tuple[int, int]:
    """Ranks, from 0, of the median and of what hardly a request in a hundred exceeds."""
    return n // 2, int(0.99 * (n - 1))


def _mser(means: FloatArray) -> IntArray:
    """Return d <= k / 2 with the least `sum_{j > d} (z_j - mean)^2 / (k - d)^2` for rows of k batch means."""
    count = means.shape[1]
    centred = means - means.mean(axis=1, keepdims=True)
    left = np.arange(count, 0, -1)[: count // 2 + 1]
    sums = np.cumsum(centred[:, ::-1], axis=1)[:, ::-1][:, : left.size]
    squares = np.cumsum(centred[:, ::-1] ** 2, axis=1)[:, ::-1][:, : left.size]
    return np.asarray(np.argmin((squares - sums**2 / left) / left**2, axis=1))


def _gated(row: FloatArray, cut: int) -> int:
    """Return the cut if head and tail differ, by enough, by more than chance, and as no later part of the row does."""
    if cut == 0:
        return 0
    logs = np.log(row)
    rank = int(0.995 * (logs.size - 1))
    np.minimum(logs, np.partition(logs, rank)[rank], out=logs)
    head, tail = logs[:cut], logs[cut:]
    effect = float(head.mean() - tail.mean())
    if abs(effect) < _LEAST_EFFECT:
        return 0
    quartile = 0.25 if effect > 0 else 0.75
    shift = _quartile(head, quartile) - _quartile(tail, quartile)
    head -= head.mean()
    tail -= tail.mean()
    error = float(np.sqrt(logs.dot(logs) / logs.size * (1 / head.size + 1 / tail.size)))
    if (
        abs(effect) < _LEAST_Z * error
        or shift / effect < _LEAST_SHIFT
        or abs(effect) < _later_effect(tail, cut)
    ):
        return 0
    error *= float(np.sqrt(inflation(logs[None, :])[0, 0]))
    return cut if abs(effect) >= _LEAST_Z * error else 0


def _quartile(values: FloatArray, share: float) -> float:
    place = int(share * (values.size - 1))
    return float(np.partition(values, place)[place])


def _later_effect(tail: FloatArray, cut: int) -> float:
    """Return how far the mean of a later stretch, as long as the cut where there is room, lies from that of the whole tail."""
    window = min(cut, tail.size // _LATER_WINDOWS)
    sums = np.cumsum(tail)
    moved = sums[window:] - sums[:-window]
    return max(float(moved.max()), -float(moved.min())) / window


def drifts(rows: FloatArray, ordered: FloatArray) -> list[Drift | None]:
    """Compare the last third of each row with its first; tell a difference over 2 % and three standard errors.

    Mean log latencies, with the outermost half percent on each side drawn in; spread and correlation are those about the mean of
    each third. Below 90 requests nothing is told.

    Args:
        rows: shape (r, n), ms, warm-up cut.
        ordered: the same rows, each sorted.
    """
    row_count, n = rows.shape
    third = n // 3
    found: list[Drift | None] = [None] * row_count
    if third < _LEAST_THIRD:
        return found
    lowest, highest = ordered[:, int(0.005 * (n - 1))], ordered[:, int(np.ceil(0.995 * (n - 1)))]
    change, error = _last_against_first(rows, lowest[:, None], highest[:, None], third)
    for row in np.flatnonzero((np.abs(change) > _LEAST_EFFECT) & (np.abs(change) > _LEAST_Z * error)):
        logs = np.clip(rows[row], lowest[row], highest[row])
        np.log(logs, out=logs)
        residual = logs.copy()
        for part in (residual[:third], residual[third : n - third], residual[n - third :]):
            np.subtract(part, part.mean(), out=part)
        spread = residual.dot(residual) / n * float(inflation(residual[None, :])[0, 0]) * 2 / third
        if abs(change[row]) > _LEAST_Z * np.sqrt(spread):
            found[row] = Drift(float(np.expm1(change[row])), change_point(logs))
    return found


def _last_against_first(
    rows: FloatArray, lowest: FloatArray, highest: FloatArray, third: int
) -> tuple[FloatArray, FloatArray]:
    """Return the difference of the mean logs of the last and the first third, and its error without correlation."""
    first = np.log(np.clip(rows[:, :third], lowest, highest))
    last = np.log(np.clip(rows[:, rows.shape[1] - third :], lowest, highest))
    error = np.sqrt((first.var(axis=1) + last.var(axis=1)) / third)
    return last.mean(axis=1) - first.mean(axis=1), error


def change_point(logs: FloatArray) -> int | None:
    """Return the request at which the level moved most: the greatest step of the best partition of 128 block medians.

    Optimal partitioning with squared error (Jackson et al. 2005) and a penalty of `6 log(blocks)` noise variances, the noise taken
    from differences of neighbours. None where the level moved too slowly for one step.
    """
    width = -(-logs.size // _SEGMENT_BLOCKS)
    count = logs.size // width
    skipped = logs.size - count * width
    blocks = np.median(logs[skipped:].reshape(count, width), axis=1)
    steps = np.diff(blocks)
    noise = max((1.4826 * float(np.median(np.abs(steps - np.median(steps))))) ** 2 / 2, 1e-10)
    bounds = _partition(blocks, 6 * float(np.log(count)) * noise)
    if len(bounds) == 2:
        return None
    levels = [float(blocks[a:b].mean()) for a, b in pairwise(bounds)]
    largest = int(np.argmax(np.abs(np.diff(levels))))
    return skipped + bounds[largest + 1] * width


def _partition(values: FloatArray, penalty: float) -> Sequence[int]:
    sums, squares = np.r_[0.0, np.cumsum(values)], np.r_[0.0, np.cumsum(values**2)]
    cost = np.zeros(values.size + 1)
    cost[0] = -penalty
    previous = np.zeros(values.size + 1, dtype=np.int64)
    for end in range(1, values.size + 1):
        start = np.arange(end)
        error = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)
        total = cost[:end] + error + penalty
        previous[end] = int(np.argmin(total))
        cost[end] = total[previous[end]]
    bounds = [values.size]
    while bounds[-1] > 0:
        bounds.append(int(previous[bounds[-1]]))
    return bounds[::-1]
