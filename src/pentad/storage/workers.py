"""A fixed number of threads that run whole units of work, one hop each.

Unlike an executor it has a bounded backlog (a full one is Overloaded, not memory), drains on close, and finishes a
job with a single wake-up. It knows nothing of databases.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from pentad.kernel.errors import Overloaded, Unavailable
from pentad.storage.handoff import Job, wake

T = TypeVar("T")


class Workers:
    """Threads that live from the first job to `close`."""

    def __init__(self, name: str, size: int, backlog: int = 10_000) -> None:
        self._name = name
        self._size = size
        self._backlog = backlog
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = False

    @property
    def waiting(self) -> int:
        """Jobs that no thread has taken yet."""
        return self._jobs.qsize()

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work()`, run in one of the threads."""
        if self._closed:
            raise closed()
        if self._jobs.qsize() >= self._backlog:
            raise Overloaded("The store has more to do than it can keep up with.", hint="Try again in a moment.")
        if not self._threads:
            self._start()
        job = Job(work)
        self._jobs.put(job)
        return await job.future

    def close(self) -> None:
        """Finish every job taken so far, then end the threads. Blocks."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _start(self) -> None:
        for number in range(self._size):
            thread = threading.Thread(target=self._serve, name=f"{self._name}-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.abandoned:
                continue
            try:
                job.value = job.work()
            except BaseException as error:  # noqa: BLE001  it belongs to the caller; the thread has to live on
                job.failure = error
            wake((job,))
            del job  # an idle thread must not keep the last result alive


def closed() -> Unavailable:
    """What every use of a closed store answers."""
    return Unavailable("The store is closed.", hint="The server is shutting down; connect again when it is back.")
