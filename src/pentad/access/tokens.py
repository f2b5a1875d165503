"""JWTs of a trusted issuer: verified here, made elsewhere.

A token must be signed by the issuer's key with an allowed algorithm, name us as audience, and be in time. `none` is
never allowed, and a public key is never taken for a shared secret. Why a token was refused goes to the debug log as a
word; the token goes nowhere.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from pentad.access.issuer import TrustedIssuer
from pentad.access.jwks import IssuerKeys, PublicKey
from pentad.access.scopes import is_scope
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal, Role, scopes_of

_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_LONGEST_SUBJECT: Final = 255

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """Who a token stands for, and until when."""

    principal: Principal
    expires_at: float


class TokenVerifier:
    """Checks tokens against one trusted issuer."""

    def __init__(self, issuer: TrustedIssuer, fetcher: Fetcher | None = None, *, clock: Clock | None = None) -> None:
        self._issuer = issuer
        self._clock = clock or SystemClock()
        self._secret = None if issuer.secret is None else _shared_key(issuer.secret)
        self._keys = None if issuer.secret is not None else IssuerKeys(issuer, fetcher, clock=clock)
        self._registry = jws.JWSRegistry(algorithms=issuer.algorithms, strict_check_header=False)
        self._claims = jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock.now()),
            leeway=issuer.leeway,
            iss={"essential": True, "value": issuer.issuer},
            aud={"essential": True, "values": list(issuer.audiences)},
            exp={"essential": True},
            sub={"essential": True},
        )

    async def verify(self, token: str) -> VerifiedToken | None:
        """The principal `jwt:<issuer>|<subject>`, or None whatever is wrong; Unavailable while there are no keys."""
        try:
            signed = jws.extract_compact(token.encode("utf-8"), registry=self._registry)
            key = await self._key(signed.headers())
            claims = jwt.decode(token, key, registry=self._registry).claims
            self._claims.validate(claims)
            return VerifiedToken(self._principal(claims), claims["exp"])
        except (JoseError, ValueError, TypeError, AttributeError, RecursionError) as error:
            _log.debug("A token was refused: %s", type(error).__name__)
            return None

    async def _key(self, header: Mapping[str, Any]) -> PublicKey | OctKey:
        """The key by the header, which is still anybody's claim: nothing in it is taken for more than a name."""
        algorithm, key_id, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
        if algorithm not in self._issuer.algorithms or not isinstance(kind, str) or kind.lower() not in _TYPES:
            raise ValueError("algorithm or type")
        if "crit" in header or "b64" in header or not (key_id is None or isinstance(key_id, str)):
            raise ValueError("header")
        if self._secret is not None:
            return self._secret
        key = None if self._keys is None else await self._keys.find(key_id, algorithm)
        if key is None:
            raise ValueError("key")
        return key

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        subject = claims["sub"]
        if not (isinstance(subject, str) and len(subject) <= _LONGEST_SUBJECT and subject.isprintable()):
            raise ValueError("subject")
        names = _words(_at(claims, self._issuer.roles_claim))
        roles: list[Role] = [self._issuer.roles[name] for name in names if name in self._issuer.roles]
        asked = [*_words(claims.get("scope")), *_words(claims.get("scp"))]
        return Principal(
            id=f"jwt:{self._issuer.issuer}|{subject}",
            name=subject,
            scopes=scopes_of(roles, (scope for scope in asked if is_scope(scope))),
            kind="token",
        )


def _shared_key(secret: bytes) -> OctKey:
    try:
        return OctKey.import_key(secret)
    except ValueError:
        raise Misconfigured(
            "The shared token secret is a public key.", hint="Set it as the JWKS, or use random bytes."
        ) from None


def _at(claims: Mapping[str, Any], path: str) -> Any:
    """The claim at a dotted path. A claim whose whole name has dots in it goes first: many issuers use URLs."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for step in path.split("."):
        found = cast("dict[str, Any]", found).get(step) if isinstance(found, dict) else None
    return found


def _words(claim: Any) -> Iterable[str]:
    """A claim as issuers write lists: words in a string, or an array of strings."""
    if isinstance(claim, str):
        return claim.split()
    if isinstance(claim, list):
        return [word for word in cast("list[Any]", claim) if isinstance(word, str)]
    return []
