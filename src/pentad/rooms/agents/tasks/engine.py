"""The task engine, called by operations, tools and push notifications. Independent of wire formats.

A send creates or continues a task; the agent runs in the process that received the send. Events are logged before
anyone sees them. Only its owner and administrators can see a task. Any process can serve any task: waiting, following
and canceling go through the log and the hub, wherever the agent runs.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

from pentad.access.server_secrets import secret_keys
from pentad.jobs.job import Again, Job, JobRun, Retries, Schedule
from pentad.kernel.background import start_task
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from pentad.kernel.ports import Fetcher, Transaction
from pentad.kernel.principal import Principal
from pentad.platform import Platform
from pentad.rooms.agents.approvals.inbox import (
    EXPIRE_JOB,
    WEBHOOK_JOB,
    WEBHOOK_RETRIES,
    InboxOptions,
    decided_message,
    read_answer,
)
from pentad.rooms.agents.approvals.store import Approval
from pentad.rooms.agents.context.extension import with_issues
from pentad.rooms.agents.files import Files
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.models import (
    INTERRUPTED,
    RESTING,
    TERMINAL,
    Dialect,
    Event,
    Json,
    Message,
    Origin,
    PushConfig,
    StatusEvent,
    Task,
    TaskPage,
    event_name,
)
from pentad.rooms.agents.store import Listing, latest_heads, list_heads
from pentad.rooms.agents.tasks.child_tasks import (
    CHILDREN,
    TaskTrace,
    find_child,
    open_children,
    open_remote_children,
    read_trace,
)
from pentad.rooms.agents.tasks.deadlines import Deadlines
from pentad.rooms.agents.tasks.errors import not_cancelable, waiting_for_approval
from pentad.rooms.agents.tasks.idempotency import AlreadySent, FirstSend, PendingSend, SendKey, Sends
from pentad.rooms.agents.tasks.loop_watchdog import LoopWatchdog
from pentad.rooms.agents.tasks.push_notifications import RETRIES, PushConfigs, PushDeliveries
from pentad.rooms.agents.tasks.push_store import PUSH_JOB
from pentad.rooms.agents.tasks.recovery import Recovery
from pentad.rooms.agents.tasks.retention import Retention
from pentad.rooms.agents.tasks.submission import Submission, check_continuable
from pentad.rooms.agents.tasks.task_log import DEADLINE, RECHECK_SECONDS, TURN, MessageContexts, TaskLog

RETENTION_SECONDS: Final = 3_600.0
_DRAIN_PAUSE: Final = 0.05
_PUSH_KEY: Final = "agents-push"
S = TypeVar("S")
CancelRemote = Callable[[str, str], Awaitable[object]]
"""Cancels a task of a remote agent, by the agent's name or URL and the id there."""


class Tasks:
    """The engine of one process. Open and close it with the room."""

    def __init__(
        self,
        log: TaskLog,
        agents: Mapping[str, HostedAgent],
        *,
        fetcher: Fetcher | None = None,
        push_key: bytes = b"",
        push_private: bool = False,
        site: str = "",
        sign: Callable[[bytes], str] | None = None,
        cancel_remote: CancelRemote | None = None,
        stopping: asyncio.Event | None = None,
        drain_seconds: float = 0.0,
    ) -> None:
        self.agents = agents
        self._cancel_remote = cancel_remote
        self._stopping = stopping or asyncio.Event()
        self._drain_seconds = drain_seconds
        self._draining: asyncio.Task[None] | None = None
        self._log = log
        self._submission = Submission(log, agents)
        self._sends = Sends(log.database, log.clock, log.limits.seconds_to_repeat)
        self.recovery = Recovery(log, self._submission, agents)
        self.retention = Retention(log)
        self.deadlines = Deadlines(log)
        self.watchdog = LoopWatchdog(agents)
        private = agents.keys() if push_private else {name for name, one in agents.items() if one.push_private}
        self.approvals = log.approvals
        self.push = PushConfigs(log, fetcher, private)
        self.deliveries: PushDeliveries | None = None
        """Sends push notifications, if this server can make requests."""
        if fetcher is not None:
            self.deliveries = PushDeliveries(log, fetcher, push_key, site=site, sign=sign, private=private)

    async def open(self) -> None:
        """Listen for events from other processes, and manage the turns running here."""
        self._log.listen()
        self.recovery.start()
        self.watchdog.start()
        self._draining = start_task(self._drain(), "agents-drain")

    async def close(self) -> None:
        """Stop all runs, giving turns time to finish first if the server was told to stop. Unfinished tasks are
        released at once, so another process can take them over.
        """
        if self._draining is not None:
            if not self._stopping.is_set():
                self._draining.cancel()
            await asyncio.gather(self._draining, return_exceptions=True)
        self.watchdog.stop()
        await self.recovery.stop()
        await self._log.stop()

    async def _drain(self) -> None:
        """When the server is told to stop, wait until every turn is over or only waiting, or the time is up."""
        await self._stopping.wait()
        until = self._log.clock.monotonic() + self._drain_seconds
        while self._log.busy_runs and self._log.clock.monotonic() < until:  # noqa: ASYNC110  a run can become idle in many ways
            await asyncio.sleep(_DRAIN_PAUSE)

    async def send(
        self,
        caller: Principal,
        agent: str,
        message: Message,
        *,
        dialect: Dialect,
        wait: bool | None = True,
        task_id: str | None = None,
        context_id: str | None = None,
        metadata: Json | None = None,
        push: PushConfig | None = None,
        keys: Sequence[SendKey] = (),
        origin: Origin | None = None,
        may_approve: bool = False,
    ) -> Task | Message:
        """Start a task, or (`task_id`) continue one. With `wait` it returns when the task rests, otherwise at once.

        With `may_approve`, the message can decide an approval the task waits for. It is for messages from outside: an
        agent that acts for an approver must not approve anything.

        `wait=None` is for callers that follow from the start. It returns the task as it was before the agent did
        anything, so `follow(after=task.seq)` yields every later event, however fast the agent is.

        If an agent sends the task, `origin` names the parent. If that call has already created a task, because the
        parent runs again after a crash, that task is returned unchanged.

        A second send with one of the `keys` (`send_keys`) starts nothing and returns the result of the first.
        """
        if origin is not None and task_id is None and (child := await self._child(origin)) is not None:
            return await self._log.owned(caller, child)

        pending: PendingSend | None = None
        while True:
            if keys:
                first = await self._sends.begin(
                    caller.id, agent, keys, message, mode=(wait, push is not None), has_gone_on=self._has_gone_on
                )
                if isinstance(first, FirstSend):
                    return await self._first_result(caller, first, wait)
                pending = first
            try:
                accepted = await self._accept(caller, message, dialect)
                if task_id is not None:
                    return await self._continue(
                        caller, agent, accepted, pending,
                        wait=wait, task_id=task_id, context_id=context_id, push=push, may_approve=may_approve,
                    )  # fmt: skip
                return await self._submission.begin(
                    caller, agent, accepted,
                    dialect=dialect, context_id=context_id, metadata=with_issues(metadata, accepted.metadata),
                    push=None if push is None else await self.push.check(push, agent),
                    wait=wait, origin=origin, pending=pending,
                )  # fmt: skip
            except AlreadySent:
                if pending is None:
                    raise
            finally:
                if pending is not None:
                    pending.end()

    async def _continue(
        self,
        caller: Principal,
        agent: str,
        message: Message,
        pending: PendingSend | None,
        *,
        wait: bool | None,
        task_id: str,
        context_id: str | None,
        push: PushConfig | None,
        may_approve: bool,
    ) -> Task | Message:
        answer = read_answer(message) if may_approve else None
        try:
            task = await self._log.owned(caller, task_id, agent)
        except NotFound:
            approval = None if answer is None else await self.approvals.decidable(caller, task_id)
            if answer is None or approval is None or approval.agent != agent:
                raise
            return await self._decide_for_other(caller, approval.id, answer, pending)
        if event_name(message) is None and (approval := await self.approvals.awaited(task)) is not None:
            if answer is None:
                raise waiting_for_approval()
            return await self._decide(caller, task, approval.id, answer, pending, wait=wait)
        if push is not None:
            check_continuable(task, message, context_id)
            await self.push.set(caller, task_id, push)
        with self._log.hub.following(task_id) as follower:
            after = await self._submission.continue_task(caller, task, message, context_id=context_id, pending=pending)
            if wait:
                return await self._log.wait_until_rest(follower, task_id, after)
        if wait is None:
            return await self._log.task_at(task_id, after)
        return await self._log.task(task_id, at_least=after)

    async def _child(self, origin: Origin) -> str | None:
        if origin.parent is None or origin.step is None:
            return None
        parent, step = origin.parent, origin.step
        return await self._log.database.read(lambda rows: find_child(rows, parent, step))

    async def end_children(self, task_id: str) -> None:
        """Cancel the children of a task that has ended. The children cancel theirs."""
        for child in await self._log.database.read(lambda rows: open_children(rows, task_id)):
            with suppress(Conflict):  # it has ended meanwhile
                await self._end(await self._log.any_task(child))
        if self._cancel_remote is not None:
            for agent, child in await self._log.database.read(lambda rows: open_remote_children(rows, task_id)):
                await self._cancel_remote(agent, child)

    async def trace(self, caller: Principal, task_id: str) -> TaskTrace:
        """The trace of a task, with everything it started."""
        await self._log.owned(caller, task_id)
        return await self._log.database.read(lambda rows: read_trace(rows, task_id))

    async def _has_gone_on(self, task_id: str) -> bool:
        """Whether the owner has used the task's id, proving that the first answer arrived."""
        try:
            task = await self._log.any_task(task_id)
        except NotFound:
            return True
        return task.state == "canceled" or sum(one.role == "user" for one in task.history) > 1

    async def _first_result(self, caller: Principal, first: FirstSend, wait: bool | None) -> Task | Message:
        """The result of the first send of a message, as soon as there is one."""
        if first.reply is not None:
            return first.reply
        log = self._log
        with log.hub.following(first.task) as follower:
            task = await log.owned(caller, first.task)
            if wait is None:
                return await log.task_at(task.id, first.seq)
            if not wait or task.state in RESTING:
                return task
            follower.notify(task.seq)
            return await log.wait_until_rest(follower, task.id, task.seq)

    async def _accept(self, caller: Principal, message: Message, dialect: Dialect) -> Message:
        """The message to store, with its context and its files accepted."""
        if message.metadata:
            message = await self.accept_context(caller, message, dialect)
        return await self._log.files.accept(caller, message)

    async def accept_context(self, caller: Principal, message: Message, dialect: Dialect) -> Message:
        """Check and store the context of a message; returns the message to store. AgentVault's callers get lenient
        checks, so that everything AgentVault accepts is accepted.
        """
        return await self._log.contexts.accept(caller, message, "lenient" if dialect == "agentvault" else None)

    async def _decide(
        self,
        caller: Principal,
        task: Task,
        approval_id: str,
        answer: tuple[bool, str],
        pending: PendingSend | None,
        *,
        wait: bool | None,
    ) -> Task:
        def store_keys(tx: Transaction, _approval: Approval) -> None:
            if pending is not None:
                pending.store(tx, task.id, task.seq)

        with self._log.hub.following(task.id) as follower:
            await self.approvals.decide(caller, approval_id, approve=answer[0], reason=answer[1], also=store_keys)
            if wait:
                return await self._log.wait_until_rest(follower, task.id, task.seq)
        return task if wait is None else await self._log.task(task.id, at_least=task.seq + 1)

    async def _decide_for_other(
        self, caller: Principal, approval_id: str, answer: tuple[bool, str], pending: PendingSend | None
    ) -> Message:
        """Decide an approval of another owner's task, which the caller cannot see."""
        reply: Message | None = None

        def store_keys(tx: Transaction, approval: Approval) -> None:
            nonlocal reply
            reply = decided_message(approval)
            if pending is not None:
                pending.store(tx, None, 0, reply)

        decided = await self.approvals.decide(
            caller, approval_id, approve=answer[0], reason=answer[1], also=store_keys
        )  # fmt: skip
        return reply or decided_message(decided)

    async def get(self, caller: Principal, task_id: str, *, agent: str | None = None) -> Task:
        """The current state of a task."""
        return await self._log.owned(caller, task_id, agent)

    async def cancel(self, caller: Principal, task_id: str, *, agent: str | None = None) -> Task:
        """Cancel a task wherever it runs; a canceled task stays as it is. Conflict (`not-cancelable`) if it has ended
        otherwise.
        """
        return await self._end(await self._log.owned(caller, task_id, agent))

    async def _end(self, task: Task) -> Task:
        if task.state == "canceled":
            return task
        if task.state in TERMINAL or not await self._submission.allows_cancel(task):
            raise not_cancelable(task.state)
        appended = await self._log.append(task.id, [StatusEvent("canceled")], claim="release")
        if appended is None:
            ended = await self._log.any_task(task.id)
            if ended.state != "canceled":  # the agent may have reported it first
                raise not_cancelable(ended.state)
            return ended
        return await self._log.task(task.id, at_least=appended.events[-1].seq)

    async def inspect(self, operator: Principal, task_id: str) -> Task:
        """A task of any user, for administrators."""
        _require_operator(operator)
        return await self._log.any_task(task_id)

    async def cancel_any(self, operator: Principal, task_id: str) -> Task:
        """Cancel a task of any user, for administrators."""
        return await self._end(await self.inspect(operator, task_id))

    async def pinned_code(self, operator: Principal, task_id: str) -> str | None:
        """The version of the agent's code that a task's turn is pinned to, for administrators."""
        _require_operator(operator)
        head = await self._log.head(task_id)
        return None if head is None else head.code

    async def migrate(self, operator: Principal, task_id: str) -> None:
        """Let a turn continue with the currently hosted code, for administrators. The replay is still checked."""
        await self.inspect(operator, task_id)
        if not await self._log.database.write(lambda tx: self._log.unpin_in(tx, task_id)):
            raise Conflict("The task has no turn that could go on.", details={"reason": "not-running"})

    async def list_all(
        self,
        operator: Principal,
        *,
        owner: str | None = None,
        state: str | None = None,
        agent: str | None = None,
        page_size: int = 50,
        cursor: str | None = None,
    ) -> TaskPage:
        """The tasks of all users or of one, for administrators."""
        _require_operator(operator)
        return await self._page(Listing(owner, None, state, agent, None, page_size, cursor))

    async def list(
        self,
        caller: Principal,
        *,
        context_id: str | None = None,
        state: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        page_size: int = 50,
        cursor: str | None = None,
        count_to: int | None = None,
    ) -> TaskPage:
        """The caller's tasks, last changed first. `total` is exact up to `count_to`."""
        return await self._page(Listing(caller.id, context_id, state, agent, since, page_size, cursor, count_to))

    async def latest(
        self, caller: Principal, most: int, *, agent: str | None = None, waiting: bool = False
    ) -> Sequence[Task]:
        """The caller's latest changed tasks that are with an agent or waiting for an answer; they are not counted."""
        heads = await self._log.database.read(
            lambda rows: latest_heads(rows, caller.id, most, agent=agent, waiting=waiting)
        )
        return await self._log.tasks(heads)

    async def _page(self, listing: Listing) -> TaskPage:
        found = await self._log.database.read(lambda rows: list_heads(rows, listing))
        tasks = await self._log.tasks(found.heads)
        return TaskPage(tasks=tasks, total=found.total, next=found.next)

    async def follow(
        self,
        caller: Principal,
        task_id: str,
        *,
        after: int | None = None,
        agent: str | None = None,
        rest: bool = False,
    ) -> AsyncGenerator[Event | Task]:
        """The task and then its events (`after` is None), or only the events after a number. Ends with the task.

        With `rest`, it also ends when the task waits for the caller. With `after`, that means a later wait, so a caller
        who has just answered can follow what comes next.
        """
        log = self._log
        with log.hub.following(task_id) as follower:
            task = await log.owned(caller, task_id, agent)
            follower.notify(task.seq)
            if after is None:
                yield task
            elif after > task.seq or after < 0:
                raise InvalidInput(
                    f"The task has {task.seq} events; there is no event {after}.",
                    hint="Leave it out to begin with the task as it is.",
                    details={"reason": "no-such-event"},
                )
            seen = task.seq if after is None else after
            waits = rest and after is None and task.state in INTERRUPTED
            if seen == task.seq and (task.state in TERMINAL or waits):
                return
            while True:
                for event in await log.events_since(task_id, seen) if follower.latest > seen else ():
                    yield event
                    seen = event.seq
                    if _ends(event, rest=rest and seen >= follower.latest):
                        return
                if not await follower.wait_for_event(seen, RECHECK_SECONDS):
                    await log.refresh_follower(follower, task_id)


@asynccontextmanager
async def open_tasks(
    platform: Platform,
    agents: Mapping[str, HostedAgent],
    *,
    contexts: MessageContexts,
    files: Files,
    approvals: InboxOptions,
    site: str,
    sign: Callable[[bytes], str],
    cancel_remote: CancelRemote,
) -> AsyncGenerator[Tasks]:
    """Open the engine for the lifetime of the room. Push notifications name the `site` and are signed by `sign`."""
    database, clock, box = platform.database, platform.clock, platform.secret_box
    keys = await secret_keys(database, _PUSH_KEY, box=box, clock=clock)
    log = TaskLog(
        database, clock, platform.settings, contexts, platform.jobs,
        files=files, secret_box=box, owner_now=platform.owner_now, neighbours=platform.neighbours,
        approvals=approvals, fetcher=platform.fetcher,
    )  # fmt: skip
    tasks = Tasks(
        log,
        agents,
        fetcher=platform.fetcher,
        push_key=keys[0],
        push_private=platform.settings.push_private,
        site=site,
        sign=sign,
        cancel_remote=cancel_remote,
        stopping=platform.stopping,
        drain_seconds=platform.drain_seconds,
    )
    await tasks.open()
    try:
        yield tasks
    finally:
        await tasks.close()


def _require_operator(principal: Principal) -> None:
    if not principal.may("agents", "admin"):
        raise Forbidden(
            "Only an administrator sees the tasks of others.",
            hint="It needs the scope agents:admin.",
            details={"required_scope": "agents:admin"},
        )


def _ends(event: Event, *, rest: bool) -> bool:
    body = event.body
    return isinstance(body, StatusEvent) and (body.state in TERMINAL or (rest and body.state in INTERRUPTED))


def jobs_of(tasks: Callable[[S], Tasks]) -> tuple[Job[S], ...]:
    """The jobs of the engine in a room's service."""

    def job(name: str, handle: Callable[[Tasks, JobRun], Awaitable[Again | None]], **options: Any) -> Job[S]:
        async def run(service: S, run: JobRun) -> Again | None:
            return await handle(tasks(service), run)

        return Job(name, run, **options)

    async def push(engine: Tasks, run: JobRun) -> None:
        if engine.deliveries is not None:
            await engine.deliveries.run(run)

    async def sweep(engine: Tasks, _run: JobRun) -> None:
        await engine.deadlines.end_abandoned()
        await engine.retention.sweep()

    def every_hour(_service: S) -> Sequence[Schedule]:
        return [Schedule(RETENTION_SECONDS)]

    forever = Retries(attempts=None, longest=60.0)
    return (
        job(TURN, lambda one, run: one.recovery.run(run), retry=forever, concurrency=1_000, timeout=None),
        job(CHILDREN, lambda one, run: one.end_children(run.key or ""), retry=RETRIES, concurrency=16),
        job(PUSH_JOB, push, retry=RETRIES, concurrency=16, timeout=None),
        job(DEADLINE, lambda one, run: one.deadlines.run(run), retry=forever, concurrency=16),
        job(EXPIRE_JOB, lambda one, run: one.approvals.expire(run), retry=forever),
        job(WEBHOOK_JOB, lambda one, run: one.approvals.send_webhook(run), retry=WEBHOOK_RETRIES),
        job("agents.retention", sweep, schedules=every_hour, timeout=None),
    )
