"""Sends tasks to agents: hosted here, registered, or found by card URL. Waiting callers receive every event.

Disconnecting leaves the task running; cancelling the call cancels the task.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Principal
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.client.remote_agent import RemoteAgent
from pentad.rooms.agents.context.extension import PLAIN_KEY, with_issues
from pentad.rooms.agents.models import Event, Message, Part, Task
from pentad.rooms.agents.registry.search import CardQuery
from pentad.rooms.agents.remote_agents import remote_agent, send_and_poll, send_and_wait
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.engine import Tasks

_NEAREST: Final = 250
OnEvent = Callable[[Event], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A task for an agent: text and data, with the context it needs."""

    agent: str
    parts: tuple[Part, ...]
    context: Mapping[str, Any] | None = None
    task_id: str | None = None
    context_id: str | None = None
    metadata: Mapping[str, Any] | None = None
    """Stored with a new task."""

    def bare_message(self) -> Message:
        """The message without the context."""
        return Message(id=str(uuid7()), role="user", parts=self.parts, task_id=self.task_id, context_id=self.context_id)

    def message(self) -> Message:
        if self.context is None:
            return self.bare_message()
        return replace(self.bare_message(), metadata={PLAIN_KEY: dict(self.context)})


@dataclass(frozen=True, slots=True)
class Delegation:
    """A task that was sent to an agent, or the single message it answered with."""

    agent: str
    result: Task | Message
    is_local: bool = True
    masked: Sequence[Masked] = ()
    """Secrets that were masked before a remote agent got the context. The messages of a local task list their own."""

    @property
    def task(self) -> Task:
        if isinstance(self.result, Message):
            raise NotFound("The agent answered without creating a task.")
        return self.result


def hosted_name(agents: Agents, wanted: str) -> str | None:
    """The hosted agent with this name, readable id or card URL, if there is one."""
    if wanted in agents.agents:
        return wanted
    for card in agents.host_cards():
        if wanted.lower() in (card.metadata.readable_id.lower(), card.id, card.metadata.url.lower()):
            return agents.hosted_name(card)
    return None


async def delegate(
    agents: Agents,
    caller: Principal,
    request: TaskRequest,
    *,
    seconds: float | None,
    on_event: OnEvent,
    trusted: bool = False,
) -> Delegation:
    """Send a task to an agent and wait for `seconds` (0: do not wait; None: until it rests).

    `trusted`: the operator gave the URL of the remote agent.
    """
    name = hosted_name(agents, request.agent)
    if name is None:
        remote = await _found(agents, caller, request.agent, trusted=trusted)
        result = await send_and_wait(remote, request, seconds, on_event)
        return Delegation(request.agent, result, is_local=False, masked=remote.masked)
    message = await agents.intake.accept(caller, request.message())
    begun = await agents.tasks.start(
        caller, name, message, dialect="mcp", task_id=request.task_id, context_id=request.context_id,
        metadata=with_issues(request.metadata, message.metadata),
    )  # fmt: skip
    if isinstance(begun, Message):
        return Delegation(name, begun)
    if seconds != 0:
        await _followed(agents.tasks, caller, begun, seconds, on_event)
    return Delegation(name, await agents.tasks.get(caller, begun.id))


async def delegate_remote(agents: Agents, caller: Principal, request: TaskRequest, *, patience: float) -> Delegation:
    """Send a task to a remote agent, which keeps it, and wait up to `patience` seconds."""
    remote = await _found(agents, caller, request.agent)
    return Delegation(
        request.agent, await send_and_poll(remote, request, patience), is_local=False, masked=remote.masked
    )


async def _followed(tasks: Tasks, caller: Principal, begun: Task, seconds: float | None, on_event: OnEvent) -> None:
    """Wait until the task rests or the time is up."""
    try:
        async with (
            asyncio.timeout(seconds),
            aclosing(tasks.follow(caller, begun.id, after=begun.seq, rest=True)) as events,
        ):
            async for event in events:
                if isinstance(event, Event):
                    await on_event(event)
    except TimeoutError:
        return
    except asyncio.CancelledError:
        try:
            await asyncio.shield(tasks.cancel(caller, begun.id))
        except PentadError as error:
            ensure_logged(error, "Cancelling a task")
        raise


async def read_delegated(agents: Agents, caller: Principal, task_id: str, agent: str | None) -> Delegation:
    """A task as it is now."""
    name = None if agent is None else hosted_name(agents, agent)
    if agent is not None and name is None:
        return Delegation(agent, await (await _found(agents, caller, agent)).get(task_id), is_local=False)
    task = await agents.with_context_hash(caller, await agents.tasks.get(caller, task_id, agent=name))
    return Delegation(task.agent, task)


async def cancel_delegated(agents: Agents, caller: Principal, task_id: str, agent: str | None) -> Delegation:
    """Cancel a task."""
    name = None if agent is None else hosted_name(agents, agent)
    if agent is not None and name is None:
        return Delegation(agent, await (await _found(agents, caller, agent)).cancel(task_id), is_local=False)
    task = await agents.tasks.cancel(caller, task_id, agent=name)
    return Delegation(task.agent, task)


async def _found(agents: Agents, caller: Principal, wanted: str, *, trusted: bool = False) -> RemoteAgent:
    """The remote agent with this readable id, card id or URL."""
    try:
        return await remote_agent(agents, caller, wanted, trusted=trusted)
    except NotFound:
        if "://" in wanted:
            raise
        raise await _unknown(agents, wanted) from None


async def _unknown(agents: Agents, wanted: str) -> NotFound:
    """The error for an unknown agent, with the closest match."""
    found = await agents.registry.search(CardQuery(), limit=_NEAREST)
    known = [*agents.agents, *(one.metadata.readable_id for one in found.cards)]
    hint = did_you_mean(wanted, known) or "List the agents with agents_list, or give the URL of a card."
    return NotFound(f"There is no agent {wanted[:100]!r}.", hint=hint, details={"reason": "agent-not-found"})
