"""What the conformance room keeps: its tasks, a way to announce changes, and the calls that were cancelled.

The room exists for referees only. It is mounted by name (`--rooms tests.conformance.room:ROOM`), never by default.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.kernel.ports import Database
from pentad.mcp.changes import ListKind, list_changed, resource_updated
from pentad.platform import Platform
from tests.conformance.timed_tasks import TimedTasks

WATCHED = "test://watched-resource"


class Fixtures:
    """The service of the room."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cancelled: dict[str, asyncio.Event] = {}
        self.watched_version = 0
        self.tasks = TimedTasks()

    async def announce(self, kind: ListKind) -> None:
        """Tell everyone who listens that a list is no longer what it was."""
        await self._database.write(lambda tx: list_changed(tx, kind, "conformance"))

    async def touch_watched(self) -> None:
        """Change the watched resource."""
        self.watched_version += 1
        await self._database.write(lambda tx: resource_updated(tx, WATCHED))

    def cancelled(self, key: str) -> asyncio.Event:
        """Set once the held call of this key was cancelled; whoever asks first makes it."""
        return self._cancelled.setdefault(key, asyncio.Event())


@asynccontextmanager
async def open_fixtures(platform: Platform) -> AsyncGenerator[Fixtures]:
    yield Fixtures(platform.database)
