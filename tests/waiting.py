"""Bounded waits for what nobody announces. The only sleeps of the tests are here: `test_no_sleeps.py` sees to it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds until a wait fails. Only a broken test waits that long; a slow machine never should."""

_PAUSE = 0.01


async def until(look: Callable[[], Awaitable[T]], holds: Callable[[T], object] = bool, seconds: float = PATIENCE) -> T:
    """What `look` finds once that holds."""
    async with asyncio.timeout(seconds):
        while not holds(found := await look()):
            await asyncio.sleep(_PAUSE)
    return found


async def until_true(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait on the event loop."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(_PAUSE)


def wait_until(holds: Callable[[], object], why: str, seconds: float = PATIENCE) -> None:
    """Wait where there is no event loop."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, why
        time.sleep(_PAUSE)
