"""JSON-RPC at one URL: the dialect of a request, its answers and its errors."""

import itertools
import json
from typing import Any

import pytest

from tests.behaviour.agents.conftest import Wire
from tests.behaviour.http_wire import send

pytestmark = pytest.mark.anyio
_NUMBERS = itertools.count(1)


def any_id(message_id: str = "m") -> str:
    """The id of a message; `m` stands for an unused one."""
    return f"m-{next(_NUMBERS)}" if message_id == "m" else message_id


def v10(message_id: str, text: str = "Hello", **more: Any) -> dict[str, Any]:
    return {"message": {"messageId": any_id(message_id), "role": "ROLE_USER", "parts": [{"text": text}], **more}}


def v03(message_id: str, text: str = "Hello", **more: Any) -> dict[str, Any]:
    parts = [{"kind": "text", "text": text}]
    return {"message": {"kind": "message", "messageId": any_id(message_id), "role": "user", "parts": parts, **more}}


def av(text: str = "Hello", **more: Any) -> dict[str, Any]:
    return {"message": {"role": "user", "parts": [{"type": "text", "content": text}]}, **more}


async def test_a_send_in_1_0_waits_for_the_task_and_shows_it(wire: Wire) -> None:
    task = (await wire.call("SendMessage", v10("tck-complete-task-1"), a2a_version="1.0"))["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["status"]["message"]["parts"] == [{"text": "Hello from TCK"}]
    assert [one["messageId"] for one in task["history"]] == ["tck-complete-task-1"]
    assert await wire.call("GetTask", {"id": task["id"]}) == task
    assert "history" not in await wire.call("GetTask", {"id": task["id"], "historyLength": 0})


async def test_a_send_in_0_3_waits_for_the_task_and_shows_it(wire: Wire) -> None:
    task = await wire.call("message/send", v03("tck-artifact-data-1"))
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    assert task["artifacts"][0]["parts"] == [{"kind": "data", "data": {"key": "value", "count": 42}}]
    got = await wire.call("tasks/get", {"id": task["id"]})
    assert got == task
    assert "messages" not in got


async def test_a_send_of_the_profile_gives_an_id_and_the_task_has_its_shape(wire: Wire) -> None:
    made = await wire.call("tasks/send", av())
    assert set(made) == {"id"}
    frames = await wire.frames("tasks/sendSubscribe", made)
    assert json.loads(frames[-1]["data"])["state"] == "COMPLETED"
    task = await wire.call("tasks/get", made)
    assert set(task) == {"id", "state", "createdAt", "updatedAt", "messages", "artifacts", "metadata"}
    assert (task["state"], [one["role"] for one in task["messages"]]) == ("COMPLETED", ["user", "assistant"])


async def test_an_answer_without_a_task_is_a_message(wire: Wire) -> None:
    said = (await wire.call("SendMessage", v10("tck-message-response-1")))["message"]
    assert said["parts"] == [{"text": "Direct message response"}]
    said = await wire.call("message/send", v03("tck-message-response-2"))
    assert (said["kind"], said["role"]) == ("message", "agent")


async def test_a_shared_method_is_answered_by_path_then_header_then_who_made_the_task(wire: Wire) -> None:
    theirs = await wire.call("tasks/send", av(), "/a2a")
    await wire.frames("tasks/sendSubscribe", theirs)
    newest = (await wire.call("SendMessage", v10("tck-complete-task-x")))["task"]
    older = await wire.call("message/send", v03("tck-complete-task-y"))

    async def shape(task: Any, path: str, **headers: str) -> tuple[bool, bool]:
        body = await wire.call("tasks/get", {"id": task["id"]}, path, **headers)
        return "createdAt" in body, "kind" in body

    assert await shape(older, "/av") == (True, False)
    assert await shape(newest, "/av") == (True, False)
    assert await shape(theirs, "/agents/tck", a2a_version="0.3") == (False, True)
    assert await shape(newest, "/agents/tck", a2a_version="0.3") == (False, True)
    assert await shape(theirs, "/agents/tck") == (True, False)
    assert await shape(older, "/agents/tck") == (False, True)
    assert await shape(newest, "/agents/tck") == (True, True)
    assert await shape(theirs, "/a2a") == (True, True)


async def test_one_task_is_started_in_one_dialect_followed_in_another_and_canceled_in_the_third(wire: Wire) -> None:
    made = await wire.call("tasks/send", av("slow"), "/agents/echo")
    following = wire.ask("tasks/resubscribe", made, "/agents/echo", a2a_version="0.3")
    events = following.chunks()
    first = json.loads((await anext(events)).split(b"data: ")[1])["result"]
    assert (first["kind"], first["id"]) == ("task", made["id"])
    canceled = await wire.call("CancelTask", made, "/agents/echo", a2a_version="1.0")
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    rest = b"".join([chunk async for chunk in events])
    last = json.loads(rest.decode().strip().split("data: ")[-1])["result"]
    assert (last["status"]["state"], last["final"]) == ("canceled", True)
    assert (await wire.call("tasks/get", made, "/agents/echo"))["state"] == "CANCELED"


async def test_a_task_that_is_over_is_not_canceled_again(wire: Wire) -> None:
    task = (await wire.call("SendMessage", v10("tck-complete-task-2")))["task"]
    error = await wire.refused("CancelTask", {"id": task["id"]})
    assert error["code"] == -32002
    assert error["data"][0]["reason"] == "TASK_NOT_CANCELABLE"
    assert (await wire.refused("tasks/cancel", {"id": task["id"]}))["code"] == -32002
    made = await wire.call("tasks/send", av())
    await wire.frames("tasks/sendSubscribe", made)
    assert (await wire.call("tasks/cancel", made))["success"] is False
    assert (await wire.call("tasks/cancel", made, "/av"))["success"] is False


@pytest.mark.requirement("agents:tasks:cancel-again")
async def test_a_task_may_be_canceled_again_in_every_dialect(wire: Wire) -> None:
    made = await wire.call("tasks/send", av("slow"), "/agents/echo")
    first = await wire.call("CancelTask", made, "/agents/echo", a2a_version="1.0")
    assert await wire.call("CancelTask", made, "/agents/echo", a2a_version="1.0") == first
    assert await wire.rest("POST", f"/agents/echo/tasks/{made['id']}:cancel").json() == first
    again = await wire.call("tasks/cancel", made, "/agents/echo", a2a_version="0.3")
    assert again["status"]["state"] == "canceled"
    assert (await wire.call("tasks/cancel", made, "/agents/echo"))["success"] is True
    assert len(await wire.frames("tasks/sendSubscribe", made, "/agents/echo")) == 4, "nothing more is in the log"


async def test_what_a_task_waits_for_continues_it(wire: Wire) -> None:
    asked = (await wire.call("SendMessage", v10("tck-input-required-1")))["task"]
    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    done = (await wire.call("SendMessage", v10("tck-complete-task-3", taskId=asked["id"])))["task"]
    assert (done["id"], done["contextId"]) == (asked["id"], asked["contextId"])
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert len(done["history"]) == 3
    assert len((await wire.call("GetTask", {"id": done["id"], "historyLength": 1}))["history"]) == 1
    again = await wire.refused("SendMessage", v10("tck-complete-task-4", taskId=asked["id"]))
    assert again["code"] == -32004
    waiting = (await wire.call("SendMessage", v10("tck-input-required-2")))["task"]
    other = await wire.refused("SendMessage", v10("m", taskId=waiting["id"], contextId="other"))
    assert other["code"] == -32602
    theirs = await wire.call("tasks/send", av("x", id=waiting["id"]))
    assert theirs == {"id": waiting["id"]}


async def test_a_caller_that_does_not_wait_is_answered_at_once(wire: Wire) -> None:
    now = {**v10("test-resubscribe-message-id-1"), "configuration": {"returnImmediately": True}}
    task = (await wire.call("SendMessage", now))["task"]
    assert task["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    await wire.call("CancelTask", {"id": task["id"]})
    now = {**v03("test-resubscribe-message-id-2"), "configuration": {"blocking": False}}
    task = await wire.call("message/send", now)
    assert task["status"]["state"] in ("submitted", "working")
    assert (await wire.call("tasks/cancel", {"id": task["id"]}))["status"]["state"] == "canceled"


async def test_tasks_are_listed_page_by_page(wire: Wire) -> None:
    for number in range(3):
        await wire.call("SendMessage", v10(f"tck-artifact-text-{number}", contextId="listed"))
    await wire.call("SendMessage", v10("tck-reject-task-1", contextId="listed"))
    first = await wire.call("ListTasks", {"contextId": "listed", "pageSize": 2})
    assert (len(first["tasks"]), first["totalSize"], first["pageSize"]) == (2, 4, 2)
    assert first["tasks"][0]["status"]["state"] == "TASK_STATE_REJECTED"
    assert all("artifacts" not in task for task in first["tasks"])
    rest = {"contextId": "listed", "pageToken": first["nextPageToken"], "includeArtifacts": True}
    second = await wire.call("ListTasks", rest)
    assert (len(second["tasks"]), second["nextPageToken"], second["pageSize"]) == (2, "", 50)
    assert second["tasks"][0]["artifacts"][0]["parts"] == [{"text": "Generated text content"}]
    done = await wire.call("ListTasks", {"contextId": "listed", "status": "TASK_STATE_COMPLETED"})
    assert done["totalSize"] == 3
    since = done["tasks"][0]["status"]["timestamp"]
    late = await wire.call("ListTasks", {"contextId": "listed", "statusTimestampAfter": since})
    assert 1 <= late["totalSize"] <= 4
    for wrong in ({"pageSize": 0}, {"pageSize": 101}, {"status": "DONE"}, {"statusTimestampAfter": "soon"}):
        assert (await wire.refused("ListTasks", wrong))["code"] == -32602
    assert (await wire.refused("ListTasks", {"pageToken": "?"}))["code"] == -32602


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"{", -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', -32600, None),
        (b'{"jsonrpc":"1.0","id":5,"method":"GetTask"}', -32600, 5),
        (b'{"jsonrpc":"2.0","id":"x","params":{}}', -32600, "x"),
        (b'{"jsonrpc":"2.0","id":{},"method":"GetTask"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":9007199254740993,"method":"Nothing"}', -32601, 2**53 + 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"parts":"invalid"}}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":7}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"none"}}', -32001, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"none"}}', -32001, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"none"}}', -32001, 1),
    ],
)
async def test_what_is_wrong_with_a_request_has_its_code(wire: Wire, body: bytes, code: int, request_id: Any) -> None:
    answer = wire.post(body)
    told = await answer.json()
    assert answer.status == 200
    assert (told["error"]["code"], told["id"], told["jsonrpc"]) == (code, request_id, "2.0")


async def test_a_wrong_kind_of_body_is_refused_as_such(wire: Wire) -> None:
    answer = await wire.ask("SendMessage", v10("m"), content_type="text/plain").json()
    assert answer["error"]["code"] == -32005
    assert (await wire.call("SendMessage", v10("m"), content_type="application/a2a+json; charset=utf-8"))["task"]


async def test_content_of_a_type_the_agent_does_not_take_is_refused(wire: Wire) -> None:
    odd = {"messageId": any_id(), "role": "ROLE_USER", "parts": [{"raw": "dGNr", "mediaType": "application/x-odd"}]}
    error = await wire.refused("SendMessage", {"message": odd})
    assert (error["code"], error["data"][0]["reason"]) == (-32005, "CONTENT_TYPE_NOT_SUPPORTED")
    assert await wire.call("SendMessage", {"message": odd}, "/agents/echo")
    fine = {**odd, "parts": [{"raw": "dGNr", "mediaType": "text/plain; charset=utf-8"}]}
    assert await wire.call("SendMessage", {"message": fine})
    theirs = {"role": "user", "parts": [{"url": "https://x.example/", "mediaType": "application/x-odd"}]}
    assert (await wire.refused("tasks/send", {"message": theirs}))["code"] == -32602


async def test_a_task_of_the_older_suite_can_be_continued_and_canceled(wire: Wire) -> None:
    task = await wire.call("message/send", v03("any"))
    assert task["status"]["state"] == "input-required"
    for beginning, state in (("other", "input-required"), ("tck-complete-task", "completed")):
        more = await wire.call("message/send", v03(beginning, taskId=task["id"]))
        assert (more["id"], more["status"]["state"]) == (task["id"], state)
    task = await wire.call("message/send", v03("any more"))
    assert (await wire.call("tasks/cancel", {"id": task["id"]}))["status"]["state"] == "canceled"


async def test_versions_are_negotiated(wire: Wire) -> None:
    error = await wire.refused("SendMessage", v10("m"), a2a_version="99.0")
    assert error["code"] == -32009
    assert error["data"][0]["metadata"] == {"supported": "0.3,1.0"}
    assert (await wire.refused("SendMessage", v10("m"), a2a_version="0.3"))["code"] == -32009
    assert (await wire.refused("message/send", v03("m"), a2a_version="1.0"))["code"] == -32009
    assert await wire.call("SendMessage", v10("m"), "/agents/tck?A2A-Version=1.0")
    assert (await wire.refused("SendMessage", v10("m"), "/agents/tck?A2A-Version=2.0"))["code"] == -32009
    assert await wire.call("SendMessage", v10("m"), a2a_version="")
    assert await wire.call("message/send", v03("m"), a2a_version="0.3.0")


async def test_extensions_are_demanded_granted_and_said(wire: Wire) -> None:
    error = await wire.refused("SendMessage", v10("m"), "/agents/own")
    assert (error["code"], error["data"][0]["metadata"]) == (-32008, {"extension": "urn:test:needed"})
    asked = "urn:test:needed, urn:unknown, urn:test:offered"
    answer = wire.ask("SendMessage", v10("m"), "/agents/own", a2a_extensions=asked)
    assert (await answer.json())["result"]["task"]
    assert answer.headers["a2a-extensions"] == "urn:test:needed, urn:test:offered"
    task = (await wire.call("SendMessage", v10("m"), "/agents/own", a2a_extensions=asked))["task"]
    assert await wire.call("GetTask", {"id": task["id"]}, "/agents/own")
    assert await wire.call("tasks/send", av(), "/agents/own")


async def test_problems_of_what_a_message_brings_are_told_by_their_fields(wire: Wire) -> None:
    bad = {"bad": 1}
    error = await wire.refused("SendMessage", v10("m", metadata=bad))
    violations = [{"field": "/message/metadata/bad", "description": "It is bad."}]
    assert (error["code"], error["data"][1]["fieldViolations"]) == (-32602, violations)
    error = await wire.refused("message/send", v03("m", metadata=bad))
    assert (error["code"], error["data"]["violations"]) == (-32602, violations)
    message = {"role": "user", "parts": [{"content": "x"}], "metadata": bad}
    error = await wire.refused("tasks/send", {"message": message})
    assert (error["code"], error["data"]) == (-32602, violations)


async def test_a_notification_is_obeyed_and_not_answered(wire: Wire) -> None:
    said = v10("tck-complete-task-n", contextId="noted")
    answer = wire.post(json.dumps({"jsonrpc": "2.0", "method": "SendMessage", "params": said}).encode())
    assert await answer.body() == b""
    assert answer.status == 204
    assert (await wire.call("ListTasks", {"contextId": "noted"}))["totalSize"] == 1
    theirs = await wire.post(json.dumps({"jsonrpc": "2.0", "method": "tasks/send", "params": av()}).encode()).json()
    assert theirs["id"] is None
    assert theirs["result"]["id"]
    stream = await wire.post(json.dumps({"jsonrpc": "2.0", "method": "message/stream"}).encode()).json()
    assert stream["error"]["code"] == -32600


async def test_methods_of_an_agents_own_are_called_by_name(wire: Wire) -> None:
    assert await wire.call("own/double", {"number": 21}, "/agents/own") == {"twice": 42}
    error = await wire.refused("own/double", {"number": "many"}, "/agents/own")
    assert (error["code"], error["data"][0]["field"]) == (-32602, "number")
    broken = wire.ask("own/broken", {}, "/agents/own")
    told = await broken.json()
    assert (broken.status, told["error"]["code"]) == (500, -32603)
    assert "canary" not in json.dumps(told)
    assert (await wire.refused("own/double", {"number": 1}))["code"] == -32601


@pytest.mark.parametrize("path", ["/agents/tck", "/agents/tck/", "/a2a", "/a2a/", "/av/"])
async def test_an_agent_answers_with_and_without_the_slash(wire: Wire, path: str) -> None:
    assert (await wire.call("SendMessage", v10("m"), path))["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_tenant_names_an_agent_where_one_address_serves_them_all(wire: Wire) -> None:
    task = (await wire.call("SendMessage", {**v10("m", "hi"), "tenant": "echo"}, "/a2a"))["task"]
    assert task["status"]["message"]["parts"] == [{"text": "hi"}]
    assert (await wire.refused("GetTask", {"id": task["id"]}, "/a2a"))["code"] == -32001
    assert await wire.call("GetTask", {"id": task["id"], "tenant": "echo"}, "/a2a")
    assert await wire.call("GetTask", {"id": task["id"], "tenant": "echo"}, "/agents/echo")
    for path in ("/a2a", "/agents/echo"):
        error = await wire.refused("GetTask", {"id": task["id"], "tenant": "nobody"}, path)
        assert error["data"][1]["fieldViolations"][0]["field"] == "tenant"


async def test_an_agent_nobody_hosts_is_not_found(wire: Wire) -> None:
    answer = send(wire.front, "POST", "/agents/nobody", {"content-type": "application/json"}, b"{}")
    assert (await answer.json())["error"]["status"] == "NOT_FOUND"
    assert answer.status == 404


async def test_numbers_and_depth_survive_every_dialect(wire: Wire) -> None:
    deep: Any = 2**53 + 1
    for _ in range(40):
        deep = [deep]
    data = {"n": 2**53 + 1, "f": 42.0, "i": 42, "deep": deep}
    sent = {"message": {"messageId": any_id(), "role": "ROLE_USER", "parts": [{"data": data}], "metadata": {"d": data}}}
    task = (await wire.call("SendMessage", sent, "/agents/echo"))["task"]
    exact = json.dumps(data)
    for method in ("GetTask", "tasks/get"):
        assert json.dumps(await wire.call(method, {"id": task["id"]}, "/agents/echo")).count(exact) >= 3


async def test_push_configs_are_kept_in_1_0(wire: Wire) -> None:
    task = (await wire.call("SendMessage", v10("tck-complete-task-p")))["task"]
    config = {"id": "mine", "taskId": task["id"], "url": "https://hook.example/x", "token": "t"}
    assert await wire.call("CreateTaskPushNotificationConfig", config) == config
    named = {"taskId": task["id"], "id": "mine"}
    shown = {key: value for key, value in config.items() if key != "token"}
    assert await wire.call("GetTaskPushNotificationConfig", named) == shown
    assert await wire.call("ListTaskPushNotificationConfigs", {"taskId": task["id"]}) == {"configs": [shown]}
    for _ in range(2):
        assert await wire.call("DeleteTaskPushNotificationConfig", named) == {}
    assert (await wire.refused("GetTaskPushNotificationConfig", named))["code"] == -32001
    assert (await wire.refused("CreateTaskPushNotificationConfig", {"url": "https://x.example"}))["code"] == -32602


async def test_push_configs_are_kept_in_0_3(wire: Wire) -> None:
    task = await wire.call("message/send", v03("tck-complete-task-q"))
    config = {"taskId": task["id"], "pushNotificationConfig": {"id": "c", "url": "https://hook.example/x"}}
    prefix = "tasks/pushNotificationConfig"
    assert await wire.call(f"{prefix}/set", config) == config
    named = {"id": task["id"], "pushNotificationConfigId": "c"}
    assert await wire.call(f"{prefix}/get", named) == config
    assert await wire.call(f"{prefix}/get", {"id": task["id"]}) == config
    assert await wire.call(f"{prefix}/list", {"id": task["id"]}) == [config]
    assert await wire.call(f"{prefix}/delete", named) is None
    assert (await wire.refused(f"{prefix}/delete", {"id": task["id"]}))["code"] == -32602
