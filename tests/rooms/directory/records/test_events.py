"""Events: sent on commit, filtered, bounded, and delivered to every process."""

import asyncio

import pytest

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.ports import Transaction
from pentad.rooms.directory.records.events import BUFFER, EventType
from pentad.rooms.directory.records.index_fields import labels_of
from pentad.rooms.directory.records.publications import PublishRequest
from pentad.rooms.directory.records.service import draft_record
from tests.rooms.directory.records.parts import SETS, WHO, Parts, agent, heard, parts_over
from tests.stores import Stores

pytestmark = pytest.mark.anyio


async def test_the_life_of_a_record_is_told_in_order(parts: Parts):
    data = agent()
    async with parts.events.listen() as listening:
        cid = (await parts.records.push(WHO, data)).cid
        await parts.records.pull(cid)
        await parts.popularity.flush()
        await parts.routing.publish(WHO, PublishRequest(record_refs=(cid,)))
        await parts.routing.unpublish(WHO, [cid])
        await parts.records.lookup(cid)
        await parts.records.delete(WHO, cid)
        events = await heard(listening, 5)
    assert [event.type for event in events] == [
        EventType.RECORD_PUSHED,
        EventType.RECORD_PULLED,
        EventType.RECORD_PUBLISHED,
        EventType.RECORD_UNPUBLISHED,
        EventType.RECORD_DELETED,
    ]
    assert {event.resource_id for event in events} == {cid}
    assert events[0].labels == labels_of(data)
    assert len({event.id for event in events}) == 5


async def test_another_process_hears_it_too(parts: Parts, stores: Stores):
    other = parts_over(await stores.open(SETS))
    async with other.events.listen() as listening:
        pushed = await parts.records.push_many(WHO, [agent() for _ in range(60)])
        events = await heard(listening, 60)
    assert [event.resource_id for event in events] == [one.cid for one in pushed]
    assert all("/locators/container_image" in event.labels for event in events)
    await other.stop()


async def test_filters_are_alternatives_of_one_kind_and_demands_of_different_kinds(parts: Parts):
    one, two = agent(), agent(locators=[{"type": "package", "urls": ["https://example.org/p"]}])
    listeners = [
        parts.events.listen(types=[EventType.RECORD_DELETED]),
        parts.events.listen(labels=["container"]),
        parts.events.listen(types=[EventType.RECORD_PUSHED, EventType.RECORD_DELETED], labels=["/locators/pack"]),
        parts.events.listen(cids=[cid_of(canonical_json(two))]),
    ]
    first, second = await parts.records.push_many(WHO, [one, two])
    await parts.records.delete(WHO, first.cid)
    await parts.records.delete(WHO, second.cid)
    assert [(e.type, e.resource_id) for e in await heard(listeners[0], 2)] == [
        (EventType.RECORD_DELETED, first.cid),
        (EventType.RECORD_DELETED, second.cid),
    ]
    assert [e.resource_id for e in await heard(listeners[1], 1)] == [first.cid]
    assert [e.resource_id for e in await heard(listeners[2], 2)] == [first.cid, second.cid]
    assert [e.type for e in await heard(listeners[3], 2)] == [EventType.RECORD_PUSHED, EventType.RECORD_DELETED]


async def test_a_listener_that_keeps_up_loses_nothing_of_a_bulk_push(parts: Parts):
    async with parts.events.listen() as listening:
        hearing = asyncio.create_task(heard(listening, 500))
        await parts.records.push_many(WHO, [agent() for _ in range(500)])
        assert len({event.resource_id for event in await hearing}) == 500
    assert listening.lost == 0


async def test_a_listener_that_does_not_read_loses_events_and_slows_nobody(parts: Parts):
    async with parts.events.listen() as slow, parts.events.listen() as quick:
        hearing = asyncio.create_task(heard(quick, BUFFER + 50))
        await parts.records.push_many(WHO, [agent() for _ in range(BUFFER + 50)])
        await hearing
        assert len(await heard(slow, BUFFER)) == BUFFER
        assert slow.lost == 50


async def test_what_was_rolled_back_is_not_told(parts: Parts):
    async with parts.events.listen() as listening:

        def work(tx: Transaction) -> None:
            parts.records.write(tx, WHO, [draft_record(agent())])
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await parts.database.write(work)
        last = await parts.records.push(WHO, agent())
        assert [event.resource_id for event in await heard(listening, 1)] == [last.cid]


async def test_a_closed_listener_ends_and_the_store_is_listened_to_no_more(parts: Parts):
    listening = parts.events.listen()
    listening.close()
    assert [event async for event in listening] == []
    again = parts.events.listen()
    await parts.records.push(WHO, agent())
    assert len(await heard(again, 1)) == 1


async def test_very_long_labels_and_messages_still_fit_into_a_signal(parts: Parts):
    modules = [{"name": "é" * 1_900, "data": {}}, {"name": "b" * 1_900, "data": {}}]
    data = agent(schema_version="0.8.0", modules=modules)
    async with parts.events.listen() as listening:
        cid = (await parts.records.push(WHO, data)).cid
        await parts.database.write(
            lambda tx: parts.events.emit(
                tx, EventType.SYNC_FAILED, ["some-sync"], metadata={"error": "ü" * 9_000, "remote_url": "\1" * 9_000}
            )
        )
        pushed, failed = await heard(listening, 2)
    assert (pushed.resource_id, pushed.labels) == (cid, labels_of(data))
    assert failed.metadata["error"].startswith("üüü")
