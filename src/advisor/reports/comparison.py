"""A comparison as bytes: text for a terminal, JSON, CSV and Markdown. One or more candidates beside one baseline."""

import csv
import io
import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final

from advisor.compare import Change, Comparison
from advisor.reports.markdown import escaped
from advisor.reports.presentation import hourly
from advisor.text import inert_cell, printable
from advisor.wording import figure, money, percent

_WIDTH: Final = 100
_HEADINGS: Final = ("", "baseline", "candidate", "change", "interval", "")
_WITH_INTERVAL: Final = ("lower", "higher", "no significant difference")
_UNITS: Final = {"_ms": "ms", "_per_s": "1/s"}


def terminal(comparisons: Sequence[Comparison]) -> bytes:
    """Write text that fits 100 columns."""
    return "\n\n".join("\n".join(_lines(one)) for one in comparisons).encode() + b"\n"


def markdown(comparisons: Sequence[Comparison]) -> bytes:
    """Write tables of GitHub's dialect; names cannot become markup."""
    return "\n".join(line for one in comparisons for line in _markdown_lines(one)).encode()


def json_bytes(comparisons: Sequence[Comparison]) -> bytes:
    """Write JSON; every figure carries its unit in the key, unknown is null."""
    found = [
        {
            "baseline": printable(one.baseline),
            "candidate": printable(one.candidate),
            "confidence_fraction": one.confidence,
            "changes": [_record(change) for change in one.changes],
            "notes": [printable(note) for note in one.notes],
        }
        for one in comparisons
    ]
    return (
        json.dumps({"schema_version": 1, "comparisons": found}, indent=2, ensure_ascii=False) + "\n"
    ).encode()


def csv_bytes(comparisons: Sequence[Comparison]) -> bytes:
    """Write one row a figure; unknown is empty."""
    out = io.StringIO()
    rows = [
        {"baseline_option": inert_cell(one.baseline), "candidate_option": inert_cell(one.candidate)}
        | {name: "" if value is None else value for name, value in _record(change).items()}
        for one in comparisons
        for change in one.changes
    ]
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


FORMATS: Final[Mapping[str, Callable[[Sequence[Comparison]], bytes]]] = {
    "terminal": terminal,
    "json": json_bytes,
    "csv": csv_bytes,
    "markdown": markdown,
}
"""Format name -> comparisons to bytes. The same comparisons give the same bytes."""


def headline(comparison: Comparison) -> str:
    """Say the change of mean latency and of cost in one sentence."""
    by_name = {change.figure: change for change in comparison.changes}
    said = [
        f"{words} {_clause(by_name[name])}"
        for name, words in (("latency_mean_ms", "mean latency"), ("cost_usd_per_100k", "cost per inference"))
        if by_name[name].change is not None
    ]
    told = " and ".join(said) or "nothing that both sides have measured"
    return f"{comparison.candidate} against {comparison.baseline}: {told}"


def _clause(change: Change) -> str:
    if change.change is None or change.meaning == "no significant difference":
        return "without a significant difference"
    point = change.change.point
    if round(100 * abs(point), 1) == 0:
        return "unchanged"
    unsure = " (no interval)" if change.meaning == "no interval" else ""
    return f"{abs(point):.1%} {'lower' if point < 0 else 'higher'}{unsure}".replace("%", " %")


def _lines(comparison: Comparison) -> Iterator[str]:
    yield from textwrap.wrap(printable(headline(comparison)), _WIDTH)
    yield ""
    rows = [_HEADINGS, *(_row(change) for change in comparison.changes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(row[1:5], widths[1:5], strict=True)),
            row[5],
        ]
        yield "  ".join(cells).rstrip()
    for line in _remarks(comparison):
        yield from textwrap.wrap(printable(line), _WIDTH, initial_indent="- ", subsequent_indent="  ")


def _remarks(comparison: Comparison) -> Iterator[str]:
    measured = (change for change in comparison.changes if not change.figure.startswith("price"))
    if any(change.meaning in _WITH_INTERVAL for change in measured):
        yield f"an interval holds the true change with {percent(comparison.confidence)} confidence"
    yield from comparison.notes


def _markdown_lines(comparison: Comparison) -> Iterator[str]:
    yield f"**{escaped(headline(comparison))}**"
    yield ""
    for row in (_HEADINGS, ("---", *["---:"] * 4, "---"), *(_row(change) for change in comparison.changes)):
        yield "| " + " | ".join(cell if "---" in cell else escaped(cell) for cell in row) + " |"
    yield ""
    for note in _remarks(comparison):
        yield f"- {escaped(note)}"
    yield ""


def _row(change: Change) -> tuple[str, ...]:
    shown: Callable[[float], str] = money if "_usd_" in change.figure else figure
    if change.figure == "price_usd_per_hour":
        shown = _hourly
    values = [shown(one) if isfinite(one) else "unknown" for one in (change.baseline, change.candidate)]
    moved, interval = "", ""
    if change.change is not None:
        moved = _signed(change.change.point)
        ends = change.change.low, change.change.high
        if ends != (None, None) and ends[0] != ends[1]:
            interval = " to ".join("?" if end is None else _signed(end) for end in ends)
    meaning = "" if change.meaning == "unknown" else change.meaning
    return _label(change.figure), *values, moved, interval, meaning


def _hourly(usd: float) -> str:
    return f"${hourly(usd)}"


def _signed(fraction: float) -> str:
    return f"{100 * fraction:+.1f} %"


def _label(name: str) -> str:
    """Write the name of a figure with its unit: latency_p99_9_ms is `latency P99.9, ms`."""
    if name == "price_usd_per_hour":
        return "price, $/h"
    if name == "cost_usd_per_100k":
        return "cost, $/100k"
    suffix = next(suffix for suffix in _UNITS if name.endswith(suffix))
    words, _, statistic = name.removesuffix(suffix).partition("_")
    if statistic.startswith("p") and statistic[1:2].isdigit():
        statistic = statistic.upper().replace("_", ".")
    return f"{' '.join(part for part in (words, statistic) if part)}, {_UNITS[suffix]}"


def _record(change: Change) -> dict[str, Any]:
    moved = change.change
    return {
        "figure": change.figure,
        "baseline": change.baseline if isfinite(change.baseline) else None,
        "candidate": change.candidate if isfinite(change.candidate) else None,
        "change_fraction": None if moved is None else moved.point,
        "change_low_fraction": None if moved is None else moved.low,
        "change_high_fraction": None if moved is None else moved.high,
        "meaning": change.meaning,
    }
