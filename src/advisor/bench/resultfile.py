"""The measured-result file: JSON lines, always readable, whatever happens to the process that writes it.

    {"advisor_result": 1, "benchmark": {...}, "settings": {...}, "environment": {...}}     a section starts
    {"latency_ms": 12.3, "run_id": "1", "started_at": "2026-11-29T10:00:00.123456Z"}       one request that succeeded
    {"error": "timeout", "run_id": "1", "started_at": "..."}                               one that failed
    {"end": {"request_count": 1000, "look": 3, ...}}                                       the section is complete

The file appears under its name with its first header already in it. A section without `end` was interrupted, and
its last line may be cut off.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from advisor.arrays import FloatArray
from advisor.errors import InputError, MeasurementError

VERSION: Final = 1


@dataclass
class Section:
    """One measured configuration as the file holds it.

    Attributes:
        header: benchmark columns, settings and environment.
        latency_ms: successful requests in the order measured, `run_ids` beside them.
        errors: (run id, what failed).
        end: the closing figures, or None where the measurement was interrupted.
    """

    header: dict[str, Any]
    latency_ms: list[float] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    end: dict[str, Any] | None = None

    @property
    def request_count(self) -> int:
        """Requests, failures included."""
        return len(self.latency_ms) + len(self.errors)


def read(path: Path) -> list[Section]:
    """Read every section of a result file; a last line that was cut off is left out.

    Raises:
        InputError: not a result file, or a broken line that is not the last one.
    """
    return _parse(path, path.read_bytes())[0]


def _parse(path: Path, content: bytes) -> tuple[list[Section], int]:
    """Return the sections and the length of the part that holds whole lines."""
    sections: list[Section] = []
    offset = 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        whole = line.endswith(b"\n")
        try:
            record = json.loads(line)
        except ValueError:
            if not whole and sections:
                break
            raise InputError(f"{path.name} line {number} is not JSON: is this a result file?") from None
        if not _take(record, sections):
            raise InputError(f"{path.name} line {number} does not belong in a result file")
        if not whole:
            break
        offset += len(line)
    if not sections:
        raise InputError(f"{path.name} holds no measurement: it does not start with an advisor_result line")
    return sections, offset


def _take(record: Any, sections: list[Section]) -> bool:
    match record:
        case {"advisor_result": _, **header}:
            sections.append(Section({str(key): value for key, value in header.items()}))
        case {"latency_ms": latency, "run_id": run} if sections:
            sections[-1].latency_ms.append(float(latency))
            sections[-1].run_ids.append(str(run))
        case {"error": error, "run_id": run} if sections:
            sections[-1].errors.append((str(run), str(error)))
        case {"end": dict(end)} if sections:
            sections[-1].end = {str(key): value for key, value in end.items()}
        case _:
            return False
    return True


class Writer:
    """Appends to one locked result file; every call leaves whole lines behind it."""

    def __init__(self, file: IO[bytes], path: Path, sections: Sequence[Section]) -> None:
        self.path = path
        self.sections = list(sections)
        self._file = file
        self._published = bool(sections)

    def header(self, header: Mapping[str, Any]) -> None:
        """Start a section; the first one makes the file appear under its name."""
        self._put(_line({"advisor_result": VERSION, **header}))
        if not self._published:
            Path(self._file.name).replace(self.path)
            self._published = True

    def requests(
        self, run_id: str, started_us: Sequence[int], latency_ms: FloatArray, errors: Mapping[int, str]
    ) -> None:
        """Append requests in order.

        Args:
            run_id: the run they belong to.
            started_us: microseconds since 1970 (UTC), one a request.
            latency_ms: one a request; ignored where the request failed.
            errors: position -> what failed.
        """
        stamps = np.datetime_as_string(np.asarray(started_us, "datetime64[us]"), unit="us").tolist()
        name = json.dumps(run_id)
        lines = [
            f'{{"latency_ms": {latency:.6f}, "run_id": {name}, "started_at": "{stamp}Z"}}\n'
            if position not in errors
            else f'{{"error": {json.dumps(errors[position])}, "run_id": {name}, "started_at": "{stamp}Z"}}\n'
            for position, (latency, stamp) in enumerate(zip(latency_ms.tolist(), stamps, strict=True))
        ]
        self._put("".join(lines).encode())

    def end(self, figures: Mapping[str, Any]) -> None:
        """Close the section."""
        self._put(_line({"end": figures}))

    def _put(self, content: bytes) -> None:
        try:
            self._file.write(content)
            self._file.flush()
        except OSError as error:
            raise MeasurementError(f"{self.path} cannot be written: {error.strerror}") from None


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"


@contextmanager
def writing(path: Path, *, resume: bool = False, force: bool = False) -> Iterator[Writer]:
    """Open a result file to write; nobody else can write it meanwhile.

    Args:
        path: the file; its folder must exist.
        resume: append to an existing file (a line that was cut off is removed).
        force: replace an existing file, as soon as the first section starts.

    Raises:
        MeasurementError: the file exists and neither was asked, or another process is writing it.
        InputError: `resume` of something that is not a result file.
    """
    existing = path.exists()
    if existing and not (resume or force):
        raise MeasurementError(f"{path} exists: continue it with --resume, or replace it with --force")
    if not path.parent.is_dir():
        raise MeasurementError(f"the folder {path.parent} does not exist: make it, or name another --output")
    if existing:
        held = path.open("r+b")
        try:
            _lock(held, path)
            if resume:
                yield _continue(held, path)
                return
            with _fresh(path) as writer:
                yield writer
        finally:
            held.close()
    else:
        with _fresh(path) as writer:
            yield writer


def _continue(file: IO[bytes], path: Path) -> Writer:
    content = file.read()
    sections, whole = _parse(path, content)
    if whole < len(content):
        sections, whole = _parse(path, content[:whole])
    file.truncate(whole)
    file.seek(whole)
    return Writer(file, path, sections)


@contextmanager
def _fresh(path: Path) -> Iterator[Writer]:
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("ab") as file:
        _lock(file, path)
        file.truncate(0)
        try:
            yield Writer(file, path, ())
        finally:
            if temporary.exists() and os.path.samestat(temporary.stat(), os.fstat(file.fileno())):
                temporary.unlink()


def _lock(file: IO[bytes], path: Path) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise MeasurementError(
            f"another measurement is writing {path}: wait for it, or name another --output"
        ) from None
