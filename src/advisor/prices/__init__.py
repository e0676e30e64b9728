"""Prices and hardware facts: what is committed, what was refreshed, and what the user gives."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from advisor.prices.catalogue import load, packaged
    from advisor.prices.rows import read_rows

_WHERE: Final = {
    "load": "advisor.prices.catalogue",
    "packaged": "advisor.prices.catalogue",
    "read_rows": "advisor.prices.rows",
    "SOURCES": "advisor.prices.sources",
}

__all__ = ["SOURCES", "load", "packaged", "read_rows"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
