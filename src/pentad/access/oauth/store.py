"""The SQL of the authorization server. Every function is one step of a unit of work; its callers have the rules."""

from typing import Final, NamedTuple

from pentad.access.users import CHANNEL
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.kernel.sql import insert

_CLIENTS: Final = "SELECT id, metadata, secret, created_at, used_at, fresh_until FROM oauth_clients"
CLIENT: Final = f"{_CLIENTS} WHERE id = ?"


def add_client(
    tx: Transaction, client_id: str, metadata: str, secret: bytes | None, host: str, address: str, now: float
) -> None:
    tx.run(
        "INSERT INTO oauth_clients (id, metadata, secret, host, address, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        client_id, metadata, secret, host, address, now,
    )  # fmt: skip


def put_document(
    tx: Transaction, client_id: str, metadata: str, host: str, address: str, now: float, fresh_until: float
) -> None:
    tx.run(
        "INSERT INTO oauth_clients (id, metadata, host, address, created_at, fresh_until) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET metadata = excluded.metadata, fresh_until = excluded.fresh_until",
        client_id, metadata, host, address, now, fresh_until,
    )  # fmt: skip


def trim_unused(tx: Transaction, address: str, host: str, most: int) -> None:
    """Keep the newest never-used clients of one host and address."""
    tx.run(
        "DELETE FROM oauth_clients WHERE used_at IS NULL AND id IN (SELECT id FROM oauth_clients"
        " WHERE address = ? AND host = ? AND used_at IS NULL ORDER BY created_at DESC, id LIMIT 1000 OFFSET ?)",
        address, host, most,
    )  # fmt: skip


def prune_clients(tx: Transaction, now: float, *, unused_before: float, used_before: float, most: int) -> None:
    """Remove long-unused clients without a live grant, then never-used ones beyond `most`."""
    tx.run(
        "DELETE FROM oauth_clients WHERE (used_at < ? OR (used_at IS NULL AND created_at < ?))"
        " AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = oauth_clients.id"
        " AND g.revoked_at IS NULL AND g.expires_at > ?)",
        used_before, unused_before, now,
    )  # fmt: skip
    excess = tx.value("SELECT COUNT(*) FROM oauth_clients WHERE used_at IS NULL") - most
    while excess > 0:
        address, count = tx.all(
            "SELECT address, COUNT(*) FROM oauth_clients WHERE used_at IS NULL"
            " GROUP BY address ORDER BY COUNT(*) DESC, address LIMIT 1"
        )[0]
        # At least a tenth of them at a time, so that many addresses with few clients do not each take a step.
        removed = min(excess, max(1, count // 10))
        tx.run(
            "DELETE FROM oauth_clients WHERE id IN (SELECT id FROM oauth_clients"
            " WHERE address = ? AND used_at IS NULL ORDER BY created_at, id LIMIT ?)",
            address, removed,
        )  # fmt: skip
        excess -= removed


def all_clients(rows: Rows) -> list[Row]:
    return rows.all(f"{_CLIENTS} ORDER BY created_at DESC, id")


def remove_client(tx: Transaction, client_id: str) -> int:
    return tx.run("DELETE FROM oauth_clients WHERE id = ?", client_id)


def client_used(tx: Transaction, client_id: str, now: float, every: float) -> None:
    tx.run(
        "UPDATE oauth_clients SET used_at = ? WHERE id = ? AND (used_at IS NULL OR used_at < ?)",
        now, client_id, now - every,
    )  # fmt: skip


class StoredCode(NamedTuple):
    client_id: str
    client_name: str
    user_key: str
    redirect_uri: str
    challenge: str
    scopes: str
    resources: str
    expires_at: float
    grant_until: float
    grant_id: str | None = None


_ADD_CODE: Final = insert("oauth_codes", ("digest", *StoredCode._fields))
_CODES: Final = f"SELECT {', '.join(StoredCode._fields)} FROM oauth_codes"  # noqa: S608  constants


def add_code(tx: Transaction, digest: bytes, code: StoredCode) -> None:
    tx.run(_ADD_CODE, digest, *code)


def code(rows: Rows, digest: bytes) -> StoredCode | None:
    row = rows.one(f"{_CODES} WHERE digest = ?", digest)
    return None if row is None else StoredCode(*row)


def spend_code(tx: Transaction, digest: bytes, grant_id: str) -> bool:
    """Mark a code as redeemed; False if another request was first."""
    return tx.run("UPDATE oauth_codes SET grant_id = ? WHERE digest = ? AND grant_id IS NULL", grant_id, digest) == 1


class StoredGrant(NamedTuple):
    id: str
    user_key: str
    client_id: str
    client_name: str
    scopes: str
    resources: str
    redirect_uri: str
    created_at: float
    expires_at: float
    last_used_at: float | None = None
    revoked_at: float | None = None
    revoked_why: str | None = None


_ADD_GRANT: Final = insert("oauth_grants", StoredGrant._fields)
_GRANTS: Final = f"SELECT {', '.join(StoredGrant._fields)} FROM oauth_grants"  # noqa: S608  constants


def add_grant(tx: Transaction, grant: StoredGrant) -> None:
    tx.run(_ADD_GRANT, *grant)


def grant(rows: Rows, grant_id: str) -> StoredGrant | None:
    row = rows.one(f"{_GRANTS} WHERE id = ?", grant_id)
    return None if row is None else StoredGrant(*row)


def all_grants(rows: Rows) -> list[StoredGrant]:
    return [StoredGrant(*row) for row in rows.all(f"{_GRANTS} ORDER BY created_at DESC, id")]


def grants_of_user(rows: Rows, user_key: str) -> list[StoredGrant]:
    found = rows.all(f"{_GRANTS} WHERE user_key = ? ORDER BY created_at DESC, id", user_key)
    return [StoredGrant(*row) for row in found]


def live_grants(rows: Rows, user_key: str, client_id: str, now: float) -> list[StoredGrant]:
    """The live grants of a user for a client, least recently used first."""
    found = rows.all(
        f"{_GRANTS} WHERE user_key = ? AND client_id = ? AND revoked_at IS NULL AND expires_at > ?"
        " ORDER BY COALESCE(last_used_at, created_at), id",
        user_key, client_id, now,
    )  # fmt: skip
    return [StoredGrant(*row) for row in found]


def revoke_grant(tx: Transaction, grant_id: str, now: float, why: str) -> bool:
    """End a grant and its tokens, and notify all processes; False if it had already ended."""
    changed = tx.run(
        "UPDATE oauth_grants SET revoked_at = ?, revoked_why = ? WHERE id = ? AND revoked_at IS NULL",
        now, why, grant_id,
    )  # fmt: skip
    tx.run("DELETE FROM oauth_tokens WHERE grant_id = ?", grant_id)
    tx.signal(CHANNEL, f"grant:{grant_id}")
    return changed == 1


def grant_used(tx: Transaction, grant_id: str, now: float, every: float) -> None:
    tx.run(
        "UPDATE oauth_grants SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)",
        now, grant_id, now - every,
    )  # fmt: skip


def user_exists(rows: Rows, user_key: str) -> bool:
    return rows.one("SELECT 1 FROM users WHERE name_key = ?", user_key) is not None


class StoredToken(NamedTuple):
    grant_id: str
    kind: str
    scopes: str
    resources: str
    created_at: float
    expires_at: float
    replaced_at: float | None = None


_ADD_TOKEN: Final = insert("oauth_tokens", ("digest", *StoredToken._fields))
_TOKENS: Final = f"SELECT {', '.join(StoredToken._fields)} FROM oauth_tokens"  # noqa: S608  constants
ACCESS: Final = (
    "SELECT t.expires_at, t.scopes, t.resources, g.id, g.client_id, g.expires_at, g.last_used_at,"
    " u.name, u.role, u.scopes"
    " FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id JOIN users u ON u.name_key = g.user_key"
    " WHERE t.digest = ? AND t.kind = 'access' AND g.revoked_at IS NULL"
)
"""Looks up everything about an access token in one query."""


def add_token(tx: Transaction, digest: bytes, token: StoredToken) -> None:
    tx.run(_ADD_TOKEN, digest, *token)


def token(rows: Rows, digest: bytes) -> StoredToken | None:
    row = rows.one(f"{_TOKENS} WHERE digest = ?", digest)
    return None if row is None else StoredToken(*row)


def replace_token(tx: Transaction, digest: bytes, now: float) -> None:
    """Start the grace period of a refresh token, unless it has started."""
    tx.run("UPDATE oauth_tokens SET replaced_at = ? WHERE digest = ? AND replaced_at IS NULL", now, digest)


def remove_token(tx: Transaction, digest: bytes, grant_id: str) -> None:
    """End one token, and notify all processes."""
    tx.run("DELETE FROM oauth_tokens WHERE digest = ?", digest)
    tx.signal(CHANNEL, f"grant:{grant_id}")


def trim_tokens(tx: Transaction, grant_id: str, now: float, *, replaced_before: float, most: int) -> None:
    """Remove a grant's expired tokens, refresh tokens replaced long ago, and all but the newest of each kind."""
    tx.run(
        "DELETE FROM oauth_tokens WHERE grant_id = ? AND (expires_at <= ? OR replaced_at < ?)",
        grant_id, now, replaced_before,
    )  # fmt: skip
    for kind in ("access", "refresh"):
        tx.run(
            "DELETE FROM oauth_tokens WHERE digest IN (SELECT digest FROM oauth_tokens WHERE grant_id = ? AND kind = ?"
            " AND replaced_at IS NULL ORDER BY created_at DESC, digest LIMIT 1000 OFFSET ?)",
            grant_id, kind, most,
        )  # fmt: skip


def prune(tx: Transaction, now: float, *, codes_before: float, grants_before: float) -> None:
    """Remove expired codes and tokens, and grants that ended long ago."""
    tx.run("DELETE FROM oauth_codes WHERE expires_at < ?", codes_before)
    tx.run("DELETE FROM oauth_device_codes WHERE expires_at < ?", codes_before)
    tx.run("DELETE FROM oauth_tokens WHERE expires_at < ?", now)
    tx.run("DELETE FROM oauth_grants WHERE expires_at < ? OR revoked_at < ?", grants_before, grants_before)


class StoredDevice(NamedTuple):
    user_code: str
    client_id: str
    client_name: str
    address: str
    scopes: str
    resources: str
    state: str
    user_key: str | None
    grant_until: float | None
    pause: int
    polled_at: float | None
    created_at: float
    expires_at: float


_ADD_DEVICE: Final = (
    insert("oauth_device_codes", ("digest", *StoredDevice._fields)) + " ON CONFLICT (user_code) DO NOTHING"
)
_DEVICES: Final = f"SELECT {', '.join(StoredDevice._fields)} FROM oauth_device_codes"  # noqa: S608  constants


def add_device(tx: Transaction, digest: bytes, device: StoredDevice) -> bool:
    """Store a device code; False if its user code is taken."""
    return tx.run(_ADD_DEVICE, digest, *device) == 1


def waiting_devices(rows: Rows, now: float) -> int:
    return int(rows.value("SELECT COUNT(*) FROM oauth_device_codes WHERE expires_at > ?", now))


def device(rows: Rows, digest: bytes) -> StoredDevice | None:
    row = rows.one(f"{_DEVICES} WHERE digest = ?", digest)
    return None if row is None else StoredDevice(*row)


def device_by_user_code(rows: Rows, user_code: str) -> StoredDevice | None:
    row = rows.one(f"{_DEVICES} WHERE user_code = ?", user_code)
    return None if row is None else StoredDevice(*row)


def decide_device(
    tx: Transaction, user_code: str, state: str, user_key: str, scopes: str, grant_until: float, now: float
) -> bool:
    """Approve or deny a waiting code; False if it is decided or expired."""
    changed = tx.run(
        "UPDATE oauth_device_codes SET state = ?, user_key = ?, scopes = ?, grant_until = ?"
        " WHERE user_code = ? AND state = 'waiting' AND expires_at > ?",
        state, user_key, scopes, grant_until, user_code, now,
    )  # fmt: skip
    return changed == 1


def device_polled(tx: Transaction, digest: bytes, now: float, pause: int) -> None:
    tx.run("UPDATE oauth_device_codes SET polled_at = ?, pause = ? WHERE digest = ?", now, pause, digest)


def remove_device(tx: Transaction, digest: bytes) -> bool:
    return tx.run("DELETE FROM oauth_device_codes WHERE digest = ?", digest) == 1
