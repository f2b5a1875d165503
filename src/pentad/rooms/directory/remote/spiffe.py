"""The workload's SPIFFE identity, from the Workload API's Unix socket or from a token file.

Provides only what a gRPC client needs: certificate, key and bundle as PEM, and a signed token for an audience. The API
returns chains as concatenated ASN.1 DER.
"""

import base64
import binascii
import ssl
from dataclasses import dataclass
from typing import Any, Final, cast

import grpc
import msgspec
from grpc import aio

from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.rooms.directory.wire.client_calls import end_call
from pentad.rooms.directory.wire.protos import workload_pb2

_SERVICE: Final = "/SpiffeWorkloadAPI/"
_METADATA: Final = (("workload.spiffe.io", "true"),)  # the API refuses calls without it, which keeps web pages out
_OPTIONS: Final = [("grpc.use_local_subchannel_pool", 1)]  # retry an agent that was down a moment ago
_SEQUENCE: Final = 0x30


@dataclass(frozen=True, slots=True)
class Identity:
    """An X.509 identity in PEM: certificate chain, private key, and trusted roots."""

    chain: bytes
    key: bytes
    roots: bytes


async def fetch_identity(socket: str, seconds: float) -> Identity:
    """The workload's first X509-SVID."""
    async with aio.insecure_channel(_target(socket), options=_OPTIONS) as channel:
        fetch: Any = channel.unary_stream(
            f"{_SERVICE}FetchX509SVID",
            request_serializer=workload_pb2.X509SVIDRequest.SerializeToString,
            response_deserializer=workload_pb2.X509SVIDResponse.FromString,
        )
        try:
            call = fetch(workload_pb2.X509SVIDRequest(), timeout=seconds, metadata=_METADATA)
            answer = await call.read()
            await end_call(call)
        except grpc.RpcError as error:
            raise _unreachable(error) from None
    if answer is aio.EOF or not answer.svids:
        raise Unavailable("The SPIFFE Workload API has no identity for this process.", hint="Register the workload.")
    first = answer.svids[0]
    return Identity(_certificates(first.x509_svid), _private_key(first.x509_svid_key), _certificates(first.bundle))


async def fetch_token(socket: str, audience: str, seconds: float) -> str:
    """The workload's JWT-SVID for an audience."""
    async with aio.insecure_channel(_target(socket), options=_OPTIONS) as channel:
        fetch: Any = channel.unary_unary(
            f"{_SERVICE}FetchJWTSVID",
            request_serializer=workload_pb2.JWTSVIDRequest.SerializeToString,
            response_deserializer=workload_pb2.JWTSVIDResponse.FromString,
        )
        try:
            request = workload_pb2.JWTSVIDRequest(audience=[audience])
            answer = await fetch(request, timeout=seconds, metadata=_METADATA)
        except grpc.RpcError as error:
            raise _unreachable(error) from None
    if not answer.svids or not answer.svids[0].svid:
        raise Unavailable("The SPIFFE Workload API has no token for this process.", hint="Register the workload.")
    return answer.svids[0].svid


def identity_from_file(text: bytes) -> Identity:
    """The identity in a token file: a JSON array whose first entry has chain, key and roots as base64 DER."""
    try:
        first = cast("list[dict[str, Any]]", msgspec.json.decode(text))[0]
        chain = [base64.b64decode(one, validate=True) for one in first["x509_svid"]]
        roots = [base64.b64decode(one, validate=True) for one in first["root_cas"]]
        key = base64.b64decode(first["private_key"], validate=True)
    except (msgspec.DecodeError, LookupError, TypeError, binascii.Error):
        raise Misconfigured(
            "DIRECTORY_CLIENT_SPIFFE_TOKEN is not a SPIFFE token file.",
            hint="It is a JSON array of objects with x509_svid, private_key and root_cas in base64.",
        ) from None
    return Identity(_certificates(b"".join(chain)), _private_key(key), _certificates(b"".join(roots)))


def _target(socket: str) -> str:
    return socket if socket.startswith(("unix:", "tcp:")) else f"unix:{socket}"


def _unreachable(error: grpc.RpcError) -> Unavailable:
    code = cast("aio.AioRpcError", error).code()
    return Unavailable(
        f"The SPIFFE Workload API cannot be used ({code.name.lower()}).",
        hint="Check DIRECTORY_CLIENT_SPIFFE_SOCKET_PATH and that the agent runs.",
    )


def _certificates(der: bytes) -> bytes:
    return "".join(ssl.DER_cert_to_PEM_cert(one) for one in _split(der)).encode()


def _private_key(der: bytes) -> bytes:
    text = base64.encodebytes(der)
    return b"-----BEGIN PRIVATE KEY-----\n" + text + b"-----END PRIVATE KEY-----\n"


def _split(der: bytes) -> list[bytes]:
    """Split concatenated certificates."""
    found: list[bytes] = []
    while der:
        if len(der) < 2 or der[0] != _SEQUENCE:
            raise Unavailable("The SPIFFE identity contains something that is not a certificate.")
        length, head = der[1], 2
        if length > 127:
            head += length - 128
            length = int.from_bytes(der[2:head], "big")
        if head + length > len(der):
            raise Unavailable("The SPIFFE identity contains a truncated certificate.")
        found.append(der[: head + length])
        der = der[head + length :]
    return found
