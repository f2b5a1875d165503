"""Reads the `Retry-After` header of a response (RFC 9110, 10.2.3)."""

import math
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
    if not value:
        return None
    text = value.strip()
    with suppress(ValueError):
        number = float(text)
        if not 0 <= number < math.inf:
            return None
        return max(0.0, number - clock.now()) if number > _EPOCH_BEGINS else number
    for read in (parsedate_to_datetime, parse_iso):
        with suppress(ValueError, OverflowError):
            return max(0.0, read(text).timestamp() - clock.now())
    return None
