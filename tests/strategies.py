"""Hypothesis strategies: tables and questions drawn from the declared columns."""

from typing import Any

from hypothesis import strategies as st

from advisor.tables import Benchmarks, Catalogue
from advisor.workload import Workload
from tests import builders

TYPES = ("c5.large", "c5.xlarge", "g5.xlarge", "inf2.xlarge", "m7g.large")
KINDS = {"g5.xlarge": "gpu", "inf2.xlarge": "inferentia"}
REGIONS = ("us-west-2", "us-east-1", "eu-west-1")

latencies_ms = st.integers(1, 4000).map(lambda eighths: eighths / 8)
"""Few enough values that ties and exact limits occur."""
prices_usd = st.integers(1, 200).map(lambda steps: steps / 50)


@st.composite
def summaries(draw: st.DrawFn) -> dict[str, Any]:
    """The figures of one summary, as a sample could have them; any of them may be missing."""
    low, middle, high, highest = sorted(draw(st.lists(latencies_ms, min_size=4, max_size=4)))
    figures = {
        "latency_mean_ms": middle,
        "latency_std_ms": (high - low) / 4,
        "latency_p50_ms": low,
        "latency_p90_ms": high,
        "latency_p99_ms": highest,
        "latency_max_ms": highest,
        "sample_count": draw(st.sampled_from([10, 100, 1000])),
        "throughput_per_s": draw(st.integers(1, 1000)),
    }
    missing = draw(st.sets(st.sampled_from(sorted(figures)), max_size=5))
    left = {name: value for name, value in figures.items() if name not in missing}
    has_latency = any(name.startswith("latency") and "std" not in name for name in left)
    return left if has_latency else {**left, "latency_mean_ms": middle}


@st.composite
def benchmark_rows(draw: st.DrawFn) -> dict[str, Any]:
    """One row: a summary, or raw samples with failures among them."""
    row: dict[str, Any] = {
        "instance_type": draw(st.sampled_from(TYPES)),
        "backend": draw(st.sampled_from(["torch", "onnxruntime"])),
        "software": draw(st.sampled_from(["rt 1.9", "rt 1.10"])),
        "batch_size": draw(st.sampled_from([1, 4])),
        "run_id": draw(st.sampled_from(["", "1", "2"])),
        "quality": draw(st.sampled_from(["ok", "ok", "ok", "suspect"])),
    }
    if draw(st.booleans()):
        row["samples"] = draw(st.lists(latencies_ms, min_size=1, max_size=30))
        row["latency_mean_ms"] = sum(row["samples"]) / len(row["samples"])
        row["error_count"] = draw(st.sampled_from([0, 0, 1, 5]))
        return row
    return row | draw(summaries())


@st.composite
def benchmark_tables(draw: st.DrawFn, one_each: bool = False) -> Benchmarks:
    """One to twelve rows of one model with different keys, or one sound row of each of some types."""
    if one_each:
        types = draw(st.sets(st.sampled_from(TYPES), min_size=2))
        return builders.benchmarks(
            *(draw(benchmark_rows()) | {"instance_type": name, "quality": "ok"} for name in sorted(types))
        )
    keys = ("instance_type", "backend", "software", "batch_size", "run_id")
    rows = draw(
        st.lists(
            benchmark_rows(), min_size=1, max_size=12, unique_by=lambda row: tuple(row[key] for key in keys)
        )
    )
    return builders.benchmarks(*rows)


@st.composite
def catalogues(draw: st.DrawFn) -> Catalogue:
    """Hardware of some `TYPES`, and prices of some of them in some regions by some purchase options."""
    keys = st.tuples(
        st.sampled_from(TYPES),
        st.sampled_from(REGIONS),
        st.sampled_from(["on_demand", "spot", "reserved_1yr_no_upfront"]),
    )
    found = draw(st.dictionaries(keys, st.none() | prices_usd, max_size=20))
    prices = [
        {
            "instance_type": kind,
            "region": region,
            "purchase_option": purchase,
            "statistic": "last" if purchase == "spot" else "list",
            "as_of": draw(st.sampled_from(["2026-11-25", "2026-01-01"])),
            "price_usd_per_hour": float("nan") if price is None else price,
        }
        for (kind, region, purchase), price in found.items()
    ]
    known = sorted(draw(st.sets(st.sampled_from(TYPES))))
    return builders.catalogue(prices, [draw(instances(name)) for name in known], regions=REGIONS)


@st.composite
def instances(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Hardware facts of one type; the memory of its devices may be unknown."""
    built_in = name in KINDS
    return {
        "instance_type": name,
        "availability": draw(st.sampled_from(["sold", "closed", "unknown"])),
        "accelerator_kind": KINDS.get(name, "none"),
        "accelerator_count": 1.0 if built_in else float("nan"),
        "accelerator_memory_mib": draw(st.sampled_from([float("nan"), 16384.0]))
        if built_in
        else float("nan"),
        "cpu_arch": "arm64" if name.startswith("m7g") else "x86_64",
    }


@st.composite
def full_catalogues(draw: st.DrawFn) -> Catalogue:
    """All `TYPES` sold on demand in us-west-2."""
    return builders.catalogue(
        [{"instance_type": name, "price_usd_per_hour": draw(prices_usd)} for name in TYPES], regions=REGIONS
    )


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Questions over `benchmark_tables` and `catalogues`."""
    return builders.ask(
        model="net",
        model_size_bytes=draw(st.none() | st.sampled_from([2**30, 8192 * 2**20, 2**35])),
        latency_limit_ms=draw(st.none() | latencies_ms),
        percentile=draw(st.sampled_from([50.0, 90.0, 99.0])),
        region=draw(st.sampled_from([("us-west-2",), ("us-west-2", "eu-west-1"), ("all",)])),
        purchase=draw(st.sampled_from([("on_demand",), ("on_demand", "spot"), ("all",)])),
        objective=draw(st.sampled_from(["cost", "latency", "served-cost"])),
        batch_size=draw(st.sampled_from([(), (1,)])),
        max_usd_per_hour=draw(st.none() | prices_usd),
        include_retired=draw(st.booleans()),
        stale_spot=draw(st.booleans()),
        decide=draw(st.sampled_from(["measured", "proven"])),
    )
