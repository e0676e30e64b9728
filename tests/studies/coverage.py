"""How often the intervals hold the truth and how often a verdict is wrong: `python -m tests.studies.coverage`.

Everything runs through `advisor.evidence.assess_many` as the product does, warm-up and drift included, with fixed seeds.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from advisor.arrays import FloatArray
from advisor.evidence import Assessment, Series, assess_many
from advisor.evidence.intervals import share_limits
from tests.studies.families import DESIGN, FAMILIES, Family, autoregressive, independent

SHARE = 0.9
LOOKS = (1000, 2000, 4000, 8000, 16000)
RESULTS = Path(__file__).parent / "results" / "coverage.md"
_ELEMENTS = 2_000_000


@dataclass(frozen=True)
class Rate:
    """A share of replications, with its standard error."""

    share: float
    replications: int

    @property
    def error(self) -> float:
        """Binomial standard error."""
        return float(np.sqrt(self.share * (1 - self.share) / self.replications))

    def __str__(self) -> str:
        return f"{self.share:.1%} ± {self.error:.1%}"


def rate(holds: Sequence[bool]) -> Rate:
    """Return the share of true ones."""
    return Rate(float(np.mean(holds)), len(holds))


@dataclass(frozen=True)
class Coverage:
    """One family at one length.

    Attributes:
        quantile: intervals of P90, with no limit asked, that hold the true P90.
        mean: intervals of the mean that hold the true mean.
        false_pass: verdict "pass" with the limit exactly at the true P90.
        false_fail: verdict "fail" with the limit exactly at the true P90.
        no_bound: intervals of P90 without an upper bound.
        cut: series of which over 50 requests were cut as warm-up (there is none).
        drift: series in which a drift was found (there is none).
    """

    family: str
    n: int
    quantile: Rate
    mean: Rate
    false_pass: Rate
    false_fail: Rate
    no_bound: Rate
    cut: Rate
    drift: Rate


def batches(family: Family, replications: int, n: int, seed: int) -> Iterator[list[Series]]:
    """Yield series of a family, some at a time."""
    rng = np.random.default_rng([seed, n, FAMILIES.index(family)])
    at_once = max(1, _ELEMENTS // n)
    for start in range(0, replications, at_once):
        yield [Series(row) for row in family.draw(min(at_once, replications - start), n, rng)]


def coverage(family: Family, replications: int, n: int, seed: int = 2026) -> Coverage:
    """Draw series of which the truth is known, and count."""
    quantile_ms, mean_ms = family.quantile(SHARE), family.mean_ms
    free: list[Assessment] = []
    limited: list[Assessment] = []
    for series in batches(family, replications, n, seed):
        free += assess_many(series, None)
        limited += assess_many(series, quantile_ms)
    return Coverage(
        family.name,
        n,
        rate([_holds(one.quantile_ms, quantile_ms) for one in free]),
        rate([_holds(one.mean_ms, mean_ms) for one in free]),
        rate([one.verdict == "pass" for one in limited]),
        rate([one.verdict == "fail" for one in limited]),
        rate([one.quantile_ms is None or one.quantile_ms.high is None for one in free]),
        rate([one.warmup_count > 50 for one in free]),
        rate([one.drift is not None for one in free]),
    )


def _holds(estimate: object, truth: float) -> bool:
    low, high = getattr(estimate, "low", None), getattr(estimate, "high", None)
    return (low is None or low <= truth) and (high is None or truth <= high)


def repeated_looks(
    family: Family, replications: int, share: float = SHARE, seed: int = 7
) -> tuple[Rate, Rate]:
    """Judge growing series until a look decides; return how many ended as pass and as fail.

    Args:
        family: of the latencies.
        replications: how many series.
        share: true share of requests within the limit.
        seed: of the generator.
    """
    limit_ms = family.quantile(share)
    ends: list[str] = []
    for whole in batches(family, replications, LOOKS[-1], seed):
        verdicts = ["undecided"] * len(whole)
        for look, n in enumerate(LOOKS, start=1):
            still = [i for i, verdict in enumerate(verdicts) if verdict == "undecided"]
            series = [Series(whole[i].latency_ms[:n], look=look) for i in still]
            for i, assessment in zip(still, assess_many(series, limit_ms), strict=True):
                verdicts[i] = assessment.verdict
        ends += verdicts
    return rate([end == "pass" for end in ends]), rate([end == "fail" for end in ends])


def textbook(family: Family, replications: int, n: int, seed: int = 2026) -> tuple[Rate, Rate]:
    """Judge the same series as if their requests were independent.

    Returns:
        How often the exact binomial interval of P90 holds the true P90, and the false passes with the limit exactly there.
    """
    quantile_ms = family.quantile(SHARE)
    within = np.concatenate(
        [
            [(one.latency_ms <= quantile_ms).mean() for one in series]
            for series in batches(family, replications, n, seed)
        ]
    )
    count, level = np.full(within.size, float(n)), np.full(within.size, 0.025)
    low, high = share_limits(within, within, count, level)
    passes = low >= SHARE
    return rate((~passes & (high >= SHARE)).tolist()), rate(passes.tolist())


@dataclass(frozen=True)
class Warmup:
    """How a warm-up at the start of 1000 requests is found, and what is left of the error of P90."""

    shape: str
    noise: str
    found: Rate
    bias: float
    bias_untrimmed: float


SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "step x1.5 of 200": lambda request: np.where(request < 200, 1.5, 1.0),
    "1 + .5 exp(-i / 50)": lambda request: 1 + 0.5 * np.exp(-request / 50),
    "one cold call x20": lambda request: np.where(request < 1, 20.0, 1.0),
}
NOISE = {
    "independent": independent(0.25),
    "AR(.5)": autoregressive(0.5, 0.25),
    "AR(.9)": autoregressive(0.9, 0.25),
}


def warmup(shape: str, noise: str, replications: int, seed: int = 11) -> Warmup:
    """Put a warm-up on lognormal latencies and see what the cut leaves of it. Bias is relative to the true P90."""
    rng = np.random.default_rng([seed, list(SHAPES).index(shape), list(NOISE).index(noise)])
    steady = NOISE[noise](replications, 1000, rng)
    series = [Series(row) for row in steady * SHAPES[shape](np.arange(1000.0))]
    found = assess_many(series, None)
    truth = FAMILIES[0].quantile(SHARE)
    points = [one.quantile_ms.point for one in found if one.quantile_ms is not None]
    untrimmed = [one.quantile_untrimmed_ms for one in found if one.quantile_untrimmed_ms is not None]
    return Warmup(
        shape,
        noise,
        rate([one.warmup_count > 0 for one in found]),
        float(np.mean(points) / truth - 1),
        float(np.mean(untrimmed) / truth - 1),
    )


def report(replications: int, lengths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of the report as they are known."""
    yield "# Coverage of the intervals and errors of the verdicts"
    yield ""
    yield f"{replications} replications, fixed seeds, nominal 95 %, P90; each share with its binomial standard error."
    yield "Made by `python -m tests.studies.coverage`. Warm-up and drift are looked for, though these series have none."
    for n in lengths:
        yield ""
        yield f"## n = {n}"
        yield ""
        yield "| family | P90 interval holds | mean interval holds | false pass at the limit | false fail at the limit | no upper bound | over 50 cut | drift found |"
        yield "|---|---|---|---|---|---|---|---|"
        for family in FAMILIES:
            row = coverage(family, replications, n)
            name = f"{family.name} (held out)" if family.held_out else family.name
            yield (
                f"| {name} | {row.quantile} | {row.mean} | {row.false_pass} | {row.false_fail} | {row.no_bound} "
                f"| {row.cut} | {row.drift} |"
            )
    yield ""
    yield "## For comparison: the textbook, as if requests were independent, n = 1000"
    yield ""
    yield "| family | P90 interval holds | false pass at the limit |"
    yield "|---|---|---|"
    for family in FAMILIES:
        holds, passes = textbook(family, replications, 1000)
        yield f"| {family.name} | {holds} | {passes} |"
    yield ""
    yield f"## Up to five looks, at {', '.join(map(str, LOOKS))} requests"
    yield ""
    yield "| family | false pass, true share .90 | false fail, true share .90 | pass, true share .95 |"
    yield "|---|---|---|---|"
    for family in FAMILIES:
        if family.name in DESIGN:
            at_limit = repeated_looks(family, replications)
            kept = repeated_looks(family, max(1, replications // 4), share=0.95)
            yield f"| {family.name} | {at_limit[0]} | {at_limit[1]} | {kept[0]} |"
    yield ""
    yield "## A warm-up at the start of 1000 lognormal requests"
    yield ""
    yield "| warm-up | noise | cut | error of P90 after the cut | before |"
    yield "|---|---|---|---|---|"
    for shape in SHAPES:
        for noise in NOISE:
            one = warmup(shape, noise, replications)
            yield f"| {shape} | {noise} | {one.found} | {one.bias:+.2%} | {one.bias_untrimmed:+.2%} |"


def main() -> None:
    """Run the study; print it, and with the full number of replications keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--small", action="store_true", help="only n = 1000; nothing is written")
    arguments = parser.parse_args()
    lines: list[str] = []
    for line in report(arguments.replications, (1000,) if arguments.small else (1000, 200, 50)):
        print(line, flush=True)
        lines.append(line)
    if not arguments.small:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
