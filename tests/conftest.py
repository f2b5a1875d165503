"""What every test shares: one event loop implementation, and the stores."""

import pytest

from tests.pulled import pulled_model
from tests.stores import postgres_server, store, stores

__all__ = ["postgres_server", "pulled_model", "store", "stores"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
