"""The task log of one process: commits, then publishes, and reads through a cache.

Only this module knows both the store and the readers of events in this process: the followers in the hub, and the
task's run. A running turn is a job held by this process. If the process dies, another one claims it.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from pentad.access.owners import OwnerNow, owner_as_saved
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Fetcher, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.platform import NO_NEIGHBOURS, Neighbours
from pentad.rooms.agents import store
from pentad.rooms.agents.approvals.inbox import Inbox, InboxOptions
from pentad.rooms.agents.context.findings import Level
from pentad.rooms.agents.files import Files
from pentad.rooms.agents.models import (
    RESTING,
    TERMINAL,
    ApprovalRequest,
    Body,
    Decision,
    Event,
    Message,
    PushConfig,
    State,
    StatusEvent,
    Task,
    apply_events,
)
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.store import LAST_WORD, Appended, Bounds, Claim, Encoded, Head, encode_body
from pentad.rooms.agents.tasks.budgets import Budgets, limits_in_settings
from pentad.rooms.agents.tasks.child_tasks import CHILDREN, adopt
from pentad.rooms.agents.tasks.errors import task_not_found
from pentad.rooms.agents.tasks.hub import Follower, Hub
from pentad.rooms.agents.tasks.journal import Step, code_of, needs_pin, write_steps
from pentad.rooms.agents.tasks.push_store import enqueue_pushes, insert_config
from pentad.rooms.agents.tasks.room_calls import RoomCalls
from pentad.rooms.agents.tasks.run_events import RunEvents
from pentad.rooms.agents.tasks.task_cache import TaskCache
from pentad.rooms.agents.tasks.turn_runner import Run

TURN: Final = "agents.turn"
"""The turn of one task, whose id is the key."""
DEADLINE: Final = "agents.deadlines"
"""The time limit of that turn, or of its task (`deadlines.py`)."""
RECHECK_SECONDS: Final = 15.0
"""How long a follower relies on signals before it checks the store."""
_PAGE: Final = 500
_ALL: Final = 2**31
_BRIEF: Final = 64 * 1024
_STOP_SECONDS: Final = 5.0


class MessageContexts(Protocol):
    """Message contexts, which are opaque to the engine: what agents receive, and what goes into the log."""

    async def accept(self, caller: Principal, message: Message, level: Level | None = None) -> Message:
        """The message to store; InvalidInput with all problems of its context. None means the operator's level."""
        ...

    def of_message(self, message: Message, caller: Principal) -> Any:
        """The context of one message, as an agent receives it."""
        ...

    async def of_conversation(self, message: Message, caller: Principal) -> Any:
        """The context of the whole conversation so far."""
        ...

    async def with_contents(self, message: Message, caller: Principal) -> Message:
        """A message with all stored contents of its context inlined, for agents that do not follow references."""
        ...

    def to_log(self, message: Message) -> Message:
        """The message for the log: a large context is stored once, and replaced by a reference."""
        ...

    async def from_log(self, message: Message, caller: Principal) -> Message:
        """A message from the log with its context restored."""
        ...


class TaskLog:
    """The tasks of a store as one process sees them, also for its runs."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        limits: TaskLimits,
        contexts: MessageContexts,
        jobs: JobQueue,
        *,
        files: Files | None = None,
        secret_box: SecretBox = PLAIN,
        owner_now: OwnerNow = owner_as_saved,
        neighbours: Neighbours = NO_NEIGHBOURS,
        approvals: InboxOptions | None = None,
        fetcher: Fetcher | None = None,
    ) -> None:
        self.database = database
        self.files = files or Files(database, clock, limits)
        self.owner_now = owner_now
        self.secret_box = secret_box
        self.clock = clock
        self.jobs = jobs
        self.origin = jobs.worker
        self.limits = limits
        self.bounds = Bounds(limits.task_messages, limits.task_bytes)
        self.hub = Hub()
        self.cache = TaskCache()
        self.runs: dict[str, Run] = {}
        self.contexts = contexts
        self.neighbours = neighbours
        self.budgets = Budgets(database, clock, *limits_in_settings(limits.task_budget, limits.caller_budget))
        self.approvals = Inbox(self, approvals or InboxOptions(), fetcher)
        self._stop_listening: Callable[[], None] = _do_nothing

    def listen(self) -> None:
        self._stop_listening = self.database.listen(store.CHANNEL, self._on_signal)

    async def stop(self) -> None:
        self._stop_listening()
        runs = list(self.runs.values())
        for run in runs:
            run.stop()
        if handles := [run.handle for run in runs if run.handle is not None]:
            await asyncio.wait(handles, timeout=_STOP_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await asyncio.gather(*(run.settle() for run in runs))
        left = [run.task.id for run in runs if run.stored]
        if left:
            try:
                await self.database.write(lambda transaction: self.jobs.give_back(transaction, TURN, left))
            except PentadError as error:  # another process claims them if our heartbeat stops
                log_failure(error, "Giving back the tasks of this process")

    @property
    def busy_runs(self) -> list[Run]:
        """The active runs; the others wait for a message or a time."""
        return [run for run in self.runs.values() if not run.only_waits]

    def now(self) -> float:
        return int(self.clock.now() * 1_000 + 0.5) / 1_000  # `round` takes ten times as long

    # Reading

    async def head(self, task_id: str) -> Head | None:
        try:
            row = await self.database.lookup(store.HEAD_SQL, task_id)
        except InvalidInput:  # an id that no store could contain
            return None
        return None if row is None else Head(*row)

    async def owned(self, caller: Principal, task_id: str, agent: str | None = None) -> Task:
        """The current state of a caller's task; NotFound for anyone else's."""
        task = self.cache.get(task_id)
        if task is None or task.state not in TERMINAL:
            head = await self.head(task_id)
            if head is None or head.owner != caller.id:
                raise task_not_found(task_id)
            task = await self._read_up_to(head)
        if task.owner != caller.id or (agent is not None and task.agent != agent):
            raise task_not_found(task_id)
        return task

    async def any_task(self, task_id: str) -> Task:
        """The current state of any owner's task. Only for administrators."""
        head = await self.head(task_id)
        if head is None:
            raise task_not_found(task_id)
        return await self._read_up_to(head)

    async def task(self, task_id: str, *, at_least: int) -> Task:
        """The task, including at least the event `at_least`, which is known to be in the log."""
        task = self.cache.get(task_id)
        if task is not None and task.seq >= at_least:
            return task
        head = await self.head(task_id)
        if head is None:
            raise task_not_found(task_id)
        return await self._read_up_to(head)

    async def task_at(self, task_id: str, seq: int) -> Task:
        """The task right after an event."""
        if (task := self.cache.get(task_id)) is not None and task.seq == seq:
            return task

        def work(rows: Rows) -> Task:
            head = store.get_head(rows, task_id)
            if head is None:
                raise task_not_found(task_id)
            events = store.events_after(rows, task_id, 0, seq)
            return apply_events(head.blank(), events)

        return await self.database.read(work)

    async def tasks(self, heads: Sequence[Head]) -> list[Task]:
        """Tasks with their content. Those not in the cache are read together."""
        found: dict[str, Task] = {}
        missing: list[Head] = []
        for head in heads:
            task = self.cache.get(head.id)
            if task is not None and task.seq >= head.seq:
                found[head.id] = task
            else:
                missing.append(head)
        if missing:
            for task in await self.database.read(lambda rows: [_read(rows, head) for head in missing]):
                found[task.id] = task
        return [found[head.id] for head in heads]

    async def events_since(self, task_id: str, after: int) -> list[Event]:
        """The next events after a number, from the hub or from the log, in batches."""
        events = self.hub.after(task_id, after)
        if events is None:
            events = await self.database.read(lambda rows: store.events_after(rows, task_id, after, _PAGE))
        return events

    async def wait_until_rest(self, follower: Follower, task_id: str, after: int) -> Task:
        """The task when it rests after the event `after`. The follower must exist before that event."""
        seen = after
        while True:
            while not await follower.wait_for_event(seen, RECHECK_SECONDS):
                await self.refresh_follower(follower, task_id)
            for event in await self.events_since(task_id, seen):
                seen = event.seq
                if isinstance(event.body, StatusEvent) and event.body.state in RESTING:
                    task = await self.task(task_id, at_least=seen)
                    if task.state in RESTING:
                        return task

    async def refresh_follower(self, follower: Follower, task_id: str) -> None:
        """Read the latest event from the store, in case a signal was lost."""
        head = await self.head(task_id)
        if head is None:
            raise task_not_found(task_id)
        follower.notify(head.seq)

    async def _read_up_to(self, head: Head) -> Task:
        task = self.cache.get(head.id)
        if task is not None and task.seq >= head.seq:
            return task
        known = task or head.blank()
        events = await self.database.read(
            lambda rows: store.events_after(rows, head.id, known.seq, head.seq - known.seq)
        )
        task = apply_events(known, events)
        self.cache.put(task, head.size)
        return task

    # Writing

    def create_in(
        self, transaction: Transaction, task: Task, bodies: Sequence[Encoded], at: float,
        *, push: PushConfig | None, caller: bytes | None, run: RunEvents | None = None, steps: Sequence[Step] = (),
    ) -> list[Event]:  # fmt: skip
        """Write a new task. With a `caller`, its turn continues here (`run`), and can run again for that caller."""
        lease = None if caller is None else (self.origin, caller)
        pushes = 0 if push is None else 1
        if task.origin is not None and task.origin.parent is not None:
            adopt(transaction, task.origin.parent, task.owner)
        events = store.create(transaction, task, bodies, at, bounds=self.bounds, pushes=pushes, lease=lease)
        if lease is not None:
            self.jobs.hold(transaction, TURN, task.id, needs=self.jobs.rooms)
        if push is not None:
            insert_config(transaction, self.secret_box, self.jobs, task.id, push, delivered=0, now=at)
        if run is not None and steps:
            self.append_in(transaction, task.id, (), at, bounds=self.bounds, holder=self.origin, run=run, steps=steps)
        return events

    def append_in(
        self, transaction: Transaction, task_id: str, batch: Sequence[Encoded], at: float,
        *, bounds: Bounds, claim: Claim = "none", holder: str | None = None, caller: bytes | None = None,
        run: RunEvents | None = None, steps: Sequence[Step] = (), state: State | None = None,
        deadline: float | None = None,
    ) -> Appended | None:  # fmt: skip
        """Append events and steps of a run, update the job of the turn, and queue push notifications."""
        lease = None if caller is None else (self.origin, caller)
        appended = store.append(
            transaction, self.origin, task_id, batch, at,
            bounds=bounds, claim=claim, holder=holder, lease=lease,
            journal_bytes=_bytes(steps),
            code=_pin(run, steps) if run is not None and steps else None, only_in=state, deadline=deadline,
        )  # fmt: skip
        if appended is None:
            return None
        if run is not None and steps:
            write_steps(transaction, task_id, run.began, steps, at)
        if claim == "take":
            self.jobs.hold(transaction, TURN, task_id, needs=self.jobs.rooms)
        elif claim == "release":
            self.jobs.cancel(transaction, (TURN, DEADLINE), task_id)
            if appended.deadline is not None and appended.state not in TERMINAL:
                self.jobs.enqueue(transaction, DEADLINE, {"since": at}, key=task_id, run_at=appended.deadline)
        elif appended.suspended:
            needs = appended.needs.split()
            self.jobs.enqueue(transaction, TURN, key=task_id, needs=needs)  # the message may be what the turn waits for
        if appended.children and appended.state in TERMINAL:
            self.jobs.enqueue(transaction, CHILDREN, key=task_id)
        if appended.pushes and batch:
            enqueue_pushes(transaction, self.jobs, task_id)
        return appended

    def unpin_in(self, transaction: Transaction, task_id: str) -> bool:
        """Let a turn continue with any code, and try at once; False if there is no unfinished turn."""
        if not store.unpin(transaction, task_id):
            return False
        if self.jobs.is_queued(transaction, TURN, task_id):
            self.jobs.enqueue(transaction, TURN, key=task_id)
        return True

    async def append(
        self,
        task_id: str,
        bodies: Sequence[Body],
        *,
        claim: Claim = "none",
        holder: str | None = None,
        state: State | None = None,
    ) -> Appended | None:
        """Commit events from outside a run: a caller's message, a cancellation, the end of an orphaned task."""
        batch = [encode_body(body) for body in bodies]
        now = self.now()
        appended = await self.database.write(
            lambda transaction: self.append_in(
                transaction, task_id, batch, now, bounds=LAST_WORD, claim=claim, holder=holder, state=state
            )
        )
        if appended is not None:
            self.publish(task_id, appended.events, store.total_bytes(batch))
        return appended

    def publish(self, task_id: str, events: list[Event], size: int, run: RunEvents | None = None) -> None:
        """Publish committed events within this process."""
        self.cache.grow(task_id, events, size)
        self.hub.publish(task_id, events, size)
        if run is None and (running := self.runs.get(task_id)) is not None:
            running.receive_events(events)

    def _on_signal(self, payload: str) -> None:
        origin, _, rest = payload.partition(" ")
        if origin == self.origin:
            return
        task_id, _, seq = rest.rpartition(" ")  # agents that choose their own task ids may use spaces
        self.hub.notify(task_id, int(seq))
        if (run := self.runs.get(task_id)) is not None:
            run.read_log()

    # For runs

    def rooms(self, run: Run) -> RoomCalls:
        """The rooms, as the run's agent may use them."""
        return RoomCalls(run, self)

    async def add_remote_child(self, run: RunEvents, step: Step) -> None:
        """Count a task a remote agent accepted for the run, and store the step that names it. Conflict if the run's
        task has ended.
        """
        parent, now = run.task, self.now()

        def work(transaction: Transaction) -> None:
            adopt(transaction, parent.id, parent.owner)
            write_steps(transaction, parent.id, run.began, [step], now)

        await self.database.write(work)

    async def append_batch(
        self, run: RunEvents, batch: Sequence[Encoded], steps: Sequence[Step], *, last: bool
    ) -> list[Event] | None:
        """Commit events and steps, and publish the events; None if the run has lost its lease."""
        # steps are small, and the agent waits for them
        is_brief = bool(steps) and store.total_bytes(batch) + _bytes(steps) <= _BRIEF
        appended = await self.database.write(self._batch(run, batch, steps, last=last), brief=is_brief)
        if appended is None:
            return None
        _note_pin(run, steps)
        if appended.events:
            self.publish(run.task.id, appended.events, store.total_bytes(batch), run)
        return appended.events

    def append_steps_at_once(self, run: RunEvents, steps: Sequence[Step]) -> bool | None:
        """Commit steps without waiting, if the store can; None if it cannot, False if the run has lost its lease."""
        if _bytes(steps) > _BRIEF or (done := self.database.write_at_once(self._batch(run, (), steps))) is None:
            return None
        _note_pin(run, steps)
        return done[0] is not None

    def _batch(
        self, run: RunEvents, batch: Sequence[Encoded], steps: Sequence[Step], *, last: bool = False
    ) -> Callable[[Transaction], Appended | None]:
        """The unit of work that appends a run's events and steps."""
        now = self.now()
        final = batch[-1].body if batch else None
        is_over = isinstance(final, StatusEvent) and final.state in TERMINAL
        bounds = LAST_WORD if is_over and len(batch) == 1 else self.bounds

        def work(transaction: Transaction) -> Appended | None:
            return self.append_in(
                transaction, run.task.id, batch, now,
                bounds=bounds, holder=self.origin, claim="release" if last else "none", run=run, steps=steps,
            )  # fmt: skip

        return work

    async def find_batch(self, run: RunEvents, batch: Sequence[Encoded]) -> list[Event] | None:
        """The events of a batch whose commit was uncertain, if they are in the log after all."""
        bodies = [one.json for one in batch]
        after = run.seen

        def work(rows: Rows) -> list[Event] | None:
            events = store.events_after(rows, run.task.id, after, _ALL)
            texts = [encode_body(event.body).json for event in events]
            for start in range(len(texts) - len(bodies) + 1):
                if texts[start : start + len(bodies)] == bodies:
                    return events[start : start + len(bodies)]
            return None

        events = await self.database.read(work)
        if events is not None:
            self.publish(run.task.id, events, store.total_bytes(batch), run)
        return events

    async def wait_for_decision(
        self, task: Task, caller: Principal, request: ApprovalRequest, place: str
    ) -> Decision | None:
        """Ask for an approval, once per place in the journal, and wait; None if the run has lost its lease."""
        with self.hub.following(task.id) as follower:
            approval = await self.approvals.ask(task, caller, request, place)
            while approval is not None and approval.state == "pending":
                seen = follower.latest
                approval = await self.approvals.read_at(task.id, place)
                if approval is not None and approval.state == "pending":
                    await follower.wait_for_event(seen, RECHECK_SECONDS)
        return None if approval is None else approval.decision

    async def withdraw_approval(self, task_id: str, place: str) -> None:
        """Withdraw an approval the agent no longer waits for."""
        try:
            await self.approvals.withdraw(task_id, place)
        except PentadError as error:
            log_failure(error, f"Withdrawing an approval of the task {task_id}")

    def run_ended(self, run: Run) -> None:
        if self.runs.get(run.task.id) is run:
            del self.runs[run.task.id]


def _pin(run: RunEvents, steps: Sequence[Step]) -> str | None:
    """The code to pin the turn to, with its first durable call that is not a question."""
    if run.journal is None or run.journal.pinned or not needs_pin(steps):
        return None
    return code_of(run.hosted)


def _note_pin(run: RunEvents, steps: Sequence[Step]) -> None:
    """Record that the steps are stored, and with them the turn's code."""
    if run.journal is not None and not run.journal.pinned:
        run.journal.pinned = needs_pin(steps)


def _bytes(steps: Sequence[Step]) -> int:
    return sum([step.size for step in steps]) if steps else 0


def _read(rows: Rows, head: Head) -> Task:
    return apply_events(head.blank(), store.events_after(rows, head.id, 0, head.seq))


def _do_nothing() -> None:
    """Default callback."""
