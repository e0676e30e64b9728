"""What one cell says: numbers with one reading, text made safe, days."""

import math
import re
from datetime import date, datetime
from typing import Final, Literal

from advisor.text import clean, printable

Cell = str | int | float | None
"""A cell as a reader hands it on: text, a number, or nothing."""

LARGEST_COUNT: Final = 2**31 - 1
SUCCESS: Final = frozenset({"", "0", "false", "none", "null"})
"""What an `error` cell says of a request that succeeded."""

_PLAIN: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COMMA_DECIMAL: Final = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_GROUPED_BY_COMMA: Final = re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})", re.ASCII)
_GROUPED_BY_POINT: Final = re.compile(r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})", re.ASCII)
_ONE_GROUP: Final = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
_DIGITS_AND_MARKS: Final = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_ESCAPED: Final = re.compile(r"'+[=+\-@]")
_FORMULA: Final = re.compile(r"'*[=+\-@]")


class Numbers:
    """Reads the numbers of one file, whose decimal mark is fixed (`.`) or learned from its first number.

    A number with two readings is refused: "1,234" or "9,99" between commas; a decimal point in a file that has shown
    a decimal comma.
    """

    def __init__(self, separator: str = ",", mark: Literal[".", ",", ""] = "") -> None:
        self._separator = separator
        self._mark: Literal[".", ",", ""] = "." if separator == "," else mark

    def read(self, cell: Cell) -> float:
        """Return the number in a cell that is not empty.

        Raises:
            ValueError: no number, two readings, or not finite.
        """
        if isinstance(cell, int | float):
            number = float(cell) if -1e300 < cell < 1e300 else math.inf
        else:
            number = self._parse(str(cell).strip())
        if not math.isfinite(number):
            raise ValueError(f"{_shown(cell)} is not finite")
        return number

    def _parse(self, text: str) -> float:
        if _PLAIN.fullmatch(text):
            if "." in text and self._mark != ".":
                self._settle(".", text)
            return float(text)
        if _NOT_FINITE.fullmatch(text):
            return math.inf
        if _GROUPED_BY_COMMA.fullmatch(text):
            self._settle(".", text)
            return float(text.replace(",", ""))
        if self._separator != "," and (_COMMA_DECIMAL.fullmatch(text) or _GROUPED_BY_POINT.fullmatch(text)):
            if self._separator == "\t" and not self._mark and _ONE_GROUP.fullmatch(text):
                raise ValueError(f"{_shown(text)} can be read in two ways: write it without a comma")
            self._settle(",", text)
            return float(text.replace(".", "").replace(",", "."))
        if _DIGITS_AND_MARKS.fullmatch(text):
            raise ValueError(f"{_shown(text)} can be read in two ways: write it as 1234.5")
        raise ValueError(f"{_shown(text)} is not a number (leave it empty where it is not known)")

    def _settle(self, mark: Literal[".", ","], text: str) -> None:
        if self._mark and self._mark != mark:
            other = "point" if self._mark == "." else "comma"
            raise ValueError(
                f"{_shown(text)} can be read in two ways: the numbers before it have a decimal {other}"
            )
        self._mark = mark


def _shown(cell: object) -> str:
    text = printable(cell)
    return f'"{text if len(text) <= 40 else text[:37] + "..."}"'


def as_text(cell: Cell) -> str:
    """Return a cell as text; a whole number loses its `.0`."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        if math.isnan(cell):
            return ""
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    return cell if isinstance(cell, str) else str(cell)


def text(raw: str) -> str:
    """Return text made safe: no control characters, no secrets, no blanks around it.

    Raises:
        ValueError: it holds half a character (a lone surrogate).
    """
    try:
        raw.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character") from None
    return clean(raw).strip()


def scrubbed(raw: str) -> bool:
    """Tell whether `text` takes a secret out of it."""
    return clean(raw) != printable(raw)


def unescape(raw: str) -> str:
    """Undo `escape`."""
    return raw[1:] if _ESCAPED.match(raw) else raw


def escape(value: str) -> str:
    """Return text that a spreadsheet does not take for a formula when it opens a CSV file.

    An apostrophe goes before text that starts with = + - or @ (or with apostrophes before one of these), and
    `unescape` takes exactly that one away.
    """
    return f"'{value}" if _FORMULA.match(value) else value


def count(raw: str) -> int:
    """Return a whole number ("8", "8.0").

    Raises:
        ValueError: not whole, or too large.
    """
    if not _PLAIN.fullmatch(raw.strip()):
        Numbers().read(raw)
        raise ValueError(f"{_shown(raw)} is not a whole number")
    number = float(raw)
    if not number.is_integer():
        raise ValueError(f"{_shown(raw)} is not a whole number")
    if abs(number) > LARGEST_COUNT:
        raise ValueError(f"{_shown(raw)} is too large for a count")
    return int(number)


def day(raw: str) -> str:
    """Return the day of an ISO date or time ("2026-11-29", "2026-11-29T10:00:00Z").

    Raises:
        ValueError: neither.
    """
    if not raw:
        return ""
    try:
        found = datetime.fromisoformat(raw) if len(raw) > 10 else date.fromisoformat(raw)
    except ValueError:
        raise ValueError(f"{_shown(raw)} is not an ISO date like 2026-11-29") from None
    return found.isoformat()[:10]


def one_of(raw: str, allowed: tuple[str, ...]) -> str:
    """Return the text when it is allowed.

    Raises:
        ValueError: it is not.
    """
    if raw not in allowed:
        raise ValueError(f"{_shown(raw)} is none of {', '.join(word for word in allowed if word)}")
    return raw
