"""The Price List API (`GetProducts`): on-demand prices and the twelve reserved terms, region by region."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from advisor.errors import PricesError
from advisor.prices.sources import aws
from advisor.prices.sources.ask import Answer, Ask, Part, saved_files
from advisor.prices.sources.bulk import iso_day
from advisor.prices.sources.skus import EC2, Selection, term_lines
from advisor.text import clean

RULE: Final = replace(EC2, source="aws_price_list_api")
# The other conditions are tested on the answer: some lists do not have their attributes, and a unit that fails
# one of them is how a refusal gets its reason.
_FILTERS: Final = {"operatingSystem": "Linux", "preInstalledSw": "NA", "capacitystatus": "Used"}


def price_list(ask: Ask) -> list[Part]:
    """On-demand prices, reserved terms and capacity blocks of EC2 from GetProducts."""
    if ask.saved:
        files = saved_files(ask.saved, "GetProducts")
        return [Part(path.name, partial(_read_saved, path, ask)) for path in files]
    regions = sorted(ask.regions) or _all_regions(ask)
    clients = {
        home: aws.client("pricing", home, ask.timeout_s)
        for home in sorted(set(map(aws.pricing_region, regions)))
    }
    return [
        Part(region, partial(_fetch, clients[aws.pricing_region(region)], region, ask)) for region in regions
    ]


def _all_regions(ask: Ask) -> list[str]:
    home = aws.pricing_region("")
    pricing = aws.client("pricing", home, ask.timeout_s)
    with aws.plainly("pricing", home):
        pages = pricing.get_paginator("get_attribute_values").paginate(
            ServiceCode="AmazonEC2", AttributeName="regionCode"
        )
        return sorted({value["Value"] for page in pages for value in page["AttributeValues"]})


def _fetch(pricing: Any, region: str, ask: Ask) -> Answer:
    filters = [
        {"Type": "TERM_MATCH", "Field": name, "Value": value}
        for name, value in {"regionCode": region, **_FILTERS}.items()
    ]
    pages = pricing.get_paginator("get_products").paginate(
        ServiceCode="AmazonEC2",
        FormatVersion="aws_v1",
        Filters=filters,
        PaginationConfig={"PageSize": 100},
    )
    with aws.plainly("pricing", region):
        return read_items(_items(pages, f"GetProducts in {region}"), ask, region=region)


def _items(pages: Iterable[Any], where: str) -> Iterator[tuple[str, Any]]:
    for number, page in enumerate(pages, 1):
        for position, item in enumerate(page["PriceList"], 1):
            yield f"{where}: page {number}, item {position}", item


def _read_saved(path: Path, ask: Ask) -> Answer:
    answer = aws.saved_answer(path)
    pages = answer if isinstance(answer, list) else [answer]
    if isinstance(answer, dict) and "product" in answer:  # one item alone
        pages = [{"PriceList": [answer]}]
    if not all(isinstance(page, dict) and "PriceList" in page for page in pages):
        raise PricesError(f"{path}: no GetProducts answer (PriceList is missing)")
    return read_items(_items(pages, str(path)), ask)


def read_items(items: Iterable[tuple[str, Any]], ask: Ask, region: str = "") -> Answer:
    """Read the items of GetProducts.

    Args:
        items: place (for errors) and item; an item is a JSON text, as the API gives it, or what it holds.
        ask: which regions are wanted.
        region: the region that was asked for whole; empty: the items are whatever was saved.

    Raises:
        PricesError: an item is not JSON, or not of the documented shape.
    """
    selection = Selection(RULE, ask.region_names)
    newest = ""
    for place, item in items:
        try:
            product = json.loads(item) if isinstance(item, str) else item
            attributes = {**product["product"]["attributes"], "productFamily": product["product"].get("productFamily", "")}  # fmt: skip
            sku, terms = product["product"]["sku"], product["terms"]
            published = iso_day(product["publicationDate"], place)
        except ValueError:
            raise PricesError(f"{place} is not JSON: ask again, or report it to AWS") from None
        except (KeyError, TypeError):
            raise PricesError(f"{place} is not of the documented shape") from None
        newest = max(newest, published)
        lines = selection.product(sku, attributes)
        if lines is not None:
            try:
                for term_type in ("OnDemand", "Reserved"):
                    lines += term_lines(term_type, terms.get(term_type, {}))
            except PricesError as error:
                raise PricesError(f"{place} (SKU {clean(sku)}): {error}") from None
    return selection.answer(ask, newest, whole=bool(region), region=region)
