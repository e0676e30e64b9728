"""Raw samples from Arrow columns, without a Python object a cell."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from advisor.arrays import FloatArray
from advisor.formats import cells, columns
from advisor.formats.cells import Numbers
from advisor.formats.columns import Column
from advisor.formats.runs import CODED, VARYING, Coded, Requests
from advisor.tables import BENCHMARK_KEY

_NO_CODES: Final = np.empty(0, dtype=np.int32)


def requests(
    batch: Any, by_name: Mapping[str, tuple[Column, str]], numbers: Numbers, stored: Callable[[str], str]
) -> Requests:
    """Return the requests of an Arrow batch.

    Raises:
        ValueError: a cell that the careful reader must look at.
    """
    found = {target: batch.column(name) for target, (_, name) in by_name.items()}
    coded = {
        target: _coded(found[target], column, numbers, stored)
        for target, (column, _) in by_name.items()
        if target in CODED
    }
    varying: dict[str, FloatArray] = {
        target: _checked(found[target], by_name[target][0]) for target in VARYING if target in found
    }
    failed = None
    if "error" in found:
        words, indices = _words(found["error"])
        lost = np.array([word.strip().lower() not in cells.SUCCESS for word in words])
        if lost.any():
            failed = lost[indices] if len(lost) > 1 else np.full(batch.num_rows, True)
    latency = found["latency_ms"].to_numpy(zero_copy_only=False)
    per_unit = by_name["latency_ms"][0].per_unit
    if per_unit != 1:
        latency = latency / per_unit
    kept = latency if failed is None else latency[~failed]
    if len(kept) and not (kept.min() > 0 and kept.max() <= columns.LONGEST_MS):
        raise ValueError("a latency that cannot be")
    started = _Texts(found["started_at"]) if "started_at" in found else None
    return Requests(coded, latency, failed, varying, started)


def _checked(found: Any, column: Column) -> FloatArray:
    values: FloatArray = found.to_numpy(zero_copy_only=False)
    given = values[~np.isnan(values)]
    if len(given) + found.null_count != len(values):
        raise ValueError("not a number")
    if len(given):
        column.checked(float(given.min()), given.min())
        column.checked(float(given.max()), given.max())
    return values


def _coded(found: Any, column: Column, numbers: Numbers, stored: Callable[[str], str]) -> Coded:
    words, indices = _words(found)
    if column.name in BENCHMARK_KEY and any(cells.scrubbed(word) for word in words):
        raise ValueError("secrets that may be all that tells two keys apart")
    index: dict[Any, int] = {}
    codes = np.array(
        [index.setdefault(column.value(stored(word), numbers), len(index)) for word in words],
        dtype=np.int64,
    )
    return Coded(_NO_CODES if len(index) == 1 else codes[indices], list(index))


def _words(found: Any) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the different texts of an Arrow column, and the position among them of each of its cells."""
    from pyarrow import compute

    first = found[0]
    if compute.all(compute.equal(found, first)).as_py():
        return [first.as_py()], _NO_CODES
    encoded = found.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


class _Texts:
    """The texts of an Arrow column by position."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __getitem__(self, position: int) -> str:
        return str(self._column[position].as_py())
