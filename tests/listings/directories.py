"""Servers that list what they host, and what their directory says."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.waiting import until

BUILT_IN = ("pentad/echo", "pentad/tool-proxy")


@asynccontextmanager
async def serving(
    data: Path, database: str | None, *agents: str, rooms: tuple[str, ...] = ("agents", "directory"), port: int = 8700
) -> AsyncGenerator[App]:
    settings = Settings(data=data, database=database, rooms=rooms, auth="none", agent=agents, port=port)
    async with open_app(settings) as app:
        await app.list_hosted()
        yield app


async def call(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    async with app.client() as client:
        result = await client.call_tool(tool, arguments)
        assert not result["isError"], result
        return result["structuredContent"]


async def refused(app: App, tool: str, **arguments: Any) -> str:
    async with app.client() as client:
        result = await client.call_tool(tool, arguments)
        assert result["isError"], result
        return result["content"][0]["text"]


async def listed(app: App) -> dict[str, dict[str, Any]]:
    """The signed records of listings by name, each with its `cid`."""
    filters = {"annotations": ["listed_by:pentad"], "trusted": True, "return": "records", "limit": 1000}
    found = await call(app, "agntcy_dir_search_local", **filters)
    return {one["record"]["name"]: {"cid": one["cid"], **one["record"]} for one in found.get("records", ())}


async def until_listed(app: App, *names: str) -> dict[str, dict[str, Any]]:
    """The records once exactly these names are listed, and signed."""

    return await until(lambda: listed(app), lambda found: set(found) == set(names))
