"""Reads the `Retry-After` header of a response (RFC 9110, 10.2.3)."""

import math
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Final

from pentad.kernel.clock import Clock, SystemClock, parse_iso

_CLOCK: Final = SystemClock()
_EPOCH_BEGINS: Final = 1_000_000_000.0
"""Larger numbers are Unix times, as some rate limits write them, not pauses of 30 years."""


def retry_after(value: str | None, clock: Clock = _CLOCK) -> float | None:
    """The requested pause in seconds, at least 0; None if there is no header, or it is invalid.

    Reads seconds (also fractions) and HTTP dates, and the Unix and ISO times that real servers send as well.
    """
    number = _number(value.strip()) if value else None
    if number is None or not math.isfinite(number):
        return None
    if number > _EPOCH_BEGINS:
        return max(0.0, number - clock.now())
    return number if number >= 0 else None


def _number(text: str) -> float | None:
    readers: tuple[Callable[[str], float], ...] = (
        float,
        lambda date: parsedate_to_datetime(date).timestamp(),
        lambda date: parse_iso(date).timestamp(),
    )
    for read in readers:
        with suppress(ValueError, OverflowError):
            return read(text)
    return None
