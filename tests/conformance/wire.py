"""A client that sends exactly what a test wrote, and shows exactly what came back.

It speaks HTTP by the standard library so that every header, blank and byte is in the test's hand. It must never mend
anything.
"""

import http.client
import json
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
PREFIX: Final = "io.modelcontextprotocol/"
_SECONDS: Final = 60.0
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Headers = Mapping[str, str | None]
Object = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """One server-sent event; `message` is its data as JSON, or None when it carries none."""

    id: str | None
    retry: str | None
    data: str

    @property
    def message(self) -> Any:
        return json.loads(self.data) if self.data else None


@dataclass(frozen=True)
class Answer:
    """A complete answer to one HTTP request."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    events: list[Event] = field(default_factory=list[Event])

    @property
    def messages(self) -> list[Any]:
        """Everything that was said, as a stream or as one body."""
        if self.events:
            return [event.message for event in self.events if event.data]
        return [json.loads(self.body)] if self.body else []

    @property
    def final(self) -> Object:
        """The message that answers the request."""
        found = [message for message in self.messages if "result" in message or "error" in message]
        assert len(found) == 1, f"expected one answer, saw {self.messages!r} with status {self.status}"
        return found[0]

    @property
    def result(self) -> Object:
        assert "result" in self.final, self.final
        return self.final["result"]

    @property
    def error(self) -> Object:
        assert "error" in self.final, self.final
        return self.final["error"]

    @property
    def code(self) -> int:
        return self.error["code"]

    @property
    def notifications(self) -> list[Object]:
        return [message for message in self.messages if "method" in message and "id" not in message]

    @property
    def requests(self) -> list[Object]:
        return [message for message in self.messages if "method" in message and "id" in message]


class Stream:
    """An open answer whose events are read one by one."""

    def __init__(
        self, connection: http.client.HTTPConnection, channel: socket.socket, response: http.client.HTTPResponse
    ) -> None:
        self._connection = connection
        self._channel = channel
        self._response = response
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def events(self) -> Iterator[Event]:
        """Events as they come, until the server ends the stream; a silence over the time limit is an error."""
        return _events(iter(self._response.readline, b""))

    def next_message(self) -> Object:
        """The next event that says something."""
        for event in self.events():
            if event.data:
                return event.message
        raise EOFError("the stream ended")

    def wait_for(self, method: str) -> Object:
        """The next message of this method; others before it are passed over."""
        while (message := self.next_message()).get("method") != method:
            pass
        return message

    def quiet(self, seconds: float) -> bool:
        """Whether nothing more is said for a while."""
        self._channel.settimeout(seconds)
        try:
            return not any(event.data for event in self.events())
        except TimeoutError:
            return True

    def read(self) -> bytes:
        """All that is left."""
        return self._response.read()

    def close(self) -> None:
        self._response.close()
        self._connection.close()


@dataclass(frozen=True)
class Wire:
    """One endpoint."""

    port: int
    path: str = "/mcp"

    def send(
        self, body: bytes | None, headers: Headers | None = None, *, verb: str = "POST", seconds: float = _SECONDS
    ) -> Answer:
        """One exchange, read to its end."""
        with self.open(body, headers, verb=verb, seconds=seconds) as stream:
            raw = stream.read()
            events: list[Event] = []
            if stream.headers.get("content-type", "").startswith("text/event-stream"):
                events = list(_events(raw.splitlines(keepends=True)))
            return Answer(stream.status, stream.headers, raw, events)

    def open(
        self, body: bytes | None, headers: Headers | None = None, *, verb: str = "POST", seconds: float = _SECONDS
    ) -> Stream:
        """One exchange whose answer is read by the caller."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        sent = {"Host": f"localhost:{self.port}", **(headers or {})}
        connection.putrequest(verb, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value.encode("latin-1"))
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        channel: socket.socket = connection.sock
        return Stream(connection, channel, connection.getresponse())


def content_headers() -> dict[str, str | None]:
    return {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Modern:
    """Requests of the stateless era, each complete in itself."""

    wire: Wire
    capabilities: Object = field(default_factory=dict[str, Any])

    def body(
        self, method: str, params: Object | None = None, request_id: Any = 1, meta: Object | None = None
    ) -> Object:
        """A message whose `_meta` is complete, but for the keys that are None in `meta`."""
        envelope = {
            PREFIX + "protocolVersion": MODERN,
            PREFIX + "clientCapabilities": self.capabilities,
            PREFIX + "clientInfo": {"name": "wire", "version": "1"},
            **(meta or {}),
        }
        kept = {key: value for key, value in envelope.items() if value is not None}
        return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**(params or {}), "_meta": kept}}

    def headers(self, body: Object, changed: Headers | None = None) -> dict[str, str | None]:
        """The headers that fit a body, with some changed; None leaves one out."""
        fitting = {**content_headers(), "MCP-Protocol-Version": MODERN, "Mcp-Method": body["method"]}
        if key := _NAMED.get(body["method"]):
            fitting["Mcp-Name"] = body["params"].get(key)
        return {**fitting, **(changed or {})}

    def call(
        self,
        method: str,
        params: Object | None = None,
        *,
        request_id: Any = 1,
        meta: Object | None = None,
        headers: Headers | None = None,
    ) -> Answer:
        body = self.body(method, params, request_id, meta)
        return self.wire.send(json.dumps(body).encode(), self.headers(body, headers))

    def tool(self, name: str, arguments: Object | None = None, **more: Any) -> Answer:
        """Call a tool; `more` are further params (`inputResponses`, `requestState`)."""
        return self.call("tools/call", {"name": name, "arguments": arguments or {}, **more})

    def open(
        self, method: str, params: Object | None = None, *, request_id: Any = 1, meta: Object | None = None
    ) -> Stream:
        body = self.body(method, params, request_id, meta)
        return self.wire.open(json.dumps(body).encode(), self.headers(body))


@dataclass(frozen=True)
class Session:
    """A conversation of the era with a handshake."""

    wire: Wire
    id: str
    version: str
    initialized: Answer

    @classmethod
    def start(cls, wire: Wire, version: str = LEGACY, capabilities: Object | None = None) -> "Session":
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "wire", "version": "1"},
        }
        answer = wire.send(_request("initialize", params, 0), content_headers())
        assert answer.status == 200, (answer.status, answer.body)
        session = cls(wire, answer.headers["mcp-session-id"], answer.result["protocolVersion"], answer)
        assert session.notify("notifications/initialized").status == 202
        return session

    def headers(self, changed: Headers | None = None) -> dict[str, str | None]:
        known: dict[str, str | None] = {**content_headers(), "Mcp-Session-Id": self.id}
        if self.version >= "2025-06-18":
            known["MCP-Protocol-Version"] = self.version
        return {**known, **(changed or {})}

    def call(
        self, method: str, params: Object | None = None, *, request_id: Any = 1, headers: Headers | None = None
    ) -> Answer:
        return self.wire.send(_request(method, params, request_id), self.headers(headers))

    def tool(
        self, name: str, arguments: Object | None = None, *, request_id: Any = 1, meta: Object | None = None
    ) -> Answer:
        params = {"name": name, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}
        return self.call("tools/call", params, request_id=request_id)

    def open(self, method: str, params: Object | None = None, *, request_id: Any = 1) -> Stream:
        return self.wire.open(_request(method, params, request_id), self.headers())

    def listen(self, last_event_id: str | None = None) -> Stream:
        headers = self.headers({"Accept": "text/event-stream", "Content-Type": None, "Last-Event-ID": last_event_id})
        return self.wire.open(None, headers, verb="GET")

    def notify(self, method: str, params: Object | None = None) -> Answer:
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        return self.wire.send(json.dumps(message).encode(), self.headers())

    def respond(self, request_id: Any, result: Object) -> Answer:
        return self.wire.send(
            json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode(), self.headers()
        )

    def end(self) -> Answer:
        return self.wire.send(None, self.headers({"Content-Type": None}), verb="DELETE")


def _request(method: str, params: Object | None, request_id: Any) -> bytes:
    message = {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": method,
        **({"params": params} if params is not None else {}),
    }
    return json.dumps(message).encode()


def _events(lines: Iterable[bytes]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    data: list[str] = []
    for raw in lines:
        line = raw.decode("utf-8").rstrip("\r\n")
        if not line:
            if fields or data:
                yield Event(fields.get("id"), fields.get("retry"), "\n".join(data))
            fields, data = {}, []
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            else:
                fields[name] = value
