"""A server with a user of each kind, and the browsers they log in with."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.net.fetch_policy import FetchPolicy
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.http.browsing import PASSWORD, Browser
from tests.http.conftest import PAGES, UNHURRIED


@dataclass
class House:
    """`root` is an administrator, `rita` a reader, `auditor` a reader who may also read the audit trail."""

    app: App
    front: Front

    async def browser(self, name: str) -> Browser:
        """A new browser in which the user is logged in."""
        browser = Browser(self.front)
        assert (await browser.log_in(name)).status == 303
        return browser

    async def status(self, token: str) -> int:
        """How the server answers a program with this key or token."""
        answer = send(self.front, "GET", "/api/account", {"authorization": f"Bearer {token}"})
        await answer.body()
        return answer.status

    async def events(self, tool: str) -> list[tuple[str, str, str]]:
        """Who did this, to what, and how it ended."""
        await self.app.audit.flush()
        return [(one.principal, one.target, one.outcome) for one in await self.app.audit.recent(tool=tool)]


@asynccontextmanager
async def open_house(
    data: Path,
    rooms: tuple[str, ...] = (PAGES,),
    confirm: tuple[str, ...] = (),
    room_tables: dict[str, dict[str, Any]] | None = None,
    fetch: FetchPolicy | None = None,
) -> AsyncGenerator[House]:
    settings = Settings(
        data=data,
        rooms=rooms,
        limits=UNHURRIED,
        search=SearchSettings(embedder="none"),
        confirm=confirm,
        room_tables=room_tables or {},
        fetch=fetch or FetchPolicy(),
    )
    async with open_app(settings) as app:
        await app.users.add("root", PASSWORD, role="admin")
        await app.users.add("rita", PASSWORD)
        await app.users.add("auditor", PASSWORD, scopes=["audit:admin"])
        yield House(app, front_of(app))


async def press(browser: Browser, page: str, action: str, **fields: str) -> tuple[int, str, str]:
    """Send a form of a page; the status, where it leads, and what it shows."""
    shown = await browser.get(page)
    assert shown.status == 200, shown.body
    assert f'action="{action}"' in shown.body
    answer = await browser.post(action, {**fields, "csrf": shown.hidden("csrf")})
    return answer.status, answer.location or "", answer.body


async def csrf_of(browser: Browser) -> str:
    """The CSRF token of a browser that is logged in."""
    return (await browser.get("/console/account")).hidden("csrf")


async def listed(browser: Browser, what: str) -> list[dict[str, Any]]:
    """What REST lists of the visitor's own account: keys, grants or sessions."""
    answer = await browser.get(f"/api/account/{what}", accept="application/json", sec_fetch_mode="cors")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)[what]
