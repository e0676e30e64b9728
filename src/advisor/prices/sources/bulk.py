"""The public offer files, which need no account: one CSV or JSON a region, hundreds of megabytes each, read as a stream.

    <base>/offers/v1.0/<partition>/AmazonEC2/current/region_index.json     names the newest file of each region
    .../AmazonEC2/<version>/<region>/index.csv | index.json                the file

The CSV opens with five lines about itself (the fourth and fifth name version and offer); the header is on the sixth, and its
columns change, so they are found by name. Memory stays the same whatever the length of the file: only the accepted units are
kept.
"""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlsplit

from advisor.errors import PricesError
from advisor.prices.sources import web
from advisor.prices.sources.ask import Answer, Ask, Part, saved_files
from advisor.prices.sources.skus import ACCEPTED, CSV_COLUMNS, EC2, Line, Rule, Selection, term_lines
from advisor.text import clean

_PREAMBLE: Final = ("FormatVersion", "Disclaimer", "Publication Date", "Version", "OfferCode")
_LINE_COLUMNS: Final = (
    "TermType",
    "LeaseContractLength",
    "PurchaseOption",
    "OfferingClass",
    "Unit",
    "PricePerUnit",
    "Currency",
)
_CHUNK: Final = 1 << 18


def bulk(ask: Ask) -> list[Part]:
    """On-demand prices, reserved terms and capacity blocks of EC2 from the public offer files."""
    return offer_parts(ask, EC2)


def offer_parts(ask: Ask, rule: Rule) -> list[Part]:
    """Return one part for each regional file of an offer, or for each saved one.

    Raises:
        PricesError: the index cannot be had, or does not hold an asked region.
    """
    if ask.saved:
        files = saved_files(ask.saved, rule.offer, (".csv", ".json", ".csv.gz", ".json.gz"))
        return [Part(path.name, partial(_read_saved, path, ask, rule)) for path in files]
    index = offers_root(ask.base_url) + f"/{rule.offer}/current/region_index.json"
    found = web.get_json(index, ask.timeout_s)
    try:
        addresses = {str(r["regionCode"]): str(r["currentVersionUrl"]) for r in found["regions"].values()}
    except (KeyError, TypeError, AttributeError):
        raise PricesError(
            f"{index}: no region index (regions with regionCode and currentVersionUrl)"
        ) from None
    for region in ask.regions:
        if region not in addresses:
            raise PricesError(f"{index}: has no region {region}; it has {', '.join(sorted(addresses))}")
    return [
        Part(region, partial(_fetch, web.join(index, address), region, ask, rule))
        for region, address in sorted(addresses.items())
        if ask.wants(region)
    ]


def offers_root(base_url: str) -> str:
    """Return the root of the offers: a base that names only a host gets the path of its partition."""
    base = base_url.rstrip("/")
    if urlsplit(base).path:
        return base
    partition = "cn" if (urlsplit(base).hostname or "").endswith(".cn") else "aws"
    return f"{base}/offers/v1.0/{partition}"


def _fetch(address: str, region: str, ask: Ask, rule: Rule) -> Answer:
    url = address.removesuffix(".json") + ".csv"

    def read() -> Answer:
        with web.open_url(url, ask.timeout_s) as stream:
            return read_csv(stream, url, ask, rule, region)

    return web.retried(read, url)


def _read_saved(path: Path, ask: Ask, rule: Rule) -> Answer:
    read = read_csv if ".csv" in path.suffixes else read_json
    try:
        with web.open_file(path) as stream:
            return read(stream, str(path), ask, rule)
    except (OSError, EOFError) as error:
        raise PricesError(f"{path}: cannot be read ({error}): was it saved whole?") from None


def preamble(lines: Iterator[list[str]], where: str, offer: str) -> tuple[str, list[str]]:
    """Read what a CSV file says of itself; return its date (ISO) and its header.

    Raises:
        PricesError: it is no offer file, or one of another offer.
    """
    said: dict[str, str] = {}
    for name in _PREAMBLE:
        line = next(lines, [])
        if len(line) != 2 or line[0] != name:
            raise PricesError(f"{where}: not an AWS offer file: line {len(said) + 1} is not {name}")
        said[name] = line[1]
    if said["OfferCode"] != offer:
        raise PricesError(f"{where}: offer {clean(said['OfferCode'])}, not {offer}")
    return iso_day(said["Publication Date"], where), next(lines, [])


def iso_day(text: str, where: str) -> str:
    """Return the day of an ISO time stamp.

    Raises:
        PricesError: it is none.
    """
    from datetime import date

    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        raise PricesError(f"{where}: the publication date {clean(text)!r} is no date") from None


def positions(header: list[str], names: tuple[str, ...], where: str) -> list[int]:
    """Return where columns stand in a header.

    Raises:
        PricesError: one is missing.
    """
    for name in names:
        if name not in header:
            raise PricesError(f"{where}: the column {name!r} is missing: AWS changed the file's columns")
    return [header.index(name) for name in names]


def read_csv(stream: IO[bytes], where: str, ask: Ask, rule: Rule, region: str = "") -> Answer:
    """Read a regional CSV offer file.

    Args:
        stream: the bytes of the file.
        where: its name, for errors.
        ask: which regions are wanted.
        rule: which units are meant.
        region: the region the file is of, where that is known.

    Raises:
        PricesError: it is no such file, or it is cut off.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    lines = csv.reader(text)
    try:
        as_of, header = preamble(lines, where, rule.offer)
        selection = Selection(rule, ask.region_names)
        _select(lines, header, where, selection)
    except (UnicodeDecodeError, csv.Error) as error:
        raise PricesError(f"{where}: line {lines.line_num}: {error}") from None
    finally:
        text.detach()  # the caller closes the stream
    return selection.answer(ask, as_of, whole=True, region=region)


def _select(lines: Any, header: list[str], where: str, selection: Selection) -> None:
    rule = selection.rule
    optional = "MarketOption"
    names = tuple(CSV_COLUMNS[a] for a in rule.attributes if CSV_COLUMNS[a] in header or a != "marketoption")
    judged = _several(positions(header, names, where))
    position_of = {name: header.index(name) if name in header else None for name in CSV_COLUMNS.values()}
    sku_at, named_at = positions(header, ("SKU", CSV_COLUMNS[rule.named_by]), where)
    region_at, location_at = position_of["Region Code"], position_of["Location"]
    line_of = itemgetter(*positions(header, _LINE_COLUMNS, where))
    missing = () if optional in header or "marketoption" not in rule.attributes else ("",)
    width = len(header)
    verdicts: dict[tuple[str, ...], int] = {}
    for row in lines:
        if len(row) != width:
            raise PricesError(
                f"{where}: line {lines.line_num}: {len(row)} columns of {width}: the file is cut off"
            )
        values = judged(row)
        verdict = verdicts.get(values)
        if verdict is None:
            verdict = verdicts[values] = rule.judge(values + missing)
        named_by = row[named_at]
        if not named_by:
            continue
        region = row[region_at] if region_at is not None else ""
        location = row[location_at] if location_at is not None else ""
        kept = selection.unit(row[sku_at], verdict, named_by, region, location)
        if verdict == ACCEPTED and kept is not None:
            term, lease, payment, offering, unit, amount, currency = line_of(row)
            kept.append(Line(term, lease, offering, payment, unit, amount, currency))


def _several(places: list[int]) -> Any:
    if len(places) == 1:
        (place,) = places
        return lambda row: (row[place],)
    return itemgetter(*places)


def read_json(stream: IO[bytes], where: str, ask: Ask, rule: Rule, region: str = "") -> Answer:
    """Read a JSON offer file as a stream; see `read_csv`. The products stand before the terms in it."""
    import ijson

    selection = Selection(rule, ask.region_names)
    units: dict[str, list[Line]] = {}
    found = {prefix: ijson.sendable_list() for prefix in ("products", "terms.OnDemand", "terms.Reserved")}
    parsers = {prefix: ijson.kvitems_coro(items, prefix) for prefix, items in found.items()}
    facts: dict[str, str] = {}
    try:
        for chunk in _chunks(stream):
            facts = facts or _facts(chunk)
            for prefix, parser in parsers.items():
                with suppress(StopIteration):  # the parser's way to say that its last chunk was the end
                    parser.send(chunk)
                _take(prefix, found[prefix], selection, units)
                del found[prefix][:]
    except ijson.JSONError as error:
        raise PricesError(f"{where}: broken or cut-off JSON ({' '.join(str(error).split())[:80]})") from None
    if facts.get("offerCode") != rule.offer:
        raise PricesError(f"{where}: offer {clean(facts.get('offerCode', 'unknown'))}, not {rule.offer}")
    return selection.answer(ask, iso_day(facts.get("publicationDate", ""), where), whole=True, region=region)


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk
    yield b""


def _facts(head: bytes) -> dict[str, str]:
    """Return what a JSON offer file says of itself before its products."""
    said = head.partition(b'"products"')[0].decode("utf-8", "replace")
    return dict(re.findall(r'"(offerCode|publicationDate)"\s*:\s*"([^"]*)"', said))


def _take(
    prefix: str, items: list[tuple[str, Any]], selection: Selection, units: dict[str, list[Line]]
) -> None:
    for sku, item in items:
        if prefix == "products":
            attributes = {**item.get("attributes", {}), "productFamily": item.get("productFamily", "")}
            lines = selection.product(sku, attributes)
            if lines is not None:
                units[sku] = lines
        elif sku in units:
            units[sku] += term_lines(prefix.removeprefix("terms."), item)
