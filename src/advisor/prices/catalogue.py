"""The catalogue in use: committed or refreshed facts, with the user's own rows over them."""

import math
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.data import committed
from advisor.errors import PricesError
from advisor.prices import snapshot
from advisor.prices.rows import read_rows
from advisor.tables import PRICE_KEY, Accelerators, Catalogue, Instances, Locations, Prices, Sources
from advisor.text import closest
from advisor.wording import plural

PRICES_VARIABLE: Final = "ADVISOR_PRICES"
OWN_NOTE: Final = "own price"
OWN_RETIRED_NOTE: Final = "own price of a type that AWS no longer sells"


def packaged() -> Catalogue:
    """Return the catalogue that is committed with the program.

    Raises:
        PricesError: the installation does not hold it.
    """
    return snapshot.read(committed("pricing_data"), origin="packaged prices")


def load(path: str | Path | None = None, *, rates: Mapping[str, float] | None = None) -> Catalogue:
    """Return the catalogue in use.

    The base is the last refreshed snapshot, or the packaged one where there was no refresh. A user's own rows win over it
    by `PRICE_KEY`: those of `path`, else those of the environment variable ADVISOR_PRICES.

    Args:
        path: a file of price rows (see `advisor.prices.rows.read_rows`), or a folder in the layout of `pricing_data/`.
        rates: US dollars for one unit of another currency, like `{"CNY": 0.14}`. Without a rate, rows in that currency have
            no USD price.

    Returns:
        A catalogue whose `origin` says which files it is made of and whose `own` are the labels of the user's rows. An own
        row makes a retired type available. A type of an own row that has no hardware facts gets a row in which all is
        unknown, or the facts of the EC2 size where it is an `ml.` type.

    Raises:
        InputError: the user's file cannot be read; names the row.
        PricesError: a folder cannot be read, holds a key twice or a region that AWS does not have; or a rate is not > 0.
    """
    own = path or os.environ.get(PRICES_VARIABLE)
    base = _base()
    catalogue = _with_own(base, Path(own)) if own else base
    return _with_rates(catalogue, rates or {})


def _base() -> Catalogue:
    from advisor.prices import store

    refreshed = store.refreshed()
    if refreshed is None:
        return packaged()
    catalogue = snapshot.read(refreshed)
    newest = catalogue.prices["as_of"].max()
    return replace(catalogue, origin=(f"refreshed prices (newest of {newest})",))


def _with_own(base: Catalogue, path: Path) -> Catalogue:
    regions = set(base.locations["region"])
    if not path.is_dir():
        rows = read_rows(path, regions=regions)
        return overlay(base, rows, origin=f"{path.name} ({plural(len(rows), 'own row')})")
    given = snapshot.read(path)
    _refuse_duplicates(given.prices, path)
    _refuse_unknown_regions(given.prices, regions | set(given.locations["region"]), path)
    base = replace(
        base,
        instances=_replaced(base.instances, given.instances, Instances, "instance_type"),
        accelerators=_replaced(base.accelerators, given.accelerators, Accelerators, "accelerator_type"),
        locations=_replaced(base.locations, given.locations, Locations, "region"),
        sources=_replaced(base.sources, given.sources, Sources, "source"),
    )
    described = {*given.instances["instance_type"], *given.accelerators["accelerator_type"]}
    return overlay(
        base,
        given.prices,
        origin=f"{path.name}/ ({plural(len(given.prices), 'own row')})",
        described=described,
    )


def overlay(
    base: Catalogue, own: DataFrame[Prices], *, origin: str, described: Collection[str] = frozenset()
) -> Catalogue:
    """Put a user's own price rows over a catalogue; they win by `PRICE_KEY`.

    Args:
        base: the catalogue below.
        own: the user's rows, each key once.
        origin: what to call them in a report.
        described: types whose availability the user states himself, so that an own price does not change it.
    """
    key = list(PRICE_KEY)
    hidden = pd.MultiIndex.from_frame(base.prices[key]).isin(pd.MultiIndex.from_frame(own[key]))
    priced = own[own["price_usd_per_hour"].notna() | own["price_local_per_hour"].notna()]
    reopened = priced[~priced["instance_type"].isin(list(described))].drop_duplicates(
        "instance_type", keep="last"
    )
    instances, accelerators = base.instances.copy(), base.accelerators.copy()
    retired: set[str] = set()
    for frame, name in ((instances, "instance_type"), (accelerators, "accelerator_type")):
        facts = reopened.set_index("instance_type")
        closed = (frame["availability"] != "sold") & frame[name].isin(facts.index)
        types = frame.loc[closed, name]
        retired |= set(types)
        frame.loc[closed, "availability_as_of"] = facts["as_of"].reindex(types).to_numpy()
        frame.loc[closed, "availability_source"] = facts["source"].reindex(types).to_numpy()
        frame.loc[closed, "availability"] = "sold"
    known = {*instances["instance_type"], *accelerators["accelerator_type"]}
    new = own[~own["instance_type"].isin(known)].drop_duplicates("instance_type", keep="last")
    notes = own["instance_type"].isin(retired).map({True: OWN_RETIRED_NOTE, False: OWN_NOTE})
    noted = own.assign(note=own["note"].where(own["note"] != "", notes), _own=True)
    both = pd.concat([base.prices[~hidden].assign(_own=False), noted], ignore_index=True)
    rows = snapshot.sort_prices(both)
    return replace(
        base,
        instances=_replaced(
            instances, _hardware_of_new_types(new, base.instances), Instances, "instance_type"
        ),
        accelerators=snapshot.checked(accelerators, Accelerators, origin),
        prices=snapshot.checked(rows.drop(columns="_own"), Prices, origin),
        sources=_replaced(base.sources, _sources_of(own, base.sources, origin), Sources, "source"),
        origin=(origin, *base.origin),
        own=frozenset(np.flatnonzero(rows["_own"].to_numpy(dtype=bool)).tolist()),
    )


def _hardware_of_new_types(new: pd.DataFrame, instances: pd.DataFrame) -> pd.DataFrame:
    """Rows for types without hardware facts: those of the EC2 size for an `ml.` type, else all unknown."""
    rows = (
        instances.set_index("instance_type")
        .reindex(new["instance_type"].str.removeprefix("ml."))
        .assign(
            availability="sold",
            availability_as_of=new["as_of"].to_numpy(),
            availability_source=new["source"].to_numpy(),
        )
        .assign(instance_type=new["instance_type"].to_numpy())
    )
    texts: list[str] = list(rows.select_dtypes("str").columns)
    return rows.assign(**{name: rows[name].fillna("") for name in texts})


def _sources_of(own: pd.DataFrame, sources: pd.DataFrame, origin: str) -> pd.DataFrame:
    named = own[(own["source"] != "") & ~own["source"].isin(sources["source"])]
    newest = named.groupby("source")["as_of"].max()
    return pd.DataFrame(
        {
            "source": newest.index.astype("str"),
            "description": f"given by the user in {origin}",
            "as_of": newest.to_numpy(),
            "licence": "",
        }
    )


def _replaced(
    base: pd.DataFrame, over: pd.DataFrame, model: type[snapshot.Model], key: str
) -> DataFrame[snapshot.Model]:
    """Rows of `over` in place of those of `base` with the same key, sorted by it."""
    if over.empty:
        return snapshot.checked(base, model, "catalogue")
    rows = pd.concat([base[~base[key].isin(over[key])], over], ignore_index=True)
    return snapshot.checked(rows.sort_values(key, ignore_index=True), model, "catalogue")


def _with_rates(catalogue: Catalogue, rates: Mapping[str, float]) -> Catalogue:
    for currency, rate in rates.items():
        if not (math.isfinite(rate) and rate > 0):
            raise PricesError(f"the rate of {currency} must be a positive number of US dollars, not {rate}")
    if not rates:
        return catalogue
    prices = catalogue.prices
    factor = prices["currency"].map(dict(rates)).astype("float64")
    usd = prices["price_usd_per_hour"].fillna(prices["price_local_per_hour"] * factor)
    return replace(
        catalogue, prices=snapshot.checked(prices.assign(price_usd_per_hour=usd), Prices, "prices")
    )


def _refuse_duplicates(prices: pd.DataFrame, path: Path) -> None:
    twice = prices[prices.duplicated(list(PRICE_KEY))]
    if len(twice):
        raise PricesError(f"{path}: {_row_name(twice.iloc[0])} is priced twice: keep one of the rows")


def _refuse_unknown_regions(prices: pd.DataFrame, regions: Iterable[str], path: Path) -> None:
    known = list(regions)
    unknown = prices[~prices["region"].isin(known) & (prices["purchase_option"] != "custom")]
    if len(unknown):
        region = unknown["region"].iloc[0]
        raise PricesError(f"{path}: AWS has no region {region!r}{closest(region, known)}")


def _row_name(row: "pd.Series[str]") -> str:
    return " ".join(str(row[name]) for name in PRICE_KEY if row[name])


__all__ = ["load", "overlay", "packaged"]
