"""A client that costs little and the same for every server: one connection, one request after the other; for loading,
a few of them at the same time.

It reads bodies of a stated length or in chunks, and nothing else of HTTP.
"""

import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from queue import SimpleQueue
from time import monotonic
from typing import Final

LOADING: Final = 4
"""Connections of somebody who loads: a server may check one request while it writes another to disk."""

_CHUNK: Final = 1 << 16
_PATIENCE: Final = 120.0
_IDLE: Final = 2.0


class KeepAlive:
    """One connection to one server."""

    def __init__(self, port: int, headers: dict[str, str] | None = None) -> None:
        self._port = port
        self._socket = self._connected()
        self._used = monotonic()
        lines = {"Host": f"localhost:{port}", "Content-Type": "application/json", **(headers or {})}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode()
        self._buffer = b""

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """One request; its status and body."""
        head = b"%s %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n" % (
            method.encode(), path.encode(), self._head, len(body),
        )  # fmt: skip
        self._send(head + body)
        status, head, length = self._answer_head()
        return status, self._chunked() if length is None else self._exactly(length)

    def must(self, method: str, path: str, body: bytes = b"") -> bytes:
        """One request that has to succeed."""
        status, answer = self.ask(method, path, body)
        if not 200 <= status < 300:
            raise SystemExit(f"A server under measurement answered {method} {path} with {status}: {answer[:500]!r}")
        return answer

    def header(self, path: str, name: str) -> str:
        """One header of the answer to a HEAD request."""
        self._send(b"HEAD %s HTTP/1.1\r\n%s\r\n" % (path.encode(), self._head))
        _, head, _ = self._answer_head()
        place = head.find(f"\r\n{name}:".encode())
        return head[place + len(name) + 3 :].split(b"\r\n", 1)[0].decode().strip()

    def close(self) -> None:
        self._socket.close()

    def _connected(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=_PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _send(self, request: bytes) -> None:
        """Servers close a connection that was idle for some seconds, as it is while others are measured."""
        if monotonic() - self._used > _IDLE:
            self._socket.close()
            self._socket = self._connected()
        self._used = monotonic()
        self._socket.sendall(request)

    def _answer_head(self) -> tuple[int, bytes, int | None]:
        """The status, the headers in lower case, and the length of the body; None is a body in chunks."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            self._more()
        head, self._buffer = self._buffer[:end].lower(), self._buffer[end + 4 :]
        if b"transfer-encoding: chunked" in head:
            return int(head[9:12]), head, None
        place = head.find(b"content-length:")
        return int(head[9:12]), head, int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0

    def _chunked(self) -> bytes:
        parts: list[bytes] = []
        while True:
            while (end := self._buffer.find(b"\r\n")) < 0:
                self._more()
            size, self._buffer = int(self._buffer[:end], 16), self._buffer[end + 2 :]
            parts.append(self._exactly(size + 2)[:-2])
            if size == 0:
                return b"".join(parts)

    def _exactly(self, length: int) -> bytes:
        if len(self._buffer) < length:
            parts = [self._buffer]
            held = len(self._buffer)
            while held < length:
                part = self._receive()
                parts.append(part)
                held += len(part)
            self._buffer = b"".join(parts)
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return body

    def _more(self) -> None:
        self._buffer += self._receive()

    def _receive(self) -> bytes:
        part = self._socket.recv(_CHUNK)
        if not part:
            raise SystemExit("A server under measurement closed the connection.")
        return part


class Loading:
    """Connections that share the requests of a load between them."""

    def __init__(self, port: int, headers: dict[str, str] | None = None) -> None:
        self._idle: SimpleQueue[KeepAlive] = SimpleQueue()
        for _ in range(LOADING):
            self._idle.put(KeepAlive(port, headers))
        self._threads = ThreadPoolExecutor(LOADING)

    def post(self, path: str, bodies: Iterable[bytes]) -> list[bytes]:
        """Send every body, as many at once as there are connections; the answers, in order."""
        return list(self._threads.map(self._post, repeat(path), bodies))

    def _post(self, path: str, body: bytes) -> bytes:
        client = self._idle.get()
        try:
            return client.must("POST", path, body)
        finally:
            self._idle.put(client)
