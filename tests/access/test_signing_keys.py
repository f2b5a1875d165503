"""Signing keys: one ring for all processes; a replaced key keeps its public half and loses its private one."""

import asyncio
from collections.abc import Sequence

import pytest

from pentad.access.secret_box import SecretBox
from pentad.access.signing_keys import KeyRing, SigningKey, following
from pentad.kernel.errors import InvalidInput, Misconfigured
from pentad.kernel.ports import Database
from pentad.rooms.agents.card_signing import new_key

pytestmark = pytest.mark.anyio


def ring(db: Database, name: str = "cards") -> KeyRing:
    return KeyRing(db, name, new_key)


@pytest.mark.requirement("access:signing-keys:shared")
async def test_a_key_is_made_at_first_use_and_stays(db: Database) -> None:
    cards = ring(db)
    assert await cards.known() == []
    [key] = await cards.keys()
    assert key.private is not None
    assert "PRIVATE KEY" in key.private
    assert "PRIVATE" not in repr(key)
    assert await cards.keys() == [key]
    assert await cards.private_key() == key.private
    assert (await ring(db, "records").keys())[0].public != key.public


@pytest.mark.requirement("access:signing-keys:shared")
async def test_processes_that_start_together_agree_on_one_key(db: Database, other: Database) -> None:
    found = await asyncio.gather(*(ring(handle).keys() for handle in (db, other) * 3))
    assert len({tuple(one.public for one in keys) for keys in found}) == 1


@pytest.mark.requirement("access:signing-keys:rotated")
async def test_a_replaced_key_is_published_and_cannot_sign_any_more(db: Database) -> None:
    cards = ring(db)
    [first] = await cards.keys()
    second, replaced = await cards.rotate()
    assert second.private is not None
    assert (replaced.public, replaced.private) == (first.public, None)
    assert replaced.retired_at is not None
    third, *older = await cards.rotate()
    assert [one.public for one in older] == [second.public, first.public]
    assert all(one.private is None for one in older)
    assert await db.read(lambda rows: rows.value("SELECT count(private) FROM signing_keys")) == 1
    [alone] = await cards.rotate(forget=True)
    assert alone.public not in (first.public, second.public, third.public)


@pytest.mark.requirement("access:signing-keys:rotated")
async def test_rotations_at_the_same_time_leave_one_key_that_signs(db: Database, other: Database) -> None:
    await ring(db).keys()
    await asyncio.gather(*(ring(handle).rotate() for handle in (db, other) * 2))
    keys = await ring(db).keys()
    assert [one.private is not None for one in keys] == [True] + [False] * (len(keys) - 1)
    assert len(keys) >= 2


@pytest.mark.requirement("access:signing-keys:heard")
async def test_a_rotation_is_heard_in_other_processes(db: Database, other: Database) -> None:
    await ring(db).keys()
    heard: asyncio.Queue[Sequence[SigningKey]] = asyncio.Queue()
    async with following(ring(other), heard.put_nowait):
        await ring(db, "records").rotate()
        rotated = await ring(db).rotate()
        async with asyncio.timeout(60):
            while [one.public for one in await heard.get()] != [one.public for one in rotated]:
                pass


@pytest.mark.requirement("access:signing-keys:adopted")
async def test_a_key_from_elsewhere_signs_where_there_is_none_and_is_published_where_there_is(db: Database) -> None:
    cards, mine, another = ring(db), new_key(), new_key()
    for _ in range(2):
        await cards.adopt(mine)
        assert await cards.private_key() == mine
    for _ in range(2):
        await cards.adopt(another)
    newest, older = await cards.keys()
    assert newest.private == mine
    assert (older.private, older.retired_at is not None) == (None, True)
    await cards.rotate()
    assert len(await cards.keys()) == 3
    with pytest.raises(InvalidInput):
        await cards.adopt("no key")


@pytest.mark.requirement("access:signing-keys:adopted")
async def test_keys_of_several_machines_are_all_adopted_at_once(db: Database, other: Database) -> None:
    keys = [new_key() for _ in range(4)]
    await asyncio.gather(*(ring(handle).adopt(key) for handle, key in zip((db, other, db, other), keys, strict=True)))
    found = await ring(db).keys()
    assert len(found) == 4
    assert found[0].private in keys


@pytest.mark.requirement("access:secret-key:sealed")
async def test_a_ring_is_sealed_by_its_box(db: Database) -> None:
    box = SecretBox("not-a-real-key " * 3)
    sealed = KeyRing(db, "cards", new_key, box=box)
    private = await sealed.private_key()
    kept = await db.read(lambda rows: rows.value("SELECT private FROM signing_keys"))
    assert kept.startswith("sealed1:")
    assert await sealed.private_key() == private
    with pytest.raises(Misconfigured, match="secret_key"):
        await ring(db).rotate()
    assert await sealed.private_key() == private, "nothing is put beside it in the open"
