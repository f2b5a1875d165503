"""The referrer methods of StoreService: what others say of a record, pushed, pulled and deleted in streams.

A request that makes no sense ends the stream; a statement that cannot be kept is answered with the reason, and the
stream goes on. Two generations of clients are understood: the older sends a whole referrer where the newer has a type.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Struct

from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from pentad.rooms.directory.records.referrers import TYPES, Referrer
from pentad.rooms.directory.wire.calls import Caller, Method, Service
from pentad.rooms.directory.wire.parts import Parts
from pentad.rooms.directory.wire.protos import core_pb2, store_pb2
from pentad.rooms.directory.wire.structs import encoded_struct, plain_struct


def referrer_methods(directory: Parts) -> Service:
    referrers = _Referrers(directory)
    return {
        "PushReferrer": Method("many-many", "write", referrers.push, store_pb2.PushReferrerRequest),
        "PullReferrer": Method("many-many", "read", referrers.pull, store_pb2.PullReferrerRequest),
        "DeleteReferrer": Method("many-many", "write", referrers.delete, store_pb2.DeleteReferrerRequest),
    }


class _Referrers:
    def __init__(self, directory: Parts) -> None:
        self._directory = directory

    async def push(
        self, call: Caller, stream: AsyncIterable[store_pb2.PushReferrerRequest]
    ) -> AsyncIterator[store_pb2.PushReferrerResponse]:
        async for request in stream:
            referrer = _said(request)
            try:
                cid = await self._directory.referrers.push(call.who, referrer, request.record_ref.cid)
            except (Conflict, LimitExceeded, NotFound) as error:
                yield store_pb2.PushReferrerResponse(success=False, error_message=error.message)
            else:
                yield store_pb2.PushReferrerResponse(success=True, referrer_ref=core_pb2.ReferrerRef(cid=cid))

    async def pull(
        self, call: Caller, stream: AsyncIterable[store_pb2.PullReferrerRequest]
    ) -> AsyncIterator[store_pb2.PullReferrerResponse]:
        async for request in stream:
            cid, kind, ref = request.record_ref.cid, request.referrer_type, request.referrer_ref.cid
            for referrer in await self._directory.referrers.pull(cid, kind or None, ref or None):
                yield store_pb2.PullReferrerResponse(referrer=_shown(referrer))

    async def delete(
        self, call: Caller, stream: AsyncIterable[store_pb2.DeleteReferrerRequest]
    ) -> AsyncIterator[store_pb2.DeleteReferrerResponse]:
        async for request in stream:
            cid, kind, ref = request.record.cid, request.referrer_type, request.referrer_ref.cid
            gone = await self._directory.referrers.delete(call.who, cid, kind or None, ref or None)
            yield store_pb2.DeleteReferrerResponse(referrer_refs=[core_pb2.ReferrerRef(cid=one) for one in gone])


def _said(request: store_pb2.PushReferrerRequest) -> Referrer:
    """The statement of a request, whichever generation of clients sent it."""
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


def _shown(referrer: Referrer) -> core_pb2.RecordReferrer:
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
