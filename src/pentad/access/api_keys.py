"""API keys for programs: `pentad_<id>_<secret>`, shown once and stored only as SHA-256.

A key is read-only by default, expires, and never has more rights than its owner has at the time of the call. It acts as
its owner, so whatever it creates belongs to the owner; a confined key (`own_only`) sees only what it created itself.
The secret has 256 random bits, so a fast hash is enough; a slow one would only delay every request.
"""

import base64
import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from pentad.access.scopes import READ_ONLY, checked_scopes, narrowed, scopes_from_text, scopes_of, scopes_to_text
from pentad.access.users import CHANNEL, is_user_name, user_principal_id
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.ids import token_digest
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.kernel.principal import Principal

PREFIX: Final = "pentad_"
DEFAULT_LIFETIME: Final = 90 * 86_400.0
LAST_USE_EVERY: Final = 60.0
_TOKEN: Final = re.compile(r"pentad_([a-z2-7]{16})_[a-z2-7]{52}")
_KEY_ID: Final = re.compile(r"[a-z2-7]{16}")
_SELECT: Final = (
    "SELECT id, label, owner, scopes, created_at, expires_at, own_only, last_used_at, revoked_at FROM api_keys"
)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret."""

    id: str
    label: str
    owner: str | None
    scopes: frozenset[str]
    created_at: float
    expires_at: float | None
    own_only: bool = False
    last_used_at: float | None = None
    revoked_at: float | None = None

    @property
    def credential(self) -> str:
        return f"key:{self.id}"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its token. The token is not stored, so this is the only chance to read it."""

    key: ApiKey
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class VerifiedKey:
    """The principal of a key, and when the key expires."""

    principal: Principal
    expires_at: float | None


class ApiKeys:
    """The keys of one store. `on_change` is called with each principal whose cached credentials are void."""

    def __init__(
        self,
        db: Database,
        *,
        on_change: Callable[[str], None] | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self._db = db
        self._on_change = on_change
        self._clock = clock or SystemClock()
        self._randomness = randomness or SystemRandomness()

    async def create(
        self,
        label: str,
        *,
        owner: str | None = None,
        scopes: Iterable[str] = READ_ONLY,
        lifetime: float | None = DEFAULT_LIFETIME,
        own_only: bool = False,
    ) -> NewKey:
        """Create a key. A key without an owner is its own principal; allow that only to administrators."""
        now = self._clock.now()
        token = f"{PREFIX}{self._text(10)}_{self._text(32)}"
        key = ApiKey(
            id=token.split("_")[1],
            label=_checked_label(label),
            owner=None if owner is None else owner.lower(),
            scopes=_at_least_one(checked_scopes(scopes)),
            created_at=now,
            expires_at=None if lifetime is None else now + _checked_lifetime(lifetime),
            own_only=own_only,
        )
        await self._db.write(lambda tx: _insert(tx, key, token_digest(token)))
        return NewKey(key, token)

    async def all(self, *, owner: str | None = None) -> list[ApiKey]:
        """Every key, or those of one owner, newest first. Includes revoked and expired keys."""

        def work(rows: Rows) -> list[ApiKey]:
            chosen = ("", ()) if owner is None else (" WHERE owner = ?", (owner.lower(),))
            found = rows.all(f"{_SELECT}{chosen[0]} ORDER BY created_at DESC, id", *chosen[1])
            return [_key(row) for row in found]

        return await self._db.read(work)

    async def revoke(self, key_id: str, *, owner: str | None = None) -> None:
        """Revoke a key for good. With `owner`, other owners' keys are treated as unknown."""
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            row = tx.one("SELECT owner FROM api_keys WHERE id = ?", key_id) if _KEY_ID.fullmatch(key_id) else None
            if row is None or (owner is not None and row[0] != owner.lower()):
                raise NotFound(f"There is no key {key_id[:80]!r}.", hint="List the keys to see their ids.")
            tx.run("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", now, key_id)
            tx.signal(CHANNEL, f"key:{key_id}")

        await self._db.write(work)
        if self._on_change is not None:
            self._on_change(f"key:{key_id}")

    async def verify(self, token: str) -> VerifiedKey | None:
        """The principal of a token, or None if it is invalid for any reason."""
        match = _TOKEN.fullmatch(token)
        row = None if match is None else await self._db.lookup(_VERIFY, match[1])
        if match is None or row is None or not hmac.compare_digest(bytes(row[0]), token_digest(token)):
            return None
        _, label, owner, scopes, expires_at, own_only, last_used_at, owner_name, owner_role, owner_scopes = row
        now = self._clock.now()
        if (expires_at is not None and now >= expires_at) or (owner is not None and owner_role is None):
            return None
        allowed = scopes_from_text(scopes)
        if owner is not None:
            allowed = narrowed(allowed, scopes_of([owner_role], scopes_from_text(owner_scopes)))
        if last_used_at is None or now - last_used_at >= LAST_USE_EVERY:
            await self._record_use(match[1], now)
        credential = f"key:{match[1]}"
        user = None if owner is None else user_principal_id(owner)
        if user is None or own_only:
            principal = Principal(credential, label, allowed, "key", credential, user)
        else:
            principal = Principal(user, owner_name, allowed, "key", credential, user)
        return VerifiedKey(principal, expires_at)

    async def _record_use(self, key_id: str, now: float) -> None:
        """Record when a key was used. A failure is only logged, because keys must still work while the store is
        read-only."""

        def work(tx: Transaction) -> None:
            tx.run(
                "UPDATE api_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)",
                now,
                key_id,
                now - LAST_USE_EVERY,
            )

        try:
            await self._db.write(work)
        except PentadError as error:
            ensure_logged(error, "Recording the use of a key")

    def _text(self, count: int) -> str:
        return base64.b32encode(self._randomness.token_bytes(count)).rstrip(b"=").decode("ascii").lower()


_VERIFY: Final = (
    "SELECT k.digest, k.label, k.owner, k.scopes, k.expires_at, k.own_only, k.last_used_at, u.name, u.role, u.scopes"
    " FROM api_keys k LEFT JOIN users u ON u.name_key = k.owner WHERE k.id = ? AND k.revoked_at IS NULL"
)


def _insert(tx: Transaction, key: ApiKey, digest: bytes) -> None:
    if key.owner is not None and not (
        is_user_name(key.owner) and tx.one("SELECT 1 FROM users WHERE name_key = ?", key.owner)
    ):
        raise NotFound(
            f"There is no user {key.owner[:80]!r} to own the key.", hint="List the users to see their names."
        )
    tx.run(
        "INSERT INTO api_keys (id, digest, label, owner, scopes, created_at, expires_at, own_only)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        key.id,
        digest,
        key.label,
        key.owner,
        scopes_to_text(key.scopes),
        key.created_at,
        key.expires_at,
        int(key.own_only),
    )


def _key(row: Row) -> ApiKey:
    return ApiKey(row[0], row[1], row[2], scopes_from_text(row[3]), row[4], row[5], bool(row[6]), row[7], row[8])


def _checked_label(label: str) -> str:
    if not (1 <= len(label) <= 100 and label.isprintable()):
        raise InvalidInput(
            "A key's label has 1 to 100 printable characters.",
            hint="Say what the key is for, e.g. 'Ada's laptop'.",
            details={"field": "label"},
        )
    return label


def _at_least_one(scopes: frozenset[str]) -> frozenset[str]:
    if not scopes:
        raise InvalidInput(
            "A key needs at least one scope.",
            hint="Omit scopes for *:read, or name some.",
            details={"field": "scopes"},
        )
    return scopes


def _checked_lifetime(seconds: float) -> float:
    if not 0 < seconds < 1e10:
        raise InvalidInput(
            "A key's lifetime is a positive number of seconds.", hint="Omit it for a key that never expires."
        )
    return seconds
