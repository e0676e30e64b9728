"""Rows as a table to read, as CSV or as JSON."""

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from advisor.text import inert_cell, printable

if TYPE_CHECKING:
    import pandas as pd

Cells = list[dict[str, str]]

_GAP = "  "


def as_table(rows: Cells, *, right: frozenset[str] = frozenset()) -> str:
    """Lay cells out in columns; those named in `right` are aligned to the right."""
    if not rows:
        return ""
    shown = [{name: printable(text) for name, text in row.items()} for row in rows]
    widths = {name: max(len(name), *(len(row[name]) for row in shown)) for name in shown[0]}
    lines = [{name: name for name in widths}, *shown]
    return "\n".join(
        _GAP.join(
            line[name].rjust(width) if name in right else line[name].ljust(width)
            for name, width in widths.items()
        ).rstrip()
        for line in lines
    )


def as_csv(frame: "pd.DataFrame") -> str:
    """Every column as CSV; text that a spreadsheet would take for a formula is made inert."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(frame.columns)
    for row in frame.to_dict("records"):
        writer.writerow([_plain(value) for value in row.values()])
    return out.getvalue().rstrip("\n")


def as_json(frame: "pd.DataFrame", key: str) -> str:
    """Every column as JSON under `key`; unknown is null."""
    rows = [{str(name): _value(value) for name, value in row.items()} for row in frame.to_dict("records")]
    return json.dumps({"schema_version": 1, key: rows}, indent=2, ensure_ascii=False)


def _value(value: Any) -> Any:
    import pandas as pd

    if not isinstance(value, str) and pd.isna(value):
        return None
    return value or None if isinstance(value, str) else value


def _plain(value: Any) -> str:
    known = _value(value)
    if known is None:
        return ""
    if isinstance(known, float):
        return repr(known).removesuffix(".0")
    return inert_cell(known).lower() if isinstance(known, bool) else inert_cell(known)
