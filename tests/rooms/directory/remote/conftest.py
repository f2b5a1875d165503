"""The served directory that the client talks to."""

from collections.abc import AsyncIterator

import pytest

from tests.rooms.directory.interface.grpc.conftest import site

__all__ = ["site"]


@pytest.fixture(scope="session", autouse=True)
async def one_event_loop(anyio_backend: str) -> AsyncIterator[None]:
    """One loop for all tests: gRPC tells a loop of calls that have ended, and fails in the next one if it is closed."""
    yield  # noqa: PT022  the loop stays open as long as this fixture
