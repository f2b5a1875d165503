"""A SPIFFE Workload API on a Unix socket, as an agent would offer it."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import grpc
from grpc import aio

from pentad.rooms.directory.wire.protos import workload_pb2
from tests.rooms.directory.interface.grpc.certificates import Authority, Issued


@contextlib.asynccontextmanager
async def workload_api(socket: Path, authority: Authority, svid: Issued | None, token: str = "") -> AsyncGenerator[str]:
    """Hands out one identity; the address of its socket."""

    async def x509(request: Any, context: Any) -> Any:
        await _checked(context)
        found = [] if svid is None else [
            workload_pb2.X509SVID(
                spiffe_id="spiffe://example.org/pentad",
                x509_svid=svid.der + authority.root.der,
                x509_svid_key=svid.key_der,
                bundle=authority.root.der + authority.root.der,
            )
        ]  # fmt: skip
        yield workload_pb2.X509SVIDResponse(svids=found)

    async def jwt(request: Any, context: Any) -> Any:
        await _checked(context)
        assert list(request.audience) == ["directory"]
        return workload_pb2.JWTSVIDResponse(svids=[workload_pb2.JWTSVID(svid=token)])

    server = aio.server()
    methods = {
        "FetchX509SVID": grpc.unary_stream_rpc_method_handler(
            x509, workload_pb2.X509SVIDRequest.FromString, workload_pb2.X509SVIDResponse.SerializeToString
        ),
        "FetchJWTSVID": grpc.unary_unary_rpc_method_handler(
            jwt, workload_pb2.JWTSVIDRequest.FromString, workload_pb2.JWTSVIDResponse.SerializeToString
        ),
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("SpiffeWorkloadAPI", methods)])
    server.add_insecure_port(f"unix:{socket}")
    await server.start()
    try:
        yield str(socket)
    finally:
        await server.stop(None)


async def _checked(context: Any) -> None:
    if ("workload.spiffe.io", "true") not in tuple(context.invocation_metadata()):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no security header")
