"""One server, and the foreign environments, for all interop tests."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conformance.server import Served, serving
from tests.interop.environments import sdk_python


@pytest.fixture(scope="session")
def served() -> Generator[Served]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def sdk() -> Path:
    return sdk_python()
