"""Handing a task to an agent, wherever it is: one that runs here, one in the registry, or one at a card's address.

Whoever waits hears of every event. Who stops waiting because it was told to leaves the task running; who is cancelled
cancels the task.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import noted
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Principal
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.client.remote_agent import RemoteAgent
from pentad.rooms.agents.context.extension import PLAIN_KEY, with_issues
from pentad.rooms.agents.models import Event, Message, Part, Task
from pentad.rooms.agents.registry.search import Wanted
from pentad.rooms.agents.remote_agents import hand_in, hand_out, remote_agent
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.engine import Tasks

_NEAREST: Final = 250
Heard = Callable[[Event], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be done: words and data for an agent, with the context it needs."""

    agent: str
    parts: tuple[Part, ...]
    context: Mapping[str, Any] | None = None
    task_id: str | None = None
    context_id: str | None = None
    metadata: Mapping[str, Any] | None = None
    """Kept with the task that begins, for whoever shows it."""

    def bare_message(self) -> Message:
        """The message without the context."""
        return Message(id=str(uuid7()), role="user", parts=self.parts, task_id=self.task_id, context_id=self.context_id)

    def message(self) -> Message:
        if self.context is None:
            return self.bare_message()
        return replace(self.bare_message(), metadata={PLAIN_KEY: dict(self.context)})


@dataclass(frozen=True, slots=True)
class Handed:
    """What came of an errand: the task, or (`task` is None) the message the agent answered with alone."""

    agent: str
    result: Task | Message
    here: bool = True
    masked: Sequence[Masked] = ()
    """The secrets that were masked before it went elsewhere; of a task here its messages say so."""

    @property
    def task(self) -> Task:
        if isinstance(self.result, Message):
            raise NotFound("The agent answered without a task.")
        return self.result


def hosted_name(agents: Agents, wanted: str) -> str | None:
    """The name of the agent of this server that is meant, by its name, its readable id or its card's address."""
    if wanted in agents.agents:
        return wanted
    for card in agents.host_cards():
        if wanted.lower() in (card.facts.readable_id.lower(), card.id, card.facts.url.lower()):
            return agents.hosted_name(card)
    return None


async def hand_over(
    agents: Agents, caller: Principal, errand: Errand, *, seconds: float | None, heard: Heard, trusted: bool = False
) -> Handed:
    """Give the errand to an agent and wait, for so many seconds (0: not at all; None: to the end).

    `trusted`: the address of an agent elsewhere was given by the operator.
    """
    name = hosted_name(agents, errand.agent)
    if name is None:
        remote = await _found(agents, caller, errand.agent, trusted=trusted)
        result = await hand_out(remote, errand, seconds, heard)
        return Handed(errand.agent, result, here=False, masked=remote.masked)
    message = await agents.intake.accept(caller, errand.message())
    begun = await agents.tasks.start(
        caller, name, message, dialect="mcp", task_id=errand.task_id, context_id=errand.context_id,
        metadata=with_issues(errand.metadata, message.metadata),
    )  # fmt: skip
    if isinstance(begun, Message):
        return Handed(name, begun)
    if seconds != 0:
        await _followed(agents.tasks, caller, begun, seconds, heard)
    return Handed(name, await agents.tasks.get(caller, begun.id))


async def hand_away(agents: Agents, caller: Principal, errand: Errand, *, patience: float) -> Handed:
    """Give the errand to an agent elsewhere, which keeps the task; what is over within so many seconds is over."""
    remote = await _found(agents, caller, errand.agent)
    return Handed(errand.agent, await hand_in(remote, errand, patience), here=False, masked=remote.masked)


async def _followed(tasks: Tasks, caller: Principal, begun: Task, seconds: float | None, heard: Heard) -> None:
    """Wait until the task rests, or the time is up."""
    try:
        async with (
            asyncio.timeout(seconds),
            aclosing(tasks.follow(caller, begun.id, after=begun.seq, rest=True)) as events,
        ):
            async for event in events:
                if isinstance(event, Event):
                    await heard(event)
    except TimeoutError:
        return
    except asyncio.CancelledError:
        try:
            await asyncio.shield(tasks.cancel(caller, begun.id))
        except PentadError as error:
            noted(error, "Cancelling a task")
        raise


async def given_task(agents: Agents, caller: Principal, task_id: str, agent: str | None) -> Handed:
    """A task as it is now."""
    name = None if agent is None else hosted_name(agents, agent)
    if agent is not None and name is None:
        return Handed(agent, await (await _found(agents, caller, agent)).get(task_id), here=False)
    task = await agents.shown(caller, await agents.tasks.get(caller, task_id, agent=name))
    return Handed(task.agent, task)


async def cancelled_task(agents: Agents, caller: Principal, task_id: str, agent: str | None) -> Handed:
    """End a task that is not over."""
    name = None if agent is None else hosted_name(agents, agent)
    if agent is not None and name is None:
        return Handed(agent, await (await _found(agents, caller, agent)).cancel(task_id), here=False)
    task = await agents.tasks.cancel(caller, task_id, agent=name)
    return Handed(task.agent, task)


async def _found(agents: Agents, caller: Principal, wanted: str, *, trusted: bool = False) -> RemoteAgent:
    """The agent elsewhere that is meant."""
    try:
        return await remote_agent(agents, caller, wanted, trusted=trusted)
    except NotFound:
        if "://" in wanted:
            raise
        raise await _unknown(agents, wanted) from None


async def _unknown(agents: Agents, wanted: str) -> NotFound:
    """The refusal for an agent nobody knows, with the nearest one."""
    found = await agents.registry.search(Wanted(), limit=_NEAREST)
    known = [*agents.agents, *(one.facts.readable_id for one in found.cards)]
    hint = did_you_mean(wanted, known) or "List the agents with agents_list, or give the address of a card."
    return NotFound(f"There is no agent {wanted[:100]!r}.", hint=hint, details={"reason": "agent-not-found"})
