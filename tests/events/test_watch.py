"""The watch: followers are told of every event, and again for as long as they may not see it yet."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from pentad.events import watch
from pentad.events.outbox import emit, events_after
from pentad.events.watch import EventWatch
from pentad.kernel.ports import Database, Transaction
from pentad.storage.migrations import STORAGE, MigrationSet
from tests.stores import Stores
from tests.waiting import PATIENCE, until_true

pytestmark = pytest.mark.anyio

SETS = (STORAGE, MigrationSet("events", "pentad.events.schema"))


async def subjects(database: Database) -> list[str]:
    found, _ = await database.read(
        lambda rows: events_after(rows, database.dialect, "", rooms=["a"], audiences=[], limit=9)
    )
    return [one.subject for one in found]


def setting(event: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def tell() -> None:
        event.set()

    return tell


@pytest.mark.requirement("events:told")
async def test_every_process_is_told_of_an_event_whoever_emits_it(stores: Stores) -> None:
    database, other = await stores.open(SETS), await stores.open(SETS)
    told = [asyncio.Event(), asyncio.Event()]
    watches = [EventWatch(one, setting(event)) for one, event in zip((database, other), told, strict=True)]
    await other.write(lambda tx: emit(tx, "a", "thing.done", ["x"]))
    async with asyncio.timeout(PATIENCE):
        for event in told:
            await event.wait()
    for one in watches:
        await one.stop()


@pytest.mark.requirement("events:told")
async def test_followers_are_told_until_no_older_transaction_hides_the_event(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, other = await stores.open(SETS), await stores.open(SETS)
    if database.dialect == "sqlite":  # one writer at a time: nothing is hidden
        return
    monkeypatch.setattr(watch, "_AGAIN_SECONDS", 0.01)
    told = 0

    async def tell() -> None:
        nonlocal told
        told += 1

    runs, go_on = threading.Event(), threading.Event()

    def older(tx: Transaction) -> None:
        tx.value("SELECT pg_current_xact_id()::text")
        runs.set()
        go_on.wait(PATIENCE)

    watched = EventWatch(database, tell)
    task = asyncio.create_task(other.write(older))
    assert await asyncio.to_thread(runs.wait, PATIENCE)
    await database.write(lambda tx: emit(tx, "a", "thing.done", ["x"]))
    await until_true(lambda: told > 3)
    assert await subjects(database) == []
    before = told
    go_on.set()
    await task
    assert await subjects(database) == ["x"]
    await until_true(lambda: told > before)
    await watched.stop()
