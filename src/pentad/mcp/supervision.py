"""Running a handler in the task that asked for it, watched only if it has to wait.

Most calls never suspend. Those pay nothing: no task, no timer, no disconnect watch. The first time a handler suspends,
`paused` is called and may arrange whatever a waiting call needs.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from pentad.kernel.errors import DeadlineExceeded

T = TypeVar("T")


class FirstPause(Generic[T]):
    """Awaits a coroutine in the current task; calls `paused` once, if and when it first suspends."""

    __slots__ = ("_coroutine", "_paused")

    def __init__(self, coroutine: Coroutine[Any, Any, T], paused: Callable[[], None]) -> None:
        self._coroutine = coroutine
        self._paused = paused

    def __await__(self) -> Generator[Any, Any, T]:
        coroutine = self._coroutine
        try:
            waiting_for = coroutine.send(None)
        except StopIteration as done:
            return done.value
        self._paused()
        while True:
            try:
                sent = yield waiting_for
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as error:  # noqa: BLE001  handed to the coroutine it belongs to
                step, value = coroutine.throw, error
            else:
                step, value = coroutine.send, sent
            try:
                waiting_for = step(value)
            except StopIteration as done:
                return done.value


class Deadline:
    """Cancels the task it is armed in when the time is up; stands still while the client is being asked."""

    __slots__ = ("_handle", "_held", "_seconds", "_task", "_waiting", "expired")

    def __init__(self, seconds: float, waiting: Callable[[], None]) -> None:
        self._seconds = seconds
        self._waiting = waiting
        self._handle: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._held = False
        self.expired = False

    def paused(self) -> None:
        """The call has to wait: tell the transport, and let the time run."""
        self._waiting()
        self.arm()

    def hold(self) -> None:
        """The client is being asked: its time is not the call's."""
        self._held = True
        self.disarm()

    def resume(self) -> None:
        """The client has answered: the call has its whole time again."""
        self._held = False
        self.arm()

    def arm(self) -> None:
        if self._seconds > 0 and not self._held:
            self._task = asyncio.current_task()
            self._handle = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    def disarm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _expire(self) -> None:
        self.expired = True
        if self._task is not None:
            self._task.cancel()

    def error(self, what: str) -> DeadlineExceeded:
        return DeadlineExceeded(
            f"{what} took longer than {self._seconds:g} seconds and was stopped.", hint="Ask for less, or try again."
        )


def absorb_cancellation() -> None:
    """The current task was cancelled on purpose and the reason has been dealt with: let it go on."""
    if (task := asyncio.current_task()) is not None:
        task.uncancel()
