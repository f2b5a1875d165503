"""One server, the foreign environments and a browser for all interop tests."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conformance.server import Served, serving
from tests.interop.environments import sdk_python
from tests.interop.oauth_peers import Peer, browser, chromium


@pytest.fixture(scope="session")
def served() -> Generator[Served]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def sdk() -> Path:
    return sdk_python()


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Generator[Peer]:
    """A browser; its users do not share cookies. Skips if there is none, unless BROWSER_REQUIRED is set."""
    if (program := chromium()) is None:
        message = "There is no Chromium on this machine: install the package `chromium`."
        pytest.fail(message) if os.environ.get("BROWSER_REQUIRED") else pytest.skip(message)
    with browser(program, tmp_path_factory.mktemp("browser") / "log") as peer:
        yield peer
