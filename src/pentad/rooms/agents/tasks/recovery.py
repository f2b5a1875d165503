"""Keeps the leases of this process, and takes over what a process that is gone has left.

An agent that is `restartable` runs its turn again: with the message that began it, the answers it already got, and
`turn.resumed`. Any other task is ended with a message that says why: nobody should wait for what will never come.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from pentad.kernel.background import Background
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import put_off
from pentad.kernel.ports import Rows
from pentad.rooms.agents.agents.contract import Hosted
from pentad.rooms.agents.tasks import leases, log
from pentad.rooms.agents.tasks.callers import unpacked
from pentad.rooms.agents.tasks.keeping import Keeping
from pentad.rooms.agents.tasks.limits import TaskLimits
from pentad.rooms.agents.tasks.log import Head
from pentad.rooms.agents.tasks.model import Event, Message, MessageEvent, Part, StatusEvent, Task, folded
from pentad.rooms.agents.tasks.running import Run
from pentad.rooms.agents.tasks.sending import Sending
from pentad.rooms.agents.tasks.states import INTERRUPTED

_AT_ONCE: Final = 50
_GONE: Final = "The server process that ran this task ended before it was done, and the agent cannot be run again."
_UNKNOWN: Final = "The agent of this task is no longer hosted here."

_log = logging.getLogger(__name__)


class Recovery:
    """One process's share: renew and look, every third of a lease."""

    def __init__(self, keeping: Keeping, sending: Sending, agents: Mapping[str, Hosted], limits: TaskLimits) -> None:
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
        held = [run.task.id for run in self._keeping.runs.values() if run.stored]
        if held:
            origin, until = self._keeping.origin, self._keeping.leased_until()
            await self._keeping.database.write(lambda transaction: leases.renew(transaction, origin, held, until))

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
        keeping = self._keeping
        hosted = self._agents.get(head.agent)
        if hosted is not None and hosted.restartable and await self._again(head, hosted):
            return
        why = _UNKNOWN if hosted is None else _GONE
        message = Message(
            id=f"{head.id}.{head.seq + 1}", role="agent", parts=(Part(text=why),),
            task_id=head.id, context_id=head.context_id,
        )  # fmt: skip
        await keeping.append(head.id, [StatusEvent("failed", message)], claim="release", holder=keeping.origin)

    async def _again(self, head: Head, hosted: Hosted) -> bool:
        """Run the turn once more; whether the log says how it began."""

        def work(rows: Rows) -> list[Event]:
            return log.events_after(rows, head.id, 0, head.seq)

        events = await self._keeping.database.read(work)
        message = _began(events, head.turn)
        if message is None:
            return False
        task: Task = folded(head.blank(), events)
        caller = unpacked(head.caller)
        message = await self._keeping.contexts.restored(message, caller)
        run = Run(
            self._keeping, hosted, task, message, caller,
            most_bytes=self._limits.artifact_bytes, resumed=True, answers=_answers(events, head.turn),
        )  # fmt: skip
        await self._sending.go_on(run, task.seq)
        if not run.done:
            run.look()  # what was said to the task since it was claimed found no run to hear it
        return True


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
