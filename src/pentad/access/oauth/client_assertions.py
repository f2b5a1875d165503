"""Signed assertions (`private_key_jwt`, RFC 7523), which authenticate described clients that have keys.

Only asymmetric signatures count. Keys come from the client's document or from the URL it names, fetched under the same
rules as the document.
"""

from typing import Any, Final

import msgspec
from joserfc import jws, jwt
from joserfc.errors import JoseError

from pentad.access.anonymous import AddressBuckets
from pentad.access.jwks import PublicKey, fits, public_keys
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.metadata_documents import FETCH_SECONDS, ClientMetadata
from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError
from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Fetcher

ALGORITHMS: Final = ("RS256", "PS256", "ES256", "Ed25519")
LONGEST_LIFE: Final = 600
_MOST_BYTES: Final = 64 * 1024
_KEPT_SECONDS: Final = 3600.0
_LONGEST: Final = 8192
_LEEWAY: Final = 30


class ClientAssertions:
    """Verifies assertions, and caches the keys they need."""

    def __init__(self, fetcher: Fetcher, clock: Clock) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._keys: LruCache[str, tuple[float, list[PublicKey]]] = LruCache(200)
        self._fetches = AddressBuckets(1 / 30, 3, clock)

    async def check(self, client_id: str, metadata: ClientMetadata, assertion: str, audiences: tuple[str, ...]) -> None:
        """Raise OAuthError `invalid_client` unless the client recently signed this assertion for this server."""
        try:
            if len(assertion) > _LONGEST:
                raise ValueError("too long")
            header = dict(jws.extract_compact(assertion.encode()).headers())
            algorithm = header.get("alg")
            if algorithm not in ALGORITHMS or "crit" in header or "b64" in header:
                raise ValueError("algorithm")
            key = await self._key(metadata, header.get("kid"), algorithm)
            registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
            claims = jwt.decode(assertion, key, registry=registry).claims
            now = int(self._clock.now())
            jwt.JWTClaimsRegistry(
                now=lambda: now,
                leeway=_LEEWAY,
                iss={"essential": True, "value": client_id},
                sub={"essential": True, "value": client_id},
                aud={"essential": True, "values": list(audiences)},
                exp={"essential": True},
            ).validate(claims)
            if claims["exp"] > now + LONGEST_LIFE + _LEEWAY:
                raise ValueError("lives too long")
        except (JoseError, PentadError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise OAuthError("invalid_client", "The client assertion is not valid.") from None

    async def _key(self, metadata: ClientMetadata, key_id: Any, algorithm: str) -> PublicKey:
        for read in (self._known, self._fetched):
            fitting = [key for key in await read(metadata) if fits(key, algorithm) and key_id in (None, key.kid)]
            if len(fitting) == 1:
                return fitting[0]
        raise ValueError("no key")

    async def _known(self, metadata: ClientMetadata) -> list[PublicKey]:
        if metadata.jwks is not None:
            return public_keys(msgspec.json.encode(metadata.jwks))
        known = self._keys.get(metadata.jwks_uri or "")
        return [] if known is None or self._clock.monotonic() - known[0] > _KEPT_SECONDS else known[1]

    async def _fetched(self, metadata: ClientMetadata) -> list[PublicKey]:
        """Fetch the keys at the client's URL: at most three at once, and twice a minute for one URL."""
        url = metadata.jwks_uri
        if url is None or self._fetches.spend(url):
            return []
        answer = await self._fetcher.fetch(url, max_bytes=_MOST_BYTES, timeout=FETCH_SECONDS, follow_redirects=False)
        if answer.status != 200:
            return []
        keys = public_keys(answer.body)
        self._keys.put(url, (self._clock.monotonic(), keys))
        return keys
