"""A login in the browser: authorization code with PKCE, and the local listener for the redirect.

A call cannot wait minutes for a person, so the listener waits in the background, and the call fails with the address to
open. Requests without the right state are ignored, because any web page can send a browser to this port.
"""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs, urlsplit

from pentad.kernel.clock import Randomness, SystemRandomness
from pentad.kernel.errors import PentadError, Unavailable
from pentad.rooms.directory.remote.client_settings import OidcSettings
from pentad.rooms.directory.remote.oidc_issuer import Issuer, Token

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
