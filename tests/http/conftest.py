"""An app with the lab and a room with ordinary routes, open to everybody or behind credentials."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.kernel.default_limits import Limits
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of, make_app

__all__ = ["closed", "make_app", "site"]

PAGES = "tests.http.room:ROOM"
HALL = "tests.http.mount_room:ROOM"
UNHURRIED = Limits(anonymous_per_second=0, logins_per_second=0)
"""For tests that send more wrong credentials than one address may."""


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Front]:
    """All rooms, without credentials."""
    settings = Settings(data=tmp_path_factory.mktemp("site"), rooms=(LAB, PAGES, HALL), auth="none")
    async with open_app(settings) as app:
        yield front_of(app)


@dataclass(frozen=True)
class Closed:
    """An app behind credentials, with a header for each role."""

    app: App
    front: Front
    headers: dict[str, str]


@pytest.fixture(scope="module")
async def closed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Closed]:
    """Both rooms, behind credentials."""
    settings = Settings(
        data=tmp_path_factory.mktemp("closed"),
        rooms=(LAB, PAGES),
        public_url="https://pentad.example",
        limits=UNHURRIED,
    )
    async with open_app(settings) as app:
        scopes = {
            "reader": ["*:read"],
            "writer": ["*:read", "*:write"],
            "admin": ["*:*"],
            "pages only": ["pages:*"],
        }
        keys = {role: (await app.api_keys.create(role, scopes=wanted)).token for role, wanted in scopes.items()}
        yield Closed(app, front_of(app), {role: f"Bearer {token}" for role, token in keys.items()})
