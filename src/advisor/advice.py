"""The answer: what `advise` returns and every report shows."""

from dataclasses import dataclass, field
from typing import Literal

from pandera.typing.pandas import DataFrame

from advisor.evidence import Estimate
from advisor.tables import Ranked, Rejected
from advisor.workload import Workload


@dataclass(frozen=True)
class Note:
    """One thing the reader must know, worded in one place.

    Attributes:
        code: stable name for scripts ("stale_prices", "memory_not_checked", ...).
        text: one sentence, without a full stop at its end.
    """

    code: str
    text: str


@dataclass(frozen=True)
class Choice:
    """One option in short: what a headline needs. The whole row is `ranked.iloc[rank - 1]`."""

    rank: int
    option: str
    kind: str
    instance_type: str
    attached_accelerator: str
    attached_accelerator_count: int
    region: str
    purchase_option: str
    price_usd_per_hour: float
    cost_usd_per_100k: Estimate
    cost_usd_per_month: float
    latency_mean_ms: Estimate
    latency_percentile_ms: Estimate | None
    verdict: str
    grade: str
    probability_best: float | None
    more_needed: int | None
    cost_usd_per_100k_served: float | None = None
    """From the throughput, where that was measured. Under the objective `served-cost` an option may have this cost
    and no mean latency: then the points of `cost_usd_per_100k` and `latency_mean_ms` are NaN."""


@dataclass(frozen=True)
class Switch:
    """A stretch of limits over which one option is recommended.

    Attributes:
        from_ms: lowest limit (inclusive) at which `option` is recommended.
        to_ms: first limit at which another one is; None: no upper end.
        option: the option, or None where nothing qualifies.
        cost_usd_per_100k: its cost, None with no option.
    """

    from_ms: float
    to_ms: float | None
    option: str | None
    region: str
    purchase_option: str
    cost_usd_per_100k: float | None


@dataclass(frozen=True)
class Place:
    """The cheapest option that passes every step in one region under one purchase option.

    Attributes:
        price_usd_per_hour: host and accelerators.
        cost_usd_per_100k: by the objective: from the mean latency, or from the throughput for `served-cost`.
    """

    region: str
    purchase_option: str
    option: str
    price_usd_per_hour: float
    cost_usd_per_100k: float


Role = Literal["prices", "hardware", "latency"]
"""What a source is used for."""


@dataclass(frozen=True)
class SourceUsed:
    """A source that a shown figure rests on."""

    role: Role
    source: str
    description: str
    as_of: str
    row_count: int


@dataclass(frozen=True)
class Advice:
    """The answer to one `Workload`.

    Attributes:
        question: the question, with everything filled in that was left open (the model, for example).
        headline: one sentence that a manager can quote.
        recommended: first of `ranked` (with `decide="proven"`: the cheapest proved one), or None.
        proven: the cheapest option with verdict pass, or None.
        ranked: options that passed every step; row i has rank i + 1.
        rejected: the others that were measured for this model and input, with the step that rejected them.
        unmeasured_count: sold types in the asked regions without a benchmark of this model and input.
        unmeasured: the instance types counted, sorted.
        switches: the recommendation as the limit moves, by rising limit; empty where no limit is asked.
        probability_none_kept: chance that no option keeps the promise, where it is known.
        notes: what the reader must know.
        sources: what the shown figures rest on.
        origin: which price and benchmark files were used.
        places: the cheapest option of each asked region and purchase option; empty where only one place is asked.
    """

    question: Workload
    headline: str
    recommended: Choice | None
    proven: Choice | None
    ranked: DataFrame[Ranked]
    rejected: DataFrame[Rejected]
    unmeasured_count: int
    unmeasured: tuple[str, ...]
    switches: tuple[Switch, ...] = ()
    probability_none_kept: float | None = None
    notes: tuple[Note, ...] = ()
    sources: tuple[SourceUsed, ...] = ()
    origin: tuple[str, ...] = field(default=())
    places: tuple[Place, ...] = ()
