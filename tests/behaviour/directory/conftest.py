"""The directory alone over every way to it: in memory, over stdio as Cursor starts it, and over HTTP at both paths."""

import contextlib
import subprocess
from collections.abc import AsyncIterator, Iterator

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.clients import MODERN, Wire
from tests.behaviour.connecting import connect_http, connected_in_memory, connected_over_stdio, stdio_child
from tests.behaviour.directory.door import Door

OWN_PATH = "/rooms/directory/mcp"
WAYS = (
    (Wire("memory", "2025-11-25"), ""),
    (Wire("stdio", "2024-11-05"), ""),
    (Wire("stdio", MODERN), ""),
    (Wire("session", "2025-11-25"), "/mcp"),
    (Wire("modern", MODERN), "/mcp"),
    (Wire("session", "2024-11-05"), OWN_PATH),
)


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    settings = Settings(data=tmp_path_factory.mktemp("directory"), rooms=("directory",), auth="none")
    async with open_app(settings) as app:
        yield app


@pytest.fixture(scope="session")
def legacy_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[bytes]"]:
    with stdio_child(tmp_path_factory.mktemp("stdio"), "directory") as child:
        yield child


@pytest.fixture(scope="session")
def modern_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[bytes]"]:
    with stdio_child(tmp_path_factory.mktemp("stdio"), "directory") as child:
        yield child


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0].transport}{way[1].replace('/', '-')}-{way[0].revision}")
async def door(request: pytest.FixtureRequest, site: App) -> AsyncIterator[Door]:
    """The directory, over each way in turn."""
    wire, path = request.param
    async with contextlib.AsyncExitStack() as stack:
        if wire.http:
            client = await connect_http(site, wire, path=path)
            stack.push_async_callback(client.close)
            yield Door(client)
            return
        if wire.transport == "memory":
            opened = connected_in_memory(site, wire, {})
        else:
            child = request.getfixturevalue("modern_directory" if wire.modern else "legacy_directory")
            opened = connected_over_stdio(child, wire, {})
        yield Door(await stack.enter_async_context(opened))


@pytest.fixture
async def quick(site: App) -> AsyncIterator[Door]:
    """The directory over the shortest way, where the way does not matter."""
    async with connected_in_memory(site, WAYS[0][0], {}) as client:
        yield Door(client)
