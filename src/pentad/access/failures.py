"""Guessing passwords is made slow: ten failures for one name within a minute close that name for a while.

Counted in this process only: several processes multiply the allowance by their number, which argon2 makes bearable.
An attempt counts from its start, so that many guesses sent at once do not slip through together. Names that do not
exist are counted like those that do.
"""

from typing import Final

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import RateLimited

ALLOWED: Final = 10
WINDOW: Final = 60.0
NAMES_MOST: Final = 10_000


class FailedLogins:
    """Recent failed attempts, by name."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._monotonic = (clock or SystemClock()).monotonic
        self._attempts: dict[str, list[float]] = {}

    def attempt(self, name: str) -> float:
        """Count an attempt as failed until it succeeds; RateLimited when there were too many."""
        now = self._monotonic()
        recent = [at for at in self._attempts.pop(name, []) if at > now - WINDOW]
        if len(recent) >= ALLOWED:
            self._attempts[name] = recent
            raise RateLimited(
                "Too many failed logins.",
                retry_after=recent[0] + WINDOW - now,
                hint="Wait, then check the name and the password before trying again.",
            )
        while len(self._attempts) >= NAMES_MOST:
            del self._attempts[next(iter(self._attempts))]
        self._attempts[name] = [*recent, now]
        return now

    def withdraw(self, name: str, attempt: float) -> None:
        """The attempt was never decided, e.g. because the store was away."""
        if attempt in (recent := self._attempts.get(name, [])):
            recent.remove(attempt)

    def succeeded(self, name: str) -> None:
        """The right password was given: the slate is clean."""
        self._attempts.pop(name, None)
