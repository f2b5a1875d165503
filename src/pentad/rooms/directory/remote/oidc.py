"""The bearer token of the auth mode oidc.

Sources, in this order: the token in the settings, the stored token (refreshed if it is old), the client's own secret,
and finally a login in the browser. The token is stored in a file that only its owner can read, so a restart needs no
new login, and all processes of a server share it.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from pentad.kernel import base64url
from pentad.kernel.clock import Clock, Randomness, SystemRandomness
from pentad.kernel.errors import PentadError, Unauthenticated, Unavailable
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Fetched, Fetcher
from pentad.rooms.directory.remote.client_settings import ClientSettings, OidcSettings

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
    """Requests to the OpenID Connect issuer of the settings: endpoint discovery and tokens.

    The operator chose the issuer, so its own origin may be on a private network; an endpoint at another origin is
    checked like any other address. Errors contain only the issuer's error code: its text may repeat secrets.
    """

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

    async def request_token(self, form: Mapping[str, str]) -> Token:
        """A token for a grant; GrantRefused if the issuer refuses."""
        settings, endpoints = self._settings, await self._endpoints()
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        sent = {**form, "client_id": settings.client_id}
        if settings.client_secret and endpoints.secret_in_form:
            sent["client_secret"] = settings.client_secret
        elif settings.client_secret:
            pair = f"{quote(settings.client_id, safe='')}:{quote(settings.client_secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        answer = await self._fetch(endpoints.token, method="POST", headers=headers, body=urlencode(sent).encode())
        fields = _json_object(answer)
        if 400 <= answer.status < 500:
            code = str(fields.get("error", ""))
            reason = code if _CODE.match(code) else f"status {answer.status}"
            raise GrantRefused(
                f"The OIDC issuer {settings.issuer} gave no token ({reason}).",
                hint="Check the client's id, secret, scopes and audience.",
            )
        access = fields.get("access_token")
        if answer.status != 200 or not isinstance(access, str) or not _is_sendable(access):
            raise Unavailable(f"The OIDC issuer {settings.issuer} answered without a token (status {answer.status}).")
        refresh = fields.get("refresh_token")
        return Token(access, self._expiry(fields.get("expires_in")), refresh if isinstance(refresh, str) else "")

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
            answer = await self._fetch(f"{issuer}/.well-known/openid-configuration")
            fields = _json_object(answer)
            if answer.status != 200 or not fields:
                raise Unavailable(
                    f"{issuer} does not describe itself as an OIDC issuer (status {answer.status}).",
                    hint=f"Check {self._settings.issuer_setting}.",
                )
            if str(fields.get("issuer", "")).rstrip("/") != issuer:
                raise Unavailable(
                    f"The OIDC issuer at {issuer} gives another address as its own.",
                    hint=f"Check {self._settings.issuer_setting}.",
                )
            methods = fields.get("token_endpoint_auth_methods_supported")
            self._known = _Endpoints(
                self._endpoint(fields, "authorization_endpoint", required=False),
                self._endpoint(fields, "token_endpoint", required=True),
                isinstance(methods, list) and "client_secret_post" in methods,
            )
        return self._known

    def _endpoint(self, fields: Mapping[str, Any], name: str, *, required: bool) -> str:
        """An endpoint of the issuer's metadata. Secrets go there, so it must be as secure as the issuer itself."""
        address = fields.get(name)
        if address is None and not required:
            return ""
        schemes = ("https",) if self._settings.issuer.startswith("https:") else ("https", "http")
        if not isinstance(address, str) or urlsplit(address).scheme not in schemes:
            raise Unavailable(f"The OIDC issuer {self._settings.issuer} names no usable {name}.")
        return address

    async def _fetch(
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
                f"The OIDC issuer {self._settings.issuer} cannot be reached: {error.message}",
                hint=f"Check {self._settings.issuer_setting}, and that the issuer runs.",
            ) from None


def _json_object(answer: Fetched) -> dict[str, Any]:
    try:
        fields = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}  # pyright: ignore[reportUnknownVariableType]  JSON names are strings


def _is_sendable(token: str) -> bool:
    """Whether the token fits into a header."""
    return bool(token) and all("!" <= character <= "~" for character in token)


_HEAD_BYTES: Final = 16 * 1024
_HEAD_SECONDS: Final = 10.0
_SCOPES: Final = "openid profile email"
_REASONS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found"}


class Login:
    """A login in the browser (authorization code with PKCE), and the local listener for its redirect.

    A call cannot wait minutes for a person, so the listener waits in the background, and the call fails with the
    address to open. Requests without the right state are ignored: any web page can send a browser to this port.
    `on_token` receives the token when the login succeeds.
    """

    def __init__(
        self,
        settings: OidcSettings,
        issuer: Issuer,
        on_token: Callable[[Token], Awaitable[object]],
        *,
        randomness: Randomness | None = None,
    ) -> None:
        random = randomness or SystemRandomness()
        self._settings = settings
        self._issuer = issuer
        self._on_token = on_token
        self._state = base64url.encode(random.token_bytes(32))
        self._verifier = base64url.encode(random.token_bytes(48))
        self._used = False
        self._over = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._waiting: asyncio.Task[None] | None = None
        self.address = ""
        self.failure: PentadError | None = None

    @property
    def is_pending(self) -> bool:
        return self._waiting is not None and not self._waiting.done()

    async def start(self) -> None:
        """Start to listen, and set the address to open."""
        settings = self._settings
        parameters = {
            "response_type": "code",
            "client_id": settings.client_id,
            "redirect_uri": settings.redirect_uri,
            "scope": settings.scopes or _SCOPES,
            "state": self._state,
            "code_challenge": base64url.encode(hashlib.sha256(self._verifier.encode()).digest()),
            "code_challenge_method": "S256",
            **({"audience": settings.audience} if settings.audience else {}),
        }
        self.address = await self._issuer.login_address(parameters)
        try:
            self._server = server = await asyncio.start_server(
                self._on_request, "127.0.0.1", settings.callback_port, limit=_HEAD_BYTES
            )
        except OSError:
            raise Unavailable(
                f"A login is needed, but port {settings.callback_port} for its answer is in use.",
                hint="Finish the login another process waits for, or set DIRECTORY_CLIENT_OIDC_CALLBACK_PORT.",
            ) from None
        self._waiting = asyncio.create_task(self._wait(server))

    async def close(self) -> None:
        """Stop listening."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        if self._server is not None:
            self._server.close()  # a task that is cancelled before it starts closes nothing

    async def _wait(self, server: asyncio.Server) -> None:
        try:
            await asyncio.wait_for(self._over.wait(), self._settings.auth_timeout)
        except TimeoutError:
            pass  # the next call begins a new login
        finally:
            server.close()

    async def _on_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, text = await self._answer(head.split(b"\r\n", 1)[0].decode("latin-1"))
            body = text.encode()
            writer.write(
                f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: text/plain; charset=utf-8\r\n"
                f"content-length: {len(body)}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n"
                f"x-content-type-options: nosniff\r\nconnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # an empty or oversized request is not part of a login
        finally:
            writer.close()
            if self._used:
                self._over.set()

    async def _answer(self, line: str) -> tuple[int, str]:
        method, _, rest = line.partition(" ")
        try:
            url = urlsplit(rest.rpartition(" ")[0])
            query = {key: values[0] for key, values in parse_qs(url.query, max_num_fields=50).items()}
        except ValueError:
            return 400, "This is not an answer to a login."
        if method != "GET" or url.path != (urlsplit(self._settings.redirect_uri).path or "/"):
            return 404, "There is nothing here."
        if self._used or not hmac.compare_digest(query.get("state", "").encode(), self._state.encode()):
            return 400, "This is not the answer to the pending login."
        self._used = True
        return await self._finish(query.get("code", ""))

    async def _finish(self, code: str) -> tuple[int, str]:
        if not code:
            self.failure = Unavailable("The login was refused.", hint="Call again for a new one.")
            return 400, "The login was refused. You can close this page."
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._settings.redirect_uri,
            "code_verifier": self._verifier,
        }
        try:
            await self._on_token(await self._issuer.request_token(form))
        except PentadError as error:
            self.failure = error
            return 400, f"The login failed. {error.message} You can close this page."
        return 200, "You are logged in. You can close this page."


class TokenFile:
    """The token of one client at one issuer."""

    def __init__(self, folder: Path, settings: OidcSettings) -> None:
        name = hashlib.sha256(f"{settings.issuer}\n{settings.client_id}".encode()).hexdigest()[:32]
        self.path = folder / f"directory-oidc-{name}.json"
        self._purpose = {"scopes": settings.scopes, "audience": settings.audience}

    def read(self) -> Token | None:
        """The stored token; None if there is none, or it is for other scopes or another audience."""
        try:
            stored: Any = json.loads(self.path.read_bytes())
            if {key: stored[key] for key in self._purpose} != self._purpose:
                return None
            return Token(str(stored["access_token"]), float(stored["expires"]), str(stored["refresh_token"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, token: Token) -> None:
        """Replace the stored token atomically, so that another process never reads half of it."""
        content = {
            **self._purpose,
            "access_token": token.access,
            "expires": token.expires,
            "refresh_token": token.refresh,
        }
        draft = self.path.with_name(f".{self.path.name}.{opaque_id(size=9)}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(content, file)
            draft.replace(self.path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise Unavailable(f"The login cannot be stored in the data folder: {error.strerror}.") from None


class OidcTokens:
    """The token for each call of one directory."""

    def __init__(self, settings: ClientSettings, fetcher: Fetcher, folder: Path, clock: Clock) -> None:
        self._fixed_token = settings.token
        self._address = settings.address
        self._settings = settings.oidc
        self._clock = clock
        self._issuer = Issuer(settings.oidc, fetcher, clock, settings.deadline)
        self._file = TokenFile(folder, settings.oidc)
        self._current: Token | None = None
        self._rejected = ""
        self._login: Login | None = None
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        """A valid token. Unauthenticated, with the login address, if a person has to log in first."""
        if self._fixed_token:
            return self._fixed_token
        if self._is_good(self._current):
            return self._current.access if self._current else ""
        async with self._lock:
            stored = self._current if self._is_good(self._current) else await asyncio.to_thread(self._file.read)
            if stored is None or not self._is_good(stored):
                stored = await self._renew(stored)
            self._current = stored
            return stored.access

    def refused(self) -> None:
        """The directory rejected the token, so it is not sent again even if it has not expired."""
        if self._current is not None:
            self._rejected = self._current.access

    async def close(self) -> None:
        login, self._login = self._login, None
        if login is not None:
            await login.close()

    def _is_good(self, token: Token | None) -> bool:
        return token is not None and token.access != self._rejected and self._clock.now() < token.expires

    async def _renew(self, old: Token | None) -> Token:
        if old is not None and old.refresh:
            try:
                new = await self._issuer.request_token({"grant_type": "refresh_token", "refresh_token": old.refresh})
            except GrantRefused:
                pass  # used or revoked; other sources may still work
            else:
                return await self._save(Token(new.access, new.expires, new.refresh or old.refresh))
        settings = self._settings
        if not settings.client_secret:
            raise await self._login_error()
        optional = {"scope": settings.scopes, "audience": settings.audience}
        form = {"grant_type": "client_credentials", **{key: value for key, value in optional.items() if value}}
        return await self._save(await self._issuer.request_token(form))

    async def _save(self, token: Token) -> Token:
        self._current = token
        await asyncio.to_thread(self._file.write, token)
        return token

    async def _login_error(self) -> Exception:
        """The error for calls while a login is pending. A failed login is reported once."""
        login = self._login
        if login is not None and login.failure is not None:
            await self.close()
            return login.failure
        if login is None or not login.is_pending:
            await self.close()
            login = Login(self._settings, self._issuer, self._save)
            await login.start()
            self._login = login
        return Unauthenticated(
            f"The directory at {self._address} needs a login.", hint=f"Log in at {login.address}, then call again."
        )
