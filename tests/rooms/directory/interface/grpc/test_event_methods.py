"""EventService: every listener hears every event, in every process on the store."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode, aio

from pentad.kernel.cid import canonical_json, cid_of
from pentad.rooms.directory.wire.protos import events_pb2, routing_pb2, store_pb2
from tests.rooms.directory.interface.grpc.site import Site, Wire, open_site, ref
from tests.rooms.directory.records.parts import agent
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio
PUSHED, PULLED = events_pb2.EVENT_TYPE_RECORD_PUSHED, events_pb2.EVENT_TYPE_RECORD_PULLED


async def listening(wire: Wire, **filters: Any) -> Any:
    """A listener that hears from now on."""
    call = wire.start("EventService/Listen", events_pb2.ListenRequest(**filters))
    await call.initial_metadata()
    return call


async def heard(call: Any, count: int) -> list[events_pb2.Event]:
    async with asyncio.timeout(60):
        return [(await call.read()).event for _ in range(count)]


async def test_the_life_of_a_record_is_told(site: Site, wire: Wire) -> None:
    record = agent(domains=[{"name": "technology/networking", "id": 103}])
    cid = cid_of(canonical_json(record))
    call = await listening(wire, cid_filters=[cid])
    published = routing_pb2.PublishRequest(record_refs=routing_pb2.RecordRefs(refs=[ref(cid)]))
    unpublished = routing_pb2.UnpublishRequest(record_refs=routing_pb2.RecordRefs(refs=[ref(cid)]))
    await wire.push(record)
    await wire.one("RoutingService/Publish", published)
    await wire.one("RoutingService/Unpublish", unpublished)
    await wire.all("StoreService/Pull", ref(cid))
    await site.directory.popularity.flush()
    await wire.one("StoreService/Delete", ref(cid))
    events = await heard(call, 5)
    call.cancel()
    names = [events_pb2.EventType.Name(one.type).removeprefix("EVENT_TYPE_RECORD_") for one in events]
    assert names == ["PUSHED", "PUBLISHED", "UNPUBLISHED", "PULLED", "DELETED"]
    assert {one.resource_id for one in events} == {cid}
    assert len({one.id for one in events}) == 5
    assert events[0].timestamp.seconds > 1_700_000_000
    assert any(label.startswith("/domains/technology") for label in events[0].labels)


async def test_filters_of_one_kind_are_alternatives_and_the_kinds_must_all_hold(wire: Wire) -> None:
    networking = agent(domains=[{"name": "technology/networking", "id": 103}])
    call = await listening(wire, event_types=[PULLED, PUSHED], label_filters=["/domains/technology/networking"])
    _, cid = await wire.push(agent(domains=[]), networking)
    (event,) = await heard(call, 1)
    call.cancel()
    assert (event.type, event.resource_id) == (PUSHED, cid)


async def test_a_failed_sync_is_told_with_its_reason(wire: Wire) -> None:
    kinds = [events_pb2.EVENT_TYPE_SYNC_CREATED, events_pb2.EVENT_TYPE_SYNC_FAILED]
    call = await listening(wire, event_types=kinds)
    order = store_pb2.CreateSyncRequest(remote_directory_url="127.0.0.1:1")
    made = await wire.one("SyncService/CreateSync", order)
    created, failed = await heard(call, 2)
    call.cancel()
    assert (created.resource_id, created.metadata["remote_url"]) == (made.sync_id, "127.0.0.1:1")
    assert (failed.resource_id, "cannot be reached" in failed.metadata["error"]) == (made.sync_id, True)


async def test_two_servers_on_one_postgresql_hear_each_other(postgres_server: PostgresServer, tmp_path: Path) -> None:
    with postgres_server.empty_database() as url:
        async with open_site(tmp_path / "a", url) as one, open_site(tmp_path / "b", url) as other:
            call = await listening(other.wire, event_types=[PUSHED])
            (cid,) = await one.wire.push(agent())
            (event,) = await heard(call, 1)
            call.cancel()
            assert event.resource_id == cid
            assert len(await other.wire.all("StoreService/Pull", ref(cid))) == 1


async def test_one_caller_listens_only_so_often(site: Site, wire: Wire) -> None:
    most = site.app.settings.limits.streams_per_principal
    calls = [await listening(wire) for _ in range(most)]
    refusal = await wire.refused("EventService/Listen", events_pb2.ListenRequest())
    assert (refusal.code, f"already have {most} open Listen calls" in refusal.text) == (StatusCode.UNAVAILABLE, True)
    for call in calls:
        call.cancel()
    async with asyncio.timeout(60):
        while True:
            try:
                call = await listening(wire)
                await wire.push(agent())
                assert (await heard(call, 1))[0].resource_id
                break
            except aio.AioRpcError:
                continue
    call.cancel()


async def test_a_listener_is_told_when_the_server_stops(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        call = await listening(site.wire)
        site.app.stopping.set()
        with pytest.raises(aio.AioRpcError) as raised:
            async with asyncio.timeout(60):
                await call.read()
        assert raised.value.code() is StatusCode.UNAVAILABLE
        assert "stopping" in (raised.value.details() or "")
