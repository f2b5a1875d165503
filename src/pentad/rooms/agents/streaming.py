"""Sends a stream to one client: its first event decides whether there is one, then frames and heartbeats until it ends.

A client that leaves, a server that stops and credentials that are no longer good end it. Nothing is compressed or held
back. What goes wrong on the way is said in the stream, as its answer has begun.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import noted, unforeseen
from pentad.mcp.exchange import HttpExchange
from pentad.mcp.sse import Disconnect, Receive, Send
from pentad.mcp.supervision import absorb_cancellation
from pentad.rooms.agents.dialects.errors import Fault, fault_of
from pentad.rooms.agents.dialects.sse import HEADERS, HEARTBEAT, HEARTBEAT_SECONDS, Voice
from pentad.rooms.agents.operations.asked import Stream
from pentad.rooms.agents.tasks.model import Event, Json, StatusEvent, Task
from pentad.rooms.agents.tasks.states import INTERRUPTED


class Outlet:
    """One client's end of a stream."""

    def __init__(self, admitted: HttpExchange, receive: Receive, send: Send, told: Callable[[Fault], Json]) -> None:
        self._admitted = admitted
        self._receive = receive
        self._send = send
        self._told = told
        self._quiet = True

    async def stream(self, voice: Voice, stream: Stream, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """All of a stream. What the engine refuses before the first event is raised, as nothing was sent yet."""
        events = stream.events
        try:
            first = stream.first
            if first is None and not stream.resumed:
                first = await anext(events, None)
            self._admitted.release()
            await self._begin(headers)
            if first is not None:
                await self._write(voice.frame(first))
            if first is not None or stream.resumed:
                await self._rest(voice, events, rests=stream.rests)
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            await events.aclose()

    async def single(self, frame: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """A stream of one event."""
        await self._begin(headers)
        await self._send({"type": "http.response.body", "body": frame})

    async def _begin(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})

    async def _rest(self, voice: Voice, events: AsyncGenerator[Event | Task], *, rests: bool) -> None:
        disconnect = Disconnect(self._receive, self._admitted.stopping)
        disconnect.watch()
        handler = asyncio.current_task()
        beat = asyncio.ensure_future(self._beat(handler)) if handler is not None else None
        try:
            async for event in events:
                await self._write(voice.frame(event))
                if rests and _waits(event):
                    break
        except asyncio.CancelledError:
            if not disconnect.gone and not (beat is not None and beat.done()):
                raise
            absorb_cancellation()
        except PentadError as error:
            await self._write(voice.failed(self._told(fault_of(error))))
        except Exception as error:  # noqa: BLE001  the answer has begun: the client hears an incident number in it
            await self._write(voice.failed(self._told(fault_of(unforeseen(error, "a stream")))))
        finally:
            disconnect.end()
            if beat is not None:
                beat.cancel()

    async def _write(self, frame: bytes) -> None:
        if frame:
            self._quiet = False
            await self._send({"type": "http.response.body", "body": frame, "more_body": True})

    async def _beat(self, handler: "asyncio.Task[object]") -> None:
        """A word when there was none for a while; the end when the client may not listen any more."""
        while True:
            self._quiet = True
            await asyncio.sleep(HEARTBEAT_SECONDS)
            try:
                now = await self._admitted.principal_now()
            except PentadError as error:
                noted(error, "Going on with a stream")
                break
            if not now.may("agents", "read"):
                break
            if self._quiet:
                await self._send({"type": "http.response.body", "body": HEARTBEAT, "more_body": True})
        handler.cancel()


def _waits(event: Event | Task) -> bool:
    """Whether the task now waits for the caller."""
    return isinstance(event, Event) and isinstance(event.body, StatusEvent) and event.body.state in INTERRUPTED
