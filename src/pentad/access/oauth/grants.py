"""Grants and their tokens. A grant is one consent of a user for one client; its tokens end with it.

- A code works once, for a minute, for the client, redirect URI and PKCE verifier it was made for. A second use ends the
grant, because someone else has the code.
- A refresh token is replaced at each use. The old one remains valid for a minute, because parallel calls and several
  processes with one token are normal, and each must end up with a working token. A later use indicates theft and ends
  the grant.
- A token's rights are computed at each call: the granted rights that the user still has.
"""

import hmac
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pentad.access.oauth import store
from pentad.access.oauth.clients import Client
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.opaque_tokens import kind_of, new_token
from pentad.access.oauth.redirects import redirect_host
from pentad.access.oauth.resources import audience, narrowed_resources
from pentad.access.oauth.store import StoredCode, StoredGrant, StoredToken
from pentad.access.scopes import exceeding, narrowed, scopes_from_text, scopes_of, scopes_to_text
from pentad.access.users import user_principal_id
from pentad.kernel import base64url
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.ids import opaque_id, token_digest
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal

CODE_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 60.0
LAST_USE_EVERY: Final = 60.0
TOKENS_MOST: Final = 50
"""Live tokens of each kind that one grant may have."""
GRANTS_MOST: Final = 50
"""Live grants of one user for one client. A described client's id is shared by all its installations."""
IGNORED_SCOPES: Final = frozenset({"openid", "profile", "email", "address", "phone", "offline_access"})
"""OpenID Connect scopes that clients add automatically. They have no meaning here and are not granted."""
_CLIENT_USE_EVERY: Final = 3600.0
_REPLACED_KEPT: Final = 7 * 86_400.0
_CODES_KEPT: Final = 3600.0
_GRANTS_KEPT: Final = 90 * 86_400.0
_PRUNE_EVERY: Final = 600.0
_GRANT_ID: Final = re.compile(r"[A-Za-z0-9_-]{16}")
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_BAD_CODE: Final = "The code is unknown, expired or already used."
_BAD_REFRESH: Final = "The refresh token is unknown, expired or revoked."


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Lifetimes, in seconds."""

    access: float = 3600.0
    refresh: float = 30 * 86_400.0
    grant: float = 365 * 86_400.0


@dataclass(frozen=True, slots=True)
class Grant:
    """One consent: which client may do what, where and for how long on a user's behalf."""

    id: str
    user: str
    client_id: str
    client_name: str
    scopes: frozenset[str]
    resources: tuple[str, ...]
    redirect_uri: str
    created_at: float
    expires_at: float
    last_used_at: float | None = None
    revoked_at: float | None = None
    revoked_why: str | None = None

    @property
    def credential(self) -> str:
        return f"grant:{self.id}"

    @property
    def client_host(self) -> str:
        """The host of the redirect URI; empty for a device."""
        return redirect_host(self.redirect_uri) if self.redirect_uri else ""

    def is_live(self, now: float) -> bool:
        return self.revoked_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True)
class Consent:
    """The terms a user has agreed to."""

    user: str
    client_id: str
    client_name: str
    scopes: frozenset[str]
    resources: str
    grant_until: float


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """New tokens. They are not stored, so this is the only chance to read them."""

    grant: Grant
    access: str = field(repr=False)
    refresh: str = field(repr=False)
    scopes: frozenset[str]
    expires_in: int


@dataclass(frozen=True, slots=True)
class VerifiedGrant:
    """The principal of an access token, and when the token expires."""

    principal: Principal
    expires_at: float


class Grants:
    """The grants of one store. `on_change` is called with each grant whose cached credentials are void.

    `report` is called when a theft is detected, with the grant and a sentence.
    """

    def __init__(
        self,
        db: Database,
        *,
        lifetimes: Lifetimes | None = None,
        on_change: Callable[[str], None] | None = None,
        report: Callable[[Grant, str], None] | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self._db = db
        self.lifetimes = lifetimes or Lifetimes()
        self._on_change = on_change
        self._report = report
        self._clock = clock or SystemClock()
        self._randomness = randomness or SystemRandomness()
        self._prune_at = self._clock.monotonic()

    def new_issue(self) -> "TokenIssue":
        """New tokens, not stored yet."""
        return TokenIssue(self._randomness, self.lifetimes, self._clock.now())

    def grant_until(self) -> float:
        """When a grant made now expires."""
        return self._clock.now() + self.lifetimes.grant

    async def make_code(self, consent: Consent, *, redirect_uri: str, challenge: str) -> str:
        """A code for a client whose user has consented."""
        code = new_token("code", self._randomness)
        stored = StoredCode(
            client_id=consent.client_id,
            client_name=consent.client_name,
            user_key=consent.user.lower(),
            redirect_uri=redirect_uri,
            challenge=challenge,
            scopes=scopes_to_text(consent.scopes),
            resources=consent.resources,
            expires_at=self._clock.now() + CODE_SECONDS,
            grant_until=consent.grant_until,
        )
        await self._db.write(lambda tx: store.add_code(tx, token_digest(code), stored))
        await self._prune()
        return code

    async def redeem(
        self, code: str, client: Client, *, redirect_uri: str | None, verifier: str, resources: Sequence[str] = ()
    ) -> IssuedTokens:
        """Exchange a code for tokens. A faulty request does not use up the code; a second use ends the grant."""
        if kind_of(code) != "code":
            raise OAuthError("invalid_grant", _BAD_CODE)
        now = self._clock.now()
        issue = self.new_issue()

        def work(tx: Transaction) -> IssuedTokens | Grant:
            found = store.code(tx, token_digest(code))
            if found is None or found.client_id != client.id:
                raise OAuthError("invalid_grant", _BAD_CODE)
            if found.grant_id is not None:
                return _ended(tx, found.grant_id, now, "Its authorization code was used twice.")
            if now >= found.expires_at or not store.user_exists(tx, found.user_key):
                raise OAuthError("invalid_grant", _BAD_CODE)
            if redirect_uri is not None and redirect_uri != found.redirect_uri:
                raise OAuthError("invalid_grant", "The redirect_uri is not the one the code was sent to.")
            if not _fits_challenge(verifier, found.challenge):
                raise OAuthError("invalid_grant", "The code_verifier does not fit the code_challenge.")
            for_token = narrowed_resources(resources, found.resources)
            if not store.spend_code(tx, token_digest(code), issue.grant_id):
                raise OAuthError("invalid_grant", _BAD_CODE)
            consent = Consent(
                found.user_key,
                found.client_id,
                found.client_name,
                scopes_from_text(found.scopes),
                found.resources,
                found.grant_until,
            )
            return issue.first_tokens(tx, consent, found.redirect_uri, for_token)

        issued = await self._db.write(work)
        if isinstance(issued, Grant):
            raise self._stolen(issued, _BAD_CODE)
        await self._prune()
        return issued

    async def refresh(
        self, token: str, client: Client, *, scopes: Iterable[str] | None = None, resources: Sequence[str] = ()
    ) -> IssuedTokens:
        """New tokens for a refresh token, with the same scopes or fewer."""
        if kind_of(token) != "refresh":
            raise OAuthError("invalid_grant", _BAD_REFRESH)
        now = self._clock.now()
        issue = self.new_issue()
        asked = None if scopes is None else frozenset(scopes) - IGNORED_SCOPES

        def work(tx: Transaction) -> IssuedTokens | Grant:
            found = store.token(tx, token_digest(token))
            grant = None if found is None else store.grant(tx, found.grant_id)
            if found is None or grant is None or grant.client_id != client.id:
                raise OAuthError("invalid_grant", _BAD_REFRESH)
            is_over = now >= min(found.expires_at, grant.expires_at) or grant.revoked_at is not None
            if is_over or found.kind != "refresh" or not store.user_exists(tx, grant.user_key):
                raise OAuthError("invalid_grant", _BAD_REFRESH)
            if found.replaced_at is not None and now - found.replaced_at > GRACE_SECONDS:
                return _ended(tx, grant.id, now, "A refresh token was used again long after it was replaced.")
            granted = scopes_from_text(grant.scopes)
            if exceeding(asked or (), granted):
                raise OAuthError("invalid_scope", "A refresh can narrow the scope but not widen it.")
            for_token = narrowed_resources(resources, grant.resources)
            store.replace_token(tx, token_digest(token), now)
            return issue.tokens(tx, grant, asked or granted, for_token)

        issued = await self._db.write(work)
        if isinstance(issued, Grant):
            raise self._stolen(issued, _BAD_REFRESH)
        await self._prune()
        return issued

    async def revoke_token(self, token: str, client: Client) -> None:
        """Revoke a token (RFC 7009). Revoking a refresh token ends its whole grant. Unknown tokens and those of other
        clients are ignored."""
        now = self._clock.now()

        def work(tx: Transaction) -> str | None:
            found = store.token(tx, token_digest(token))
            grant = None if found is None else store.grant(tx, found.grant_id)
            if found is None or grant is None or grant.client_id != client.id:
                return None
            if found.kind == "refresh":
                store.revoke_grant(tx, grant.id, now, "The client gave it back.")
            else:
                store.remove_token(tx, token_digest(token), grant.id)
            return grant.id

        if (grant_id := await self._db.write(work)) is not None:
            self._changed(grant_id)

    async def verify(self, token: str) -> VerifiedGrant | None:
        """The principal of an access token, or None if it is invalid for any reason."""
        row = None if kind_of(token) != "access" else await self._db.lookup(store.ACCESS, token_digest(token))
        if row is None:
            return None
        expires_at, scopes, resources, grant_id, _, grant_until, last_used_at, name, role, user_scopes = row
        now = self._clock.now()
        if now >= min(expires_at, grant_until):
            return None
        if last_used_at is None or now - last_used_at >= LAST_USE_EVERY:
            await self._record_use(grant_id, now)
        user = user_principal_id(name)
        allowed = narrowed(scopes_from_text(scopes), scopes_of([role], scopes_from_text(user_scopes)))
        credential = f"grant:{grant_id}"
        principal = Principal(user, name, allowed, "token", credential, user, audience(resources))
        return VerifiedGrant(principal, min(expires_at, grant_until))

    async def all(self) -> list[Grant]:
        """Every grant, newest first. Includes revoked and expired ones."""
        return [_grant(one) for one in await self._db.read(store.all_grants)]

    async def of_user(self, user: str) -> list[Grant]:
        """Every grant of a user, newest first. Includes revoked and expired ones."""
        return [_grant(one) for one in await self._db.read(lambda rows: store.grants_of_user(rows, user.lower()))]

    async def find(self, grant_id: str) -> Grant | None:
        """A grant by its id, even if it has ended."""
        if not _GRANT_ID.fullmatch(grant_id):
            return None
        found = await self._db.read(lambda rows: store.grant(rows, grant_id))
        return None if found is None else _grant(found)

    async def remembered(self, user: str, client_id: str, scopes: Iterable[str], resources: str) -> Grant | None:
        """The longest-lasting live grant of the user for this client that allows at least this."""
        asked, wanted, now = frozenset(scopes), frozenset(resources.split()), self._clock.now()

        def work(rows: Rows) -> list[Grant]:
            return [_grant(one) for one in store.live_grants(rows, user.lower(), client_id, now)]

        fitting = [
            one
            for one in await self._db.read(work)
            if wanted <= set(one.resources) and not exceeding(asked, one.scopes)
        ]
        return max(fitting, key=lambda one: one.expires_at, default=None)

    async def revoke(self, grant_id: str, *, user: str | None = None, why: str = "It was revoked.") -> Grant:
        """End a grant for good. With `user`, other users' grants are treated as unknown."""
        now = self._clock.now()

        def work(tx: Transaction) -> Grant:
            found = store.grant(tx, grant_id) if _GRANT_ID.fullmatch(grant_id) else None
            if found is None or (user is not None and found.user_key != user.lower()):
                raise NotFound(f"There is no grant {grant_id[:80]!r}.", hint="List the grants to see their ids.")
            store.revoke_grant(tx, grant_id, now, why)
            return _grant(found)

        grant = await self._db.write(work)
        self._changed(grant_id)
        return grant

    async def revoke_client(self, user: str | None, client_id: str, *, why: str = "It was revoked.") -> int:
        """End every live grant for a client, of one user or (with None) of all users; returns the number."""
        now = self._clock.now()

        def work(tx: Transaction) -> list[str]:
            every = store.all_grants(tx) if user is None else store.grants_of_user(tx, user.lower())
            ids = [one.id for one in every if one.client_id == client_id and one.revoked_at is None]
            for grant_id in ids:
                store.revoke_grant(tx, grant_id, now, why)
            return ids

        ended = await self._db.write(work)
        for grant_id in ended:
            self._changed(grant_id)
        return len(ended)

    async def prune(self) -> None:
        """Remove codes, tokens and grants that ended long ago."""
        now = self._clock.now()
        await self._db.write(
            lambda tx: store.prune(tx, now, codes_before=now - _CODES_KEPT, grants_before=now - _GRANTS_KEPT)
        )

    async def _prune(self) -> None:
        if self._clock.monotonic() >= self._prune_at:
            self._prune_at = self._clock.monotonic() + _PRUNE_EVERY
            await self.prune()

    async def _record_use(self, grant_id: str, now: float) -> None:
        """Record when a grant was used. A failure is only logged, because tokens must still work while the store is
        read-only."""
        try:
            await self._db.write(lambda tx: store.grant_used(tx, grant_id, now, LAST_USE_EVERY))
        except PentadError as error:
            ensure_logged(error, "Recording the use of a grant")

    def _stolen(self, grant: Grant, text: str) -> OAuthError:
        self._changed(grant.id)
        if self._report is not None and grant.revoked_why is not None:
            self._report(grant, grant.revoked_why)
        return OAuthError("invalid_grant", text)

    def _changed(self, grant_id: str) -> None:
        if self._on_change is not None:
            self._on_change(f"grant:{grant_id}")


class TokenIssue:
    """The new tokens of one response. Made before the unit of work that stores them, because that may run twice."""

    def __init__(self, randomness: Randomness, lifetimes: Lifetimes, now: float) -> None:
        self.grant_id = opaque_id(randomness, 12)
        self._access = new_token("access", randomness)
        self._refresh = new_token("refresh", randomness)
        self._lifetimes = lifetimes
        self._now = now

    def first_tokens(self, tx: Transaction, consent: Consent, redirect_uri: str, resources: str) -> IssuedTokens:
        """Create the grant of a consent and its first tokens. The oldest grants beyond the limit end."""
        grant = StoredGrant(
            self.grant_id,
            consent.user,
            consent.client_id,
            consent.client_name,
            scopes_to_text(consent.scopes),
            consent.resources,
            redirect_uri,
            self._now,
            consent.grant_until,
        )
        live = store.live_grants(tx, consent.user, consent.client_id, self._now)
        for oldest in live[: max(0, len(live) + 1 - GRANTS_MOST)]:
            store.revoke_grant(tx, oldest.id, self._now, "The user granted this client access too many times.")
        store.add_grant(tx, grant)
        return self.tokens(tx, grant, consent.scopes, resources)

    def tokens(self, tx: Transaction, grant: StoredGrant, scopes: frozenset[str], resources: str) -> IssuedTokens:
        """Store new tokens of a grant. The refresh token keeps the whole grant, whatever the access token is for."""
        now, ends = self._now, grant.expires_at
        expires_at = min(now + self._lifetimes.access, ends)
        store.trim_tokens(tx, grant.id, now, replaced_before=now - _REPLACED_KEPT, most=TOKENS_MOST - 1)
        store.add_token(
            tx,
            token_digest(self._access),
            StoredToken(grant.id, "access", scopes_to_text(scopes), resources, now, expires_at),
        )
        until = min(now + self._lifetimes.refresh, ends)
        store.add_token(
            tx,
            token_digest(self._refresh),
            StoredToken(grant.id, "refresh", grant.scopes, grant.resources, now, until),
        )
        store.client_used(tx, grant.client_id, now, _CLIENT_USE_EVERY)
        return IssuedTokens(_grant(grant), self._access, self._refresh, scopes, max(1, int(expires_at - now)))


def _ended(tx: Transaction, grant_id: str, now: float, why: str) -> Grant:
    """End a grant because one of its codes or tokens was reused; `revoked_why` is None if it had ended before."""
    found = store.grant(tx, grant_id)
    if found is None:
        raise OAuthError("invalid_grant", _BAD_CODE)
    is_new = store.revoke_grant(tx, grant_id, now, why)
    return _grant(found._replace(revoked_why=why if is_new else None))


def _fits_challenge(verifier: str, challenge: str) -> bool:
    """Check PKCE with S256 (RFC 7636, 4.6), the only supported method."""
    if not _VERIFIER.fullmatch(verifier):
        return False
    hashed = base64url.encode(token_digest(verifier))
    return hmac.compare_digest(hashed, challenge)


def _grant(stored: StoredGrant) -> Grant:
    return Grant(
        id=stored.id,
        user=stored.user_key,
        client_id=stored.client_id,
        client_name=stored.client_name,
        scopes=scopes_from_text(stored.scopes),
        resources=tuple(stored.resources.split()),
        redirect_uri=stored.redirect_uri,
        created_at=stored.created_at,
        expires_at=stored.expires_at,
        last_used_at=stored.last_used_at,
        revoked_at=stored.revoked_at,
        revoked_why=stored.revoked_why,
    )
