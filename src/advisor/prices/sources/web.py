"""Public files over HTTP: streamed, unpacked, checked for their whole length, and asked for again when that helps."""

import gzip
import http.client
import io
import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import Request, urlopen

from advisor.errors import PricesError

_T = TypeVar("_T")

ATTEMPTS: Final = 4
FIRST_WAIT_S: Final = 1.0
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class _Whole(io.RawIOBase):
    """The body of an answer; an answer that stops before its stated length is an error and not its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._response.readinto(buffer)
        if count == 0 and self._response.length:
            raise EOFError(f"the answer stopped {self._response.length} bytes early")
        return count

    def close(self) -> None:
        self._response.close()
        super().close()


def open_url(url: str, timeout_s: float) -> IO[bytes]:
    """Open a public file as a stream of its unpacked bytes.

    Raises:
        OSError, EOFError, http.client.HTTPException: here or while reading; see `retried`.
        PricesError: the address is not http or https.
    """
    if urlsplit(url).scheme not in {"http", "https"}:
        raise PricesError(f"{url}: not an http or https address")
    response = urlopen(Request(url, headers={"Accept-Encoding": "gzip"}), timeout=timeout_s)  # noqa: S310
    body = io.BufferedReader(_Whole(response), 1 << 18)
    packed = response.headers.get("Content-Encoding", "") == "gzip" or url.endswith(".gz")
    return unpacked(body) if packed else body


class _Unpacked(gzip.GzipFile):
    """A gzip stream that closes what it reads from, which `GzipFile` leaves open."""

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__(fileobj=packed)
        self._packed = packed

    def close(self) -> None:
        super().close()
        self._packed.close()


def unpacked(stream: IO[bytes]) -> IO[bytes]:
    """Return the unpacked bytes of a gzip stream; closing it closes the stream too."""
    return io.BufferedReader(_Unpacked(stream), 1 << 18)


def open_file(path: Path) -> IO[bytes]:
    """Open a saved file as a stream of its unpacked bytes.

    Raises:
        PricesError: it cannot be opened.
    """
    try:
        stream = path.open("rb", buffering=1 << 18)
    except OSError as error:
        raise PricesError(f"{path}: cannot be read ({error.strerror})") from None
    return unpacked(stream) if path.suffix == ".gz" else stream


def join(base: str, address: str) -> str:
    """Return the address that an index file names, on the host of the index.

    Raises:
        PricesError: the index names another host.
    """
    if not address.startswith("/") or address.startswith("//"):
        raise PricesError(f"{base}: names an address outside its host ({address})")
    return urljoin(base, address)


def get_json(url: str, timeout_s: float) -> Any:
    """Return a small public JSON file.

    Raises:
        PricesError: it cannot be had, or is not JSON.
    """

    def fetch() -> bytes:
        with open_url(url, timeout_s) as stream:
            return stream.read()

    try:
        return json.loads(retried(fetch, url))
    except ValueError:
        raise PricesError(f"{url}: the answer is not JSON: is --base-url right?") from None


def retried(fetch: Callable[[], _T], what: str, wait: Callable[[float], None] = time.sleep) -> _T:
    """Call `fetch`, again after 1, 2 and 4 s where the network or the server failed in passing.

    Args:
        fetch: reads the whole answer; it is called from the start each time.
        what: the address or file, for the error.
        wait: sleeps.

    Raises:
        PricesError: it failed for good, or four times.
    """
    for attempt in range(ATTEMPTS):
        try:
            return fetch()
        except HTTPError as error:
            error.close()
            reason, final = f"HTTP {error.code}", error.code not in _PASSING
        except TimeoutError:
            reason, final = "timed out", False
        except URLError as error:
            reason, final = getattr(error.reason, "strerror", None) or str(error.reason), False
        except (OSError, EOFError, http.client.HTTPException, zlib.error) as error:
            reason, final = str(error) or type(error).__name__, isinstance(error, gzip.BadGzipFile)
        if final:
            raise PricesError(f"{what}: {reason}")
        if attempt + 1 < ATTEMPTS:
            wait(FIRST_WAIT_S * 2**attempt)
    raise PricesError(f"{what}: {reason}, {ATTEMPTS} times: try again later, or give a longer --timeout")
