"""What the page answers from: the packaged facts, kept once for all sessions, and a session's own files.

An uploaded file is read from memory, kept with its session, and never reaches another one.
"""

import hashlib
import os
import re
from collections.abc import Callable, Hashable, Iterable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar, cast

import streamlit as st
from pandera.typing.pandas import DataFrame

from advisor import formats, prices
from advisor.advice import Advice
from advisor.data import committed
from advisor.errors import AdvisorError, InputError
from advisor.prices import store
from advisor.prices.catalogue import PRICES_VARIABLE, overlay
from advisor.tables import Benchmarks, Catalogue, Prices
from advisor.text import printable
from advisor.wording import plural
from advisor.workload import Workload

BENCHMARKS_VARIABLE: Final = "ADVISOR_BENCHMARKS"
MOST_UPLOAD_MEGABYTES: Final = 50
MOST_EXPANDED_BYTES: Final = 512 * 2**20
_KEPT_FILES: Final = 8
_KEPT_ANSWERS: Final = 6


Made = TypeVar("Made")


@dataclass(frozen=True)
class Facts:
    """What an answer is made of, with a key that changes when its content does."""

    catalogue: Catalogue
    benchmarks: Benchmarks
    key: tuple[Hashable, ...]


@dataclass(frozen=True)
class Upload:
    """A file that the user gave this session."""

    name: str
    data: bytes

    @property
    def digest(self) -> str:
        """What tells its content from any other."""
        return hashlib.sha256(self.data).hexdigest()


def base() -> Facts:
    """Return the facts that all sessions share, read again only when the files' content has changed.

    Raises:
        AdvisorError: a folder or file is missing or cannot be read.
    """
    given = _paths(BENCHMARKS_VARIABLE)
    own_prices = os.environ.get(PRICES_VARIABLE)
    places = (store.refreshed() or committed("pricing_data"), *([Path(own_prices)] if own_prices else []))
    price_key = _content(places)
    benchmark_key = _content(formats.find(given) if given else [committed("benchmarks")])
    catalogue = _catalogue(price_key)
    return Facts(catalogue, _benchmarks(benchmark_key, given, catalogue), (price_key, benchmark_key))


def with_uploads(
    facts: Facts, results: Iterable[Upload], price_rows: Iterable[Upload], *, with_published: bool
) -> tuple[Facts, list[str]]:
    """Put a session's files over the shared facts.

    Returns:
        The facts, and one line for each file that could not be read (it then counts for nothing).
    """
    catalogue, key, problems = facts.catalogue, facts.key, []
    for upload in price_rows:
        rows = _read(("prices", upload.name, upload.digest), _read_prices, upload, facts.catalogue)
        if isinstance(rows, str):
            problems.append(rows)
        else:
            name = f"{printable(upload.name)} ({plural(len(rows), 'own row')})"
            catalogue, key = (
                overlay(catalogue, rows, origin=name),
                (*key, "prices", upload.name, upload.digest),
            )
    own, priced = [], key
    for upload in results:
        found = _read((*priced, "results", upload.name, upload.digest), _read_results, upload, catalogue)
        if isinstance(found, str):
            problems.append(found)
        else:
            own.append(found)
            key = (*key, "results", upload.name, upload.digest)
    benchmarks = facts.benchmarks
    if own:
        try:
            benchmarks = formats.combine(*own, *([benchmarks] if with_published else []))
        except InputError as error:
            problems.append(printable(error))
    return Facts(catalogue, benchmarks, (*key, with_published, len(problems))), problems


def answer(facts: Facts, workload: Workload) -> Advice:
    """Answer a question, or return the answer that this session has just had.

    Raises:
        AdvisorError: the question cannot be asked of these facts.
    """
    from advisor.advise import advise

    key = (facts.key, workload.model_dump_json())
    return _kept(
        key, lambda: advise(facts.catalogue, facts.benchmarks, workload), _session("answers"), _KEPT_ANSWERS
    )


def report(facts: Facts, advice: Advice, form: str) -> bytes:
    """Return an answer as the command line writes it, or the bytes that this session has just had."""
    from advisor.reports import EXPORTERS, Presentation

    key = (facts.key, advice.question.model_dump_json(), form)
    return _kept(key, lambda: EXPORTERS[form](advice, Presentation()), _session("reports"), _KEPT_ANSWERS)


def _kept(key: Hashable, make: Callable[[], Made], shelf: MutableMapping[Hashable, Any], most: int) -> Made:
    """Return what is kept under `key`, or make it; the oldest goes when there are more than `most`."""
    if key not in shelf:
        shelf[key] = make()
    shelf[key] = made = shelf.pop(key)
    while len(shelf) > most:
        shelf.pop(next(iter(shelf)))
    return cast(Made, made)


def _session(name: str) -> MutableMapping[Hashable, Any]:
    shelf: MutableMapping[Hashable, Any] = st.session_state.setdefault(f"kept_{name}", {})
    return shelf


def _read(
    key: Hashable, reader: Callable[[Upload, Catalogue], Made], upload: Upload, catalogue: Catalogue
) -> Made | str:
    """Read an upload once a session; what its reader says against it is kept in its place."""

    def read() -> Made | str:
        try:
            return reader(upload, catalogue)
        except AdvisorError as error:
            return printable(error)

    return _kept(key, read, _session("files"), _KEPT_FILES)


def _read_results(upload: Upload, catalogue: Catalogue) -> Benchmarks:
    return formats.read_upload(
        upload.name, upload.data, known_types=catalogue.types, max_expanded_bytes=MOST_EXPANDED_BYTES
    )


def _read_prices(upload: Upload, catalogue: Catalogue) -> DataFrame[Prices]:
    """Read price rows through the reader of files; the name of the temporary folder stays out of its message."""
    suffix = "".join(re.findall(r"\.[A-Za-z0-9]{1,8}", upload.name)[-2:])
    with TemporaryDirectory() as folder:
        path = Path(folder, f"rows{suffix}")
        path.write_bytes(upload.data)
        try:
            return prices.read_rows(path, regions=set(catalogue.locations["region"]))
        except AdvisorError as error:
            raise InputError(str(error).replace(str(path), printable(upload.name))) from None


def _paths(variable: str) -> tuple[str, ...]:
    return tuple(path for path in os.environ.get(variable, "").split(os.pathsep) if path)


@st.cache_resource(max_entries=2, show_spinner=False)
def _catalogue(content: str) -> Catalogue:  # noqa: ARG001 - the key of the cache
    return prices.load()


@st.cache_resource(max_entries=2, show_spinner=False)
def _benchmarks(content: str, given: tuple[str, ...], _known: Catalogue) -> Benchmarks:  # noqa: ARG001
    if not given:
        return formats.packaged()
    return formats.read(given, known_types=_known.types, max_expanded_bytes=MOST_EXPANDED_BYTES)


def _content(places: Iterable[Path]) -> str:
    """Return a digest of the names and contents of files and of the files in folders."""
    digest = hashlib.sha256()
    for place in places:
        for path in sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]:
            digest.update(f"{path.name}\n{_file_digest(str(path), *_stamp(path))}\n".encode())
    return digest.hexdigest()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        facts = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return facts.st_size, facts.st_mtime_ns


@st.cache_resource(max_entries=256, show_spinner=False)
def _file_digest(path: str, size: int, changed_ns: int) -> str:  # noqa: ARG001 - read again when they change
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
