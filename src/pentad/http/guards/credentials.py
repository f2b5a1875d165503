"""Credentials: who is calling. Recently verified ones are cached; others are verified, at a limited rate.

Verifying is expensive on purpose (argon2), so each address has a limited number of attempts with credentials that were
never valid here. Valid ones do not count.
"""

from collections.abc import Mapping

from pentad.access.anonymous import AddressBuckets
from pentad.access.credentials import Authenticator
from pentad.kernel.client_addresses import address_key
from pentad.kernel.errors import RateLimited, Unauthenticated
from pentad.kernel.principal import ANONYMOUS, LOCAL, Principal
from pentad.platform import Scope


def client_of(scope: Scope) -> str | None:
    """The client's address; None over a Unix socket."""
    client = scope.get("client")
    return client[0] if client else None


def address_of(client: str | None) -> str:
    """The key for counting a caller: its address, or one word for all callers over a Unix socket."""
    return address_key(client) if client else "local socket"


class CredentialsGuard:
    """Turns headers into principals. Without an authenticator, every caller is the local owner. On a read-only server,
    no caller may change anything."""

    def __init__(self, authenticator: Authenticator | None, logins: AddressBuckets, *, read_only: bool = False) -> None:
        self._authenticator = authenticator
        self._logins = logins
        self._read_only = read_only
        self._local = self.limited(LOCAL)

    @property
    def are_needed(self) -> bool:
        return self._authenticator is not None

    def cached_caller(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal | None:
        """The caller, if its credentials are cached; ANONYMOUS if it has none."""
        if self._authenticator is None:
            return self._local
        return self.cached(_from_headers(headers), client_of(scope))

    def cached(self, credentials: bytes | None, client: str | None) -> Principal | None:
        """The owner of these credentials, if they are cached; ANONYMOUS for none."""
        if self._authenticator is None:
            return self._local
        if credentials is None:
            return ANONYMOUS
        known = self._authenticator.known(credentials, client)
        return self.limited(known) if self._read_only and known is not None else known

    async def verify_caller(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        """The caller; raises if the credentials are wrong or missing."""
        return await self.verify(_from_headers(headers), client_of(scope))

    async def verify(self, credentials: bytes | None, client: str | None, *, wire: str = "http") -> Principal:
        """The owner of these credentials; raises if they are wrong, which costs the address one of its attempts."""
        if self._authenticator is None:
            return self._local
        if credentials is None or self._authenticator.was_known(credentials, client):
            return self.limited(await self._authenticator.authenticate(credentials, client, wire=wire))
        address = address_of(client)
        if wait := self._logins.spend(address):
            refusal = RateLimited(
                "Too many attempts to sign in from this address.",
                retry_after=wait,
                hint="Check the credentials, wait, and try again.",
            )
            refusal.details["incident"] = self._authenticator.throttled(client, wire=wire)
            raise refusal
        principal = await self._authenticator.authenticate(credentials, client, wire=wire)
        self._logins.give_back(address)
        return self.limited(principal)

    async def current_caller(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        """The caller with its current rights; raises if the credentials are no longer valid."""
        if self._authenticator is None:
            return self._local
        return self.limited(await self._authenticator.authenticate(_from_headers(headers), client_of(scope)))

    def limited(self, principal: Principal) -> Principal:
        """The caller with its rights on this server."""
        return principal.reading_only() if self._read_only else principal


def wrong_audience() -> Unauthenticated:
    """The error for a token that is used outside its resource, whatever its scopes."""
    return Unauthenticated(
        "The access token is for another resource.", hint="Log in again, naming this URL as the resource."
    )


def _from_headers(headers: Mapping[bytes, bytes]) -> bytes | None:
    """The Authorization header; an API key in a separate header counts as a Bearer token."""
    credentials = headers.get(b"authorization")
    if credentials is None and (key := headers.get(b"x-api-key")) is not None:
        return b"Bearer " + key.strip(b" \t")
    return credentials
