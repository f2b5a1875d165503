"""Slows down password guessing, for all processes on the store together, without locking anyone out.

Three things are counted, each over a minute from its first failure:

* a name from one address: ten failures block only that pair;
* an address, across all names: a hundred failures block the address, unless it is this machine's own (behind a local
  proxy, every client has that address);
* a name, across all addresses: after a hundred failures, logins from addresses that have not logged in before queue for
  a turn, two a second. The right password still works.

An attempt counts in memory from its start, so that many guesses sent at once cannot slip through together. Failures are
stored in the background: no login waits for a write, and while the store cannot write, each process counts for itself.
Unknown names are counted like known ones.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pentad.kernel import sql
from pentad.kernel.client_addresses import address_key
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import PentadError, RateLimited
from pentad.kernel.ports import Database, Rows, Transaction

PAIR_ALLOWED: Final = 10
ADDRESS_ALLOWED: Final = 100
NAME_ALLOWED: Final = 100
WINDOW: Final = 60.0
TURN_SECONDS: Final = 0.5
LONGEST_WAIT: Final = 10.0
COUNTS_MOST: Final = 10_000
KNOWN_MOST: Final = 10_000
_CLOCK_SKEW: Final = 60.0
_WARN_EVERY: Final = 60.0
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", ""})

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Count:
    """Failures since a wall-clock time, and attempts that are still being checked."""

    since: float
    failures: int = 0
    open: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login that is being checked."""

    name: str
    address: str
    at: float
    subjects: tuple[str, str, str] = field(repr=False)


class FailedLogins:
    """Recent failures by name and address."""

    def __init__(
        self,
        db: Database | None = None,
        *,
        clock: Clock | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        clock = clock or SystemClock()
        self._db = db
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._pause = pause
        self._counts: dict[str, _Count] = {}
        self._known_pairs: dict[tuple[str, str], None] = {}
        self._turns: dict[str, float] = {}
        self._unwritten: dict[str, tuple[float, int]] = {}
        self._cleared: set[str] = set()
        self._writing: asyncio.Task[None] | None = None
        self._prune_at = self._monotonic()
        self._warn_at = self._monotonic()

    async def begin(self, name: str, address: str | None) -> Attempt:
        """Count an attempt as failed until it is decided; RateLimited if there were too many."""
        name, key = name.lower(), address_key(address or "")
        attempt = Attempt(name, key, self._now(), (f"pair {name} {key}", f"address {key}", f"name {name}"))
        stored = await self._stored(attempt.subjects)
        pair, whole_address, whole_name = (self._level(subject, stored, attempt.at) for subject in attempt.subjects)
        bounds = [(pair, PAIR_ALLOWED)]
        if key not in _LOOPBACK:
            bounds.append((whole_address, ADDRESS_ALLOWED))
        for (level, since), allowed in bounds:
            if level >= allowed:
                raise RateLimited(
                    "Too many failed logins.",
                    retry_after=since + WINDOW - attempt.at,
                    hint="Wait, then check the name and the password before trying again.",
                )
        for subject in attempt.subjects:
            self._count(subject, attempt.at).open += 1
        try:
            if whole_name[0] >= NAME_ALLOWED and (name, key) not in self._known_pairs:
                await self._wait_for_turn(name)
        except BaseException:
            self.withdraw(attempt)
            raise
        return attempt

    def withdraw(self, attempt: Attempt) -> None:
        """Undo an attempt that was not decided, for example while the store was unavailable."""
        for subject in attempt.subjects:
            if (count := self._counts.get(subject)) is not None:
                count.open = max(0, count.open - 1)

    def failed(self, attempt: Attempt) -> None:
        """Count a wrong password; the store is updated in the background."""
        self.withdraw(attempt)
        for subject in attempt.subjects:
            self._count(subject, attempt.at).failures += 1
            since, failures = self._unwritten.get(subject, (attempt.at, 0))
            self._unwritten[subject] = since, failures + 1
        self._write_soon()

    def succeeded(self, attempt: Attempt) -> None:
        """Record a correct password: forget the failures of that name from that address, and let the pair skip the
        queue."""
        self.withdraw(attempt)
        pair = attempt.subjects[0]
        known = self._counts.pop(pair, None)
        self._unwritten.pop(pair, None)
        self._known_pairs.pop((attempt.name, attempt.address), None)
        while len(self._known_pairs) >= KNOWN_MOST:
            del self._known_pairs[next(iter(self._known_pairs))]
        self._known_pairs[attempt.name, attempt.address] = None
        if known is not None and known.failures:
            self._cleared.add(pair)
            self._write_soon()

    async def flush(self) -> None:
        """Wait until everything counted so far is stored or has failed to store."""
        while (writing := self._writing) is not None:
            await asyncio.shield(writing)

    def _level(self, subject: str, stored: Mapping[str, tuple[float, int]], now: float) -> tuple[int, float]:
        """How many failures count against a subject, and since when."""
        since, failures = stored.get(subject, (now, 0))
        if _is_over(since, now):
            since, failures = now, 0
        if (own := self._counts.get(subject)) is None:
            return failures, since
        if not _is_over(own.since, now) and own.failures >= failures:
            since, failures = own.since, own.failures
        elif failures:
            own.since, own.failures = since, failures
        return failures + own.open, since

    def _count(self, subject: str, now: float) -> _Count:
        count = self._counts.pop(subject, None)
        while len(self._counts) >= COUNTS_MOST:
            del self._counts[next(iter(self._counts))]
        if count is None:
            count = _Count(now)
        elif _is_over(count.since, now):
            count.since, count.failures = now, 0
        self._counts[subject] = count
        return count

    async def _wait_for_turn(self, name: str) -> None:
        """Wait for a turn; RateLimited if too many are waiting already."""
        now = self._monotonic()
        turn = max(now, self._turns.get(name, 0.0) + TURN_SECONDS)
        if turn - now > LONGEST_WAIT:
            raise RateLimited("Too many failed logins.", retry_after=turn - now, hint="Wait, then try again.")
        self._turns = {other: at for other, at in self._turns.items() if at > now - TURN_SECONDS}
        self._turns[name] = turn
        if turn > now:
            await self._pause(turn - now)

    async def _stored(self, subjects: Iterable[str]) -> Mapping[str, tuple[float, int]]:
        if self._db is None:
            return {}
        try:
            return await self._db.read(lambda rows: _read(rows, tuple(subjects)))
        except PentadError as error:
            self._warn(error.code)
            return {}

    def _write_soon(self) -> None:
        if self._db is not None and self._writing is None:
            self._writing = asyncio.create_task(self._write_all(self._db), name="failed-logins")

    async def _write_all(self, db: Database) -> None:
        """Write until nothing is left. While one write runs, the next one accumulates."""
        try:
            while self._unwritten or self._cleared:
                failures, self._unwritten = self._unwritten, {}
                cleared, self._cleared = self._cleared, set()
                old = None
                if self._monotonic() >= self._prune_at:
                    self._prune_at, old = self._monotonic() + WINDOW, self._now() - WINDOW
                await db.write(partial(_store, failures=failures, cleared=cleared, now=self._now(), old=old))
        except PentadError as error:
            self._warn(error.code)
        except Exception as error:  # noqa: BLE001  counting must not break a login
            self._warn(type(error).__name__)
        finally:
            self._writing = None

    def _warn(self, reason: str) -> None:
        if self._monotonic() >= self._warn_at:
            self._warn_at = self._monotonic() + _WARN_EVERY
            _log.warning("Failed logins are counted in this process only; storing them failed: %s.", reason)


def _is_over(since: float, now: float) -> bool:
    """Whether the minute from `since` is over. A time far in the future means that the clock was set back."""
    return now - since >= WINDOW or since - now > _CLOCK_SKEW


def _read(rows: Rows, subjects: tuple[str, ...]) -> Mapping[str, tuple[float, int]]:
    marks = sql.marks(len(subjects))
    found = rows.all(
        f"SELECT subject, since, failures FROM failed_logins WHERE subject IN ({marks})",  # noqa: S608  question marks
        *subjects,
    )
    return {subject: (since, failures) for subject, since, failures in found}


_ADD: Final = (
    "INSERT INTO failed_logins (subject, since, failures) VALUES (?, ?, ?) ON CONFLICT (subject) DO UPDATE SET"
    " since = CASE WHEN failed_logins.since > ? AND failed_logins.since <= ?"
    " THEN failed_logins.since ELSE excluded.since END,"
    " failures = excluded.failures + CASE WHEN failed_logins.since > ? AND failed_logins.since <= ?"
    " THEN failed_logins.failures ELSE 0 END"
)


def _store(
    tx: Transaction, failures: Mapping[str, tuple[float, int]], cleared: Iterable[str], now: float, old: float | None
) -> None:
    """Store failures, in the same order in every process so that two of them cannot deadlock."""
    tx.run_many("DELETE FROM failed_logins WHERE subject = ?", [(subject,) for subject in sorted(cleared)])
    current = now - WINDOW, now + _CLOCK_SKEW
    tx.run_many(_ADD, [(subject, *failures[subject], *current, *current) for subject in sorted(failures)])
    if old is not None:
        tx.run("DELETE FROM failed_logins WHERE since < ?", old)
