"""Once a candidate: the join of measurements with prices by integer codes, and the cost, on arrays.

A candidate is a measured option in one region under one purchase option. Nothing here holds text but the price rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from advisor.tables import Catalogue, FloatArray
from advisor.workload import Workload

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

SPOT_STATISTICS: Final = (
    "window_mean", "region_value", "last", "website_value", "window_max", "window_min", "zone_minimum",
)  # fmt: skip
"""Which figure of a spot price is taken where several are known: the fairest first, a minimum last."""

SPOT_MAX_AGE: Final = timedelta(days=7)


@dataclass(frozen=True)
class PriceBook:
    """The price rows that a question may use: at most one a (type, region, purchase option).

    Attributes:
        rows: sorted by type, region, purchase option; labels are those of `catalogue.prices`.
        usd_per_hour: shape (p,); NaN: unknown.
        own: the row was given by the user, shape (p,).
        stale: a spot price older than seven days, shape (p,).
        type_start: type -> its first and one past its last row.
        elsewhere: types that are priced, but in none of the asked regions.
    """

    rows: pd.DataFrame
    usd_per_hour: FloatArray
    own: BoolArray
    stale: BoolArray
    type_start: dict[str, tuple[int, int]]
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidates:
    """Measured options x prices, by rising (measurement, price row); every array has shape (n,).

    Attributes:
        measurement: place in the list of measurements.
        host_row: place in `book.rows` of the host's price; -1: none that the question may use.
        accelerator_row: place in `accelerator_book.rows`; -1: none, or nothing is attached.
        host_usd_per_hour, accelerator_usd_per_hour: all attached accelerators together, 0 where none; NaN: unknown.
        usd_per_hour: host + accelerators, unrounded.
        book, accelerator_book: where the rows are.
    """

    measurement: IntArray
    host_row: IntArray
    accelerator_row: IntArray
    host_usd_per_hour: FloatArray
    accelerator_usd_per_hour: FloatArray
    usd_per_hour: FloatArray
    book: PriceBook
    accelerator_book: PriceBook


def price_book(catalogue: Catalogue, workload: Workload, types: Sequence[str]) -> PriceBook:
    """Return the prices of some instance types that the question may use.

    Of several rows of one type, region and purchase option, the user's own counts first; then a fresh one, the better
    statistic (`SPOT_STATISTICS`), the whole region before a zone, and the cheapest zone. A `custom` row of the user
    replaces every purchase option of its type and region; in a region that AWS does not have it is own hardware, which
    competes whatever region is asked.
    """
    prices: pd.DataFrame = catalogue.prices
    prices = prices[prices["instance_type"].isin(list(types))]
    wanted = np.ones(len(prices), bool)
    custom = (prices["purchase_option"] == "custom").to_numpy()
    if "all" not in workload.region:
        anywhere = custom & ~prices["region"].isin(list(catalogue.locations["region"])).to_numpy()
        wanted = prices["region"].isin(list(workload.region)).to_numpy() | anywhere
    elsewhere = set(prices["instance_type"]) - set(prices["instance_type"].to_numpy(object)[wanted])
    if "all" not in workload.purchase:
        wanted = wanted & (prices["purchase_option"].isin(list(workload.purchase)).to_numpy() | custom)
    return replace(_book(prices[wanted], catalogue, workload), elsewhere=frozenset(elsewhere))


def accelerator_book(catalogue: Catalogue, types: Sequence[str], workload: Workload) -> PriceBook:
    """Return the prices of attachable accelerators: bought on demand whatever the host, or the user's own rate."""
    prices: pd.DataFrame = catalogue.prices
    wanted = prices["instance_type"].isin(list(types)) & prices["purchase_option"].isin(
        ["on_demand", "custom"]
    )
    return _book(prices[wanted], catalogue, workload)


def _book(rows: pd.DataFrame, catalogue: Catalogue, workload: Workload) -> PriceBook:
    own = np.asarray(rows.index.isin(list(catalogue.own)))
    spot = (rows["purchase_option"] == "spot").to_numpy()
    stale = spot & (rows["as_of"] < (workload.today - SPOT_MAX_AGE).isoformat()).to_numpy()
    types, regions, purchases = (
        _codes(rows[name]) for name in ("instance_type", "region", "purchase_option")
    )
    area = types * (regions.max(initial=0) + 1) + regions
    key = area * (purchases.max(initial=0) + 1) + purchases
    order = np.argsort(key)
    if (np.diff(key[order]) == 0).any():
        order = np.lexsort((*_preference(rows), stale, ~own, key))
        order = order[np.r_[True, np.diff(key[order]) != 0]]
    custom = (rows["purchase_option"] == "custom").to_numpy()
    if custom.any():
        order = order[custom[order] | ~np.isin(area[order], area[custom])]
    kept = rows.iloc[order]
    edges = np.flatnonzero(np.r_[order.size > 0, np.diff(types[order]) != 0, order.size > 0])
    names = kept["instance_type"].iloc[edges[:-1]]
    return PriceBook(
        kept,
        kept["price_usd_per_hour"].to_numpy(float),
        own[order],
        stale[order],
        dict(zip(names, pairwise(edges.tolist()), strict=True)),
    )


def _preference(rows: pd.DataFrame) -> tuple[npt.NDArray[Any], ...]:
    """Keys, the least important first, that put the better of two rows of one place before the other."""
    rank = {name: place for place, name in enumerate(SPOT_STATISTICS)}
    better = rows["statistic"].map(rank).fillna(len(rank)).to_numpy()
    zone = _codes(rows["zone"])
    return (
        _codes(rows["currency"]),
        _codes(rows["statistic"]),
        zone,
        rows["price_usd_per_hour"].to_numpy(float),
        zone != 0,
        better,
    )


def _codes(column: "pd.Series[Any]") -> IntArray:
    """Integer codes in the order of the text; the empty text is 0 where it occurs, else codes start at 1."""
    codes, values = pd.factorize(column, sort=True)
    return np.asarray(codes, np.int64) + (0 if len(values) and values[0] == "" else 1)


def join(
    hosts: Sequence[str],
    attached: Sequence[str],
    attached_count: Sequence[int],
    book: PriceBook,
    accelerators: PriceBook,
) -> Candidates:
    """Join measurements with prices.

    Args:
        hosts: instance type of each measurement, shape (m,).
        attached: its attached accelerator, empty: none.
        attached_count: how many of them.
        book: prices of the hosts.
        accelerators: prices of the accelerators; the host's region decides.

    Returns:
        One candidate for each price row of each measurement, or one without a price where there is no row.
    """
    starts, ends = np.array([book.type_start.get(host, (0, 0)) for host in hosts], np.int64).reshape(-1, 2).T
    counts = ends - starts
    rows_each = np.maximum(counts, 1)
    measurement = np.repeat(np.arange(len(hosts)), rows_each)
    within = np.arange(measurement.size) - np.repeat(np.cumsum(rows_each) - rows_each, rows_each)
    host_row = np.where(counts[measurement] > 0, starts[measurement] + within, -1)
    host_usd = np.append(book.usd_per_hour, np.nan)[host_row]

    accelerator_row = np.full(measurement.size, -1)
    accelerator_usd = np.zeros(measurement.size)
    with_accelerator = np.array([bool(name) for name in attached], bool)
    if with_accelerator.any():
        accelerator_row, priced = _accelerator_rows(measurement, host_row, attached, book, accelerators)
        number = np.asarray(attached_count, float)[measurement]
        price = np.append(accelerators.usd_per_hour, np.nan)[accelerator_row] * number
        accelerator_usd = np.where(with_accelerator[measurement], price, 0.0)
        kept = _keep_priced(measurement, priced | ~with_accelerator[measurement])
        measurement, host_row, host_usd = measurement[kept], host_row[kept], host_usd[kept]
        accelerator_row, accelerator_usd = accelerator_row[kept], accelerator_usd[kept]
    return Candidates(
        measurement,
        host_row,
        accelerator_row,
        host_usd,
        accelerator_usd,
        host_usd + accelerator_usd,
        book,
        accelerators,
    )


def _accelerator_rows(
    measurement: IntArray,
    host_row: IntArray,
    attached: Sequence[str],
    book: PriceBook,
    accelerators: PriceBook,
) -> tuple[IntArray, BoolArray]:
    """The accelerator's price row in the region of the host, for each candidate; -1 and False where there is none."""
    places = {
        (kind, region): row
        for row, (kind, region) in enumerate(
            zip(
                accelerators.rows["instance_type"].to_numpy(object),
                accelerators.rows["region"].to_numpy(object),
                strict=True,
            )
        )
    }
    regions = np.append(book.rows["region"].to_numpy(object), "")
    rows = np.full(measurement.size, -1)
    for place in np.flatnonzero(np.array([bool(name) for name in attached], bool)[measurement]):
        rows[place] = places.get((attached[measurement[place]], regions[host_row[place]]), -1)
    return rows, rows >= 0


def _keep_priced(measurement: IntArray, priced: BoolArray) -> BoolArray:
    """Leave out the regions in which an accelerator has no price; keep one candidate where none has."""
    any_priced = np.zeros(int(measurement.max(initial=-1)) + 1, bool)
    any_priced[measurement[priced]] = True
    first = np.r_[True, measurement[1:] != measurement[:-1]]
    kept: BoolArray = priced | (first & ~any_priced[measurement])
    return kept


def unit_cost(mean_ms: FloatArray, items_in_flight: FloatArray, error_fraction: FloatArray) -> FloatArray:
    """Return USD per 100,000 successful inferences for each USD per hour of price.

    price / 3600 s x mean / 1000 / items in flight x 100,000 / (1 - error share). NaN where the mean is unknown.
    Source: docs/method-selection.md, "Cost".
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found = mean_ms / 36.0 / items_in_flight / (1 - error_fraction)
    return np.where(np.isfinite(found), found, np.nan)


def unit_cost_served(throughput_per_s: FloatArray) -> FloatArray:
    """Return USD per 100,000 served inferences for each USD per hour of price: 100,000 / 3600 / throughput."""
    return 1e5 / 3600.0 / throughput_per_s


def age_days(today: date, as_of: str) -> int | None:
    """Return the age in days of an ISO date; None where it is not known."""
    try:
        return (today - date.fromisoformat(as_of[:10])).days
    except ValueError:
        return None
