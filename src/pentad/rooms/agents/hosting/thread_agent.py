"""Runs synchronous agents in threads, so that blocking code does not block anyone else.

Each agent has its own limit on threads, so an agent that hangs does not affect others. A thread cannot be killed. When
a turn is canceled, its thread gets a CancelledError at its next call of the turn, or while it computes. Code that waits
in the operating system (`time.sleep`, a socket) gets it when that call returns; until then the thread counts against
the limit. Use `isolation = "process"` for agents that must be killable.
"""

import asyncio
import contextvars
import ctypes
import inspect
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from concurrent.futures import CancelledError as FutureCanceled
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Message

T = TypeVar("T")
CONCURRENCY: Final = 16
"""How many turns of one agent run at once in one process, by default."""


_SWITCH_SECONDS: Final = 0.0002


class _Computing:
    """Makes Python switch threads more often while agents run in threads. Otherwise the event loop would wait a whole
    interval for a computing thread, several times per call.
    """

    def __init__(self) -> None:
        self._threads = 0
        self._lock = threading.Lock()
        self._usual = sys.getswitchinterval()

    def __enter__(self) -> None:
        with self._lock:
            self._threads += 1
            if self._threads == 1:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH_SECONDS)

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._threads -= 1
            if self._threads == 0:
                sys.setswitchinterval(self._usual)


_COMPUTING: Final = _Computing()


class AgentThreads:
    """The threads of one agent."""

    def __init__(self, name: str, most: int = CONCURRENCY) -> None:
        self._name = name
        self._free = asyncio.Semaphore(most)

    async def run_turn(self, function: "Callable[[ThreadTurn], Any]", turn: Turn) -> Any:
        """Run one turn. If the caller is canceled, so is the turn's thread."""
        inside = ThreadTurn(turn, asyncio.get_running_loop())
        return await self.call(function, inside, stop=inside.cancel)

    async def call(self, function: Callable[..., Any], *arguments: Any, stop: Callable[[], bool] | None = None) -> Any:
        """Call a function in a thread and await the result. A coroutine it returns runs on the event loop.

        If the caller is canceled, `stop` may end the thread's work; otherwise the thread is interrupted.
        """
        await self._free.acquire()
        return await _call_in_thread(f"agent {self._name}", function, *arguments, stop=stop, release=self._free.release)


async def _call_in_thread(
    name: str,
    function: Callable[..., Any],
    *arguments: Any,
    stop: Callable[[], bool] | None = None,
    release: Callable[[], None] | None = None,
) -> Any:
    work = _Work(function, arguments, release)
    threading.Thread(target=work.run, name=name, daemon=True).start()
    try:
        result = await work.done
    except asyncio.CancelledError:
        if stop is None or not stop():
            work.interrupt()
        raise
    return await result if inspect.iscoroutine(result) else result


class _Waits:
    """What one thread of a turn waits for."""

    def __init__(self) -> None:
        self.canceled = threading.Event()
        self.futures: set[Future[Any]] = set()

    def cancel(self) -> bool:
        """End all waits of the thread, and allow no new ones; False if it was not waiting."""
        self.canceled.set()
        return sum(waiting.cancel() for waiting in list(self.futures)) > 0


class ThreadTurn:
    """The turn of a synchronous agent: whatever an async agent awaits blocks here until it is done.

    `answer = turn.wait(turn.ask("Which one?"))` waits for anything else that can be awaited.
    """

    def __init__(self, turn: Turn, loop: asyncio.AbstractEventLoop) -> None:
        self._turn = turn
        self._loop = loop
        self._waits = _Waits()
        self._branch = threading.local()
        """`waits` is set in the threads of `gather`."""
        self.canceled = self._waits.canceled
        """Set when the task is canceled or its time is up."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._turn, name)
        if not inspect.iscoroutinefunction(found):
            return found

        def blocking(*arguments: Any, **options: Any) -> Any:
            return self.wait(found(*arguments, **options))

        return blocking

    def wait(self, awaitable: Awaitable[T]) -> T:
        """Wait for something an async agent would await."""
        with self._on_loop(awaitable if inspect.iscoroutine(awaitable) else _await(awaitable)) as waiting:
            return waiting.result()

    def step(self, name: str, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Run `work(*args)` once, in this thread, and remember its result; see `Turn.step`."""
        wanted: SimpleQueue[asyncio.Future[Any] | None] = SimpleQueue()

        async def in_thread() -> Any:
            result = self._loop.create_future()
            wanted.put(result)
            return await result

        def set_outcome(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
            if not future.done():
                future.set_result(result) if error is None else future.set_exception(error)

        with self._on_loop(self._turn.step(name, in_thread, **options)) as waiting:
            waiting.add_done_callback(lambda _: wanted.put(None))
            while (future := wanted.get()) is not None:
                result, error = None, None
                try:
                    result = work(*args)
                    if inspect.isawaitable(result):
                        result = self.wait(result)
                except Exception as raised:  # noqa: BLE001  the journal remembers it
                    error = raised
                self._loop.call_soon_threadsafe(set_outcome, future, result, error)
            return waiting.result()

    def gather(self, *calls: Any, limit: int = 8) -> list[Any]:
        """Run functions in parallel, each in its own thread; see `Turn.gather`.

        `turn.gather(lambda: turn.send("a", "..."), lambda: turn.send("b", "..."))`. A call such as `turn.send(...)`
        without `lambda` blocks before `gather` begins, so several of them run one after the other.
        """
        name = threading.current_thread().name
        branches = [call if inspect.isawaitable(call) else self._in_branch(name, call) for call in calls]
        return self.wait(self._turn.gather(*branches, limit=limit))

    async def _in_branch(self, name: str, call: Any) -> Any:
        if not callable(call):
            return call  # the result of a call that has already blocked
        waits = _Waits()

        def run() -> Any:
            self._branch.waits = waits
            return call()

        return await _call_in_thread(name, run, stop=waits.cancel)

    def incoming(self) -> Iterator[Message]:
        """Messages the caller sends while the turn runs."""
        messages = self._turn.incoming()
        while (message := self.wait(anext(messages, None))) is not None:
            yield message

    @contextmanager
    def _on_loop(self, work: Coroutine[Any, Any, T]) -> Generator[Future[T]]:
        """Run a coroutine on the event loop. `cancel` cancels it, which raises CancelledError here."""
        waits: _Waits = getattr(self._branch, "waits", self._waits)
        if self.canceled.is_set() or waits.canceled.is_set():
            work.close()
            raise asyncio.CancelledError
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        waits.futures.add(waiting)
        if self.canceled.is_set() or waits.canceled.is_set():
            waiting.cancel()
        try:
            yield waiting
        except FutureCanceled:
            raise asyncio.CancelledError from None
        finally:
            waits.futures.discard(waiting)

    def cancel(self) -> bool:
        """Cancel the turn by ending what its thread waits for; False if it is not waiting."""
        return self._waits.cancel()


async def _await(awaitable: Awaitable[T]) -> T:
    return await awaitable


class _Work:
    """One call in one thread."""

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], release: Callable[[], None] | None
    ) -> None:
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._function = function
        self._arguments = arguments
        self._release = release
        self._context = contextvars.copy_context()
        self._lock = threading.Lock()
        self._thread: int | None = None

    def run(self) -> None:
        """The thread."""
        result, error = None, None
        try:
            with _COMPUTING:
                result = self._call()
        except (SystemExit, KeyboardInterrupt, StopIteration) as left:
            error = RuntimeError(f"The agent raised {type(left).__name__}.")
            error.__cause__ = left
        except BaseException as raised:  # noqa: BLE001  goes to the event loop
            error = raised
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            self.done.get_loop().call_soon_threadsafe(self._end, result, error)

    def _call(self) -> Any:
        """Call the function. Interruptions arrive only in here."""
        try:
            with self._lock:
                self._thread = threading.get_ident()
            return None if self.done.cancelled() else self._context.run(self._function, *self._arguments)
        finally:
            with self._lock:
                self._thread = None
            time.sleep(0)  # a pending interruption arrives here

    def interrupt(self) -> None:
        """Raise CancelledError in the thread as soon as it runs Python code."""
        with self._lock:
            if self._thread is not None:
                error = ctypes.py_object(asyncio.CancelledError)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), error)

    def _end(self, result: Any, error: BaseException | None) -> None:
        if self._release is not None:
            self._release()
        if self.done.done():
            if inspect.iscoroutine(result):
                result.close()
        elif error is None:
            self.done.set_result(result)
        elif isinstance(error, asyncio.CancelledError):
            self.done.cancel()
        else:
            self.done.set_exception(error)
