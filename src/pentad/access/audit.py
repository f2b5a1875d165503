"""The audit trail: each call is noted in memory at once and stored in batches, away from the caller's time.

`record` belongs to the event loop and is on the way of every call. If the store is away, entries wait and are tried
again; when too many wait, the oldest go, and are counted. An entry is lost if the process dies within the second before
it is stored: the trail tells what happened, it is not the ledger of anything.
"""

import asyncio
import contextlib
import logging
from collections import deque
from itertools import islice
from typing import Final

from pentad.access.audit_store import AuditEntry, Batch, made_batch, prune_slice, recent_entries, store_batch
from pentad.access.call_totals import CallTotal, read_totals
from pentad.kernel.background import begun
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Conflict, InvalidInput, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import Incidents
from pentad.kernel.ports import Database

BATCH: Final = 1_000
BUFFER_MOST: Final = 100_000
EVERY_SECONDS: Final = 1.0
PRUNE_EVERY_SECONDS: Final = 3600.0
STOP_SECONDS: Final = 5.0
_WAITING: Final = "waiting"
_DROPPED: Final = "dropped"

_log = logging.getLogger(__name__)


class AuditTrail:
    """Buffers entries, and stores them while started."""

    def __init__(
        self,
        db: Database,
        *,
        retention_days: float = 90,
        buffer_most: int = BUFFER_MOST,
        clock: Clock | None = None,
    ) -> None:
        self._db = db
        self._retention_seconds = retention_days * 86_400
        self._clock = clock or SystemClock()
        self._buffer_most = buffer_most
        self._buffer: deque[AuditEntry] = deque()
        self._pending: Batch | None = None
        self._crowded = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self._prune_at = self._clock.monotonic()
        self._incidents = Incidents(_log, clock=clock)
        self.dropped = 0
        """Entries given up because the store was away for too long, or would not take them."""

    def record(self, entry: AuditEntry) -> None:
        """Note one call."""
        buffer = self._buffer
        if len(buffer) >= self._buffer_most:
            buffer.popleft()
            self.dropped += 1
            self._incidents.note(_DROPPED, "The oldest audit entries are dropped: too many wait", dropped=self.dropped)
        buffer.append(entry)
        if len(buffer) == BATCH:
            self._crowded.set()

    def waiting(self) -> int:
        """Entries not stored yet."""
        return len(self._buffer) + (0 if self._pending is None else self._pending.size)

    def start(self) -> None:
        """Begin to store entries in the background."""
        if self._task is None:
            self._stopping.clear()
            self._task = begun(self.run(), "audit trail")

    async def stop(self) -> None:
        """Store what is left, within a few seconds, and end."""
        self._stopping.set()
        self._crowded.set()
        task, self._task = self._task, None
        try:
            async with asyncio.timeout(STOP_SECONDS):
                if task is not None:
                    await task
                await self.flush()
        except (PentadError, TimeoutError):
            _log.warning("The server stops with %d audit entries not stored.", self.waiting())

    async def run(self) -> None:
        """Store a batch every second, or as soon as one is full, until stopped."""
        while not self._stopping.is_set():
            await self._until_a_batch_is_due()
            try:
                await self.flush()
                await self._prune_if_due()
                self._incidents.over(_WAITING, "The audit trail is stored again.")
            except PentadError as error:
                text = "The audit trail waits for the store; its entries are kept meanwhile"
                self._incidents.note(_WAITING, text, level=logging.WARNING, code=error.code, waiting=self.waiting())
                await _up_to(EVERY_SECONDS, self._stopping)

    async def flush(self) -> None:
        """Store all that waits by now. What fails because of the store stays, under the same name, for the next try.

        What comes in meanwhile is left for the next time: chasing a busy server would mean a commit every few calls.
        """
        async with self._flushing:
            left = self.waiting()
            while left > 0:
                if self._pending is None:
                    self._pending = self._next_batch()
                await self._store(self._pending)
                left -= self._pending.size
                self._pending = None

    async def recent(
        self,
        limit: int = 100,
        *,
        principal: str | None = None,
        room: str | None = None,
        tool: str | None = None,
        outcome: str | None = None,
        since: float | None = None,
    ) -> list[AuditEntry]:
        """The newest stored entries that match, newest first."""
        wanted = {"principal": principal, "room": room, "tool": tool, "outcome": outcome}
        filters = {column: value for column, value in wanted.items() if value is not None}
        return await self._db.read(lambda rows: recent_entries(rows, limit, filters, since))

    async def totals(self) -> list[CallTotal]:
        """Sums over all processes and restarts."""
        return await self._db.read(read_totals)

    async def prune(self) -> int:
        """Delete what is older than the retention, a small slice at a time; the number of entries gone."""
        before = self._clock.now() - self._retention_seconds
        gone = 0
        while deleted := await self._db.write(lambda tx: prune_slice(tx, before)):
            gone += deleted
        return gone

    def _next_batch(self) -> Batch:
        buffer = self._buffer
        entries = list(islice(buffer, BATCH))
        for _ in entries:
            buffer.popleft()
        return made_batch(uuid7(self._clock), entries)

    async def _store(self, batch: Batch) -> None:
        try:
            await self._db.write(lambda tx: store_batch(tx, batch))
        except (InvalidInput, Conflict) as error:
            self._give_up(batch, error)
        except PentadError:
            raise
        except Exception as error:  # noqa: BLE001  one batch the store cannot take must not end the trail
            self._give_up(batch, error)

    def _give_up(self, batch: Batch, error: Exception) -> None:
        """The error is logged by its name alone: its text may quote the rows."""
        self.dropped += batch.size
        _log.error("A batch of %d audit entries was given up: %s", batch.size, type(error).__name__)

    async def _until_a_batch_is_due(self) -> None:
        if len(self._buffer) < BATCH and not self._stopping.is_set():
            self._crowded.clear()
        await _up_to(EVERY_SECONDS, self._crowded)

    async def _prune_if_due(self) -> None:
        if self._clock.monotonic() >= self._prune_at:
            self._prune_at = self._clock.monotonic() + PRUNE_EVERY_SECONDS
            await self.prune()


async def _up_to(seconds: float, event: asyncio.Event) -> None:
    """Wait for the event, but no longer than that."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
