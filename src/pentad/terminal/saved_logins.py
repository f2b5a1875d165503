"""Stores logins made by `pentad login` in the user's configuration folder, for verbs with `--url`.

Only the owner can read the file, and it is replaced as a whole. Processes that refresh a token at the same time take
turns; the second one reuses the first one's token. A login is for one issuer and one resource, so a server with a
different identity gets no token.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlencode, urlsplit

from pentad.kernel.errors import InvalidInput, Misconfigured, NotFound, PentadError, Unauthenticated, Unavailable

if TYPE_CHECKING:
    from pentad.kernel.ports import Fetcher

CLIENT_ID: Final = "pentad-cli"
WHOLE_SERVER: Final = "/"
METADATA: Final = "/.well-known/oauth-authorization-server"
REFRESH_EARLY: Final = 30.0
_FILE: Final = "logins.json"
_LOCK: Final = "logins.lock"
_TIMEOUT: Final = 30.0
_MOST_BYTES: Final = 64 * 1024
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class SavedLogin:
    """Tokens for one server, and the endpoints that renew and revoke them."""

    issuer: str
    token_endpoint: str
    access_token: str = field(repr=False)
    expires_at: float
    refresh_token: str | None = field(default=None, repr=False)
    revocation_endpoint: str | None = None
    resource: str = WHOLE_SERVER

    def is_fresh(self, now: float) -> bool:
        return now < self.expires_at - REFRESH_EARLY

    def with_tokens(self, answer: Mapping[str, Any], now: float) -> "SavedLogin":
        """The login with the tokens of a token response."""
        access, seconds = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(access, str) or not access.isascii() or not access.isprintable():
            raise Unavailable("The server answered without a token.", hint="Try again, or update Pentad there.")
        refresh = answer.get("refresh_token", self.refresh_token)
        lifetime = float(seconds) if isinstance(seconds, int | float) else 0.0
        return replace(
            self,
            access_token=access,
            refresh_token=refresh if isinstance(refresh, str) else None,
            expires_at=now + lifetime,
        )


class SavedLogins:
    """The file of logins."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / _FILE

    def find(self, url: str) -> SavedLogin | None:
        """The login for the server of a URL."""
        return next((login for login in self.all() if login.issuer == origin_of(url)), None)

    def all(self) -> list[SavedLogin]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            return [SavedLogin(**one) for one in cast("list[dict[str, Any]]", found["logins"])]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError):
            raise Misconfigured(
                f"{self.path} cannot be read.", hint="Remove it and run `pentad login URL` again."
            ) from None

    def save(self, login: SavedLogin) -> None:
        """Add a login; it replaces the one for the same issuer and resource."""
        with self.locked():
            self._write([*self._others(login), login])

    def remove(self, login: SavedLogin) -> None:
        with self.locked():
            self._write(self._others(login))

    def replace(self, login: SavedLogin) -> None:
        """Like `save`, for a caller that holds the lock."""
        self._write([*self._others(login), login])

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """Keep other processes from changing the file. On systems without file locks, the last writer wins."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix":
            self._folder.chmod(0o700)
        descriptor = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.name == "posix":
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _others(self, login: SavedLogin) -> list[SavedLogin]:
        return [one for one in self.all() if (one.issuer, one.resource) != (login.issuer, login.resource)]

    def _write(self, logins: list[SavedLogin]) -> None:
        text = json.dumps({"logins": [asdict(one) for one in logins]}, indent=2) + "\n"
        unfinished = self._folder / f".{_FILE}.{secrets.token_hex(8)}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)


def saved_logins(environ: Mapping[str, str] = os.environ) -> SavedLogins:
    """The logins of this user."""
    from pentad.settings.model import user_config_folder

    return SavedLogins(user_config_folder(environ))


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, as in a server's issuer name."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise InvalidInput("That is not a server's address.", hint="Write https://pentad.example.com.")
    if parts.username is not None:
        raise InvalidInput(
            "The server's address contains a user name.", hint="Leave it out, and name the user with --user NAME."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")


async def access_token(
    logins: SavedLogins, url: str, fetcher: "Fetcher", now: Callable[[], float] = time.time
) -> str | None:
    """The access token for the server of a URL, renewed if it is about to expire; None if there is no login."""
    login = logins.find(url)
    if login is None or login.is_fresh(now()):
        return None if login is None else login.access_token
    with logins.locked():
        login = logins.find(url)  # another process may have renewed it
        if login is None or login.is_fresh(now()):
            return None if login is None else login.access_token
        answer = None
        if login.refresh_token is not None:
            fields = {"grant_type": "refresh_token", "refresh_token": login.refresh_token, "client_id": CLIENT_ID}
            answer = await post_form(fetcher, login.token_endpoint, fields)
        if answer is None or answer[0] in (400, 401):
            raise Unauthenticated(f"The login at {login.issuer} has ended.", hint=login_hint(url))
        if answer[0] != 200:
            raise Unavailable(f"{login.issuer} did not renew the login: it answered {answer[0]}.")
        login = login.with_tokens(answer[1], now())
        logins.replace(login)
        return login.access_token


async def discovered(url: str, fetcher: "Fetcher") -> Mapping[str, str]:
    """The server's endpoints for device logins. All of them must be on that server."""
    origin = origin_of(url)
    answer = await fetcher.fetch(origin + METADATA, max_bytes=_MOST_BYTES, timeout=_TIMEOUT)
    found = _object(answer.body) if answer.status == 200 else {}
    if "device_authorization_endpoint" not in found:
        raise NotFound(
            f"{origin} has no login for programs.", hint="Use an API key (--token) or a password (--user) there."
        )
    if found.get("issuer") != origin:
        raise Misconfigured(
            f"{origin} calls itself {str(found.get('issuer'))[:200]!r}.", hint="Log in at that address instead."
        )
    names = ("device_authorization_endpoint", "token_endpoint", "revocation_endpoint")
    endpoints = {name: found[name] for name in names if isinstance(found.get(name), str)}
    if "token_endpoint" not in endpoints or any(origin_of(one) != origin for one in endpoints.values()):
        raise Misconfigured(f"{origin} sends programs to another server.", hint="Ask its operator to check this.")
    return endpoints


async def post_form(fetcher: "Fetcher", url: str, fields: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    """Post a form and return the status and JSON object of the response."""
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    answer = await fetcher.fetch(
        url, method="POST", headers=headers, body=urlencode(fields).encode(), max_bytes=_MOST_BYTES, timeout=_TIMEOUT
    )
    return answer.status, _object(answer.body)


async def revoke(login: SavedLogin, fetcher: "Fetcher") -> bool:
    """Revoke the tokens; returns whether the server accepted that."""
    token = login.refresh_token or login.access_token
    if login.revocation_endpoint is None:
        return False
    try:
        status, _ = await post_form(fetcher, login.revocation_endpoint, {"token": token, "client_id": CLIENT_ID})
    except PentadError:
        return False
    return status == 200


def login_hint(url: str) -> str:
    """What to do about a missing or ended login."""
    return f"Run `pentad login {origin_of(url)}`, or give --token (or PENTAD_TOKEN), or --user NAME."


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
