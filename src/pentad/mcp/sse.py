"""Server-sent events as ASGI: the answer to a request becomes a stream with the first message that precedes it.

A request whose handler says nothing on the way gets plain JSON. A legacy stream of a session is logged, so that it can
be resumed after the client was cut off; it goes on being logged while nobody reads it.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from pentad.mcp.streams import StreamEvent, StreamLog

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_RETRY_MS: Final = 500


def frame(message: bytes, event_id: str | None = None) -> bytes:
    """One message as an event; JSON has no raw newlines, so one data line is enough."""
    if event_id is None:
        return b"event: message\ndata: %b\n\n" % message
    return b"id: %b\nevent: message\ndata: %b\n\n" % (event_id.encode("ascii"), message)


class Disconnect:
    """Watches for the client going away (or the server stopping), once a handler has to wait, and then cancels it."""

    __slots__ = ("_receive", "_stopping", "_watch", "gone")

    def __init__(self, receive: Receive, stopping: asyncio.Event | None = None) -> None:
        self._receive = receive
        self._stopping = stopping
        self._watch: asyncio.Task[None] | None = None
        self.gone = False

    def watch(self) -> None:
        task = asyncio.current_task()
        if self._watch is None and task is not None:
            self._watch = asyncio.get_running_loop().create_task(self._until_gone(task))

    async def _until_gone(self, handler: asyncio.Task[Any]) -> None:
        leaving = asyncio.ensure_future(self._until_disconnect())
        waiting = {leaving} if self._stopping is None else {leaving, asyncio.ensure_future(self._stopping.wait())}
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


class StreamOutlet:
    """The modern era's stream: no ids, no log; the client going away means cancel."""

    __slots__ = ("_disconnect", "_receive", "_send", "can_send", "started")

    def __init__(self, send: Send, receive: Receive, *, accepted: bool) -> None:
        self._send = send
        self.can_send = accepted
        self._receive = receive
        self._disconnect: Disconnect | None = None
        self.started = False

    @property
    def gone(self) -> bool:
        return self._disconnect is not None and self._disconnect.gone

    def waiting(self) -> None:
        if self._disconnect is None:
            self._disconnect = Disconnect(self._receive)
            self._disconnect.watch()

    def end(self) -> None:
        if self._disconnect is not None:
            self._disconnect.end()

    async def send(self, message: bytes) -> None:
        if not self.can_send:
            return
        await self._begin()
        await self._write(frame(message))

    async def keep_alive(self) -> None:
        await self._begin()
        await self._write(b":\n\n")

    async def close_early(self) -> None:
        """Nothing could be resumed here."""

    async def finish(self, message: bytes) -> None:
        """The answer itself, at the end of a stream that has begun."""
        await self._send({"type": "http.response.body", "body": frame(message)})

    async def close(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def _begin(self) -> None:
        if not self.started:
            self.started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


class LoggedOutlet:
    """A legacy stream: with ids and a log where there is a session; the client going away does not stop the work."""

    __slots__ = ("_closed", "_log", "_primed", "_send", "_seq", "_session", "_stream", "can_send", "started")

    def __init__(self, send: Send, log: StreamLog, session: str | None, *, accepted: bool, primed: bool) -> None:
        self._send = send
        self._log = log
        self._session = session
        self.can_send = accepted
        self._primed = primed and session is not None
        self._stream = ""
        self._seq = 0
        self._closed = False
        self.started = False

    def waiting(self) -> None:
        """A legacy call goes on without its client."""

    async def send(self, message: bytes) -> None:
        if self.can_send:
            await self._begin()
            await self._emit(message, last=False)

    async def keep_alive(self) -> None:
        if self.started and not self._closed:
            await self._write(b":\n\n")

    async def finish(self, message: bytes) -> None:
        """The answer itself, at the end of a stream that has begun."""
        await self._emit(message, last=True)
        await self.close()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._send({"type": "http.response.body", "body": b""})

    async def close_early(self) -> None:
        """Send the client away to come back with `Last-Event-ID`; only a logged stream can be taken up again."""
        if self.can_send and self._primed:
            await self._begin()
            await self._log.flush()  # the client may come back to another process
            await self.close()

    async def _begin(self) -> None:
        if self.started:
            return
        self.started = True
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        if self._session is not None:
            self._stream = self._log.open()
        if self._primed and self._session is not None:
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

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
