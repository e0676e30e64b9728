"""How much less a correlated series tells than independent requests would.

The inflation tau is the integrated autocorrelation time: the variance of a mean of n requests is `variance * tau / n`, so
that n requests are worth `n / tau` independent ones. It is estimated from an autoregression whose order is chosen by AIC,
as in `spectrum0.ar` of the R package coda (Plummer et al. 2006), by the recursion of Levinson and Durbin.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_BLOCK_ELEMENTS: Final = 1 << 16
"""Elements worked on at a time: fits a second-level cache, and bounds the memory beyond the series itself."""


def lag_count(n: int) -> int:
    """Return the highest order tried for a series of n requests: 10 log10 n, as in R's `ar`."""
    return max(0, min(int(10 * np.log10(max(n, 1))), n // 2))


def autocovariances(rows: npt.NDArray[Any], lags: int) -> FloatArray:
    """Return the autocovariances of each row at lags 0 .. `lags`, divided by n (so that the fit is stable).

    Args:
        rows: shape (r, n), any number type; it is never copied whole.
        lags: below n.

    Returns:
        Shape (r, lags + 1).
    """
    row_count, n = rows.shape
    products = np.zeros((row_count, lags + 1))
    means = rows.mean(axis=1, keepdims=True, dtype=np.float64)
    columns = min(n, _BLOCK_ELEMENTS)
    height = max(1, _BLOCK_ELEMENTS // columns)
    for top in range(0, row_count, height):
        block = slice(top, top + height)
        for start in range(0, n, columns):
            piece = rows[block, start : start + columns + lags] - means[block]
            for lag in range(min(lags + 1, piece.shape[1])):
                width = min(columns, piece.shape[1] - lag)
                products[block, lag] += np.einsum("ij,ij->i", piece[:, :width], piece[:, lag : lag + width])
    return np.asarray(products / n)


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
        covariances = np.concatenate([autocovariances(rows, lags) for rows in stacks])
        varies = covariances[:, 0] > 0
        if varies.all():
            tau = _fit(covariances, n)
        elif varies.any():
            tau[varies] = _fit(covariances[varies], n)
    return tau.reshape(len(stacks), row_count)


def _fit(covariances: FloatArray, n: int) -> FloatArray:
    row_count, width = covariances.shape
    correlations = covariances / covariances[:, :1]
    coefficients = np.zeros((row_count, width))
    residual = np.ones(row_count)
    best_aic = np.zeros(row_count)
    tau = np.ones(row_count)
    for order in range(1, width):
        if n - order - 1 <= 0:
            break
        known = coefficients[:, 1:order]
        explained = np.einsum("ij,ij->i", known, correlations[:, order - 1 : 0 : -1])
        partial = np.clip((correlations[:, order] - explained) / residual, -0.9999, 0.9999)
        coefficients[:, 1:order] = known - partial[:, None] * known[:, ::-1]
        coefficients[:, order] = partial
        residual = np.maximum(residual * (1 - partial * partial), 1e-12)
        aic = n * np.log(residual) + 2 * order
        gain = 1 - coefficients[:, 1 : order + 1].sum(axis=1)
        candidate = residual * n / (n - order - 1) / np.maximum(gain * gain, 1e-12)
        better = aic < best_aic
        best_aic = np.where(better, aic, best_aic)
        tau = np.where(better, candidate, tau)
    return np.clip(tau, 1.0, n)


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


def share_inflation(own: FloatArray, rank: FloatArray, constant: npt.NDArray[np.bool_]) -> FloatArray:
    """Return tau of a share of requests: that of the indicator, but not below its geometric mean with that of the ranks.

    An indicator that is 1 nine times in ten shows less of a correlation than there is; the ranks show all of it. Where the
    indicator does not vary, only the ranks can tell.

    Args:
        own: tau of the indicator.
        rank: tau of the ranks.
        constant: where the indicator does not vary.
    """
    return np.where(constant, rank, np.maximum(own, np.sqrt(own * rank)))
