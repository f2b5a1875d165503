"""Deadlines of calls: a handler runs in the current task and is watched only if it has to wait.

Most calls never suspend and pay nothing: no extra task, no timer, no disconnect watch. When a handler first suspends,
`on_suspend` is called and sets up whatever a waiting call needs.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from pentad.kernel.errors import DeadlineExceeded

T = TypeVar("T")


class FirstSuspend(Generic[T]):
    """Awaits a coroutine in the current task. Calls `on_suspend` once, when the coroutine first suspends."""

    __slots__ = ("_coroutine", "_on_suspend")

    def __init__(self, coroutine: Coroutine[Any, Any, T], on_suspend: Callable[[], None]) -> None:
        self._coroutine = coroutine
        self._on_suspend = on_suspend

    def __await__(self) -> Generator[Any, Any, T]:
        coroutine = self._coroutine
        try:
            awaited = coroutine.send(None)
        except StopIteration as done:
            return done.value
        self._on_suspend()
        # The rest does what `yield from` does, which cannot start in the middle of a coroutine.
        while True:
            try:
                sent = yield awaited
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as error:  # noqa: BLE001  passed on to the coroutine
                step, value = coroutine.throw, error
            else:
                step, value = coroutine.send, sent
            try:
                awaited = step(value)
            except StopIteration as done:
                return done.value


class Deadline:
    """Cancels the current task when its time is up. Stops while the client is answering a question."""

    __slots__ = ("_handle", "_is_paused", "_on_suspend", "_seconds", "_task", "expired")

    def __init__(self, seconds: float, on_suspend: Callable[[], None]) -> None:
        self._seconds = seconds
        self._on_suspend = on_suspend
        self._handle: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._is_paused = False
        self.expired = False

    def start(self) -> None:
        """Start the timer and notify the transport, because the call has to wait."""
        self._on_suspend()
        self._arm()

    def pause(self) -> None:
        """Stop the timer while the client is asked: that time does not count."""
        self._is_paused = True
        self.cancel()

    def resume(self) -> None:
        """Restart the timer with the full time, after the client has answered."""
        self._is_paused = False
        self._arm()

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def error(self, what: str) -> DeadlineExceeded:
        return DeadlineExceeded(
            f"{what} took longer than {self._seconds:g} seconds and was stopped.", hint="Request less, or try again."
        )

    def _arm(self) -> None:
        # A tool may ask the client before it first suspends, so `start` can come while the deadline is paused.
        if self._seconds > 0 and not self._is_paused:
            self._task = asyncio.current_task()
            self._handle = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        self.expired = True
        if self._task is not None:
            self._task.cancel()


async def run_until(deadline: Deadline, work: Coroutine[Any, Any, T], what: str) -> T:
    """The result of `work`; DeadlineExceeded if its time is up first."""
    try:
        return await FirstSuspend(work, deadline.start)
    except asyncio.CancelledError:
        if not deadline.expired:
            raise
        absorb_cancellation()
        raise deadline.error(what) from None
    finally:
        deadline.cancel()


def absorb_cancellation() -> None:
    """Let the current task continue after a deliberate cancellation that has been handled."""
    if (task := asyncio.current_task()) is not None:
        task.uncancel()
