"""Followers of tasks in this process, and the ring of each task's newest events that they share.

A follower has no queue, only a position. It reads later events from the ring, or from the log if the ring does not go
back far enough or the event came from another process. So nothing is lost, and a slow reader costs no memory. Only
committed events are published here.
"""

import asyncio
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from pentad.kernel.lru import LruCache
from pentad.rooms.agents.models import Event

_RING_EVENTS: Final = 512
_ALL_BYTES: Final = 32 * 1024 * 1024
_ALL_TASKS: Final = 2_048


class Follower:
    """One reader of one task. `latest` is the newest event it knows of."""

    __slots__ = ("_waiting", "latest")

    def __init__(self) -> None:
        self.latest = 0
        self._waiting: asyncio.Future[None] | None = None

    def notify(self, seq: int) -> None:
        self.latest = max(self.latest, seq)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait_for_event(self, after: int, seconds: float) -> bool:
        """Wait for an event after this one; False after a timeout."""
        if self.latest > after:
            return True
        self._waiting = asyncio.get_running_loop().create_future()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._waiting
        self._waiting = None
        return self.latest > after


class _Ring:
    __slots__ = ("events", "size")

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self.size = 0


class Hub:
    """The followers of this process, and the rings they read from."""

    def __init__(self) -> None:
        self._followers: dict[str, set[Follower]] = {}
        self._rings = LruCache[str, _Ring](_ALL_BYTES, lambda ring: max(ring.size, _ALL_BYTES // _ALL_TASKS))

    @contextmanager
    def following(self, task_id: str) -> Generator[Follower]:
        """Follow a task inside the block. Enter it before you read the log, or you may miss an event."""
        follower = Follower()
        self._followers.setdefault(task_id, set()).add(follower)
        try:
            yield follower
        finally:
            others = self._followers[task_id]
            others.discard(follower)
            if not others:
                del self._followers[task_id]

    def publish(self, task_id: str, events: Sequence[Event], size: int) -> None:
        """Publish events this process has committed. Commits may arrive out of order."""
        ring = self._rings.pop(task_id) or _Ring()  # the cache measures rings when they come and go
        recent = ring.events
        if recent and recent[-1].seq + 1 != events[0].seq:
            recent.clear()  # a gap: another process wrote events in between, or two commits arrived out of order
            ring.size = 0
        recent.extend(events)
        ring.size += size
        if len(recent) > _RING_EVENTS:
            _shorten(ring)
        self._rings.put(task_id, ring)
        if ring.size > _ALL_BYTES:
            self._rings.pop(task_id)
        self.notify(task_id, events[-1].seq)

    def notify(self, task_id: str, seq: int) -> None:
        """An event with this number now exists, in any process."""
        for follower in self._followers.get(task_id, ()):
            follower.notify(seq)

    def after(self, task_id: str, seq: int) -> list[Event] | None:
        """The events after a number if the ring has them; None if only the log does."""
        ring = self._rings.peek(task_id)
        if ring is None or not ring.events or ring.events[0].seq > seq + 1:
            return None
        skipped = seq + 1 - ring.events[0].seq
        if skipped >= len(ring.events):
            return None
        return [ring.events[position] for position in range(skipped, len(ring.events))]


def _shorten(ring: _Ring) -> None:
    """Drop the older half, and half of the recorded size, because only the total size is known."""
    for _ in range(len(ring.events) - _RING_EVENTS // 2):
        ring.events.popleft()
    ring.size -= ring.size // 2
