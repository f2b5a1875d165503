"""Opens Pentad in the CLI process.

A room's verbs cannot import the application, which is in a layer above the rooms, so the command line puts a `Launcher`
into the context of every command.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

if TYPE_CHECKING:
    from pentad.kernel.ports import Database, Fetcher
    from pentad.settings.model import Settings

T = TypeVar("T")


class Routes(Protocol):
    """The HTTP routes of a server, or the administration routes in this process."""

    def open(
        self, method: str, path: str, body: bytes | None, media_type: str
    ) -> "AbstractAsyncContextManager[tuple[int, AsyncIterator[bytes]]]":
        """Call a route; yields the status of the response, and its body as it arrives."""
        ...


@dataclass(frozen=True, slots=True)
class Launcher:
    """Everything a room's verbs can open."""

    open_app: "Callable[[Settings], AbstractAsyncContextManager[Any]]"
    """The application (`pentad.app.App`) with the rooms of the settings."""
    open_store: "Callable[[Settings], AbstractAsyncContextManager[Database]]"
    """The store alone, with the tables of the core."""
    open_routes: "Callable[[Settings], AbstractAsyncContextManager[Routes]]"
    """The administration routes, called in this process on the store alone."""
    serve_part: "Callable[[Settings, str, Callable[[Any], Awaitable[Any]]], Awaitable[None]]"
    """Serves one part of a room over stdio until the input ends. The function makes that part from the open room."""


def launcher() -> Launcher:
    """The launcher of the running command."""
    found = click.get_current_context().find_object(Launcher)
    if found is None:
        raise RuntimeError("This command must be run by `pentad`.")
    return found


def run_in_room(
    settings: "Settings", work: Callable[[Any], Coroutine[Any, Any, T]], *rooms: str, beside_all: bool = False
) -> T:
    """Open these rooms and run `work` with the service of the first. `beside_all` opens all rooms of the settings."""

    async def run() -> T:
        async with open_room(settings, *rooms, beside_all=beside_all) as service:
            return await work(service)

    return asyncio.run(run())


@asynccontextmanager
async def open_room(settings: "Settings", *rooms: str, beside_all: bool = False) -> AsyncGenerator[Any]:
    """Open the first of these rooms and return its service, with the other rooms, or all rooms of the settings
    (`beside_all`), open too."""
    opened = rooms
    if beside_all:
        opened = tuple(dict.fromkeys((*settings.rooms, *rooms))) if settings.rooms else ()
    async with launcher().open_app(replace(settings, rooms=opened)) as app:
        yield next(one.service for one in app.rooms if not beside_all or one.room.name == rooms[0])


@asynccontextmanager
async def open_fetcher(settings: "Settings") -> "AsyncGenerator[Fetcher]":
    """Outgoing HTTP with the settings' rules, for a verb that needs no store."""
    from pentad.net.fetch import HttpFetcher

    fetcher = HttpFetcher(settings.fetch)
    try:
        yield fetcher
    finally:
        await fetcher.close()
