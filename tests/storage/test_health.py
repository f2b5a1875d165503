"""What a store says that cannot write, or is damaged: a line in the log, a number, a reason; and when it is over."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest

from pentad.kernel.errors import Misconfigured, PentadError, Unavailable
from pentad.kernel.ports import Database
from pentad.storage import sqlite_connection
from pentad.storage.diagnostics import StoreWatch, probe_store
from pentad.storage.health import health_of
from pentad.storage.integrity import check_integrity
from pentad.storage.migrations import STORAGE, apply
from pentad.storage.sqlite import SqliteDatabase
from tests.faults.broken_disks import FailingDisk
from tests.refusing import damage, full, read_only
from tests.waiting import until_true

pytestmark = pytest.mark.anyio

MANY = "CREATE TABLE things (id INTEGER PRIMARY KEY, filler TEXT)"


def add(tx: Any) -> None:
    tx.run("INSERT INTO things (id, filler) SELECT coalesce(max(id), 0) + 1, ? FROM things", "x" * 5_000)


def count(rows: Any) -> int:
    return rows.value("SELECT count(*) FROM things")


def told(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [record for record in caplog.records if record.name == "pentad.storage.health"]


async def refused(db: Database) -> PentadError:
    with pytest.raises(PentadError) as caught:
        await db.write(add)
    return caught.value


@pytest.fixture
async def things(store: Database) -> Database:
    await store.write(lambda tx: tx.run(MANY))
    await store.write(add)
    return store


@pytest.mark.requirement("storage:health:full", "incidents:storm")
async def test_a_full_disk_refuses_writes_with_one_line_and_its_number_and_still_reads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO")
    db = await SqliteDatabase.open(tmp_path / "pentad.db")
    await apply(db, [STORAGE])
    await db.write(lambda tx: tx.run(MANY))
    await db.write(add)
    with full(db):
        errors = await asyncio.gather(*(refused(db) for _ in range(13)))
        errors += [await refused(db) for _ in range(13)]
        (line,) = told(caplog)
        assert {error.details["incident"] for error in errors} == {line.incident}
        assert {(type(error), error.details["reason"]) for error in errors} == {(Unavailable, "disk-full")}
        assert "the disk is full" in errors[0].message
        assert str(tmp_path) not in errors[0].sentence()
        assert await db.read(count) == 1
        assert await db.lookup("SELECT id FROM things WHERE id = 1") == (1,)
        assert health_of(db).status == "degraded"
        assert (await probe_store(db)).trouble is not None, "what is tried needs room"
    assert (await probe_store(db)).trouble is None
    assert health_of(db).status == "ok"
    assert (told(caplog)[-1].incident, told(caplog)[-1].levelname) == (line.incident, "INFO")
    assert await db.read(lambda rows: rows.value("SELECT count(*) FROM store_probes")) == 0
    await db.close()


@pytest.mark.requirement("storage:health:read-only")
async def test_a_store_that_became_read_only_says_so_and_still_reads(
    things: Database, caplog: pytest.LogCaptureFixture
):
    with read_only(things):
        error = await refused(things)
        assert (type(error), error.details["reason"]) == (Unavailable, "read-only")
        assert await things.read(count) == 1
        assert health_of(things).status == "degraded"
        assert (await probe_store(things)).trouble is not None
        assert error.details["incident"] == told(caplog)[0].incident
    assert (await probe_store(things)).trouble is None
    assert health_of(things).status == "ok"
    await things.write(add)


async def test_a_reading_unit_that_writes_is_a_mistake_and_no_trouble(things: Database):
    with pytest.raises(Misconfigured):
        await things.read(lambda rows: rows.one("INSERT INTO things (id) VALUES (99) RETURNING id"))
    assert health_of(things).status == "ok"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(apsw.IOError, "disk-error"), (apsw.FullError, "disk-full"), (apsw.ReadOnlyError, "read-only")],
)
@pytest.mark.requirement("storage:health:full")
async def test_a_disk_that_fails_while_writing_is_told_and_passes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kind: type[Exception],
    reason: str,
):
    disk = FailingDisk("failing-health", lambda: kind("on purpose"), syncs=False)
    monkeypatch.setattr(sqlite_connection, "open_file", _on("failing-health"))
    db = await SqliteDatabase.open(tmp_path / "pentad.db")
    await apply(db, [STORAGE])
    await db.write(lambda tx: tx.run(MANY))
    disk.arm(1)
    error = await refused(db)
    assert error.details == {"reason": reason, "incident": told(caplog)[0].incident}
    assert health_of(db).status == "degraded"
    disk.disarm()
    await probe_store(db)
    assert health_of(db).status == "ok"
    await db.close()
    disk.unregister()


def _on(vfs: str) -> Any:
    opened = sqlite_connection.open_file
    return lambda path, flags, _vfs=None: opened(path, flags, vfs)


@pytest.fixture
async def damaged(tmp_path: Path) -> Any:
    path = tmp_path / "pentad.db"
    db = await SqliteDatabase.open(path)
    await apply(db, [STORAGE])
    await db.write(lambda tx: tx.run(MANY))
    for _ in range(5):
        await db.write(add)
    await db.close()
    damage(path, "things")
    db = await SqliteDatabase.open(path)
    yield db
    await db.close()


@pytest.mark.requirement("storage:health:damaged")
@pytest.mark.parametrize("way", ["read", "lookup", "write"])
async def test_whoever_meets_a_damaged_page_makes_the_store_fail_until_it_was_checked(
    damaged: SqliteDatabase, caplog: pytest.LogCaptureFixture, way: str
):
    assert health_of(damaged).status == "ok"
    ways: dict[str, Any] = {
        "read": lambda: damaged.read(count),
        "lookup": lambda: damaged.lookup("SELECT id FROM things WHERE id = 1"),
        "write": lambda: damaged.write(add),
    }
    with pytest.raises(Misconfigured, match="damaged") as caught:
        await ways[way]()
    (line,) = told(caplog)
    assert caught.value.details == {"reason": "damaged", "incident": line.incident}
    assert health_of(damaged).status == "failing"
    await probe_store(damaged)
    assert health_of(damaged).status == "failing", "that the rest works proves nothing"
    health_of(damaged).found_sound()
    assert health_of(damaged).status == "ok"


@pytest.mark.requirement("storage:integrity")
async def test_a_check_finds_a_damaged_page_nobody_has_met(damaged: SqliteDatabase):
    found = await check_integrity(damaged, seconds=30)
    assert found.faults
    assert health_of(damaged).status == "failing"


@pytest.mark.requirement("storage:integrity")
async def test_a_sound_store_is_read_to_its_end(things: Database):
    heard: list[str] = []
    found = await check_integrity(things, seconds=30, progress=heard.append)
    assert (found.faults, found.complete) == ([], True)
    assert heard or things.dialect == "sqlite"


@pytest.mark.requirement("storage:integrity")
async def test_a_check_ends_in_time_and_says_that_it_did_not_read_all(things: Database, monkeypatch: Any):
    await things.write(lambda tx: [add(tx) for _ in range(200)])
    monkeypatch.setattr("pentad.storage.integrity._INSTRUCTIONS", 10)
    found = await check_integrity(things, seconds=0)
    assert (found.faults, found.complete) == ([], False)


@pytest.mark.requirement("storage:integrity")
async def test_references_that_point_nowhere_are_found(tmp_path: Path):
    db = await SqliteDatabase.open(tmp_path / "pentad.db")
    await db.write(lambda tx: tx.run("CREATE TABLE a (id INTEGER PRIMARY KEY)"))
    await db.write(lambda tx: tx.run("CREATE TABLE b (a INTEGER REFERENCES a (id))"))
    db._writer._connection.pragma("foreign_keys", False)
    await db.write(lambda tx: tx.run("INSERT INTO b VALUES (7)"))
    assert (await check_integrity(db, seconds=30)).faults == ["b refers to rows of a that are not there"]
    await db.close()


@pytest.mark.requirement("storage:health:bounded")
async def test_however_many_ask_the_store_is_asked_once(things: Database, monkeypatch: pytest.MonkeyPatch):
    asked = 0

    async def counted(db: Database) -> Any:
        nonlocal asked
        asked += 1
        return await probe_store(db)

    monkeypatch.setattr("pentad.storage.diagnostics.probe_store", counted)
    watch = StoreWatch(things)
    found = await asyncio.gather(*(watch.now() for _ in range(50)))
    assert asked == 1
    assert all(one.trouble is None for one in found)


@pytest.mark.requirement("storage:health:recovers")
async def test_a_store_that_works_again_is_noticed_without_anybody_asking(
    things: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pentad.storage.diagnostics.EVERY_SECONDS", 0.01)
    monkeypatch.setattr("pentad.storage.diagnostics.FRESH_SECONDS", 0.0)
    watch = StoreWatch(things)
    watch.start()
    with read_only(things):
        await refused(things)
        assert watch.health.status == "degraded"
    await until_true(lambda: watch.health.status == "ok")
    await watch.stop()


@pytest.mark.requirement("storage:health:recovers")
async def test_damage_that_is_gone_is_noticed_by_a_check(things: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pentad.storage.diagnostics.EVERY_SECONDS", 0.01)
    monkeypatch.setattr("pentad.storage.diagnostics.CHECK_EVERY_SECONDS", 0.0)
    health_of(things).record(Misconfigured("x", details={"reason": "damaged"}), "read")
    watch = StoreWatch(things)
    watch.start()
    await until_true(lambda: watch.health.status == "ok")
    await watch.stop()
