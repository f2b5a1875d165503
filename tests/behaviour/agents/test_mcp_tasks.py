"""Agents and MCP tasks: a call of agents_send_task continues as the task it started, on every wire with tasks."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests import waiting
from tests.behaviour.clients import HTTP_MODERN, MEMORY_MODERN, META, STDIO_MODERN, Client, Object, wire_name
from tests.behaviour.connecting import connect_http, connected_in_memory, connected_over_stdio, stdio_child
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

EXTENSION: Object = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
TAKES_TASKS: Object = {**EXTENSION, "elicitation": {}}
REFUSER = "tests.behaviour.agents.hall:Refuser"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    settings = Settings(data=tmp_path_factory.mktemp("tasks"), rooms=("agents",), auth="none", agent=(REFUSER,))
    async with open_app(settings) as app:
        yield app


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with stdio_child(tmp_path_factory.mktemp("tasks-stdio"), "agents", PENTAD_AGENTS_AGENT=REFUSER) as child:
        yield child


@pytest.fixture(params=[HTTP_MODERN, MEMORY_MODERN, STDIO_MODERN], ids=wire_name)
async def client(request: pytest.FixtureRequest, app: App) -> AsyncIterator[Client]:
    wire = request.param
    async with AsyncExitStack() as stack:
        if wire.http:
            client = await connect_http(app, wire, TAKES_TASKS)
            stack.push_async_callback(client.close)
            yield client
        elif wire.transport == "memory":
            yield await stack.enter_async_context(connected_in_memory(app, wire, TAKES_TASKS))
        else:
            process = request.getfixturevalue("child")
            yield await stack.enter_async_context(connected_over_stdio(process, wire, TAKES_TASKS))


async def send(client: Client, text: str, capabilities: Object | None = None, **more: Any) -> Object:
    meta = None if capabilities is None else {META + "clientCapabilities": capabilities}
    arguments = {"agent": "echo", "text": text, **more}
    return (await client.call("agents_send_task", arguments, meta=meta)).result


async def get(client: Client, task: str, capabilities: Object | None = None) -> Object:
    meta = None if capabilities is None else {META + "clientCapabilities": capabilities}
    return (await client.request("tasks/get", {"taskId": task}, meta=meta)).result


async def update(client: Client, task: str, responses: Object) -> Object:
    return (await client.request("tasks/update", {"taskId": task, "inputResponses": responses})).result


async def until(client: Client, task: str, status: str) -> Object:
    return await waiting.until(lambda: get(client, task), lambda found: found["status"] == status)


def accepted(asked: Object, answer: str) -> Object:
    (key,) = asked["inputRequests"]
    return {key: {"action": "accept", "content": {"answer": answer}}}


@pytest.mark.requirement("agents:mcp-tasks:handle")
async def test_a_call_that_takes_longer_becomes_its_task_and_ends_with_the_tools_own_answer(client: Client) -> None:
    handle = await send(client, "slow", max_characters=500)
    task = handle["taskId"]
    assert (handle["resultType"], handle["status"], handle["statusMessage"]) == ("task", "working", "Waiting.")
    assert (await get(client, task))["status"] == "working"

    await send(client, "y" * 600, capabilities={}, task_id=task)

    done = await until(client, task, "completed")
    looked = await client.call("agents_get_task", {"task_id": task, "max_characters": 500})
    assert done["result"]["structuredContent"] == looked.result["structuredContent"]
    assert len(done["result"]["structuredContent"]["text"]) == 500
    assert done["result"]["isError"] is False


@pytest.mark.requirement("agents:mcp-tasks:at-once")
async def test_what_is_over_at_once_or_not_waited_for_is_answered_at_once(client: Client) -> None:
    done = await send(client, "Good morning")
    assert (done["resultType"], done["structuredContent"]["text"]) == ("complete", "Good morning")

    begun = await send(client, "slow", wait=False)
    assert begun["resultType"] == "complete"
    await client.request("tasks/cancel", {"taskId": begun["structuredContent"]["task_id"]})

    plain = await send(client, "slow", capabilities={}, seconds=0.05)
    assert (plain["resultType"], plain["structuredContent"]["state"]) == ("complete", "working")
    await client.call("agents_cancel_task", {"task_id": plain["structuredContent"]["task_id"]})


@pytest.mark.requirement("agents:mcp-tasks:input")
async def test_what_an_agent_asks_is_put_to_the_person_and_the_answer_goes_to_the_agent(client: Client) -> None:
    handle = await send(client, "ask")
    task = handle["taskId"]
    assert (handle["status"], "inputRequests" in handle) == ("input_required", False)

    asked = await get(client, task)
    (question,) = asked["inputRequests"].values()
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "What shall I say?"
    assert question["params"]["requestedSchema"]["required"] == ["answer"]
    assert (await get(client, task))["inputRequests"] == asked["inputRequests"]

    await update(client, task, {"another": {"action": "accept", "content": {"answer": "No"}}})
    assert (await get(client, task))["status"] == "input_required"
    assert (await update(client, task, accepted(asked, "Good night"))).keys() == {"resultType", "_meta"}
    done = await until(client, task, "completed")
    assert done["result"]["structuredContent"]["text"] == "Good night"
    assert (await update(client, task, accepted(asked, "Too late")))["resultType"] == "complete"


@pytest.mark.requirement("agents:mcp-tasks:input")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_does_not_want_to_answer_ends_the_task(client: Client, action: str) -> None:
    task = (await send(client, "ask"))["taskId"]
    (key,) = (await get(client, task))["inputRequests"]

    await update(client, task, {key: {"action": action}})

    assert (await until(client, task, "cancelled")).keys().isdisjoint({"result", "error", "inputRequests"})


@pytest.mark.requirement("agents:mcp-tasks:no-person")
async def test_a_client_that_cannot_ask_is_told_what_the_tool_tells(client: Client) -> None:
    asked = await send(client, "ask", capabilities=EXTENSION)
    assert (asked["resultType"], asked["structuredContent"]["waiting_for"]) == ("complete", "an answer")

    seen = await get(client, asked["structuredContent"]["task_id"], EXTENSION)

    assert (seen["status"], seen["result"]["structuredContent"]) == ("completed", asked["structuredContent"])


@pytest.mark.requirement("agents:mcp-tasks:failed")
async def test_an_agent_that_fails_has_completed_the_call(client: Client) -> None:
    for word, state in (("fail", "failed"), ("reject", "rejected")):
        task = (await send(client, "ask", agent="refuser"))["taskId"]
        await update(client, task, accepted(await get(client, task), word))

        over = await until(client, task, "completed")

        assert over["result"]["structuredContent"]["state"] == state


@pytest.mark.requirement("agents:mcp-tasks:login")
async def test_a_login_is_never_asked_for_in_a_form(client: Client) -> None:
    task = (await send(client, "login", agent="refuser"))["taskId"]

    asked = await get(client, task)

    (question,) = asked["inputRequests"].values()
    assert "No password" in question["params"]["requestedSchema"]["properties"]["answer"]["description"]


@pytest.mark.requirement("agents:mcp-tasks:cancel")
async def test_a_task_is_cancelled_once_and_that_may_be_said_twice(client: Client) -> None:
    task = (await send(client, "slow"))["taskId"]

    for _ in range(2):
        ack = (await client.request("tasks/cancel", {"taskId": task})).result
        assert ack.keys() == {"resultType", "_meta"}
    assert (await until(client, task, "cancelled"))["status"] == "cancelled"
    looked = await client.call("agents_get_task", {"task_id": task})
    assert looked.result["structuredContent"]["state"] == "canceled"


@pytest.mark.requirement("agents:mcp-tasks:follow")
async def test_who_follows_a_task_hears_what_a_look_would_show(client: Client) -> None:
    task = (await send(client, "ask"))["taskId"]
    asked = await get(client, task)
    stream = await client.open("subscriptions/listen", {"notifications": {"taskIds": [task, "none-such"]}})
    honoured = await stream.wait_for("notifications/subscriptions/acknowledged")
    assert honoured["params"]["notifications"] == {"taskIds": [task]}

    await update(client, task, accepted(asked, "Good night"))

    while (news := (await stream.next()))["params"]["status"] != "completed":
        assert news["method"] == "notifications/tasks"
    assert news["params"].pop("_meta") == {META + "subscriptionId": stream.id}
    shown = await get(client, task)
    assert news["params"] == {key: value for key, value in shown.items() if key not in ("resultType", "_meta")}
    await client.cancel(stream)


@pytest.mark.requirement("agents:mcp-tasks:owners")
async def test_a_task_is_its_owners_alone_and_rights_hold(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=("agents",))) as app, AsyncExitStack() as stack:
        clients: dict[str, Client] = {}
        for name, scopes in (("ada", ["*:read", "*:write"]), ("ben", ["*:read", "*:write"]), ("rea", ["*:read"])):
            token = (await app.api_keys.create(name, scopes=scopes)).token
            http = await connect_http(app, HTTP_MODERN, TAKES_TASKS, authorization=f"Bearer {token}")
            stack.push_async_callback(http.close)
            clients[name] = http
        task = (await send(clients["ada"], "slow"))["taskId"]

        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            foreign = (await clients["ben"].request(method, {"taskId": task, "inputResponses": {}})).error
            unknown = (await clients["ben"].request(method, {"taskId": "none", "inputResponses": {}})).error
            assert (foreign["code"], foreign["message"]) == (-32602, unknown["message"].replace("none", task))
        assert (await clients["rea"].request("tasks/get", {"taskId": task})).error["code"] == -32602
        assert (await clients["rea"].request("tasks/cancel", {"taskId": task})).error["code"] == -31403
        assert (await get(clients["ada"], task))["status"] == "working"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.requirement("agents:mcp-tasks:restart")
async def test_another_process_goes_on_with_the_task(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    database: str | None = None
    if kind == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    settings = Settings(data=tmp_path, database=database, rooms=("agents",), auth="none")
    async with open_app(settings) as app, connected_in_memory(app, MEMORY_MODERN, TAKES_TASKS) as first:
        slow, asking = [(await send(first, text))["taskId"] for text in ("slow", "ask")]
        asked = await get(first, asking)

    async with open_app(settings) as app, connected_in_memory(app, MEMORY_MODERN, TAKES_TASKS) as second:
        assert (await get(second, slow))["status"] == "working"
        assert (await get(second, asking))["inputRequests"] == asked["inputRequests"]
        await update(second, asking, accepted(asked, "Good night"))
        done = await until(second, asking, "completed")
        assert done["result"]["structuredContent"]["text"] == "Good night"
        await second.request("tasks/cancel", {"taskId": slow})
        await until(second, slow, "cancelled")
