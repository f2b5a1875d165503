"""A real HTTP server that receives webhooks and notifications: records requests and answers as a test wants."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Received:
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """`answer` gives the status (and further header lines) for the n-th request, from 0."""

    answer: Callable[[int], str] = lambda number: "200 OK"
    requests: list[Received] = field(default_factory=list)
    port: int = 0
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def until(self, count: int) -> list[Received]:
        async with asyncio.timeout(60):
            while len(self.requests) < count:
                self._more.clear()
                await self._more.wait()
        return self.requests

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")[1:-2]
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                reply = self.answer(len(self.requests))
                self.requests.append(Received(headers, body))
                writer.write(f"HTTP/1.1 {reply}\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
                self._more.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving(answer: Callable[[int], str] | None = None) -> AsyncGenerator[Receiver]:
    """A receiver on this machine for the duration of the block."""
    receiver = Receiver() if answer is None else Receiver(answer)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
