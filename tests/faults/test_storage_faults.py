"""Broken disks, power cuts, killed processes and restarted servers: acknowledged work stays, nothing is half done."""

import asyncio
import contextlib
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from pentad.kernel.errors import PentadError, Unavailable
from pentad.kernel.ports import Transaction
from pentad.storage.migrations import STORAGE, apply
from pentad.storage.postgres import PostgresDatabase
from pentad.storage.sqlite import SqliteDatabase
from tests.faults.broken_disks import FailingDisk, ForgetfulDisk
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.faults, pytest.mark.timeout(300)]
PATIENCE = 20.0

SCHEMA = ("CREATE TABLE a (id INTEGER PRIMARY KEY, filler BLOB)", "CREATE TABLE b (id INTEGER PRIMARY KEY)")


def pair(number: int, filler: int = 10) -> Callable[[Transaction], None]:
    """A unit of work that must happen as a whole: one row here, one row there."""

    def work(tx: Transaction) -> None:
        tx.run("INSERT INTO a VALUES (?, ?)", number, bytes(filler))
        tx.run("INSERT INTO b VALUES (?)", number)

    return work


async def prepare(db: SqliteDatabase, **pragmas: int) -> None:
    def work(tx: Any) -> None:
        for statement in SCHEMA:
            tx.run(statement)

    await db.write(work)

    def tune(tx: Any) -> None:
        for name, value in pragmas.items():
            tx.connection.pragma(name, value)

    await db.write(tune)


def found_in(path: Path) -> set[int]:
    """The pairs in a store, after checking that all are complete and that the file is sound."""
    connection = apsw.Connection(str(path))
    try:
        assert connection.pragma("integrity_check") == "ok"
        if not connection.table_exists("main", "b"):
            return set()
        first = {row[0] for row in connection.execute("SELECT id FROM a")}
        second = {row[0] for row in connection.execute("SELECT id FROM b")}
        assert first == second
        return first
    finally:
        connection.close()


async def acknowledged(db: SqliteDatabase, numbers: range, filler: int) -> set[int]:
    """Write some one by one and the rest all at once; return the acknowledged ones. The others must say why not."""
    acked: set[int] = set()

    async def one(number: int) -> None:
        with contextlib.suppress(Unavailable):
            await db.write(pair(number, filler))
            acked.add(number)

    for number in numbers[:3]:
        await one(number)
    await asyncio.gather(*map(one, numbers[3:]))
    return acked


@pytest.mark.parametrize(
    ("error", "syncs", "filler"),
    [
        (apsw.FullError, False, 10),
        (apsw.IOError, False, 10),
        (apsw.IOError, True, 10),
        (apsw.FullError, False, 25_000),
    ],
    ids=["full", "write error", "sync error", "full inside a unit"],
)
@pytest.mark.requirement("storage:faults:disk")
async def test_whichever_write_fails_nothing_is_half_and_the_store_recovers(
    tmp_path: Path, error: type[Exception], syncs: bool, filler: int
):
    n, fired = 0, True
    acked = set[int]()
    while fired:
        n += 1
        disk = FailingDisk(f"failing-{n}", lambda: error("on purpose"), syncs=syncs)
        db = await SqliteDatabase.open(tmp_path / f"{n}.db", vfs=f"failing-{n}")
        await prepare(db, cache_size=8, wal_autocheckpoint=20)
        disk.arm(n)
        acked = await acknowledged(db, range(10), filler)
        fired = disk.fired
        if fired:
            await db.read(lambda rows: rows.value("SELECT count(*) FROM a"))
        disk.disarm()
        await db.write(pair(100))
        assert await db.lookup("SELECT 1 FROM b WHERE id = 100") == (1,)
        await db.close()
        disk.unregister()
        assert found_in(db.path) >= acked | {100}
    assert n > 3
    assert acked == set(range(10))


@pytest.mark.requirement("storage:faults:power")
async def test_a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path):
    chance = random.Random(20_260_728)
    acked: set[int] = set()
    cuts: list[tuple[set[int], dict[str, bytes]]] = []

    def moment() -> None:
        cuts.extend((set(acked), disk.left_over(choice)) for choice in (None, chance))

    disk = ForgetfulDisk("forgetful", moment)
    db = await SqliteDatabase.open(tmp_path / "pentad.db", vfs="forgetful")
    await prepare(db, wal_autocheckpoint=6)
    for start in range(0, 40, 4):
        for number in range(start, start + 4):
            if number % 4 == 0:
                await db.write(pair(number))
                acked.add(number)
        numbers = range(start + 1, start + 4)
        await asyncio.gather(*(db.write(pair(number)) for number in numbers))
        acked.update(numbers)
    moment()
    await db.close()
    disk.unregister()
    assert len(cuts) > 200
    assert set(range(40)) in [promised for promised, _ in cuts]
    for position, (promised, files) in enumerate(cuts):
        folder = tmp_path / str(position)
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        lost = promised - found_in(folder / "pentad.db")
        assert not lost, f"cut {position} lost {lost}"


async def test_the_power_cut_test_notices_a_disk_that_is_never_asked_to_sync(tmp_path: Path):
    """Without synchronous=FULL the same cuts do lose acknowledged work, so the test above can fail."""
    lost = 0
    acked: set[int] = set()
    cuts: list[tuple[set[int], dict[str, bytes]]] = []
    disk = ForgetfulDisk("careless", lambda: cuts.append((set(acked), disk.left_over(None))))
    db = await SqliteDatabase.open(tmp_path / "pentad.db", vfs="careless")
    await prepare(db)
    db._writer._connection.pragma("synchronous", "NORMAL")
    for number in range(10):
        await db.write(pair(number))
        acked.add(number)
    await db.close()
    disk.unregister()
    for position, (promised, files) in enumerate(cuts):
        folder = tmp_path / str(position)
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        lost += len(promised - found_in(folder / "pentad.db"))
    assert lost


KILLED = """
import asyncio, sys
from pathlib import Path
from pentad.storage.sqlite import SqliteDatabase

async def main():
    db = await SqliteDatabase.open(Path(sys.argv[1]))
    start = int(sys.argv[2])

    async def client(client):
        number = start + client
        while True:
            def work(tx):
                tx.run("INSERT INTO a VALUES (?, ?)", number, bytes(300))
                tx.run("INSERT INTO b VALUES (?)", number)
            await db.write(work)
            sys.stdout.write(f"{number}\\n")
            sys.stdout.flush()
            number += 8

    await asyncio.gather(*(client(n) for n in range(8)))

asyncio.run(main())
"""


@pytest.mark.requirement("storage:faults:kill")
async def test_a_process_killed_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path):
    path = tmp_path / "pentad.db"
    db = await SqliteDatabase.open(path)
    await prepare(db)
    await db.close()
    chance = random.Random(1)
    acked: set[int] = set()
    for number in range(20):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), str(number * 1_000_000)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        first = await asyncio.wait_for(asyncio.to_thread(child.stdout.readline), PATIENCE)
        seconds = chance.uniform(0.0, 0.12)
        await asyncio.sleep(seconds)  # deliberately without waiting: the moment of the kill is the fault
        child.send_signal(signal.SIGKILL)
        rest = await asyncio.wait_for(asyncio.to_thread(child.stdout.read), PATIENCE)
        child.stdout.close()
        assert child.wait(PATIENCE) == -signal.SIGKILL
        lines = (first + rest).split(b"\n")[:-1]
        acked.update(map(int, lines))
        assert acked <= found_in(path)
    assert len(acked) > 100
    db = await SqliteDatabase.open(path)
    await db.write(pair(999_999_999))
    await db.close()


@pytest.mark.requirement("storage:faults:postgres")
async def test_a_restarted_postgres_is_found_again_and_nothing_acknowledged_is_lost():
    server = PostgresServer()
    try:
        await restarts(server)
    finally:
        server.remove()


async def restarts(server: PostgresServer) -> None:
    db = await PostgresDatabase.open(server.url(), connections=4)
    await apply(db, [STORAGE])
    await db.write(lambda tx: tx.run("CREATE TABLE a (id BIGINT PRIMARY KEY)"))
    acked: set[int] = set()
    heard = asyncio.Event()
    moved = asyncio.Event()
    stopping = asyncio.Event()
    errors: list[PentadError] = []
    db.listen("back", lambda payload: heard.set())

    async def client(number: int) -> None:
        while not stopping.is_set():
            try:
                await db.write(lambda tx, n=number: tx.run("INSERT INTO a VALUES (?)", n))
                acked.add(number)
                moved.set()
            except Unavailable as error:
                errors.append(error)
            number += 4

    clients = [asyncio.ensure_future(client(n)) for n in range(4)]
    for immediate in (False, True, False):
        await progress(moved)
        await asyncio.to_thread(server.stop, immediate=immediate)
        await asyncio.to_thread(server.start)
        await progress(moved)
    stopping.set()
    await asyncio.gather(*clients)

    async def is_heard() -> bool:
        await db.write(lambda tx: tx.signal("back"))
        return heard.is_set()

    await until(is_heard)  # the listener reconnects by itself; until then a signal may be missed
    kept = {row[0] for row in await db.read(lambda rows: rows.all("SELECT id FROM a"))}
    assert acked <= kept
    assert acked
    await db.close()


async def progress(moved: asyncio.Event) -> None:
    for _ in range(3):
        moved.clear()
        async with asyncio.timeout(PATIENCE):
            await moved.wait()


async def test_an_outage_is_answered_and_not_waited_for():
    server = PostgresServer()
    try:
        db = await PostgresDatabase.open(server.url(), connections=2)
        server.stop()
        async with asyncio.timeout(PATIENCE):
            outcomes = await asyncio.gather(
                *(db.write(lambda tx: None) for _ in range(50)),
                *(db.read(lambda rows: None) for _ in range(50)),
                *(db.lookup("SELECT 1") for _ in range(50)),
                return_exceptions=True,
            )
        assert {type(outcome) for outcome in outcomes} == {Unavailable}
        server.start()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    assert await db.lookup("SELECT 1") == (1,)
                    break
                except Unavailable:
                    continue
        await db.close()
    finally:
        server.remove()
