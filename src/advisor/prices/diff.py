"""What changed between two catalogues' prices."""

from typing import Final

import numpy as np
import pandas as pd
import pandera.pandas as pa
from pandera.typing.pandas import DataFrame, Series

from advisor.prices.snapshot import checked
from advisor.tables import PRICE_KEY, Prices, column

CHANGES: Final = ("added", "removed", "moved")
_SAME: Final = 1e-9


class Changes(pa.DataFrameModel):
    """Price rows that differ, sorted by kind of change and `PRICE_KEY`. Key: `PRICE_KEY`."""

    class Config:
        strict = True
        coerce = True
        metadata = None

    change: Series[str] = column("added, removed or moved", isin=list(CHANGES))
    instance_type: Series[str] = column("instance type, or attachable accelerator type")
    region: Series[str] = column("region or local zone group")
    purchase_option: Series[str] = column("how it is bought")
    statistic: Series[str] = column("what the figure is")
    zone: Series[str] = column("availability zone of a spot figure")
    currency: Series[str] = column("currency of both prices")
    old_price_per_hour: Series[float] = column("price before, in `currency`", "1/h", nullable=True)
    new_price_per_hour: Series[float] = column("price after, in `currency`", "1/h", nullable=True)
    change_fraction: Series[float] = column("new / old - 1", "", nullable=True)
    old_as_of: Series[str] = column("date of the price before, ISO")
    new_as_of: Series[str] = column("date of the price after, ISO")


def diff(old: DataFrame[Prices], new: DataFrame[Prices]) -> DataFrame[Changes]:
    """Compare two price tables by `PRICE_KEY`; a price that is known on one side only has moved.

    Args:
        old: prices before.
        new: prices after.

    Returns:
        The rows that differ. Prices equal within a relative 1e-9 are the same; dates and notes are not compared.
    """
    key = list(PRICE_KEY)
    both = _amounts(old).merge(
        _amounts(new), on=key, how="outer", suffixes=("_old", "_new"), indicator=True, validate="one_to_one"
    )
    before, after = both["price_old"].astype(float), both["price_new"].astype(float)
    same = np.isclose(after, before, rtol=_SAME, atol=0.0, equal_nan=True)
    sides = both["_merge"].astype("str").map({"left_only": "removed", "right_only": "added", "both": "moved"})
    rows = both[key].assign(
        change=sides.astype("str"),
        old_price_per_hour=before,
        new_price_per_hour=after,
        change_fraction=after / before - 1,
        old_as_of=both["as_of_old"].fillna("").astype("str"),
        new_as_of=both["as_of_new"].fillna("").astype("str"),
    )[(sides != "moved") | ~same]
    order = rows["change"].map({name: place for place, name in enumerate(CHANGES)})
    rows = rows.assign(order=order).sort_values(["order", *key], ignore_index=True)
    return checked(rows, Changes, "price changes")


def _amounts(prices: pd.DataFrame) -> pd.DataFrame:
    amount = prices["price_usd_per_hour"].where(prices["currency"] == "USD", prices["price_local_per_hour"])
    return prices[list(PRICE_KEY)].assign(price=amount, as_of=prices["as_of"])
