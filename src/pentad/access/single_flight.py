"""Lets callers that need the same result at the same time share one run of the work.

Without it, every waiting request of a busy client would hash the same password when its cached login expires. If one
caller gives up, the others' work continues. Results are not cached.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Running work, by key."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: dict[K, asyncio.Task[V]] = {}

    async def run(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The result of the work already running for `key`, or else of `work`, started now."""
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._tasks[key] = task
            task.add_done_callback(lambda done: self._finished(key, done))
        return await asyncio.shield(task)

    def _finished(self, key: K, task: asyncio.Task[V]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # retrieved here, so that asyncio does not warn if every caller has given up
