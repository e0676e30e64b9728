"""The result format in words, derived from the declared columns: the template and the tables of the manual."""

from typing import Final

from advisor.formats.columns import DEFAULTS, RAW, VERSION, declared
from advisor.formats.runs import VARYING
from advisor.tables import BenchmarkRows

_REQUIRED: Final = ("model", "instance_type")
_EXAMPLE: Final = {
    "model": "my-model",
    "instance_type": "c5.large",
    "attached_accelerator": "",
    "sequence_length": "128",
    "backend": "onnxruntime",
    "precision": "fp32",
    "software": "onnxruntime 1.20",
    "batch_size": "1",
    "concurrency": "1",
    "measured_on": "2026-11-29",
    "source": "our own measurement",
}
_RAW_ROWS: Final = (
    {"run_id": "1", "started_at": "2026-11-29T10:00:00.000Z", "latency_ms": "12.31", "error": ""},
    {"run_id": "1", "started_at": "2026-11-29T10:00:00.013Z", "latency_ms": "12.02", "error": ""},
    {"run_id": "1", "started_at": "2026-11-29T10:00:00.026Z", "latency_ms": "", "error": "timeout"},
    {"run_id": "2", "started_at": "2026-11-29T10:30:00.000Z", "latency_ms": "12.57", "error": ""},
)
_SUMMARY_ROWS: Final = (
    {
        "sample_count": "1000",
        "error_count": "0",
        "latency_mean_ms": "12.3",
        "latency_std_ms": "0.4",
        "latency_min_ms": "11.6",
        "latency_max_ms": "19.8",
        "latency_p50_ms": "12.2",
        "latency_p90_ms": "12.9",
        "latency_p99_ms": "14.1",
        "throughput_per_s": "81.2",
        "peak_memory_mib": "612",
    },
)
_FIGURES: Final = ("sample_count", "error_count")


def raw_columns() -> list[dict[str, str]]:
    """Return the columns of raw samples: name, unit, meaning, bounds, default."""
    rows = [row for row in summary_columns() if not _is_figure(row["column"])]
    for row in rows:
        if row["column"] in VARYING:
            row["meaning"] += "; may differ by request: " + (
                "the mean is kept" if row["column"] == "output_token_count" else "the greatest is kept"
            )
    own = [
        {"column": name, "unit": "ms" if name == "latency_ms" else "", "meaning": meaning, **_bounds(name)}
        for name, meaning in RAW.items()
    ]
    return [*rows[:4], *own, *rows[4:]]


def summary_columns() -> list[dict[str, str]]:
    """Return the columns of a summary: name, unit, meaning, bounds, default."""
    found = []
    for name, declaration in BenchmarkRows.to_schema().columns.items():
        shown = "latency_pNN_ms" if declaration.regex else str(name)
        found.append(
            {
                "column": shown,
                "unit": str((declaration.metadata or {}).get("unit") or ""),
                "meaning": str(declaration.description),
                **_bounds(shown),
            }
        )
    return found


def _is_figure(name: str) -> bool:
    return name in _FIGURES or name.startswith("latency_")


def _bounds(name: str) -> dict[str, str]:
    column = declared().get(name)
    bounds = ""
    if name == "latency_pNN_ms":
        bounds = "> 0"
    elif column is not None and column.above is not None:
        bounds = f"> {column.above:g}"
    elif column is not None and column.at_least is not None:
        bounds = f">= {column.at_least:g}"
    if column is not None and column.kind == "count":
        bounds = f"whole, {bounds}"
    default = "required" if name in _REQUIRED else str(DEFAULTS.get(name, ""))
    if name == "attached_accelerator_count":
        default = "1 where an accelerator is named"
    if name == "look":
        default = "1"
    return {"bounds": bounds, "default": default}


def markdown(rows: list[dict[str, str]]) -> str:
    """Return rows as a Markdown table."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names)]
    lines += [[f"`{row['column']}`", *(row[name].replace("|", "\\|") for name in names[1:])] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def manual(text: str) -> str:
    """Return a manual page with its generated parts made anew: what stands between `<!-- made: NAME -->` and `<!-- end -->`."""
    for name, part in (
        ("raw columns", markdown(raw_columns())),
        ("summary columns", markdown(summary_columns())),
        ("raw template", f"```csv\n{template(raw=True)}```"),
        ("summary template", f"```csv\n{template(raw=False)}```"),
    ):
        before, mark, rest = text.partition(f"<!-- made: {name} -->\n")
        after = rest.partition("<!-- end -->")
        text = f"{before}{mark}{part}\n{after[1]}{after[2]}"
    return text


def template(*, raw: bool) -> str:
    """Return a commented CSV file that can be filled in and is valid as it is."""
    described = raw_columns() if raw else summary_columns()
    own = _RAW_ROWS if raw else _SUMMARY_ROWS
    names = [*_EXAMPLE, *own[0]]
    kind = "raw samples: one row a request" if raw else "summaries: one row a benchmark run"
    lines = [
        f"# advisor_result {VERSION}",
        f"# {kind}. Lines that start with # are allowed above the header.",
        "# Needed: model, instance_type and a latency; other columns may be left out, or empty where not known.",
        "# A latency column ends with its unit: _ns, _us, _ms or _s. Any percentile: latency_p50_ms, latency_p99_9_ms.",
        "#",
    ]
    for row in described:
        facts = ", ".join(word for word in (row["unit"], row["bounds"], _default(row["default"])) if word)
        lines.append(f"# {row['column']}: {row['meaning']}{f' ({facts})' if facts else ''}")
    rows = [",".join({**_EXAMPLE, **row}[name] for name in names) for row in own]
    return "\n".join([*lines, ",".join(names), *rows]) + "\n"


def _default(default: str) -> str:
    return default if default in ("", "required") else f"default {default}"
