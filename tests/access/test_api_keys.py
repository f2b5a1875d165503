"""A key stands for itself alone, within its scopes, its time and its owner's rights."""

import hashlib
import logging

import pytest

from pentad.access.api_keys import DEFAULT_LIFETIME, LAST_USE_EVERY, ApiKeys, NewKey
from pentad.access.passwords import Passwords
from pentad.access.users import Users
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.ports import Database
from tests.access.clocks import TurnedClock

pytestmark = pytest.mark.anyio


def secret_of(made: NewKey) -> str:
    return made.token.split("_")[2]


@pytest.mark.requirement("access:key")
async def test_a_key_is_read_only_and_expires_unless_asked_otherwise(db: Database) -> None:
    clock = TurnedClock()
    keys = ApiKeys(db, clock=clock)
    made = await keys.create("laptop")
    assert made.token.startswith(f"pentad_{made.key.id}_")
    assert made.key.scopes == {"*:read"}
    assert made.key.expires_at == clock.now() + DEFAULT_LIFETIME
    verified = await keys.verify(made.token)
    assert verified is not None
    assert (verified.principal.id, verified.principal.kind) == (f"key:{made.key.id}", "key")
    assert verified.principal.may("directory", "read")
    assert not verified.principal.may("directory", "write")


@pytest.mark.requirement("access:key:stored-hashed")
async def test_the_token_is_stored_as_its_hash_and_shown_once(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    keys = ApiKeys(db)
    made = await keys.create("laptop")
    verified = await keys.verify(made.token)
    stored = await db.read(lambda rows: rows.all("SELECT * FROM api_keys"))
    shown = repr(stored) + repr(made) + repr(verified) + repr(await keys.all()) + caplog.text
    assert secret_of(made) not in shown
    digest = await db.read(lambda rows: bytes(rows.value("SELECT digest FROM api_keys")))
    assert digest == hashlib.sha256(made.token.encode()).digest()


async def test_two_keys_never_stand_in_for_each_other(db: Database) -> None:
    keys = ApiKeys(db)
    one, two = await keys.create("one"), await keys.create("two")
    crossed = f"pentad_{one.key.id}_{secret_of(two)}"
    for token in (crossed, one.token[:-1], one.token + "a", one.token.upper(), f"pentad_{one.key.id}_", "pentad_", ""):
        assert await keys.verify(token) is None
    for made in (one, two):
        verified = await keys.verify(made.token)
        assert verified is not None
        assert verified.principal.id == made.key.credential


async def test_a_key_ends_at_its_expiry_to_the_moment(db: Database) -> None:
    clock = TurnedClock()
    keys = ApiKeys(db, clock=clock)
    made, endless = await keys.create("short", lifetime=60), await keys.create("endless", lifetime=None)
    clock.advance(59.5)
    assert await keys.verify(made.token) is not None
    clock.advance(0.5)
    assert await keys.verify(made.token) is None
    clock.advance(1e9)
    assert await keys.verify(endless.token) is not None


async def test_a_revoked_key_is_refused_at_once_and_still_listed(db: Database, other: Database) -> None:
    changed: list[str] = []
    clock = TurnedClock()
    keys = ApiKeys(db, on_change=changed.append, clock=clock)
    made = await keys.create("laptop")
    await keys.revoke(made.key.id)
    assert await keys.verify(made.token) is None
    assert await ApiKeys(other, clock=clock).verify(made.token) is None
    assert [key.revoked_at for key in await keys.all()] == [clock.now()]
    assert changed == [made.key.credential]


async def test_an_unknown_key_cannot_be_revoked(db: Database) -> None:
    for key_id in ("", "unknown", "aaaaaaaaaaaaaaaa", "a\0b"):
        with pytest.raises(NotFound):
            await ApiKeys(db).revoke(key_id)


@pytest.mark.requirement("access:key:never-more-than-owner")
async def test_a_key_never_may_more_than_its_owner_may_now(db: Database, passwords: Passwords) -> None:
    users, keys = Users(db, passwords), ApiKeys(db)
    await users.add("ada", "correct horse", scopes=["metrics:write"])
    made = await keys.create("greedy", owner="Ada", scopes=["*:*"])
    verified = await keys.verify(made.token)
    assert verified is not None
    assert verified.principal.scopes == {"*:read", "metrics:write"}


@pytest.mark.requirement("access:key:acts-as-owner")
async def test_a_key_acts_as_its_owner_and_says_which_key_it_is(db: Database, passwords: Passwords) -> None:
    users, keys = Users(db, passwords), ApiKeys(db)
    ada = (await users.add("Ada", "correct horse")).principal()
    for label in ("laptop", "server"):
        made = await keys.create(label, owner="ada")
        verified = await keys.verify(made.token)
        assert verified is not None
        found = verified.principal
        assert (found.id, found.name, found.user) == (ada.id, "Ada", ada.id)
        assert found.credential == made.key.credential


@pytest.mark.requirement("access:key:own-only")
async def test_a_confined_key_is_its_own_with_its_user_behind_it(db: Database, passwords: Passwords) -> None:
    users, keys = Users(db, passwords), ApiKeys(db)
    await users.add("ada", "correct horse")
    made = await keys.create("agent", owner="ada", own_only=True)
    verified = await keys.verify(made.token)
    assert verified is not None
    assert (verified.principal.id, verified.principal.user) == (made.key.credential, "user:ada")
    assert [key.own_only for key in await keys.all()] == [True]
    await users.remove("ada")
    assert await keys.verify(made.token) is None


async def test_keys_of_others_look_unknown_to_an_owner(db: Database, passwords: Passwords) -> None:
    users, keys = Users(db, passwords), ApiKeys(db)
    await users.add("ada", "correct horse")
    await users.add("bob", "correct horse")
    made = await keys.create("laptop", owner="ada")
    with pytest.raises(NotFound):
        await keys.revoke(made.key.id, owner="bob")
    assert await keys.verify(made.token) is not None
    assert [key.id for key in await keys.all(owner="ADA")] == [made.key.id]
    assert await keys.all(owner="bob") == []
    await keys.revoke(made.key.id, owner="Ada")
    assert await keys.verify(made.token) is None


async def test_use_is_noted_at_most_once_a_minute(db: Database) -> None:
    clock = TurnedClock()
    keys = ApiKeys(db, clock=clock)
    made = await keys.create("laptop")

    async def last_used() -> float | None:
        return (await keys.all())[0].last_used_at

    assert await last_used() is None
    await keys.verify(made.token)
    first = clock.now()
    clock.advance(LAST_USE_EVERY - 1)
    await keys.verify(made.token)
    assert await last_used() == first
    clock.advance(1)
    await keys.verify(made.token)
    assert await last_used() == clock.now()


async def test_malformed_wishes_are_refused(db: Database) -> None:
    keys = ApiKeys(db)
    with pytest.raises(InvalidInput):
        await keys.create("")
    with pytest.raises(InvalidInput):
        await keys.create("two\nlines")
    with pytest.raises(InvalidInput):
        await keys.create("x", scopes=["*:fly"])
    with pytest.raises(InvalidInput):
        await keys.create("x", scopes=[])
    with pytest.raises(InvalidInput):
        await keys.create("x", lifetime=0)
    with pytest.raises(NotFound):
        await keys.create("x", owner="nobody")
    with pytest.raises(NotFound):
        await keys.create("x", owner="no\0body")
    assert await keys.all() == []
