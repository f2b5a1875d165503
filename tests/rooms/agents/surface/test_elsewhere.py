"""Tasks handed to agents of another server: by their card's address, or by their readable id once registered."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pentad.app import App, open_app
from pentad.net.addresses import networks
from pentad.net.policy import FetchPolicy
from pentad.settings.model import Settings
from tests.rooms.agents.surface.conftest import Caller, Other

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(tmp_path: Path, other: Other) -> AsyncIterator[App]:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({other.site.removeprefix("http://"): other.key}), encoding="utf-8")
    settings = Settings(
        data=tmp_path / "own",
        rooms=("agents",),
        auth="none",
        fetch=FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True, max_redirects=0),
        room_tables={"agents": {"agent_keys": str(keys)}},
    )
    async with open_app(settings) as app:
        yield app


@pytest.mark.requirement("agents:elsewhere:card")
async def test_a_task_is_handed_to_an_agent_by_the_address_of_its_card(call: Caller, other: Other) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"
    task = await call("agents_send_task", agent=place, text="Over the sea", context={"items": {"a": {"content": "x"}}})

    assert (task["state"], task["text"]) == ("completed", "Over the sea")
    assert "resource" not in task, "it is not ours"
    again = await call("agents_get_task", task_id=task["task_id"], agent=place)
    assert again["text"] == "Over the sea"


@pytest.mark.requirement("agents:elsewhere:registered")
async def test_a_registered_agent_is_asked_answered_and_cancelled_by_its_readable_id(
    call: Caller, other: Other
) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"
    refused = await call.refused("agents_register_card", url=place, list_in_directory=False)
    assert refused["code"] == "conflict", "the echo of this server has that readable id"
    card = other.app.rooms[0].service.cards.public(other.app.rooms[0].service.agents["echo"], other.site)
    card = {**card, "humanReadableId": "harbour/echo"}
    await call("agents_register_card", card=card, list_in_directory=False)

    asked = await call("agents_send_task", agent="harbour/echo", text="ask")
    assert (asked["state"], asked["waiting_for"]) == ("input-required", "an answer")
    done = await call("agents_send_task", agent="Harbour/Echo", text="Good night", task_id=asked["task_id"])
    assert (done["state"], done["text"]) == ("completed", "Good night")
    slow = await call("agents_send_task", agent="harbour/echo", text="slow", wait=False)
    ended = await call("agents_cancel_task", task_id=slow["task_id"], agent="harbour/echo")
    assert ended["state"] == "canceled"


@pytest.mark.requirement("agents:elsewhere:cancellation")
async def test_cancelling_the_call_cancels_the_task_elsewhere(call: Caller, other: Other) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"
    arguments = {"agent": place, "text": "slow"}
    params = {"name": "agents_send_task", "arguments": arguments, "_meta": {"progressToken": 1}}
    waiting = asyncio.create_task(call.client.request("tools/call", params))
    async with asyncio.timeout(10):
        while not any(one["method"] == "notifications/progress" for one in call.client.notifications):
            await asyncio.sleep(0.01)
        await call.client.notify("notifications/cancelled", {"requestId": max(call.client._waiting)})
        database = other.app.database
        while await database.read(lambda rows: rows.value("SELECT state FROM agent_tasks")) != "canceled":
            await asyncio.sleep(0.01)
    waiting.cancel()


@pytest.mark.requirement("agents:elsewhere:keys")
async def test_the_key_of_a_host_goes_to_no_other_host_whatever_its_card_says(call: Caller, other: Other) -> None:
    service = other.app.rooms[0].service
    card = service.cards.public(service.agents["echo"], other.site.replace("localhost", "127.0.0.1"))
    card = {**card, "humanReadableId": other.site.removeprefix("http://")}
    await call("agents_register_card", card=card, list_in_directory=False)

    refused = await call.refused("agents_send_task", agent=card["humanReadableId"], text="hello")

    assert refused["code"] in ("unauthenticated", "forbidden")
    assert await other.app.database.read(lambda rows: rows.value("SELECT count(*) FROM agent_tasks")) == 0
