"""What the verbs of rooms are given to open Pentad with. The application is imported when one of them does."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from pentad.terminal.launcher import Launcher

if TYPE_CHECKING:
    from pentad.kernel.ports import Database
    from pentad.settings.model import Settings


@asynccontextmanager
async def _open_app(settings: "Settings") -> AsyncGenerator[Any]:
    from pentad.app import open_app

    async with open_app(settings) as app:
        yield app


@asynccontextmanager
async def _open_store(settings: "Settings") -> "AsyncGenerator[Database]":
    from pentad.app import CORE_SETS
    from pentad.cli.store import open_store
    from pentad.storage.migrations import apply

    async with open_store(settings) as database:
        await apply(database, CORE_SETS)
        yield database


async def _serve_part(settings: "Settings", room: str, part_of: Callable[[Any], Awaitable[Any]]) -> None:
    from pentad.cli.mcp import serve_part

    await serve_part(settings, room, part_of)


LAUNCHER: Final = Launcher(_open_app, _open_store, _serve_part)
