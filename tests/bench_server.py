"""A small HTTP server for the tests of the live benchmark, in a process of its own.

    python tests/bench_server.py answer         answers at once
    python tests/bench_server.py stall          stands still 500 ms each 5 s
    python tests/bench_server.py echo           answers with what it was sent, as JSON
    python tests/bench_server.py unavailable    answers 503

It prints its port. Written on asyncio's protocols, so that a thousand requests a second do not trouble it.
"""

import asyncio
import json
import sys
import time

STALL_S, PERIOD_S = 0.5, 5.0


class Server(asyncio.Protocol):
    """Answers each request in turn over a connection that stays open."""

    began = 0.0
    kind = "answer"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        """Answer once the request is whole."""
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return
        lines = head.decode().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        if len(body) < int(headers.get("content-length", "0")):
            return
        self.received = b""
        if not Server.began:
            Server.began = time.monotonic()
        phase = (time.monotonic() - Server.began) % PERIOD_S
        wait = STALL_S - phase if self.kind == "stall" and phase < STALL_S else 0.0
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self.answer, lines[0], headers, body)
        else:
            self.answer(lines[0], headers, body)

    def answer(self, line: str, headers: dict[str, str], body: bytes) -> None:
        """Send the answer."""
        status = "503 Service Unavailable" if self.kind == "unavailable" else "200 OK"
        told = (
            {"line": line, "headers": headers, "body": json.loads(body or b"null")}
            if self.kind == "echo"
            else {}
        )
        text = json.dumps(told).encode()
        self.transport.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)


async def _serve() -> None:
    Server.kind = sys.argv[1]
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
