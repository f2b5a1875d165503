"""The issuer's public keys, from a file or a URL, kept and refreshed.

A token with an unknown key id makes us look again, at most every 30 seconds, so that forged ids cannot make this server
hammer the issuer. Symmetric and weak keys in the set are left out: a public document cannot hold a secret.
"""

import logging
import warnings
from typing import Any, Final

import msgspec
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey

from pentad.access.issuer import TrustedIssuer
from pentad.access.single_flight import SingleFlight
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Misconfigured, PentadError, Unavailable
from pentad.kernel.ports import Fetcher

PublicKey = RSAKey | ECKey | OKPKey

REFRESH_AT_MOST_EVERY: Final = 30.0
KEPT_SECONDS: Final = 3600.0
_MOST_BYTES: Final = 256 * 1024
_MOST_KEYS: Final = 100
_FETCH_SECONDS: Final = 5.0
_KEY_TYPES: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}

_log = logging.getLogger(__name__)


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


class IssuerKeys:
    """Finds the key a token names."""

    def __init__(self, issuer: TrustedIssuer, fetcher: Fetcher | None = None, *, clock: Clock | None = None) -> None:
        if issuer.jwks_url is not None and fetcher is None:
            raise Misconfigured("A JWKS URL needs a way to fetch it.", hint="Use a JWKS file instead.")
        self._issuer = issuer
        self._fetcher = fetcher
        self._monotonic = (clock or SystemClock()).monotonic
        self._keys: list[PublicKey] = []
        self._tried_at: float | None = None
        self._loaded_at: float | None = None
        self._loading: SingleFlight[str, None] = SingleFlight()

    async def find(self, key_id: str | None, algorithm: str) -> PublicKey | None:
        """The one key for the id and algorithm, or None; Unavailable while no keys were ever read."""
        if self._is_due(KEPT_SECONDS):
            await self._refresh()
        key = self._pick(key_id, algorithm)
        if key is None and self._is_due(REFRESH_AT_MOST_EVERY):
            await self._refresh()
            key = self._pick(key_id, algorithm)
        if key is None and self._loaded_at is None:
            raise Unavailable(
                "The keys of the token issuer cannot be read at this moment.", hint="Try again in half a minute."
            )
        return key

    def _is_due(self, seconds: float) -> bool:
        """Whether a look is allowed, and what we hold is older than `seconds`."""
        now = self._monotonic()
        if self._tried_at is not None and now - self._tried_at < REFRESH_AT_MOST_EVERY:
            return False
        return self._loaded_at is None or now - self._loaded_at >= seconds

    def _pick(self, key_id: str | None, algorithm: str) -> PublicKey | None:
        fitting = [key for key in self._keys if _fits(key, algorithm)]
        if key_id is not None:
            fitting = [key for key in fitting if key.kid == key_id]
        return fitting[0] if len(fitting) == 1 else None

    async def _refresh(self) -> None:
        await self._loading.run("keys", self._load)

    async def _load(self) -> None:
        try:
            self._keys = _parsed(await self._document())
            self._loaded_at = self._monotonic()
        except (PentadError, OSError, msgspec.MsgspecError) as error:
            _log.warning("The keys of the token issuer could not be read: %s", type(error).__name__)
        finally:
            self._tried_at = self._monotonic()  # only now, so that callers in the meantime join instead of giving up

    async def _document(self) -> bytes:
        if self._issuer.jwks_file is not None:
            return self._issuer.jwks_file.read_bytes()
        if self._fetcher is None or self._issuer.jwks_url is None:
            raise Unavailable("There is no place to read the issuer's keys from.")
        fetched = await self._fetcher.fetch(self._issuer.jwks_url, max_bytes=_MOST_BYTES, timeout=_FETCH_SECONDS)
        if fetched.status != 200:
            raise Unavailable(f"The issuer answered {fetched.status} when asked for its keys.")
        return fetched.body


def _fits(key: PublicKey, algorithm: str) -> bool:
    named = key.get("alg")
    return key.key_type == _KEY_TYPES[algorithm[:2]] and key.get("use") in (None, "sig") and named in (None, algorithm)


def _parsed(document: bytes) -> list[PublicKey]:
    """The usable keys of a JWKS. A key we cannot use is passed over."""
    entries = msgspec.json.decode(document, type=_KeySet).keys[:_MOST_KEYS]
    return [key for entry in entries if (key := _usable(entry)) is not None]


def _usable(entry: dict[str, Any]) -> PublicKey | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SecurityWarning)  # a weak key is a refused key
        try:
            key = JWKRegistry.import_key(entry)
        except (JoseError, SecurityWarning, ValueError, TypeError, KeyError, AttributeError):
            return None
    return key if isinstance(key, RSAKey | ECKey | OKPKey) else None
