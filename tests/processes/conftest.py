"""Two servers on one SQLite file, and two on one PostgreSQL database."""

from collections.abc import Iterator

import pytest

from tests.processes.servers import Pair
from tests.stores import PostgresServer


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The address of an empty PostgreSQL database, or None for SQLite."""
    if request.param == "sqlite":
        yield None
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.empty_database() as database:
        yield database


@pytest.fixture(scope="module")
def pair(database: str | None) -> Iterator[Pair]:
    """Both are ready; a test that kills one starts it again."""
    with Pair(database) as pair:
        yield pair
