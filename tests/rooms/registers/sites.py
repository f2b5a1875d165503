"""Fixtures: a server with the registers room on each store, shared by tests that make what they need for themselves."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.rooms.registers.site import Site, open_site
from tests.stores import PostgresServer


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
async def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A shared server on each store, with the login admin:admin."""
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with open_site(tmp_path_factory.mktemp("registers"), database, basic=True) as opened:
        yield opened


@pytest.fixture
async def fresh_site(tmp_path: Path) -> AsyncIterator[Site]:
    """An empty server of the test's own."""
    async with contextlib.AsyncExitStack() as stack:
        yield await stack.enter_async_context(open_site(tmp_path))
