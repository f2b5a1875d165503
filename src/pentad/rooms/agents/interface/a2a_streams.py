"""Streams of server-sent events: how events are written, and the response that sends them until the stream ends.

The `id:` of an event is its number in the task's log, in every dialect. Its content is encoded once per dialect and
shared by all readers; only the envelope is per reader.

A stream ends when the client disconnects, the server stops, or credentials expire. Nothing is compressed or buffered.
Errors before the first event are raised; later ones are reported in the stream, because the response has begun.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final

import msgspec

from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.lru import LruCache
from pentad.mcp.deadlines import absorb_cancellation
from pentad.mcp.http_exchange import Disconnect, Receive, Send
from pentad.rooms.agents.codecs.base import Codec
from pentad.rooms.agents.codecs.errors import fault_of
from pentad.rooms.agents.interface.a2a_operations import HttpRequest, Stream
from pentad.rooms.agents.models import INTERRUPTED, Event, Json, StatusEvent, Task

HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
HEARTBEAT: Final = b": still here\n\n"
HEARTBEAT_SECONDS: Final = 10.0
_MAX_CACHE_BYTES: Final = 8 * 1024 * 1024
_encode: Final = msgspec.json.Encoder().encode
_Frames = Sequence[tuple[bytes, bytes]]


class EventCache:
    """The latest encoded events, up to a total size."""

    def __init__(self) -> None:
        self._frames = LruCache[tuple[str, int, str], _Frames](_MAX_CACHE_BYTES, size=_frames_size)

    def get(self, task_id: str, seq: int, variant: str, encode: Callable[[], _Frames]) -> _Frames:
        """The frames of an event in one variant; encodes them on first use."""
        key = (task_id, seq, variant)
        frames = self._frames.get(key)
        if frames is None:
            frames = encode()
            self._frames.put(key, frames)
        return frames


def _frames_size(frames: _Frames) -> int:
    return sum(len(data) for _, data in frames)


class EventWriter:
    """Writes the events of one task for one reader.

    JSON-RPC (`request_id`) wraps each event in a response; HTTP+JSON and AgentVault do not. If an event consists of
    several frames, all but the last get a position in their id: `7.1`, then `7`. A reader that has `seen` only some
    frames of an event gets the rest of them.
    """

    def __init__(
        self,
        cache: EventCache,
        codec: Codec,
        task_id: str,
        context_id: str,
        request_id: bytes | None = None,
        *,
        site: str = "",
        seen: tuple[int, int] = (0, 0),
    ) -> None:
        self._cache = cache
        self._codec = codec
        self._task_id = task_id
        self._context_id = context_id
        self._request_id = None if codec.named_events else request_id
        self._variant = f"{codec.dialect} {site}" if codec.named_events else codec.dialect
        self._seen = seen
        self._open, self._close = (
            (b"", b"") if self._request_id is None else (b'{"jsonrpc":"2.0","id":%b,"result":' % self._request_id, b"}")
        )

    def write(self, item: Event | Task) -> bytes:
        """The frames of an event, or of the task at the start of a stream."""
        frames = (
            self._frames(item)
            if isinstance(item, Task)
            else self._cache.get(self._task_id, item.seq, self._variant, lambda: self._frames(item))
        )
        if not frames:
            # A bare id keeps the reader's position, but widespread A2A clients try to parse it as JSON.
            return b"id: %d\n\n" % item.seq if self._codec.named_events and isinstance(item, Event) else b""
        skip = min(self._seen[1], len(frames) - 1) if item.seq == self._seen[0] else 0
        written: list[bytes] = []
        for place, (head, data) in enumerate(frames[skip:], skip + 1):
            number = b"%d" % item.seq if place == len(frames) else b"%d.%d" % (item.seq, place)
            written.append(b"id: %b\n%bdata: %b%b%b\n\n" % (number, head, self._open, data, self._close))
        return b"".join(written)

    def write_result(self, result: Json) -> bytes:
        """A result that does not belong to a task."""
        return b"data: %b%b%b\n\n" % (self._open, _encode(result), self._close)

    def write_error(self, error: Json) -> bytes:
        if self._request_id is None:
            return b"event: error\ndata: %b\n\n" % _encode(error)
        return b'data: {"jsonrpc":"2.0","id":%b,"error":%b}\n\n' % (self._request_id, _encode(error))

    def _frames(self, item: Event | Task) -> _Frames:
        found = self._codec.encode_frames(item, self._task_id, self._context_id)
        return [(b"event: %b\n" % name.encode() if name else b"", _encode(data)) for name, data in found]


class StreamResponse:
    """The response of one streaming request."""

    def __init__(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        self._exchange = request.exchange
        self._codec = request.codec
        self._receive = receive
        self._send = send
        self._quiet = True

    async def send_stream(self, writer: EventWriter, stream: Stream, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Send a whole stream. Engine errors before the first event are raised, because nothing was sent yet."""
        events = stream.events
        try:
            first = stream.first
            if first is None and not stream.resumed:
                first = await anext(events, None)
            self._exchange.release()
            await self._begin(headers)
            if first is not None:
                await self._write(writer.write(first))
            if first is not None or stream.resumed:
                await self._rest(writer, events, ends_at_rest=stream.ends_at_rest)
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            await events.aclose()

    async def send_single(self, frame: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Send a stream of one event."""
        await self._begin(headers)
        await self._send({"type": "http.response.body", "body": frame})

    async def _begin(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})

    async def _rest(self, writer: EventWriter, events: AsyncGenerator[Event | Task], *, ends_at_rest: bool) -> None:
        disconnect = Disconnect(self._receive, self._exchange.stopping)
        disconnect.watch()
        handler = asyncio.current_task()
        beat = asyncio.ensure_future(self._beat(handler)) if handler is not None else None
        try:
            async for event in events:
                await self._write(writer.write(event))
                if ends_at_rest and waits(event):
                    break
        except asyncio.CancelledError:
            if not disconnect.gone and not (beat is not None and beat.done()):
                raise
            absorb_cancellation()
        except PentadError as error:
            await self._write(writer.write_error(self._codec.encode_error(fault_of(error))))
        except Exception as error:  # noqa: BLE001  the response has begun: report an incident number in it
            fault = fault_of(internal_error(error, "a stream"))
            await self._write(writer.write_error(self._codec.encode_error(fault)))
        finally:
            disconnect.end()
            if beat is not None:
                beat.cancel()

    async def _write(self, frame: bytes) -> None:
        if frame:
            self._quiet = False
            await self._send({"type": "http.response.body", "body": frame, "more_body": True})

    async def _beat(self, handler: "asyncio.Task[object]") -> None:
        """Send a heartbeat when nothing else was sent; end the stream when the client loses its right to read."""
        while True:
            self._quiet = True
            await asyncio.sleep(HEARTBEAT_SECONDS)
            try:
                now = await self._exchange.principal_now()
            except PentadError as error:
                ensure_logged(error, "Going on with a stream")
                break
            if not now.may("agents", "read"):
                break
            if self._quiet:
                await self._send({"type": "http.response.body", "body": HEARTBEAT, "more_body": True})
        handler.cancel()


def waits(event: Event | Task) -> bool:
    """Whether the task now waits for the caller."""
    return isinstance(event, Event) and isinstance(event.body, StatusEvent) and event.body.state in INTERRUPTED
