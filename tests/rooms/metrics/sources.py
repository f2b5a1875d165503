"""A small HTTP source with a handler from the test. Counts its calls, and the most that were in flight at once."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec


@dataclass
class Response:
    """What to answer: `raw` sends these bytes and closes the connection, none of them at all resets it."""

    status: int = 200
    json: object = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass
class Request:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


Handler = Callable[[Request], Awaitable[Response]]


class HttpSource:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.calls: Counter[str] = Counter()
        self.asked: list[Request] = []
        self.busy = 0
        self.peak = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                path, _, query = target.partition("?")
                request = Request(method, path, query, headers, body)
                self.calls[path] += 1
                self.asked.append(request)
                self.busy += 1
                self.peak = max(self.peak, self.busy)
                try:
                    response = await self._handler(request)
                finally:
                    self.busy -= 1
                if response.raw is not None:
                    writer.write(response.raw)
                    return
                payload = response.body if response.body is not None else msgspec.json.encode(response.json)
                lines = {"content-type": "application/json", **response.headers, "content-length": str(len(payload))}
                first = f"HTTP/1.1 {response.status} x\r\n"
                writer.write((first + "".join(f"{name}: {value}\r\n" for name, value in lines.items())).encode())
                writer.write(b"\r\n" + payload)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def http_source(handler: Handler) -> AsyncGenerator[HttpSource]:
    source = HttpSource(handler)
    server = await asyncio.start_server(source.serve, "127.0.0.1", 0)
    source.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield source
    finally:
        server.close()


class TurnedClock:
    """A clock that only `turn` moves; wall clock and monotonic time move together."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.at = now

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    def turn(self, seconds: float) -> None:
        self.at += seconds
