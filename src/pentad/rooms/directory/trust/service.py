"""Signs records, verifies signatures, and asks domains to vouch for names.

A valid signature says who signed, not that they are honest. The trust policy says whose signatures count (`policy.py`);
a domain that vouches for the key says who owns the name. Results are stored until the signatures change, or until a
domain's answer is a week old. A bad signature or key is a result, not an exception. `cryptography` is loaded at the
first verification.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pentad.kernel.cid import cid_of
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput, NotFound, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Fetcher, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import PUBLIC_KEY, SIGNATURE, NameVerdict, SignatureVerdict
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.naming import Naming
from pentad.rooms.directory.records.referrers import Referrer, Referrers
from pentad.rooms.directory.records.service import record_not_found
from pentad.rooms.directory.records.trust_marks import VisibilityObserver
from pentad.rooms.directory.store import lock_terms
from pentad.rooms.directory.trust import store
from pentad.rooms.directory.trust.jwks import Domain, KeySetResolver, WellKnownKeySets, domain_of, find_vouched_key
from pentad.rooms.directory.trust.store import Kind, StoredResult, Subject, not_trusted, reason_of

if TYPE_CHECKING:
    from pentad.rooms.directory.trust.signatures import Signature


_MOST_BYTES: Final = 16_384
_SECONDS: Final = 10.0
_OK: Final = 200
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_PEM_HINT: Final = "Give the key as PEM text."


class KeySource:
    """Loads a key given as PEM text, a file, an environment variable or a URL. Files and variables are only for the
    owner of the machine (command line, settings): anyone else could read them that way. URLs are fetched through the
    guarded fetcher."""

    def __init__(self, fetcher: Fetcher, environment: Mapping[str, str] | None = None) -> None:
        self._fetcher = fetcher
        self._environment = os.environ if environment is None else environment

    async def text(self, given: str, what: Literal["private key", "public key"], *, local: bool = False) -> str:
        """The PEM text of a key; `local` if the owner of this machine gave the reference."""
        if "-----BEGIN " in given:
            return given
        reference = given.strip()
        if not reference or "\n" in reference or "\0" in reference:
            raise InvalidInput(f"The {what} is not PEM text.", hint="PEM text begins with -----BEGIN.")
        scheme = found[1].lower() if (found := _SCHEME.match(reference)) else ""
        if scheme == "https" or (scheme == "http" and what == "public key"):
            return await self._fetch(reference, what, local=local)
        if scheme == "http":
            raise InvalidInput("A private key is not fetched over plain http.", hint="Use https.")
        if scheme not in ("", "env"):
            raise InvalidInput(
                f"A key at {scheme[:40]}:// cannot be reached.", hint=f"{_PEM_HINT} There is no KMS here."
            )
        if not local:
            raise InvalidInput(f"The {what} is not PEM text.", hint=f"{_PEM_HINT} Files are for the command line.")
        if scheme == "env":
            return self._variable(reference[len("env://") :])
        return await asyncio.to_thread(_read_file, reference, what)

    async def _fetch(self, url: str, what: str, *, local: bool) -> str:
        try:
            answer = await self._fetcher.fetch(url, max_bytes=_MOST_BYTES, timeout=_SECONDS, trusted=local)
        except PentadError as error:
            raise Unavailable(f"The {what} cannot be fetched: {error.message}", hint=error.hint) from None
        if answer.status != _OK:
            raise Unavailable(f"The {what} cannot be fetched: HTTP status {answer.status}.", hint=_PEM_HINT)
        return answer.body.decode("utf-8", "replace")

    def _variable(self, name: str) -> str:
        if name not in self._environment:
            raise NotFound(
                f"The environment has no variable {name[:100]!r}.", hint="Set it to the PEM text of the key."
            )
        return self._environment[name]


def _read_file(path: str, what: str) -> str:
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not a path"
        raise NotFound(f"The file of the {what} cannot be read: {reason}.", hint=_PEM_HINT) from None
    if len(content) > _MOST_BYTES:
        raise InvalidInput(f"The file of the {what} is too large to be a key.", hint="Name the key's own file.")
    return content.decode("utf-8", "replace")


VALID_FOR: Final = 7 * 86_400.0
"""Seconds that a domain's answer is valid."""
ASK_AGAIN_AFTER: Final = 300.0
"""Seconds after which a domain that did not vouch is asked again on request."""
_RENEWED_BEFORE: Final = 86_400.0
_NO_VERIFICATION: Final = "no verification found"
_DAMAGED: Final = "the stored record is not what its CID says"


def signature_referrers(cid: str, signature: "Signature", public_key: str) -> tuple[Referrer, Referrer]:
    """The referrers that carry a public key and a signature."""
    signed = Referrer(SIGNATURE, cid, signature.to_json(), created_at=signature.signed_at)
    return Referrer(PUBLIC_KEY, cid, {"key": public_key}), signed


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
        observer: VisibilityObserver | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._referrers = referrers
        self._naming = naming
        self._events = events
        self._keys = KeySource(fetcher)
        self.resolver = resolver or WellKnownKeySets(fetcher, clock)
        self._valid_for = valid_for
        self._observer = observer

    async def sign(
        self, who: Principal, cid: str, private_key: str, password: str | bytes | None = None, *, local: bool = False
    ) -> "Signature":
        """Sign a record and attach signature and public key. Signing again with the same key changes nothing.

        `private_key` is PEM text or a reference; `local` if the owner of this machine gave it.
        """
        from pentad.rooms.directory.trust.keys import read_private_key
        from pentad.rooms.directory.trust.signatures import sign, signature_by

        about = await self._subject(cid)
        if about is None:
            raise record_not_found(cid)
        if cid_of(about.text.encode()) != cid:
            raise Unavailable(f"The stored text of {cid} is not what its CID says.", hint="Restore a backup.")
        text = await self._keys.text(private_key, "private key", local=local)
        key = await asyncio.to_thread(read_private_key, text, password, may_be_encrypted=local)
        if (earlier := await asyncio.to_thread(signature_by, cid, about.statements, key.public)) is not None:
            return earlier
        signature = await asyncio.to_thread(sign, key, cid, iso(self._clock.now()))
        public, signed = map(self._referrers.checked, signature_referrers(cid, signature, key.public.pem))
        metadata = {"signer": f"key:{key.public.algorithm} sha256:{key.public.fingerprint}"}

        def work(tx: Transaction) -> None:
            key_is_new = not store.has_statement(tx, public.cid)
            self._referrers.write(tx, who, [public, signed])
            self._events.emit(tx, EventType.RECORD_SIGNED, [cid], metadata=metadata)
            if key_is_new:
                self._events.emit(tx, EventType.PUBLIC_KEY_UPLOADED, [cid], metadata=metadata)

        await self._database.write(work)
        await self.verify(cid)
        return signature

    async def verify(self, cid: str, key: str | None = None, *, local: bool = False) -> SignatureVerdict:
        """Verify a record's signatures and apply the trust policy. With `key` (PEM text or a reference), only that
        key's signature counts, regardless of the policy."""
        about = await self._subject(cid)
        if about is None:
            return not_trusted("record not found")
        if key is None:
            verdict = await self._verdict(about)
            if not verdict.success:
                return verdict
            evaluated = about.policy.evaluate(about.name, [one.identity for one in verdict.signers])
            message = "trusted" if evaluated.trusted_by else f"not trusted: {evaluated.reason}"
            return replace(
                verdict, success=bool(evaluated.trusted_by), message=message, trusted_by=evaluated.trusted_by
            )  # fmt: skip
        try:
            text = await self._keys.text(key, "public key", local=local)
            return await asyncio.to_thread(_check_signatures, about, text)
        except PentadError as error:
            return not_trusted(reason_of(error))

    async def verify_name(self, cid: str | None, name: str | None, version: str | None = None) -> NameVerdict:
        """Whether the domain in a record's name vouches for its signer. Asks the domain if necessary."""
        about = await self._subject(await self._cid_of(cid, name, version))
        if about is None:
            return NameVerdict(False, "record not found")
        stored = about.results.get("name")
        if stored is not None:
            seconds = self._valid_for if stored.success else ASK_AGAIN_AFTER
            if self._clock.now() - stored.checked_at < seconds:
                return self._name_verdict(stored)
        return await self._ask_domain(about)

    async def verification_info(self, cid: str | None, name: str | None, version: str | None = None) -> NameVerdict:
        """The stored result of `verify_name`. Does not ask the domain."""
        about = await self._cid_of(cid, name, version)
        return self._name_verdict(await self._database.read(lambda rows: store.find_result(rows, about, "name")))

    async def refresh(self, limit: int = 100) -> Refreshed:
        """Verify unchecked signatures, and ask domains again before their answers expire; at most `limit` each."""
        now = self._clock.now()
        fresh = now - (self._valid_for - _RENEWED_BEFORE)
        unchecked = await self._database.read(lambda rows: store.unchecked(rows, limit))
        for cid in unchecked:
            await self.verify(cid)
        names = await self._database.read(
            lambda rows: store.unverified_names(rows, limit) + store.stale(rows, fresh, now - _RENEWED_BEFORE, limit)
        )
        for cid in names[:limit]:
            if (about := await self._subject(cid)) is not None:
                await self._ask_domain(about)
        return Refreshed(len(unchecked), len(names[:limit]))

    async def _subject(self, cid: str) -> Subject | None:
        return await self._database.read(lambda rows: store.find_subject(rows, cid))

    async def _cid_of(self, cid: str | None, name: str | None, version: str | None) -> str:
        if cid:
            return cid
        if not name:
            raise InvalidInput("either cid or name is required")
        return (await self._naming.resolve(name, version or None))[0].cid

    async def _verdict(self, about: Subject) -> SignatureVerdict:
        """Whether any signature is valid, regardless of the policy. The record is hashed again every time, which is
        cheap."""
        if cid_of(about.text.encode()) != about.cid:
            return not_trusted(_DAMAGED)
        if (stored := about.results.get("signatures")) is not None:
            return store.stored_verdict(stored)
        verdict = await asyncio.to_thread(_check_signatures, about)
        if any(one.type == SIGNATURE for one in about.statements):
            await self._save(about, "signatures", verdict.success, store.verdict_json(verdict))
        return verdict

    async def _ask_domain(self, about: Subject) -> NameVerdict:
        verdict = await self._verdict(about)
        if not verdict.success:
            return NameVerdict(False, f"{_NO_VERIFICATION}: {verdict.message}")
        domain = domain_of(about.name)
        if domain is None:
            error = f"{_NO_VERIFICATION}: the name does not begin with https:// and a domain"
            return await self._save_answer(about, Domain("", ""), error)
        try:
            key_set = await self.resolver.key_set(domain)
        except PentadError as error:
            stored = about.results.get("name")
            if stored is not None and stored.success and self._clock.now() - stored.checked_at < self._valid_for:
                return self._name_verdict(stored)  # the last answer is still valid
            return await self._save_answer(
                about, domain, f"the keys of {domain.authority} are unknown: {error.message}"
            )
        key_id = await asyncio.to_thread(_vouched_key_id, key_set, verdict)
        if key_id is None:
            return await self._save_answer(
                about, domain, f"{domain.authority} does not publish a key that signed the record"
            )
        return await self._save_answer(about, domain, key_id=key_id)

    async def _save_answer(
        self, about: Subject, domain: Domain, error: str | None = None, key_id: str = ""
    ) -> NameVerdict:  # fmt: skip
        body = {"domain": domain.authority, "method": "wellknown", "key_id": key_id, "error": error}
        return self._name_verdict(await self._save(about, "name", error is None, body))

    async def _save(self, about: Subject, kind: Kind, success: bool, body: Mapping[str, Any]) -> StoredResult:
        found = StoredResult(success, body, self._clock.now())

        def work(tx: Transaction) -> None:
            lock_terms(tx, self._database.dialect)  # a verdict may change what the registry shows
            store.save_result(tx, about, kind, found, self._observer)

        try:
            await self._database.write(work)
        except PentadError as error:
            log_failure(error, "Storing a verification")  # the next call verifies again
        return found

    def _name_verdict(self, stored: StoredResult | None) -> NameVerdict:
        if stored is None:
            return NameVerdict(False, _NO_VERIFICATION)
        if not stored.success or self._clock.now() - stored.checked_at >= self._valid_for:
            return NameVerdict(False, stored.body.get("error") or "verification invalid or expired")
        facts = stored.body
        return NameVerdict(True, None, facts["domain"], facts["method"], facts["key_id"], iso(stored.checked_at))


def _check_signatures(about: Subject, key: str | None = None) -> SignatureVerdict:
    """The verdict on all signatures, or with `key` (PEM text) on that key's. Runs in a thread."""
    from pentad.rooms.directory.trust.keys import read_public_key
    from pentad.rooms.directory.trust.signatures import check_signatures

    only = None if key is None else read_public_key(key)
    if cid_of(about.text.encode()) != about.cid:
        return not_trusted(_DAMAGED)
    return check_signatures(about.cid, about.statements, only)


def _vouched_key_id(key_set: Mapping[str, Any], verdict: SignatureVerdict) -> str | None:
    from pentad.rooms.directory.trust.keys import read_public_key

    found = find_vouched_key(key_set, [read_public_key(one.identity) for one in verdict.signers])
    return found.key_id if found is not None else None
