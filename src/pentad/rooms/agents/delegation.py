"""Sends tasks to agents: hosted here, registered, or found by card URL. Waiting callers receive every event.

Disconnecting leaves the task running; cancelling the call cancels the task.

Anyone who may write can register a card, so a card never chooses which key is sent. The operator's `agent_keys` file
lists keys by host, and only that host gets them. For a host in the operator's `card_keys` file, only cards signed by
one of its keys are accepted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from pentad.kernel.errors import DeadlineExceeded, NotFound, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import ensure_logged, log_failure
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Principal
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.client.card_endpoints import best_interface
from pentad.rooms.agents.client.remote_agent import RemoteAgent, fetch_card
from pentad.rooms.agents.context.extension import PLAIN_KEY, with_issues
from pentad.rooms.agents.keys import card_keys
from pentad.rooms.agents.models import RESTING, Event, Message, Part, Task, json_object
from pentad.rooms.agents.registry.store import CardQuery, CardRecord
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.engine import Tasks

if TYPE_CHECKING:
    from pentad.agentvault.key_manager import KeyManager

_MAX_CANDIDATES: Final = 250
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
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


def hosted_name(agents: Agents, agent: str) -> str | None:
    """The name of the hosted agent with this name, readable id or card URL, if there is one."""
    if agent in agents.agents:
        return agent
    for card in agents.host_cards():
        if agent.lower() in (card.metadata.readable_id.lower(), card.id, card.metadata.url.lower()):
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
        remote = await _find_remote(agents, caller, request.agent, trusted=trusted)
        result = await send_and_wait(remote, request, seconds, on_event)
        return Delegation(request.agent, result, is_local=False, masked=remote.masked)
    message = await agents.intake.accept(caller, request.message())
    started = await agents.tasks.send(
        caller, name, message, dialect="mcp", wait=None, task_id=request.task_id, context_id=request.context_id,
        metadata=with_issues(request.metadata, message.metadata),
    )  # fmt: skip
    if isinstance(started, Message):
        return Delegation(name, started)
    if seconds != 0:
        await _follow(agents.tasks, caller, started, seconds, on_event)
    return Delegation(name, await agents.tasks.get(caller, started.id))


async def delegate_remote(agents: Agents, caller: Principal, request: TaskRequest, *, seconds: float) -> Delegation:
    """Send a task to a remote agent, which keeps it, and wait up to `seconds`."""
    remote = await _find_remote(agents, caller, request.agent)
    result = await _send_and_poll(remote, request, seconds)
    return Delegation(request.agent, result, is_local=False, masked=remote.masked)


async def read_delegated(agents: Agents, caller: Principal, task_id: str, agent: str | None) -> Delegation:
    """A task as it is now. `agent` is needed for a remote agent."""
    name = None if agent is None else hosted_name(agents, agent)
    if agent is not None and name is None:
        return Delegation(agent, await (await _find_remote(agents, caller, agent)).get(task_id), is_local=False)
    task = await agents.with_context_hash(caller, await agents.tasks.get(caller, task_id, agent=name))
    return Delegation(task.agent, task)


async def cancel_delegated(agents: Agents, caller: Principal, task_id: str, agent: str | None) -> Delegation:
    """Cancel a task. `agent` is needed for a remote agent."""
    name = None if agent is None else hosted_name(agents, agent)
    if agent is not None and name is None:
        return Delegation(agent, await (await _find_remote(agents, caller, agent)).cancel(task_id), is_local=False)
    task = await agents.tasks.cancel(caller, task_id, agent=name)
    return Delegation(task.agent, task)


async def _follow(tasks: Tasks, caller: Principal, started: Task, seconds: float | None, on_event: OnEvent) -> None:
    """Wait until the task rests or the time is up."""
    try:
        async with (
            asyncio.timeout(seconds),
            aclosing(tasks.follow(caller, started.id, after=started.seq, rest=True)) as events,
        ):
            async for event in events:
                if isinstance(event, Event):
                    await on_event(event)
    except TimeoutError:
        return
    except asyncio.CancelledError:
        try:
            await asyncio.shield(tasks.cancel(caller, started.id))
        except PentadError as error:
            ensure_logged(error, "Cancelling a task")
        raise


async def _find_remote(agents: Agents, caller: Principal, agent: str, *, trusted: bool = False) -> RemoteAgent:
    """The remote agent with this readable id, card id or card URL. `trusted`: the operator gave the URL."""
    url: str | None = None
    if agent.startswith(("http://", "https://")):
        url, card = await fetch_card(agent, agents.platform.fetcher, trusted=trusted)
    else:
        card = (await _find_card(agents, agent)).card
    settings = agents.platform.settings
    host = urlsplit(best_interface(card).url).netloc.lower()
    return RemoteAgent(
        card,
        agents.platform.fetcher,
        keys=_agent_keys(settings.agent_keys),
        service=host,
        trusted=trusted and url is not None,
        card_url=url,
        signing_keys=card_keys(settings.card_keys).get(host),
        context_key=agents.context_key,
        secrets=agents.intake.secrets,
        links=partial(agents.links.for_message, caller),
    )


async def _find_card(agents: Agents, agent: str) -> CardRecord:
    """The registered card; NotFound with the closest match."""
    with suppress(NotFound):
        return await agents.registry.by_readable(agent)
    with suppress(NotFound):
        if (found := await agents.registry.get(agent)).is_active:
            return found
    cards = (await agents.registry.search(CardQuery(), limit=_MAX_CANDIDATES)).cards
    known = [*agents.agents, *(one.metadata.readable_id for one in cards)]
    hint = did_you_mean(agent, known) or "List the agents with agents_list, or give the URL of a card."
    raise NotFound(f"There is no agent {agent[:100]!r}.", hint=hint, details={"reason": "agent-not-found"})


@lru_cache(maxsize=1)
def _agent_keys(file: str | None) -> "KeyManager | None":
    if file is None:
        return None
    from pentad.agentvault.key_manager import KeyManager

    return KeyManager(key_file_path=file, use_env_vars=False)


async def send_and_wait(
    remote: RemoteAgent, request: TaskRequest, seconds: float | None, on_event: OnEvent
) -> Task | Message:
    """Send a task to a remote agent and wait, as `delegate` does."""
    if seconds == 0 or not _streams(remote):
        return await _send_and_poll(remote, request, seconds)
    task_id = request.task_id
    try:
        async with (
            asyncio.timeout(seconds),
            aclosing(remote.stream(request.bare_message(), context=request.context)) as items,
        ):
            async for item in items:
                if isinstance(item, Message):
                    return item
                if isinstance(item, Event):
                    await on_event(item)
                else:
                    task_id = item.id
    except TimeoutError:
        if task_id is None:
            raise DeadlineExceeded(
                f"{remote.name} has not confirmed within {seconds:g} s that it takes the task.",
                hint="Wait longer. It may have accepted the task anyway.",
            ) from None
    except asyncio.CancelledError:
        await _cancel_remote(remote, task_id)
        raise
    if task_id is None:
        raise NotFound(f"{remote.name} accepted the task but returned no id.")
    return await remote.get(task_id)


async def _send_and_poll(remote: RemoteAgent, request: TaskRequest, seconds: float | None) -> Task | Message:
    """Send a task to a remote agent and poll it, so that no request takes as long as the task."""
    result = await remote.send(request.bare_message(), wait=False, context=request.context)
    if seconds == 0 or isinstance(result, Message) or result.state in RESTING:
        return result
    pause = _FIRST_PAUSE
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while result.state not in RESTING:
                    await asyncio.sleep(pause)
                    pause = min(pause * 1.5, _LONGEST_PAUSE)
                    result = await remote.get(result.id)
    except asyncio.CancelledError:
        await _cancel_remote(remote, result.id)
        raise
    return result


async def _cancel_remote(remote: RemoteAgent, task_id: str | None) -> None:
    if task_id is not None:
        try:
            await asyncio.shield(remote.cancel(task_id))
        except PentadError as error:
            log_failure(error, "Cancelling a remote task")


def _streams(remote: RemoteAgent) -> bool:
    return remote.dialect == "agentvault" or json_object(remote.card.get("capabilities")).get("streaming") is True
