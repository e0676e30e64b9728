"""What a histogram proves: the bucket that holds the limit counts as beyond it for a pass, and as within it for a fail."""

import numpy as np
import numpy.typing as npt

from advisor.errors import InputError
from advisor.evidence.brackets import assess_bracket
from advisor.evidence.intervals import EQUAL, quantile_ranks
from advisor.evidence.promise import MOST_REQUESTS, Promise
from advisor.evidence.types import Assessment, Estimate


def assess_histogram(
    upper_edges_ms: npt.ArrayLike,
    counts: npt.ArrayLike,
    limit_ms: float | None,
    percentile: float = 90,
    confidence: float = 0.95,
    error_count: int = 0,
    look: int = 1,
) -> Assessment:
    """Say what counts of latencies in buckets prove about a promise, if the requests were independent (grade C).

    No latency is interpolated: the percentile shown is the upper edge of its bucket, its interval runs from edge to edge, and a
    mean is not given.

    Args:
        upper_edges_ms: upper edges of the buckets, rising, shape (b,); the last may be infinite. A request at an edge belongs to
            the bucket below it; the first bucket begins at 0.
        counts: successful requests in each bucket, shape (b,).
        limit_ms: the limit, ms; None where no limit is asked.
        percentile: the promised percentile, between 0 and 100.
        confidence: of the two-sided intervals.
        error_count: failed requests; they count as infinitely slow.
        look: how many times this growing sample has been judged, counting this one.

    Raises:
        InputError: edges and counts do not describe a histogram, or it is empty.
        QuestionError: limit, percentile, confidence or look is out of bounds.
    """
    promise = Promise(limit_ms, percentile, confidence)
    edges = np.asarray(upper_edges_ms, dtype=np.float64)
    numbers = np.asarray(counts, dtype=np.float64)
    if edges.ndim != 1 or edges.shape != numbers.shape or edges.size == 0:
        raise InputError(
            f"a histogram needs one count for each upper edge: {edges.shape} edges, {numbers.shape} counts"
        )
    if not (edges[0] > 0 and (np.diff(edges) > 0).all()):
        raise InputError("the upper edges of a histogram must rise from above 0")
    if not ((numbers >= 0).all() and (numbers == np.floor(numbers)).all() and np.isfinite(numbers).all()):
        raise InputError("the counts of a histogram must be whole numbers of at least 0")
    if not numbers.sum() <= MOST_REQUESTS:
        raise InputError(f"a histogram counts {MOST_REQUESTS} requests at most")
    upto = np.cumsum(numbers)
    total = int(upto[-1])
    bracket = (0.0, 1.0)
    if limit_ms is not None and total:
        whole = int(np.searchsorted(edges, limit_ms * EQUAL, side="right"))
        starts_at_limit = whole and edges[whole - 1] * EQUAL >= limit_ms
        least = upto[whole - 1] if whole else 0.0
        most = least if starts_at_limit or whole == edges.size else upto[whole]
        bracket = (float(least / total), float(most / total))
    return assess_bracket(
        promise,
        bracket,
        count=total,
        error_count=error_count,
        look=look,
        grade="C",
        quantile=_quantile(edges, upto, total, promise, promise.level(look)) if total else None,
        mean=None,
        log_mean_se=None,
    )


def _quantile(
    edges: npt.NDArray[np.float64], upto: npt.NDArray[np.float64], total: int, promise: Promise, level: float
) -> Estimate | None:
    size = np.array([total])
    lower, upper = (
        int(rank[0]) for rank in quantile_ranks(promise.share, size, size * 1.0, np.array([level]))
    )
    point = edges[np.searchsorted(upto, max(1.0, np.ceil(total * promise.share - 1e-9)))]
    if not np.isfinite(point):
        return None
    low_bucket = int(np.searchsorted(upto, lower)) if lower >= 1 else 0
    high = float(edges[np.searchsorted(upto, upper)]) if upper <= total else np.inf
    return Estimate(
        float(point),
        float(edges[low_bucket - 1]) if low_bucket >= 1 else None,
        high if np.isfinite(high) else None,
    )
