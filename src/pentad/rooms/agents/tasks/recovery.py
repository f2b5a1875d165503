"""Keeps the leases of this process, and takes over what a process that is gone has left.

An agent that is `restartable` runs its turn again: with the message that began it, the answers it already got, and
`turn.resumed`. Any other task is ended with a message that says why: nobody should wait for what will never come.

A turn has the rights its caller had when it began, as far as they are left: asked when it is resumed, and with every
renewal while it runs. The task of an owner who is gone fails.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from pentad.access.owners import owner_is_gone
from pentad.kernel.background import Background
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import put_off
from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.models import INTERRUPTED, Event, Message, MessageEvent, Part, StatusEvent, Task, folded
from pentad.rooms.agents.tasks import leases, store
from pentad.rooms.agents.tasks.callers import unpacked
from pentad.rooms.agents.tasks.limits import TaskLimits
from pentad.rooms.agents.tasks.store import Head
from pentad.rooms.agents.tasks.submission import Submission
from pentad.rooms.agents.tasks.task_log import TaskLog
from pentad.rooms.agents.tasks.turn_runner import Run

_AT_ONCE: Final = 50
_GONE: Final = "The server process that ran this task ended before it was done, and the agent cannot be run again."
_UNKNOWN: Final = "The agent of this task is no longer hosted here."

_log = logging.getLogger(__name__)


class Recovery:
    """One process's share: renew and look, every third of a lease."""

    def __init__(
        self, keeping: TaskLog, sending: Submission, agents: Mapping[str, HostedAgent], limits: TaskLimits
    ) -> None:
        self._keeping = keeping
        self._sending = sending
        self._agents = agents
        self._limits = limits
        self._background = Background()

    def start(self) -> None:
        self._background.start(self._serve(), "agents-recovery")

    async def stop(self) -> None:
        await self._background.stop()

    async def _serve(self) -> None:
        while True:
            try:
                await self.renew()
                await self.take_over()
            except PentadError as error:
                put_off(error, "Keeping the leases of tasks")
            except Exception:  # noqa: BLE001  the last line of defence: without renewals every run would be lost
                _log.exception("Keeping the leases of tasks failed.")
            await asyncio.sleep(self._limits.lease_seconds / 3)

    async def renew(self) -> None:
        """Keep the leases of what runs here, and let its callers have what rights they have now."""
        keeping = self._keeping
        runs = [run for run in keeping.runs.values() if run.stored]
        if not runs:
            return

        def work(transaction: Transaction) -> dict[Principal, Principal | None]:
            leases.renew(transaction, keeping.origin, [run.task.id for run in runs], keeping.leased_until())
            return {saved: keeping.owner_now(transaction, saved) for saved in {run.saved_caller for run in runs}}

        callers = await keeping.database.write(work)
        for run in runs:
            if (caller := callers[run.saved_caller]) is not None:
                run.caller = caller
            else:
                await self._fail(run.task, owner_is_gone(run.task.owner))

    async def take_over(self) -> int:
        """Claim what has run out; how many tasks there were."""
        keeping = self._keeping
        taken = 0
        now = keeping.clock.now()
        for task_id, agent, until in await keeping.database.read(lambda rows: leases.expired(rows, now, _AT_ONCE)):
            if agent not in self._agents and now - until < self._limits.orphan_seconds:
                continue
            if task_id in keeping.runs:
                continue  # our own, and the clock ran ahead of us
            head = await self._claimed(task_id, now)
            if head is not None:
                taken += 1
                await self._settle(head)
        return taken

    async def _claimed(self, task_id: str, now: float) -> Head | None:
        origin, until = self._keeping.origin, self._keeping.leased_until()
        return await self._keeping.database.write(
            lambda transaction: leases.claim(transaction, task_id, origin, now, until)
        )

    async def _settle(self, head: Head) -> None:
        """Run the turn of a task that was claimed once more, or end the task."""
        hosted = self._agents.get(head.agent)
        why = _UNKNOWN if hosted is None else _GONE
        if hosted is not None and hosted.restartable:
            why = await self._again(head, hosted)
        if why is not None:
            await self._fail(head.blank(), why)

    async def _fail(self, task: Task, why: str) -> None:
        """End a task that this process holds; its run, if there is one, hears of it."""
        keeping = self._keeping
        message = Message(
            id=f"{task.id}.end", role="agent", parts=(Part(text=why),), task_id=task.id, context_id=task.context_id
        )
        await keeping.append(task.id, [StatusEvent("failed", message)], claim="release", holder=keeping.origin)

    async def _again(self, head: Head, hosted: HostedAgent) -> str | None:
        """Run the turn once more; why not, if it cannot be."""
        saved = unpacked(head.caller)

        def work(rows: Rows) -> tuple[Principal | None, list[Event]]:
            return self._keeping.owner_now(rows, saved), store.events_after(rows, head.id, 0, head.seq)

        caller, events = await self._keeping.database.read(work)
        if caller is None:
            return owner_is_gone(head.owner)
        message = _began(events, head.turn)
        if message is None:
            return _GONE
        task: Task = folded(head.blank(), events)
        message = await self._keeping.contexts.restored(message, caller)
        run = Run(
            self._keeping, hosted, task, message, saved,
            most_bytes=self._limits.artifact_bytes, resumed=True, answers=_answers(events, head.turn),
        )  # fmt: skip
        run.caller = caller
        await self._sending.go_on(run, task.seq)
        if not run.done:
            run.look()  # what was said to the task since it was claimed found no run to hear it
        return None


def _began(events: list[Event], turn: int) -> Message | None:
    body = events[turn - 1].body if 0 < turn <= len(events) else None
    return body.message if isinstance(body, MessageEvent) else None


def _answers(events: list[Event], turn: int) -> list[Message]:
    """What the caller answered in the turn: the first thing said after each question."""
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
