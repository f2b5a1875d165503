"""A served directory on each store, shared by tests that push what they need for themselves."""

from collections.abc import AsyncIterator

import pytest

from tests.rooms.directory.interface.grpc.site import Site, Wire, open_site
from tests.stores import PostgresServer


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
async def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with open_site(tmp_path_factory.mktemp("directory"), database) as opened:
        yield opened


@pytest.fixture
def wire(site: Site) -> Wire:
    return site.wire
