"""All five rooms in one app: a register, an avatar, agents that use both, recorded metrics."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.console.app_views import AppViews
from pentad.kernel.principal import LOCAL, Principal
from pentad.rooms.agents.service import Agents
from pentad.rooms.avatars.service import Avatars
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.behaviour.avatars.folders import beekeeper
from tests.stores import app_database

HERE = "tests.behaviour.together.agents"
ADA = Principal("jwt:ada", "ada", frozenset({"*:read", "*:write"}))
BEN = Principal("jwt:ben", "ben", frozenset({"*:read", "*:write"}))
PERMIT = {
    "title": {"type": "string"},
    "evidence": {"type": "array", "items": {"type": "string", "format": "uri-reference"}},
    "source": {"type": "object", "properties": {"at": {"type": "string", "format": "uri-reference"}}},
}
DECISION = {
    "verdict": {"type": "string"},
    "because": {"type": "string", "format": "uri-reference"},
}


def uri_of(made: Mapping[str, Any]) -> str:
    """The URI of an object that a tool returned."""
    facts = made["@self"]
    return f"openregister://objects/{facts['register']}/{facts['schema']}/{made['id']}"


@dataclass
class House:
    """The app, with the usual actions of the tests."""

    app: App

    async def call(self, tool: str, who: Principal = ADA, /, **arguments: Any) -> dict[str, Any]:
        result = await self.app.neighbours.call_tool(who, tool, arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    async def refused(self, tool: str, who: Principal = ADA, /, **arguments: Any) -> dict[str, Any]:
        result = await self.app.neighbours.call_tool(who, tool, arguments)
        assert result.get("isError"), result
        return result["_meta"]["pentad/error"]

    async def read(self, uri: str, who: Principal = ADA) -> Any:
        (found,) = await self.app.neighbours.read(who, uri)
        return json.loads(found.text or "")

    async def create(self, schema: str, data: Mapping[str, Any], who: Principal = ADA) -> dict[str, Any]:
        made = await self.call("objects", who, action="create", register="town", schema=schema, data=dict(data))
        return {**made, "uri": uri_of(made)}

    def service(self, room: str) -> Any:
        return next(one.service for one in self.app.rooms if one.room.name == room)

    @property
    def agents(self) -> Agents:
        return self.service("agents")

    @property
    def avatars(self) -> Avatars:
        return self.service("avatars")

    @property
    def metrics(self) -> Metrics:
        return self.service("metrics")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.interop)])
async def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    home = tmp_path_factory.mktemp("together")
    agents = tuple(f"{HERE}:{name}" for name in ("reviewer", "painter", "reader", "cautious"))
    rooms = ("agents", "avatars", "directory", "metrics", "registers")
    tables = {"metrics": {"poll": {"host": 0, "pentad": 0}}}  # figures are recorded once, below, however long it takes
    settings = Settings(
        data=home / "data", rooms=rooms, auth="none", models=home / "none", agent=agents, room_tables=tables
    )
    async with app_database(request, rooms) as url, open_app(replace(settings, database=url), views=AppViews()) as app:
        house = House(app)
        report = await house.avatars.ingest(beekeeper(home))
        assert not report.of("failed"), report.as_json()
        for slug, properties in (("permit", PERMIT), ("decision", DECISION)):
            schema = {"slug": slug, "title": slug, "properties": properties}
            await house.call("schemas", LOCAL, action="create", data=schema)
        town = {"slug": "town", "title": "Town", "schemas": ["permit", "decision"]}
        await house.call("registers", LOCAL, action="create", data=town)
        info = house.metrics.info("pentad")
        answer = await house.metrics.collect(info.id, house.metrics.query(info.id))
        await house.metrics.history.record(info, answer.snapshot)
        yield house
