"""The `connect` fixture: a client of the lab on each wire that the test runs over."""

import contextlib
import subprocess
from collections.abc import AsyncIterator, Iterator

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.clients import EVERY_WIRE, Client, Object, Wire, wire_name
from tests.behaviour.connecting import (
    ROOM,
    Connect,
    connect_http,
    connected_in_memory,
    connected_over_stdio,
    make_app,
    stdio_child,
)

__all__ = ["connect", "lab", "legacy_stdio", "make_app", "modern_stdio", "wire"]


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    """An open app with the lab, shared by a module's tests; its store's threads have ended before other modules run."""
    settings = Settings(data=tmp_path_factory.mktemp("lab"), rooms=(ROOM,), auth="none")
    async with open_app(settings) as app:
        yield app


@pytest.fixture(scope="session")
def legacy_stdio(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[bytes]"]:
    """The child process shared by tests of the handshake era; each starts its own session on it."""
    with stdio_child(tmp_path_factory.mktemp("stdio")) as child:
        yield child


@pytest.fixture(scope="session")
def modern_stdio(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[bytes]"]:
    """The child process shared by tests of the stateless era."""
    with stdio_child(tmp_path_factory.mktemp("stdio")) as child:
        yield child


@pytest.fixture(params=EVERY_WIRE, ids=wire_name)
def wire(request: pytest.FixtureRequest) -> Wire:
    """The wire a test runs over: every one by default; a test narrows it by parametrizing `wire` itself."""
    return request.param


@pytest.fixture
async def connect(wire: Wire, lab: App, request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """Creates clients on the test's wire and closes them at the end."""
    test_wire = wire
    async with contextlib.AsyncExitStack() as stack:

        async def make(wire: Wire | None = None, capabilities: Object | None = None) -> Client:
            chosen = wire or test_wire
            if chosen.http:
                client = await connect_http(lab, chosen, capabilities)
                stack.push_async_callback(client.close)
                return client
            if chosen.transport == "memory":
                opened = connected_in_memory(lab, chosen, capabilities or {})
            else:
                child = request.getfixturevalue("modern_stdio" if chosen.modern else "legacy_stdio")
                opened = connected_over_stdio(child, chosen, capabilities or {})
            return await stack.enter_async_context(opened)

        yield make
