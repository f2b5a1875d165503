"""An open Pentad with agents of the tests' own."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from pentad.app import App, open_app
from pentad.mcp.connection import MemoryClient
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.waiting import until_true

HERE = "tests.rooms.agents.interface.agents"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    settings = Settings(
        data=tmp_path_factory.mktemp("agents"),
        rooms=("agents", "directory"),
        auth="none",
        agent=(f"{HERE}:Reader", f"{HERE}:painter"),
    )
    async with open_app(settings) as app:
        yield app


class Caller:
    """Calls tools and gives back what they say."""

    def __init__(self, client: MemoryClient) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    async def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert result["isError"], result
        return result["_meta"]["pentad/error"]

    async def read(self, uri: str) -> Any:
        answer = await self.client.request("resources/read", {"uri": uri})
        return json.loads(answer["contents"][0]["text"])


@pytest.fixture
async def call(app: App) -> AsyncIterator[Caller]:
    async with app.client() as client:
        yield Caller(client)


@dataclass
class Other:
    """Another server: its address, and a key with which it lets one in."""

    site: str
    key: str
    app: App


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Other]:
    """Another Pentad, on a socket of its own."""
    async with open_app(Settings(data=tmp_path / "other", rooms=("agents",), port=0)) as app:
        key = (await app.api_keys.create("proxy", scopes=["*:read", "*:write"])).token
        async with served(app) as site:
            yield Other(site, key, app)


@asynccontextmanager
async def served(app: App) -> AsyncGenerator[str]:
    """The address of an app on a socket of its own."""
    server = uvicorn.Server(uvicorn.Config(front_of(app), port=0, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    await until_true(lambda: server.started)
    yield f"http://localhost:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving
