"""How much less a correlated series tells than independent requests would.

The inflation tau is the integrated autocorrelation time: the variance of a mean of n requests is `variance * tau / n`, so
that n requests are worth `n / tau` independent ones. It is estimated from an autoregression whose order is chosen by AIC,
as in `spectrum0.ar` of the R package coda (Plummer et al. 2006), by the recursion of Levinson and Durbin.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from advisor.arrays import FloatArray

_BLOCK_ELEMENTS: Final = 1 << 16
"""Elements worked on at a time: fits a second-level cache, and bounds the memory beyond the series itself."""

_PRODUCT_LIMIT: Final = 200_000
"""Multiplications of one matrix product. BLAS starts threads above 2^18, and on a busy machine they wait for each other."""


def lag_count(n: int) -> int:
    """Return the highest order tried for a series of n requests: 10 log10 n, as in R's `ar`."""
    return max(0, min(int(10 * np.log10(max(n, 1))), n // 2))


def autocovariances(rows: npt.NDArray[Any], lags: int) -> FloatArray:
    """Return the autocovariances of each row at lags 0 .. `lags`, divided by n (so that the fit is stable).

    The row is cut into segments of lags + 1 requests; one matrix product holds every product of a request of a segment with
    those ahead of it, and the sums of its diagonals are the autocovariances. Twice as fast as lag by lag.

    Args:
        rows: shape (r, n), any number type; it is never copied whole.
        lags: at least 1, below n.

    Returns:
        Shape (r, lags + 1).
    """
    row_count, n = rows.shape
    width = lags + 1
    means = rows.mean(axis=1, keepdims=True, dtype=np.float64)
    segment_count = max(1, min(-(-n // width), _PRODUCT_LIMIT // (width * (2 * width - 1))))
    columns = segment_count * width
    height = max(1, _BLOCK_ELEMENTS // columns)
    sums = np.zeros((row_count, width))
    for top in range(0, row_count, height):
        block = slice(top, top + height)
        for start in range(0, n, columns):
            piece = rows[block, start : start + columns + lags]
            centred = np.zeros((piece.shape[0], columns + width))
            np.subtract(piece, means[block], out=centred[:, : piece.shape[1]])
            segments = centred.reshape(piece.shape[0], -1, width)[:, :-1]
            ahead = sliding_window_view(centred, 2 * width - 1, axis=1)[:, ::width]
            products = segments.transpose(0, 2, 1) @ ahead
            of_row, of_request, of_ahead = products.strides
            diagonals = as_strided(
                products,
                (piece.shape[0], width, width),
                (of_row, of_ahead, of_request + of_ahead),
                writeable=False,
            )
            sums[block] += diagonals.sum(axis=2)
    return np.asarray(sums / n)


def inflation(*stacks: npt.NDArray[Any]) -> FloatArray:
    """Return tau of the mean of each row, at least 1 and at most n.

    `tau = [v_p n / (n - p - 1)] / (1 - sum phi)^2 / variance` with the order p of the least AIC. Negative correlation is never
    credited: below 1 it is 1. A row without spread has tau 1.

    Args:
        stacks: arrays of one shape (r, n), any number types; fitted together because that is faster.

    Returns:
        Shape (len(stacks), r).
    """
    row_count, n = stacks[0].shape
    lags = lag_count(n)
    tau = np.ones(len(stacks) * row_count)
    if lags:
        varies = np.concatenate([(rows != rows[:, :1]).any(axis=1) for rows in stacks])
        if varies.any():
            covariances = np.concatenate([autocovariances(rows, lags) for rows in stacks])
            tau[varies] = _fit(covariances[varies], n)
    return tau.reshape(len(stacks), row_count)


def _fit(covariances: FloatArray, n: int) -> FloatArray:
    correlations = np.ascontiguousarray((covariances / covariances[:, :1]).T)
    orders = np.arange(min(correlations.shape[0], n - 1))[:, None]
    coefficients = np.zeros(correlations.shape)
    residual, gain = np.ones((2, orders.size, correlations.shape[1]))
    for order in range(1, orders.size):
        known = coefficients[1:order]
        partial = correlations[order] - np.einsum("ij,ij->j", known, correlations[order - 1 : 0 : -1])
        partial /= residual[order - 1]
        np.minimum(np.maximum(partial, -0.9999, out=partial), 0.9999, out=partial)
        coefficients[1:order] = known - partial * known[::-1]
        coefficients[order] = partial
        residual[order] = residual[order - 1] * (1 - partial * partial)
        gain[order] -= coefficients[1 : order + 1].sum(axis=0)
    best = np.argmin(n * np.log(residual) + 2 * orders, axis=0)
    chosen = (best, np.arange(best.size))
    # with order 0 nothing was fitted, and tau is 1
    degrees = np.where(best > 0, n / (n - best - 1), 1.0)
    return np.asarray(np.clip(residual[chosen] * degrees / np.maximum(gain[chosen] ** 2, 1e-12), 1.0, n))


def ranks(rows: FloatArray) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Return the rank of each request within its row (equal requests share one), and the sorted rows.

    Returns:
        Two arrays of the shape of `rows`.
    """
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    positions = np.broadcast_to(np.arange(rows.shape[1], dtype=np.int32), rows.shape)
    repeats = ordered[:, 1:] == ordered[:, :-1]
    if repeats.any():
        positions = positions.copy()
        positions[:, 1:][repeats] = 0
        np.maximum.accumulate(positions, axis=1, out=positions)
    rank = np.empty(rows.shape, dtype=np.int32)
    np.put_along_axis(rank, order, positions, axis=1)
    return rank, ordered


def share_inflation(own: FloatArray, whole: FloatArray, constant: npt.NDArray[np.bool_]) -> FloatArray:
    """Return tau of a share of requests: that of the indicator, but not below its geometric mean with that of the latencies.

    An indicator that is 1 nine times in ten shows less of a correlation than there is; the latencies show all of it. Where the
    indicator does not vary, only they can tell.

    Args:
        own: tau of the indicator.
        whole: tau of the latencies.
        constant: where the indicator does not vary.
    """
    return np.where(constant, whole, np.maximum(own, np.sqrt(own * whole)))
