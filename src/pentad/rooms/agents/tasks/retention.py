"""Lets go of what is old, where the operator says after how many days (`keep_days`); otherwise everything stays.

A task goes when it has been over for that long, with its events and push configurations; a content when nobody has
brought it for that long. What is not over stays, however old.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from pentad.kernel.errors import PentadError
from pentad.kernel.ports import Transaction
from pentad.rooms.agents.context.spill import forget_old
from pentad.rooms.agents.tasks.keeping import Keeping
from pentad.rooms.agents.tasks.states import TERMINAL

DAY: Final = 86_400.0
_EVERY_SECONDS: Final = 3_600.0
_AT_ONCE: Final = 200
_OVER: Final = ", ".join(f"'{state}'" for state in sorted(TERMINAL))
_OLD: Final = f"SELECT id FROM agent_tasks WHERE state IN ({_OVER}) AND updated_at < ? ORDER BY id LIMIT ?"  # noqa: S608  constants
_GONE: Final = (
    "DELETE FROM agent_events WHERE task = ?",
    "DELETE FROM agent_pushes WHERE task = ?",
    "DELETE FROM agent_tasks WHERE id = ?",
)

_log = logging.getLogger(__name__)


class Retention:
    """One process's share: every process looks once an hour, and a task goes once."""

    def __init__(self, keeping: Keeping, days: float | None) -> None:
        self._keeping = keeping
        self._days = days
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._days is not None:
            self._task = asyncio.create_task(self._serve(), name="agents-retention")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _serve(self) -> None:
        while True:
            try:
                await self.sweep()
            except PentadError as error:
                _log.warning("Old tasks stay for now: %s", error.sentence())
            except Exception:  # noqa: BLE001  the next hour may be better
                _log.exception("Letting go of old tasks failed.")
            await asyncio.sleep(_EVERY_SECONDS)

    async def sweep(self) -> int:
        """Let go of all that is old enough, a few at a time; how many tasks that were."""
        if self._days is None:
            return 0
        until = self._keeping.clock.now() - self._days * DAY
        database = self._keeping.database
        gone = 0
        while tasks := await database.write(lambda transaction: _let_go(transaction, until)):
            for task_id in tasks:
                self._keeping.recent.forget(task_id)
            gone += len(tasks)
        forgotten = _AT_ONCE
        while forgotten == _AT_ONCE:
            forgotten = await database.write(lambda transaction: forget_old(transaction, until, _AT_ONCE))
        return gone


def _let_go(transaction: Transaction, until: float) -> Sequence[str]:
    tasks = [str(task_id) for (task_id,) in transaction.all(_OLD, until, _AT_ONCE)]
    for statement in _GONE:
        transaction.run_many(statement, [(task_id,) for task_id in tasks])
    return tasks
