"""Logins to the platform as a user or a connected app, from the settings or from a request's headers.

A token stays in memory until shortly before it expires; concurrent requests share one login. No text made here contains
a password, secret or token.
"""

import asyncio
import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.lru import LruCache
from pentad.rooms.metrics.collectors.contract import Upstream
from pentad.rooms.metrics.models import FetchError, Problem
from pentad.rooms.metrics.settings import MetricsSettings

USER_TOKEN_SECONDS: Final = 3300.0
"""How long to use a user's token; the platform does not say when it expires."""

SPARE_SECONDS: Final = 30.0
RENEWAL_SECONDS: Final = 60.0
REFUSED_SECONDS: Final = 30.0
FAILED_SECONDS: Final = 2.0
MOST_LOGINS: Final = 1_000
NEEDED: Final = "Anypoint username and password OR connected app clientId and clientSecret must be provided."
HINT: Final = (
    "Set PENTAD_ANYPOINT_CLIENT_ID and PENTAD_ANYPOINT_CLIENT_SECRET (or _USERNAME and _PASSWORD), or send the headers"
    " X-ANYPNT-CLIENT-ID and X-ANYPNT-CLIENT-SECRET (or X-ANYPNT-USERNAME and X-ANYPNT-PASSWORD)."
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """A connected app or a user; the app wins. `org` is the group to start at if the query names none."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    org: str = ""

    @property
    def complete(self) -> bool:
        return bool((self.client_id and self.client_secret) or (self.username and self.password))

    @property
    def has_any(self) -> bool:
        """Whether there is any part of a login."""
        return bool(self.client_id or self.client_secret or self.username or self.password)

    @property
    def key(self) -> str:
        """Tells two logins apart without revealing them."""
        parts = (self.client_id, self.client_secret, self.username, self.password)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def from_settings(settings: MetricsSettings) -> Credentials:
    names = ("client_id", "client_secret", "username", "password", "org")
    return Credentials(**{name: (getattr(settings, f"anypoint_{name}") or "").strip() for name in names})


def from_headers(headers: Mapping[str, str]) -> Credentials:
    """The credentials in a request's headers. The password is base64 unless `X-PLAINTEXT-PASSWORD` is true."""
    lower = {name.casefold().replace("_", "-"): value for name, value in headers.items()}

    def header(name: str) -> str:
        return lower.get(f"x-anypnt-{name}", "").strip()

    password = header("password")
    if password and lower.get("x-plaintext-password", "").strip().casefold() != "true":
        try:
            password = base64.b64decode(password, validate=True).decode()
        except ValueError:
            raise InvalidInput(
                "The header X-ANYPNT-PASSWORD is not base64.", hint="Send X-PLAINTEXT-PASSWORD: true with a plain one."
            ) from None
    return Credentials(header("client-id"), header("client-secret"), header("username"), password, header("org-id"))


class Login:
    """Credentials with their token."""

    def __init__(self, credentials: Credentials, base: str) -> None:
        self._credentials = credentials
        self._base = base
        self._token = ""
        self._until = 0.0
        self._is_refused = False
        self._renew_after = 0.0
        self._failure: Problem | None = None
        self._try_after = 0.0
        self._lock = asyncio.Lock()

    @property
    def key(self) -> str:
        return self._credentials.key

    async def headers(self, upstream: Upstream) -> Mapping[str, str]:
        async with self._lock:
            now = upstream.clock.monotonic()
            renews = self._is_refused and now >= self._renew_after
            self._is_refused = False
            if renews or not self._token or now >= self._until:
                if renews:
                    self._renew_after = now + RENEWAL_SECONDS
                await self._log_in(upstream, now)
            return {"authorization": f"Bearer {self._token}"}

    def refused(self, headers: Mapping[str, str]) -> None:
        """Renew the token, but at most once a minute: some requests are refused whatever the token."""
        if headers.get("authorization") == f"Bearer {self._token}":
            self._is_refused = True

    async def _log_in(self, upstream: Upstream, now: float) -> None:
        """Get a token. A refused login is not retried for a while: many wrong logins lock an account."""
        if self._failure is not None and now < self._try_after:
            raise FetchError(self._failure)
        try:
            self._token, seconds = await self._fetch_token(upstream)
        except FetchError as failed:
            self._token, self._failure = "", failed.problem
            pause = REFUSED_SECONDS if failed.problem.kind == "permission" else FAILED_SECONDS
            self._try_after = upstream.clock.monotonic() + pause
            raise
        self._failure = None
        self._until = now + max(seconds - SPARE_SECONDS, seconds / 2)

    async def _fetch_token(self, upstream: Upstream) -> tuple[str, float]:
        mine = self._credentials
        if mine.client_id:
            path = "/accounts/api/v2/oauth2/token"
            form = {
                "grant_type": "client_credentials",
                "client_id": mine.client_id,
                "client_secret": mine.client_secret,
            }
            answer = await upstream.post(f"{self._base}{path}", form=form, scope="login")
        else:
            path = "/accounts/login"
            user = {"username": mine.username, "password": mine.password}
            answer = await upstream.post(f"{self._base}{path}", json=user, scope="login")
        token = cast("dict[str, Any]", answer).get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token:
            message = "The login was answered without a token."
            raise FetchError.of("parse", message, call=f"POST {path}", scope="login")
        seconds = cast("dict[str, Any]", answer).get("expires_in")
        return token, float(seconds) if isinstance(seconds, (int, float)) and seconds > 0 else USER_TOKEN_SECONDS


class Logins:
    """All logins in use; the least recently used are dropped first."""

    def __init__(self, base: str, own: Credentials) -> None:
        self.own = own
        self._base = base
        self._logins = LruCache[str, Login](MOST_LOGINS)

    def credentials(self, given: Mapping[str, str] | None) -> Credentials:
        """The credentials of the request, or the operator's; refused if neither has any."""
        request = from_headers(given) if given else Credentials()
        # An incomplete login must not fall back to the operator's.
        chosen = request if request.has_any else self.own
        if not chosen.complete:
            raise InvalidInput(NEEDED, hint=HINT)
        return replace(chosen, org=request.org or self.own.org)

    def login(self, given: Mapping[str, str] | None) -> Login:
        chosen = self.credentials(given)
        login = self._logins.get(chosen.key)
        if login is None:
            login = Login(chosen, self._base)
            self._logins.put(chosen.key, login)
        return login
