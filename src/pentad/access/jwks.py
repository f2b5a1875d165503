"""An issuer's public keys, read from a file or URL, cached and refreshed.

A token with an unknown key id triggers a refresh, at most every 30 seconds, so forged ids cannot make this server flood
the issuer with requests. Symmetric and weak keys in the set are ignored: a public document cannot hold a secret.

A URL from the settings is fetched even inside a private network. A URL that the issuer names is checked like any other,
unless it is on the issuer's own server. A redirect to another server is refused.
"""

import logging
import warnings
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey

from pentad.access.issuer import TrustedIssuer, is_safe_url
from pentad.access.single_flight import SingleFlight
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Misconfigured, PentadError, Unavailable
from pentad.kernel.ports import Fetcher

PublicKey = RSAKey | ECKey | OKPKey

REFRESH_AT_MOST_EVERY: Final = 30.0
KEPT_SECONDS: Final = 3600.0
DISCOVERY: Final = "/.well-known/openid-configuration"
_MOST_BYTES: Final = 256 * 1024
_MOST_KEYS: Final = 100
_FETCH_SECONDS: Final = 5.0
_KEY_TYPES: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}

_log = logging.getLogger(__name__)


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


class _Provider(msgspec.Struct):
    """The fields that Pentad uses of an OpenID Connect discovery document."""

    issuer: str
    jwks_uri: str


class IssuerKeys:
    """Finds the key that a token names."""

    def __init__(self, issuer: TrustedIssuer, fetcher: Fetcher | None = None, *, clock: Clock | None = None) -> None:
        if issuer.jwks_file is None and fetcher is None:
            raise Misconfigured("A JWKS URL needs a way to fetch it.", hint="Use a JWKS file instead.")
        self._issuer = issuer
        self._fetcher = fetcher
        self._monotonic = (clock or SystemClock()).monotonic
        self._keys: list[PublicKey] = []
        self._tried_at: float | None = None
        self._loaded_at: float | None = None
        self._loading: SingleFlight[str, None] = SingleFlight()
        self.source = str(issuer.jwks_file or issuer.jwks_url or issuer.issuer.rstrip("/") + DISCOVERY)
        """The file or URL of the keys."""
        self.trouble: str | None = None
        """Why the last refresh failed, for the operator; not shown to callers."""

    @property
    def key_ids(self) -> list[str]:
        """The ids of the usable keys, or the type of a key without an id."""
        return [str(key.kid or key.key_type) for key in self._keys]

    def serves(self, algorithm: str) -> bool:
        """Whether there is a key for that algorithm."""
        return any(fits(key, algorithm) for key in self._keys)

    async def find(self, key_id: str | None, algorithm: str) -> PublicKey | None:
        """The key for the id and algorithm, or None; Unavailable if keys could never be read."""
        if self._is_due(KEPT_SECONDS):
            await self.refresh()
        key = self._pick(key_id, algorithm)
        if key is None and self._is_due(REFRESH_AT_MOST_EVERY):
            await self.refresh()
            key = self._pick(key_id, algorithm)
        if key is None and self._loaded_at is None:
            raise Unavailable("The token issuer's keys cannot be read right now.", hint="Try again in half a minute.")
        return key

    async def refresh(self) -> None:
        """Read the keys now. A failure is kept in `trouble`, and the previous keys stay."""
        await self._loading.run("keys", self._load)

    def _is_due(self, seconds: float) -> bool:
        """Whether a refresh is allowed and the keys are older than `seconds`."""
        now = self._monotonic()
        if self._tried_at is not None and now - self._tried_at < REFRESH_AT_MOST_EVERY:
            return False
        return self._loaded_at is None or now - self._loaded_at >= seconds

    def _pick(self, key_id: str | None, algorithm: str) -> PublicKey | None:
        fitting = [key for key in self._keys if fits(key, algorithm)]
        if key_id is not None:
            fitting = [key for key in fitting if key.kid == key_id]
        return fitting[0] if len(fitting) == 1 else None

    async def _load(self) -> None:
        previous_trouble, self.trouble = self.trouble, None
        try:
            self._keys = public_keys(await self._document())
            self._loaded_at = self._monotonic()
            if not self._keys:
                self.trouble = f"{self.source} holds no key that can be used"
        except PentadError as error:
            self.trouble = f"{self.source}: {error.sentence()}"
        except OSError as error:
            self.trouble = f"{self.source} cannot be read: {error.strerror}"
        except msgspec.MsgspecError as error:
            self.trouble = f"{self.source} is not a valid document: {error}"
        finally:
            self._tried_at = self._monotonic()  # set last: until then, callers join this load
        if self.trouble is not None and self.trouble != previous_trouble:
            _log.warning("The keys of the issuer %s could not be read: %s", self._issuer.issuer, self.trouble)

    async def _document(self) -> bytes:
        issuer = self._issuer
        if issuer.jwks_file is not None:
            return issuer.jwks_file.read_bytes()
        if issuer.jwks_url is not None:
            return await self._fetched(issuer.jwks_url, trusted=True)
        place = issuer.issuer.rstrip("/") + DISCOVERY
        self.source = place
        provider = msgspec.json.decode(await self._fetched(place, trusted=True), type=_Provider)
        if provider.issuer != issuer.issuer:
            raise Unavailable(
                f"It speaks for the issuer {provider.issuer[:200]!r}, not for {issuer.issuer!r}.",
                hint=f"Write {issuer.place}.issuer exactly as the issuer does, or set {issuer.place}.jwks_url.",
            )
        self.source = provider.jwks_uri
        return await self._fetched(provider.jwks_uri, trusted=origin(provider.jwks_uri) == origin(place))

    async def _fetched(self, url: str, *, trusted: bool) -> bytes:
        if self._fetcher is None or not (trusted or is_safe_url(url)):
            raise Unavailable("Keys are read over https only.", hint=f"Set {self._issuer.place}.jwks_url.")
        fetched = await self._fetcher.fetch(url, max_bytes=_MOST_BYTES, timeout=_FETCH_SECONDS, trusted=trusted)
        if fetched.status != 200:
            raise Unavailable(f"It answered {fetched.status}.")
        if origin(fetched.url) != origin(url):
            raise Unavailable(
                "It redirects to another server.", hint=f"Set {self._issuer.place}.jwks_url to the final address."
            )
        return fetched.body


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port. The fetcher validates the URL more strictly."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        raise Unavailable(f"{url[:200]!r} is not an address.") from None


def fits(key: PublicKey, algorithm: str) -> bool:
    named = key.get("alg")
    return key.key_type == _KEY_TYPES[algorithm[:2]] and key.get("use") in (None, "sig") and named in (None, algorithm)


def public_keys(document: bytes) -> list[PublicKey]:
    """The usable keys of a JWKS; others are skipped."""
    entries = msgspec.json.decode(document, type=_KeySet).keys[:_MOST_KEYS]
    return [key for entry in entries if (key := _usable(entry)) is not None]


def _usable(entry: dict[str, Any]) -> PublicKey | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SecurityWarning)  # refuse weak keys
        try:
            key = JWKRegistry.import_key(entry)
        except (JoseError, SecurityWarning, ValueError, TypeError, KeyError, AttributeError):
            return None
    return key if isinstance(key, RSAKey | ECKey | OKPKey) else None
