"""What is written is read back unchanged, whichever format it passes through."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor import formats
from advisor.errors import InputError
from advisor.formats import cells
from advisor.tables import BENCHMARK_KEY, BenchmarkRows, Benchmarks
from advisor.text import clean

ENDINGS = ("csv", "json", "jsonl", "parquet", "xlsx")

texts = st.one_of(
    st.sampled_from(["", "x", "=1+1", "+1", "-1", "@a", "'=1", "''-x", "'tis", "a,b", 'a"b', "a;b", "1,5", "#x", "1.0", "007", "_x0041_", "NA", "null", "é|<b>"]),
    st.text(max_size=8),
).map(lambda raw: clean(clean(raw).strip()).strip())  # fmt: skip
named = texts.filter(bool)
latencies = st.floats(1e-6, 1e9, allow_nan=False)
counts = st.integers(1, 2**31 - 1)


def drawn_value(draw: st.DrawFn, name: str, declaration: Any) -> Any:
    """Return a value of a declared column within its bounds."""
    special: Mapping[str, st.SearchStrategy[Any]] = {
        "model": named,
        "instance_type": named.filter(lambda text: "+" not in text),
        "attached_accelerator": texts,
        "quality": st.sampled_from(["ok", "suspect"]),
        "load_kind": st.sampled_from(["", "closed", "open", "single_stream"]),
        "measured_on": st.one_of(st.just(""), st.dates().map(lambda day: day.isoformat())),
    }
    if name in special:
        return draw(special[name])
    kind = str(declaration.dtype)
    if kind == "int64":
        return draw(counts)
    if kind == "Int64":
        return draw(st.one_of(st.none(), counts))
    if kind == "float64":
        return draw(st.one_of(st.none(), latencies))
    return draw(texts)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """Return one row that a sample could have, drawn from the declared columns."""
    row = {
        name: drawn_value(draw, name, declaration)
        for name, declaration in BenchmarkRows.to_schema().columns.items()
        if not declaration.regex
    }
    row["attached_accelerator_count"] = draw(counts) if row["attached_accelerator"] else 0
    figures = sorted(draw(st.lists(latencies, min_size=5, max_size=5)))
    names = ["latency_min_ms", "latency_p5_ms", "latency_p50_ms", "latency_p99_9_ms", "latency_max_ms"]
    row |= {
        name: draw(st.one_of(st.none(), st.just(figure))) for name, figure in zip(names, figures, strict=True)
    }
    row["latency_mean_ms"] = figures[2]
    return row


@st.composite
def summaries(draw: st.DrawFn) -> str:
    """Return a JSON summary file: what a table of drawn rows looks like before it was ever read."""
    import json

    drawn = draw(
        st.lists(
            rows(), min_size=1, max_size=4, unique_by=lambda row: tuple(row[key] for key in BENCHMARK_KEY)
        )
    )
    return json.dumps(drawn)


@st.composite
def requests(draw: st.DrawFn) -> str:
    """Return a JSON file of raw samples: several runs, some requests failed."""
    import json

    runs = draw(
        st.lists(
            rows(), min_size=1, max_size=3, unique_by=lambda row: tuple(row[key] for key in BENCHMARK_KEY)
        )
    )
    out: list[dict[str, Any]] = []
    for run in runs:
        own = {
            name: value
            for name, value in run.items()
            if not name.startswith("latency_") and name not in ("sample_count", "error_count")
        }
        look = draw(st.integers(1, 3))
        measured = draw(st.lists(st.one_of(st.none(), latencies), min_size=1, max_size=6))
        out.extend(
            {**own, "look": look, "latency_ms": latency, "error": "" if latency is not None else "oom"}
            for latency in measured
        )
    return json.dumps(draw(st.permutations(out)))


def same(left: Benchmarks, right: Benchmarks) -> None:
    pd.testing.assert_frame_equal(left.rows, right.rows, check_exact=True)
    assert left.samples.keys() == right.samples.keys()
    for label, found in left.samples.items():
        assert np.array_equal(found.latency_ms, right.samples[label].latency_ms)
        assert (found.error_count, found.look) == (
            right.samples[label].error_count,
            right.samples[label].look,
        )


FUZZ = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FUZZ
@given(text=summaries())
def test_summaries_are_read_back_unchanged(tmp_path: Path, text: str) -> None:
    before = formats.read_upload("drawn.json", text.encode())
    for ending in ENDINGS:
        formats.write(before, tmp_path / f"x.{ending}")
        same(formats.read(tmp_path / f"x.{ending}"), before)


@FUZZ
@given(text=requests())
def test_raw_samples_are_read_back_unchanged(tmp_path: Path, text: str) -> None:
    before = formats.read_upload("drawn.json", text.encode())
    assert before.samples
    for ending in ENDINGS:
        formats.write(before, tmp_path / f"x.{ending}")
        same(formats.read(tmp_path / f"x.{ending}"), before)


@FUZZ
@given(text=summaries())
def test_every_drawn_value_arrives(text: str) -> None:
    import json

    drawn = json.loads(text)
    found = formats.read_upload("drawn.json", text.encode()).rows
    for row in drawn:
        keys = [name for name in BENCHMARK_KEY if name != "sequence_length"]
        mine = (found[keys] == [row[name] for name in keys]).all(axis=1)
        length = found["sequence_length"].fillna(0) == (row["sequence_length"] or 0)
        (kept,) = found[mine & length].to_dict("records")
        for name, value in row.items():
            if name != "note":
                assert value == kept[name] if value is not None else pd.isna(kept[name])


@given(st.text())
def test_escaping_for_csv_is_undone_exactly(text: str) -> None:
    assert cells.unescape(cells.escape(text)) == text
    assert not cells.escape(text).startswith(("=", "+", "-", "@"))


def formulas() -> Benchmarks:
    return formats.read_upload(
        "x.json", b'[{"model": "=1+1", "instance_type": "c5.large", "latency_p90_ms": 5, "note": "-2"}]'
    )


def test_text_that_looks_like_a_formula_stays_text_in_spreadsheets(tmp_path: Path) -> None:
    formats.write(formulas(), tmp_path / "x.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "x.xlsx").worksheets[0]
    values = {cell.value: cell.data_type for row in sheet.iter_rows() for cell in row}
    assert (values["=1+1"], values["-2"]) == ("s", "s")
    formats.write(formulas(), tmp_path / "x.csv")
    lines = list(csv.reader(io.StringIO((tmp_path / "x.csv").read_text())))
    assert "'=1+1" in lines[2]
    assert "'-2" in lines[2]


def test_the_same_benchmarks_give_the_same_bytes(tmp_path: Path) -> None:
    for ending in ENDINGS:
        formats.write(formulas(), tmp_path / f"a.{ending}")
        formats.write(formulas(), tmp_path / f"b.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_raw_samples_may_be_written_as_summaries(tmp_path: Path) -> None:
    raw = formats.read(Path(__file__).parent / "data" / "results" / "requests.csv")
    formats.write(raw, tmp_path / "x.csv", raw=False)
    found = formats.read(tmp_path / "x.csv")
    assert not found.samples
    pd.testing.assert_frame_equal(found.rows, raw.rows)


def test_what_cannot_be_written_is_said_and_leaves_no_file(tmp_path: Path) -> None:
    raw = formats.read(Path(__file__).parent / "data" / "results" / "requests.csv")
    old = tmp_path / "old.csv"
    old.write_text("old")
    for made, path, message in (
        (formulas(), tmp_path / "x.txt", "cannot be written as .txt"),
        (formats.combine(raw, formulas()), old, "some rows have raw samples and some not"),
        (formulas(), tmp_path / "none" / "x.csv", "cannot be written: No such file"),
    ):
        with pytest.raises(InputError, match=message):
            formats.write(made, path)
    with pytest.raises(InputError, match="not every row has raw samples"):
        formats.write(formulas(), old, raw=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.csv"]
    assert old.read_text() == "old"


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")
    formats.write(formulas(), path)
    assert formats.read(path).rows["model"].tolist() == ["=1+1"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.csv"]
