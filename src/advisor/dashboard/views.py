"""The views below the answer; each is one function of the facts and the answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from advisor.advice import Advice
from advisor.dashboard import sources
from advisor.dashboard.sources import Facts
from advisor.dashboard.words import plain
from advisor.errors import AdvisorError
from advisor.reports import charts, frames
from advisor.reports.charts import Figure


@dataclass(frozen=True)
class Shown:
    """What a view is made of."""

    facts: Facts
    advice: Advice
    dark: bool


def draw(figure: Figure, key: str) -> None:
    """Show a chart with its caption, or say why there is none."""
    if not figure.panels:
        st.info(plain(figure.caption), icon=":material/info:")
        return
    places = st.columns(list(figure.weights), gap="small") if len(figure.panels) > 1 else [st.container()]
    for at, (place, panel) in enumerate(zip(places, figure.panels, strict=True)):
        place.altair_chart(panel, width="stretch", theme=None, key=f"{key}_{at}", alt=figure.alt)
    st.caption(plain(figure.caption))


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


def table(rows: Any, key: str, empty: str) -> None:
    """Show a table that sorts, filters and downloads; the text in it cannot become a formula."""
    if rows.empty:
        st.caption(empty)
        return
    st.dataframe(rows, hide_index=True, key=key, width="stretch", column_config=_columns(rows))
    left = frames.left_out(rows)
    if left:
        st.caption(left)


def _columns(rows: Any) -> dict[str, Any]:
    return {
        name: st.column_config.NumberColumn(format="percent" if "chance" in name else "%.4g")
        for name in frames.figures(rows)
    }


VIEWS: Final[dict[str, Callable[[Shown], None]]] = {
    "Cost and latency": cost_and_latency,
    "Trade-off": tradeoff,
    "Distributions": distributions,
    "Sensitivity": sensitivity,
    "Memory": memory,
    "Regions and purchase": places,
    "Data": data,
}
"""What the view is called on the page and in the URL -> what shows it."""


def show(name: str, shown: Shown) -> None:
    """Show one view; what it cannot answer is one line."""
    try:
        VIEWS[name](shown)
    except AdvisorError as error:
        st.error(plain(error))
