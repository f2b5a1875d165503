"""The handshake era (2024-11-05 to 2025-11-25): initialize, sessions, and what only that era has.

Transport-neutral: HTTP keeps sessions in the store, stdio keeps its one in memory; both hand messages in here.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.mcp import messages
from pentad.mcp.call import LOG_LEVELS
from pentad.mcp.conversations import Conversations
from pentad.mcp.dispatcher import Answer, Dispatcher, Handler, Method
from pentad.mcp.following import check_follow
from pentad.mcp.messages import (
    CallToolParams,
    CancelledParams,
    Envelope,
    InitializeParams,
    Params,
    RequestId,
    ResourceParams,
    SetLevelParams,
    encode,
)
from pentad.mcp.peers import LegacyPeer
from pentad.mcp.revisions import Revision, negotiate
from pentad.mcp.sessions import Session
from pentad.mcp.wire_errors import INVALID_PARAMS, INVALID_REQUEST, ProtocolError


@dataclass(frozen=True, slots=True)
class Handshake:
    """What `initialize` agreed upon."""

    revision: Revision
    client: dict[str, Any]
    body: bytes


class LegacyEra:
    """Answers messages of the handshake era."""

    def __init__(self, dispatcher: Dispatcher, conversations: Conversations) -> None:
        self._dispatcher = dispatcher
        self.registry = dispatcher.registry
        self.conversations = conversations
        dispatcher.add(Method("ping", Params, self._ping))
        dispatcher.add(Method("logging/setLevel", SetLevelParams, self._set_level))
        dispatcher.add(Method("resources/subscribe", ResourceParams, self._subscribe, "uri"))
        dispatcher.add(Method("resources/unsubscribe", ResourceParams, self._unsubscribe, "uri"))
        call = dispatcher.methods["tools/call"].handle
        self._tools = {name: _ToolMethod(name, call) for name in self.registry.tools_as_methods}

    def initialize(self, raw: msgspec.Raw, principal: Principal) -> Handshake:
        """Agree upon a revision and say what the server can do."""
        try:
            params = msgspec.json.decode(raw, type=InitializeParams)
        except msgspec.ValidationError as error:
            raise ProtocolError(INVALID_PARAMS, f"initialize: {error}.") from None
        revision = negotiate(params.protocol_version)
        registry = self.registry
        info = {key: value for key, value in registry.info.as_json().items() if key in revision.server_fields}
        body: dict[str, Any] = {
            "protocolVersion": revision.name,
            "capabilities": registry.capabilities(revision),
            "serverInfo": info,
        }
        if instructions := registry.instructions(principal):
            body["instructions"] = instructions
        client = {"capabilities": params.capabilities, "clientInfo": params.client_info}
        return Handshake(revision, client, encode(body))

    async def request(self, envelope: Envelope, request_id: RequestId, peer: LegacyPeer) -> bytes:
        """Answer one request with a complete JSON-RPC message. Raises ProtocolError."""
        if envelope.method is UNSET:
            raise ProtocolError(INVALID_REQUEST, "A request needs a method.")
        tool = self._tools.get(envelope.method)
        method = tool or self._dispatcher.method(envelope.method, peer.revision.methods)
        params = method.decode(envelope.params)
        peer.request_id = request_id
        try:
            result = await self._dispatcher.answer(method, params, request_id, peer)
        finally:
            if peer.session is not None:
                self.conversations.finished(peer.session.id, request_id)
        return messages.reply(request_id, result)

    async def notification(self, envelope: Envelope, session: Session | None) -> None:
        """A client's notification: only cancellation asks for something to be done."""
        if envelope.method == "notifications/cancelled" and session is not None:
            try:
                params = msgspec.json.decode(envelope.params, type=CancelledParams)
            except msgspec.ValidationError:
                return
            await self.conversations.cancel(session.id, params.request_id)

    async def response(self, envelope: Envelope, body: bytes, session: Session | None) -> None:
        """A client's answer to a question of ours."""
        known = session is not None and isinstance(envelope.id, str)
        if not known or not await self.conversations.deliver(session.id, envelope.id, body):  # pyright: ignore[reportOptionalMemberAccess, reportArgumentType]  `known` says so
            raise ProtocolError(INVALID_REQUEST, "Nobody asked for this answer.")

    async def _ping(self, _params: Params, _request_id: RequestId, peer: LegacyPeer) -> Answer:
        return b"{}", "ok"

    async def _set_level(self, params: SetLevelParams, _request_id: RequestId, peer: LegacyPeer) -> Answer:
        if params.level not in LOG_LEVELS:
            raise ProtocolError(INVALID_PARAMS, f"Log levels are {', '.join(LOG_LEVELS)}; not {params.level[:50]!r}.")
        if peer.session is not None:
            await peer.keeper.set_log_level(peer.session, params.level)
        return b"{}", "ok"

    async def _subscribe(self, params: ResourceParams, _request_id: RequestId, peer: LegacyPeer) -> Answer:
        session = _needs_session(peer)
        try:
            await check_follow(self.registry, params.uri, peer.principal)
        except NotFound as error:
            raise ProtocolError(peer.revision.resource_not_found, error.sentence(), {"uri": params.uri}) from None
        await peer.keeper.subscribe(session, params.uri)
        return b"{}", "ok"

    async def _unsubscribe(self, params: ResourceParams, _request_id: RequestId, peer: LegacyPeer) -> Answer:
        await peer.keeper.unsubscribe(_needs_session(peer), params.uri)
        return b"{}", "ok"


def _needs_session(peer: LegacyPeer) -> Session:
    if peer.session is None:
        raise ProtocolError(INVALID_REQUEST, "A subscription needs a session. Start with initialize.")
    return peer.session


class _ToolMethod(Method):
    """A tool called as a method of its own: the parameters are its arguments. Audited and limited like `tools/call`."""

    __slots__ = ("_tool",)

    def __init__(self, tool: str, handle: Handler) -> None:
        super().__init__("tools/call", CallToolParams, handle, "name")
        self._tool = tool

    def decode(self, raw: msgspec.Raw) -> CallToolParams:
        try:
            given = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ProtocolError(INVALID_PARAMS, f"{self._tool}: {error}.") from None
        meta = {"_meta": given.pop("_meta")} if "_meta" in given else {}
        return super().decode(msgspec.Raw(msgspec.json.encode({"name": self._tool, "arguments": given, **meta})))
