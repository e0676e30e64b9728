"""What a page can offer to choose from: the models, inputs, loads and places that the data holds."""

from collections.abc import Hashable, Iterable

import pandas as pd

from advisor.tables import Benchmarks, Catalogue


def models(benchmarks: Benchmarks) -> list[str]:
    """Name the measured models, sorted."""
    return sorted(str(name) for name in benchmarks.rows["model"].unique())


def _of(benchmarks: Benchmarks, model: str | None) -> pd.DataFrame:
    rows = benchmarks.rows
    return rows if model is None else rows[rows["model"] == model]


def sequence_lengths(benchmarks: Benchmarks, model: str | None) -> list[int]:
    """Return the input lengths in tokens at which a model was measured, rising; empty where it takes no sequence."""
    return sorted(int(n) for n in _of(benchmarks, model)["sequence_length"].dropna().unique())


def input_shapes(benchmarks: Benchmarks, model: str | None) -> list[str]:
    """Return the input shapes with which a model was measured, sorted; empty where none is stated."""
    return sorted(str(shape) for shape in _of(benchmarks, model)["input_shape"].unique() if shape)


def counts(benchmarks: Benchmarks, model: str | None, column: str) -> list[int]:
    """Return the batch sizes or concurrencies (`column`) with which a model was measured, rising."""
    return sorted(int(n) for n in _of(benchmarks, model)[column].unique())


def regions(catalogue: Catalogue) -> list[str]:
    """Return "all", then every region, then every local and wavelength zone that has a price or is known."""
    places = catalogue.locations.sort_values(["location_type", "region"], kind="stable")
    named = [
        *places.loc[places["location_type"] == "region", "region"],
        *places.loc[places["location_type"] != "region", "region"],
    ]
    return _once(["all", *named, *sorted(catalogue.prices["region"].unique())])


def purchase_options(catalogue: Catalogue) -> list[str]:
    """Return "all", on demand, then every other purchase option that has a price."""
    return _once(["all", "on_demand", *sorted(catalogue.prices["purchase_option"].unique())])


def excludable(benchmarks: Benchmarks, model: str | None) -> list[str]:
    """Return the families and instance types with which a model was measured, sorted."""
    types = sorted(str(name) for name in _of(benchmarks, model)["instance_type"].unique())
    families = sorted({name.split(".", maxsplit=1)[0] for name in types if "." in name})
    return _once([*families, *types])


def _once(names: Iterable[Hashable]) -> list[str]:
    return [str(name) for name in dict.fromkeys(names)]
