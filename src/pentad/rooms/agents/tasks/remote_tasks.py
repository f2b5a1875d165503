"""Calls that go on as tasks of agents elsewhere: under an id of ours, whose they are and which task it is there.

The task itself is the agent's: whoever asks for it here, asks there. A row is kept for a week.
"""

from contextlib import suppress
from typing import Final

from msgspec import Struct

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ids import uuid7_text
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.tasks.errors import task_not_found

KEPT_SECONDS: Final = 7 * 86_400.0
_MARK: Final = "elsewhere-"


class Away(Struct, frozen=True):
    """A task of an agent elsewhere."""

    id: str
    agent: str
    """As the caller named it."""
    task: str
    budget: int
    """Characters its answer may have."""
    created_at: float
    expires_at: float


class TasksElsewhere:
    """The rows of one store, each for its owner alone."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def keep(self, caller: Principal, agent: str, task: str, budget: int) -> Away:
        now = self._clock.now()
        made = Away(_MARK + uuid7_text(self._clock), agent, task, budget, now, now + KEPT_SECONDS)

        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO agent_tasks_elsewhere (id, owner, agent, task, budget, created_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                made.id, caller.id, agent, task, budget, made.created_at, made.expires_at,
            )  # fmt: skip

        await self._database.write(work)
        return made

    async def get(self, caller: Principal, task_id: str) -> Away:
        """NotFound for one that is none, somebody else's, or too old."""
        row = None
        with suppress(InvalidInput):  # an id no store could hold
            row = await self._database.lookup(
                "SELECT id, agent, task, budget, created_at, expires_at FROM agent_tasks_elsewhere"
                " WHERE id = ? AND owner = ? AND expires_at > ?",
                task_id, caller.id, self._clock.now(),
            )  # fmt: skip
        if row is None:
            raise task_not_found(task_id)
        return Away(*row)


def is_elsewhere(task_id: str) -> bool:
    """Whether an id is of a task that is kept elsewhere."""
    return task_id.startswith(_MARK)


def forget_elsewhere(tx: Transaction, now: float, most: int) -> int:
    """Forget what is too old, so many at once; how many there were."""
    over = tx.all("SELECT id FROM agent_tasks_elsewhere WHERE expires_at <= ? LIMIT ?", now, most)
    tx.run_many("DELETE FROM agent_tasks_elsewhere WHERE id = ?", [(one,) for (one,) in over])
    return len(over)
