"""The directory alone, over every way to it."""

import subprocess
from collections.abc import AsyncIterator, Iterator

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import connected_in_memory, stdio_child
from tests.behaviour.directory.door import Door
from tests.behaviour.directory.ways import WAYS, name_of, opened


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


@pytest.fixture(params=WAYS, ids=name_of)
async def door(request: pytest.FixtureRequest, site: App) -> AsyncIterator[Door]:
    """The directory, over each way in turn."""
    child = "modern_directory" if request.param[0].modern else "legacy_directory"
    async with opened(request.param, site, lambda: request.getfixturevalue(child)) as door:
        yield door


@pytest.fixture
async def quick(site: App) -> AsyncIterator[Door]:
    """The directory over the shortest way, where the way does not matter."""
    async with connected_in_memory(site, WAYS[0][0], {}) as client:
        yield Door(client)
