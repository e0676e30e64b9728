"""The answer for programs: JSON and CSV. Costs are always per 100,000 inferences, as the keys say."""

import csv
import io
import json
import math
from dataclasses import asdict
from typing import Any, Final

import pandas as pd

from advisor.advice import Advice, Choice
from advisor.reports.presentation import Presentation
from advisor.tables import Ranked, Rejected
from advisor.text import inert_cell, printable

SCHEMA_VERSION: Final = 1
"""Rises when a key changes its meaning or goes; new keys do not raise it."""


def json_bytes(advice: Advice, presentation: Presentation) -> bytes:  # noqa: ARG001
    """Write the whole answer as one JSON object in UTF-8; unknown is null. `advisor schema answer` describes it."""
    return (json.dumps(answer(advice), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def csv_bytes(advice: Advice, presentation: Presentation) -> bytes:  # noqa: ARG001
    """Write ranked and rejected as one table, told apart by `status`; unknown is empty, text cannot become a formula."""
    out = io.StringIO(newline="")
    names = list(Rejected.to_schema().columns)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["status", "rank", *names])
    for rank, row in enumerate(advice.ranked.to_dict("records"), 1):
        writer.writerow(["ranked", rank, *(_cell(row.get(name)) for name in names)])
    for row in advice.rejected.to_dict("records"):
        writer.writerow(["rejected", "", *(_cell(row.get(name)) for name in names)])
    return out.getvalue().encode()


def answer(advice: Advice) -> dict[str, Any]:
    """Return the answer as JSON values: numbers that are unknown are None, text has no control characters."""
    return {
        "schema_version": SCHEMA_VERSION,
        "headline": printable(advice.headline),
        "question": _safe(advice.question.model_dump(mode="json")),
        "recommended": _choice(advice.recommended),
        "proven": _choice(advice.proven),
        "ranked": [
            {"rank": rank, **row}
            for rank, row in enumerate(_rows(advice.ranked, list(Ranked.to_schema().columns)), 1)
        ],
        "rejected": _rows(advice.rejected, list(Rejected.to_schema().columns)),
        "unmeasured": {
            "type_count": advice.unmeasured_count,
            "instance_types": _safe(list(advice.unmeasured)),
        },
        "switches": [_safe(asdict(switch)) for switch in advice.switches],
        "probability_none_kept": _value(advice.probability_none_kept),
        "notes": [_safe(asdict(note)) for note in advice.notes],
        "sources": [_safe(asdict(source)) for source in advice.sources],
        "origin": _safe(list(advice.origin)),
    }


def _choice(choice: Choice | None) -> dict[str, Any] | None:
    return None if choice is None else _safe(asdict(choice))


def _rows(frame: pd.DataFrame, names: list[str]) -> list[dict[str, Any]]:
    return [{name: _value(row.get(name)) for name in names} for row in frame.to_dict("records")]


def _safe(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    return _value(value)


def _value(value: Any) -> Any:
    if value is None or value is pd.NA:
        return None
    if isinstance(value, str):
        return printable(value)
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any) -> Any:
    value = _value(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return inert_cell(value) if isinstance(value, str) else value
