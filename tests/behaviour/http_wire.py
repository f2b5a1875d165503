"""HTTP without sockets: one exchange with an ASGI application, read event by event, ended whenever the test likes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import unquote

PATIENCE: Final = 60.0


class Asgi(Protocol):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    id: str | None
    retry: str | None
    data: str


class HttpAnswer:
    """The answer to one request, as it arrives."""

    def __init__(self, app: Asgi, scope: dict[str, Any], body: list[bytes]) -> None:
        self._to_send = list(body)
        self._gone = asyncio.Event()
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._started = asyncio.Event()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.header_list: list[tuple[str, str]] = []
        self.on_start: Callable[[], Awaitable[object]] | None = None
        """Awaited between the head and the body, as a server waits for a slow client."""
        self._task = asyncio.create_task(app(scope, self._receive, self._send))
        self._task.add_done_callback(self._ended)

    async def _receive(self) -> dict[str, Any]:
        if self._to_send:
            chunk = self._to_send.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(self._to_send)}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert not self._started.is_set(), "an answer starts once"
            self.status = message["status"]
            self.header_list = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
            self.headers = dict(self.header_list)
            self._started.set()
            if self.on_start is not None:
                await self.on_start()
        else:
            assert self._started.is_set(), "a body follows a start"
            self._chunks.put_nowait(message.get("body", b""))
            if not message.get("more_body", False):
                self._chunks.put_nowait(None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._started.set()
        self._chunks.put_nowait(None)

    def raise_failure(self) -> None:
        """An application that raises has not answered its caller, so the test fails."""
        if self._task.done() and not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise error

    async def head(self) -> "HttpAnswer":
        """Wait for status and headers."""
        await asyncio.wait_for(self._started.wait(), PATIENCE)
        self.raise_failure()
        return self

    async def chunks(self) -> AsyncIterator[bytes]:
        while (chunk := await asyncio.wait_for(self._chunks.get(), PATIENCE)) is not None:
            yield chunk
        self.raise_failure()

    async def body(self) -> bytes:
        await self.head()
        return b"".join([chunk async for chunk in self.chunks()])

    async def json(self) -> Any:
        return json.loads(await self.body())

    async def events(self) -> AsyncIterator[Event]:
        """Events as they arrive; comments are skipped."""
        await self.head()
        assert self.headers["content-type"] == "text/event-stream", self.headers
        rest = b""
        async for chunk in self.chunks():
            *complete, rest = (rest + chunk).split(b"\n\n")
            for block in complete:
                if (event := _event(block)) is not None:
                    yield event

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """JSON-RPC messages, from a stream or from a single body."""
        await self.head()
        if self.headers.get("content-type") == "text/event-stream":
            async for event in self.events():
                if event.data:
                    yield json.loads(event.data)
            return
        if body := await self.body():
            yield json.loads(body)

    async def leave(self) -> None:
        """Close the connection, and check that the application ends."""
        self._gone.set()
        await asyncio.wait_for(asyncio.wait({self._task}), PATIENCE)
        self.raise_failure()

    def disconnect(self) -> None:
        self._gone.set()


def send(
    app: Asgi,
    verb: str,
    path: str = "/mcp",
    headers: Mapping[str, str] | list[tuple[str, str]] | None = None,
    body: bytes | list[bytes] = b"",
    client: str = "127.0.0.1",
) -> HttpAnswer:
    """Start one exchange; the part after a question mark is the query. A Host is added unless the test sets one."""
    path, _, query = path.partition("?")
    pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers or [])
    names = {name.lower() for name, _ in pairs}
    if "host" not in names:
        pairs.insert(0, ("host", "localhost:8700"))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": verb,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
        "client": (client, 50000),
        "server": ("127.0.0.1", 8700),
        "state": {},
    }
    return HttpAnswer(app, scope, body if isinstance(body, list) else [body])


def _event(block: bytes) -> Event | None:
    fields: dict[str, str] = {}
    for line in block.decode("utf-8").split("\n"):
        name, colon, value = line.partition(":")
        if name and colon:
            fields[name] = value.removeprefix(" ")
    return Event(fields.get("id"), fields.get("retry"), fields.get("data", "")) if fields else None
