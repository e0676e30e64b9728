"""The promise that is judged, and the one rule by which every kind of data is judged."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from advisor.arrays import FloatArray
from advisor.errors import QuestionError
from advisor.evidence.intervals import EQUAL, side_level
from advisor.evidence.needed import least_count, needed_count
from advisor.evidence.types import Verdict

SHORTEST_MS: Final = 1e-12
LONGEST_MS: Final = 1e12
"""Latencies and limits lie between (a zeptosecond, 31 years), so that sums of their squares stay finite."""

MOST_REQUESTS: Final = 10**15
"""More requests than that are a mistake; shares of them would no longer be exact."""

MOST_LOOKS: Final = 10**9

_REACH = 20
"""More than so many times the requests there are is not "soon", unless no sample could prove anything with fewer."""


@dataclass(frozen=True)
class Promise:
    """A percentile of the latency keeps a limit; and with which confidence that is to be said.

    Attributes:
        limit_ms: None where no limit is asked.
        percentile: between 0 and 100.
        confidence: of two-sided intervals, between 0 and 1.
    """

    limit_ms: float | None
    percentile: float
    confidence: float

    def __post_init__(self) -> None:
        if self.limit_ms is not None and not 0 < self.limit_ms <= LONGEST_MS:
            raise QuestionError(
                f"the latency limit must be a number of ms above 0 and at most {LONGEST_MS:g}, not {self.limit_ms}"
            )
        if not 0 < self.percentile < 100:
            raise QuestionError(f"the percentile must lie between 0 and 100, not {self.percentile}")
        if not 0 < self.confidence < 1:
            raise QuestionError(f"the confidence must lie between 0 and 1, not {self.confidence}")

    @property
    def share(self) -> float:
        """Share of requests that must be within the limit, 0 .. 1."""
        return self.percentile / 100

    @property
    def widest_ms(self) -> float:
        """Greatest latency that counts as within the limit."""
        return np.inf if self.limit_ms is None else self.limit_ms * EQUAL

    def level(self, look: int) -> float:
        """Error allowed on each side at the j-th look."""
        if not 1 <= look <= MOST_LOOKS:
            raise QuestionError(f"look counts from 1 (to {MOST_LOOKS} at most), not {look}")
        return float(side_level(self.confidence, look))

    def verdict(self, low: float, high: float) -> Verdict:
        """What the interval of the share within the limit proves."""
        if self.limit_ms is None:
            return "undecided"
        return "pass" if low >= self.share else "fail" if high < self.share else "undecided"


def more_needed(
    promise: Promise, share: FloatArray, size: FloatArray, count: FloatArray, look: npt.NDArray[np.int64]
) -> FloatArray:
    """Return how many further requests would probably settle each verdict at the next look.

    Args:
        share: share within the limit, shape (s,).
        size: requests there are, shape (s,).
        count: what they are worth, shape (s,).
        look: of the judgement just made, shape (s,).

    Returns:
        Shape (s,), whole numbers of at least 1; infinite where over 20 times the present number would be needed.
    """
    level = side_level(promise.confidence, look + 1)
    tau = size / count
    allowed = np.full(share.shape, 1 - promise.share)
    reach = np.maximum((_REACH + 1) * count, least_count(allowed, np.zeros(share.shape), level))
    return np.maximum(np.ceil(tau * needed_count(1 - share, allowed, level, reach)) - size, 1)
