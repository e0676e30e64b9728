"""From the stock-keeping units of a price list to price rows: exactly one must remain, or there is no price.

AWS lists an instance type dozens of times in a region: by operating system, licence, tenancy, capacity reservation and
capacity block, many of them at 0 dollars. Taking the first, the last or the cheapest of them is the classic mistake of price
tools. Here every unit but the one that is meant fails a named condition, and a type of which not exactly one unit remains is
refused with the reason.

Effective hourly price of a reserved term (AWS, "Reserved Instances pricing"): hourly + upfront / (8760 x years).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from advisor.errors import PricesError
from advisor.prices.sources.ask import Answer, Ask, PriceRow, Refusal, Scope, price_frame, product_of
from advisor.tables import HOURS_PER_YEAR
from advisor.text import clean

ACCEPTED: Final = 1_000
CAPACITY_BLOCK: Final = -1


class Condition(NamedTuple):
    """What an attribute must be (a whole match), and how to say that no unit of a type has it."""

    attribute: str
    pattern: re.Pattern[str]
    lacking: str


@dataclass(frozen=True)
class Rule:
    """Which units of an offer are meant, and which type each one prices.

    Attributes:
        offer: AWS's code of the offer.
        conditions: all must hold; the order is that in which a type is said to fail.
        named_by: the attribute that holds the type.
        name: takes the type out of that attribute: its first group.
        source: source id of the rows.
    """

    offer: str
    conditions: tuple[Condition, ...]
    named_by: str
    name: re.Pattern[str]
    source: str

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the conditions read, in order."""
        return tuple(condition.attribute for condition in self.conditions)

    def judge(self, values: tuple[str, ...]) -> int:
        """Return `ACCEPTED`, `CAPACITY_BLOCK`, or the index of the first condition that fails.

        Args:
            values: the attributes of one unit, in the order of `attributes`; empty: the list does not state it.
        """
        found = dict(zip(self.attributes, values, strict=True))
        if found.get("marketoption") == "CapacityBlock" or found.get("operation", "").endswith(":CB"):
            return CAPACITY_BLOCK
        for index, (condition, value) in enumerate(zip(self.conditions, values, strict=True)):
            if not condition.pattern.fullmatch(value):
                return index
        return ACCEPTED


def _condition(attribute: str, pattern: str, lacking: str) -> Condition:
    return Condition(attribute, re.compile(pattern), lacking)


EC2: Final = Rule(
    "AmazonEC2",
    (
        _condition("productFamily", r"Compute Instance(?: \(bare metal\))?", "not sold as an instance"),
        _condition("tenancy", "Shared", "sold on dedicated hardware only"),
        _condition("operatingSystem", "Linux", "no Linux price"),
        _condition("preInstalledSw", "NA", "sold with software only"),
        _condition("licenseModel", "No License required", "sold with a licence only"),
        _condition("capacitystatus", "Used", "listed for capacity reservations only"),
        _condition("operation", "RunInstances", "no plain RunInstances price"),
        # Lists of before 2022 do not have the attribute.
        _condition("marketoption", "(?:OnDemand)?", "not sold on demand"),
    ),
    "instanceType",
    re.compile(r"([a-z][a-z0-9-]*\.[a-z0-9-]+)"),
    "aws_offer_file",
)
SAGEMAKER: Final = Rule(
    "AmazonSageMaker",
    (
        _condition("productFamily", "ML Instance", "not sold as an instance"),
        _condition("usagetype", r"(?:[A-Z0-9]+-)?Host:ml\.(?!eia).+", "not sold for real-time endpoints"),
    ),
    "usagetype",
    re.compile(r".*:(ml\.[a-z0-9-]+\.[a-z0-9-]+)"),
    "aws_sagemaker_offer",
)
ELASTIC_INFERENCE: Final = Rule(
    "AmazonEI",
    (_condition("productFamily", "Elastic Inference", "not an accelerator"),),
    "usagetype",
    re.compile(r"(?:.*[-:])?(eia[0-9]+\.[a-z0-9]+)"),
    "aws_elastic_inference_offer",
)

CSV_COLUMNS: Final[Mapping[str, str]] = {
    "productFamily": "Product Family",
    "tenancy": "Tenancy",
    "operatingSystem": "Operating System",
    "preInstalledSw": "Pre Installed S/W",
    "licenseModel": "License Model",
    "capacitystatus": "CapacityStatus",
    "operation": "operation",
    "marketoption": "MarketOption",
    "usagetype": "usageType",
    "instanceType": "Instance Type",
    "regionCode": "Region Code",
    "location": "Location",
}
"""How the CSV files call the attributes of the JSON ones."""


class Line(NamedTuple):
    """One price of one unit: a price dimension of a term."""

    term_type: str
    lease: str
    offering_class: str
    payment: str
    unit: str
    amount: str
    currency: str


@dataclass
class Selection:
    """The units seen so far of one list. Holds the accepted ones only, so that it stays small on a large file.

    Attributes:
        rule: which units are meant.
        region_names: location name -> region code, for lists without region codes.
    """

    rule: Rule
    region_names: Mapping[str, str] = field(default_factory=dict)
    accepted: dict[tuple[str, str], dict[str, list[Line]]] = field(default_factory=dict)
    closest: dict[tuple[str, str], int] = field(default_factory=dict)
    capacity_blocks: set[tuple[str, str]] = field(default_factory=set)

    def product(self, sku: str, attributes: Mapping[str, str]) -> list[Line] | None:
        """See one unit; return the list its prices go into, or None where it is not meant.

        Args:
            sku: AWS's id of the unit.
            attributes: those of its JSON form, with `productFamily` among them.
        """
        values = tuple(attributes.get(name, "") for name in self.rule.attributes)
        named_by = attributes.get(self.rule.named_by, "")
        return self.unit(
            sku,
            self.rule.judge(values),
            named_by,
            attributes.get("regionCode", ""),
            attributes.get("location", ""),
        )

    def unit(self, sku: str, verdict: int, named_by: str, region: str, location: str) -> list[Line] | None:
        """See one unit that `Rule.judge` has judged; see `product`."""
        found = self.rule.name.fullmatch(named_by)
        if found is None:
            return None
        key = (found[1], region or self.region_names.get(location, ""))
        if verdict == ACCEPTED:
            if not key[1]:
                where = clean(location)
                raise PricesError(f"SKU {clean(sku)}: no region code, and no region is called {where!r}")
            return self.accepted.setdefault(key, {}).setdefault(sku, [])
        if verdict == CAPACITY_BLOCK:
            self.capacity_blocks.add(key)
        elif verdict > self.closest.get(key, -1):
            self.closest[key] = verdict
        return None

    def answer(self, ask: Ask, as_of: str, *, whole: bool, region: str = "") -> Answer:
        """Return the price rows of all that was seen, and what was refused.

        Args:
            ask: what was asked; rows of other regions are left out.
            as_of: date of the list, ISO.
            whole: the list holds all there is of its regions, so that it replaces what was known of them.
            region: the region the list is of, where that is known beforehand.
        """
        rows: list[PriceRow] = []
        refused: list[Refusal] = []
        for key in sorted(self.accepted.keys() | self.closest.keys() | self.capacity_blocks):
            if ask.wants(key[1]):
                found, reasons = self._rows(key, as_of)
                rows += found
                refused += reasons
        prices = price_frame(rows, self.rule.offer)
        regions = set(prices["region"].unique()) | ({region} if region else set())
        product = product_of({"AmazonSageMaker": "ml.", "AmazonEI": "eia"}.get(self.rule.offer, ""))
        return Answer(
            prices,
            replaces=frozenset(Scope(name, product, "list") for name in regions) if whole else frozenset(),
            refused=tuple(refused),
            as_of=as_of,
        )

    def _rows(self, key: tuple[str, str], as_of: str) -> tuple[list[PriceRow], list[Refusal]]:
        units = self.accepted.get(key, {})
        if len(units) > 1:
            return [], [Refusal(*key, f"{len(units)} SKUs remain ({', '.join(sorted(map(clean, units)))})")]
        if not units and key in self.capacity_blocks:
            note = "capacity block only: no on-demand price"
            return [PriceRow(*key, "capacity_block", as_of=as_of, source=self.rule.source, note=note)], []
        if not units:
            return [], [Refusal(*key, self.rule.conditions[self.closest[key]].lacking)]
        ((sku, lines),) = units.items()
        rows: list[PriceRow] = []
        refused: list[Refusal] = []
        for name, group in _by_purchase(lines).items():
            try:
                rows.append(_row(key, name, group, as_of=as_of, source=self.rule.source))
            except PricesError as error:
                refused.append(Refusal(*key, f"{error} (SKU {clean(sku)})"))
        if not any(line.term_type == "OnDemand" for line in lines):
            refused.append(Refusal(*key, f"SKU {clean(sku)} has no on-demand price"))
        return rows, refused


def term_lines(term_type: str, terms: Mapping[str, Any]) -> list[Line]:
    """Return the prices of one unit's terms of one type, from their JSON form.

    Raises:
        PricesError: they do not have the documented shape.
    """
    try:
        return [
            Line(
                term_type,
                term.get("termAttributes", {}).get("LeaseContractLength", ""),
                term.get("termAttributes", {}).get("OfferingClass", ""),
                term.get("termAttributes", {}).get("PurchaseOption", ""),
                dimension["unit"],
                amount,
                currency,
            )
            for term in terms.values()
            for dimension in term["priceDimensions"].values()
            for currency, amount in dimension["pricePerUnit"].items()
        ]
    except (KeyError, AttributeError, TypeError) as error:
        raise PricesError(
            f"a {term_type} term is not of the documented shape ({clean(str(error))})"
        ) from None


class _Purchase(NamedTuple):
    option: str
    years: int
    currency: str


def _by_purchase(lines: Iterable[Line]) -> dict[_Purchase, list[Line]]:
    groups: dict[_Purchase, list[Line]] = {}
    for line in lines:
        if line.term_type == "OnDemand":
            option, years = "on_demand", 0
        else:
            years = int(line.lease[0]) if re.fullmatch(r"[1-9] ?yr", line.lease) else 0
            convertible = "convertible_" if line.offering_class.lower() == "convertible" else ""
            option = f"reserved_{years or clean(line.lease)}yr_{convertible}{payment(line.payment)}"
        groups.setdefault(_Purchase(option, years, line.currency), []).append(line)
    return dict(sorted(groups.items()))


def payment(text: str) -> str:
    """Return a payment option as it stands in a purchase option: `No Upfront` -> `no_upfront`."""
    return clean(text).strip().lower().replace(" ", "_")


def _row(
    key: tuple[str, str], purchase: _Purchase, lines: list[Line], *, as_of: str, source: str
) -> PriceRow:
    hourly = _amounts(lines, "Hrs", purchase.option)
    upfront = _amounts(lines, "Quantity", purchase.option)
    if len(hourly) > 1 or len(upfront) > 1:
        raise PricesError(f"{purchase.option}: several prices in {purchase.currency}")
    if purchase.option == "on_demand":
        if not hourly or hourly[0] <= 0:
            raise PricesError("on_demand: the price is 0 or missing")
        return priced(key, "on_demand", hourly[0], purchase.currency, as_of=as_of, source=source)
    if not purchase.years:
        raise PricesError(f"{purchase.option}: a term of unknown length")
    if not upfront and not purchase.option.endswith("no_upfront"):
        raise PricesError(f"{purchase.option}: the upfront fee is missing")
    once = upfront[0] if upfront else 0.0
    effective = (hourly[0] if hourly else 0.0) + once / (HOURS_PER_YEAR * purchase.years)
    if effective <= 0:
        raise PricesError(f"{purchase.option}: the price is 0 or missing")
    return priced(
        key,
        purchase.option,
        effective,
        purchase.currency,
        as_of=as_of,
        source=source,
        upfront=once,
        months=12 * purchase.years,
    )


def _amounts(lines: Iterable[Line], unit: str, option: str) -> list[float]:
    try:
        return sorted({float(line.amount) for line in lines if line.unit == unit})
    except ValueError:
        raise PricesError(f"{option}: a price is not a number") from None


def priced(
    key: tuple[str, str],
    option: str,
    amount: float,
    currency: str,
    *,
    as_of: str,
    source: str,
    upfront: float | None = None,
    months: int | None = None,
    statistic: str = "list",
    zone: str = "",
    note: str = "",
) -> PriceRow:
    """Return the row of a price in its currency: only US dollars fill `price_usd_per_hour` and `upfront_usd`."""
    dollars = currency == "USD"
    if upfront and not dollars:
        note = "; ".join(filter(None, [note, f"upfront {upfront:g} {currency}"]))
    unknown = float("nan")
    return PriceRow(
        *key,
        option,
        statistic,
        zone,
        currency,
        amount if dollars else unknown,
        unknown if dollars else amount,
        upfront if dollars and upfront is not None else unknown,
        months,
        as_of,
        source,
        note,
    )
