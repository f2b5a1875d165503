"""What both dialects need to run a unit of work: value checks, threads, and the way back to the event loop.

Threads never touch a future. They fill in a `Task` and call `finish`, which costs one `call_soon_threadsafe` per event
loop however many tasks are done: waking a loop is the most expensive part of a thread hop. Signals travel the same way,
from the thread that committed or received them to the loop of each listener.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

from pentad.kernel.errors import InvalidInput, LimitExceeded, Overloaded
from pentad.kernel.ports import Value
from pentad.kernel.trace import request_mark
from pentad.storage.errors import closed

T = TypeVar("T")
Signal = tuple[str, str]
"""A channel and a payload."""

SIGNAL_BYTES = 7_000
CHANNEL_BYTES = 200
_LOWEST = -(2**63)
_HIGHEST = 2**63 - 1
_log = logging.getLogger(__name__)


def checked(params: Sequence[Value]) -> Sequence[Value]:
    """The parameters, unchanged; InvalidInput for a value that the two dialects would store differently.

    SQLite keeps an embedded NUL and turns NaN into NULL; PostgreSQL refuses the NUL and keeps the NaN. Every statement
    passes here, so keep it short.
    """
    for value in params:
        if isinstance(value, str):
            if "\0" in value:
                raise InvalidInput("A text holds a NUL character.", hint="Remove U+0000 from it; it cannot be stored.")
        elif value is None or isinstance(value, bytes):
            continue
        elif isinstance(value, int):
            if not _LOWEST <= value <= _HIGHEST:
                raise InvalidInput("A number does not fit into 64 bits.", hint="Store it as text.")
        elif value != value:  # only NaN differs from itself
            raise InvalidInput("NaN is not a number that can be stored.", hint="Leave the value out instead.")
    return params


def check_signal(channel: str, payload: str) -> None:
    """LimitExceeded or InvalidInput for a signal that one of the dialects could not carry."""
    if not channel or "\n" in channel or len(channel.encode()) > CHANNEL_BYTES:
        raise InvalidInput("A signal's channel is 1 to 200 bytes on one line.")
    if len(payload.encode()) > SIGNAL_BYTES:
        raise LimitExceeded(
            f"A signal's payload is at most {SIGNAL_BYTES} bytes.", hint="Send the id of what changed, not its content."
        )
    checked((channel, payload))


class Work:
    """A function to run, and its result or failure. It belongs to the request that started it: jobs it queues and lines
    it logs continue that trace."""

    __slots__ = ("failure", "mark", "value", "work")

    def __init__(self, work: Callable[..., Any]) -> None:
        self.work = work
        self.mark = request_mark.get()
        self.value: Any = None
        self.failure: BaseException | None = None


class Task(Work):
    """Work done by a thread for a caller on an event loop."""

    __slots__ = ("future", "loop")

    def __init__(self, work: Callable[..., Any]) -> None:
        super().__init__(work)
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    @property
    def is_cancelled(self) -> bool:
        return self.future.cancelled()


def finish(tasks: Iterable[Task]) -> None:
    """Return the results of done tasks to their callers."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Task]] = {}
    for task in tasks:
        by_loop.setdefault(task.loop, []).append(task)
    for loop, done in by_loop.items():
        try:
            loop.call_soon_threadsafe(_set_results, done)
        except RuntimeError:  # the loop is closed, so no caller is left
            continue


def _set_results(tasks: list[Task]) -> None:
    for task in tasks:
        if task.future.done():
            continue
        if task.failure is None:
            task.future.set_result(task.value)
        elif isinstance(task.failure, StopIteration):  # a future rejects it, and the caller would wait forever
            task.future.set_exception(RuntimeError("A unit of work raised StopIteration."))
        else:
            task.future.set_exception(task.failure)


class Workers:
    """A fixed number of threads that run whole units of work, from the first task to `close`.

    Unlike an executor they have a bounded backlog (Overloaded instead of memory) and finish a task with one wake-up.
    """

    def __init__(self, name: str, size: int, backlog: int = 10_000) -> None:
        self._name = name
        self._size = size
        self._backlog = backlog
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = False

    @property
    def queued(self) -> int:
        """Tasks that no thread has taken yet."""
        return self._tasks.qsize()

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work()`, run in one of the threads."""
        if self._closed:
            raise closed()
        if self._tasks.qsize() >= self._backlog:
            raise Overloaded("The store has more to do than it can keep up with.", hint="Try again in a moment.")
        if not self._threads:
            self._start()
        task = Task(work)
        self._tasks.put(task)
        return await task.future

    def close(self) -> None:
        """Finish every task taken so far, then end the threads. Blocks."""
        self._closed = True
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _start(self) -> None:
        for number in range(self._size):
            thread = threading.Thread(target=self._serve, name=f"{self._name}-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            if task.is_cancelled:
                continue
            request_mark.set(task.mark)
            try:
                task.value = task.work()
            except BaseException as error:  # noqa: BLE001  the caller gets it; the thread must live on
                task.failure = error
            finish((task,))
            del task  # an idle thread must not keep the last result alive


class _Listener:
    __slots__ = ("active", "callback", "loop")

    def __init__(self, callback: Callable[[str], None]) -> None:
        self.callback = callback
        self.loop = asyncio.get_running_loop()
        self.active = True


class Listeners:
    """Callbacks by channel. Any thread may deliver signals; each callback runs on its own event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_channel: dict[str, list[_Listener]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_channel.values()))

    def add(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call `callback` on the running event loop for every signal; the returned function stops that at once."""
        listener = _Listener(callback)
        with self._lock:
            self._by_channel.setdefault(channel, []).append(listener)

        def remove() -> None:
            with self._lock:
                listener.active = False
                remaining = self._by_channel.get(channel, [])
                if listener in remaining:
                    remaining.remove(listener)
                if not remaining:
                    self._by_channel.pop(channel, None)

        return remove

    def deliver(self, signals: Iterable[Signal]) -> None:
        """Pass signals, in order, to the listeners of their channels."""
        calls: dict[asyncio.AbstractEventLoop, list[tuple[_Listener, str]]] = {}
        with self._lock:
            for channel, payload in signals:
                for listener in self._by_channel.get(channel, ()):
                    calls.setdefault(listener.loop, []).append((listener, payload))
        for loop, batch in calls.items():
            try:
                loop.call_soon_threadsafe(_call_listeners, batch)
            except RuntimeError:  # the loop is closed, and its listeners with it
                continue


def _call_listeners(calls: list[tuple[_Listener, str]]) -> None:
    for listener, payload in calls:
        if not listener.active:
            continue
        try:
            listener.callback(payload)
        except Exception:  # noqa: BLE001  one listener's mistake is not another's
            _log.exception("A listener failed on a signal.")
