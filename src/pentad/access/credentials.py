"""Turns the Authorization header into a principal, or into an error that does not say which part was wrong.

Accepts HTTP Basic (RFC 7617), and Bearer with an API key, an access token of ours or a JWT. `known` looks up recently
verified credentials, which is all most requests need; `authenticate` does the full check.
"""

import base64
import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from pentad.access.api_keys import PREFIX, ApiKeys, VerifiedKey
from pentad.access.credential_cache import CredentialCache
from pentad.access.failed_logins import FailedLogins
from pentad.access.login_reports import LoginReports
from pentad.access.single_flight import SingleFlight
from pentad.access.users import CHANNEL, Users, is_user_name
from pentad.kernel.clock import Clock
from pentad.kernel.errors import RateLimited, Unauthenticated
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal

if TYPE_CHECKING:  # joserfc is loaded only if an issuer is configured
    from pentad.access.oauth.grants import Grants, VerifiedGrant
    from pentad.access.tokens import TokenVerifier, VerifiedToken

LONGEST_HEADER: Final = 16 * 1024
TOKEN_TRUST_SECONDS: Final = 5.0
PASSWORD_TRUST_SECONDS: Final = 60.0
OWN_TOKEN_PREFIX: Final = "pentad-"  # noqa: S105  the beginning of every token
"""The prefix of everything the authorization server issues: codes, access and refresh tokens. Only access tokens
authenticate."""
_KEY_ID_SHOWN: Final = 8
_UNREADABLE: Final = "unreadable credentials"


class Authenticator:
    """Verifies credentials against users, API keys, grants and trusted issuers, and caches the result."""

    def __init__(
        self,
        users: Users,
        keys: ApiKeys,
        cache: CredentialCache[Principal],
        *,
        grants: "Grants | None" = None,
        tokens: "TokenVerifier | None" = None,
        failures: FailedLogins | None = None,
        reports: LoginReports | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._users = users
        self._keys = keys
        self._grants = grants
        self._tokens = tokens
        self._cache = cache
        self._failures = failures or FailedLogins(clock=clock)
        self._reports = reports or LoginReports(clock=clock)
        self._verifying: SingleFlight[tuple[bytes, str | None], Principal] = SingleFlight()
        self.known: Callable[[bytes, str | None], Principal | None] = cache.known
        """The principal of a header from an address, if cached; otherwise call `authenticate`."""
        self.was_known: Callable[[bytes, str | None], bool] = cache.was_known
        """Whether a header was valid before, even if it must be verified again."""

    def follow(self, db: Database) -> Callable[[], None]:
        """Apply changes made by other processes; the returned function stops that."""
        return db.listen(CHANNEL, self._cache.forget)

    async def close(self) -> None:
        """Store and log pending failed logins."""
        self._reports.close()
        await self._failures.flush()

    async def authenticate(self, header: bytes | None, address: str | None = None, *, wire: str = "http") -> Principal:
        """The principal of an Authorization header; raises Unauthenticated, RateLimited or Overloaded.

        `address` is the client's address and `wire` the protocol, for reports.
        """
        if header is None or not header.strip(b" \t"):
            raise Unauthenticated(
                "Credentials are needed.",
                hint="Send HTTP Basic with name and password, or an API key: as Bearer, or in the header X-Api-Key.",
            )
        if (principal := self.known(header, address)) is not None:
            return principal
        fingerprint = self._cache.fingerprint(header, address)
        check = _Check(header, fingerprint, address, wire)
        return await self._verifying.run((fingerprint, address), lambda: self._verify(check))

    def throttled(self, address: str | None, *, wire: str = "http") -> str:
        """Report credentials that were refused without being checked, because there were too many; returns the incident
        id."""
        return self._reports.report("unread credentials", address or "", "throttled", wire=wire)

    def refused(self, login: str, address: str | None, reason: str, *, wire: str, explanation: str = "") -> str:
        """Report a login that was refused elsewhere, such as an already used login link; returns the incident id."""
        return self._reports.report(login, address or "", reason, explanation=explanation, wire=wire)

    async def _verify(self, check: "_Check") -> Principal:
        scheme, _, rest = check.header.strip(b" \t").partition(b" ")
        credentials = rest.strip(b" \t")
        if len(check.header) > LONGEST_HEADER or not credentials.isascii():
            raise self._refusal(check, _UNREADABLE, "malformed")
        match scheme.lower():
            case b"basic":
                return await self._basic(credentials, check)
            case b"bearer":
                return await self._bearer(credentials.decode("ascii"), check)
            case _:
                raise self._refusal(check, _UNREADABLE, "scheme")

    async def _basic(self, credentials: bytes, check: "_Check") -> Principal:
        if (pair := _name_and_password(credentials)) is None:
            raise self._refusal(check, _UNREADABLE, "malformed")
        name, password = pair
        login = f"user {name.lower()}"
        generation = self._cache.generation
        try:
            attempt = await self._failures.begin(name, check.address)
        except RateLimited as error:
            error.details["incident"] = self._report(check, login, "closed", "")
            raise
        try:
            user = await self._users.verify(name, password)
        except BaseException:
            self._failures.withdraw(attempt)
            raise
        if user is None:
            self._failures.failed(attempt)
            raise self._refusal(check, login, "password")
        self._failures.succeeded(attempt)
        principal = user.principal()
        self._cache.add(
            check.fingerprint,
            principal,
            seconds=PASSWORD_TRUST_SECONDS,
            expires_at=None,
            subjects=(principal.id,),
            generation=generation,
        )
        return principal

    async def _bearer(self, token: str, check: "_Check") -> Principal:
        generation = self._cache.generation
        if token.startswith(PREFIX):
            verified = await self._key(token, check)
        elif token.startswith(OWN_TOKEN_PREFIX):
            verified = await self._access_token(token, check)
        else:
            verified = await self._token(token, check)
        principal = verified.principal
        subjects = tuple(subject for subject in (principal.id, principal.credential, principal.user) if subject)
        self._cache.add(
            check.fingerprint,
            principal,
            seconds=TOKEN_TRUST_SECONDS,
            expires_at=verified.expires_at,
            subjects=subjects,
            generation=generation,
        )
        return principal

    async def _key(self, token: str, check: "_Check") -> VerifiedKey:
        verified = await self._keys.verify(token)
        if verified is None:
            raise self._refusal(check, f"key {token.removeprefix(PREFIX)[:_KEY_ID_SHOWN]}...", "key")
        return verified

    async def _access_token(self, token: str, check: "_Check") -> "VerifiedGrant":
        verified = None if self._grants is None else await self._grants.verify(token)
        if verified is None:
            raise self._refusal(check, "access token", "access_token")
        return verified

    async def _token(self, token: str, check: "_Check") -> "VerifiedToken":
        if self._tokens is None:
            explanation = "No token issuer is trusted. To trust one, set jwt.issuer."
            raise self._refusal(check, "token", "no_issuer", explanation)
        from pentad.access.tokens import RefusedToken

        verdict = await self._tokens.verify(token)
        if isinstance(verdict, RefusedToken):
            login = f"token of {verdict.issuer}" if verdict.issuer else "token"
            raise self._refusal(check, login, verdict.reason, f"{verdict.text} {verdict.fix}".rstrip())
        return verdict

    def _refusal(self, check: "_Check", login: str, reason: str, explanation: str = "") -> Unauthenticated:
        """The same message for every reason, so that a guesser learns nothing. The operator gets the reason."""
        return Unauthenticated(
            "The credentials were not accepted.",
            hint="Check the name and password, or the API key or token: it may be mistyped, expired or revoked.",
            details={"incident": self._report(check, login, reason, explanation)},
        )

    def _report(self, check: "_Check", login: str, reason: str, explanation: str) -> str:
        return self._reports.report(login, check.address or "", reason, explanation=explanation, wire=check.wire)


def basic_header(name: str, password: str) -> bytes:
    """The Authorization header of a name and password."""
    return b"Basic " + base64.b64encode(f"{name}:{password}".encode())


class _Check(NamedTuple):
    """Credentials to verify, and their origin."""

    header: bytes
    fingerprint: bytes
    address: str | None
    wire: str


def _name_and_password(credentials: bytes) -> tuple[str, str] | None:
    try:
        text = base64.b64decode(credentials, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    name, colon, password = text.partition(":")
    return (name, password) if colon and is_user_name(name) else None
