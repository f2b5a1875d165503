"""Rate limits: one token bucket per principal, shared by all processes on the store.

The bucket is a row. A process leases a slice of tokens with one short write and spends it in memory, so most calls need
no store access. The limit is never exceeded by more than one slice per process. Unused tokens of an expired lease are
not returned, which errs on the strict side. While the store cannot write, each process counts for itself.
"""

from dataclasses import dataclass
from typing import Final

from pentad.access.single_flight import SingleFlight
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import PentadError, RateLimited
from pentad.kernel.ports import Database, Row, Transaction
from pentad.kernel.principal import LOCAL

LEASE_SECONDS: Final = 2.0
CLOCK_SKEW: Final = 60.0
LEASES_MOST: Final = 10_000
_LOCAL_ID: Final = LOCAL.id
_ROUNDING_SECONDS: Final = 1e-6  # the precision of a float timestamp, so that waiting `retry_after` is enough


@dataclass(frozen=True, slots=True)
class Allowance:
    """`rate` calls a second on average, `burst` at once. A rate of 0 means no limit."""

    rate: float
    burst: int

    @property
    def slice(self) -> int:
        """Tokens per lease: a tenth of a second's worth, so that at full speed ten writes a second are enough."""
        return max(1, min(int(self.rate / 10), self.burst // 4))


@dataclass(slots=True)
class _Lease:
    left: int
    until: float


class RateLimits:
    """The leases of this process. Every call tries `try_spend` first; `spend` handles a lease that has run out."""

    def __init__(self, db: Database, allowance: Allowance, *, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._db = db
        self._allowance = allowance
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._is_off = allowance.rate <= 0
        self._leases: dict[str, _Lease] = {}
        self._leasing: SingleFlight[str, None] = SingleFlight()
        self._local_buckets: dict[str, tuple[float, float]] = {}
        self._local_until = 0.0

    def try_spend(self, principal_id: str) -> bool:
        """Spend a token of the current lease; if False, call `spend`."""
        lease = self._leases.get(principal_id)
        if lease is not None and lease.left > 0 and self._monotonic() < lease.until:
            lease.left -= 1
            return True
        return self._is_off or principal_id == _LOCAL_ID

    async def spend(self, principal_id: str) -> None:
        """Spend a token, leasing more if needed; RateLimited if the bucket is empty."""
        while not self.try_spend(principal_id):
            self._refuse_while_empty(principal_id)
            await self._leasing.run(principal_id, lambda: self._lease(principal_id))

    async def prune(self) -> int:
        """Delete the rows of full buckets; a missing row means a full bucket."""
        if self._is_off:
            return 0
        full_since = self._now() - self._allowance.burst / self._allowance.rate - CLOCK_SKEW
        return await self._db.write(lambda tx: tx.run("DELETE FROM rate_allowances WHERE refilled_at < ?", full_since))

    def _refuse_while_empty(self, principal_id: str) -> None:
        """Refuse calls during a negative lease: the bucket was empty, so until it ends the store need not be asked."""
        lease = self._leases.get(principal_id)
        if lease is not None and lease.left < 0 and (wait := lease.until - self._monotonic()) > 0:
            raise RateLimited(
                "Too many calls.",
                retry_after=wait,
                hint=f"At most {self._allowance.rate:g} calls a second on average; wait and call again.",
            )

    async def _lease(self, principal_id: str) -> None:
        granted, wait = await self._take(principal_id)
        if len(self._leases) >= LEASES_MOST:
            self._drop_expired()
        if granted:
            self._leases[principal_id] = _Lease(granted, self._monotonic() + LEASE_SECONDS)
        else:
            self._leases[principal_id] = _Lease(-1, self._monotonic() + wait)

    async def _take(self, principal_id: str) -> tuple[int, float]:
        """Take tokens from the bucket in the store, or from a local one while the store cannot write.

        A full disk must not lock out callers that only read.
        """
        now = self._now()
        if self._monotonic() >= self._local_until:
            try:
                return await self._db.write(lambda tx: _take(tx, principal_id, now, self._allowance))
            except PentadError:  # already logged by the store
                self._local_until = self._monotonic() + LEASE_SECONDS
        if len(self._local_buckets) >= LEASES_MOST:
            self._local_buckets.clear()
        tokens, counted_to, granted, wait = _taken(self._local_buckets.get(principal_id), now, self._allowance)
        if granted:
            self._local_buckets[principal_id] = (tokens, counted_to)
        return granted, wait

    def _drop_expired(self) -> None:
        now = self._monotonic()
        self._leases = {principal_id: lease for principal_id, lease in self._leases.items() if lease.until > now}


def refilled(tokens: float, refilled_at: float, now: float, allowance: Allowance) -> tuple[float, float]:
    """The tokens in the bucket now, and the time up to which they are counted.

    A clock that lags behind another machine's refills nothing. If the clock was set back by more than the usual skew,
    counting restarts from now, so that nobody is locked out until the old time is reached again.
    """
    elapsed = now - refilled_at
    if elapsed >= 0 or elapsed < -CLOCK_SKEW:
        return min(float(allowance.burst), tokens + max(0.0, elapsed) * allowance.rate), now
    return tokens, refilled_at


def _take(tx: Transaction, principal_id: str, now: float, allowance: Allowance) -> tuple[int, float]:
    """Take a slice; returns the tokens granted, and if none, the seconds until there is a slice."""
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
    """The tokens left, the time up to which they are counted, the tokens granted, and if none, the seconds to wait."""
    tokens, refilled_at = bucket or (float(allowance.burst), now)
    tokens, counted_to = refilled(tokens, refilled_at, now, allowance)
    granted = min(allowance.slice, int(tokens + allowance.rate * _ROUNDING_SECONDS))
    if granted < 1:
        return tokens, counted_to, 0, (allowance.slice - tokens) / allowance.rate
    return tokens - granted, counted_to, granted, 0.0
