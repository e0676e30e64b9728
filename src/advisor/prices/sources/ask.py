"""What a source is asked, and what it answers.

A source is one function `(ask) -> list[Part]`: the parts are regions, or files saved earlier, that can be fetched side by
side. Each part gives an `Answer`; nothing is written here.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.errors import PricesError
from advisor.prices.snapshot import checked
from advisor.tables import Instances, Prices

PUBLIC_OFFERS: Final = "https://pricing.us-east-1.amazonaws.com"


@dataclass(frozen=True)
class Ask:
    """A question to a source.

    Attributes:
        regions: region codes; empty: all that the source has.
        saved: a folder of answers saved earlier, read instead of asking AWS.
        base_url: where the public offer files are served.
        timeout_s: longest wait for one answer, and for the next bytes of it, in seconds.
        window_days: how far back spot prices are read, in days.
        region_names: location name -> region code, for answers of before 2022, which have names only.
    """

    regions: tuple[str, ...] = ()
    saved: Path | None = None
    base_url: str = PUBLIC_OFFERS
    timeout_s: float = 60.0
    window_days: int = 7
    region_names: Mapping[str, str] = field(default_factory=dict)

    def wants(self, region: str) -> bool:
        """Tell whether a region is asked."""
        return not self.regions or region in self.regions


class Scope(NamedTuple):
    """Price rows that belong together: what one whole answer replaces."""

    region: str
    product: str
    group: str


class Refusal(NamedTuple):
    """A price that was not taken."""

    instance_type: str
    region: str
    reason: str


@dataclass(frozen=True)
class Answer:
    """What one part said.

    Attributes:
        prices: checked rows.
        replaces: the scopes that this answer lists wholly; old rows of them that it does not hold are gone.
            Empty: the rows are laid over the old ones by their key.
        refused: prices that were not taken, with the reason.
        instances: hardware facts, where the source has them.
        offered: region -> the types that EC2 offers there.
        as_of: newest date of the facts, ISO.
    """

    prices: DataFrame[Prices]
    replaces: frozenset[Scope] = frozenset()
    refused: tuple[Refusal, ...] = ()
    instances: DataFrame[Instances] | None = None
    offered: Mapping[str, frozenset[str]] = field(default_factory=dict)
    as_of: str = ""


class Part(NamedTuple):
    """A region, or a saved file, that can be fetched on its own."""

    name: str
    fetch: Callable[[], Answer]


class PriceRow(NamedTuple):
    """One row of `Prices`, in the order of its columns."""

    instance_type: str
    region: str
    purchase_option: str
    statistic: str = "list"
    zone: str = ""
    currency: str = "USD"
    price_usd_per_hour: float = float("nan")
    price_local_per_hour: float = float("nan")
    upfront_usd: float = float("nan")
    months: int | None = None
    as_of: str = ""
    source: str = ""
    note: str = ""


def price_frame(rows: list[PriceRow], where: str) -> DataFrame[Prices]:
    """Make the checked frame of price rows; `where` opens the text of an error."""
    frame = pd.DataFrame(rows, columns=list(PriceRow._fields))
    frame["months"] = frame["months"].astype("Int64")
    numbers = ["price_usd_per_hour", "price_local_per_hour", "upfront_usd"]
    frame[numbers] = frame[numbers].astype(float)
    return checked(frame, Prices, where)


_GROUPS: Final = (
    ("spot", re.compile("spot")),
    ("savings_plan", re.compile(".*savings_plan.*")),
    ("list", re.compile("on_demand|capacity_block|reserved_.*")),
)


def scopes(prices: pd.DataFrame) -> "pd.Series[str]":
    """Return for each price row the scope it belongs to, as text (`region|product|group`).

    The product is `sagemaker` (ml.*), `attached` (eia*) or `ec2`; the group is `list` (on-demand, reserved, capacity
    block), `savings_plan`, `spot` or the purchase option itself (custom rows belong to no source).
    """
    products = {t: product_of(t) for t in prices["instance_type"].unique()}
    groups = {p: group_of(p) for p in prices["purchase_option"].unique()}
    return (
        prices["region"]
        + "|"
        + prices["instance_type"].map(products).astype("str")
        + "|"
        + prices["purchase_option"].map(groups).astype("str")
    ).astype("str")


def product_of(instance_type: str) -> str:
    """Return what a priced type is: `sagemaker`, `attached` or `ec2`."""
    if instance_type.startswith("ml."):
        return "sagemaker"
    return "attached" if instance_type.startswith("eia") else "ec2"


def group_of(purchase_option: str) -> str:
    """Return the group of purchase options that are listed together."""
    return next((name for name, pattern in _GROUPS if pattern.fullmatch(purchase_option)), purchase_option)


def saved_files(folder: Path, api: str, endings: tuple[str, ...] = (".json", ".json.gz")) -> list[Path]:
    """Return the files saved from one API, sorted: those in a folder of its name, or whose name starts with it.

    Raises:
        PricesError: the folder holds none.
    """
    if not folder.is_dir():
        raise PricesError(f"{folder}: no such folder of saved files")
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.name.endswith(endings)
        and any(
            name == api or name.startswith((f"{api}_", f"{api}.")) for name in path.relative_to(folder).parts
        )
    )
    if not found:
        raise PricesError(
            f"{folder}: nothing saved from {api} (expected {api}/*{endings[0]} or {api}_*{endings[0]})"
        )
    return found
