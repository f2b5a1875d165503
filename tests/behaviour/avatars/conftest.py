"""Two avatars over every connection: both of them at two paths and over stdio, and one alone over HTTP and stdio.

Search is lexical here, so that nothing depends on a model that may be missing.
"""

import contextlib
import os
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.avatars.door import Door
from tests.behaviour.avatars.folders import beekeeper, keeper
from tests.behaviour.clients import MODERN, Wire
from tests.behaviour.connecting import connect_http, connected_in_memory, connected_over_stdio
from tests.conformance.server import REPOSITORY, environment, pentad

NO_NEIGHBOURS = "/rooms/avatars/ida-brandt/mcp"
WAYS = (
    (Wire("memory", "2025-11-25"), ""),
    (Wire("session", "2025-11-25"), "/mcp"),
    (Wire("modern", MODERN), "/rooms/avatars/mcp"),
    (Wire("session", "2024-11-05"), NO_NEIGHBOURS),
    (Wire("modern", MODERN), NO_NEIGHBOURS),
    (Wire("stdio", "2025-11-25"), ""),
    (Wire("stdio", MODERN), ""),
)


def way_name(way: tuple[Wire, str]) -> str:
    return f"{way[0].transport}{way[1].replace('/', '-')}-{way[0].revision}"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all the files of these tests."""
    return tmp_path_factory.mktemp("avatars")


@pytest.fixture(scope="module")
async def site(home: Path) -> AsyncIterator[App]:
    """An open app with both avatars."""
    settings = Settings(data=home / "data", rooms=("avatars",), auth="none", models=home / "none")
    async with open_app(settings) as app:
        if not (home / "ida-brandt").exists():
            for folder in (keeper(home), beekeeper(home)):
                report = await app.rooms[0].service.ingest(folder)
                assert not report.of("failed"), report.as_json()
        yield app


@contextlib.contextmanager
def avatar_child(home: Path, *command: str, **environ: str) -> Generator["subprocess.Popen[bytes]"]:
    """A real child process that serves one avatar over stdio, and exits when its input ends."""
    with (home / "log").open("ab") as log:
        child = subprocess.Popen(
            [pentad(), *command],
            cwd=REPOSITORY,
            env={**environment(), "PENTAD_DATA": str(home / "data"), "PENTAD_MODELS": str(home / "none"), **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield child
    finally:
        child.stdin.close()
        code = child.wait(60)
        rest = child.stdout.read()
        child.stdout.close()
    assert rest == b"", "nothing is left unsaid at the end"
    assert code == 0, (home / "log").read_text(encoding="utf-8")


SERVE = ("avatars", "serve", "--avatar", "ida-brandt")


@pytest.fixture(scope="session")
def legacy_avatar(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with avatar_child(home, *SERVE) as child:
        yield child


@pytest.fixture(scope="session")
def modern_avatar(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with avatar_child(home, *SERVE) as child:
        yield child


@contextlib.asynccontextmanager
async def open_door(
    way: tuple[Wire, str], site: App, request: pytest.FixtureRequest, capabilities: dict[str, object] | None = None
) -> AsyncGenerator[Door]:
    wire, path = way
    if wire.http:
        client = await connect_http(site, wire, capabilities, path=path)
        yield Door(client, alone=path == NO_NEIGHBOURS)
        await client.close()
        return
    if wire.transport == "memory":
        async with connected_in_memory(site, wire, capabilities or {}) as client:
            yield Door(client, alone=False)
        return
    child = request.getfixturevalue("modern_avatar" if wire.modern else "legacy_avatar")
    async with connected_over_stdio(child, wire, capabilities or {}) as client:
        yield Door(client, alone=True)


@pytest.fixture(params=WAYS, ids=way_name)
async def door(request: pytest.FixtureRequest, site: App) -> AsyncIterator[Door]:
    """Ida Brandt, over each connection in turn."""
    async with open_door(request.param, site, request) as door:
        yield door


@pytest.fixture(params=[way for way in WAYS if way[1] == NO_NEIGHBOURS or way[0].transport == "stdio"], ids=way_name)
async def alone(request: pytest.FixtureRequest, site: App) -> AsyncIterator[Door]:
    """Ida Brandt served alone."""
    async with open_door(request.param, site, request) as door:
        yield door


@pytest.fixture
async def quick(site: App, request: pytest.FixtureRequest) -> AsyncIterator[Door]:
    """All avatars over the cheapest connection, for tests where it does not matter."""
    async with open_door(WAYS[0], site, request) as door:
        yield door


@pytest.fixture(scope="session", autouse=True)
def without_settings() -> Iterator[None]:
    """Ignores the settings of the user who runs the tests."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PENTAD_AVATARS_")}
    yield
    os.environ.update(kept)
