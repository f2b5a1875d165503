"""An open Pentad with agents of the tests' own."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.mcp.memory import MemoryClient
from pentad.settings.model import Settings

HERE = "tests.rooms.agents.surface.agents"


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
