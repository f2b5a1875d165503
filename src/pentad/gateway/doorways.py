"""The rooms' own servers beside HTTP: each gets a doorway with the core's logins, allowances and audit trail behind it.

The one port there is for such a server is the gRPC port; 0 switches it off.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pentad.app import App
from pentad.kernel.principal import LOCAL, Principal
from pentad.net.listen import bind
from pentad.platform import Doorway, Room
from pentad.settings.model import Settings


@asynccontextmanager
async def own_servers(app: App) -> AsyncGenerator[None]:
    """Open the servers of the open rooms; they end when the block does."""
    async with AsyncExitStack() as stack:
        for opened in app.rooms:
            if opened.room.server is not None and app.settings.grpc_port:
                await stack.enter_async_context(opened.room.server(opened.service, doorway(app)))
        yield


def own_address(settings: Settings, rooms: Iterable[Room[Any]]) -> str | None:
    """Where the server of one of these rooms is reached, if one has a server and it is switched on."""
    if not settings.grpc_port or all(room.server is None for room in rooms):
        return None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104  compared, not bound
    return f"[{host}]:{settings.grpc_port}" if ":" in host else f"{host}:{settings.grpc_port}"


def check_free(settings: Settings) -> None:
    """A port that somebody else has is told before anything starts: processes that share one could not notice."""
    bind(settings.host, settings.grpc_port, option="--grpc-port").close()


def doorway(app: App) -> Doorway:
    """The way in for a server beside HTTP."""
    settings, rates = app.settings, app.rates
    shared = settings.workers > 1
    if not shared:
        check_free(settings)

    async def principal(header: str | None, address: str | None) -> Principal:
        if settings.auth == "none":
            return LOCAL
        given = None if header is None else header.encode("utf-8", "replace")
        return await app.authenticator.authenticate(given, address, wire="grpc")

    async def spend(principal_id: str) -> None:
        if not rates.try_spend(principal_id):
            await rates.spend(principal_id)

    return Doorway(settings.host, settings.grpc_port, shared, principal, spend, app.record, app.stopping)
