"""What the evidence costs beside `numpy.percentile`, and its memory (`make bench`): medians of processor time in one run."""

import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from advisor.evidence import Series, assess, assess_many

pytestmark = pytest.mark.performance

LATENCIES = 10 * np.exp(0.25 * np.random.default_rng(1).standard_normal((200, 1000)))
AT_THE_LIMIT = 13.78
"""True P90 of these latencies: most series are undecided, and the requests that are still needed are searched."""


def seconds(action: Callable[[], object], repeats: int = 15) -> float:
    """Median processor time of one call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return statistics.median(times)


@pytest.mark.parametrize(("warmup", "most"), [(False, 15), (True, 30)])
@pytest.mark.parametrize("limit_ms", [AT_THE_LIMIT, 15.0, None])
def test_assessing_200_series_of_1000_against_three_percentiles_of_them(
    warmup: bool, most: float, limit_ms: float | None, capsys: pytest.CaptureFixture[str]
) -> None:
    series = [Series(row) for row in LATENCIES]
    assess_many(series, limit_ms, warmup=warmup)
    percentiles = seconds(lambda: np.percentile(LATENCIES, [50, 90, 99], axis=1), 31)
    assessed = seconds(lambda: assess_many(series, limit_ms, warmup=warmup))
    ratio = assessed / percentiles
    with capsys.disabled():
        print(
            f"\nassess_many 200 x 1000, limit {limit_ms} ms, warm-up and drift {warmup}: {ratio:.1f} x numpy.percentile"
        )
    assert ratio <= most


def test_the_memory_of_ten_million_requests_is_at_most_five_times_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tracemalloc.start()
    try:
        samples = np.random.default_rng(2).lognormal(2.3, 0.25, 10_000_000)
        tracemalloc.reset_peak()
        found = assess(samples, 15.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with capsys.disabled():
        print(
            f"\nassess of 10 million requests: peak {peak / samples.nbytes:.1f} x the array, itself included"
        )
    assert found.verdict == "pass"
    assert peak <= 5 * samples.nbytes
