"""HTTP+SSE, the transport of 2024-11-05: a GET opens a stream that announces an address, the client POSTs its messages
there, and every response arrives over the stream.

It is a bridge to the current endpoint: each message becomes a separate exchange, with its request's headers, and the
response goes to the stream. A stream belongs to one process and one client.
"""

import asyncio
import dataclasses
import secrets
from typing import Any, Final
from urllib.parse import parse_qs

from pentad.kernel.errors import NotFound, Overloaded
from pentad.kernel.incidents import internal_error
from pentad.mcp.call import KEEP_ALIVE_SECONDS
from pentad.mcp.deadlines import absorb_cancellation
from pentad.mcp.http_exchange import (
    HEADERS,
    KEEP_ALIVE,
    Disconnect,
    Endpoint,
    HttpExchange,
    Message,
    Receive,
    Send,
    frame,
)
from pentad.platform import Mount, Scope

STREAM: Final = "/sse"
MESSAGES: Final = "/message"
MOST_STREAMS: Final = 1_000
_WAITING: Final = 100
_SESSION: Final = b"mcp-session-id"


class _Stream:
    """One client: its principal, the queue of messages to send, and the tasks running for it."""

    def __init__(self, principal: str) -> None:
        self.principal = principal
        self.out: asyncio.Queue[bytes] = asyncio.Queue(_WAITING)
        self.closed = asyncio.Event()
        self.session: bytes | None = None
        self.work: set[asyncio.Task[None]] = set()

    def begin(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self.work.add(task)
        task.add_done_callback(self.work.discard)
        return task

    async def until_closed(self) -> Message:
        await self.closed.wait()
        return {"type": "http.disconnect"}

    async def close(self) -> None:
        self.closed.set()
        for task in list(self.work):
            task.cancel()
        await asyncio.gather(*self.work, return_exceptions=True)


class _Answer:
    """Passes the response of an exchange to a stream."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self._is_stream = False
        self._body = b""
        self.session: bytes | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = dict(message["headers"])
            self._is_stream = headers.get(b"content-type") == b"text/event-stream"
            self.session = headers.get(_SESSION)
            return
        body: bytes = message.get("body", b"")
        if self._is_stream:
            await self._put(body)
            return
        self._body += body
        if not message.get("more_body", False) and self._body:
            await self._put(frame(self._body))

    async def _put(self, data: bytes) -> None:
        if data:
            await self._stream.out.put(data)


class HttpSse:
    """All streams of this process to one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._streams: dict[str, _Stream] = {}

    def mounts(self) -> list[Mount]:
        return [Mount(path, app=self._serve, all_rooms=True) for path in (STREAM, MESSAGES)]

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: HttpExchange = scope["state"]["exchange"]
        path = scope["path"].rstrip("/")
        if (scope["method"], path) == ("GET", STREAM):
            await self._open(exchange, receive, send)
        elif (scope["method"], path) == ("POST", MESSAGES):
            await self._take(exchange, scope["query_string"], send)
        else:
            allowed = b"GET" if path == STREAM else b"POST"
            await send({"type": "http.response.start", "status": 405, "headers": [(b"allow", allowed)]})
            await send({"type": "http.response.body", "body": b""})

    async def _open(self, exchange: HttpExchange, receive: Receive, send: Send) -> None:
        if len(self._streams) >= MOST_STREAMS:
            raise Overloaded("The server has reached its limit of streams.", hint="Try again later.")
        name, stream = secrets.token_urlsafe(24), _Stream(exchange.principal.id)
        self._streams[name] = stream
        disconnect = Disconnect(receive, exchange.stopping)
        disconnect.watch()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            data = b"event: endpoint\ndata: %b?sessionId=%b\n\n" % (MESSAGES.encode(), name.encode())
            while True:
                await send({"type": "http.response.body", "body": data, "more_body": True})
                data = await _next(stream)
        except asyncio.CancelledError:
            if not disconnect.gone:
                raise
            absorb_cancellation()
            await send({"type": "http.response.body", "body": b""})
        finally:
            disconnect.end()
            del self._streams[name]
            await stream.close()
            await self._end(stream, exchange)

    async def _take(self, exchange: HttpExchange, query: bytes, send: Send) -> None:
        names = parse_qs(query.decode("latin-1")).get("sessionId", [""])
        stream = self._streams.get(names[0])
        if stream is None or stream.principal != exchange.principal.id:
            raise NotFound("There is no such stream.", hint=f"Open one with GET {STREAM}.")
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"8")]})
        await send({"type": "http.response.body", "body": b"Accepted"})
        # `wait` does not cancel the task if this request goes away: closing the stream does.
        await asyncio.wait({stream.begin(self._forward(stream, exchange))})

    async def _forward(self, stream: _Stream, exchange: HttpExchange) -> None:
        answer = _Answer(stream)
        try:
            await self._endpoint.post(_message(stream, exchange, answer, exchange.body))
        except Exception as error:  # noqa: BLE001  the POST is answered already, so the error can only be logged
            internal_error(error, f"POST {MESSAGES}")
        if answer.session is not None and stream.session is None:
            stream.session = answer.session
            # From now on a GET of the current transport carries the server's own messages to the stream.
            stream.begin(self._endpoint.get(_message(stream, exchange, _Answer(stream))))

    async def _end(self, stream: _Stream, exchange: HttpExchange) -> None:
        if stream.session is not None:
            await self._endpoint.delete(_message(stream, exchange, _Answer(_Stream(""))))


async def _next(stream: _Stream) -> bytes:
    """The next data to send; a comment to keep the connection alive if there is none for a while."""
    try:
        async with asyncio.timeout(KEEP_ALIVE_SECONDS):
            return await stream.out.get()
    except TimeoutError:
        return KEEP_ALIVE


def _message(stream: _Stream, exchange: HttpExchange, answer: _Answer, body: bytes = b"") -> HttpExchange:
    """An exchange with the current endpoint, answered over the stream."""
    headers = {**exchange.headers, b"accept": b"application/json, text/event-stream"}
    if stream.session is not None:
        headers[_SESSION] = stream.session
    return dataclasses.replace(
        exchange, headers=headers, receive=stream.until_closed, send=answer.send, body=body, on_release=None
    )
