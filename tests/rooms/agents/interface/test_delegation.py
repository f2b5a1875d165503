"""Tasks handed to agents of another server: by their card's address, or by their readable id once registered."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.errors import NotFound
from pentad.kernel.principal import LOCAL, Principal
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.agents.client.remote_agent import RemoteAgent
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.interface.mcp_tasks import CallerTasks
from pentad.rooms.agents.models import Message, Part
from pentad.settings.model import Settings
from tests.behaviour.clients import MEMORY_MODERN, ConnectionClient
from tests.behaviour.connecting import connected_in_memory
from tests.rooms.agents.interface.conftest import Caller, Other
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio


def _settings(tmp_path: Path, other: Other) -> Settings:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({other.site.removeprefix("http://"): other.key}), encoding="utf-8")
    return Settings(
        data=tmp_path / "own",
        rooms=("agents",),
        auth="none",
        fetch=FetchPolicy(max_redirects=0),
        room_tables={"agents": {"agent_keys": str(keys), "local_agents": [other.site.removeprefix("http://")]}},
    )


@pytest.fixture
async def app(tmp_path: Path, other: Other) -> AsyncIterator[App]:
    async with open_app(_settings(tmp_path, other)) as app:
        yield app


@pytest.fixture
def unlisted(other: Other) -> str:
    """Another port of the same machine."""
    return f"http://localhost:{1 + int(other.site.rpartition(':')[2])}/agents/echo"


@pytest.mark.requirement("agents:elsewhere:card")
@pytest.mark.requirement("agents:elsewhere:local")
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


@pytest.mark.requirement("agents:elsewhere:local")
async def test_only_the_hosts_the_operator_lists_are_reached(call: Caller, other: Other, unlisted: str) -> None:
    for place in (unlisted, f"{other.site.replace('localhost', '127.0.0.1')}/agents/echo"):
        refused = await call.refused("agents_send_task", agent=place, text="x")
        assert (refused["code"], "rooms.agents.local_agents" in refused["hint"]) == ("forbidden", True)
        assert (await call.refused("agents_register_card", url=place))["code"] == "forbidden"


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
        room_tables={"agents": {"agent_keys": str(keys), "card_keys": str(signers), "local_agents": [host]}},
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


def _other_rows(other: Other, columns: str) -> Any:
    return other.app.database.read(lambda rows: rows.one(f"SELECT {columns} FROM agent_tasks"))


@pytest.mark.requirement("agents:house:trace")
async def test_an_agent_sends_a_task_to_another_server_where_its_trace_goes_on(
    app: App, call: Caller, other: Other
) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"

    async def boss(turn: Turn) -> str:
        return (await turn.send(place, "Over the sea")).text

    app.rooms[0].service.host(hosted(boss))
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    params = {
        "name": "agents_send_task",
        "arguments": {"agent": "boss", "text": "go"},
        "_meta": {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"},
    }
    task = (await call.client.request("tools/call", params))["structuredContent"]

    assert (task["state"], task["text"]) == ("completed", "Over the sea")
    remote_id, remote_trace = await _other_rows(other, "id, trace")
    assert remote_trace.split("-")[1] == trace_id
    trace = await call.read(f"agents://tasks/{task['task_id']}/trace")
    (sent,) = trace["task"]["calls"]
    assert (trace["trace_id"], sent["remote_task"]["task_id"]) == (trace_id, remote_id)


@pytest.mark.requirement("agents:house:cascade")
async def test_cancelling_a_task_cancels_what_it_sent_to_another_server(app: App, call: Caller, other: Other) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"

    async def boss(turn: Turn) -> str:
        return (await turn.send(place, "slow")).text

    app.rooms[0].service.host(hosted(boss))
    task = await call("agents_send_task", agent="boss", text="go", wait=False)
    await until(lambda: _other_rows(other, "state"), lambda row: row == ("working",))
    await call("agents_cancel_task", task_id=task["task_id"])
    await until(lambda: _other_rows(other, "state"), lambda row: row == ("canceled",))


@pytest.mark.requirement("agents:house:cascade")
async def test_a_remote_task_whose_id_is_still_on_its_way_is_canceled_too(
    app: App, call: Caller, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"
    answered, arrives = asyncio.Event(), asyncio.Event()
    stream = RemoteAgent.stream

    async def delayed(self: RemoteAgent, *given: Any, **named: Any) -> AsyncIterator[Any]:
        async with aclosing(stream(self, *given, **named)) as items:
            async for item in items:
                answered.set()
                await arrives.wait()
                yield item

    async def boss(turn: Turn) -> str:
        return (await turn.send(place, "slow")).text

    monkeypatch.setattr(RemoteAgent, "stream", delayed)
    app.rooms[0].service.host(hosted(boss))
    task = await call("agents_send_task", agent="boss", text="go", wait=False)
    await asyncio.wait_for(answered.wait(), 20)
    canceled = await call("agents_cancel_task", task_id=task["task_id"])
    assert canceled["state"] == "canceled"
    assert await _other_rows(other, "state") == ("working",)
    arrives.set()
    await until(lambda: _other_rows(other, "state"), lambda row: row == ("canceled",))


async def _by_turn(turn: Turn, place: str, text: str) -> str:
    return (await turn.send(place, text)).text


async def _by_tool(turn: Turn, place: str, text: str) -> str:
    return (await turn.call_tool("agents_send_task", agent=place, text=text))["text"]


async def _by_tool_at_once(turn: Turn, place: str, text: str) -> str:
    """The tool returns, and the remote task goes on."""
    await turn.call_tool("agents_send_task", agent=place, text=text, wait=False)
    return (await turn.wait_for("never", seconds=600)).text


@pytest.mark.requirement("agents:house:cascade")
@pytest.mark.parametrize("send", [_by_turn, _by_tool, _by_tool_at_once])
async def test_a_remote_task_outlives_the_process_that_sent_it_but_not_the_task(
    tmp_path: Path, other: Other, send: Any
) -> None:
    place = f"{other.site}/agents/echo/.well-known/agent-card.json"

    async def boss(turn: Turn) -> str:
        return await send(turn, place, "slow")

    async with open_app(_settings(tmp_path, other)) as first:
        first.rooms[0].service.host(hosted(boss))
        message = Message(id="m", role="user", parts=(Part(text="go"),))
        task = await first.rooms[0].service.tasks.send(LOCAL, "boss", message, dialect="1.0", wait=False)
        await until(lambda: _remote_calls(first, task.id), lambda calls: calls and calls[0].remote_task)
    assert await _other_rows(other, "state") == ("working",)
    async with open_app(_settings(tmp_path, other)) as second:
        await second.rooms[0].service.tasks.cancel(LOCAL, task.id)
        await until(lambda: _other_rows(other, "state"), lambda row: row == ("canceled",))


@pytest.mark.requirement("agents:house:once")
@pytest.mark.parametrize("send", [_by_turn, _by_tool])
async def test_a_parent_that_runs_again_waits_for_the_task_a_remote_agent_has_accepted(
    tmp_path: Path, other: Other, monkeypatch: pytest.MonkeyPatch, send: Any
) -> None:
    monkeypatch.setattr("pentad.rooms.agents.tasks.recovery._OTHER_PROCESS_SECONDS", 0.05)
    place = f"{other.site}/agents/patient/.well-known/agent-card.json"
    runs, goes_on = list[str](), asyncio.Event()

    async def patient(turn: Turn) -> str:
        runs.append("there")
        await goes_on.wait()
        return "worth it"

    async def boss(turn: Turn) -> str:
        runs.append("here")
        return await send(turn, place, "wait")

    other.app.rooms[0].service.host(hosted(patient))
    message = Message(id="m", role="user", parts=(Part(text="go"),))
    async with open_app(_settings(tmp_path, other)) as first:
        first.rooms[0].service.host(hosted(boss))
        task = await first.rooms[0].service.tasks.send(LOCAL, "boss", message, dialect="1.0", wait=False)
        await until(lambda: _remote_calls(first, task.id), lambda calls: calls and calls[0].remote_task)
    await other.app.database.write(lambda tx: tx.run("DELETE FROM agent_sends"))  # it would not know a repeated message
    async with open_app(_settings(tmp_path, other)) as second:
        tasks = second.rooms[0].service.tasks
        second.rooms[0].service.host(hosted(boss))
        await until_true(lambda: runs.count("here") == 2)
        goes_on.set()
        over = await until(lambda: tasks.get(LOCAL, task.id), lambda task: task.state == "completed")
    assert (over.status_message.text, runs) == ("worth it", ["here", "there", "here"])


@pytest.mark.requirement("agents:budget:sender")
async def test_the_budget_of_a_task_goes_with_it_to_another_server(call: Caller, other: Other) -> None:
    async def spends(turn: Turn) -> str:
        turn.used_tokens(100)
        return "spent"

    other.app.rooms[0].service.host(hosted(spends))
    place = f"{other.site}/agents/spends/.well-known/agent-card.json"
    task = await call("agents_send_task", agent=place, text="go", budget={"tokens": 50})
    assert (task["state"], "may use 50 tokens" in task["text"]) == ("failed", True)
    assert task["budget"]["limits"] == {"tokens": 50, "calls": 1000}


async def _remote_calls(app: App, task_id: str) -> Any:
    return (await app.rooms[0].service.tasks.trace(LOCAL, task_id)).task.calls
