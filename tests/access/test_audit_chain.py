"""The audit trail is a chain: whatever is changed in the store is found, whoever wrote it and whatever was pruned."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pentad.access.audit import EVENTS, RETENTION_EVENT, AuditEntry, AuditTrail, checkpoint_of, make_batch
from pentad.access.audit_chain import BEGINNING, Link, Verification, parse_link
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database, Transaction
from tests.access.clocks import TurnedClock
from tests.access.conftest import SETS
from tests.stores import Stores

pytestmark = pytest.mark.anyio

DAY = 86_400


def entry(number: int = 0, **changes: Any) -> AuditEntry:
    return AuditEntry(1_800_000_000.0 + number, "user:ada", "directory", "search", "ok", 1_500, str(number))._replace(
        **changes
    )


async def fill(trail: AuditTrail, batches: int, clock: TurnedClock | None = None) -> None:
    for number in range(batches):
        if clock is not None:
            clock.advance(1)
        trail.record(entry(number))
        trail.record(entry(number, tool="push"))
        await trail.flush()


async def change(db: Database, sql: str, *params: Any) -> None:
    assert await db.write(lambda tx: tx.run(sql, *params)), "the test changed nothing"


async def fault(db: Database, head: Link | None = None) -> str:
    found = await AuditTrail(db).verify(head)
    assert found.fault is not None
    return found.fault


@pytest.mark.requirement("access:audit:chain")
async def test_an_untouched_trail_is_whole_and_tells_its_head(db: Database) -> None:
    assert await AuditTrail(db).verify() == Verification(BEGINNING, BEGINNING)
    await fill(AuditTrail(db), 3)
    found = await AuditTrail(db).verify()
    assert (found.fault, found.batches, found.entries, found.uncovered) == (None, 3, 6, 0)
    assert found.head.number == 3
    assert parse_link(str(found.head)) == found.head
    assert found.since is not None


@pytest.mark.requirement("access:audit:chain")
async def test_processes_on_one_store_extend_one_chain(db: Database, other: Database) -> None:
    one, two = AuditTrail(db), AuditTrail(other)
    await asyncio.gather(fill(one, 12), fill(two, 12))
    found = await one.verify()
    assert (found.fault, found.batches, found.head.number) == (None, 24, 24)


@pytest.mark.requirement("access:audit:chain")
@pytest.mark.parametrize(
    ("sql", "params", "told"),
    [
        ("UPDATE audit_batches SET entries = ? WHERE number = 2", (b"[]",), "Batch 2, written at"),
        ("UPDATE audit_batches SET size = 1 WHERE number = 2", (), "Batch 2, written at"),
        ("UPDATE audit_batches SET hash = ? WHERE number = 3", (bytes(32),), "Batch 3, written at"),
        ("DELETE FROM audit_batches WHERE number = 2", (), "Batch 2 is missing"),
        ("DELETE FROM audit_batches WHERE number = 1", (), "Batch 1 is missing"),
        ("DELETE FROM audit_batches WHERE number > 3", (), "ends with batch 3, but its head is batch 5"),
        ("UPDATE audit_batches SET number = 9 WHERE number = 2", (), "Batch 2 is missing"),
        ("UPDATE audit_batches SET number = -1 WHERE number = 1", (), "Batch 1 is missing"),
        ("UPDATE audit_batches SET number = NULL, hash = NULL WHERE number = 5", (), "ends with batch 4"),
        ("UPDATE audit_chain SET number = 4 WHERE name = 'head'", (), "its head is batch 4"),
        ("UPDATE audit_chain SET hash = ? WHERE name = 'head'", (bytes(32),), "its head is batch 5"),
        ("UPDATE audit_chain SET number = 1 WHERE name = 'checkpoint'", (), "Batch 2, written at"),
        ("DELETE FROM audit_chain WHERE name = 'head'", (), "its head is batch 0"),
    ],
)
async def test_a_change_of_the_store_is_found_and_its_place_told(
    db: Database, sql: str, params: tuple[Any, ...], told: str
) -> None:
    await fill(AuditTrail(db), 5)
    await change(db, sql, *params)
    assert told in await fault(db)


@pytest.mark.requirement("access:audit:chain")
async def test_batches_that_change_places_are_found(db: Database) -> None:
    await fill(AuditTrail(db), 4)

    def swap(tx: Transaction) -> None:
        for before, after in ((2, -9), (3, 2), (-9, 3)):
            tx.run("UPDATE audit_batches SET number = ? WHERE number = ?", after, before)

    await db.write(swap)
    assert "Batch 2, written at" in await fault(db)


@pytest.mark.requirement("access:audit:chain")
@pytest.mark.parametrize("number", [None, -3, 0])
async def test_a_batch_that_was_slipped_in_is_found(db: Database, number: int | None) -> None:
    await fill(AuditTrail(db), 2)
    clock = TurnedClock(2_000_000_000.0)
    forged = make_batch(uuid7(clock), [entry(7, tool="never happened")])
    sql = "INSERT INTO audit_batches (id, size, entries, number) VALUES (?, ?, ?, ?)"
    await change(db, sql, forged.id, forged.size, forged.entries, number)
    assert "batch" in await fault(db)


@pytest.mark.requirement("access:audit:chain")
async def test_a_cut_with_a_new_head_is_found_by_a_head_kept_elsewhere(db: Database) -> None:
    await fill(AuditTrail(db), 2)
    early = (await AuditTrail(db).verify()).head
    await fill(AuditTrail(db), 3)
    late = (await AuditTrail(db).verify()).head
    assert (await AuditTrail(db).verify(early)).fault is None
    assert (await AuditTrail(db).verify(late)).fault is None

    def cut(tx: Transaction) -> None:
        tx.run("DELETE FROM audit_batches WHERE number > 3")
        digest = tx.value("SELECT hash FROM audit_batches WHERE number = 3")
        tx.run("UPDATE audit_chain SET number = 3, hash = ? WHERE name = 'head'", digest)

    await db.write(cut)
    assert (await AuditTrail(db).verify()).fault is None, "the store alone cannot know"
    assert (await AuditTrail(db).verify(early)).fault is None
    assert "is not in the trail" in await fault(db, late)
    assert "is not in the trail" in await fault(db, Link(2, bytes(32)))


@pytest.mark.requirement("access:audit:chain")
async def test_a_running_process_notices_that_the_trail_was_cut(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    trail = AuditTrail(db)
    await fill(trail, 3)

    def cut(tx: Transaction) -> None:
        tx.run("DELETE FROM audit_batches")
        tx.run("UPDATE audit_chain SET number = 0, hash = ? WHERE name = 'head'", bytes(32))

    await db.write(cut)
    assert not caplog.records
    await fill(trail, 1)
    [line] = caplog.records
    assert line.getMessage() == "The audit trail was cut or rewritten."
    assert vars(line)["head_before"].startswith("3:")


async def test_entries_are_kept_even_if_the_head_was_tampered_with(db: Database) -> None:
    trail = AuditTrail(db)
    await fill(trail, 3)
    await change(db, "UPDATE audit_chain SET number = 1 WHERE name = 'head'")
    await fill(trail, 1)
    await change(db, "DELETE FROM audit_chain WHERE name = 'head'")
    await fill(trail, 1)
    assert len(await trail.recent()) == 10
    assert trail.dropped == 0
    assert await fault(db)


@pytest.mark.requirement("access:audit:retention")
async def test_retention_leaves_a_checkpoint_from_which_the_rest_is_verified(db: Database) -> None:
    clock = TurnedClock()
    trail = AuditTrail(db, retention_days=1, clock=clock)
    await fill(trail, 25, clock)
    clock.advance(DAY / 2)
    await fill(trail, 5, clock)
    before = (await trail.verify()).head
    clock.advance(DAY / 2 + 10)
    assert await trail.prune() == 50
    found = await trail.verify()
    assert (found.fault, found.checkpoint.number) == (None, 25)
    assert (await trail.verify(before)).fault is None
    assert "older than the trail" in await fault(db, Link(3, bytes(32)))
    told = {(one.principal, one.target) for one in await trail.recent(tool="audit retention")}
    assert ("system", str(found.checkpoint)) in told


@pytest.mark.requirement("access:audit:retention")
async def test_a_beginning_removed_by_hand_is_not_taken_for_retention(db: Database) -> None:
    clock = TurnedClock()
    trail = AuditTrail(db, retention_days=1, clock=clock)
    await fill(trail, 5, clock)

    def cut(tx: Transaction, upto: int) -> None:
        digest = tx.value("SELECT hash FROM audit_batches WHERE number = ?", upto)
        tx.run("DELETE FROM audit_batches WHERE number <= ?", upto)
        tx.run("UPDATE audit_chain SET number = ?, hash = ? WHERE name = 'checkpoint'", upto, digest)

    await db.write(lambda tx: cut(tx, 2))
    assert "other than the retention" in await fault(db)
    clock.advance(DAY + 10)
    await fill(trail, 3, clock)
    await trail.prune()
    assert (await trail.verify()).fault is None, "the next retention covers the place"
    await db.write(lambda tx: cut(tx, 7))
    assert "other than the retention" in await fault(db)


@pytest.mark.requirement("access:audit:chain")
async def test_the_chain_of_an_older_store_begins_at_the_upgrade(db: Database) -> None:
    clock = TurnedClock()
    for _ in range(3):
        clock.advance(1)
        batch = make_batch(uuid7(clock), [entry()])
        sql = "INSERT INTO audit_batches (id, size, entries) VALUES (?, ?, ?)"
        await change(db, sql, batch.id, batch.size, batch.entries)
    clock.advance(1)
    trail = AuditTrail(db, retention_days=1, clock=clock)
    await fill(trail, 2, clock)
    found = await trail.verify()
    assert (found.fault, found.batches, found.uncovered) == (None, 2, 3)
    assert found.since == pytest.approx(clock.now() - 1, abs=0.01)
    assert len(await trail.recent()) == 7
    clock.advance(DAY + 10)
    assert await trail.prune() == 7
    found = await trail.verify()
    assert (found.fault, found.uncovered) == (None, 0)


@pytest.mark.requirement("access:audit:chain")
def test_a_checkpoint_whose_hash_looks_like_a_card_number_is_kept() -> None:
    link = "2:acdec79240f9bbc5387707120705639ac7f5e75c84646ad9c8a78bde772bf0ec"
    told = AuditEntry(1.0, "system", EVENTS, RETENTION_EVENT, "ok", 0, target=link)
    assert checkpoint_of(make_batch(uuid7(), [told]).entries) == link
    other = AuditEntry(1.0, "user:ada", "registers", "objects", "ok", 0, target="card 5387707120705639")
    assert b"5387707120705639" not in make_batch(uuid7(), [other]).entries


@pytest.mark.requirement("access:audit:chain")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_any_single_change_of_stored_bytes_is_found(tmp_path: Path, data: st.DataObject) -> None:
    stores = Stores(None, tmp_path / uuid7().hex)
    try:
        store = await stores.open(SETS)
        clock = TurnedClock()
        trail = AuditTrail(store, retention_days=1, clock=clock)
        pruned = data.draw(st.booleans(), "pruned")
        await fill(trail, 3, clock)
        if pruned:
            clock.advance(DAY + 10)
            await fill(trail, 2, clock)
            await trail.prune()
        assert (await trail.verify()).fault is None
        table, key, column = data.draw(
            st.sampled_from(
                [
                    ("audit_batches", "id", "id"),
                    ("audit_batches", "id", "size"),
                    ("audit_batches", "id", "entries"),
                    ("audit_batches", "id", "number"),
                    ("audit_batches", "id", "hash"),
                    ("audit_chain", "name", "number"),
                    ("audit_chain", "name", "hash"),
                ]
            ),
            "column",
        )
        rows = await store.read(lambda rows: rows.all(f"SELECT {key}, {column} FROM {table} ORDER BY {key}"))
        name, old = rows[data.draw(st.integers(0, 20), "row") % len(rows)]  # ids and lengths differ from run to run
        await change(store, f"UPDATE {table} SET {column} = ? WHERE {key} = ?", _changed(data, old), name)
        assert (await AuditTrail(store).verify()).fault is not None
    finally:
        await stores.close()


def _changed(data: st.DataObject, old: int | bytes) -> int | bytes:
    if isinstance(old, int):
        return old ^ (1 << data.draw(st.integers(3, 40), "bit"))
    place = data.draw(st.integers(0, 10_000), "byte") % len(old)
    return old[:place] + bytes([old[place] ^ (1 << data.draw(st.integers(0, 7), "bit"))]) + old[place + 1 :]


def test_a_head_that_is_none_is_refused() -> None:
    for text in ("", "12", "12:ab", "x:" + "0" * 64):
        with pytest.raises(InvalidInput):
            parse_link(text)
