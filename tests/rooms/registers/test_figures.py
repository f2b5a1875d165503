"""How much there is of registers, schemas and objects is told by nobody to whom it is not told one by one."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.http.application import http_application
from pentad.rooms.metrics.engine.query_engine import build_query
from pentad.rooms.metrics.metric_keys import flatten
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.rooms.registers.site import Site
from tests.stores import Stores

pytestmark = pytest.mark.anyio

MADE = 41
"""More than there are of anything else."""


def numbers(told: Any) -> list[float]:
    return [match.value for match in flatten(told) if isinstance(match.value, int | float)]


@pytest.mark.requirement("registers:organisations:figures")
async def test_figures_of_the_server_do_not_count_what_organisations_have(stores: Stores, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", database=stores.url, rooms=("registers", "metrics"))
    async with contextlib.AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(settings))
        scopes = {"admin": ["*:*"], "reader": ["*:read"]}
        keys = {name: (await app.api_keys.create(name, scopes=some)).token for name, some in scopes.items()}
        site = Site(app, http_application(app), keys)
        await site.made("/organisations", {"slug": "others", "title": "Others"})
        place = await site.pair({"n": {"type": "integer"}}, organisation="others")
        for n in range(MADE):
            await site.made("/registers", {"title": f"Register {n}", "organisation": "others"})
            await site.made(place, {"n": n})
        ready = (await site.send("GET", "/readyz", who="reader")).json
        assert ready["rooms"]["registers"] == {"status": "ok"}
        page = (await site.send("GET", "/readyz", who="")).json
        assert page.get("rooms", {}).get("registers", {}) in ({}, {"status": "ok"})
        metrics: Metrics = next(opened.service for opened in app.rooms if opened.room.name == "metrics")
        tree = (await metrics.collect("pentad", build_query(metrics.info("pentad"), app.clock))).snapshot.tree
        holdings = {part: told for part, told in tree.items() if part not in ("calls", "tools", "process", "store")}
        assert not any(number >= MADE for number in numbers(holdings)), holdings
        assert not any(figure["id"].startswith("registers.") for figure in tree["rooms"])
