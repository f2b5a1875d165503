"""MCP over standard input and output: one JSON message per line, until the input ends. Nothing else goes to stdout."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Final

from pentad.mcp.connection import Connection, Write

_GRACE_SECONDS: Final = 2.0
_CHUNK: Final = 1 << 16


class Lines:
    """Splits a byte stream into lines. Overlong lines are dropped, not buffered."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._dropping = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """The complete lines in the data; None for each that was too long."""
        found: list[bytes | None] = []
        *complete, rest = data.split(b"\n")
        for part in complete:
            line = bytes(self._rest) + part if self._rest else part
            self._rest.clear()
            if self._dropping or len(line) > self._limit:
                self._dropping = False
                found.append(None)
            elif stripped := line.strip(b" \t\r"):
                found.append(stripped)
        if not self._dropping:
            self._rest += rest
            if len(self._rest) > self._limit:
                self._rest.clear()
                self._dropping = True
        return found


async def serve_stdio(connect: Callable[[Write], Connection], limit: int) -> None:
    """Serve one client until its input ends."""
    output = sys.stdout.buffer

    async def write(message: bytes) -> None:
        output.write(message + b"\n")
        output.flush()

    connection = connect(write)
    lines = Lines(limit)
    async for data in _chunks():
        for line in lines.feed(data):
            await (connection.refuse_oversized(limit) if line is None else connection.receive(line))
    await connection.close(_GRACE_SECONDS)


async def _chunks() -> AsyncIterator[bytes]:
    """The data from stdin. A thread reads it, because files and terminals cannot be polled on every system."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        descriptor = sys.stdin.fileno()
        while data := os.read(descriptor, _CHUNK):
            loop.call_soon_threadsafe(arrived.put_nowait, data)
        loop.call_soon_threadsafe(arrived.put_nowait, b"")

    threading.Thread(target=read, name="pentad-stdin", daemon=True).start()
    while data := await arrived.get():
        yield data
