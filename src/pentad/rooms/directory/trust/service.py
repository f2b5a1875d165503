"""Trust in records: signing, verifying signatures, and asking domains to vouch for a name.

A valid signature says who signed, not that they are honest; a domain that vouches for the key says who owns the name.
Results are stored until the signatures change, or until a domain's answer is a week old. A bad signature or key is a
result, not an exception. `cryptography` is loaded at the first verification.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pentad.kernel.cid import cid_of
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Fetcher, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.naming import Naming
from pentad.rooms.directory.records.records import record_not_found
from pentad.rooms.directory.records.referrers import PUBLIC_KEY, SIGNATURE, Referrer, Referrers
from pentad.rooms.directory.trust import store
from pentad.rooms.directory.trust.jwks import Domain, KeySetResolver, WellKnownKeySets, domain_of, find_vouched_key
from pentad.rooms.directory.trust.key_sources import KeySource
from pentad.rooms.directory.trust.store import Kept, Kind, Subject
from pentad.rooms.directory.trust.verdicts import (
    EXPIRED,
    NO_VERIFICATION,
    NOT_FOUND,
    WELL_KNOWN,
    DomainVerdict,
    SignatureVerdict,
    not_trusted,
    read_verdict,
    reason_of,
)

if TYPE_CHECKING:
    from pentad.rooms.directory.trust.keys import PublicKey
    from pentad.rooms.directory.trust.signing import Signature

VALID_FOR: Final = 7 * 86_400.0
"""Seconds that a domain's answer is valid."""
ASK_AGAIN_AFTER: Final = 300.0
"""Seconds after which a domain that did not vouch is asked again on request."""
_RENEWED_BEFORE: Final = 86_400.0

_DAMAGED: Final = "the stored record is not what its CID says"

_log = logging.getLogger(__name__)


class Refreshed(NamedTuple):
    """How many records were verified again."""

    signatures: int
    names: int


class Trust:
    """Verifies signatures of records and the domains in their names."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        fetcher: Fetcher,
        referrers: Referrers,
        naming: Naming,
        events: Events,
        *,
        resolver: KeySetResolver | None = None,
        valid_for: float = VALID_FOR,
    ) -> None:
        self._database = database
        self._clock = clock
        self._referrers = referrers
        self._naming = naming
        self._events = events
        self._keys = KeySource(fetcher)
        self._resolver = resolver or WellKnownKeySets(fetcher, clock)
        self._valid_for = valid_for

    async def sign(
        self, who: Principal, cid: str, private_key: str, password: str | bytes | None = None, *, local: bool = False
    ) -> "Signature":
        """Sign a record and attach signature and public key. Signing again with the same key changes nothing.

        `private_key` is PEM text or a reference; `local` if the owner of this machine gave it.
        """
        from pentad.rooms.directory.trust.keys import read_private_key
        from pentad.rooms.directory.trust.signing import sign

        about = await self._subject(cid)
        if about is None:
            raise record_not_found(cid)
        if cid_of(about.text.encode()) != cid:
            raise Unavailable(f"The stored text of {cid} is not what its CID says.", hint="Restore a backup.")
        text = await self._keys.text(private_key, "private key", local=local)
        key = await asyncio.to_thread(read_private_key, text, password, may_be_encrypted=local)
        if (earlier := await asyncio.to_thread(_signature_by, about, key.public)) is not None:
            return earlier
        at = iso(self._clock.now())
        signature = await asyncio.to_thread(sign, key, cid, at)
        signed = self._referrers.checked(Referrer(SIGNATURE, cid, signature.to_json(), created_at=at))
        public = self._referrers.checked(Referrer(PUBLIC_KEY, cid, {"key": key.public.pem}))
        told = {"signer": f"key:{key.public.algorithm} sha256:{key.public.fingerprint}"}

        def work(tx: Transaction) -> None:
            key_is_new = not store.has_statement(tx, public.cid)
            self._referrers.write(tx, who, [public, signed])
            self._events.emit(tx, EventType.RECORD_SIGNED, [cid], metadata=told)
            if key_is_new:
                self._events.emit(tx, EventType.PUBLIC_KEY_UPLOADED, [cid], metadata=told)

        await self._database.write(work)
        return signature

    async def verify(self, cid: str, key: str | None = None, *, local: bool = False) -> SignatureVerdict:
        """Verify the record's signatures; with `key` (PEM text or a reference), only that key's."""
        about = await self._subject(cid)
        if about is None:
            return not_trusted(NOT_FOUND)
        if key is None:
            return await self._verdict(about)
        try:
            text = await self._keys.text(key, "public key", local=local)
            return await asyncio.to_thread(_checked_with, about, text)
        except PentadError as error:
            return not_trusted(reason_of(error))

    async def verify_name(self, cid: str | None, name: str | None, version: str | None = None) -> DomainVerdict:
        """Whether the domain in a record's name vouches for its signer. Asks the domain if necessary."""
        about = await self._subject(await self._meant(cid, name, version))
        if about is None:
            return DomainVerdict(False, NOT_FOUND)
        kept = about.kept.get("name")
        if kept is not None and self._clock.now() - kept.checked_at < self._use(kept):
            return self._domain_verdict(kept)
        return await self._ask_domain(about)

    async def verification_info(self, cid: str | None, name: str | None, version: str | None = None) -> DomainVerdict:
        """The stored result of `verify_name`. Does not ask the domain."""
        meant = await self._meant(cid, name, version)
        return self._domain_verdict(await self._database.read(lambda rows: store.kept_of(rows, meant, "name")))

    async def refresh(self, limit: int = 100) -> Refreshed:
        """Verify unchecked signatures, and ask domains again before their answers expire; at most `limit` each."""
        now = self._clock.now()
        fresh = now - (self._valid_for - _RENEWED_BEFORE)
        unchecked = await self._database.read(lambda rows: store.unchecked(rows, limit))
        for cid in unchecked:
            await self.verify(cid)
        names = await self._database.read(
            lambda rows: store.unproved(rows, limit) + store.stale(rows, fresh, now - _RENEWED_BEFORE, limit)
        )
        for cid in names[:limit]:
            if (about := await self._subject(cid)) is not None:
                await self._ask_domain(about)
        return Refreshed(len(unchecked), len(names[:limit]))

    async def _subject(self, cid: str) -> Subject | None:
        return await self._database.read(lambda rows: store.subject(rows, cid))

    async def _meant(self, cid: str | None, name: str | None, version: str | None) -> str:
        if cid:
            return cid
        if not name:
            raise InvalidInput("either cid or name is required")
        return (await self._naming.resolve(name, version or None))[0].cid

    async def _verdict(self, about: Subject) -> SignatureVerdict:
        """The verdict on all signatures. The record is hashed again every time, which is cheap."""
        if cid_of(about.text.encode()) != about.cid:
            return not_trusted(_DAMAGED)
        if (kept := about.kept.get("signatures")) is not None:
            return read_verdict(kept.success, kept.body)
        verdict = await asyncio.to_thread(_checked, about)
        if any(one.type == SIGNATURE for one in about.statements):
            await self._keep(about, "signatures", verdict.success, verdict.to_json())
        return verdict

    async def _ask_domain(self, about: Subject) -> DomainVerdict:
        verdict = await self._verdict(about)
        if not verdict.success:
            return DomainVerdict(False, f"{NO_VERIFICATION}: {verdict.message}")
        domain = domain_of(about.name)
        if domain is None:
            error = f"{NO_VERIFICATION}: the name does not begin with https:// and a domain"
            return await self._answered(about, Domain("", ""), error)
        try:
            key_set = await self._resolver.key_set(domain)
        except PentadError as error:
            kept = about.kept.get("name")
            if kept is not None and kept.success and self._clock.now() - kept.checked_at < self._valid_for:
                return self._domain_verdict(kept)  # the last answer is still valid
            return await self._answered(about, domain, f"the keys of {domain.authority} are unknown: {error.message}")
        key_id = await asyncio.to_thread(_vouched_key_id, key_set, verdict)
        if key_id is None:
            return await self._answered(
                about, domain, f"{domain.authority} does not publish a key that signed the record"
            )
        return await self._answered(about, domain, key_id=key_id)

    async def _answered(
        self, about: Subject, domain: Domain, error: str | None = None, key_id: str = ""
    ) -> DomainVerdict:  # fmt: skip
        body = {"domain": domain.authority, "method": WELL_KNOWN, "key_id": key_id, "error": error}
        return self._domain_verdict(await self._keep(about, "name", error is None, body))

    async def _keep(self, about: Subject, kind: Kind, success: bool, body: Mapping[str, Any]) -> Kept:
        found = Kept(success, body, self._clock.now())
        try:
            await self._database.write(lambda tx: store.keep(tx, about, kind, found))
        except PentadError as error:
            log_failure(error, "Keeping what checking a record came to")  # it is found out again
        return found

    def _use(self, kept: Kept) -> float:
        """How many seconds a domain's answer is used."""
        return self._valid_for if kept.success else ASK_AGAIN_AFTER

    def _domain_verdict(self, kept: Kept | None) -> DomainVerdict:
        if kept is None:
            return DomainVerdict(False, NO_VERIFICATION)
        if not kept.success or self._clock.now() - kept.checked_at >= self._valid_for:
            return DomainVerdict(False, kept.body.get("error") or EXPIRED)
        facts = kept.body
        return DomainVerdict(True, None, facts["domain"], facts["method"], facts["key_id"], iso(kept.checked_at))


def _checked(about: Subject) -> SignatureVerdict:
    from pentad.rooms.directory.trust.verification import check_signatures

    return check_signatures(about.cid, about.statements)


def _checked_with(about: Subject, key: str) -> SignatureVerdict:
    from pentad.rooms.directory.trust.keys import read_public_key
    from pentad.rooms.directory.trust.verification import check_signatures

    only = read_public_key(key)
    if cid_of(about.text.encode()) != about.cid:
        return not_trusted(_DAMAGED)
    return check_signatures(about.cid, about.statements, only)


def _signature_by(about: Subject, key: "PublicKey") -> "Signature | None":
    """This key's earlier signature of the record, if the public key is attached too."""
    from pentad.rooms.directory.trust.verification import signature_by

    return signature_by(about.cid, about.statements, key)


def _vouched_key_id(key_set: Mapping[str, Any], verdict: SignatureVerdict) -> str | None:
    from pentad.rooms.directory.trust.keys import read_public_key

    found = find_vouched_key(key_set, [read_public_key(one.identity) for one in verdict.signers])
    return found.key_id if found is not None else None
