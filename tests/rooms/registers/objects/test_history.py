"""The history: complete, chained, readable at every past moment, and a way back, over both stores."""

import asyncio
from typing import Any

import pytest

from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.ports import Transaction
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.objects.history import FIND_HISTORY
from pentad.rooms.registers.query.datetimes import parse_as_of
from pentad.rooms.registers.query.models import AggregateQuery, AsOf, Metric, Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN, WRITER, TurnedClock, opened
from tests.stores import Stores

pytestmark = pytest.mark.anyio


async def lived(registers: Registers, trees: Pair) -> str:
    """An object with a life: made, changed, deleted, restored, changed."""
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1", "note": "one"})
    await registers.objects.write(ADMIN, trees, Operation("patch", {"note": "two", "height": 2}, made.uuid))
    await registers.objects.lock(ADMIN, trees, made.uuid)
    await registers.objects.delete(ADMIN, trees, made.uuid)
    await registers.objects.restore(ADMIN, trees, made.uuid)
    await registers.objects.replace(ADMIN, trees, made.uuid, {"number": "T-1"})
    return made.uuid


@pytest.mark.requirement("registers:history:provenance")
async def test_every_change_says_who_how_and_why(registers: Registers, trees: Pair):
    caller = Caller(ADMIN.principal, "model-x", "session-1", "call-9", "because")
    made = await registers.objects.create(caller, trees, {"number": "T-1"})
    changes = await registers.history.of(ADMIN, trees, made.uuid)
    wire = changes[0].wire()
    assert {name: wire[name] for name in ("principal", "agent", "session", "call", "reason", "action", "version")} == {
        "principal": "user:ada", "agent": "model-x", "session": "session-1", "call": "call-9", "reason": "because",
        "action": "create", "version": 1,
    }  # fmt: skip


async def test_the_history_lists_every_change_newest_first_in_pages(registers: Registers, trees: Pair):
    uuid = await lived(registers, trees)
    changes = await registers.history.of(ADMIN, trees, uuid)
    assert [(one.action, one.version) for one in changes] == [
        ("update", 5), ("restore", 4), ("delete", 3), ("lock", 2), ("update", 2), ("create", 1),
    ]  # fmt: skip
    page = await registers.history.of(ADMIN, trees, uuid, limit=2)
    rest = await registers.history.of(ADMIN, trees, uuid, limit=10, before=page[-1].seq)
    assert [*page, *rest] == changes


@pytest.mark.requirement("registers:history:as-of")
async def test_every_past_moment_shows_the_state_recorded_then(registers: Registers, trees: Pair):
    uuid = await lived(registers, trees)
    changes = [one for one in await registers.history.of(ADMIN, trees, uuid) if one.action != "lock"][::-1]
    states = [{"number": "T-1", "note": "one"}, {"number": "T-1", "note": "two", "height": 2}, None,
              {"number": "T-1", "note": "two", "height": 2}, {"number": "T-1"}]  # fmt: skip
    for change, state in zip(changes, states, strict=True):
        for moment in (parse_as_of(iso(change.at), change.at), AsOf(at=change.at + 0.0004), AsOf(change=change.seq)):
            listed = await registers.objects.find(ADMIN, trees, Query(as_of=moment))
            counted = await registers.objects.aggregate(
                ADMIN, trees, AggregateQuery((Metric("n", "count"),), as_of=moment)
            )
            assert counted.groups == [{"n": 0 if state is None else 1}]
            if state is None:
                assert listed.rows == []
                with pytest.raises(NotFound):
                    await registers.objects.get(ADMIN, trees, uuid, as_of=moment)
            else:
                past = await registers.objects.get(ADMIN, trees, uuid, as_of=moment)
                assert (past.data, past.version) == (state, change.version)
                assert [(row[1], row[4], row[5]) for row in listed.rows] == [(uuid, change.version, past.text)]
    with pytest.raises(NotFound):
        await registers.objects.get(ADMIN, trees, uuid, as_of=AsOf(at=changes[0].at - 0.001))
    with pytest.raises(NotFound, match="There is no change"):
        await registers.objects.get(ADMIN, trees, uuid, as_of=AsOf(change=10**9))


async def test_time_never_stands_still_for_an_object(registers: Registers, trees: Pair, clock: TurnedClock):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    clock.ahead -= 3600
    changed = await registers.objects.write(ADMIN, trees, Operation("patch", {"note": "x"}, made.uuid))
    assert iso(changed.updated_at) > iso(made.updated_at)
    assert (await registers.history.verify(ADMIN, trees, made.uuid)).valid


@pytest.mark.requirement("registers:history:revert")
async def test_going_back_restores_exactly_and_what_was_added_vanishes(registers: Registers, trees: Pair):
    uuid = await lived(registers, trees)
    back = await registers.history.revert(ADMIN, trees, uuid, version=2)
    assert (back.data, back.version) == ({"number": "T-1", "note": "two", "height": 2}, 6)
    first = await registers.history.revert(ADMIN, trees, uuid, version=1)
    assert first.text == '{"number":"T-1","note":"one"}'
    same = await registers.history.revert(ADMIN, trees, uuid, version=1)
    assert same.version == first.version
    changes = await registers.history.of(ADMIN, trees, uuid)
    by_change = await registers.history.revert(ADMIN, trees, uuid, change=changes[-2].seq)
    assert by_change.data == {"number": "T-1", "note": "two", "height": 2}
    by_time = await registers.history.revert(ADMIN, trees, uuid, at=iso(changes[-1].at))
    assert by_time.data == {"number": "T-1", "note": "one"}
    assert (await registers.history.verify(ADMIN, trees, uuid)).valid


async def test_going_back_brings_a_deleted_object_to_life(registers: Registers, trees: Pair):
    uuid = await lived(registers, trees)
    await registers.objects.delete(ADMIN, trees, uuid)
    back = await registers.history.revert(ADMIN, trees, uuid, version=2)
    assert back.data["note"] == "two"
    assert (await registers.objects.get(ADMIN, trees, uuid)).version == 7


async def test_going_back_to_nowhere_is_refused(registers: Registers, trees: Pair):
    uuid = await lived(registers, trees)
    with pytest.raises(Conflict, match="is a deletion"):
        await registers.history.revert(ADMIN, trees, uuid, version=3)
    nowhere: list[dict[str, Any]] = [{"version": 99}, {"version": 0}, {"at": 5}, {"change": 10**9}]
    for point in nowhere:
        with pytest.raises(NotFound):
            await registers.history.revert(ADMIN, trees, uuid, **point)
    unclear: list[dict[str, Any]] = [{}, {"version": 1, "at": 5.0}, {"at": "yesterday"}]
    for point in unclear:
        with pytest.raises(InvalidInput):
            await registers.history.revert(ADMIN, trees, uuid, **point)


async def test_going_back_to_what_the_schema_no_longer_allows_is_refused(registers: Registers, trees: Pair):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1", "note": "long enough"})
    await registers.objects.write(ADMIN, trees, Operation("patch", {"note": None}, made.uuid))
    shorter = {**trees.schema.body["properties"], "note": {"type": "string", "maxLength": 3}}
    await registers.catalogue.schemas.update(ADMIN, trees.schema.id, {"properties": shorter})
    with pytest.raises(InvalidInput, match="That state has 1 problem"):
        await registers.history.revert(ADMIN, trees, made.uuid, version=1)


@pytest.mark.requirement("registers:history:diff")
async def test_a_difference_is_a_patch_and_lines_to_read(registers: Registers, trees: Pair):
    uuid = await lived(registers, trees)
    found = await registers.history.diff(ADMIN, trees, uuid, 1, 2)
    assert found["patch"] == [
        {"op": "replace", "path": "/note", "value": "two"}, {"op": "add", "path": "/height", "value": 2},
    ]  # fmt: skip
    assert found["changes"][0] == "note: 'one' became 'two'"
    assert (await registers.history.diff(ADMIN, trees, uuid, 1))["to"] == 5


TAMPERING = {
    "a state": "UPDATE object_changes SET before = '{\"number\":\"T-1\"}' WHERE version = 2 AND action = 'update'",
    "who": "UPDATE object_changes SET principal = 'user:eve' WHERE version = 4",
    "why": "UPDATE object_changes SET reason = 'another' WHERE version = 1",
    "when": "UPDATE object_changes SET at = at + 1 WHERE version = 1",
    "since": "UPDATE object_changes SET since = since - 1 WHERE version = 2 AND since IS NOT NULL",
    "what": "UPDATE object_changes SET action = 'revert' WHERE version = 5",
    "a change removed": "DELETE FROM object_changes WHERE version = 4",
    "a lock removed": "DELETE FROM object_changes WHERE action = 'lock'",
    "the last removed": "DELETE FROM object_changes WHERE version = 5",
    "the first removed": "DELETE FROM object_changes WHERE version = 1",
    "the object": 'UPDATE objects SET data = \'{"number":"T-2"}\'',
    "its version": "UPDATE objects SET version = 9",
    "its time": "UPDATE objects SET updated_at = updated_at + 1",
    "its deletion": "UPDATE objects SET deleted = '{}'",
    "a deletion hidden": "UPDATE object_changes SET before_deleted = 0 WHERE version = 4",
    "a version": "UPDATE object_changes SET version = 7 WHERE version = 4",
    "a hash": "UPDATE object_changes SET hash = (SELECT hash FROM object_changes WHERE version = 1) WHERE version = 4",
}


@pytest.mark.parametrize("what", TAMPERING)
@pytest.mark.requirement("registers:history:chain")
async def test_whatever_is_tampered_with_is_seen(registers: Registers, trees: Pair, what: str):
    uuid = await lived(registers, trees)
    assert (await registers.history.verify(ADMIN, trees, uuid)).valid

    def tamper(tx: Transaction) -> int:
        return tx.run(TAMPERING[what])

    assert await registers.platform.database.write(tamper) > 0
    verdict = await registers.history.verify(ADMIN, trees, uuid)
    assert not verdict.valid
    assert verdict.wire()["problems"]


@pytest.mark.requirement("registers:history:purge")
async def test_a_purge_erases_every_state_and_leaves_a_history_that_holds(registers: Registers, trees: Pair):
    uuid = await lived(registers, trees)
    with pytest.raises(Conflict, match="is not deleted"):
        await registers.objects.purge(ADMIN, trees, uuid)
    await registers.objects.delete(ADMIN, trees, uuid)
    then = (await registers.history.of(ADMIN, trees, uuid))[-1].at
    await registers.objects.purge(ADMIN, trees, uuid)
    changes = await registers.history.of(ADMIN, trees, uuid)
    assert changes[0].action == "purge"
    assert not any(one.before and "T-1" in one.before for one in changes)
    assert (await registers.history.verify(ADMIN, trees, uuid)).valid
    assert (await registers.objects.find(ADMIN, trees, Query(as_of=AsOf(at=then)))).rows == []
    with pytest.raises(NotFound):
        await registers.history.of(WRITER, trees, uuid)
    with pytest.raises(NotFound):
        await registers.objects.restore(ADMIN, trees, uuid)


async def test_deleted_objects_wait_in_the_bin(registers: Registers, trees: Pair):
    made = [await registers.objects.create(ADMIN, trees, {"number": f"T-{n}"}) for n in range(3)]
    for one in made:
        await registers.objects.delete(ADMIN, trees, one.uuid)
    page = await registers.objects.deleted(ADMIN, limit=2, offset=1)
    assert ([stored.uuid for _, stored in page], page.total) == ([made[1].uuid, made[0].uuid], 3)
    pair, stored = await registers.objects.find_deleted(ADMIN, made[0].uuid)
    assert stored.deleted is not None
    assert (pair.uri, stored.deleted["deletedBy"]) == (trees.uri, "user:ada")
    for attempt in (
        registers.objects.get(ADMIN, trees, made[0].uuid),
        registers.objects.write(ADMIN, trees, Operation("patch", {}, made[0].uuid)),
        registers.objects.lock(ADMIN, trees, made[0].uuid),
        registers.objects.unlock(ADMIN, trees, made[0].uuid),
        registers.objects.delete(ADMIN, trees, made[0].uuid),
        registers.objects.find_by_uuid(ADMIN, made[0].uuid),
    ):
        with pytest.raises(NotFound):
            await attempt
    restored = await registers.objects.restore(ADMIN, trees, made[0].uuid)
    assert (restored.version, restored.deleted) == (3, None)
    assert (await registers.objects.find(ADMIN, trees, Query())).total == 1


async def test_the_feed_tells_everything_once_and_goes_on_where_it_stopped(registers: Registers, trees: Pair):
    start = await registers.history.newest()
    uuid = await lived(registers, trees)
    first, cursor = await registers.history.feed(ADMIN, start, limit=4)
    rest, cursor = await registers.history.feed(ADMIN, cursor, limit=4)
    told = [change.action for change in (*first, *rest)]
    assert told == ["create", "update", "lock", "delete", "restore", "update"]
    assert {change.uuid for change in first} == {uuid}
    assert await registers.history.feed(ADMIN, cursor) == ([], cursor)
    last, _ = await registers.history.feed(ADMIN, await registers.history.newest(2))
    assert [change.action for change in last] == ["restore", "update"]
    elsewhere, _ = await registers.history.feed(ADMIN, schema=trees.schema.id + 1)
    assert elsewhere == []
    for broken in ("x", "c1", "c1-2-3", "c99999999999999999999-1"):
        with pytest.raises(InvalidInput):
            await registers.history.feed(ADMIN, broken)


@pytest.mark.requirement("registers:history:feed")
async def test_nothing_is_missed_or_told_twice_while_others_write(registers: Registers, trees: Pair, stores: Stores):
    heard: list[int] = []
    cursor: str | None = None
    async with opened(stores) as elsewhere:

        async def write(room: Registers, name: int) -> None:
            for batch in range(6):
                rows = [Operation("create", {"number": f"T-{name}{batch}{row}"}) for row in range(5)]
                await room.objects.bulk(ADMIN, trees, rows, atomic=True)

        writers = [asyncio.create_task(write(room, n)) for n, room in enumerate((registers, elsewhere) * 3, 1)]
        while not all(task.done() for task in writers):
            changes, cursor = await registers.history.feed(ADMIN, cursor, limit=7)
            heard += [change.seq for change in changes]
            await asyncio.sleep(0)
        await asyncio.gather(*writers)
        while True:
            changes, cursor = await registers.history.feed(ADMIN, cursor, limit=50)
            if not changes:
                break
            heard += [change.seq for change in changes]
    assert len(heard) == len(set(heard)) == 180


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_the_history_of_an_object_is_found_by_its_uuid_alone(registers: Registers):
    plan = await registers.objects._database.read(
        lambda rows: rows.all(f"EXPLAIN QUERY PLAN {FIND_HISTORY}", "any", 1, 1)
    )
    assert "object_changes_of (uuid=?)" in str(plan)
