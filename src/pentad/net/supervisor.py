"""Several processes behind one listening socket, watched by one supervisor.

The socket is bound once and inherited. With one socket per worker (SO_REUSEPORT) the kernel distributes connections
blindly, also to a busy worker, or to one that has just died and loses them. From a shared socket the next free worker
takes the next connection, and none is lost while a worker is replaced. A worker is the same command run again rather
than a fork, so it inherits no threads, locks or database handles. The supervisor serves nothing itself.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from typing import Final

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Misconfigured
from pentad.net.listen import bound_port

log = logging.getLogger(__name__)

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 30.0
STEADY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0
_LISTENER: Final = "PENTAD_WORKER_LISTENER"
_LINK: Final = "PENTAD_WORKER_LINK"
_NUMBER: Final = "PENTAD_WORKER_NUMBER"
_READY: Final = b"ready"


async def supervise(
    command: Sequence[str],
    listener: socket.socket,
    *,
    workers: int,
    ready: Callable[[int], None] | None = None,
    stopping: asyncio.Event | None = None,
    stop_seconds: float = STOP_SECONDS,
) -> None:
    """Keep `workers` processes of `command` running on `listener` until SIGINT, SIGTERM or `stopping`.

    Each process finds its socket with `inherited()`. `ready` gets the port once all of them accept
    connections. Raises Misconfigured if a worker ends before any of them has served: starting it again would not help.
    """
    supervisor = _Supervisor(command, listener, stopping or asyncio.Event(), stop_seconds)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, supervisor.stopping.set)
    try:
        await supervisor.run(workers, ready)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        listener.close()


class _Supervisor:
    def __init__(
        self,
        command: Sequence[str],
        listener: socket.socket,
        stopping: asyncio.Event,
        stop_seconds: float,
        clock: Clock | None = None,
    ) -> None:
        self.stopping = stopping
        self._command = command
        self._listener = listener
        self._stop_seconds = stop_seconds
        self._clock = clock or SystemClock()
        self._ready: set[int] = set()
        self._all_ready = asyncio.Event()
        self._count = 0
        self._failure: Misconfigured | None = None

    async def run(self, count: int, ready: Callable[[int], None] | None) -> None:
        self._count = count
        self._listener.listen()  # connections queue from the start, until the first worker is up
        async with asyncio.TaskGroup() as group:
            announcing = group.create_task(self._announce(ready))
            await asyncio.gather(*(self._keep(number) for number in range(1, count + 1)))
            announcing.cancel()
        if self._failure is not None:
            raise self._failure

    async def _announce(self, ready: Callable[[int], None] | None) -> None:
        await self._all_ready.wait()
        if ready is not None:
            ready(bound_port(self._listener))

    async def _keep(self, number: int) -> None:
        """Run one worker and restart it: at once if it had run well, after growing pauses if it keeps failing."""
        pause = FIRST_PAUSE
        while not self.stopping.is_set():
            started = self._clock.monotonic()
            code = await self._run_once(number)
            if self.stopping.is_set():
                return
            if not self._ready:
                self._failure = Misconfigured(
                    f"Worker {number} ended with code {code} before it could serve.", hint="Its log says why."
                )
                self.stopping.set()
                return
            if self._clock.monotonic() - started >= STEADY_SECONDS:
                pause = FIRST_PAUSE
            log.error("worker %d ended with code %s; starting it again in %.1f s", number, code, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _run_once(self, number: int) -> int:
        """Start a worker, wait until it ends or must end, and return its exit code."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            with theirs:
                process = await self._start(number, theirs)
            try:
                async with asyncio.TaskGroup() as group:
                    waiting = group.create_task(self._await_ready(number, ours))
                    stopping = group.create_task(self._stop_when_asked(process))
                    code = await process.wait()
                    waiting.cancel()
                    stopping.cancel()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            return code

    async def _start(self, number: int, link: socket.socket) -> Process:
        return await asyncio.create_subprocess_exec(
            *self._command,
            env={
                **os.environ,
                _LISTENER: str(self._listener.fileno()),
                _LINK: str(link.fileno()),
                _NUMBER: str(number),
            },
            pass_fds=(self._listener.fileno(), link.fileno()),
        )

    async def _await_ready(self, number: int, link: socket.socket) -> None:
        with contextlib.suppress(ConnectionError):
            if await asyncio.get_running_loop().sock_recv(link, len(_READY)) == _READY:
                self._ready.add(number)
        if len(self._ready) == self._count:
            self._all_ready.set()

    async def _stop_when_asked(self, process: Process) -> None:
        await self.stopping.wait()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await asyncio.sleep(self._stop_seconds)
        log.error("worker process %d did not end within %.0f s; killing it", process.pid, self._stop_seconds)
        with contextlib.suppress(ProcessLookupError):
            process.kill()


class WorkerLink:
    """The worker's side. Give `listener` and `announce` to `net.http_server.serve`.

    A worker inherits two file descriptors: the shared listening socket, and a link. Over the link it reports once that
    it accepts connections. If the supervisor dies, the link ends, and so does the worker.
    """

    def __init__(self, listener: socket.socket, link: socket.socket, number: int) -> None:
        self.listener = listener
        self.number = number
        self._link = link
        self._loop: asyncio.AbstractEventLoop | None = None

    def announce(self, port: int) -> None:
        """Tell the supervisor that this worker accepts connections, and stop when the supervisor does. For
        `serve(ready=...)`."""
        self._link.send(_READY)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._link, self._on_supervisor_exit)

    def close(self) -> None:
        """Close the link; the worker is stopping anyway."""
        if self._loop is not None:
            self._loop.remove_reader(self._link)
            self._loop = None
        self._link.close()

    def _on_supervisor_exit(self) -> None:
        """The supervisor never sends anything, so a readable link means that it is gone: stop as on SIGTERM."""
        self.close()
        os.kill(os.getpid(), signal.SIGTERM)


def inherited() -> WorkerLink | None:
    """The link of this process, if a supervisor started it. Removes the variables: child processes are not workers."""
    listener = os.environ.pop(_LISTENER, None)
    link = os.environ.pop(_LINK, None)
    number = os.environ.pop(_NUMBER, "0")
    if listener is None or link is None:
        return None
    sockets = socket.socket(fileno=int(listener)), socket.socket(fileno=int(link))
    for inherited_socket in sockets:
        inherited_socket.set_inheritable(False)
        inherited_socket.setblocking(False)
    return WorkerLink(*sockets, int(number))
