"""Tasks handed to agents of another server: by their card's address, or by their readable id once registered."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.net.addresses import networks
from pentad.net.policy import FetchPolicy
from pentad.rooms.agents.interface.mcp_tasks import CallerTasks
from pentad.settings.model import Settings
from tests.behaviour.clients import MEMORY_MODERN, ConnectionClient
from tests.behaviour.connecting import connected_in_memory
from tests.rooms.agents.interface.conftest import Caller, Other
from tests.waiting import until, until_true

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
    secret = {"items": {"a": {"content": "ghp_" + "a1B2c3D4e5F6" * 3}}}
    masked = await call("agents_send_task", agent=place, text="Over the sea", context=secret)
    assert masked["masked"] == [{"pointer": "/items/a/content", "what": "github-token"}]
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
    await until_true(lambda: any(one["method"] == "notifications/progress" for one in call.client.notifications))
    await call.client.notify("notifications/cancelled", {"requestId": max(call.client._waiting)})
    await until(
        lambda: other.app.database.read(lambda rows: rows.value("SELECT state FROM agent_tasks")),
        lambda state: state == "canceled",
    )
    waiting.cancel()


TAKES_TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}}


async def until_status(client: ConnectionClient, task: str, status: str) -> dict[str, Any]:
    found = await until(
        lambda: client.request("tasks/get", {"taskId": task}), lambda found: found.result["status"] == status
    )
    return found.result


@pytest.mark.requirement("agents:elsewhere:mcp-tasks")
async def test_a_call_that_goes_on_elsewhere_becomes_a_task_that_is_asked_answered_and_cancelled(
    app: App, other: Other
) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"
    async with connected_in_memory(app, MEMORY_MODERN, TAKES_TASKS) as client:

        async def send(text: str) -> dict[str, Any]:
            arguments = {"agent": place, "text": text, "max_characters": 500}
            return (await client.call("agents_send_task", arguments)).result

        at_once = await send("Good morning")
        assert (at_once["resultType"], at_once["structuredContent"]["text"]) == ("complete", "Good morning")

        handle = await send("slow")
        assert (handle["resultType"], handle["status"], handle["statusMessage"]) == ("task", "working", "Waiting.")
        assert handle["ttlMs"] > 0
        await client.request("tasks/cancel", {"taskId": handle["taskId"]})
        await until_status(client, handle["taskId"], "cancelled")

        asking = (await send("ask"))["taskId"]
        asked = (await client.request("tasks/get", {"taskId": asking})).result
        ((key, question),) = asked["inputRequests"].items()
        assert question["params"]["message"] == "What shall I say?"
        answer = {key: {"action": "accept", "content": {"answer": "y" * 600}}}
        await client.request("tasks/update", {"taskId": asking, "inputResponses": answer})
        done = (await until_status(client, asking, "completed"))["result"]["structuredContent"]
        assert (done["state"], done["text"], done["agent"]) == ("completed", "y" * 500, place)
        looked = await client.call("agents_get_task", {"task_id": done["task_id"], "agent": place})
        assert looked.result["structuredContent"]["state"] == "completed"

        listening = await client.open("subscriptions/listen", {"notifications": {"taskIds": [asking]}})
        honoured = await listening.wait_for("notifications/subscriptions/acknowledged")
        assert honoured["params"]["notifications"].get("taskIds", []) == [], "nobody tells us of its changes"
        await client.cancel(listening)


async def test_a_task_elsewhere_is_its_owners_alone_and_known_to_every_process(app: App, other: Other) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"
    async with connected_in_memory(app, MEMORY_MODERN, TAKES_TASKS) as client:
        task = (await client.call("agents_send_task", {"agent": place, "text": "slow"})).result["taskId"]
    async with open_app(app.settings) as second, connected_in_memory(second, MEMORY_MODERN, TAKES_TASKS) as client:
        assert (await client.request("tasks/get", {"taskId": task})).result["status"] == "working"
    book = CallerTasks(app.rooms[0].service)
    stranger = Principal("key:other", "other", frozenset({"*:*"}))
    for refused in (
        book.get(stranger, task, lambda _: True),
        book.update(stranger, task, {}),
        book.cancel(stranger, task),
    ):
        with pytest.raises(NotFound):
            await refused


@pytest.mark.requirement("agents:elsewhere:signed")
async def test_of_a_host_whose_keys_are_known_only_signed_cards_count(tmp_path: Path, other: Other) -> None:
    service = other.app.rooms[0].service
    host = other.site.removeprefix("http://")
    keys, signers = tmp_path / "agent.json", tmp_path / "signers.json"
    keys.write_text(json.dumps({host: other.key}), encoding="utf-8")
    signers.write_text(json.dumps({host.upper(): service.cards.signer.keys()}), encoding="utf-8")
    settings = Settings(
        data=tmp_path / "own",
        rooms=("agents",),
        auth="none",
        fetch=FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True),
        room_tables={"agents": {"agent_keys": str(keys), "card_keys": str(signers)}},
    )
    signed = service.cards.signer.signed(
        {**service.cards.public(service.agents["echo"], other.site), "humanReadableId": "harbour/signed"}, other.site
    )
    forged = {**signed, "humanReadableId": "harbour/forged", "description": "Another."}
    async with open_app(settings) as app, app.client() as client:
        call = Caller(client)
        for card in (signed, forged):
            await call("agents_register_card", card=card, list_in_directory=False)
        assert (await call("agents_send_task", agent="harbour/signed", text="hello"))["text"] == "hello"
        refused = await call.refused("agents_send_task", agent="harbour/forged", text="hello")
        assert (refused["code"], refused["details"]["reason"]) == ("forbidden", "card-signature")


@pytest.mark.requirement("agents:elsewhere:keys")
async def test_the_key_of_a_host_goes_to_no_other_host_whatever_its_card_says(call: Caller, other: Other) -> None:
    service = other.app.rooms[0].service
    card = service.cards.public(service.agents["echo"], other.site.replace("localhost", "127.0.0.1"))
    card = {**card, "humanReadableId": other.site.removeprefix("http://")}
    await call("agents_register_card", card=card, list_in_directory=False)

    refused = await call.refused("agents_send_task", agent=card["humanReadableId"], text="hello")

    assert refused["code"] in ("unauthenticated", "forbidden")
    assert await other.app.database.read(lambda rows: rows.value("SELECT count(*) FROM agent_tasks")) == 0
