"""Work that goes on beside everything else for as long as its owner is open: begun once, ended for sure.

What the work does when something fails is its own affair; who stops it is not told.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any


class Background:
    """One piece of work of one owner."""

    __slots__ = ("_task",)

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Begin; the name is what a list of tasks shows."""
        self._task = asyncio.create_task(work, name=name)

    async def stop(self) -> None:
        """End it, and wait until it has ended; nothing where it never began."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
