"""Text that came from outside, made safe to keep and to show."""

import difflib
import re
from collections.abc import Iterable
from typing import Final

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SECRETS: Final = (
    (re.compile(r"\barn:aws[a-z-]*:[^\s,;\"']*"), "[arn]"),
    (re.compile(r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b"), "[key]"),
    (re.compile(r"\b(?:hf|sk|ghp|gho|xox[abp])[_-][A-Za-z0-9_-]{16,}"), "[token]"),
    (re.compile(r"(?<![\d.])\d{12}(?![\d.])"), "[account]"),
)
_FORMULA_START: Final = ("=", "+", "-", "@", "\t", "\r")


def clean(text: str) -> str:
    """Remove control and bidirectional-override characters; scrub ARNs, access keys, tokens and account ids."""
    text = _CONTROL.sub("", text)
    for pattern, label in _SECRETS:
        text = pattern.sub(label, text)
    return text


def printable(text: object) -> str:
    """Remove what could move a cursor or reorder a line in a terminal or a page."""
    return _CONTROL.sub("", str(text))


def inert_cell(text: object) -> str:
    """Return text that a spreadsheet shows as text: a leading formula sign gets an apostrophe before it."""
    shown = printable(text)
    return f"'{shown}" if shown.startswith(_FORMULA_START) else shown


def closest(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for the nearest known name, or nothing where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""
