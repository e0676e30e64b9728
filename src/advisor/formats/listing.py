"""What benchmarks hold: by model, by row and by file."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd

from advisor.errors import QuestionError
from advisor.formats.rows import Rows, assemble
from advisor.tables import Benchmarks, percentile_columns
from advisor.text import closest
from advisor.wording import option_name

_MOST_NAMED: Final = 8


def models(benchmarks: Benchmarks, wanted: Sequence[str] = ()) -> pd.DataFrame:
    """Return one row a model: its inputs, options, rows, kind of evidence and sources.

    Args:
        benchmarks: what was read.
        wanted: only these models; empty: all.

    Raises:
        QuestionError: a model that is not there.
    """
    rows = benchmarks.rows
    for asked in wanted:
        _refuse_unknown(benchmarks, asked)
    kept = rows[rows["model"].isin(list(wanted))] if wanted else rows
    options = pd.Series(option_names(kept), index=kept.index, dtype="str")
    found: list[dict[str, Any]] = []
    for name, of_model in kept.groupby("model", sort=True):
        lengths = sorted(of_model["sequence_length"].dropna().unique())
        shapes = sorted(set(of_model["input_shape"]) - {""})
        sampled = sum(label in benchmarks.samples for label in of_model.index)
        found.append(
            {
                "model": str(name),
                "sequence_lengths": " ".join(str(length) for length in lengths),
                "input_shapes": " ".join(shapes),
                "options": ", ".join(sorted(set(options[of_model.index]))),
                "row_count": len(of_model),
                "sampled_row_count": sampled,
                "evidence": evidence(sampled, len(of_model)),
                "suspect_row_count": int((of_model["quality"] == "suspect").sum()),
                "sources": "; ".join(sorted(set(of_model["source"]) - {""})),
            }
        )
    return pd.DataFrame(found)


def evidence(sampled: int, count: int) -> str:
    """Name what stands behind `count` rows, of which `sampled` have raw samples."""
    if sampled == 0:
        return "summaries"
    return "raw samples" if sampled == count else f"raw samples ({sampled} of {count})"


def of_model(benchmarks: Benchmarks, model: str) -> pd.DataFrame:
    """Return the rows of one model with the option as it is shown, without percentiles that none of them has.

    Raises:
        QuestionError: a model that is not there.
    """
    _refuse_unknown(benchmarks, model)
    found = benchmarks.rows[benchmarks.rows["model"] == model].copy()
    empty = [name for name in percentile_columns(found).values() if found[name].isna().all()]
    found.insert(0, "option", option_names(found))
    return found.drop(columns=empty)


def option_names(rows: pd.DataFrame) -> list[str]:
    """Return how the option of each row is shown: `m5.large + 2 x eia2.medium`."""
    return [
        option_name(*option)
        for option in zip(
            rows["instance_type"],
            rows["attached_accelerator"],
            rows["attached_accelerator_count"],
            strict=True,
        )
    ]


def summary(part: Rows) -> list[str]:
    """Return what was understood of one file, a line each: what it holds, then the notes that reading added."""
    found = assemble([part], (part.name,)).rows
    rows = f"{len(found)} {'row' if len(found) == 1 else 'rows'}"
    if part.request_count:
        failed = int(found["error_count"].fillna(0).sum())
        held = f"raw samples, {part.request_count:,} requests ({failed:,} failed) in {rows}, one a run"
    else:
        held = f"summaries, {rows}"
    names = sorted(set(found["model"]))
    named = ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    )
    on = sorted(set(option_names(found)))
    lines = [f"{part.name}: {held}; {named} on {len(on)} {'option' if len(on) == 1 else 'options'}"]
    suspect = int((found["quality"] == "suspect").sum())
    if suspect:
        lines.append(f"  {suspect} suspect, never ranked first")
    for note, count in found["note"].value_counts().items():
        if note:
            lines.append(f"  {count} x {note}")
    return lines


def _refuse_unknown(benchmarks: Benchmarks, model: str) -> None:
    known = sorted(set(benchmarks.rows["model"]))
    if model not in known:
        held = ", ".join(known[:_MOST_NAMED]) + (", ..." if len(known) > _MOST_NAMED else "")
        raise QuestionError(
            f"no benchmark of {model} in {', '.join(benchmarks.origin)}{closest(model, known)}; there are: {held}"
        )
