"""What every test shares: one event loop implementation, and no plug-in surprises."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
