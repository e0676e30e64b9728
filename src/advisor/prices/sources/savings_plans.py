"""Savings plan rates: the public CSV files, and `DescribeSavingsPlansOfferingRates` for those with an account.

A rate is the whole hourly price: an upfront payment is a part of the commitment and not on top of it. All of it is paid at
the start of an All Upfront plan, and half of it of a Partial Upfront one (AWS, "Savings Plans User Guide": at least half).
The file has the preamble of the offer files, unquoted, and 24 columns of its own.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from advisor.errors import PricesError
from advisor.prices.sources import aws, web
from advisor.prices.sources.ask import Answer, Ask, Part, PriceRow, Refusal, Scope, price_frame, saved_files
from advisor.prices.sources.bulk import offers_root, positions, preamble
from advisor.prices.sources.skus import payment, priced
from advisor.tables import HOURS_PER_YEAR
from advisor.text import clean

# The folder has one name and the file inside it another.
_FOLDER: Final = "AWSComputeSavingsPlan"
_OFFER: Final = "AmazonComputeSavingsPlan"
_API: Final = "DescribeSavingsPlansOfferingRates"
_BOX: Final = re.compile(r"(?:[A-Z0-9]+-)?BoxUsage:([a-z][a-z0-9-]*\.[a-z0-9-]+)")
_PLANS: Final = {
    "EC2InstanceSavingsPlans": "ec2_instance",
    "EC2Instance": "ec2_instance",
    "ComputeSavingsPlans": "compute",
    "Compute": "compute",
}
_PAID_AT_START: Final = {"no_upfront": 0.0, "partial_upfront": 0.5, "all_upfront": 1.0}
_COLUMNS: Final = (
    "DiscountedRegionCode",
    "Product Family",
    "LeaseContractLength",
    "PurchaseOption",
    "Currency",
    "DiscountedRate",
)
_SECONDS_PER_YEAR: Final = 31_536_000


class _Rate(NamedTuple):
    instance_type: str
    region: str
    plan: str
    years: str
    payment: str
    currency: str
    rate: str


def savings_plans(ask: Ask) -> list[Part]:
    """Savings plan rates from the public files; no account is needed."""
    if ask.saved:
        files = saved_files(ask.saved, _FOLDER, (".csv", ".csv.gz"))
        return [Part(path.name, partial(_read_saved_csv, path, ask)) for path in files]
    root = offers_root(ask.base_url).replace("/offers/", "/savingsPlan/")
    index = f"{root}/{_FOLDER}/current/region_index.json"
    found = web.get_json(index, ask.timeout_s)
    try:
        addresses = {str(region["regionCode"]): str(region["versionUrl"]) for region in found["regions"]}
    except (KeyError, TypeError):
        raise PricesError(f"{index}: no region index (regions with regionCode and versionUrl)") from None
    for region in ask.regions:
        if region not in addresses:
            raise PricesError(f"{index}: has no region {region}; it has {', '.join(sorted(addresses))}")
    return [
        Part(region, partial(_fetch_csv, web.join(index, address), region, ask))
        for region, address in sorted(addresses.items())
        if ask.wants(region)
    ]


def _fetch_csv(address: str, region: str, ask: Ask) -> Answer:
    url = address.removesuffix(".json") + ".csv"

    def read() -> Answer:
        with web.open_url(url, ask.timeout_s) as stream:
            return read_csv(stream, url, ask, region)

    return web.retried(read, url)


def _read_saved_csv(path: Path, ask: Ask) -> Answer:
    try:
        with web.open_file(path) as stream:
            return read_csv(stream, str(path), ask)
    except (OSError, EOFError) as error:
        raise PricesError(f"{path}: cannot be read ({error}): was it saved whole?") from None


def read_csv(stream: IO[bytes], where: str, ask: Ask, region: str = "") -> Answer:
    """Read a regional savings plan file; see `advisor.prices.sources.bulk.read_csv`.

    Raises:
        PricesError: it is no such file, or it is cut off.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    lines = csv.reader(text)
    try:
        as_of, header = preamble(lines, where, _OFFER)
        rates = list(_csv_rates(lines, header, where))
    except (UnicodeDecodeError, csv.Error) as error:
        raise PricesError(f"{where}: line {lines.line_num}: {error}") from None
    finally:
        text.detach()  # the caller closes the stream
    return _answer(rates, ask, as_of, "aws_savings_plan_file", where, whole=True, region=region)


def _csv_rates(lines: Any, header: list[str], where: str) -> Iterator[_Rate]:
    usage_at, operation_at, unit_at = positions(
        header, ("DiscountedUsageType", "DiscountedOperation", "Unit"), where
    )
    facts = itemgetter(*positions(header, _COLUMNS, where))
    length_unit_at = positions(header, ("LeaseContractLengthUnit",), where)[0]
    for row in lines:
        if len(row) != len(header):
            raise PricesError(
                f"{where}: line {lines.line_num}: {len(row)} columns of {len(header)}: the file is cut off"
            )
        if row[operation_at] != "RunInstances" or row[unit_at] != "Hrs" or row[length_unit_at] != "year":
            continue
        found = _BOX.fullmatch(row[usage_at])
        if found:
            yield _Rate(found[1], *facts(row))


def savings_plans_api(ask: Ask) -> list[Part]:
    """Savings plan rates from DescribeSavingsPlansOfferingRates, which needs an account."""
    if ask.saved:
        return [
            Part(path.name, partial(_read_saved_answer, path, ask)) for path in saved_files(ask.saved, _API)
        ]
    regions = sorted(ask.regions) or aws.enabled_regions((), ask.timeout_s)
    homes = {region: "cn-north-1" if region.startswith("cn-") else "us-east-1" for region in regions}
    clients = {home: aws.client("savingsplans", home, ask.timeout_s) for home in sorted(set(homes.values()))}
    return [Part(region, partial(_fetch_rates, clients[homes[region]], region, ask)) for region in regions]


def _fetch_rates(savingsplans: Any, region: str, ask: Ask) -> Answer:
    question = {
        "products": ["EC2"],
        "serviceCodes": ["AmazonEC2"],
        "savingsPlanTypes": ["Compute", "EC2Instance"],
        "operations": ["RunInstances"],
        "filters": [
            {"name": "region", "values": [region]},
            {"name": "tenancy", "values": ["shared"]},
            {"name": "productDescription", "values": ["Linux/UNIX"]},
        ],
        "maxResults": 1000,
    }
    pages = []
    with aws.plainly("savingsplans", region):
        while True:  # botocore has no paginator for it
            pages.append(savingsplans.describe_savings_plans_offering_rates(**question))
            token = pages[-1].get("nextToken")
            if not token:
                break
            question["nextToken"] = token
    rates = _api_rates(pages, f"{_API} in {region}")
    return _answer(
        rates, ask, aws.day_of(pages[-1]), "aws_savings_plan_api", region, whole=True, region=region
    )


def _read_saved_answer(path: Path, ask: Ask) -> Answer:
    answer = aws.saved_answer(path)
    pages = answer if isinstance(answer, list) else [answer]
    rates = _api_rates(pages, str(path))
    return _answer(rates, ask, aws.day_of(pages[0], path), "aws_savings_plan_api", str(path), whole=False)


def _api_rates(pages: Iterable[Any], where: str) -> Iterator[_Rate]:
    for number, page in enumerate(pages, 1):
        try:
            for result in page["searchResults"]:
                properties = {p["name"]: p["value"] for p in result["properties"]}
                offering = result["savingsPlanOffering"]
                found = _BOX.fullmatch(result["usageType"])
                if (
                    found
                    and result["operation"] == "RunInstances"
                    and result["unit"] == "Hrs"
                    and properties.get("tenancy", "shared") == "shared"
                ):
                    years = offering["durationSeconds"] / _SECONDS_PER_YEAR
                    yield _Rate(
                        found[1],
                        properties["region"],
                        offering["planType"],
                        f"{years:g}",
                        offering["paymentOption"],
                        offering["currency"],
                        str(result["rate"]),
                    )
        except (KeyError, TypeError) as error:
            raise PricesError(
                f"{where}: page {number} is not of the documented shape ({clean(str(error))})"
            ) from None


def _answer(
    rates: Iterable[_Rate], ask: Ask, as_of: str, source: str, where: str, *, whole: bool, region: str = ""
) -> Answer:
    found: dict[tuple[str, str, str, str], set[_Rate]] = {}
    refused: list[Refusal] = []
    for rate in rates:
        plan = _PLANS.get(rate.plan)
        if not ask.wants(rate.region) or plan is None:
            continue
        if rate.years not in {"1", "3"} or payment(rate.payment) not in _PAID_AT_START:
            reason = f"a savings plan of unknown term or payment ({clean(rate.years)} years, {clean(rate.payment)})"
            refused.append(Refusal(rate.instance_type, rate.region, reason))
            continue
        option = f"{plan}_savings_plan_{rate.years}yr_{payment(rate.payment)}"
        found.setdefault((rate.instance_type, rate.region, option, rate.currency), set()).add(rate)
    rows: list[PriceRow] = []
    for (instance_type, of_region, option, currency), same in sorted(found.items()):
        try:
            amounts = sorted({float(rate.rate) for rate in same})
        except ValueError:
            amounts = []
        if len(amounts) != 1 or amounts[0] <= 0:
            reason = (
                f"{option}: {len(amounts)} rates remain" if len(amounts) > 1 else f"{option}: no rate above 0"
            )
            refused.append(Refusal(instance_type, of_region, reason))
            continue
        years = int(next(iter(same)).years)
        upfront = amounts[0] * HOURS_PER_YEAR * years * _PAID_AT_START[option.partition("yr_")[2]]
        rows.append(
            priced(
                (instance_type, of_region),
                option,
                amounts[0],
                currency,
                as_of=as_of,
                source=source,
                upfront=upfront,
                months=12 * years,
            )
        )
    prices = price_frame(rows, where)
    regions = set(prices["region"].unique()) | ({region} if region else set())
    replaces = frozenset(Scope(name, "ec2", "savings_plan") for name in regions) if whole else frozenset()
    return Answer(prices, replaces, tuple(sorted(refused)), as_of=as_of)
