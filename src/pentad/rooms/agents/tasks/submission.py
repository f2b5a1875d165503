"""Starts turns: creates a task or appends to one, and starts the agent's run.

The hot path is an agent that answers at once. It runs its first step before anything is written, so the task and all
its events are one transaction. Otherwise the task is stored at the agent's first pause, with a lease, and continues
from there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import LimitExceeded
from pentad.kernel.ids import uuid7_text
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents import store
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.models import (
    LIMITS_KEY,
    RESTING,
    TERMINAL,
    Body,
    Dialect,
    Event,
    Json,
    Message,
    MessageEvent,
    Origin,
    PushConfig,
    StatusEvent,
    Task,
    apply_events,
)
from pentad.rooms.agents.store import COUNT_ALL, COUNT_OPEN, Appended, Encoded, encode_body, encode_caller
from pentad.rooms.agents.tasks.budgets import with_limits
from pentad.rooms.agents.tasks.child_tasks import check_depth, origin_of_request
from pentad.rooms.agents.tasks.deadlines import arm, deadline_in
from pentad.rooms.agents.tasks.errors import (
    agent_not_found,
    context_mismatch,
    empty_message,
    message_too_large,
    task_terminal,
)
from pentad.rooms.agents.tasks.idempotency import PendingSend
from pentad.rooms.agents.tasks.journal import Step
from pentad.rooms.agents.tasks.task_log import TaskLog
from pentad.rooms.agents.tasks.turn_runner import Run

_LARGE: Final = 4 * 1024
"""Messages above this size may contain a context stored outside the log."""

_BRIEF: Final = 64 * 1024
"""Up to this size, a write is fast."""
_OPEN_SECONDS: Final = 5.0
_ALL_SECONDS: Final = 300.0
"""How long counts of open and of all tasks are used before counting again."""
_MAX_OWNERS: Final = 10_000


class Submission:
    """Starts and continues tasks in one process."""

    def __init__(self, log: TaskLog, agents: Mapping[str, HostedAgent]) -> None:
        self._log = log
        self._agents = agents
        self._limits = limits = log.limits
        self._stepping = 0
        self._quotas = TaskQuotas(log.database, log.clock, max_open=limits.open_tasks, max_total=limits.tasks)

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
        origin: Origin | None = None,
        pending: PendingSend | None = None,
    ) -> Task | Message:
        """Start a task. `wait=None` returns it as it was before the agent did anything.

        If an agent starts it, `origin` names the parent.
        """
        hosted = self._agent(agent)
        log = self._log
        await self._quotas.add(caller.id)
        if log.budgets.limits_callers:
            await log.budgets.check_caller(caller.id)
        limit: float | None = None
        if origin is None:
            origin = origin_of_request()
        elif origin.parent is not None:
            limit = await self._parent_deadline(origin.parent)
        if hosted.accept is None:
            task_id = uuid7_text(log.clock)
        else:
            self._encode_message(message)
            task_id = await hosted.accept(None, await log.contexts.with_contents(message, caller))
        now = log.now()
        deadline = deadline_in(message.metadata, now) or deadline_in(metadata, now)
        if limit is not None:
            deadline = limit if deadline is None else min(deadline, limit)
        task = Task(
            id=task_id, context_id=context_id or message.context_id or uuid7_text(log.clock), agent=hosted.name,
            owner=caller.id, dialect=dialect, status_at=now, created_at=now, updated_at=now,
            metadata=with_limits(metadata, (message.metadata or {}).get(LIMITS_KEY)),
            origin=origin, deadline=deadline,
        )  # fmt: skip
        message = _with_ids(message, task)
        first = self._encode_message(message)
        run = self._run(hosted, task, message, caller)
        self._stepping += 1
        try:
            await run.first_step()
        finally:
            self._stepping -= 1
        if run.reply is not None:
            return await self._reply(run.reply, pending)
        if run.done:
            made, events = await self._store_finished(run, task, first, push, pending, wait=wait)
        else:
            with log.hub.following(task_id) as follower:
                made, events = await self._store_running(run, task, first, push, pending)
                if wait and made.state not in RESTING:
                    return await log.wait_until_rest(follower, task_id, made.seq)
        return apply_events(task, events[:1]) if wait is None else made

    async def _parent_deadline(self, parent: str) -> float | None:
        """The parent's deadline, which also applies to its child. LimitExceeded if the child would be too deep."""

        def work(rows: Rows) -> float | None:
            check_depth(rows, parent)
            head = store.get_head(rows, parent)
            return None if head is None else head.deadline

        return await self._log.database.read(work)

    async def _reply(self, reply: Message, pending: PendingSend | None) -> Message:
        """Return an answer without a task. It is stored only if the message may be sent again."""
        reply = msgspec.structs.replace(reply, task_id=None)
        if pending is not None:
            await self._log.database.write(lambda tx: pending.store(tx, None, 0, reply), brief=True)
        return reply

    async def continue_task(
        self,
        caller: Principal,
        task: Task,
        message: Message,
        *,
        context_id: str | None,
        pending: PendingSend | None = None,
    ) -> int:
        """The next turn of a task, or a message to the running turn; returns the number of its event."""
        check_continuable(task, message, context_id)
        hosted = self._agent(task.agent)
        log = self._log
        message = _with_ids(message, task)
        first = self._encode_message(message)
        now = log.now()
        deadline = deadline_in(message.metadata, now)

        def work(transaction: Transaction) -> tuple[Appended | None, bool]:
            add = partial(log.append_in, transaction, task.id, [first], now, bounds=log.bounds, deadline=deadline)
            appended = add(claim="take", caller=encode_caller(caller))
            is_ours = appended is not None
            appended = appended or add()
            if appended is not None:
                arm(transaction, log.jobs, task.id, now, hosted.deadline, appended.deadline)
                log.files.use(transaction, task.owner, task.id, message)
                if pending is not None:
                    pending.store(transaction, task.id, appended.events[-1].seq)
            return appended, is_ours

        appended, is_ours = await log.database.write(work)
        if appended is None:
            raise task_terminal((await log.owned(caller, task.id)).state)
        if pending is not None:
            pending.end()
        log.publish(task.id, appended.events, len(first.json))
        seq = appended.events[-1].seq
        if is_ours:
            await self.start_run(self._run(hosted, task, message, caller, seq), seq)
        return seq

    async def start_run(self, run: Run, seen: int) -> None:
        """Start the run of a task already stored and held by this process."""
        run.stored, run.seen = True, seen
        self._log.runs[run.task.id] = run
        await run.first_step()
        if not run.done and run.state not in RESTING and run.state != "working":
            run.emit(StatusEvent("working"))

    async def allows_cancel(self, task: Task) -> bool:
        """Whether the agent accepts a cancellation. Only agents that manage their own tasks are asked. Agents that
        choose the task ids can be asked only in the process of the run, others in any process.
        """
        hosted = self._agents.get(task.agent)
        if hosted is None or hosted.cancel is None or (hosted.accept is not None and task.id not in self._log.runs):
            return True
        return await hosted.cancel(task.id)

    async def _store_finished(
        self,
        run: Run,
        task: Task,
        first: Encoded,
        push: PushConfig | None,
        pending: PendingSend | None,
        *,
        wait: bool | None,
    ) -> tuple[Task, list[Event]]:
        bodies = [first, *run.outbox]
        size = store.total_bytes(bodies)
        events = await self._create(task, bodies, size, push, pending)
        made = apply_events(task, events)
        is_over = run.state in TERMINAL
        if not (wait and is_over):  # a waiting caller already has it, and it will not change
            self._log.cache.put(made, size)
        if wait is None:
            self._log.hub.publish(task.id, events, size)
        if not is_over:
            self._quotas.opened(task.owner)
        return made, events

    async def _store_running(
        self, run: Run, task: Task, first: Encoded, push: PushConfig | None, pending: PendingSend | None
    ) -> tuple[Task, list[Event]]:
        log = self._log
        batch, steps = run.take_first_batch()
        bodies = [first, *batch]
        size = store.total_bytes(bodies)
        log.runs[task.id] = run
        try:
            events = await self._create(task, bodies, size, push, pending, run, steps)
        except BaseException:
            run.abandon()
            raise
        self._quotas.opened(task.owner)
        made = apply_events(task, events)
        log.cache.put(made, size)
        log.hub.publish(task.id, events, size)
        run.created(events)
        return made, events

    async def _create(
        self,
        task: Task,
        bodies: Sequence[Encoded],
        size: int,
        push: PushConfig | None,
        pending: PendingSend | None,
        run: Run | None = None,
        steps: Sequence[Step] = (),
    ) -> list[Event]:
        log = self._log
        now = log.now()
        caller = None if run is None else encode_caller(run.caller)

        def work(transaction: Transaction) -> list[Event]:
            if pending is not None:
                pending.store(transaction, task.id, 1)
            if isinstance(bodies[0].body, MessageEvent):
                log.files.use(transaction, task.owner, task.id, bodies[0].body.message)
            events = log.create_in(transaction, task, bodies, now, push=push, caller=caller, run=run, steps=steps)
            if run is not None or (task.deadline is not None and not _is_over(bodies[-1].body)):
                arm(transaction, log.jobs, task.id, now, run and run.hosted.deadline, task.deadline)
            return events

        # simultaneous sends share a commit
        events = await log.database.write(work, brief=not self._stepping and size <= _BRIEF)
        if pending is not None:
            pending.end()
        return events

    def _agent(self, name: str) -> HostedAgent:
        if (found := self._agents.get(name)) is None:
            raise agent_not_found(name, self._agents)
        return found

    def _run(
        self, hosted: HostedAgent, task: Task, message: Message, caller: Principal, began: int | None = None
    ) -> Run:
        return Run(self._log, hosted, task, message, caller, max_bytes=self._limits.artifact_bytes, began=began)

    def _encode_message(self, message: Message) -> Encoded:
        if not message.parts:
            raise empty_message()
        one = encode_body(MessageEvent(message))
        if len(one.json) > _LARGE:
            one = encode_body(MessageEvent(self._log.contexts.to_log(message)))
        if len(one.json) > self._limits.message_bytes:
            raise message_too_large(len(one.json), self._limits.message_bytes)
        return one


def check_continuable(task: Task, message: Message, context_id: str | None) -> None:
    """Check that the message can be the next turn of the task."""
    if task.state in TERMINAL:
        raise task_terminal(task.state)
    if (context_id or message.context_id or task.context_id) != task.context_id:
        raise context_mismatch()


def _is_over(last: Body) -> bool:
    return isinstance(last, StatusEvent) and last.state in TERMINAL


def _with_ids(message: Message, task: Task) -> Message:
    """The message with its task's ids filled in."""
    if message.task_id == task.id and message.context_id == task.context_id:
        return message
    return msgspec.structs.replace(message, task_id=task.id, context_id=task.context_id)


@dataclass(slots=True)
class _Counts:
    open: int = 0
    open_counted_at: float = -math.inf
    all: int = 0
    all_counted_at: float = -math.inf


class TaskQuotas:
    """The number of unfinished and total tasks of each owner, as known to this process.

    The tasks in the store are counted from time to time, and this process counts in between, so a new task costs no
    query. Several processes together may exceed a limit by what they start within a few seconds: it limits growth, and
    is not exact.
    """

    def __init__(self, database: Database, clock: Clock, *, max_open: int, max_total: int) -> None:
        self._database = database
        self._clock = clock
        self._max_open = max_open
        self._max_total = max_total
        self._owners: dict[str, _Counts] = {}

    async def add(self, owner: str) -> None:
        """Count one more task; LimitExceeded if there are too many."""
        now = self._clock.monotonic()
        counts = self._owners.get(owner)
        if counts is None:
            if len(self._owners) >= _MAX_OWNERS:
                self._owners.clear()
            counts = self._owners[owner] = _Counts()
        if now - counts.open_counted_at > _OPEN_SECONDS or counts.open >= self._max_open:
            await self._count_open(owner, counts, now)
        if now - counts.all_counted_at > _ALL_SECONDS or counts.all >= self._max_total:
            row = await self._database.lookup(COUNT_ALL, owner)
            counts.all, counts.all_counted_at = (row[0] if row else 0), now
        if counts.open >= self._max_open:
            raise _too_many(f"You have {counts.open} unfinished tasks; the maximum is {self._max_open}.")
        if counts.all >= self._max_total:
            raise _too_many(f"You have {counts.all} tasks; the maximum is {self._max_total}.")
        counts.all += 1

    def opened(self, owner: str) -> None:
        """Count a newly stored, unfinished task."""
        if (counts := self._owners.get(owner)) is not None:
            counts.open += 1

    async def _count_open(self, owner: str, counts: _Counts, now: float) -> None:
        row = await self._database.lookup(COUNT_OPEN, owner)
        counts.open, counts.open_counted_at = (row[0] if row else 0), now


def _too_many(message: str) -> LimitExceeded:
    return LimitExceeded(
        message, hint="Finish or cancel some first, or ask the operator.", details={"reason": "too-many-tasks"}
    )
