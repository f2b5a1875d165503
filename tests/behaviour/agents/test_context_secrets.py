"""Secrets in contexts over every dialect, in the three modes an operator can choose."""

import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.errors import Misconfigured
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import Wire

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
async def served(data: Path, mode: str | None) -> AsyncGenerator[Wire]:
    table = {} if mode is None else {"agents": {"context_secrets": mode}}
    async with open_app(Settings(data=data, rooms=("agents",), auth="none", room_tables=table)) as app:
        yield Wire(app)


async def sent_in_every_dialect(wire: Wire) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The metadata of task and message, for each dialect."""
    vault = {"role": "user", "parts": [{"type": "text", "content": "x"}], "metadata": CONTEXT}
    taken = await wire.call("tasks/send", {"message": vault}, ECHO)
    vaulted = await wire.call("tasks/get", {"id": taken["id"]}, ECHO)
    old = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "x"}]}
    older = await wire.call("message/send", {"message": {**old, "metadata": CONTEXT}}, ECHO)
    new = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}], "metadata": CONTEXT}}
    newer = (await wire.call("SendMessage", new, ECHO, a2a_version="1.0"))["task"]
    rest = (await wire.rest("POST", f"{ECHO}/message:send", new, a2a_version="1.0").json())["task"]
    return [
        (task.get("metadata") or {}, task[history][0]["metadata"])
        for task, history in ((vaulted, "messages"), (older, "history"), (newer, "history"), (rest, "history"))
    ]


@pytest.mark.parametrize("mode", [None, "mask"])
@pytest.mark.requirement("agents:context:secrets-mode")
async def test_secrets_are_masked_unless_the_operator_says_otherwise(tmp_path: Path, mode: str | None) -> None:
    async with served(tmp_path, mode) as wire:
        for task, message in await sent_in_every_dialect(wire):
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


@pytest.mark.requirement("agents:context:secrets-mode")
async def test_another_mode_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="context_secrets") as refused:
        async with served(tmp_path, "maybe"):
            pass
    assert refused.value.hint == "Write off, report, mask."
