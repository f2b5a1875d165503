"""What the owner of something that acts by itself may do now."""

import pytest

from pentad.access.api_keys import ApiKeys
from pentad.access.owners import Owners
from pentad.access.passwords import Passwords
from pentad.access.users import Users
from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL, Principal
from tests.access.clocks import TurnedClock

pytestmark = pytest.mark.anyio


class Saved:
    """Owners over one store, asked about a principal as it was saved with some scopes."""

    def __init__(self, db: Database, clock: TurnedClock) -> None:
        self._db = db
        self._owners = Owners(clock)

    async def scopes(self, principal_id: str, *scopes: str) -> frozenset[str] | None:
        saved = Principal(principal_id, principal_id, frozenset(scopes))
        found = await self._db.read(lambda rows: self._owners.current(rows, saved))
        return None if found is None else found.scopes


@pytest.mark.requirement("access:owners:now")
async def test_a_user_has_what_is_left_of_the_rights_it_had(db: Database, passwords: Passwords) -> None:
    users, saved = Users(db, passwords), Saved(db, TurnedClock())
    await users.add("Ada", "not-a-real-password", role="admin")
    assert await saved.scopes("user:ada", "registers:*") == {"registers:read", "registers:write", "registers:admin"}
    assert await saved.scopes("user:ada", "registers:read") == {"registers:read"}, "never more than was saved"
    await db.write(lambda tx: tx.run("UPDATE users SET role = 'reader'"))
    assert await saved.scopes("user:ada", "*:read", "*:write", "registers:admin") == {"*:read"}
    await db.write(lambda tx: tx.run("DELETE FROM users"))
    assert await saved.scopes("user:ada", "*:read") is None


@pytest.mark.requirement("access:owners:now")
async def test_a_key_that_owns_things_ends_with_its_time_its_revocation_or_its_user(
    db: Database, passwords: Passwords
) -> None:
    clock = TurnedClock()
    users, keys, saved = Users(db, passwords), ApiKeys(db, clock=clock), Saved(db, clock)
    await users.add("wil", "not-a-real-password", role="writer")
    await users.add("oda", "not-a-real-password", role="admin")
    brief = (await keys.create("brief", scopes=["*:*"], lifetime=60)).key
    revoked = (await keys.create("revoked", scopes=["*:*"])).key
    owned = (await keys.create("owned", owner="wil", scopes=["*:*"], own_only=True)).key
    assert await saved.scopes(brief.credential, "*:read") == {"*:read"}
    assert await saved.scopes(revoked.credential, "*:read") == {"*:read"}
    assert await saved.scopes(owned.credential, "*:read", "*:admin") == {"*:read"}, "no more than its user"
    clock.advance(60)
    await keys.revoke(revoked.id)
    await users.remove("wil")
    for key in (brief, revoked, owned):
        assert await saved.scopes(key.credential, "*:read") is None
    assert await saved.scopes("key:unknown", "*:read") is None


@pytest.mark.requirement("access:owners:now")
async def test_of_others_nothing_is_stored_so_what_was_saved_counts(db: Database) -> None:
    saved = Saved(db, TurnedClock())
    assert await saved.scopes(LOCAL.id, *LOCAL.scopes) == LOCAL.scopes
    assert await saved.scopes("jwt:https://issuer.example|ada", "registers:read") == {"registers:read"}
