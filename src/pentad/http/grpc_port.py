"""The gRPC port: opened in addition to HTTP, for the services of all rooms, with the same logins, rate limits and audit
trail.

It is `grpc_port`; 0 switches it off. With `grpc_cert_file` and `grpc_key_file` it speaks TLS.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

from pentad.access.anonymous import pause
from pentad.app import App
from pentad.http.guards.credentials import CredentialsGuard, address_of, wrong_audience
from pentad.kernel.errors import PentadError
from pentad.kernel.principal import ANONYMOUS, Principal
from pentad.net.listen import bind
from pentad.platform import MountContext, Room
from pentad.settings.model import Settings

PAUSES_MOST: Final = 100
"""How many refused calls may wait at a time. Each takes up one of the server's concurrent calls, so more of them would
keep out callers with credentials. Beyond this, a refusal is immediate."""


_TLS_FILES: Final = ("grpc_cert_file", "grpc_key_file", "grpc_client_ca_file")


@asynccontextmanager
async def open_ports(app: App) -> AsyncGenerator[None]:
    """Serve the rooms' gRPC services, if there are any; the server stops when the block ends."""
    rooms = [opened for opened in app.rooms if opened.room.has_port and opened.room.mounts is not None]
    if not app.settings.grpc_port or not rooms:
        yield
        return
    if app.settings.workers == 1:
        check_free(app.settings)
    from pentad.net.grpc_server import open_grpc, server_credentials

    context = mount_context(app)
    mounts = [mount for one in rooms if one.room.mounts is not None for mount in one.room.mounts(one.service, context)]
    services = [mount.grpc() for mount in mounts if mount.grpc is not None]
    credentials = server_credentials(*map(app.settings.grpc_file, _TLS_FILES))
    async with open_grpc(
        services, context, host=context.host, port=context.port, shared=context.is_shared, credentials=credentials
    ):
        yield


def port_address(settings: Settings, rooms: Iterable[Room[Any]]) -> str | None:
    """The address of the gRPC port; None if these rooms have no gRPC services, or if the port is switched off."""
    if not settings.grpc_port or not any(room.has_port for room in rooms):
        return None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104  compared, not bound
    return f"[{host}]:{settings.grpc_port}" if ":" in host else f"{host}:{settings.grpc_port}"


def check_free(settings: Settings) -> None:
    """Fail before anything starts if another program has the port: worker processes that share it could not notice."""
    bind(settings.host, settings.grpc_port, option="--grpc-port").close()


def mount_context(app: App) -> MountContext:
    """The context that rooms receive when asked for their mounts."""
    settings, rates = app.settings, app.rates

    async def spend(principal_id: str) -> None:
        if not rates.try_spend(principal_id):
            await rates.spend(principal_id)

    return MountContext(
        host=settings.host,
        port=settings.grpc_port,
        is_shared=settings.workers > 1,
        authenticate=PortCredentials(app).principal,
        spend=spend,
        record=app.record,
        stopping=app.stopping,
    )


class PortCredentials:
    """Authenticates callers of a port. Limits for callers without proven credentials are shared with HTTP."""

    def __init__(self, app: App) -> None:
        self._anonymous = app.anonymous
        self._credentials = CredentialsGuard(
            None if app.settings.auth == "none" else app.authenticator,
            app.anonymous.logins,
            read_only=app.settings.read_only,
        )
        self._pauses = 0

    async def principal(self, header: str | None, address: str | None) -> Principal:
        """The principal of an `authorization` header; raises if it is missing or wrong."""
        given = None if header is None else header.encode("utf-8", "replace")
        principal = self._credentials.cached(given, address)
        if principal is not None and principal is not ANONYMOUS and principal.audience is None:
            return principal
        try:
            if principal is ANONYMOUS:
                self._anonymous.spend(address_of(address))
            return _for_everything(await self._credentials.verify(given, address, wire="grpc"))
        except PentadError:
            if self._anonymous.is_too_fast(address_of(address)) and self._pauses < PAUSES_MOST:
                await self._pause()
            raise

    async def _pause(self) -> None:
        self._pauses += 1
        try:
            await pause()
        finally:
            self._pauses -= 1


def _for_everything(principal: Principal) -> Principal:
    """Refuse tokens for single resources: a port has no URL that a token could name, so only tokens for the whole
    server are valid."""
    if principal.audience is not None:
        raise wrong_audience()
    return principal
