"""Small tables for tests, built from the declared columns: what a row does not say has a harmless default."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa

from advisor.tables import (
    BENCHMARK_KEY,
    PRICE_KEY,
    Accelerators,
    BenchmarkRows,
    Benchmarks,
    Catalogue,
    Instances,
    Locations,
    Prices,
    Samples,
    Sources,
)
from advisor.workload import Workload

TODAY = date(2026, 11, 29)

_DEFAULTS: dict[type[pa.DataFrameModel], dict[str, Any]] = {
    BenchmarkRows: {
        "model": "net",
        "instance_type": "c5.large",
        "attached_accelerator_count": 0,
        "batch_size": 1,
        "concurrency": 1,
        "copies": 1,
        "shards": 1,
        "source": "made for a test",
        "quality": "ok",
    },
    Instances: {
        "vcpu_count": 4,
        "memory_mib": 8192.0,
        "cpu_arch": "x86_64",
        "accelerator_kind": "none",
        "availability": "sold",
        "as_of": "2026-11-01",
        "source": "facts",
    },
    Accelerators: {"memory_mib": 4096.0, "availability": "sold", "as_of": "2026-11-01", "source": "facts"},
    Prices: {
        "region": "us-west-2",
        "purchase_option": "on_demand",
        "statistic": "list",
        "currency": "USD",
        "as_of": "2026-11-01",
        "source": "list",
    },
    Locations: {"location_type": "region"},
    Sources: {"description": "made for a test"},
}
_UNKNOWN = {"float64": np.nan, "int64": 0, "Int64": pd.NA}


@cache
def _columns(model: type[pa.DataFrameModel]) -> dict[str, str]:
    return {name: str(column.dtype) for name, column in model.to_schema().columns.items() if not column.regex}


def table(model: type[pa.DataFrameModel], rows: Sequence[Mapping[str, Any]]) -> Any:
    """A frame of some rows with the model's types; every other column has its default, or is unknown.

    It is not validated, because a property test makes thousands: `test_builders.py` proves the types once.
    """
    columns = _columns(model)
    extra = sorted({name for row in rows for name in row} - set(columns))
    data = {
        name: pd.Series(
            [row.get(name, _DEFAULTS[model].get(name, _UNKNOWN.get(kind, ""))) for row in rows],
            dtype="str" if kind not in _UNKNOWN else kind,
        )
        for name, kind in columns.items()
    }
    data |= {name: pd.Series([row.get(name, np.nan) for row in rows], dtype=float) for name in extra}
    return pd.DataFrame(data)


def benchmarks(*rows: Mapping[str, Any]) -> Benchmarks:
    """Benchmarks of some rows. A row may hold `samples`: its raw latencies in ms, and `look`."""
    plain = [{k: v for k, v in row.items() if k not in {"samples", "look"}} for row in rows]
    for row, given in zip(plain, rows, strict=True):
        if "samples" in given:
            row["sample_count"] = len(given["samples"])
    frame = table(BenchmarkRows, plain)
    order = frame.sort_values(list(BENCHMARK_KEY), kind="stable").index
    samples = {
        place: Samples(
            np.asarray(rows[i]["samples"], float),
            int(rows[i].get("error_count", 0)),
            int(rows[i].get("look", 1)),
        )
        for place, i in enumerate(order)
        if "samples" in rows[i]
    }
    return Benchmarks(frame.loc[order].reset_index(drop=True), samples, ("test benchmarks",))


def shuffled(given: Benchmarks, order: Sequence[int]) -> Benchmarks:
    """The same benchmarks with their rows in another order."""
    rows = given.rows.iloc[list(order)].reset_index(drop=True)
    samples = {place: given.samples[i] for place, i in enumerate(order) if i in given.samples}
    return Benchmarks(rows, samples, given.origin)


def catalogue(
    prices: Sequence[Mapping[str, Any]],
    instances: Sequence[Mapping[str, Any]] | None = None,
    accelerators: Sequence[Mapping[str, Any]] = (),
    own: Sequence[Mapping[str, Any]] = (),
    regions: Sequence[str] = ("us-west-2", "us-east-1", "eu-west-1", "cn-north-1"),
) -> Catalogue:
    """A catalogue of some prices; hardware that is not given is that of a plain CPU type.

    Args:
        prices: rows of `Prices`.
        instances: rows of `Instances`; None: one default row for each priced type.
        accelerators: rows of `Accelerators`.
        own: further price rows, which the user gave.
        regions: regions that AWS has.
    """
    attached = {row["accelerator_type"] for row in accelerators}
    if instances is None:
        types = {row["instance_type"] for row in (*prices, *own)} - attached
        instances = [{"instance_type": name} for name in sorted(types)]
    frame = table(Prices, [*prices, *own])
    order = frame.sort_values(list(PRICE_KEY), kind="stable").index
    mine = frozenset(place for place, i in enumerate(order) if i >= len(prices))
    return Catalogue(
        instances=table(Instances, instances),
        accelerators=table(Accelerators, accelerators),
        prices=frame.loc[order].reset_index(drop=True),
        locations=table(Locations, [{"region": region} for region in regions]),
        sources=table(Sources, [{"source": "list"}, {"source": "facts"}]),
        origin=("test prices",),
        own=mine,
    )


def ask(**fields: Any) -> Workload:
    """A question asked on a fixed day."""
    return Workload.ask(**{"today": TODAY, **fields})
