"""Deadlines: everything a room does for a caller ends in time, and the deadline is paused while the client is asked."""

import asyncio
from typing import Any

import pytest

from pentad.kernel.default_limits import Limits
from tests.behaviour.clients import HTTP_MODERN, SESSION, Wire, wire_name
from tests.behaviour.connecting import AppMaker, connect_http

pytestmark = pytest.mark.anyio

SECONDS = 0.05


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "slow://x"}),
        ("resources/list", {}),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "slow://{name}"}, "argument": {"name": "name", "value": ""}},
        ),
    ],
)
@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:limits:deadline")
async def test_every_request_a_room_answers_has_a_deadline(
    make_app: AppMaker, wire: Wire, method: str, params: dict[str, Any]
) -> None:
    app = await make_app(rooms=("tests.behaviour.slow_room:ROOM",), limits=Limits(tool_seconds=SECONDS))
    client = await connect_http(app, wire)
    if method == "resources/list":  # the first page has the declared ones, and calls no room
        params = {"cursor": (await client.request(method, params)).result["nextCursor"]}
    error = (await client.request(method, params)).error
    assert error["code"] == -32603
    assert f"{SECONDS:g} seconds" in error["message"]
    await client.close()


@pytest.mark.parametrize(
    ("method", "params"),
    [("tools/call", {"name": "ask_person", "arguments": {}}), ("prompts/get", {"name": "introduction"})],
)
@pytest.mark.requirement("mcp:asking:deadline-stands-still")
async def test_a_person_may_take_longer_than_the_deadline(
    make_app: AppMaker, method: str, params: dict[str, Any]
) -> None:
    app = await make_app(limits=Limits(tool_seconds=SECONDS))
    client = await connect_http(app, SESSION, {"elicitation": {}})
    exchange = await client.open(method, params)
    question = await exchange.wait_for("elicitation/create")
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(3 * SECONDS, passed.set)
    await passed.wait()
    await client.respond(question["id"], {"action": "accept", "content": {"name": "Ada"}})
    assert "Ada" in str((await exchange.reply()).result)
    await client.close()
