"""Starts turns: creates a task or appends to one, and starts the agent's run.

The hot path is an agent that answers at once. It takes its first step before anything is written, so the task and all
its events are one transaction. Otherwise the task is stored at the agent's first pause, under a lease, and continues
from there.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from pentad.kernel.ids import uuid7_text
from pentad.kernel.ports import Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.models import (
    RESTING,
    TERMINAL,
    Dialect,
    Event,
    Json,
    Message,
    MessageEvent,
    PushConfig,
    StatusEvent,
    Task,
    folded,
)
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.tasks import store
from pentad.rooms.agents.tasks.callers import packed
from pentad.rooms.agents.tasks.errors import (
    agent_not_found,
    context_mismatch,
    empty_message,
    message_too_large,
    task_terminal,
)
from pentad.rooms.agents.tasks.quotas import TaskQuotas
from pentad.rooms.agents.tasks.store import Appended, Encoded, encoded
from pentad.rooms.agents.tasks.task_log import TaskLog
from pentad.rooms.agents.tasks.turn_runner import Run

_LARGE: Final = 4 * 1024
"""Messages above this size may contain a context that is stored outside the log."""

_BRIEF: Final = 64 * 1024
"""Up to this size a write is quick."""


class Submission:
    """Starts and continues tasks in one process."""

    def __init__(self, log: TaskLog, agents: Mapping[str, HostedAgent], limits: TaskLimits) -> None:
        self._log = log
        self._agents = agents
        self._limits = limits
        self._stepping = 0
        self._quotas = TaskQuotas(log.database, log.clock, most_open=limits.open_tasks, most=limits.tasks)

    async def begin(
        self,
        caller: Principal,
        agent: str,
        message: Message,
        *,
        dialect: Dialect,
        context_id: str | None,
        metadata: Json | None,
        push: PushConfig | None,
        wait: bool | None,
    ) -> Task | Message:
        """Start a task. `wait=None` returns it as it was before the agent did anything."""
        hosted = self._agent(agent)
        log = self._log
        await self._quotas.spend(caller.id)
        if hosted.accept is None:
            task_id = uuid7_text(log.clock)
        else:
            self._checked(message)
            task_id = await hosted.accept(None, message)
        now = log.now()
        task = Task(
            id=task_id, context_id=context_id or message.context_id or uuid7_text(log.clock), agent=hosted.name,
            owner=caller.id, dialect=dialect, status_at=now, created_at=now, updated_at=now, metadata=metadata,
        )  # fmt: skip
        message = _stamped(message, task)
        first = self._checked(message)
        run = self._run(hosted, task, message, caller)
        self._stepping += 1
        try:
            await run.first_step()
        finally:
            self._stepping -= 1
        if run.reply is not None:
            return msgspec.structs.replace(run.reply, task_id=None)
        if run.done:
            made, events = await self._at_once(run, task, first, push, wait=wait)
        else:
            with log.hub.following(task_id) as follower:
                made, events = await self._under_way(run, task, first, push)
                if wait and made.state not in RESTING:
                    return await log.wait_until_rest(follower, task_id, made.seq)
        return folded(task, events[:1]) if wait is None else made

    async def continue_task(self, caller: Principal, task: Task, message: Message, *, context_id: str | None) -> int:
        """The next turn of a task, or a message to the running turn; returns the number of its event."""
        check_continuable(task, message, context_id)
        hosted = self._agent(task.agent)
        log = self._log
        message = _stamped(message, task)
        first = self._checked(message)
        now = log.now()

        def work(transaction: Transaction) -> tuple[Appended | None, bool]:
            add = partial(log.append_in, transaction, task.id, [first], now, bounds=log.bounds)
            if (own := add(claim="take", caller=packed(caller))) is not None:
                return own, True
            return add(), False

        appended, is_ours = await log.database.write(work)
        if appended is None:
            raise task_terminal((await log.owned(caller, task.id)).state)
        log.committed(task.id, appended.events, len(first.json))
        seq = appended.events[-1].seq
        if is_ours:
            await self.go_on(self._run(hosted, task, message, caller), seq)
        return seq

    async def go_on(self, run: Run, seen: int) -> None:
        """Start the run of a task that is already stored and held by this process."""
        run.stored, run.seen = True, seen
        self._log.runs[run.task.id] = run
        await run.first_step()
        if not run.done and run.state not in RESTING and run.state != "working":
            run.emit(StatusEvent("working"))

    async def allows_cancel(self, task: Task) -> bool:
        """Whether the agent accepts a cancellation. Only agents that manage their own tasks are asked."""
        hosted = self._agents.get(task.agent)
        if hosted is None or hosted.cancel is None or task.id not in self._log.runs:
            return True
        return await hosted.cancel(task.id)

    async def _at_once(
        self, run: Run, task: Task, first: Encoded, push: PushConfig | None, *, wait: bool | None
    ) -> tuple[Task, list[Event]]:
        bodies = [first, *run.outbox]
        events = await self._create(task, bodies, push, None)
        size = store.bytes_of(bodies)
        made = folded(task, events)
        is_over = run.state in TERMINAL
        if not (wait and is_over):  # a waiting caller has it already, and it will not change
            self._log.recent.put(made, size)
        if wait is None:
            self._log.hub.publish(task.id, events, size)
        if not is_over:
            self._quotas.opened(task.owner)
        return made, events

    async def _under_way(
        self, run: Run, task: Task, first: Encoded, push: PushConfig | None
    ) -> tuple[Task, list[Event]]:
        log = self._log
        bodies = [first, *run.stored_soon()]
        log.runs[task.id] = run
        try:
            events = await self._create(task, bodies, push, packed(run.caller))
        except BaseException:
            run.abandon()
            raise
        self._quotas.opened(task.owner)
        size = store.bytes_of(bodies)
        made = folded(task, events)
        log.recent.put(made, size)
        log.hub.publish(task.id, events, size)
        run.created(events)
        return made, events

    async def _create(
        self, task: Task, bodies: Sequence[Encoded], push: PushConfig | None, caller: bytes | None
    ) -> list[Event]:
        log = self._log
        now = log.now()

        def work(transaction: Transaction) -> list[Event]:
            return log.create_in(transaction, task, bodies, now, push=push, caller=caller)

        # sends that come together share a commit
        is_brief = not self._stepping and store.bytes_of(bodies) <= _BRIEF
        return await log.database.write(work, brief=is_brief)

    def _agent(self, name: str) -> HostedAgent:
        if (found := self._agents.get(name)) is None:
            raise agent_not_found(name, self._agents)
        return found

    def _run(self, hosted: HostedAgent, task: Task, message: Message, caller: Principal) -> Run:
        return Run(self._log, hosted, task, message, caller, most_bytes=self._limits.artifact_bytes)

    def _checked(self, message: Message) -> Encoded:
        if not message.parts:
            raise empty_message()
        one = encoded(MessageEvent(message))
        if len(one.json) > _LARGE:
            one = encoded(MessageEvent(self._log.contexts.logged(message)))
        if len(one.json) > self._limits.message_bytes:
            raise message_too_large(len(one.json), self._limits.message_bytes)
        return one


def check_continuable(task: Task, message: Message, context_id: str | None) -> None:
    """Check that the message can be the next turn of the task."""
    if task.state in TERMINAL:
        raise task_terminal(task.state)
    if (context_id or message.context_id or task.context_id) != task.context_id:
        raise context_mismatch()


def _stamped(message: Message, task: Task) -> Message:
    """The message with the ids of its task."""
    if message.task_id == task.id and message.context_id == task.context_id:
        return message
    return msgspec.structs.replace(message, task_id=task.id, context_id=task.context_id)
