"""Moments as people write them: `now`, `now-6h`, `2d` (ago), a date, an ISO time, or seconds since 1970."""

import re
from typing import Final

from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import InvalidInput

UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO: Final = re.compile(r"(?:now)?\s*-?\s*(\d{1,9})\s*([smhdw])", re.ASCII)
_NUMBER: Final = re.compile(r"\d{9,13}(\.\d+)?", re.ASCII)
_HINT: Final = "Write now, now-6h, 2d, 2026-05-01, an ISO time, or seconds since 1970."


def moment(text: str, now: float) -> float:
    """Seconds since 1970."""
    said = text.strip().lower()
    if said in ("", "now"):
        return now
    if (ago := _AGO.fullmatch(said)) is not None:
        return now - int(ago[1]) * UNITS[ago[2]]
    if _NUMBER.fullmatch(said):
        number = float(said)
        return number / 1000 if number >= 1e11 else number
    try:
        return parse_iso(text.strip()).timestamp()
    except ValueError:
        raise InvalidInput(f"{text[:60]!r} is no moment.", hint=_HINT) from None


def span(text: str) -> int:
    """A length of time in seconds: `5m`, `1h`, or a number of seconds."""
    said = text.strip().lower()
    if said.isascii() and said.isdecimal() and 0 < len(said) < 10 and int(said):
        return int(said)
    found = re.fullmatch(r"(\d{1,9})\s*([smhdw])", said, re.ASCII)
    if found is None or not int(found[1]):
        raise InvalidInput(f"{text[:60]!r} is no length of time.", hint="Write 300, 5m, 1h or 1d.")
    return int(found[1]) * UNITS[found[2]]
