"""Streamable HTTP as plain ASGI: one MCP endpoint, both eras.

The HTTP front has checked host, origin, credentials, rate and size. This module finds the era, session and handler of a
POST. A call that neither streams nor waits needs no task and no timer, and its response takes two sends.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import UNSET

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import LimitExceeded, PentadError, Unavailable
from pentad.kernel.json import check_bounds
from pentad.kernel.trace import parse_traceparent
from pentad.mcp import messages
from pentad.mcp.call import KEEP_ALIVE_SECONDS
from pentad.mcp.changes import Change, SubscriptionHub
from pentad.mcp.deadlines import absorb_cancellation
from pentad.mcp.http_exchange import (
    HEADERS,
    KEEP_ALIVE,
    Disconnect,
    EventStream,
    HttpExchange,
    LoggedEventStream,
    frame,
)
from pentad.mcp.legacy import LegacyEra, LegacyPeer
from pentad.mcp.messages import (
    PROTOCOL_VERSION_KEY,
    Envelope,
    RequestId,
    is_response,
    parse_envelope,
    split_batch,
)
from pentad.mcp.modern import ModernEra, has_modern_meta
from pentad.mcp.revisions import ASSUMED, LEGACY, MODERN, REVISIONS, Revision
from pentad.mcp.sessions import Session, SessionStore
from pentad.mcp.stream_log import StreamLog
from pentad.mcp.subscription_access import may_receive
from pentad.mcp.wire_errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    ProtocolError,
    as_protocol_error,
)

_MODERN_HEADERS: Final = frozenset(name.encode("ascii") for name in MODERN)
_LEGACY_HEADERS: Final = {name.encode("ascii"): REVISIONS[name] for name in LEGACY}
_META_MARK: Final = PROTOCOL_VERSION_KEY.encode("ascii")


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """One MCP endpoint over HTTP. `path` is also its name in sessions."""

    path: str
    legacy: LegacyEra
    modern: ModernEra
    sessions: SessionStore
    streams: StreamLog
    hub: SubscriptionHub
    limits: Limits
    stopping: asyncio.Event

    async def post(self, exchange: HttpExchange) -> None:
        """Answer one message from the client or, in revision 2025-03-26, a batch."""
        body = exchange.body
        version = exchange.header(b"mcp-protocol-version")
        modern = version in _MODERN_HEADERS
        request_id: RequestId | None = None
        try:
            check_bounds(body, depth=self.limits.json_depth, keys=self.limits.json_keys)
            if body[:32].lstrip()[:1] == b"[" and not modern:
                await self._batch(exchange, version)
                return
            envelope = parse_envelope(body)
            if isinstance(envelope.id, str | int):
                request_id = envelope.id
            modern = modern or (_META_MARK in body and has_modern_meta(envelope))
            if modern:
                await self._post_modern(exchange, envelope, request_id)
            else:
                await self._post_legacy(exchange, envelope, request_id, version)
        except ProtocolError as error:
            await exchange.refuse(error, request_id, modern=modern)
        except LimitExceeded as error:
            refused = ProtocolError(INVALID_REQUEST, error.sentence(), error.as_json(), status=error.http_status)
            await exchange.refuse(refused, request_id, modern=modern)

    async def _post_modern(self, exchange: HttpExchange, envelope: Envelope, request_id: RequestId | None) -> None:
        if is_response(envelope):
            raise ProtocolError(INVALID_REQUEST, "In this revision clients send requests and notifications only.")
        if request_id is None:
            await exchange.reply(202, b"")
            return
        if exchange.repeated:
            _refuse_repeated(exchange.repeated)
        admitted = self.modern.admit(envelope, exchange.headers)
        if admitted.params.meta.traceparent is not UNSET:
            exchange.continue_trace(parse_traceparent(admitted.params.meta.traceparent))
        if admitted.method.name == "subscriptions/listen":
            exchange.release()
        stream = EventStream(exchange.send, exchange.receive, accepted=exchange.accepts_stream())
        try:
            answer = await self.modern.request(
                admitted,
                request_id,
                exchange.principal,
                stream,
                "http",
                exchange.scope["trace"],
                exchange.principal_now,
                exchange.headers,
            )
        except ProtocolError as error:
            if not stream.started:
                raise
            answer = error.encoded(request_id)
        except asyncio.CancelledError:
            if not stream.gone:
                raise
            absorb_cancellation()
            return
        finally:
            stream.end()
        if stream.started:
            await stream.finish(answer)
        else:
            await exchange.reply(200, answer)

    async def _post_legacy(
        self, exchange: HttpExchange, envelope: Envelope, request_id: RequestId | None, version: bytes | None
    ) -> None:
        if envelope.method == "initialize" and request_id is not None:
            await self._initialize(exchange, envelope, request_id)
            return
        revision = _stated_revision(version)
        session = await self._session(exchange)
        if session is not None:
            revision = session.revision
        if request_id is not None and envelope.method is not UNSET:
            await self._legacy_request(exchange, envelope, request_id, revision, session)
            return
        if is_response(envelope):
            await self.legacy.response(envelope, exchange.body, session)
        else:
            await self.legacy.notification(envelope, session)
        await exchange.reply(202, b"")

    async def _initialize(self, exchange: HttpExchange, envelope: Envelope, request_id: RequestId) -> None:
        handshake = self.legacy.initialize(envelope.params, exchange.principal)
        try:
            session = await self.sessions.create(exchange.principal.id, self.path, handshake.revision, handshake.client)
        except Unavailable:  # the store refuses writes; without a session the client can still read
            await exchange.reply(200, messages.reply(request_id, handshake.body))
            return
        except PentadError as error:
            raise as_protocol_error(error, "initialize") from None
        header = (b"mcp-session-id", session.id.encode("ascii"))
        await exchange.reply(200, messages.reply(request_id, handshake.body), header)

    async def _session(self, exchange: HttpExchange) -> Session | None:
        """The session the request names, None if it names none. An unknown or foreign session is 404."""
        if (given := exchange.header(b"mcp-session-id")) is None:
            return None
        session = await self.sessions.find(given.decode("latin-1"), exchange.principal.id, self.path)
        if session is None:
            raise ProtocolError(INVALID_REQUEST, "No such session. Start a new one with initialize.", status=404)
        return session

    async def _legacy_request(
        self,
        exchange: HttpExchange,
        envelope: Envelope,
        request_id: RequestId,
        revision: Revision,
        session: Session | None,
    ) -> None:
        stream = self._logged_stream(exchange, revision, session)
        peer = self._legacy_peer(exchange, revision, session, stream)
        try:
            answer = await self.legacy.request(envelope, request_id, peer)
        except ProtocolError as error:
            if not stream.started:
                raise
            answer = error.encoded(request_id)
        except asyncio.CancelledError:
            if self.stopping.is_set():
                raise
            absorb_cancellation()  # the client cancelled the call
            await (stream.close() if stream.started else exchange.reply(202, b""))
            return
        if peer.trace is not exchange.trace:  # the message named another one
            exchange.continue_trace(parse_traceparent(peer.trace))
        if stream.started:
            await stream.finish(answer)
        else:
            await exchange.reply(200, answer)

    def _legacy_peer(
        self, exchange: HttpExchange, revision: Revision, session: Session | None, stream: LoggedEventStream
    ) -> LegacyPeer:
        trace, headers = exchange.trace, exchange.headers
        state, pending = self.sessions, self.legacy.pending
        return LegacyPeer(exchange.principal, revision, "http", trace, headers, session, state, stream, pending)

    def _logged_stream(self, exchange: HttpExchange, revision: Revision, session: Session | None) -> LoggedEventStream:
        return LoggedEventStream(
            exchange.send,
            self.streams,
            session.id if session is not None else None,
            accepted=exchange.accepts_stream(),
            primed=revision.primed_streams,
        )

    async def _batch(self, exchange: HttpExchange, version: bytes | None) -> None:
        """Answer several messages, one after another, if the revision allows batches."""
        revision = _stated_revision(version)
        session = await self._session(exchange)
        revision = session.revision if session is not None else revision
        if not revision.batches:
            raise ProtocolError(
                INVALID_REQUEST, f"Revision {revision.name} has no batches. Send one message at a time."
            )
        stream = self._logged_stream(exchange, revision, session)
        answers: list[bytes] = []
        for part in split_batch(exchange.body, self.limits.batch_messages):
            answer = await self._batch_part(exchange, part, revision, session, stream)
            if answer is not None:
                answers.append(answer)
        joined = b"[%b]" % b",".join(answers)
        if stream.started:
            await stream.finish(joined)
        elif answers:
            await exchange.reply(200, joined)
        else:
            await exchange.reply(202, b"")

    async def _batch_part(
        self,
        exchange: HttpExchange,
        part: msgspec.Raw,
        revision: Revision,
        session: Session | None,
        stream: LoggedEventStream,
    ) -> bytes | None:
        request_id: RequestId | None = None
        try:
            envelope = parse_envelope(bytes(part))
            if isinstance(envelope.id, str | int):
                request_id = envelope.id
            if request_id is not None and envelope.method is not UNSET:
                if envelope.method == "initialize":
                    raise ProtocolError(INVALID_REQUEST, "initialize must not be part of a batch.")
                peer = self._legacy_peer(exchange, revision, session, stream)
                return await self.legacy.request(envelope, request_id, peer)
            if is_response(envelope):
                await self.legacy.response(envelope, bytes(part), session)
            else:
                await self.legacy.notification(envelope, session)
        except ProtocolError as error:
            return error.encoded(request_id)
        return None

    async def get(self, exchange: HttpExchange) -> None:
        """Serve a legacy session's notifications, or the rest of a stream whose connection was lost."""
        if exchange.header(b"mcp-protocol-version") in _MODERN_HEADERS or b"mcp-session-id" not in exchange.headers:
            await self._not_allowed(exchange)
            return
        try:
            if not exchange.accepts_stream():
                text = "A GET opens a stream: send Accept: text/event-stream."
                raise ProtocolError(INVALID_REQUEST, text, status=406)
            session = await self._session(exchange)
            if session is None:
                raise ProtocolError(INVALID_REQUEST, "No session.", status=400)
            if (last := exchange.header(b"last-event-id")) is not None:
                await self._replay(exchange, session, last)
            else:
                await self._send_notifications(exchange, session)
        except ProtocolError as error:
            await exchange.refuse(error, None, modern=False)

    async def delete(self, exchange: HttpExchange) -> None:
        """End the client's session."""
        if exchange.header(b"mcp-protocol-version") in _MODERN_HEADERS:
            await self._not_allowed(exchange)
            return
        try:
            session = await self._session(exchange)
            if session is None:
                raise ProtocolError(INVALID_REQUEST, "Name the session to end in Mcp-Session-Id.", status=400)
        except ProtocolError as error:
            await exchange.refuse(error, None, modern=False)
            return
        await self.sessions.end(session)
        await exchange.reply(204, b"")

    async def _send_notifications(self, exchange: HttpExchange, session: Session) -> None:
        """Send changes of lists and of subscribed resources until the client disconnects or its session ends."""
        try:
            listener = self.hub.add(session.principal, lambda change: True)
        except PentadError as error:
            raise as_protocol_error(error, "GET") from None
        stream = EventStream(exchange.send, exchange.receive, accepted=True)
        stream.on_suspend()
        try:
            await stream.keep_alive()
            async for change in self.hub.changes(listener, self.stopping, KEEP_ALIVE_SECONDS):
                if change is None:
                    if await self.sessions.find(session.id, session.principal, session.endpoint) is None:
                        break
                    await stream.keep_alive()
                    continue
                for uri in await self._received_uris(exchange, session, change):
                    method, params = change.notification(uri)
                    await stream.send(messages.notification(method, params or None))
            await stream.close()
        except asyncio.CancelledError:
            if not stream.gone:
                raise
            absorb_cancellation()
        finally:
            self.hub.remove(listener)
            stream.end()

    async def _received_uris(self, exchange: HttpExchange, session: Session, change: Change) -> list[str]:
        """The URIs to notify about: one for a list, none if the client has not subscribed or may not see the change."""
        followed = [change.subject]
        if change.kind != "list":
            followed = await self.sessions.subscribed_uris(session.id, change.subject)
        return followed if followed and await may_receive(self.legacy.registry, change, exchange.principal_now) else []

    async def _replay(self, exchange: HttpExchange, session: Session, last_event_id: bytes) -> None:
        """Send the events after the last one the client saw, and follow the stream to its end."""
        stream, _, number = last_event_id.decode("latin-1").rpartition(".")
        if not number.isdecimal() or len(number) > 9 or not await self.streams.exists(session.id, stream):
            raise ProtocolError(INVALID_PARAMS, "This Last-Event-ID names no stream of this session.", status=400)
        disconnect = Disconnect(exchange.receive, self.stopping)
        disconnect.watch()
        try:
            await exchange.send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await exchange.send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})
            async for event in self.streams.follow(session.id, stream, int(number)):
                data = KEEP_ALIVE if event is None else frame(event.body, event.id)
                await exchange.send({"type": "http.response.body", "body": data, "more_body": True})
            await exchange.send({"type": "http.response.body", "body": b""})
        except asyncio.CancelledError:
            if not disconnect.gone:
                raise
            absorb_cancellation()
        finally:
            disconnect.end()

    async def _not_allowed(self, exchange: HttpExchange) -> None:
        text = "This is an MCP endpoint: POST JSON-RPC messages to it."
        error = ProtocolError(INVALID_REQUEST, text, status=405)
        await exchange.reply(405, error.encoded(None), (b"allow", b"POST, GET, DELETE"))


def _refuse_repeated(names: frozenset[bytes]) -> None:
    if found := sorted(name for name in names if name.startswith(b"mcp-")):
        raise ProtocolError(HEADER_MISMATCH, f"The header {found[0].decode('latin-1')} came more than once.")


def _stated_revision(version: bytes | None) -> Revision:
    if version is None:
        return ASSUMED
    if (revision := _LEGACY_HEADERS.get(version)) is None:
        text = f"MCP-Protocol-Version {version[:40].decode('latin-1')!r} is unknown. Known: {', '.join(REVISIONS)}."
        raise ProtocolError(INVALID_REQUEST, text, {"supported": list(REVISIONS)}, status=400)
    return revision
