"""A verdict where only a bracket of the share within the limit is known: summaries and histograms."""

import numpy as np

from advisor.errors import InputError
from advisor.evidence.intervals import probability_above, share_limits
from advisor.evidence.promise import Promise, more_needed
from advisor.evidence.types import Assessment, Estimate, Grade

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
    share: Estimate | None = None
    probability = tolerated = further = None
    if promise.limit_ms is None:
        pass
    elif count is None:
        notes.append("how many requests were measured is not known, so nothing is proved")
    else:
        requests = count + error_count
        least, most = (end * count / requests for end in bracket)
        share = Estimate(least, *_limits(least, most, requests, level))
        if least >= promise.share or most < promise.share:  # the sample itself is on one side
            nearer = least if least >= promise.share else most
            probability = _probability(nearer, requests, promise)
            tolerated = _tolerated(promise, share, least, most, requests, level)
            further = _more_needed(promise, nearer, requests, look)
        else:
            notes.append(
                f"between {least:.1%} and {most:.1%} of the requests were within the limit: too coarse to decide, "
                "keep every latency"
            )
    verdict = (
        "undecided"
        if share is None
        else promise.verdict(share.low or 0.0, 1.0 if share.high is None else share.high)
    )
    open_ = verdict == "undecided" and probability is not None
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
    promise: Promise, share: Estimate, least: float, most: float, requests: int, level: float
) -> float | None:
    """Return the greatest tau (at least 1) at which the verdict would still stand; None where there is none yet."""
    wanted = promise.verdict(share.low or 0.0, 1.0 if share.high is None else share.high)
    if wanted == "undecided":
        return None
    stands, falls = 1.0, float(requests) * 1e3
    for _ in range(60):
        middle = (stands * falls) ** 0.5
        if promise.verdict(*_limits(least, most, requests / middle, level)) == wanted:
            stands = middle
        else:
            falls = middle
    return stands
