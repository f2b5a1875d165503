"""The rooms' own servers beside HTTP: each gets a doorway with the core's logins, allowances and audit trail behind it.

The one port there is for such a server is the gRPC port; 0 switches it off.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from pentad.access.anonymous import pause
from pentad.app import App
from pentad.http.guards.anonymous import address_of
from pentad.http.guards.credentials import CredentialsGuard
from pentad.kernel.errors import PentadError
from pentad.kernel.principal import ANONYMOUS, Principal
from pentad.net.listen import bind
from pentad.platform import Doorway, Room
from pentad.settings.model import Settings

PAUSES_MOST: Final = 100
"""How many refused calls wait at a time. Each holds one of the places its server has for calls of any kind, so that
more of them would keep out callers with credentials; beyond this a refusal is immediate."""


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

    async def spend(principal_id: str) -> None:
        if not rates.try_spend(principal_id):
            await rates.spend(principal_id)

    return Doorway(settings.host, settings.grpc_port, shared, Reception(app).principal, spend, app.record, app.stopping)


class Reception:
    """Tells who is calling, within the bounds HTTP has for callers who have not proved that, and on the same count."""

    def __init__(self, app: App) -> None:
        self._anonymous = app.anonymous
        self._credentials = CredentialsGuard(
            None if app.settings.auth == "none" else app.authenticator, app.anonymous.logins
        )
        self._pauses = 0

    async def principal(self, header: str | None, address: str | None) -> Principal:
        """Who shows this header, or a refusal."""
        given = None if header is None else header.encode("utf-8", "replace")
        principal = self._credentials.remembered(given, address)
        if principal is not None and principal is not ANONYMOUS:
            return principal
        try:
            if principal is ANONYMOUS:
                self._anonymous.spend(address_of(address))
            return await self._credentials.proved(given, address, wire="grpc")
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
