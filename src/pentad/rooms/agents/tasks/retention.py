"""Deletes old data, if the operator sets `keep_days`; otherwise everything is kept.

A task is deleted that many days after it ended, with its events, steps, usage, push configs and approvals. A
conversation's context is deleted with the last of its tasks, and a stored content when it was not used for that long
and no unfinished task may need it. Unfinished tasks stay, however old. Temporary links, unused files, rows of remote
tasks and keys of sends expire regardless of the setting.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from pentad.kernel.ports import Transaction
from pentad.rooms.agents.context.context_store import forget_old_content
from pentad.rooms.agents.context.temporary_links import forget_expired_links
from pentad.rooms.agents.context.versions import forget_contexts
from pentad.rooms.agents.files import forget_expired_files
from pentad.rooms.agents.store import ENDED
from pentad.rooms.agents.tasks.idempotency import forget_old_sends
from pentad.rooms.agents.tasks.remote_tasks import forget_remote_tasks
from pentad.rooms.agents.tasks.task_log import TaskLog

DAY: Final = 86_400.0
_BATCH: Final = 200
_SENDS: Final = 2_000
_FEW_FILES: Final = 4
"""Files are large."""
_OLD: Final = f"SELECT id FROM agent_tasks WHERE {ENDED} AND updated_at < ? ORDER BY id LIMIT ?"  # noqa: S608  constants
_DELETE: Final = (
    "DELETE FROM agent_events WHERE task = ?",
    "DELETE FROM agent_pushes WHERE task = ?",
    "DELETE FROM agent_steps WHERE task_id = ?",
    "DELETE FROM agent_usage WHERE task = ?",
    "DELETE FROM agent_file_uses WHERE task = ?",
    "DELETE FROM agent_approvals WHERE task = ?",
    "DELETE FROM agent_forwarded_tasks WHERE task = ?",
    "DELETE FROM agent_task_texts WHERE task = ?",
    "DELETE FROM agent_tasks WHERE id = ?",
)


class Retention:
    """Deletes on a schedule, in one process at a time."""

    def __init__(self, log: TaskLog) -> None:
        self._log = log

    async def sweep(self) -> int:
        """Delete everything old enough, in batches; returns the number of tasks."""
        now, limits = self._log.clock.now(), self._log.limits
        await self._repeat(lambda transaction: forget_expired_links(transaction, now, _BATCH))
        await self._repeat(lambda transaction: forget_remote_tasks(transaction, now, _BATCH))
        await self._forget_sends(now - limits.seconds_to_repeat)
        deleted = 0 if limits.keep_days is None else await self._forget_tasks(now - limits.keep_days * DAY)
        await self._repeat(lambda transaction: forget_expired_files(transaction, now, _FEW_FILES))
        return deleted

    async def _forget_sends(self, until: float) -> None:
        last: bytes | None = b""
        while last is not None:
            last = await self._log.database.write(partial(forget_old_sends, until=until, most=_SENDS, after=last))

    async def _forget_tasks(self, until: float) -> int:
        deleted = 0
        while tasks := await self._log.database.write(lambda transaction: _delete_tasks(transaction, until)):
            for task_id in tasks:
                self._log.cache.forget(task_id)
            deleted += len(tasks)
        await self._repeat(lambda transaction: forget_contexts(transaction, until, _BATCH))
        await self._repeat(lambda transaction: forget_old_content(transaction, until, _BATCH))
        return deleted

    async def _repeat(self, delete_batch: Callable[[Transaction], int]) -> None:
        """Repeat until nothing is left to delete."""
        while await self._log.database.write(delete_batch):
            continue


def _delete_tasks(transaction: Transaction, until: float) -> Sequence[str]:
    tasks = [str(task_id) for (task_id,) in transaction.all(_OLD, until, _BATCH)]
    for statement in _DELETE:
        transaction.run_many(statement, [(task_id,) for task_id in tasks])
    return tasks
