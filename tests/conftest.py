"""What every test shares: one event loop implementation, the stores, and how many examples a property is tried on."""

import os
import signal

import hypothesis
import pytest

from tests.pulled import pulled_model
from tests.stores import postgres_server, store, stores

__all__ = ["postgres_server", "pulled_model", "store", "stores"]

SAME = os.environ.get("PENTAD_EXAMPLES") == "same"
"""The gate tries the same examples every time: what fails there is what was changed."""

hypothesis.settings.register_profile("short", max_examples=40, deadline=None, derandomize=SAME)
hypothesis.settings.register_profile("long", max_examples=300, deadline=None, derandomize=SAME)
hypothesis.settings.load_profile("long" if os.environ.get("PENTAD_FUZZ") == "long" else "short")


def pytest_configure() -> None:
    """A shell that runs the tests in the background has them ignore Ctrl-C, and their children would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
