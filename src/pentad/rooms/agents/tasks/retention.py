"""Lets go of what is old, where the operator says after how many days (`keep_days`); otherwise everything stays.

A task goes when it has been over for that long, with its events and push configurations; the context of a conversation
with the last of its tasks; a content when nobody has brought it for that long and no task that is not over may need it.
What is not over stays, however old. What was kept for a time only goes when that is up, whatever the operator says.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pentad.kernel.ports import Transaction
from pentad.rooms.agents.context.context_store import forget_old_content
from pentad.rooms.agents.context.merging import forget_contexts
from pentad.rooms.agents.context.temporary_links import forget_expired_links
from pentad.rooms.agents.models import TERMINAL
from pentad.rooms.agents.tasks.remote_tasks import forget_remote_tasks
from pentad.rooms.agents.tasks.task_log import TaskLog

DAY: Final = 86_400.0
_AT_ONCE: Final = 200
_OVER: Final = ", ".join(f"'{state}'" for state in sorted(TERMINAL))
_OLD: Final = f"SELECT id FROM agent_tasks WHERE state IN ({_OVER}) AND updated_at < ? ORDER BY id LIMIT ?"  # noqa: S608  constants
_GONE: Final = (
    "DELETE FROM agent_events WHERE task = ?",
    "DELETE FROM agent_pushes WHERE task = ?",
    "DELETE FROM agent_tasks WHERE id = ?",
)


class Retention:
    """Sweeps on a schedule, in one process at a time."""

    def __init__(self, keeping: TaskLog, days: float | None) -> None:
        self._keeping = keeping
        self._days = days

    async def sweep(self) -> int:
        """Let go of all that is old enough, a few at a time; how many tasks that were."""
        now, database = self._keeping.clock.now(), self._keeping.database
        await self._all(lambda transaction: forget_expired_links(transaction, now, _AT_ONCE))
        await self._all(lambda transaction: forget_remote_tasks(transaction, now, _AT_ONCE))
        if self._days is None:
            return 0
        until = now - self._days * DAY
        gone = 0
        while tasks := await database.write(lambda transaction: _let_go(transaction, until)):
            for task_id in tasks:
                self._keeping.recent.forget(task_id)
            gone += len(tasks)
        await self._all(lambda transaction: forget_contexts(transaction, until, _AT_ONCE))
        await self._all(lambda transaction: forget_old_content(transaction, until, _AT_ONCE))
        return gone

    async def _all(self, some: Callable[[Transaction], int]) -> None:
        """Until fewer went than may go at once."""
        while await self._keeping.database.write(some) == _AT_ONCE:
            continue


def _let_go(transaction: Transaction, until: float) -> Sequence[str]:
    tasks = [str(task_id) for (task_id,) in transaction.all(_OLD, until, _AT_ONCE)]
    for statement in _GONE:
        transaction.run_many(statement, [(task_id,) for task_id in tasks])
    return tasks
