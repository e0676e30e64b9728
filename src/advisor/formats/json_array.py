"""JSON: an array of objects, or an object whose `rows` is one."""

import json
import re
from collections.abc import Collection
from typing import Any, Final

from advisor.errors import InputError
from advisor.formats import columns
from advisor.formats.json_lines import HEADER, blocks, loads
from advisor.formats.rows import Rows
from advisor.formats.source import Source, encoding_of
from advisor.formats.table import Table, read_table

_OBJECT: Final = re.compile(r'\{\s*("advisor_result"\s*:\s*\d+\s*,\s*)?"rows"\s*:')


def recognises(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Tell whether the text starts with an array, or with an object that holds `rows`."""
    text = head.decode(encoding_of(head), "ignore").lstrip()
    return text.startswith("[") or _OBJECT.match(text) is not None


def read(source: Source, known_types: Collection[str] | None = None) -> Rows:
    """Read a JSON file of raw samples or summaries; it is held in memory as a whole.

    Raises:
        InputError: what cannot be read, with file and row (from 1).
    """
    with source.open() as stream:
        data = stream.read()
    try:
        found = loads(data.decode(encoding_of(data)))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source.name}: byte {error.start} is no text in this encoding: save the file as UTF-8"
        ) from None
    except json.JSONDecodeError as error:
        where = (
            "cut off"
            if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
            else "no JSON"
        )
        raise InputError(f"{source.name} line {error.lineno}: {where}: {error.msg}") from None
    except ValueError as error:
        raise InputError(f"{source.name}: {error}") from None
    rows = _rows(source, found)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError(f"{source.name} row {number}: is no object ({{...}})")
    return read_table(Table(source.name, blocks(source.name, "row", enumerate(rows, start=1))), known_types)


def _rows(source: Source, found: Any) -> list[Any]:
    rows = found
    if isinstance(found, dict):
        version = found.get(HEADER, columns.VERSION)
        if version != columns.VERSION:
            raise InputError(f"{source.name}: is of version {version}, this advisor reads {columns.VERSION}")
        rows = found.get("rows")
    if not isinstance(rows, list):
        raise InputError(f"{source.name}: holds no array of rows")
    return rows
