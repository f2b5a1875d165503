"""StoreService's referrer methods, in the shapes of both generations of clients."""

from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from grpc import StatusCode

from pentad.rooms.directory.records.referrers import PUBLIC_KEY, SIGNATURE
from pentad.rooms.directory.wire.protos import core_pb2, store_pb2
from tests.rooms.directory.interface.grpc.site import Wire, ref
from tests.rooms.directory.records.parts import agent

pytestmark = pytest.mark.anyio
UNKNOWN = "baeareifx2kwsn23pstno64xnd23rgxxs2oc7eam7klockwijurxisnvgmu"


def struct(data: dict[str, Any]) -> Struct:
    made = Struct()
    made.update(data)
    return made


def older(cid: str, kind: str, data: dict[str, Any], about: str = "") -> store_pb2.PushReferrerRequest:
    """The request of clients that send a whole referrer."""
    referrer = core_pb2.RecordReferrer(type=kind, data=struct(data), record_ref=ref(about) if about else None)
    return store_pb2.PushReferrerRequest(record_ref=ref(cid), type=referrer.SerializeToString())


def newer(cid: str, kind: str, data: dict[str, Any], **more: Any) -> store_pb2.PushReferrerRequest:
    """The request of clients that spread it."""
    return store_pb2.PushReferrerRequest(record_ref=ref(cid), type=kind.encode(), data=struct(data), **more)


def asked(cid: str, **more: Any) -> store_pb2.PullReferrerRequest:
    return store_pb2.PullReferrerRequest(record_ref=ref(cid), **more)


async def test_both_shapes_of_a_push_come_back_by_record_type_and_cid(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    first, second = await wire.all(
        "StoreService/PushReferrer",
        older(cid, SIGNATURE, {"signature": "c2ln"}),
        newer(cid, PUBLIC_KEY, {"key": "k"}, annotations={"a": "b"}, created_at="2026-01-01T00:00:00Z"),
    )
    assert first.success
    assert second.success
    assert first.referrer_ref.cid != second.referrer_ref.cid
    found = await wire.all("StoreService/PullReferrer", asked(cid))
    assert sorted(one.referrer.type for one in found) == [PUBLIC_KEY, SIGNATURE]
    (key,) = await wire.all("StoreService/PullReferrer", asked(cid, referrer_type=PUBLIC_KEY))
    assert key.referrer.data["key"] == "k"
    assert (dict(key.referrer.annotations), key.referrer.created_at) == ({"a": "b"}, "2026-01-01T00:00:00Z")
    assert key.referrer.record_ref.cid == cid
    assert key.referrer.referrer_ref.cid == second.referrer_ref.cid
    (signature,) = await wire.all("StoreService/PullReferrer", asked(cid, referrer_ref=first.referrer_ref))
    assert signature.referrer.data["signature"] == "c2ln"


async def test_the_same_statement_twice_is_one(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    requests = [older(cid, SIGNATURE, {"signature": "x"}), newer(cid, SIGNATURE, {"signature": "x"})]
    first, second = await wire.all("StoreService/PushReferrer", *requests)
    assert first.referrer_ref == second.referrer_ref
    assert len(await wire.all("StoreService/PullReferrer", asked(cid))) == 1


async def test_what_cannot_be_kept_is_answered_and_the_stream_goes_on(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    lost, elsewhere, kept = await wire.all(
        "StoreService/PushReferrer",
        newer(UNKNOWN, SIGNATURE, {"signature": "x"}),
        older(cid, SIGNATURE, {"signature": "x"}, about=UNKNOWN),
        newer(cid, SIGNATURE, {"signature": "x"}),
    )
    assert (lost.success, lost.error_message) == (False, f"record not found for CID {UNKNOWN}")
    assert not elsewhere.success
    assert UNKNOWN in elsewhere.error_message
    assert kept.success


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (store_pb2.PushReferrerRequest(type=SIGNATURE.encode()), "record_ref is required"),
        (newer("x", "some.other.Type", {}), "unknown referrer type"),
        (older("x", "some.other.Type", {}), "unknown referrer type"),
        (store_pb2.PushReferrerRequest(record_ref=ref("x")), "unknown referrer type"),
        (store_pb2.PushReferrerRequest(record_ref=ref("x"), type=b"\xff\xff"), "unknown referrer type"),
    ],
)
async def test_a_request_that_makes_no_sense_ends_the_stream(wire: Wire, request_: Any, text: str) -> None:
    refusal = await wire.refused("StoreService/PushReferrer", request_)
    assert refusal.code is StatusCode.INVALID_ARGUMENT
    assert text in refusal.text


async def test_referrers_of_an_unknown_record_are_not_found(wire: Wire) -> None:
    refusal = await wire.refused("StoreService/PullReferrer", asked(UNKNOWN))
    assert (refusal.code, "record not found" in refusal.text) == (StatusCode.NOT_FOUND, True)
    assert (await wire.refused("StoreService/PullReferrer", asked(""))).code is StatusCode.INVALID_ARGUMENT


async def test_deleting_answers_what_was_removed(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    pushed = await wire.all(
        "StoreService/PushReferrer",
        *(newer(cid, SIGNATURE, {"signature": str(number)}) for number in range(3)),
        newer(cid, PUBLIC_KEY, {"key": "k"}),
    )
    first = pushed[0].referrer_ref
    by_ref = store_pb2.DeleteReferrerRequest(record=ref(cid), referrer_ref=first)
    by_type = store_pb2.DeleteReferrerRequest(record=ref(cid), referrer_type=SIGNATURE)
    one, two, none = await wire.all("StoreService/DeleteReferrer", by_ref, by_type, by_ref)
    assert list(one.referrer_refs) == [first]
    assert sorted(r.cid for r in two.referrer_refs) == sorted(r.referrer_ref.cid for r in pushed[1:3])
    assert list(none.referrer_refs) == []
    assert len(await wire.all("StoreService/PullReferrer", asked(cid))) == 1
