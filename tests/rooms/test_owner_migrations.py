"""The steps that gave what keys had made to the keys' owners, on a store from before them."""

from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from pentad.app import CORE_SETS
from pentad.kernel.ports import Database, Dialect, Transaction
from pentad.rooms.agents.store import decode_caller
from pentad.storage.migrations import MigrationSet
from pentad.storage.sql_text import split_statements
from tests.stores import Stores

pytestmark = pytest.mark.anyio

ROOMS = (
    MigrationSet("registers", "pentad.rooms.registers.schema"),
    MigrationSet("agents", "pentad.rooms.agents.schema"),
)
OLD = ["key:aaaa", "Laptop", ["*:read"], "key"]


def _step(package: str, name: str, dialect: Dialect) -> list[str]:
    folder = Path(str(files(package)))
    [found] = [one for one in (folder / f"{name}.sql", folder / f"{name}.{dialect}.sql") if one.exists()]
    return list(split_statements(found.read_text(encoding="utf-8"), dialect))


async def _fill(db: Database) -> None:
    def work(tx: Transaction) -> None:
        for key, owner in (("aaaa", "ada"), ("bbbb", "ada"), ("cccc", None)):
            tx.run(
                "INSERT INTO api_keys (id, digest, label, owner, scopes, created_at) VALUES (?, ?, 'k', ?, '', 1)",
                key, key.encode(), owner,
            )  # fmt: skip
        for number, owner in enumerate(("key:aaaa", "key:cccc", "user:bob")):
            tx.run(
                "INSERT INTO agent_tasks (id, owner, agent, context, dialect, state, seq, turn, messages, bytes,"
                " pushes, created_at, updated_at, caller)"
                " VALUES (?, ?, 'a', 'c', 'mcp', 'working', 1, 1, 1, 1, 0, 1, 1, ?)",
                f"t{number}", owner, msgspec.json.encode([owner, *OLD[1:]]),
            )  # fmt: skip
        tx.run("INSERT INTO agent_contents (sha256, size, body, created_at) VALUES ('x', 1, ?, 1)", b"x")
        for owner in ("key:aaaa", "key:bbbb", "key:cccc"):
            tx.run("INSERT INTO agent_content_owners (owner, sha256, size, kept_at) VALUES (?, 'x', 1, 1)", owner)
            tx.run(
                "INSERT INTO agent_contexts (owner, context, version, sha256, body, changed_at)"
                " VALUES (?, 'c', 1, 'h', 'x', 1)",
                owner,
            )
        tx.run(
            "INSERT INTO registers (uuid, slug, body, created_at, updated_at) VALUES ('u', 's', ?, 1, 1)",
            '{"title":"T","owner":"key:aaaa"}',
        )
        for plan, owner in (("p1", "key:bbbb"), ("p2", "key:cccc")):
            tx.run(
                "INSERT INTO plans (id, principal, operations, preview, versions, state, created_at, changed_at)"
                " VALUES (?, ?, '', '', '', '', 1, 1)",
                plan, owner,
            )  # fmt: skip

    await db.write(work)


@pytest.mark.requirement("access:key:upgrade")
async def test_what_keys_made_goes_to_their_owners_and_keys_without_owner_keep_theirs(stores: Stores) -> None:
    db = await stores.open([*CORE_SETS, *ROOMS])
    await _fill(db)
    dialect = db.dialect
    steps = [
        *_step("pentad.rooms.registers.schema", "0002_owners", dialect),
        *_step("pentad.rooms.agents.schema", "0005_owners", dialect),
    ]

    def again(tx: Transaction) -> None:
        tx.run("CREATE TABLE saved_queries (principal TEXT)")  # a later step made views of them
        for statement in steps:
            tx.run(statement)

    await db.write(again)
    tasks = await db.read(lambda rows: rows.all("SELECT owner, caller FROM agent_tasks ORDER BY id"))
    assert [row[0] for row in tasks] == ["user:ada", "key:cccc", "user:bob"]
    assert [decode_caller(bytes(row[1])).id for row in tasks] == ["user:ada", "key:cccc", "user:bob"]
    for table in ("agent_content_owners", "agent_contexts"):
        rows = await db.read(lambda rows, table=table: rows.all(f"SELECT owner FROM {table} ORDER BY owner"))
        assert [row[0] for row in rows] == ["key:cccc", "user:ada"]
    [body] = (await db.read(lambda rows: rows.all("SELECT body FROM registers")))[0]
    assert msgspec.json.decode(body)["owner"] == "user:ada"
    plans = await db.read(lambda rows: rows.all("SELECT principal FROM plans ORDER BY id"))
    assert [row[0] for row in plans] == ["user:ada", "key:cccc"]
