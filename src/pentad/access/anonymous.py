"""Limits for callers without proven credentials: requests per second, requests at once, and login attempts.

Counted by client address in this process, over HTTP and gRPC together. Within its rate, an anonymous caller waits for
one of a few slots, so a crowd of anonymous callers never delays those with credentials. Beyond its rate it is refused
after a pause; otherwise a client that retries at once would keep the server busy with refusals.
"""

import asyncio
import random
from collections import deque
from typing import Final

from pentad.kernel.clock import Clock
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Overloaded, RateLimited

PAUSE_SECONDS: Final = 0.2
ADDRESSES_MOST: Final = 10_000
WAITING_MOST: Final = 1_000


class AddressBuckets:
    """A token bucket per address: `rate` a second on average, `burst` at once. A rate of 0 means no limit."""

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        self._rate = rate
        self._burst = float(max(1, burst))
        self._monotonic = clock.monotonic
        self._buckets: dict[str, tuple[float, float]] = {}

    def spend(self, address: str) -> float:
        """Take a token. Returns 0, or the seconds until the next one."""
        if self._rate <= 0:
            return 0.0
        now = self._monotonic()
        tokens, since = self._buckets.pop(address, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        if len(self._buckets) >= ADDRESSES_MOST:
            del self._buckets[next(iter(self._buckets))]  # the least recently active
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate
        self._buckets[address] = (tokens if wait else tokens - 1, now)
        return wait

    def give_back(self, address: str) -> None:
        """Return a token, because the request turned out to be authenticated."""
        if (found := self._buckets.get(address)) is not None:
            self._buckets[address] = (min(self._burst, found[0] + 1), found[1])


class SlotQueue:
    """A few slots for requests; when all are taken, requests wait in order.

    A released slot is free only in the next turn of the event loop. However long the queue, one turn of the loop never
    runs more requests than there are slots, and other connections are served in between.
    """

    def __init__(self, slots: int) -> None:
        self._free = max(1, slots)
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> "Slot":
        """Take a slot; Overloaded if too many are waiting already."""
        if self._free:
            self._free -= 1
            return Slot(self)
        if len(self._waiting) >= WAITING_MOST:
            raise Overloaded("Too many callers without credentials.", hint="Sign in, or try again in a second.")
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise
        return Slot(self)

    def release(self) -> None:
        asyncio.get_running_loop().call_soon(self._pass_on)

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Slot:
    """A slot that was taken. Release it when the response begins, so that a slow reader does not occupy it."""

    __slots__ = ("_queue",)

    def __init__(self, queue: SlotQueue) -> None:
        self._queue: SlotQueue | None = queue

    def release(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.release()


class AnonymousLimits:
    """All limits for anonymous callers of one server process, keyed by `kernel.client_addresses.address_key`."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self.logins = AddressBuckets(limits.logins_per_second, limits.logins_burst, clock)
        self.slots = SlotQueue(limits.anonymous_in_flight)
        self._requests = AddressBuckets(limits.anonymous_per_second, limits.anonymous_burst, clock)
        self._rate = limits.anonymous_per_second

    def spend(self, address: str) -> None:
        """Count a request without credentials; RateLimited beyond the rate."""
        if wait := self._requests.spend(address):
            raise RateLimited(
                "Too many requests without credentials from this address.",
                retry_after=wait,
                hint=f"Sign in, or send at most {self._rate:g} a second (limits.anonymous_per_second).",
            )

    def give_back(self, address: str) -> None:
        """Return a request, because it turned out to be authenticated or to have a valid session."""
        self._requests.give_back(address)

    async def slow_down(self, address: str) -> None:
        """Count a request that must not be refused. Beyond the rate, it is delayed."""
        if self.is_too_fast(address):
            await pause()

    def is_too_fast(self, address: str) -> bool:
        """Count a request; returns whether it exceeds the rate."""
        return self._requests.spend(address) > 0


async def pause() -> None:
    """Wait a random time, so that refused callers do not all retry at the same moment."""
    await asyncio.sleep(PAUSE_SECONDS * (1 + random.random()))  # noqa: S311  no secret
