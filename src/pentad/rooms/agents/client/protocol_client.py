"""Calls the operations of one remote agent in one dialect.

`ProtocolClient` speaks A2A 0.3 and 1.0 over JSON-RPC, and 1.0 over HTTP+JSON. `AgentVaultProtocolClient` handles the
differences of AgentVault: a send returns only an id, and everything else arrives as events.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from pentad.kernel.errors import Conflict
from pentad.kernel.json_values import as_object
from pentad.net.event_stream import ServerEvent
from pentad.rooms.agents.client.card_endpoints import Interface
from pentad.rooms.agents.client.transport import Transport
from pentad.rooms.agents.codecs import http_json
from pentad.rooms.agents.codecs.a2a_v03 import V03
from pentad.rooms.agents.codecs.a2a_v10 import HTTP, V10
from pentad.rooms.agents.codecs.agentvault import AgentVaultCodec
from pentad.rooms.agents.codecs.base import Codec, Operation, SendRequest, TaskQuery, Update
from pentad.rooms.agents.codecs.errors import Fault, decode_rpc_error, invalid_answer, not_offered
from pentad.rooms.agents.models import RESTING, Event, Json, Message, MessageEvent, StatusEvent, Task

T = TypeVar("T")
FIRST_EVENT_SECONDS: Final = 1.0


class StreamItem(Struct, frozen=True):
    """One item of a stream. `last_id` is the agent's id of the event, empty if it has none."""

    item: Task | Message | Event
    task_id: str
    last_id: str = ""


class ProtocolClient:
    """The operations of one remote agent."""

    only_acknowledges = False
    """Whether a send returns at once, even if it should wait."""

    def __init__(
        self, transport: Transport, interface: Interface, codec: Codec, extensions: tuple[str, ...] = ()
    ) -> None:
        self._transport = transport
        self._peer = transport.peer
        self._codec = codec
        self._url = interface.url
        self._tenant = interface.tenant if codec.dialect == "1.0" else None
        self._headers = {} if codec.dialect == "agentvault" else {"A2A-Version": codec.dialect}
        if extensions:
            self._headers["A2A-Extensions"] = ", ".join(extensions)

    async def send(self, request: SendRequest) -> Task | Message:
        answer = await self._call("send", self._codec.encode_send(request), self._codec.decode_answer)
        if isinstance(answer, Update):
            raise invalid_answer(self._peer, "an update where a task was expected")
        return self._named(answer)

    async def stream(self, request: SendRequest) -> AsyncGenerator[StreamItem]:
        async with aclosing(self._items("stream", self._codec.encode_send(request), "")) as items:
            async for item in items:
                yield item

    async def subscribe(self, task_id: str, last_id: str) -> AsyncGenerator[StreamItem]:
        params = self._codec.encode_query(TaskQuery(task_id=task_id))
        async with aclosing(self._items("subscribe", params, last_id)) as items:
            async for item in items:
                yield item

    async def get(self, task_id: str, history_length: int | None) -> Task:
        params = self._codec.encode_query(TaskQuery(task_id=task_id, history_length=history_length))
        return self._named(await self._call("get", params, self._codec.decode_task))

    async def cancel(self, task_id: str) -> Task:
        params = self._codec.encode_query(TaskQuery(task_id=task_id))
        return self._named(await self._call("cancel", params, self._codec.decode_task))

    def _named(self, answer: T) -> T:
        if isinstance(answer, Task):
            answer.agent = self._peer
        return answer

    def _method(self, operation: Operation) -> str:
        if (method := self._codec.methods.get(operation)) is None:
            missing = V10.methods[operation]
            raise not_offered(self._peer, f"{missing}: its dialect is {self._codec.dialect}")
        return method

    async def _call(self, operation: Operation, params: Json, decode: Callable[[bytes], T]) -> T:
        method, headers = self._method(operation), self._headers
        if self._codec.is_rpc:
            params = {**params, "tenant": self._tenant} if self._tenant else params
            raw = await self._transport.rpc(self._url, method, params, self._codec.dialect, headers)
        else:
            verb, url, body = self._http_request(operation, params)
            raw = await self._transport.request(verb, url, headers, body)
        return self._decoded(decode, raw)

    async def _events(
        self, operation: Operation, params: Json, last_id: str
    ) -> AsyncGenerator[tuple[ServerEvent, bytes]]:
        """The events of a stream, with the JSON of each result."""
        transport, dialect, method = self._transport, self._codec.dialect, self._method(operation)
        headers = {**self._headers, "Last-Event-ID": last_id} if last_id else self._headers
        if self._codec.is_rpc:
            params = {**params, "tenant": self._tenant} if self._tenant else params
            async with aclosing(transport.rpc_stream(self._url, method, params, dialect, headers)) as found:
                async for event in found:
                    yield (
                        event,
                        transport.bounded(event.data.encode())
                        if self._codec.named_events
                        else transport.read_rpc(event, dialect),
                    )
            return
        verb, url, body = self._http_request(operation, params)
        encoded = None if body is None else msgspec.json.encode(body)
        async with aclosing(transport.stream(verb, url, headers, encoded)) as found:
            async for event in found:
                if not isinstance(event, ServerEvent):
                    raise invalid_answer(self._peer, "not a stream")
                data = transport.bounded(event.data.encode())
                if event.name == "error":
                    raise decode_rpc_error(self._peer, _members(data).get("error", _members(data)), dialect)
                yield event, data

    def _http_request(self, operation: Operation, params: Json) -> tuple[str, str, Json | None]:
        verb, path, body = http_json.encode_request(operation, params)
        tenant = f"/{quote(self._tenant, safe='')}" if self._tenant else ""
        return verb, f"{self._url.rstrip('/')}{tenant}/{path}", body

    async def _items(self, operation: Operation, params: Json, last_id: str) -> AsyncGenerator[StreamItem]:
        count = 0
        async with aclosing(self._events(operation, params, last_id)) as events:
            async for event, raw in events:
                answer = self._named(self._decoded(self._codec.decode_answer, raw))
                count += 1
                number = int(event.id) if event.id.isdecimal() else count
                if isinstance(answer, Update):
                    yield StreamItem(Event(number, answer.at, answer.body), answer.task_id, event.id)
                elif isinstance(answer, Task):
                    answer.seq = number if event.id else answer.seq
                    yield StreamItem(answer, answer.id, event.id)
                else:
                    yield StreamItem(answer, answer.task_id or "", event.id)

    def _decoded(self, decode: Callable[[bytes], T], raw: bytes) -> T:
        try:
            return decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, Fault) as error:
            raise invalid_answer(self._peer, str(error)) from None


class AgentVaultProtocolClient(ProtocolClient):
    """AgentVault: a send returns an id; the task is read or followed after that.

    Pentad's own servers number events and may split one log entry into two of them, with the whole number on the
    second. Other servers send nothing to a client that subscribes late: if no event arrives for a while, the client
    reads the task.
    """

    only_acknowledges = True

    def __init__(self, transport: Transport, interface: Interface) -> None:
        self._vault = AgentVaultCodec()
        super().__init__(transport, interface, self._vault)

    async def send(self, request: SendRequest) -> Task | Message:
        return await self.get(await self._start(request), None)

    async def stream(self, request: SendRequest) -> AsyncGenerator[StreamItem]:
        task_id, message = await self._start(request), request.message
        started = Task(
            id=task_id,
            context_id=message.context_id or task_id,
            agent=self._peer,
            owner="",
            dialect="agentvault",
            history=[message],
        )
        yield StreamItem(started, task_id)
        async with aclosing(self.subscribe(task_id, "")) as items:
            async for item in items:
                yield item

    async def subscribe(self, task_id: str, last_id: str) -> AsyncGenerator[StreamItem]:
        stream = self._events("subscribe", {"id": task_id}, last_id)
        numbering = _EventNumbering(task_id, numbered=bool(last_id))
        async with aclosing(stream) as events:
            first = asyncio.ensure_future(anext(events, None))
            try:
                await asyncio.wait((first,), timeout=FIRST_EVENT_SECONDS)
                if not first.done() and (task := await self.get(task_id, None)).state in RESTING:
                    yield StreamItem(task, task_id)
                    return
                event = await first
            finally:
                if first.cancel():
                    await asyncio.gather(first, return_exceptions=True)
            while event is not None:
                for item in numbering.items(self._update(*event), event[0]):
                    yield item
                event = await anext(events, None)

    async def get(self, task_id: str, history_length: int | None) -> Task:
        task = await super().get(task_id, None)
        if history_length is not None:
            task.history = task.history[-history_length:] if history_length else []
        return task

    async def cancel(self, task_id: str) -> Task:
        answer = await self._call("cancel", {"id": task_id}, self._vault.decode_canceled)
        if not answer.success:
            raise Conflict(
                f"{self._peer} does not cancel the task: {answer.message or 'no reason given'}",
                details={"reason": "not-cancelable", "peer": self._peer},
            )
        return await self.get(task_id, None)

    async def _start(self, request: SendRequest) -> str:
        return await self._call("send", self._vault.encode_send(request), self._vault.decode_sent)

    def _update(self, event: ServerEvent, raw: bytes) -> Update | None:
        if event.name == "error":
            raise decode_rpc_error(self._peer, self._decoded(msgspec.json.decode, raw), "agentvault")
        return self._decoded(lambda data: self._vault.decode_frame(event.name, data), raw)


class _EventNumbering:
    """Numbers events: uses the server's numbers, or counts."""

    def __init__(self, task_id: str, *, numbered: bool) -> None:
        self._task_id = task_id
        self._numbered = numbered
        self._count = 0
        self._held: list[Update] = []

    def items(self, update: Update | None, event: ServerEvent) -> list[StreamItem]:
        if update is None:
            return []
        self._numbered = self._numbered or bool(event.id)
        if not self._numbered:
            self._count += 1
            return [StreamItem(Event(self._count, update.at, update.body), self._task_id)]
        if not event.has_id or "." in event.id:  # part of an entry: hold it until the whole number arrives
            self._held.append(update)
            return []
        number = int(event.id) if event.id.isdecimal() else 0
        held, self._held = self._held, []
        if held and isinstance(update.body, StatusEvent) and isinstance(first := held[-1].body, MessageEvent):
            held.pop()
            update = Update(update.task_id, update.context_id, StatusEvent(update.body.state, first.message), update.at)
        return [StreamItem(Event(number, one.at, one.body), self._task_id, event.id) for one in (*held, update)]


def open_client(transport: Transport, interface: Interface, extensions: tuple[str, ...] = ()) -> ProtocolClient:
    """The client for the dialect and binding of an interface."""
    if interface.dialect == "agentvault":
        return AgentVaultProtocolClient(transport, interface)
    codec = HTTP if interface.binding == "HTTP+JSON" else V10 if interface.dialect == "1.0" else V03
    return ProtocolClient(transport, interface, codec, extensions)


def _members(raw: bytes) -> Json:
    try:
        return as_object(msgspec.json.decode(raw))
    except (msgspec.DecodeError, RecursionError):
        return {}
