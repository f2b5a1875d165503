"""Takes over turns of processes that ended, and keeps the rights of running turns up to date.

A running turn is a job held by its process. If the process dies or gives the job back, a worker claims it here:

- A turn is taken over by a process with the same rooms as the one that began it, because its agent may use any of them.
- A turn that only waits for an answer, an event or a time is suspended. A message or the time queues its job again.
- A turn with durable calls, or whose question has been answered, is replayed: it runs again from its start, with the
  results of its durable calls, and emits only what is not in the log yet. Only the code that began it may do that.
- The turn of a `restartable` agent runs again with `turn.resumed`, and continues on its own.
- Any other task fails with a message that says why, so that no caller waits for it.

A turn has those rights its caller had at the start and still has. They are checked when it is resumed, and every few
seconds while it runs. If its owner is gone, the task fails.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.access.owners import owner_is_gone
from pentad.jobs.job import Again, JobRun
from pentad.kernel.background import Background
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents import store
from pentad.rooms.agents.approvals.store import of_step as approval_of_step
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.models import (
    TERMINAL,
    Event,
    Message,
    MessageEvent,
    Part,
    StatusEvent,
    Task,
    apply_events,
)
from pentad.rooms.agents.store import Head, decode_caller
from pentad.rooms.agents.tasks.journal import (
    APPROVAL,
    ASKING,
    FILE,
    WAITING,
    Step,
    heard_messages,
    is_same_code,
    needs_pin,
    read_steps,
)
from pentad.rooms.agents.tasks.submission import Submission
from pentad.rooms.agents.tasks.task_log import TURN, TaskLog
from pentad.rooms.agents.tasks.turn_runner import Run

_CHECK_SECONDS: Final = 10.0
_OTHER_PROCESS_SECONDS: Final = 2.0
"""How soon another process may try a task whose agent or code is not hosted here."""
_OTHER_CODE_SECONDS: Final = 60.0
"""How soon to retry if no process has had that code for a while."""

_NOT_RESTARTABLE: Final = (
    "The server process that ran this task ended before it was done, and the agent cannot be run again."
)
MOST_TRIES: Final = 50
_DEADLY: Final = f"{MOST_TRIES} server processes in a row ended while they ran this task, so it is not tried again."
_UNKNOWN: Final = "The agent of this task is no longer hosted here."

_logger = logging.getLogger(__name__)


class Recovery:
    """The turns this process takes over, and checks of those it runs."""

    def __init__(self, log: TaskLog, submission: Submission, agents: Mapping[str, HostedAgent]) -> None:
        self._log = log
        self._submission = submission
        self._agents = agents
        self._limits = log.limits
        self._started = log.clock.now()
        self._strays: set[str] = set()
        self._background = Background()

    def start(self) -> None:
        self._background.start(self._serve(), "agents-turns")

    async def stop(self) -> None:
        await self._background.stop()

    async def _serve(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            try:
                await self.refresh_rights()
                await self.release_strays()
            except PentadError as error:
                log_failure(error, "Checking running tasks")
            except Exception:
                _logger.exception("Checking running tasks failed.")

    async def refresh_rights(self) -> None:
        """Update running turns to their callers' current rights. If the owner is gone, the task fails."""
        log = self._log
        runs = [run for run in log.runs.values() if run.stored]
        if not runs:
            return

        def work(rows: Rows) -> dict[Principal, Principal | None]:
            return {saved: log.owner_now(rows, saved) for saved in {run.saved_caller for run in runs}}

        callers = await log.database.read(work)
        for run in runs:
            if (caller := callers[run.saved_caller]) is not None:
                run.caller = caller
            else:
                await self._fail(run.task, owner_is_gone(run.task.owner))

    async def release_strays(self) -> None:
        """Release turns this process holds but does not run, if seen twice: the run broke, or never started."""
        log = self._log
        held = await log.database.read(lambda rows: log.jobs.held(rows, TURN))
        strays = held - log.runs.keys()
        left, self._strays = strays & self._strays, strays
        if left:
            await log.database.write(lambda tx: log.jobs.give_back(tx, TURN, sorted(left)))

    async def run(self, job: JobRun) -> Again | None:
        """The job: suspend or continue a turn no process is running, or end its task."""
        log, now = self._log, self._log.clock.now()
        turn = await log.database.read(lambda rows: _read_turn(rows, job.key or ""))
        if turn is None:
            return None
        if turn.only_waits(now):
            return await log.database.write(lambda tx: _suspend(tx, job, turn, now))
        hosted = self._agents.get(turn.head.agent)
        # Count from our own start at the earliest: agents may be hosted a moment after it.
        since = max(job.payload if isinstance(job.payload, float) else now, self._started)
        if hosted is None and now - since < self._limits.orphan_seconds:
            return Again(now + _OTHER_PROCESS_SECONDS, since)
        if hosted is not None and turn.is_pinned_elsewhere(hosted):
            pause = _OTHER_PROCESS_SECONDS if now - since < _OTHER_CODE_SECONDS else _OTHER_CODE_SECONDS
            return Again(now + pause, since)
        tries = turn.count_tries(job.payload)
        job.finished = True  # from here on this process itself holds the job
        if not await log.database.write(lambda tx: self._take_lease(tx, job, tries)):
            return None
        why = _UNKNOWN if hosted is None else _NOT_RESTARTABLE
        if tries[0] > MOST_TRIES:
            why = _DEADLY
        elif hosted is not None and (hosted.restartable or turn.can_be_replayed):
            why = await self._restart(turn.head.id, hosted)
        if why is not None:
            await self._fail(turn.head.blank(), why)
        return None

    def _take_lease(self, transaction: Transaction, job: JobRun, tries: tuple[int, int]) -> bool:
        """Take the turn's lease, so the log rejects events from the old process; False if it has ended after all."""
        job.check(transaction)
        taken = store.take_over(transaction, job.key or "", self._log.origin)
        if taken:
            self._log.jobs.hold(transaction, TURN, job.key or "", tries)
        else:
            job.finish(transaction)
        return taken

    async def _fail(self, task: Task, why: str) -> None:
        """End a task this process holds. Its run, if any, is stopped."""
        log = self._log
        message = Message(
            id=f"{task.id}.end", role="agent", parts=(Part(text=why),), task_id=task.id, context_id=task.context_id
        )
        await log.append(task.id, [StatusEvent("failed", message)], claim="release", holder=log.origin)

    async def _restart(self, task_id: str, hosted: HostedAgent) -> str | None:
        """Run the turn again; returns the reason if that is not possible."""
        log = self._log

        def work(rows: Rows) -> tuple[Head, Principal | None, list[Event], list[Step]] | None:
            if (head := store.get_head(rows, task_id)) is None:
                return None
            caller = log.owner_now(rows, decode_caller(head.caller))
            return head, caller, store.events_after(rows, task_id, 0, head.seq), read_steps(rows, task_id, head.turn)

        if (found := await log.database.read(work)) is None:
            return None
        head, caller, events, steps = found
        if caller is None:
            return owner_is_gone(head.owner)
        message = _first_message(events, head.turn)
        if message is None:
            return _NOT_RESTARTABLE
        # A restartable agent sees the task as it is now. A replay begins where the turn began.
        is_replay = not hosted.restartable
        task: Task = apply_events(head.blank(), events[: head.turn - 1] if is_replay else events)
        message = await log.contexts.from_log(message, caller)
        run = Run(
            log, hosted, task, message, decode_caller(head.caller),
            max_bytes=self._limits.artifact_bytes, resumed=not is_replay, began=head.turn,
        )  # fmt: skip
        run.caller = caller
        run.replay_from(steps, events[head.turn :], matching=is_replay)
        await self._submission.start_run(run, events[-1].seq)
        if not run.done:
            run.read_log()  # messages sent since the claim found no run
        return None


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn that no process runs."""

    head: Head
    steps: list[Step]
    events: list[Event]
    """Since the turn began."""
    has_decision: bool
    """Whether an approval was decided without the turn knowing, or never got into the inbox."""

    def only_waits(self, now: float) -> bool:
        """Whether there is nothing to do until a message arrives or a time is reached."""
        waiting = [step for step in self.steps if not step.ended]
        if self.has_decision or not waiting or any(step.kind not in WAITING for step in waiting):
            return False
        heard = heard_messages(self.steps)
        if any(_is_from_user(event) and event.seq not in heard for event in self.events):
            return False
        return (due := self.due_at) is None or due > now

    @property
    def due_at(self) -> float | None:
        times = [step.due_at for step in self.steps if not step.ended and step.due_at is not None]
        return min(times, default=None)

    @property
    def can_be_replayed(self) -> bool:
        """Whether the agent uses steps, or was interrupted while asking. A question, an approval or a file alone does
        not mean that the work after it can be repeated.
        """
        return any(step.kind != FILE and (step.kind not in ASKING or not step.ended) for step in self.steps)

    def count_tries(self, payload: Any) -> tuple[int, int]:
        """How often in a row the turn was taken over without progress, and how far it got."""
        progress = self.head.seq + sum(step.ended for step in self.steps)
        if not isinstance(payload, list):
            return 1, progress
        tries, before = cast("list[int]", payload)
        return (tries + 1 if progress <= before else 1), progress

    def is_pinned_elsewhere(self, hosted: HostedAgent) -> bool:
        code = self.head.code
        return code is not None and needs_pin(self.steps) and not is_same_code(hosted, code)


def _read_turn(rows: Rows, task_id: str) -> _Turn | None:
    head = store.get_head(rows, task_id)
    if head is None or head.state in TERMINAL or (head.holder is None and not head.suspended):
        return None
    steps = read_steps(rows, task_id, head.turn)
    asked = [f"{head.turn}.{step.number}" for step in steps if step.kind == APPROVAL and not step.ended]
    approvals = [approval_of_step(rows, task_id, place) for place in asked]
    has_decision = any(one is None or one.state != "pending" for one in approvals)
    return _Turn(head, steps, store.events_after(rows, task_id, head.turn, head.seq) if steps else [], has_decision)


def _suspend(transaction: Transaction, job: JobRun, turn: _Turn, now: float) -> Again | None:
    job.check(transaction)
    if not store.suspend(transaction, turn.head.id, turn.head.seq, job.needs):
        return Again(now)  # a message has just arrived
    if (due := turn.due_at) is not None:
        return Again(due, due)
    job.finish(transaction)
    return None


def _is_from_user(event: Event) -> bool:
    return isinstance(event.body, MessageEvent) and event.body.message.role == "user"


def _first_message(events: list[Event], turn: int) -> Message | None:
    body = events[turn - 1].body if 0 < turn <= len(events) else None
    return body.message if isinstance(body, MessageEvent) else None
