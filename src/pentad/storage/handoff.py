"""How a result travels from a thread back to the event loop that awaits it.

Threads never touch a future: they fill a Job and call `wake`, which costs one `call_soon_threadsafe` per event loop
however many jobs are finished together. Waking a loop is the dearest part of a hop.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any


class Work:
    """A piece of work, and what became of it."""

    __slots__ = ("failure", "value", "work")

    def __init__(self, work: Callable[..., Any]) -> None:
        self.work = work
        self.value: Any = None
        self.failure: BaseException | None = None


class Job(Work):
    """A piece of work on its way through a thread."""

    __slots__ = ("future", "loop")

    def __init__(self, work: Callable[..., Any]) -> None:
        super().__init__(work)
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    @property
    def abandoned(self) -> bool:
        """Whether nobody awaits it any more."""
        return self.future.cancelled()


def wake(jobs: Iterable[Job]) -> None:
    """Hand finished jobs back to those who await them."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, finished in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, finished)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            continue


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.failure is None:
            job.future.set_result(job.value)
        elif isinstance(job.failure, StopIteration):  # a future refuses it, and its caller would wait for ever
            job.future.set_exception(RuntimeError("A unit of work raised StopIteration."))
        else:
            job.future.set_exception(job.failure)
