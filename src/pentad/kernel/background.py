"""Work that goes on beside everything else for as long as its owner is open: begun once, ended for sure.

What the work does when something fails is its own affair. If that ends it, the log says so: nobody awaits it who could.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from pentad.kernel.incidents import unforeseen


def begun(work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
    """A task nobody waits for; if it dies of an error, that is in the log."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_tell_of_death)
    return task


def _tell_of_death(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        unforeseen(error, f"The background work {task.get_name()!r}")


class Background:
    """One piece of work of one owner."""

    __slots__ = ("_task",)

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Begin; the name is what a list of tasks shows."""
        self._task = begun(work, name)

    async def stop(self) -> None:
        """End it, and wait until it has ended; nothing where it never began."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
