"""The text and data reports, from answers made by hand."""

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from advisor.advice import Advice
from advisor.reports import EXPORTERS, SUFFIXES, Presentation
from advisor.reports import sentences as say
from advisor.reports.markdown import escaped
from advisor.reports.presentation import latency_bound, milliseconds, money, number, percent, records, share
from advisor.reports.rows import losses, percentile_cell
from advisor.reports.schema import NAMES, json_schema
from advisor.tables import Ranked, Rejected
from advisor.workload import Workload
from tests import answers

GOLDEN = Path(__file__).parent / "golden" / "reports"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def text_of(advice: Advice, form: str = "terminal", **shown: Any) -> str:
    return EXPORTERS[form](advice, Presentation(**shown)).decode()


# -------------------------------------------------------------------------------------------------- golden


@pytest.mark.parametrize(("name", "report"), answers.golden_reports().items())
def test_a_report_is_its_golden_file(name: str, report: bytes) -> None:
    assert (GOLDEN / name).read_bytes() == report, (
        "if meant: python scripts/build_golden.py, and read the difference"
    )


def test_every_golden_file_has_a_report() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(answers.golden_reports())


def test_every_exporter_has_a_suffix_and_gives_the_same_bytes_twice() -> None:
    assert set(SUFFIXES.values()) == set(EXPORTERS)
    for form in ("terminal", "json", "csv", "markdown", "xlsx"):
        assert EXPORTERS[form](answers.tie(), Presentation()) == EXPORTERS[form](
            answers.tie(), Presentation()
        )


# ------------------------------------------------------------------------------------------------ terminal


@pytest.mark.parametrize("name", answers.ALL)
@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_the_terminal_report_fits_its_width(name: str, width: int) -> None:
    lines = text_of(answers.ALL[name](), width=width, top=50).splitlines()
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("name", answers.ALL)
def test_a_report_holds_no_control_character(name: str) -> None:
    for form in ("terminal", "json", "markdown", "csv"):
        assert not CONTROL.search(text_of(answers.ALL[name](), form))


def test_markup_in_a_name_is_shown_and_not_obeyed() -> None:
    report = text_of(answers.hostile(), colour=True)
    assert "[bold red]evil[/]" in re.sub(r"\x1b\[[\d;]*m", "", report)
    assert "\x1b[31mred" not in report


def test_colours_change_nothing_but_colours() -> None:
    coloured = text_of(answers.default(), colour=True)
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == text_of(answers.default()).splitlines()


def test_the_report_opens_with_the_headline() -> None:
    report = text_of(answers.default())
    assert " ".join(report.split()).startswith(answers.default().headline)


def test_the_report_says_that_busy_time_is_assumed_and_what_a_month_costs() -> None:
    report = " ".join(text_of(answers.default()).split())
    assert "as if the instance never idled" in report
    assert "(730 h) it is $553" in report  # 0.7582 x 730 = 553.486


def test_a_narrow_terminal_keeps_percentile_cost_and_evidence_and_names_what_it_leaves_out() -> None:
    report = text_of(answers.many(), width=60)
    heading = next(line for line in report.splitlines() if "option" in line)
    assert all(column in heading for column in ("P90 ms", "$/100k"))
    assert "not shown at 60 columns: $/month" in report


def test_rows_beyond_top_are_counted() -> None:
    report = text_of(answers.many(), top=3)
    assert "37 more passed" in report
    assert "28 more rejected (28 latency)" in report  # 12 regions of one option are one loss: 1 + 30 - 3


def test_one_loss_in_many_regions_is_one_line() -> None:
    report = text_of(answers.many())
    assert report.count("not sold in this region") == 1
    assert "(in 12 regions)" in report


def test_reasons_that_differ_in_figures_only_are_one_line_with_their_count() -> None:
    advice = replace(
        answers.default(),
        rejected=answers.rejected(
            answers.lost("g5.2xlarge", "price", "the spot price of $0.10 is old", region="us-east-1"),
            answers.lost("g5.2xlarge", "price", "the spot price of $0.20 is old", region="us-west-2"),
            answers.lost("g5.2xlarge", "latency", "the spot price of $0.20 is old", region="us-west-2"),
        ),
    )
    assert [(loss.step, loss.reason) for loss in losses(advice)] == [
        ("price", "the spot price of $0.10 is old (2 alike, in us-east-1, us-west-2)"),
        ("latency", "the spot price of $0.20 is old"),
    ]


def test_choices_are_shown_only_where_rows_differ() -> None:
    same = replace(
        answers.tie(),
        ranked=answers.ranked(*(dict(row, batch_size=8) for row in records(answers.tie().ranked))),
    )
    assert "batch" in text_of(answers.tie())
    assert "batch" not in text_of(same)


def test_a_bound_is_marked_and_an_unknown_percentile_is_said() -> None:
    def cell(**known: Any) -> tuple[str, ...]:
        return percentile_cell(answers.row("x", **known), 15.0)

    assert cell(latency_percentile_high_ms=10.8) == ("<= 10.8",)
    assert cell(latency_percentile_low_ms=9.7) == (">= 9.70",)
    assert cell(latency_percentile_low_ms=9.7, latency_percentile_high_ms=10.8) == ("<= 10.8", ">= 9.70")
    assert cell(latency_percentile_ms=10.1, grade="E") == ("~10.1",)
    assert cell(
        latency_percentile_ms=10.1, latency_percentile_low_ms=9.7, latency_percentile_high_ms=10.8
    ) == ("10.1", "9.70-10.8")
    assert cell() == ("unknown",)


@pytest.mark.parametrize(
    ("value", "limit", "least", "shown"),
    [(10.12, None, False, "10.2"), (10.12, None, True, "10.1"), (10.1, None, False, "10.1"), (10.1, None, True, "10.1"),
     (10.12, 10.15, False, "10.12"), (10.12, 10.05, False, "10.2"), (10.18, 10.15, True, "10.18"), (1234.5, None, False, "1,235"),
     (0.61234, None, False, "0.613"), (15.0, 15.0, False, "15.0")],
)  # fmt: skip
def test_a_bound_is_rounded_so_that_it_stays_true(
    value: float, limit: float | None, least: bool, shown: str
) -> None:
    assert latency_bound(value, limit, least) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(15.004, "15.004"), (15.0, "15.0"), (14.999, "15.0"), (15.1, "15.1"), (14.9, "14.9")],
)
def test_a_latency_near_the_limit_is_shown_on_its_own_side(value: float, shown: str) -> None:
    assert milliseconds(value, 15.0) == shown


@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6))
def test_a_shown_latency_compares_with_the_limit_as_the_latency_does(value: float, limit: float) -> None:
    shown = float(milliseconds(value, limit).replace(",", ""))
    if not math.isclose(value, limit, rel_tol=1e-8):
        assert (shown > limit) == (value > limit)


@given(st.floats(1e-9, 1e12))
def test_a_number_has_three_digits_at_least_and_no_exponent(value: float) -> None:
    shown = number(value)
    assert re.fullmatch(r"[\d,]+(\.\d+)?", shown)
    assert float(shown.replace(",", "")) == pytest.approx(value, rel=0.0051)
    assert len(re.sub(r"[.,]", "", shown).lstrip("0")) >= 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.22556, "0.226"),
        (0.99999, "1.00"),
        (0.01234, "0.0123"),
        (12.345, "12.35"),
        (999.5, "999.50"),
        (1872.3, "1,872"),
    ],
)
def test_money_keeps_cents_and_three_digits(value: float, shown: str) -> None:
    assert money(value) == shown


@pytest.mark.parametrize(
    ("fraction", "shown"), [(1.0, "100 %"), (0.9999, ">99 %"), (0.5, "50 %"), (0.0001, "<1 %"), (0.0, "0 %")]
)
def test_what_is_not_certain_is_never_shown_as_certain(fraction: float, shown: str) -> None:
    assert percent(fraction) == shown


@given(st.floats(0, 1))
def test_a_bound_of_a_share_stays_true_when_rounded(fraction: float) -> None:
    least, most = (float(share(fraction, least=side).removesuffix(" %")) / 100 for side in (True, False))
    assert least <= fraction + 1e-9
    assert most >= fraction - 1e-9
    assert most - least <= 0.001 + 1e-9


def test_the_unit_of_the_shown_cost_can_be_chosen() -> None:
    advice = answers.default()
    assert "$/1M" in text_of(advice, per="1M")
    assert "2.26" in text_of(advice, per="1M")  # 0.2256 x 10
    assert "0.00226" in text_of(advice, per="1k")
    assert "$/1M" in text_of(advice, "markdown", per="1M")
    assert text_of(advice, "json", per="1M") == text_of(advice, "json")


def test_the_asked_limit_is_marked_where_it_lies() -> None:
    marked = {stretch for stretch, who in say.movement(answers.default(), "100k") if "asked" in who}
    assert marked == {"10.8 to 18.7 ms"}
    at_the_edge = replace(
        answers.default(), question=answers.QUESTION.model_copy(update={"latency_limit_ms": 18.7})
    )
    assert {s for s, who in say.movement(at_the_edge, "100k") if "asked" in who} == {"from 18.7 ms"}


def test_only_other_ways_of_serving_are_said_to_win_at_a_price() -> None:
    rows = records(answers.default().ranked)
    first, other = dict(rows[0]), dict(rows[1])
    elsewhere = dict(first, region="us-east-1", winning_price_usd_per_hour=0.7)
    advice = replace(answers.default(), ranked=answers.ranked(first, elsewhere, other))
    assert [name for name, _ in say.reversals(advice, 10)] == ["g5.2xlarge"]


# ------------------------------------------------------------------------------------------------ markdown


def tokens(report: str) -> Iterator[Any]:
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(report):
        yield token
        yield from token.children or ()


@pytest.mark.parametrize("name", answers.ALL)
def test_markdown_has_only_the_markup_that_we_wrote(name: str) -> None:
    kinds = {token.type for token in tokens(text_of(answers.ALL[name](), "markdown"))}
    assert not kinds & {
        "html_inline",
        "html_block",
        "link_open",
        "image",
        "code_inline",
        "fence",
        "code_block",
        "em_open",
    }


def test_a_hostile_name_breaks_no_table() -> None:
    found = list(tokens(text_of(answers.hostile(), "markdown")))
    rows: list[int] = []
    for token in found:
        if token.type == "tr_open":
            rows.append(0)
        rows[-1:] = [rows[-1] + (token.type in ("td_open", "th_open"))] if rows else []
    assert rows == [11] * 3 + [3] * 3 + [2] * 2 + [2] * 2


@given(st.text(max_size=60))
def test_escaped_text_reads_as_it_was(text: str) -> None:
    rendered = MarkdownIt("gfm-like", {"linkify": False}).parse(f"| a |\n|---|\n| x{escaped(text)}x |\n")
    cell = [token for token in rendered if token.type == "inline"][1]
    shown = "".join(child.content for child in cell.children or ())
    assert {child.type for child in cell.children or ()} <= {"text", "text_special"}
    expected = escaped_free(text)
    assert shown.replace("\u200b", "") == f"x{expected}x"


def escaped_free(text: str) -> str:
    from advisor.text import printable

    return printable(re.sub(r"\s+", " ", text))


# ---------------------------------------------------------------------------------------------- JSON and CSV


def valid(value: Any, schema: Any, root: Any, where: str = "$") -> None:
    """Check a value against the part of JSON schema that we write."""
    if "$ref" in schema:
        return valid(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    if "anyOf" in schema:
        matching = [part for part in schema["anyOf"] if _is(value, part)]
        assert matching, f"{where}: {value!r} is none of {schema['anyOf']}"
        return valid(value, matching[0], root, where)
    if "const" in schema:
        assert value == schema["const"], where
        return None
    assert _is(value, schema), f"{where}: {value!r} is no {schema['type']}"
    if "enum" in schema:
        assert value in schema["enum"], f"{where}: {value!r}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        assert value >= schema.get("minimum", -math.inf), where
        assert value <= schema.get("maximum", math.inf), where
        assert value > schema.get("exclusiveMinimum", -math.inf), where
        assert value < schema.get("exclusiveMaximum", math.inf), where
    if isinstance(value, dict):
        assert list(value) == schema["required"] == list(schema["properties"]), where
        for key, item in value.items():
            valid(item, schema["properties"][key], root, f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for place, item in enumerate(value):
            valid(item, schema["items"], root, f"{where}[{place}]")
    return None


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
    "object": (dict,), "array": (list,),
}  # fmt: skip


def _is(value: Any, schema: Any) -> bool:
    if "$ref" in schema:
        return isinstance(value, dict)
    wanted = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if isinstance(value, bool):
        return "boolean" in wanted
    return any(isinstance(value, _TYPES[kind]) for kind in wanted)


@pytest.mark.parametrize("name", answers.ALL)
def test_the_json_is_what_its_schema_says(name: str) -> None:
    schema = json_schema("answer")
    valid(json.loads(text_of(answers.ALL[name](), "json")), schema, schema)


def test_the_schema_refuses_what_is_wrong() -> None:
    schema = json_schema("answer")
    for path, wrong in (
        (("ranked", 0, "cost_usd_per_100k"), "0.2"),
        (("ranked", 0, "kind"), "toaster"),
        (("ranked", 0, "rank"), 0),
        (("recommended", "option"), None),
        (("unmeasured", "type_count"), -1),
    ):
        answer = json.loads(text_of(answers.default(), "json"))
        place = answer
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = wrong
        with pytest.raises(AssertionError):
            valid(answer, schema, schema)


def test_every_schema_is_a_json_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the jsonschema package is not installed")
    for name in NAMES:
        jsonschema.Draft202012Validator.check_schema(json_schema(name))


def test_what_is_unknown_is_null_in_json_and_empty_in_csv() -> None:
    answer = json.loads(text_of(answers.unknown(), "json"))
    assert answer["proven"] is None
    assert answer["ranked"][1]["probability_best"] is None
    assert answer["rejected"][0]["latency_mean_ms"] is None
    row = list(csv.DictReader(io.StringIO(text_of(answers.unknown(), "csv"))))[2]
    assert (row["option"], row["latency_mean_ms"], row["sample_count"]) == ("t2.medium", "", "")


def test_nothing_found_is_null_and_an_empty_list() -> None:
    answer = json.loads(text_of(answers.nothing(), "json"))
    assert (answer["recommended"], answer["ranked"], len(answer["rejected"])) == (None, [], 2)


def test_every_figure_of_the_json_carries_its_unit_in_the_key() -> None:
    unitless = {
        "schema_version", "rank", "percentile", "copies", "shards", "headroom", "batch_size", "concurrency",
        "confidence", "probability_none_kept", "probability_kept", "probability_best", "value", "limit", "sequence_length",
        "months", "more_needed", "low", "high", "point",
    }  # fmt: skip
    units = (
        r"_(ms|mib|bytes|fraction|count|usd_per_hour|usd_per_100k|usd_per_100k_served|usd_per_month|per_s)$"
    )

    def walk(value: Any, key: str) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                walk(item, name)
        elif isinstance(value, list):
            for item in value:
                walk(item, key)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            assert key in unitless or re.search(units, key), key

    walk(json.loads(text_of(answers.tie(), "json")), "")


def test_the_csv_holds_ranked_and_rejected_with_every_column() -> None:
    rows = list(csv.DictReader(io.StringIO(text_of(answers.default(), "csv"))))
    assert [(row["status"], row["rank"], row["option"], row["failed"]) for row in rows] == [
        ("ranked", "1", "inf2.xlarge", ""),
        ("ranked", "2", "g5.2xlarge", ""),
        ("rejected", "", "inf1.2xlarge", "latency"),
        ("rejected", "", "c6i.2xlarge", "latency"),
    ]
    assert list(rows[0])[2:] == list(Rejected.to_schema().columns)
    assert set(Ranked.to_schema().columns) < set(rows[0])


def test_no_text_cell_of_the_csv_is_a_formula() -> None:
    numbers = {
        name for name, column in Rejected.to_schema().columns.items() if "str" not in str(column.dtype)
    }
    for row in csv.DictReader(io.StringIO(text_of(answers.hostile(), "csv"))):
        for name, cell in row.items():
            assert name in numbers or not cell.startswith(("=", "+", "-", "@"))


def test_the_question_of_the_json_can_be_asked_again() -> None:
    asked = json.loads(text_of(answers.default(), "json"))["question"]
    assert Workload.ask(**asked) == answers.QUESTION
