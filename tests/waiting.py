"""Bounded waits for conditions without an event. The tests' only sleeps are here: `test_no_sleeps.py` enforces it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds until a wait fails. Only a broken test waits that long; a slow machine never should."""

_PAUSE = 0.01
_LONGEST_LOOK = 1.0


class Wait:
    """How long a wait has taken. A check that took over a second counts as one second: the machine was busy
    or stood still. A check that never ends is ended with its test."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._looked_at = time.monotonic()

    def go_on(self, found: object, why: str = "") -> None:
        """Raise TimeoutError once the time is up."""
        now = time.monotonic()
        self._left -= min(now - self._looked_at, _LONGEST_LOOK)
        self._looked_at = now
        if self._left <= 0:
            raise TimeoutError(why or f"The last look found {found!r}")


async def until(look: Callable[[], Awaitable[T]], holds: Callable[[T], object] = bool, seconds: float = PATIENCE) -> T:
    """The result of `look` once `holds` is true of it."""
    wait = Wait(seconds)
    while not holds(found := await look()):
        wait.go_on(found)
        await asyncio.sleep(_PAUSE)
    return found


async def until_true(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait on the event loop."""
    wait = Wait(seconds)
    while not (found := holds()):
        wait.go_on(found)
        await asyncio.sleep(_PAUSE)


def wait_until(holds: Callable[[], object], why: str, seconds: float = PATIENCE) -> None:
    """Wait where there is no event loop."""
    wait = Wait(seconds)
    while not (found := holds()):
        wait.go_on(found, why)
        time.sleep(_PAUSE)
