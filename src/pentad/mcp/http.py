"""Streamable HTTP as plain ASGI: one endpoint, both eras.

The HTTP front has already checked host, origin, credentials, rate and size. In here a POST finds its era, its
session and its handler; the quiet way through (no stream, no wait) makes no task, no timer and two sends.
"""

import asyncio
from functools import partial
from typing import Final

import msgspec
from msgspec import UNSET

from pentad.kernel.errors import LimitExceeded, PentadError, Unavailable
from pentad.kernel.json import check_bounds
from pentad.kernel.limits import Limits
from pentad.mcp import messages, wire_errors
from pentad.mcp.envelopes import batch_parts, is_answer, parse_envelope
from pentad.mcp.exchange import HttpExchange
from pentad.mcp.following import may_hear
from pentad.mcp.legacy import LegacyEra
from pentad.mcp.listeners import serve_notifications, serve_replay
from pentad.mcp.messages import PROTOCOL_VERSION_KEY, Envelope, RequestId
from pentad.mcp.modern import ModernEra, has_modern_meta
from pentad.mcp.peers import LegacyPeer
from pentad.mcp.revisions import ASSUMED, LEGACY, MODERN, REVISIONS, Revision
from pentad.mcp.sessions import Session, SessionBook
from pentad.mcp.sse import LoggedOutlet, StreamOutlet
from pentad.mcp.streams import StreamLog
from pentad.mcp.subscriptions import SubscriptionHub
from pentad.mcp.supervision import absorb_cancellation
from pentad.mcp.wire_errors import HEADER_MISMATCH, INVALID_REQUEST, ProtocolError

_MODERN_HEADERS: Final = frozenset(name.encode("ascii") for name in MODERN)
_LEGACY_HEADERS: Final = {name.encode("ascii"): REVISIONS[name] for name in LEGACY}
_META_MARK: Final = PROTOCOL_VERSION_KEY.encode("ascii")


class McpEndpoint:
    """One MCP endpoint over HTTP."""

    def __init__(
        self,
        name: str,
        legacy: LegacyEra,
        modern: ModernEra,
        sessions: SessionBook,
        streams: StreamLog,
        hub: SubscriptionHub,
        limits: Limits,
        stopping: asyncio.Event,
    ) -> None:
        self.name = name
        self._legacy = legacy
        self._modern = modern
        self._sessions = sessions
        self._streams = streams
        self._hub = hub
        self._limits = limits
        self._stopping = stopping

    async def post(self, exchange: HttpExchange) -> None:
        """One message (or, at 2025-03-26, a batch) from the client."""
        body = exchange.body
        version = exchange.header(b"mcp-protocol-version")
        modern = version in _MODERN_HEADERS
        request_id: RequestId | None = None
        try:
            check_bounds(body, depth=self._limits.json_depth, keys=self._limits.json_keys)
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
        if is_answer(envelope):
            text = "Clients send requests and notifications in this revision, no answers."
            raise ProtocolError(INVALID_REQUEST, text)
        if request_id is None:
            await exchange.reply(202, b"")
            return
        if exchange.repeated:
            _refuse_repeated(exchange.repeated)
        admitted = self._modern.admit(envelope, exchange.headers)
        if admitted.method.name == "subscriptions/listen":
            exchange.release()
        outlet = StreamOutlet(exchange.send, exchange.receive, accepted=exchange.accepts_stream())
        try:
            trace = exchange.headers.get(b"traceparent")
            answer = await self._modern.request(
                admitted,
                request_id,
                exchange.principal,
                outlet,
                "http",
                trace.decode("latin-1") if trace else None,
                exchange.principal_now,
                exchange.headers,
            )
        except ProtocolError as error:
            if not outlet.started:
                raise
            answer = error.encoded(request_id)
        except asyncio.CancelledError:
            if not outlet.gone:
                raise
            absorb_cancellation()
            return
        finally:
            outlet.end()
        if outlet.started:
            await outlet.finish(answer)
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
        if is_answer(envelope):
            await self._legacy.response(envelope, exchange.body, session)
        else:
            await self._legacy.notification(envelope, session)
        await exchange.reply(202, b"")

    async def _initialize(self, exchange: HttpExchange, envelope: Envelope, request_id: RequestId) -> None:
        handshake = self._legacy.initialize(envelope.params, exchange.principal)
        try:
            session = await self._sessions.begin(exchange.principal.id, self.name, handshake.revision, handshake.client)
        except Unavailable:  # the store cannot write: without a session a client can still read
            await exchange.reply(200, messages.reply(request_id, handshake.body))
            return
        except PentadError as error:
            raise wire_errors.as_protocol_error(error, "initialize") from None
        header = (b"mcp-session-id", session.id.encode("ascii"))
        await exchange.reply(200, messages.reply(request_id, handshake.body), header)

    async def _session(self, exchange: HttpExchange) -> Session | None:
        """The session the request names; None when it names none. A dead or foreign one is 404."""
        if (given := exchange.header(b"mcp-session-id")) is None:
            return None
        session = await self._sessions.find(given.decode("latin-1"), exchange.principal.id, self.name)
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
        outlet = self._logged_outlet(exchange, revision, session)
        trace = exchange.headers.get(b"traceparent")
        peer = LegacyPeer(
            exchange.principal,
            revision,
            session,
            self._sessions,
            outlet,
            self._legacy.conversations,
            "http",
            trace.decode("latin-1") if trace else None,
            exchange.headers,
        )
        try:
            answer = await self._legacy.request(envelope, request_id, peer)
        except ProtocolError as error:
            if not outlet.started:
                raise
            answer = error.encoded(request_id)
        except asyncio.CancelledError:
            if self._stopping.is_set():
                raise
            absorb_cancellation()
            await (outlet.close() if outlet.started else exchange.reply(202, b""))
            return
        if outlet.started:
            await outlet.finish(answer)
        else:
            await exchange.reply(200, answer)

    def _logged_outlet(self, exchange: HttpExchange, revision: Revision, session: Session | None) -> LoggedOutlet:
        return LoggedOutlet(
            exchange.send,
            self._streams,
            session.id if session is not None else None,
            accepted=exchange.accepts_stream(),
            primed=revision.primed_streams,
        )

    async def _batch(self, exchange: HttpExchange, version: bytes | None) -> None:
        """Several messages at once, where the revision has that; answered one after another."""
        revision = _stated_revision(version)
        session = await self._session(exchange)
        revision = session.revision if session is not None else revision
        if not revision.batches:
            raise ProtocolError(
                INVALID_REQUEST, f"Revision {revision.name} has no batches. Send one message at a time."
            )
        outlet = self._logged_outlet(exchange, revision, session)
        answers: list[bytes] = []
        for part in batch_parts(exchange.body, self._limits.batch_messages):
            answer = await self._batch_part(exchange, part, revision, session, outlet)
            if answer is not None:
                answers.append(answer)
        joined = b"[%b]" % b",".join(answers)
        if outlet.started:
            await outlet.finish(joined)
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
        outlet: LoggedOutlet,
    ) -> bytes | None:
        request_id: RequestId | None = None
        try:
            envelope = parse_envelope(bytes(part))
            if isinstance(envelope.id, str | int):
                request_id = envelope.id
            if request_id is not None and envelope.method is not UNSET:
                if envelope.method == "initialize":
                    raise ProtocolError(INVALID_REQUEST, "initialize must not be part of a batch.")
                peer = LegacyPeer(
                    exchange.principal, revision, session, self._sessions, outlet, self._legacy.conversations, "http"
                )
                return await self._legacy.request(envelope, request_id, peer)
            if is_answer(envelope):
                await self._legacy.response(envelope, bytes(part), session)
            else:
                await self._legacy.notification(envelope, session)
        except ProtocolError as error:
            return error.encoded(request_id)
        return None

    async def get(self, exchange: HttpExchange) -> None:
        """The legacy era's stream from server to client, or the rest of one that was cut off."""
        if exchange.header(b"mcp-protocol-version") in _MODERN_HEADERS or b"mcp-session-id" not in exchange.headers:
            await self._not_allowed(exchange)
            return
        try:
            if not exchange.accepts_stream():
                raise ProtocolError(INVALID_REQUEST, "A GET opens a stream: accept text/event-stream.", status=406)
            session = await self._session(exchange)
            if session is None:
                raise ProtocolError(INVALID_REQUEST, "No session.", status=400)
            outlet = StreamOutlet(exchange.send, exchange.receive, accepted=True)
            if (last := exchange.header(b"last-event-id")) is not None:
                await serve_replay(self._streams, session, last, exchange, self._stopping)
            else:
                hears = partial(may_hear, self._legacy.registry, who=exchange.principal_now)
                await serve_notifications(self._hub, self._sessions, session, outlet, self._stopping, hears)
        except ProtocolError as error:
            await exchange.refuse(error, None, modern=False)

    async def delete(self, exchange: HttpExchange) -> None:
        """The client ends its session."""
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
        await self._sessions.end(session)
        await exchange.reply(204, b"")

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
