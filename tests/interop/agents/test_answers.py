"""Every answer of Pentad in a dialect, task by task and event by event, validated by the models of that dialect."""

import json
import subprocess
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.interop.agents.tours import FOLDER, Site
from tests.interop.environments import a2a_python, agentvault_python

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]

WORDS = ("hello", "stream", "ask", "parts", "reject", "reply")
Judged = list[tuple[str, Any]]
PUSH = {"id": "c1", "url": "https://example.com/hook", "token": "t"}


class Wire:
    """Plain requests in one dialect; every answer is recorded under the name of its type."""

    def __init__(self, site: Site, version: str | None = None) -> None:
        self._site = site
        self._headers = {"Content-Type": "application/json", **({"A2A-Version": version} if version else {})}
        self.answers: Judged = []

    def raw(self, path: str, body: Any = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._site.url}/agents/proof{path}", data, self._headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read()

    def call(self, method: str, params: Any, name: str = "") -> Any:
        answer = json.loads(self.raw("", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        return self.keep(name, answer["result"])

    def stream(self, method: str, params: Any) -> list[tuple[str, Any]]:
        """The frames of a stream: the name of each, and its data."""
        frames = self.raw("", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).decode().split("\n\n")
        found: list[tuple[str, Any]] = []
        for frame in frames:
            fields = dict(line.split(": ", 1) for line in frame.splitlines() if not line.startswith(":"))
            if "data" in fields:
                found.append((fields.get("event", ""), json.loads(fields["data"])))
        return found

    def keep(self, name: str, answer: Any) -> Any:
        if name:
            self.answers.append((name, answer))
        return answer


def new_id() -> str:
    return str(uuid.uuid4())


def faults(python: Path, judges: str, answers: Judged) -> list[str]:
    lines = "".join(json.dumps(one) + "\n" for one in answers)
    done = subprocess.run(
        [python, FOLDER / judges], input=lines, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.requirement("agents:interop:answers")
def test_every_answer_in_version_1_0_is_what_its_messages_say(site: Site) -> None:
    wire = Wire(site, "1.0")
    wire.keep("1.0 AgentCard", json.loads(wire.raw("/.well-known/agent-card.json")))
    for word in WORDS:
        message = {"messageId": new_id(), "role": "ROLE_USER", "parts": [{"text": word}]}
        answer = wire.call("SendMessage", {"message": message}, "1.0 SendMessageResponse")
        wire.keep("1.0 SendMessageResponse", json.loads(wire.raw("/message:send", {"message": message})))
        for _, data in wire.stream("SendStreamingMessage", {"message": message}):
            wire.keep("1.0 StreamResponse", data["result"])
        if "task" in answer:
            wire.call("GetTask", {"id": answer["task"]["id"]}, "1.0 Task")
            wire.keep("1.0 Task", json.loads(wire.raw(f"/tasks/{answer['task']['id']}")))
    wire.call("ListTasks", {"includeArtifacts": True}, "1.0 ListTasksResponse")
    wire.keep("1.0 ListTasksResponse", json.loads(wire.raw("/tasks?pageSize=3")))
    message = {"messageId": new_id(), "role": "ROLE_USER", "parts": [{"text": "wait"}]}
    waiting = wire.call("SendMessage", {"message": message, "configuration": {"returnImmediately": True}})["task"]
    config = "1.0 TaskPushNotificationConfig"
    wire.call("CreateTaskPushNotificationConfig", {"taskId": waiting["id"], **PUSH}, config)
    wire.call("GetTaskPushNotificationConfig", {"taskId": waiting["id"], "id": "c1"}, config)
    listed = "1.0 ListTaskPushNotificationConfigsResponse"
    wire.call("ListTaskPushNotificationConfigs", {"taskId": waiting["id"]}, listed)
    wire.call("CancelTask", {"id": waiting["id"]}, "1.0 Task")
    assert faults(a2a_python(), "a2a_models.py", wire.answers) == []
    assert len(wire.answers) > 40


@pytest.mark.requirement("agents:interop:answers")
def test_every_answer_in_version_0_3_is_what_its_models_say(site: Site) -> None:
    wire = Wire(site, "0.3")
    wire.keep("0.3 AgentCard", json.loads(wire.raw("/.well-known/agent-card.json")))
    names = {
        "task": "0.3 Task", "message": "0.3 Message", "status-update": "0.3 TaskStatusUpdateEvent",
        "artifact-update": "0.3 TaskArtifactUpdateEvent",
    }  # fmt: skip
    for word in WORDS:
        parts = [{"kind": "text", "text": word}]
        message = {"kind": "message", "messageId": new_id(), "role": "user", "parts": parts}
        answer = wire.call("message/send", {"message": message})
        wire.keep(names[answer["kind"]], answer)
        for _, data in wire.stream("message/stream", {"message": message}):
            wire.keep(names[data["result"]["kind"]], data["result"])
        if answer["kind"] == "task":
            wire.call("tasks/get", {"id": answer["id"]}, "0.3 Task")
    message = {"kind": "message", "messageId": new_id(), "role": "user", "parts": [{"kind": "text", "text": "wait"}]}
    waiting = wire.call("message/send", {"message": message, "configuration": {"blocking": False}})
    config = "0.3 TaskPushNotificationConfig"
    given = {"taskId": waiting["id"], "pushNotificationConfig": PUSH}
    wire.call("tasks/pushNotificationConfig/set", given, config)
    wire.call("tasks/pushNotificationConfig/get", {"id": waiting["id"], "pushNotificationConfigId": "c1"}, config)
    for one in wire.call("tasks/pushNotificationConfig/list", {"id": waiting["id"]}):
        wire.keep(config, one)
    wire.call("tasks/cancel", {"id": waiting["id"]}, "0.3 Task")
    assert faults(a2a_python(), "a2a_models.py", wire.answers) == []
    assert len(wire.answers) > 25


@pytest.mark.requirement("agents:interop:answers")
def test_every_answer_in_agentvaults_dialect_is_what_its_models_say(site: Site) -> None:
    wire = Wire(site)
    wire.keep("AgentCard", json.loads(wire.raw("/agent-card.json")))
    names = {
        "task_status": "TaskStatusUpdateEvent", "task_message": "TaskMessageEvent",
        "task_artifact": "TaskArtifactUpdateEvent",
    }  # fmt: skip
    for word in (*WORDS[:2], *WORDS[3:5]):
        message = {"role": "user", "parts": [{"type": "text", "content": word}]}
        task_id = wire.call("tasks/send", {"message": message}, "TaskSendResult")["id"]
        for name, data in wire.stream("tasks/sendSubscribe", {"id": task_id}):
            wire.keep(names[name], data)
        wire.call("tasks/get", {"id": task_id}, "Task")
    message = {"role": "user", "parts": [{"type": "text", "content": "wait"}]}
    task_id = wire.call("tasks/send", {"message": message})["id"]
    wire.call("tasks/cancel", {"id": task_id}, "TaskCancelResult")
    assert faults(agentvault_python(), "agentvault_models.py", wire.answers) == []
    assert len(wire.answers) > 20


@pytest.mark.requirement("agents:interop:answers")
def test_a_task_begun_nowhere_in_particular_is_read_by_both_of_the_dialects_that_share_a_method(site: Site) -> None:
    """Started in 1.0 and read with `tasks/get`: one answer for AgentVault's readers and for those of 0.3."""
    new, shared = Wire(site, "1.0"), Wire(site)
    for word in ("stream", "parts", "ask"):
        message = {"messageId": new_id(), "role": "ROLE_USER", "parts": [{"text": word}]}
        task = new.call("SendMessage", {"message": message})["task"]
        answer = shared.call("tasks/get", {"id": task["id"]})
        shared.keep("Task", answer)
    assert faults(agentvault_python(), "agentvault_models.py", shared.answers) == []
    old = [("0.3 Superset", answer) for _, answer in shared.answers]
    assert faults(a2a_python(), "a2a_models.py", old) == []
