"""One client interface over every wire, so that a behaviour is tested once and proved on all of them.

A `Wire` names a transport and a protocol revision. The differences between wires (subscribing, cancelling, answering a
question) are in here; a test that needs to know its wire is a test of the wire.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tests.behaviour.http_wire import PATIENCE, Asgi, HttpAnswer, send

Object = dict[str, Any]

MODERN: Final = "2026-07-28"
LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META: Final = "io.modelcontextprotocol/"
NAMED: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
ALL_CAPABILITIES: Final = {"elicitation": {}, "sampling": {}, "roots": {}}


class Wire(NamedTuple):
    """A transport and a revision. Transports: memory, stdio, session (HTTP), stateless (HTTP), modern (HTTP)."""

    transport: str
    revision: str

    @property
    def modern(self) -> bool:
        return self.revision == MODERN

    @property
    def http(self) -> bool:
        return self.transport in ("session", "stateless", "modern")


MEMORY: Final = Wire("memory", "2025-11-25")
STDIO: Final = Wire("stdio", "2025-11-25")
SESSION: Final = Wire("session", "2025-11-25")
STATELESS: Final = Wire("stateless", "2025-11-25")
HTTP_MODERN: Final = Wire("modern", MODERN)
MEMORY_MODERN: Final = Wire("memory", MODERN)
STDIO_MODERN: Final = Wire("stdio", MODERN)

EVERY_WIRE: Final = (MEMORY, STDIO, SESSION, STATELESS, HTTP_MODERN, MEMORY_MODERN, STDIO_MODERN)
ASKING_WIRES: Final = (MEMORY, STDIO, SESSION, HTTP_MODERN, MEMORY_MODERN)
EVERY_REVISION: Final = (*(Wire("session", name) for name in LEGACY), HTTP_MODERN)
WITHOUT_STRUCTURE: Final = ("2024-11-05", "2025-03-26")


def wire_name(wire: Wire) -> str:
    return f"{wire.transport}-{wire.revision}"


@dataclass
class Reply:
    """The answer to a request, and the messages before it."""

    final: Object
    said: list[Object] = field(default_factory=list[Object])
    http: HttpAnswer | None = None

    @property
    def result(self) -> Object:
        assert "result" in self.final, self.final
        return self.final["result"]

    @property
    def error(self) -> Object:
        assert "error" in self.final, self.final
        return self.final["error"]

    @property
    def text(self) -> str:
        return self.result["content"][0]["text"]

    @property
    def complaint(self) -> str:
        """The text of a refused call, however it was refused."""
        if "error" in self.final:
            return json.dumps(self.final["error"])
        assert self.result["isError"] is True, self.result
        return self.text

    def answer(self, wire: Wire) -> Object:
        """A tool's result: one text, and the same data as structured content if the revision has it."""
        result = self.result
        assert not result.get("isError"), result
        assert [block["type"] for block in result["content"]] == ["text"], "exactly one text"
        answer = json.loads(self.text)
        if wire.revision in WITHOUT_STRUCTURE:
            assert "structuredContent" not in result
        else:
            assert result["structuredContent"] == answer, "the same twice"
        return answer

    def notified(self, method: str) -> list[Object]:
        """The params of every notification of this method."""
        return [message["params"] for message in self.said if message.get("method") == method]


class Exchange:
    """One running request."""

    def __init__(self, request_id: Any, http: HttpAnswer | None = None) -> None:
        self.id = request_id
        self.http = http
        self.arrived: asyncio.Queue[Any] = asyncio.Queue()  # messages, lists of them in a batch, None at the end
        self._said: list[Object] = []

    async def next(self) -> Object:
        """The next message that belongs to this request; the answer is the last."""
        message = await asyncio.wait_for(self.arrived.get(), PATIENCE)
        if message is None:
            raise EOFError(f"nothing more after {self._said!r}")
        self._said.append(message)
        return message

    async def wait_for(self, method: str) -> Object:
        """The next message with this method."""
        while (message := await self.next()).get("method") != method:
            assert "method" in message, f"the answer came before {method}: {message!r}"
        return message

    async def reply(self) -> Reply:
        while "method" in (message := await self.next()):
            pass
        return Reply(message, self._said[:-1], self.http)


class Client:
    """What every wire can do."""

    def __init__(self, wire: Wire, capabilities: Object) -> None:
        self.wire = wire
        self.capabilities = capabilities
        self._ids = itertools.count(1)

    def message(self, method: str, params: Object | None, request_id: Any, meta: Object | None) -> Object:
        """A complete request of this wire's era."""
        envelope: Object = dict(meta or {})
        if self.wire.modern:
            envelope = {META + "protocolVersion": MODERN, META + "clientCapabilities": self.capabilities, **envelope}
        body = {**(params or {}), **({"_meta": envelope} if envelope else {})}
        return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": body}

    async def open(
        self, method: str, params: Object | None = None, *, request_id: Any = None, meta: Object | None = None
    ) -> Exchange:
        """Send a request; what follows is read from the exchange."""
        request_id = next(self._ids) if request_id is None else request_id
        return await self.send_request(self.message(method, params, request_id, meta))

    async def send_request(self, message: Object) -> Exchange:
        raise NotImplementedError

    async def send_other(self, message: Object) -> None:
        """Send a notification or an answer."""
        raise NotImplementedError

    async def request(
        self, method: str, params: Object | None = None, *, request_id: Any = None, meta: Object | None = None
    ) -> Reply:
        return await (await self.open(method, params, request_id=request_id, meta=meta)).reply()

    async def call(self, name: str, arguments: Object | None = None, *, meta: Object | None = None) -> Reply:
        return await self.request("tools/call", {"name": name, "arguments": arguments or {}}, meta=meta)

    async def open_call(self, name: str, arguments: Object | None = None, *, meta: Object | None = None) -> Exchange:
        return await self.open("tools/call", {"name": name, "arguments": arguments or {}}, meta=meta)

    async def notify(self, method: str, params: Object | None = None) -> None:
        await self.send_other({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    async def respond(self, request_id: Any, result: Object) -> None:
        await self.send_other({"jsonrpc": "2.0", "id": request_id, "result": result})

    async def respond_error(self, request_id: Any, code: int, message: str) -> None:
        await self.send_other({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}})

    async def cancel(self, exchange: Exchange) -> None:
        """Cancel a running request, the way this wire does it."""
        await self.notify("notifications/cancelled", {"requestId": exchange.id, "reason": "enough"})

    async def pages(self, method: str, key: str) -> list[list[Object]]:
        """Every page of a list."""
        found: list[list[Object]] = []
        cursor: str | None = None
        while True:
            result = (await self.request(method, {"cursor": cursor} if cursor else {})).result
            found.append(result[key])
            if (cursor := result.get("nextCursor")) is None:
                return found

    async def everything(self, method: str, key: str) -> list[Object]:
        return [entry for page in await self.pages(method, key) for entry in page]

    @contextlib.asynccontextmanager
    async def following(self, kinds: tuple[str, ...] = (), uris: tuple[str, ...] = ()) -> AsyncGenerator[Exchange]:
        """Subscribe to changed lists and updated resources, the way this wire does it."""
        if not self.wire.modern:
            for uri in uris:
                assert (await self.request("resources/subscribe", {"uri": uri})).result == {}
            async with self.news() as exchange:
                yield exchange
            return
        wanted: Object = {f"{kind}ListChanged": True for kind in kinds}
        if uris:
            wanted["resourceSubscriptions"] = list(uris)
        exchange = await self.open("subscriptions/listen", {"notifications": wanted})
        first = await exchange.next()
        assert first["method"] == "notifications/subscriptions/acknowledged", first
        try:
            yield exchange
        finally:
            await self.cancel(exchange)

    @contextlib.asynccontextmanager
    async def news(self) -> AsyncGenerator[Exchange]:
        """Messages that a legacy server sends unasked."""
        raise NotImplementedError
        yield Exchange(None)

    async def close(self) -> None:
        """Disconnect."""


class ConnectionClient(Client):
    """A client whose messages all share one connection: memory and stdio."""

    def __init__(self, wire: Wire, capabilities: Object, write: Callable[[bytes], Awaitable[None]]) -> None:
        super().__init__(wire, capabilities)
        self._write = write
        self._open: dict[Any, Exchange] = {}
        self._news = Exchange(None)
        self.server: Object = {}

    def take(self, line: bytes) -> None:
        """One message from the server: an answer goes to its request, anything else to all listeners."""
        message = json.loads(line)
        if isinstance(message, list) or "method" not in message:
            key = None if isinstance(message, list) else message.get("id")
            exchange = self._open.pop(key, None) or self._news
            exchange.arrived.put_nowait(message)
            return
        for exchange in (*self._open.values(), self._news):
            exchange.arrived.put_nowait(message)

    async def start(self) -> None:
        if self.wire.modern:
            return
        params = {"protocolVersion": self.wire.revision, "capabilities": self.capabilities, "clientInfo": {"name": "t"}}
        self.server = (await self.request("initialize", params)).result
        await self.notify("notifications/initialized")

    async def send_request(self, message: Object) -> Exchange:
        exchange = self._open[message["id"]] = Exchange(message["id"])
        await self._write(json.dumps(message).encode())
        return exchange

    async def send_other(self, message: Object) -> None:
        await self._write(json.dumps(message).encode())

    async def send_raw(self, line: bytes) -> Any:
        """Send any bytes as one line; return the next message that answers no request."""
        await self._write(line)
        return await self._news.next()

    async def cancel(self, exchange: Exchange) -> None:
        await super().cancel(exchange)
        self._open.pop(exchange.id, None)

    @contextlib.asynccontextmanager
    async def news(self) -> AsyncGenerator[Exchange]:
        yield self._news


class HttpClient(Client):
    """A client over HTTP, in either era, with or without a session."""

    def __init__(self, wire: Wire, capabilities: Object, app: Asgi, path: str = "/mcp") -> None:
        super().__init__(wire, capabilities)
        self.app = app
        self.path = path
        self.session: str | None = None
        self.extra: dict[str, str] = {}
        self.server: Object = {}
        self._pumps: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        if self.wire.transport != "session":
            return
        params = {"protocolVersion": self.wire.revision, "capabilities": self.capabilities, "clientInfo": {"name": "t"}}
        reply = await self.request("initialize", params)
        self.server = reply.result
        assert reply.http is not None
        self.session = reply.http.headers["mcp-session-id"]
        await self.notify("notifications/initialized")

    def headers(self, message: Object | None = None) -> dict[str, str]:
        """The correct headers for a message."""
        found = {"content-type": "application/json", "accept": "application/json, text/event-stream", **self.extra}
        if self.session is not None:
            found["mcp-session-id"] = self.session
        if (self.session is not None or self.wire.transport != "session") and self.wire.revision > "2025-03-26":
            found["mcp-protocol-version"] = self.wire.revision
        if self.wire.modern and message is not None:
            found["mcp-method"] = message["method"]
            key = NAMED.get(message["method"])
            if isinstance(name := message.get("params", {}).get(key), str):
                found["mcp-name"] = name
        return found

    def post(self, body: Any, headers: dict[str, str] | None = None) -> HttpAnswer:
        """POST any JSON with exactly these headers, or with the correct ones."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return send(self.app, "POST", self.path, headers if headers is not None else self.headers(), raw)

    async def send_request(self, message: Object) -> Exchange:
        answer = self.post(message, self.headers(message))
        exchange = Exchange(message["id"], answer)
        self._pump(answer, exchange)
        return exchange

    def _pump(self, answer: HttpAnswer, exchange: Exchange) -> None:
        async def carry() -> None:
            try:
                async for message in answer.messages():
                    exchange.arrived.put_nowait(message)
            finally:
                exchange.arrived.put_nowait(None)

        task = asyncio.create_task(carry())
        self._pumps.add(task)

    async def send_other(self, message: Object) -> None:
        answer = self.post(message, self.headers(message if "method" in message else None))
        await answer.body()
        assert answer.status == 202, answer.status

    async def cancel(self, exchange: Exchange) -> None:
        if not self.wire.modern:
            await super().cancel(exchange)
        elif exchange.http is not None:
            await exchange.http.leave()

    def get(self, last_event_id: str | None = None) -> HttpAnswer:
        headers = {**self.headers(), "accept": "text/event-stream"}
        del headers["content-type"]
        if last_event_id is not None:
            headers["last-event-id"] = last_event_id
        return send(self.app, "GET", self.path, headers)

    async def delete(self) -> HttpAnswer:
        answer = send(self.app, "DELETE", self.path, self.headers())
        await answer.body()
        return answer

    @contextlib.asynccontextmanager
    async def news(self) -> AsyncGenerator[Exchange]:
        answer = await self.get().head()
        exchange = Exchange(None, answer)
        self._pump(answer, exchange)
        yield exchange
        await answer.leave()

    async def close(self) -> None:
        for task in self._pumps:
            task.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
