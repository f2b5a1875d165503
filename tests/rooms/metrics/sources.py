"""A small HTTP source that does as it is told: an answer by path, a count of calls, and the most that came at once."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec


@dataclass
class Told:
    """What to answer: `raw` sends these bytes and closes the connection, none of them at all resets it."""

    status: int = 200
    json: object = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass
class Asked:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


Answering = Callable[[Asked], Awaitable[Told]]


class HttpSource:
    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self.calls: Counter[str] = Counter()
        self.asked: list[Asked] = []
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
                asked = Asked(method, path, query, headers, body)
                self.calls[path] += 1
                self.asked.append(asked)
                self.busy += 1
                self.peak = max(self.peak, self.busy)
                try:
                    told = await self._answering(asked)
                finally:
                    self.busy -= 1
                if told.raw is not None:
                    writer.write(told.raw)
                    return
                payload = told.body if told.body is not None else msgspec.json.encode(told.json)
                lines = {"content-type": "application/json", **told.headers, "content-length": str(len(payload))}
                first = f"HTTP/1.1 {told.status} x\r\n"
                writer.write((first + "".join(f"{name}: {value}\r\n" for name, value in lines.items())).encode())
                writer.write(b"\r\n" + payload)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def http_source(answering: Answering) -> AsyncGenerator[HttpSource]:
    source = HttpSource(answering)
    server = await asyncio.start_server(source.serve, "127.0.0.1", 0)
    source.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield source
    finally:
        server.close()


class TurnedClock:
    """Stands still until it is turned; both times move together."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.at = now

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    def turn(self, seconds: float) -> None:
        self.at += seconds
