"""The spreadsheet: its formulas are calculated by LibreOffice and compared with the answer."""

import io
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from advisor.advice import Advice
from advisor.reports import EXPORTERS, Presentation, spreadsheet
from advisor.reports.presentation import records
from tests import answers

Calculate = Callable[[Path], Any]

_RECALCULATE_ALWAYS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item></oor:items>"""


@pytest.fixture(scope="module")
def calculate(tmp_path_factory: pytest.TempPathFactory) -> Calculate:
    """Return what opens a workbook in LibreOffice, calculates every formula anew and gives the values back."""
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("LibreOffice (soffice) is not installed")
    profile = tmp_path_factory.mktemp("profile")
    (profile / "user").mkdir()
    (profile / "user" / "registrymodifications.xcu").write_text(_RECALCULATE_ALWAYS)

    def calculated(path: Path) -> Any:
        folder = tmp_path_factory.mktemp("calculated")
        subprocess.run(
            [office, f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", "xlsx", "--outdir", folder, path],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        return openpyxl.load_workbook(folder / path.name, data_only=True)

    return calculated


def workbook(advice: Advice, path: Path | None = None, *, values: bool = False) -> Any:
    data = EXPORTERS["xlsx"](advice, Presentation())
    if path is not None:
        path.write_bytes(data)
    return openpyxl.load_workbook(io.BytesIO(data), data_only=values)


def column(book: Any, heading: str) -> list[Any]:
    rows = list(book["Ranking"].iter_rows(values_only=True))
    place = next(place for place, cell in enumerate(rows[0]) if cell.startswith(heading))
    return [row[place] for row in rows[1:]]


def texts(row: Sequence[Any]) -> list[Any]:
    return [cell or "" for cell in row if not isinstance(cell, int | float)]


def numbers(row: Sequence[Any]) -> list[float]:
    return [cell for cell in row if isinstance(cell, int | float)]


COST, SERVED, MONTH = "cost (USD per 100,000)", "cost served (USD per 100,000)", "one instance always on"


def test_the_sheets_are_inputs_ranking_rejected_sources_notes() -> None:
    assert workbook(answers.default()).sheetnames == ["Inputs", "Ranking", "Rejected", "Sources", "Notes"]


@pytest.mark.parametrize("name", ["default", "tie", "unknown", "no_limit"])
def test_the_stored_values_are_those_of_the_answer(name: str) -> None:
    advice = answers.ALL[name]()
    book = workbook(advice, values=True)
    assert column(book, COST) == pytest.approx(list(advice.ranked["cost_usd_per_100k"]), rel=1e-12)
    assert column(book, MONTH) == pytest.approx(list(advice.ranked["cost_usd_per_month"]), rel=1e-12)
    assert column(book, "rank now") == list(range(1, len(advice.ranked) + 1))


def test_unknown_is_an_empty_cell_and_never_a_number() -> None:
    rows = list(workbook(answers.unknown())["Rejected"].iter_rows(values_only=True))
    heading = {name: place for place, name in enumerate(rows[0])}
    assert rows[1][heading["latency mean ms (ms)"]] is None
    assert rows[2][heading["price usd per hour (USD/h)"]] is None


def test_text_that_looks_like_a_formula_stays_text() -> None:
    book = workbook(answers.hostile())
    links = {}
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    assert sheet.title == "Ranking"
                    assert cell.value.startswith("=")
                    assert "cmd" not in cell.value
                elif isinstance(cell.value, str):
                    links[cell.value] = cell.hyperlink
    assert "@SUM(1+1)*cmd|' /C calc'!A0" in links
    assert "=cmd|' /C calc'!A0" in links
    assert "-2+3" in links
    assert not any(links.values())


def test_headings_are_frozen_and_name_their_units() -> None:
    book = workbook(answers.tie())
    assert book["Ranking"].freeze_panes == "D2"
    assert book["Rejected"].freeze_panes == "B2"
    headings = [cell.value for cell in book["Ranking"][1]]
    assert "price (USD/h), from Inputs" in headings
    assert "mean latency (ms), of a batch where batched" in headings


def test_a_long_answer_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheet, "RANKED_MOST", 5)
    monkeypatch.setattr(spreadsheet, "REJECTED_MOST", 7)
    book = workbook(answers.many())
    assert (book["Ranking"].max_row, book["Rejected"].max_row) == (6, 8)
    notes = [row[0] for row in book["Notes"].iter_rows(values_only=True)]
    assert "Ranking holds the first 5 of 40 options; the CSV report has all." in notes
    assert "Rejected holds the first 7 of 42; the CSV report has all." in notes


def test_nothing_found_gives_a_workbook_without_ranks() -> None:
    book = workbook(answers.nothing())
    assert book["Ranking"].max_row == 1
    assert book["Rejected"].max_row == 3


@pytest.mark.office
@pytest.mark.parametrize("name", ["default", "tie", "unknown"])
def test_calculated_anew_every_cell_is_what_was_stored(
    name: str, tmp_path: Path, calculate: Calculate
) -> None:
    stored = workbook(answers.ALL[name](), tmp_path / "answer.xlsx", values=True)
    anew = calculate(tmp_path / "answer.xlsx")
    for before, after in zip(
        stored["Ranking"].iter_rows(values_only=True),
        anew["Ranking"].iter_rows(values_only=True),
        strict=True,
    ):
        assert texts(after) == texts(before)
        assert numbers(after) == pytest.approx(numbers(before), rel=1e-9)


@pytest.mark.office
def test_a_changed_price_moves_cost_and_rank(tmp_path: Path, calculate: Calculate) -> None:
    book = workbook(answers.default())
    inputs = book["Inputs"]
    prices = {row[1].value: row[4] for row in inputs.iter_rows(min_row=11)}
    prices["g5.2xlarge"].value = 0.5  # below the 0.8194 at which it would win
    inputs["E3"].value = 2_000_000_000
    book.save(tmp_path / "changed.xlsx")
    anew = calculate(tmp_path / "changed.xlsx")
    assert column(anew, "option") == ["inf2.xlarge", "g5.2xlarge"]
    assert column(anew, "rank now") == [2, 1]
    assert column(anew, COST) == pytest.approx([0.7582 / 36 * 10.71, 0.5 / 36 * 9.91], rel=1e-9)
    assert column(anew, MONTH) == pytest.approx([0.7582 * 730, 0.5 * 730], rel=1e-9)
    assert column(anew, "the requests of a month") == pytest.approx(
        [0.7582 / 36 * 10.71 * 20_000, 0.5 / 36 * 9.91 * 20_000], rel=1e-9
    )
    # 2e9 requests x 10.71 ms = 5,950 busy hours, of 730 an instance: 8.15; 2e9 x 9.91 ms: 5,505.6 h, 7.54.
    assert column(anew, "instances at least") == [9, 8]
    assert column(anew, "those always on") == pytest.approx([9 * 0.7582 * 730, 8 * 0.5 * 730], rel=1e-9)


@pytest.mark.office
def test_a_price_within_one_percent_and_the_cent_leaves_the_faster_first(
    tmp_path: Path, calculate: Calculate
) -> None:
    rows = {row["batch_size"]: row for row in records(answers.tie().ranked)}
    assert rows[1]["option"] == "m6g.large"  # the last of the two that tie; the cheaper but slower one
    book = workbook(answers.tie())
    prices = {row[1].value: row[4] for row in book["Inputs"].iter_rows(min_row=11)}
    prices["m6g.large"].value = 0.1352  # 0.73 % below: still a tie, the lower P90 stays first
    book.save(tmp_path / "tie.xlsx")
    assert column(calculate(tmp_path / "tie.xlsx"), "rank now") == [1, 2, 3]
    prices["m6g.large"].value = 0.1347  # 1.1 % below: no tie any more
    book.save(tmp_path / "cheaper.xlsx")
    assert column(calculate(tmp_path / "cheaper.xlsx"), "rank now") == [2, 1, 3]


@pytest.mark.office
def test_failed_requests_and_items_in_flight_are_in_the_cost(tmp_path: Path, calculate: Calculate) -> None:
    table = answers.ranked(
        answers.row("g5.xlarge", price_usd_per_hour=3.6, latency_mean_ms=80.0, batch_size=4, concurrency=2, error_fraction=0.2,
                    cost_usd_per_100k=1.25, throughput_per_s=50.0),
    )  # fmt: skip
    advice = replace(answers.default(), ranked=table, recommended=answers.choice(table))
    workbook(advice, tmp_path / "answer.xlsx")
    anew = calculate(tmp_path / "answer.xlsx")
    # $0.001 a second x 0.080 s / 8 in flight x 100,000 / 0.8 = $1.25; $0.001 / 50 x 100,000 = $2.
    assert column(anew, COST) == pytest.approx([1.25])
    assert column(anew, SERVED) == pytest.approx([2.0])
