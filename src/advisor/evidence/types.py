"""What an assessment says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

Verdict = Literal["pass", "fail", "undecided"]
Grade = Literal["A", "B", "C", "D", "E"]


@dataclass(frozen=True)
class Series:
    """Raw latencies of one benchmark, its runs one after the other.

    Attributes:
        latency_ms: shape (n,), successful requests in the order measured, finite and > 0.
        run_ids: one label a request, or None for a single run.
        error_count: requests that failed; they count as infinitely slow.
        look: how many times this series has been judged, counting this one.
    """

    latency_ms: npt.NDArray[np.float64]
    run_ids: Sequence[object] | npt.NDArray[np.int64] | None = None
    error_count: int = 0
    look: int = 1


@dataclass(frozen=True)
class Summary:
    """All that is known of a latency sample of which only figures were kept. Unknown is None, never 0.

    Attributes:
        percentiles_ms: percentile (0 .. 100) -> latency.
        count: successful requests.
    """

    percentiles_ms: Mapping[float, float] = field(default_factory=dict)
    mean_ms: float | None = None
    std_ms: float | None = None
    min_ms: float | None = None
    max_ms: float | None = None
    count: int | None = None
    error_count: int = 0


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval. A bound that the data cannot give is None, never a guess."""

    point: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Drift:
    """Latency moved during the run (thirds test).

    Attributes:
        change_fraction: last third against first third, 0.10 is 10 % slower.
        at_index: the request where it moved, where that could be found.
    """

    change_fraction: float
    at_index: int | None


@dataclass(frozen=True)
class Assessment:
    """How sure a measured latency distribution makes us that a promise is kept.

    Attributes:
        verdict: what is proved; "pass" and "fail" agree with `share_within` against percentile / 100.
        grade: A five or more runs, B one to four runs with samples, C histogram, D summary, E predicted.
        probability: chance that the promise is kept; None where nothing supports one.
        share_within: share of all requests (failures included) within the limit, 0 .. 1; None without a limit.
        quantile_ms: the percentile of the successful requests, steady state.
        mean_ms: the mean, steady state.
        quantile_untrimmed_ms, mean_untrimmed_ms: the same with the warm-up kept.
        tau: autocorrelation inflation; n / tau requests are worth as much as independent ones.
        effective_count: that many independent requests.
        tau_tolerated: summaries only: the greatest tau at which the verdict would stand.
        more_needed: further requests that would probably settle the verdict; None where settled or out of reach.
        more_helps: False where more requests will not settle it soon (the percentile is at the limit).
        run_count: separate runs.
        warmup_count: requests cut from the start as warm-up.
        drift: a drift that was found, else None.
        outlier_count: requests labelled as outliers (kept in every figure).
        log_mean_se: standard error of log(mean) within the runs (or between them where larger); None: unknown.
        notes: what a reader must know, each one clause.
        mean_freedom: degrees of freedom of that error; None where it is unknown.
    """

    verdict: Verdict
    grade: Grade
    probability: float | None
    share_within: Estimate | None
    quantile_ms: Estimate | None
    mean_ms: Estimate | None
    quantile_untrimmed_ms: float | None
    mean_untrimmed_ms: float | None
    tau: float | None
    effective_count: float | None
    tau_tolerated: float | None
    more_needed: int | None
    more_helps: bool
    run_count: int
    warmup_count: int
    drift: Drift | None
    outlier_count: int
    log_mean_se: float | None
    notes: tuple[str, ...]
    mean_freedom: float | None = None
