"""The benchmark of the console measures every page."""

import pytest
from starlette.routing import Match, Route

from benchmarks.console import LEFT_OUT, PAGES
from pentad.console.routes import JSON
from pentad.console.scripts import ASSETS
from tests.console.house import open_house

ROOMS = ("registers", "directory", "agents", "avatars", "metrics")
NOT_PAGES = {"/console", "/console/{rest:path}", *(one.path for one in ASSETS)}
"""The same as `/`, unknown addresses, and files."""


@pytest.mark.anyio
@pytest.mark.requirement("console:growth")
async def test_every_page_is_measured_or_left_out_for_a_reason(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with open_house(tmp_path_factory.mktemp("pages"), ROOMS) as house:
        routes = [one for one in house.front.mounts.routes.routes if isinstance(one, Route)]
    pages = {
        one.path
        for one in routes
        if "GET" in (one.methods or ()) and (one.path == "/" or one.path.startswith("/console"))
        if not one.path.endswith(JSON) and one.path not in NOT_PAGES
    }
    measured: set[str] = set()
    for _, path in PAGES:
        scope = {"type": "http", "method": "GET", "path": path.partition("?")[0]}
        measured.add(next(one.path for one in routes if one.matches(scope)[0] is Match.FULL))
    assert measured <= pages
    assert pages - measured == LEFT_OUT.keys()
