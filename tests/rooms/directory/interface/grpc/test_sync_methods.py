"""SyncService: requests to copy another directory's records."""

import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode

from pentad.rooms.directory.wire.protos import store_pb2
from tests.rooms.directory.interface.grpc.site import Wire, open_site, ref
from tests.rooms.directory.records.parts import agent
from tests.waiting import until

pytestmark = pytest.mark.anyio


async def ended(wire: Wire, sync_id: str) -> Any:
    """The sync, once it is done or has failed."""
    over = (store_pb2.SYNC_STATUS_COMPLETED, store_pb2.SYNC_STATUS_FAILED, store_pb2.SYNC_STATUS_DELETED)
    asked = store_pb2.GetSyncRequest(sync_id=sync_id)
    return await until(lambda: wire.one("SyncService/GetSync", asked), lambda sync: sync.status in over)


async def test_records_are_copied_from_another_directory(wire: Wire, tmp_path: Path) -> None:
    records = [agent(name=f"example.org/synced-{uuid.uuid4()}") for _ in range(5)]
    async with open_site(tmp_path / "other") as other:
        cids = await other.wire.push(*records)
        for wanted in (cids[:2], []):
            order = store_pb2.CreateSyncRequest(remote_directory_url=other.address, cids=wanted)
            made = await wire.one("SyncService/CreateSync", order)
            sync = await ended(wire, made.sync_id)
            assert sync.status == store_pb2.SYNC_STATUS_COMPLETED
            expected = wanted or cids
            assert len(await wire.all("StoreService/Pull", *map(ref, expected))) == len(expected)


async def test_a_directory_that_is_not_there_fails_the_sync(wire: Wire) -> None:
    order = store_pb2.CreateSyncRequest(remote_directory_url="127.0.0.1:1")
    sync = await ended(wire, (await wire.one("SyncService/CreateSync", order)).sync_id)
    assert sync.status == store_pb2.SYNC_STATUS_FAILED


async def test_a_sync_is_listed_shown_with_its_times_and_deleted(wire: Wire) -> None:
    order = store_pb2.CreateSyncRequest(remote_registry_url="https://registry.example.org")
    made = await wire.one("SyncService/CreateSync", order)
    assert uuid.UUID(made.sync_id)
    sync = await wire.one("SyncService/GetSync", store_pb2.GetSyncRequest(sync_id=made.sync_id))
    assert sync.status == store_pb2.SYNC_STATUS_PENDING
    assert (sync.remote_registry_url, sync.repository_name) == ("https://registry.example.org", "dir")
    assert datetime.fromisoformat(sync.created_time) <= datetime.fromisoformat(sync.last_update_time)
    (latest,) = await wire.all("SyncService/ListSyncs", store_pb2.ListSyncsRequest(limit=1))
    assert (latest.sync_id, latest.remote_registry_url) == (made.sync_id, sync.remote_registry_url)
    await wire.one("SyncService/DeleteSync", store_pb2.DeleteSyncRequest(sync_id=made.sync_id))
    listed = await wire.all("SyncService/ListSyncs", store_pb2.ListSyncsRequest())
    assert made.sync_id not in [one.sync_id for one in listed]


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({}, "at least one of remote_directory_url or remote_registry_url must be provided"),
        ({"remote_directory_url": "example.org"}, "URL must include port"),
        ({"remote_directory_url": "ftp://example.org"}, "unsupported scheme 'ftp'"),
        ({"remote_directory_url": "https://"}, "invalid remote directory URL: "),
        ({"remote_directory_url": "example.org:8888", "cids": ["x"]}, "cids must be content ids"),
    ],
)
async def test_an_order_that_makes_no_sense_is_refused(wire: Wire, request_: dict[str, Any], text: str) -> None:
    refusal = await wire.refused("SyncService/CreateSync", store_pb2.CreateSyncRequest(**request_))
    assert refusal.code is StatusCode.INVALID_ARGUMENT
    assert text in refusal.text


async def test_an_unknown_sync_is_not_found(wire: Wire) -> None:
    for method, request in (("GetSync", store_pb2.GetSyncRequest), ("DeleteSync", store_pb2.DeleteSyncRequest)):
        refusal = await wire.refused(f"SyncService/{method}", request(sync_id=str(uuid.uuid4())))
        assert refusal.code is StatusCode.NOT_FOUND


async def test_registry_credentials_come_from_the_settings(wire: Wire, tmp_path: Path) -> None:
    asked = store_pb2.RequestRegistryCredentialsRequest()
    none = await wire.one("SyncService/RequestRegistryCredentials", asked)
    assert (none.success, none.error_message) == (False, "no registry configured")
    registry = {"registry_address": "registry.example.org", "registry_username": "u", "registry_password": "p"}
    async with open_site(tmp_path / "other", settings={**registry, "registry_insecure": True}) as other:
        given = await other.wire.one("SyncService/RequestRegistryCredentials", asked)
    assert (given.success, given.registry_address, given.repository_name) == (True, "registry.example.org", "dir")
    assert (given.basic_auth.username, given.basic_auth.password, given.insecure) == ("u", "p", True)
