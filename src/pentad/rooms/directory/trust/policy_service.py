"""Manages the trust policy: its entries, the keys of issuers, and re-evaluating all records after a change."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from pentad.jobs.job import JobRun
from pentad.jobs.queue import JobQueue
from pentad.kernel.errors import Conflict, InvalidInput, NotFound, PentadError, Unavailable
from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.namespaces import checked_namespace
from pentad.rooms.directory.records.trust_marks import QuarantinedRecord, VisibilityObserver, quarantined_records
from pentad.rooms.directory.store import lock_terms
from pentad.rooms.directory.trust.jwks import KeySetResolver, domain_of, keys_of
from pentad.rooms.directory.trust.policy import TrustEntry, entries, evaluate_portion

JOB: Final = "directory.policy"
"""Applies the policy to all records."""
KEY: Final = "all"
MOST_ENTRIES: Final = 1_000
LONGEST_NAME: Final = 100
ISSUER_SECONDS: Final = 3_600.0
"""How often the keys of issuers are fetched."""
SILENT_SECONDS: Final = 7 * 86_400.0
"""How long the last known keys of an unreachable issuer count."""
_PORTION: Final = 500
_SETTLE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The policy as administrators see it."""

    entries: Sequence[TrustEntry]
    quarantined: int
    pending: bool
    """Whether a change is still being applied to the records."""

    def as_json(self) -> dict[str, Any]:
        listed = [one.as_json() for one in self.entries]
        return {"entries": listed, "quarantined": self.quarantined, "pending": self.pending}


class TrustPolicy:
    """The trust policy of one store."""

    def __init__(self, jobs: JobQueue, resolver: KeySetResolver, *, observer: VisibilityObserver | None = None) -> None:
        self._observer = observer
        self._jobs = jobs
        self._database = jobs.database
        self._clock = jobs.clock
        self._resolver = resolver

    async def state(self) -> PolicyState:
        def work(rows: Rows) -> tuple[list[TrustEntry], int]:
            return entries(rows), rows.value("SELECT count(*) FROM directory_quarantine")

        found, held = await self._database.read(work)
        return PolicyState(found, held, await self._jobs.is_pending(JOB, KEY))

    async def quarantined(self, limit: int = 100, after: str = "") -> list[QuarantinedRecord]:
        """Records in quarantine, with the reasons."""
        return await self._database.read(lambda rows: quarantined_records(rows, limit, after))

    async def add(
        self, who: Principal, name: str, namespace: str = "", *, key: str | None = None, issuer: str | None = None
    ) -> None:
        """Trust a public key (PEM), or the keys that an issuer (https://host) publishes, in a namespace."""
        title, where = name.strip(), checked_namespace(namespace)
        if not title or len(title) > LONGEST_NAME or not title.isprintable():
            raise InvalidInput(f"The name of an entry has 1 to {LONGEST_NAME} printable characters.")
        if (key is None) == (issuer is None):
            raise InvalidInput("An entry has either a key or an issuer.", hint="Give one of them.")
        origin = "" if issuer is None else _origin(issuer)
        keys = await self._issuer_keys(origin) if key is None else [await asyncio.to_thread(_normalized, key)]
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            known = entries(tx)
            if any((one.namespace, one.name) == (where, title) for one in known):
                raise Conflict(f"The policy has an entry {title!r} for this namespace.", hint="Remove it first.")
            if len(known) >= MOST_ENTRIES:
                raise InvalidInput(f"A policy has at most {MOST_ENTRIES} entries.", hint="Remove one.")
            tx.run(
                "INSERT INTO directory_trust_entries (namespace, name, issuer, keys, checked_at, created_by,"
                " created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                where, title, origin, msgspec.json.encode(keys).decode(), now, who.id, now,
            )  # fmt: skip
            self.changed(tx)

        await self._database.write(work)

    async def remove(self, name: str, namespace: str = "") -> None:
        """Stop trusting a key or an issuer."""
        where = checked_namespace(namespace)

        def work(tx: Transaction) -> None:
            sql = "DELETE FROM directory_trust_entries WHERE namespace = ? AND name = ?"
            if not tx.run(sql, where, name.strip().replace("\0", "")):
                raise NotFound(f"The policy has no entry {name[:LONGEST_NAME]!r} for {where or 'all names'}.")
            self.changed(tx)

        await self._database.write(work)

    def changed(self, tx: Transaction) -> None:
        """Evaluate all records again after this transaction."""
        self._jobs.enqueue(tx, JOB, key=KEY)

    async def settle(self) -> PolicyState:
        """Apply a change immediately, for a few seconds at most, so that the caller sees its effect; a command has no
        workers. The job applies it again in any case."""
        until = self._clock.monotonic() + _SETTLE_SECONDS
        last: int | None = 0
        while last is not None and self._clock.monotonic() < until:
            last = await self._database.write(lambda tx, after=last: self._portion(tx, after, None))
        return replace(await self.state(), pending=last is not None)

    async def run(self, run: JobRun) -> None:
        """The job: evaluate all records again."""
        last: int | None = 0
        while last is not None:
            last = await self._database.write(lambda tx, after=last: self._portion(tx, after, run))

    def _portion(self, tx: Transaction, after: int, run: JobRun | None) -> int | None:
        lock_terms(tx, self._database.dialect)  # a verdict may change what the registry shows
        if run is not None:
            run.check(tx)
        return evaluate_portion(tx, after, _PORTION, self._clock.now(), self._observer)

    async def refresh_issuers(self) -> int:
        """Fetch the keys of issuers that are due. Returns how many changed."""
        now, changed = self._clock.now(), 0
        for one in await self._database.read(entries):
            if not one.issuer or (now - one.checked_at < ISSUER_SECONDS and not one.problem):
                continue
            keys, checked_at, problem = one.keys, one.checked_at, None
            try:
                keys, checked_at = tuple(await self._issuer_keys(one.issuer)), now
            except PentadError as error:
                problem = error.message
                if now - one.checked_at >= SILENT_SECONDS:
                    keys = ()
            changed += await self._database.write(
                lambda tx, one=one, found=(keys, checked_at, problem): self._save_keys(tx, one, *found)
            )
        return changed

    def _save_keys(
        self, tx: Transaction, one: TrustEntry, keys: Sequence[str], checked_at: float, problem: str | None
    ) -> bool:
        tx.run(
            "UPDATE directory_trust_entries SET keys = ?, checked_at = ?, problem = ? WHERE namespace = ? AND name = ?",
            msgspec.json.encode(keys).decode(), checked_at, problem, one.namespace, one.name,
        )  # fmt: skip
        if tuple(keys) == one.keys:
            return False
        self.changed(tx)
        return True

    async def _issuer_keys(self, origin: str) -> list[str]:
        domain = domain_of(origin)
        if domain is None:
            raise InvalidInput(f"{origin[:100]!r} is not an issuer.", hint="Write https:// and a host name.")
        key_set = await self._resolver.key_set(domain)
        keys = await asyncio.to_thread(lambda: [found.key.pem for found in keys_of(key_set)])
        if not keys:
            raise Unavailable(f"{domain.authority} publishes no keys that can verify signatures.")
        return keys


def _origin(issuer: str) -> str:
    domain = domain_of(issuer.strip())
    if domain is None or domain.scheme != "https":
        raise InvalidInput(f"{issuer[:100]!r} is not an issuer.", hint="Write https:// and a host name.")
    return f"{domain.scheme}://{domain.authority}"


def _normalized(key: str) -> str:
    from pentad.rooms.directory.trust.keys import read_public_key

    return read_public_key(key).pem
