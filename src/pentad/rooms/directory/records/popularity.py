"""Counts how often records are pulled and looked up, in batches shortly after the calls.

Counting never makes a call fail or wait: if the store cannot be written, some counts are lost and the log says so. The
pull events are sent with the counts, because a pull by itself writes nothing.
"""

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from typing import Final

from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Transaction
from pentad.rooms.directory.records.events import Events, EventType

_FLUSH_SECONDS: Final = 0.2
_MOST_WAITING: Final = 10_000

_log = logging.getLogger(__name__)


class Popularity:
    """Counts of this process that are not stored yet."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database = database
        self._events = events
        self._pulled: list[str] = []
        self._looked_up: list[str] = []
        self._ending = asyncio.Event()
        self._flushing: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def count_pulls(self, *cids: str) -> None:
        self._count(self._pulled, cids)

    def count_lookups(self, *cids: str) -> None:
        self._count(self._looked_up, cids)

    async def flush(self) -> None:
        """Store the counts now, and wait for any that are already being stored."""
        async with self._writing:
            pulled, self._pulled = self._pulled, []
            looked_up, self._looked_up = self._looked_up, []
            if not pulled and not looked_up:
                return
            try:
                await self._database.write(lambda tx: self._write(tx, pulled, looked_up))
            except PentadError as error:
                log_failure(error, "Counting pulls")
            except Exception:  # noqa: BLE001  a pull must not fail because of its counter
                _log.exception("Counting pulls failed.")

    async def stop(self) -> None:
        """Store what is left."""
        self._ending.set()
        if self._flushing is not None:
            await self._flushing
        await self.flush()

    def _count(self, waiting: list[str], cids: tuple[str, ...]) -> None:
        waiting.extend(cids[: _MOST_WAITING - len(waiting)])
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_soon(), name="directory-popularity")

    async def _flush_soon(self) -> None:
        while self._pulled or self._looked_up:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_SECONDS):
                    await self._ending.wait()
            await self.flush()

    def _write(self, tx: Transaction, pulled: list[str], looked_up: list[str]) -> None:
        pulls, lookups = Counter(pulled), Counter(looked_up)
        tx.run_many(
            "UPDATE directory_records SET pulls = pulls + ?, lookups = lookups + ? WHERE cid = ?",
            [(pulls[cid], lookups[cid], cid) for cid in sorted(pulls.keys() | lookups.keys())],
        )
        if pulled:
            self._events.emit(tx, EventType.RECORD_PULLED, pulled)
