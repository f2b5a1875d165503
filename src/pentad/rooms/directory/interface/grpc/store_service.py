"""StoreService and SyncService: push, pull, look up and delete records and referrers as streams; request syncs.

Answers come in the order of the requests, and requests that arrive together are processed together. The first record
request that fails ends the stream, after everything before it was answered. A malformed referrer request ends the
stream too, but a referrer that cannot be stored is answered with the reason, and the stream continues.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, TypeVar

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Struct

from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.principal import Principal
from pentad.net.grpc_calls import Caller, Method, Service
from pentad.rooms.directory.models import PUBLIC_KEY, SIGNATURE, RecordMeta
from pentad.rooms.directory.records.events import EventType
from pentad.rooms.directory.records.referrers import TYPES, Referrer
from pentad.rooms.directory.records.service import draft_record
from pentad.rooms.directory.records.syncs import DEFAULT_REPOSITORY, Sync
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.settings import DirectorySettings
from pentad.rooms.directory.store import Draft
from pentad.rooms.directory.wire.protos import core_pb2, store_pb2
from pentad.rooms.directory.wire.structs import (
    decoded_record,
    encoded_record,
    encoded_struct,
    length_delimited,
    plain_struct,
)

T = TypeVar("T")

MESSAGES_MOST: Final = 512
BYTES_MOST: Final = 8 * 1024 * 1024


class ReadAhead(Generic[T]):
    """The messages that have arrived and are not yet processed.

    A stream answers every request in order. One by one, each would wait for its own commit; read ahead, everything that
    arrives during one commit shares the next. The buffer is bounded by count and bytes, so that a fast sender waits for
    a slow store.
    """

    def __init__(self, *, messages: int = MESSAGES_MOST, most_bytes: int = BYTES_MOST) -> None:
        self._messages = messages
        self._most_bytes = most_bytes
        self._waiting: list[T] = []
        self._bytes = 0
        self._failure: BaseException | None = None
        self._ended = False
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()

    @property
    def waiting(self) -> bool:
        """Whether messages are waiting."""
        return bool(self._waiting)

    async def batch(self) -> list[T]:
        """All waiting messages, at least one; empty at the end of the stream. Raises a failure after them."""
        while not self._waiting and not self._ended:
            self._arrived.clear()
            await self._arrived.wait()
        if not self._waiting and self._failure is not None:
            raise self._failure
        taken, self._waiting, self._bytes = self._waiting, [], 0
        self._room.set()
        return taken

    async def fill(self, stream: AsyncIterable[bytes], read: Callable[[bytes], Awaitable[T]]) -> None:
        """Read the stream to its end, or to the first unreadable message."""
        try:
            async for raw in stream:
                self._waiting.append(await read(raw))
                self._bytes += len(raw)
                self._arrived.set()
                while len(self._waiting) >= self._messages or self._bytes >= self._most_bytes:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:  # noqa: BLE001  batch() raises it after the messages before it
            self._failure = error
        finally:
            self._ended = True
            self._arrived.set()


@asynccontextmanager
async def read_ahead(
    stream: AsyncIterable[bytes], read: Callable[[bytes], Awaitable[T]], *, messages: int = MESSAGES_MOST
) -> AsyncGenerator[ReadAhead[T]]:
    """Read a stream in the background while the block runs."""
    ahead = ReadAhead[T](messages=messages)
    task = asyncio.create_task(ahead.fill(stream, read))
    try:
        yield ahead
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


PULLED_AT_ONCE: Final = 32
"""Records can be large, and a whole batch is in memory at once."""


def store_methods(directory: Directory) -> Service:
    store = _Store(directory)
    return {
        "Push": Method("many-many", "write", store.push, answers_bytes=True),
        "Pull": Method("many-many", "read", store.pull, answers_bytes=True),
        "Lookup": Method("many-many", "read", store.lookup),
        "Delete": Method("many-one", "write", store.delete),
    }


class _Store:
    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def push(self, call: Caller, stream: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """While one batch is stored, the answers to the previous one go out and the next one comes in."""
        async with read_ahead(stream, self._read_draft) as ahead:
            stored: list[Draft] = []
            while drafts := await ahead.batch():
                storing = asyncio.create_task(self._store(call.who, drafts))
                try:
                    for draft in stored:
                        yield _ref(draft)
                    await storing
                finally:
                    storing.cancel()
                    await asyncio.gather(storing, return_exceptions=True)
                stored = drafts
                if not ahead.waiting:
                    for draft in stored:
                        yield _ref(draft)
                    stored = []

    async def pull(self, call: Caller, stream: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        async with read_ahead(stream, cid_of_ref, messages=PULLED_AT_ONCE) as ahead:
            while batch := await ahead.batch():
                found = await self._directory.records.pull_many(batch)
                for cid, record in zip(batch, found, strict=True):
                    if record is None:
                        raise NotFound(f"failed to pull record: record not found: {cid}")
                    yield encoded_record(record.text)

    async def lookup(self, call: Caller, stream: AsyncIterable[bytes]) -> AsyncIterator[core_pb2.RecordMeta]:
        async with read_ahead(stream, cid_of_ref, messages=PULLED_AT_ONCE) as ahead:
            while batch := await ahead.batch():
                for cid in batch:
                    try:
                        yield _meta(await self._directory.records.lookup(cid))
                    except NotFound:
                        raise NotFound(f"failed to lookup record: record not found: {cid}") from None

    async def delete(self, call: Caller, stream: AsyncIterable[bytes]) -> Empty:
        async for raw in stream:
            await self._directory.records.delete(call.who, await cid_of_ref(raw))
        return Empty()

    async def _store(self, who: Principal, drafts: list[Draft]) -> None:
        records = self._directory.records
        await self._directory.platform.database.write(lambda tx: records.write(tx, who, drafts))

    async def _read_draft(self, raw: bytes) -> Draft:
        """The validated record of a message, ready to be stored."""
        data = decoded_record(raw)
        try:
            report = await self._directory.schemas.validate(data)
        except LimitExceeded:
            raise
        except InvalidInput as error:
            raise InvalidInput(f"record validation failed: [{error.message}]") from None
        if not report.valid:
            raise InvalidInput(f"record validation failed: [{' '.join(one.line() for one in report.errors)}]")
        return draft_record(data)


def _ref(draft: Draft) -> bytes:
    """The wire form of a `core.v1.RecordRef`."""
    return length_delimited(b"\x0a", draft.cid.encode())


async def cid_of_ref(raw: bytes) -> str:
    """The CID of a `core.v1.RecordRef`."""
    try:
        cid = core_pb2.RecordRef.FromString(raw).cid
    except DecodeError:
        raise InvalidInput("the record reference cannot be read") from None
    if not cid:
        raise InvalidInput("record cid is required")
    return cid


def _meta(meta: RecordMeta) -> core_pb2.RecordMeta:
    return core_pb2.RecordMeta(
        cid=meta.cid,
        annotations=dict(meta.annotations),
        schema_version=meta.schema_version,
        created_at=meta.created_at,
    )


def referrer_methods(directory: Directory) -> Service:
    referrers = _Referrers(directory)
    return {
        "PushReferrer": Method("many-many", "write", referrers.push, store_pb2.PushReferrerRequest),
        "PullReferrer": Method("many-many", "read", referrers.pull, store_pb2.PullReferrerRequest),
        "DeleteReferrer": Method("many-many", "write", referrers.delete, store_pb2.DeleteReferrerRequest),
    }


class _Referrers:
    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def push(
        self, call: Caller, stream: AsyncIterable[store_pb2.PushReferrerRequest]
    ) -> AsyncIterator[store_pb2.PushReferrerResponse]:
        async for request in stream:
            referrer = _parse_referrer(request)
            try:
                cid = await self._directory.referrers.push(call.who, referrer, request.record_ref.cid)
            except (Conflict, LimitExceeded, NotFound) as error:
                yield store_pb2.PushReferrerResponse(success=False, error_message=error.message)
            else:
                await self._verified(request.record_ref.cid, {referrer.type})
                yield store_pb2.PushReferrerResponse(success=True, referrer_ref=core_pb2.ReferrerRef(cid=cid))

    async def pull(
        self, call: Caller, stream: AsyncIterable[store_pb2.PullReferrerRequest]
    ) -> AsyncIterator[store_pb2.PullReferrerResponse]:
        async for request in stream:
            cid, kind, ref = request.record_ref.cid, request.referrer_type, request.referrer_ref.cid
            for referrer in await self._directory.referrers.pull(cid, kind or None, ref or None):
                yield store_pb2.PullReferrerResponse(referrer=_referrer_message(referrer))

    async def delete(
        self, call: Caller, stream: AsyncIterable[store_pb2.DeleteReferrerRequest]
    ) -> AsyncIterator[store_pb2.DeleteReferrerResponse]:
        async for request in stream:
            cid, kind, ref = request.record.cid, request.referrer_type, request.referrer_ref.cid
            gone = await self._directory.referrers.delete(call.who, cid, kind or None, ref or None)
            await self._verified(cid, {kind or SIGNATURE} if gone else set())
            yield store_pb2.DeleteReferrerResponse(referrer_refs=[core_pb2.ReferrerRef(cid=one) for one in gone])

    async def _verified(self, cid: str, types: set[str]) -> None:
        """Evaluate the record again, so that searches and followers see at once who vouches for it."""
        if types & {PUBLIC_KEY, SIGNATURE} and (await self._directory.trust.verify(cid)).signers:
            events = self._directory.events
            await self._directory.platform.database.write(lambda tx: events.emit(tx, EventType.RECORD_SIGNED, [cid]))


def _parse_referrer(request: store_pb2.PushReferrerRequest) -> Referrer:
    """The referrer of a request. Older clients send a whole referrer where newer ones send a type."""
    if not request.record_ref.cid:
        raise InvalidInput("record_ref is required")
    kind = request.type.decode("utf-8", "replace")
    if kind in TYPES:
        return Referrer(kind, "", _plain(request.data), dict(request.annotations), request.created_at)
    try:
        whole = core_pb2.RecordReferrer.FromString(request.type)
    except DecodeError:
        raise InvalidInput(f"unknown referrer type {kind[:200]!r}", hint=f"Use one of {', '.join(TYPES)}.") from None
    about = whole.record_ref.cid
    return Referrer(whole.type, about, _plain(whole.data), dict(whole.annotations), whole.created_at)


def _referrer_message(referrer: Referrer) -> core_pb2.RecordReferrer:
    return core_pb2.RecordReferrer(
        type=referrer.type,
        record_ref=core_pb2.RecordRef(cid=referrer.record_cid),
        annotations=dict(referrer.annotations),
        created_at=referrer.created_at,
        data=_struct(referrer.data),
        referrer_ref=core_pb2.ReferrerRef(cid=referrer.cid),
    )


def _plain(data: Struct) -> dict[str, Any]:
    return plain_struct(data.fields.items())


def _struct(data: Mapping[str, Any]) -> Struct:
    return Struct.FromString(encoded_struct(data))


def sync_service(directory: Directory) -> Service:
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
    def __init__(self, directory: Directory) -> None:
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
            yield store_pb2.ListSyncsItem(**_sync_fields(sync))

    async def get(self, call: Caller, request: store_pb2.GetSyncRequest) -> store_pb2.GetSyncResponse:
        sync = await self._directory.syncs.get(request.sync_id)
        times = {"created_time": sync.created_time, "last_update_time": sync.last_update_time}
        return store_pb2.GetSyncResponse(**_sync_fields(sync), **times)

    async def delete(self, call: Caller, request: store_pb2.DeleteSyncRequest) -> store_pb2.DeleteSyncResponse:
        await self._directory.syncs.delete(call.who, request.sync_id)
        return store_pb2.DeleteSyncResponse()

    async def credentials(
        self, call: Caller, request: store_pb2.RequestRegistryCredentialsRequest
    ) -> store_pb2.RequestRegistryCredentialsResponse:
        """The operator's `registry_*` settings. This directory itself stores nothing in a registry."""
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


def _sync_fields(sync: Sync) -> dict[str, Any]:
    return {
        "sync_id": sync.id,
        "status": sync.status.value,
        "remote_directory_url": sync.remote_directory_url,
        "remote_registry_url": sync.remote_registry_url,
        "repository_name": sync.repository_name,
    }
