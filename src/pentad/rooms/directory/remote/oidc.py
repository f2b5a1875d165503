"""The bearer token of the auth mode oidc.

Sources, in this order: the token in the settings, the stored token (refreshed if it is old), the client's own secret,
and finally a login in the browser. The token is stored in a file that only its owner can read, so a restart needs no
new login, and all processes of a server share one.
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


_HEAD_BYTES: Final = 16 * 1024
_HEAD_SECONDS: Final = 10.0
_SCOPES: Final = "openid profile email"
_REASONS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found"}


class Login:
    """One pending login; `kept` receives the token when it succeeds."""

    def __init__(
        self,
        settings: OidcSettings,
        issuer: Issuer,
        kept: Callable[[Token], Awaitable[None]],
        *,
        randomness: Randomness | None = None,
    ) -> None:
        chance = randomness or SystemRandomness()
        self._settings = settings
        self._issuer = issuer
        self._kept = kept
        self._state = _text(chance.token_bytes(32))
        self._verifier = _text(chance.token_bytes(48))
        self._used = False
        self._over = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._waiting: asyncio.Task[None] | None = None
        self.address = ""
        self.failure: PentadError | None = None

    @property
    def waits(self) -> bool:
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
            "code_challenge": _text(hashlib.sha256(self._verifier.encode()).digest()),
            "code_challenge_method": "S256",
            **({"audience": settings.audience} if settings.audience else {}),
        }
        self.address = await self._issuer.login_address(parameters)
        try:
            self._server = server = await asyncio.start_server(
                self._visited, "127.0.0.1", settings.callback_port, limit=_HEAD_BYTES
            )
        except OSError:
            raise Unavailable(
                f"A login is needed, and port {settings.callback_port} for its answer is taken.",
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

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
            visited = urlsplit(rest.rpartition(" ")[0])
            asked = {key: values[0] for key, values in parse_qs(visited.query, max_num_fields=50).items()}
        except ValueError:
            return 400, "This is not an answer to a login."
        if method != "GET" or visited.path != (urlsplit(self._settings.redirect_uri).path or "/"):
            return 404, "There is nothing here."
        if self._used or not hmac.compare_digest(asked.get("state", "").encode(), self._state.encode()):
            return 400, "This is not the answer to the login that is waited for."
        self._used = True
        return await self._finished(asked.get("code", ""))

    async def _finished(self, code: str) -> tuple[int, str]:
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
            await self._kept(await self._issuer.granted(form))
        except PentadError as error:
            self.failure = error
            return 400, f"The login failed. {error.message} You can close this page."
        return 200, "You are logged in. You can close this page."


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class TokenFile:
    """The token of one client at one issuer."""

    def __init__(self, folder: Path, settings: OidcSettings) -> None:
        name = hashlib.sha256(f"{settings.issuer}\n{settings.client_id}".encode()).hexdigest()[:32]
        self.path = folder / f"directory-oidc-{name}.json"
        self._meant = {"scopes": settings.scopes, "audience": settings.audience}

    def read(self) -> Token | None:
        """The stored token; None if there is none, or it is for other scopes or another audience."""
        try:
            kept: Any = json.loads(self.path.read_bytes())
            if {key: kept[key] for key in self._meant} != self._meant:
                return None
            return Token(str(kept["access_token"]), float(kept["expires"]), str(kept["refresh_token"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, token: Token) -> None:
        """Replace the stored token atomically, so that another process never reads half of it."""
        kept = {
            **self._meant,
            "access_token": token.access,
            "expires": token.expires,
            "refresh_token": token.refresh,
        }
        draft = self.path.with_name(f".{self.path.name}.{opaque_id(size=9)}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(kept, file)
            draft.replace(self.path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise Unavailable(f"The login cannot be kept in the data folder: {error.strerror}.") from None


class OidcTokens:
    """The token for each call of one directory."""

    def __init__(self, settings: ClientSettings, fetcher: Fetcher, folder: Path, clock: Clock) -> None:
        self._given = settings.token
        self._address = settings.address
        self._settings = settings.oidc
        self._clock = clock
        self._issuer = Issuer(settings.oidc, fetcher, clock, settings.deadline)
        self._file = TokenFile(folder, settings.oidc)
        self._kept: Token | None = None
        self._refused = ""
        self._login: Login | None = None
        self._asking = asyncio.Lock()

    async def token(self) -> str:
        """A valid token. Unauthenticated, with the login address, if a person has to log in first."""
        if self._given:
            return self._given
        if self._is_good(self._kept):
            return self._kept.access if self._kept else ""
        async with self._asking:
            kept = self._kept if self._is_good(self._kept) else await asyncio.to_thread(self._file.read)
            if kept is None or not self._is_good(kept):
                kept = await self._renewed(kept)
            self._kept = kept
            return kept.access

    def refused(self) -> None:
        """The directory rejected the token, so it is not sent again even if it has not expired."""
        if self._kept is not None:
            self._refused = self._kept.access

    async def close(self) -> None:
        login, self._login = self._login, None
        if login is not None:
            await login.close()

    def _is_good(self, token: Token | None) -> bool:
        return token is not None and token.access != self._refused and self._clock.now() < token.expires

    async def _renewed(self, old: Token | None) -> Token:
        if old is not None and old.refresh:
            try:
                new = await self._issuer.granted({"grant_type": "refresh_token", "refresh_token": old.refresh})
            except GrantRefused:
                pass  # it was used up or taken back; the other ways remain
            else:
                return await self._keep(Token(new.access, new.expires, new.refresh or old.refresh))
        settings = self._settings
        if not settings.client_secret:
            raise await self._login_wanted()
        asked = {"scope": settings.scopes, "audience": settings.audience}
        form = {"grant_type": "client_credentials", **{key: value for key, value in asked.items() if value}}
        return await self._keep(await self._issuer.granted(form))

    async def _keep(self, token: Token) -> Token:
        self._kept = token
        await asyncio.to_thread(self._file.write, token)
        return token

    async def _logged_in(self, token: Token) -> None:
        await self._keep(token)

    async def _login_wanted(self) -> Exception:
        """The error for calls while a login is pending. A failed login is reported once."""
        login = self._login
        if login is not None and login.failure is not None:
            await self.close()
            return login.failure
        if login is None or not login.waits:
            await self.close()
            login = Login(self._settings, self._issuer, self._logged_in)
            await login.start()
            self._login = login
        return Unauthenticated(
            f"The directory at {self._address} needs a login.", hint=f"Log in at {login.address}, then call again."
        )
