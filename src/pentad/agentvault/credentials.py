"""Credentials for calls to an agent: chooses one of its schemes and creates the headers.

The order is AgentVault's (a key, then OAuth, then nothing), with bearer keys added before nothing. A token is used
until shortly before it expires, or for five minutes if it has no expiry. Errors never contain a secret.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.parse import urlencode

from pentad.agentvault.exceptions import A2AAuthenticationError
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.default_limits import KIB
from pentad.kernel.errors import PentadError

if TYPE_CHECKING:
    from pentad.agentvault.key_manager import KeyManager
    from pentad.kernel.ports import Fetched, Fetcher

EARLY_SECONDS: Final = 60.0
DEFAULT_SECONDS: Final = 300.0
_TOKEN_BYTES: Final = 64 * KIB
_SHOWN: Final = 200
_SUPPORTED: Final = ("apiKey", "oauth2", "bearer", "none")


@dataclass(frozen=True, slots=True)
class Scheme:
    """One authentication scheme from a card. `service` is the id of the keys."""

    kind: Literal["apiKey", "oauth2", "bearer", "none"]
    service: str
    token_url: str | None = None
    scopes: tuple[str, ...] = ()
    header: str = "X-Api-Key"


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    until: float


class Credentials:
    """Chooses schemes and caches tokens."""

    def __init__(self, fetcher: "Fetcher", *, trusted: bool, clock: Clock | None = None) -> None:
        self._fetcher = fetcher
        self._trusted = trusted
        self._clock = clock or SystemClock()
        self._tokens: dict[tuple[str, str, tuple[str, ...]], _Token] = {}
        self._asking = asyncio.Lock()

    async def headers(
        self, agent: str, schemes: Sequence[Scheme], keys: "KeyManager", *, renew: bool = False
    ) -> dict[str, str]:
        """The headers of a call. `renew`: the last token was rejected, so request a new one."""
        by_kind = {scheme.kind: scheme for scheme in reversed(schemes)}
        if (scheme := by_kind.get("apiKey")) is not None:
            return {scheme.header: _require(keys.get_key(scheme.service), agent, scheme)}
        if (scheme := by_kind.get("oauth2")) is not None:
            return {"Authorization": f"Bearer {await self._token(agent, scheme, keys, renew)}"}
        if (scheme := by_kind.get("bearer")) is not None:
            key = keys.get_key(scheme.service)
            if key is not None or "none" not in by_kind:
                return {"Authorization": f"Bearer {_require(key, agent, scheme)}"}
        if "none" in by_kind:
            return {}
        raise A2AAuthenticationError(
            f"{agent} accepts {', '.join(sorted(by_kind)) or 'no scheme at all'}; this client can use "
            f"{', '.join(_SUPPORTED)}."
        )

    async def _token(self, agent: str, scheme: Scheme, keys: "KeyManager", renew: bool) -> str:
        client_id = keys.get_oauth_client_id(scheme.service)
        secret = keys.get_oauth_client_secret(scheme.service)
        if not client_id or not secret:
            raise A2AAuthenticationError(f"There are no OAuth client credentials for {scheme.service!r} ({agent}).")
        if scheme.token_url is None:
            raise A2AAuthenticationError(f"The card of {agent} names no token endpoint.")
        name = (scheme.token_url, client_id, scheme.scopes)
        async with self._asking:  # concurrent calls request the same token once
            known = self._tokens.get(name)
            if known is None or renew or known.until <= self._clock.monotonic():
                known = self._tokens[name] = await self._new_token(scheme.token_url, client_id, secret, scheme)
        return known.value

    async def _new_token(self, url: str, client_id: str, secret: str, scheme: Scheme) -> _Token:
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        if scheme.scopes:
            form["scope"] = " ".join(scheme.scopes)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        try:
            answer = await self._fetcher.fetch(
                url,
                method="POST",
                headers=headers,
                body=urlencode(form).encode(),
                max_bytes=_TOKEN_BYTES,
                trusted=self._trusted,
            )
        except PentadError as error:
            raise A2AAuthenticationError(f"No token from {url}: {error.sentence()}") from error
        return self._read_token(url, answer, secret)

    def _read_token(self, url: str, answer: "Fetched", secret: str) -> _Token:
        if not 200 <= answer.status < 300:
            text = answer.body.decode("utf-8", "replace").replace(secret, "***")[:_SHOWN]
            raise A2AAuthenticationError(f"No token from {url}: HTTP {answer.status}: {text}")
        try:
            found: Any = json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise A2AAuthenticationError(f"No token from {url}: its answer is not JSON.") from error
        token: dict[str, Any] = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        value, kind, lasts = token.get("access_token"), token.get("token_type", "bearer"), token.get("expires_in")
        if not isinstance(value, str) or not value:
            raise A2AAuthenticationError(f"No token from {url}: its answer has no access_token.")
        if not isinstance(kind, str) or kind.lower() != "bearer":
            raise A2AAuthenticationError(f"No token from {url}: it is of a type that cannot be used.")
        return _Token(value, self._clock.monotonic() + _lifetime(lasts))


def _lifetime(expires_in: Any) -> float:
    try:
        seconds = float(expires_in)
    except (TypeError, ValueError):
        return DEFAULT_SECONDS
    return max(0.0, seconds - EARLY_SECONDS) if seconds == seconds else DEFAULT_SECONDS


def _require(key: str | None, agent: str, scheme: Scheme) -> str:
    if not key:
        raise A2AAuthenticationError(
            f"There is no key for {scheme.service!r}, which {agent} asks for (scheme {scheme.kind})."
        )
    return key
