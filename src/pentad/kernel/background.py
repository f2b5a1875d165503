"""Background tasks that run as long as their owner is open.

A task handles its own errors. An error that ends it is logged, because nothing awaits the task.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from pentad.kernel.incidents import internal_error


def start_task(work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
    """Start a task that is never awaited; an error that ends it is logged."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_log_death)
    return task


def _log_death(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        internal_error(error, f"The background work {task.get_name()!r}")


class Background:
    """One background task of one owner."""

    __slots__ = ("_task",)

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Start the task; `name` appears in the log and in task lists."""
        self._task = start_task(work, name)

    async def stop(self) -> None:
        """Cancel the task and wait until it has ended; does nothing if it never started."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
