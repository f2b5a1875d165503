"""Asks a store how it is: when somebody wants to know, and by itself for as long as something is wrong.

However many ask, the store is asked once a second at most, so that a readiness check that anybody may send costs it
next to nothing. While something is wrong it is asked every few seconds, with a larger piece to keep, and works again
when it has kept it.
"""

import asyncio
from typing import Final

from pentad.kernel.background import Background
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.ports import Database
from pentad.storage.health import StoreHealth, health_of
from pentad.storage.integrity import check_integrity
from pentad.storage.probe import Store, probe_store

FRESH_SECONDS: Final = 1.0
EVERY_SECONDS: Final = 5.0
CHECK_EVERY_SECONDS: Final = 600.0
CHECK_SECONDS: Final = 60.0


class StoreWatch:
    """The state of one open store, as fresh as it needs to be."""

    def __init__(self, db: Database, *, clock: Clock | None = None) -> None:
        self._db = db
        self._monotonic = (clock or SystemClock()).monotonic
        self._asking = asyncio.Lock()
        self._found: Store | None = None
        self._found_at = 0.0
        self._check_at = self._monotonic() + CHECK_EVERY_SECONDS
        self._background = Background()

    @property
    def health(self) -> StoreHealth:
        return health_of(self._db)

    async def now(self) -> Store:
        """How the store is, found out within the last second."""
        async with self._asking:
            if self._found is None or self._monotonic() - self._found_at >= FRESH_SECONDS:
                self._found = await probe_store(self._db)
                self._found_at = self._monotonic()
            return self._found

    def start(self) -> None:
        """Begin to look after the store in the background."""
        self._background.start(self._look_after(), "store watch")

    async def stop(self) -> None:
        await self._background.stop()

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            if self.health.status != "ok":
                await self.now()
            if self.health.is_damaged and self._monotonic() >= self._check_at:
                self._check_at = self._monotonic() + CHECK_EVERY_SECONDS
                await check_integrity(self._db, seconds=CHECK_SECONDS)
