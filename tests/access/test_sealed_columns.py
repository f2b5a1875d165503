"""Turning `secret_key` on, changing it and turning it off rewrites what is in the store, once and as a whole."""

import asyncio

import pytest

from pentad.access.sealed_columns import CORE_COLUMNS, check_sealed, reseal
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.access.server_secrets import secret_keys
from pentad.access.signing_keys import KeyRing
from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Database, Rows
from pentad.rooms.agents.card_signing import new_key

pytestmark = pytest.mark.anyio

ONE = SecretBox("not-a-real-key " * 3)
OTHER = SecretBox("another-unreal-key " * 3)
CHANGED = SecretBox("another-unreal-key " * 3, ["not-a-real-key " * 3])
BACK = SecretBox(None, ["not-a-real-key " * 3])


async def raw(db: Database) -> bytes:
    def work(rows: Rows) -> bytes:
        found = rows.all("SELECT secret FROM server_secrets") + rows.all("SELECT private FROM signing_keys")
        return b" ".join(one.encode() if isinstance(one, str) else bytes(one or b"") for (one,) in found)

    return await db.read(work)


async def filled(db: Database) -> tuple[list[bytes], str]:
    await secret_keys(db, "state")
    newer = "INSERT INTO server_secrets (name, generation, created_at, secret) VALUES ('state', 2, 0, ?)"
    await db.write(lambda tx: tx.run(newer, bytes(range(32))))
    ring = KeyRing(db, "cards", new_key)
    await ring.keys()
    await ring.rotate()
    return await secret_keys(db, "state"), await ring.private_key()


async def read(db: Database, box: SecretBox) -> tuple[list[bytes], str]:
    return await secret_keys(db, "state", box=box), await KeyRing(db, "cards", new_key, box=box).private_key()


@pytest.mark.requirement("access:secret-key:turned-on")
async def test_turning_the_key_on_encrypts_what_is_there(db: Database) -> None:
    before = await filled(db)
    assert b"PRIVATE KEY" in await raw(db)
    assert await check_sealed(db, ONE, CORE_COLUMNS) == 3
    assert await reseal(db, ONE, CORE_COLUMNS) == 3
    kept = await raw(db)
    assert b"PRIVATE KEY" not in kept
    assert all(secret not in kept for secret in before[0])
    assert await read(db, ONE) == before
    assert await reseal(db, ONE, CORE_COLUMNS) == 0, "a second start has nothing to do"
    assert await check_sealed(db, ONE, CORE_COLUMNS) == 0


@pytest.mark.requirement("access:secret-key:turned-on")
async def test_what_is_made_later_is_encrypted_at_once(db: Database) -> None:
    await secret_keys(db, "state", box=ONE)
    await KeyRing(db, "cards", new_key, box=ONE).rotate()
    assert b"PRIVATE KEY" not in await raw(db)
    assert await reseal(db, ONE, CORE_COLUMNS) == 0


@pytest.mark.requirement("access:secret-key:change")
async def test_the_key_is_changed_by_naming_the_previous_one(db: Database) -> None:
    before = await filled(db)
    await reseal(db, ONE, CORE_COLUMNS)
    assert await reseal(db, CHANGED, CORE_COLUMNS) == 3
    assert await read(db, OTHER) == before
    with pytest.raises(Misconfigured):
        await read(db, ONE)


@pytest.mark.requirement("access:secret-key:change")
async def test_the_key_is_turned_off_by_naming_it_as_previous(db: Database) -> None:
    before = await filled(db)
    await reseal(db, ONE, CORE_COLUMNS)
    assert await reseal(db, BACK, CORE_COLUMNS) == 3
    assert await read(db, PLAIN) == before


@pytest.mark.requirement("access:secret-key:wrong")
async def test_without_the_right_key_nothing_is_changed(db: Database) -> None:
    await filled(db)
    await reseal(db, ONE, CORE_COLUMNS)
    kept = await raw(db)
    for box in (PLAIN, OTHER):
        for look in (reseal, check_sealed):
            with pytest.raises(Misconfigured, match="secret_key"):
                await look(db, box, CORE_COLUMNS)
    assert await raw(db) == kept


@pytest.mark.requirement("access:secret-key:turned-on")
async def test_processes_that_start_together_encrypt_once(db: Database, other: Database) -> None:
    before = await filled(db)
    await asyncio.gather(*(reseal(handle, ONE, CORE_COLUMNS) for handle in (db, other) * 3))
    assert await read(other, ONE) == before
