"""A console with a room of test pages and one without pages, open to everybody or behind a login."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.kernel.default_limits import Limits
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.console.house import House, open_house
from tests.console.reading import Read, is_inert, read

SHOW = "tests.console.showroom:ROOM"
LIMITS = Limits(tool_seconds=1.0)


@dataclass(frozen=True)
class Shown:
    """One answer of the console, as a browser sees it."""

    http: HttpAnswer
    page: Read

    @property
    def status(self) -> int:
        return self.http.status


@dataclass(frozen=True)
class Browser:
    """Somebody who looks at pages, signed in or not."""

    app: App
    front: Front
    authorization: str | None = None

    async def get(self, path: str) -> Shown:
        headers = {} if self.authorization is None else {"authorization": self.authorization}
        answer = send(self.front, "GET", path, headers)
        body = (await answer.body()).decode()
        assert answer.headers["content-type"] == "text/html; charset=utf-8", body[:200]
        page = read(body)
        is_inert(page)
        return Shown(answer, page)


@pytest.fixture(scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    """A console without a login."""
    settings = Settings(data=tmp_path_factory.mktemp("open"), rooms=(SHOW, LAB), auth="none", limits=LIMITS)
    async with open_app(settings) as app:
        yield Browser(app, front_of(app))


@pytest.fixture(scope="module")
async def closed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    """A console behind a login, and nobody signed in yet."""
    async with open_app(Settings(data=tmp_path_factory.mktemp("closed"), rooms=(SHOW, LAB))) as app:
        yield Browser(app, front_of(app))


@pytest.fixture
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """A server with users, for tests of what their browsers can do."""
    async with open_house(tmp_path_factory.mktemp("house")) as opened:
        yield opened
