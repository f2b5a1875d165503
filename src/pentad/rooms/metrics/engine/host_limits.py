"""Limits per host: how many requests run at once, and how long to pause after a host said "too many".

Such a pause applies to the requests of all queries.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from pentad.kernel.clock import Clock

MOST_HOSTS: Final = 1_000


class HostLimit:
    """The limit of one host."""

    __slots__ = ("_clock", "_paused_until", "_slots", "busy")

    def __init__(self, limit: int, clock: Clock) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._clock = clock
        self._paused_until = 0.0
        self.busy = 0

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Wait for a free slot and for the end of a pause."""
        async with self._slots:
            while left := self.paused_for():  # noqa: ASYNC110  the pause may be extended while we sleep
                await asyncio.sleep(left)
            self.busy += 1
            try:
                yield
            finally:
                self.busy -= 1

    def pause(self, seconds: float) -> None:
        """Send nothing to this host for a while."""
        self._paused_until = max(self._paused_until, self._clock.monotonic() + seconds)

    def paused_for(self) -> float:
        """Seconds until the pause ends."""
        return max(0.0, self._paused_until - self._clock.monotonic())


class HostLimits:
    """A limit for each host, created on first use."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self.limit = limit
        self._clock = clock
        self._hosts: dict[str, HostLimit] = {}

    def for_host(self, host: str) -> HostLimit:
        found = self._hosts.get(host)
        if found is None:
            if len(self._hosts) >= MOST_HOSTS:
                self._hosts = {name: kept for name, kept in self._hosts.items() if kept.busy}
            found = self._hosts[host] = HostLimit(self.limit, self._clock)
        return found
