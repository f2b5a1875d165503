"""The agent that calls tools: here with the caller's rights, elsewhere with the operator's key."""

from pathlib import Path
from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.app import App, open_app
from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import Principal
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.agents.hosting.built_in_agents import servers_of
from pentad.settings.model import Settings
from tests.room_settings import room_settings
from tests.rooms.agents.interface.conftest import Caller, Other

pytestmark = pytest.mark.anyio

LIMITED = Principal("jwt:lim", "lim", frozenset({"agents:read", "agents:write"}))


def wanted(tool: str, server: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"tool_name": tool, "arguments": arguments, **({"target_mcp_server_id": server} if server else {})}


@pytest.mark.requirement("agents:proxy:form")
async def test_a_tool_of_this_server_is_called_and_its_result_is_the_artifact(call: Caller) -> None:
    data = wanted("agents_list", "pentad", tags=["reading"])
    task = await call("agents_send_task", agent="tool-proxy", data=data)

    assert (task["state"], task["text"]) == ("completed", "agents_list answered.")
    [artifact] = task["artifacts"]
    assert artifact["data"][0]["structuredContent"]["agents"][0]["id"] == "pentad/reader"


@pytest.mark.requirement("agents:proxy:rights")
async def test_a_tool_is_called_with_the_rights_of_who_sent_the_task(app: App) -> None:
    data = wanted("agntcy_oasf_list_versions")
    result = await app.neighbours.call_tool(LIMITED, "agents_send_task", {"agent": "tool-proxy", "data": data})

    task = result["structuredContent"]
    assert task["state"] == "failed"
    assert "directory:read" in task["text"]


@pytest.mark.requirement("agents:proxy:failures")
async def test_a_tool_that_fails_or_is_not_there_fails_the_task_with_its_words(call: Caller) -> None:
    failed = await call("agents_send_task", agent="tool-proxy", data=wanted("agents_get_task", task_id="none"))
    missing = await call("agents_send_task", agent="tool-proxy", data=wanted("no_such_tool"))
    elsewhere = await call("agents_send_task", agent="tool-proxy", data=wanted("x", "nowhere"))

    assert (failed["state"], missing["state"], elsewhere["state"]) == ("failed", "failed", "failed")
    assert "There is no task 'none'" in failed["text"]
    assert "no_such_tool" in missing["text"]
    assert "No MCP server is called 'nowhere'" in elsewhere["text"]


@pytest.mark.parametrize("data", [{"tool": "x"}, {"tool_name": 5}, {"tool_name": "x", "arguments": [1]}])
@pytest.mark.requirement("agents:proxy:failures")
async def test_a_message_without_a_tool_call_is_rejected(call: Caller, data: dict[str, Any]) -> None:
    task = await call("agents_send_task", agent="tool-proxy", data=data)

    assert task["state"] == "rejected"
    assert "target_mcp_server_id" in task["text"]


async def test_an_agent_that_calls_itself_through_the_proxy_comes_to_an_end(call: Caller) -> None:
    inner: dict[str, Any] = wanted("agents_list")
    for _ in range(12):
        inner = wanted("agents_send_task", agent="tool-proxy", data=inner)

    task = await call("agents_send_task", agent="tool-proxy", data=inner)

    assert task["state"] in ("completed", "failed")


@pytest.mark.requirement("agents:proxy:elsewhere")
async def test_a_tool_of_another_server_is_called_with_the_key_that_was_set_up(tmp_path: Path, other: Other) -> None:
    url, key = f"{other.site}/mcp", other.key
    settings = Settings(
        data=tmp_path / "own",
        rooms=("agents",),
        fetch=FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True),
        room_tables={"agents": {"mcp_servers": {"office": {"url": url, "key": key}, "closed": url}}},
    )
    writer = Principal("jwt:wil", "wil", role_scopes("writer"))
    async with open_app(settings) as app:
        answers = [
            await app.neighbours.call_tool(
                writer, "agents_send_task", {"agent": "tool-proxy", "data": wanted("agents_list", server)}
            )
            for server in ("office", "closed")
        ]
    office, closed = (one["structuredContent"] for one in answers)
    assert office["artifacts"][0]["data"][0]["structuredContent"]["agents"][0]["id"] == "pentad/echo"
    assert (closed["state"], closed["text"].startswith("The server requires a login.")) == ("failed", True)


def test_servers_are_read_from_a_table_or_a_text_and_a_bad_one_is_named() -> None:
    def read(given: Any) -> Any:
        return servers_of(room_settings("agents", mcp_servers=given).mcp_servers)

    assert read("a=https://a.example/mcp, b=http://b.example/mcp") == {
        "a": ("https://a.example/mcp", None),
        "b": ("http://b.example/mcp", None),
    }
    for bad in (["x"], {"a": "ftp://x"}, {"pentad": "https://x"}, {"a": {"key": "k"}}):
        with pytest.raises(Misconfigured):
            read(bad)
