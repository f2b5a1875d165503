"""What waited in a store from before the queue is in the queue afterwards."""

from collections.abc import Callable
from typing import Any

import pytest

from pentad.app import CORE_SETS
from pentad.kernel.ports import Database, Transaction
from pentad.storage.migrations import MigrationSet, apply, load
from tests.stores import Stores

pytestmark = pytest.mark.anyio


async def carried_over(stores: Stores, room: str, step: str, fill: Callable[[Transaction], None]) -> Database:
    """A store that was filled before the room's step was applied to it."""
    sets = (*CORE_SETS, MigrationSet(room, f"pentad.rooms.{room}.schema"))
    database = await stores.open(())
    steps = load(sets, database.dialect)
    [number] = [one.number for one in steps if (one.set_name, one.title) == (room, step)]
    before = {(one.set_name, one.number) for one in steps if one.set_name != room or one.number < number}
    await apply(database, sets, only=before)
    await database.write(fill)
    await apply(database, sets)
    return database


async def jobs(database: Database) -> list[tuple[Any, ...]]:
    return await database.read(lambda rows: rows.all("SELECT name, key, payload, state FROM jobs ORDER BY name, key"))


async def test_webhooks_with_waiting_deliveries_are_queued(stores: Stores):
    def fill(tx: Transaction) -> None:
        tx.run("INSERT INTO webhooks (id, principal, body, position, created_at, updated_at)"
               " VALUES ('w', 'user:ada', '{}', 'c0-0', 1, 1)")  # fmt: skip
        tx.run("INSERT INTO webhook_deliveries (webhook, seq, attempt, state, due_at, leased_until, at)"
               " VALUES ('w', 1, 3, 'waiting', 5, 99, 4)")  # fmt: skip

    database = await carried_over(stores, "registers", "webhook_jobs", fill)
    assert await jobs(database) == [("registers.webhooks", "w", "null", "queued")]
    assert await database.lookup("SELECT attempt, state, due_at FROM webhook_deliveries") == (3, "waiting", 5)


async def test_open_publications_and_syncs_are_queued(stores: Stores):
    def fill(tx: Transaction) -> None:
        for status in (1, 2, 3, 4):
            tx.run("INSERT INTO directory_publications (id, request, status, created_by, created_at, updated_at)"
                   " VALUES (?, '[]', ?, 'x', 1, 1)", f"p{status}", status)  # fmt: skip
        for status in (1, 2, 3, 4, 5, 6):
            tx.run("INSERT INTO directory_syncs (id, directory_url, registry_url, repository, cids, status,"
                   " leased_until, created_by, created_at, updated_at)"
                   " VALUES (?, ?, 'r:1', 'dir', '[]', ?, 99, 'x', 1, 1)",
                   f"s{status}", "" if status == 1 else "d:1", status)  # fmt: skip

    database = await carried_over(stores, "directory", "jobs", fill)
    assert [row[:2] for row in await jobs(database)] == [
        ("directory.publish", "p1"), ("directory.publish", "p2"), ("directory.sync", "s2"), ("directory.sync", "s4"),
    ]  # fmt: skip


async def test_polls_are_due_when_they_were(stores: Stores):
    def fill(tx: Transaction) -> None:
        for collector, scope, due in (("ch", "Root/Sub", 7), ("host", "", 5), ("(retention)", "", 9)):
            tx.run("INSERT INTO metric_polls (collector, scope, due, holder, held_until) VALUES (?, ?, ?, 'x', 99)",
                   collector, scope, due)  # fmt: skip

    database = await carried_over(stores, "metrics", "jobs", fill)
    found = await database.read(lambda rows: rows.all("SELECT name, key, run_at FROM jobs ORDER BY run_at"))
    assert found == [
        ("metrics.poll", "host", 5), ("metrics.poll", "ch/Root/Sub", 7), ("metrics.retention", "schedule", 9),
    ]  # fmt: skip


async def test_turns_under_way_are_taken_over_and_due_pushes_told(stores: Stores):
    def fill(tx: Transaction) -> None:
        for task, holder in (("t1", "p1"), ("t2", None)):
            tx.run("INSERT INTO agent_tasks (id, owner, agent, context, dialect, state, seq, turn, messages, bytes,"
                   " pushes, created_at, updated_at, holder, leased_until)"
                   " VALUES (?, 'o', 'a', 'c', '1.0', 'working', 1, 1, 1, 1, 0, 1, 1, ?, 99)",
                   task, holder)  # fmt: skip
        for config, attempt, due, problem in (
            ("due", 0, 5, None), ("failing", 3, 7, "It answered 500."), ("told", 0, None, None),
            ("given-up", 12, None, "It answered 404."), ("stopped", 0, 2.0**62, "The owner is gone."),
        ):  # fmt: skip
            tx.run("INSERT INTO agent_pushes (task, id, config, told, attempt, due_at, leased_until, problem,"
                   " created_at) VALUES ('t1', ?, ?, 2, ?, ?, 99, ?, 1)",
                   config, b"{}", attempt, due, problem)  # fmt: skip

    database = await carried_over(stores, "agents", "jobs", fill)
    found = await database.read(
        lambda rows: rows.all("SELECT name, key, state, attempt, run_at, error FROM jobs ORDER BY name, key")
    )
    assert found == [
        ("agents.push", "t1 due", "queued", 0, 5, None),
        ("agents.push", "t1 failing", "queued", 3, 7, "It answered 500."),
        ("agents.push", "t1 given-up", "dead", 12, 0, "It answered 404."),
        ("agents.turn", "t1", "queued", 0, 0, None),
    ]
    stopped = await database.read(lambda rows: rows.all("SELECT id FROM agent_pushes WHERE problem IS NOT NULL"))
    assert stopped == [("stopped",)]
