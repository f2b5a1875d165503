"""Random secrets of the server itself, for example to sign request state, shared by all processes on the store.

Sign with the first and accept all. The first use makes one. They never appear in a log, error or listing, and are
encrypted in the store if `secret_key` is set. Keys with a public half are in `signing_keys.py`.
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
    """The secrets of that name, newest first; makes one if there is none."""
    found = await known_secrets(db, name, box=box)
    if found:
        return found
    fresh = randomness.token_bytes(SECRET_BYTES)
    now = clock.now()

    def work(tx: Transaction) -> list[bytes]:
        # The generation decides a race: the second process uses the first one's secret.
        tx.run(
            "INSERT INTO server_secrets (name, generation, created_at, secret) VALUES (?, 1, ?, ?)"
            " ON CONFLICT (name, generation) DO NOTHING",
            name, now, SECRET.seal(box, fresh, name, 1),
        )  # fmt: skip
        return _read(tx, box, name)

    return await db.write(work)


async def known_secrets(db: Database, name: str, *, box: SecretBox = PLAIN) -> list[bytes]:
    """The secrets of that name, newest first; possibly none."""
    return await db.read(lambda rows: _read(rows, box, name))


async def forget_secret(db: Database, name: str) -> None:
    """Delete all secrets of that name."""
    await db.write(lambda tx: tx.run("DELETE FROM server_secrets WHERE name = ?", name))


def _read(rows: Rows, box: SecretBox, name: str) -> list[bytes]:
    sql = "SELECT secret, generation FROM server_secrets WHERE name = ? ORDER BY generation DESC"
    return [SECRET.open(box, kept, name, generation) for kept, generation in rows.all(sql, name)]
