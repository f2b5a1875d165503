"""The gRPC server: the services of all rooms over one port, opened and closed together with HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import grpc
from grpc import aio

from pentad.kernel.errors import Misconfigured
from pentad.net.grpc_calls import GrpcServices, PortAccess, handlers
from pentad.net.grpc_introspection import introspection_handlers

MESSAGE_BYTES: Final = 4 * 1024 * 1024
STREAMS_MOST: Final = 1000
GRACE_SECONDS: Final = 5.0
_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""The largest allowed record takes more bytes as a Struct than as text."""


@asynccontextmanager
async def open_grpc(
    rooms: Sequence[GrpcServices],
    access: PortAccess,
    *,
    host: str,
    port: int,
    shared: bool,
    credentials: grpc.ServerCredentials | None = None,
) -> AsyncGenerator[None]:
    """Serve these services while the block runs, in plain text without `credentials`. `shared`: other processes listen
    on the same port."""
    server = aio.server(
        handlers=[
            *(handler for room in rooms for handler in handlers(access, room)),
            *introspection_handlers((name for room in rooms for name in room.services), access.stopping),
        ],
        options=_options(shared=shared),
        maximum_concurrent_rpcs=STREAMS_MOST,
    )
    _listen(server, host, port, credentials)
    await server.start()
    ending = asyncio.create_task(_stop_when_asked(server, access.stopping))
    try:
        yield
    finally:
        access.stopping.set()  # calls that wait for events end at once; the grace period is for calls that are working
        await ending


def server_credentials(
    cert_file: str | None, key_file: str | None, client_ca_file: str | None
) -> grpc.ServerCredentials | None:
    """The server's TLS credentials from the files of the settings with these names; None for plain text."""
    if not cert_file and not key_file:
        if client_ca_file:
            raise Misconfigured("grpc_client_ca_file needs grpc_cert_file and grpc_key_file.", hint="Set all three.")
        return None
    if not cert_file or not key_file:
        raise Misconfigured("grpc_cert_file and grpc_key_file belong together.", hint="Set both, or neither.")
    pair = (_read(key_file, "grpc_key_file"), _read(cert_file, "grpc_cert_file"))
    roots = _read(client_ca_file, "grpc_client_ca_file") if client_ca_file else None
    return grpc.ssl_server_credentials([pair], root_certificates=roots, require_client_auth=roots is not None)


def _read(path: str, setting: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise Misconfigured(f"{setting} cannot be read: {error.strerror}.", hint="Check the path.") from None


def _options(*, shared: bool) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", MESSAGE_BYTES),
        ("grpc.max_send_message_length", _ANSWER_BYTES),
        ("grpc.max_concurrent_streams", STREAMS_MOST),
        ("grpc.so_reuseport", int(shared)),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ]


def _listen(server: aio.Server, host: str, port: int, credentials: grpc.ServerCredentials | None) -> None:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if credentials is None:
            server.add_insecure_port(address)
        else:
            server.add_secure_port(address, credentials)
    except RuntimeError:
        raise Misconfigured(
            f"gRPC cannot listen on {address}.",
            hint="Choose another --grpc-port (0 switches gRPC off), and check the certificate and key if it has them.",
        ) from None


async def _stop_when_asked(server: aio.Server, stopping: asyncio.Event) -> None:
    await stopping.wait()
    await server.stop(GRACE_SECONDS)
