"""Health checks and reflection need no login and are accurate."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc import StatusCode, aio

from pentad.net import grpc_introspection
from pentad.net.grpc_introspection import HEALTH, REFLECTION
from pentad.net.protos import health_pb2, reflection_pb2
from tests.rooms.directory.interface.grpc.site import Site, open_site

pytestmark = pytest.mark.anyio
STORE = "agntcy.dir.store.v1.StoreService"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path, auth="required") as opened:
        yield opened


async def health(site: Site, service: str) -> int:
    check = site.wire.channel.unary_unary(
        f"/{HEALTH}/Check",
        health_pb2.HealthCheckRequest.SerializeToString,
        health_pb2.HealthCheckResponse.FromString,
    )
    return (await check(health_pb2.HealthCheckRequest(service=service), timeout=30)).status


async def reflected(
    site: Site, service: str, *requests: reflection_pb2.ServerReflectionRequest
) -> list[reflection_pb2.ServerReflectionResponse]:
    ask = site.wire.channel.stream_stream(
        f"/{service}/ServerReflectionInfo",
        reflection_pb2.ServerReflectionRequest.SerializeToString,
        reflection_pb2.ServerReflectionResponse.FromString,
    )
    return [answer async for answer in ask(iter(requests), timeout=30)]


@pytest.mark.requirement("grpc:introspection")
async def test_health_is_told_without_a_login(site: Site) -> None:
    assert await health(site, "") == health_pb2.HealthCheckResponse.SERVING
    assert await health(site, STORE) == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(aio.AioRpcError) as refused:
        await health(site, "no.such.Service")
    assert refused.value.code() is StatusCode.NOT_FOUND


@pytest.mark.requirement("grpc:introspection")
@pytest.mark.parametrize("service", REFLECTION)
async def test_reflection_describes_every_service(site: Site, service: str) -> None:
    (listed,) = await reflected(site, service, reflection_pb2.ServerReflectionRequest(list_services="*"))
    names = {one.name for one in listed.list_services_response.service}
    assert {STORE, HEALTH, *REFLECTION, "pentad.directory.v1.RankedSearchService"} <= names
    described = [name for name in names if "v1alpha" not in name]
    asked = [reflection_pb2.ServerReflectionRequest(file_containing_symbol=name) for name in described]
    for name, answer in zip(described, await reflected(site, service, *asked), strict=True):
        files = [FileDescriptorProto.FromString(one) for one in answer.file_descriptor_response.file_descriptor_proto]
        assert any(f"{file.package}.{made.name}" == name for file in files for made in file.service)
        known = {file.name for file in files}
        assert all(needed in known for file in files for needed in file.dependency)


@pytest.mark.requirement("grpc:introspection")
async def test_what_is_not_served_is_not_described(site: Site) -> None:
    requests = [
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="google.protobuf.Api"),
        reflection_pb2.ServerReflectionRequest(file_by_filename="nothing.proto"),
        reflection_pb2.ServerReflectionRequest(),
    ]
    codes = [answer.error_response.error_code for answer in await reflected(site, REFLECTION[0], *requests)]
    assert codes == [5, 5, 3]


@pytest.mark.requirement("grpc:introspection")
async def test_strangers_have_a_bound(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_introspection, "CALLS_MOST", 1)
    watch = site.wire.channel.unary_stream(
        f"/{HEALTH}/Watch",
        health_pb2.HealthCheckRequest.SerializeToString,
        health_pb2.HealthCheckResponse.FromString,
    )
    call = watch(health_pb2.HealthCheckRequest(), timeout=30)
    first: Any = await call.read()
    assert first.status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(aio.AioRpcError) as refused:
        await health(site, "")
    assert refused.value.code() is StatusCode.RESOURCE_EXHAUSTED
    call.cancel()
