"""The directory's gRPC server: all services over one port, opened and closed together with HTTP."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc
from grpc import aio

from pentad.kernel.errors import Misconfigured
from pentad.platform import MountContext
from pentad.rooms.directory.interface.grpc.calls import CallGuard, Service, handlers
from pentad.rooms.directory.interface.grpc.event_service import event_service
from pentad.rooms.directory.interface.grpc.routing_service import publication_service, routing_service
from pentad.rooms.directory.interface.grpc.search_service import search_service
from pentad.rooms.directory.interface.grpc.security import CertificateAuth, is_login_waived, server_credentials
from pentad.rooms.directory.interface.grpc.store_service import referrer_methods, store_methods, sync_service
from pentad.rooms.directory.interface.grpc.trust_service import naming_service, sign_service
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.settings import DirectorySettings

MESSAGE_BYTES: Final = 4 * 1024 * 1024
STREAMS_MOST: Final = 1000
GRACE_SECONDS: Final = 5.0
_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""A record of the largest size is larger as a Struct than as text."""


@asynccontextmanager
async def open_grpc(directory: Directory, context: MountContext) -> AsyncGenerator[None]:
    """Serve the API while the block runs."""
    settings: DirectorySettings = directory.platform.settings
    credentials = server_credentials(settings)
    guard = CallGuard(
        context,
        everybody=is_login_waived(settings, context.host),
        by_certificate=CertificateAuth(settings).principal,
    )
    server = aio.server(
        handlers=[handlers(guard, name, methods) for name, methods in services(directory).items()],
        options=_options(shared=context.is_shared),
        maximum_concurrent_rpcs=STREAMS_MOST,
    )
    _listen(server, context, credentials)
    await server.start()
    ending = asyncio.create_task(_end_when_asked(server, context.stopping))
    try:
        yield
    finally:
        ending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ending
        await server.stop(GRACE_SECONDS)


def services(directory: Directory) -> dict[str, Service]:
    """Every service of the API, by its full name."""
    area = "agntcy.dir"
    return {
        f"{area}.store.v1.StoreService": {**store_methods(directory), **referrer_methods(directory)},
        f"{area}.store.v1.SyncService": sync_service(directory),
        f"{area}.search.v1.SearchService": search_service(directory),
        f"{area}.routing.v1.RoutingService": routing_service(directory),
        f"{area}.routing.v1.PublicationService": publication_service(directory),
        f"{area}.sign.v1.SignService": sign_service(directory),
        f"{area}.naming.v1.NamingService": naming_service(directory),
        f"{area}.events.v1.EventService": event_service(directory),
    }


def _options(*, shared: bool) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", MESSAGE_BYTES),
        ("grpc.max_send_message_length", _ANSWER_BYTES),
        ("grpc.max_concurrent_streams", STREAMS_MOST),
        ("grpc.so_reuseport", int(shared)),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ]


def _listen(server: aio.Server, context: MountContext, credentials: grpc.ServerCredentials | None) -> None:
    host = f"[{context.host}]" if ":" in context.host else context.host
    address = f"{host}:{context.port}"
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


async def _end_when_asked(server: aio.Server, stopping: asyncio.Event) -> None:
    await stopping.wait()
    await server.stop(GRACE_SECONDS)
