"""A user's own price rows: one CSV or XLSX file, checked cell by cell, every error with its row."""

import csv
import gzip
import io
import math
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import pandas as pd
from pandera.typing.pandas import DataFrame

from advisor.errors import InputError
from advisor.prices import snapshot
from advisor.tables import PRICE_KEY, Prices
from advisor.text import clean, closest

REQUIRED: Final = ("instance_type", "region", "purchase_option", "price_usd_per_hour", "as_of", "source")
COLUMNS: Final = tuple(Prices.to_schema().columns)
MAX_EXPANDED_BYTES: Final = 256 * 2**20
UNKNOWN: Final = frozenset({"", "N/A", "-"})

_PURCHASE_OPTION: Final = re.compile(
    r"on_demand|spot|capacity_block|custom|reserved_[13]yr_\w+|\w+_savings_plan_[13]yr_\w+"
)
_PURCHASE_OPTIONS: Final = (
    "on_demand", "spot", "capacity_block", "custom",
    *(f"reserved_{y}yr_{c}{p}_upfront" for y in (1, 3) for c in ("", "convertible_") for p in ("no", "partial", "all")),
    *(f"{k}_savings_plan_{y}yr_{p}_upfront" for k in ("compute", "ec2_instance") for y in (1, 3)
      for p in ("no", "partial", "all")),
)  # fmt: skip
_PLAIN: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GROUPED: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+|[+-]?\d{1,3}(,\d{3}){2,}")

Row = tuple[int, dict[str, str]]
"""The row's number in its file, and its cells by column."""


def read_rows(path: str | Path, *, regions: Collection[str] | None = None) -> DataFrame[Prices]:
    """Read a user's own price rows.

    Columns: `instance_type` (or an attachable accelerator type), `region`, `purchase_option`, `price_usd_per_hour`, `as_of`
    (ISO date), `source`; optional `currency` (the price is then in that currency), `statistic`, `zone`, `upfront_usd`,
    `months`, `note`, `price_local_per_hour`. Empty, `N/A` and `-` mean unknown. Text files may be separated by commas,
    semicolons (with decimal commas or points) or tabs, be UTF-8 or UTF-16 with a byte order mark, and be compressed with
    gzip or zstd. Of a workbook the first sheet is read.

    Args:
        path: the file.
        regions: the region codes that exist; None: not checked. Rows of `custom` prices may have any.

    Raises:
        InputError: one line that names the file and the row.
    """
    path = Path(path)
    rows, comma = _rows(path)
    decimal_comma = comma and any(
        re.search(r",\d{1,2}$|,\d{4,}$|^0,\d+$", cells.get(name, ""))
        for _, cells in rows
        for name in ("price_usd_per_hour", "price_local_per_hour", "upfront_usd")
    )
    found = [_Cells(path, number, cells, decimal_comma).price(regions) for number, cells in rows]
    _refuse_duplicates(path, [number for number, _ in rows], found)
    frame = pd.DataFrame(found, columns=list(COLUMNS))
    return snapshot.checked(snapshot.sort_prices(frame), Prices, str(path))


class _Cells:
    """The cells of one row, read one by one; every error names the file, the row and the column."""

    def __init__(self, path: Path, number: int, cells: dict[str, str], decimal_comma: bool) -> None:
        self.path, self.row, self.cells, self.decimal_comma = path, number, cells, decimal_comma

    def price(self, regions: Collection[str] | None) -> dict[str, Any]:
        option = self.text("purchase_option")
        if not _PURCHASE_OPTION.fullmatch(option):
            raise self.error("purchase_option", f"{option!r} is none{closest(option, _PURCHASE_OPTIONS)}")
        region = self.text("region")
        if regions is not None and option != "custom" and region not in regions:
            raise self.error("region", f"AWS has no region {region!r}{closest(region, regions)}")
        currency = self.cells.get("currency", "") or "USD"
        if not re.fullmatch("[A-Z]{3}", currency):
            raise self.error("currency", f"{currency!r} is no currency code like USD or CNY")
        usd, local = self.number("price_usd_per_hour"), self.number("price_local_per_hour")
        if currency != "USD" and math.isnan(local):
            usd, local = math.nan, usd
        months = self.number("months", zero=True)
        if not math.isnan(months) and months != int(months):
            raise self.error("months", f"{months:g} is not a whole number")
        return {
            "instance_type": self.text("instance_type"),
            "region": region,
            "purchase_option": option,
            "statistic": self.cells.get("statistic", "") or ("stated" if option == "spot" else "list"),
            "zone": self.cells.get("zone", ""),
            "currency": currency,
            "price_usd_per_hour": usd,
            "price_local_per_hour": local,
            "upfront_usd": self.number("upfront_usd", zero=True),
            "months": None if math.isnan(months) else int(months),
            "as_of": self.day("as_of"),
            "source": self.text("source"),
            "note": self.cells.get("note", ""),
        }

    def error(self, column: str, what: str) -> InputError:
        return InputError(f"{self.path}: row {self.row}, {column}: {what}")

    def text(self, column: str) -> str:
        text = self.cells.get(column, "")
        if not text:
            raise self.error(column, "is empty")
        return text

    def day(self, column: str) -> str:
        text = self.text(column)
        try:
            return date.fromisoformat(text if len(text) == len("2026-11-29") else "").isoformat()
        except ValueError:
            raise self.error(column, f"{text!r} is not a date like 2026-11-29") from None

    def number(self, column: str, *, zero: bool = False) -> float:
        text = self.cells.get(column, "")
        if text in UNKNOWN:
            return math.nan
        value = self._reading(column, text)
        if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
            raise self.error(
                column, f"{text} is not a number above 0" if not zero else f"{text} is not 0 or above"
            )
        if value and not 1e-9 <= value <= 1e12:  # costs and their ratios stay finite
            raise self.error(column, f"{text} is too {'large' if value > 1 else 'small'} for a price")
        return value

    def _reading(self, column: str, text: str) -> float:
        if self.decimal_comma:
            if re.fullmatch(r"[+-]?\d{1,3}\.\d{3}", text):
                raise self.error(column, f"{text!r} can be read in two ways: write it without separators")
            if re.fullmatch(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+", text):
                text = text.replace(".", "").replace(",", ".")
        elif _GROUPED.fullmatch(text):
            text = text.replace(",", "")
        elif re.fullmatch(r"[+-]?\d+,\d+", text):
            raise self.error(column, f"{text!r} can be read in two ways: write it with a decimal point")
        if not _PLAIN.fullmatch(text):
            raise self.error(column, f"{text!r} is not a number")
        return float(text)


def _refuse_duplicates(path: Path, numbers: list[int], rows: list[dict[str, Any]]) -> None:
    first: dict[tuple[Any, ...], int] = {}
    for number, row in zip(numbers, rows, strict=True):
        key = tuple(row[name] for name in PRICE_KEY)
        if key in first:
            name = " ".join(part for part in key if part)
            raise InputError(f"{path}: row {number} prices {name} again (first in row {first[key]})")
        first[key] = number


def _rows(path: Path) -> tuple[list[Row], bool]:
    """Return the rows, and whether commas may be decimal (the file is not separated by them)."""
    data = _content(path)
    if data.startswith(b"PK\x03\x04"):
        return list(_named(path, _sheet(path, data))), False
    text = _decoded(path, data)
    head = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key=head.count)
    return list(_named(path, _lines(path, text, delimiter))), delimiter != ","


def _named(path: Path, table: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    header: list[str] = []
    count = 0
    for number, raw in table:
        cells = [clean(cell).strip() for cell in raw]
        if not any(cells):
            continue
        if not header:
            header = _header(path, cells)
        elif len(cells) != len(header):
            raise InputError(
                f"{path}: row {number} has {len(cells)} cells where the header has {len(header)}: is the file cut off?"
            )
        else:
            count += 1
            yield number, dict(zip(header, cells, strict=True))
    if not header:
        raise InputError(f"{path}: the file is empty")
    if not count:
        raise InputError(f"{path}: no price row after the header")


def _header(path: Path, names: list[str]) -> list[str]:
    while names and not names[-1]:
        names.pop()
    for name in names:
        if name not in COLUMNS:
            raise InputError(
                f"{path}: unknown column {name!r}{closest(name, COLUMNS)}; known: {', '.join(COLUMNS)}"
            )
        if names.count(name) > 1:
            raise InputError(f"{path}: the column {name} is there twice")
    for name in REQUIRED:
        if name not in names:
            raise InputError(f"{path}: the column {name} is missing (needed: {', '.join(REQUIRED)})")
    return names


def _lines(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"{path}: row {line} cannot be read ({error}): is the file cut off?") from None
        yield line, cells
        line = reader.line_num + 1


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror})") from None
    try:
        if data.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(MAX_EXPANDED_BYTES + 1)
        elif data.startswith(b"\x28\xb5\x2f\xfd"):
            import zstandard

            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as file:
                data = file.read(MAX_EXPANDED_BYTES + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError(f"{path}: cannot be expanded ({error}): is the file cut off?") from None
    if len(data) > MAX_EXPANDED_BYTES:
        raise InputError(f"{path}: more than {MAX_EXPANDED_BYTES // 2**20} MiB of price rows: split the file")
    return data


def _decoded(path: Path, data: bytes) -> str:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}: row {row} is not {encoding[:6].rstrip('-').upper()} text: save the file as UTF-8"
        ) from None


def _sheet(path: Path, data: bytes) -> Iterator[tuple[int, list[str]]]:
    import openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(item.file_size for item in archive.infolist()) > MAX_EXPANDED_BYTES:
                raise InputError(
                    f"{path}: more than {MAX_EXPANDED_BYTES // 2**20} MiB when expanded: split the workbook"
                )
        stored = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        formulas = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise InputError(f"{path}: is not a workbook that can be read ({error})") from None
    sheets = stored.worksheets[0].iter_rows(), formulas.worksheets[0].iter_rows()
    for number, (values, originals) in enumerate(zip(*sheets, strict=True), start=1):
        for value, original in zip(values, originals, strict=True):
            if value.value is None and original.value is not None:
                raise InputError(
                    f"{path}: row {number} holds a formula without a stored result: open the workbook, save it and try again"
                )
        yield number, [_cell(value.value) for value in values]


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat()
    return "" if value is None else str(value)
