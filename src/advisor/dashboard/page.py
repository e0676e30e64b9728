"""The page: controls at the left, the answer first, the views below. Streamlit runs this file from top to bottom."""

from typing import Any, Final

import streamlit as st

from advisor.advice import Advice
from advisor.dashboard import controls, sources, views
from advisor.dashboard.sources import Facts, Upload
from advisor.dashboard.words import plain
from advisor.errors import AdvisorError
from advisor.reports import Presentation
from advisor.reports.keyfigures import asked, key_figures, lead, would_change
from advisor.workload import Workload

_FORMS: Final = {
    "HTML page": ("html", "html", "text/html"),
    "Spreadsheet": ("xlsx", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "CSV": ("csv", "csv", "text/csv"),
    "JSON": ("json", "json", "application/json"),
    "Markdown": ("markdown", "md", "text/markdown"),
}
"""Name on the page -> exporter, suffix, media type."""

_STYLE: Final = """
<style>
.st-key-figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 0.8rem; }
[data-testid="stSidebarHeader"] { height: 2.25rem; margin-bottom: 0; }
@media (max-width: 1000px) { .st-key-answer h3 { font-size: 1.35rem; } }
</style>
"""


def main() -> None:
    """Show the page."""
    st.set_page_config(page_title="Advisor: which EC2 instance should serve this model?", layout="wide")
    st.html(_STYLE)
    try:
        facts = sources.base()
    except AdvisorError as error:
        st.error(plain(error))
        return
    with st.sidebar:
        st.title("Advisor", anchor=False)
        asking, files = st.container(), st.container()
        with files:
            results, price_rows, published = controls.uploads()
        facts, problems = sources.with_uploads(facts, results, price_rows, with_published=published)
        with asking:
            fields = controls.question(facts)
    for problem in problems:
        st.error(plain(problem), icon=":material/error:")
    _name_uploads(results, price_rows)
    try:
        advice = sources.answer(facts, Workload.ask(**fields))
    except AdvisorError as error:
        st.error(plain(error), icon=":material/error:")
        return
    _answer(facts, advice)
    _views(facts, advice)


def _name_uploads(results: list[Upload], price_rows: list[Upload]) -> None:
    """Keep the names of the uploads in the link, and name those that a link was made with and that are not here."""
    here = [upload.name for upload in (*results, *price_rows)]
    linked = st.query_params.get_all("uploads")
    missing = [name for name in linked if name not in here]
    if here and not missing and linked != here:
        st.query_params["uploads"] = here
    if missing and not st.session_state.get("uploads_seen"):
        names = ", ".join(plain(name) for name in missing)
        st.warning(
            f"This link was made with files that are not here: {names}. Add them under *Your own files* to see the same answer.",
            icon=":material/upload_file:",
        )
    elif missing or (linked and not here):
        st.query_params["uploads"] = here
    if here and not missing:
        st.session_state["uploads_seen"] = True


def _answer(facts: Facts, advice: Advice) -> None:
    presentation = Presentation()
    with st.container(key="answer"):
        st.subheader(plain(advice.headline), anchor=False)
        bill = lead(advice)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(plain(bill[0] if bill else asked(advice)))
            _take_away(facts, advice)
        figures = st.container(key="figures")
        for name, figure, more in key_figures(advice, presentation):
            figures.metric(
                plain(name),
                figure,
                delta=more or None,
                delta_color="off",
                delta_arrow="off",
                border=True,
                height="stretch",
            )
        changes = would_change(advice, presentation)
        st.markdown(
            f"**What would change it:** {'; '.join(map(plain, changes)) or 'nothing that was measured'}"
        )
        with st.expander(f"Notes ({len(advice.notes)})", icon=":material/sticky_note_2:"):
            st.markdown(
                "\n".join(f"- {plain(note)}" for note in (*bill[1:], *(note.text for note in advice.notes)))
            )
            st.caption(plain(asked(advice)))


def _views(facts: Facts, advice: Advice) -> None:
    name = st.segmented_control(
        "View",
        list(views.VIEWS),
        default=next(iter(views.VIEWS)),
        required=True,
        key="view",
        label_visibility="collapsed",
        wrap=True,
        bind="query-params",
    )
    dark = st.context.theme.type == "dark"
    views.show(str(name), views.Shown(facts, advice, dark))


def _take_away(facts: Facts, advice: Advice) -> None:
    menu: Any = st.popover("Report", icon=":material/download:", key="take_away", on_change="rerun")
    if not menu.open:
        return
    with menu:
        form = st.radio("Take the report away as", list(_FORMS), key="form")
        exporter, suffix, media = _FORMS[str(form)]
        try:
            content = sources.report(facts, advice, exporter)
        except AdvisorError as error:
            st.error(plain(error))
            return
        st.download_button(
            f"Download {suffix}",
            content,
            file_name=f"advice.{suffix}",
            mime=media,
            key="download",
            type="primary",
            on_click="ignore",
        )


if __name__ == "__main__":
    main()
