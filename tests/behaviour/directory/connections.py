"""Every kind of connection to the directory: in memory, over stdio as Cursor starts it, and over HTTP at both paths."""

import contextlib
import subprocess
from collections.abc import AsyncGenerator, Callable

from pentad.app import App
from tests.behaviour.clients import MODERN, Wire
from tests.behaviour.connecting import connect_http, connected_in_memory, connected_over_stdio
from tests.behaviour.directory.directory_client import DirectoryClient

OWN_PATH = "/rooms/directory/mcp"

Connection = tuple[Wire, str]
"""A wire, and the path for HTTP."""

CONNECTIONS: tuple[Connection, ...] = (
    (Wire("memory", "2025-11-25"), ""),
    (Wire("stdio", "2024-11-05"), ""),
    (Wire("stdio", MODERN), ""),
    (Wire("session", "2025-11-25"), "/mcp"),
    (Wire("modern", MODERN), "/mcp"),
    (Wire("session", "2024-11-05"), OWN_PATH),
)


def name_of(connection: Connection) -> str:
    return f"{connection[0].transport}{connection[1].replace('/', '-')}-{connection[0].revision}"


@contextlib.asynccontextmanager
async def opened(
    connection: Connection, app: App, child: "Callable[[], subprocess.Popen[bytes]]"
) -> AsyncGenerator[DirectoryClient]:
    """Connect to the app's directory, or to the child's over stdio."""
    wire, path = connection
    if wire.http:
        client = await connect_http(app, wire, path=path)
        yield DirectoryClient(client)
        await client.close()
        return
    connected = connected_over_stdio(child(), wire, {}) if wire.transport == "stdio" else None
    async with connected or connected_in_memory(app, wire, {}) as client:
        yield DirectoryClient(client)
