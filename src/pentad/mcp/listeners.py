"""What a legacy client gets by GET: news for its session, or the rest of a stream that was cut off."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from pentad.kernel.errors import PentadError
from pentad.mcp import messages
from pentad.mcp.exchange import HttpExchange
from pentad.mcp.sessions import Session, SessionBook
from pentad.mcp.sse import HEADERS, Disconnect, StreamOutlet, frame
from pentad.mcp.streams import StreamLog
from pentad.mcp.subscriptions import Change, SubscriptionHub
from pentad.mcp.supervision import absorb_cancellation
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError, as_protocol_error

_KEEP_ALIVE_SECONDS: Final = 15.0


async def serve_notifications(
    hub: SubscriptionHub,
    sessions: SessionBook,
    session: Session,
    outlet: StreamOutlet,
    stopping: asyncio.Event,
    hears: Callable[[Change], Awaitable[bool]],
) -> None:
    """List changes, and updates of what this session subscribed to and may still hear of, until someone ends it."""
    try:
        listener = hub.listen(session.principal, lambda change: True)
    except PentadError as error:
        raise as_protocol_error(error, "GET") from None
    outlet.waiting()
    try:
        await outlet.keep_alive()
        async for change in hub.changes(listener, stopping, _KEEP_ALIVE_SECONDS):
            if change is None:
                if await sessions.find(session.id, session.principal, session.endpoint) is None:
                    break
                await outlet.keep_alive()
            elif await _wants(sessions, session, change) and await hears(change):
                method, params = change.notification()
                await outlet.send(messages.notification(method, params or None))
        await outlet.close()
    except asyncio.CancelledError:
        if not outlet.gone:
            raise
        absorb_cancellation()
    finally:
        hub.leave(listener)
        outlet.end()


async def _wants(sessions: SessionBook, session: Session, change: Change) -> bool:
    return change.kind == "list" or await sessions.is_subscribed(session.id, change.subject)


async def serve_replay(
    streams: StreamLog, session: Session, last_event_id: bytes, exchange: HttpExchange, stopping: asyncio.Event
) -> None:
    """The events after the one the client saw last, then what still comes, until the stream's answer."""
    stream, _, number = last_event_id.decode("latin-1").rpartition(".")
    if not number.isdecimal() or len(number) > 9 or not await streams.exists(session.id, stream):
        raise ProtocolError(INVALID_PARAMS, "This Last-Event-ID names no stream of this session.", status=400)
    disconnect = Disconnect(exchange.receive, stopping)
    disconnect.watch()
    try:
        await exchange.send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await exchange.send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
        async for event in streams.follow(session.id, stream, int(number)):
            data = b":\n\n" if event is None else frame(event.body, event.id)
            await exchange.send({"type": "http.response.body", "body": data, "more_body": True})
        await exchange.send({"type": "http.response.body", "body": b""})
    except asyncio.CancelledError:
        if not disconnect.gone:
            raise
        absorb_cancellation()
    finally:
        disconnect.end()
