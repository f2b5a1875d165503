"""Clocks and randomness as parameters, so that tests can control them; reading and writing ISO 8601 times."""

import os
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """Wall time for records, monotonic time for durations."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...


class SystemClock:
    """The machine's own clock."""

    __slots__ = ()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class Randomness(Protocol):
    """A source of unguessable bytes."""

    def token_bytes(self, count: int) -> bytes: ...


class SystemRandomness:
    """The operating system's random source."""

    __slots__ = ()

    def token_bytes(self, count: int) -> bytes:
        return os.urandom(count)


def parse_iso(text: str) -> datetime:
    """An ISO 8601 time or date, in UTC unless it names an offset; ValueError if it is neither."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@lru_cache(8_192)  # one response often repeats the same few times
def iso(seconds: float) -> str:
    """RFC 3339 in UTC with milliseconds: how Pentad writes every time."""
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat(timespec='milliseconds')[:-6]}Z"


def to_minute(text: str | None) -> str:
    """An ISO 8601 time as pages show it; empty without one."""
    return (text or "")[:16].replace("T", " ")


def to_second(text: str | None) -> str:
    """The same to the second."""
    return (text or "")[:19].replace("T", " ")
