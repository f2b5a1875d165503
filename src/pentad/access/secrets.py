"""Random keys of the server itself (to sign sessions, to seal request state), kept in the store.

Every process on the store gets the same keys, newest first: sign with the first, accept all. The first use makes one.
Keys are bytes that never appear in a log, an error or a listing.
"""

from typing import Final

from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.ports import Database, Rows, Transaction

SECRET_BYTES: Final = 32
_CLOCK: Final = SystemClock()
_RANDOMNESS: Final = SystemRandomness()


async def secret_keys(
    db: Database, name: str, *, clock: Clock = _CLOCK, randomness: Randomness = _RANDOMNESS
) -> list[bytes]:
    """The keys of that name, newest first, at least one."""
    found = await db.read(lambda rows: _keys(rows, name))
    if found:
        return found
    fresh = randomness.token_bytes(SECRET_BYTES)
    now = clock.now()

    def work(tx: Transaction) -> list[bytes]:
        _insert(tx, name, 1, now, fresh)
        return _keys(tx, name)

    return await db.write(work)


async def rotate_secret(
    db: Database, name: str, *, keep: int = 2, clock: Clock = _CLOCK, randomness: Randomness = _RANDOMNESS
) -> list[bytes]:
    """Put a new key in front and forget all but the newest `keep`."""
    fresh = randomness.token_bytes(SECRET_BYTES)
    now = clock.now()

    def work(tx: Transaction) -> list[bytes]:
        newest = tx.value("SELECT MAX(generation) FROM server_secrets WHERE name = ?", name) or 0
        _insert(tx, name, newest + 1, now, fresh)
        tx.run("DELETE FROM server_secrets WHERE name = ? AND generation <= ?", name, newest + 1 - max(1, keep))
        return _keys(tx, name)

    return await db.write(work)


def _insert(tx: Transaction, name: str, generation: int, now: float, secret: bytes) -> None:
    """The generation decides a race: whoever comes second takes the first one's key."""
    tx.run(
        "INSERT INTO server_secrets (name, generation, created_at, secret) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (name, generation) DO NOTHING",
        name,
        generation,
        now,
        secret,
    )


def _keys(rows: Rows, name: str) -> list[bytes]:
    found = rows.all("SELECT secret FROM server_secrets WHERE name = ? ORDER BY generation DESC", name)
    return [bytes(row[0]) for row in found]
