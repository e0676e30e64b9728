"""An advice as bytes: one exporter a format, each imported only when it is called."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from advisor.advice import Advice
from advisor.reports.presentation import PER, Presentation

__all__ = ["EXPORTERS", "PER", "SUFFIXES", "Exporter", "Presentation"]

Exporter = Callable[[Advice, Presentation], bytes]


def _lazy(module: str, function: str) -> Exporter:
    def export(advice: Advice, presentation: Presentation) -> bytes:
        exporter: Exporter = getattr(import_module(f"advisor.reports.{module}"), function)
        return exporter(advice, presentation)

    return export


EXPORTERS: Final[Mapping[str, Exporter]] = {
    "terminal": _lazy("terminal", "terminal"),
    "json": _lazy("data", "json_bytes"),
    "csv": _lazy("data", "csv_bytes"),
    "markdown": _lazy("markdown", "markdown"),
    "xlsx": _lazy("spreadsheet", "spreadsheet"),
    "html": _lazy("html", "html"),
}
"""Format name -> `(advice, presentation) -> bytes`. The same advice and presentation give the same bytes."""

SUFFIXES: Final[Mapping[str, str]] = {
    ".txt": "terminal",
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".xlsx": "xlsx",
    ".html": "html",
}
"""Suffix of an output file -> the format that it stands for."""
