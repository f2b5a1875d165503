"""EventService: what happens in the directory, as it happens, until the caller leaves or the server stops."""

import asyncio
from collections.abc import AsyncIterator

from google.protobuf.timestamp_pb2 import Timestamp

from pentad.kernel.errors import Unavailable
from pentad.rooms.directory.records.events import Event
from pentad.rooms.directory.wire.calls import Caller, Method, Service
from pentad.rooms.directory.wire.parts import Parts
from pentad.rooms.directory.wire.protos import events_pb2


def event_service(directory: Parts) -> Service:
    async def listen(call: Caller, request: events_pb2.ListenRequest) -> AsyncIterator[events_pb2.ListenResponse]:
        wanted = [kind for kind in request.event_types if kind]
        async with directory.events.listen(wanted, request.label_filters, request.cid_filters) as listening:
            stopping = asyncio.create_task(call.stopping.wait())
            stopping.add_done_callback(lambda _: listening.close())
            try:
                await call.begin()
                async for event in listening:
                    yield events_pb2.ListenResponse(event=_told(event))
            finally:
                stopping.cancel()
        raise Unavailable("The server is stopping.", hint="Listen again in a moment.")

    return {"Listen": Method("one-many", "read", listen, events_pb2.ListenRequest)}


def _told(event: Event) -> events_pb2.Event:
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
