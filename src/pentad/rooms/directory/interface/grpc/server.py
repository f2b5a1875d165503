"""The directory's gRPC server: all services over one port, opened and closed together with HTTP.

The room's settings name the TLS files (`grpc_cert_file`, `grpc_key_file`, and `grpc_client_ca_file` to require client
certificates). `grpc_auth = "none"` waives the login if only this machine can connect. A caller with a certificate of
the configured authority needs no login; `grpc_client_role` sets its rights.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import grpc
from grpc import aio

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import Principal
from pentad.platform import MountContext
from pentad.rooms.directory.interface.grpc.calls import CallGuard, Service, handlers
from pentad.rooms.directory.interface.grpc.services import (
    event_service,
    naming_service,
    publication_service,
    routing_service,
    search_service,
    sign_service,
)
from pentad.rooms.directory.interface.grpc.store_service import referrer_methods, store_methods, sync_service
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.settings import DirectorySettings
from pentad.settings.model import is_loopback

_NAMES: Final = ("x509_subject_alternative_name", "x509_common_name")
_LONGEST_NAME: Final = 200


def server_credentials(settings: DirectorySettings) -> grpc.ServerCredentials | None:
    """The server's TLS credentials, or None for plain text."""
    cert, key = settings.grpc_cert_file, settings.grpc_key_file
    authority = settings.grpc_client_ca_file
    if not cert and not key:
        if authority:
            raise Misconfigured("grpc_client_ca_file needs grpc_cert_file and grpc_key_file.", hint="Set all three.")
        return None
    if not cert or not key:
        raise Misconfigured("grpc_cert_file and grpc_key_file belong together.", hint="Set both, or neither.")
    pair = (_read(key, "grpc_key_file"), _read(cert, "grpc_cert_file"))
    roots = _read(authority, "grpc_client_ca_file") if authority else None
    return grpc.ssl_server_credentials([pair], root_certificates=roots, require_client_auth=roots is not None)


def is_login_waived(settings: DirectorySettings, host: str) -> bool:
    """Whether gRPC needs no login. Only allowed on a loopback address."""
    if settings.grpc_auth == "none" and not is_loopback(host):
        raise Misconfigured(
            f'grpc_auth = "none" is refused on {host!r}: anyone who can reach that address could do anything.',
            hint="Bind 127.0.0.1, or leave grpc_auth at required.",
        )
    return settings.grpc_auth == "none"


class CertificateAuth:
    """Authenticates callers by the certificate that TLS checked when they connected."""

    def __init__(self, settings: DirectorySettings) -> None:
        self._scopes = role_scopes(settings.grpc_client_role)
        self._requires_certificate = bool(settings.grpc_client_ca_file)

    def principal(self, connection: Mapping[str, Sequence[bytes]]) -> Principal | None:
        """The caller that a connection's certificate names, or None without a certificate."""
        if not self._requires_certificate:
            return None
        for key in _NAMES:
            if found := connection.get(key):
                name = found[0].decode("utf-8", "replace")[:_LONGEST_NAME]
                return Principal(id=f"x509:{name}", name=name, scopes=self._scopes, kind="token")
        return None


def _read(path: str, setting: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise Misconfigured(f"{setting} cannot be read: {error.strerror}.", hint="Check the path.") from None


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
        login_waived=is_login_waived(settings, context.host),
        by_certificate=CertificateAuth(settings).principal,
    )
    server = aio.server(
        handlers=[handlers(guard, name, methods) for name, methods in services(directory).items()],
        options=_options(shared=context.is_shared),
        maximum_concurrent_rpcs=STREAMS_MOST,
    )
    _listen(server, context, credentials)
    await server.start()
    ending = asyncio.create_task(_stop_when_asked(server, context.stopping))
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


async def _stop_when_asked(server: aio.Server, stopping: asyncio.Event) -> None:
    await stopping.wait()
    await server.stop(GRACE_SECONDS)
