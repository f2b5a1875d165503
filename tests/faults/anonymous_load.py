"""Load from callers without credentials: the same request repeatedly, on many keep-alive connections.

Run in its own process: `python -m tests.faults.anonymous_load PORT CONNECTIONS`. A line on stdin is a request in
base64 to send until the next line, from a loopback address that no earlier line used; an empty line pauses.
Each line is answered on stdout with the statuses received since the last.
"""

import asyncio
import base64
import itertools
import json
import re
import sys
from collections import Counter
from typing import Any

LONGEST_SECONDS = 600
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Load:
    """Connections that all send the same request, and the statuses they received."""

    def __init__(self, port: int, connections: int) -> None:
        self.request = b""
        self.statuses: Counter[str] = Counter()
        self._port = port
        self._wanted = connections
        self._open: list[Connection] = []
        self._unused = itertools.count(256)

    async def change(self, request: bytes) -> Counter[str]:
        """Send something else from now on; return the statuses received so far."""
        heard, self.statuses = self.statuses, Counter()
        for connection in self._open:
            connection.transport.abort()
        self._open.clear()
        self.request = request
        if request:
            source = _address(next(self._unused))
            loop = asyncio.get_running_loop()
            for _ in range(self._wanted):
                _, connection = await loop.create_connection(
                    lambda: Connection(self), "127.0.0.1", self._port, local_addr=(source, 0)
                )
                self._open.append(connection)
            for connection in self._open:
                connection.send()
        return heard


class Connection(asyncio.Protocol):
    """Sends, waits for the whole answer, and repeats."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._answer = bytearray()
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def send(self) -> None:
        self.transport.write(self._load.request)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, separator, body = bytes(self._answer).partition(b"\r\n\r\n")
        if separator and _is_whole(head, body):
            self._load.statuses[head[9:12].decode("ascii")] += 1
            self._answer.clear()
            self.send()


def _address(number: int) -> str:
    return f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _is_whole(head: bytes, body: bytes) -> bool:
    length = _LENGTH.search(head)
    return body.endswith(b"0\r\n\r\n") if length is None else len(body) >= int(length[1])


async def main(port: int, connections: int) -> None:
    load = Load(port, connections)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with asyncio.timeout(LONGEST_SECONDS):
        while line := await reader.readline():
            heard = await load.change(base64.b64decode(line))
            sys.stdout.write(json.dumps(heard) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
