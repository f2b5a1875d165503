"""Requests that a job with the same id carries out: publications and syncs.

The table holds the request and its progress. Each portion of the work checks that the requester still has the right to
write; without it the request fails.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from pentad.access.owners import OwnerNow, require_owner
from pentad.jobs.queue import JobQueue
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Row, Rows
from pentad.rooms.directory.records.events import Events

R = TypeVar("R")

_NO_LIMIT: Final = 2**62


class JobRequests(Generic[R]):
    """The requests of one table. `noun` names one in error messages; `read` makes one from a row of `columns`."""

    def __init__(
        self, jobs: JobQueue, events: Events, owner_now: OwnerNow,
        *, noun: str, columns: str, read: Callable[[Row], R], listed: str = "TRUE",
    ) -> None:  # fmt: skip
        self._jobs = jobs
        self._database = jobs.database
        self._clock = jobs.clock
        self._events = events
        self._owner_now = owner_now
        self._noun = noun
        self._read = read
        self._select = f"SELECT {columns} FROM directory_{noun}s WHERE"  # noqa: S608  own columns
        self._listed = listed

    async def get(self, key: str) -> R:
        if not key:
            raise InvalidInput(f"{self._noun}_id cannot be empty")
        row = await self._database.lookup(f"{self._select} id = ?", key.replace("\0", ""))
        if row is None:
            raise NotFound(f"{self._noun} not found: {key[:100]}")
        return self._read(row)

    async def list(self, limit: int = 0, offset: int = 0) -> "list[R]":
        """The requests, latest first. A limit of 0 means no limit."""
        sql = f"{self._select} {self._listed} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?"
        found = await self._database.read(lambda rows: rows.all(sql, limit or _NO_LIMIT, offset))
        return [self._read(row) for row in found]

    def _new_id(self) -> tuple[str, float]:
        """The id of a new request, and the time."""
        return str(uuid7(self._clock)), self._clock.now()

    def _require_write(self, rows: Rows, owner: str) -> None:
        """Forbidden if the requester may not write any more."""
        require_owner(self._owner_now, rows, owner, "directory", "write")
