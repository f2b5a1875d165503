"""Approvals as users meet them: over MCP, REST, A2A and in the console."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests import waiting
from tests.behaviour.agents import payer
from tests.behaviour.agents.conftest import Wire
from tests.behaviour.agents.test_jsonrpc import av, v03, v10
from tests.behaviour.clients import HTTP_MODERN, MEMORY, MEMORY_MODERN, META, SESSION, HttpClient, Object, wire_name
from tests.behaviour.clients import Wire as McpWire
from tests.behaviour.connecting import connect_http, connected_in_memory, front_of
from tests.behaviour.test_client_requests import answered
from tests.http.browsing import PASSWORD, Browser

pytestmark = pytest.mark.anyio

HERE = "tests.behaviour.agents.payer"
KEY = "urn:pentad:a2a:approval:v1"
ROLES = {"ada": "writer", "bob": "writer", "rita": "reader", "boss": "admin", "chief": "admin"}
FORMS: Object = {"elicitation": {}}
FORM_WIRES = pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)


class House:
    """A server with users who have keys."""

    def __init__(self, app: App, keys: dict[str, str]) -> None:
        self.app = app
        self.keys = keys
        self.a2a = Wire(app)

    def login(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.keys[name]}"}

    async def rest(self, name: str, path: str = "", body: Any = None) -> tuple[int, Any]:
        verb = "GET" if body is None else "POST"
        answer = self.a2a.rest(verb, f"/api/agents/approvals{path}", body, **self.login(name))
        found = await answer.body()
        return answer.status, json.loads(found)

    async def mcp(self, name: str, wire: McpWire = HTTP_MODERN, capabilities: Object | None = None) -> HttpClient:
        return await connect_http(self.app, wire, capabilities, path="/rooms/agents/mcp", **self.login(name))

    async def ask(self, what: str, name: str = "ada") -> tuple[str, str]:
        """A waiting task and its approval."""
        sent = v10(f"m-{what}", what)
        task = (await self.a2a.call("SendMessage", sent, "/agents/payer", **self.login(name)))["task"]
        return task["id"], task["status"]["message"]["metadata"][KEY]["id"]

    async def task(self, task_id: str, state: str = "COMPLETED", name: str = "ada") -> Any:
        async def look() -> Any:
            return await self.a2a.call("GetTask", {"id": task_id}, "/agents/payer", **self.login(name))

        return await waiting.until(look, lambda task: task["status"]["state"] == f"TASK_STATE_{state}")

    async def said(self, task_id: str) -> str:
        return (await self.task(task_id))["status"]["message"]["parts"][0]["text"]


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    rooms = ("agents", f"{HERE}:ROOM")
    agents = (f"{HERE}:payer", f"{HERE}:solo")
    async with open_app(Settings(data=tmp_path_factory.mktemp("approvals"), rooms=rooms, agent=agents)) as app:
        keys: dict[str, str] = {}
        for name, role in ROLES.items():
            await app.users.add(name, PASSWORD, role=role)
            keys[name] = (await app.api_keys.create("key", owner=name, scopes=["*:*"])).token
        yield House(app, keys)


@pytest.fixture(scope="module")
async def alone(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    """A server without a login: every caller is the owner of the machine."""
    settings = Settings(
        data=tmp_path_factory.mktemp("alone"), rooms=("agents",), auth="none", agent=(f"{HERE}:payer", f"{HERE}:solo")
    )
    async with open_app(settings) as app:
        yield app


@pytest.mark.requirement("agents:approvals:rest")
async def test_an_approval_is_listed_read_and_decided_over_rest_and_audited(house: House) -> None:
    task, item = await house.ask("Pay the rent")
    status, listed = await house.rest("boss")
    found = next(one for one in listed["approvals"] if one["id"] == item)
    assert (status, found["may_decide"], found["requester"], found["by"]) == (200, True, "user:ada", ["admin"])
    assert (await house.rest("ada", f"/{item}"))[1]["may_decide"] is False
    status, done = await house.rest("boss", f"/{item}", {"decision": "approve", "reason": "fine"})
    assert (status, done["state"], done["decided_by"]) == (200, "approved", "user:boss")
    assert await house.said(task) == "approved by user:boss: fine"
    assert item not in [one["id"] for one in (await house.rest("boss"))[1]["approvals"]]
    assert item in [one["id"] for one in (await house.rest("boss", "?all=true"))[1]["approvals"]]
    await house.app.audit.flush()
    event = (await house.app.audit.recent(tool="approval approved"))[0]
    assert (event.principal, event.target, event.reason) == ("user:boss", f"approval:{item}", "fine")
    calls = [one.tool for one in await house.app.audit.recent(room="agents")]
    assert "POST /api/agents/approvals/{id}" in calls


@pytest.mark.requirement("agents:approvals:rest")
async def test_over_rest_others_are_refused_and_nothing_is_decided(house: House) -> None:
    _, item = await house.ask("Pay the gardener")
    yes = {"decision": "approve"}
    assert (await house.rest("ada", f"/{item}", yes))[0] == 403
    assert (await house.rest("bob", f"/{item}", yes))[0] == 404
    assert (await house.rest("bob", f"/{item}"))[0] == 404
    assert (await house.rest("rita", f"/{item}", yes))[0] == 403
    for body in ({"decision": "maybe"}, {}, []):
        assert (await house.rest("boss", f"/{item}", body))[0] == 422
    assert (await house.rest("boss", "?limit=0"))[0] == 422
    assert (await house.rest("boss", f"/{item}"))[1]["state"] == "pending"
    assert (await house.rest("boss", f"/{item}", {"decision": "refuse"}))[1]["state"] == "refused"
    assert (await house.rest("chief", f"/{item}", yes))[0] == 409


@pytest.mark.requirement("agents:approvals:organisations")
async def test_an_administrator_of_another_organisation_finds_nothing(house: House) -> None:
    payer.MEMBERS.update({"user:ada": "acme", "user:chief": "acme"})
    try:
        _, item = await house.ask("Pay acme's rent")
        assert (await house.rest("boss", f"/{item}"))[0] == 404
        assert (await house.rest("boss", f"/{item}", {"decision": "approve"}))[0] == 404
        assert item not in [one["id"] for one in (await house.rest("boss", "?all=true"))[1]["approvals"]]
        assert (await house.rest("chief", f"/{item}", {"decision": "approve"}))[1]["state"] == "approved"
    finally:
        payer.MEMBERS.clear()


@pytest.mark.requirement("agents:approvals:mcp")
async def test_the_tool_is_listed_in_its_room_alone_and_decides(house: House) -> None:
    task, item = await house.ask("Pay the baker")
    boss = await house.mcp("boss")
    assert "agents_approvals" in [one["name"] for one in await boss.everything("tools/list", "tools")]
    general = await connect_http(house.app, HTTP_MODERN, None, authorization=house.login("boss")["authorization"])
    assert "agents_approvals" not in [one["name"] for one in await general.everything("tools/list", "tools")]
    listed = (await boss.call("agents_approvals")).result["structuredContent"]["approvals"]
    assert item in [one["id"] for one in listed]
    decided = await boss.call("agents_approvals", {"approval_id": item, "decision": "refuse", "reason": "stale"})
    assert decided.result["structuredContent"]["approvals"][0]["state"] == "refused"
    assert await house.said(task) == "refused by user:boss: stale"
    assert "no approval" in (await (await house.mcp("bob")).call("agents_approvals", {"approval_id": item})).complaint


@FORM_WIRES
@pytest.mark.requirement("agents:approvals:mcp")
async def test_if_the_client_can_show_a_form_the_person_decides_in_it(house: House, wire: McpWire) -> None:
    task, item = await house.ask(f"Pay the miller {wire.transport}")
    boss = await house.mcp("boss", wire, FORMS)
    call = {"name": "agents_approvals", "arguments": {"approval_id": item, "decision": "approve"}}
    reply, asked = await answered(boss, "tools/call", call, {"elicitation/create": {"action": "decline"}})
    assert "nothing was decided" in reply.complaint
    assert "Pay the miller" in asked[0]["params"]["message"]
    assert "900" in asked[0]["params"]["message"]
    form = {"action": "accept", "content": {"decision": "refuse", "reason": "not now"}}
    reply, _ = await answered(boss, "tools/call", call, {"elicitation/create": form})
    assert reply.result["structuredContent"]["approvals"][0]["state"] == "refused"
    assert await house.said(task) == "refused by user:boss: not now"


@pytest.mark.parametrize("wire", [MEMORY, MEMORY_MODERN], ids=wire_name)
@pytest.mark.requirement("agents:approvals:mcp")
async def test_a_caller_who_may_decide_is_shown_the_form_while_its_call_waits(alone: App, wire: McpWire) -> None:
    form = {"action": "accept", "content": {"decision": "approve", "reason": ""}}
    async with connected_in_memory(alone, wire, FORMS) as client:
        call = {"name": "agents_send_task", "arguments": {"agent": "solo", "text": "go"}}
        reply, asked = await answered(client, "tools/call", call, {"elicitation/create": form})
        told = reply.result["structuredContent"]
        assert (told["state"], told["text"], len(asked)) == ("completed", "approved approved", 2)
        tasks = await alone.database.read(lambda rows: rows.value("SELECT count(*) FROM agent_tasks"))
        reply, _ = await answered(client, "tools/call", call, {"elicitation/create": {"action": "cancel"}})
        told = reply.result["structuredContent"]
        assert (told["state"], told["waiting_for"]) == ("input-required", "an approval by writer")
        again = await alone.database.read(lambda rows: rows.value("SELECT count(*) FROM agent_tasks"))
        assert again == tasks + 1, "a call begins one task, however often it asks"
        call["arguments"] = {"agent": "solo", "text": "whatever", "task_id": told["task_id"]}
        reply, _ = await answered(client, "tools/call", call, {"elicitation/create": form})
        assert reply.result["structuredContent"]["text"] == "approved approved"


@pytest.mark.requirement("agents:approvals:mcp")
async def test_without_a_form_the_callers_words_decide(alone: App) -> None:
    async with connected_in_memory(alone, MEMORY, {}) as client:
        waits = (await client.call("agents_send_task", {"agent": "payer", "text": "Rent"})).result["structuredContent"]
        assert (waits["waiting_for"], "agents_approvals" in waits["hint"]) == ("an approval by admin", True)
        more = {"agent": "payer", "task_id": waits["task_id"]}
        assert "waits for an approval" in (await client.call("agents_send_task", {**more, "text": "hello"})).complaint
        done = (await client.call("agents_send_task", {**more, "text": "Approve: fine"})).result["structuredContent"]
        assert done["text"] == "approved by local: fine"


@pytest.mark.requirement("agents:approvals:mcp")
async def test_a_deferred_call_works_on_unless_its_caller_may_decide(house: House, alone: App) -> None:
    takes_tasks: Object = {"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}}
    ada = await house.mcp("ada", HTTP_MODERN, takes_tasks)
    handle = (await ada.call("agents_send_task", {"agent": "payer", "text": "Pay the smith"})).result
    assert (handle["status"], "admin" in handle["statusMessage"]) == ("working", True)
    async with connected_in_memory(alone, MEMORY_MODERN, takes_tasks) as client:
        task = (await client.call("agents_send_task", {"agent": "payer", "text": "Rent"})).result["taskId"]
        asked = (await client.request("tasks/get", {"taskId": task})).result
        ((key, question),) = asked["inputRequests"].items()
        assert "Rent" in question["params"]["message"]
        await client.request("tasks/update", {"taskId": task, "inputResponses": {key: {"action": "decline"}}})
        assert (await client.request("tasks/get", {"taskId": task})).result["status"] == "input_required"
        form = {key: {"action": "accept", "content": {"decision": "approve", "reason": "ok"}}}
        await client.request("tasks/update", {"taskId": task, "inputResponses": form})
        meta = {META + "clientCapabilities": takes_tasks}

        async def look() -> Object:
            return (await client.request("tasks/get", {"taskId": task}, meta=meta)).result

        done = await waiting.until(look, lambda found: found["status"] == "completed")
        assert done["result"]["structuredContent"]["text"] == "approved by local: ok"


@pytest.mark.requirement("agents:approvals:rights")
async def test_an_agent_that_acts_for_an_approver_cannot_decide(house: House) -> None:
    _, item = await house.ask("Pay the robot")
    boss = await house.mcp("boss")
    data = {
        "target_mcp_server_id": "pentad",
        "tool_name": "agents_approvals",
        "arguments": {"approval_id": item, "decision": "approve"},
    }
    told = (await boss.call("agents_send_task", {"agent": "tool-proxy", "data": data})).result["structuredContent"]
    assert "A person decides" in json.dumps(told)
    data["tool_name"] = "agents_send_task"
    task = (await house.rest("boss", f"/{item}"))[1]["task_id"]
    data["arguments"] = {"agent": "payer", "text": "approve", "task_id": task}
    await boss.call("agents_send_task", {"agent": "tool-proxy", "data": data})
    assert (await house.rest("boss", f"/{item}"))[1]["state"] == "pending"


@pytest.mark.requirement("agents:approvals:a2a")
async def test_over_a2a_an_approver_answers_and_others_cannot(house: House) -> None:
    task, item = await house.ask("Pay the tailor")

    async def answer(name: str, text: str) -> Any:
        sent = v10(f"a-{name}-{text}", text, taskId=task)
        return await house.a2a.ask("SendMessage", sent, "/agents/payer", **house.login(name)).json()

    assert (await answer("ada", "approve"))["error"]["code"] == -32600
    assert "waits for an approval" in (await answer("ada", "What takes so long?"))["error"]["message"]
    assert (await answer("bob", "approve"))["error"]["code"] == -32001
    assert (await answer("boss", "Hello?"))["error"]["code"] == -32001
    assert (await house.rest("boss", f"/{item}"))[1]["state"] == "pending"
    told = (await answer("boss", "Approve: it is due"))["result"]["message"]
    assert told["parts"] == [{"text": "Approved by user:boss: it is due"}]
    assert await house.said(task) == "approved by user:boss: it is due"
    assert (await answer("chief", "refuse"))["error"]["code"] == -32001


@pytest.mark.requirement("agents:approvals:a2a")
async def test_every_dialect_says_what_a_task_waits_for_and_takes_the_decision(alone: App) -> None:
    wire = Wire(alone)
    path = "/agents/solo"
    yes: Object = {"decision": "approve"}
    new = (await wire.call("SendMessage", v10("d-1"), path))["task"]
    assert new["status"]["message"]["metadata"][KEY]["by"] == ["writer"]
    data = {"messageId": "d-2", "role": "ROLE_USER", "parts": [{"data": yes}], "taskId": new["id"]}
    new = (await wire.call("SendMessage", {"message": data}, path))["task"]
    assert new["status"]["message"]["parts"][0]["text"].endswith("Two")
    frames = await wire.frames("SendStreamingMessage", v10("d-3", "refuse", taskId=new["id"]), path)
    assert "approved refused" in frames[-1]["data"]
    old = await wire.call("message/send", v03("d-4"), path)
    assert (old["status"]["state"], old["status"]["message"]["metadata"][KEY]["what"]) == ("input-required", "One")
    old = await wire.call("message/send", v03("d-5", "approve", taskId=old["id"]), path)
    assert old["status"]["message"]["metadata"][KEY]["what"] == "Two"
    made = await wire.call("tasks/send", av("go"), path)

    async def look() -> Any:
        return await wire.call("tasks/get", made, path)

    waits = await waiting.until(look, lambda task: task["state"] == "INPUT_REQUIRED")
    assert "Waiting for approval by writer: One" in json.dumps(waits["messages"])
    await wire.call("tasks/send", av("approve", id=made["id"]), path)
    await waiting.until(look, lambda task: "Two" in json.dumps(task["messages"]))


@pytest.mark.requirement("agents:approvals:console")
async def test_the_console_shows_the_inbox_and_a_form_that_decides(house: House) -> None:
    task, item = await house.ask("Pay <b>the</b> printer")
    boss = Browser(front_of(house.app))
    await boss.log_in("boss")
    inbox = await boss.get("/console/agents/approvals")
    assert "Pay &lt;b&gt;the&lt;/b&gt; printer" in inbox.body
    assert "wait for you" in (await boss.get("/console/agents")).body
    path = f"/console/agents/approvals/{item}"
    page = await boss.get(path)
    assert (page.status, "user:ada" in page.body, "900" in page.body) == (200, True, True)
    fields = {"csrf": page.hidden("csrf"), "decision": "approve", "reason": "printed"}
    assert (await boss.post(path, {**fields, "csrf": "forged"})).status == 403
    assert (await boss.post(path, {**fields, "decision": "maybe"})).status == 422
    done = await boss.post(path, fields)
    assert (done.status, done.location) == (303, path)
    after = await boss.get(path)
    assert ("Approved." in after.body, "Your decision" in after.body) == (True, False)
    assert await house.said(task) == "approved by user:boss: printed"
    late = await boss.post(path, {**fields, "decision": "refuse"})
    assert (late.status, "already been decided" in late.body) == (409, True)


@pytest.mark.requirement("agents:approvals:console")
async def test_in_the_console_others_see_no_form_and_cannot_send_one(house: House) -> None:
    task, item = await house.ask("Pay the painter")
    path = f"/console/agents/approvals/{item}"
    for name, status, posted in (("ada", 200, 403), ("bob", 404, 404), ("rita", 404, 404)):
        visitor = Browser(front_of(house.app))
        await visitor.log_in(name)
        page = await visitor.get(path)
        assert (page.status, "Your decision" in page.body) == (status, False)
        csrf = page.hidden("csrf")
        assert (await visitor.post(path, {"csrf": csrf, "decision": "approve", "reason": ""})).status == posted
    stranger = Browser(front_of(house.app))
    assert (await stranger.post(path, {"decision": "approve"})).status in (302, 303, 401, 403)
    assert (await house.rest("boss", f"/{item}"))[1]["state"] == "pending"
    ada = Browser(front_of(house.app))
    await ada.log_in("ada")
    assert "an approval by admin" in (await ada.get(f"/console/agents/tasks/{task}")).body
