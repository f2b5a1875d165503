"""What every test shares: one event loop implementation, and the stores."""

import pytest

from tests.stores import postgres_server, store, stores

__all__ = ["postgres_server", "store", "stores"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
