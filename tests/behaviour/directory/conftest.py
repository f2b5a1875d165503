"""Fixtures: the directory alone, over every kind of connection."""

import subprocess
from collections.abc import AsyncIterator, Iterator

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import connected_in_memory, stdio_child
from tests.behaviour.directory.connections import CONNECTIONS, name_of, opened
from tests.behaviour.directory.directory_client import DirectoryClient


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


@pytest.fixture(params=CONNECTIONS, ids=name_of)
async def directory(request: pytest.FixtureRequest, site: App) -> AsyncIterator[DirectoryClient]:
    """The directory, over each kind of connection in turn."""
    child = "modern_directory" if request.param[0].modern else "legacy_directory"
    async with opened(request.param, site, lambda: request.getfixturevalue(child)) as directory:
        yield directory


@pytest.fixture
async def in_memory(site: App) -> AsyncIterator[DirectoryClient]:
    """The directory in memory, for tests that do not depend on the connection."""
    async with connected_in_memory(site, CONNECTIONS[0][0], {}) as client:
        yield DirectoryClient(client)
