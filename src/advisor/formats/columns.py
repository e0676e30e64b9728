"""The columns of the result format: which there are, what they mean, and what a header may call them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Final, Literal

from advisor.formats import cells
from advisor.formats.cells import Cell, Numbers
from advisor.tables import BenchmarkRows, percentile_column, percentile_of
from advisor.text import closest, printable

VERSION: Final = 1
"""Version of the result format."""

UNITS: Final = MappingProxyType({"ns": 1e6, "us": 1e3, "ms": 1.0, "s": 1e-3})
"""Unit of a latency column -> how many of it are a millisecond."""

LONGEST_MS: Final = 1e12
"""No latency is longer (31 years); it keeps sums of squares finite."""

SMALLEST: Final = 1e-12
LARGEST: Final = 1e15
"""No figure that must be above 0 is smaller, and none is larger: products and quotients of figures stay finite."""

RAW: Final = MappingProxyType(
    {
        "latency_ms": "latency of the request; empty for a failed one",
        "error": "why the request failed; empty, 0, false, none or null: it succeeded",
        "started_at": "when the request started, ISO; its day is `measured_on` where no such column is",
        "look": "how many times the series has been judged, counting this one",
    }
)
"""Columns that only raw samples have, with their meaning."""

ONLY_SUMMARY: Final = ("sample_count", "error_count")
LOADS: Final = ("", "closed", "open", "single_stream")
DEFAULTS: Final = MappingProxyType(
    {"batch_size": 1, "concurrency": 1, "copies": 1, "shards": 1, "quality": "ok"}
)

_LATENCY: Final = re.compile(r"latency(?:_(mean|std|min|max|p\d+(?:[_.]\d+)?))?(?:_([^_]+))?")

_COUNTED: Final = re.compile(r"^\d+\s*x\s*")

Kind = Literal["text", "count", "number", "latency"]


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Attributes:
        name: its name in `BenchmarkRows` or `RAW`.
        kind: how its cells are read.
        per_unit: how many of the file's unit are one of the unit of `name`.
        at_least, above: bounds of the number, where there are any.
        parse: the reading of a text.
    """

    name: str
    kind: Kind
    per_unit: float = 1.0
    at_least: float | None = None
    above: float | None = None
    parse: Callable[[str], Any] = str

    def value(self, cell: Cell, numbers: Numbers) -> Any:
        """Return what a cell says: text, a whole number or a float; None where a number is left empty.

        Raises:
            ValueError: what is wrong, without the place.
        """
        if self.kind in ("number", "latency"):
            if cell is None or cell == "" or (isinstance(cell, str) and not cell.strip()):
                return None
            return self.checked(numbers.read(cell) / self.per_unit, cell)
        raw = cells.text(cells.as_text(cell))
        if self.kind == "text":
            return self.parse(raw)
        return None if raw == "" else self.checked(cells.count(raw), cell)

    def checked(self, number: Any, cell: object) -> Any:
        """Return the number when it lies within the bounds.

        Raises:
            ValueError: it does not.
        """
        if self.above is not None and not number > self.above:
            raise ValueError(f"{printable(cell)} is not above {self.above:g}")
        if self.at_least is not None and not number >= self.at_least:
            raise ValueError(f"{printable(cell)} is below {self.at_least:g}")
        if self.kind == "latency" and number > LONGEST_MS:
            raise ValueError(f"{printable(cell)} is no latency: it is over 30 years")
        if self.kind in ("number", "latency") and number > LARGEST:
            raise ValueError(f"{printable(cell)} is too large")
        if self.above == 0 and number < SMALLEST:
            raise ValueError(f"{printable(cell)} is too small")
        return number


def instance_type(known: Collection[str] | None, raw: str) -> str:
    """Return an instance type, or an option like `m5.large+2xeia2.medium`, when it is known.

    Raises:
        ValueError: it is empty or none of `known` (`local` and `ml.` before a known type are accepted).
    """
    host = raw.split("+", 1)[0].strip()
    if not host:
        raise ValueError("is empty: every row names its instance type (or `local`)")
    if known is not None and host != "local" and host.removeprefix("ml.") not in known and host not in known:
        raise ValueError(f'"{printable(host)}" is not an instance type{closest(host, known)}')
    if "+" in raw:
        accelerator_type(known, _COUNTED.sub("", raw.split("+", 1)[1].strip()))
    return raw


def accelerator_type(known: Collection[str] | None, raw: str) -> str:
    """Return an attachable accelerator when it is known, where `known` names any.

    Raises:
        ValueError: `known` names attachable accelerators, and this is none of them.
    """
    attachable = {name for name in known or () if name.startswith("eia")}
    if raw and attachable and raw not in attachable:
        raise ValueError(f'"{printable(raw)}" is not an attachable accelerator{closest(raw, attachable)}')
    return raw


def _model(raw: str) -> str:
    if not raw:
        raise ValueError("is empty: every row names its model")
    return raw


def _quality(raw: str) -> str:
    return cells.one_of(raw or "ok", ("ok", "suspect"))


def _load(raw: str) -> str:
    return cells.one_of(raw, LOADS)


def declared(known_types: Collection[str] | None = None) -> dict[str, Column]:
    """Return the columns under their own names: those of `BenchmarkRows` and of raw samples."""
    types = None if known_types is None else frozenset(known_types)
    return {
        **_declared(),
        "instance_type": Column("instance_type", "text", parse=partial(instance_type, types)),
        "attached_accelerator": Column(
            "attached_accelerator", "text", parse=partial(accelerator_type, types)
        ),
    }


@cache
def _declared() -> Mapping[str, Column]:
    parsers: dict[str, Callable[[str], Any]] = {
        "model": _model,
        "measured_on": cells.day,
        "quality": _quality,
        "load_kind": _load,
    }
    found = {}
    for name, declaration in BenchmarkRows.to_schema().columns.items():
        if declaration.regex:
            continue
        kind: Kind = "text"
        if "int" in str(declaration.dtype).lower():
            kind = "count"
        elif "float" in str(declaration.dtype):
            kind = "latency" if name.startswith("latency_") else "number"
        bounds = {check.name: check.statistics.get("min_value") for check in declaration.checks}
        found[name] = Column(
            name,
            kind,
            at_least=bounds.get("greater_than_or_equal_to"),
            above=bounds.get("greater_than"),
            parse=parsers.get(name, str),
        )
    found["latency_ms"] = Column("latency_ms", "latency", above=0.0)
    found["error"] = Column("error", "text")
    found["started_at"] = Column("started_at", "text")
    found["look"] = Column("look", "count", at_least=1)
    return MappingProxyType(found)


def percentile(name: str) -> Column:
    """Return the column of a percentile."""
    return Column(name, "latency", above=0.0)


def find(name: str, known: Mapping[str, Column]) -> Column:
    """Return the column of `known` (see `declared`), or the percentile, that a header calls `name`.

    Raises:
        ValueError: no such column or unit; the text names the closest.
    """
    latency = _LATENCY.fullmatch(name)
    if name in known and latency is None:
        return known[name]
    if latency is None:
        shown = f'unknown column "{printable(name)}"'
        raise ValueError(
            f"{shown}{closest(name, [*known, 'latency_p50_ms', 'latency_p90_ms', 'latency_p99_ms'])}"
        )
    statistic, unit = latency[1], latency[2]
    stem = f"latency_{statistic}" if statistic else "latency"
    if unit is None:
        raise ValueError(f'column "{printable(name)}" has no unit: name it {stem}_ms (or _ns, _us, _s)')
    if unit not in UNITS:
        near = closest(name, [f"{stem}_{known_unit}" for known_unit in UNITS])
        raise ValueError(
            f'unknown unit "{printable(unit)}" in column "{printable(name)}"{near}: _ns, _us, _ms or _s'
        )
    target = f"{stem}_ms"
    if target in known:
        found = known[target]
    else:
        rank = percentile_of(target.replace(".", "_"))
        if rank is None or percentile_of(percentile_column(rank)) != rank:
            raise ValueError(
                f'column "{printable(name)}" is no percentile from 0 to 100 with up to six digits'
            )
        found = percentile(percentile_column(rank))
    return Column(found.name, found.kind, UNITS[unit], found.at_least, found.above, found.parse)


def header(names: Sequence[str], known_types: Collection[str] | None = None) -> list[Column]:
    """Return the columns of a header.

    Raises:
        ValueError: an unknown or repeated column, no model, instance type or latency, or raw samples and a summary in one.
    """
    known = declared(known_types)
    found = [find(name, known) for name in names]
    seen: dict[str, str] = {}
    for column, name in zip(found, names, strict=True):
        if column.name in seen:
            first = seen[column.name]
            twice = (
                f'column "{name}" is there twice'
                if first == name
                else f'columns "{first}" and "{name}" are one'
            )
            raise ValueError(twice)
        seen[column.name] = name
    for needed in ("model", "instance_type"):
        if needed not in seen:
            raise ValueError(f'no column "{needed}"{_near_miss(needed, names)}: every row needs it')
    return found


def _near_miss(needed: str, names: Sequence[str]) -> str:
    return closest(needed, names).replace("did you mean", "is it")


def is_raw(names: Collection[str]) -> bool:
    """Tell raw samples from a summary by the names of the columns.

    Raises:
        ValueError: neither, or both.
    """
    figures = sorted(
        name
        for name in names
        if name in ONLY_SUMMARY or (name.startswith("latency_") and name != "latency_ms")
    )
    if "latency_ms" in names:
        if figures:
            raise ValueError(
                f'column "{figures[0]}" belongs to a summary, "latency_ms" to raw samples: keep them in two files'
            )
        return True
    for name in ("error", "look"):
        if name in names:
            raise ValueError(f'column "{name}" belongs to raw samples, which need a column "latency_ms"')
    if not any(name.startswith("latency_") and name != "latency_std_ms" for name in figures):
        raise ValueError(
            "no latency: give latency_ms (raw samples) or latency_mean_ms, latency_p90_ms, ... (a summary)"
        )
    return False
