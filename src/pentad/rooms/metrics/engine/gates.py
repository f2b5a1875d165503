"""How much may be under way towards one host, and when it asked to be left alone.

A host that says "too many" says it to everybody here: while its gate is held, no request of any question passes.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from pentad.kernel.clock import Clock

MOST_HOSTS: Final = 1_000


class Gate:
    """The way to one host."""

    __slots__ = ("_clock", "_held_until", "_places", "busy")

    def __init__(self, limit: int, clock: Clock) -> None:
        self._places = asyncio.Semaphore(limit)
        self._clock = clock
        self._held_until = 0.0
        self.busy = 0

    @asynccontextmanager
    async def passing(self) -> AsyncGenerator[None]:
        """One place, once there is one and the host is not held."""
        async with self._places:
            while left := self.held_for():  # noqa: ASYNC110  the end of the hold is a moment, and may be put off
                await asyncio.sleep(left)
            self.busy += 1
            try:
                yield
            finally:
                self.busy -= 1

    def hold(self, seconds: float) -> None:
        """Let nothing pass for a while."""
        self._held_until = max(self._held_until, self._clock.monotonic() + seconds)

    def held_for(self) -> float:
        """How long nothing will pass."""
        return max(0.0, self._held_until - self._clock.monotonic())


class Gates:
    """A gate for each host, made when it is first asked for."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self.limit = limit
        self._clock = clock
        self._gates: dict[str, Gate] = {}

    def of(self, host: str) -> Gate:
        gate = self._gates.get(host)
        if gate is None:
            if len(self._gates) >= MOST_HOSTS:
                self._gates = {name: kept for name, kept in self._gates.items() if kept.busy}
            gate = self._gates[host] = Gate(self.limit, self._clock)
        return gate
