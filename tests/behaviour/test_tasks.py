"""The Tasks extension on every wire: offered if a room keeps tasks, and given to clients that declare it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.clients import (
    HTTP_MODERN,
    MEMORY,
    MEMORY_MODERN,
    META,
    SESSION,
    STDIO_MODERN,
    Client,
    ConnectionClient,
    HttpClient,
    Object,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import connect_http, connected_in_memory, connected_over_stdio, stdio_child

pytestmark = pytest.mark.anyio

ROOM = "tests.behaviour.late_room:ROOM"
TASKS = "io.modelcontextprotocol/tasks"
TAKES_TASKS: Object = {"extensions": {TASKS: {}}, "elicitation": {}}
REQUIRED = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
ENVELOPE = ("resultType", "_meta")


@pytest.fixture(scope="module")
async def kitchen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    async with open_app(Settings(data=tmp_path_factory.mktemp("kitchen"), rooms=(ROOM,), auth="none")) as app:
        yield app


@pytest.fixture(scope="module")
def kitchen_child(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with stdio_child(tmp_path_factory.mktemp("kitchen-stdio"), ROOM) as child:
        yield child


@pytest.fixture(params=[HTTP_MODERN, MEMORY_MODERN, STDIO_MODERN], ids=wire_name)
async def client(request: pytest.FixtureRequest, kitchen: App) -> AsyncIterator[Client]:
    """A client that accepts tasks, on each wire of the era that has them."""
    async with AsyncExitStack() as stack:
        yield await _connected(request.param, kitchen, request, stack)


async def _connected(wire: Wire, app: App, request: pytest.FixtureRequest, stack: AsyncExitStack) -> Client:
    if wire.http:
        client = await connect_http(app, wire, TAKES_TASKS)
        stack.push_async_callback(client.close)
        return client
    if wire.transport == "memory":
        return await stack.enter_async_context(connected_in_memory(app, wire, TAKES_TASKS))
    child = request.getfixturevalue("kitchen_child")
    return await stack.enter_async_context(connected_over_stdio(child, wire, TAKES_TASKS))


def without(capabilities: Object | None = None) -> Object:
    """A request by a client without the extension."""
    return {META + "clientCapabilities": capabilities or {}}


async def ordered(client: Client) -> str:
    return (await client.call("cook", {"dish": "soup"})).result["taskId"]


async def look(client: Client, task: str) -> Object:
    result = (await client.request("tasks/get", {"taskId": task})).result
    assert result["resultType"] == "complete"
    return {key: value for key, value in result.items() if key not in ENVELOPE}


@pytest.mark.requirement("mcp:tasks:handle")
async def test_a_client_that_declares_the_extension_is_given_a_task_in_place_of_the_answer(client: Client) -> None:
    result = (await client.call("cook", {"dish": "soup"})).result

    assert result.pop("resultType") == "task"
    del result["_meta"]
    task = result["taskId"]
    assert result == {
        "taskId": task,
        "status": "working",
        "statusMessage": "soup is in the oven",
        "createdAt": "1970-01-01T00:00:01.500Z",
        "lastUpdatedAt": "1970-01-01T00:00:02.500Z",
        "ttlMs": None,
        "pollIntervalMs": 1000,
    }
    assert await look(client, task) == result


@pytest.mark.requirement("mcp:tasks:undeclared")
async def test_a_request_without_the_extension_is_answered_as_ever(client: Client) -> None:
    result = (await client.call("cook", {"dish": "soup"}, meta=without())).result

    assert (result["resultType"], result["content"][0]["text"]) == ("complete", "soup, warm")
    assert "taskId" not in result


@pytest.mark.parametrize("capabilities", [{}, {"extensions": {}}, {"extensions": {"org.example/other": {}}}])
@pytest.mark.requirement("mcp:tasks:undeclared")
async def test_what_needs_the_extension_names_it_to_who_did_not_declare_it(
    client: Client, capabilities: Object
) -> None:
    task = await ordered(client)
    meta = without(capabilities)
    refusals = [
        await client.request("tasks/get", {"taskId": task}, meta=meta),
        await client.request("tasks/update", {"taskId": task, "inputResponses": {}}, meta=meta),
        await client.request("tasks/cancel", {"taskId": task}, meta=meta),
        await client.request("subscriptions/listen", {"notifications": {"taskIds": [task]}}, meta=meta),
        await client.call("roast", {"dish": "duck"}, meta=meta),
    ]

    assert [reply.error["code"] for reply in refusals] == [-32021] * 5
    assert [reply.error["data"] for reply in refusals] == [REQUIRED] * 5
    assert {reply.http.status for reply in refusals if reply.http is not None} <= {400}


@pytest.mark.requirement("mcp:tasks:result")
async def test_a_task_that_is_over_has_the_result_the_call_would_have_had(client: Client) -> None:
    served, burnt, flooded = [await ordered(client) for _ in range(3)]
    for task, what in ((served, "serve"), (burnt, "burn"), (flooded, "flood")):
        await client.call("happen", {"task": task, "what": what})

    done = await look(client, served)
    assert (done["status"], done["result"]["content"]) == ("completed", [{"type": "text", "text": "soup, warm"}])
    failed = await look(client, burnt)
    assert (failed["status"], failed["result"]["isError"]) == ("completed", True)
    assert failed["result"]["structuredContent"] == {"ash": 1}
    too_much = await look(client, flooded)
    assert "the limit is" in too_much["result"]["content"][0]["text"]


@pytest.mark.requirement("mcp:tasks:failed")
async def test_a_call_the_protocol_would_have_refused_is_a_failed_task_with_that_error(client: Client) -> None:
    task = await ordered(client)
    await client.call("happen", {"task": task, "what": "close"})

    failed = await look(client, task)

    assert (failed["status"], failed["statusMessage"], failed["error"]["code"]) == ("failed", "closed", -31403)
    assert failed["error"]["message"] == "The kitchen is closed."
    assert "result" not in failed


@pytest.mark.requirement("mcp:tasks:input")
async def test_questions_are_answered_one_by_one(client: Client) -> None:
    task = await ordered(client)
    await client.call("happen", {"task": task, "what": "ask"})

    asked = await look(client, task)
    assert asked["status"] == "input_required"
    assert list(asked["inputRequests"]) == ["soup", "sauce"]
    assert asked["inputRequests"]["soup"]["method"] == "elicitation/create"
    assert asked["inputRequests"]["soup"]["params"]["message"] == "Salt in the soup?"

    yes = {"action": "accept", "content": {"salt": True}}
    ack = await client.request("tasks/update", {"taskId": task, "inputResponses": {"soup": yes, "pie": yes}})
    assert ack.result.keys() == set(ENVELOPE)
    assert list((await look(client, task))["inputRequests"]) == ["sauce"]
    bad = await client.request("tasks/update", {"taskId": task, "inputResponses": {"sauce": {"action": "shrug"}}})
    assert bad.error["code"] == -32602
    await client.request("tasks/update", {"taskId": task, "inputResponses": {"sauce": yes}})
    assert (await look(client, task))["status"] == "working"


@pytest.mark.requirement("mcp:tasks:cancel")
async def test_a_task_is_cancelled_with_an_empty_answer(client: Client) -> None:
    task = await ordered(client)

    ack = await client.request("tasks/cancel", {"taskId": task})

    assert ack.result["resultType"] == "complete"
    assert ack.result.keys() == set(ENVELOPE)
    assert (await look(client, task))["status"] == "cancelled"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
@pytest.mark.parametrize("task", ["order-0", "", "x" * 600])
@pytest.mark.requirement("mcp:tasks:unknown")
async def test_a_task_nobody_knows_is_an_invalid_parameter(client: Client, method: str, task: str) -> None:
    refused = await client.request(method, {"taskId": task, "inputResponses": {}})

    assert refused.error["code"] == -32602


@pytest.mark.requirement("mcp:tasks:unknown")
async def test_a_request_about_a_task_has_to_name_it(client: Client) -> None:
    assert (await client.request("tasks/get")).error["code"] == -32602
    assert (await client.request("tasks/update", {"taskId": await ordered(client)})).error["code"] == -32602


@pytest.mark.requirement("mcp:tasks:offered")
async def test_the_extension_is_offered_in_the_era_that_has_it(client: Client, kitchen: App) -> None:
    offered = (await client.request("server/discover")).result["capabilities"]
    assert offered["extensions"] == {TASKS: {}}
    assert "tasks" not in offered

    for gone in ("tasks/list", "tasks/result"):
        assert (await client.request(gone, {"taskId": "x"})).error["code"] == -32601


@pytest.mark.parametrize("wire", [MEMORY, SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:tasks:offered")
async def test_older_revisions_know_nothing_of_it(wire: Wire, kitchen: App, request: pytest.FixtureRequest) -> None:
    async with AsyncExitStack() as stack:
        client = await _connected(wire, kitchen, request, stack)
        assert isinstance(client, ConnectionClient | HttpClient)

        assert "extensions" not in client.server["capabilities"]
        assert (await client.request("tasks/get", {"taskId": "x"})).error["code"] == -32601
        assert (await client.call("cook", {"dish": "soup"})).text == "soup, warm"
        assert (await client.call("roast", {"dish": "duck"})).result["isError"] is True


@pytest.mark.requirement("mcp:tasks:undeclared")
async def test_a_tool_cannot_give_a_task_to_a_client_that_takes_none(client: Client) -> None:
    result = (await client.call("hasty", meta=without())).result

    assert result["isError"] is True
    assert "taskId" not in result


@pytest.mark.requirement("mcp:tasks:undeclared")
async def test_only_tools_that_declare_it_put_answers_off(client: Client) -> None:
    assert (await client.call("stray")).error["code"] == -32603
    assert (await client.request("resources/read", {"uri": "kitchen://menu"})).error["code"] == -32603


@pytest.mark.requirement("mcp:tasks:headers")
async def test_the_name_header_is_the_tasks_id(kitchen: App) -> None:
    client: HttpClient = await connect_http(kitchen, HTTP_MODERN, TAKES_TASKS)
    task = await ordered(client)
    message = client.message("tasks/get", {"taskId": task}, 7, None)
    fitting = client.headers(message)
    assert fitting["mcp-name"] == task

    missing = {name: value for name, value in fitting.items() if name != "mcp-name"}
    for headers in (missing, {**fitting, "mcp-name": "order-0"}):
        answer = client.post(message, headers)
        assert (await answer.json())["error"]["code"] == -32020
        assert answer.status == 400
    await client.close()
