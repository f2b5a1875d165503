"""Things belong to the user, whichever credential made them; confined keys have only their own; operators say why."""

import base64
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN, SESSION, HttpClient, Object, Wire, wire_name
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = pytest.mark.anyio

PASSWORD = "correct horse battery"
WRITES = ["*:read", "*:write"]
TAKES_TASKS: Object = {"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer
) -> AsyncIterator["House"]:
    url = postgres_server.fresh_database() if request.param == "postgres" else None
    folder: Path = tmp_path_factory.mktemp("house")
    async with open_app(Settings(data=folder, database=url, rooms=("agents", "registers"), agent=())) as app:
        for name, role in (("ada", "writer"), ("bob", "writer"), ("root", "admin")):
            await app.users.add(name, PASSWORD, role=role)
        yield House(app)


class House:
    """An app with two writers and an administrator, and the credentials of each."""

    def __init__(self, app: App) -> None:
        self.app = app

    def password(self, name: str) -> str:
        return "Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()

    async def key(self, owner: str, *, own_only: bool = False, scopes: list[str] | None = None) -> str:
        made = await self.app.api_keys.create("key", owner=owner, scopes=scopes or WRITES, own_only=own_only)
        return f"Bearer {made.token}"

    @contextlib.asynccontextmanager
    async def client(
        self, wire: Wire, authorization: str, path: str = "/mcp", capabilities: Object | None = None
    ) -> AsyncGenerator[HttpClient]:
        client = await connect_http(self.app, wire, capabilities, path=path, authorization=authorization)
        yield client
        await client.close()

    async def rest(self, verb: str, path: str, authorization: str, body: Any = None) -> tuple[int, Any]:
        sent = {"content-type": "application/json", "authorization": authorization}
        answer = send(front_of(self.app), verb, path, sent, b"" if body is None else json.dumps(body).encode())
        told = await answer.json()
        return answer.status, told


def whole(reply: Any) -> dict[str, Any]:
    assert not reply.result.get("isError"), reply.result
    return reply.result["structuredContent"]


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:key:acts-as-owner")
async def test_a_task_is_reached_with_another_key_and_with_the_password_of_its_user(house: House, wire: Wire) -> None:
    async with house.client(wire, await house.key("ada")) as first:
        task = whole(await first.call("agents_send_task", {"agent": "echo", "text": "hello"}))["task_id"]
    for way in (await house.key("ada"), house.password("ada"), await house.key("ada", scopes=["agents:read"])):
        async with house.client(wire, way) as other:
            assert whole(await other.call("agents_get_task", {"task_id": task}))["text"] == "hello"
            assert (await house.rest("GET", f"/agents/echo/tasks/{task}", way))[0] == 200
    for way in (await house.key("bob"), house.password("bob"), await house.key("ada", own_only=True)):
        async with house.client(wire, way) as stranger:
            refused = (await stranger.call("agents_get_task", {"task_id": task})).result
            assert refused["isError"]
            assert "not_found" in refused["content"][0]["text"] or "no task" in refused["content"][0]["text"]


@pytest.mark.requirement("access:key:acts-as-owner", "access:key:own-only")
async def test_what_an_agent_asks_is_answered_with_another_key_of_the_user_and_with_nobody_elses(house: House) -> None:
    async with house.client(HTTP_MODERN, await house.key("ada"), capabilities=TAKES_TASKS) as first:
        task = (await first.call("agents_send_task", {"agent": "echo", "text": "ask"})).result["taskId"]
        (question,) = (await first.request("tasks/get", {"taskId": task})).result["inputRequests"]
    answer = {"taskId": task, "inputResponses": {question: {"action": "accept", "content": {"answer": "Good night"}}}}
    for way in (await house.key("bob"), house.password("root"), await house.key("ada", own_only=True)):
        async with house.client(HTTP_MODERN, way, capabilities=TAKES_TASKS) as stranger:
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                params = answer if method == "tasks/update" else {"taskId": task}
                assert (await stranger.request(method, params)).error["code"] == -32602
    async with house.client(HTTP_MODERN, await house.key("ada"), capabilities=TAKES_TASKS) as second:
        assert "result" in (await second.request("tasks/update", answer)).final
        done = await until(
            lambda: second.request("tasks/get", {"taskId": task}), lambda found: found.result["status"] == "completed"
        )
        assert done.result["result"]["structuredContent"]["text"] == "Good night"


@pytest.mark.requirement("access:key:own-only")
async def test_a_confined_key_reaches_its_own_things_and_its_user_does_not_see_them(house: House) -> None:
    confined = await house.key("ada", own_only=True)
    async with house.client(HTTP_MODERN, confined) as agent:
        task = whole(await agent.call("agents_send_task", {"agent": "echo", "text": "mine"}))["task_id"]
        assert whole(await agent.call("agents_get_task", {"task_id": task}))["text"] == "mine"
    async with house.client(HTTP_MODERN, house.password("ada")) as user:
        assert (await user.call("agents_get_task", {"task_id": task})).result["isError"]


@pytest.mark.parametrize("path", ["/mcp", "/rooms/agents/mcp", "/api/mcp"])
@pytest.mark.requirement("access:key:acts-as-owner", "access:key:own-only")
async def test_a_session_goes_on_with_another_key_of_its_user_and_with_nobody_elses(house: House, path: str) -> None:
    async with house.client(SESSION, await house.key("ada"), path) as client:
        for way in (await house.key("ada"), house.password("ada")):
            assert await session_lives(client, way)
        for way in (await house.key("bob"), house.password("root"), await house.key("ada", own_only=True)):
            assert not await session_lives(client, way)


async def session_lives(client: HttpClient, authorization: str) -> bool:
    """Whether the session exists for this caller. The OpenRegister path refuses inside a 200."""
    client.extra = {"authorization": authorization}
    answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    said = json.loads(await answer.body())
    assert answer.status == 404 or "result" in said or "session" in said["error"]["message"]
    return "result" in said


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:key:acts-as-owner")
async def test_plans_locks_and_cards_outlive_the_key_that_made_them(house: House, wire: Wire) -> None:
    made = await house.app.api_keys.create("first", owner="ada", scopes=WRITES)
    first, second = f"Bearer {made.token}", await house.key("ada")
    async with house.client(wire, first) as client:
        register = whole(await client.call("registers", {"action": "create", "data": {"title": "Trees"}}))
        schema = {"title": "Tree", "properties": {"number": {"type": "string"}}}
        tree = whole(await client.call("schemas", {"action": "create", "data": schema}))
        change = {"action": "update", "id": register["id"], "data": {"schemas": [tree["id"]]}}
        whole(await client.call("registers", change))
        where = {"register": register["id"], "schema": tree["id"]}
        one = whole(await client.call("objects", {"action": "create", **where, "data": {"number": "T-1"}}))
        operations = [{"action": "update", "id": one["id"], "data": {"number": "T-2"}}]
        plan = whole(await client.call("objects", {"action": "plan", **where, "operations": operations}))
        card = {
            "schemaVersion": "1.0", "humanReadableId": f"acme/oak-{wire.transport}", "agentVersion": "1", "name": "Oak",
            "description": "An agent.", "url": "https://acme.example/a2a", "provider": {"name": "Acme"},
            "capabilities": {"a2aVersion": "1.0"}, "authSchemes": [{"scheme": "none"}],
        }  # fmt: skip
        kept = whole(await client.call("agents_register_card", {"card": card, "list_in_directory": False}))
    base = f"/api/objects/{register['id']}/{tree['id']}/{one['id']}"
    assert (await house.rest("POST", f"{base}/lock", first, {}))[0] == 200
    await house.app.api_keys.revoke(made.key.id)
    assert (await house.rest("PUT", base, await house.key("bob"), {"number": "T-9"}))[0] == 423
    change = {"action": "update", **where, "id": one["id"], "data": {"number": "T-1"}}
    async with house.client(wire, await house.key("bob")) as client:
        assert "locked" in (await client.call("objects", change)).complaint
    async with house.client(wire, second) as client:
        whole(await client.call("objects", change))
        assert (await house.rest("POST", f"{base}/unlock", second, {}))[0] == 200
        whole(await client.call("objects", {"action": "commit", **where, "plan": plan["id"]}))
        update = {"card_id": kept["agent"]["card_id"], "card": {"description": "Another."}, "list_in_directory": False}
        assert whole(await client.call("agents_register_card", update))["agent"]["description"] == "Another."


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("agents:operator")
async def test_an_administrator_sees_and_cancels_the_tasks_of_all_and_the_trail_has_the_reason(
    house: House, wire: Wire
) -> None:
    ticket = f"ticket {wire.transport}"
    key = await house.app.api_keys.create("key", owner="ada", scopes=WRITES)
    async with house.client(wire, f"Bearer {key.token}") as ada:
        task = whole(await ada.call("agents_send_task", {"agent": "echo", "text": "stuck?"}))["task_id"]
        refused = (await ada.call("agents_operate", {"reason": "curious"})).error
        assert "agents" in refused["message"]
    async with house.client(wire, house.password("root")) as root:
        missing = (await root.call("agents_operate", {})).result
        assert missing["isError"]
        assert "reason" in missing["content"][0]["text"]
        listed = whole(await root.call("agents_operate", {"reason": ticket, "owner": "user:ada"}))
        assert {one["owner"] for one in listed["tasks"]} == {"user:ada"}
        assert task in {one["task_id"] for one in listed["tasks"]}
        shown = whole(await root.call("agents_operate", {"reason": ticket, "task_id": task}))
        assert shown["tasks"][0]["text"] == "stuck?"
        over = (await root.call("agents_operate", {"reason": ticket, "task_id": task, "cancel": True})).result
        assert over["isError"], "a task that is over cannot be cancelled"
    await house.app.audit.flush()
    seen = await house.app.audit.recent(tool="agents_operate", principal="user:root")
    assert [entry.reason for entry in seen[:4]] == [ticket, ticket, ticket, ""]
    sent = await house.app.audit.recent(tool="agents_send_task", principal="user:ada")
    assert sent[0].credential == key.key.credential
