"""Users who log in with a name and a password: kept in the store, with a role and extra scopes.

Names are unique regardless of case. Every change is signalled to all processes on the store, which then drop cached
logins. A password or its hash never leaves this module.
"""

import base64
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pentad.access.passwords import Passwords, checked_password
from pentad.access.scopes import checked_role, checked_scopes, scopes_from_text, scopes_of, scopes_to_text
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.errors import Conflict, InvalidInput, NotFound, PentadError
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.kernel.principal import Principal, Role

CHANNEL: Final = "access"
FIRST_ADMIN: Final = "admin"
_NAME: Final = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_SELECT: Final = "SELECT name, role, scopes, created_at FROM users"
_OWNED: Final = (
    "UPDATE api_keys SET revoked_at = ? WHERE owner = ? AND revoked_at IS NULL",
    "UPDATE oauth_grants SET revoked_at = ?, revoked_why = 'user removed' WHERE user_key = ? AND revoked_at IS NULL",
)
"""Removes everything a user leaves behind, so that a later user of the same name does not inherit it."""


@dataclass(frozen=True, slots=True)
class User:
    """One user, without anything secret."""

    name: str
    role: Role
    scopes: frozenset[str]
    created_at: float

    @property
    def principal_id(self) -> str:
        return user_principal_id(self.name)

    def principal(self) -> Principal:
        """The principal of this user, with all its scopes."""
        scopes = scopes_of([self.role], self.scopes)
        return Principal(id=self.principal_id, name=self.name, scopes=scopes, user=self.principal_id)


def is_user_name(name: str) -> bool:
    """Whether this is a valid user name."""
    return _NAME.fullmatch(name) is not None


def user_principal_id(name: str) -> str:
    """The principal id of a user name, regardless of case."""
    return f"user:{name.lower()}"


class Users:
    """The users of one store. `on_change` is called with each principal whose cached credentials are void."""

    def __init__(
        self,
        db: Database,
        passwords: Passwords,
        *,
        on_change: Callable[[str], None] | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self._db = db
        self._passwords = passwords
        self._on_change = on_change
        self._clock = clock or SystemClock()
        self._randomness = randomness or SystemRandomness()

    async def add(
        self,
        name: str,
        password: str,
        *,
        role: str = "reader",
        scopes: Iterable[str] = (),
    ) -> User:
        """Add a user."""
        user = User(_checked_name(name), checked_role(role), checked_scopes(scopes), self._clock.now())
        encoded = await self._passwords.hash(checked_password(password))
        if not await self._db.write(lambda tx: _insert(tx, user, encoded)):
            raise Conflict(
                f"A user named {user.name!r} exists already.",
                hint="Names are compared without regard to case; choose another, or change that user's password.",
            )
        return user

    async def all(self) -> list[User]:
        """Every user, by name."""
        return await self._db.read(_all_users)

    async def find(self, name: str) -> User | None:
        """The user of that name, regardless of case."""
        if not is_user_name(name):
            return None
        row = await self._db.lookup(f"{_SELECT} WHERE name_key = ?", name.lower())
        return None if row is None else _user(row)

    async def first_admin(self) -> User | None:
        """The administrator to name at the start: `admin`, or else the first by name."""
        admins = [user for user in await self.all() if user.role == "admin"]
        return next((user for user in admins if user.name == FIRST_ADMIN), admins[0] if admins else None)

    async def count(self) -> int:
        """How many users there are."""
        return await self._db.read(lambda rows: int(rows.value("SELECT COUNT(*) FROM users")))

    async def change(self, name: str, *, role: Role, scopes: frozenset[str]) -> User:
        """Give a user this role and these extra scopes. The last administrator cannot lose the role."""
        if not is_user_name(name):
            raise no_such_user(name)

        def work(tx: Transaction) -> User:
            sql = "UPDATE users SET role = ?, scopes = ? WHERE name_key = ?"
            if tx.run(sql, role, scopes_to_text(scopes), name.lower()) == 0:
                raise no_such_user(name)
            _keep_an_admin(tx, name)
            tx.signal(CHANNEL, user_principal_id(name))
            row = tx.one(f"{_SELECT} WHERE name_key = ?", name.lower())
            return _user(row or ())

        changed = await self._db.write(work)
        self.changed(name)
        return changed

    async def remove(self, name: str, *, may_empty: bool = True) -> None:
        """Remove a user and revoke its keys and grants.

        The last administrator can only be removed as the last user, and only with `may_empty`.
        """
        if not is_user_name(name):
            raise no_such_user(name)
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            if tx.run("DELETE FROM users WHERE name_key = ?", name.lower()) == 0:
                raise no_such_user(name)
            if not may_empty or tx.value("SELECT COUNT(*) FROM users"):
                _keep_an_admin(tx, name)
            for owned in _OWNED:
                tx.run(owned, now, name.lower())
            _end_logins(tx, name)
            tx.run("DELETE FROM user_identities WHERE user_key = ?", name.lower())
            tx.run("INSERT INTO removed_users (name_key) VALUES (?) ON CONFLICT DO NOTHING", name.lower())
            tx.signal(CHANNEL, user_principal_id(name))

        await self._db.write(work)
        self.changed(name)

    async def set_password(self, name: str, password: str) -> None:
        """Replace a password. Logins with the old one end at once, including browser sessions."""
        if not is_user_name(name):
            raise no_such_user(name)
        encoded = await self._passwords.hash(checked_password(password))

        def work(tx: Transaction) -> None:
            if tx.run("UPDATE users SET password_hash = ? WHERE name_key = ?", encoded, name.lower()) == 0:
                raise no_such_user(name)
            _end_logins(tx, name)
            tx.signal(CHANNEL, user_principal_id(name))

        await self._db.write(work)
        self.changed(name)

    async def verify(self, name: str, password: str) -> User | None:
        """The user, if the password matches. Unknown names take as long as known ones."""
        row = await self._db.lookup(
            "SELECT name, role, scopes, created_at, password_hash FROM users WHERE name_key = ?",
            name.lower(),
        )
        encoded: str | None = None if row is None else row[4]
        if not await self._passwords.verify(encoded, password) or row is None or encoded is None:
            return None
        if self._passwords.is_outdated(encoded):
            await self._rehash(name, password, encoded)
        return _user(row)

    async def ensure_first_admin(self, password: str | None = None) -> str | None:
        """On a store without users, make `admin` and return its password, which is not shown again.

        If several processes start together, one makes the user and gets the password. A given `password` may be of
        any length: it is for the demo, whose public login works on loopback only.
        """
        if await self.count():
            return None
        password = password or base64.b32encode(self._randomness.token_bytes(15)).decode("ascii").lower()
        encoded = await self._passwords.hash(password)
        user = User(FIRST_ADMIN, "admin", frozenset(), self._clock.now())

        def work(tx: Transaction) -> bool:
            return not tx.value("SELECT COUNT(*) FROM users") and _insert(tx, user, encoded)

        return password if await self._db.write(work) else None

    async def _rehash(self, name: str, password: str, outdated: str) -> None:
        """Replace the hash if it is still the old one: a newer password wins. A failure does not fail the login."""
        encoded = await self._passwords.hash(password)

        def work(tx: Transaction) -> None:
            tx.run(
                "UPDATE users SET password_hash = ? WHERE name_key = ? AND password_hash = ?",
                encoded,
                name.lower(),
                outdated,
            )

        try:
            await self._db.write(work)
        except PentadError as error:
            ensure_logged(error, "Rehashing a password")

    def changed(self, name: str) -> None:
        """Forget what this process has cached about a user."""
        if self._on_change is not None:
            self._on_change(user_principal_id(name))


def _keep_an_admin(tx: Transaction, name: str) -> None:
    if not tx.value("SELECT COUNT(*) FROM users WHERE role = 'admin'"):
        raise Conflict(f"{name!r} is the last administrator.", hint="Add another user with the role admin first.")


def _end_logins(tx: Transaction, name: str) -> None:
    """End the user's browser sessions and login links."""
    tx.run("DELETE FROM browser_sessions WHERE user_key = ?", name.lower())
    tx.run("DELETE FROM login_links WHERE user_key = ?", name.lower())


def _insert(tx: Transaction, user: User, encoded: str) -> bool:
    added = tx.run(
        "INSERT INTO users (name_key, name, password_hash, role, scopes, created_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (name_key) DO NOTHING",
        user.name.lower(),
        user.name,
        encoded,
        user.role,
        scopes_to_text(user.scopes),
        user.created_at,
    )
    return added == 1


def _all_users(rows: Rows) -> list[User]:
    found = rows.all(f"{_SELECT} ORDER BY name_key")
    return [_user(row) for row in found]


def _user(row: Row) -> User:
    return User(row[0], row[1], scopes_from_text(row[2]), row[3])


def _checked_name(name: str) -> str:
    if not is_user_name(name):
        raise InvalidInput(
            f"{name[:80]!r} is not a user name.",
            hint="A name has 1 to 64 letters, digits and the characters . _ @ -",
            details={"field": "name"},
        )
    return name


def no_such_user(name: str) -> NotFound:
    return NotFound(f"There is no user {name[:80]!r}.", hint="List the users to see their names.")
