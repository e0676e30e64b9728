"""A verdict where only a bracket of the share within the limit is known: summaries and histograms."""

import numpy as np

from advisor.errors import InputError
from advisor.evidence.intervals import probability_above, share_limits
from advisor.evidence.promise import Promise, more_needed
from advisor.evidence.types import Assessment, Estimate, Grade, Verdict

_GRADE_NOTES = {
    "C": "a histogram: the order of the requests is lost, so they are taken as independent",
    "D": "a summary: the order of the requests is lost, so they are taken as independent",
}


def assess_bracket(
    promise: Promise,
    bracket: tuple[float, float],
    *,
    count: int | None,
    error_count: int,
    look: int,
    grade: Grade,
    quantile: Estimate | None,
    mean: Estimate | None,
    log_mean_se: float | None,
) -> Assessment:
    """Judge a sample whose share within the limit lies in `bracket`: a pass by its low end, a fail by its high end.

    Args:
        promise: what is judged.
        bracket: least and greatest share of the successful requests within the limit.
        count: successful requests; None: unknown, and then nothing is proved.
        error_count: failed requests, not within any limit.
        look: how many times this growing sample has been judged, counting this one.
        grade: C or D.
        quantile: the percentile, as it will be shown.
        mean: the mean, as it will be shown.
        log_mean_se: standard error of log(mean).

    Raises:
        InputError: there is neither a successful nor a failed request.
        QuestionError: look is out of bounds.
    """
    level = promise.level(look)
    if count == 0 and error_count == 0:
        raise InputError("there is no request at all, neither successful nor failed")
    notes = [_GRADE_NOTES[grade]]
    verdict: Verdict = "undecided"
    share: Estimate | None = None
    probability = tolerated = further = None
    one_sided = False
    if promise.limit_ms is not None and count is None:
        notes.append("how many requests were measured is not known, so nothing is proved")
    elif promise.limit_ms is not None and count is not None:
        requests = count + error_count
        least, most = (end * count / requests for end in bracket)
        low, high = _limits(least, most, requests, level)
        share = Estimate(least, low, high)
        verdict = promise.verdict(low, high)
        one_sided = least >= promise.share or most < promise.share
        if one_sided:
            nearer = least if least >= promise.share else most
            probability = _probability(nearer, requests, promise)
            further = _more_needed(promise, nearer, requests, look)
        else:
            notes.append(
                f"between {100 * least:.1f} % and {100 * most:.1f} % of the requests were within the limit: too coarse to decide, "
                "keep every latency"
            )
        if verdict != "undecided":
            tolerated = _tolerated(promise, verdict, (least, most), requests, level)
    open_ = verdict == "undecided" and one_sided
    return Assessment(
        verdict=verdict,
        grade=grade,
        probability=probability,
        share_within=share,
        quantile_ms=quantile,
        mean_ms=mean,
        quantile_untrimmed_ms=quantile.point if quantile else None,
        mean_untrimmed_ms=mean.point if mean else None,
        tau=None,
        effective_count=None,
        tau_tolerated=tolerated,
        more_needed=further if open_ else None,
        more_helps=not open_ or further is not None,
        run_count=1,
        warmup_count=0,
        drift=None,
        outlier_count=0,
        log_mean_se=log_mean_se,
        notes=tuple(notes),
    )


def _limits(least: float, most: float, requests: float, level: float) -> tuple[float, float]:
    low, high = share_limits(*(np.asarray(one, dtype=np.float64) for one in (least, most, requests, level)))
    return float(low), float(high)


def _probability(share: float, requests: int, promise: Promise) -> float:
    return float(probability_above(np.asarray(share), np.asarray(float(requests)), promise.share))


def _more_needed(promise: Promise, share: float, requests: int, look: int) -> int | None:
    size = np.array([float(requests)])
    further = more_needed(promise, np.array([share]), size, size, np.array([look]))[0]
    return int(further) if np.isfinite(further) else None


def _tolerated(
    promise: Promise, wanted: Verdict, ends: tuple[float, float], requests: int, level: float
) -> float:
    """Return the greatest tau (at least 1) at which the verdict would still stand."""
    stands, falls = 1.0, float(requests) * 1e3
    for _ in range(60):
        middle = (stands * falls) ** 0.5
        if promise.verdict(*_limits(*ends, requests / middle, level)) == wanted:
            stands = middle
        else:
            falls = middle
    return stands
