"""The public offer files, served on the loopback: found by their index, streamed, and never half believed."""

import gzip
import io
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from advisor.errors import PricesError
from advisor.prices.sources import web
from advisor.prices.sources.ask import Ask, Scope
from advisor.prices.sources.bulk import bulk, read_csv, read_json
from advisor.prices.sources.elastic_inference import elastic_inference
from advisor.prices.sources.sagemaker import sagemaker
from advisor.prices.sources.skus import EC2
from tests.aws_answers import (
    PUBLISHED,
    SAMPLES,
    TWELVE_TERMS,
    files,
    item,
    offer_csv,
    offer_json,
    offer_site,
    other_units,
    region_index,
    reply,
    serving,
)

OREGON = offer_csv([*other_units(), item("ONE", reserved=TWELVE_TERMS)])
IRELAND = offer_csv([item("TWO", "c5.large", "eu-west-1", "0.0960000000", location="EU (Ireland)")])


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Sleep no time; gives what would have been waited."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setattr(web.retried, "__defaults__", (waited.append,))
    return waited


def test_each_region_of_the_index_is_a_part_and_only_asked_ones_are_fetched() -> None:
    asked: list[str] = []
    with serving(files(offer_site({"us-west-2": OREGON, "eu-west-1": IRELAND}), asked)) as base:
        parts = bulk(Ask(base_url=base))
        assert [part.name for part in parts] == ["eu-west-1", "us-west-2"]
        (part,) = bulk(Ask(("us-west-2",), base_url=base))
        found = part.fetch()
    assert len(found.prices) == 13
    assert set(found.prices["as_of"]) == {PUBLISHED[:10]}
    assert found.replaces == {Scope("us-west-2", "ec2", "list")}
    assert not [path for path in asked if "eu-west-1" in path]


def test_a_region_that_the_index_does_not_have_is_an_error_that_names_those_it_has() -> None:
    with serving(files(offer_site({"us-west-2": OREGON}))) as base, pytest.raises(PricesError, match="has no region mars-1; it has us-west-2"):  # fmt: skip
        bulk(Ask(("mars-1",), base_url=base))


def test_china_has_its_own_path_and_currency() -> None:
    beijing = offer_csv([item("CN", "m5.large", "cn-north-1", "0.7690000000", currency="CNY")])
    with serving(files(offer_site({"cn-north-1": beijing}, partition="cn"))) as base:
        (part,) = bulk(Ask(base_url=f"{base}/offers/v1.0/cn"))
        (row,) = part.fetch().prices.to_dict("records")
    assert (row["currency"], row["price_local_per_hour"]) == ("CNY", 0.769)
    assert row["price_usd_per_hour"] != row["price_usd_per_hour"]


def test_an_index_cannot_send_us_to_another_host() -> None:
    index = region_index(["us-west-2"]).replace(b"/offers/v1.0", b"//elsewhere.example/offers")
    with serving(files({"/offers/v1.0/aws/AmazonEC2/current/region_index.json": index})) as base, pytest.raises(PricesError, match="outside its host"):  # fmt: skip
        bulk(Ask(base_url=base))


@pytest.mark.parametrize("address", ["file:///etc", "ftp://127.0.0.1", "/etc/passwd"])
def test_only_http_addresses_are_opened(address: str) -> None:
    with pytest.raises(PricesError, match="not an http or https address"):
        bulk(Ask(base_url=address))


def test_a_page_that_is_not_an_index_is_an_error() -> None:
    page = {"/offers/v1.0/aws/AmazonEC2/current/region_index.json": b"<html>hello</html>"}
    with serving(files(page)) as base, pytest.raises(PricesError, match="not JSON: is --base-url right"):
        bulk(Ask(base_url=base))


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_busy_is_asked_again_after_a_longer_wait(
    status: int, no_waiting: list[float]
) -> None:
    site, refusals = files(offer_site({"us-west-2": OREGON})), [status] * 2

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path.endswith(".csv") and refusals:
            reply(handler, b"", refusals.pop())
        else:
            site(handler)

    with serving(answer) as base:
        (part,) = bulk(Ask(base_url=base))
        assert len(part.fetch().prices) == 13
    assert no_waiting == [1.0, 2.0]


def test_a_server_that_stays_busy_is_given_up_after_four_times() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, b"", 503)

    with serving(answer) as base, pytest.raises(PricesError, match="HTTP 503, 4 times"):
        bulk(Ask(base_url=base))


def test_an_address_where_nobody_listens_is_one_line() -> None:
    with serving(files({})) as base:
        pass
    with pytest.raises(PricesError, match=r"region_index\.json: Connection refused, 4 times"):
        bulk(Ask(base_url=base))


def test_a_missing_file_is_not_asked_for_again(no_waiting: list[float]) -> None:
    with serving(files({})) as base, pytest.raises(PricesError, match="HTTP 404"):
        bulk(Ask(base_url=base))
    assert no_waiting == []


def _cut(data: bytes, pack: bool) -> bytes:
    return gzip.compress(data)[:-20] if pack else data[:-20]


@pytest.mark.parametrize("pack", [False, True])
def test_an_answer_that_stops_early_is_no_answer(pack: bool) -> None:
    site = files(offer_site({"us-west-2": OREGON}))

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if not handler.path.endswith(".csv"):
            site(handler)
            return
        handler.send_response(200)
        if pack:
            handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(gzip.compress(OREGON) if pack else OREGON)))
        handler.end_headers()
        handler.wfile.write(_cut(OREGON, pack))
        handler.close_connection = True

    with serving(answer) as base:
        (part,) = bulk(Ask(base_url=base))
        with pytest.raises(PricesError, match="4 times"):
            part.fetch()


def test_a_server_that_falls_silent_in_the_middle_times_out() -> None:
    site = files(offer_site({"us-west-2": OREGON}))

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if not handler.path.endswith(".csv"):
            site(handler)
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(OREGON)))
        handler.end_headers()
        handler.wfile.write(OREGON[:500])
        handler.wfile.flush()
        handler.rfile.read(1)  # until the client gives up

    with serving(answer) as base:
        (part,) = bulk(Ask(base_url=base, timeout_s=0.1))
        with pytest.raises(PricesError, match="timed out, 4 times"):
            part.fetch()


def test_a_file_cut_off_inside_a_line_is_an_error_with_the_line() -> None:
    lines = OREGON.splitlines(keepends=True)
    cut = b"".join(lines[:10]) + lines[10][:40] + b'"'
    with pytest.raises(PricesError, match=r"line 11: \d+ columns of \d+: the file is cut off"):
        read_csv(io.BytesIO(cut), "file", Ask(), EC2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b'"FormatVersion"', b'"SKU"'), "line 1 is not FormatVersion"),
        ((b'"AmazonEC2"', b'"AmazonS3"'), "offer AmazonS3, not AmazonEC2"),
        ((PUBLISHED.encode(), b"soon"), "publication date 'soon' is no date"),
        ((b'"Tenancy"', b'"Tenure"'), "the column 'Tenancy' is missing"),
        ((b'"Linux"', b'"Lin\xffux"'), "codec can't decode"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_says_why(change: tuple[bytes, bytes], message: str) -> None:
    with pytest.raises(PricesError, match=message):
        read_csv(io.BytesIO(OREGON.replace(*change)), "file", Ask(), EC2)


def test_columns_are_found_by_name_and_new_ones_do_not_matter() -> None:
    more = offer_csv([item("ONE")], columns=["Quantum Ready", "Another"])
    assert len(read_csv(io.BytesIO(more), "file", Ask(), EC2).prices) == 1


def test_a_file_of_before_the_market_option_is_read() -> None:
    older = OREGON.replace(b'"MarketOption"', b'"SomethingElse"').replace(b'"CapacityBlock"', b'""')
    assert len(read_csv(io.BytesIO(older), "file", Ask(), EC2).prices) == 13


def test_a_json_file_that_is_cut_off_is_an_error() -> None:
    with pytest.raises(PricesError, match="broken or cut-off JSON"):
        read_json(io.BytesIO(offer_json([item("ONE")])[:-30]), "file", Ask(), EC2)


def test_a_json_file_of_another_offer_is_an_error() -> None:
    with pytest.raises(PricesError, match="offer AmazonRDS, not AmazonEC2"):
        read_json(io.BytesIO(offer_json([item("ONE")], "AmazonRDS")), "file", Ask(), EC2)


def test_saved_files_are_read_packed_or_not(tmp_path: Path) -> None:
    folder = tmp_path / "AmazonEC2"
    folder.mkdir()
    (folder / "a.csv").write_bytes(OREGON)
    (folder / "b.csv.gz").write_bytes(gzip.compress(IRELAND))
    (folder / "c.json").write_bytes(offer_json([item("THREE", "c5.large", "us-east-1")]))
    (folder / "notes.txt").write_text("not a price")
    parts = bulk(Ask(saved=tmp_path))
    assert [part.name for part in parts] == ["a.csv", "b.csv.gz", "c.json"]
    assert [len(part.fetch().prices) for part in parts] == [13, 1, 1]


def test_a_saved_packed_file_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "AmazonEC2.csv.gz").write_bytes(gzip.compress(OREGON)[:-20])
    (part,) = bulk(Ask(saved=tmp_path))
    with pytest.raises(PricesError, match="was it saved whole"):
        part.fetch()


def test_sagemaker_prices_are_those_of_real_time_endpoints() -> None:
    same: dict[str, Any] = {
        "region": "us-west-2",
        "family": "ML Instance",
        "service": "AmazonSageMaker",
        "operation": "RunInstance",
    }
    units = [
        item("HOST", "ml.g5.2xlarge", on_demand="1.5150000000", usagetype="USW2-Host:ml.g5.2xlarge", **same),
        item("NOTEBOOK", "ml.g5.2xlarge", on_demand="1.4", usagetype="USW2-Notebk:ml.g5.2xlarge", **same),
        item("ASYNC", "ml.g5.2xlarge", on_demand="1.6", usagetype="USW2-AsyncInf:ml.g5.2xlarge", **same),
        item("EIA", "ml.eia2.medium", on_demand="0.17", usagetype="USW2-Host:ml.eia2.medium", **same),
        item("TRAIN", "ml.p9.large", on_demand="9.0", usagetype="USW2-Train:ml.p9.large", **same),
    ]
    site = offer_site({"us-west-2": offer_csv(units, "AmazonSageMaker")}, "AmazonSageMaker")
    with serving(files(site)) as base:
        (part,) = sagemaker(Ask(base_url=base))
        found = part.fetch()
    assert found.prices[["instance_type", "price_usd_per_hour"]].to_numpy().tolist() == [
        ["ml.g5.2xlarge", 1.515]
    ]
    assert found.replaces == {Scope("us-west-2", "sagemaker", "list")}
    assert ("ml.p9.large", "not sold for real-time endpoints") in [
        (r.instance_type, r.reason) for r in found.refused
    ]


def test_an_attachable_accelerator_is_named_by_its_usage_type_only() -> None:
    units = [
        item("EIA", "", on_demand="0.12", family="Elastic Inference", service="AmazonEI", usagetype="USW2-EI-eia2.medium", operation=""),
        item("IRELAND", "", "eu-west-1", "0.14", family="Elastic Inference", service="AmazonEI", usagetype="EU-eia1.medium", operation=""),
    ]  # fmt: skip
    with serving(files(offer_site({"us-west-2": offer_csv(units, "AmazonEI")}, "AmazonEI"))) as base:
        (part,) = elastic_inference(Ask(base_url=base))
        rows = part.fetch().prices
    assert rows[["instance_type", "region", "price_usd_per_hour"]].to_numpy().tolist() == [
        ["eia1.medium", "eu-west-1", 0.14],
        ["eia2.medium", "us-west-2", 0.12],
    ]


@pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the recorded answers of AWS (../shared) are not beside this checkout"
)
def test_the_recorded_sample_of_2025_holds_no_unit_that_is_meant_and_says_why_of_each() -> None:
    data = (SAMPLES / "bulk_AmazonEC2_20250912_sample.csv").read_bytes()
    found = read_csv(io.BytesIO(data), "sample", Ask(), EC2)
    assert found.prices.empty
    assert found.as_of == "2025-09-12"
    reasons = {refusal.instance_type: refusal.reason for refusal in found.refused}
    assert reasons["c6g.4xlarge"] == "sold on dedicated hardware only"
    assert reasons["i3en.xlarge"] == "no Linux price"
    assert reasons["m6id.2xlarge"] == "no Linux price"


@pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the recorded answers of AWS (../shared) are not beside this checkout"
)
def test_a_recorded_row_turned_into_a_linux_shared_one_is_priced_as_its_description_says() -> None:
    text = (SAMPLES / "bulk_AmazonEC2_20250912_sample.csv").read_text()
    # "$0.2773 per Dedicated Windows with SQL Web c6i.large Instance Hour"
    text = text.replace('"Dedicated",,"Windows"', '"Shared",,"Linux"').replace('"SQL Web"', '"NA"')
    text = text.replace('"RunInstances:0202"', '"RunInstances"')
    found = read_csv(io.BytesIO(text.encode()), "sample", Ask(("ap-northeast-1",)), EC2)
    prices = found.prices.set_index("purchase_option")["price_usd_per_hour"]
    assert prices["on_demand"] == 0.2773
    assert prices["reserved_1yr_all_upfront"] == pytest.approx(2033 / (365 * 24))
    assert prices["reserved_3yr_partial_upfront"] == pytest.approx(0.10463 + 2750 / (3 * 365 * 24))
    assert len(prices) == 13
