"""The served directory that the client talks to."""

from collections.abc import AsyncIterator

import pytest

from tests.rooms.directory.interface.grpc.conftest import site

__all__ = ["site"]


@pytest.fixture(scope="session", autouse=True)
async def one_event_loop(anyio_backend: str) -> AsyncIterator[None]:
    """The tests share a loop: gRPC tells loops of calls that have ended, and fails in the next one if that is closed."""
    yield
