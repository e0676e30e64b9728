"""Where a command's bytes go: a file, whole or not at all, or stdout."""

import os
import sys
import tempfile
from pathlib import Path

from advisor.errors import InputError


def write(data: bytes, output: Path | None) -> None:
    """Write to `output` (a temporary name in the same folder, then renamed), or to stdout where it is None.

    A link is followed. A device or a pipe is written to and stays what it is.

    Raises:
        InputError: the file cannot be written; one that was there before is left as it was.
    """
    if output is None:
        if sys.stdout is None:
            raise InputError("stdout is closed: name a file with --output")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        target = Path(os.path.realpath(output))
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot write {output}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise InputError(f"cannot write {output}: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
