"""Requests to an OpenID Connect issuer: endpoint discovery and tokens.

The operator chose the issuer, so its own origin may be on a private network; an endpoint at another origin is checked
like any other address. Errors contain only the issuer's error code, because its text may repeat secrets.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError, Unauthenticated, Unavailable
from pentad.kernel.ports import Fetched, Fetcher
from pentad.rooms.directory.remote.client_settings import OidcSettings

_ANSWER_BYTES: Final = 256 * 1024
_ASSUMED_SECONDS: Final = 3_600.0
"""The lifetime of a token if the issuer does not say."""
_LONGEST_MARGIN: Final = 30.0
_CODE: Final = re.compile(r"[a-z_]{1,60}\Z")


class GrantRefused(Unauthenticated):
    """The issuer refused a token."""


@dataclass(frozen=True, slots=True)
class Token:
    """An access token, its expiry in seconds since the epoch, and the refresh token."""

    access: str = field(repr=False)
    expires: float
    refresh: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class _Endpoints:
    authorization: str
    token: str
    secret_in_form: bool


class Issuer:
    """The issuer of the settings."""

    def __init__(self, settings: OidcSettings, fetcher: Fetcher, clock: Clock, deadline: float) -> None:
        self._settings = settings
        self._fetcher = fetcher
        self._clock = clock
        self._deadline = deadline
        self._known: _Endpoints | None = None

    async def login_address(self, parameters: Mapping[str, str]) -> str:
        """The address a person opens to log in."""
        address = (await self._endpoints()).authorization
        if not address:
            raise Unavailable(
                f"The OIDC issuer {self._settings.issuer} offers no login.",
                hint="Set DIRECTORY_CLIENT_OIDC_CLIENT_SECRET or DIRECTORY_CLIENT_AUTH_TOKEN.",
            )
        return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"

    async def granted(self, form: Mapping[str, str]) -> Token:
        """A token for a grant; GrantRefused if the issuer refuses."""
        settings, endpoints = self._settings, await self._endpoints()
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        sent = {**form, "client_id": settings.client_id}
        if settings.client_secret and endpoints.secret_in_form:
            sent["client_secret"] = settings.client_secret
        elif settings.client_secret:
            pair = f"{quote(settings.client_id, safe='')}:{quote(settings.client_secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        answer = await self._asked(endpoints.token, method="POST", headers=headers, body=urlencode(sent).encode())
        said = _json_object(answer)
        if 400 <= answer.status < 500:
            code = str(said.get("error", ""))
            told = code if _CODE.match(code) else f"status {answer.status}"
            raise GrantRefused(
                f"The OIDC issuer {settings.issuer} gave no token ({told}).",
                hint="Check DIRECTORY_CLIENT_OIDC_CLIENT_ID, _CLIENT_SECRET, _SCOPES and _AUDIENCE.",
            )
        access = said.get("access_token")
        if answer.status != 200 or not isinstance(access, str) or not _is_sendable(access):
            raise Unavailable(f"The OIDC issuer {settings.issuer} answered without a token (status {answer.status}).")
        refresh = said.get("refresh_token")
        return Token(access, self._expiry(said.get("expires_in")), refresh if isinstance(refresh, str) else "")

    def _expiry(self, lifetime: Any) -> float:
        """A little before the real expiry, so that a running call does not outlive its token."""
        try:
            seconds = max(float(lifetime), 0.0)
        except (TypeError, ValueError):
            seconds = _ASSUMED_SECONDS
        return self._clock.now() + seconds - min(_LONGEST_MARGIN, seconds / 10)

    async def _endpoints(self) -> _Endpoints:
        if self._known is None:
            issuer = self._settings.issuer
            answer = await self._asked(f"{issuer}/.well-known/openid-configuration")
            said = _json_object(answer)
            if answer.status != 200 or not said:
                raise Unavailable(
                    f"{issuer} does not describe itself as an OIDC issuer (status {answer.status}).",
                    hint="Check DIRECTORY_CLIENT_OIDC_ISSUER.",
                )
            if str(said.get("issuer", "")).rstrip("/") != issuer:
                raise Unavailable(
                    f"What is at {issuer} calls itself another OIDC issuer.", hint="Check DIRECTORY_CLIENT_OIDC_ISSUER."
                )
            methods = said.get("token_endpoint_auth_methods_supported")
            self._known = _Endpoints(
                self._endpoint(said, "authorization_endpoint", wanted=False),
                self._endpoint(said, "token_endpoint", wanted=True),
                isinstance(methods, list) and "client_secret_post" in methods,
            )
        return self._known

    def _endpoint(self, said: Mapping[str, Any], name: str, *, wanted: bool) -> str:
        """An endpoint of the issuer's metadata. Secrets go there, so it must be as secure as the issuer itself."""
        address = said.get(name)
        if address is None and not wanted:
            return ""
        schemes = ("https",) if self._settings.issuer.startswith("https:") else ("https", "http")
        if not isinstance(address, str) or urlsplit(address).scheme not in schemes:
            raise Unavailable(f"The OIDC issuer {self._settings.issuer} names no usable {name}.")
        return address

    async def _asked(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Fetched:
        ours, theirs = urlsplit(self._settings.issuer), urlsplit(url)
        try:
            return await self._fetcher.fetch(
                url,
                method=method,
                headers=headers,
                body=body,
                max_bytes=_ANSWER_BYTES,
                timeout=self._deadline,
                trusted=(ours.scheme, ours.netloc) == (theirs.scheme, theirs.netloc),
            )
        except PentadError as error:
            raise Unavailable(
                f"The OIDC issuer {self._settings.issuer} cannot be asked: {error.message}",
                hint="Check DIRECTORY_CLIENT_OIDC_ISSUER and that it runs.",
            ) from None


def _json_object(answer: Fetched) -> dict[str, Any]:
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}  # pyright: ignore[reportUnknownVariableType]  JSON names are strings


def _is_sendable(token: str) -> bool:
    """Whether a header can carry it."""
    return bool(token) and all("!" <= character <= "~" for character in token)
