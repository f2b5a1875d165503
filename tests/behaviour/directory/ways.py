"""Every way to the directory: in memory, over stdio as Cursor starts it, and over HTTP at both paths."""

import contextlib
import subprocess
from collections.abc import AsyncGenerator, Callable

from pentad.app import App
from tests.behaviour.clients import MODERN, Wire
from tests.behaviour.connecting import connect_http, connected_in_memory, connected_over_stdio
from tests.behaviour.directory.door import Door

OWN_PATH = "/rooms/directory/mcp"

Way = tuple[Wire, str]
"""A wire, and the path where it is HTTP."""

WAYS: tuple[Way, ...] = (
    (Wire("memory", "2025-11-25"), ""),
    (Wire("stdio", "2024-11-05"), ""),
    (Wire("stdio", MODERN), ""),
    (Wire("session", "2025-11-25"), "/mcp"),
    (Wire("modern", MODERN), "/mcp"),
    (Wire("session", "2024-11-05"), OWN_PATH),
)


def name_of(way: Way) -> str:
    return f"{way[0].transport}{way[1].replace('/', '-')}-{way[0].revision}"


@contextlib.asynccontextmanager
async def opened(way: Way, app: App, child: "Callable[[], subprocess.Popen[bytes]]") -> AsyncGenerator[Door]:
    """The directory over this way: that of the app, or of the child where the way is stdio."""
    wire, path = way
    if wire.http:
        client = await connect_http(app, wire, path=path)
        yield Door(client)
        await client.close()
        return
    connected = connected_over_stdio(child(), wire, {}) if wire.transport == "stdio" else None
    async with connected or connected_in_memory(app, wire, {}) as client:
        yield Door(client)
