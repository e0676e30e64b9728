"""Comparisons made by hand, for the golden files of what `advisor compare` shows."""

from advisor.compare import Change, Comparison
from advisor.evidence import Estimate
from advisor.reports.comparison import FORMATS

NAN = float("nan")

COMPARISONS = (
    Comparison(
        "g5.2xlarge",
        "inf2.xlarge",
        (
            Change("latency_mean_ms", 50.0, 40.0, Estimate(-0.2, -0.23, -0.17), "lower"),
            Change("latency_p50_ms", 48.0, 38.5, Estimate(-0.198, -0.24, -0.15), "lower"),
            Change("latency_p90_ms", 90.0, 92.0, Estimate(0.022, -0.06, 0.11), "no significant difference"),
            Change("latency_p99_ms", 200.0, 150.0, Estimate(-0.25, -0.4, None), "no significant difference"),
            Change("latency_p99_9_ms", 400.0, NAN, None, "unknown"),
            Change("throughput_per_s", 20.0, 25.0, Estimate(0.25), "no interval"),
            Change("price_usd_per_hour", 1.212, 0.606, Estimate(-0.5, -0.5, -0.5), "lower"),
            Change("cost_usd_per_100k", 1.6833, 0.6733, Estimate(-0.6, -0.615, -0.585), "lower"),
        ),
        ("g5.2xlarge was measured in one run: its intervals do not hold what differs from run to run",),
    ),
    Comparison(
        "before.csv (c5.large)",
        "after|<b>.csv (m5.large + 2 x eia2.medium)",
        (
            Change("latency_mean_ms", 205.0, 18.5, Estimate(-0.9098), "no interval"),
            Change("throughput_per_s", NAN, NAN, None, "unknown"),
            Change("price_usd_per_hour", NAN, 0.34, None, "unknown"),
            Change("cost_usd_per_100k", NAN, 0.1747, None, "unknown"),
        ),
        (
            "not measured alike: batch size 1 against 8",
            "no interval: of before.csv (c5.large) only a summary is known, the latencies were not kept",
            "no price of before.csv (c5.large) is known, so no cost",
        ),
        confidence=0.9,
    ),
)

_SUFFIXES = {"terminal": "txt", "json": "json", "csv": "csv", "markdown": "md"}


def golden_comparisons() -> dict[str, bytes]:
    """Return the golden file of each format by its name."""
    return {f"comparison.{_SUFFIXES[name]}": write(COMPARISONS) for name, write in FORMATS.items()}
