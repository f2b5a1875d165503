"""The task engine: operations, tools and push notifications call it. It knows no wire format.

A send creates a task or continues one; the agent runs in the process that received the send. Events are in the log
before anyone sees them. Only its owner and administrators can see a task. Any process can serve any task: waiting,
following and canceling go through the log and the hub, wherever the agent runs.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from pentad.access.server_secrets import secret_keys
from pentad.jobs.job import Again, Job, JobRun, Retries, Schedule
from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal
from pentad.platform import Platform
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.models import (
    INTERRUPTED,
    TERMINAL,
    Dialect,
    Event,
    Json,
    Message,
    PushConfig,
    StatusEvent,
    Task,
    TaskPage,
)
from pentad.rooms.agents.store import Listing, list_heads
from pentad.rooms.agents.tasks.errors import not_cancelable
from pentad.rooms.agents.tasks.push_notifications import RETRIES, PushConfigs, PushDeliveries
from pentad.rooms.agents.tasks.push_store import PUSH_JOB
from pentad.rooms.agents.tasks.recovery import Recovery
from pentad.rooms.agents.tasks.retention import Retention
from pentad.rooms.agents.tasks.submission import Submission, check_continuable
from pentad.rooms.agents.tasks.task_log import RECHECK_SECONDS, TURN, TaskLog
from pentad.rooms.agents.tasks.turn_runner import MessageContexts

RETENTION_SECONDS: Final = 3_600.0
_PUSH_KEY: Final = "agents-push"
S = TypeVar("S")


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
    ) -> None:
        self.agents = agents
        self._log = log
        self._submission = Submission(log, agents)
        self.recovery = Recovery(log, self._submission, agents)
        self.retention = Retention(log)
        private = agents.keys() if push_private else {name for name, one in agents.items() if one.push_private}
        self.push = PushConfigs(log, fetcher, private)
        self.deliveries: PushDeliveries | None = None
        """Sends push notifications, if this server can make requests."""
        if fetcher is not None:
            self.deliveries = PushDeliveries(log, fetcher, push_key, site=site, sign=sign, private=private)

    async def open(self) -> None:
        """Listen for events of other processes, and look after the turns that run here."""
        self._log.listen()
        self.recovery.start()

    async def close(self) -> None:
        """Stop every run. Unfinished tasks are released at once, so that another process can take them over."""
        await self.recovery.stop()
        await self._log.stop()

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
    ) -> Task | Message:
        """Start a task, or (`task_id`) continue one. With `wait` it returns when the task rests, otherwise at once.

        `wait=None` is for callers that follow from the start. It returns the task as it was before the agent did
        anything, so `follow(after=task.seq)` yields every later event, however fast the agent is.
        """
        if task_id is None:
            push = None if push is None else await self.push.check(push, agent)
            return await self._submission.begin(
                caller, agent, message, dialect=dialect, context_id=context_id, metadata=metadata, push=push, wait=wait
            )
        task = await self._log.owned(caller, task_id, agent)
        if push is not None:
            check_continuable(task, message, context_id)
            await self.push.set(caller, task_id, push)
        with self._log.hub.following(task_id) as follower:
            after = await self._submission.continue_task(caller, task, message, context_id=context_id)
            if wait:
                return await self._log.wait_until_rest(follower, task_id, after)
        if wait is None:
            return await self._log.task_at(task_id, after)
        return await self._log.task(task_id, at_least=after)

    async def get(self, caller: Principal, task_id: str, *, agent: str | None = None) -> Task:
        """The task as it is now."""
        return await self._log.owned(caller, task_id, agent)

    async def cancel(self, caller: Principal, task_id: str, *, agent: str | None = None) -> Task:
        """Cancel a task wherever it runs. Conflict (`not-cancelable`) if it has ended."""
        return await self._end(await self._log.owned(caller, task_id, agent))

    async def _end(self, task: Task) -> Task:
        if task.state in TERMINAL or not await self._submission.allows_cancel(task):
            raise not_cancelable(task.state)
        appended = await self._log.append(task.id, [StatusEvent("canceled")], claim="release")
        if appended is None:
            raise not_cancelable((await self._log.any_task(task.id)).state)
        return await self._log.task(task.id, at_least=appended.events[-1].seq)

    async def inspect(self, operator: Principal, task_id: str) -> Task:
        """A task of any user, for administrators."""
        _require_operator(operator)
        return await self._log.any_task(task_id)

    async def cancel_any(self, operator: Principal, task_id: str) -> Task:
        """Cancel a task of any user, for administrators."""
        return await self._end(await self.inspect(operator, task_id))

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
    ) -> TaskPage:
        """The caller's tasks, last changed first."""
        return await self._page(Listing(caller.id, context_id, state, agent, since, page_size, cursor))

    async def _page(self, listing: Listing) -> TaskPage:
        found = await self._log.database.read(lambda rows: list_heads(rows, listing))
        tasks = await self._log.tasks(found.heads)
        return TaskPage(tasks=tasks, total=found.total, next=found.next)

    async def events(self, caller: Principal, task_id: str, *, after: int = 0) -> Sequence[Event]:
        """The next events after a number, in batches; empty if there are none yet."""
        await self._log.owned(caller, task_id)
        return await self._log.events_since(task_id, after)

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

        With `rest` it also ends when the task waits for the caller. With `after` that means a later wait: a caller who
        has just answered follows what comes next.
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
    site: str,
    sign: Callable[[bytes], str],
) -> AsyncGenerator[Tasks]:
    """Open the engine for the lifetime of the room. Push notifications name the `site` and are signed by `sign`."""
    database, clock, box = platform.database, platform.clock, platform.secret_box
    keys = await secret_keys(database, _PUSH_KEY, box=box, clock=clock)
    log = TaskLog(
        database, clock, platform.settings, contexts, platform.jobs, secret_box=box, owner_now=platform.owner_now
    )
    tasks = Tasks(
        log,
        agents,
        fetcher=platform.fetcher,
        push_key=keys[0],
        push_private=platform.settings.push_private,
        site=site,
        sign=sign,
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
    """The jobs of the engine that a room's service has."""

    async def take_over_turn(service: S, run: JobRun) -> Again | None:
        return await tasks(service).recovery.run(run)

    async def push(service: S, run: JobRun) -> None:
        if (deliveries := tasks(service).deliveries) is not None:
            await deliveries.run(run)

    async def sweep(service: S, _run: JobRun) -> None:
        await tasks(service).retention.sweep()

    return (
        Job(TURN, take_over_turn, retry=Retries(attempts=None, longest=60.0), concurrency=1_000, timeout=None),
        Job(PUSH_JOB, push, retry=RETRIES, concurrency=16, timeout=None),
        Job("agents.retention", sweep, lambda _service: [Schedule(RETENTION_SECONDS)], timeout=None),
    )
