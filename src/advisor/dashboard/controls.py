"""The controls at the left: one widget a field of `Workload`, its key the field's name, its value in the URL."""

from typing import Any, Final, get_args

import streamlit as st

from advisor.dashboard.sources import MOST_UPLOAD_MEGABYTES, Facts, Upload
from advisor.reports import offers
from advisor.tables import KINDS
from advisor.workload import EXAMPLE, Objective, Workload

_DEFAULT: Final = {name: field.default for name, field in Workload.model_fields.items()}


def uploads() -> tuple[list[Upload], list[Upload], bool]:
    """Ask for result files and price rows; they are kept with this session only."""
    with st.expander("Your own files", icon=":material/upload_file:"):
        results = st.file_uploader(
            "Result files",
            accept_multiple_files=True,
            key="results",
            max_upload_size=MOST_UPLOAD_MEGABYTES,
            help="Raw samples (one row a request) or summaries (one row a benchmark), as CSV, Parquet, JSON, JSON lines or "
            "XLSX. `advisor benchmarks template` writes a template. They stay in this session.",
        )
        published = st.toggle(
            "Beside the published results",
            value=True,
            key="with_published",
            help="Off: only your own results are ranked.",
            bind="query-params",
        )
        rows = st.file_uploader(
            "Price rows",
            accept_multiple_files=True,
            key="price_rows",
            max_upload_size=MOST_UPLOAD_MEGABYTES,
            help="CSV or XLSX with instance_type, region, purchase_option, price_usd_per_hour, as_of, source. They win over "
            "the packaged prices.",
        )
    return _given(results), _given(rows), published


def _given(files: Any) -> list[Upload]:
    return [Upload(file.name, file.getvalue()) for file in files or []]


def question(facts: Facts) -> dict[str, Any]:
    """Show the controls and return what is asked, as fields for `Workload.ask`."""
    fields: dict[str, Any] = {}
    _served(facts, fields)
    _promise(fields)
    _bought(facts, fields)
    with st.expander("Memory", icon=":material/memory:"):
        _memory(fields)
    with st.expander("Hardware", icon=":material/developer_board:"):
        _hardware(facts, fields)
    with st.expander("Load and evidence", icon=":material/speed:"):
        _load(facts, fields)
    return fields


def _served(facts: Facts, fields: dict[str, Any]) -> None:
    names = _with_asked(offers.models(facts.benchmarks), "model")
    fields["model"] = st.selectbox(
        "Model",
        names,
        index=names.index(EXAMPLE["model"]) if EXAMPLE["model"] in names else 0,
        key="model",
        help="A model that the published results, or your own, hold.",
        bind="query-params",
    )
    lengths = offers.sequence_lengths(facts.benchmarks, fields["model"])
    if lengths:
        usual = EXAMPLE["sequence_length"]
        fields["sequence_length"] = st.selectbox(
            "Sequence length, tokens",
            lengths,
            index=lengths.index(usual) if usual in lengths else 0,
            key="sequence_length",
            help="Latency depends on it: only measurements at this length answer.",
            bind="query-params",
        )
    shapes = offers.input_shapes(facts.benchmarks, fields["model"])
    if shapes:
        fields["input_shape"] = st.selectbox(
            "Input shape", shapes, key="input_shape", help="Shape of one input.", bind="query-params"
        )


def _with_asked(names: list[str], key: str) -> list[str]:
    """Offer what the link asks for too, so that a link made with uploads keeps its question until they are here."""
    asked = st.query_params.get(key)
    return [*names, asked] if asked and asked not in names and "uploads" in st.query_params else names


def _promise(fields: dict[str, Any]) -> None:
    left, right = st.columns(2)
    fields["latency_limit_ms"] = left.number_input(
        "Limit, ms",
        value=float(str(EXAMPLE["latency_limit_ms"])),
        step=1.0,
        format="%g",
        key="latency_limit_ms",
        help="The percentile at the right must be at or under it; equal meets it.",
        bind="query-params",
    )
    fields["percentile"] = right.number_input(
        "Percentile",
        value=_DEFAULT["percentile"],
        step=1.0,
        format="%g",
        key="percentile",
        help="90: nine of ten requests must be answered within the limit.",
        bind="query-params",
    )
    if st.toggle(
        "No latency limit",
        key="no_limit",
        help="Rank by cost alone: the latency step is skipped.",
        bind="query-params",
    ):
        fields["latency_limit_ms"] = None


def _bought(facts: Facts, fields: dict[str, Any]) -> None:
    fields["region"] = st.multiselect(
        "Regions",
        offers.regions(facts.catalogue),
        default=_present(_DEFAULT["region"], offers.regions(facts.catalogue)),
        key="region",
        placeholder='regions, or "all"',
        help='Where it may be bought: regions and local zones, or "all".',
        bind="query-params",
    )
    fields["purchase"] = st.multiselect(
        "Purchase options",
        offers.purchase_options(facts.catalogue),
        default=_present(_DEFAULT["purchase"], offers.purchase_options(facts.catalogue)),
        key="purchase",
        placeholder='purchase options, or "all"',
        help='How it may be bought, or "all". Spot and reserved prices are known for fewer types.',
        bind="query-params",
    )
    fields["objective"] = st.selectbox(
        "Objective",
        get_args(Objective),
        key="objective",
        help="What the ranking minimises among the options that keep every limit: cost of busy time, latency, or cost at the "
        "measured throughput.",
        bind="query-params",
    )


def _present(wanted: tuple[str, ...], names: list[str]) -> list[str]:
    return [name for name in wanted if name in names]


def _memory(fields: dict[str, Any]) -> None:
    size = st.text_input(
        "Model size",
        key="model_size",
        placeholder="not checked; 440MB, 1.3GiB",
        help="MB is 10^6 bytes, MiB is 2^20 bytes. Model and input must fit: a lower bound, real use is often higher.",
        bind="query-params",
    )
    given = st.text_input(
        "Input size", key="input_size", placeholder="0; 4KiB", help="Size of one input.", bind="query-params"
    )
    if size:
        fields["model_size_bytes"] = size
    if given:
        fields["input_size_bytes"] = given
    left, right = st.columns(2)
    for place, name, words, explanation in (
        (left, "copies", "Copies", "Copies of the model on one instance; it changes memory only."),
        (right, "shards", "Shards", "Devices that one copy is split over."),
    ):
        fields[name] = place.number_input(
            words, value=_DEFAULT[name], step=1, key=name, help=explanation, bind="query-params"
        )
    fields["headroom"] = st.number_input(
        "Headroom",
        value=_DEFAULT["headroom"],
        step=0.1,
        format="%g",
        key="headroom",
        help="Factor on the lower bound: 1.3 asks for 30 % more memory than model and input.",
        bind="query-params",
    )
    fields["shared_weights"] = st.toggle(
        "Copies share their weights",
        key="shared_weights",
        help="Several cores of one accelerator can share one set of weights, as Neuron cores can.",
        bind="query-params",
    )


def _hardware(facts: Facts, fields: dict[str, Any]) -> None:
    fields["accelerator_kind"] = st.multiselect(
        "Kinds",
        KINDS,
        key="accelerator_kind",
        placeholder="any",
        help="What serves: CPU, Graviton, GPU, Inferentia, Trainium, or an attached accelerator.",
        bind="query-params",
    )
    fields["arch"] = st.multiselect(
        "CPU architecture",
        ("x86_64", "arm64"),
        key="arch",
        placeholder="any",
        help="Of the host.",
        bind="query-params",
    )
    fields["exclude"] = st.multiselect(
        "Leave out",
        offers.excludable(facts.benchmarks, fields["model"]),
        key="exclude",
        placeholder="nothing",
        help="Instance types or whole families (g5).",
        bind="query-params",
    )
    fields["max_usd_per_hour"] = st.number_input(
        "Ceiling on the price, $ per hour",
        value=None,
        step=0.5,
        format="%g",
        placeholder="none",
        key="max_usd_per_hour",
        help="Of the whole option: host and attached accelerators.",
        bind="query-params",
    )
    fields["include_retired"] = st.toggle(
        "Include retired types",
        key="include_retired",
        help="Rank types that AWS no longer sells too (Elastic Inference, p2, g3, ...).",
        bind="query-params",
    )


def _load(facts: Facts, fields: dict[str, Any]) -> None:
    for name, words in (("batch_size", "Batch size"), ("concurrency", "Concurrency")):
        fields[name] = st.multiselect(
            words,
            offers.counts(facts.benchmarks, fields["model"], name),
            key=name,
            placeholder="any",
            help="Only measurements made with it; empty: any.",
            bind="query-params",
        )
    fields["decide"] = st.selectbox(
        "Recommend what",
        ("measured", "proven"),
        key="decide",
        help="measured: keeps the limit as measured. proven: the data proves that it does, at the confidence below.",
        bind="query-params",
    )
    fields["confidence"] = st.number_input(
        "Confidence",
        value=_DEFAULT["confidence"],
        step=0.01,
        format="%g",
        key="confidence",
        help="Of the intervals and proofs.",
        bind="query-params",
    )
    fields["between_run_sd_fraction"] = st.number_input(
        "Run-to-run spread",
        value=_DEFAULT["between_run_sd_fraction"],
        step=0.01,
        format="%g",
        key="between_run_sd_fraction",
        help="Assumed spread of a mean from run to run where one run only was measured: 0.05 is 5 %.",
        bind="query-params",
    )
    fields["stale_spot"] = st.toggle(
        "Rank stale spot prices",
        key="stale_spot",
        help="Spot prices older than seven days are shown and not ranked, unless this is on.",
        bind="query-params",
    )
