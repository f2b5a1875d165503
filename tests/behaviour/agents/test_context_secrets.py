"""Secrets in contexts over every dialect, in the three modes an operator can choose."""

import contextlib
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.errors import Misconfigured
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import Wire
from tests.behaviour.clients import HTTP_MODERN, SESSION
from tests.behaviour.clients import Wire as McpWire
from tests.behaviour.connecting import connect_http
from tests.stores import stored_text

pytestmark = pytest.mark.anyio

ECHO = "/agents/echo"
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
CONTENT = {"password": "hunter", "note": f"use {SECRET}", "pin": "board", SECRET: "name"}
CONTEXT = {"mcp_context": {"items": {"a": {"mediaType": "application/json", "content": CONTENT}}}}
MASKED, FOUND = "urn:pentad:a2a:mcp-context:v1/masked", "urn:pentad:a2a:mcp-context:v1/found"
AT = "/items/a/content"
PLACES = [
    {"pointer": f"{AT}/password", "what": "key-name"},
    {"pointer": f"{AT}/note", "what": "github-token"},
    {"pointer": f"{AT}/[redacted:github-token]", "what": "key"},
]


@contextlib.asynccontextmanager
async def served(data: Path, mode: str | None, database: str | None = None) -> AsyncGenerator[Wire]:
    table = {} if mode is None else {"agents": {"context_secrets": mode}}
    settings = Settings(data=data, database=database, rooms=("agents",), auth="none", room_tables=table)
    async with open_app(settings) as app:
        yield Wire(app)


async def sent_in_every_dialect(wire: Wire) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The metadata of task and message, in each dialect of A2A and each era of MCP."""
    vault = {"role": "user", "parts": [{"type": "text", "content": "x"}], "metadata": CONTEXT}
    taken = await wire.call("tasks/send", {"message": vault}, ECHO)
    vaulted = await wire.call("tasks/get", {"id": taken["id"]}, ECHO)
    old = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "x"}]}
    older = await wire.call("message/send", {"message": {**old, "metadata": CONTEXT}}, ECHO)
    new = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}], "metadata": CONTEXT}}
    newer = (await wire.call("SendMessage", new, ECHO, a2a_version="1.0"))["task"]
    rest = (await wire.rest("POST", f"{ECHO}/message:send", new, a2a_version="1.0").json())["task"]
    tools = [await sent_by_tool(wire, era) for era in (SESSION, HTTP_MODERN)]
    pairs = [(vaulted, "messages"), *((task, "history") for task in (older, newer, rest, *tools))]
    return [(task.get("metadata") or {}, task[history][0]["metadata"]) for task, history in pairs]


async def sent_by_tool(wire: Wire, era: McpWire) -> Any:
    """The task that a tool call created."""
    client = await connect_http(wire.app, era)
    arguments = {"agent": "echo", "text": "x", "context": CONTEXT["mcp_context"]}
    made = (await client.call("agents_send_task", arguments)).result["structuredContent"]
    await client.close()
    return await wire.call("GetTask", {"id": made["task_id"]}, ECHO, a2a_version="1.0")


@pytest.mark.parametrize("mode", [None, "mask"])
@pytest.mark.requirement("agents:context:secrets-mode")
async def test_secrets_are_masked_unless_the_operator_says_otherwise(
    tmp_path: Path, mode: str | None, database_url: str | None
) -> None:
    async with served(tmp_path, mode, database_url) as wire:
        sent = await sent_in_every_dialect(wire)
        listed = await wire.rest("GET", "/console/agents/tasks").body()
        pages = [await wire.rest("GET", one).body() for one in set(re.findall(r'href="(/console[^"]+)', str(listed)))]
        assert len(pages) > len(sent), "there is a page for each task"
        assert SECRET not in str([listed, *pages]) + await stored_text(wire.app.database)
        for task, message in sent:
            assert SECRET not in json.dumps([task, message])
            assert "hunter" not in json.dumps(message)
            assert message["mcp_context"]["items"]["a"]["content"]["pin"] == "board"
            for told in (task, message):
                assert sorted(told[MASKED], key=str) == sorted(PLACES, key=str)
                assert FOUND not in told


@pytest.mark.requirement("agents:context:secrets-mode")
async def test_secrets_are_reported_and_left_in_place_where_the_operator_wants_that(tmp_path: Path) -> None:
    async with served(tmp_path, "report") as wire:
        for task, message in await sent_in_every_dialect(wire):
            assert message["mcp_context"] == CONTEXT["mcp_context"]
            for told in (task, message):
                assert sorted(told[FOUND], key=str) == sorted(PLACES, key=str)
                assert SECRET not in json.dumps(told[FOUND])
                assert MASKED not in told


@pytest.mark.requirement("agents:context:secrets-mode")
async def test_nobody_looks_for_secrets_where_that_is_off(tmp_path: Path) -> None:
    async with served(tmp_path, "off") as wire:
        for task, message in await sent_in_every_dialect(wire):
            assert message["mcp_context"] == CONTEXT["mcp_context"]
            assert not {MASKED, FOUND} & {*task, *message}
        assert SECRET in await stored_text(wire.app.database), "it would be found if it were there"


@pytest.mark.requirement("agents:context:secrets-mode")
async def test_another_mode_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="context_secrets") as refused:
        async with served(tmp_path, "maybe"):
            pass
    assert refused.value.hint == "It must be one of mask, report, off."
