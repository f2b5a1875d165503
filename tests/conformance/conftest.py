"""One server for all black-box tests of the protocol."""

from collections.abc import Generator

import pytest

from tests.conformance.server import Served, serving
from tests.conformance.wire import Modern, Wire


@pytest.fixture(scope="session")
def served() -> Generator[Served]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def wire(served: Served) -> Wire:
    return Wire(served.port)


@pytest.fixture
def modern(wire: Wire) -> Modern:
    """A client of the stateless era that can do nothing special."""
    return Modern(wire)


@pytest.fixture
def able(wire: Wire) -> Modern:
    """A client of the stateless era that answers every kind of question."""
    return Modern(wire, {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}})
