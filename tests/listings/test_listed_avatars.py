"""Avatars are in the directory, with the address where each is served."""

import json
import shutil
from pathlib import Path

import pytest

from pentad.kernel.principal import Principal
from pentad.rooms.agents.service import Agents
from pentad.rooms.avatars.service import Avatars
from tests.behaviour.avatars.folders import keeper
from tests.listings.directories import BUILT_IN, call, refused, serving, until_listed
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio

NAME = "avatar-ida-brandt"
URL = "http://127.0.0.1:8700/rooms/avatars/ida-brandt/mcp"


@pytest.mark.requirement("listings:avatars")
async def test_an_avatar_is_listed_after_its_ingest_and_gone_after_its_removal(
    tmp_path: Path, database: str | None
) -> None:
    folder = keeper(tmp_path)
    async with serving(tmp_path / "data", database, rooms=("avatars", "directory")) as app:
        avatars: Avatars = app.rooms[0].service
        await avatars.ingest(folder)
        before = (await until_listed(app, NAME))[NAME]
        assert before["version"] == "1.0.0"
        assert before["locators"] == [{"type": "url", "urls": [URL]}]
        assert before["skills"][0]["name"].endswith("document_retrieval")
        (module,) = before["modules"]
        assert {"type": "streamable-http", "url": URL} in module["data"]["connections"]
        assert (await call(app, "directory_resolve", reference=NAME))["cid"] == before["cid"]

        config = json.loads((folder / "config.json").read_text("utf-8"))
        config["mcp"]["version"] = "1.1.0"
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
        await avatars.ingest(folder)
        after = await until(lambda: until_listed(app, NAME), lambda found: found[NAME]["cid"] != before["cid"])
        assert after[NAME]["version"] == "1.1.0"

        await avatars.remove("ida-brandt")
        await until_listed(app)
    shutil.rmtree(folder)


@pytest.mark.requirement("listings:avatar-agents")
async def test_an_avatar_is_an_agent_that_answers_tasks_with_citations(tmp_path: Path, database: str | None) -> None:
    folder = keeper(tmp_path)
    rooms = ("agents", "avatars", "directory")
    async with serving(tmp_path / "data", database, rooms=rooms) as app:
        avatars: Avatars = app.rooms[1].service
        await avatars.ingest(folder)
        record = await until(
            lambda: until_listed(app, *BUILT_IN, NAME), lambda found: len(found[NAME]["modules"]) == 2, 2.0
        )
        by_name = {one["name"]: one["data"] for one in record[NAME]["modules"]}
        assert by_name["integration/a2a"]["card_data"]["url"] == "http://localhost:8700/agents/ida-brandt"
        assert {"type": "streamable-http", "url": URL} in by_name["integration/mcp"]["connections"]
        agents = (await call(app, "agents_list", query="dikes and canals"))["agents"]
        assert agents[0]["id"] == "pentad/ida-brandt"

        first = await call(app, "agents_send_task", agent="ida-brandt", text="How many sluices had the Lower Marsh?")
        assert first["state"] == "completed"
        assert "27 sluices" in first["text"]
        (answer,) = first["artifacts"]
        (data,) = answer["data"]
        assert data["citations"][0]["source"]
        assert not data["abstained"]
        again = await call(
            app, "agents_send_task", agent="ida-brandt", text="Who lived beside them?", context_id=first["context_id"]
        )
        assert again["artifacts"][0]["data"][0]["query"] != "Who lived beside them?", "it knows the conversation"

        await avatars.remove("ida-brandt")
        await until_listed(app, *BUILT_IN)
        assert "ida-brandt" in await refused(app, "agents_send_task", agent="ida-brandt", text="Are you there?")


@pytest.mark.requirement("listings:avatar-agents")
async def test_a_task_of_an_avatar_needs_the_right_to_read_avatars(tmp_path: Path) -> None:
    folder = keeper(tmp_path)
    async with serving(tmp_path / "data", None, rooms=("agents", "avatars")) as app:
        await app.rooms[1].service.ingest(folder)
        agents: Agents = app.rooms[0].service
        await until_true(lambda: "ida-brandt" in agents.agents)
        stranger = Principal("jwt:one", "one", frozenset({"agents:*"}))
        result = await app.neighbours.call_tool(
            stranger, "agents_send_task", {"agent": "ida-brandt", "text": "How many sluices?"}
        )
        assert result["structuredContent"]["state"] == "failed"
        assert "avatars:read" in result["structuredContent"]["text"]


@pytest.mark.requirement("listings:avatar-agents")
async def test_an_avatar_leaves_an_agent_of_the_same_name_alone(tmp_path: Path) -> None:
    folder = keeper(tmp_path)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "id": "echo"}), "utf-8")
    async with serving(tmp_path / "data", None, rooms=("agents", "avatars", "directory")) as app:
        await app.rooms[1].service.ingest(folder)
        records = await until_listed(app, *BUILT_IN, NAME)
        assert [one["name"] for one in records[NAME]["modules"]] == ["integration/mcp"]
        assert (await call(app, "agents_send_task", agent="echo", text="hello"))["text"] == "hello"
