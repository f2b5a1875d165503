"""The stateless era (2026-07-28 on): every request carries its client's identity; nothing is kept between requests."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.principal import Principal
from pentad.mcp import messages
from pentad.mcp.call import KEEP_ALIVE_SECONDS, LOG_LEVELS, NO_HEADERS, Peer, ResponseStream
from pentad.mcp.changes import SubscriptionHub, matches_filter
from pentad.mcp.client_requests import BadAnswer, InputRequired, MissingCapability, Question, is_declared
from pentad.mcp.dispatcher import SECONDS_FRESH, Answer, Dispatcher, Method
from pentad.mcp.header_params import decode_header_value
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
from pentad.mcp.request_state import StateSealer, binding
from pentad.mcp.revisions import MODERN, NEWEST_MODERN, REVISIONS, Revision
from pentad.mcp.subscription_access import CurrentPrincipal, announced_uri, may_receive
from pentad.mcp.task_methods import TaskMethods
from pentad.mcp.wire_errors import HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, UNSUPPORTED_VERSION, ProtocolError

_MOST_SUBSCRIPTIONS: Final = 1000
_METHODS_WITH_QUESTIONS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
_ANY_METHOD: Final = msgspec.json.Decoder(Params)

Headers = Mapping[bytes, bytes]


@dataclass(slots=True)
class ModernPeer(Peer):
    """The client's end of one modern request. The request describes the client, and a question ends the call for
    now."""

    meta: RequestMeta
    stream: ResponseStream
    current_principal: CurrentPrincipal | None
    rounds: "_Rounds | None" = None

    async def principal_now(self) -> Principal:
        """The caller with its current rights, for a long request; unchanged if the transport cannot check."""
        return self.principal if self.current_principal is None else await self.current_principal()

    def take_answers(
        self, sealer: StateSealer, bound_to: Callable[[], bytes], responses: Any, request_state: str | None
    ) -> None:
        """Read the client's answers: those of earlier rounds from the sealed state, and those of this round."""
        answers, state = dict[str, Any](), dict[str, Any]()
        if request_state is not None:
            opened = sealer.open(request_state, bound_to())
            answers, state = opened.answers, opened.state
        if isinstance(responses, dict):
            answers.update(cast("dict[str, Any]", responses))
        self.rounds = _Rounds(sealer, bound_to, answers, state)

    def supports(self, capability: str) -> bool:
        return is_declared(capability, self.client_capabilities())

    def client_capabilities(self) -> Mapping[str, Any]:
        return {} if self.meta.client_capabilities is UNSET else self.meta.client_capabilities

    def client_info(self) -> Mapping[str, Any]:
        return {} if self.meta.client_info is UNSET else self.meta.client_info

    def wants_log(self, level: str) -> bool:
        lowest = self.meta.log_level
        return lowest in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(lowest)

    def saved_state(self) -> dict[str, Any]:
        return dict(self.rounds.state) if self.rounds is not None else {}

    async def send(self, message: bytes) -> None:
        await self.stream.send(message)

    async def keep_alive(self) -> None:
        await self.stream.keep_alive()

    def on_suspend(self) -> None:
        self.stream.on_suspend()

    async def ask(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        for question in questions.values():
            if self.rounds is None or not self.supports(question.capability):
                raise MissingCapability(question.capability)
        return {} if self.rounds is None else self.rounds.answers_to(questions, state)


class _Rounds:
    """The rounds of one call with questions: the answers so far, and the seal for the state in between."""

    def __init__(
        self, sealer: StateSealer, bound_to: Callable[[], bytes], answers: dict[str, Any], state: dict[str, Any]
    ) -> None:
        self._sealer = sealer
        self._bound_to = bound_to
        self._answers = answers
        self.state = state
        self._accepted: dict[str, Any] = {}

    def answers_to(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        """All answers, if present and valid. Otherwise raises InputRequired, which ends this round."""
        found: dict[str, Any] = {}
        still_open: dict[str, Question] = {}
        for key, question in questions.items():
            try:
                found[key] = question.read(self._answers.get(key))
                self._accepted[key] = self._answers[key]
            except BadAnswer:
                still_open[key] = question
        if still_open:
            raise InputRequired(still_open, self._sealer.seal(self._accepted, state, self._bound_to()))
        return found


@dataclass(slots=True)
class AdmittedRequest:
    """A request whose envelope and headers are valid."""

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

    def admit(self, envelope: Envelope, headers: Headers | None) -> AdmittedRequest:
        """Check a request's envelope, and its headers if the transport has any. Raises ProtocolError."""
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
        return AdmittedRequest(method, params, revision)

    def _check_param_headers(self, headers: Headers, params: Any) -> None:
        bound = self._registry.tools.get(params.name)
        if bound is None or not bound.declared.headers:
            return
        arguments = msgspec.json.decode(params.arguments)
        for mirrored in bound.declared.headers:
            if not mirrored.agrees(arguments, headers):
                name = mirrored.header.decode("ascii")
                raise ProtocolError(HEADER_MISMATCH, f"The header {name} differs from the argument in the body.")

    async def request(
        self,
        admitted: AdmittedRequest,
        request_id: RequestId,
        principal: Principal,
        stream: ResponseStream,
        transport: str,
        trace: str | None = None,
        current_principal: CurrentPrincipal | None = None,
        headers: Headers = NO_HEADERS,
    ) -> bytes:
        """Answer an admitted request with a complete JSON-RPC message. Raises ProtocolError."""
        params = admitted.params
        peer = ModernPeer(
            principal, admitted.revision, transport, trace, headers, params.meta, stream, current_principal
        )
        if admitted.method.name in _METHODS_WITH_QUESTIONS:
            self._take_answers(peer, admitted)
        result = await self._dispatcher.answer(admitted.method, params, request_id, peer)
        return messages.reply(request_id, result)

    def _take_answers(self, peer: ModernPeer, admitted: AdmittedRequest) -> None:
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
        return registry.formats[peer.revision.name].cacheable(encode(body), SECONDS_FRESH, identity), "ok"

    async def _granted(
        self, requested: SubscriptionFilter, peer: ModernPeer
    ) -> tuple[SubscriptionFilter, dict[str, list[str]], dict[str, str]]:
        """The part of the filter that this endpoint can serve to this caller, the requested URIs by the URI under which
        changes are announced, and the caller's tasks by their URIs.
        """
        offered = self._registry.capabilities(NEWEST_MODERN)
        if len(requested.resource_subscriptions) + len(requested.task_ids) > _MOST_SUBSCRIPTIONS:
            raise LimitExceeded(
                f"One stream follows at most {_MOST_SUBSCRIPTIONS} resources and tasks.", hint="Open another for more."
            )
        uris: dict[str, list[str]] = {}
        for uri in dict.fromkeys(requested.resource_subscriptions):
            if (announced := await announced_uri(self._registry, uri, peer.principal)) is not None:
                uris.setdefault(announced, []).append(uri)
        tasks = await self._tasks.subscribable(requested.task_ids, peer)
        granted = SubscriptionFilter(
            tools_list_changed=requested.tools_list_changed and "tools" in offered,
            prompts_list_changed=requested.prompts_list_changed and "prompts" in offered,
            resources_list_changed=requested.resources_list_changed and "resources" in offered,
            resource_subscriptions=tuple(uri for names in uris.values() for uri in names),
            task_ids=tuple(tasks.values()),
        )
        return granted, uris, tasks

    async def _listen(self, params: ListenParams, request_id: RequestId, peer: ModernPeer) -> Answer:
        tag = {SUBSCRIPTION_ID_KEY: request_id}
        peer.on_suspend()
        granted, uris, tasks = await self._granted(params.notifications, peer)
        listener = self._hub.add(peer.principal.id, matches_filter(granted, (*uris, *tasks)))
        try:
            acknowledged = {"notifications": granted, "_meta": tag}
            await peer.send(messages.notification("notifications/subscriptions/acknowledged", acknowledged))
            async for change in self._hub.changes(listener, self._stopping, KEEP_ALIVE_SECONDS):
                if change is None:
                    await peer.keep_alive()
                    continue
                task = tasks.get(change.subject) if change.kind == "resource" else None
                if task is not None and (update := await self._tasks.notification(task, peer, tag)) is not None:
                    await peer.send(update)
                names = uris.get(change.subject, ()) if change.kind == "resource" else (change.subject,)
                if names and await may_receive(self._registry, change, peer.principal_now):
                    for uri in names:
                        method, fields = change.notification(uri)
                        await peer.send(messages.notification(method, {**fields, "_meta": tag}))
        finally:
            self._hub.remove(listener)
        return self._registry.formats[peer.revision.name].finish(b"{}", tag), "ok"


def has_modern_meta(envelope: Envelope) -> bool:
    """Whether the message itself is modern, regardless of its headers."""
    try:
        return _ANY_METHOD.decode(envelope.params).meta.protocol_version is not UNSET
    except msgspec.MsgspecError:
        return False


def _binding(peer: ModernPeer, admitted: AdmittedRequest) -> bytes:
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
    """Refuse headers that contradict the body. The first test is the fast path: they are almost always equal."""
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
            raise _mismatch("Mcp-Name", sent, "the name or URI in the body")


def _must_equal(headers: Headers, name: bytes, label: str, value: str) -> None:
    sent = headers.get(name)
    if sent is None or sent.strip(b" \t") != value.encode():
        raise _mismatch(label, sent, "the body")


def _mismatch(header: str, sent: bytes | None, what: str) -> ProtocolError:
    problem = "is missing" if sent is None else f"differs from {what}"
    return ProtocolError(HEADER_MISMATCH, f"The header {header} {problem}.")
