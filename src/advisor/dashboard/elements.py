"""How a chart and a table stand on the page, in every view alike."""

from typing import Any

import streamlit as st

from advisor.dashboard.words import plain
from advisor.reports import frames
from advisor.reports.charts import Figure


def draw(figure: Figure, key: str) -> None:
    """Show a chart with its caption, or say why there is none."""
    if not figure.panels:
        st.info(plain(figure.caption), icon=":material/info:")
        return
    places = st.columns(list(figure.weights), gap="small") if len(figure.panels) > 1 else [st.container()]
    for at, (place, panel) in enumerate(zip(places, figure.panels, strict=True)):
        box = place.container(key=f"{key}_{at}")
        box.altair_chart(panel, width="stretch", theme=None, key=f"{key}_{at}_drawn", alt=figure.alt)
    st.caption(plain(figure.caption))


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
