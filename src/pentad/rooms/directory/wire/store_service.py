"""StoreService: push, pull, look up and delete records, each as a stream.

Answers come in the order of the requests; what arrived together is stored or read together. The first request that
fails ends the stream, after everything before it was answered.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError

from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import RecordMeta
from pentad.rooms.directory.records.records import drafted
from pentad.rooms.directory.records.store import Draft
from pentad.rooms.directory.wire.calls import Caller, Method, Service
from pentad.rooms.directory.wire.parts import Parts
from pentad.rooms.directory.wire.protos import core_pb2
from pentad.rooms.directory.wire.read_ahead import reading_ahead
from pentad.rooms.directory.wire.structs import decoded_record, encoded_record, length_delimited

PULLED_AT_ONCE: Final = 32
"""Records can be large, and all of a batch are held at the same time."""


def store_methods(directory: Parts) -> Service:
    store = _Store(directory)
    return {
        "Push": Method("many-many", "write", store.push, answers_bytes=True),
        "Pull": Method("many-many", "read", store.pull, answers_bytes=True),
        "Lookup": Method("many-many", "read", store.lookup),
        "Delete": Method("many-one", "write", store.delete),
    }


class _Store:
    def __init__(self, directory: Parts) -> None:
        self._directory = directory

    async def push(self, call: Caller, stream: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """While one batch is being stored, the answers for the one before it go out and the next one comes in."""
        async with reading_ahead(stream, self._drafted) as ahead:
            kept: list[Draft] = []
            while drafts := await ahead.batch():
                keeping = asyncio.create_task(self._keep(call.who, drafts))
                try:
                    for draft in kept:
                        yield _ref(draft)
                    await keeping
                finally:
                    keeping.cancel()
                    await asyncio.gather(keeping, return_exceptions=True)
                kept = drafts
                if not ahead.waiting:
                    for draft in kept:
                        yield _ref(draft)
                    kept = []

    async def pull(self, call: Caller, stream: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        async with reading_ahead(stream, cid_of_ref, messages=PULLED_AT_ONCE) as ahead:
            while batch := await ahead.batch():
                found = await self._directory.records.pull_many(batch)
                for cid, record in zip(batch, found, strict=True):
                    if record is None:
                        raise NotFound(f"failed to pull record: record not found: {cid}")
                    yield encoded_record(record.text)

    async def lookup(self, call: Caller, stream: AsyncIterable[bytes]) -> AsyncIterator[core_pb2.RecordMeta]:
        async with reading_ahead(stream, cid_of_ref, messages=PULLED_AT_ONCE) as ahead:
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

    async def _keep(self, who: Principal, drafts: list[Draft]) -> None:
        records = self._directory.records
        await self._directory.platform.database.write(lambda tx: records.write(tx, who, drafts))

    async def _drafted(self, raw: bytes) -> Draft:
        """The record a message carries, known to be valid and ready to be kept."""
        data = decoded_record(raw)
        try:
            report = await self._directory.schemas.validate(data)
        except LimitExceeded:
            raise
        except InvalidInput as error:
            raise InvalidInput(f"record validation failed: [{error.message}]") from None
        if not report.valid:
            raise InvalidInput(f"record validation failed: [{' '.join(one.line() for one in report.errors)}]")
        return drafted(data)


def _ref(draft: Draft) -> bytes:
    """The wire form of a `core.v1.RecordRef`."""
    return length_delimited(b"\x0a", draft.cid.encode())


async def cid_of_ref(raw: bytes) -> str:
    """The content id a `core.v1.RecordRef` names."""
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
