"""What the tests of access share: stores with its tables in both dialects, and hashes that cost next to nothing."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from pentad.access.passwords import HashCost, Passwords
from pentad.kernel.ports import Database, Transaction
from pentad.storage.migrations import STORAGE, MigrationSet
from tests.stores import PostgresServer, Stores

SETS = (STORAGE, MigrationSet("access", "pentad.access.schema"))
TABLES = (
    "users",
    "api_keys",
    "server_secrets",
    "signing_keys",
    "rate_allowances",
    "audit_batches",
    "call_totals",
    "failed_logins",
    "oauth_clients",
    "oauth_codes",
    "oauth_grants",
    "oauth_tokens",
    "oauth_device_codes",
    "browser_sessions",
    "login_links",
    "user_identities",
    "provider_logins",
    "removed_users",
)


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = Passwords(HashCost(memory_kib=8, passes=1))
    yield made
    made.close()


@pytest.fixture(scope="session")
def postgres_url(postgres_server: PostgresServer) -> str:
    """One database for all tests of access: making one costs more than most of them."""
    return postgres_server.fresh_database()


@pytest.fixture(params=["sqlite", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    opened = Stores(url, tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def db(stores: Stores) -> Database:
    """An empty store, once for each dialect."""
    made = await stores.open(SETS)
    await made.write(_empty)
    return made


@pytest.fixture
async def other(db: Database, stores: Stores) -> Database:
    """The same store, as another process has it."""
    return await stores.open(SETS)


def _empty(tx: Transaction) -> None:
    for table in TABLES:
        tx.run(f"DELETE FROM {table}")
