"""Upgrading a store from before states, the registry, the trust policy and peers."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from pentad.app import migration_sets
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.records.trust_marks import TrustMark
from pentad.rooms.finder import find_rooms
from pentad.storage.migrations import apply, load
from pentad.storage.open import FILE_NAME
from pentad.storage.sqlite import SqliteDatabase
from tests.rooms.directory.records.parts import agent
from tests.rooms.directory.registry.site import Site, opened_site
from tests.rooms.directory.trust.key_files import private_pem
from tests.waiting import until

pytestmark = pytest.mark.anyio

LAST = 5
"""The last migration of the old store."""
NEW_TABLES = (
    "directory_state_changes", "directory_servers", "directory_servers_waiting", "directory_registries",
    "directory_registry_records", "directory_trust_entries", "directory_quarantine", "directory_store",
    "directory_changes", "directory_peers", "directory_origins",
)  # fmt: skip

Columns = dict[str, list[tuple[str, str]]]
"""Names and types by table."""


async def old_columns(folder: Path) -> Columns:
    """The tables that the old version made, by its own migrations."""
    sets = migration_sets(find_rooms(("directory",)))
    steps = {(one.set_name, one.number) for one in load(sets, "sqlite")}
    old = {(name, number) for name, number in steps if name != "directory" or number <= LAST}
    database = await SqliteDatabase.open(folder / FILE_NAME)
    try:
        await apply(database, sets, only=old)
    finally:
        await database.close()
    return columns(folder / FILE_NAME)


def columns(file: Path) -> Columns:
    with closing(apsw.Connection(str(file))) as store:
        tables = [str(name) for (name,) in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        described = {name: store.execute(f"PRAGMA table_info('{name}')").fetchall() for name in tables}
    return {
        name: [(str(row[1]), str(row[2])) for row in rows] for name, rows in described.items() if name != "sqlite_stat1"
    }


def make_old(file: Path) -> None:
    """Take away what later versions added."""
    with closing(apsw.Connection(str(file))) as store:
        for table in reversed(NEW_TABLES):
            store.execute(f"DROP TABLE {table}")
        store.execute("DROP INDEX directory_records_unapproved")
        store.execute("ALTER TABLE directory_records DROP COLUMN state")
        store.execute("ALTER TABLE directory_namespaces DROP COLUMN quarantine")
        store.execute("DELETE FROM directory_verifications WHERE kind = 'policy'")
        store.execute("DELETE FROM jobs WHERE name IN ('directory.registry', 'directory.peer', 'directory.policy')")
        store.execute("DELETE FROM schema_migrations WHERE set_name = 'directory' AND number > ?", (LAST,))


async def listed(site: Site) -> list[tuple[str, str]]:
    return [one.key async for one in site.client().every()]


@pytest.mark.requirement("dir:states:upgrade")
async def test_the_records_of_an_older_store_are_approved_listed_and_as_trusted_as_before(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    async with opened_site(new, registry_readers="anyone") as site:
        published = await site.publish("org.example/weather", who="writer")
        server = published["_meta"]["pentad/record"]["cid"]
        signed = (await site.directory.records.push(LOCAL, agent())).cid
        plain = (await site.directory.records.push(LOCAL, agent())).cid
        await site.directory.trust.sign(LOCAL, signed, private_pem("Ed25519", 0))
        assert await listed(site) == [], "it waits for approval"
    make_old(new / FILE_NAME)
    old.mkdir()
    assert columns(new / FILE_NAME) == await old_columns(old), "this is a store of the old version"
    async with opened_site(new, registry_readers="anyone") as site:
        assert await until(lambda: listed(site), bool) == [("org.example/weather", "1.0.0")]
        for cid in (server, signed, plain):
            assert (await site.directory.states.get(cid)).state == "approved"
        assert await site.directory.records.trust(signed) == TrustMark(("any valid signature",))
        assert await site.directory.records.trust(plain) == TrustMark()
        assert (await site.directory.trust.verify(signed)).trusted_by == ("any valid signature",)
        assert await site.directory.records.delete(LOCAL, plain)
