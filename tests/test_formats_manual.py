"""The manual and the template are made from the declared columns, and every format is what the dict says."""

from pathlib import Path

import pytest

from advisor import formats
from advisor.errors import InputError
from advisor.formats import columns, description
from advisor.tables import BenchmarkRows

MANUAL = Path(__file__).resolve().parents[1] / "docs" / "result-files.md"
DATA = Path(__file__).parent / "data" / "results"


def test_the_manual_says_what_the_columns_declare() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    assert description.manual(text) == text, "make it anew with advisor.formats.description.manual"


def test_the_manual_names_every_column_with_its_unit_and_meaning() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    for name, declaration in BenchmarkRows.to_schema().columns.items():
        shown = "latency_pNN_ms" if declaration.regex else name
        unit = (declaration.metadata or {}).get("unit", "")
        assert f"| `{shown}` | {unit} | {declaration.description}" in text
    for name, meaning in columns.RAW.items():
        assert f"| `{name}` | {'ms' if name == 'latency_ms' else ''} | {meaning}" in text


def test_the_errors_that_the_manual_explains_are_those_that_are_said() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    header = "model,instance_type,latency_p90_ms"
    for data in (
        f"{header},batchsize\nnet,c5.large,1,1\n",
        "model,instance_type,latency_p90_min\nnet,c5.large,1\n",
        f"{header}\nnet,c5.lage,1\n",
        "model,instance_type,latency_p50_ms,latency_p90_ms\nnet,c5.large,2,1\n",
        "# advisor_result 2\nmodel,instance_type,latency_ms\nnet,c5.large,1\n",
        f"{header}\nnet,c5.large,1\nnet,c5.l",
    ):
        with pytest.raises(InputError) as error:
            formats.read_upload("f", data.encode(), known_types={"c5.large"})
        line = str(error.value).removeprefix("f: ").removeprefix("f line 2: ").removeprefix("f line 3: ")
        words = line.split(": _ns")[0].removeprefix("instance_type ").split(" (did you mean latency_p90_n")[0]
        assert f"`{words}" in text


@pytest.mark.parametrize("raw", [True, False])
def test_the_template_is_read_as_it_is(raw: bool) -> None:
    text = description.template(raw=raw)
    found = formats.read_upload("template.csv", text.encode(), known_types={"c5.large"})
    assert bool(found.samples) is raw
    assert found.rows["model"].unique().tolist() == ["my-model"]
    described = {
        row["column"] for row in (description.raw_columns() if raw else description.summary_columns())
    }
    assert all(f"# {name}: " in text for name in described)


@pytest.mark.parametrize("name", list(formats.FORMATS))
def test_every_format_recognises_its_own_file_and_reads_it(name: str) -> None:
    path = DATA / f"requests.{name}"
    head = path.read_bytes()[:65536]
    first = next(key for key, found in formats.FORMATS.items() if found.recognises(head, path.name))
    assert first == name
    assert len(formats.read(path).rows) == 3
