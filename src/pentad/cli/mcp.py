"""`pentad mcp serve`: MCP over stdin and stdout, for clients that start their server themselves.

stdout carries the protocol; everything else goes to stderr. This verb must not import Starlette or uvicorn.
"""

import asyncio
import contextlib
import dataclasses
import signal
from typing import TYPE_CHECKING

import click

from pentad.cli.garbage_collection import collect_new_objects
from pentad.terminal.options import profile_option, settings_options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pentad.app import App, McpServer
    from pentad.platform import OpenRoom
    from pentad.settings.model import Settings


@click.group()
def mcp() -> None:
    """Serve MCP over stdio."""


@mcp.command()
@profile_option
@settings_options("rooms", "data", "database", logs_warnings=True, running="fallback")
def serve(profile: str | None, settings: "Settings") -> None:
    """Serve one client over stdin and stdout until its input ends."""
    from pentad.logs import configure_logging, log_warnings

    configure_logging(settings.log.level, settings.log.format)
    log_warnings(settings.warnings)
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(settings, profile))


async def _serve(settings: "Settings", profile: str | None) -> None:
    from pentad.app import open_app
    from pentad.console.app_views import AppViews

    async with open_app(settings, views=AppViews()) as app:
        await _serve_until_stopped(app, None if profile is None else app.profile(profile))


async def serve_part(settings: "Settings", room: str, part_of: "Callable[[OpenRoom], Awaitable[OpenRoom]]") -> None:
    """Serve one part of a room alone, like its own endpoint over HTTP."""
    from pentad.app import open_app

    async with open_app(dataclasses.replace(settings, rooms=(room,))) as app:
        await _serve_until_stopped(app, app.one_part(await part_of(app.rooms[0])))


async def _serve_until_stopped(app: "App", server: "McpServer | None" = None) -> None:
    """Serve this server, by default all rooms, until the input ends or the process is asked to stop."""
    from pentad.mcp.stdio import serve_stdio

    collect_new_objects()
    serving = asyncio.current_task()
    with contextlib.suppress(NotImplementedError):  # Windows ends the process itself
        if serving is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    await serve_stdio(
        lambda write: app.connection(write, transport="stdio", server=server), app.settings.limits.body_bytes
    )
