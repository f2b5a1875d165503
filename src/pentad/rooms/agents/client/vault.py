"""AgentVault's profile with one agent: a send is answered with an id, everything else is told by events.

Pentad's own servers number the events, and may tell one entry of the log in two of them, with the whole number on the
second: the first is held until that comes, so that an entry is heard as one. Others tell those who come late nothing at
all: when no event comes for a while, the task is asked for.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Final, TypeVar

import msgspec

from pentad.kernel.errors import Conflict
from pentad.net.event_stream import ServerEvent
from pentad.rooms.agents.client import vault_wire
from pentad.rooms.agents.client.a2a_wire import Update
from pentad.rooms.agents.client.line import Line
from pentad.rooms.agents.client.peers import Interface
from pentad.rooms.agents.client.refusals import not_understood, rpc_refusal, unsupported
from pentad.rooms.agents.client.speaking import Heard, Listing, Sending
from pentad.rooms.agents.dialects.errors import Fault
from pentad.rooms.agents.tasks.model import (
    Dialect,
    Event,
    Json,
    Message,
    MessageEvent,
    PushConfig,
    StatusEvent,
    Task,
    TaskPage,
)
from pentad.rooms.agents.tasks.states import RESTING

T = TypeVar("T")
FIRST_EVENT_SECONDS: Final = 1.0


class VaultSpeaker:
    """Speaks AgentVault with one agent."""

    dialect: Dialect = "agentvault"
    only_acknowledges = True

    def __init__(self, line: Line, interface: Interface) -> None:
        self._line = line
        self._url = interface.url
        self._peer = line.peer

    async def send(self, message: Message, how: Sending) -> Task | Message:
        return await self.get(await self._start(message, how), None)

    async def stream(self, message: Message, how: Sending) -> AsyncGenerator[Heard]:
        task_id = await self._start(message, how)
        taken = Task(
            id=task_id,
            context_id=message.context_id or task_id,
            agent=self._peer,
            owner="",
            dialect=self.dialect,
            history=[message],
        )
        yield Heard(taken, task_id)
        async with aclosing(self.subscribe(task_id, "")) as found:
            async for one in found:
                yield one

    async def subscribe(self, task_id: str, last_id: str) -> AsyncGenerator[Heard]:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        stream = self._line.rpc_stream(self._url, "tasks/sendSubscribe", {"id": task_id}, self.dialect, headers)
        numbering = _Numbering(task_id, counted=bool(last_id))
        async with aclosing(stream) as found:
            first = asyncio.ensure_future(anext(found, None))
            try:
                await asyncio.wait((first,), timeout=FIRST_EVENT_SECONDS)
                if not first.done() and (task := await self.get(task_id, None)).state in RESTING:
                    yield Heard(task, task_id)
                    return
                event = await first
            finally:
                if first.cancel():
                    await asyncio.gather(first, return_exceptions=True)
            while event is not None:
                for one in numbering.heard(self._update(event), event):
                    yield one
                event = await anext(found, None)

    def _update(self, event: ServerEvent) -> Update | None:
        if event.name == "error":
            raise rpc_refusal(self._peer, self._read(msgspec.json.decode, event.data.encode()), self.dialect)
        raw = self._line.bounded(event.data.encode())
        return self._read(lambda data: vault_wire.update(event.name, data), raw)

    async def get(self, task_id: str, history_length: int | None) -> Task:
        raw = await self._ask("tasks/get", {"id": task_id})
        task = self._read(lambda data: vault_wire.task(data, self._peer), raw)
        if history_length is not None:
            task.history = task.history[-history_length:] if history_length else []
        return task

    async def listed(self, wanted: Listing) -> TaskPage:
        raise unsupported(self._peer, "a list of tasks")

    async def cancel(self, task_id: str) -> Task:
        answer = self._read(vault_wire.CANCELED.decode, await self._ask("tasks/cancel", {"id": task_id}))
        if not answer.success:
            details = {"reason": "not-cancelable", "peer": self._peer}
            raise Conflict(
                f"{self._peer} does not cancel the task: {answer.message or 'no reason given'}", details=details
            )
        return await self.get(task_id, None)

    async def set_push(self, task_id: str, config: PushConfig) -> PushConfig:
        raise unsupported(self._peer, "notifications for a task that has begun")

    async def get_push(self, task_id: str, config_id: str) -> PushConfig:
        raise unsupported(self._peer, "notifications for a task that has begun")

    async def list_push(self, task_id: str) -> list[PushConfig]:
        raise unsupported(self._peer, "notifications for a task that has begun")

    async def delete_push(self, task_id: str, config_id: str) -> None:
        raise unsupported(self._peer, "notifications for a task that has begun")

    async def extended_card(self) -> dict[str, Any]:
        raise unsupported(self._peer, "an extended card")

    async def _start(self, message: Message, how: Sending) -> str:
        params: Json = {"message": vault_wire.sent(message)}
        if message.task_id is not None:
            params["id"] = message.task_id
        if how.push is not None:
            params["webhookUrl"] = how.push.url
        return self._read(vault_wire.SENT.decode, await self._ask("tasks/send", params)).id

    async def _ask(self, method: str, params: Json) -> bytes:
        return await self._line.rpc(self._url, method, params, self.dialect, {})

    def _read(self, read: Callable[[bytes], T], raw: bytes) -> T:
        try:
            return read(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, Fault) as error:
            raise not_understood(self._peer, str(error)) from None


class _Numbering:
    """Gives events their numbers: the peer's own, or one after the other."""

    def __init__(self, task_id: str, *, counted: bool) -> None:
        self._task_id = task_id
        self._counted = counted
        self._count = 0
        self._held: list[Update] = []

    def heard(self, update: Update | None, event: ServerEvent) -> list[Heard]:
        if update is None:
            return []
        self._counted = self._counted or bool(event.id)
        if not self._counted:
            self._count += 1
            return [Heard(Event(self._count, update.at, update.body), self._task_id)]
        if not event.has_id or "." in event.id:
            self._held.append(update)
            return []
        number = int(event.id) if event.id.isdecimal() else 0
        held, self._held = self._held, []
        if held and isinstance(update.body, StatusEvent) and isinstance(said := held[-1].body, MessageEvent):
            held.pop()
            update = Update(update.task_id, update.context_id, StatusEvent(update.body.state, said.message), update.at)
        return [Heard(Event(number, one.at, one.body), self._task_id, event.id) for one in (*held, update)]
