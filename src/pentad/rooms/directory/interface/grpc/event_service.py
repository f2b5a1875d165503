"""EventService: streams the directory's events until the caller disconnects or the server stops."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

from google.protobuf.timestamp_pb2 import Timestamp

from pentad.kernel.errors import Overloaded, Unavailable
from pentad.rooms.directory.interface.grpc.calls import Caller, Method, Service
from pentad.rooms.directory.records.events import Event
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.wire.protos import events_pb2


def event_service(directory: Directory) -> Service:
    listeners: Counter[str] = Counter()
    most = directory.platform.limits.streams_per_principal

    async def listen(call: Caller, request: events_pb2.ListenRequest) -> AsyncIterator[events_pb2.ListenResponse]:
        if listeners[call.who.id] >= most:
            raise Overloaded(f"You listen {most} times already.", hint="End one of those calls first.")
        listeners[call.who.id] += 1
        try:
            async for event in told(call, request):
                yield events_pb2.ListenResponse(event=_shown(event))
        finally:
            listeners[call.who.id] -= 1
        raise Unavailable("The server is stopping.", hint="Listen again in a moment.")

    async def told(call: Caller, request: events_pb2.ListenRequest) -> AsyncIterator[Event]:
        wanted = [kind for kind in request.event_types if kind]
        async with directory.events.listen(wanted, request.label_filters, request.cid_filters) as listening:
            stopping = asyncio.create_task(call.stopping.wait())
            stopping.add_done_callback(lambda _: listening.close())
            try:
                await call.begin()
                async for event in listening:
                    yield event
            finally:
                stopping.cancel()

    return {"Listen": Method("one-many", "read", listen, events_pb2.ListenRequest)}


def _shown(event: Event) -> events_pb2.Event:
    at = Timestamp()
    at.FromNanoseconds(int(event.timestamp * 1e9))
    return events_pb2.Event(
        id=event.id,
        type=event.type.value,  # pyright: ignore[reportArgumentType]  the numbers are the wire's own
        timestamp=at,
        resource_id=event.resource_id,
        labels=event.labels,
        metadata=dict(event.metadata),
    )
