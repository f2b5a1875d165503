"""The bearer token of the auth mode oidc.

Sources, in this order: the token in the settings, the stored token (refreshed if it is old), the client's own secret,
and finally a login in the browser. The token is stored in a file that only its owner can read, so a restart needs no
new login, and all processes of a server share one.
"""

import asyncio
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from pentad.kernel.clock import Clock
from pentad.kernel.errors import Unauthenticated, Unavailable
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Fetcher
from pentad.rooms.directory.remote.client_settings import ClientSettings, OidcSettings
from pentad.rooms.directory.remote.oidc_issuer import GrantRefused, Issuer, Token
from pentad.rooms.directory.remote.oidc_login import Login


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
