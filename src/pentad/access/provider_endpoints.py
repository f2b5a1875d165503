"""The HTTP side of the company's identity provider: its discovery document, its keys, and requests to it.

`refresh` reads the document and keys, and records any problem in `trouble`. A server does that in the background, so
`/readyz` can report the provider's state without contacting it. `pentad doctor` does it on demand.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from pentad.access.issuer import ASYMMETRIC, TrustedIssuer, is_safe_url
from pentad.access.jwks import DISCOVERY, origin
from pentad.access.single_flight import SingleFlight
from pentad.access.tokens import IssuerTokens
from pentad.access.user_identities import PLACE, IdentityProvider
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Overloaded, PentadError, Unavailable
from pentad.kernel.ports import Fetcher

METADATA_SECONDS: Final = 3600.0
RETRY_SECONDS: Final = 10.0
MOST_AT_ONCE: Final = 32
"""How many logins may wait for the provider, so that a hanging provider cannot exhaust this server."""
_FETCH_SECONDS: Final = 10.0
_MOST_BYTES: Final = 256 * 1024


class ProviderMetadata(msgspec.Struct):
    """The fields that Pentad uses of the provider's discovery document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] = msgspec.field(default_factory=lambda: ["client_secret_basic"])
    authorization_response_iss_parameter_supported: bool = False


class ProviderEndpoints:
    """Finds the provider's endpoints and sends requests to them."""

    def __init__(self, provider: IdentityProvider, fetcher: Fetcher, *, clock: Clock | None = None) -> None:
        self.provider = provider
        trusted = TrustedIssuer(provider.issuer, (provider.client_id,), algorithms=ASYMMETRIC, place=PLACE)
        self.tokens = IssuerTokens(trusted, fetcher, clock=clock)
        self._fetcher = fetcher
        self._clock = clock or SystemClock()
        self._metadata: tuple[ProviderMetadata, float] | None = None
        self._failed: tuple[PentadError, float] | None = None
        self._loading: SingleFlight[None, ProviderMetadata] = SingleFlight()
        self._waiting = 0

    @property
    def trouble(self) -> str | None:
        """Why logins with the provider fail, for the operator; None if there is no known problem."""
        if self._failed is None:
            return self.tokens.trouble
        error = self._failed[0]
        return str(error.details.get("reason", error.message))

    async def refresh(self) -> None:
        """Read the discovery document and the keys now. If that fails, what was read before stays in use."""
        metadata = self._loading.run(None, self._load_metadata)
        await asyncio.gather(metadata, self.tokens.refresh(), return_exceptions=True)  # `trouble` has the reason

    async def metadata(self) -> ProviderMetadata:
        """The provider's endpoints; Unavailable if it does not respond with them."""
        now = self._clock.monotonic()
        if self._metadata is not None and now < self._metadata[1]:
            return self._metadata[0]
        if self._failed is not None and now < self._failed[1]:
            raise self._failed[0]
        return await self._loading.run(None, self._load_metadata)

    async def _load_metadata(self) -> ProviderMetadata:
        """Read the provider's endpoints. A failure is remembered for a few seconds."""
        try:
            metadata = await self._discovered()
        except PentadError as error:
            self._failed = (error, self._clock.monotonic() + RETRY_SECONDS)
            raise
        self._metadata, self._failed = (metadata, self._clock.monotonic() + METADATA_SECONDS), None
        return metadata

    async def _discovered(self) -> ProviderMetadata:
        fetched = await self.fetch(self.provider.issuer.rstrip("/") + DISCOVERY, "GET", {}, None)
        try:
            metadata = msgspec.json.decode(fetched or b"", type=ProviderMetadata)
        except msgspec.MsgspecError as error:
            raise self._unavailable(f"its discovery document cannot be used: {error}") from None
        if metadata.issuer != self.provider.issuer:
            raise self._unavailable(f"it calls itself {metadata.issuer[:200]!r}, and {PLACE}.issuer must say the same")
        for url in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.userinfo_endpoint):
            if url is not None and not is_safe_url(url):
                raise self._unavailable("one of its endpoints is not https")
        return metadata

    async def fetch(self, url: str, method: str, headers: Mapping[str, str], body: bytes | None) -> bytes | None:
        """The body of a response; None if refused. The issuer's own server may be private; other URLs are checked."""
        if self._waiting >= MOST_AT_ONCE:
            raise Overloaded(
                f"Too many people are logging in with {self.provider.name} at this moment.", hint="Try again soon."
            )
        self._waiting += 1
        try:
            answer = await self._fetcher.fetch(
                url,
                method=method,
                headers=headers,
                body=body,
                max_bytes=_MOST_BYTES,
                timeout=_FETCH_SECONDS,
                trusted=origin(url) == origin(self.provider.issuer),
                follow_redirects=False,
            )
        except PentadError as error:
            raise self._unavailable(error.message) from None
        finally:
            self._waiting -= 1
        if answer.status >= 500 or 300 <= answer.status < 400:
            raise self._unavailable(f"it answered {answer.status}")
        return answer.body if answer.status == 200 else None

    def _unavailable(self, why: str) -> Unavailable:
        return Unavailable(
            f"{self.provider.name} cannot be reached right now.",
            hint="Try again in a minute, or log in with a password.",
            details={"reason": why},
        )
