"""AWS's API, faults and all: a price list server on the loopback, botocore's Stubber, and moto for EC2."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from advisor.errors import AdvisorError, MissingExtraError, PricesError
from advisor.prices.sources import aws
from advisor.prices.sources.ask import Ask, Scope
from advisor.prices.sources.instance_types import instance_types
from advisor.prices.sources.price_list import price_list
from advisor.prices.sources.savings_plans import savings_plans_api
from advisor.prices.sources.spot import spot
from tests.aws_answers import TWELVE_TERMS, case, item, other_units, page, reply, serving

boto3 = pytest.importorskip("boto3", reason="boto3 (the aws extra) is not installed")

SECRET = "0123456789abcdefABCDEF0123456789abcdefAB"
KEY = "AKIAABCDEFGHIJKLMNOP"
TARGET = "AWSPriceListService.GetProducts"


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account that exists nowhere, and no settings of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }.items():
        monkeypatch.setenv(name, value)
    boto3.DEFAULT_SESSION = None
    monkeypatch.setattr("botocore.retryhandler.delay_exponential", lambda **_: 0.0)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)


@pytest.fixture
def priced(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[Callable[[int, dict[str, Any]], Any]], list[Any]]]:
    """Start a price list server: `answer(number of the request, question)` gives a page, or a callable on the handler."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(answer: Callable[[int, dict[str, Any]], Any]) -> list[Any]:
            asked: list[Any] = []

            def handle(handler: BaseHTTPRequestHandler) -> None:
                question = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
                asked.append(question)
                given = answer(len(asked), question)
                if callable(given):
                    given(handler)
                else:
                    reply(handler, json.dumps(given).encode(), Content_Type="application/x-amz-json-1.1")

            monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", stack.enter_context(serving(handle)))
            return asked

        yield start


def fault(code: str, status: int = 400, message: str = "no") -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with an error of AWS."""
    data = json.dumps({"__type": code, "message": message}).encode()
    return lambda handler: reply(handler, data, status, Content_Type="application/x-amz-json-1.1")


def only_part(**ask: Any) -> Any:
    (part,) = price_list(Ask(("us-west-2",), **ask))
    return part


def eight_pages(number: int, question: dict[str, Any]) -> Any:
    """Return a type a page; the token is the number of the next page."""
    at = int(question.get("NextToken", "1"))
    entry = item(f"SKU{at}", f"m5.{at}xlarge", on_demand=f"0.{at}000000000")
    return page([entry], str(at + 1) if at < 8 else "")


def test_all_pages_are_read_and_a_region_answered_whole_replaces_what_was_known(priced: Any) -> None:
    asked = priced(eight_pages)
    found = only_part().fetch()
    assert len(found.prices) == 8
    assert found.replaces == {Scope("us-west-2", "ec2", "list")}
    assert [question.get("NextToken") for question in asked] == [None, *"2345678"]
    assert asked[0]["MaxResults"] == 100
    assert {f["Field"]: f["Value"] for f in asked[0]["Filters"]}["regionCode"] == "us-west-2"


def test_throttling_is_met_with_patience(priced: Any) -> None:
    asked = priced(lambda n, q: fault("ThrottlingException") if n in {2, 3} else eight_pages(n, q))
    assert len(only_part().fetch().prices) == 8
    assert len(asked) == 10


def test_endless_throttling_is_given_up_and_says_so(priced: Any) -> None:
    asked = priced(lambda *_: fault("ThrottlingException"))
    part = only_part()
    with pytest.raises(PricesError, match="throttled 5 times"):
        part.fetch()
    assert len(asked) == 5


def test_a_time_out_in_the_middle_of_page_7_fails_the_region_and_gives_no_part_of_it(priced: Any) -> None:
    def silent(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"PriceList": [')
        handler.wfile.flush()
        handler.rfile.read(1)

    asked = priced(lambda n, q: silent if q.get("NextToken") == "7" else eight_pages(n, q))
    part = only_part(timeout_s=0.2)
    with pytest.raises(PricesError, match="pricing in us-west-2: timed out"):
        part.fetch()
    assert [q["NextToken"] for q in asked[6:]] == ["7"] * len(asked[6:])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ExpiredTokenException", "the AWS credentials have expired: sign in again"),
        ("UnrecognizedClientException", "AWS does not know these credentials"),
        ("AccessDeniedException", "GetProducts is not allowed: docs/prices.md has the policy"),
        ("InternalErrorException", r"GetProducts failed \(InternalErrorException\)"),
    ],
)
def test_a_refusal_of_aws_is_one_line_without_secrets(priced: Any, code: str, message: str) -> None:
    said = f"User: arn:aws:iam::123456789012:user/joe with {KEY} may not"
    priced(lambda *_: fault(code, message=said))
    part = only_part()
    with pytest.raises(PricesError, match=message) as error:
        part.fetch()
    text = str(error.value)
    for secret in (KEY, SECRET, "123456789012", "joe", "\n"):
        assert secret not in text


def test_without_credentials_one_line_says_what_to_do(priced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    priced(eight_pages)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    part = only_part()
    with pytest.raises(
        PricesError, match="no AWS credentials: set AWS_PROFILE or run `aws configure`, or use --source bulk"
    ):
        part.fetch()


def test_a_profile_that_does_not_exist_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(PricesError, match=r"The config profile \(nobody\) could not be found"):
        only_part()


def test_an_address_where_nobody_answers_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda handler: reply(handler, b"")) as base:
        pass
    monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", base)
    part = only_part()
    with pytest.raises(PricesError, match="pricing in us-west-2: cannot be reached"):
        part.fetch()


def test_an_item_that_is_not_json_fails_with_page_and_place(priced: Any) -> None:
    broken = case("GetProducts/malformed_item")
    priced(lambda *_: broken)
    part = only_part()
    with pytest.raises(PricesError, match="GetProducts in us-west-2: page 1, item 2 is not JSON"):
        part.fetch()


def test_all_regions_are_those_that_aws_names(priced: Any) -> None:
    names = [{"Value": code} for code in ("us-west-2", "eu-west-1", "us-west-2-lax-1")]
    priced(lambda *_: {"AttributeValues": names})
    assert [part.name for part in price_list(Ask())] == [
        "eu-west-1",
        "us-west-2",
        "us-west-2-lax-1",
    ]


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("us-west-2", "us-east-1"),
        ("us-gov-west-1", "us-east-1"),
        ("cn-north-1", "cn-northwest-1"),
        ("eusc-de-east-1", "eusc-de-east-1"),
    ],
)
def test_prices_are_asked_where_the_price_list_lives(region: str, endpoint: str) -> None:
    client = aws.client("pricing", aws.pricing_region(region), 1.0)
    assert client.meta.region_name == endpoint
    assert endpoint in client.meta.endpoint_url


def test_get_products_as_botocore_models_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.stub import ANY, Stubber

    client = aws.client("pricing", "us-east-1", 1.0)
    monkeypatch.setattr(aws, "client", lambda *_: client)
    asked = {"ServiceCode": "AmazonEC2", "FormatVersion": "aws_v1", "Filters": ANY, "MaxResults": 100}
    with Stubber(client) as stub:
        stub.add_response("get_products", page(other_units(), "two"), asked)
        stub.add_response(
            "get_products", page([item("ONE", reserved=TWELVE_TERMS)]), asked | {"NextToken": "two"}
        )
        assert len(only_part().fetch().prices) == 13
        stub.assert_no_pending_responses()


def test_savings_plan_rates_are_read_over_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.stub import Stubber

    client = aws.client("savingsplans", "us-east-1", 1.0)
    monkeypatch.setattr(aws, "client", lambda *_: client)
    asked = {
        "products": ["EC2"], "serviceCodes": ["AmazonEC2"], "savingsPlanTypes": ["Compute", "EC2Instance"],
        "operations": ["RunInstances"], "maxResults": 1000,
        "filters": [
            {"name": "region", "values": ["us-west-2"]},
            {"name": "tenancy", "values": ["shared"]},
            {"name": "productDescription", "values": ["Linux/UNIX"]},
        ],
    }  # fmt: skip
    with Stubber(client) as stub:
        name = "describe_savings_plans_offering_rates"
        stub.add_response(name, case("DescribeSavingsPlansOfferingRates/page_1"), asked)
        stub.add_response(
            name, case("DescribeSavingsPlansOfferingRates/page_2"), asked | {"nextToken": "two"}
        )
        (part,) = savings_plans_api(Ask(("us-west-2",)))
        found = part.fetch()
        stub.assert_no_pending_responses()
    assert found.prices["instance_type"].tolist() == ["c5.large", "m5.large", "m5.large", "m5.large"]
    assert found.replaces == {Scope("us-west-2", "ec2", "savings_plan")}


def test_spot_history_is_asked_for_linux_over_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.stub import ANY, Stubber

    client = aws.client("ec2", "us-west-2", 1.0)
    monkeypatch.setattr(aws, "client", lambda *_: client)
    answer = case("DescribeSpotPriceHistory/two_zones")
    for entry in answer["SpotPriceHistory"]:
        entry["Timestamp"] = datetime.fromisoformat(entry["Timestamp"]).astimezone(UTC)
    asked = {
        "StartTime": ANY,
        "ProductDescriptions": ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"],
        "MaxResults": 1000,
    }
    with Stubber(client) as stub:
        stub.add_response("describe_spot_price_history", answer, asked)
        stub.add_response("describe_spot_price_history", answer, asked)
        (part,) = spot(Ask(("us-west-2",)))
        found = part.fetch()
        (zone_part,) = spot(Ask(("us-west-2-lax-1",)))
        in_zone = zone_part.fetch()
    assert found.replaces == {Scope("us-west-2", "ec2", "spot")}
    assert set(found.prices["zone"]) == {"us-west-2a", "us-west-2b"}
    assert zone_part.name == "us-west-2"
    assert in_zone.replaces == {Scope("us-west-2-lax-1", "ec2", "spot")}
    assert set(in_zone.prices["zone"]) == {"us-west-2-lax-1a"}


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """moto's EC2 on the loopback."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", f"http://{host}:{port}")
    yield
    server.stop()


@pytest.mark.usefixtures("ec2")
def test_types_and_offerings_come_from_ec2_in_the_regions_of_the_account() -> None:
    assert {"us-east-1", "us-west-2"} <= set(aws.enabled_regions((), 60.0))
    (part,) = instance_types(Ask(("us-west-2",)))
    found = part.fetch()
    assert found.instances is not None
    facts = found.instances.set_index("instance_type")
    assert len(facts) > 1000
    assert list(facts.loc["inf2.xlarge", ["accelerator_kind", "accelerator_memory_mib", "neuron_core_count"]]) == ["inferentia", 32768, 2]  # fmt: skip
    assert facts.loc["g6f.large", "accelerator_count"] == 0.125
    assert "m5.large" in found.offered["us-west-2"]
    assert found.as_of == datetime.now(UTC).date().isoformat()
    assert found.prices.empty


@pytest.mark.usefixtures("ec2")
def test_spot_prices_of_ec2_are_read_for_each_zone_and_dated_as_they_say() -> None:
    (part,) = spot(Ask(("us-west-2",)))
    rows = part.fetch().prices
    assert set(rows["price_usd_per_hour"]) == {0.00001}  # moto's constant, of 2006
    assert set(rows["as_of"]) == {"2006-01-02"}
    assert {"us-west-2a", "us-west-2b"} <= set(rows["zone"])


def test_without_boto3_the_line_to_install_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingExtraError, match="python -m pip install boto3") as error:
        only_part()
    assert isinstance(error.value, AdvisorError)


def test_the_sources_are_imported_without_boto3() -> None:
    import subprocess
    import sys

    code = "import sys; import advisor.prices.sources; sys.exit('boto3' in sys.modules or 'ijson' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_documented_policy_allows_what_is_asked_and_only_reading() -> None:
    import re
    from pathlib import Path

    root = Path(__file__).parents[1]
    (policy,) = re.findall(r"```json\n(.*?)```", (root / "docs" / "prices.md").read_text(), re.DOTALL)
    allowed = {action.partition(":")[2] for action in json.loads(policy)["Statement"][0]["Action"]}
    code = "\n".join(
        path.read_text() for path in (root / "src" / "advisor" / "prices" / "sources").glob("*.py")
    )
    asked = {*re.findall(r'get_paginator\("(\w+)"\)', code), *re.findall(r"\.(describe_\w+)\(", code)}
    names = {"".join(word.title() for word in name.split("_")) for name in asked}
    assert names == allowed
    assert all(name.startswith(("Get", "Describe")) for name in allowed)
