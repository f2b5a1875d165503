"""MCP over standard input and output: one JSON message per line, until the input ends. Nothing else goes to stdout."""

import asyncio
import json
import logging
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Final

from pentad.mcp.connection import Connection, Write
from pentad.mcp.messages import RequestId

_log = logging.getLogger(__name__)

_GRACE_SECONDS: Final = 2.0
_CHUNK: Final = 1 << 16
_KEPT: Final = 4_096
"""How many bytes are kept of each end of an overlong line."""

# Members of the outermost object with plain values, before the first or after the last that is not plain.
_PLAIN: Final = rb'\s*+"(?:[^"\\]|\\.)*+"\s*+:\s*+(?:"(?:[^"\\]|\\.)*+"|[-+.\w]++)\s*+'
_AHEAD: Final = re.compile(rb"\s*+\{(?:" + _PLAIN + rb",)++")
_BEHIND: Final = re.compile(rb"(?:," + _PLAIN + rb")++\}\s*+\Z")
_MEMBER: Final = re.compile(rb'"((?:[^"\\]|\\.)*+)"\s*+:\s*+("(?:[^"\\]|\\.)*+"|[-+.\w]++)')


class OversizedLine:
    """A line over the limit. Only its beginning and end are kept, because clients write the request id at either."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._mentions_id = False

    def add(self, data: bytes) -> None:
        """The next part of the line."""
        self._mentions_id = self._mentions_id or b'"id"' in self._tail[-3:] + data
        if len(self._head) < _KEPT:
            self._head += data[: _KEPT - len(self._head)]
        self._tail = (self._tail + data[-_KEPT:])[-_KEPT:]

    def request_id(self) -> RequestId | None:
        """The id of the request, if it comes before or after the large part of the message."""
        try:
            found = json.loads(self._members().get(b"id", b"null"))
        except ValueError:
            return None
        return found if isinstance(found, str | int) and not isinstance(found, bool) else None

    def may_be_request(self) -> bool:
        """Whether the client may be waiting for an answer: the message has an id somewhere and is not a
        notification."""
        return self._mentions_id and not self._members().get(b"method", b"").startswith(b'"notifications/')

    def _members(self) -> dict[bytes, bytes]:
        """The plain members of the outermost object at either end of the line."""
        ahead, behind = _AHEAD.match(self._head), _BEHIND.search(self._tail)
        return dict(_MEMBER.findall((behind[0] if behind else b"") + (ahead[0] if ahead else b"")))


class Lines:
    """Splits a byte stream into lines. Overlong lines are dropped, not buffered."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._oversized: OversizedLine | None = None

    def feed(self, data: bytes) -> list[bytes | OversizedLine]:
        """The complete lines in the data."""
        found: list[bytes | OversizedLine] = []
        *complete, rest = data.split(b"\n")
        for part in complete:
            self._extend(part)
            if self._oversized is not None:
                found.append(self._oversized)
                self._oversized = None
            elif stripped := bytes(self._rest).strip(b" \t\r"):
                found.append(stripped)
            self._rest.clear()
        self._extend(rest)
        return found

    def _extend(self, part: bytes) -> None:
        if self._oversized is None:
            self._rest += part
            if len(self._rest) <= self._limit:
                return
            self._oversized, part = OversizedLine(), bytes(self._rest)
            self._rest.clear()
        self._oversized.add(part)


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
            if not isinstance(line, OversizedLine):
                await connection.receive(line)
                continue
            request_id = line.request_id()
            await connection.refuse_oversized(limit, request_id)
            if request_id is None and line.may_be_request():
                # The client would wait for this id forever. The end of the output tells it that no answer will come.
                _log.error("A message over %d bytes has an id that cannot be read: the connection ends.", limit)
                await connection.close(_GRACE_SECONDS)
                return
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
