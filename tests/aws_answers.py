"""AWS's answers in their documented shapes, made by hand, and servers on the loopback that give them."""

import csv
import gzip
import io
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "data" / "aws"
SAMPLES = Path(__file__).parents[2] / "shared" / "samples" / "aws"
PUBLISHED = "2026-11-20T18:44:47Z"

# m5.large, Linux: hourly and upfront of the twelve reserved terms.
TWELVE_TERMS = (
    ("1yr", "standard", "No Upfront", "0.0600000000", None),
    ("1yr", "standard", "Partial Upfront", "0.0290000000", "252"),
    ("1yr", "standard", "All Upfront", "0.0000000000", "494"),
    ("1yr", "convertible", "No Upfront", "0.0710000000", None),
    ("1yr", "convertible", "Partial Upfront", "0.0340000000", "294"),
    ("1yr", "convertible", "All Upfront", "0.0000000000", "577"),
    ("3yr", "standard", "No Upfront", "0.0410000000", None),
    ("3yr", "standard", "Partial Upfront", "0.0190000000", "505"),
    ("3yr", "standard", "All Upfront", "0.0000000000", "949"),
    ("3yr", "convertible", "No Upfront", "0.0490000000", None),
    ("3yr", "convertible", "Partial Upfront", "0.0230000000", "592"),
    ("3yr", "convertible", "All Upfront", "0.0000000000", "1161"),
)
Term = tuple[str, str, str, str, str | None]

CSV_NAMES = {
    "location": "Location",
    "locationType": "Location Type",
    "instanceType": "Instance Type",
    "vcpu": "vCPU",
    "tenancy": "Tenancy",
    "operatingSystem": "Operating System",
    "licenseModel": "License Model",
    "usagetype": "usageType",
    "operation": "operation",
    "capacitystatus": "CapacityStatus",
    "marketoption": "MarketOption",
    "preInstalledSw": "Pre Installed S/W",
    "regionCode": "Region Code",
}


def case(name: str) -> Any:
    """Return a committed answer: `GetProducts/m5.large`."""
    return json.loads((CASES / f"{name}.json").read_text())


def item(
    sku: str,
    instance_type: str = "m5.large",
    region: str = "us-west-2",
    on_demand: str | None = "0.0960000000",
    reserved: Iterable[Term] = (),
    *,
    currency: str = "USD",
    family: str = "Compute Instance",
    service: str = "AmazonEC2",
    **attributes: str,
) -> dict[str, Any]:
    """Return one item of GetProducts: by default the unit that is meant of a Linux instance type."""
    facts = {
        "instanceType": instance_type,
        "regionCode": region,
        "location": "US West (Oregon)",
        "locationType": "AWS Region",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "licenseModel": "No License required",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "operation": "RunInstances",
        "usagetype": f"USW2-BoxUsage:{instance_type}",
        "servicecode": service,
        "vcpu": "2",
    }
    facts.update(attributes)
    terms: dict[str, Any] = {}
    if on_demand is not None:
        dimension = _dimension(f"{sku}.JRTCKXETXF", "Hrs", on_demand, currency)
        terms["OnDemand"] = {f"{sku}.JRTCKXETXF": _term(sku, "JRTCKXETXF", dimension, {})}
    for number, (lease, offering, payment, hourly, upfront) in enumerate(reserved):
        code = f"TERM{number:06d}"
        dimensions: dict[str, Any] = {}
        if upfront is not None:
            dimensions |= _dimension(f"{sku}.{code}", "Quantity", upfront, currency)
        dimensions |= _dimension(f"{sku}.{code}", "Hrs", hourly, currency)
        said = {"LeaseContractLength": lease, "OfferingClass": offering, "PurchaseOption": payment}
        terms.setdefault("Reserved", {})[f"{sku}.{code}"] = _term(sku, code, dimensions, said)
    product: dict[str, Any] = {"sku": sku, "attributes": {k: v for k, v in facts.items() if v}}
    if family:
        product["productFamily"] = family
    return {
        "product": product,
        "serviceCode": service,
        "terms": terms,
        "version": "20261120184447",
        "publicationDate": PUBLISHED,
    }


def other_units(instance_type: str = "m5.large", region: str = "us-west-2") -> list[dict[str, Any]]:
    """Return the units of a type that are not meant, each with what makes it a trap."""
    same: dict[str, Any] = {"instance_type": instance_type, "region": region}
    return [
        item("WINDOWS", **same, on_demand="0.1880000000", operatingSystem="Windows", operation="RunInstances:0002"),
        item("BYOL", **same, operatingSystem="Windows", licenseModel="Bring your own license", operation="RunInstances:0800"),
        item("SQL", **same, on_demand="0.5760000000", preInstalledSw="SQL Std", operation="RunInstances:0006"),
        item("DEDICATED", **same, on_demand="0.1020000000", reserved=TWELVE_TERMS, tenancy="Dedicated", usagetype=f"USW2-DedicatedUsage:{instance_type}"),
        item("HOST", **same, on_demand="0.0000000000", tenancy="Host", usagetype=f"USW2-HostBoxUsage:{instance_type}"),
        item("UNUSED", **same, capacitystatus="UnusedCapacityReservation", usagetype=f"USW2-UnusedBox:{instance_type}"),
        item("ALLOCATED", **same, on_demand="0.0000000000", capacitystatus="AllocatedCapacityReservation", usagetype=f"USW2-Reservation:{instance_type}"),
        item("BLOCK", **same, on_demand="0.0000000000", marketoption="CapacityBlock", operation="RunInstances:CB"),
        item("HOSTRESERVATION", "m5", region, None, family="Dedicated Host", tenancy="Reserved") | {"terms": {"Reserved": {}}},
        item("NOFAMILY", "", region, None, family=""),
    ]  # fmt: skip


def _dimension(term: str, unit: str, amount: str, currency: str) -> dict[str, Any]:
    code = f"{term}.{'6YS6EN2CT7' if unit == 'Hrs' else '2TG2D8R56U'}"
    return {code: {"unit": unit, "rateCode": code, "appliesTo": [], "description": "", "pricePerUnit": {currency: amount}}}  # fmt: skip


def _term(sku: str, code: str, dimensions: dict[str, Any], said: dict[str, str]) -> dict[str, Any]:
    return {
        "priceDimensions": dimensions,
        "sku": sku,
        "effectiveDate": "2026-11-01T00:00:00Z",
        "offerTermCode": code,
        "termAttributes": said,
    }


def page(items: Iterable[Mapping[str, Any] | str], token: str = "") -> dict[str, Any]:
    """Return a page of GetProducts: its items are JSON texts."""
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in items]
    return {"FormatVersion": "aws_v1", "PriceList": texts, **({"NextToken": token} if token else {})}


def offer_csv(
    items: Iterable[Mapping[str, Any]], offer: str = "AmazonEC2", columns: Iterable[str] = ()
) -> bytes:
    """Return a regional offer file of the items; `columns` are further ones, which stay empty."""
    names = list(CSV_NAMES.values())
    header = ["SKU", "OfferTermCode", "RateCode", "TermType", "Unit", "PricePerUnit", "Currency", "LeaseContractLength", "PurchaseOption", "OfferingClass", "Product Family", *names, *columns]  # fmt: skip
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(preamble(offer))
    writer.writerow(header)
    for entry in items:
        product = entry["product"]
        attributes = [product["attributes"].get(name, "") for name in CSV_NAMES]
        for term_type, terms in entry["terms"].items():
            for term in terms.values():
                said = term["termAttributes"]
                lease = [said.get(k, "") for k in ("LeaseContractLength", "PurchaseOption", "OfferingClass")]
                for dimension in term["priceDimensions"].values():
                    ((currency, amount),) = dimension["pricePerUnit"].items()
                    writer.writerow([
                        product["sku"], term["offerTermCode"], dimension["rateCode"], term_type, dimension["unit"], amount,
                        currency, *lease, product.get("productFamily", ""), *attributes, *["" for _ in columns],
                    ])  # fmt: skip
    return text.getvalue().encode()


def preamble(offer: str) -> list[list[str]]:
    """Return the five lines that open a CSV file."""
    return [
        ["FormatVersion", "v1.0"],
        ["Disclaimer", "For information only."],
        ["Publication Date", PUBLISHED],
        ["Version", "20261120184447"],
        ["OfferCode", offer],
    ]


def offer_json(items: Iterable[Mapping[str, Any]], offer: str = "AmazonEC2") -> bytes:
    """Return a regional JSON offer file of the items."""
    whole: dict[str, Any] = {
        "formatVersion": "v1.0",
        "disclaimer": "For information only.",
        "offerCode": offer,
        "version": "20261120184447",
        "publicationDate": PUBLISHED,
        "products": {},
        "terms": {"OnDemand": {}, "Reserved": {}},
    }
    for entry in items:
        sku = entry["product"]["sku"]
        whole["products"][sku] = entry["product"]
        for term_type, terms in entry["terms"].items():
            whole["terms"][term_type][sku] = terms
    return json.dumps(whole, indent=2).encode()


def region_index(regions: Iterable[str], offer: str = "AmazonEC2", partition: str = "aws") -> bytes:
    """Return the index that names the newest file of each region."""
    root = f"/offers/v1.0/{partition}/{offer}/20261120184447"
    return json.dumps({
        "formatVersion": "v1.0",
        "publicationDate": PUBLISHED,
        "regions": {r: {"regionCode": r, "currentVersionUrl": f"{root}/{r}/index.json"} for r in regions},
    }).encode()  # fmt: skip


def offer_site(
    files: Mapping[str, bytes], offer: str = "AmazonEC2", partition: str = "aws"
) -> dict[str, bytes]:
    """Return the addresses of an offer and what is served there; `files` are the CSV files by region."""
    root = f"/offers/v1.0/{partition}/{offer}"
    return {
        f"{root}/current/region_index.json": region_index(files, offer, partition),
        **{f"{root}/20261120184447/{region}/index.csv": data for region, data in files.items()},
    }


SAVINGS_COLUMNS = (
    "SKU", "RateCode", "Unit", "EffectiveDate", "DiscountedRate", "Currency", "DiscountedSKU", "DiscountedServiceCode",
    "DiscountedUsageType", "DiscountedOperation", "PurchaseOption", "LeaseContractLength", "LeaseContractLengthUnit",
    "ServiceCode", "UsageType", "Operation", "Description", "Instance Family", "Location", "Location Type", "Granularity",
    "Product Family", "DiscountedRegionCode", "DiscountedInstanceType",
)  # fmt: skip


def savings_csv(rows: Iterable[Mapping[str, str]]) -> bytes:
    """Return a regional savings plan file: the same preamble, unquoted, and 24 columns."""
    usual = {
        "SKU": "S", "RateCode": "S.R", "Unit": "Hrs", "Currency": "USD", "DiscountedServiceCode": "AmazonEC2",
        "DiscountedUsageType": "USW2-BoxUsage:m5.large", "DiscountedOperation": "RunInstances",
        "PurchaseOption": "No Upfront", "LeaseContractLength": "1", "LeaseContractLengthUnit": "year",
        "ServiceCode": "ComputeSavingsPlans", "Product Family": "ComputeSavingsPlans", "DiscountedRegionCode": "us-west-2",
        "DiscountedInstanceType": "m5.large",
    }  # fmt: skip
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(preamble("AmazonComputeSavingsPlan"))
    writer.writerow(SAVINGS_COLUMNS)
    writer.writerows([(usual | dict(row)).get(name, "") for name in SAVINGS_COLUMNS] for row in rows)
    return text.getvalue().encode()


Reply = Callable[[BaseHTTPRequestHandler], None]


def reply(handler: BaseHTTPRequestHandler, data: bytes, status: int = 200, **headers: str) -> None:
    """Send one whole answer."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


@contextmanager
def serving(answer: Reply) -> Iterator[str]:
    """Serve on a free port of the loopback; gives the base address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def do_POST(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that went away is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def files(site: Mapping[str, bytes], asked: list[str] | None = None) -> Reply:
    """Serve files by address, packed where the client can unpack; `asked` gets the addresses."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if asked is not None:
            asked.append(handler.path)
        data = site.get(handler.path)
        if data is None:
            reply(handler, b"", 404)
        elif "gzip" in handler.headers.get("Accept-Encoding", ""):
            reply(handler, gzip.compress(data, 1), Content_Encoding="gzip")
        else:
            reply(handler, data)

    return answer
