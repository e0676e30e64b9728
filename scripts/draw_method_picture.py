"""Draw docs/images/naive-interval.svg: the same 1000 latencies, the naive interval of P90 and ours.

    python scripts/draw_method_picture.py

The latencies are simulated, so that the true P90 is known: a machine that is slow a fifth of the time, for 20 requests on average.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from advisor.evidence import Estimate, assess
from advisor.evidence.intervals import quantile_ranks

OUTPUT = Path(__file__).parents[1] / "docs" / "images" / "naive-interval.svg"
REQUESTS, SEED, TRUE_P90_MS = 1000, 10, 13.0
SLOW_SHARE, DWELL = 0.2, 20
FONT = "sans-serif"


def latencies() -> npt.NDArray[np.float64]:
    """Draw latencies of about 10 ms, and of about 13 ms while the machine is slow; half of the slow ones exceed 13 ms."""
    rng = np.random.default_rng(SEED)
    leave, enter = 1 / DWELL, SLOW_SHARE / (1 - SLOW_SHARE) / DWELL
    slow = np.zeros(REQUESTS, dtype=np.bool_)
    for i in range(1, REQUESTS):
        slow[i] = rng.random() >= leave if slow[i - 1] else rng.random() < enter
    noise = rng.standard_normal(REQUESTS)
    return np.where(slow, 13 * np.exp(0.08 * noise), 10 * np.exp(0.05 * noise))


def naive(samples: npt.NDArray[np.float64]) -> Estimate:
    """Enclose P90 as if the requests were independent."""
    size = np.array([samples.size])
    lower, upper = quantile_ranks(0.9, size, size.astype(np.float64), np.array([0.025]))
    ordered = np.sort(samples)
    return Estimate(
        float(np.percentile(samples, 90)), float(ordered[lower[0] - 1]), float(ordered[upper[0] - 1])
    )


def chart(samples: npt.NDArray[np.float64]) -> Any:
    """Lay the latencies over time, with the two intervals beside them on the same scale."""
    import altair as alt
    import pandas as pd

    ours = assess(samples, None).quantile_ms
    assert ours is not None
    scale = alt.Scale(domain=[8.25, 16])
    axis = alt.Y("latency_ms:Q", title="latency, ms", scale=scale)
    points = (
        alt.Chart(pd.DataFrame({"request": np.arange(samples.size), "latency_ms": np.round(samples, 3)}))
        .mark_circle(size=9, color="#5b7083", opacity=0.65, aria=False)
        .encode(x=alt.X("request:Q", scale=alt.Scale(domain=[0, REQUESTS]), title="request"), y=axis)
        .properties(width=520, height=260, title="1000 requests, slow now and then")
    )
    rows = pd.DataFrame(
        [
            {"interval": name, "low": one.low, "high": one.high, "latency_ms": one.point}
            for name, one in (("naive", naive(samples)), ("ours", ours))
        ]
    )
    colour = alt.Color(
        "interval:N", scale=alt.Scale(domain=["naive", "ours"], range=["#b3541e", "#1b6e6a"]), legend=None
    )
    across = alt.X("interval:N", title=None, axis=alt.Axis(labelAngle=0))
    bars = (
        alt.Chart(rows)
        .mark_bar(width=16)
        .encode(x=across, y=alt.Y("low:Q", scale=scale, title=None), y2="high:Q", color=colour)
    )
    middles = (
        alt.Chart(rows).mark_tick(thickness=2, width=26, color="#20262c").encode(x=across, y="latency_ms:Q")
    )
    truth = pd.DataFrame([{"latency_ms": TRUE_P90_MS, "label": "true P90"}])
    line = alt.Chart(truth).mark_rule(strokeDash=[5, 4], color="#20262c").encode(y="latency_ms:Q")
    label = (
        alt.Chart(truth)
        .mark_text(align="left", baseline="bottom", dx=4, dy=-2, font=FONT, fontSize=11, color="#20262c")
        .encode(x=alt.value(0), y="latency_ms:Q", text="label:N")
    )
    intervals = (bars + middles + line).properties(width=150, height=260, title="95 % interval of P90")
    return (
        alt.hconcat(points + line + label, intervals)
        .configure(font=FONT, background="white")
        .configure_view(stroke="#d5dbe1")
        .configure_axis(gridColor="#eceff2", domainColor="#9aa5b1", tickColor="#9aa5b1")
        .configure_title(fontSize=13, fontWeight="normal")
    )


def main() -> None:
    """Write the picture."""
    import vl_convert

    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(vl_convert.vegalite_to_svg(chart(latencies()).to_dict()), encoding="utf-8")


if __name__ == "__main__":
    main()
