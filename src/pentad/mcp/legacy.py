"""The handshake era (2024-11-05 to 2025-11-25): `initialize`, sessions, and methods that only this era has.

Independent of the transport: HTTP keeps sessions in the store, stdio keeps its only one in memory.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, Struct

from pentad.kernel.background import start_task
from pentad.kernel.errors import DeadlineExceeded, InvalidInput, NotFound, Unavailable
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.mcp import messages
from pentad.mcp.call import LOG_LEVELS, Peer, ResponseStream
from pentad.mcp.client_requests import MissingCapability, Question, is_declared
from pentad.mcp.dispatcher import Answer, Dispatcher, Handler, Method
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
from pentad.mcp.revisions import Revision, negotiate
from pentad.mcp.sessions import Session
from pentad.mcp.subscription_access import check_subscription
from pentad.mcp.wire_errors import INVALID_PARAMS, INVALID_REQUEST, ProtocolError

_ANSWER_SECONDS: Final = 600.0
_REPLIES: Final = "mcp.reply"
_CANCELS: Final = "mcp.cancel"


class _Reply(msgspec.Struct):
    result: Any = None
    error: dict[str, Any] | None = None


class PendingRequests:
    """Questions waiting for a client's reply, and calls that a client can cancel, in this process.

    A reply may reach a different process than the one that asked. That process stores it and sends a signal, and the
    waiting process picks it up. Cancellations are passed on by signal, too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._questions: dict[tuple[str, str], asyncio.Future[Any]] = {}
        self._calls: dict[tuple[str, RequestId], asyncio.Task[Any]] = {}
        self._pickups: set[asyncio.Task[None]] = set()
        self._stop = [
            database.listen(_REPLIES, self._on_reply),
            database.listen(_CANCELS, lambda payload: self._cancel_here(*msgspec.json.decode(payload))),
        ]

    def add_question(self, session: str) -> tuple[str, asyncio.Future[Any]]:
        """A new question's id, and the future that its reply will set."""
        question = f"pentad-{opaque_id(size=9)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._questions[(session, question)] = future
        return question, future

    def remove_question(self, session: str, question: str) -> None:
        self._questions.pop((session, question), None)

    async def deliver(self, session: str, question: RequestId, body: bytes) -> bool:
        """Deliver a client's reply; False if its id cannot be one of our questions."""
        key = (session, str(question))
        if key in self._questions:
            self._resolve(key, body)
            return True

        def store(transaction: Transaction) -> None:
            transaction.run(
                "INSERT INTO mcp_replies (session, question, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", *key, body
            )
            transaction.signal(_REPLIES, msgspec.json.encode(key).decode("utf-8"))

        if not key[1].startswith("pentad-") or len(key[1]) > 64:
            return False
        await self._database.write(store)
        return True

    def add_call(self, session: str, request_id: RequestId, task: asyncio.Task[Any]) -> None:
        """Register a call, so that the client can cancel it."""
        self._calls[(session, request_id)] = task

    def remove_call(self, session: str, request_id: RequestId) -> None:
        self._calls.pop((session, request_id), None)

    async def cancel(self, session: str, request_id: RequestId) -> None:
        """Cancel a call in whichever process it runs. The protocol says to ignore unknown and finished ones."""
        if (session, request_id) in self._calls:
            self._cancel_here(session, request_id)
            return
        payload = msgspec.json.encode([session, request_id]).decode("utf-8")
        await self._database.write(lambda transaction: transaction.signal(_CANCELS, payload))

    def _cancel_here(self, session: str, request_id: RequestId) -> None:
        if (task := self._calls.pop((session, request_id), None)) is not None:
            task.cancel()

    def _on_reply(self, payload: str) -> None:
        session, question = msgspec.json.decode(payload)
        if (session, question) in self._questions:
            task = start_task(self._pick_up(session, question), "picking up an answer")
            self._pickups.add(task)
            task.add_done_callback(self._pickups.discard)

    async def _pick_up(self, session: str, question: str) -> None:
        def take(transaction: Transaction) -> bytes | None:
            body = transaction.value(
                "SELECT body FROM mcp_replies WHERE session = ? AND question = ?", session, question
            )
            transaction.run("DELETE FROM mcp_replies WHERE session = ? AND question = ?", session, question)
            return body

        body = await self._database.write(take)
        if body is not None:
            self._resolve((session, question), body)

    def _resolve(self, key: tuple[str, str], body: bytes) -> None:
        future = self._questions.pop(key, None)
        if future is None or future.done():
            return
        try:
            reply = msgspec.json.decode(body, type=_Reply)
        except msgspec.MsgspecError:
            future.set_exception(InvalidInput("The client's answer was not a JSON-RPC response."))
            return
        if reply.error is not None:
            reason = str(reply.error.get("message", "no reason given"))[:200]
            future.set_exception(Unavailable(f"The client refused to answer: {reason}"))
        else:
            future.set_result(reply.result)

    async def close(self) -> None:
        for stop in self._stop:
            stop()
        for task in list(self._pickups):
            task.cancel()
        await asyncio.gather(*self._pickups, return_exceptions=True)


class SessionState(Protocol):
    """Changes a session's state: in the store over HTTP, in memory for a connection."""

    async def set_log_level(self, session: Session, level: str) -> None: ...
    async def subscribe(self, session: Session, uri: str, announced: str) -> None: ...
    async def unsubscribe(self, session: Session, uri: str) -> None: ...


@dataclass(slots=True)
class LegacyPeer(Peer):
    """The client's end of one legacy request: its session has the capabilities, questions are requests it answers."""

    session: Session | None
    session_state: SessionState
    stream: ResponseStream
    pending: PendingRequests
    request_id: RequestId | None = None

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session is not None else None

    def supports(self, capability: str) -> bool:
        if self.session is None or not self.stream.can_send:
            return False
        if capability.startswith("elicitation") and not self.revision.elicitation:
            return False
        if capability == "elicitation.url" and not self.revision.url_elicitation:
            return False
        return is_declared(capability, self.session.capabilities())

    def client_capabilities(self) -> Mapping[str, Any]:
        return self.session.capabilities() if self.session is not None else {}

    def client_info(self) -> Mapping[str, Any]:
        return self.session.client_info() if self.session is not None else {}

    def wants_log(self, level: str) -> bool:
        if self.session is None or self.session.log_level is None:
            return False
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.session.log_level)

    async def send(self, message: bytes) -> None:
        await self.stream.send(message)

    async def close_stream(self) -> None:
        await self.stream.close_early()

    def on_suspend(self) -> None:
        task = asyncio.current_task()
        if self.session is not None and self.request_id is not None and task is not None:
            self.pending.add_call(self.session.id, self.request_id, task)
        self.stream.on_suspend()

    async def ask(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        del state  # the tool waits here, so nothing has to survive a round trip
        for question in questions.values():
            if not self.supports(question.capability):
                raise MissingCapability(question.capability)
        answers = await asyncio.gather(*(self._ask_one(question) for question in questions.values()))
        return dict(zip(questions, answers, strict=True))

    async def _ask_one(self, question: Question) -> Any:
        session = self.session
        if session is None:
            raise MissingCapability(question.capability)
        key, answer = self.pending.add_question(session.id)
        try:
            await self.stream.send(messages.request(key, question.method, question.params()))
            async with asyncio.timeout(_ANSWER_SECONDS):
                return question.read(await answer)
        except TimeoutError:
            raise DeadlineExceeded(
                f"The client did not answer {question.method} within {_ANSWER_SECONDS / 60:g} minutes.",
                hint="Call again when the user can answer.",
            ) from None
        finally:
            self.pending.remove_question(session.id, key)


class Handshake(Struct, frozen=True):
    """The outcome of `initialize`."""

    revision: Revision
    client: dict[str, Any]
    body: bytes


class LegacyEra:
    """Answers messages of the handshake era."""

    def __init__(self, dispatcher: Dispatcher, pending: PendingRequests) -> None:
        self._dispatcher = dispatcher
        self.registry = dispatcher.registry
        self.pending = pending
        dispatcher.add(Method("ping", Params, self._ping))
        dispatcher.add(Method("logging/setLevel", SetLevelParams, self._set_level))
        dispatcher.add(Method("resources/subscribe", ResourceParams, self._subscribe, "uri"))
        dispatcher.add(Method("resources/unsubscribe", ResourceParams, self._unsubscribe, "uri"))
        call = dispatcher.methods["tools/call"].handle
        self._tools = {name: _ToolMethod(name, call) for name in self.registry.tools_as_methods}

    def initialize(self, raw: msgspec.Raw, principal: Principal) -> Handshake:
        """Negotiate a revision, and describe the server to the client."""
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
                self.pending.remove_call(peer.session.id, request_id)
        return messages.reply(request_id, result)

    async def notification(self, envelope: Envelope, session: Session | None) -> None:
        """Handle a notification; all but cancellations are ignored."""
        if envelope.method == "notifications/cancelled" and session is not None:
            try:
                params = msgspec.json.decode(envelope.params, type=CancelledParams)
            except msgspec.ValidationError:
                return
            await self.pending.cancel(session.id, params.request_id)

    async def response(self, envelope: Envelope, body: bytes, session: Session | None) -> None:
        """A client's response to a question. Raises ProtocolError if there is no such question."""
        if session is None or not isinstance(envelope.id, str):
            raise _unexpected_response()
        if not await self.pending.deliver(session.id, envelope.id, body):
            raise _unexpected_response()

    async def _ping(self, _params: Params, _request_id: RequestId, peer: LegacyPeer) -> Answer:
        return b"{}", "ok"

    async def _set_level(self, params: SetLevelParams, _request_id: RequestId, peer: LegacyPeer) -> Answer:
        if params.level not in LOG_LEVELS:
            raise ProtocolError(INVALID_PARAMS, f"Log levels are {', '.join(LOG_LEVELS)}; not {params.level[:50]!r}.")
        if peer.session is not None:
            await peer.session_state.set_log_level(peer.session, params.level)
        return b"{}", "ok"

    async def _subscribe(self, params: ResourceParams, _request_id: RequestId, peer: LegacyPeer) -> Answer:
        session = _require_session(peer)
        try:
            announced = await check_subscription(self.registry, params.uri, peer.principal)
        except NotFound as error:
            raise ProtocolError(peer.revision.resource_not_found, error.sentence(), {"uri": params.uri}) from None
        await peer.session_state.subscribe(session, params.uri, announced)
        return b"{}", "ok"

    async def _unsubscribe(self, params: ResourceParams, _request_id: RequestId, peer: LegacyPeer) -> Answer:
        await peer.session_state.unsubscribe(_require_session(peer), params.uri)
        return b"{}", "ok"


def _require_session(peer: LegacyPeer) -> Session:
    if peer.session is None:
        raise ProtocolError(INVALID_REQUEST, "A subscription needs a session. Start with initialize.")
    return peer.session


def _unexpected_response() -> ProtocolError:
    return ProtocolError(INVALID_REQUEST, "This response does not belong to any request of the server.")


class _ToolMethod(Method):
    """A tool as a method of its own: the parameters are its arguments. Audited and limited like `tools/call`."""

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
