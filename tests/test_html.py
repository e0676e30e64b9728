"""The HTML report: self-contained, escaped, complete, printable."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from advisor.advice import Advice
from advisor.reports import EXPORTERS, Presentation
from advisor.text import printable
from tests import answers

ATTACK = '</text></svg><script>alert(1)</script>"><img src=x onerror=alert(1)><!-- {{ 7 * 7 }} {% raw %} =cmd() &amp;'


class Page(HTMLParser):
    """Collects what a browser would see: tags, attributes, text."""

    def __init__(self, content: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.cells: list[str] = []
        self._inside: list[str] = []
        self.feed(content.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._inside.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._inside:
            self.text += data
        if "td" in self._inside:
            self.cells[-1] += data


def page(advice: Advice, **shown: int) -> Page:
    return Page(EXPORTERS["html"](advice, Presentation(**shown)))  # type: ignore[arg-type]


def attacked() -> Advice:
    """An answer in which every text that a user can supply is an attack."""
    advice = answers.default()
    texts = ["option", "backend", "software", "precision", "source", "note", "region", "model", "input_shape"]
    table = advice.ranked.assign(**dict.fromkeys(texts, ATTACK))
    lost = advice.rejected.assign(**dict.fromkeys([*texts, "reason"], ATTACK))
    assert advice.recommended is not None
    return replace(
        advice,
        headline=f"{ATTACK} serves {ATTACK}",
        question=advice.question.model_copy(update={"model": ATTACK}),
        ranked=table,
        rejected=lost,
        recommended=replace(advice.recommended, option=ATTACK, region=ATTACK),
        switches=tuple(replace(switch, option=ATTACK) for switch in advice.switches),
        notes=tuple(replace(note, text=ATTACK) for note in advice.notes),
        sources=tuple(replace(source, description=ATTACK) for source in advice.sources),
        origin=(ATTACK,),
        unmeasured=(ATTACK,),
    )


@pytest.mark.parametrize("name", list(answers.ALL))
def test_a_report_asks_nothing_of_the_network_and_runs_nothing(name: str) -> None:
    content = EXPORTERS["html"](answers.ALL[name](), Presentation())
    seen = Page(content)
    assert "default-src 'none'" in dict(seen.attributes)["content"] or b"default-src 'none'" in content
    assert not {"script", "link", "iframe", "object", "embed", "base", "form", "img", "image", "use"} & set(
        seen.tags
    )
    loads = [
        (name, value)
        for name, value in seen.attributes
        if name in ("src", "href", "xlink:href", "srcset", "action")
    ]
    assert loads == []
    assert [name for name, _ in seen.attributes if name.startswith("on")] == []
    assert b"@import" not in content
    assert not re.search(rb"url\((?!#)", content.replace(b"url(&quot;#", b"url(#"))


@pytest.mark.parametrize("name", list(answers.ALL))
def test_the_same_answer_gives_the_same_bytes(name: str) -> None:
    advice = answers.ALL[name]()
    assert EXPORTERS["html"](advice, Presentation()) == EXPORTERS["html"](advice, Presentation())


def test_text_from_outside_is_shown_and_cannot_become_markup() -> None:
    content = EXPORTERS["html"](attacked(), Presentation())
    seen = Page(content)
    assert not {"script", "img"} & set(seen.tags)
    assert seen.tags.count("html") == seen.tags.count("body") == 1
    assert printable(ATTACK) in seen.text
    assert "{{ 7 * 7 }}" in seen.text
    assert any(ATTACK in cell for cell in seen.cells)
    assert b"<script" not in content
    assert b"<img" not in content


def test_control_and_direction_characters_are_gone() -> None:
    content = EXPORTERS["html"](answers.hostile(), Presentation()).decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", content)


def test_a_report_holds_the_sentence_the_figures_the_tables_the_reasons_and_the_sources() -> None:
    advice = answers.default()
    seen = page(advice)
    for said in (
        advice.headline,
        "inf2.xlarge",
        "$0.226",
        "almost no request within 15 ms",
        "g5.2xlarge: would win at $0.8194 an hour",
        "prices of 2025-11-03 are 391 days old",
        "price list of a made-up cloud",
        "packaged prices",
        "P90 within 15 ms",
    ):
        assert said in seen.text, said
    assert [cell for cell in seen.cells if "xlarge" in cell][:2] == ["inf2.xlargeneuron", "g5.2xlargepytorch"]


def test_the_charts_stand_inside_the_page_each_with_words_for_who_cannot_see_it() -> None:
    seen = page(answers.default())
    assert seen.tags.count("figure") == 4
    assert seen.tags.count("svg") == 5
    labels = [value for name, value in seen.attributes if name == "aria-label"]
    assert len(labels) == 4
    assert all(labels)


def test_nothing_qualifies_is_a_report_too() -> None:
    advice = answers.nothing()
    seen = page(advice)
    assert advice.headline in seen.text
    assert "nothing keeps every limit" in seen.text


def test_rows_beyond_the_top_are_counted() -> None:
    advice = answers.many()
    seen = page(advice, top=3)
    assert f"{len(advice.ranked) - 3} more passed" in seen.text
    assert sum("u-6tb1" in cell for cell in seen.cells) == 3


def test_a_page_prints_without_cutting_rows_and_charts_in_two() -> None:
    content = EXPORTERS["html"](answers.default(), Presentation()).decode()
    printing = content[content.index("@media print") : content.index("</style>")]
    assert "break-inside: avoid" in printing
    assert "figure" in printing


def test_costs_are_shown_per_the_asked_number_of_inferences() -> None:
    content = EXPORTERS["html"](answers.default(), Presentation(per="1M"))
    assert "$2.26" in Page(content).text


def test_an_interval_that_a_warm_up_puts_beside_the_figure_is_called_steady() -> None:
    advice = answers.default()
    assert advice.recommended is not None
    for low, high, said in ((0.21, 0.23, "interval $0.210-$0.230"), (0.21, 0.22, "steady $0.210-$0.220")):
        cost = replace(advice.recommended.cost_usd_per_100k, low=low, high=high)
        seen = page(replace(advice, recommended=replace(advice.recommended, cost_usd_per_100k=cost)))
        assert said in seen.text
