"""One HTTP request that passed the guards, and its response: plain JSON or server-sent events.

A response is JSON unless the handler sends messages first; then it becomes an event stream. Legacy streams of a session
are logged, so that a client that lost its connection can resume them; logging goes on while the client is away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pentad.kernel.principal import Principal
from pentad.kernel.trace import TraceParent
from pentad.mcp.messages import RequestId
from pentad.mcp.stream_log import StreamEvent, StreamLog
from pentad.mcp.wire_errors import ProtocolError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
KEEP_ALIVE: Final = b":\n\n"
"""An SSE comment. Clients ignore it; proxies see that the connection is alive."""
_RETRY_MS: Final = 500
_JSON: Final = (b"content-type", b"application/json")


class Front(Protocol):
    """The HTTP front that admitted the request. It knows the credentials and can challenge for better ones."""

    @property
    def public_url(self) -> str | None: ...
    @property
    def stopping(self) -> asyncio.Event: ...

    async def principal(self, scope: MutableMapping[str, Any], headers: Mapping[bytes, bytes]) -> Principal:
        """The owner of the credentials in the headers, with the rights they have now."""
        ...

    def scope_challenge(
        self, scope: MutableMapping[str, Any], headers: Mapping[bytes, bytes], needed: str
    ) -> list[tuple[bytes, bytes]]:
        """The headers of a response to a caller that lacks a scope."""
        ...


@dataclass(slots=True)
class HttpExchange:
    """One HTTP request and its response."""

    headers: Mapping[bytes, bytes]
    repeated: frozenset[bytes]
    """Names of headers that occurred more than once."""
    principal: Principal
    receive: Receive
    send: Send
    front: Front
    scope: MutableMapping[str, Any] = field(default_factory=dict[str, Any])
    """The ASGI scope."""
    body: bytes = b""
    on_release: Callable[[], None] | None = None

    @property
    def public_url(self) -> str | None:
        """The configured public address; None if clients use the Host of their request."""
        return self.front.public_url

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the server stops: streams have to end."""
        return self.front.stopping

    async def principal_now(self) -> Principal:
        """The caller with its current rights: a long exchange can outlive its credentials."""
        return await self.front.principal(self.scope, self.headers)

    def release(self) -> None:
        """Stop counting as a call in flight, because the call has ended or become a stream. Safe to call twice."""
        release, self.on_release = self.on_release, None
        if release is not None:
            release()

    def header(self, name: bytes) -> bytes | None:
        """A header's value without surrounding whitespace, which httptools leaves in place."""
        value = self.headers.get(name)
        return None if value is None else value.strip(b" \t")

    @property
    def trace(self) -> str | None:
        """The trace of the request, which the front has accepted or begun."""
        return self.scope.get("trace")

    def continue_trace(self, parent: TraceParent | None) -> None:
        """Switch to the trace named in the message, which is closer to the caller than the one in the headers."""
        if parent is not None:
            self.scope["trace"], self.scope["request_id"] = str(parent), parent.trace_id

    async def reply(self, status: int, body: bytes, *extra: tuple[bytes, bytes]) -> None:
        length = (b"content-length", b"%d" % len(body))
        headers = [_JSON, length, *extra] if body else [length, *extra]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, error: ProtocolError, request_id: RequestId | None, *, modern: bool) -> None:
        headers = error.headers()
        if (needed := error.required_scope) is not None:
            headers = self.front.scope_challenge(self.scope, self.headers, needed)
        await self.reply(error.http_status(modern=modern), error.encoded(request_id), *headers)

    def accepts_stream(self) -> bool:
        """Whether the client can read a stream; plain curl (`*/*` or no Accept) can."""
        accept = self.headers.get(b"accept")
        return accept is None or b"text/event-stream" in accept or b"*/*" in accept


class Endpoint(Protocol):
    """Answers the exchanges of one path: standard MCP, or a profile that a room provides."""

    async def post(self, exchange: HttpExchange) -> None: ...

    async def get(self, exchange: HttpExchange) -> None: ...

    async def delete(self, exchange: HttpExchange) -> None: ...


def frame(message: bytes, event_id: str | None = None) -> bytes:
    """One message as an event. JSON has no raw newlines, so one data line is enough."""
    if event_id is None:
        return b"event: message\ndata: %b\n\n" % message
    return b"id: %b\nevent: message\ndata: %b\n\n" % (event_id.encode("ascii"), message)


class Disconnect:
    """Cancels a handler when its client disconnects or the server stops; watches from `watch` to `end`."""

    __slots__ = ("_receive", "_stopping", "_watch", "gone")

    def __init__(self, receive: Receive, stopping: asyncio.Event | None = None) -> None:
        self._receive = receive
        self._stopping = stopping
        self._watch: asyncio.Task[None] | None = None
        self.gone = False

    def watch(self) -> None:
        task = asyncio.current_task()
        if self._watch is None and task is not None:
            self._watch = asyncio.get_running_loop().create_task(self._cancel_on_disconnect(task))

    async def _cancel_on_disconnect(self, handler: asyncio.Task[Any]) -> None:
        disconnected = asyncio.ensure_future(self._until_disconnect())
        waiting = {disconnected}
        if self._stopping is not None:
            waiting.add(asyncio.ensure_future(self._stopping.wait()))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()
        self.gone = True
        handler.cancel()

    async def _until_disconnect(self) -> bool:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        return True

    def end(self) -> None:
        if self._watch is not None:
            self._watch.cancel()


class _SseResponse:
    """A response that becomes an event stream with its first event."""

    __slots__ = ("_send", "can_send", "started")

    def __init__(self, send: Send, *, accepted: bool) -> None:
        self._send = send
        self.can_send = accepted
        self.started = False

    async def _send_headers(self) -> None:
        self.started = True
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


class EventStream(_SseResponse):
    """A modern stream: no event ids and no log. When the client disconnects, the call is cancelled."""

    __slots__ = ("_disconnect", "_receive")

    def __init__(self, send: Send, receive: Receive, *, accepted: bool) -> None:
        super().__init__(send, accepted=accepted)
        self._receive = receive
        self._disconnect: Disconnect | None = None

    @property
    def gone(self) -> bool:
        return self._disconnect is not None and self._disconnect.gone

    def on_suspend(self) -> None:
        if self._disconnect is None:
            self._disconnect = Disconnect(self._receive)
            self._disconnect.watch()

    def end(self) -> None:
        if self._disconnect is not None:
            self._disconnect.end()

    async def send(self, message: bytes) -> None:
        if self.can_send:
            await self._send_event(frame(message))

    async def keep_alive(self) -> None:
        await self._send_event(KEEP_ALIVE)

    async def close_early(self) -> None:
        """Do nothing: streams of this era cannot be resumed."""

    async def finish(self, message: bytes) -> None:
        """Send the answer, at the end of a stream that has started."""
        await self._send({"type": "http.response.body", "body": frame(message)})

    async def close(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def _send_event(self, data: bytes) -> None:
        if not self.started:
            await self._send_headers()
        await self._write(data)


class LoggedEventStream(_SseResponse):
    """A legacy stream: with a session it has event ids and a log. When the client disconnects, the call continues."""

    __slots__ = ("_closed", "_log", "_primed", "_seq", "_session", "_stream")

    def __init__(self, send: Send, log: StreamLog, session: str | None, *, accepted: bool, primed: bool) -> None:
        super().__init__(send, accepted=accepted)
        self._log = log
        self._session = session
        self._primed = primed and session is not None
        self._stream = ""
        self._seq = 0
        self._closed = False

    def on_suspend(self) -> None:
        """Do nothing: a legacy call continues when its client disconnects."""

    async def send(self, message: bytes) -> None:
        if self.can_send:
            await self._start()
            await self._emit(message, last=False)

    async def keep_alive(self) -> None:
        if self.started and not self._closed:
            await self._write(KEEP_ALIVE)

    async def finish(self, message: bytes) -> None:
        """Send the answer, at the end of a stream that has started."""
        await self._emit(message, last=True)
        await self.close()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._send({"type": "http.response.body", "body": b""})

    async def close_early(self) -> None:
        """Make the client come back with `Last-Event-ID`; only a logged stream can be resumed."""
        if self.can_send and self._primed:
            await self._start()
            await self._log.flush()  # the client may resume in another process
            await self.close()

    async def _start(self) -> None:
        if self.started:
            return
        await self._send_headers()
        if self._session is not None:
            self._stream = self._log.new_stream()
        if self._primed and self._session is not None:
            # From 2025-11-25 on, a first event without data gives the client an id to resume from.
            first = StreamEvent(self._stream, 0, b"", last=False)
            self._log.append(self._session, first)
            await self._write(b"id: %b\nretry: %d\ndata: \n\n" % (first.id.encode("ascii"), _RETRY_MS))

    async def _emit(self, message: bytes, *, last: bool) -> None:
        event_id = None
        if self._session is not None:
            self._seq += 1
            event = StreamEvent(self._stream, self._seq, message, last)
            self._log.append(self._session, event)
            event_id = event.id
        if not self._closed:
            await self._write(frame(message, event_id))
