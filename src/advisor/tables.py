"""The checked tables: every column declared once with its unit, meaning, bounds and key.

A frame gets its name by passing `validate` where it is made, at the border; nothing inside validates again.
Unknown is `NaN` for numbers and the empty string for text, never 0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import pandas as pd
import pandera.pandas as pa
from pandera.typing.pandas import DataFrame, Series

from advisor.arrays import FloatArray

Kind = Literal["cpu", "graviton", "gpu", "inferentia", "trainium", "attached", "other"]
"""What serves: an x86 CPU, an Arm CPU, an NVIDIA or AMD GPU, a Neuron device, an attached accelerator, else."""
KINDS: Final = get_args(Kind)


def kind_of(accelerator_kind: str, cpu_arch: str) -> Kind:
    """Return what serves on an instance type without attached accelerators, from the two columns of `Instances`."""
    if accelerator_kind != "none":
        built_in: dict[str, Kind] = {"gpu": "gpu", "inferentia": "inferentia", "trainium": "trainium"}
        return built_in.get(accelerator_kind, "other")
    by_arch: dict[str, Kind] = {"arm64": "graviton", "x86_64": "cpu"}
    return by_arch.get(cpu_arch.removesuffix("_mac"), "other")


Availability = Literal["sold", "closed", "unknown"]

Measured = Literal["meets", "misses", "unknown"]
"""The reported or sampled percentile against the limit, as it stands ("skipped" is said when no limit is asked)."""

HOURS_PER_MONTH: Final = 730.0
HOURS_PER_YEAR: Final = 8760.0
MIB_PER_GIB: Final = 1024


def column(meaning: str, unit: str = "", **checks: Any) -> Any:
    """Declare one column: what it means and its unit, with pandera's checks."""
    return pa.Field(description=meaning, metadata={"unit": unit}, **checks)


class _Table(pa.DataFrameModel):
    class Config:
        strict = "filter"
        coerce = True
        metadata = None


class Instances(_Table):
    """Hardware facts, one row an instance type. Key: `instance_type`."""

    instance_type: Series[str] = column("EC2 instance type", unique=True)
    vcpu_count: Series[pd.Int64Dtype] = column("virtual CPUs", "count", ge=1, nullable=True)
    memory_mib: Series[float] = column("host memory, exactly as AWS reports it", "MiB", gt=0, nullable=True)
    cpu_arch: Series[str] = column("x86_64, arm64, x86_64_mac or arm64_mac; empty: unknown")
    processor: Series[str] = column("processor as AWS names it; empty: unknown")
    bare_metal: Series[str] = column("the type is bare metal", isin=["true", "false", ""])
    current_generation: Series[str] = column("AWS calls the type current", isin=["true", "false", ""])
    accelerator_kind: Series[str] = column(
        "what the built-in accelerator is", isin=["none", "gpu", "inferentia", "trainium", "other", ""]
    )
    accelerator_name: Series[str] = column("name of the built-in accelerator")
    accelerator_count: Series[float] = column(
        "built-in accelerators; a fraction is a part of one device", "count", gt=0, nullable=True
    )
    accelerator_memory_mib: Series[float] = column(
        "memory of each device (of the part, where the count is a fraction)", "MiB", gt=0, nullable=True
    )
    neuron_core_count: Series[pd.Int64Dtype] = column(
        "Neuron cores of the type", "count", ge=1, nullable=True
    )
    availability: Series[str] = column("sold, closed or unknown", isin=list(get_args(Availability)))
    availability_as_of: Series[str] = column("date of the availability fact, ISO")
    availability_source: Series[str] = column("source id of the availability fact")
    as_of: Series[str] = column("date of the hardware facts, ISO")
    source: Series[str] = column("source id of the hardware facts")


class Accelerators(_Table):
    """Attachable accelerators, one row a type. Key: `accelerator_type`."""

    accelerator_type: Series[str] = column("attachable accelerator type", unique=True)
    memory_mib: Series[float] = column("memory of one accelerator", "MiB", gt=0, nullable=True)
    fp16_tflops: Series[float] = column("peak half-precision rate", "TFLOPS", gt=0, nullable=True)
    fp32_tflops: Series[float] = column("peak single-precision rate", "TFLOPS", gt=0, nullable=True)
    availability: Series[str] = column("sold, closed or unknown", isin=list(get_args(Availability)))
    availability_as_of: Series[str] = column("date of the availability fact, ISO")
    availability_source: Series[str] = column("source id of the availability fact")
    as_of: Series[str] = column("date of the facts, ISO")
    source: Series[str] = column("source id of the facts")


PRICE_KEY: Final = ("instance_type", "region", "purchase_option", "statistic", "zone", "currency")


class Prices(_Table):
    """Hourly prices, one row a fact. Key: `PRICE_KEY`. Linux, shared tenancy.

    `price_usd_per_hour` is what is compared: the effective hourly price, upfront payments spread over the term
    (hourly + upfront / (8760 x years)). It is unknown for a row in another currency unless the user gives a rate.
    """

    instance_type: Series[str] = column("instance type, or attachable accelerator type, that is priced")
    region: Series[str] = column("region or local zone group code (us-west-2, us-west-2-lax-1)")
    purchase_option: Series[str] = column(
        "on_demand, spot, reserved_..., ..._savings_plan_..., capacity_block, custom"
    )
    statistic: Series[str] = column(
        "list, or for spot what the figure is (window_mean, window_min, last, ...)"
    )
    zone: Series[str] = column("availability zone of a spot figure; empty: the whole region")
    currency: Series[str] = column("USD, CNY or EUR")
    price_usd_per_hour: Series[float] = column("effective price", "USD/h", gt=0, nullable=True)
    price_local_per_hour: Series[float] = column(
        "effective price in `currency`, where that is not USD", "1/h", gt=0, nullable=True
    )
    upfront_usd: Series[float] = column("paid at the start of the term", "USD", ge=0, nullable=True)
    months: Series[pd.Int64Dtype] = column("months the buyer is bound", "months", ge=0, nullable=True)
    as_of: Series[str] = column("date of the fact, ISO")
    source: Series[str] = column("source id")
    note: Series[str] = column("what a reader must know of this row")


class Locations(_Table):
    """Regions, local zones and wavelength zones. Key: `region`."""

    region: Series[str] = column("region or zone group code", unique=True)
    location_name: Series[str] = column("name in AWS's price list")
    location_type: Series[str] = column("region, local_zone or wavelength_zone")
    continent: Series[str] = column("continent")


class Sources(_Table):
    """What the source ids stand for. Key: `source`."""

    source: Series[str] = column("short id", unique=True)
    description: Series[str] = column("where the facts come from, with commit or version")
    as_of: Series[str] = column("newest date of the facts, ISO; empty: see the rows")
    licence: Series[str] = column("licence of the carrier")


BENCHMARK_CONFIGURATION: Final = (
    "model",
    "sequence_length",
    "input_shape",
    "instance_type",
    "attached_accelerator",
    "attached_accelerator_count",
    "backend",
    "precision",
    "batch_size",
    "concurrency",
    "copies",
    "shards",
)
"""What makes two measurements the same thing but for the software version. Rows of one configuration and one
`software` are the runs of one benchmark."""

BENCHMARK_KEY: Final = (*BENCHMARK_CONFIGURATION, "software", "run_id", "measured_on")


class BenchmarkRows(_Table):
    """Measured latency distributions, one row a run of one benchmark. Key: `BENCHMARK_KEY`.

    Besides these columns a row may hold any `latency_pNN_ms` (see `percentile_column`), always float and nullable.
    """

    model: Series[str] = column("model name", str_length={"min_value": 1})
    sequence_length: Series[pd.Int64Dtype] = column(
        "input length; empty: not a sequence", "tokens", ge=1, nullable=True
    )
    input_shape: Series[str] = column('shape of one input, like "3x224x224"; empty: not stated')
    instance_type: Series[str] = column("EC2 instance type, or `local`", str_length={"min_value": 1})
    attached_accelerator: Series[str] = column("attached accelerator type; empty: none")
    attached_accelerator_count: Series[int] = column("attached accelerators (0: none)", "count", ge=0)
    backend: Series[str] = column("what ran the model")
    precision: Series[str] = column("fp32, fp16, bf16, int8, ...")
    software: Series[str] = column("software and version; the newest of one configuration counts")
    batch_size: Series[int] = column("inputs in one request", "count", ge=1)
    concurrency: Series[int] = column("requests in flight", "count", ge=1)
    copies: Series[int] = column("copies of the model on the option", "count", ge=1)
    shards: Series[int] = column("devices one copy is split over", "count", ge=1)
    sample_count: Series[pd.Int64Dtype] = column(
        "successful requests behind the figures", "count", ge=0, nullable=True
    )
    error_count: Series[pd.Int64Dtype] = column("failed requests", "count", ge=0, nullable=True)
    latency_mean_ms: Series[float] = column(
        "mean of the successful requests (of a batch, where batched)", "ms", gt=0, nullable=True
    )
    latency_std_ms: Series[float] = column("standard deviation", "ms", ge=0, nullable=True)
    latency_min_ms: Series[float] = column("minimum", "ms", gt=0, nullable=True)
    latency_max_ms: Series[float] = column("maximum", "ms", gt=0, nullable=True)
    throughput_per_s: Series[float] = column("inferences (not batches) a second", "1/s", gt=0, nullable=True)
    peak_memory_mib: Series[float] = column("measured peak of host memory", "MiB", gt=0, nullable=True)
    peak_accelerator_memory_mib: Series[float] = column(
        "measured peak of one device's memory", "MiB", gt=0, nullable=True
    )
    output_token_count: Series[float] = column(
        "mean output tokens of a request", "tokens", ge=0, nullable=True
    )
    load_kind: Series[str] = column("closed, open or single_stream; empty: not stated")
    client: Series[str] = column("what generated the load and where it ran; empty: not stated")
    run_id: Series[str] = column("name of the run; empty: the only one")
    measured_on: Series[str] = column("day of the measurement, ISO; empty: not stated")
    source: Series[str] = column("where the figures come from")
    quality: Series[str] = column("ok, or suspect (never ranked first)", isin=["ok", "suspect"])
    note: Series[str] = column("what a reader must know of this row")
    latency_percentiles: Series[float] = column(
        "a percentile of the successful requests, under its own name: latency_p50_ms, latency_p99_9_ms",
        "ms",
        alias=r"latency_p\d+(_\d+)?_ms",
        regex=True,
        required=False,
        gt=0,
        nullable=True,
    )


_PERCENTILE = re.compile(r"latency_p(\d{1,2}|100)(?:_(\d+))?_ms")


def percentile_column(percentile: float) -> str:
    """Return the column of a percentile: 90 -> `latency_p90_ms`, 99.9 -> `latency_p99_9_ms`."""
    return f"latency_p{percentile:g}_ms".replace(".", "_")


def percentile_of(column_name: str) -> float | None:
    """Return the percentile that a column holds, or None where it is no percentile column."""
    found = _PERCENTILE.fullmatch(column_name)
    if found is None:
        return None
    percentile = float(f"{found[1]}.{found[2] or 0}")
    return percentile if percentile <= 100 else None


def percentile_columns(frame: pd.DataFrame) -> dict[float, str]:
    """Return the percentile columns of a frame by rising percentile."""
    found = {percentile_of(str(name)): str(name) for name in frame.columns}
    return {p: found[p] for p in sorted(p for p in found if p is not None)}


@dataclass(frozen=True)
class Samples:
    """The raw latencies of one run, in the order they were measured.

    Attributes:
        latency_ms: shape (n,), successful requests only, finite and > 0.
        error_count: requests that failed; they count as infinitely slow.
        look: how many times this series has been judged, counting this one (see `advisor.evidence`).
    """

    latency_ms: FloatArray
    error_count: int = 0
    look: int = 1


@dataclass(frozen=True)
class Benchmarks:
    """Measured distributions: a checked table, and the raw latencies of those rows that have them.

    Attributes:
        rows: sorted by `BENCHMARK_KEY`, labelled 0 .. n-1.
        samples: row label -> raw latencies.
        origin: what was read, for the report ("packaged benchmarks", "results.csv").
    """

    rows: DataFrame[BenchmarkRows]
    samples: Mapping[int, Samples] = field(default_factory=dict)
    origin: tuple[str, ...] = ()


@dataclass(frozen=True)
class Catalogue:
    """All that is known of hardware and prices.

    Attributes:
        origin: which price files were used, for the report.
        own: rows of `prices` (labels) that the user gave.
    """

    instances: DataFrame[Instances]
    accelerators: DataFrame[Accelerators]
    prices: DataFrame[Prices]
    locations: DataFrame[Locations]
    sources: DataFrame[Sources]
    origin: tuple[str, ...] = ()
    own: frozenset[int] = frozenset()

    @property
    def types(self) -> frozenset[str]:
        """Every type that a result file may name: those with hardware facts or a price, and the accelerators."""
        return frozenset(
            {
                *self.instances["instance_type"],
                *self.prices["instance_type"],
                *self.accelerators["accelerator_type"],
            }
        )


class Ranked(_Table):
    """Options that passed every step, in order. Key: `rank`. Also the common columns of `Rejected`."""

    option: Series[str] = column("instance type and attached accelerators as shown")
    kind: Series[str] = column("what serves", isin=list(KINDS))
    instance_type: Series[str] = column("EC2 instance type")
    attached_accelerator: Series[str] = column("attached accelerator type; empty: none")
    attached_accelerator_count: Series[int] = column("attached accelerators", "count", ge=0)
    region: Series[str] = column("region or local zone group; empty: no price in any asked region")
    purchase_option: Series[str] = column("how it is bought")
    statistic: Series[str] = column("what the price figure is (list, window_mean, ...)")
    months: Series[pd.Int64Dtype] = column("months the buyer is bound", "months", nullable=True)
    model: Series[str] = column("model name")
    sequence_length: Series[pd.Int64Dtype] = column("input length", "tokens", nullable=True)
    input_shape: Series[str] = column("shape of one input")
    backend: Series[str] = column("what ran the model")
    precision: Series[str] = column("number format")
    software: Series[str] = column("software and version")
    batch_size: Series[int] = column("inputs in one request", "count")
    concurrency: Series[int] = column("requests in flight", "count")
    copies: Series[int] = column("copies measured", "count")
    shards: Series[int] = column("devices one copy is split over", "count")
    price_usd_per_hour: Series[float] = column("host + accelerators, unrounded", "USD/h", nullable=True)
    host_price_usd_per_hour: Series[float] = column("the host alone", "USD/h", nullable=True)
    accelerator_price_usd_per_hour: Series[float] = column(
        "all attached accelerators", "USD/h", nullable=True
    )
    price_as_of: Series[str] = column("date of the older of the two prices, ISO")
    price_source: Series[str] = column("source id of the price")
    memory: Series[str] = column(
        "fits, exceeds, unknown or not_checked", isin=["fits", "exceeds", "unknown", "not_checked"]
    )
    memory_needed_mib: Series[float] = column(
        "lower bound (or measured peak) on the host", "MiB", nullable=True
    )
    memory_mib: Series[float] = column("host memory", "MiB", nullable=True)
    accelerator_memory_needed_mib: Series[float] = column(
        "lower bound (or peak) on each device", "MiB", nullable=True
    )
    accelerator_memory_mib: Series[float] = column("memory of each device", "MiB", nullable=True)
    measured: Series[str] = column(
        "meets, misses, unknown or skipped", isin=["meets", "misses", "unknown", "skipped"]
    )
    latency_percentile_ms: Series[float] = column(
        "the asked percentile, where reported or sampled", "ms", nullable=True
    )
    latency_percentile_low_ms: Series[float] = column(
        "lower end of its interval or bracket", "ms", nullable=True
    )
    latency_percentile_high_ms: Series[float] = column(
        "upper end of its interval or bracket", "ms", nullable=True
    )
    share_within_low_fraction: Series[float] = column(
        "least share of requests within the limit, of the sample", "", nullable=True
    )
    share_within_high_fraction: Series[float] = column(
        "greatest share within the limit, of the sample", "", nullable=True
    )
    latency_mean_ms: Series[float] = column("mean of the successful requests", "ms", nullable=True)
    latency_mean_low_ms: Series[float] = column("lower end of its interval", "ms", nullable=True)
    latency_mean_high_ms: Series[float] = column("upper end of its interval", "ms", nullable=True)
    throughput_per_s: Series[float] = column("inferences a second, where measured", "1/s", nullable=True)
    error_fraction: Series[float] = column("share of failed requests", "", nullable=True)
    sample_count: Series[pd.Int64Dtype] = column("successful requests", "count", nullable=True)
    run_count: Series[int] = column("separate runs", "count", ge=1)
    cost_usd_per_100k: Series[float] = column(
        "price per second x mean latency, busy time only", "USD", nullable=True
    )
    cost_low_usd_per_100k: Series[float] = column("lower end of its interval", "USD", nullable=True)
    cost_high_usd_per_100k: Series[float] = column("upper end of its interval", "USD", nullable=True)
    cost_usd_per_100k_served: Series[float] = column("price per second / throughput", "USD", nullable=True)
    cost_usd_per_month: Series[float] = column("730 h of the price", "USD", nullable=True)
    verdict: Series[str] = column(
        "pass, fail, undecided, or empty where no limit is asked", isin=["pass", "fail", "undecided", ""]
    )
    grade: Series[str] = column(
        "A five or more runs, B samples, C histogram, D summary, E predicted", isin=list("ABCDE")
    )
    probability_kept: Series[float] = column("chance that the promise is kept", "", nullable=True)
    probability_best: Series[float] = column(
        "chance of being the cheapest that keeps the promise", "", nullable=True
    )
    among_best: Series[bool] = column("cannot be told from the best (95 % set)")
    more_needed: Series[pd.Int64Dtype] = column(
        "further requests that would settle it", "count", nullable=True
    )
    winning_price_usd_per_hour: Series[float] = column(
        "hourly price at which it would win", "USD/h", nullable=True
    )
    winning_latency_mean_ms: Series[float] = column("mean latency at which it would win", "ms", nullable=True)
    quality: Series[str] = column("ok or suspect")
    measured_on: Series[str] = column("day of the measurement, ISO")
    source: Series[str] = column("where the latencies come from")
    note: Series[str] = column("what a reader must know of this row")


Step = Literal["filter", "availability", "hardware", "memory", "latency", "price", "cost"]
"""Where an option was lost, in the order of the steps."""


class Rejected(Ranked):
    """Options that lost, with the first step that rejected them. Has every column of `Ranked` too."""

    failed: Series[str] = column("the step that rejected it", isin=list(get_args(Step)))
    value: Series[float] = column("what the option has, in `unit`", "", nullable=True)
    limit: Series[float] = column("what was asked or needed, in `unit`", "", nullable=True)
    unit: Series[str] = column("unit of value and limit")
    reason: Series[str] = column("one clause a person can read")
