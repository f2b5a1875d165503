"""Ends turns that take too long, and tasks whose questions no one answers.

An agent's deadline counts from the caller's last message, except while the turn waits for an answer, an event or a
time. A caller's deadline is for the whole task, whatever it does. A turn's job runs three times: at 80 % of the time it
warns, at the end it asks the agent to stop, and after a grace period it ends the task. All of this is in the log, so it
does not matter which process runs the agent, or whether that process still responds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.jobs.job import Again, JobRun
from pentad.jobs.queue import JobQueue
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.agents import store
from pentad.rooms.agents.models import DEADLINE_KEY, INTERRUPTED, TERMINAL, Message, Part, State, StatusEvent
from pentad.rooms.agents.store import LAST_WORD, Head, encode_body
from pentad.rooms.agents.tasks.journal import WAITING
from pentad.rooms.agents.tasks.task_log import DEADLINE, TaskLog

_WARN_AT: Final = 0.8
_LONGEST: Final = 10 * 365 * 86_400.0
_LOOK_SECONDS: Final = 60.0
"""The shortest interval between checks of a turn that waits for an event."""
_BATCH: Final = 200
_DAY: Final = 86_400.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of the job."""

    since: float
    """When the caller's last message came."""
    seconds: float | None = None
    """The agent's deadline."""
    warned: bool = False
    stopped_at: float | None = None


def arm(tx: Transaction, jobs: JobQueue, task_id: str, now: float, seconds: float | None, end: float | None) -> None:
    """Watch a turn that starts or continues now. `seconds` is the agent's deadline, `end` the caller's."""
    until = _until(now, seconds, end)
    if until is not None:
        plan = Plan(since=now, seconds=seconds)
        jobs.enqueue(tx, DEADLINE, msgspec.to_builtins(plan), key=task_id, run_at=now + _WARN_AT * (until - now))


def deadline_in(metadata: Mapping[str, Any] | None, now: float) -> float | None:
    """The caller's deadline, from the metadata of a message: a number of seconds from now."""
    given = (metadata or {}).get(DEADLINE_KEY)
    if given is None:
        return None
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 < given <= _LONGEST:
        raise InvalidInput(
            f"{DEADLINE_KEY} is not a number of seconds.", hint="Use a number greater than 0.",
            details={"reason": "deadline"},
        )  # fmt: skip
    return now + given


def _until(since: float, seconds: float | None, end: float | None) -> float | None:
    times = [time for time in (None if seconds is None else since + seconds, end) if time is not None]
    return min(times, default=None)


@dataclass(frozen=True, slots=True)
class _Turn:
    """What the store knows about a turn."""

    head: Head
    waits: bool
    """Whether it only waits for an answer, an event or a time."""
    waited_until: float
    """When it last stopped waiting."""
    due_at: float | None
    """The latest time at which its wait ends."""


class Deadlines:
    """The job `agents.deadlines`, and the end of abandoned tasks."""

    def __init__(self, log: TaskLog) -> None:
        self._log = log
        self._grace = log.limits.deadline_grace
        self._abandoned = log.limits.abandoned_days * _DAY

    async def run(self, job: JobRun) -> Again | None:
        """Warn about, stop or end a turn, whichever is due."""
        task_id, now = job.key or "", self._log.clock.now()
        plan = msgspec.convert(job.payload, Plan)
        turn = await self._log.database.read(lambda rows: _read_turn(rows, task_id))
        if turn is None:
            return None
        end = turn.head.deadline
        if turn.waits and (end is None or now < end):
            return self._look_again(turn, plan, now)
        since = max(plan.since, turn.waited_until)
        until = end if turn.waits else _until(since, plan.seconds, end)
        if until is None:
            return None
        if since > plan.since:
            plan = msgspec.structs.replace(plan, since=since, warned=False)
        warn_at = since + _WARN_AT * (until - since)
        if now < warn_at:
            return _again(warn_at, plan)
        if now < until:
            if not plan.warned:
                text = f"The deadline is near: the task ends in {_seconds(until - now)}."
                await self._append(job, turn.head, "working", text, "near")
            return _again(until, msgspec.structs.replace(plan, warned=True))
        if turn.waits:
            await self._end(job, turn.head, "The deadline of the task has passed while it waited.")
            return None
        if plan.stopped_at is None:
            await self._append(job, turn.head, "working", "The deadline has passed; the agent has to stop.", "passed")
            return _again(now + self._grace, msgspec.structs.replace(plan, stopped_at=now))
        if now < plan.stopped_at + self._grace:
            return _again(plan.stopped_at + self._grace, plan)
        await self._end(job, turn.head, f"The agent did not finish within {_seconds(until - since)}.")
        return None

    def _look_again(self, turn: _Turn, plan: Plan, now: float) -> Again | None:
        """A waiting turn is not timed. The next message from the caller sets the deadline again."""
        end = turn.head.deadline
        times = [] if end is None else [end]
        if plan.seconds is not None and turn.head.state not in INTERRUPTED:
            times.append(max(turn.due_at or 0.0, now + max(plan.seconds, _LOOK_SECONDS)))
        return _again(min(times), plan) if times else None

    async def end_abandoned(self) -> int:
        """Cancel tasks that have waited for an answer too long; returns how many."""
        log, ended = self._log, 0
        before = log.clock.now() - self._abandoned
        text = f"No one answered within {self._abandoned / _DAY:g} days."
        while self._abandoned:
            found = await log.database.read(lambda rows: store.waiting_since(rows, before, _BATCH))
            for head in found:
                body = StatusEvent("canceled", _message(head, text))
                ended += await log.append(head.id, [body], claim="release", state=head.state) is not None
            if len(found) < _BATCH:
                break
        return ended

    async def _append(self, job: JobRun, head: Head, state: State, text: str, stage: str) -> None:
        """Add a status to a turn if its state has not changed."""
        body = StatusEvent(state, _message(head, text, stage), {DEADLINE_KEY: stage})
        await self._commit(job, head, body, ends=False)

    async def _end(self, job: JobRun, head: Head, text: str) -> None:
        await self._commit(job, head, StatusEvent("failed", _message(head, text)), ends=True)

    async def _commit(self, job: JobRun, head: Head, body: StatusEvent, *, ends: bool) -> None:
        log, batch, now = self._log, [encode_body(body)], self._log.now()

        def work(tx: Transaction) -> store.Appended | None:
            job.check(tx)
            claim = "release" if ends else "none"
            return log.append_in(tx, head.id, batch, now, bounds=LAST_WORD, claim=claim, state=head.state)

        if (appended := await log.database.write(work)) is not None:
            log.publish(head.id, appended.events, store.total_bytes(batch))


def _read_turn(rows: Rows, task_id: str) -> _Turn | None:
    head = store.get_head(rows, task_id)
    if head is None or head.state in TERMINAL:
        return None
    steps = rows.all(
        "SELECT kind, due_at, ended_at FROM agent_steps WHERE task_id = ? AND turn = ?", task_id, head.turn
    )
    unfinished = [(kind, due_at) for kind, due_at, ended_at in steps if ended_at is None]
    only_waits = bool(unfinished) and all(kind in WAITING for kind, _ in unfinished)
    waited = [ended_at for kind, _, ended_at in steps if kind in WAITING and ended_at is not None]
    return _Turn(
        head,
        waits=head.state in INTERRUPTED or head.holder is None or only_waits,
        waited_until=max(waited, default=0.0),
        due_at=min([due_at for _, due_at in unfinished if due_at is not None], default=None),
    )


def _again(at: float, plan: Plan) -> Again:
    return Again(at, msgspec.to_builtins(plan))


def _message(head: Head, text: str, stage: str = "end") -> Message:
    return Message(
        id=f"{head.id}.{head.seq}.{stage}", role="agent", parts=(Part(text=text),),
        task_id=head.id, context_id=head.context_id,
    )  # fmt: skip


def _seconds(number: float) -> str:
    return f"{max(number, 0.0):.3g} seconds"
