"""The order of the candidates, how sure it is, and what would change it. Numpy on plain arrays."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from scipy.special import ndtr

from advisor.arrays import BoolArray, FloatArray, IntArray

Exact = Callable[[int], Fraction]
"""The exact cost of the candidate at a place: products and sums of the figures as they were written."""

TIE_FRACTION: Final = Fraction(1, 100)
_NEAR: Final = 1e-9
_NODES: Final = 400
_LEAST_SPREAD: Final = 1e-6
_BEST_SET: Final = 0.95


def order(cost: FloatArray, latency_rank: IntArray, exact: Exact) -> IntArray:
    """Return the places of the candidates from the best to the worst.

    Sorted by cost. A group of equals is led by its cheapest; a member has the same cost rounded half up to the cent
    per 100,000 and is within 1 % of the leader. Inside a group the lower percentile latency comes first, then the
    cost, then the place. Both conditions are decided exactly where floating point cannot.

    Args:
        cost: USD per 100,000, shape (n,), finite.
        latency_rank: rank of the asked percentile, shape (n,), 0 .. n - 1; equal latencies have equal ranks.
        exact: the exact cost at a place; asked for only where rounding could decide.
    """
    n = cost.size
    if n == 0:
        return np.empty(0, np.int64)
    by_cost = np.argsort(cost)
    sorted_cost = cost[by_cost]
    equal = np.flatnonzero(np.r_[False, sorted_cost[1:] == sorted_cost[:-1]])
    if equal.size:  # numpy's fast sort is not stable
        runs = np.union1d(equal, equal - 1)
        by_cost[runs] = by_cost[runs][np.lexsort((by_cost[runs], sorted_cost[runs]))]
    starts = _group_starts(sorted_cost, lambda place: exact(int(by_cost[place])))
    sizes = np.diff(np.r_[starts, n])
    shared = np.flatnonzero(np.repeat(sizes > 1, sizes))
    if shared.size:
        group = np.repeat(np.arange(starts.size), sizes)[shared]
        by_cost[shared] = by_cost[shared][_sorted_by(group, latency_rank[by_cost[shared]])]
    return by_cost


def _sorted_by(first: IntArray, second: IntArray) -> IntArray:
    """Places sorted by two whole-number keys and then by place."""
    n, width = first.size, int(second.max()) + 1
    if (int(first[-1]) + 1) * width * n >= 2**62:
        return np.lexsort((second, first))
    return np.sort((first * width + second) * n + np.arange(n)) % n


def _group_starts(sorted_cost: FloatArray, exact: Exact) -> IntArray:
    """The first place of each group of equals.

    A run of one cent from $1 up lies within 1 % of its first; below, it may be several groups.
    """
    cents = sorted_cost * 100 + 0.5
    whole = np.floor(cents)
    for place in np.flatnonzero(np.abs(cents - np.round(cents)) <= _NEAR * np.maximum(cents, 1)).tolist():
        whole[place] = float((exact(place) * 100 + Fraction(1, 2)) // 1)
    starts = np.flatnonzero(np.r_[True, whole[1:] != whole[:-1]])
    ends = np.r_[starts[1:], sorted_cost.size]
    wide = np.flatnonzero(sorted_cost[ends - 1] > sorted_cost[starts] * (1 + float(TIE_FRACTION) - _NEAR))
    further = []
    for start, end in zip(starts[wide].tolist(), ends[wide].tolist(), strict=True):
        leader = start
        while (leader := _next_leader(sorted_cost, leader, end, exact)) < end:
            further.append(leader)
    return np.sort(np.r_[starts, np.array(further, np.int64)])


def _next_leader(sorted_cost: FloatArray, leader: int, end: int, exact: Exact) -> int:
    """The first place before `end` that is not within 1 % of the leader."""
    most = float(sorted_cost[leader]) * (1 + float(TIE_FRACTION))
    within = sorted_cost[leader:end]
    place = leader + int(np.searchsorted(within, most * (1 - _NEAR), side="right"))
    unsure = leader + int(np.searchsorted(within, most * (1 + _NEAR), side="right"))
    while place < unsure and exact(place) <= exact(leader) * (1 + TIE_FRACTION):
        place += 1
    return place


def probability_best(
    log_cost: FloatArray, log_cost_se: FloatArray, kept_probability: FloatArray
) -> tuple[FloatArray, float]:
    """Return the chance of each option to be the cheapest that keeps the promise, and that none keeps it.

    Log costs are shrunk by empirical Bayes towards their mean, weighted by precision: t2 is the spread of the true log costs
    (Paule and Mandel), w = t2 / (t2 + se^2), mu = w y + (1 - w) mean, s = sqrt(w) se. Then, with independent normal log costs,

        P(j is the cheapest that keeps it) = Int pi_j f_j(u) Prod_{i != j} (1 - pi_i F_i(u)) du,

    by quadrature over the increments of F_j; P(none keeps it) = Prod (1 - pi_i). No random numbers.
    Source: docs/method-selection.md, "Probability of being best".

    Args:
        log_cost: natural log of the cost, shape (n,), finite.
        log_cost_se: its standard error, shape (n,), >= 0.
        kept_probability: chance that the promise is kept, shape (n,), 0 .. 1.
    """
    if log_cost.size == 0:
        return np.empty(0), 1.0
    centre, sd = shrunken(log_cost, log_cost_se)
    best = np.zeros(log_cost.size)
    nodes, competing = _nodes(centre, sd, kept_probability)
    below = ndtr((nodes[:, None] - centre[competing]) / sd[competing])
    dearer = 1 - kept_probability[competing] * below
    with np.errstate(divide="ignore"):
        logs = np.log(dearer)
    none_cheaper = np.exp(
        np.minimum(logs.sum(axis=1, keepdims=True) - logs, 0.0),
        where=np.isfinite(logs),
        out=np.zeros_like(logs),
    )
    gain = np.diff(below, axis=0) * (none_cheaper[1:] + none_cheaper[:-1]) / 2
    best[competing] = kept_probability[competing] * gain.sum(axis=0)
    none_kept = float(np.prod(1 - kept_probability))
    if best.sum() > 0:
        best *= (1 - none_kept) / best.sum()  # one of these things happens
    return best, none_kept


def shrunken(log_cost: FloatArray, log_cost_se: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log costs shrunk towards their mean by empirical Bayes, and the standard errors left, each of shape (n,).

    The spread t2 of the true log costs solves sum (y - mean)^2 / (t2 + se^2) = n - 1 with the mean weighted by
    1 / (t2 + se^2), and is at least 1e-6. Unlike var(y) - mean(se^2) it holds where some errors are many times the others.
    Source: R. C. Paule and J. Mandel, Journal of Research of the NBS 87, 1982; C. N. Morris, JASA 78, 1983.
    """
    variance = log_cost_se**2

    def excess(spread: float) -> float:
        weight = 1 / (spread + variance)
        mean = float(weight @ log_cost) / float(weight.sum())
        return float(weight @ (log_cost - mean) ** 2) - (log_cost.size - 1)

    low, high = _LEAST_SPREAD, max(_LEAST_SPREAD, 4 * float(log_cost.var()))
    if excess(low) <= 0:
        high = low
    while high > low * 1.0001:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    weight = high / (high + variance)
    mean = np.average(log_cost, weights=1 / (high + variance))
    return weight * log_cost + (1 - weight) * mean, np.maximum(np.sqrt(weight) * log_cost_se, 1e-9)


def _nodes(centre: FloatArray, sd: FloatArray, kept: FloatArray) -> tuple[FloatArray, IntArray]:
    """The log costs at which the integrals are taken, and the options that can be the cheapest at all."""
    competing = np.flatnonzero(kept > 0)
    if competing.size == 0:
        competing = np.arange(centre.size)[:1]
    low, high = centre[competing] - 8 * sd[competing], centre[competing] + 8 * sd[competing]
    by_high = np.argsort(high)
    with np.errstate(divide="ignore"):
        none_yet = np.cumsum(np.log1p(-np.minimum(kept[competing][by_high], 1.0)))
    certain = np.flatnonzero(none_yet < np.log(1e-10))
    cut = high[by_high[certain[0]]] if certain.size else high.max()
    near = low <= cut
    competing, low, high = competing[near], low[near], np.minimum(high[near], cut)
    even = np.linspace(low.min(), cut, _NODES // 4)
    z = np.linspace(-6.0, 6.0, 25)
    points = np.sort((centre[competing, None] + sd[competing, None] * z).ravel())
    points = points[points <= cut]
    picked = (
        points[np.linspace(0, points.size - 1, _NODES - even.size).astype(int)] if points.size else points
    )
    return np.unique(np.concatenate([even, picked, [low.min(), cut]])), competing


def best_set(probability: FloatArray) -> BoolArray:
    """Return the options that cannot be told from the best: the smallest set with 95 % of the probability."""
    total = probability.sum()
    ranked = np.argsort(-probability, kind="stable")
    before = np.cumsum(probability[ranked]) - probability[ranked]
    chosen = np.zeros(probability.size, bool)
    if total > 0:
        chosen[ranked[before < _BEST_SET * total]] = True
    return chosen & (probability > 0)


def stretches(keeps_from_ms: FloatArray, first: Callable[[IntArray], int]) -> list[tuple[float, int]]:
    """Return where the recommendation changes as the limit rises: (limit, place of the option that is first).

    Args:
        keeps_from_ms: least limit that each option keeps, shape (n,); inf: none.
        first: the place that is first among some places, in the order of the ranking.
    """
    found: list[tuple[float, int]] = []
    edges = np.unique(keeps_from_ms[np.isfinite(keeps_from_ms)])
    for edge in edges:
        winner = first(np.flatnonzero(keeps_from_ms <= edge))
        if not found or found[-1][1] != winner:
            found.append((float(edge), winner))
    return found
