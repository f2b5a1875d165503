"""HTTP+JSON of A2A 1.0: the same operations by method and path, with errors as in AIP-193."""

import asyncio
import json
import time
from typing import Any

import pytest

from tests.behaviour.agents.conftest import Wire, frames_of
from tests.behaviour.agents.hall import Steps
from tests.behaviour.agents.test_jsonrpc import av, v10
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio
BASE = "/agents/tck"
ODD = {"messageId": "m", "role": "ROLE_USER", "parts": [{"raw": "dGNr", "mediaType": "application/x-odd"}]}


async def ok(wire: Wire, verb: str, path: str, body: Any = None, **headers: str) -> Any:
    answer = wire.rest(verb, path, body, **headers)
    told = await answer.json()
    assert answer.status == 200, told
    assert answer.headers["content-type"] == "application/json"
    return told


async def test_a_task_is_sent_shown_listed_and_canceled(wire: Wire) -> None:
    task = (await ok(wire, "POST", f"{BASE}/message:send", v10("tck-input-required-h"), a2a_version="1.0"))["task"]
    assert await ok(wire, "GET", f"{BASE}/tasks/{task['id']}") == task
    assert "history" not in await ok(wire, "GET", f"{BASE}/tasks/{task['id']}?historyLength=0")
    found = await ok(wire, "GET", f"{BASE}/tasks?contextId={task['contextId']}&pageSize=5&includeArtifacts=true")
    assert (found["totalSize"], found["pageSize"], found["tasks"][0]["id"]) == (1, 5, task["id"])
    canceled = await ok(wire, "POST", f"{BASE}/tasks/{task['id']}:cancel")
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    same = await wire.call("GetTask", {"id": task["id"]})
    assert same == canceled


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_streams_are_stream_responses_without_an_envelope(wire: Wire, verb: str) -> None:
    answer = wire.rest("POST", f"{BASE}/message:stream", v10(f"tck-input-required-{verb}"), accept="text/event-stream")
    told = [json.loads(frame["data"]) for frame in frames_of(await answer.body()) if "data" in frame]
    assert [next(iter(one)) for one in told] == ["task", "statusUpdate"]
    task = told[0]["task"]["id"]
    following = wire.rest(verb, f"{BASE}/tasks/{task}:subscribe")
    chunks = following.chunks()
    first = json.loads((await anext(chunks)).split(b"data: ")[1])
    assert first["task"]["id"] == task
    await ok(wire, "POST", f"{BASE}/message:send", v10(f"tck-complete-task-{verb}", taskId=task))
    rest = frames_of(b"".join([chunk async for chunk in chunks]))
    assert json.loads(rest[-1]["data"])["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_push_configs_are_resources_of_the_task(wire: Wire) -> None:
    task = (await ok(wire, "POST", f"{BASE}/message:send", v10("tck-complete-task-i")))["task"]
    path = f"{BASE}/tasks/{task['id']}/pushNotificationConfigs"
    config = {"id": "mine", "taskId": task["id"], "url": "https://hook.example/"}
    assert await ok(wire, "POST", path, {"id": "mine", "url": "https://hook.example/"}) == config
    assert await ok(wire, "GET", f"{path}/mine") == config
    assert await ok(wire, "GET", path) == {"configs": [config]}
    for _ in range(2):
        assert await ok(wire, "DELETE", f"{path}/mine") == {}
    assert (await wire.rest("GET", f"{path}/mine").head()).status == 404


async def test_where_everybody_is_let_in_there_is_no_extended_card(wire: Wire) -> None:
    refused = wire.rest("GET", f"{BASE}/extendedAgentCard")
    assert (await refused.json())["error"]["details"][0]["reason"] == "UNSUPPORTED_OPERATION"
    assert refused.status == 400
    for method, code in (("GetExtendedAgentCard", -32004), ("agent/getAuthenticatedExtendedCard", -32007)):
        assert (await wire.refused(method, {}))["code"] == code


async def test_a_tenant_stands_before_the_path(wire: Wire) -> None:
    task = (await ok(wire, "POST", "/a2a/echo/message:send", v10("m", "hi")))["task"]
    assert (await ok(wire, "GET", f"/a2a/echo/tasks/{task['id']}"))["id"] == task["id"]
    assert (await wire.rest("GET", f"/a2a/tasks/{task['id']}").head()).status == 404
    refused = wire.rest("GET", "/a2a/nobody/tasks")
    assert (await refused.json())["error"]["details"][1]["fieldViolations"][0]["field"] == "tenant"
    assert refused.status == 400


async def test_a_body_is_read_as_json_whatever_it_is_called(wire: Wire) -> None:
    for kind in ("text/plain", "application/a2a+json", "application/json; charset=utf-8"):
        assert (await ok(wire, "POST", f"{BASE}/message:send", v10("m"), content_type=kind))["task"]


@pytest.mark.requirement("access:media:mounts")
async def test_from_a_browser_a_body_is_json_and_called_so(wire: Wire) -> None:
    browser = {"sec_fetch_site": "same-origin"}
    sent = wire.rest("POST", f"{BASE}/message:send", v10("m"), content_type="text/plain", **browser)
    assert (await sent.head()).status == 415
    await sent.body()
    assert (await ok(wire, "POST", f"{BASE}/message:send", v10("m"), content_type="application/a2a+json", **browser))[
        "task"
    ]


@pytest.mark.parametrize(
    ("verb", "path", "body", "headers", "status", "reason"),
    [
        ("GET", "/tasks/none", None, {}, 404, "TASK_NOT_FOUND"),
        ("POST", "/tasks/none:cancel", None, {}, 404, "TASK_NOT_FOUND"),
        ("GET", "/tasks/none:subscribe", None, {}, 404, "TASK_NOT_FOUND"),
        ("POST", "/message:send", {}, {}, 400, "INVALID_PARAMS"),
        ("POST", "/message:send", [], {}, 400, "INVALID_PARAMS"),
        ("POST", "/message:send", v10("m"), {"a2a_version": "99.0"}, 400, "VERSION_NOT_SUPPORTED"),
        ("POST", "/message:send", v10("m"), {"a2a_version": "0.3"}, 400, "VERSION_NOT_SUPPORTED"),
        ("POST", "/message:send", {"message": ODD}, {}, 400, "CONTENT_TYPE_NOT_SUPPORTED"),
        ("GET", "/message:send", None, {}, 404, "METHOD_NOT_FOUND"),
        ("GET", "/nothing/here", None, {}, 404, "METHOD_NOT_FOUND"),
        ("GET", "/tasks?pageSize=many", None, {}, 400, "INVALID_PARAMS"),
        ("GET", "/tasks?includeArtifacts=perhaps", None, {}, 400, "INVALID_PARAMS"),
    ],
)
async def test_errors_say_their_status_and_reason(
    wire: Wire, verb: str, path: str, body: Any, headers: dict[str, str], status: int, reason: str
) -> None:
    answer = wire.rest(verb, BASE + path, body, **headers)
    error = (await answer.json())["error"]
    assert (answer.status, error["code"]) == (status, status)
    assert answer.headers["content-type"] == "application/json"
    info = error["details"][0]
    assert (info["@type"], info["reason"]) == ("type.googleapis.com/google.rpc.ErrorInfo", reason)
    assert info["domain"] == "a2a-protocol.org"


async def test_a_required_extension_is_demanded_here_too(wire: Wire) -> None:
    refused = wire.rest("POST", "/agents/own/message:send", v10("m"))
    assert (await refused.json())["error"]["details"][0]["reason"] == "EXTENSION_SUPPORT_REQUIRED"
    answer = wire.rest("POST", "/agents/own/message:send", v10("m"), a2a_extensions="urn:test:needed")
    assert (await answer.json())["task"]
    assert answer.headers["a2a-extensions"] == "urn:test:needed"


async def test_the_type_of_the_answer_is_the_one_asked_for(wire: Wire) -> None:
    answer = await wire.rest("GET", f"{BASE}/tasks", accept="application/a2a+json").head()
    assert answer.headers["content-type"] == "application/a2a+json"


async def test_bytes_of_files_are_served_to_their_owner(wire: Wire) -> None:
    task = (await wire.call("SendMessage", v10("tck-artifact-file-1")))["task"]
    shown = (await wire.call("tasks/get", {"id": task["id"]}))["artifacts"][0]
    assert shown["url"].startswith("http://localhost:8700/agents/tck/tasks/")
    answer = wire.rest("GET", shown["url"].removeprefix("http://localhost:8700"))
    assert await answer.body() == b"Generated file content"
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["content-disposition"] == "attachment"
    for other in ("file/1", "other/0"):
        assert (await wire.rest("GET", f"{BASE}/tasks/{task['id']}/files/{other}").head()).status == 404


async def test_a_webhook_of_the_profile_is_a_push_config(wire: Wire) -> None:
    made = await wire.call("tasks/send", av("ask", webhookUrl="https://hook.example/av"), "/agents/echo")
    [config] = (await wire.call("ListTaskPushNotificationConfigs", {"taskId": made["id"]}, "/agents/echo"))["configs"]
    assert config["url"] == "https://hook.example/av"
    under = {"taskId": made["id"], "tenant": "echo"}
    assert (await wire.call("ListTaskPushNotificationConfigs", under, "/a2a"))["configs"] == [config]
    assert await wire.call("GetTaskPushNotificationConfig", {**under, "id": config["id"]}, "/a2a") == config
    await wire.call("CancelTask", made, "/agents/echo")


@pytest.mark.requirement("agents:tasks:listed-by-status")
async def test_lists_are_in_the_order_of_the_status_timestamps(wire: Wire) -> None:
    made = []
    for name in ("early", "late"):
        Steps.more[name] = asyncio.Queue()
        sent = v10("m", name, contextId="ordered")
        sent["configuration"] = {"returnImmediately": True}
        made.append((await ok(wire, "POST", "/agents/steps/message:send", sent))["task"]["id"])
        made_at = time.time()
        await until_true(lambda at=made_at: time.time() > at + 0.002)  # timestamps have milliseconds
    Steps.more["early"].put_nowait("a chunk, which is no status")
    path = f"/agents/steps/tasks/{made[0]}"
    await until(lambda: ok(wire, "GET", path), lambda found: "artifacts" in found)
    tasks = (await ok(wire, "GET", "/agents/steps/tasks?contextId=ordered"))["tasks"]
    times = [one["status"]["timestamp"] for one in tasks]
    assert [one["id"] for one in tasks] == made[::-1]
    assert times == sorted(times, reverse=True)
    after = f"/agents/steps/tasks?contextId=ordered&statusTimestampAfter={times[0]}"
    assert [one["id"] for one in (await ok(wire, "GET", after))["tasks"]] == made[1:]
    for name in ("early", "late"):
        Steps.more[name].put_nowait(None)
