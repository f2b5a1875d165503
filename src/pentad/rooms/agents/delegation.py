"""Sends tasks to agents: hosted here, registered, in the directory, or found by card URL.

Waiting callers receive every event. Disconnecting leaves the task running; cancelling the call cancels the task.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from pentad.kernel.background import start_task
from pentad.kernel.errors import DeadlineExceeded, NotFound, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import ensure_logged, log_failure
from pentad.kernel.principal import Principal
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.client.remote_agent import RemoteAgent
from pentad.rooms.agents.context.extension import PLAIN_KEY
from pentad.rooms.agents.directory_records import FoundRecord, find_record
from pentad.rooms.agents.hosting.built_in_agents import PROXY, proxied
from pentad.rooms.agents.models import DEADLINE_KEY, EVENT, LIMITS_KEY, RESTING, Event, Message, Part, Task
from pentad.rooms.agents.registry.card_metadata import metadata_of
from pentad.rooms.agents.remote_agents import FoundCard
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.child_tasks import current_call
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.idempotency import send_keys

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_ACCEPT_SECONDS: Final = 30.0
"""How long sending continues after its call, to learn whether the remote agent accepts the task."""
OnEvent = Callable[[Event], Awaitable[None]]
OnTask = Callable[[str], Awaitable[None]]


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
    event: str | None = None
    """The event that the message signals to a waiting task."""
    deadline: float | None = None
    """Seconds until the task must be finished."""
    budget: Mapping[str, Any] | None = None
    """What a new task may use: `calls`, `tokens`, `seconds`."""
    idempotency_key: str | None = None
    """A second request of the caller with the same key gets the result of the first."""
    message_id: str | None = None
    may_approve: bool = False
    """Whether the message may decide an approval that the task waits for: only if a client sent it, not an agent."""

    def bare_message(self) -> Message:
        """The message without the context."""
        given = {EVENT: self.event, DEADLINE_KEY: self.deadline, LIMITS_KEY: self.budget}
        metadata = {name: value for name, value in given.items() if value is not None}
        return Message(
            id=self.message_id or str(uuid7()),
            role="user",
            parts=self.parts,
            task_id=self.task_id,
            context_id=self.context_id,
            metadata=metadata or None,
        )

    def message(self) -> Message:
        bare = self.bare_message()
        if self.context is None:
            return bare
        return replace(bare, metadata={**(bare.metadata or {}), PLAIN_KEY: dict(self.context)})


@dataclass(frozen=True, slots=True)
class Delegation:
    """A task that was sent to an agent, or the single message it answered with."""

    agent: str
    result: Task | Message
    is_local: bool = True
    masked: Sequence[Masked] = ()
    """Secrets masked before a remote agent got the context. For a local task, its messages list them."""

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


async def _ignore_event(_event: Event) -> None:
    """For callers that only want the result."""


class _Target(NamedTuple):
    """Where a task goes: to an agent hosted here, or to another one by its card."""

    name: str | None = None
    found: FoundCard | None = None
    record: FoundRecord | None = None
    """Set if the agent was found in the directory only."""


async def _find(agents: Agents, caller: Principal, agent: str, *, trusted: bool = False) -> _Target:
    """The agent with this name, readable id, card id or card URL, or of this record in the directory. `trusted`: the
    operator gave the URL.
    """
    if (name := hosted_name(agents, agent)) is not None:
        return _Target(name)
    try:
        return _Target(found=await agents.remotes.find(agent, trusted=trusted))
    except NotFound as error:
        if agent.startswith(("http://", "https://")):
            raise
        unknown = error
    if (record := await find_record(agents.platform.neighbours, caller, agent)) is None:
        raise unknown
    if record.card is None:
        return _Target(PROXY, record=record)
    if (name := hosted_name(agents, metadata_of(record.card).url)) is not None:
        return _Target(name)
    return _Target(found=FoundCard(record.card), record=record)


async def is_local(agents: Agents, caller: Principal, agent: str) -> bool:
    """Whether a task for this agent runs here."""
    if agent.startswith(("http://", "https://")):
        return hosted_name(agents, agent) is not None
    return (await _find(agents, caller, agent)).name is not None


async def delegate(
    agents: Agents,
    caller: Principal,
    request: TaskRequest,
    *,
    seconds: float | None,
    on_event: OnEvent = _ignore_event,
    trusted: bool = False,
) -> Delegation:
    """Send a task to an agent and wait for `seconds` (0: do not wait; None: until it rests).

    `trusted`: the operator gave the URL of the remote agent.
    """
    call = current_call.get()
    if call is not None and call.step is not None and request.idempotency_key is None:
        request = dataclasses.replace(request, idempotency_key=f"{call.task} {call.step}")
    target = await _find(agents, caller, request.agent, trusted=trusted)
    if (name := target.name) is None:
        remote, agent = _open(agents, caller, target, trusted=trusted), _reference(target, request.agent)
        place = agent if target.record is None else remote.interface.url  # finding it needs no rights
        on_task = None if call is None or call.on_remote_task is None else partial(call.on_remote_task, place)
        result = await send_and_wait(remote, await _for_remote(agents, caller, request), seconds, on_event, on_task)
        return Delegation(agent, result, is_local=False, masked=remote.masked)
    if target.record is not None and request.task_id is None:
        request = dataclasses.replace(request, parts=proxied(request.parts, target.record.cid))
    started = await agents.tasks.send(
        caller, name, request.message(), dialect="mcp", wait=None, task_id=request.task_id,
        context_id=request.context_id, metadata=None if request.metadata is None else dict(request.metadata),
        keys=send_keys(None, request.idempotency_key), may_approve=request.may_approve,
        origin=None if call is None else call.origin(),
    )  # fmt: skip
    if isinstance(started, Message):
        return Delegation(name, started)
    if seconds != 0 and not (started.state in RESTING and request.task_id is None):
        await _follow(agents.tasks, caller, started, seconds, on_event)
    return Delegation(name, await agents.tasks.get(caller, started.id))


async def delegate_remote(agents: Agents, caller: Principal, request: TaskRequest, *, seconds: float) -> Delegation:
    """Send a task to a remote agent, which stores it, and wait up to `seconds`."""
    target = await _find(agents, caller, request.agent)
    remote = _open(agents, caller, target)
    result = await _send_and_poll(remote, await _for_remote(agents, caller, request), seconds)
    return Delegation(_reference(target, request.agent), result, is_local=False, masked=remote.masked)


async def follow_delegated(
    agents: Agents, caller: Principal, task: Task, seconds: float, on_event: OnEvent
) -> Delegation:
    """Wait until a local task rests again, for at most `seconds`. `task` is the state the caller last saw."""
    if seconds != 0:
        await _follow(agents.tasks, caller, task, seconds, on_event)
    return Delegation(task.agent, await agents.tasks.get(caller, task.id))


async def read_delegated(
    agents: Agents, caller: Principal, task_id: str, agent: str | None, seconds: float = 0
) -> Delegation:
    """A task when it rests, or its state after `seconds`. `agent` is required for a remote agent."""
    target = _Target() if agent is None else await _find(agents, caller, agent)
    name = target.name
    if agent is not None and name is None:
        remote = _open(agents, caller, target)
        return Delegation(agent, await _poll(remote, await remote.get(task_id), seconds), is_local=False)
    if seconds:
        await _wait_for_rest(agents.tasks, caller, task_id, name, seconds)
    task = await agents.with_context_hash(caller, await agents.tasks.get(caller, task_id, agent=name))
    return Delegation(task.agent, task)


async def cancel_delegated(agents: Agents, caller: Principal, task_id: str, agent: str | None) -> Delegation:
    """Cancel a task. `agent` is required for a remote agent."""
    target = _Target() if agent is None else await _find(agents, caller, agent)
    name = target.name
    if agent is not None and name is None:
        return Delegation(agent, await _open(agents, caller, target).cancel(task_id), is_local=False)
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
        if _is_given_up():
            try:
                await asyncio.shield(tasks.cancel(caller, started.id))
            except PentadError as error:
                ensure_logged(error, "Cancelling a task")
        raise


async def _wait_for_rest(tasks: Tasks, caller: Principal, task_id: str, agent: str | None, seconds: float) -> None:
    """Wait until the task rests or the time is up. If the caller stops waiting, the task continues."""
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(seconds),
            aclosing(tasks.follow(caller, task_id, agent=agent, rest=True)) as events,
        ):
            async for _ in events:
                pass


async def _for_remote(agents: Agents, caller: Principal, request: TaskRequest) -> TaskRequest:
    """The request as a remote agent can read it.

    It has no idempotency keys, so the key becomes the message id. To the remote agent all our callers are one, so the
    id depends on the caller. It has no rights on this server either, so files become temporary links.
    """
    key = request.idempotency_key
    message_id = None if key is None else str(uuid5(NAMESPACE_URL, f"{caller.id} {request.agent} {key}"))
    return dataclasses.replace(
        request, parts=await agents.remotes.readable_parts(caller, request.parts), message_id=message_id
    )


def _open(agents: Agents, caller: Principal, target: _Target, *, trusted: bool = False) -> RemoteAgent:
    """The client of a remote agent."""
    if target.found is None:
        raise NotFound("The agent runs here.", details={"reason": "agent-not-found"})
    return agents.remotes.open(target.found, caller, trusted=trusted)


def _reference(target: _Target, given: str) -> str:
    """How results name a remote agent: exactly, if the directory knows it."""
    return given if target.record is None else target.record.reference


async def send_and_wait(
    remote: RemoteAgent,
    request: TaskRequest,
    seconds: float | None,
    on_event: OnEvent,
    on_task: OnTask | None = None,
) -> Task | Message:
    """Send a task to a remote agent and wait, as `delegate` does. `on_task` gets its id once the agent has accepted
    it.

    If a call is canceled during the request, it cannot know whether the agent accepts the task. So sending continues in
    the background until the agent has answered.
    """
    accepted = asyncio.Event()
    if request.task_id is not None:
        accepted.set()
    sending = asyncio.create_task(_send_and_follow(remote, request, seconds, on_event, on_task, accepted))
    try:
        return await asyncio.shield(sending)
    except asyncio.CancelledError:
        ending = start_task(_end_sending(sending, accepted), f"sending a task to {remote.name}")
        if accepted.is_set():
            await asyncio.shield(ending)
        raise


async def _end_sending(sending: "asyncio.Task[Task | Message]", accepted: asyncio.Event) -> None:
    """Stop sending a task, but not before its id is known and reported."""
    waiting = asyncio.create_task(accepted.wait())
    try:
        await asyncio.wait([sending, waiting], timeout=_ACCEPT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    sending.cancel()
    await asyncio.wait([sending])
    if not sending.cancelled() and isinstance(error := sending.exception(), Exception):
        log_failure(error, "A task that was being sent when its call ended")


async def _send_and_follow(
    remote: RemoteAgent,
    request: TaskRequest,
    seconds: float | None,
    on_event: OnEvent,
    on_task: OnTask | None,
    accepted: asyncio.Event,
) -> Task | Message:
    if seconds == 0 or not remote.streams:
        return await _send_and_poll(remote, request, seconds, on_task, accepted)
    task_id = request.task_id
    try:
        async with (
            asyncio.timeout(seconds),
            aclosing(remote.stream(request.bare_message(), context=request.context)) as items,
        ):
            async for item in items:
                if isinstance(item, Message):
                    return item
                if isinstance(item, Task):
                    task_id = item.id
                if on_task is not None and remote.task_id:
                    await _report_task(remote, remote.task_id, on_task)
                    on_task = None
                if remote.task_id:
                    accepted.set()
                if isinstance(item, Event):
                    await on_event(item)
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


async def _report_task(remote: RemoteAgent, task_id: str, on_task: OnTask) -> None:
    try:
        await on_task(task_id)
    except PentadError:  # for example because the sending task has ended meanwhile
        with suppress(PentadError):
            await remote.cancel(task_id)
        raise


async def _send_and_poll(
    remote: RemoteAgent,
    request: TaskRequest,
    seconds: float | None,
    on_task: OnTask | None = None,
    accepted: asyncio.Event | None = None,
) -> Task | Message:
    """Send a task to a remote agent and poll it, so that requests stay short."""
    result = await remote.send(request.bare_message(), wait=False, context=request.context)
    if isinstance(result, Message):
        return result
    try:
        if on_task is not None:
            await _report_task(remote, result.id, on_task)
        if accepted is not None:
            accepted.set()
        return await _poll(remote, result, seconds)
    except asyncio.CancelledError:
        await _cancel_remote(remote, result.id)
        raise


async def _poll(remote: RemoteAgent, task: Task, seconds: float | None) -> Task:
    """The task when it rests, or after `seconds`."""
    pause = _FIRST_PAUSE
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while seconds != 0 and task.state not in RESTING:
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                task = await remote.get(task.id)
    return task


def _is_given_up() -> bool:
    """Whether a canceled call also cancels its task."""
    call = current_call.get()
    return call is None or not call.is_stopped()


async def _cancel_remote(remote: RemoteAgent, task_id: str | None) -> None:
    if task_id is not None and _is_given_up():
        try:
            await asyncio.shield(remote.cancel(task_id))
        except PentadError as error:
            log_failure(error, "Cancelling a remote task")
