"""Bad input: one clear line with file and row, nothing lost, nothing guessed."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from advisor import formats
from advisor.errors import InputError
from advisor.formats.source import Source

DATA = Path(__file__).parent / "data" / "results"
RAW = "model,instance_type,latency_ms"
P90 = "model,instance_type,latency_p90_ms"
TYPES = {"c5.large", "m5.large", "eia2.medium"}


def said(data: str | bytes, *, limit: int = 10_000_000) -> str:
    """Return what is said of a file called `f`."""
    content = data.encode() if isinstance(data, str) else data
    with pytest.raises(InputError) as error:
        formats.read_upload("f", content, known_types=TYPES, max_expanded_bytes=limit)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{P90},batchsize\nnet,c5.large,1,2\n", 'f: unknown column "batchsize" (did you mean batch_size?)'),
        (f"{RAW},zzz\nnet,c5.large,1,2\n", 'f: unknown column "zzz"'),
        (f"{P90},throughput_per_min\nnet,c5.large,1,2\n", 'f: unknown column "throughput_per_min" (did you mean throughput_per_s?)'),
        ("model,instance_type,latency_p90\nnet,c5.large,1\n", 'f: column "latency_p90" has no unit: name it latency_p90_ms (or _ns, _us, _s)'),
        ("model,instance_type,latency_min\nnet,c5.large,1\n", 'f: column "latency_min" has no unit: name it latency_min_ms (or _ns, _us, _s)'),
        ("model,instance_type,latency\nnet,c5.large,1\n", 'f: column "latency" has no unit: name it latency_ms (or _ns, _us, _s)'),
        ("model,instance_type,latency_p90_min\nnet,c5.large,1\n", 'f: unknown unit "min" in column "latency_p90_min"'),
        ("model,instance_type,latency_p101_ms\nnet,c5.large,1\n", 'f: column "latency_p101_ms" is no percentile from 0 to 100'),
        ("model,instance_type,latency_p99_99999_ms\nnet,c5.large,1\n", 'f: column "latency_p99_99999_ms" is no percentile'),
        (f"{P90},latency_p90_s\nnet,c5.large,1,1\n", 'f: columns "latency_p90_ms" and "latency_p90_s" are one'),
        (f"{RAW},model\nnet,c5.large,1,net\n", 'f: column "model" is there twice'),
        ("instance_type,latency_ms\nc5.large,1\n", 'f: no column "model": every row needs it'),
        ("model,latency_ms\nnet,1\n", 'f: no column "instance_type": every row needs it'),
        ("model,instance_type\nnet,c5.large\n", "f: no latency: give latency_ms"),
        ("model,instance_type,latency_std_ms\nnet,c5.large,1\n", "f: no latency: give latency_ms"),
        (f"{RAW},latency_p90_ms\nnet,c5.large,1,1\n", 'f: column "latency_p90_ms" belongs to a summary'),
        (f"{RAW},sample_count\nnet,c5.large,1,1\n", 'f: column "sample_count" belongs to a summary'),
        (f"{P90},error\nnet,c5.large,1,oom\n", 'f: column "error" belongs to raw samples'),
        (f"{RAW}\n,c5.large,1\n", "f line 2: model is empty"),
        (f"{RAW}\nnet,,1\n", "f line 2: instance_type is empty"),
        (f"{P90}\nnet,c5.lage,1\n", 'f line 2: instance_type "c5.lage" is not an instance type (did you mean c5.large?)'),
        (f"{RAW}\nnet,c5.large,1\nnet,c5.lage,1\n", 'f line 3: instance_type "c5.lage" is not an instance type (did you mean c5.large?)'),
        (f"{RAW}\nnet,m5.large+eia2.mediun,1\n", 'f line 2: instance_type "eia2.mediun" is not an attachable accelerator (did you mean eia2.medium?)'),
        (f"{RAW}\nnet,m5.large+x+y,1\n", "f line 2: instance_type"),
        (f"{RAW},attached_accelerator\nnet,m5.large+eia2.medium,1,eia2.medium\n", "f line 2: instance_type \"m5.large+eia2.medium\" and attached_accelerator both name"),
        (f"{P90},attached_accelerator_count\nnet,m5.large,1,2\n", "f line 2: attached_accelerator_count is 2 but attached_accelerator is empty"),
        (f"{P90},attached_accelerator,attached_accelerator_count\nnet,m5.large,1,eia2.medium,0\n", 'f line 2: attached_accelerator_count is 0 but attached_accelerator is "eia2.medium"'),
        (f"{RAW}\nnet,c5.large,1\nnet,c5.large,0\n", "f line 3: latency_ms 0 is not above 0"),
        (f"{RAW}\nnet,c5.large,-2\n", "f line 2: latency_ms -2 is not above 0"),
        (f"{RAW}\nnet,c5.large,inf\n", 'f line 2: latency_ms "inf" is not finite'),
        (f"{RAW}\nnet,c5.large,NaN\n", 'f line 2: latency_ms "NaN" is not finite'),
        (f"{RAW}\nnet,c5.large,1e999\n", 'f line 2: latency_ms "1e999" is not finite'),
        (f"{RAW}\nnet,c5.large,1e13\n", "f line 2: latency_ms 1e13 is no latency"),
        (f"{RAW}\nnet,c5.large,fast\n", 'f line 2: latency_ms "fast" is not a number'),
        (f"{RAW}\nnet,c5.large,1_000\n", 'f line 2: latency_ms "1_000" is not a number'),
        (f"{RAW}\nnet,c5.large,1\nnet,c5.large,\n", "f line 3: latency_ms is empty and no error is given"),
        (f"{P90}\nnet,c5.large,0\n", "f line 2: latency_p90_ms 0 is not above 0"),
        (f"{P90}\nnet,c5.large,\n", "f line 2: has no latency figure"),
        (f"{P90},latency_std_ms\nnet,c5.large,1,-0.1\n", "f line 2: latency_std_ms -0.1 is below 0"),
        (f"{P90},batch_size\nnet,c5.large,1,0\n", "f line 2: batch_size 0 is below 1"),
        (f"{P90},batch_size\nnet,c5.large,1,1.5\n", 'f line 2: batch_size "1.5" is not a whole number'),
        (f"{RAW},batch_size\nnet,c5.large,1,2147483648\n", 'f line 2: batch_size "2147483648" is too large'),
        (f"{P90},throughput_per_s\nnet,c5.large,1,0\n", "f line 2: throughput_per_s 0 is not above 0"),
        (f"{P90},quality\nnet,c5.large,1,fine\n", 'f line 2: quality "fine" is none of ok, suspect'),
        (f"{RAW},load_kind\nnet,c5.large,1,loop\n", 'f line 2: load_kind "loop" is none of closed, open, single_stream'),
        (f"{P90},measured_on\nnet,c5.large,1,yesterday\n", 'f line 2: measured_on "yesterday" is not an ISO date'),
        (f"{RAW},started_at\nnet,c5.large,1,noon\n", 'f line 2: "noon" is not an ISO date'),
        ("model,instance_type,latency_p50_ms,latency_p90_ms\nnet,c5.large,1,2\nnet,m5.large,2,1.99\n", "f line 3: latency_p90_ms is below latency_p50_ms: percentiles cannot fall"),
        ("model,instance_type,latency_p99_ms,latency_p50_ms,latency_p90_ms\nnet,c5.large,1,2,\n", "f line 2: latency_p99_ms is below latency_p50_ms"),
        ("model,instance_type,latency_mean_ms,latency_max_ms\nnet,c5.large,2,1.99\n", "f line 2: latency_mean_ms is above latency_max_ms"),
        ("model,instance_type,latency_mean_ms,latency_min_ms\nnet,c5.large,1.99,2\n", "f line 2: latency_mean_ms is below latency_min_ms"),
        ("model,instance_type,latency_p50_ms,latency_max_ms\nnet,c5.large,2,1.99\n", "f line 2: latency_p50_ms is above latency_max_ms"),
        ("model,instance_type,latency_p50_ms,latency_min_ms\nnet,c5.large,1.99,2\n", "f line 2: latency_p50_ms is below latency_min_ms"),
        ("model,instance_type,latency_min_ms,latency_max_ms\nnet,c5.large,2,1\n", "f line 2: latency_min_ms is above latency_max_ms"),
        (f"{P90}\nnet,c5.large,1\n\nnet,c5.large,2\n", "f line 2 and f line 4 are the same benchmark (net on c5.large)"),
        (f"{RAW},source\nnet,c5.large,1,a\nnet,c5.large,1,b\n", 'f line 3: source differs within one run: "a", then "b"'),
        (f"{RAW},look\nnet,c5.large,1,1\nnet,c5.large,1,2\n", 'f line 3: look differs within one run: "1", then "2"'),
        ("", "f: is empty"),
        ("\n \n", "f: has no header"),
        (f"{P90}\n", "f: has no rows"),
        (f"{RAW}\n# the end\n", "f line 2: has 1 fields, the header has 3: is it cut off?"),
        (f"{P90}\nnet,c5.large,1\nnet,c5.la", "f line 3: has 2 fields, the header has 3: is it cut off?"),
        (f"{RAW}\nnet,c5.large,1\nnet,c5.la", "f line 3: has 2 fields, the header has 3: is it cut off?"),
        (f"{RAW}\nnet,c5.large,1,2\n", "f line 2: has 4 fields, the header has 3"),
        (f'{P90}\nnet,c5.large,"1\n', "f line 2: unexpected end of data: is a quote missing"),
        (f'{RAW}\nnet,c5.large,1\nnet,c5.large,"1\n', "f line 3: unexpected end of data: is a quote missing"),
        (f'{RAW},note\nnet,c5.large,1,"a\nb"\nnet,c5.large,0,"a\nb"\n', "f line 4: latency_ms 0 is not above 0"),
        (f"{RAW},\nnet,c5.large,1,x\n", 'f line 2: "x" stands in a column without a name'),
        (f'{RAW}\nnet,c5.large,"1,234"\n', 'f line 2: latency_ms "1,234" can be read in two ways'),
        (f'{P90}\nnet,c5.large,"1,234"\n', 'f line 2: latency_p90_ms "1,234" can be read in two ways'),
        (f'{P90}\nnet,c5.large,"9,99"\n', 'f line 2: latency_p90_ms "9,99" can be read in two ways'),
        (f'{RAW},throughput_per_s\nnet,c5.large,1,"9,99"\n', 'f line 2: throughput_per_s "9,99" can be read in two ways'),
        (f'{P90}\nnet,c5.large,"1.234,5"\n', 'f line 2: latency_p90_ms "1.234,5" can be read in two ways'),
        (f"{P90}\nnet,c5.large,1 234\n", 'f line 2: latency_p90_ms "1 234" can be read in two ways'),
        ("model;instance_type;latency_ms\nnet;c5.large;1,5\nnet;c5.large;1.5\n", 'f line 3: latency_ms "1.5" can be read in two ways: the numbers before it have a decimal comma'),
        ("model;instance_type;latency_p90_ms\nnet;c5.large;1.5\nnet;m5.large;1,5\n", 'f line 3: latency_p90_ms "1,5" can be read in two ways: the numbers before it have a decimal point'),
        ("model\tinstance_type\tlatency_ms\nnet\tc5.large\t1,234\n", 'f line 2: latency_ms "1,234" can be read in two ways'),
        ("# advisor_result 2\n" + f"{RAW}\nnet,c5.large,1\n", "f: is of version 2, this advisor reads 1"),
        ('[{"model": "net", "instance_type": "c5.large", "latency_ms": 1}, {"mod', "f line 1: cut off"),
        ('[{"model": "net", "instance_type": "c5.large", "latency_ms": 1}', "f line 1: cut off"),
        ("[]", "f: has no rows"),
        ("[1]", "f row 1: is no object"),
        ('{"rows": 5}', "f: holds no array of rows"),
        ('{"advisor_result": 2, "rows": []}', "f: is of version 2, this advisor reads 1"),
        ('[{"model": "net", "instance_type": "c5.large", "latency_ms": NaN}]', "f: NaN is not finite"),
        ('[{"model": "net", "model": "b", "instance_type": "c5.large", "latency_ms": 1}]', "f: names a key twice"),
        ('[{"model": "net", "instance_type": "c5.large", "latency_ms": [1]}]', "f row 1: latency_ms holds a list or an object"),
        ('[{"model": "net", "instance_type": "c5.large", "latency_ms": 1},\n{"model": "net", "instance_type": "c5.large", "latency_ms": 0}]', "f row 2: latency_ms 0 is not above 0"),
        ('[{"model": "\\ud800", "instance_type": "c5.large", "latency_ms": 1}]', "f row 1: model holds half a character"),
        ('[{"model": "net", "instance_type": "c5.large", "latency_ms": "1,234"}]', 'f row 1: latency_ms "1,234" can be read in two ways'),
        ("[" * 100_000, "f: is nested too deeply"),
        ('{"model": "net", "instance_type": "c5.large", "latency_ms": 1}\n{"model": "n', "f line 2: cut off"),
        ('{"model": "net", "instance_type": "c5.large", "latency_ms": 1}\n{"model": "n\n', "f line 2: no JSON object"),
        ('{"model": "net", "instance_type": "c5.large", "latency_ms": 1}\n5\n', "f line 2: every line must be one object"),
        ('{"model": "net", "instance_type": "c5.large", "latency_ms": 1}\n{}\n', "f line 2: is an empty object"),
        ('{"model": "net", "instance_type": "c5.large", "latency_ms": 1}\n\n{"model": "net", "instance_type": "c5.large", "latency_ms": 0}\n', "f line 3: latency_ms 0 is not above 0"),
        ('{"model": "net", "instance_type": "c5.large", "latency_ms": 1, "x": 2}\n', 'f: unknown column "x"'),
    ],
)  # fmt: skip
def test_a_mistake_in_a_text_file_is_said_in_one_line(text: str, message: str) -> None:
    assert said(text).startswith(message)


@pytest.mark.parametrize("header", [RAW, P90])
def test_text_that_is_no_utf8_is_located(header: str) -> None:
    data = f"{header}\nnet,c5.large,1\n".encode() + b"n\xe9t,m5.large,1\n"
    at = data.index(b"\xe9")
    assert said(data).startswith(f"f line 3: byte {at} (0xe9) is not UTF-8 text")


def test_half_a_utf16_character_is_an_error() -> None:
    assert "UTF-16" in said(f"{RAW}\nnet,c5.large,1\n".encode("utf-16") + b"\x00")


def test_bytes_that_are_no_text_are_refused() -> None:
    assert "not UTF-8 text" in said(bytes(range(256)))
    assert said(b"\x00" * 1000) == "f: is no text file (it holds zero bytes)"
    assert said("x" * 2**20) == "f line 1: is longer than a MiB: this is no table of text"


@pytest.mark.parametrize("name", ["requests.csv", "requests.jsonl", "requests.json"])
@pytest.mark.parametrize("keep", [0.2, 0.6, 0.99])
def test_a_cut_off_compressed_file_is_an_error(name: str, keep: float) -> None:
    data = (DATA / name).read_bytes() * (1 if name.endswith("json") else 50)
    for packed in (gzip.compress(data), zstandard.compress(data)):
        assert "cut off or damaged" in said(packed[: max(4, int(len(packed) * keep))])


@pytest.mark.parametrize("name", ["requests.parquet", "requests.xlsx"])
def test_a_cut_off_parquet_file_or_workbook_is_an_error(name: str) -> None:
    data = (DATA / name).read_bytes()
    for length in range(4, len(data) - 1, 97):
        assert "cut off or damaged" in said(data[:length])


def bomb(size: int) -> bytes:
    line = b"net,c5.large,1.5\n"
    return f"{RAW}\n".encode() + line * (size // len(line))


class TestSize:
    """What may expand, and how far."""

    @pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
    def test_the_limit_is_met_exactly_and_not_passed_by_a_byte(self, compress: object) -> None:
        data = bomb(3_000_000)
        packed = gzip.compress(data) if compress is gzip.compress else zstandard.compress(data)
        assert said(packed, limit=len(data) - 1).startswith("f: expands to more than")
        assert len(formats.read_upload("f", packed, max_expanded_bytes=len(data)).rows) == 1

    def test_a_plain_file_has_no_limit(self) -> None:
        assert len(formats.read_upload("f", bomb(1000), max_expanded_bytes=10).rows) == 1

    def test_the_limit_is_said_in_gib(self) -> None:
        packed = gzip.compress(b"\n" * 100)
        source = Source("f", None, packed, 4 * 2**30)
        assert str(source.too_large()).startswith("f: expands to more than 4 GiB")

    def test_a_workbook_that_declares_too_much_is_refused_before_it_is_expanded(self) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("[Content_Types].xml", "<x/>")
            archive.writestr("xl/worksheets/sheet1.xml", b"0" * 20_000_000)
        assert said(out.getvalue()).startswith("f: expands to more than 10,000,000 bytes")

    def test_a_workbook_that_lies_about_its_size_is_refused(self) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("[Content_Types].xml", "<x/>")
            archive.writestr("xl/worksheets/sheet1.xml", b"0" * 20_000_000)
        data = out.getvalue()
        lying = data.replace((20_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
        assert lying != data
        assert said(lying).startswith("f: cut off or damaged")

    def test_parquet_is_refused_by_what_it_declares_and_by_what_it_expands_to(self) -> None:
        table = pa.table(
            {
                "model": ["net"] * 200_000,
                "instance_type": ["c5.large"] * 200_000,
                "latency_ms": [1.5] * 200_000,
            }
        )
        out = io.BytesIO()
        parquet.write_table(table, out, compression="zstd")
        assert len(out.getvalue()) < 10_000
        assert said(out.getvalue(), limit=1_000_000).startswith("f: expands to more than")
        assert said(out.getvalue(), limit=2_000_000).startswith("f: expands to more than")
        assert len(formats.read_upload("f", out.getvalue(), max_expanded_bytes=10_000_000).rows) == 1


class TestWorkbooks:
    """What only a spreadsheet can do wrong."""

    @staticmethod
    def book(*rows: list[object], sheets: int = 1) -> bytes:
        made = openpyxl.Workbook()
        for at in range(sheets):
            sheet = made.active if at == 0 else made.create_sheet(f"more {at}")
            assert sheet is not None
            for row in rows:
                sheet.append(row)
        out = io.BytesIO()
        made.save(out)
        return out.getvalue()

    def test_a_formula_without_a_stored_result_is_an_error(self) -> None:
        data = self.book(["model", "instance_type", "latency_ms"], ["net", "c5.large", "=1+1"])
        assert said(data).startswith("f row 2: the formula =1+1 has no stored result")

    def test_a_formula_gives_its_stored_result(self) -> None:
        xlsxwriter = pytest.importorskip("xlsxwriter")
        out = io.BytesIO()
        made = xlsxwriter.Workbook(out)
        sheet = made.add_worksheet()
        sheet.write_row(0, 0, ["model", "instance_type", "latency_ms"])
        sheet.write_row(1, 0, ["net", "c5.large"])
        sheet.write_formula(1, 2, "=4+3.5", None, 7.5)
        made.close()
        assert formats.read_upload("f", out.getvalue()).rows["latency_mean_ms"].tolist() == [7.5]

    def test_the_row_is_that_of_the_sheet(self) -> None:
        data = self.book(
            ["# a note"],
            [],
            ["model", "instance_type", "latency_ms"],
            ["net", "c5.large", 1],
            [],
            ["net", "c5.large", 0],
        )
        assert said(data) == "f row 6: latency_ms 0 is not above 0"

    def test_an_error_value_is_no_number(self) -> None:
        data = self.book(["model", "instance_type", "latency_ms"], ["net", "c5.large", "#DIV/0!"])
        assert said(data).startswith('f row 2: latency_ms "#DIV/0!" is not a number')

    def test_a_value_beside_the_table_is_an_error(self) -> None:
        data = self.book(["model", "instance_type", "latency_ms"], ["net", "c5.large", 1, None, "x"])
        assert said(data) == 'f row 2: "x" stands in a column without a name'

    def test_every_sheet_with_a_table_is_read_and_named(self) -> None:
        data = self.book(["model", "instance_type", "latency_p90_ms"], ["net", "c5.large", 1], sheets=2)
        assert said(data) == (
            'f sheet "Sheet" row 2 and f sheet "more 1" row 2 are the same benchmark (net on c5.large): '
            "tell runs apart by run_id or measured_on"
        )

    def test_a_workbook_without_a_table_says_so(self) -> None:
        assert said(self.book(["hello"])) == 'f: no sheet has a header with "model" and "instance_type"'
        assert said(self.book()) == "f: is empty"

    def test_dates_and_whole_numbers_are_read_as_they_look(self) -> None:
        import datetime

        data = self.book(
            ["model", "instance_type", "latency_p90_ms", "measured_on", "run_id"],
            ["net", "c5.large", 1, datetime.date(2026, 11, 1), 7],
        )
        row = formats.read_upload("f", data).rows.iloc[0]
        assert (row["measured_on"], row["run_id"]) == ("2026-11-01", "7")

    @pytest.mark.parametrize("declaration", ["<!DOCTYPE x>", '<!ENTITY a "b">'])
    def test_xml_declarations_are_refused(self, declaration: str) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("[Content_Types].xml", declaration + "<x/>")
        assert said(out.getvalue()) == "f: holds XML declarations that no workbook needs"

    def test_other_archives_and_old_workbooks_are_named(self) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("results.csv", RAW)
        assert said(out.getvalue()).startswith("f: a ZIP archive that is no workbook")
        assert said(b"\xd0\xcf\x11\xe0" + b"0" * 100).startswith("f: an old (.xls) or encrypted workbook")


class TestParquet:
    """What only Parquet can do wrong."""

    @staticmethod
    def file(**columns: object) -> bytes:
        out = io.BytesIO()
        parquet.write_table(pa.table(columns), out)
        return out.getvalue()

    def test_the_row_is_counted_from_one(self) -> None:
        data = self.file(model=["net"] * 3, instance_type=["c5.large"] * 3, latency_ms=[1.0, 2.0, 0.0])
        assert said(data) == "f row 3: latency_ms 0.0 is not above 0"

    @pytest.mark.parametrize("missing", [None, float("nan")])
    def test_nothing_in_a_latency_is_no_latency(self, missing: float | None) -> None:
        data = self.file(
            model=["net"], instance_type=["c5.large"], latency_ms=pa.array([missing], pa.float64())
        )
        assert said(data) == "f row 1: latency_ms is empty and no error is given"

    def test_lists_and_bytes_are_no_cells(self) -> None:
        data = self.file(model=["net"], instance_type=["c5.large"], latency_ms=[[1.0]])
        assert said(data) == "f row 1: latency_ms holds no single number or text"
        data = self.file(model=["net"], instance_type=[b"c5.large"], latency_ms=[1.0])
        assert said(data) == "f row 1: instance_type holds no single number or text"

    def test_a_newer_version_is_refused(self) -> None:
        table = pa.table({"model": ["net"]}).replace_schema_metadata({"advisor_result": "2"})
        out = io.BytesIO()
        parquet.write_table(table, out)
        assert said(out.getvalue()) == "f: is of version 2, this advisor reads 1"

    def test_the_index_that_pandas_adds_is_no_column(self) -> None:
        data = self.file(model=["net"], instance_type=["c5.large"], latency_ms=[2], __index_level_0__=[9])
        assert formats.read_upload("f", data).rows["latency_mean_ms"].tolist() == [2.0]


def test_a_run_id_that_counts_requests_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("advisor.formats.runs.MOST_RUNS", 3)
    text = f"{RAW},run_id\n" + "".join(f"net,c5.large,1,{at}\n" for at in range(4))
    assert said(text) == "f line 5: has more than 3 runs: does run_id count requests?"


def test_a_mistake_in_many_rows_is_found_in_its_line(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text(
        f"{RAW}\n" + "net,c5.large,1.5\n" * 200_000 + "net,c5.large,0\n" + "net,c5.large,1.5\n" * 10
    )
    with pytest.raises(InputError) as error:
        formats.read(path)
    assert str(error.value) == f"{path} line 200002: latency_ms 0 is not above 0"


def test_a_name_with_control_characters_is_shown_without_them() -> None:
    with pytest.raises(InputError) as error:
        formats.read_upload("a\x1b[31m\nb.csv", b"")
    assert str(error.value) == "a[31mb.csv: is empty"


def test_a_huge_json_number_is_said() -> None:
    row = {"model": "net", "instance_type": "c5.large", "latency_ms": 10**400}
    assert "not finite" in said(json.dumps([row]))
