"""Times and durations as people write them: `now`, `now-6h`, `2d` (ago), a date, an ISO time, seconds since 1970."""

import re
from typing import Final

from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import InvalidInput

UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO: Final = re.compile(r"(?:now)?\s*-?\s*(\d{1,9})\s*([smhdw])", re.ASCII)
_NUMBER: Final = re.compile(r"\d{9,13}(\.\d+)?", re.ASCII)
_HINT: Final = "Write now, now-6h, 2d, 2026-05-01, an ISO time, or seconds since 1970."


def parse_time(text: str, now: float) -> float:
    """A time in seconds since 1970."""
    given = text.strip().lower()
    if given in ("", "now"):
        return now
    if (ago := _AGO.fullmatch(given)) is not None:
        return now - int(ago[1]) * UNITS[ago[2]]
    if _NUMBER.fullmatch(given):
        number = float(given)
        return number / 1000 if number >= 1e11 else number
    try:
        return parse_iso(text.strip()).timestamp()
    except ValueError:
        raise InvalidInput(f"{text[:60]!r} is no moment.", hint=_HINT) from None


def parse_duration(text: str) -> int:
    """A duration in seconds: `5m`, `1h`, or a number of seconds."""
    given = text.strip().lower()
    if given.isascii() and given.isdecimal() and 0 < len(given) < 10 and int(given):
        return int(given)
    found = re.fullmatch(r"(\d{1,9})\s*([smhdw])", given, re.ASCII)
    if found is None or not int(found[1]):
        raise InvalidInput(f"{text[:60]!r} is not a duration.", hint="Write 300, 5m, 1h or 1d.")
    return int(found[1]) * UNITS[found[2]]
