"""What a good result file says."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zstandard

from advisor import formats
from advisor.errors import InputError
from advisor.tables import Benchmarks

DATA = Path(__file__).parent / "data" / "results"
PLACES = [f"requests.{ending}" for ending in ("csv", "json", "jsonl", "parquet", "xlsx")]


def read_text(text: str, name: str = "results.csv") -> Benchmarks:
    return formats.read_upload(name, text.encode())


@pytest.mark.parametrize("name", PLACES)
def test_every_format_gives_the_same_runs_in_the_order_they_were_measured(name: str) -> None:
    found = formats.read(DATA / name)
    assert found.rows["run_id"].tolist() == ["1", "2", "3"]
    assert [found.samples[run].latency_ms.tolist() for run in range(3)] == [
        [10.5, 9.5, 13.0],
        [11.25],
        [12.0],
    ]
    assert [found.samples[run].error_count for run in range(3)] == [0, 1, 0]
    assert found.rows["measured_on"].tolist() == ["2026-11-01"] * 3
    assert found.origin == (str(DATA / name),)


def test_the_figures_of_raw_samples_are_those_of_numpy() -> None:
    row = formats.read(DATA / "requests.csv").rows.iloc[0]
    latencies = np.array([10.5, 9.5, 13.0])
    assert row["latency_mean_ms"] == latencies.mean() == 11.0
    assert row["latency_std_ms"] == pytest.approx(latencies.std(ddof=1), rel=1e-15)
    assert (row["latency_min_ms"], row["latency_max_ms"]) == (9.5, 13.0)
    assert (row["sample_count"], row["error_count"]) == (3, 0)


def test_one_request_has_no_standard_deviation_and_no_request_no_mean() -> None:
    found = read_text(
        "model,instance_type,run_id,latency_ms,error\nnet,c5.large,a,5,\nnet,c5.large,b,,oom\nnet,c5.large,b,7,oom\n"
    ).rows
    assert np.isnan(found["latency_std_ms"]).all()
    assert found["latency_mean_ms"].tolist()[0] == 5
    assert np.isnan(found["latency_mean_ms"].iloc[1])
    assert found["sample_count"].tolist() == [1, 0]
    assert found["error_count"].tolist() == [0, 2]


def test_raw_samples_get_no_percentiles() -> None:
    rows = formats.read(DATA / "requests.csv").rows
    assert not [name for name in rows.columns if name.startswith("latency_p")]


def test_a_percentile_that_nobody_reported_stays_unknown() -> None:
    rows = read_text(
        "model,instance_type,latency_p50_ms,latency_p90_ms\nnet,a1.large,1,2\nnet,c5.large,1,\n"
    ).rows
    assert rows["latency_p90_ms"].isna().tolist() == [False, True]
    assert rows["latency_mean_ms"].isna().all()
    assert rows["sample_count"].isna().all()
    assert rows["error_count"].isna().all()


def test_what_is_not_said_has_its_default() -> None:
    row = read_text("model,instance_type,latency_mean_ms\nnet,c5.large,5\n").rows.iloc[0]
    assert (row["batch_size"], row["concurrency"], row["copies"], row["shards"]) == (1, 1, 1, 1)
    assert (row["attached_accelerator"], row["attached_accelerator_count"]) == ("", 0)
    assert (row["quality"], row["note"], row["software"], row["run_id"], row["measured_on"]) == (
        "ok",
        "",
        "",
        "",
        "",
    )
    assert pd.isna(row["sequence_length"])


def test_an_attached_accelerator_without_a_count_is_one() -> None:
    rows = read_text(
        "model,instance_type,attached_accelerator,attached_accelerator_count,latency_mean_ms\n"
        "net,m5.large,eia2.medium,,5\nnet,m5.large,eia2.large,2,5\nnet,m5.large,,0,5\n"
    ).rows
    assert dict(zip(rows["attached_accelerator"], rows["attached_accelerator_count"], strict=True)) == {
        "eia2.medium": 1,
        "eia2.large": 2,
        "": 0,
    }


@pytest.mark.parametrize("latency", ["latency_ms", "latency_mean_ms"])
def test_an_option_may_be_typed_into_the_instance_type(latency: str) -> None:
    row = read_text(f"model,instance_type,{latency}\nnet,m5.large + 2xeia2.medium,5\n").rows.iloc[0]
    assert (row["instance_type"], row["attached_accelerator"], row["attached_accelerator_count"]) == (
        "m5.large",
        "eia2.medium",
        2,
    )


@pytest.mark.parametrize(
    ("unit", "written"), [("ns", "8200000"), ("us", "8200"), ("ms", "8.2"), ("s", "0.0082")]
)
@pytest.mark.parametrize("stem", ["latency", "latency_mean", "latency_p99_9", "latency_min", "latency_max"])
def test_every_unit_becomes_milliseconds(unit: str, written: str, stem: str) -> None:
    row = read_text(f"model,instance_type,{stem}_{unit}\nnet,c5.large,{written}\n").rows.iloc[0]
    kept = "latency_mean_ms" if stem == "latency" else f"{stem}_ms"
    assert row[kept] == pytest.approx(8.2, rel=1e-15)


def test_percentiles_have_one_name_each_and_stand_in_order() -> None:
    rows = read_text(
        "model,instance_type,latency_p99_9_ms,latency_p05_us,latency_p90_0_s\nnet,c5.large,9,1000,0.002\n"
    ).rows
    assert list(rows.columns[-3:]) == ["latency_p5_ms", "latency_p90_ms", "latency_p99_9_ms"]
    assert rows.iloc[0, -3:].tolist() == [1.0, 2.0, 9.0]


@pytest.mark.parametrize("latency", ["latency_ms", "latency_mean_ms"])
@pytest.mark.parametrize(
    ("separator", "number", "value"),
    [
        (",", "12.5", 12.5),
        (",", '"1,742.35"', 1742.35),
        (",", '"1,234,567"', 1234567.0),
        (",", "1e2", 100.0),
        (",", " 7 ", 7.0),
        (";", "12,5", 12.5),
        (";", "1,234", 1.234),
        (";", "1.742,35", 1742.35),
        (";", "12.5", 12.5),
        ("\t", "12.5", 12.5),
        ("\t", "12,5", 12.5),
    ],
)
def test_numbers_with_one_reading_are_read(separator: str, number: str, value: float, latency: str) -> None:
    header = separator.join(["model", "instance_type", latency])
    rows = read_text(f"{header}\n{separator.join(['net', 'c5.large', number])}\n").rows
    assert rows["latency_mean_ms"].tolist() == [value]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "utf-16-be-bom"])
@pytest.mark.parametrize(
    "text",
    [
        "model,instance_type,latency_ms\nnétz,c5.large,5\n",
        "model,instance_type,latency_p90_ms\nnétz,c5.large,5\n",
        '{"model": "nétz", "instance_type": "c5.large", "latency_ms": 5}\n',
        '[{"model": "nétz", "instance_type": "c5.large", "latency_ms": 5}]',
    ],
)
def test_unicode_is_read_with_and_without_a_byte_order_mark(encoding: str, text: str) -> None:
    name = encoding.removesuffix("-bom")
    mark = {"utf-16-le-bom": b"\xff\xfe", "utf-16-be-bom": b"\xfe\xff"}.get(encoding, b"")
    assert formats.read_upload("x.csv", mark + text.encode(name)).rows["model"].tolist() == ["nétz"]


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_every_format_is_read_compressed(name: str, compress: object) -> None:
    data = (DATA / name).read_bytes()
    packed = gzip.compress(data) if compress is gzip.compress else zstandard.compress(data)
    plain = formats.read_upload(name, data)
    pd.testing.assert_frame_equal(formats.read_upload(name, packed).rows, plain.rows)


def test_content_and_not_the_name_tells_the_format() -> None:
    for name in PLACES:
        assert len(formats.read_upload("results.csv", (DATA / name).read_bytes()).rows) == 3


@pytest.mark.parametrize(
    "text",
    [
        "\n# a note\n\nmodel,instance_type,latency_ms\n\nnet,c5.large,5\n\n,,\n",
        '"# a, note",,\nmodel,instance_type,latency_ms\nnet,c5.large,5',
        "sep=;\nmodel;instance_type;latency_ms\nnet;c5.large;5\n",
        "model,instance_type,latency_ms,\nnet,c5.large,5,\n",
        "model,instance_type,latency_ms\r\nnet,c5.large,5\r\n",
        "model,instance_type,latency_ms\rnet,c5.large,5\r",
        'model,instance_type,latency_ms,note\nnet,c5.large,5,"two\nlines"\n',
    ],
)
def test_what_spreadsheets_do_to_a_csv_file_does_no_harm(text: str) -> None:
    found = read_text(text)
    assert found.rows["latency_mean_ms"].tolist() == [5.0]
    assert found.rows["sample_count"].tolist() == [1]


def test_a_request_without_an_error_may_say_so_in_words() -> None:
    words = ["", "0", "false", "False", "none", "null", "timeout", "1", "true"]
    text = "model,instance_type,latency_ms,error\n" + "".join(f"net,c5.large,5,{word}\n" for word in words)
    found = read_text(text)
    assert (found.rows["sample_count"].tolist(), found.rows["error_count"].tolist()) == ([6], [3])
    line = '{{"model": "net", "instance_type": "c5.large", "latency_ms": 5, "error": {}}}\n'
    found = read_text("".join(line.format(word) for word in ("null", "false", "true", '"x"')), "x.jsonl")
    assert (found.rows["sample_count"].tolist(), found.rows["error_count"].tolist()) == ([2], [2])


def test_peaks_are_the_greatest_and_tokens_the_mean_of_a_run() -> None:
    rows = read_text(
        "model,instance_type,latency_ms,peak_memory_mib,output_token_count\n"
        "net,c5.large,5,100,10\nnet,c5.large,5,300,20\nnet,c5.large,5,,\nnet,c5.large,5,200,60\n"
    ).rows
    assert rows["peak_memory_mib"].tolist() == [300.0]
    assert rows["output_token_count"].tolist() == [30.0]


def test_configurations_in_one_file_are_kept_apart() -> None:
    found = read_text(
        "model,instance_type,batch_size,software,latency_ms\n"
        "net,c5.large,1,rt 1,1\nnet,c5.large,2,rt 1,2\nnet,c5.large,1,rt 2,3\nnet,c5.large,1,rt 1,4\n"
    )
    assert found.rows[["batch_size", "software"]].to_numpy().tolist() == [
        [1, "rt 1"],
        [1, "rt 2"],
        [2, "rt 1"],
    ]
    assert [found.samples[at].latency_ms.tolist() for at in range(3)] == [[1.0, 4.0], [3.0], [2.0]]


def test_how_often_a_series_was_judged_is_kept() -> None:
    found = read_text("model,instance_type,latency_ms,look\nnet,c5.large,5,3\nnet,c5.large,6,3\n")
    assert found.samples[0].look == 3


def test_secrets_and_control_characters_are_taken_out() -> None:
    rows = read_text(
        "model,instance_type,latency_mean_ms,note,source\n"
        "net\x1b[31m,c5.large,5,arn:aws:iam::123456789012:role/x,account 123456789012 AKIAABCDEFGHIJKLMNOP\n"
    ).rows
    assert rows[["model", "note", "source"]].iloc[0].tolist() == [
        "net[31m",
        "[arn]",
        "account [account] [key]",
    ]


@pytest.mark.parametrize("latency", ["latency_ms", "latency_mean_ms"])
def test_runs_that_only_a_secret_tells_apart_stay_apart(latency: str) -> None:
    found = read_text(
        f"model,instance_type,run_id,{latency}\n"
        "net,c5.large,202611291000,1\nnet,c5.large,202611291100,2\nnet,c5.large,[account],9\n".replace(
            "net,c5.large,[account],9\n",
            "" if latency == "latency_mean_ms" else "net,c5.large,202611291000,3\n",
        )
    )
    assert found.rows["run_id"].tolist() == ["[account]", "[account] 2"]
    if latency == "latency_ms":
        assert found.samples[0].latency_ms.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("columns", "values", "note"),
    [
        (
            "latency_mean_ms,latency_p90_ms",
            "10.01,10",
            "the mean is above P90: a few requests were very slow",
        ),
        ("latency_mean_ms,latency_p90_ms", "10,10", ""),
        ("latency_p50_ms,latency_p99_ms", "10,10", "P50 equals P99: rounded, or not a distribution"),
        ("latency_p50_ms,latency_p99_ms", "10,10.1", ""),
        ("latency_mean_ms,throughput_per_s", "10,105", ""),
        (
            "latency_mean_ms,throughput_per_s",
            "10,106",
            "throughput 106/s x mean 10 ms is 1.06 in flight, not the stated 1",
        ),
        ("latency_mean_ms,throughput_per_s,batch_size,concurrency", "10,800,4,2", ""),
        ("latency_mean_ms,throughput_per_s,load_kind", "10,400,open", ""),
    ],
)
def test_odd_figures_carry_a_note(columns: str, values: str, note: str) -> None:
    text = f"model,instance_type,{columns}\nnet,c5.large,{values}\n"
    assert read_text(text).rows["note"].tolist() == [note]


def test_a_note_is_added_once_to_what_the_row_says() -> None:
    text = 'model,instance_type,latency_p50_ms,latency_p99_ms,note\nnet,c5.large,5,5,"{}"\n'
    once = read_text(text.format("old")).rows["note"].iloc[0]
    assert once == "old; P50 equals P99: rounded, or not a distribution"
    assert read_text(text.format(once)).rows["note"].iloc[0] == once


def test_figures_at_their_bounds_are_accepted() -> None:
    rows = read_text(
        "model,instance_type,latency_min_ms,latency_p50_ms,latency_p90_ms,latency_mean_ms,latency_max_ms,latency_std_ms\n"
        "net,c5.large,5,5,5,5,5,0\n"
    ).rows
    assert rows["latency_std_ms"].tolist() == [0.0]


def test_known_types_accept_local_and_sagemaker_names() -> None:
    text = "model,instance_type,latency_ms\nnet,local,1\nnet,ml.c5.large,1\nnet,c5.large,1\n"
    found = formats.read_upload("x.csv", text.encode(), known_types={"c5.large"})
    assert found.rows["instance_type"].tolist() == ["c5.large", "local", "ml.c5.large"]


class TestFiles:
    """Files, folders and globs."""

    def test_a_folder_gives_its_result_files_and_nothing_else(self, tmp_path: Path) -> None:
        good = "model,instance_type,latency_mean_ms\n{},c5.large,5\n"
        (tmp_path / "b.csv").write_text(good.format("b"))
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(good.format("a").encode()))
        for other in (".hidden.csv", "README.md", "sources.toml", "notes.txt"):
            (tmp_path / other).write_text("nothing to read")
        (tmp_path / "deeper.csv").mkdir()
        (tmp_path / "deeper.csv" / "c.csv").write_text("nothing to read")
        found = formats.read(tmp_path)
        assert found.rows["model"].tolist() == ["a", "b"]
        assert found.origin == (str(tmp_path / "a.csv.gz"), str(tmp_path / "b.csv"))

    def test_a_file_that_is_named_twice_is_read_once(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("model,instance_type,latency_mean_ms\na,c5.large,5\n")
        assert len(formats.read([path, str(tmp_path / "*.csv"), tmp_path]).rows) == 1

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ("none.csv", "no such file or folder: {}/none.csv"),
            ("*.parquet", "nothing matches {}/*.parquet"),
            ("", "{}: no result file in this folder"),
        ],
    )
    def test_what_is_not_there_is_named(self, tmp_path: Path, given: str, said: str) -> None:
        with pytest.raises(InputError) as error:
            formats.read(str(tmp_path / given))
        assert str(error.value).startswith(said.format(tmp_path))

    def test_nothing_given_is_an_error(self) -> None:
        with pytest.raises(InputError, match="no result file given"):
            formats.read([])

    def test_the_same_benchmark_in_two_files_names_both(self, tmp_path: Path) -> None:
        for name, latency in (("a.csv", "latency_mean_ms"), ("b.csv", "latency_ms")):
            (tmp_path / name).write_text(f"model,instance_type,{latency}\nnet,c5.large,5\n")
        with pytest.raises(InputError) as error:
            formats.read(tmp_path)
        assert f"{tmp_path}/a.csv line 2 and {tmp_path}/b.csv" in str(error.value)

    def test_an_upload_touches_no_file_of_its_name(self, tmp_path: Path) -> None:
        path = tmp_path / "secret.csv"
        path.write_text("not to be read")
        found = formats.read_upload(str(path), b"model,instance_type,latency_mean_ms\nnet,c5.large,5\n")
        assert found.rows["latency_mean_ms"].tolist() == [5.0]


class TestTogether:
    """Benchmarks of several origins."""

    def test_combining_keeps_rows_samples_and_origins(self) -> None:
        raw = formats.read(DATA / "requests.csv")
        summary = read_text("model,instance_type,latency_p90_ms\na,c5.large,5\nz,c5.large,6\n")
        both = formats.combine(raw, summary)
        assert both.rows["model"].tolist() == ["a", "net", "net", "net", "z"]
        assert sorted(both.samples) == [1, 2, 3]
        assert both.samples[1].latency_ms.tolist() == [10.5, 9.5, 13.0]
        assert both.origin == (*raw.origin, *summary.origin)
        pd.testing.assert_frame_equal(formats.combine(summary, raw).rows, both.rows)

    def test_combining_the_same_benchmark_twice_is_an_error(self) -> None:
        raw = formats.read(DATA / "requests.csv")
        with pytest.raises(InputError, match=r"requests\.csv and .*requests\.csv are the same benchmark"):
            formats.combine(raw, raw)

    def test_the_packaged_benchmarks_hold_the_published_elastic_inference_run(self) -> None:
        packaged = formats.packaged()
        row = packaged.rows[packaged.rows["model"] == "openai-gpt"].iloc[0]
        assert (row["latency_mean_ms"], row["latency_p90_ms"], row["sample_count"]) == (10.2795, 10.7727, 999)
        assert packaged.origin == ("packaged benchmarks",)


def test_failed_requests_need_no_latency_at_all() -> None:
    text = '{"model": "net", "instance_type": "c5.large", "latency_ms": 5}\n'
    text += '{"model": "net", "instance_type": "c5.large", "error": "oom"}\n'
    rows = read_text(text, "x.jsonl").rows
    assert rows[["sample_count", "error_count"]].to_numpy().tolist() == [[1, 1]]


def test_a_day_of_an_early_year_keeps_its_four_digits() -> None:
    text = "model,instance_type,latency_p90_ms,measured_on\nnet,c5.large,5,0180-12-24T10:00:00\n"
    assert read_text(text).rows["measured_on"].tolist() == ["0180-12-24"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_interleaved_runs_keep_their_order_and_failures_over_many_blocks(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("advisor.formats.delimited._PIECE_BYTES", 4096)
    monkeypatch.setattr("advisor.formats.json_lines.BLOCK_ROWS", 500)
    rng = np.random.default_rng(3)
    runs = rng.integers(0, 3, 3000)
    failed = rng.random(3000) < 0.1
    if ending == "csv":
        text = "model,instance_type,run_id,latency_ms,error\n" + "".join(
            f"net,c5.large,{run},{'' if lost else at + 1},{'oom' if lost else ''}\n"
            for at, (run, lost) in enumerate(zip(runs, failed, strict=True))
        )
    else:
        line = '{{"model": "net", "instance_type": "c5.large", "run_id": "{}", {}}}\n'
        text = "".join(
            line.format(run, '"error": "oom"' if lost else f'"latency_ms": {at + 1}')
            for at, (run, lost) in enumerate(zip(runs, failed, strict=True))
        )
    found = read_text(text, f"x.{ending}")
    for run in range(3):
        mine = np.flatnonzero((runs == run) & ~failed) + 1.0
        assert np.array_equal(found.samples[run].latency_ms, mine)
        assert found.samples[run].error_count == int((failed & (runs == run)).sum())
