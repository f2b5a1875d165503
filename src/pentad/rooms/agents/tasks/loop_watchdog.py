"""Measures from a thread how far the event loop lags, and names the agent that blocks it.

An `async def` agent that computes or calls blocking code stops everything else in its process. Nothing can interrupt
it, but the log names it at once, and the health of the room reports it for a while.
"""

import asyncio
import inspect
import logging
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, cast

from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.tasks.turn_runner import Run

_EVERY: Final = 0.5
_BLOCKED: Final = 1.0
"""From this lag on, in seconds, the loop counts as blocked."""
_REMEMBERED: Final = 600.0
"""How long the health of the room reports a block."""
_RUN: Final = Run.execute.__code__
"""An agent's code runs below this frame."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Block:
    """One occasion when the loop was blocked."""

    culprit: str
    seconds: float
    ended: float
    """By the monotonic clock."""


class LoopWatchdog:
    """Watches the event loop that starts it."""

    def __init__(self, agents: Mapping[str, HostedAgent], *, every: float = _EVERY, blocked: float = _BLOCKED) -> None:
        self.lag = 0.0
        """The lag of the loop at the last check."""
        self.last: Block | None = None
        self.blocked_seconds = 0.0
        """Total since the start."""
        self._agents = agents
        self._every = every
        self._blocked = blocked
        self._stopping = threading.Event()

    def start(self) -> None:
        loop, thread = asyncio.get_running_loop(), threading.get_ident()
        threading.Thread(target=self._watch, args=(loop, thread), name="pentad-watchdog", daemon=True).start()

    def stop(self) -> None:
        """End the thread soon; it may wait for the loop, so the loop does not wait for it."""
        self._stopping.set()

    def health(self) -> dict[str, Any]:
        """Figures for the health of the room, and a message if the loop was blocked lately."""
        found: dict[str, Any] = {
            "loop_lag": round(self.lag, 3), "loop_blocked_seconds": round(self.blocked_seconds, 3),
        }  # fmt: skip
        last = self.last
        if last is not None and time.monotonic() - last.ended < _REMEMBERED:
            found |= {"status": "degraded", "message": f"{last.culprit} blocked the server for {last.seconds:.1f} s."}
        return found

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        with suppress(RuntimeError):  # the loop is closed
            while not self._stopping.wait(self._every):
                answered = threading.Event()
                asked = time.monotonic()
                loop.call_soon_threadsafe(answered.set)
                if answered.wait(self._blocked):
                    self.lag = time.monotonic() - asked
                else:
                    self._report(asked, answered, self._culprit(thread))

    def _report(self, asked: float, answered: threading.Event, culprit: str) -> None:
        _logger.warning("The server's event loop is blocked by %s.", culprit)
        while not answered.wait(self._every):
            if self._stopping.is_set():
                return
        now = time.monotonic()
        self.lag = now - asked
        self.blocked_seconds += self.lag
        self.last = Block(culprit, self.lag, now)
        _logger.warning("The event loop was blocked for %.1f s by %s.", self.lag, culprit)

    def _culprit(self, thread: int) -> str:
        """What keeps the loop's thread busy: the agent, and the line of code."""
        frame = sys._current_frames().get(thread)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  there is no other way
        if frame is None:
            return "an unknown part"
        files = {_file(one.agent): name for name, one in self._agents.items() if one.isolation != "process"}
        frames = list(_outwards(frame))
        own = next((one for one in frames if one.f_code.co_filename in files), None)
        run = next((one for one in frames if one.f_code is _RUN), None)
        where = own or frame
        place = f"{where.f_code.co_name} in {where.f_code.co_filename}, line {where.f_lineno}"
        if run is not None:
            return f"the agent {run.f_locals['self'].hosted.name!r} ({place})"
        return place if own is None else f"the agent {files[own.f_code.co_filename]!r} ({place})"


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _file(agent: Any) -> str:
    """The file that defines an agent; empty if there is none."""
    try:
        return inspect.getfile(agent if inspect.isroutine(agent) else cast("type[object]", type(agent)))
    except (TypeError, OSError):
        return ""
