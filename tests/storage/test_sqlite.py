"""What is particular to the store in a file: grouping, several processes, other people's files."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from pentad.kernel.errors import Misconfigured, Overloaded, Unavailable
from pentad.kernel.ports import Rows, Transaction
from pentad.storage import sqlite_connection, sqlite_transactions
from pentad.storage.migrations import STORAGE, apply
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_connection import prepare_file
from tests.waiting import PATIENCE, until_true

pytestmark = pytest.mark.anyio

CHILD = """
import asyncio, sys
from pathlib import Path
from pentad.storage.sqlite import SqliteDatabase

async def main():
    db = await SqliteDatabase.open(Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(100):
        await db.write(lambda tx: tx.run("INSERT INTO t VALUES (?)", f"child {n}"))
    await db.close()

asyncio.run(main())
"""


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    db = await SqliteDatabase.open(tmp_path / "pentad.db")
    await apply(db, [STORAGE])
    await db.write(lambda tx: tx.run("CREATE TABLE t (a TEXT) STRICT"))
    yield db
    await db.close()


def add(text: str) -> Any:
    return lambda tx: tx.run("INSERT INTO t VALUES (?)", text)


async def count(db: SqliteDatabase) -> int:
    return await db.read(lambda rows: rows.value("SELECT count(*) FROM t"))


@pytest.mark.requirement("storage:sqlite:group-commit")
async def test_units_that_wait_together_share_one_commit_and_none_is_acknowledged_before_it(db: SqliteDatabase):
    commits: list[bool] = []
    started, release = threading.Event(), threading.Event()

    def slow(tx: Any) -> None:
        started.set()
        assert release.wait(PATIENCE)

    waiting: list[asyncio.Future[Any]] = []

    def committing() -> bool:
        commits.append(any(task.done() for task in waiting))
        return False

    def count_commits(tx: Any) -> None:
        tx.connection.set_commit_hook(committing)

    await db.write(count_commits)
    first = asyncio.ensure_future(db.write(slow))
    assert await asyncio.to_thread(started.wait, PATIENCE)
    waiting += [asyncio.ensure_future(db.write(add(str(n)))) for n in range(50)]
    await asyncio.sleep(0)
    assert db.queued == 50
    commits.clear()
    release.set()
    await asyncio.gather(first, *waiting)
    assert commits == [False, False]
    assert await count(db) == 50


async def test_what_a_unit_did_before_its_group_had_to_run_again_leaves_no_trace(db: SqliteDatabase):
    started, release, runs = threading.Event(), threading.Event(), list[int]()
    heard: list[str] = []
    end = db.listen("news", heard.append)

    def slow(_tx: Transaction) -> None:
        started.set()
        assert release.wait(PATIENCE)

    def fickle(tx: Transaction) -> None:
        runs.append(1)
        tx.run("INSERT INTO t VALUES ('fickle')")
        tx.signal("news", "fickle")
        if len(runs) > 1:
            raise LookupError

    def failing(_tx: Transaction) -> None:
        raise LookupError

    def steady(tx: Transaction) -> None:
        tx.run("INSERT INTO t VALUES ('steady')")
        tx.signal("news", "steady")

    first = asyncio.ensure_future(db.write(slow))
    assert await asyncio.to_thread(started.wait, PATIENCE)
    group = asyncio.gather(*map(db.write, (fickle, failing, steady)), return_exceptions=True)
    await asyncio.sleep(0)
    release.set()
    await first
    assert [isinstance(result, LookupError) for result in await group] == [True, True, False]
    await db.write(lambda tx: tx.signal("news", "last"))
    async with asyncio.timeout(PATIENCE):
        while "last" not in heard:
            await asyncio.sleep(0)
    end()
    assert heard == ["steady", "last"]
    assert await db.read(lambda rows: rows.all("SELECT a FROM t")) == [("steady",)]


async def test_a_unit_cancelled_before_its_turn_is_not_run(db: SqliteDatabase):
    started, release = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        started.set()
        assert release.wait(PATIENCE)

    first = asyncio.ensure_future(db.write(slow))
    assert await asyncio.to_thread(started.wait, PATIENCE)
    waiting = [asyncio.ensure_future(db.write(add(str(n)))) for n in range(3)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(first, *waiting, return_exceptions=True)
    assert await db.read(lambda rows: rows.all("SELECT a FROM t ORDER BY a")) == [("0",), ("2",)]


@pytest.fixture
async def quick(db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> SqliteDatabase:
    """A store whose commits count as quick, and have been for a while."""
    monkeypatch.setattr(sqlite_transactions, "_QUICK_SECONDS", PATIENCE)
    for number in range(sqlite_transactions._ALONE):
        await db.write(add(f"before {number}"))
    rested(db)
    return db


def rested(db: SqliteDatabase) -> None:
    """Wait until the writer is through with what it does after a commit."""
    with db._writer._using:
        pass


def where(tx: Transaction) -> str:
    tx.run("INSERT INTO t VALUES (?)", "somewhere")
    return threading.current_thread().name


async def test_where_commits_are_quick_a_brief_unit_is_committed_where_it_stands(quick: SqliteDatabase):
    here = threading.current_thread().name
    before = await count(quick)
    assert await quick.write(where, brief=True) == here
    assert await quick.write(where) == "pentad-writer"
    rested(quick)
    assert await quick.write(where, brief=True) == here
    assert await count(quick) == before + 3


async def test_commits_that_are_usually_slow_send_brief_units_to_the_writer(
    quick: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sqlite_transactions, "_QUICK_SECONDS", 0.0)
    monkeypatch.setattr(sqlite_transactions, "_QUICK_SECONDS_ALONE", 0.0)
    assert await quick.write(where, brief=True) == "pentad-writer"


@pytest.mark.requirement("storage:sqlite:usual-commit")
async def test_a_slow_commit_now_and_then_changes_nothing_but_a_slow_disk_does(
    db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
):
    seconds = iter(([0.0003] * 9 + [0.004]) * 20 + [0.004] * 10)
    clock = {"now": 0.0, "in_commit": False}

    def now() -> float:
        if clock["in_commit"]:
            clock["now"] += next(seconds)
        clock["in_commit"] = not clock["in_commit"]
        return clock["now"]

    monkeypatch.setattr(sqlite_transactions, "_MOST_IN_A_ROW_ALONE", 200)
    monkeypatch.setattr(sqlite_transactions, "time", SimpleNamespace(perf_counter=now, time=time.time))
    threads: list[str] = []
    for _ in range(210):
        threads.append(await db.write(where, brief=True))
        rested(db)
    assert set(threads[100:200]) == {threading.current_thread().name}
    assert threads[-1] == "pentad-writer"


async def test_where_commits_take_a_little_longer_a_single_writer_commits_where_it_stands_until_there_are_several(
    db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sqlite_transactions, "_QUICK_SECONDS", 0.0)
    monkeypatch.setattr(sqlite_transactions, "_QUICK_SECONDS_ALONE", PATIENCE)
    threads: list[str] = []
    for _ in range(sqlite_transactions._ALONE + 1):
        threads.append(await db.write(where, brief=True))
        rested(db)
    assert (threads[0], threads[-1]) == ("pentad-writer", threading.current_thread().name)
    for _ in range(2):
        await asyncio.gather(*(db.write(add("one of several")) for _ in range(9)))
    rested(db)
    assert await db.write(where, brief=True) == "pentad-writer"


async def test_the_writer_has_its_turn_now_and_then(quick: SqliteDatabase, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite_transactions, "_MOST_IN_A_ROW", 2)
    here = threading.current_thread().name
    assert [await quick.write(where, brief=True) for _ in range(3)] == [here, here, "pentad-writer"]


async def test_a_brief_unit_does_not_pass_one_that_waits(quick: SqliteDatabase):
    held, go = threading.Event(), threading.Event()

    def wait(_tx: Transaction) -> None:
        held.set()
        go.wait(PATIENCE)

    first = asyncio.ensure_future(quick.write(wait))
    await asyncio.to_thread(held.wait, PATIENCE)
    second = asyncio.ensure_future(quick.write(where, brief=True))
    await asyncio.sleep(0)
    assert not second.done()
    go.set()
    await first
    assert await second == "pentad-writer"


async def test_a_brief_unit_that_fails_leaves_no_trace_and_tells_its_caller(quick: SqliteDatabase):
    before = await count(quick)

    def fail(tx: Transaction) -> None:
        tx.run("INSERT INTO t VALUES (?)", "half")
        raise LookupError("on the way")

    with pytest.raises(LookupError, match="on the way"):
        await quick.write(fail, brief=True)
    assert await count(quick) == before
    assert await quick.write(where, brief=True) == threading.current_thread().name


async def test_a_brief_unit_leaves_waiting_for_another_process_to_the_writer(quick: SqliteDatabase):
    other = apsw.Connection(str(quick.path))
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(quick.write(where, brief=True))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    other.execute("ROLLBACK")
    other.close()
    assert await waiting == "pentad-writer"


async def test_what_a_brief_unit_signals_is_heard_after_its_commit(quick: SqliteDatabase):
    heard: asyncio.Queue[str] = asyncio.Queue()
    end = quick.listen("news", heard.put_nowait)
    await quick.write(lambda tx: tx.signal("news", "here"), brief=True)
    assert await asyncio.wait_for(heard.get(), PATIENCE) == "here"
    end()


@pytest.mark.requirement("storage:sqlite:two-processes")
async def test_two_processes_share_one_file(db: SqliteDatabase):
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(db.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert await asyncio.to_thread(child.stdout.readline) == b"ready\n"
    talking = asyncio.ensure_future(asyncio.to_thread(child.communicate, b"go\n", PATIENCE))
    for n in range(100):
        await db.write(add(f"parent {n}"))
    await talking
    assert child.returncode == 0
    assert await count(db) == 200


async def test_a_lock_of_another_process_is_waited_for_and_then_reported(tmp_path: Path):
    db = await SqliteDatabase.open(tmp_path / "pentad.db", busy_seconds=0.05)
    await db.write(lambda tx: tx.run("CREATE TABLE t (a TEXT)"))
    other = apsw.Connection(str(db.path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        await db.write(add("a"))
    assert await count(db) == 0
    other.execute("COMMIT")
    other.close()
    await db.write(add("a"))
    assert await count(db) == 1
    await db.close()


async def test_a_file_that_is_not_sqlite_is_refused(tmp_path: Path):
    path = tmp_path / "pentad.db"
    path.write_bytes(b"no database at all, " * 100)
    with pytest.raises(Misconfigured) as caught:
        await SqliteDatabase.open(path)
    assert caught.value.hint
    assert path.read_bytes() == b"no database at all, " * 100


async def test_the_sqlite_file_of_another_program_is_refused_and_left_alone(tmp_path: Path):
    path = tmp_path / "pentad.db"
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE theirs (a)")
    foreign.commit()
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(Misconfigured, match="another program"):
        await SqliteDatabase.open(path)
    assert path.read_bytes() == before


async def test_a_folder_that_cannot_be_is_a_matter_of_settings(tmp_path: Path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(Misconfigured, match="cannot be opened"):
        await SqliteDatabase.open(tmp_path / "file" / "pentad.db")


async def test_damage_inside_the_file_is_named_as_such(tmp_path: Path):
    db = await SqliteDatabase.open(tmp_path / "pentad.db")
    await db.write(lambda tx: tx.run("CREATE TABLE t (a TEXT)"))
    await db.write(lambda tx: tx.run_many("INSERT INTO t VALUES (?)", [("x" * 500,)] * 200))
    await db.close()
    data = bytearray(db.path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    db.path.write_bytes(data)
    db = await SqliteDatabase.open(db.path)
    with pytest.raises(Misconfigured, match="damaged") as caught:
        await db.read(lambda rows: rows.all("SELECT a FROM t"))
    assert str(tmp_path) not in caught.value.sentence()
    await db.close()


@pytest.mark.requirement("storage:sqlite:full-sync")
async def test_every_connection_is_as_durable_as_promised(db: SqliteDatabase):
    def settings(rows: Rows) -> list[Any]:
        return [rows.value(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "foreign_keys")]

    assert await db.write(settings) == ["wal", 2, 1]
    assert await db.read(settings) == ["wal", 2, 1]
    assert db.path.stat().st_mode & 0o777 == 0o600


async def test_a_late_lookup_is_moved_to_a_reader(tmp_path: Path):
    def readers() -> set[int | None]:
        return {thread.ident for thread in threading.enumerate() if thread.name.startswith("pentad-reader")}

    others = readers()
    fresh = await SqliteDatabase.open(tmp_path / "pentad.db")
    assert await fresh.lookup("SELECT 1") == (1,)
    assert readers() <= others
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) FROM n"
    assert await fresh.lookup(counting) == (300_000,)
    assert readers() - others
    await fresh.close()


async def test_a_lookup_leaves_no_transaction_open(db: SqliteDatabase):
    await db.write(add("a"))
    await db.write(add("b"))
    await db.lookup("SELECT a FROM t")
    other = apsw.Connection(str(db.path))
    assert other.execute("SELECT count(*) FROM t").get == 2
    other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)  # an open reader would make it BUSY
    other.close()
    assert db.path.with_name("pentad.db-wal").stat().st_size == 0


async def test_a_full_queue_is_refused_rather_than_kept(tmp_path: Path):
    connection = prepare_file(tmp_path / "pentad.db", busy_seconds=1)
    started, release = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        started.set()
        assert release.wait(PATIENCE)

    one = sqlite_transactions.Writer(connection, lambda signals: None, origin="here", backlog=2)
    first = one.submit(slow)
    assert await asyncio.to_thread(started.wait, PATIENCE)
    more = [one.submit(lambda tx: None) for _ in range(2)]
    with pytest.raises(Overloaded):
        one.submit(lambda tx: None)
    release.set()
    await asyncio.gather(first, *more)
    await one.submit(lambda tx: None)
    one.close()


async def test_old_signals_are_pruned(db: SqliteDatabase):
    old = [("elsewhere", "news", str(n), 0.0) for n in range(255)]
    await db.write(
        lambda tx: tx.run_many("INSERT INTO signals (origin, channel, payload, at) VALUES (?, ?, ?, ?)", old)
    )
    await db.write(lambda tx: tx.signal("news", "new"))
    assert await db.read(lambda rows: rows.all("SELECT id, payload FROM signals")) == [(256, "new")]


async def test_the_log_does_not_outgrow_its_bound(db: SqliteDatabase, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite_transactions, "_WAL_BYTES", 200_000)
    log = db.path.with_name("pentad.db-wal")
    await db.write(lambda tx: tx.run_many("INSERT INTO t VALUES (?)", [("x" * 1000,)] * 1000))
    await db.write(lambda tx: None)
    assert log.stat().st_size < 200_000


async def test_a_watcher_rests_while_nobody_listens_and_skips_what_it_slept_through(db: SqliteDatabase):
    other = await SqliteDatabase.open(db.path)
    db.listen("news", lambda payload: None)()
    await until_true(lambda: not db._watcher._has_listeners.is_set())
    await other.write(lambda tx: tx.signal("news", "unheard"))
    heard: list[str] = []
    arrived = asyncio.Event()

    def hear(payload: str) -> None:
        heard.append(payload)
        arrived.set()

    db.listen("news", hear)
    await other.write(lambda tx: tx.signal("news", "heard"))
    async with asyncio.timeout(PATIENCE):
        await arrived.wait()
    assert heard == ["heard"]
    await other.close()


async def test_opening_and_closing_many_times_leaks_nothing(tmp_path: Path):
    async def once() -> tuple[int, int]:
        db = await SqliteDatabase.open(tmp_path / "pentad.db")
        await apply(db, [STORAGE])
        db.listen("news", lambda payload: None)
        await db.write(lambda tx: tx.signal("news"))
        await db.read(lambda rows: rows.value("SELECT 1"))
        await db.close()
        ours = [thread.name for thread in threading.enumerate() if thread.name.startswith("pentad")]
        return len(list(Path("/proc/self/fd").iterdir())), len(ours)

    await once()
    before = await once()
    *_, after = [await once() for _ in range(20)]
    assert after[0] <= before[0], "open files"  # others of the process may close theirs meanwhile
    assert after[1] <= before[1], "threads"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pentad.db"]


async def test_a_store_exchanged_while_it_is_being_opened_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "pentad.db"
    for name, text in (("pentad.db", "old"), ("new.db", "new")):
        db = await SqliteDatabase.open(tmp_path / name)
        await db.write(lambda tx: tx.run("CREATE TABLE t (a TEXT)"))
        await db.write(add(text))
        await db.close()
    opened, connect = 0, sqlite_connection.connect

    def exchanged_after_opening(*arguments: Any, **options: Any) -> Any:
        nonlocal opened
        connection = connect(*arguments, **options)
        opened += 1
        if opened == 1:
            path.rename(tmp_path / "kept.db")
            (tmp_path / "new.db").rename(path)
        return connection

    monkeypatch.setattr(sqlite_connection, "connect", exchanged_after_opening)
    connection = prepare_file(path, busy_seconds=1)
    assert connection.execute("SELECT a FROM t").get == "new"
    assert opened == 2
    connection.close()
