"""Many callers that want the same answer at once share one piece of work.

Without it, the moment a remembered login lapses, every waiting request of a busy client would hash the same password.
A caller that gives up does not take the others' answer with it. Nothing is remembered once the work is done.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Work under way, by key."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: dict[K, asyncio.Task[V]] = {}

    async def run(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The outcome of the work already under way for `key`, or of `work` started now."""
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._tasks[key] = task
            task.add_done_callback(lambda done: self._landed(key, done))
        return await asyncio.shield(task)

    def _landed(self, key: K, task: asyncio.Task[V]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # looked at here, so that work nobody waits for any more does not warn
