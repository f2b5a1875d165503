"""Credentials: who is calling. Those proved a moment ago are recognised at once, others verified at a bounded rate.

Verifying costs work on purpose (argon2), so an address has only so many attempts with credentials that were never right
here. Right ones cost it none.
"""

from collections.abc import Mapping

from pentad.access.credentials import Authenticator
from pentad.gateway.guards.anonymous import AddressBuckets, address_of
from pentad.kernel.errors import RateLimited
from pentad.kernel.principal import ANONYMOUS, LOCAL, Principal
from pentad.platform import Scope


class CredentialsGuard:
    """Turns headers into principals. Without an authenticator everybody is the owner of this machine."""

    def __init__(self, authenticator: Authenticator | None, logins: AddressBuckets) -> None:
        self._authenticator = authenticator
        self._logins = logins

    @property
    def are_needed(self) -> bool:
        return self._authenticator is not None

    def known(self, headers: Mapping[bytes, bytes]) -> Principal | None:
        """The caller, if it was recognised a moment ago; ANONYMOUS for one that shows nothing."""
        if self._authenticator is None:
            return LOCAL
        credentials = _shown(headers)
        return ANONYMOUS if credentials is None else self._authenticator.known(credentials)

    async def verified(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        """The caller by the credentials it shows, or a refusal."""
        credentials = _shown(headers)
        if self._authenticator is None or credentials is None or self._authenticator.was_known(credentials):
            return await self.recognised(scope, headers)
        address = address_of(scope)
        if wait := self._logins.spend(address):
            refusal = RateLimited(
                "Too many attempts to sign in from this address.",
                retry_after=wait,
                hint="Check the credentials, wait, and try again.",
            )
            refusal.details["incident"] = self._authenticator.throttled(_client(scope))
            raise refusal
        principal = await self._authenticator.authenticate(credentials, _client(scope))
        self._logins.give_back(address)
        return principal

    async def recognised(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        """What the credentials in the headers are worth now; missing ones are refused."""
        if self._authenticator is None:
            return LOCAL
        return await self._authenticator.authenticate(_shown(headers), _client(scope))


def _client(scope: Scope) -> str | None:
    """The address failed logins are counted for; none over a Unix socket."""
    client = scope.get("client")
    return client[0] if client else None


def _shown(headers: Mapping[bytes, bytes]) -> bytes | None:
    """The Authorization header; an API key in a header of its own is a Bearer token."""
    credentials = headers.get(b"authorization")
    if credentials is None and (key := headers.get(b"x-api-key")) is not None:
        return b"Bearer " + key.strip(b" \t")
    return credentials
