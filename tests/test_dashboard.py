"""The dashboard, run in this process: what it shows is what `advise` returns."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import advisor.dashboard
from advisor import formats, prices
from advisor.advice import Advice
from advisor.advise import advise
from advisor.cli.app import SETTINGS
from advisor.dashboard import sources, views
from advisor.dashboard.words import plain
from advisor.reports import Presentation, frames
from advisor.reports.keyfigures import key_figures
from advisor.workload import EXAMPLE, Workload

PACKAGE = Path(advisor.dashboard.__file__).parent
PAGE = str(PACKAGE / "page.py")
DATA = "Data"

SAMPLES = b"model,instance_type,latency_ms\n" + b"".join(
    b"mine,%s,%d.%02d\n" % (name, base, at % 40)
    for name, base in ((b"c5.large", 9), (b"g5.2xlarge", 4))
    for at in range(200)
)
PRICES = b"instance_type,region,purchase_option,price_usd_per_hour,as_of,source\ng5.2xlarge,us-west-2,custom,0.05,2026-11-01,contract\n"


def opened(**query: Any) -> AppTest:
    at = AppTest.from_file(PAGE, default_timeout=120)
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def expected(**fields: Any) -> Advice:
    return advise(prices.load(), formats.packaged(), Workload.ask(**{**EXAMPLE, **fields}))


def figures(at: AppTest) -> list[tuple[str, str, str]]:
    return [(metric.label, metric.value, metric.delta) for metric in at.metric]


def assert_shows(at: AppTest, advice: Advice) -> None:
    assert not at.exception
    assert not at.error
    assert at.subheader[0].value == plain(advice.headline)
    assert figures(at) == [
        (plain(name), figure, more) for name, figure, more in key_figures(advice, Presentation())
    ]
    (notes,) = [element.value for element in at.markdown if element.value.startswith("- ")]
    for note in advice.notes:
        assert f"- {plain(note.text)}" in notes
    shown = [element.value for element in at.dataframe]
    wanted = [table for table in (frames.ranked(advice), frames.rejected(advice)) if not table.empty]
    assert len(shown) >= len(wanted)
    for have, want in zip(shown, wanted, strict=False):
        assert list(have.columns) == list(want.columns)
        assert have.astype("str").values.tolist() == want.astype("str").values.tolist()


QUESTIONS: dict[str, dict[str, Any]] = {
    "the example": {},
    "a looser limit": {"latency_limit_ms": 20.0},
    "a tighter limit": {"latency_limit_ms": 10.5},
    "nothing qualifies": {"latency_limit_ms": 9.0},
    "another percentile": {"percentile": 95.0, "latency_limit_ms": 18.8},
    "a short sequence": {"sequence_length": 128},
    "an image model": {"model": "mobilenet-v1 float 1.0-224", "sequence_length": None},
    "retired accelerators": {
        "model": "faster-rcnn-resnet50", "sequence_length": None, "input_shape": "1080x1920x3",
        "include_retired": True, "latency_limit_ms": 250.0,
    },
    "everywhere": {"region": "all", "purchase": "all"},
    "memory": {"model_size": "440MB", "copies": 40, "headroom": 1.3},
}  # fmt: skip


@pytest.mark.parametrize("fields", QUESTIONS.values(), ids=list(QUESTIONS))
def test_the_page_shows_what_advise_returns(fields: dict[str, Any]) -> None:
    query = {name: str(value).lower() if value is True else str(value) for name, value in fields.items() if value is not None}  # fmt: skip
    assert_shows(opened(view=DATA, **query), expected(**fields))


CONTROLS: dict[str, tuple[str, Any, dict[str, Any], dict[str, Any]]] = {
    # key: (widget, value, the fields that it stands for, what else has to be asked for it to matter)
    "model": ("selectbox", "bert_large_uncased", {"model": "bert_large_uncased"}, {}),
    "sequence_length": ("selectbox", 64, {"sequence_length": 64}, {}),
    "latency_limit_ms": ("number_input", 20.0, {"latency_limit_ms": 20.0}, {}),
    "no_limit": ("toggle", True, {"latency_limit_ms": None}, {}),
    "percentile": ("number_input", 99.9, {"percentile": 99.9}, {}),
    "region": ("multiselect", ["us-east-1"], {"region": ["us-east-1"]}, {}),
    "purchase": ("multiselect", ["on_demand", "reserved_1yr_all_upfront"],
                 {"purchase": ["on_demand", "reserved_1yr_all_upfront"]}, {"region": ["us-east-1"]}),
    "objective": ("selectbox", "latency", {"objective": "latency"}, {}),
    "model_size": ("text_input", "40GB", {"model_size": "40GB"}, {}),
    "input_size": ("text_input", "9GiB", {"input_size": "9GiB"}, {"model_size": "1GiB"}),
    "copies": ("number_input", 60, {"copies": 60}, {"model_size": "1GiB"}),
    "shards": ("number_input", 2, {"shards": 2}, {"model_size": "9GiB", "input_size": "1GiB"}),
    "headroom": ("number_input", 2.0, {"headroom": 2.0}, {"model_size": "9GiB"}),
    "shared_weights": ("toggle", True, {"shared_weights": True}, {"model_size": "9GiB", "copies": 3}),
    "accelerator_kind": ("multiselect", ["gpu"], {"accelerator_kind": ["gpu"]}, {}),
    "arch": ("multiselect", ["arm64"], {"arch": ["arm64"]}, {}),
    "exclude": ("multiselect", ["inf2"], {"exclude": ["inf2"]}, {}),
    "max_usd_per_hour": ("number_input", 1.0, {"max_usd_per_hour": 1.0}, {}),
    "include_retired": ("toggle", True, {"include_retired": True},
                        {"model": "faster-rcnn-resnet50", "latency_limit_ms": 250.0}),
    "batch_size": ("multiselect", [5], {"batch_size": [5]}, {"model": "resnet-50"}),
    "concurrency": ("multiselect", [1], {"concurrency": [1]}, {"model": "openpose"}),
    "decide": ("selectbox", "proven", {"decide": "proven"}, {"percentile": 94.0, "latency_limit_ms": 18.68}),
    "confidence": ("number_input", 0.8, {"confidence": 0.8}, {}),
    "between_run_sd_fraction": ("number_input", 0.5, {"between_run_sd_fraction": 0.5}, {}),
    "stale_spot": ("toggle", True, {"stale_spot": True}, {"purchase": ["spot"]}),
}  # fmt: skip
KINDS_OF_WIDGET = {key: widget for key, (widget, *_) in CONTROLS.items()}


def put(at: AppTest, key: str, value: Any) -> None:
    getattr(at, KINDS_OF_WIDGET[key])(key=key).set_value(value)


def everything(at: AppTest) -> str:
    said = [element.value for element in (*at.subheader, *at.markdown, *at.caption)]
    return str((said, figures(at), [element.value.to_csv() for element in at.dataframe]))


@pytest.mark.parametrize("key", list(CONTROLS))
def test_each_control_moves_the_answer_and_the_page_shows_it(key: str) -> None:
    _, value, fields, first = CONTROLS[key]
    at = opened(view=DATA)
    for name, needed in first.items():
        put(at, name, needed)
        at.run()
    before = everything(at)
    put(at, key, value)
    at.run()
    question = {**first, **fields}
    if "model" in question and "sequence_length" not in question:
        lengths = {box.key: box.value for box in at.selectbox}
        question |= {name: lengths.get(name) for name in ("sequence_length", "input_shape")}
    assert_shows(at, expected(**question))
    assert everything(at) != before


def test_every_field_of_the_question_has_its_control() -> None:
    keys = {key: field for key, (_, _, fields, _) in CONTROLS.items() for field in fields}
    fields = {name.removesuffix("_bytes") for name in Workload.model_fields}
    assert fields - set(keys.values()) == {"input_shape", "today"}
    at = opened(model="faster-rcnn-resnet50")
    assert at.selectbox(key="input_shape").value == "1080x1920x3"


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ({"latency_limit_ms": "-5"}, "latency_limit_ms: Input should be greater than 0"),
        ({"percentile": "100"}, "percentile: Input should be less than 100"),
        ({"model_size": "many"}, 'model_size_bytes: "many" is not a size'),
        ({"copies": "0"}, "copies: Input should be greater than or equal to 1"),
    ],
)
def test_a_link_with_a_value_that_cannot_be_asked_says_so_in_one_line(
    query: dict[str, str], line: str
) -> None:
    at = opened(**query)
    (error,) = at.error
    assert plain(line) in error.value
    assert not at.exception


# ------------------------------------------------------------------------------------------------- uploads


def upload(at: AppTest, key: str, *files: tuple[str, bytes]) -> AppTest:
    at.file_uploader(key=key).set_value([(name, data, "text/csv") for name, data in files])
    return at.run()


def test_an_uploaded_result_file_is_answered_from() -> None:
    at = upload(opened(), "results", ("mine.csv", SAMPLES))
    at.selectbox(key="model").set_value("mine").run()
    assert not at.error
    assert "mine within 15 ms" in at.subheader[0].value
    assert "c5\\.large" in at.subheader[0].value


def test_without_the_published_results_only_own_models_are_offered() -> None:
    at = upload(opened(), "results", ("mine.csv", SAMPLES))
    assert "bert_base_uncased" in at.selectbox(key="model").options
    at.toggle(key="with_published").set_value(False).run()
    assert at.selectbox(key="model").options == ["mine"]


def test_uploaded_price_rows_win() -> None:
    at = upload(opened(purchase="custom"), "price_rows", ("rates.csv", PRICES))
    at.multiselect(key="purchase").set_value(["custom"]).run()
    assert not at.error
    assert "g5\\.2xlarge" in at.subheader[0].value


@pytest.mark.parametrize(
    ("key", "name", "data", "line"),
    [
        ("results", "bad.csv", b"model,instance_type,latency_ms\nm,c5.large,fast\n", 'bad.csv line 2: latency_ms "fast" is not a number'),
        ("results", "bad.csv", b"model,instance_type,latency_parsecs\nm,c5.large,1\n", "latency_parsecs"),
        ("results", "bad.csv", b"model,instance_type,latency_ms\nm,c5.lrge,1\n", "did you mean c5.large?"),
        ("results", "empty.csv", b"", "empty.csv"),
        ("results", "bad.parquet", b"PAR1 and then nothing", "bad.parquet"),
        ("price_rows", "rates.csv", b"instance_type,region,purchase_option,price_usd_per_hour,as_of,source\ng5.2xlarge,us-wset-2,on_demand,1,2026-01-01,x\n", "us-wset-2"),
        ("price_rows", "rates.csv", b"instance_type\n", "rates.csv"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_shows_the_readers_line_and_changes_nothing(
    key: str, name: str, data: bytes, line: str
) -> None:
    at = upload(opened(), key, (name, data))
    (error,) = at.error
    assert plain(line) in error.value
    assert "\n" not in error.value
    assert "/tmp" not in error.value.replace("\\", "")
    assert at.subheader[0].value == plain(expected().headline)


def test_the_good_files_count_beside_a_bad_one() -> None:
    at = upload(opened(), "results", ("bad.csv", b"model\n"), ("mine.csv", SAMPLES))
    assert len(at.error) == 1
    assert "mine" in at.selectbox(key="model").options


def test_the_same_results_twice_are_refused_in_one_line() -> None:
    at = upload(opened(), "results", ("one.csv", SAMPLES), ("two.csv", SAMPLES))
    assert len(at.error) == 1
    assert not at.exception


def test_an_uploaded_file_never_reaches_another_session() -> None:
    at = upload(opened(), "results", ("mine.csv", SAMPLES))
    assert "mine" in at.selectbox(key="model").options
    other = opened()
    assert "mine" not in other.selectbox(key="model").options
    assert "mine" not in set(sources.base().benchmarks.rows["model"])


def test_a_session_keeps_a_bounded_number_of_files_and_answers() -> None:
    at = opened()
    for limit in range(12, 12 + 2 * sources._KEPT_ANSWERS):
        at.number_input(key="latency_limit_ms").set_value(float(limit)).run()
    assert len(at.session_state["kept_answers"]) == sources._KEPT_ANSWERS
    files = [
        (f"f{at_}.csv", SAMPLES.replace(b"mine", b"mine%d" % at_)) for at_ in range(sources._KEPT_FILES + 3)
    ]
    upload(at, "results", *files)
    assert len(at.session_state["kept_files"]) == sources._KEPT_FILES


def test_a_link_made_with_uploads_names_the_files_that_are_missing() -> None:
    at = opened(uploads=["mine.csv", "rates.csv"], model="mine")
    (warning,) = at.warning
    assert "mine\\.csv, rates\\.csv" in warning.value
    assert at.selectbox(key="model").value == "mine"
    upload(at, "results", ("mine.csv", SAMPLES))
    assert "rates\\.csv" in at.warning[0].value
    assert "mine\\.csv" not in at.warning[0].value
    upload(at, "price_rows", ("rates.csv", PRICES))
    assert not at.warning
    assert "mine within 15 ms" in at.subheader[0].value


ATTACK = "<script>alert(1)</script> ![x](http://evil.example/x.png) [y](javascript:alert(1)) $x$ :red[z] **b** `c` # d"


def test_names_that_a_user_supplies_are_shown_as_text() -> None:
    quoted = f'"{ATTACK}"'.encode()
    at = upload(opened(), "results", (f"{ATTACK[:60]}.csv", b"model,instance_type,latency_ms\n" + quoted + b",c5.large,9\n" + quoted + b",c5.large,x\n"))  # fmt: skip
    (error,) = at.error
    assert plain("<script>alert(1)") in error.value
    at = upload(opened(), "results", ("mine.csv", SAMPLES.replace(b"mine", quoted)))
    at.selectbox(key="model").set_value(ATTACK).run()
    assert plain(ATTACK) in at.subheader[0].value
    for view in views.VIEWS:
        at.segmented_control(key="view").set_value(view).run()
        assert not at.exception
        for element in (*at.markdown, *at.caption, *at.info, *at.error, *at.warning):
            assert not re.search(r"(?<!\\)(<script|\]\(|!\[)", element.value)


@pytest.mark.parametrize(
    "text",
    ["<b>", "[a](b)", "![a](b)", "$x$", ":red[x]", "`x`", "**x**", "~~x~~", "&lt;", "# x", "http://a.b"],
)
def test_plain_text_has_no_sign_that_markdown_reads(text: str) -> None:
    shown = plain(text)
    for at, sign in enumerate(shown):
        if not sign.isalnum() and sign not in "\\ ":
            assert shown[at - 1] == "\\"


def test_cells_of_the_tables_cannot_become_formulas() -> None:
    at = upload(opened(view=DATA), "results", ("mine.csv", SAMPLES.replace(b"mine", b"=1+1")))
    at.selectbox(key="model").set_value("=1+1").run()
    cells = [str(cell) for element in at.dataframe for cell in element.value.to_numpy().ravel()]
    assert "'=1+1" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]


# ---------------------------------------------------------------------------------------------- elsewhere


@pytest.mark.parametrize("variable", ["ADVISOR_PRICES", "ADVISOR_BENCHMARKS"])
def test_a_missing_folder_is_one_line(variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    at = opened()
    assert not at.exception
    (error,) = at.error
    assert "nowhere" in error.value
    assert "\n" not in error.value
    assert not at.metric


def test_other_benchmarks_and_prices_may_be_named_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_bytes(SAMPLES)
    (tmp_path / "rates.csv").write_bytes(PRICES.replace(b"custom", b"on_demand"))
    monkeypatch.setenv("ADVISOR_BENCHMARKS", str(tmp_path / "mine.csv"))
    monkeypatch.setenv("ADVISOR_PRICES", str(tmp_path / "rates.csv"))
    at = opened()
    assert at.selectbox(key="model").options == ["mine"]
    assert "g5\\.2xlarge" in at.subheader[0].value
    (tmp_path / "mine.csv").write_bytes(SAMPLES.replace(b"mine", b"changed"))
    assert opened().selectbox(key="model").options == ["changed"]


@pytest.mark.parametrize("view", list(views.VIEWS))
@pytest.mark.parametrize("limit", [15.0, 9.0])
def test_every_view_opens_by_its_link(view: str, limit: float) -> None:
    at = opened(view=view, latency_limit_ms=str(limit), model_size="440MB")
    assert at.segmented_control(key="view").value == view
    assert not at.exception
    assert not at.error


def test_the_report_is_made_only_when_its_menu_is_open() -> None:
    at = opened()
    assert "kept_reports" not in at.session_state


# ------------------------------------------------------------------------------------- how it is built


def sources_of_the_dashboard() -> list[tuple[str, ast.Module]]:
    return [(path.name, ast.parse(path.read_text())) for path in sorted(PACKAGE.rglob("*.py"))]


def test_no_module_of_the_dashboard_computes() -> None:
    for name, tree in sources_of_the_dashboard():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert not str(module).startswith(("pandas", "numpy", "scipy", "duckdb")), name
            if isinstance(node, ast.FunctionDef):
                computed = [
                    ast.unparse(inner)
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.BinOp)
                    and isinstance(inner.op, ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow)
                ]
                assert computed == [], name


def test_no_widget_takes_a_path_a_module_a_command_or_an_address() -> None:
    text_inputs = {
        ast.literal_eval(keyword.value)
        for _, tree in sources_of_the_dashboard()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("text_input", "text_area", "chat_input", "data_editor")
        for keyword in node.keywords if keyword.arg == "key"
    }  # fmt: skip
    assert text_inputs == {"model_size", "input_size", "filter"}


def test_the_settings_of_the_command_and_of_the_checkout_are_the_same() -> None:
    import tomllib

    file = Path(__file__).parents[1] / ".streamlit" / "config.toml"
    given = tomllib.loads(file.read_text())
    flat: dict[str, Any] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        else:
            flat[prefix] = str(value).lower() if isinstance(value, bool) else str(value)

    walk("", given)
    assert flat.pop("server.address") == "127.0.0.1"
    assert flat == SETTINGS
    assert SETTINGS["browser.gatherUsageStats"] == "false"
    assert int(SETTINGS["server.maxUploadSize"]) == sources.MOST_UPLOAD_MEGABYTES


def test_the_command_listens_on_this_machine_only_and_looks_up_no_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from streamlit import net_util
    from streamlit.web import cli as streamlit_cli

    from advisor.cli import main

    started: list[list[str]] = []
    monkeypatch.setattr(streamlit_cli, "main", lambda args, **_: started.append(args))
    for name in ("get_external_ip", "get_internal_ip"):
        monkeypatch.setattr(net_util, name, lambda: pytest.fail("an address was looked up"))
    for flags, address in (
        ([], "127.0.0.1"),
        (["--address", "0.0.0.0", "--public-name", "advisor.example.org"], "0.0.0.0"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["app", *flags])
        assert stop.value.code == 0
        assert f"--server.address={address}" in started[-1]
        assert net_util.get_external_ip() is None
        assert net_util.get_internal_ip() is None
    assert "--browser.serverAddress=advisor.example.org" in started[-1]
    assert "--browser.gatherUsageStats=false" in started[-1]
    assert Path(started[-1][1]).is_file()
