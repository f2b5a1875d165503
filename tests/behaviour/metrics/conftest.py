"""The metrics room alone, over every wire, in front of a fake platform that runs in its own process."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import stdio_child
from tests.conformance.server import REPOSITORY, environment

PRINTED = 6


@pytest.fixture(scope="session")
def anypoint() -> Iterator[dict[str, str]]:
    """A platform with one group and two environments, as the variables that point to it."""
    command = [sys.executable, "-m", "tests.anypoint", "--port", "0", "--environments", "2"]
    with subprocess.Popen(command, cwd=REPOSITORY, env=environment(), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline().strip() for _ in range(PRINTED)]
        yield {name: value for name, _, value in (line.partition("=") for line in lines)}
        server.terminate()


@pytest.fixture
def org(anypoint: dict[str, str]) -> str:
    return anypoint["PENTAD_ANYPOINT_ORG"]


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory, anypoint: dict[str, str]) -> AsyncIterator[App]:
    settings = Settings(data=tmp_path_factory.mktemp("metrics"), rooms=("metrics",), auth="none", environment=anypoint)
    async with open_app(settings) as app:
        yield app


@pytest.fixture(scope="session")
def legacy_stdio(
    tmp_path_factory: pytest.TempPathFactory, anypoint: dict[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    with stdio_child(tmp_path_factory.mktemp("stdio"), "metrics", **anypoint) as child:
        yield child


@pytest.fixture(scope="session")
def modern_stdio(
    tmp_path_factory: pytest.TempPathFactory, anypoint: dict[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    with stdio_child(tmp_path_factory.mktemp("stdio"), "metrics", **anypoint) as child:
        yield child
