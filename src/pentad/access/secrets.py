"""Random keys of the server itself (to seal request state, to sign pushes), kept in the store.

Every process on the store gets the same keys, newest first: sign with the first, accept all. The first use makes one.
Keys are bytes that never appear in a log, an error or a listing; in the store they are sealed if there is a box. Keys
with a public half are in `signing_keys.py`.
"""

from typing import Final

from pentad.access.sealed_columns import SECRET
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.ports import Database, Rows, Transaction

SECRET_BYTES: Final = 32
_CLOCK: Final = SystemClock()
_RANDOMNESS: Final = SystemRandomness()


async def secret_keys(
    db: Database,
    name: str,
    *,
    box: SecretBox = PLAIN,
    clock: Clock = _CLOCK,
    randomness: Randomness = _RANDOMNESS,
) -> list[bytes]:
    """The keys of that name, newest first, at least one."""
    found = await known_secrets(db, name, box=box)
    if found:
        return found
    fresh = randomness.token_bytes(SECRET_BYTES)
    now = clock.now()

    def work(tx: Transaction) -> list[bytes]:
        _insert(tx, box, name, 1, now, fresh)
        return _keys(tx, box, name)

    return await db.write(work)


async def known_secrets(db: Database, name: str, *, box: SecretBox = PLAIN) -> list[bytes]:
    """The keys there are of that name; none is made."""
    return await db.read(lambda rows: _keys(rows, box, name))


async def forget_secret(db: Database, name: str) -> None:
    """Drop all keys of that name."""
    await db.write(lambda tx: tx.run("DELETE FROM server_secrets WHERE name = ?", name))


async def rotate_secret(
    db: Database,
    name: str,
    *,
    keep: int = 2,
    box: SecretBox = PLAIN,
    clock: Clock = _CLOCK,
    randomness: Randomness = _RANDOMNESS,
) -> list[bytes]:
    """Put a new key in front and forget all but the newest `keep`."""
    fresh = randomness.token_bytes(SECRET_BYTES)
    now = clock.now()

    def work(tx: Transaction) -> list[bytes]:
        newest = tx.value("SELECT MAX(generation) FROM server_secrets WHERE name = ?", name) or 0
        _insert(tx, box, name, newest + 1, now, fresh)
        tx.run("DELETE FROM server_secrets WHERE name = ? AND generation <= ?", name, newest + 1 - max(1, keep))
        return _keys(tx, box, name)

    return await db.write(work)


def _insert(tx: Transaction, box: SecretBox, name: str, generation: int, now: float, secret: bytes) -> None:
    """The generation decides a race: whoever comes second takes the first one's key."""
    tx.run(
        "INSERT INTO server_secrets (name, generation, created_at, secret) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (name, generation) DO NOTHING",
        name,
        generation,
        now,
        SECRET.seal(box, secret, name, generation),
    )


def _keys(rows: Rows, box: SecretBox, name: str) -> list[bytes]:
    sql = "SELECT secret, generation FROM server_secrets WHERE name = ? ORDER BY generation DESC"
    return [SECRET.open(box, kept, name, generation) for kept, generation in rows.all(sql, name)]
