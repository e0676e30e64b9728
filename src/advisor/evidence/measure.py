"""The figures of each run on which every interval rests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from advisor.arrays import FloatArray, IntArray
from advisor.evidence.autocorrelation import inflation, ranks, share_inflation

_Number = TypeVar("_Number", np.float64, np.int32)


@dataclass(frozen=True)
class Runs:
    """The runs of several series.

    Attributes:
        rows: latencies of each run in the order measured, ms.
        owner: series of each run, shape (r,), 0 .. s - 1.
        size: requests of each run, shape (r,).
        mean: shape (r,), ms.
        variance: shape (r,), ms^2; 0 where there is no spread or one request.
        mean_tau: inflation of the mean, shape (r,).
        whole_tau: the larger inflation of the latencies and of their ranks, shape (r,).
        ordered: sorted latencies of each run.
        pooled: sorted latencies of each series; empty where every request failed.
    """

    rows: Sequence[FloatArray]
    owner: IntArray
    size: FloatArray
    mean: FloatArray
    variance: FloatArray
    mean_tau: FloatArray
    whole_tau: FloatArray
    ordered: Sequence[FloatArray]
    pooled: Sequence[FloatArray]

    @classmethod
    def of(cls, rows: Sequence[FloatArray], owner: IntArray, series_count: int) -> "Runs":
        """Measure runs, none of them empty."""
        size = np.array([row.size for row in rows], dtype=np.float64)
        mean, variance, mean_tau, whole_tau = np.ones((4, len(rows)))
        ordered = [np.empty(0)] * len(rows)
        for members, block in by_length(rows):
            rank, in_order = ranks(block)
            for member, row in zip(members.tolist(), in_order, strict=True):
                ordered[member] = row
            mean[members] = block.mean(axis=1)
            spread = in_order[:, 0] < in_order[:, -1]
            variance[members] = np.where(spread, block.var(axis=1) * _bessel(block.shape[1]), 0.0)
            of_block, of_rank = inflation(block, rank)
            mean_tau[members] = of_block
            whole_tau[members] = np.maximum(of_block, of_rank)
        pooled = [np.empty(0)] * series_count
        for series in range(series_count):
            own = [ordered[run] for run in np.flatnonzero(owner == series).tolist()]
            if own:
                pooled[series] = own[0] if len(own) == 1 else np.sort(np.concatenate(own))
        return cls(rows, owner, size, mean, variance, mean_tau, whole_tau, ordered, pooled)

    def at_or_under(self, *latencies_ms: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Count the requests at or under some latencies.

        Args:
            latencies_ms: each one latency a series, shape (s,).

        Returns:
            The count of each run and the inflation of its share, each of shape (len(latencies_ms), r).
        """
        hits, tau = np.ones((2, len(latencies_ms), len(self.rows)))
        for members, block in by_length(self.rows):
            inside = [block <= edges[self.owner[members]][:, None] for edges in latencies_ms]
            count = np.array([one.sum(axis=1) for one in inside])
            hits[:, members] = count
            constant = (count == 0) | (count == block.shape[1])
            tau[:, members] = share_inflation(inflation(*inside), self.whole_tau[members], constant)
        return hits, tau


def by_length(rows: Sequence[FloatArray]) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the indices of rows of one length, and those rows under each other."""
    lengths = np.array([row.size for row in rows], dtype=np.int64)
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        yield members, stack(rows, members)


def stack(rows: Sequence[npt.NDArray[_Number]], members: IntArray) -> npt.NDArray[_Number]:
    """Put rows of one length under each other; a single long row is not copied."""
    return (
        rows[int(members[0])][None, :] if members.size == 1 else np.stack([rows[m] for m in members.tolist()])
    )


def _bessel(n: int) -> float:
    return n / (n - 1) if n > 1 else 0.0
