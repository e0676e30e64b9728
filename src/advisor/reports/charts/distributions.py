"""The measured latencies themselves: how they are spread, and how they move during a run."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from advisor.advice import Advice
from advisor.arrays import FloatArray
from advisor.reports.charts.points import everything, labels, left_out
from advisor.reports.charts.style import DASHES, SERIES, Figure, dressed, ground, log_ticks
from advisor.reports.presentation import known, milliseconds, percentile_name, plain
from advisor.tables import BENCHMARK_CONFIGURATION, Benchmarks, percentile_columns

MOST_SERIES: Final = len(SERIES)
_STEPS: Final = 80
_SLICES: Final = 60


@dataclass(frozen=True)
class Measured:
    """The latencies behind one option of an answer.

    Attributes:
        label: the option as charts name it.
        runs_ms: the successful requests of each run that has samples, in the order measured.
        error_count: failed requests of those runs.
        figures: (share of requests, latency in ms) of runs of which only figures are known.
    """

    label: str
    runs_ms: tuple[FloatArray, ...]
    error_count: int
    figures: tuple[tuple[float, float], ...]


def chosen_first(advice: Advice, count: int = 4) -> list[str]:
    """Name the candidates to show where nobody has chosen: the first of the ranking, then the nearest rejected."""
    return candidates(advice)[:count]


def candidates(advice: Advice) -> list[str]:
    """Name the candidates that have a latency, the ranked first, one name a measurement."""
    return list(_rows(advice))


def _rows(advice: Advice) -> dict[str, Any]:
    names = [*BENCHMARK_CONFIGURATION, "software", "option", "region", "purchase_option", "statistic"]
    once = everything(advice, names).drop_duplicates([*BENCHMARK_CONFIGURATION, "software"])
    plain_names = once.assign(region="", purchase_option="", statistic="")
    return dict(zip(labels(plain_names, plain_names), once.to_dict("records"), strict=True))


def measured(advice: Advice, benchmarks: Benchmarks, chosen: Sequence[str]) -> list[Measured]:
    """Find the latencies behind the chosen options.

    Args:
        advice: the answer.
        benchmarks: what the answer was made from.
        chosen: names as `candidates` gives them; unknown ones are passed over.
    """
    table = benchmarks.rows
    by_name = _rows(advice)
    found = []
    for label in chosen:
        row = by_name.get(label)
        if row is None:
            continue
        same = np.ones(len(table), dtype=bool)
        for column in (*BENCHMARK_CONFIGURATION, "software"):
            if known(row[column]) and column != "software":
                same &= (table[column] == row[column]).fillna(False).to_numpy(dtype=bool)
            elif known(row[column]):
                same &= (table[column] == row[column]).to_numpy(dtype=bool)
        mine = table[same]
        runs = [benchmarks.samples[int(at)] for at in mine.index if int(at) in benchmarks.samples]
        found.append(
            Measured(
                label=label,
                runs_ms=tuple(run.latency_ms for run in runs),
                error_count=sum(run.error_count for run in runs),
                figures=_figures(mine[[int(at) not in benchmarks.samples for at in mine.index]]),
            )
        )
    return found


def _figures(rows: pd.DataFrame) -> tuple[tuple[float, float], ...]:
    columns = {0.0: "latency_min_ms", **percentile_columns(rows), 100.0: "latency_max_ms"}
    said = {
        (percentile / 100, float(row[name]))
        for row in rows.to_dict("records")
        for percentile, name in columns.items()
        if known(row[name])
    }
    return tuple(sorted(said))


def distributions(advice: Advice, measurements: Sequence[Measured], *, dark: bool = False) -> Figure:
    """Draw the share of requests that were answered within each latency.

    Samples make a line (failed requests never arrive, so that it ends below 100 %); where only figures were kept, the
    known percentiles are drawn as points.

    Args:
        advice: the answer, for its limit and percentile.
        measurements: what `measured` found, at most `MOST_SERIES` of them are drawn.
        dark: the chart stands on a dark page.
    """
    import altair as alt

    on = ground(dark)
    drawn = [m for m in measurements if m.runs_ms or m.figures][:MOST_SERIES]
    if not drawn:
        return Figure(
            (), "Of the chosen options neither samples nor percentiles are known, so nothing can be drawn."
        )
    lines, dots = [], []
    for one in drawn:
        if one.runs_ms:
            lines += _steps(one)
        dots += [
            {"label": one.label, "latency_ms": ms, "share_percent": 100 * share,
             "said": f"{percentile_name(round(100 * share, 6))} {milliseconds(ms)} ms"}
            for share, ms in one.figures
        ]  # fmt: skip
    names = [one.label for one in drawn]
    reach = [row["latency_ms"] for row in [*lines, *dots]]
    reach += [advice.question.latency_limit_ms] if advice.question.latency_limit_ms else []
    legend = alt.Legend(orient="top", columns=2, labelLimit=320)
    colour = alt.Color(
        "label:N",
        title=None,
        scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])),
        legend=legend,
    )
    x = alt.X(
        "latency_ms:Q",
        title="latency, ms (log scale)",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(values=log_ticks(min(reach), max(reach)), format="~g"),
    )
    y = alt.Y(
        "share_percent:Q",
        title="requests answered within that time, %",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(tickCount=5),
    )
    tooltip = [alt.Tooltip("label:N", title="option"), alt.Tooltip("said:N", title="latency")]
    layers: list[Any] = []
    if lines:
        layers.append(
            alt.Chart(pd.DataFrame(lines))
            .mark_line(interpolate="step-after", strokeWidth=2)
            .encode(
                x=x,
                y=y,
                color=colour,
                strokeDash=alt.StrokeDash(
                    "label:N",
                    title=None,
                    scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])),
                    legend=legend,
                ),
                tooltip=tooltip,
            )
        )
    if dots:
        known_points = alt.Chart(pd.DataFrame(dots))
        layers += [
            known_points.mark_line(strokeWidth=1, opacity=0.4, strokeDash=[2, 4]).encode(
                x=x, y=y, color=colour
            ),
            known_points.mark_point(size=70, strokeWidth=1.8, filled=False).encode(
                x=x,
                y=y,
                color=colour,
                shape=alt.Shape("label:N", title=None, scale=alt.Scale(domain=names), legend=legend),
                tooltip=tooltip,
            ),
        ]
    layers += _promise(advice, on.rule, on.muted)
    summarised = [one.label for one in drawn if not one.runs_ms]
    said = [
        "Read upwards at the limit: where a curve crosses it is the share of requests that keep it.",
        f"Points, joined only to be found: of {'; '.join(summarised)} a few figures are known and no samples."
        if summarised
        else "",
        left_out(len(drawn), len(measurements), "chosen options"),
    ]
    return Figure(
        panels=(dressed(alt.layer(*layers).properties(height=420), dark),),
        caption=" ".join(part for part in said if part),
        alt=f"Share of requests answered within each latency: {', '.join(names)}",
    )


def _steps(one: Measured) -> list[dict[str, Any]]:
    """Thin a sorted sample to the latencies at evenly spaced shares, its ends kept."""
    pooled = np.sort(np.concatenate(one.runs_ms))
    total = len(pooled) + one.error_count
    at = np.unique(np.linspace(0, len(pooled) - 1, min(len(pooled), _STEPS)).round().astype(int))
    return [
        {
            "label": one.label,
            "latency_ms": float(pooled[i]),
            "share_percent": 100 * float(i + 1) / total,
            "said": f"{milliseconds(float(pooled[i]))} ms: {100 * float(i + 1) / total:.4g} % of requests",
        }
        for i in at
    ]


def _promise(advice: Advice, rule: str, muted: str) -> list[Any]:
    import altair as alt

    question = advice.question
    share = pd.DataFrame(
        {"share_percent": [question.percentile], "said": [percentile_name(question.percentile)]}
    )
    layers = [
        alt.Chart(share)
        .mark_rule(strokeDash=[2, 3], color=muted)
        .encode(y=alt.Y("share_percent:Q", title="requests answered within that time, %"))
    ]
    if question.latency_limit_ms is not None:
        limit = pd.DataFrame(
            {
                "latency_ms": [question.latency_limit_ms],
                "said": [f"limit {plain(question.latency_limit_ms)} ms"],
            }
        )
        mark = alt.Chart(limit)
        layers += [
            mark.mark_rule(strokeDash=[6, 4], strokeWidth=1.6, color=rule).encode(
                x=alt.X("latency_ms:Q", title="latency, ms (log scale)")
            ),
            mark.mark_text(align="left", baseline="bottom", dx=5, dy=-4, fontSize=12, color=rule, y="height").encode(
                x=alt.X("latency_ms:Q", title="latency, ms (log scale)"), text="said:N"
            ),
        ]  # fmt: skip
    return layers


def over_time(advice: Advice, measurements: Sequence[Measured], *, dark: bool = False) -> Figure:
    """Draw how latency moved during each run: median and asked percentile of slices, the warm-up and a drift marked.

    Args:
        advice: the answer, for its limit and percentile.
        measurements: what `measured` found; only those with samples can be drawn.
        dark: the chart stands on a dark page.
    """
    import altair as alt

    from advisor.evidence import assess

    drawn = [m for m in measurements if m.runs_ms]
    if not drawn:
        return Figure(
            (),
            "No raw samples of the chosen options: the warm-up and the drift of a run can only be seen in its requests. "
            "Add a result file with one row a request at the left.",
        )
    on = ground(dark)
    question = advice.question
    panels, said = [], []
    slices = max(10, _SLICES // min(len(drawn), 3))
    for one in drawn[:3]:
        run = one.runs_ms[0]
        judged = assess(run, question.latency_limit_ms, question.percentile, question.confidence)
        name = percentile_name(question.percentile)
        rows = _slices(run, question.percentile, slices, name)
        marks = [{"request": judged.warmup_count, "said": "warm-up ends"}] if judged.warmup_count else []
        if judged.drift is not None and judged.drift.at_index is not None:
            marks.append({"request": judged.drift.at_index, "said": "drift begins"})
        drift = (
            ""
            if judged.drift is None
            else f", latency moved by {100 * judged.drift.change_fraction:+.0f} % during the run"
        )
        said.append(
            f"{one.label}: {len(run):,} requests of {'the only run' if len(one.runs_ms) == 1 else f'the first of {len(one.runs_ms)} runs'}, "
            f"{judged.warmup_count:,} of them warm-up{drift}."
        )
        lines = (
            alt.Chart(pd.DataFrame(rows))
            .mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=14))
            .encode(
                x=alt.X(
                    "request:Q",
                    title="request, in the order measured",
                    axis=alt.Axis(tickCount=5, format="~s"),
                ),
                y=alt.Y(
                    "latency_ms:Q",
                    title="latency, ms",
                    scale=alt.Scale(zero=False, padding=12),
                    axis=alt.Axis(tickCount=6),
                ),
                color=alt.Color(
                    "figure:N",
                    title=None,
                    sort=["median", name],
                    scale=alt.Scale(domain=["median", name], range=[SERIES[0], SERIES[1]]),
                    legend=alt.Legend(orient="top"),
                ),
                strokeDash=alt.StrokeDash(
                    "figure:N",
                    title=None,
                    scale=alt.Scale(domain=["median", name], range=[[1, 0], [5, 3]]),
                    legend=alt.Legend(orient="top"),
                ),
                tooltip=[
                    alt.Tooltip("figure:N"),
                    alt.Tooltip("request:Q", title="up to request", format=","),
                    alt.Tooltip("latency_ms:Q", title="ms", format=".4g"),
                ],
            )
        )
        layers: list[Any] = [lines]
        if marks:
            at = alt.Chart(pd.DataFrame(marks))
            layers += [
                at.mark_rule(strokeDash=[3, 3], color=on.rule).encode(x="request:Q"),
                at.mark_text(align="left", dx=4, baseline="top", fontSize=11, color=on.rule, y=2).encode(
                    x="request:Q", text="said:N"
                ),
            ]
        panels.append(dressed(alt.layer(*layers).properties(height=300, title=one.label), dark))
    return Figure(
        panels=tuple(panels),
        weights=(1,) * len(panels),
        caption=" ".join([*said, left_out(len(panels), len(drawn), "chosen options")]).strip(),
        alt="Latency during each run: " + " ".join(said),
    )


def _slices(run: FloatArray, percentile: float, count: int, name: str) -> list[dict[str, Any]]:
    rows = []
    edges = np.unique(np.linspace(0, len(run), min(count, len(run)) + 1).round().astype(int))
    for start, end in itertools.pairwise(edges):
        part = run[start:end]
        rows.append({"request": int(end), "figure": "median", "latency_ms": float(np.median(part))})
        rows.append(
            {"request": int(end), "figure": name, "latency_ms": float(np.percentile(part, percentile))}
        )
    return rows
