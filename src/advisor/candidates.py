"""Once a candidate: the join of measurements with prices by integer codes, and the cost, on arrays.

A candidate is a measured option in one region under one purchase option. Nothing here holds text but the price rows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from advisor.arrays import BoolArray, FloatArray, IntArray
from advisor.tables import Catalogue
from advisor.workload import Workload

SPOT_STATISTICS: Final = (
    "window_mean", "region_value", "last", "website_value", "window_max", "window_min", "zone_minimum",
)  # fmt: skip
"""Which figure of a spot price is taken where several are known: the fairest first, a minimum last."""

SPOT_MAX_AGE: Final = timedelta(days=7)


@dataclass(frozen=True)
class PriceBook:
    """The price rows that a question may use: at most one a (type, region, purchase option).

    Attributes:
        prices: all price rows of the catalogue.
        position: where the rows of this book are among them, by rising type, region, purchase option; shape (p,).
        usd_per_hour: shape (p,); NaN: unknown.
        own: the row was given by the user, shape (p,).
        stale: a spot price older than seven days, shape (p,).
        place: code of the region and purchase option, shape (p,).
        type_start: type -> its first and one past its last row.
        elsewhere: types that are priced, but in none of the asked regions.
    """

    prices: pd.DataFrame
    position: IntArray
    usd_per_hour: FloatArray
    own: BoolArray
    stale: BoolArray
    place: IntArray
    type_start: dict[str, tuple[int, int]]
    elsewhere: frozenset[str] = frozenset()

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows of this book; labels are those of `prices`."""
        return self.prices.iloc[self.position]

    def at(self, rows: Sequence[int]) -> pd.DataFrame:
        """Some rows of this book, without making them all."""
        return self.prices.iloc[self.position[list(rows)]]


@dataclass(frozen=True)
class _Coded:
    """A text column as whole numbers in the order of its text."""

    code: IntArray
    names: list[str]

    def among(self, wanted: Collection[str]) -> BoolArray:
        """Tell for each row whether its text is one of some."""
        found: BoolArray = np.array([name in wanted for name in self.names], bool)[self.code]
        return found

    def occurring(self, rows: BoolArray) -> frozenset[str]:
        """The texts of some rows."""
        counts = np.bincount(self.code[rows], minlength=len(self.names))
        return frozenset(self.names[code] for code in np.flatnonzero(counts).tolist())


def _coded(column: "pd.Series[Any]") -> _Coded:
    codes, names = pd.factorize(column, sort=True)
    return _Coded(np.asarray(codes, np.int64), [str(name) for name in names])


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
    coded = kinds, regions, purchases = _columns(catalogue.prices)
    of_type, custom = kinds.among(set(types)), purchases.among({"custom"})
    here = np.ones(custom.size, bool)
    if "all" not in workload.region:
        here = regions.among(set(workload.region)) | (
            custom & ~regions.among(set(catalogue.locations["region"]))
        )
    wanted = of_type & here
    elsewhere = kinds.occurring(of_type) - kinds.occurring(wanted)
    if "all" not in workload.purchase:
        wanted &= purchases.among(set(workload.purchase)) | custom
    return replace(_book(wanted, coded, catalogue, workload), elsewhere=elsewhere)


def accelerator_book(catalogue: Catalogue, types: Sequence[str], workload: Workload) -> PriceBook:
    """Return the prices of attachable accelerators: bought on demand whatever the host, or the user's own rate."""
    coded = kinds, _, purchases = _columns(catalogue.prices if types else catalogue.prices.iloc[:0])
    wanted = kinds.among(set(types)) & purchases.among({"on_demand", "custom"})
    return _book(wanted, coded, catalogue, workload)


def _columns(prices: pd.DataFrame) -> tuple[_Coded, _Coded, _Coded]:
    """Type, region and purchase option of every price row."""
    return _coded(prices["instance_type"]), _coded(prices["region"]), _coded(prices["purchase_option"])


def _book(
    wanted: BoolArray, coded: tuple[_Coded, _Coded, _Coded], catalogue: Catalogue, workload: Workload
) -> PriceBook:
    prices: pd.DataFrame = catalogue.prices
    at = np.flatnonzero(wanted)
    kinds, regions, purchases = (column.code[at] for column in coded)
    custom, spot = (coded[2].among({name})[at] for name in ("custom", "spot"))
    stale, own = np.zeros(at.size, bool), np.zeros(at.size, bool)
    oldest = (workload.today - SPOT_MAX_AGE).isoformat()
    stale[spot] = (prices["as_of"].iloc[at[spot]] < oldest).to_numpy()
    if catalogue.own:
        own = np.isin(prices.index.to_numpy()[at], list(catalogue.own))
    area = kinds * (regions.max(initial=0) + 1) + regions
    place = regions * (purchases.max(initial=0) + 1) + purchases
    key = area * (purchases.max(initial=0) + 1) + purchases
    steps = np.diff(key)
    order = np.arange(at.size)
    if not (steps > 0).all():  # a catalogue is mostly in this order already
        order = np.lexsort((*_preference(prices.iloc[at]), stale, ~own, key))
        order = order[np.r_[True, np.diff(key[order]) != 0]]
    if custom.any():
        order = order[custom[order] | ~np.isin(area[order], area[custom])]
    edges = np.flatnonzero(np.r_[order.size > 0, np.diff(kinds[order]) != 0, order.size > 0])
    names = [coded[0].names[code] for code in kinds[order[edges[:-1]]].tolist()]
    return PriceBook(
        prices,
        at[order],
        prices["price_usd_per_hour"].to_numpy(float)[at[order]],
        own[order],
        stale[order],
        place[order],
        dict(zip(names, pairwise(edges.tolist()), strict=True)),
    )


def _preference(rows: pd.DataFrame) -> tuple[npt.NDArray[Any], ...]:
    """Keys, the least important first, that put the better of two rows of one place before the other."""
    rank = {name: place for place, name in enumerate(SPOT_STATISTICS)}
    better = rows["statistic"].map(rank).fillna(len(rank)).to_numpy()
    return (
        _coded(rows["currency"]).code,
        _coded(rows["statistic"]).code,
        _coded(rows["zone"]).code,
        rows["price_usd_per_hour"].to_numpy(float),
        (rows["zone"] != "").to_numpy(),
        better,
    )


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
