"""How a result travels from a thread back to the event loop that awaits it.

Threads never touch a future: they fill a Job and call `wake`, which costs one `call_soon_threadsafe` per event loop
however many jobs are finished together. Waking a loop is the dearest part of a hop.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any


class Job:
    """A piece of work on its way through a thread, and what became of it."""

    __slots__ = ("failure", "future", "loop", "value", "work")

    def __init__(self, work: Callable[..., Any]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.value: Any = None
        self.failure: BaseException | None = None

    @property
    def abandoned(self) -> bool:
        """Whether nobody awaits it any more."""
        return self.future.cancelled()


def wake(jobs: Iterable[Job]) -> None:
    """Hand finished jobs back to those who await them."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    here = _running_loop()
    for loop, finished in by_loop.items():
        if loop is here:
            _settle(finished)
            continue
        try:
            loop.call_soon_threadsafe(_settle, finished)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            continue


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop this thread runs; a thread of the store's has none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


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
