"""Notifies followers of the feed, in every process, of new events. They then read the feed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from pentad.events.outbox import CHANNEL, LAST, running_transactions
from pentad.kernel.background import start_task
from pentad.kernel.errors import PentadError
from pentad.kernel.ports import COMMITS, Database, Row

_BURST_SECONDS: Final = 0.05
_BUSY_SECONDS: Final = 0.25
"""The pause during a series of events: followers read all logs each time."""
_AGAIN_SECONDS: Final = 1.0


class EventWatch:
    """Calls `tell` shortly after new events, once per burst.

    PostgreSQL shows an event only once no older transaction is running. Until then, `tell` is called every second.
    """

    def __init__(self, database: Database, tell: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._tell = tell
        self._is_news = False
        self._burst: asyncio.TimerHandle | None = None
        self._checking: asyncio.Task[None] | None = None
        self._comparing: asyncio.Task[None] | None = None
        self._last: Row | None = None
        self._ends = [database.listen(CHANNEL, lambda _payload: self.check_soon())]
        if database.dialect == "sqlite":
            self._ends.append(database.listen(COMMITS, self._on_commits))

    def check_soon(self) -> None:
        """Call `tell` soon, because there may be new events."""
        self._is_news = True
        if self._burst is None and (self._checking is None or self._checking.done()):
            self._burst = asyncio.get_running_loop().call_later(_BURST_SECONDS, self._begin)

    def _on_commits(self, _payload: str) -> None:
        if self._comparing is None or self._comparing.done():
            self._comparing = start_task(self._compare(), "event-watch")

    async def _compare(self) -> None:
        """Check whether the last event has changed."""
        try:
            last = await self._database.lookup(LAST)
        except PentadError:  # tried again at the next commit
            return
        if last != self._last:
            self._last = last
            self.check_soon()

    def _begin(self) -> None:
        self._burst = None
        self._checking = start_task(self._check(), "event-watch")

    async def stop(self) -> None:
        for end in self._ends:
            end()
        if self._burst is not None:
            self._burst.cancel()
        running = [task for task in (self._checking, self._comparing) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _check(self) -> None:
        pause, behind = 0.0, 0
        while self._is_news or pause == _AGAIN_SECONDS:
            await asyncio.sleep(pause)
            is_news, self._is_news = self._is_news, False
            try:
                oldest, following = await self._transactions()
                await self._tell()
            except PentadError:  # the followers could not read either
                self._is_news, pause = True, _AGAIN_SECONDS
                continue
            behind = following if is_news else behind
            pause = _AGAIN_SECONDS if oldest < behind else _BUSY_SECONDS

    async def _transactions(self) -> tuple[int, int]:
        """The oldest transaction that may hide events, and the next one to start."""
        return (0, 0) if self._database.dialect == "sqlite" else await self._database.read(running_transactions)
