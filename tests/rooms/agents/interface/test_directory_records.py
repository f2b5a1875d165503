"""Tasks for agents of the directory: by name, version or CID of a record, hosted here or remote, or an MCP server."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.principal import Principal
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.settings.model import Settings
from tests.rooms.agents.interface.conftest import Caller, Other, served
from tests.rooms.directory.records.parts import agent
from tests.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(tmp_path: Path, other: Other) -> AsyncIterator[App]:
    host = other.site.removeprefix("http://")
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({host: other.key}), encoding="utf-8")
    settings = Settings(
        data=tmp_path / "own",
        rooms=("agents", "directory"),
        auth="none",
        fetch=FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True),
        room_tables={"agents": {"agent_keys": str(keys), "local_agents": [host]}},
    )
    async with open_app(settings) as app:
        await app.list_hosted()
        yield app


async def push(call: Caller, name: str, *modules: dict[str, Any], version: str = "v1.0.0", **changes: str) -> str:
    record = {**agent(name=name, version=version, **changes), "modules": list(modules)}
    pushed = await call("agntcy_dir_push_record", record_json=json.dumps(record))
    return pushed["cid"]


def a2a(card: dict[str, Any]) -> dict[str, Any]:
    return {"name": "integration/a2a", "data": {"card_data": card, "card_schema_version": "v1.0.0"}}


def mcp(url: str) -> dict[str, Any]:
    return {"name": "integration/mcp", "data": {"name": "m", "connections": [{"type": "streamable-http", "url": url}]}}


@pytest.mark.requirement("listings:send")
async def test_a_hosted_agent_gets_tasks_by_the_name_version_or_cid_of_its_record(call: Caller) -> None:
    found = await until(
        lambda: call("agntcy_dir_search_local", names=["pentad/echo"]), lambda found: found["count"] == 1, 2.0
    )
    (cid,) = found["record_cids"]
    for reference in ("pentad/echo", "pentad/echo:1.0.0", cid, f"pentad/echo@{cid}"):
        task = await call("agents_send_task", agent=reference, text="hello")
        assert (task["agent"], task["state"], task["text"]) == ("echo", "completed", "hello")
    unknown = await call.refused("agents_send_task", agent="pentad/echo:9.9.9", text="hello")
    assert unknown["code"] == "not_found"


@pytest.mark.requirement("listings:send")
async def test_a_remote_agent_gets_tasks_by_its_record_and_the_result_names_the_record(
    call: Caller, other: Other
) -> None:
    agents = other.app.rooms[0].service
    card = {**agents.cards.public(agents.agents["echo"], other.site), "humanReadableId": "harbour/echo"}
    old = await push(call, "harbour/echo", a2a(card))
    new = await push(call, "harbour/echo", a2a(card), version="v2.0.0")

    for reference, cid in (("harbour/echo", new), ("harbour/echo:v1.0.0", old), (old, old)):
        task = await call("agents_send_task", agent=reference, text="Over the sea")
        assert (task["state"], task["text"]) == ("completed", "Over the sea")
        assert task["agent"].endswith(f"@{cid}")
        again = await call("agents_get_task", task_id=task["task_id"], agent=task["agent"])
        assert again["text"] == "Over the sea"


@pytest.mark.requirement("listings:send")
async def test_an_mcp_server_gets_work_by_its_record(call: Caller, tmp_path: Path) -> None:
    rooms = ("tests.rooms.agents.interface.shouting_room:ROOM",)
    async with open_app(Settings(data=tmp_path / "mcp", rooms=rooms, auth="none")) as app, served(app) as site:
        await push(call, "tools/shouting", mcp(f"{site}/mcp"))
        said = await call("agents_send_task", agent="tools/shouting", text="quiet please")
        assert (said["state"], said["text"]) == ("completed", "QUIET PLEASE")
        whistled = await call("agents_send_task", agent="tools/shouting", data={"tool_name": "whistle"})
        assert whistled["text"] == "fweet"
        refused = await call("agents_send_task", agent="tools/shouting", data={"volume": 7})
        assert refused["state"] == "rejected"
        assert "shout, whistle" in refused["text"]


@pytest.mark.requirement("listings:send")
async def test_a_record_without_a_way_to_its_agent_says_so(call: Caller) -> None:
    cid = await push(call, "paper/agent")
    refused = await call.refused("agents_send_task", agent="paper/agent", text="hello")
    assert refused["code"] == "conflict"
    assert "no A2A card and no MCP server" in refused["message"]
    assert refused["details"]["cid"] == cid


@pytest.mark.requirement("dir:states:names")
async def test_work_goes_to_no_withdrawn_record_and_by_name_to_the_version_before(call: Caller, other: Other) -> None:
    agents = other.app.rooms[0].service
    card = {**agents.cards.public(agents.agents["echo"], other.site), "humanReadableId": "harbour/echo"}
    old = await push(call, "harbour/echo", a2a(card))
    new = await push(call, "harbour/echo", a2a({**card, "url": "https://elsewhere.example"}), version="v2.0.0")
    await call("directory_set_state", reference=new, state="withdrawn")
    task = await call("agents_send_task", agent="harbour/echo", text="hello")
    assert task["agent"].endswith(f"@{old}")
    for reference in (new, "harbour/echo:v2.0.0"):
        refused = await call.refused("agents_send_task", agent=reference, text="hello")
        assert refused["code"] == "conflict"
        assert "is withdrawn" in refused["message"]


@pytest.mark.requirement("listings:send")
async def test_a_record_is_found_with_the_rights_of_the_caller(app: App, call: Caller, other: Other) -> None:
    agents = other.app.rooms[0].service
    await push(call, "harbour/echo", a2a(agents.cards.public(agents.agents["echo"], other.site)))
    stranger = Principal("jwt:one", "one", frozenset({"agents:*"}))
    result = await app.neighbours.call_tool(stranger, "agents_send_task", {"agent": "harbour/echo", "text": "x"})
    assert result["isError"]
    assert result["_meta"]["pentad/error"]["code"] == "not_found"
