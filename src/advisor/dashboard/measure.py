"""The *measure here* view: times a small model on the machine that serves this page, with live progress."""

from threading import Lock

import streamlit as st

from advisor.bench import demo
from advisor.bench.ledger import Progress
from advisor.dashboard.elements import draw, table
from advisor.dashboard.words import plain
from advisor.reports import charts, frames
from advisor.reports.presentation import milliseconds


@st.cache_resource
def _one_at_a_time() -> Lock:
    """Two measurements at once would disturb each other."""
    return Lock()


def measure_here(dark: bool) -> None:
    """Offer the demonstration, run it when asked, show this machine beside the published results."""
    st.markdown(
        "Times a small transformer (DistilBERT's arithmetic in numpy, random weights, 16 tokens) on **the machine that serves "
        "this page**, for at most ten seconds, and sets it beside the published results. Nothing else can be run from here; "
        "`advisor bench run` measures your own model."
    )
    price = st.number_input(
        "What this machine costs, $ per hour",
        value=None,
        min_value=0.0001,
        step=0.1,
        format="%g",
        placeholder="unknown: measured, not ranked",
        key="demo_usd_per_hour",
        help="With a price it can be ranked.",
    )
    if st.button("Measure", type="primary", icon=":material/timer:", key="measure"):
        lock = _one_at_a_time()
        if not lock.acquire(blocking=False):
            st.warning("A measurement is going on in another session: try again in ten seconds.")
            return
        try:
            with st.status("Measuring ...", expanded=True) as status:
                line = st.container(key="progress").empty()

                def show(progress: Progress) -> None:
                    line.markdown(_line(progress))

                st.session_state["demo"] = demo(show, usd_per_hour=price)
                status.update(label="Measured", state="complete", expanded=False)
        finally:
            lock.release()
    found = st.session_state.get("demo")
    if found is None:
        return
    st.markdown(f"##### {plain(found.advice.headline)}")
    if not found.priced:
        st.info("Without a price this machine is shown among the rejected; state one above to rank it.")
    draw(charts.cost_and_latency(found.advice, dark=dark), "chart_demo")
    table(frames.ranked(found.advice), "demo_ranked", "Nothing qualifies.")
    table(frames.rejected(found.advice), "demo_rejected", "Nothing was rejected.")


def _line(progress: Progress) -> str:
    said = [f"{progress.request_count:,} requests"]
    said += [
        f"P{percentile:g} {milliseconds(estimate.point)} ms"
        for percentile, estimate in progress.percentiles_ms.items()
    ]
    if progress.verdict:
        said.append(progress.verdict)
    return plain(", ".join(said))
