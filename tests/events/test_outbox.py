"""The outbox: events happen with their transactions, in order, and none appears behind a reader."""

import asyncio
import threading
from typing import Any

import pytest

from pentad.events.outbox import ADMINS, SUBJECTS_PER_ROW, emit, events_after, newest, remove_before
from pentad.kernel.errors import InvalidInput
from pentad.kernel.events import Event
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.trace import RequestMark, request_mark
from pentad.storage.migrations import STORAGE, MigrationSet
from tests.stores import Stores

pytestmark = pytest.mark.anyio

PATIENCE = 30.0
SETS = (STORAGE, MigrationSet("events", "pentad.events.schema"))


async def read(
    database: Database, position: str = "", *audiences: str, rooms: tuple[str, ...] = ("a", "b"), limit: int = 100
) -> tuple[list[Event], str]:
    return await database.read(
        lambda rows: events_after(rows, database.dialect, position, rooms=rooms, audiences=audiences, limit=limit)
    )


async def tell(database: Database, room: str, *subjects: str, **more: Any) -> None:
    await database.write(lambda tx: emit(tx, room, "thing.done", subjects, **more))


@pytest.mark.requirement("events:outbox")
async def test_events_happen_with_their_transaction(stores: Stores) -> None:
    database = await stores.open(SETS)

    def fails(tx: Transaction) -> None:
        emit(tx, "a", "thing.done", ["x"])
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        await database.write(fails)
    assert await read(database) == ([], "")
    trace = "0af7651916cd43dd8448eb211c80319c"
    token = request_mark.set(RequestMark("1", trace, trace, principal="user:ada"))
    await tell(database, "a", "x", data={"n": 1})
    request_mark.reset(token)
    ([event], position) = await read(database)
    assert (event.subject, event.principal, event.trace[3:35], event.data) == ("x", "user:ada", trace, {"n": 1})
    assert await read(database, position) == ([], position)


@pytest.mark.requirement("events:outbox", "events:rights")
async def test_a_reader_gets_its_rooms_and_audiences_alone(stores: Stores) -> None:
    database = await stores.open(SETS)
    for room in ("a", "b"):
        for audience in ("", "user:ada", ADMINS):
            await tell(database, room, f"{room} {audience}", audience=audience)
    assert [one.subject for one in (await read(database, rooms=("a",)))[0]] == ["a "]
    assert [one.subject for one in (await read(database, "", "user:ada"))[0]] == [
        "a ",
        "a user:ada",
        "b ",
        "b user:ada",
    ]
    assert (await read(database, "", "user:oda", ADMINS, rooms=()))[0] == []


@pytest.mark.requirement("events:outbox")
async def test_many_subjects_cost_one_row_and_are_read_one_by_one(stores: Stores) -> None:
    database = await stores.open(SETS)
    names = [str(number) for number in range(SUBJECTS_PER_ROW + 3)]
    await tell(database, "a", *names)
    assert await database.read(lambda rows: rows.value("SELECT count(*) FROM events")) == 2
    seen: list[str] = []
    ids: set[str] = set()
    position = ""
    while True:
        events, position = await read(database, position, limit=7)
        seen += [one.subject for one in events]
        ids |= {one.id for one in events}
        if not events:
            break
    assert seen == names
    assert len(ids) == len(names)


@pytest.mark.requirement("events:outbox")
async def test_what_commits_late_does_not_appear_behind_a_reader(stores: Stores) -> None:
    database, other = await stores.open(SETS), await stores.open(SETS)
    start = await database.read(lambda rows: newest(rows, database.dialect))
    written, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        emit(tx, "a", "thing.done", ["slow"])
        written.set()
        go_on.wait(PATIENCE)

    task = asyncio.create_task(database.write(slow))
    assert await asyncio.to_thread(written.wait, PATIENCE)
    seen: list[Event] = []
    position = start
    if database.dialect == "postgres":  # SQLite has one writer at a time
        await tell(other, "a", "quick")
        seen, position = await read(other, start)
    go_on.set()
    await task
    if database.dialect == "sqlite":
        await tell(other, "a", "quick")
    seen += (await read(other, position))[0]
    assert sorted(one.subject for one in seen) == ["quick", "slow"]


async def test_old_events_are_removed_and_a_wrong_position_is_refused(stores: Stores) -> None:
    database = await stores.open(SETS)
    await tell(database, "a", "old", at=1.0)
    await tell(database, "a", "new")
    assert await database.write(lambda tx: remove_before(tx, 100.0, 10)) == 1
    assert [one.subject for one in (await read(database))[0]] == ["new"]
    with pytest.raises(InvalidInput, match="cursor"):
        await read(database, "x")
