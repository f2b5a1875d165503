"""Moments as people and programs write them."""

import math
from datetime import UTC, datetime
from typing import Any, cast

from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.query.instants import key_of
from pentad.rooms.registers.query.tree import AsOf, Instant

_HINT = "Write 2026-05-17, 2026-05-17T09:30:00Z, or seconds since 1970."


def moment(value: Any, where: str) -> float:
    """Seconds since the epoch, from ISO 8601 (UTC unless it says otherwise) or from seconds."""
    if isinstance(value, str):
        try:
            if value.replace(".", "", 1).isdecimal():
                return _bounded(float(value), where)
            return parse_iso(value).timestamp()
        except (ValueError, OverflowError):
            raise InvalidInput(f"{where}: {value[:80]!r} is not a time.", hint=_HINT) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{where} must be a time.", hint=_HINT)
    return _bounded(value, where)


def instant(value: Any, where: str) -> Instant:
    """What a date-time is compared with: as exact as it was written, and in as many spellings as any time."""
    key = key_of(value) if isinstance(value, str) else None
    if key is None:
        try:
            read = datetime.fromtimestamp(moment(value, where), UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            raise InvalidInput(f"{where}: {value!r} is not a time.", hint=_HINT) from None
        key = key_of(read) or ""
        value = value if isinstance(value, str) else read
    return Instant(key, cast("str", value))


def parse_as_of(value: Any) -> AsOf:
    """A moment of the past: a time, or `change:N` (also {"change": N}) for right after a change of the feed."""
    if isinstance(value, dict):
        return AsOf(change=_change(cast("dict[str, Any]", value).get("change")))
    if isinstance(value, str) and value.startswith("change:"):
        return AsOf(change=_change(value.removeprefix("change:")))
    return AsOf(at=moment(value, "as_of"))


def _change(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InvalidInput("as_of: a change is named by its number in the feed.", hint="Write change:1234.")
    return value


def _bounded(value: float, where: str) -> float:
    if not math.isfinite(value) or abs(value) > 1e12:
        raise InvalidInput(f"{where}: {value!r} is not a time.", hint=_HINT)
    return float(value)
