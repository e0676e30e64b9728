"""What the tables, the question and the answer are made of, derived from the code that checks them."""

import json
from collections.abc import Mapping
from typing import Any, Final

import pandera.pandas as pa
from pydantic import TypeAdapter

from advisor.advice import Choice, Note, SourceUsed, Switch
from advisor.reports.data import SCHEMA_VERSION
from advisor.tables import Accelerators, BenchmarkRows, Instances, Prices, Ranked, Rejected
from advisor.workload import Workload

TABLES: Final[Mapping[str, type[pa.DataFrameModel]]] = {
    "instances": Instances,
    "accelerators": Accelerators,
    "prices": Prices,
    "benchmarks": BenchmarkRows,
    "ranked": Ranked,
    "rejected": Rejected,
}
NAMES: Final = (*TABLES, "workload", "answer")

_COMPARISONS: Final = {
    "greater_than": (">", "exclusiveMinimum"),
    "greater_than_or_equal_to": (">=", "minimum"),
    "less_than": ("<", "exclusiveMaximum"),
    "less_than_or_equal_to": ("<=", "maximum"),
}


def meaning(name: str) -> str:
    """Say in one line what a table, the question or the answer is."""
    if name == "answer":
        return "The answer, as `--format json` writes it."
    described = Workload.__doc__ if name == "workload" else TABLES[name].__doc__
    return (described or "").partition("\n")[0].strip()


def columns(name: str) -> list[dict[str, str]]:
    """Return the columns of a table, or the fields of the question.

    Args:
        name: a key of `TABLES`, or "workload".

    Returns:
        One mapping a column: name, type, unit, bounds, unknown ("may be" or nothing), meaning.
    """
    if name == "workload":
        return [_field(*item) for item in _question()["properties"].items()]
    return [_column(*item) for item in TABLES[name].to_schema().columns.items()]


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a row of a table, of the question, or of the answer."""
    said = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "description": meaning(name),
    }
    if name == "workload":
        return said | _object(_question()["properties"])
    if name == "answer":
        return said | _answer()
    return said | _object(_row(name))


# ---------------------------------------------------------------------------------------------- as a table


def _column(name: str, column: Any) -> dict[str, str]:
    bounds = []
    for check in column.checks:
        if check.name in _COMPARISONS:
            bounds.append(f"{_COMPARISONS[check.name][0]} {next(iter(check.statistics.values())):g}")
        elif check.name == "isin":
            bounds.append(", ".join(word or "(empty)" for word in check.statistics["allowed_values"]))
        elif check.name == "str_length":
            bounds.append("not empty")
    if column.unique:
        bounds.append("unique")
    return {
        "name": "latency_pNN_ms" if column.regex else name,
        "type": _type(column),
        "unit": column.metadata["unit"],
        "bounds": "; ".join(bounds),
        "unknown": "may be" if column.nullable else "",
        "meaning": column.description,
    }


def _field(name: str, described: Mapping[str, Any]) -> dict[str, str]:
    known = next((kind for kind in described.get("anyOf", []) if kind["type"] != "null"), described)
    item = known.get("items", known)
    bounds = [f"{sign} {item[key]:g}" for sign, key in _COMPARISONS.values() if key in item]
    bounds += [", ".join(item["enum"])] if "enum" in item else []
    default = described.get("default")
    shown = (
        ", ".join(map(str, default))
        if isinstance(default, list)
        else ""
        if default is None
        else json.dumps(default)
    )
    return {
        "name": name,
        "type": f"list of {item['type']}" if known["type"] == "array" else known["type"],
        "unit": next((unit for suffix, unit in _UNITS.items() if name.endswith(suffix)), ""),
        "bounds": "; ".join(bounds),
        "default": shown.strip('"'),
        "meaning": described["description"],
    }


_UNITS: Final = {"_bytes": "bytes", "_ms": "ms", "_usd_per_hour": "USD/h", "_length": "tokens"}


# -------------------------------------------------------------------------------------------------- as JSON


def _type(column: Any) -> str:
    kind = str(column.dtype).lower()
    return next(
        (
            said
            for part, said in (("int", "integer"), ("float", "number"), ("bool", "boolean"))
            if part in kind
        ),
        "string",
    )


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


def _or_null(described: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [dict(described), {"type": "null"}]}


def _row(name: str) -> dict[str, Any]:
    return {
        key: _cell(column) for key, column in TABLES[name].to_schema().columns.items() if not column.regex
    }


def _cell(column: Any) -> dict[str, Any]:
    kind = _type(column)
    described: dict[str, Any] = {"type": [kind, "null"] if column.nullable else kind}
    for check in column.checks:
        if check.name in _COMPARISONS:
            described[_COMPARISONS[check.name][1]] = next(iter(check.statistics.values()))
        elif check.name == "isin":
            described["enum"] = [*check.statistics["allowed_values"], *([None] if column.nullable else [])]
        elif check.name == "str_length":
            described["minLength"] = check.statistics["min_value"]
    unit = column.metadata["unit"]
    return described | {"description": f"{column.description} [{unit}]" if unit else column.description}


def _question() -> dict[str, Any]:
    return Workload.model_json_schema(by_alias=False, mode="serialization")


def _answer() -> dict[str, Any]:
    """The schema of `data.answer`: its own keys, then what each part is made of."""
    text = {"type": "string"}
    parts = {
        kind.__name__: TypeAdapter(kind).json_schema(ref_template="#/$defs/{model}")
        for kind in (Choice, Switch, Note, SourceUsed)
    }
    nested = {name: part for described in parts.values() for name, part in described.pop("$defs", {}).items()}
    definitions = {
        name: part | {"additionalProperties": False, "required": list(part["properties"])}
        for name, part in (parts | nested).items()
    }
    rank = {"rank": {"type": "integer", "minimum": 1, "description": "place in the ranking"}}
    unmeasured = {
        "type_count": {
            "type": "integer",
            "minimum": 0,
            "description": "sold types without a benchmark of this model",
        },
        "instance_types": _list(text),
    }
    return _object(
        {
            "schema_version": {"const": SCHEMA_VERSION},
            "headline": text | {"description": "one sentence to quote"},
            "question": _object(_question()["properties"]),
            "recommended": _or_null({"$ref": "#/$defs/Choice"}),
            "proven": _or_null({"$ref": "#/$defs/Choice"}),
            "ranked": _list(_object(rank | _row("ranked"))),
            "rejected": _list(_object(_row("rejected"))),
            "unmeasured": _object(unmeasured),
            "switches": _list({"$ref": "#/$defs/Switch"}),
            "probability_none_kept": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "notes": _list({"$ref": "#/$defs/Note"}),
            "sources": _list({"$ref": "#/$defs/SourceUsed"}),
            "origin": _list(text),
        }
    ) | {"$defs": definitions}
