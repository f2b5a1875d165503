"""Each test runs on SQLite and on PostgreSQL."""

import pytest

from tests.stores import PostgresServer


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    """The address of an empty PostgreSQL database, or None for SQLite."""
    if request.param == "sqlite":
        return None
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.fresh_database()
