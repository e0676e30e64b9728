"""Parquet."""

from collections.abc import Collection, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from advisor.errors import InputError
from advisor.formats import arrow, columns
from advisor.formats.cells import Cell, Numbers
from advisor.formats.json_lines import HEADER, cell
from advisor.formats.rows import Rows
from advisor.formats.runs import VARYING, Misplaced, Runs
from advisor.formats.source import Source
from advisor.formats.table import Block, Table, read_table

_BATCH_ROWS: Final = 2**16
_INDEX: Final = "__index_level_"


def recognises(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Tell by the first four bytes."""
    return head.startswith(b"PAR1")


def read(source: Source, known_types: Collection[str] | None = None) -> Rows:
    """Read a Parquet file of raw samples or summaries.

    Raises:
        InputError: what cannot be read, with file and row (from 1).
    """
    import pyarrow as pa
    from pyarrow import parquet

    with source.seekable() as stream:
        try:
            file = parquet.ParquetFile(stream)
            _refuse_large(source, file)
            version = (file.schema_arrow.metadata or {}).get(HEADER.encode())
            if version is not None and version != str(columns.VERSION).encode():
                shown = version.decode("utf-8", "replace")
                raise InputError(
                    f"{source.name}: is of version {shown}, this advisor reads {columns.VERSION}"
                )
            names = [name for name in file.schema_arrow.names if not name.startswith(_INDEX)]
            rows = _fast(source, file, names, known_types)
            if rows is None:
                rows = read_table(Table(source.name, _blocks(source, file, names)), known_types)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise InputError(f"{source.name}: cut off or damaged: it cannot be read as Parquet") from error
    return rows


def _refuse_large(source: Source, file: Any) -> None:
    """Refuse a file whose own figures say that it expands beyond the limit."""
    groups = file.metadata.num_row_groups
    declared = sum(file.metadata.row_group(at).total_byte_size for at in range(groups))
    if max(declared, 8 * file.metadata.num_rows) > source.max_expanded_bytes:
        raise source.too_large()


def _batches(source: Source, file: Any, names: list[str]) -> Iterator[Any]:
    expanded = 0
    for batch in file.iter_batches(_BATCH_ROWS, columns=names):
        expanded += batch.nbytes
        if expanded > source.max_expanded_bytes:
            raise source.too_large()
        if batch.num_rows:
            yield batch


def _fast(source: Source, file: Any, names: list[str], known_types: Collection[str] | None) -> Rows | None:
    """Read raw samples by column; None where anything is not plain, so that the careful reader has the word."""
    import pyarrow as pa

    runs = Runs()
    try:
        header = columns.header(names, known_types)
        if not columns.is_raw({column.name for column in header}):
            return None
        by_name = {column.name: (column, name) for column, name in zip(header, names, strict=True)}
        if "measured_on" in by_name:
            by_name.pop("started_at", None)
        used = [name for _, name in by_name.values()]
        floats = ("latency_ms", *VARYING)
        wanted = {
            name: pa.float64() if target in floats else pa.string() for target, (_, name) in by_name.items()
        }
        for batch in _batches(source, file, used):
            plain = pa.record_batch({name: _plain(batch.column(name), wanted[name]) for name in used})
            runs.add(arrow.requests(plain, by_name, Numbers(), str))
    except (pa.ArrowException, Misplaced, ValueError):
        return None
    return runs.rows(source.name, "row") if runs.request_count else None


def _plain(column: Any, wanted: Any) -> Any:
    """Return a column of numbers or of texts ("" for nothing).

    Raises:
        ValueError: it holds something else.
    """
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if pa.types.is_string(wanted):
        if not (text or pa.types.is_integer(kind) or pa.types.is_null(kind)):
            raise ValueError("no texts")
        return column.cast(wanted).fill_null("")
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise ValueError("no numbers")
    return column.cast(wanted)


def _blocks(source: Source, file: Any, names: list[str]) -> Iterator[Block]:
    start = 1
    for batch in _batches(source, file, names):
        numbers = range(start, start + batch.num_rows)
        found = [
            [
                _cell(source, name, number, value)
                for number, value in zip(numbers, column.to_pylist(), strict=True)
            ]
            for name, column in zip(names, batch.columns, strict=True)
        ]
        yield Block(names, found, numbers)
        start += batch.num_rows


def _cell(source: Source, name: str, number: int, value: Any) -> Cell:
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and value != value:  # noqa: PLR0124 (NaN)
        return None
    try:
        return cell(value)
    except ValueError:
        raise InputError(f"{source.name} row {number}: {name} holds no single number or text") from None
