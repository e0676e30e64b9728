"""The refreshed snapshots in the user's data folder: written whole or not at all, one of them the current one.

    <data folder>/prices/current              the name of the snapshot in use, replaced by one rename
    <data folder>/prices/snapshots/<name>/    a catalogue folder, in the layout of `pricing_data/`
    <data folder>/prices/lock                 held while a refresh runs

A snapshot is named after its bytes, so the same answers give the same folder.
"""

import os
import sys
from pathlib import Path

from advisor.errors import PricesError


def data_folder() -> Path:
    """Return the folder for the advisor's own data: `ADVISOR_DATA_HOME`, else where the platform keeps such data."""
    if own := os.environ.get("ADVISOR_DATA_HOME"):
        return Path(own)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ec2-serving-advisor"
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
        raise PricesError(f"{pointer} names no snapshot in {snapshot.parent}: run `advisor prices refresh` again")
    return snapshot
