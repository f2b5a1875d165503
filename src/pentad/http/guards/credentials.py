"""Credentials: who is calling. Those proved a moment ago are recognised at once, others verified at a limited rate.

Verifying is expensive on purpose (argon2), so each address has a limited number of attempts with credentials that were
never right here. Right ones cost nothing.
"""

from collections.abc import Mapping

from pentad.access.anonymous import AddressBuckets
from pentad.access.credentials import Authenticator
from pentad.http.guards.anonymous import address_of, client_of
from pentad.kernel.errors import RateLimited
from pentad.kernel.principal import ANONYMOUS, LOCAL, Principal
from pentad.platform import Scope


class CredentialsGuard:
    """Turns headers into principals. Without an authenticator everyone is the local owner."""

    def __init__(self, authenticator: Authenticator | None, logins: AddressBuckets) -> None:
        self._authenticator = authenticator
        self._logins = logins

    @property
    def are_needed(self) -> bool:
        return self._authenticator is not None

    def known(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal | None:
        """The caller, if recognised a moment ago; ANONYMOUS if there are no credentials."""
        return self.remembered(_shown(headers), client_of(scope))

    def remembered(self, credentials: bytes | None, client: str | None) -> Principal | None:
        """The owner of these credentials, if they were proved a moment ago; ANONYMOUS for none."""
        if self._authenticator is None:
            return LOCAL
        return ANONYMOUS if credentials is None else self._authenticator.known(credentials, client)

    async def verified(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        """The caller; raises if the credentials are wrong or missing."""
        return await self.proved(_shown(headers), client_of(scope))

    async def proved(self, credentials: bytes | None, client: str | None, *, wire: str = "http") -> Principal:
        """The owner of these credentials; raises if they are wrong, which costs the address one of its attempts."""
        if self._authenticator is None:
            return LOCAL
        if credentials is None or self._authenticator.was_known(credentials, client):
            return await self._authenticator.authenticate(credentials, client, wire=wire)
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
        return principal

    async def recognised(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        """What the credentials in the headers are worth now; raises if they are missing."""
        if self._authenticator is None:
            return LOCAL
        return await self._authenticator.authenticate(_shown(headers), client_of(scope))


def _shown(headers: Mapping[bytes, bytes]) -> bytes | None:
    """The Authorization header; an API key in a header of its own is a Bearer token."""
    credentials = headers.get(b"authorization")
    if credentials is None and (key := headers.get(b"x-api-key")) is not None:
        return b"Bearer " + key.strip(b" \t")
    return credentials
