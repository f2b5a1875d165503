"""Two servers on one SQLite file, and two on one PostgreSQL database."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.processes.servers import Pair
from tests.stores import PostgresServer


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Both are ready; a test that kills one starts it again."""
    with ExitStack() as stack:
        database: str | None = None
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            database = stack.enter_context(server.empty_database())
        yield stack.enter_context(Pair(database))
