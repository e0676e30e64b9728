"""The views below the answer; each is one function of the facts and the answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import streamlit as st

from advisor.advice import Advice
from advisor.dashboard import sources
from advisor.dashboard.elements import draw, table
from advisor.dashboard.measure import measure_here
from advisor.dashboard.sources import Facts
from advisor.dashboard.words import plain
from advisor.errors import AdvisorError
from advisor.reports import charts, frames, pairs
from advisor.reports.comparison import headline


@dataclass(frozen=True)
class Shown:
    """What a view is made of."""

    facts: Facts
    advice: Advice
    dark: bool


def _section(name: str) -> None:
    st.markdown(f"##### {name}")


def cost_and_latency(shown: Shown) -> None:
    """Cost per 100,000 inferences as bars, the asked percentile against the limit beside them."""
    draw(charts.cost_and_latency(shown.advice, dark=shown.dark), "chart_cost")
    table(
        frames.ranked(shown.advice),
        "table_ranked",
        "Nothing qualifies: the rejected options are in the data view.",
    )


def tradeoff(shown: Shown) -> None:
    """Latency against cost, with the front."""
    draw(charts.tradeoff(shown.advice, dark=shown.dark), "chart_tradeoff")


def distributions(shown: Shown) -> None:
    """How the measured latencies are spread, and how they move during a run."""
    names = charts.candidates(shown.advice)
    if not names:
        st.info("No option of this answer was measured.", icon=":material/info:")
        return
    chosen = st.multiselect(
        "Options to draw",
        names,
        default=charts.chosen_first(shown.advice),
        max_selections=charts.MOST_SERIES,
        key="drawn",
        help="At most six, so that the curves can be told apart.",
    )
    found = charts.measured(shown.advice, shown.facts.benchmarks, chosen)
    draw(charts.distributions(shown.advice, found, dark=shown.dark), "chart_distributions")
    _section("During a run")
    draw(charts.over_time(shown.advice, found, dark=shown.dark), "chart_over_time")


def sensitivity(shown: Shown) -> None:
    """The recommended option as the limit moves, and as a price moves."""
    _section("As the limit moves")
    draw(charts.limit_sensitivity(shown.advice, dark=shown.dark), "chart_limit")
    _section("As a price moves")
    draw(charts.price_sensitivity(shown.advice, dark=shown.dark), "chart_price")


def memory(shown: Shown) -> None:
    """What must fit against what there is."""
    draw(charts.memory(shown.advice, dark=shown.dark), "chart_memory")


def places(shown: Shown) -> None:
    """One option in every region and under every purchase option."""
    names = charts.options(shown.advice)
    if not names:
        st.info("No option of this answer was measured.", icon=":material/info:")
        return
    option = st.selectbox(
        "Option",
        names,
        key="place_option",
        help="The option whose cost is shown everywhere.",
        bind="query-params",
    )
    everywhere = shown.advice.question.model_copy(update={"region": ("all",), "purchase": ("all",)})
    draw(charts.places(sources.answer(shown.facts, everywhere), option, dark=shown.dark), "chart_places")


def compare(shown: Shown) -> None:
    """A candidate beside a baseline."""
    there = pairs.named(shown.facts.benchmarks, shown.advice.question)
    if len(there) < 2:
        st.info(
            "One measurement only of this model and input: there is nothing to compare it with.",
            icon=":material/info:",
        )
        return
    names = list(there)
    best = shown.advice.recommended
    wanted = best.option if best is not None and best.option in names else names[-1]
    left, right = st.columns(2)
    baseline = left.selectbox(
        "Baseline",
        names,
        index=names.index(next(name for name in names if name != wanted)),
        key="baseline",
        help="What is there.",
        bind="query-params",
    )
    candidate = right.selectbox(
        "Candidate",
        names,
        index=names.index(wanted),
        key="candidate",
        help="What would replace it.",
        bind="query-params",
    )
    found = pairs.compared(
        shown.facts.catalogue,
        shown.advice.question,
        (baseline, there[baseline]),
        (candidate, there[candidate]),
    )
    st.markdown(f"##### {plain(headline(found))}")
    draw(charts.changes(found, dark=shown.dark), "chart_changes")
    table(charts.changes_table(found), "table_changes", "Nothing to compare.")
    for note in found.notes:
        st.caption(plain(note))


def measure(shown: Shown) -> None:
    """Time a small model on this machine."""
    measure_here(shown.dark)


def data(shown: Shown) -> None:
    """The rows behind every number."""
    words = st.text_input(
        "Filter rows",
        key="filter",
        placeholder="every word must occur: g5 spot",
        help="Of all tables of this view.",
        bind="query-params",
    )
    advice = shown.advice
    for heading, rows, key, empty in (
        ("Ranked", frames.ranked(advice), "rows_ranked", "Nothing qualifies."),
        ("Rejected, with the reason", frames.rejected(advice), "rows_rejected", "Nothing was rejected."),
        (
            "Measurements",
            frames.measurements(advice, shown.facts.benchmarks),
            "rows_measured",
            "No measurement.",
        ),
        ("Prices", frames.prices(advice, shown.facts.catalogue), "rows_prices", "No price."),
        ("Sources and age", frames.sources(advice), "rows_sources", "No source."),
    ):
        _section(heading)
        table(frames.matching(rows, words or ""), key, empty)
    _section("Unmeasured")
    st.markdown(plain(frames.unmeasured(advice)))


VIEWS: Final[dict[str, Callable[[Shown], None]]] = {
    "Cost and latency": cost_and_latency,
    "Trade-off": tradeoff,
    "Distributions": distributions,
    "Sensitivity": sensitivity,
    "Memory": memory,
    "Regions": places,
    "Compare": compare,
    "Data": data,
    "Measure here": measure,
}
"""What the view is called on the page and in the URL -> what shows it."""


def show(name: str, shown: Shown) -> None:
    """Show one view; what it cannot answer is one line."""
    try:
        VIEWS[name](shown)
    except AdvisorError as error:
        st.error(plain(error))
