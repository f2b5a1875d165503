"""How often a principal may call: one token bucket each, shared by all processes on the store.

The bucket's truth is a row. A process leases a slice of tokens with one short write and spends it in memory, so the
usual call costs no store access at all. Whatever the schedule, `rate * t + burst` plus one slice a process is never
passed. A slice not spent in time lapses; it is not given back, which only ever errs on the strict side. While the store
cannot write, each process counts for itself.
"""

from dataclasses import dataclass
from typing import Final

from pentad.access.single_flight import SingleFlight
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import PentadError, RateLimited
from pentad.kernel.ports import Database, Row, Transaction
from pentad.kernel.principal import LOCAL

LEASE_SECONDS: Final = 2.0
CLOCKS_DIFFER_BY: Final = 60.0
PRINCIPALS_MOST: Final = 10_000
_LOCAL_ID: Final = LOCAL.id
_ROUNDING_SECONDS: Final = 1e-6  # what a float of today's epoch can tell apart, so that a told wait suffices


@dataclass(frozen=True, slots=True)
class Allowance:
    """`rate` calls a second on average, `burst` at once. A rate of 0 means no limit."""

    rate: float
    burst: int

    @property
    def slice(self) -> int:
        """What one lease takes: a tenth of a second's worth, so that at full speed ten writes a second suffice."""
        return max(1, min(int(self.rate / 10), self.burst // 4))


@dataclass(slots=True)
class _Lease:
    left: int
    until: float


class RateLimits:
    """This process's leases. `try_spend` is on the way of every call; `spend` only when a lease has run out."""

    def __init__(self, db: Database, allowance: Allowance, *, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._db = db
        self._allowance = allowance
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._is_off = allowance.rate <= 0
        self._leases: dict[str, _Lease] = {}
        self._leasing: SingleFlight[str, None] = SingleFlight()
        self._own: dict[str, tuple[float, float]] = {}
        self._alone_until = 0.0

    def try_spend(self, principal_id: str) -> bool:
        """Spend one token of the lease in hand; False means `spend` must be asked."""
        lease = self._leases.get(principal_id)
        if lease is not None and lease.left > 0 and self._monotonic() < lease.until:
            lease.left -= 1
            return True
        return self._is_off or principal_id == _LOCAL_ID

    async def spend(self, principal_id: str) -> None:
        """Spend one token, leasing more if need be; RateLimited when the bucket is empty."""
        while not self.try_spend(principal_id):
            self._refuse_while_empty(principal_id)
            await self._leasing.run(principal_id, lambda: self._lease(principal_id))

    async def prune(self) -> int:
        """Drop the rows of principals whose bucket is full again; a missing row means a full bucket."""
        if self._is_off:
            return 0
        full_since = self._now() - self._allowance.burst / self._allowance.rate - CLOCKS_DIFFER_BY
        return await self._db.write(lambda tx: tx.run("DELETE FROM rate_allowances WHERE refilled_at < ?", full_since))

    def _refuse_while_empty(self, principal_id: str) -> None:
        """A lease below zero stands for "the store said no": until it ends, refusing costs the store nothing."""
        lease = self._leases.get(principal_id)
        if lease is not None and lease.left < 0 and (wait := lease.until - self._monotonic()) > 0:
            raise RateLimited(
                "Too many calls.",
                retry_after=wait,
                hint=f"At most {self._allowance.rate:g} calls a second on average; wait and call again.",
            )

    async def _lease(self, principal_id: str) -> None:
        granted, wait = await self._take(principal_id)
        if len(self._leases) >= PRINCIPALS_MOST:
            self._drop_lapsed()
        if granted:
            self._leases[principal_id] = _Lease(granted, self._monotonic() + LEASE_SECONDS)
        else:
            self._leases[principal_id] = _Lease(-1, self._monotonic() + wait)

    async def _take(self, principal_id: str) -> tuple[int, float]:
        """From the bucket in the store; from one of this process while the store cannot write.

        Who only reads needs nothing written, so a full disk must not refuse him: the limit then holds for each process.
        """
        now = self._now()
        if self._monotonic() >= self._alone_until:
            try:
                return await self._db.write(lambda tx: _take(tx, principal_id, now, self._allowance))
            except PentadError:  # the store has said so in the log
                self._alone_until = self._monotonic() + LEASE_SECONDS
        if len(self._own) >= PRINCIPALS_MOST:
            self._own.clear()
        tokens, counted_to, granted, wait = _taken(self._own.get(principal_id), now, self._allowance)
        if granted:
            self._own[principal_id] = (tokens, counted_to)
        return granted, wait

    def _drop_lapsed(self) -> None:
        now = self._monotonic()
        self._leases = {principal_id: lease for principal_id, lease in self._leases.items() if lease.until > now}


def refilled(tokens: float, refilled_at: float, now: float, allowance: Allowance) -> tuple[float, float]:
    """The bucket as it stands now: its tokens, and the time they are counted to.

    A clock that lags behind another machine's refills nothing. One that was set back by more than machines differ
    starts again from now, so that nobody is locked out until the old time comes round.
    """
    elapsed = now - refilled_at
    if elapsed >= 0 or elapsed < -CLOCKS_DIFFER_BY:
        return min(float(allowance.burst), tokens + max(0.0, elapsed) * allowance.rate), now
    return tokens, refilled_at


def _take(tx: Transaction, principal_id: str, now: float, allowance: Allowance) -> tuple[int, float]:
    """Take a slice: how many tokens were granted, or how long until a slice will be there."""
    stored = tx.one("SELECT tokens, refilled_at FROM rate_allowances WHERE principal = ?", principal_id)
    tokens, counted_to, granted, wait = _taken(stored, now, allowance)
    if not granted:
        return 0, wait
    tx.run(
        "INSERT INTO rate_allowances (principal, tokens, refilled_at) VALUES (?, ?, ?)"
        " ON CONFLICT (principal) DO UPDATE SET tokens = excluded.tokens, refilled_at = excluded.refilled_at",
        principal_id,
        tokens,
        counted_to,
    )
    return granted, 0.0


def _taken(bucket: Row | None, now: float, allowance: Allowance) -> tuple[float, float, int, float]:
    """What is left of a bucket and counted to when, what was granted, and otherwise how long to wait."""
    tokens, refilled_at = bucket or (float(allowance.burst), now)
    tokens, counted_to = refilled(tokens, refilled_at, now, allowance)
    granted = min(allowance.slice, int(tokens + allowance.rate * _ROUNDING_SECONDS))
    if granted < 1:
        return tokens, counted_to, 0, (allowance.slice - tokens) / allowance.rate
    return tokens - granted, counted_to, granted, 0.0
