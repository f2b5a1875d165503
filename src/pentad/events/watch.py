"""Tells the followers of the feed, in every process, that something happened. They read what it was."""

import asyncio
from collections.abc import Callable
from typing import Final

from pentad.events.outbox import CHANNEL
from pentad.kernel.ports import Database

_AGAIN_SECONDS: Final = 1.0
"""PostgreSQL shows an event only when no older transaction runs, so followers look once more a little later."""


class EventWatch:
    """Calls `tell` when something happened, and once more a second later."""

    def __init__(self, database: Database, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._again: asyncio.TimerHandle | None = None
        self._end = database.listen(CHANNEL, lambda _payload: self.look())

    def look(self) -> None:
        """Something may have happened."""
        self._tell()
        if self._again is None:
            self._again = asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self._look_again)

    def stop(self) -> None:
        self._end()
        if self._again is not None:
            self._again.cancel()

    def _look_again(self) -> None:
        self._again = None
        self._tell()
