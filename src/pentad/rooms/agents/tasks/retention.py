"""Deletes old data, if the operator sets `keep_days`; otherwise everything is kept.

A task is deleted that many days after it ended, with its events and push configs; the context of a conversation with
the last of its tasks; a stored content when it was not used for that long and no unfinished task may need it.
Unfinished tasks stay, however old. Temporary links and the rows of remote tasks expire regardless of the setting.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pentad.kernel.ports import Transaction
from pentad.rooms.agents.context.context_store import forget_old_content
from pentad.rooms.agents.context.temporary_links import forget_expired_links
from pentad.rooms.agents.context.versions import forget_contexts
from pentad.rooms.agents.models import TERMINAL
from pentad.rooms.agents.tasks.remote_tasks import forget_remote_tasks
from pentad.rooms.agents.tasks.task_log import TaskLog

DAY: Final = 86_400.0
_BATCH: Final = 200
_OVER: Final = ", ".join(f"'{state}'" for state in sorted(TERMINAL))
_OLD: Final = f"SELECT id FROM agent_tasks WHERE state IN ({_OVER}) AND updated_at < ? ORDER BY id LIMIT ?"  # noqa: S608  constants
_DELETE: Final = (
    "DELETE FROM agent_events WHERE task = ?",
    "DELETE FROM agent_pushes WHERE task = ?",
    "DELETE FROM agent_tasks WHERE id = ?",
)


class Retention:
    """Deletes on a schedule, in one process at a time."""

    def __init__(self, log: TaskLog) -> None:
        self._log = log
        self._days = log.limits.keep_days

    async def sweep(self) -> int:
        """Delete everything old enough, in batches; returns the number of tasks."""
        now, database = self._log.clock.now(), self._log.database
        await self._repeat(lambda transaction: forget_expired_links(transaction, now, _BATCH))
        await self._repeat(lambda transaction: forget_remote_tasks(transaction, now, _BATCH))
        if self._days is None:
            return 0
        until = now - self._days * DAY
        deleted = 0
        while tasks := await database.write(lambda transaction: _delete_tasks(transaction, until)):
            for task_id in tasks:
                self._log.cache.forget(task_id)
            deleted += len(tasks)
        await self._repeat(lambda transaction: forget_contexts(transaction, until, _BATCH))
        await self._repeat(lambda transaction: forget_old_content(transaction, until, _BATCH))
        return deleted

    async def _repeat(self, delete_batch: Callable[[Transaction], int]) -> None:
        """Repeat until a batch is not full."""
        while await self._log.database.write(delete_batch) == _BATCH:
            continue


def _delete_tasks(transaction: Transaction, until: float) -> Sequence[str]:
    tasks = [str(task_id) for (task_id,) in transaction.all(_OLD, until, _BATCH)]
    for statement in _DELETE:
        transaction.run_many(statement, [(task_id,) for task_id in tasks])
    return tasks
