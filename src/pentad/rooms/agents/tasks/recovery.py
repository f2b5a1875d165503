"""Takes over the turns of processes that died, and keeps the rights of running turns up to date.

A running turn is a job that its process holds. If the process dies, a worker of another process claims the job here. If
the agent is `restartable`, the turn runs again: with the message that started it, the answers it already got, and
`turn.resumed`. Any other task fails with a message that says why, so that no caller waits for it.

A turn has the rights its caller had when it started, as far as they are left. They are checked when it is resumed, and
every few seconds while it runs. If its owner is gone, the task fails.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from pentad.access.owners import owner_is_gone
from pentad.jobs.job import Again, JobRun
from pentad.kernel.background import Background
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents import store
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.models import INTERRUPTED, Event, Message, MessageEvent, Part, StatusEvent, Task, apply_events
from pentad.rooms.agents.store import Head, decode_caller
from pentad.rooms.agents.tasks.submission import Submission
from pentad.rooms.agents.tasks.task_log import TURN, TaskLog
from pentad.rooms.agents.tasks.turn_runner import Run

_CHECK_SECONDS: Final = 10.0
_OTHER_PROCESS_SECONDS: Final = 2.0
"""How soon another process may try a task whose agent is not hosted here."""

_NOT_RESTARTABLE: Final = (
    "The server process that ran this task ended before it was done, and the agent cannot be run again."
)
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
        """Give running turns the rights their callers have now. If the owner is gone, the task fails."""
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
        """Release turns that this process holds but does not run, if seen twice: the run broke, or never started."""
        log = self._log
        held = await log.database.read(lambda rows: log.jobs.held(rows, TURN))
        strays = held - log.runs.keys()
        left, self._strays = strays & self._strays, strays
        if left:
            await log.database.write(lambda tx: log.jobs.give_back(tx, TURN, sorted(left)))

    async def run(self, run: JobRun) -> Again | None:
        """The job: continue the turn of a process that died, or end its task."""
        task_id = run.key or ""
        head = await self._log.database.read(lambda rows: store.get_head(rows, task_id))
        if head is None or head.holder is None:
            return None
        hosted = self._agents.get(head.agent)
        now = self._log.clock.now()
        # Not before our own start: agents may be hosted a moment after it.
        since = max(now if run.payload is None else float(run.payload), self._started)
        if hosted is None and now - since < self._limits.orphan_seconds:
            return Again(now + _OTHER_PROCESS_SECONDS, since)
        head = await self._log.database.write(lambda tx: self._take(tx, run))
        if head is None:
            return None
        outcome = await self._restart(head, hosted) if hosted is not None and hosted.restartable else None
        if isinstance(outcome, Run):
            await _wait_for_end(outcome)
        else:
            await self._fail(head.blank(), outcome or (_UNKNOWN if hosted is None else _NOT_RESTARTABLE))
        return None

    def _take(self, transaction: Transaction, run: JobRun) -> Head | None:
        """Take the turn, so that the log rejects events of the old process; None if the turn has ended after all."""
        run.check(transaction)
        taken = transaction.run(
            "UPDATE agent_tasks SET holder = ? WHERE id = ? AND holder IS NOT NULL", self._log.origin, run.key
        )
        return store.get_head(transaction, run.key or "") if taken else None

    async def _fail(self, task: Task, why: str) -> None:
        """End a task that this process holds. Its run, if there is one, is stopped."""
        log = self._log
        message = Message(
            id=f"{task.id}.end", role="agent", parts=(Part(text=why),), task_id=task.id, context_id=task.context_id
        )
        await log.append(task.id, [StatusEvent("failed", message)], claim="release", holder=log.origin)

    async def _restart(self, head: Head, hosted: HostedAgent) -> Run | str:
        """Run the turn again; returns the reason if that is not possible."""
        saved = decode_caller(head.caller)

        def work(rows: Rows) -> tuple[Principal | None, list[Event]]:
            return self._log.owner_now(rows, saved), store.events_after(rows, head.id, 0, head.seq)

        caller, events = await self._log.database.read(work)
        if caller is None:
            return owner_is_gone(head.owner)
        message = _first_message(events, head.turn)
        if message is None:
            return _NOT_RESTARTABLE
        task: Task = apply_events(head.blank(), events)
        message = await self._log.contexts.from_log(message, caller)
        run = Run(
            self._log, hosted, task, message, saved,
            max_bytes=self._limits.artifact_bytes, resumed=True, answers=_answers(events, head.turn),
        )  # fmt: skip
        run.caller = caller
        await self._submission.start_run(run, task.seq)
        if not run.done:
            run.read_log()  # messages sent since the claim found no run
        return run


async def _wait_for_end(run: Run) -> None:
    """Wait for a run to end. If the job is taken away, stop the run."""
    if run.handle is None:
        return
    try:
        await asyncio.wait([run.handle])
    except asyncio.CancelledError:
        run.stop()
        raise


def _first_message(events: list[Event], turn: int) -> Message | None:
    body = events[turn - 1].body if 0 < turn <= len(events) else None
    return body.message if isinstance(body, MessageEvent) else None


def _answers(events: list[Event], turn: int) -> list[Message]:
    """The caller's answers in the turn: the first message after each question."""
    answers: list[Message] = []
    asked = False
    for event in events[turn:]:
        body = event.body
        if isinstance(body, StatusEvent):
            asked = asked or body.state in INTERRUPTED
        elif asked and isinstance(body, MessageEvent) and body.message.role == "user":
            answers.append(body.message)
            asked = False
    return answers
