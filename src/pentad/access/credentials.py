"""The Authorization header becomes a principal, or a refusal that does not say which part was wrong.

HTTP Basic (RFC 7617), Bearer with an API key, Bearer with a JWT. `known` answers for credentials verified a moment
ago and is all that most requests need; `authenticate` does the full check. What a principal may do is not decided here.
"""

import base64
import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pentad.access.api_keys import PREFIX, ApiKeys
from pentad.access.failures import FailedLogins
from pentad.access.remembered import RememberedCredentials
from pentad.access.single_flight import SingleFlight
from pentad.access.users import CHANNEL, Users, is_user_name
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Unauthenticated
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal

if TYPE_CHECKING:  # joserfc is only loaded where an issuer is configured
    from pentad.access.tokens import TokenVerifier

REALM: Final = "Pentad"
LONGEST_HEADER: Final = 16 * 1024
TOKEN_TRUST_SECONDS: Final = 5.0
PASSWORD_TRUST_SECONDS: Final = 60.0


class Authenticator:
    """Verifies credentials against users, keys and the trusted issuer, and remembers them for a moment."""

    def __init__(
        self,
        users: Users,
        keys: ApiKeys,
        remembered: RememberedCredentials,
        *,
        tokens: "TokenVerifier | None" = None,
        clock: Clock | None = None,
    ) -> None:
        self._users = users
        self._keys = keys
        self._tokens = tokens
        self._remembered = remembered
        self._failures = FailedLogins(clock=clock)
        self._under_way: SingleFlight[bytes, Principal] = SingleFlight()
        self.known: Callable[[bytes], Principal | None] = remembered.known
        """The principal of a header verified a moment ago, or None: then `authenticate` must be asked."""
        self.was_known: Callable[[bytes], bool] = remembered.was_known
        """Whether a header was right before, though it may have to be verified again."""

    def follow(self, db: Database) -> Callable[[], None]:
        """Hear of changes made by other processes; returns the function that ends it."""
        return db.listen(CHANNEL, self._remembered.forget)

    async def authenticate(self, header: bytes | None) -> Principal:
        """The principal of an Authorization header, or Unauthenticated, RateLimited or Overloaded."""
        if header is None or not header.strip(b" \t"):
            raise Unauthenticated(
                "Credentials are needed.",
                hint="Send HTTP Basic with name and password, or an API key: as Bearer, or in the header X-Api-Key.",
            )
        if (principal := self.known(header)) is not None:
            return principal
        fingerprint = self._remembered.fingerprint(header)
        return await self._under_way.run(fingerprint, lambda: self._verify(header, fingerprint))

    @staticmethod
    def challenges(
        resource_metadata_url: str | None = None, *, scope: str | None = None, error: str | None = None
    ) -> list[str]:
        """The values of WWW-Authenticate for a 401 (or, with error="insufficient_scope", a 403), one header each."""
        bearer = [f'realm="{REALM}"']
        if resource_metadata_url is not None:
            bearer.append(f"resource_metadata={_quoted(resource_metadata_url)}")
        if scope is not None:
            bearer.append(f"scope={_quoted(scope)}")
        if error is not None:
            bearer.append(f"error={_quoted(error)}")
        return [f'Basic realm="{REALM}", charset="UTF-8"', "Bearer " + ", ".join(bearer)]

    async def _verify(self, header: bytes, fingerprint: bytes) -> Principal:
        scheme, _, rest = header.strip(b" \t").partition(b" ")
        credentials = rest.strip(b" \t")
        if len(header) > LONGEST_HEADER or not credentials.isascii():
            raise _refusal()
        match scheme.lower():
            case b"basic":
                return await self._basic(credentials, fingerprint)
            case b"bearer":
                return await self._bearer(credentials.decode("ascii"), fingerprint)
            case _:
                raise _refusal()

    async def _basic(self, credentials: bytes, fingerprint: bytes) -> Principal:
        name, password = _name_and_password(credentials)
        generation = self._remembered.generation
        attempt = self._failures.attempt(name.lower())
        try:
            user = await self._users.verify(name, password)
        except BaseException:
            self._failures.withdraw(name.lower(), attempt)
            raise
        if user is None:
            raise _refusal()
        self._failures.succeeded(name.lower())
        principal = user.principal()
        self._remembered.remember(
            fingerprint,
            principal,
            seconds=PASSWORD_TRUST_SECONDS,
            expires_at=None,
            subjects=(principal.id,),
            generation=generation,
        )
        return principal

    async def _bearer(self, token: str, fingerprint: bytes) -> Principal:
        generation = self._remembered.generation
        if token.startswith(PREFIX):
            verified = await self._keys.verify(token)
        else:
            verified = None if self._tokens is None else await self._tokens.verify(token)
        if verified is None:
            raise _refusal()
        principal = verified.principal
        subjects = tuple(subject for subject in (principal.id, principal.credential, principal.user) if subject)
        self._remembered.remember(
            fingerprint,
            principal,
            seconds=TOKEN_TRUST_SECONDS,
            expires_at=verified.expires_at,
            subjects=subjects,
            generation=generation,
        )
        return principal


def _quoted(text: str) -> str:
    """A quoted-string (RFC 9110 5.6.4); what could break out of the header is left out."""
    safe = "".join(character for character in text if " " <= character <= "~")
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _name_and_password(credentials: bytes) -> tuple[str, str]:
    try:
        text = base64.b64decode(credentials, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise _refusal() from None
    name, colon, password = text.partition(":")
    if not colon or not is_user_name(name):
        raise _refusal()
    return name, password


def _refusal() -> Unauthenticated:
    """One text for every reason, so that a guess learns nothing."""
    return Unauthenticated(
        "The credentials were not accepted.",
        hint="Check the name and password, or the API key or token: it may be mistyped, expired or revoked.",
    )
