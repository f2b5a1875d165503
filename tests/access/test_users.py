"""Users are unique whatever the case, and the first administrator is made once."""

import asyncio
import logging

import pytest

from pentad.access.api_keys import ApiKeys
from pentad.access.passwords import HashCost, Passwords
from pentad.access.users import FIRST_ADMIN, Users
from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.ports import Database
from tests.access.clocks import TurnedClock

pytestmark = pytest.mark.anyio
PASSWORD = "canary-correct-horse"


async def test_a_user_can_log_in_and_is_what_its_role_and_scopes_say(db: Database, passwords: Passwords) -> None:
    users = Users(db, passwords)
    await users.add("Ada", PASSWORD, role="writer", scopes=["metrics:admin"])
    user = await users.verify("ADA", PASSWORD)
    assert user is not None
    assert (user.name, user.role) == ("Ada", "writer")
    principal = user.principal()
    assert (principal.id, principal.kind) == ("user:ada", "user")
    assert principal.scopes == {"*:read", "*:write", "metrics:admin"}


async def test_a_wrong_password_and_an_unknown_name_are_refused_alike(db: Database, passwords: Passwords) -> None:
    users = Users(db, passwords)
    await users.add("ada", PASSWORD)
    assert await users.verify("ada", PASSWORD + "x") is None
    assert await users.verify("bob", PASSWORD) is None


async def test_a_name_is_taken_in_every_case(db: Database, passwords: Passwords) -> None:
    users = Users(db, passwords)
    await users.add("Ada", PASSWORD)
    with pytest.raises(Conflict):
        await users.add("aDA", PASSWORD)
    assert [user.name for user in await users.all()] == ["Ada"]
    assert await users.count() == 1


async def test_a_name_of_other_characters_is_refused_and_never_found(db: Database, passwords: Passwords) -> None:
    users = Users(db, passwords)
    for name in ("", "a" * 65, "a b", "a:b", "ada\n", "ädä", "a/b", "a\0b"):
        with pytest.raises(InvalidInput):
            await users.add(name, PASSWORD)
        assert await users.find(name) is None
        with pytest.raises(NotFound):
            await users.remove(name)
        with pytest.raises(NotFound):
            await users.set_password(name, PASSWORD)


async def test_bad_roles_scopes_and_passwords_are_refused(db: Database, passwords: Passwords) -> None:
    users = Users(db, passwords)
    with pytest.raises(InvalidInput):
        await users.add("ada", PASSWORD, role="root")
    with pytest.raises(InvalidInput):
        await users.add("ada", PASSWORD, scopes=["everything"])
    with pytest.raises(InvalidInput):
        await users.add("ada", "short")


async def test_a_new_password_replaces_the_old_one_and_is_announced(db: Database, passwords: Passwords) -> None:
    changed: list[str] = []
    users = Users(db, passwords, on_change=changed.append)
    await users.add("ada", PASSWORD)
    await users.set_password("ADA", "another password")
    assert await users.verify("ada", PASSWORD) is None
    assert await users.verify("ada", "another password") is not None
    assert changed == ["user:ada"]


async def test_removing_a_user_ends_its_keys_for_good(db: Database, passwords: Passwords) -> None:
    users, keys = Users(db, passwords), ApiKeys(db)
    await users.add("ada", PASSWORD, role="admin")
    made = await keys.create("laptop", owner="Ada")
    assert await keys.verify(made.token) is not None
    await users.remove("Ada")
    assert await users.find("ada") is None
    assert await keys.verify(made.token) is None
    await users.add("ada", PASSWORD)
    assert await keys.verify(made.token) is None
    with pytest.raises(NotFound):
        await users.remove("bob")


async def test_the_last_administrator_stays_while_others_are_there(db: Database, passwords: Passwords) -> None:
    users = Users(db, passwords)
    await users.add("ada", PASSWORD, role="admin")
    await users.add("bob", PASSWORD)
    with pytest.raises(Conflict):
        await users.remove("ada")
    assert await users.find("ada") is not None
    await users.remove("bob")
    await users.remove("ada")
    assert await users.count() == 0


async def test_a_login_renews_a_hash_of_an_old_cost(db: Database, passwords: Passwords) -> None:
    await Users(db, passwords).add("ada", PASSWORD)
    dearer = Passwords(HashCost(memory_kib=16, passes=1))
    try:
        before = await db.lookup("SELECT password_hash FROM users")
        assert await Users(db, dearer).verify("ada", PASSWORD) is not None
        after = await db.lookup("SELECT password_hash FROM users")
        assert before is not None
        assert after is not None
        assert (dearer.is_outdated(before[0]), dearer.is_outdated(after[0])) == (True, False)
        assert await Users(db, dearer).verify("ada", PASSWORD) is not None
    finally:
        dearer.close()


@pytest.mark.requirement("access:first-admin")
async def test_the_first_administrator_is_made_on_an_empty_store_only(
    db: Database, passwords: Passwords, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    users = Users(db, passwords)
    password = await users.ensure_first_admin()
    assert password is not None
    user = await users.verify(FIRST_ADMIN, password)
    assert user is not None
    assert user.role == "admin"
    assert await users.ensure_first_admin() is None
    stored = await db.read(lambda rows: rows.all("SELECT * FROM users"))
    assert password not in repr(stored) + repr(user) + caplog.text


async def test_of_processes_that_start_together_one_makes_the_first_administrator(
    db: Database, other: Database, passwords: Passwords
) -> None:
    both = [Users(db, passwords), Users(other, passwords)]
    made = await asyncio.gather(*(users.ensure_first_admin() for users in both * 3))
    handed_out = [password for password in made if password is not None]
    assert len(handed_out) == 1
    assert await both[0].verify(FIRST_ADMIN, handed_out[0]) is not None
    assert await both[1].count() == 1


async def test_a_user_added_meanwhile_makes_a_first_administrator_needless(db: Database, passwords: Passwords) -> None:
    users, hashed = Users(db, passwords), passwords.hash

    async def hash_while_bob_is_added(password: str) -> str:
        passwords.hash = hashed
        await users.add("bob", PASSWORD)
        return await hashed(password)

    passwords.hash = hash_while_bob_is_added
    assert await users.ensure_first_admin() is None
    assert [user.name for user in await users.all()] == ["bob"]


async def test_times_come_from_the_clock(db: Database, passwords: Passwords) -> None:
    clock = TurnedClock()
    assert (await Users(db, passwords, clock=clock).add("ada", PASSWORD)).created_at == clock.now()
