"""Sends a stream to one client: events and heartbeats until it ends.

A client that disconnects, a server that stops and credentials that expire end it. Nothing is compressed or buffered.
Errors before the first event are raised; later ones are reported in the stream, because the response has begun.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.mcp.deadlines import absorb_cancellation
from pentad.mcp.http_exchange import Disconnect, Receive, Send
from pentad.rooms.agents.codecs.errors import fault_of
from pentad.rooms.agents.codecs.event_stream import HEADERS, HEARTBEAT, HEARTBEAT_SECONDS, EventWriter
from pentad.rooms.agents.models import INTERRUPTED, Event, StatusEvent, Task
from pentad.rooms.agents.operations import AgentRequest, Stream


class StreamResponse:
    """The response of one streaming request."""

    def __init__(self, request: AgentRequest, receive: Receive, send: Send) -> None:
        self._exchange = request.exchange
        self._codec = request.codec
        self._receive = receive
        self._send = send
        self._quiet = True

    async def send_stream(self, writer: EventWriter, stream: Stream, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Send all of a stream. Errors of the engine before the first event are raised, as nothing was sent yet."""
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
                if ends_at_rest and _waits(event):
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


def _waits(event: Event | Task) -> bool:
    """Whether the task now waits for the caller."""
    return isinstance(event, Event) and isinstance(event.body, StatusEvent) and event.body.state in INTERRUPTED
