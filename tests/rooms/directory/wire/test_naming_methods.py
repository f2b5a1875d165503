"""NamingService and SignService, for records nobody has signed."""

import uuid

import pytest
from grpc import StatusCode

from pentad.rooms.directory.wire.protos import naming_pb2, sign_pb2
from tests.rooms.directory.records.parts import agent
from tests.rooms.directory.wire.site import Wire, ref

pytestmark = pytest.mark.anyio


async def test_a_name_resolves_to_its_versions_newest_first(wire: Wire) -> None:
    name = f"example.org/{uuid.uuid4()}"
    old, new = await wire.push(agent(name=name, version="v1"), agent(name=f"https://{name}", version="v2"))
    answer = await wire.one("NamingService/Resolve", naming_pb2.ResolveRequest(name=name))
    assert [(one.cid, one.version) for one in answer.records] == [(new, "v2"), (old, "v1")]
    answer = await wire.one("NamingService/Resolve", naming_pb2.ResolveRequest(name=name, version="v1"))
    assert [(one.cid, one.name) for one in answer.records] == [(old, name)]


async def test_a_name_that_is_missing_or_unknown_is_told(wire: Wire) -> None:
    empty = await wire.refused("NamingService/Resolve", naming_pb2.ResolveRequest())
    assert (empty.code, empty.text) == (StatusCode.INVALID_ARGUMENT, "name is required")
    unknown = await wire.refused("NamingService/Resolve", naming_pb2.ResolveRequest(name="nobody", version="v1"))
    assert unknown.code is StatusCode.NOT_FOUND
    assert 'no record found with name "nobody" and version "v1"' in unknown.text


async def test_an_unsigned_record_is_not_verified_and_that_is_no_error(wire: Wire) -> None:
    name = f"example.org/{uuid.uuid4()}"
    (cid,) = await wire.push(agent(name=name))
    for request in (naming_pb2.GetVerificationInfoRequest(cid=cid), naming_pb2.GetVerificationInfoRequest(name=name)):
        answer = await wire.one("NamingService/GetVerificationInfo", request)
        assert (answer.verified, answer.error_message) == (False, "no verification found")
    refusal = await wire.refused("NamingService/GetVerificationInfo", naming_pb2.GetVerificationInfoRequest())
    assert (refusal.code, refusal.text) == (StatusCode.INVALID_ARGUMENT, "either cid or name is required")


async def test_nobody_verified_is_an_answer(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    answer = await wire.one("SignService/Verify", sign_pb2.VerifyRequest(record_ref=ref(cid)))
    assert (answer.success, answer.error_message) == (False, "no verified signatures found")
    refusal = await wire.refused("SignService/Verify", sign_pb2.VerifyRequest())
    assert (refusal.code, refusal.text) == (StatusCode.INVALID_ARGUMENT, "record CID is required")


async def test_signing_is_left_to_the_client(wire: Wire) -> None:
    refusal = await wire.refused("SignService/Sign", sign_pb2.SignRequest(record_ref=ref("x")))
    assert refusal.code is StatusCode.UNIMPLEMENTED
    assert refusal.text == "server-side signing not implemented - use client SDK"
