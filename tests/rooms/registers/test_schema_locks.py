"""Schemas change while others write: the change waits for them and they for it, and nobody loses anything."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Transaction
from pentad.rooms.registers.models import Operation, Pair, StoredObject
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.schema_locks import check_current
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of
from tests.rooms.registers.objects.test_evolution import indexes
from tests.rooms.registers.opening import ADMIN, WRITER, opened
from tests.stores import Stores
from tests.waiting import until

pytestmark = pytest.mark.anyio

PERMIT: dict[str, Any] = {
    "number": {"type": "integer"},
    "fee": {"type": "number", "x-index": True},
    "state": {"type": "string", "default": "open"},
}
_PATIENCE = 120.0


@asynccontextmanager
async def writing(rooms: Sequence[Registers], pair: Pair, *, writers: int) -> AsyncGenerator[list[int]]:
    """Writers that create objects one after the other; the numbers of those that were acknowledged."""
    done: list[int] = []
    ending = asyncio.Event()

    async def write(first: int) -> None:
        number, registers = first, rooms[first % len(rooms)]
        while not ending.is_set():
            await registers.objects.create(WRITER, pair, {"number": number})
            done.append(number)
            number += writers

    async with asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as group:
        for first in range(writers):
            group.create_task(write(first))
        while len(done) < writers:
            await asyncio.sleep(0)
        yield done
        ending.set()


async def numbers(registers: Registers, pair: Pair) -> list[Any]:
    query = Query(limit=1000)
    found: list[Any] = []
    while True:
        page = await registers.objects.find(ADMIN, pair, query)
        found += [StoredObject(*row).data for row in page.rows]
        if page.cursor is None:
            return found
        query = Query(limit=1000, cursor=page.cursor)


@pytest.mark.requirement("registers:evolution:under-load")
async def test_a_schema_is_changed_and_migrated_while_processes_write(stores: Stores) -> None:
    async with opened(stores) as registers, opened(stores) as other:
        await change_while_writing(registers, other)


async def change_while_writing(registers: Registers, other: Registers) -> None:
    pair = await pair_of(registers, "permit", PERMIT)
    rows = [{"number": -number, "fee": number} for number in range(1, 101)]
    await registers.objects.bulk(WRITER, pair, [Operation("create", row) for row in rows], atomic=True)
    catalogue = registers.catalogue
    async with writing([registers, other], pair, writers=4) as done:
        for text in ("first", "second", "third"):
            await catalogue.schemas.update(ADMIN, "permit", {"description": text})
        before = len(done)
        renamed = {"properties": {"fee": None, "amount": PERMIT["fee"]}}
        steps = [{"step": "rename", "property": "fee", "to": "amount"}]
        await catalogue.schemas.update(ADMIN, "permit", renamed, migration=steps, merge=True)
        change = {"properties": {"place": {"type": "string", "default": "here"}}, "required": ["place"]}
        steps = [{"step": "default", "property": "place", "value": "here"}]
        await catalogue.schemas.update(ADMIN, "permit", change, migration=steps, merge=True)
        while len(done) <= before:
            await asyncio.sleep(0)
    pair = await catalogue.pair(ADMIN, "library", "permit")
    found = await numbers(registers, pair)
    assert sorted(one["number"] for one in found) == sorted([*done, *(row["number"] for row in rows)])
    assert all(pair.definition.is_valid(one) for one in found)
    assert all(one["amount"] == -one["number"] for one in found if one["number"] < 0)


@pytest.mark.requirement("registers:evolution:under-load")
async def test_a_change_that_cannot_matter_to_objects_reads_none(
    registers: Registers, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = await pair_of(registers, "permit", PERMIT)
    await registers.objects.create(WRITER, pair, {"number": 1})

    def read(*_given: Any) -> Iterator[Any]:
        pytest.fail("objects were read")
        yield

    monkeypatch.setattr(store, "stream_objects", read)
    monkeypatch.setattr(store, "stream_objects_since", read)
    changed = await registers.catalogue.schemas.update(ADMIN, "permit", {"description": "Permits of the city"})
    assert changed.version == "0.0.2"


@pytest.mark.requirement("registers:evolution:under-load")
async def test_what_is_written_between_check_and_change_is_checked_too(
    registers: Registers, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = await pair_of(registers, "permit", PERMIT)
    await registers.objects.create(WRITER, pair, {"number": 1})
    change, locks = registers.catalogue.changes.write_schemas, []

    async def late(work: Any) -> Any:
        await registers.objects.create(WRITER, pair, {"number": 1000})
        locks.append(1)
        return await change(work)

    monkeypatch.setattr(registers.catalogue.changes, "write_schemas", late)
    bounded = {**PERMIT, "number": {"type": "integer", "maximum": 10}}
    with pytest.raises(Conflict, match="1 of 1 object of 'permit' would not fit"):
        await registers.catalogue.schemas.update(ADMIN, "permit", {"properties": bounded})
    assert locks == [1]


@pytest.mark.requirement("registers:evolution:under-load")
async def test_a_change_waits_for_writes_that_have_begun_and_later_writes_for_the_change(stores: Stores) -> None:
    async with opened(stores) as registers:
        if registers.platform.database.dialect == "sqlite":
            pytest.skip("SQLite has one writer")
        pair = await pair_of(registers, "permit", PERMIT)
        begun, go_on = threading.Event(), threading.Event()

        def slow(tx: Transaction) -> None:
            check_current(tx, "postgres", pair)
            begun.set()
            assert go_on.wait(_PATIENCE)

        async with asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as group:
            group.create_task(registers.catalogue.locks.write(slow))
            await asyncio.to_thread(begun.wait)
            change = group.create_task(registers.catalogue.schemas.update(ADMIN, "permit", {"description": "new"}))
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            database = registers.platform.database
            await until(lambda: database.read(lambda rows: rows.value(waiting)))
            writes = [group.create_task(registers.objects.create(WRITER, pair, {"number": one})) for one in range(20)]
            # more writes wait than there are connections, and everything else goes on
            assert (await registers.catalogue.schemas.get(ADMIN, "permit")).version == "0.0.1"
            assert not change.done()
            assert not any(one.done() for one in writes)
            go_on.set()
        assert change.result().version == "0.0.2"
        assert {one.result().schema_version for one in writes} == {"0.0.2"}


@pytest.mark.requirement("registers:evolution:under-load")
async def test_indexes_that_a_crash_left_half_made_are_finished_when_the_room_opens(stores: Stores) -> None:
    async with opened(stores) as registers:
        pair = await pair_of(registers, "permit", PERMIT)
        key = pair.schema.id
        made = await indexes(registers, key)
        assert len(made) == 1
        database = registers.platform.database
        await database.write(lambda tx: tx.run(f"DROP INDEX {next(iter(made))}"))
        await database.write(lambda tx: tx.run(f"CREATE INDEX ox_{key}_000000000000 ON objects (slug)"))
        if database.dialect == "postgres":
            for data in ({"number": 1}, {"number": 1}):
                await registers.objects.create(WRITER, pair, data)
            broken = f"CREATE UNIQUE INDEX CONCURRENTLY {next(iter(made))} ON objects (schema)"
            with pytest.raises(Conflict):
                await database.define(lambda rows: [broken])
        await database.write(lambda tx: tx.run("INSERT INTO index_builds (schema) VALUES (?)", key))
    async with opened(stores) as registers:
        assert await indexes(registers, key) == made
        database = registers.platform.database
        assert await database.read(lambda rows: rows.all("SELECT * FROM index_builds")) == []
        if database.dialect == "postgres":
            assert not await database.read(
                lambda rows: rows.value("SELECT count(*) FROM pg_index WHERE NOT indisvalid")
            )
        pair = await registers.catalogue.pair(ADMIN, "library", "permit")
        await registers.objects.create(WRITER, pair, {"number": 3})


@pytest.mark.requirement("registers:evolution:under-load")
async def test_a_refused_unique_index_leaves_nothing_behind(registers: Registers) -> None:
    pair = await pair_of(registers, "permit", PERMIT)
    for _ in range(2):
        await registers.objects.create(WRITER, pair, {"number": 7})
    made = await indexes(registers, pair.schema.id)
    unique = {**PERMIT, "number": {"type": "integer", "unique": True}}
    with pytest.raises(Conflict, match="cannot be unique"):
        await registers.catalogue.schemas.update(ADMIN, "permit", {"properties": unique})
    assert await indexes(registers, pair.schema.id) == made
    assert (await registers.catalogue.schemas.get(ADMIN, "permit")).version == "0.0.1"
