"""The stateless era (2026-07-28 on): every request says who it is; nothing is remembered between two of them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.principal import Principal
from pentad.mcp import messages
from pentad.mcp.call import NO_HEADERS
from pentad.mcp.dispatcher import Answer, Dispatcher, Method
from pentad.mcp.following import Who, may_follow, may_hear
from pentad.mcp.header_params import decode_header_value
from pentad.mcp.listing import SECONDS_FRESH
from pentad.mcp.messages import (
    SERVER_INFO_KEY,
    SUBSCRIPTION_ID_KEY,
    Envelope,
    ListenParams,
    Params,
    RequestId,
    RequestMeta,
    SubscriptionFilter,
    encode,
)
from pentad.mcp.peers import ModernPeer, Outlet
from pentad.mcp.request_state import StateSealer, binding
from pentad.mcp.revisions import MODERN, NEWEST_MODERN, REVISIONS, Revision
from pentad.mcp.subscriptions import SubscriptionHub, filter_wants
from pentad.mcp.task_methods import TaskMethods
from pentad.mcp.wire_errors import HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, UNSUPPORTED_VERSION, ProtocolError

_KEEP_ALIVE_SECONDS: Final = 15.0
_MOST_FOLLOWED: Final = 1000
_ASKING_METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
_ANY_METHOD: Final = msgspec.json.Decoder(Params)

Headers = Mapping[bytes, bytes]


@dataclass(slots=True)
class Admitted:
    """A request that passed every check of the envelope."""

    method: Method
    params: Any
    revision: Revision


class ModernEra:
    """Answers requests of the stateless era."""

    def __init__(
        self, dispatcher: Dispatcher, sealer: StateSealer, hub: SubscriptionHub, stopping: asyncio.Event
    ) -> None:
        self._dispatcher = dispatcher
        self._registry = dispatcher.registry
        self._sealer = sealer
        self._hub = hub
        self._stopping = stopping
        self._tasks = TaskMethods(dispatcher)
        dispatcher.add(Method("server/discover", Params, self._discover))
        dispatcher.add(Method("subscriptions/listen", ListenParams, self._listen))

    def admit(self, envelope: Envelope, headers: Headers | None) -> Admitted:
        """Check a request's envelope, and its headers where the transport has them. Raises ProtocolError."""
        name = envelope.method
        if name is UNSET:
            raise ProtocolError(INVALID_REQUEST, "A request needs a method.")
        known = self._dispatcher.methods.get(name) if name in NEWEST_MODERN.methods else None
        params = known.decode(envelope.params) if known is not None else _decode_any(envelope.params)
        meta: RequestMeta = params.meta
        if meta.protocol_version is UNSET or meta.client_capabilities is UNSET:
            missing = "protocolVersion" if meta.protocol_version is UNSET else "clientCapabilities"
            raise ProtocolError(INVALID_PARAMS, f"params._meta lacks io.modelcontextprotocol/{missing}.")
        if headers is not None:
            label = getattr(params, known.label) if known is not None and known.label is not None else None
            _check_headers(headers, meta.protocol_version, name, label)
        revision = REVISIONS.get(meta.protocol_version)
        if revision is None or not revision.modern:
            raise ProtocolError(
                UNSUPPORTED_VERSION,
                f"This server speaks {', '.join(MODERN)} without a handshake.",
                {"supported": list(MODERN), "requested": meta.protocol_version},
            )
        method = (
            known if known is not None and name in revision.methods else self._dispatcher.method(name, revision.methods)
        )
        if headers is not None and name == "tools/call":
            self._check_param_headers(headers, params)
        return Admitted(method, params, revision)

    def _check_param_headers(self, headers: Headers, params: Any) -> None:
        bound = self._registry.tools.get(params.name)
        if bound is None or not bound.tool.headers:
            return
        arguments = msgspec.json.decode(params.arguments)
        for mirrored in bound.tool.headers:
            if not mirrored.agrees(arguments, headers):
                shown = mirrored.header.decode("ascii")
                raise ProtocolError(HEADER_MISMATCH, f"The header {shown} does not say what the argument says.")

    async def request(
        self,
        admitted: Admitted,
        request_id: RequestId,
        principal: Principal,
        outlet: Outlet,
        transport: str,
        trace: str | None = None,
        who: Who | None = None,
        headers: Headers = NO_HEADERS,
    ) -> bytes:
        """Answer an admitted request with a complete JSON-RPC message. Raises ProtocolError."""
        params = admitted.params
        peer = ModernPeer(principal, admitted.revision, params.meta, outlet, transport, trace, who, headers)
        if admitted.method.name in _ASKING_METHODS:
            self._take_answers(peer, admitted)
        result = await self._dispatcher.answer(admitted.method, params, request_id, peer)
        return messages.reply(request_id, result)

    def _take_answers(self, peer: ModernPeer, admitted: Admitted) -> None:
        params = admitted.params
        if params.input_responses is UNSET and params.request_state is UNSET and not params.meta.client_capabilities:
            return
        state = params.request_state if isinstance(params.request_state, str) else None
        peer.take_answers(self._sealer, lambda: _binding(peer, admitted), params.input_responses, state)

    async def _discover(self, _params: Params, _request_id: RequestId, peer: ModernPeer) -> Answer:
        registry = self._registry
        body: dict[str, Any] = {
            "supportedVersions": list(MODERN),
            "capabilities": registry.capabilities(NEWEST_MODERN),
        }
        if instructions := registry.instructions(peer.principal):
            body["instructions"] = instructions
        identity = {SERVER_INFO_KEY: registry.info.as_json()}
        return registry.shapes[peer.revision.name].cacheable(encode(body), SECONDS_FRESH, identity), "ok"

    async def _honoured(
        self, wanted: SubscriptionFilter, peer: ModernPeer
    ) -> tuple[SubscriptionFilter, dict[str, str]]:
        """What of the wish this endpoint can fulfil, for this caller; and its tasks by their addresses."""
        offered = self._registry.capabilities(NEWEST_MODERN)
        if len(wanted.resource_subscriptions) + len(wanted.task_ids) > _MOST_FOLLOWED:
            raise LimitExceeded(
                f"One stream follows at most {_MOST_FOLLOWED} resources and tasks.", hint="Open another for more."
            )
        uris, registry, principal = wanted.resource_subscriptions, self._registry, peer.principal
        followed = [uri for uri in uris if await may_follow(registry, uri, principal)]
        tasks = await self._tasks.followed(wanted.task_ids, peer)
        honoured = SubscriptionFilter(
            tools_list_changed=wanted.tools_list_changed and "tools" in offered,
            prompts_list_changed=wanted.prompts_list_changed and "prompts" in offered,
            resources_list_changed=wanted.resources_list_changed and "resources" in offered,
            resource_subscriptions=tuple(followed),
            task_ids=tuple(tasks.values()),
        )
        return honoured, tasks

    async def _listen(self, params: ListenParams, request_id: RequestId, peer: ModernPeer) -> Answer:
        tag = {SUBSCRIPTION_ID_KEY: request_id}
        peer.waiting()
        wanted, tasks = await self._honoured(params.notifications, peer)
        listener = self._hub.listen(peer.principal.id, filter_wants(wanted, tasks))
        try:
            acknowledged = {"notifications": wanted, "_meta": tag}
            await peer.send(messages.notification("notifications/subscriptions/acknowledged", acknowledged))
            async for change in self._hub.changes(listener, self._stopping, _KEEP_ALIVE_SECONDS):
                if change is None:
                    await peer.keep_alive()
                    continue
                task = tasks.get(change.subject) if change.kind == "resource" else None
                if task is not None and (news := await self._tasks.news(task, peer, tag)) is not None:
                    await peer.send(news)
                if task is not None and change.subject not in wanted.resource_subscriptions:
                    continue
                if await may_hear(self._registry, change, peer.principal_now):
                    method, fields = change.notification()
                    await peer.send(messages.notification(method, {**fields, "_meta": tag}))
        finally:
            self._hub.leave(listener)
        return self._registry.shapes[peer.revision.name].finish(b"{}", tag), "ok"


def has_modern_meta(envelope: Envelope) -> bool:
    """Whether the message itself says that it is of this era, whatever its headers say."""
    try:
        return _ANY_METHOD.decode(envelope.params).meta.protocol_version is not UNSET
    except msgspec.MsgspecError:
        return False


def _binding(peer: ModernPeer, admitted: Admitted) -> bytes:
    params = admitted.params
    label = getattr(params, admitted.method.label or "", "")
    arguments = getattr(params, "arguments", None)
    plain = msgspec.json.decode(arguments) if isinstance(arguments, msgspec.Raw) else arguments
    return binding(
        peer.principal.id, admitted.method.name, label, msgspec.json.encode(plain or {}, order="deterministic")
    )


def _decode_any(raw: msgspec.Raw) -> Params:
    try:
        return _ANY_METHOD.decode(raw)
    except msgspec.MsgspecError as error:
        raise ProtocolError(INVALID_PARAMS, f"params: {error}.") from None


def _check_headers(headers: Headers, version: str, method: str, label: str | None) -> None:
    """The headers must say what the body says. Nearly always they do so to the letter: that is asked first."""
    if (
        headers.get(b"mcp-method") == method.encode()
        and headers.get(b"mcp-protocol-version") == version.encode()
        and (label is None or headers.get(b"mcp-name") == label.encode())
    ):
        return
    _must_equal(headers, b"mcp-protocol-version", "MCP-Protocol-Version", version)
    _must_equal(headers, b"mcp-method", "Mcp-Method", method)
    if label is not None:
        sent = headers.get(b"mcp-name")
        if sent is None or (sent.strip(b" \t") != label.encode() and decode_header_value(sent.strip(b" \t")) != label):
            raise _mismatch("Mcp-Name", sent, "the name or uri of the body")


def _must_equal(headers: Headers, name: bytes, shown: str, value: str) -> None:
    sent = headers.get(name)
    if sent is None or sent.strip(b" \t") != value.encode():
        raise _mismatch(shown, sent, "the body")


def _mismatch(header: str, sent: bytes | None, what: str) -> ProtocolError:
    problem = "is missing" if sent is None else f"does not say what {what} says"
    return ProtocolError(HEADER_MISMATCH, f"The header {header} {problem}.")
