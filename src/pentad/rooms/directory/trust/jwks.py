"""Key sets of domains: example.org's published keys vouch for the name `https://example.org/agent`.

A domain publishes its keys as a JWK set at `/.well-known/jwks.json`. The resolver is replaceable, for networks without
internet access and for tests.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

import msgspec

from pentad.kernel import base64url
from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError, Unavailable
from pentad.kernel.json import check_bounds
from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Fetcher

if TYPE_CHECKING:
    from pentad.rooms.directory.trust.keys import PublicKey

PATH: Final = "/.well-known/jwks.json"
REMEMBERED: Final = 300.0
"""Seconds that a domain's answer or failure is cached, so that checking many records asks it once."""

_MOST_DOMAINS: Final = 256
_MOST_BYTES: Final = 262_144
_MOST_KEYS: Final = 200
_LONGEST_NUMBER: Final = 2_048
_LONGEST_KEY_ID: Final = 200
_SECONDS: Final = 10.0
_OK: Final = 200
_NAME: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,20})(?P<port>:[0-9]{1,5})?(?:/.*)?",
    re.IGNORECASE | re.DOTALL,
)


class Domain(NamedTuple):
    """The owner of a name: `example.org` or `example.org:8443`, and the scheme for requests to it."""

    scheme: str
    authority: str


class DomainKey(NamedTuple):
    """A key a domain vouches for."""

    key_id: str
    key: "PublicKey"


class KeySetResolver(Protocol):
    """Resolves the keys of domains."""

    async def key_set(self, domain: Domain) -> Mapping[str, Any]:
        """The domain's JWK set as plain JSON; Unavailable, with the reason, if there is none."""
        ...


class WellKnownKeySets:
    """Fetches the key set from the domain itself."""

    def __init__(self, fetcher: Fetcher, clock: Clock) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._answers = LruCache[Domain, tuple[float, Mapping[str, Any] | PentadError]](_MOST_DOMAINS)

    async def key_set(self, domain: Domain) -> Mapping[str, Any]:
        until, answer = self._answers.peek(domain) or (0.0, None)
        if answer is None or self._clock.monotonic() >= until:
            try:
                answer = await self._fetch_keys(domain)
            except PentadError as error:
                answer = error
            self._answers.put(domain, (self._clock.monotonic() + REMEMBERED, answer))
        if isinstance(answer, PentadError):
            raise Unavailable(answer.message, hint=answer.hint)
        return answer

    async def _fetch_keys(self, domain: Domain) -> Mapping[str, Any]:
        answer = await self._fetcher.fetch(
            f"{domain.scheme}://{domain.authority}{PATH}",
            headers={"accept": "application/json"},
            max_bytes=_MOST_BYTES,
            timeout=_SECONDS,
        )
        if answer.status != _OK:
            raise Unavailable(f"{domain.authority} publishes no keys: it answered with HTTP status {answer.status}.")
        check_bounds(answer.body, depth=8, keys=_MOST_KEYS * 20)
        try:
            found: Any = msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = None
        if not isinstance(found, dict):
            raise Unavailable(f"{domain.authority} publishes no keys: {PATH} is not a JSON object.")
        return cast("dict[str, Any]", found)


def domain_of(name: str) -> Domain | None:
    """The domain in a record's name; None if there is none."""
    found = _NAME.fullmatch(name)
    return Domain(found["scheme"].lower(), (found["host"] + (found["port"] or "")).lower()) if found else None


def find_vouched_key(key_set: Mapping[str, Any], keys: Iterable["PublicKey"]) -> DomainKey | None:
    """The first key of the set that is one of these."""
    wanted = {key.fingerprint for key in keys}
    return next((found for found in keys_of(key_set) if found.key.fingerprint in wanted), None)


def keys_of(key_set: Mapping[str, Any]) -> Iterator[DomainKey]:
    """The keys of a set that can verify signatures; other entries are skipped."""
    from pentad.rooms.directory.trust.keys import public_key_of

    entries: Any = key_set.get("keys")
    for entry in cast("list[Any]", entries)[:_MOST_KEYS] if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        jwk = cast("dict[str, Any]", entry)
        if not _is_for_signatures(jwk) or (build := _FAMILIES.get(str(jwk.get("kty")))) is None:
            continue
        try:
            key = public_key_of(build(jwk))
        except (PentadError, ValueError, KeyError):
            continue
        key_id: Any = jwk.get("kid")
        can_be_shown = isinstance(key_id, str) and key_id and key_id.isprintable()
        yield DomainKey(key_id[:_LONGEST_KEY_ID] if can_be_shown else key.fingerprint, key)


def _is_for_signatures(jwk: Mapping[str, Any]) -> bool:
    operations: Any = jwk.get("key_ops", ["verify"])
    return jwk.get("use") in (None, "sig") and isinstance(operations, list) and "verify" in operations


def _octet_key(jwk: Mapping[str, Any]) -> object:
    from cryptography.hazmat.primitives.asymmetric import ed25519

    if jwk["crv"] != "Ed25519":
        raise ValueError
    return ed25519.Ed25519PublicKey.from_public_bytes(_octets(jwk["x"]))


def _elliptic_key(jwk: Mapping[str, Any]) -> object:
    from cryptography.hazmat.primitives.asymmetric import ec

    curves = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1, "P-521": ec.SECP521R1}
    return ec.EllipticCurvePublicNumbers(_number(jwk["x"]), _number(jwk["y"]), curves[str(jwk["crv"])]()).public_key()


def _rsa_key(jwk: Mapping[str, Any]) -> object:
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.RSAPublicNumbers(_number(jwk["e"]), _number(jwk["n"])).public_key()


_FAMILIES: Final[dict[str, Callable[[Mapping[str, Any]], object]]] = {
    "OKP": _octet_key,
    "EC": _elliptic_key,
    "RSA": _rsa_key,
}


def _number(text: Any) -> int:
    return int.from_bytes(_octets(text), "big")


def _octets(text: Any) -> bytes:
    if not isinstance(text, str) or len(text) > _LONGEST_NUMBER or not text.isascii():
        raise ValueError
    return base64url.decode(text)
