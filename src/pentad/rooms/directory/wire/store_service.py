"""StoreService: push, pull, look up and delete records, each as a stream.

Answers come in the order of the requests; what arrived together is stored or read together. The first request that
fails ends the stream, after everything before it was answered.
"""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError

from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import Pushed, RecordMeta
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
        async with reading_ahead(stream, self._checked) as ahead:
            while batch := await ahead.batch():
                async for pushed in self._pushed(call.who, batch):
                    yield length_delimited(b"\x0a", pushed.cid.encode())

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

    async def _pushed(self, who: Principal, batch: list[dict[str, Any]]) -> AsyncIterator[Pushed]:
        """All together; one that is refused has the others pushed one by one, up to it."""
        try:
            pushed = await self._directory.records.push_many(who, batch)
        except InvalidInput:
            for data in batch:
                yield await self._directory.records.push(who, data)
            return
        for one in pushed:
            yield one

    async def _checked(self, raw: bytes) -> dict[str, Any]:
        """The record a message carries, known to be valid."""
        data = decoded_record(raw)
        try:
            report = await self._directory.schemas.validate(data)
        except LimitExceeded:
            raise
        except InvalidInput as error:
            raise InvalidInput(f"record validation failed: [{error.message}]") from None
        if not report.valid:
            raise InvalidInput(f"record validation failed: [{' '.join(one.line() for one in report.errors)}]")
        return data


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
