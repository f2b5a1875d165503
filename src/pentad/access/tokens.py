"""Verifies JWTs of trusted issuers.

A token must be signed with its own issuer's key and an allowed algorithm, name this server as audience, and be current.
`none` is never allowed, a public key is never used as a shared secret, and one issuer's key never verifies another
issuer's token. The operator learns why a token was refused and what to change; the token itself is never logged.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

import msgspec
from joserfc import jws, jwt
from joserfc.errors import BadSignatureError, ClaimError, JoseError
from joserfc.jwk import OctKey

from pentad.access.issuer import TrustedIssuer
from pentad.access.jwks import REFRESH_AT_MOST_EVERY, IssuerKeys, PublicKey
from pentad.kernel.background import Background
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal

REFRESH_EVERY: Final = 300.0
_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_LONGEST_SUBJECT: Final = 255
_LONGEST_QUOTE: Final = 120


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """The principal of a token, and when the token expires."""

    principal: Principal
    expires_at: float


@dataclass(frozen=True, slots=True)
class RefusedToken:
    """Why a token was refused, for the operator only: a code, a sentence, and a remedy."""

    reason: str
    text: str
    fix: str = ""
    issuer: str = ""
    """The issuer the token names, if it could be read. Unverified."""


class _RefusedError(Exception):
    def __init__(self, reason: str, text: str, fix: str = "") -> None:
        super().__init__(reason)
        self.parts = reason, text, fix


class TokenVerifier:
    """Verifies tokens against the trusted issuers, each with its own keys."""

    def __init__(
        self, issuers: Sequence[TrustedIssuer], fetcher: Fetcher | None = None, *, clock: Clock | None = None
    ) -> None:
        self.issuers: Mapping[str, IssuerTokens] = {
            issuer.issuer: IssuerTokens(issuer, fetcher, clock=clock) for issuer in issuers
        }

    def troubles(self) -> Mapping[str, str | None]:
        """The known problem with each issuer's keys, or None. Does not fetch anything."""
        return {name: issuer.trouble for name, issuer in self.issuers.items()}

    async def verify(self, token: str) -> VerifiedToken | RefusedToken:
        """The principal `jwt:<issuer>|<subject>`, or the reason for refusing the token; raises Unavailable while there
        are no keys."""
        named = ""
        try:
            header, named = _header_and_issuer(token)
            if (issuer := self.issuers.get(named)) is None:
                raise _RefusedError(
                    "unknown_issuer",
                    f"Its issuer {_quoted(named)} is not among {', '.join(map(repr, self.issuers))}.",
                    "To trust its tokens, set jwt.issuer or add a table to jwt.issuers.",
                )
            return await issuer.verify(token, header)
        except _RefusedError as error:
            return RefusedToken(*error.parts, issuer=named[:_LONGEST_QUOTE])


class IssuerTokens:
    """Verifies tokens that name one issuer."""

    def __init__(self, issuer: TrustedIssuer, fetcher: Fetcher | None = None, *, clock: Clock | None = None) -> None:
        self.issuer = issuer
        self._clock = clock or SystemClock()
        self._secret = None if issuer.secret is None else _shared_key(issuer.secret)
        self.keys = None if issuer.secret is not None else IssuerKeys(issuer, fetcher, clock=clock)
        self._registry = jws.JWSRegistry(algorithms=issuer.algorithms, strict_check_header=False)
        self._claims = jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock.now()),
            leeway=issuer.leeway,
            iss={"essential": True, "value": issuer.issuer},
            aud={"essential": True, "values": list(issuer.audiences)},
            exp={"essential": True},
            sub={"essential": True},
        )

    @property
    def trouble(self) -> str | None:
        """Why the keys could not be read the last time; None if nothing is known to be wrong."""
        return None if self.keys is None else self.keys.trouble

    async def refresh(self) -> None:
        """Read the keys now; a shared secret has none."""
        if self.keys is not None:
            await self.keys.refresh()

    def unusable_algorithms(self) -> list[str]:
        """The allowed algorithms for which there is no key."""
        return [] if self.keys is None else [name for name in self.issuer.algorithms if not self.keys.serves(name)]

    async def verify(self, token: str, header: Mapping[str, Any]) -> VerifiedToken:
        """The principal of a token whose header was read; raises `_RefusedError`."""
        claims = await self._verified_claims(token, header)
        return VerifiedToken(self._principal(claims), claims["exp"])

    async def claims(self, token: str) -> Mapping[str, Any] | RefusedToken:
        """The claims of a token, or why it is refused."""
        named = ""
        try:
            header, named = _header_and_issuer(token)
            return await self._verified_claims(token, header)
        except _RefusedError as error:
            return RefusedToken(*error.parts, issuer=named[:_LONGEST_QUOTE])

    async def _verified_claims(self, token: str, header: Mapping[str, Any]) -> dict[str, Any]:
        key = await self._key(header)
        try:
            claims = jwt.decode(token, key, registry=self._registry).claims
        except BadSignatureError:
            fix = f"It is forged, or {self.issuer.keys_setting} belongs to another issuer."
            raise _RefusedError("signature", "Its signature is not the issuer's.", fix) from None
        except (JoseError, ValueError, TypeError, AttributeError, RecursionError):
            raise _malformed() from None
        try:
            self._claims.validate(claims)
        except ClaimError as error:
            raise self._wrong_claim(error, claims) from None
        except (ValueError, TypeError, OverflowError):
            raise _malformed() from None
        return claims

    async def _key(self, header: Mapping[str, Any]) -> PublicKey | OctKey:
        """The key that the header names. The header is unverified, so it is used only to choose a key."""
        algorithm, key_id, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
        place = self.issuer.place
        if not isinstance(algorithm, str) or algorithm not in self.issuer.algorithms:
            raise _RefusedError(
                "algorithm",
                f"Its algorithm {_quoted(algorithm)} is not among {', '.join(self.issuer.algorithms)}.",
                f"If the issuer signs with it, add it to {place}.algorithms.",
            )
        if not isinstance(kind, str) or kind.lower() not in _TYPES:
            raise _RefusedError("type", f"Its type {_quoted(kind)} is not that of an access token.")
        if "crit" in header or "b64" in header or not (key_id is None or isinstance(key_id, str)):
            raise _malformed()
        if self._secret is not None:
            return self._secret
        key = None if self.keys is None else await self.keys.find(key_id, algorithm)
        if key is None:
            known, source = ("", "") if self.keys is None else (", ".join(self.keys.key_ids), self.keys.source)
            raise _RefusedError(
                "unknown_key",
                f"No key for {algorithm} has its key id {_quoted(key_id)}; {source} holds {known or 'none'}.",
                f"Check that {self.issuer.keys_setting} is this issuer's; new keys are looked for every half minute.",
            )
        return key

    def _wrong_claim(self, error: ClaimError, claims: Mapping[str, Any]) -> _RefusedError:
        """What is wrong with a claim of a correctly signed token."""
        place, name = self.issuer.place, error.claim
        value = claims.get(name)
        if value is None:
            return _RefusedError("claim", f"It has no {name}.", "Have the issuer add it.")
        if name == "aud":
            return _RefusedError(
                "audience",
                f"Its audience {_quoted(value)} is not among {', '.join(map(repr, self.issuer.audiences))}.",
                f"If it means this server, add it to {place}.audience.",
            )
        if name in ("exp", "nbf", "iat") and isinstance(value, int | float) and not isinstance(value, bool):
            off = self._clock.now() - value
            fix = f"Get a new one; if a clock is wrong, correct it or raise {place}.leeway."
            if name == "exp":
                return _RefusedError("expired", f"It expired {off:.0f} s ago.", fix)
            return _RefusedError("not_yet", f"It becomes valid in {-off:.0f} s ({name}).", fix)
        return _RefusedError("claim", f"Its {name} {_quoted(value)} is not acceptable.")

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        subject = claims["sub"]
        if not (isinstance(subject, str) and len(subject) <= _LONGEST_SUBJECT and subject.isprintable()):
            raise _RefusedError("claim", f"Its sub {_quoted(subject)} is not a short printable text.")
        scopes = [*words_of(claims.get("scope")), *words_of(claims.get("scp"))]
        return Principal(
            id=f"jwt:{self.issuer.issuer}|{subject}",
            name=subject,
            scopes=self.issuer.granted(words_of(claim_at(claims, self.issuer.roles_claim)), scopes),
            kind="token",
        )


class KeySource(Protocol):
    """An issuer of tokens, or the identity provider."""

    @property
    def trouble(self) -> str | None: ...

    async def refresh(self) -> None: ...


class IssuerWatch:
    """Refreshes the keys of all issuers in the background, so that `/readyz` can report whether issuers are reachable
    without contacting them, and tokens rarely wait for keys.
    """

    def __init__(self, sources: Iterable[KeySource]) -> None:
        self._sources = tuple(sources)
        self._background = Background()

    def start(self) -> None:
        self._background.start(self._run(), "token-issuers")

    async def stop(self) -> None:
        await self._background.stop()

    async def refresh(self) -> None:
        """Read the keys of every issuer now."""
        await asyncio.gather(*(source.refresh() for source in self._sources))

    async def _run(self) -> None:
        while True:
            await self.refresh()
            is_well = all(source.trouble is None for source in self._sources)
            await asyncio.sleep(REFRESH_EVERY if is_well else REFRESH_AT_MOST_EVERY)


def _header_and_issuer(token: str) -> tuple[dict[str, Any], str]:
    """The unverified header and issuer of a token: enough to choose whose keys to try."""
    try:
        parts = jws.extract_compact(token.encode())
        header = dict(parts.headers())  # joserfc does not check that it is an object
        payload = msgspec.json.decode(parts.payload, type=dict[str, Any])
    except (JoseError, msgspec.MsgspecError, ValueError, TypeError, AttributeError, RecursionError):
        raise _malformed() from None
    issuer = payload.get("iss")
    if not isinstance(issuer, str):
        raise _malformed()
    return header, issuer


def _malformed() -> _RefusedError:
    return _RefusedError("malformed", "It is not a signed JSON Web Token with an issuer.")


def _quoted(value: object) -> str:
    """An untrusted value, shortened to one line for the log."""
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "..."


def _shared_key(secret: bytes) -> OctKey:
    try:
        return OctKey.import_key(secret)
    except ValueError:
        raise Misconfigured(
            "The shared token secret is a public key.", hint="Set it as the JWKS, or use random bytes."
        ) from None


def claim_at(claims: Mapping[str, Any], path: str) -> Any:
    """The claim at a dotted path. A claim whose name itself contains the dots wins: many issuers use URLs."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for step in path.split("."):
        found = cast("dict[str, Any]", found).get(step) if isinstance(found, dict) else None
    return found


def words_of(claim: Any) -> Iterable[str]:
    """A list claim: words in a string, or an array of strings."""
    if isinstance(claim, str):
        return claim.split()
    if isinstance(claim, list):
        return [word for word in cast("list[Any]", claim) if isinstance(word, str)]
    return []
