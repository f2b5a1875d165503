"""Tasks that remote agents keep for MCP clients: our id, the owner, and the agent's own task id.

The agent keeps the task itself and is asked for it every time. A row is kept for a week.
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


class RemoteTask(Struct, frozen=True):
    """A task of a remote agent."""

    id: str
    agent: str
    """The agent as the caller named it."""
    task: str
    budget: int
    """The characters its answer may have."""
    created_at: float
    expires_at: float


class RemoteTasks:
    """The rows of one store. Only its owner can see a row."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def keep(self, caller: Principal, agent: str, task: str, budget: int) -> RemoteTask:
        now = self._clock.now()
        made = RemoteTask(_MARK + uuid7_text(self._clock), agent, task, budget, now, now + KEPT_SECONDS)

        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO agent_tasks_elsewhere (id, owner, agent, task, budget, created_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                made.id, caller.id, agent, task, budget, made.created_at, made.expires_at,
            )  # fmt: skip

        await self._database.write(work)
        return made

    async def get(self, caller: Principal, task_id: str) -> RemoteTask:
        """NotFound if it does not exist, belongs to another owner, or has expired."""
        row = None
        with suppress(InvalidInput):  # an id no store could hold
            row = await self._database.lookup(
                "SELECT id, agent, task, budget, created_at, expires_at FROM agent_tasks_elsewhere"
                " WHERE id = ? AND owner = ? AND expires_at > ?",
                task_id, caller.id, self._clock.now(),
            )  # fmt: skip
        if row is None:
            raise task_not_found(task_id)
        return RemoteTask(*row)


def is_remote(task_id: str) -> bool:
    """Whether an id belongs to a task of a remote agent."""
    return task_id.startswith(_MARK)


def forget_remote_tasks(tx: Transaction, now: float, most: int) -> int:
    """Delete expired rows, in batches; returns how many."""
    over = tx.all("SELECT id FROM agent_tasks_elsewhere WHERE expires_at <= ? LIMIT ?", now, most)
    tx.run_many("DELETE FROM agent_tasks_elsewhere WHERE id = ?", [(one,) for (one,) in over])
    return len(over)
