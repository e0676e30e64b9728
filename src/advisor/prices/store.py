"""The refreshed snapshots in the user's data folder: written whole or not at all, one of them the current one.

    <data folder>/prices/current              the name of the snapshot in use, replaced by one rename
    <data folder>/prices/snapshots/<name>/    a catalogue folder, in the layout of `pricing_data/`
    <data folder>/prices/lock                 held while a refresh runs

A snapshot is named after its bytes, so the same answers give the same folder.
"""

import errno
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from advisor.errors import PricesError
from advisor.prices import snapshot
from advisor.tables import Catalogue

LOCK: Final = "lock"
_TEMPORARY: Final = ".writing-"


def data_folder() -> Path:
    """Return the folder for the advisor's own data: `ADVISOR_DATA_HOME`, else where the platform keeps such data."""
    if own := os.environ.get("ADVISOR_DATA_HOME"):
        return Path(own)
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ec2-serving-advisor"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "ec2-serving-advisor"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "ec2-serving-advisor"


def prices_folder() -> Path:
    """Return the folder that holds the snapshots, the pointer and the lock."""
    return data_folder() / "prices"


def refreshed() -> Path | None:
    """Return the folder of the last good refreshed snapshot, or None where there was no refresh yet.

    Raises:
        PricesError: the pointer names a snapshot that is not there, or cannot be read.
    """
    pointer = prices_folder() / "current"
    try:
        name = pointer.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PricesError(f"{pointer}: cannot be read ({error.strerror}): check its permissions") from None
    snapshot = prices_folder() / "snapshots" / name
    if not name or Path(name).name != name or not snapshot.is_dir():
        raise PricesError(
            f"{pointer} names no snapshot in {snapshot.parent}: run `advisor prices refresh` again"
        )
    return snapshot


def previous() -> Path | None:
    """Return the snapshot that the current one replaced, or None."""
    current = refreshed()
    others = [path for path in _snapshots() if path != current]
    return max(others, key=lambda path: path.stat().st_mtime_ns, default=None)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system lets go of it when the process ends, however it ends.

    Raises:
        PricesError: another refresh holds it, or the folder cannot be written.
    """
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a+b")
    with file:
        try:
            _lock(file)
        except OSError:
            raise PricesError(f"{folder}: another refresh is running: wait until it has ended") from None
        yield


def publish(catalogue: Catalogue) -> Path:
    """Make a catalogue the current snapshot and return its folder. Call it under `locked`.

    The snapshot is written under a temporary name, forced to the disk and renamed; then the pointer is replaced. A kill at any
    moment leaves the old snapshot current, or the new one.

    Raises:
        PricesError: it cannot be written (disk full, no permission); the last good snapshot stays.
    """
    snapshots = prices_folder() / "snapshots"
    with _writing(prices_folder()):
        snapshots.mkdir(parents=True, exist_ok=True)
        _sweep(snapshots)
        written = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=snapshots))
        try:
            snapshot.write(catalogue, written)
            final = snapshots / _fingerprint(written)
            written.chmod(0o755)
            _to_disk(written)
            if final.is_dir():
                final.touch()
            else:
                written.rename(final)
                _sync_folder(snapshots)
            _point_to(final.name)
        finally:
            shutil.rmtree(written, ignore_errors=True)
    _forget_old(final)
    return final


def renew(catalogue: Catalogue, folder: Path) -> None:
    """Renew a folder of the committed layout; each file is replaced whole, what prices refer to before the prices.

    Raises:
        PricesError: it cannot be written.
    """
    with _writing(folder):
        written = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=folder))
        try:
            snapshot.write(catalogue, written)
            _to_disk(written)
            new = sorted(written.iterdir(), key=lambda path: (path.name in snapshot.PRICE_FILES, path.name))
            for path in new:
                path.chmod(0o644)
                path.replace(folder / path.name)
            for name in set(snapshot.PRICE_FILES) - {path.name for path in new}:
                (folder / name).unlink(missing_ok=True)
            _sync_folder(folder)
        finally:
            shutil.rmtree(written, ignore_errors=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        said = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise PricesError(f"{where}: cannot be written ({said}): the last good prices stay") from None


def _lock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _point_to(name: str) -> None:
    folder = prices_folder()
    temporary = folder / f"{_TEMPORARY}current"
    with temporary.open("w", encoding="utf-8") as file:
        file.write(f"{name}\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / "current")
    _sync_folder(folder)


def _to_disk(folder: Path) -> None:
    for path in folder.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _snapshots() -> list[Path]:
    folder = prices_folder() / "snapshots"
    return [p for p in folder.glob("*") if p.is_dir() and not p.name.startswith(_TEMPORARY)]


def _sweep(snapshots: Path) -> None:
    """Remove what a killed refresh left behind."""
    for path in snapshots.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)


def _forget_old(current: Path) -> None:
    """Keep the current snapshot and the one before it, which a reader may still have open."""
    before = previous()
    for path in _snapshots():
        if path not in {current, before}:
            # Renamed first: a kill in the middle must not leave half a snapshot under the name of a whole one.
            gone = path.with_name(f"{_TEMPORARY}{path.name}")
            with suppress(
                OSError
            ):  # a system that keeps open files from being moved: the next refresh tries again
                path.rename(gone)
                shutil.rmtree(gone, ignore_errors=True)
