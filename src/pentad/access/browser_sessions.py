"""Browser sessions. A cookie holds a random token; the store holds its SHA-256.

A browser gets a token before it logs in, so that the login form has a CSRF token too. That token grants nothing and is
not stored. A login always makes a new token, so a cookie planted earlier becomes worthless.

A session ends after some hours without use, after some days in any case, at logout, when the password changes, or when
the user is removed. Sessions are cached for a few seconds; the end of one is signalled to all processes on the store.

A login link logs one user in once, within minutes. It, too, is stored as its SHA-256.
"""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from pentad.access.credential_cache import CredentialCache
from pentad.access.scopes import scopes_from_text
from pentad.access.users import CHANNEL, User, is_user_name, no_such_user, user_principal_id
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.errors import PentadError
from pentad.kernel.ids import opaque_id, token_digest
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.ports import Database, Row, Transaction
from pentad.kernel.principal import ANONYMOUS, Principal

LoginMethod = Literal["password", "link", "provider"]

SESSION_PREFIX: Final = "pentad_session_"
VISITOR_PREFIX: Final = "pentad_visitor_"
LINK_PREFIX: Final = "pentad_link_"
LINK_SECONDS: Final = 600.0
IDLE_HOURS: Final = 12.0
LONGEST_DAYS: Final = 14.0
TRUST_SECONDS: Final = 5.0
MOST_EACH: Final = 100
"""Sessions per user. A further login ends the least recently used one."""
USE_EVERY: Final = 60.0
"""How often the time of last use is written."""
_TOKEN_BYTES: Final = 32
_LONGEST_TOKEN: Final = 100
_LONGEST_BROWSER: Final = 200
_COLUMNS: Final = "s.id, u.name, s.method, s.browser, s.address, s.created_at, s.used_at"
_OF_USERS: Final = "FROM browser_sessions s JOIN users u ON u.name_key = s.user_key"


@dataclass(frozen=True, slots=True)
class Login:
    """One browser login, without anything secret."""

    id: str
    user: str
    method: LoginMethod
    browser: str
    """The browser's User-Agent."""
    address: str
    created_at: float
    used_at: float
    expires_at: float
    principal: Principal = field(default=ANONYMOUS, repr=False, compare=False)
    """The user with its current scopes."""


class BrowserSession:
    """The browser session of one request. `login` is None before the login.

    Reading `csrf` or `id` gives a new browser its cookie; `BrowserSessions` changes the login. `new_token` tells the
    response what to do with the cookie: nothing (None), delete it (empty), or set it.
    """

    __slots__ = ("_make", "_token", "login", "new_token")

    def __init__(self, token: str | None, login: Login | None, make: Callable[[str], str]) -> None:
        self._token = token
        self._make = make
        self.login = login
        self.new_token: str | None = None

    @property
    def id(self) -> str:
        """Identifies this browser session, even before the login. Not secret."""
        return session_id(self._known_token())

    @property
    def csrf(self) -> str:
        """The token that forms of this browser must send back. Only the owner of the cookie can know it."""
        return _derived("csrf", self._known_token())

    @property
    def user(self) -> str | None:
        return None if self.login is None else self.login.user

    @property
    def method(self) -> LoginMethod | None:
        return None if self.login is None else self.login.method

    @property
    def principal(self) -> Principal:
        return ANONYMOUS if self.login is None else self.login.principal

    def accepts(self, csrf: str) -> bool:
        """Whether the request carries this browser session's CSRF token."""
        return self._token is not None and hmac.compare_digest(csrf.encode(), _derived("csrf", self._token).encode())

    def begin(self, token: str, login: Login) -> None:
        """Record that the browser has logged in."""
        self._token, self.login, self.new_token = token, login, token

    def end(self) -> None:
        """Record that the browser has logged out."""
        self._token, self.login, self.new_token = None, None, ""

    def _known_token(self) -> str:
        if self._token is None:
            self._token = self.new_token = self._make(VISITOR_PREFIX)
        return self._token


class BrowserSessions:
    """The sessions of one store."""

    def __init__(
        self,
        db: Database,
        *,
        idle_hours: float = IDLE_HOURS,
        longest_days: float = LONGEST_DAYS,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self._db = db
        self.idle_seconds = idle_hours * 3600
        self.longest_seconds = longest_days * 86_400
        self._clock = clock or SystemClock()
        self._randomness = randomness or SystemRandomness()
        self._cache: CredentialCache[Login] = CredentialCache(clock=clock, randomness=randomness)
        self.forget = self._cache.forget
        """Drops cached data about a user or session (`user:ada`, `session:...`) that has changed."""

    def follow(self, db: Database) -> Callable[[], None]:
        """Apply changes made by other processes; the returned function stops that."""
        return db.listen(CHANNEL, self.forget)

    def cached(self, token: str) -> BrowserSession | None:
        """The session of a cookie, if cached."""
        login = self._cache.known(token.encode(), None)
        return None if login is None else BrowserSession(token, login, self._new_token)

    async def find(self, token: str | None) -> BrowserSession:
        """The session of a cookie. An unknown or expired token yields a session without a login."""
        if token is not None and not (token.isascii() and 0 < len(token) <= _LONGEST_TOKEN):
            token = None
        login = None if token is None or not token.startswith(SESSION_PREFIX) else await self._login(token)
        return BrowserSession(token, login, self._new_token)

    async def log_in(
        self, session: BrowserSession, user: str, method: LoginMethod, *, browser: str = "", address: str = ""
    ) -> Login:
        """Log a user in. The session gets a new token, and the login it had before ends."""
        token = self._new_token(SESSION_PREFIX)
        now = self._clock.now()
        before = session.login
        row = (session_id(token), user.lower(), method, browser[:_LONGEST_BROWSER], address[:64], now, now)

        def work(tx: Transaction) -> Login:
            tx.run(
                "DELETE FROM browser_sessions WHERE used_at <= ? OR created_at <= ?",
                now - self.idle_seconds,
                now - self.longest_seconds,
            )
            if before is not None:
                _end(tx, before.id)
            tx.run(
                "INSERT INTO browser_sessions (digest, id, user_key, method, browser, address, created_at, used_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                token_digest(token),
                *row,
            )
            tx.run(
                "DELETE FROM browser_sessions WHERE user_key = ? AND id <> ? AND id NOT IN"
                " (SELECT id FROM browser_sessions WHERE user_key = ? ORDER BY used_at DESC LIMIT ?)",
                user.lower(), row[0], user.lower(), MOST_EACH,
            )  # fmt: skip
            found = tx.one(f"SELECT {_COLUMNS}, u.role, u.scopes {_OF_USERS} WHERE s.id = ?", row[0])
            if found is None:
                raise no_such_user(user)
            return self._read(found)

        login = await self._db.write(work)
        if before is not None:
            self.forget(_subject(before.id))
        session.begin(token, login)
        return login

    async def log_out(self, session: BrowserSession) -> None:
        """End this browser's login."""
        if session.login is not None:
            await self.end(session.login.id)
        session.end()

    async def end(self, session: str) -> bool:
        """End one session by its id; returns whether it existed."""
        found = await self._db.write(lambda tx: _end(tx, session))
        self.forget(_subject(session))
        return found

    async def end_all(self, user: str) -> int:
        """End all sessions of a user; returns how many."""
        if not is_user_name(user):
            return 0

        def work(tx: Transaction) -> int:
            tx.signal(CHANNEL, user_principal_id(user))
            return tx.run("DELETE FROM browser_sessions WHERE user_key = ?", user.lower())

        found = await self._db.write(work)
        self.forget(user_principal_id(user))
        return found

    async def of_user(self, user: str) -> list[Login]:
        """The sessions of one user, last used first."""
        return [one for one in await self.all() if one.user.lower() == user.lower()]

    async def all(self) -> list[Login]:
        """Every session that has not expired, last used first."""
        now = self._clock.now()
        sql = f"SELECT {_COLUMNS}, u.role, u.scopes {_OF_USERS} ORDER BY s.used_at DESC, s.id"
        rows = await self._db.read(lambda rows: rows.all(sql))
        return [login for row in rows if (login := self._read(row)).expires_at > now]

    async def make_link(self, user: str) -> str:
        """Make a token that logs the user in once. It is not stored, so this is the only chance to read it."""
        token = self._new_token(LINK_PREFIX)
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            tx.run("DELETE FROM login_links WHERE expires_at <= ?", now)
            if not is_user_name(user) or tx.one("SELECT 1 FROM users WHERE name_key = ?", user.lower()) is None:
                raise no_such_user(user)
            tx.run(
                "INSERT INTO login_links (digest, user_key, expires_at) VALUES (?, ?, ?)",
                token_digest(token),
                user.lower(),
                now + LINK_SECONDS,
            )

        await self._db.write(work)
        return token

    async def link_user(self, token: str) -> str | None:
        """The user a link would log in; None if it is unknown, used or expired. Does not use up the link."""
        row = await self._db.lookup(_LINK, token_digest(token)) if _is_link(token) else None
        return None if row is None or row[1] <= self._clock.now() else row[0]

    async def use_link(self, token: str) -> str | None:
        """Use up a link; returns the user it logs in."""
        now = self._clock.now()

        def work(tx: Transaction) -> str | None:
            row = tx.one(_LINK, token_digest(token))
            used = tx.run("DELETE FROM login_links WHERE digest = ?", token_digest(token))
            return row[0] if row is not None and used == 1 and row[1] > now else None

        return await self._db.write(work) if _is_link(token) else None

    async def _login(self, token: str) -> Login | None:
        if (known := self._cache.known(token.encode(), None)) is not None:
            return known
        generation = self._cache.generation
        row = await self._db.lookup(
            f"SELECT {_COLUMNS}, u.role, u.scopes {_OF_USERS} WHERE s.digest = ?",
            token_digest(token),
        )
        now = self._clock.now()
        if row is None or (login := self._read(row)).expires_at <= now:
            return None
        if now - login.used_at >= USE_EVERY:
            login = await self._record_use(login, now)
        self._cache.add(
            self._cache.fingerprint(token.encode(), None),
            login,
            seconds=TRUST_SECONDS,
            expires_at=login.expires_at,
            subjects=(user_principal_id(login.user), _subject(login.id)),
            generation=generation,
        )
        return login

    async def _record_use(self, login: Login, now: float) -> Login:
        """Record when a session was used. A failure is only logged, because sessions must still work while the store is
        read-only."""

        def work(tx: Transaction) -> None:
            tx.run("UPDATE browser_sessions SET used_at = ? WHERE id = ? AND used_at < ?", now, login.id, now)

        try:
            await self._db.write(work)
        except PentadError as error:
            ensure_logged(error, "Recording the use of a browser session")
            return login
        return replace(login, used_at=now, expires_at=self._expiry(login.created_at, now))

    def _read(self, row: Row) -> Login:
        name, method, browser, address, created_at, used_at, role, scopes = row[1:]
        principal = User(name, role, scopes_from_text(scopes), 0.0).principal()
        return Login(
            id=row[0],
            user=name,
            method=method,
            browser=browser,
            address=address,
            created_at=created_at,
            used_at=used_at,
            expires_at=self._expiry(created_at, used_at),
            principal=replace(principal, credential=_subject(row[0])),
        )

    def _expiry(self, created_at: float, used_at: float) -> float:
        return min(created_at + self.longest_seconds, used_at + self.idle_seconds)

    def _new_token(self, prefix: str) -> str:
        return prefix + opaque_id(self._randomness, _TOKEN_BYTES)


_LINK: Final = (
    "SELECT u.name, l.expires_at FROM login_links l JOIN users u ON u.name_key = l.user_key WHERE l.digest = ?"
)


def _is_link(token: str) -> bool:
    return token.startswith(LINK_PREFIX) and token.isascii() and len(token) <= _LONGEST_TOKEN


def session_id(token: str) -> str:
    """The public name of a session."""
    return _derived("id", token)[:16]


def _end(tx: Transaction, session: str) -> bool:
    tx.signal(CHANNEL, _subject(session))
    return tx.run("DELETE FROM browser_sessions WHERE id = ?", session) == 1


def _subject(session: str) -> str:
    return f"session:{session}"


def _derived(purpose: str, token: str) -> str:
    """A value derived from the token that does not reveal it."""
    return hmac.digest(token.encode("ascii"), purpose.encode(), hashlib.sha256).hex()
