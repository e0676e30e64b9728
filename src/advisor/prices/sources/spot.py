"""Spot price history by availability zone: the mean, the least and the last price of a window are three named statistics.

The history holds changes: a price holds until the next one of its zone. The mean is over time. The window ends with the newest
change in the answer, so that the same answer gives the same figures.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from advisor.errors import PricesError
from advisor.prices.sources import aws
from advisor.prices.sources.ask import Answer, Ask, Part, PriceRow, Refusal, Scope, price_frame, saved_files
from advisor.prices.sources.skus import priced
from advisor.text import clean

SOURCE: Final = "aws_spot_history"
INTERRUPTIBLE: Final = "can be interrupted with two minutes' notice"
_API: Final = "DescribeSpotPriceHistory"
# EC2-Classic and VPC; they have the same price where both are stated.
_LINUX: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
_ZONE: Final = re.compile(r"([a-z]{2,}(?:-[a-z]+)+-\d+(?:-[a-z]+-\d+)?)[a-z]")

Change = tuple[datetime, float]


def spot(ask: Ask) -> list[Part]:
    """Spot prices by zone from DescribeSpotPriceHistory, for the regions that the account has enabled."""
    if ask.saved:
        return [Part(path.name, partial(_read_saved, path, ask)) for path in saved_files(ask.saved, _API)]
    regions = aws.enabled_regions(ask.regions, ask.timeout_s)
    return [Part(r, partial(_fetch, aws.client("ec2", r, ask.timeout_s), r, ask)) for r in regions]


def _fetch(ec2: Any, region: str, ask: Ask) -> Answer:
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        StartTime=datetime.now(UTC) - timedelta(days=ask.window_days),
        ProductDescriptions=list(_LINUX),
        PaginationConfig={"PageSize": 1000},
    )
    with aws.plainly("ec2", region):
        entries = [entry for page in pages for entry in page["SpotPriceHistory"]]
    return read_history(entries, f"{_API} in {region}", ask, region=region)


def _read_saved(path: Path, ask: Ask) -> Answer:
    answer = aws.saved_answer(path)
    pages = answer if isinstance(answer, list) else [answer]
    try:
        entries = [entry for page in pages for entry in page["SpotPriceHistory"]]
    except (KeyError, TypeError):
        raise PricesError(f"{path}: no {_API} answer (SpotPriceHistory is missing)") from None
    return read_history(entries, str(path), ask)


def read_history(entries: Iterable[Any], where: str, ask: Ask, region: str = "") -> Answer:
    """Read spot price changes.

    Args:
        entries: items of `SpotPriceHistory`, in any order.
        where: opens the text of an error.
        ask: regions wanted, and the length of the window.
        region: the region that was asked for whole; empty: the entries are whatever was saved.

    Raises:
        PricesError: an entry is not of the documented shape.
    """
    changes: dict[tuple[str, str], dict[str, set[Change]]] = {}
    refused: set[Refusal] = set()
    for entry in entries:
        try:
            if entry["ProductDescription"] not in _LINUX:
                continue
            key = (str(entry["InstanceType"]), str(entry["AvailabilityZone"]))
            when, price = _time(entry["Timestamp"]), float(entry["SpotPrice"])
        except (KeyError, TypeError, ValueError) as error:
            raise PricesError(
                f"{where}: an entry is not of the documented shape ({clean(str(error))})"
            ) from None
        if region_of(key[1]) is None:
            refused.add(
                Refusal(
                    key[0], region, f"a spot price of {clean(key[1])}, which is no zone of a known region"
                )
            )
            continue
        changes.setdefault(key, {}).setdefault(entry["ProductDescription"], set()).add((when, price))
    newest: dict[str, datetime] = {}
    for (_, zone), by_product in changes.items():
        last = max(when for found in by_product.values() for when, _ in found)
        code = region_of(zone) or ""
        newest[code] = max(last, newest.get(code, last))
    rows: list[PriceRow] = []
    for (instance_type, zone), by_product in sorted(changes.items()):
        code = region_of(zone) or ""
        series = sorted(by_product[next(name for name in _LINUX if name in by_product)])
        if not ask.wants(code):
            continue
        if any(price <= 0 for _, price in series):
            refused.add(Refusal(instance_type, code, f"a spot price of 0 in {clean(zone)}"))
            continue
        end = newest[code]
        figures = statistics(series, end - timedelta(days=ask.window_days), end)
        rows += [
            priced((instance_type, code), "spot", price, _currency(code), as_of=end.date().isoformat(), source=SOURCE,
                   statistic=name, zone=zone, note=f"{INTERRUPTIBLE}; {_SAID[name].format(ask.window_days)}")
            for name, price in figures.items()
        ]  # fmt: skip
    prices = price_frame(rows, where)
    listed = {region, *newest} if region else set()
    replaces = frozenset(Scope(name, "ec2", "spot") for name in listed if ask.wants(name))
    dates = [when.date().isoformat() for when in newest.values()]
    return Answer(prices, replaces, tuple(sorted(refused)), as_of=max(dates, default=""))


_SAID: Final = {
    "window_mean": "mean over {} days",
    "window_min": "least of {} days",
    "last": "last price",
}


def statistics(series: list[Change], start: datetime, end: datetime) -> dict[str, float]:
    """Return the mean over time, the least and the last price of a window.

    Args:
        series: changes by rising time, at least one; the one in force at `start` may lie before it.
        start: begin of the window.
        end: its end, not before the last change.
    """
    inside = [price for when, price in series if when > start]
    before = [price for when, price in series if when <= start]
    prices = before[-1:] + inside
    times = [start] * len(before[-1:]) + [when for when, _ in series if when > start]
    weights = [(b - a).total_seconds() for a, b in zip(times, [*times[1:], end], strict=True)]
    span = sum(weights)
    mean = sum(w * p for w, p in zip(weights, prices, strict=True)) / span if span else prices[-1]
    # Rounding must not put a mean outside what it is the mean of.
    return {
        "window_mean": min(max(mean, min(prices)), max(prices)),
        "window_min": min(prices),
        "last": prices[-1],
    }


def region_of(zone: str) -> str | None:
    """Return the region, or the local zone group, of an availability zone (us-west-2a -> us-west-2), or None."""
    found = _ZONE.fullmatch(zone)
    return found[1] if found else None


def _currency(region: str) -> str:
    if region.startswith("cn-"):
        return "CNY"
    return "EUR" if region.startswith("eusc-") else "USD"


def _time(value: Any) -> datetime:
    when = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
