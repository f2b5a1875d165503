"""How many tasks an owner may have: open ones, and in total.

The store is counted now and then and this process counts in between, so a new task costs no query. Several processes
together may exceed a limit by what they start within a few seconds: it bounds growth, it is not exact.
"""

import math
from dataclasses import dataclass
from typing import Final

from pentad.kernel.clock import Clock
from pentad.kernel.errors import LimitExceeded
from pentad.kernel.ports import Database
from pentad.rooms.agents.tasks.store import COUNT_ALL, COUNT_OPEN

_OPEN_SECONDS: Final = 5.0
_ALL_SECONDS: Final = 300.0
_MOST_OWNERS: Final = 10_000


@dataclass(slots=True)
class _Counts:
    open: int = 0
    open_asked: float = -math.inf
    all: int = 0
    all_asked: float = -math.inf


class TaskQuotas:
    """The number of tasks of each owner, as far as this process knows."""

    def __init__(self, database: Database, clock: Clock, *, most_open: int, most: int) -> None:
        self._database = database
        self._clock = clock
        self._most_open = most_open
        self._most = most
        self._owners: dict[str, _Counts] = {}

    async def spend(self, owner: str) -> None:
        """Count one more task; LimitExceeded if there are too many."""
        now = self._clock.monotonic()
        counts = self._owners.get(owner)
        if counts is None:
            if len(self._owners) >= _MOST_OWNERS:
                self._owners.clear()
            counts = self._owners[owner] = _Counts()
        if now - counts.open_asked > _OPEN_SECONDS or counts.open >= self._most_open:
            await self._count_open(owner, counts, now)
        if now - counts.all_asked > _ALL_SECONDS or counts.all >= self._most:
            row = await self._database.lookup(COUNT_ALL, owner)
            counts.all, counts.all_asked = (row[0] if row else 0), now
        if counts.open >= self._most_open:
            raise _too_many(f"You have {counts.open} tasks that are not finished; the most is {self._most_open}.")
        if counts.all >= self._most:
            raise _too_many(f"You have {counts.all} tasks; the most is {self._most}.")
        counts.all += 1

    def opened(self, owner: str) -> None:
        """A task was stored that has not ended yet."""
        if (counts := self._owners.get(owner)) is not None:
            counts.open += 1

    async def _count_open(self, owner: str, counts: _Counts, now: float) -> None:
        row = await self._database.lookup(COUNT_OPEN, owner)
        counts.open, counts.open_asked = (row[0] if row else 0), now


def _too_many(message: str) -> LimitExceeded:
    return LimitExceeded(
        message, hint="Finish or cancel some first, or ask the operator.", details={"reason": "too-many-tasks"}
    )
