"""Bounds on work for callers who have not proved who they are: how often, how much at once, and how soon again.

Counted by client address in this process, over all its wires together. Within its rate an anonymous caller takes its
turn in a narrow lane, so that a crowd of them never stands between the server and a caller with credentials. Beyond its
rate it is refused after a pause: a client that asks again at once would otherwise keep the server busy with refusals.
"""

import asyncio
import random
from collections import deque
from typing import Final

from pentad.kernel.clock import Clock
from pentad.kernel.errors import Overloaded, RateLimited
from pentad.kernel.limits import Limits

PAUSE_SECONDS: Final = 0.2
ADDRESSES_MOST: Final = 10_000
WAITING_MOST: Final = 1_000


class AddressBuckets:
    """A token bucket for each address: `rate` a second on average, `burst` at once. A rate of 0 means no limit."""

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        self._rate = rate
        self._burst = float(max(1, burst))
        self._monotonic = clock.monotonic
        self._buckets: dict[str, tuple[float, float]] = {}

    def spend(self, address: str) -> float:
        """Take a token; 0, or the seconds until there is one."""
        if self._rate <= 0:
            return 0.0
        now = self._monotonic()
        tokens, since = self._buckets.pop(address, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        if len(self._buckets) >= ADDRESSES_MOST:
            del self._buckets[next(iter(self._buckets))]  # the one that has been silent for longest
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate
        self._buckets[address] = (tokens if wait else tokens - 1, now)
        return wait

    def give_back(self, address: str) -> None:
        """A token was spent on something that turned out to be welcome."""
        if (found := self._buckets.get(address)) is not None:
            self._buckets[address] = (min(self._burst, found[0] + 1), found[1])


class Lane:
    """A few places for work; whoever finds none waits for one, in order.

    A place that is left is free in the next turn of the event loop. So however many are waiting, no turn does the work
    of more than a lane's width, and connections with something else to ask are heard in between.
    """

    def __init__(self, places: int) -> None:
        self._free = max(1, places)
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> "LanePlace":
        """Take a place; Overloaded when too many wait already."""
        if self._free:
            self._free -= 1
            return LanePlace(self)
        if len(self._waiting) >= WAITING_MOST:
            raise Overloaded("Too many callers without credentials.", hint="Sign in, or try again in a second.")
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise
        return LanePlace(self)

    def leave(self) -> None:
        asyncio.get_running_loop().call_soon(self._pass_on)

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class LanePlace:
    """A place in a lane, left when the answer begins: a slow reader keeps it no longer."""

    __slots__ = ("_lane",)

    def __init__(self, lane: Lane) -> None:
        self._lane: Lane | None = lane

    def leave(self) -> None:
        lane, self._lane = self._lane, None
        if lane is not None:
            lane.leave()


class AnonymousLimits:
    """All bounds together, for one server process. Addresses are given as they are counted."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self.logins = AddressBuckets(limits.logins_per_second, limits.logins_burst, clock)
        self.lane = Lane(limits.anonymous_in_flight)
        self._requests = AddressBuckets(limits.anonymous_per_second, limits.anonymous_burst, clock)
        self._rate = limits.anonymous_per_second

    def spend(self, address: str) -> None:
        """Count a request without credentials, or refuse it."""
        if wait := self._requests.spend(address):
            raise RateLimited(
                "Too many requests without credentials from this address.",
                retry_after=wait,
                hint=f"Sign in, or send at most {self._rate:g} a second (limits.anonymous_per_second).",
            )

    async def slow_down(self, address: str) -> None:
        """Count a request without proven credentials that is not refused for that; beyond the rate it has to wait."""
        if self.is_too_fast(address):
            await pause()

    def is_too_fast(self, address: str) -> bool:
        """Count a request without proven credentials; whether it is beyond the rate."""
        return self._requests.spend(address) > 0


async def pause() -> None:
    """Spread out: callers that wait together would all be back together."""
    await asyncio.sleep(PAUSE_SECONDS * (1 + random.random()))  # noqa: S311  no secret
