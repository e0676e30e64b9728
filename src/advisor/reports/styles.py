"""How the cells of the workbook look."""

from dataclasses import dataclass
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format


@dataclass(frozen=True)
class Styles:
    """One format a kind of cell."""

    heading: Format
    title: Format
    wrapped: Format
    entry: Format
    entry_count: Format
    money: Format
    dollars: Format
    price: Format
    milliseconds: Format
    share: Format
    chance: Format
    count: Format
    text: Format
    faint: Format


def styles(book: Workbook) -> Styles:
    """Add the formats to a workbook."""

    def made(**properties: Any) -> Format:
        return book.add_format({"valign": "top", **properties})

    entry = {"bg_color": "#FFF2CC", "border": 1, "border_color": "#BF9000"}
    return Styles(
        heading=made(bold=True, text_wrap=True, bg_color="#DDE6F0", bottom=1, valign="vcenter"),
        title=made(bold=True, font_size=13, text_wrap=True),
        wrapped=made(text_wrap=True, indent=1, align="left"),
        entry=made(num_format="0.0000######", **entry),
        entry_count=made(num_format="#,##0", **entry),
        money=made(num_format="#,##0.000##"),
        dollars=made(num_format="#,##0.00"),
        price=made(num_format="0.0000"),
        milliseconds=made(num_format="#,##0.00"),
        share=made(num_format="0.00%"),
        chance=made(num_format='[<=0.005]"<1%";[>=0.995]">99%";0%', align="right"),
        count=made(num_format="#,##0"),
        text=made(indent=1, align="left"),
        faint=made(font_color="#808080"),
    )
