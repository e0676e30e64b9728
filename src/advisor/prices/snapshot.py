"""The folder that holds a whole catalogue: `pricing_data/`, and what a refresh writes.

    snapshot.toml       layout_version
    instances.csv       hardware facts                accelerators.csv   attachable accelerators
    on_demand.csv  spot.csv  reserved.csv  savings_plans.csv  other.csv  prices, by how they are bought
    locations.csv       names of the regions          sources.csv        what the source ids stand for

Every CSV is UTF-8 with a header line and is sorted by the table's key. A column that is left out has its default: unknown
for a number, empty for text, and in a price file the values of `PRICE_DEFAULTS`. Read with everything that is not a number
as text, so that no id or zone turns into something else.
"""

import csv
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import pandas as pd
import pandera.pandas as pa
from pandera.typing.pandas import DataFrame

from advisor.errors import PricesError
from advisor.tables import PRICE_KEY, Accelerators, Catalogue, Instances, Locations, Prices, Sources
from advisor.text import closest

LAYOUT_VERSION: Final = 1

PRICE_FILES: Final = ("on_demand.csv", "spot.csv", "reserved.csv", "savings_plans.csv", "other.csv")
PRICE_DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    "on_demand.csv": {"purchase_option": "on_demand", "statistic": "list", "currency": "USD"},
    "spot.csv": {"purchase_option": "spot", "currency": "USD"},
    "reserved.csv": {"statistic": "list", "currency": "USD"},
    "savings_plans.csv": {"statistic": "list", "currency": "USD"},
    "other.csv": {"statistic": "list", "currency": "USD"},
}
"""What a price file leaves out when all of its rows have it."""

Model = TypeVar("Model", bound=pa.DataFrameModel)


def is_snapshot(folder: Path) -> bool:
    """Tell whether a folder holds a whole snapshot, and not only some of its files."""
    return (folder / "snapshot.toml").is_file()


def read(folder: Path, *, origin: str = "") -> Catalogue:
    """Read the catalogue of a snapshot folder.

    Args:
        folder: a folder of this layout with at least one price file; the other tables may be absent (then they are empty).
        origin: what to call it in a report.

    Raises:
        PricesError: the folder has no price file, is of a newer layout, or a file cannot be read.
    """
    _check_version(folder)
    found = [name for name in PRICE_FILES if (folder / name).is_file()]
    if not found:
        raise PricesError(f"{folder}: no price file here (expected one of {', '.join(PRICE_FILES)})")
    parts = [_table(folder / name, Prices, PRICE_DEFAULTS[name]) for name in found]
    prices = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    return Catalogue(
        instances=_optional(folder / "instances.csv", Instances),
        accelerators=_optional(folder / "accelerators.csv", Accelerators),
        prices=checked(sort_prices(prices), Prices, str(folder)),
        locations=_optional(folder / "locations.csv", Locations),
        sources=_optional(folder / "sources.csv", Sources),
        origin=(origin,) if origin else (),
    )


def write(catalogue: Catalogue, folder: Path) -> None:
    """Write a catalogue into an existing folder; the same catalogue gives the same bytes.

    Every file is replaced on its own: to replace a snapshot in one step write to a new folder and rename it.
    """
    (folder / "snapshot.toml").write_text(f"layout_version = {LAYOUT_VERSION}\n", encoding="utf-8")
    for name, frame, key in (
        ("instances.csv", catalogue.instances, ["instance_type"]),
        ("accelerators.csv", catalogue.accelerators, ["accelerator_type"]),
        ("locations.csv", catalogue.locations, ["region"]),
        ("sources.csv", catalogue.sources, ["source"]),
    ):
        _write_csv(frame.sort_values(key), folder / name)
    prices = sort_prices(catalogue.prices)
    files = prices["purchase_option"].map(price_file)
    for name in PRICE_FILES:
        rows = prices[files == name]
        if rows.empty:
            (folder / name).unlink(missing_ok=True)
            continue
        kept = [
            c
            for c in rows.columns
            if (rows[c] != PRICE_DEFAULTS[name].get(c, "")).any() and rows[c].notna().any()
        ]
        _write_csv(rows[kept], folder / name)


def price_file(purchase_option: str) -> str:
    """Return the file in which rows of a purchase option are kept."""
    if purchase_option in {"on_demand", "spot"}:
        return f"{purchase_option}.csv"
    if purchase_option.startswith("reserved_"):
        return "reserved.csv"
    return "savings_plans.csv" if "savings_plan" in purchase_option else "other.csv"


def sort_prices(prices: pd.DataFrame) -> pd.DataFrame:
    """Sort price rows by `PRICE_KEY` and label them 0 .. n-1."""
    return prices.sort_values(list(PRICE_KEY), ignore_index=True)


def checked(frame: pd.DataFrame, model: type[Model], where: str) -> DataFrame[Model]:
    """Validate a frame once, with its columns in the order of the model.

    Raises:
        PricesError: a column is missing or a value is out of bounds; names the first one.
    """
    columns = list(model.to_schema().columns)
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise PricesError(f"{where}: the column {missing[0]} is missing")
    try:
        return DataFrame[model](frame[columns])  # type: ignore[valid-type]
    except pa.errors.SchemaError as error:
        cases = error.failure_cases
        value = (
            f" ({cases['failure_case'].iloc[0]})" if isinstance(cases, pd.DataFrame) and len(cases) else ""
        )
        column = getattr(error.schema, "name", None) or "a column"
        raise PricesError(f"{where}: {column} does not satisfy {error.check}{value}") from None


def _check_version(folder: Path) -> None:
    if not folder.is_dir():
        raise PricesError(f"{folder}: no such folder")
    if not is_snapshot(folder):
        return
    try:
        found = tomllib.loads((folder / "snapshot.toml").read_text(encoding="utf-8")).get("layout_version")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PricesError(f"{folder / 'snapshot.toml'}: cannot be read ({error})") from None
    if found != LAYOUT_VERSION:
        raise PricesError(
            f"{folder / 'snapshot.toml'}: layout_version {found} is not the one this version reads "
            f"({LAYOUT_VERSION}): install a newer version"
        )


def _optional(path: Path, model: type[Model]) -> DataFrame[Model]:
    if path.is_file():
        return checked(_table(path, model, {}), model, str(path))
    return checked(pd.DataFrame(columns=list(model.to_schema().columns)), model, str(path))


def _table(path: Path, model: type[pa.DataFrameModel], defaults: Mapping[str, str]) -> pd.DataFrame:
    """Read one CSV with the model's column types; columns that are left out get their default."""
    types = {name: str(column.dtype) for name, column in model.to_schema().columns.items()}
    numbers = {name for name, kind in types.items() if kind in {"float64", "Int64"}}
    try:
        frame = pd.read_csv(
            path,
            dtype={name: kind if name in numbers else "str" for name, kind in types.items()},
            keep_default_na=False,
            na_values={name: [""] for name in numbers},
            encoding="utf-8",
        )
    except (ValueError, OSError) as error:  # pandas' parser and number errors are ValueErrors
        raise PricesError(f"{path}: cannot be read ({' '.join(str(error).split())})") from None
    for name in frame.columns:
        if name not in types:
            raise PricesError(f"{path}: unknown column {name}{closest(str(name), types)}")
    for name, kind in types.items():
        if name not in frame.columns:
            absent = [float("nan") if name in numbers else defaults.get(name, "")] * len(frame)
            frame[name] = pd.Series(absent, index=frame.index, dtype=kind if name in numbers else "str")
    return frame


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    columns = [_texts(frame[name]) for name in frame.columns]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(frame.columns)
        writer.writerows(zip(*columns, strict=True))


def _texts(values: "pd.Series[Any]") -> Iterator[str]:
    """Write numbers with every digit that is needed to read the same number again, and no others."""
    if pd.api.types.is_float_dtype(values.dtype):
        return ("" if pd.isna(v) else repr(float(v)).removesuffix(".0") for v in values)
    return ("" if pd.isna(v) else str(v) for v in values)
