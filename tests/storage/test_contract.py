"""What every store promises, asked of SQLite and of a real PostgreSQL."""

import asyncio
import threading
from typing import Any

import pytest

from pentad.kernel.errors import Conflict, InvalidInput, Misconfigured, PentadError, Unavailable
from pentad.kernel.ports import Database, Rows, Transaction
from tests.stores import Stores

pytestmark = pytest.mark.anyio
PATIENCE = 60.0


async def tables(db: Database) -> None:
    blob = "BLOB" if db.dialect == "sqlite" else "BYTEA"

    def work(tx: Transaction) -> None:
        tx.run(
            "CREATE TABLE things (id TEXT PRIMARY KEY, number BIGINT UNIQUE, weight DOUBLE PRECISION, data "
            f"{blob}, flag INTEGER, size INTEGER CHECK (size < 10))"
        )
        tx.run("CREATE TABLE parts (id TEXT NOT NULL, thing TEXT REFERENCES things (id))")
        tx.run("CREATE TABLE late (id TEXT, thing TEXT REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)")

    await db.write(work)


def add(name: str, number: int | None = None) -> Any:
    return lambda tx: tx.run("INSERT INTO things (id, number) VALUES (?, ?)", name, number)


async def names(db: Database) -> list[str]:
    return [row[0] for row in await db.read(lambda rows: rows.all("SELECT id FROM things ORDER BY id"))]


@pytest.mark.requirement("storage:contract:durable")
async def test_a_commit_is_visible_to_the_next_reader(store: Database):
    await tables(store)
    assert await store.write(add("a", 1)) == 1
    assert await store.read(lambda rows: rows.one("SELECT id, number FROM things")) == ("a", 1)
    assert await store.lookup("SELECT number FROM things WHERE id = ?", "a") == (1,)


@pytest.mark.requirement("storage:contract:durable")
async def test_a_failed_unit_leaves_nothing_and_its_caller_hears_its_own_error(store: Database):
    await tables(store)

    def work(tx: Transaction) -> None:
        tx.run("INSERT INTO things (id) VALUES ('a')")
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await store.write(work)
    assert await names(store) == []


async def test_one_failing_unit_takes_nobody_of_its_group_along(store: Database):
    await tables(store)

    def failing(tx: Transaction) -> None:
        tx.run("INSERT INTO things (id) VALUES ('ghost')")
        raise LookupError

    results = await asyncio.gather(
        *(store.write(failing if n % 3 == 0 else add(f"{n:02}")) for n in range(30)), return_exceptions=True
    )
    assert [isinstance(result, LookupError) for result in results] == [n % 3 == 0 for n in range(30)]
    assert await names(store) == [f"{n:02}" for n in range(30) if n % 3]


async def test_a_unit_that_swallows_a_failed_statement_is_undone_all_the_same(store: Database):
    await tables(store)
    await store.write(add("a"))

    def work(tx: Transaction) -> None:
        tx.run("INSERT INTO things (id) VALUES ('b')")
        with pytest.raises(Conflict):
            tx.run("INSERT INTO things (id) VALUES ('a')")

    with pytest.raises(Conflict):
        await store.write(work)
    assert await names(store) == ["a"]


@pytest.mark.parametrize(
    ("statement", "error", "rule"),
    [
        ("INSERT INTO things (id) VALUES ('a')", Conflict, "unique"),
        ("INSERT INTO things (id, number) VALUES ('b', 1)", Conflict, "unique"),
        ("INSERT INTO parts (id, thing) VALUES ('p', 'nowhere')", Conflict, "reference"),
        ("INSERT INTO late (id, thing) VALUES ('p', 'nowhere')", Conflict, "reference"),
        ("INSERT INTO parts (thing) VALUES ('a')", InvalidInput, "check"),
        ("INSERT INTO things (id, size) VALUES ('b', 11)", InvalidInput, "check"),
    ],
)
@pytest.mark.requirement("storage:contract:same-on-both")
async def test_a_broken_rule_has_the_same_error_in_both_dialects(
    store: Database, statement: str, error: type[PentadError], rule: str
):
    await tables(store)
    await store.write(add("a", 1))
    with pytest.raises(error) as caught:
        await store.write(lambda tx: tx.run(statement))
    assert type(caught.value) is error
    assert caught.value.details == {"rule": rule}
    assert await store.read(lambda rows: rows.value("SELECT count(*) FROM things")) == 1


async def test_a_reading_unit_sees_one_moment_while_others_write(store: Database):
    await tables(store)
    await store.write(add("a"))
    started, written = threading.Event(), threading.Event()

    def work(rows: Rows) -> tuple[int, int]:
        before = rows.value("SELECT count(*) FROM things")
        started.set()
        assert written.wait(PATIENCE)
        return before, rows.value("SELECT count(*) FROM things")

    reading = asyncio.ensure_future(store.read(work))
    assert await asyncio.to_thread(started.wait, PATIENCE)
    await store.write(add("b"))
    written.set()
    assert await reading == (1, 1)
    assert await store.read(lambda rows: rows.value("SELECT count(*) FROM things")) == 2


async def test_a_reading_unit_cannot_write(store: Database):
    await tables(store)
    with pytest.raises(Misconfigured):
        await store.read(lambda rows: rows.all("INSERT INTO things (id) VALUES ('a') RETURNING id"))
    assert await names(store) == []


@pytest.mark.requirement("storage:contract:same-on-both")
async def test_text_sorts_by_its_bytes(store: Database):
    await tables(store)
    words = ["B", "a", "é", "Z", "z", "-b", "_", "😀", "\uffee", "ab", "a b", "A", "ß", "10", "9", ""]
    await store.write(lambda tx: tx.run_many("INSERT INTO things (id) VALUES (?)", [(word,) for word in words]))
    assert await names(store) == sorted(words, key=str.encode)
    after = await store.read(lambda rows: rows.all("SELECT id FROM things WHERE id > ? ORDER BY id", "Z"))
    assert [row[0] for row in after] == [word for word in sorted(words, key=str.encode) if word.encode() > b"Z"]


@pytest.mark.requirement("storage:contract:same-on-both")
async def test_values_come_back_as_they_went_in(store: Database):
    await tables(store)
    row = ("naïve 😀 'quoted' \\ % ? \n", -(2**63), 0.1, b"\x00\xff'\\", 1, None)
    sql = "INSERT INTO things (id, number, weight, data, flag, size) VALUES (?, ?, ?, ?, ?, ?)"
    await store.write(lambda tx: tx.run(sql, *row))
    await store.write(lambda tx: tx.run(sql, "max", 2**63 - 1, 1e300, b"", True, None))
    found = await store.read(lambda rows: rows.all("SELECT * FROM things ORDER BY number"))
    assert found == [row, ("max", 2**63 - 1, 1e300, b"", 1, None)]
    assert [[type(value) for value in line] for line in found] == [[str, int, float, bytes, int, type(None)]] * 2


async def test_computed_values_have_the_same_types(store: Database):
    await tables(store)
    await store.write(lambda tx: tx.run("INSERT INTO things (id, number, flag) VALUES ('a', 4, 1)"))
    row = await store.lookup(
        "SELECT count(*), sum(number), avg(number), max(id), sum(flag), EXISTS (SELECT 1 FROM things), "
        "min(weight), sum(number) = 4 FROM things"
    )
    assert row is not None
    assert row == (1, 4, 4.0, "a", 1, 1, None, 1)
    assert [type(value) for value in row] == [int, int, float, str, int, int, type(None), int]


@pytest.mark.parametrize("value", ["a\0b", "\ud800", 2**63, -(2**63) - 1, float("nan")])
async def test_what_one_dialect_cannot_store_both_refuse(store: Database, value: Any):
    await tables(store)
    with pytest.raises(InvalidInput):
        await store.write(lambda tx: tx.run("INSERT INTO things (id, weight) VALUES (?, ?)", value, 1.0))
    with pytest.raises(InvalidInput):
        await store.write(lambda tx: tx.run_many("INSERT INTO things (id, weight) VALUES (?, ?)", [(value, 1.0)]))
    with pytest.raises(InvalidInput):
        await store.lookup("SELECT id FROM things WHERE id = ?", value)


async def test_counts_are_of_the_rows_a_statement_changed(store: Database):
    await tables(store)

    def work(tx: Transaction) -> list[int]:
        tx.run_many("INSERT INTO things (id, number) VALUES (?, ?)", [("a", 1), ("b", 2), ("c", 3)])
        return [
            tx.run("UPDATE things SET flag = 1 WHERE number > ?", 1),
            tx.run("UPDATE things SET flag = 1 WHERE number > ?", 9),
            tx.run("CREATE INDEX by_flag ON things (flag)"),
            tx.run("INSERT INTO things (id) VALUES ('a') ON CONFLICT DO NOTHING"),
            tx.run("SELECT id FROM things"),
            tx.run("DELETE FROM things WHERE id = 'a' RETURNING id"),
        ]

    assert await store.write(work) == [2, 0, 0, 0, 0, 1]


async def test_many_rows_may_be_none(store: Database):
    await tables(store)
    await store.write(lambda tx: tx.run_many("INSERT INTO things (id, number) VALUES (?, ?)", []))
    assert await store.read(lambda rows: rows.value("SELECT count(*) FROM things")) == 0


async def test_nothing_found_is_none_or_an_empty_list(store: Database):
    await tables(store)

    def work(tx: Transaction) -> list[Any]:
        nothing = "SELECT id FROM things"
        return [
            tx.one(nothing),
            tx.value(nothing),
            tx.all(nothing),
            tx.one("DELETE FROM things"),
            tx.all("DELETE FROM things"),
        ]

    assert await store.write(work) == [None, None, [], None, []]
    assert await store.lookup("SELECT id FROM things WHERE id = ?", "x") is None


async def test_a_writing_unit_reads_its_own_changes_and_what_they_return(store: Database):
    await tables(store)

    def work(tx: Transaction) -> tuple[Any, Any]:
        made = tx.value("INSERT INTO things (id, number) VALUES (?, ?) RETURNING number", "a", 7)
        return made, tx.value("SELECT number FROM things WHERE id = ?", "a")

    assert await store.write(work) == (7, 7)


async def test_question_marks_and_per_cent_signs_in_text_are_no_parameters(store: Database):
    row = await store.lookup("""SELECT '?%s', '100 %', 7 % 4, "a?" FROM (SELECT ? AS "a?") AS t -- really? 5 %""", "x")
    assert row == ("?%s", "100 %", 3, "x")


@pytest.mark.requirement("storage:contract:isolation")
async def test_no_update_is_lost_between_many_writers_on_two_handles(stores: Stores):
    first, second = await stores.open(), await stores.open()
    await tables(first)
    await first.write(add("counter", 0))

    def increment(tx: Transaction) -> None:
        found = tx.value("SELECT number FROM things WHERE id = 'counter'")
        tx.run("UPDATE things SET number = ? WHERE id = 'counter'", found + 1)

    await asyncio.gather(*((first if n % 2 else second).write(increment) for n in range(60)))
    assert await second.lookup("SELECT number FROM things") == (60,)


@pytest.mark.requirement("storage:contract:isolation")
async def test_two_units_that_read_what_the_other_writes_end_as_if_one_came_after_the_other(stores: Stores):
    """Write skew: each unit may take the last free place only if the other has not."""
    first, second = await stores.open(), await stores.open()
    await tables(first)

    def take(name: str) -> Any:
        def work(tx: Transaction) -> bool:
            if tx.value("SELECT count(*) FROM things"):
                return False
            tx.run("INSERT INTO things (id) VALUES (?)", name)
            return True

        return work

    taken = await asyncio.gather(*((first if n % 2 else second).write(take(f"n{n}")) for n in range(12)))
    assert sum(taken) == 1


async def test_a_cancelled_caller_does_not_disturb_the_others(store: Database):
    await tables(store)
    started, release = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        started.set()
        assert release.wait(PATIENCE)
        tx.run("INSERT INTO things (id) VALUES ('slow')")

    running = asyncio.ensure_future(store.write(slow))
    assert await asyncio.to_thread(started.wait, PATIENCE)
    waiting = [asyncio.ensure_future(store.write(add(f"w{n}"))) for n in range(20)]
    await asyncio.sleep(0)
    for task in (running, waiting[0], waiting[7]):
        task.cancel()
    release.set()
    results = await asyncio.gather(running, *waiting, return_exceptions=True)
    cancelled = [isinstance(result, asyncio.CancelledError) for result in results]
    assert cancelled == [True, True, *[n == 7 for n in range(1, 20)]]
    await store.write(add("after"))
    assert set(await names(store)) >= {"after", *(f"w{n}" for n in range(20) if n not in (0, 7))}


async def test_closing_finishes_what_was_accepted(stores: Stores):
    db = await stores.open()
    await tables(db)
    writing = [asyncio.ensure_future(db.write(add(f"{n:03}"))) for n in range(100)]
    reading = [asyncio.ensure_future(db.read(lambda rows: rows.value("SELECT 1"))) for _ in range(20)]
    await asyncio.sleep(0)
    await db.close()
    assert await asyncio.gather(*writing) == [1] * 100
    assert await asyncio.gather(*reading) == [1] * 20
    again = await stores.open()
    assert len(await names(again)) == 100


async def test_a_closed_store_says_so_and_closing_twice_is_nothing(store: Database):
    await store.close()
    await store.close()
    with pytest.raises(Unavailable):
        await store.write(lambda tx: None)
    with pytest.raises(Unavailable):
        await store.read(lambda rows: None)
    with pytest.raises(Unavailable):
        await store.lookup("SELECT 1")
    with pytest.raises(Unavailable):
        store.listen("x", print)


async def test_a_unit_that_raises_stop_iteration_does_not_hang_its_caller(store: Database):
    with pytest.raises(RuntimeError):
        async with asyncio.timeout(PATIENCE):
            await store.write(lambda tx: next(iter(())))
    with pytest.raises(RuntimeError):
        async with asyncio.timeout(PATIENCE):
            await store.read(lambda rows: next(iter(())))


async def test_a_slow_lookup_still_answers(store: Database):
    """On SQLite it is aborted on the event loop and done again in a reader."""
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT count(*) FROM n"
    assert await store.lookup(counting, 200_000) == (200_000,)


async def test_a_conflict_in_the_middle_of_many_rows_undoes_them_all(store: Database):
    await tables(store)
    await store.write(add("5"))
    rows = [(str(n),) for n in range(10)]
    with pytest.raises(Conflict):
        await store.write(lambda tx: tx.run_many("INSERT INTO things (id) VALUES (?)", rows))

    def broken() -> Any:
        yield ("x",)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await store.write(lambda tx: tx.run_many("INSERT INTO things (id) VALUES (?)", broken()))
    assert await names(store) == ["5"]
    await store.write(lambda tx: tx.run_many("INSERT INTO things (id) VALUES (?)", ((str(n),) for n in range(6, 8))))
    assert await names(store) == ["5", "6", "7"]


async def test_a_mistake_in_the_sql_reaches_the_caller_and_harms_nobody(store: Database):
    await tables(store)
    for call in (
        lambda: store.write(lambda tx: tx.run("INSERT INTO nowhere VALUES (1)")),
        lambda: store.read(lambda rows: rows.all("SELEC 1")),
        lambda: store.lookup("SELECT nothing FROM things"),
    ):
        with pytest.raises(Exception, match=r"nowhere|SELEC|nothing") as caught:
            await call()
        assert not isinstance(caught.value, PentadError)
        assert caught.value.__cause__ is not caught.value
    await store.write(add("a"))
    assert await names(store) == ["a"]


@pytest.mark.requirement("storage:contract:locking")
async def test_a_locking_unit_waits_for_another_and_sees_what_it_committed(store: Database):
    await tables(store)
    await store.write(add("a", 1))
    begun, go_on = threading.Event(), threading.Event()

    def lock(tx: Transaction) -> None:
        if store.dialect == "postgres":
            tx.one("SELECT pg_advisory_xact_lock(7)")

    def first(tx: Transaction) -> None:
        lock(tx)
        begun.set()
        assert go_on.wait(PATIENCE)
        tx.run("UPDATE things SET number = number + 1")

    def second(tx: Transaction) -> int:
        lock(tx)
        tx.run("UPDATE things SET number = number + 1")
        return tx.value("SELECT number FROM things")

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(store.write(first, locking=True))
        await asyncio.to_thread(begun.wait)
        waiting = group.create_task(store.write(second, locking=True))
        go_on.set()
    assert waiting.result() == 3


@pytest.mark.requirement("storage:contract:define")
async def test_indexes_are_made_while_others_write_and_plans_run_one_after_the_other(store: Database):
    await tables(store)
    how = "CONCURRENTLY " if store.dialect == "postgres" else ""
    found = (
        "SELECT count(*) FROM pg_indexes WHERE tablename = 'things' AND indexname LIKE 'by%'"
        if store.dialect == "postgres"
        else "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name LIKE 'by%'"
    )

    def plan(rows: Rows) -> list[str]:
        if rows.value(found):
            return []
        return [f"CREATE INDEX {how}by_{name} ON things ({name})" for name in ("weight", "flag")]

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(store.define(plan) for _ in range(4)), *(store.write(add(str(n))) for n in range(50)))
    assert await store.read(lambda rows: rows.value(found)) == 2
    await store.write(add("x", 1))
    with pytest.raises(Conflict):
        await store.define(lambda _: ["INSERT INTO things (id, number) VALUES ('y', 1)"])
    assert len(await names(store)) == 51
