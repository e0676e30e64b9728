"""Where bytes come from: a file or an upload, expanded under a limit."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from advisor.errors import InputError

GIB: Final = 2**30
MAX_EXPANDED_BYTES: Final = 4 * GIB
"""What compressed input may expand to where nobody says."""
HEAD_BYTES: Final = 2**16
_MAGIC: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def encoding_of(first: bytes) -> str:
    """Return the encoding that the first bytes of a text announce."""
    return "utf-16" if first.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


class _Expanded(io.RawIOBase):
    """The expanded bytes of a compressed stream, counted as they come."""

    def __init__(self, stream: Any, source: "Source") -> None:
        self._stream = stream
        self._source = source
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data: bytes = self._stream.read(len(buffer))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self._source.name}: cut off or damaged: it does not expand to the end"
            ) from error
        self._count += len(data)
        if self._count > self._source.max_expanded_bytes:
            raise self._source.too_large()
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


@dataclass(frozen=True)
class Source:
    """Bytes with a name for messages; can be opened more than once.

    Attributes:
        name: how messages call it.
        path: the file, or None for an upload.
        data: the bytes of an upload.
        max_expanded_bytes: what compressed input may expand to.
    """

    name: str
    path: Path | None = None
    data: bytes | None = None
    max_expanded_bytes: int = MAX_EXPANDED_BYTES

    def too_large(self) -> InputError:
        """Return the error of input that expands beyond the limit."""
        limit = self.max_expanded_bytes
        shown = f"{limit / GIB:.3g} GiB" if limit >= GIB else f"{limit:,} bytes"
        return InputError(f"{self.name}: expands to more than {shown}: raise the limit if that is meant")

    def plain(self) -> BinaryIO:
        """Open the bytes as they are stored."""
        if self.path is None:
            return io.BytesIO(self.data or b"")
        try:
            return self.path.open("rb")
        except OSError as error:
            raise InputError(f"{self.name}: cannot be opened: {error.strerror or error}") from error

    def compression(self) -> str | None:
        """Return "gzip", "zstd" or None, by the first bytes."""
        with self.plain() as stream:
            try:
                first = stream.read(4)
            except OSError as error:
                raise InputError(f"{self.name}: cannot be read: {error.strerror or error}") from error
        return next((kind for magic, kind in _MAGIC.items() if first.startswith(magic)), None)

    def open(self) -> BinaryIO:
        """Open the expanded bytes.

        Raises:
            InputError: the file cannot be opened; while reading: damaged, cut off or beyond the limit.
        """
        kind = self.compression()
        if kind is None:
            return self.plain()
        import pyarrow as pa

        inner = pa.CompressedInputStream(pa.PythonFile(self.plain(), "r"), kind)
        return cast(BinaryIO, io.BufferedReader(_Expanded(inner, self), 2**18))

    def head(self) -> bytes:
        """Return the first expanded bytes, at most 64 KiB."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    def encoding(self) -> str:
        """Return the encoding of a text by its byte order mark; UTF-8 where there is none."""
        with self.open() as stream:
            return encoding_of(stream.read(2))

    def seekable(self) -> BinaryIO:
        """Open the expanded bytes for random access."""
        if self.compression() is None:
            return self.plain()
        with self.open() as stream:
            return io.BytesIO(stream.read())
