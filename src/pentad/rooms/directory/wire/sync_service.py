"""SyncService: orders to copy the records of another directory, and the registry the operator shares, if any."""

from collections.abc import AsyncIterator
from typing import Any

from pentad.rooms.directory.records.syncs import DEFAULT_REPOSITORY, Sync
from pentad.rooms.directory.settings import DirectorySettings
from pentad.rooms.directory.wire.calls import Caller, Method, Service
from pentad.rooms.directory.wire.parts import Parts
from pentad.rooms.directory.wire.protos import store_pb2


def sync_service(directory: Parts) -> Service:
    syncs = _Syncs(directory)
    credentials = store_pb2.RequestRegistryCredentialsRequest
    return {
        "CreateSync": Method("one-one", "write", syncs.create, store_pb2.CreateSyncRequest),
        "ListSyncs": Method("one-many", "read", syncs.list, store_pb2.ListSyncsRequest),
        "GetSync": Method("one-one", "read", syncs.get, store_pb2.GetSyncRequest),
        "DeleteSync": Method("one-one", "write", syncs.delete, store_pb2.DeleteSyncRequest),
        "RequestRegistryCredentials": Method("one-one", "write", syncs.credentials, credentials),
    }


class _Syncs:
    def __init__(self, directory: Parts) -> None:
        self._directory = directory

    async def create(self, call: Caller, request: store_pb2.CreateSyncRequest) -> store_pb2.CreateSyncResponse:
        made = await self._directory.syncs.create(
            call.who,
            request.remote_directory_url,
            list(request.cids),
            request.remote_registry_url,
            request.repository_name,
        )
        return store_pb2.CreateSyncResponse(sync_id=made)

    async def list(self, call: Caller, request: store_pb2.ListSyncsRequest) -> AsyncIterator[store_pb2.ListSyncsItem]:
        for sync in await self._directory.syncs.list(request.limit, request.offset):
            yield store_pb2.ListSyncsItem(**_shown(sync))

    async def get(self, call: Caller, request: store_pb2.GetSyncRequest) -> store_pb2.GetSyncResponse:
        sync = await self._directory.syncs.get(request.sync_id)
        times = {"created_time": sync.created_time, "last_update_time": sync.last_update_time}
        return store_pb2.GetSyncResponse(**_shown(sync), **times)

    async def delete(self, call: Caller, request: store_pb2.DeleteSyncRequest) -> store_pb2.DeleteSyncResponse:
        await self._directory.syncs.delete(call.who, request.sync_id)
        return store_pb2.DeleteSyncResponse()

    async def credentials(
        self, call: Caller, request: store_pb2.RequestRegistryCredentialsRequest
    ) -> store_pb2.RequestRegistryCredentialsResponse:
        """What the operator set as `registry_*`; this directory itself keeps nothing in a registry."""
        settings: DirectorySettings = self._directory.platform.settings
        address = settings.registry_address or ""
        if not address:
            return store_pb2.RequestRegistryCredentialsResponse(success=False, error_message="no registry configured")
        answer = store_pb2.RequestRegistryCredentialsResponse(
            success=True,
            registry_address=address,
            repository_name=settings.registry_repository or DEFAULT_REPOSITORY,
            insecure=settings.registry_insecure,
        )
        if settings.registry_username:
            answer.basic_auth.username = settings.registry_username
            answer.basic_auth.password = settings.registry_password or ""
        return answer


def _shown(sync: Sync) -> dict[str, Any]:
    return {
        "sync_id": sync.id,
        "status": sync.status.value,
        "remote_directory_url": sync.remote_directory_url,
        "remote_registry_url": sync.remote_registry_url,
        "repository_name": sync.repository_name,
    }
