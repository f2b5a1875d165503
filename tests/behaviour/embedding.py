"""A room with the real embedding model, and clients of it in memory, over stdio and over HTTP.

The child over stdio uses the same store, so every process finds what another one has embedded.
"""

import contextlib
import subprocess
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

from pentad.app import App, open_app
from pentad.search.models.catalogue import PulledModel
from pentad.settings.model import Settings
from tests.behaviour.clients import MODERN, Client, Wire
from tests.behaviour.connecting import connect_http, connected_in_memory, connected_over_stdio, stdio_child

WAYS = (
    Wire("memory", "2025-11-25"),
    Wire("stdio", MODERN),  # which does not notify when another process writes
    Wire("session", "2025-11-25"),
    Wire("modern", MODERN),
)


@contextlib.asynccontextmanager
async def app_with_model(home: Path, room: str, model: PulledModel) -> AsyncGenerator[App]:
    settings = Settings(data=home / "data", rooms=(room,), auth="none", models=model.folder.parent)
    async with open_app(settings) as app:
        yield app


@contextlib.contextmanager
def child_with_model(home: Path, room: str, model: PulledModel) -> Generator["subprocess.Popen[bytes]"]:
    with stdio_child(home, room, PENTAD_MODELS=str(model.folder.parent)) as child:
        yield child


@contextlib.asynccontextmanager
async def connected(app: App, child: "subprocess.Popen[bytes]", wire: Wire) -> AsyncGenerator[Client]:
    """A client on one of the connections."""
    if wire.http:
        client = await connect_http(app, wire)
        yield client
        await client.close()
        return
    opened = connected_in_memory(app, wire, {}) if wire.transport == "memory" else connected_over_stdio(child, wire, {})
    async with opened as client:
        yield client
