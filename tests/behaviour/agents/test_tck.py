"""What A2A says a server MUST do, asked of a server process as the conformance suites ask it.

    pentad serve --auth none --rooms agents --agent tests.tck.agent:Agent

Version 1.0 over JSON-RPC and over HTTP+JSON, then version 0.3. The address is the one its card names, with a slash.
"""

import itertools
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conformance.server import serving

pytestmark = pytest.mark.timeout(60)

_NUMBERS = itertools.count(1)
METHODS = {
    "send": ("SendMessage", "POST", "/message:send"),
    "stream": ("SendStreamingMessage", "POST", "/message:stream"),
    "get": ("GetTask", "GET", "/tasks/{id}"),
    "list": ("ListTasks", "GET", "/tasks"),
    "cancel": ("CancelTask", "POST", "/tasks/{id}:cancel"),
    "subscribe": ("SubscribeToTask", "GET", "/tasks/{id}:subscribe"),
    "set push": ("CreateTaskPushNotificationConfig", "POST", "/tasks/{taskId}/pushNotificationConfigs"),
    "get push": ("GetTaskPushNotificationConfig", "GET", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "list push": ("ListTaskPushNotificationConfigs", "GET", "/tasks/{taskId}/pushNotificationConfigs"),
    "delete push": ("DeleteTaskPushNotificationConfig", "DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
}
CODES = {
    "TASK_NOT_FOUND": -32001, "TASK_NOT_CANCELABLE": -32002, "UNSUPPORTED_OPERATION": -32004,
    "CONTENT_TYPE_NOT_SUPPORTED": -32005, "VERSION_NOT_SUPPORTED": -32009,
}  # fmt: skip


class Refused(Exception):
    """An error of the protocol: its code (JSON-RPC) or status (HTTP), and its reason."""

    def __init__(self, code: int, details: list[Any]) -> None:
        self.code = code
        infos = [one for one in details if one["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"]
        self.reason = infos[0]["reason"] if infos else ""
        if infos:
            assert infos[0]["domain"] == "a2a-protocol.org"
        super().__init__(f"{code} {self.reason}")


class Binding:
    """Version 1.0 by one of its bindings, at the address the card names for it."""

    def __init__(self, binding: str, url: str) -> None:
        self.binding = binding
        self.url = url

    def ask(self, what: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
        """The result of an operation; Refused where it is an error."""
        status, kind, body = self._exchange(what, params, headers or {})
        answer = json.loads(body) if body else {}
        assert kind.startswith("application/json") or status == 204
        if self.binding == "JSONRPC":
            assert answer["jsonrpc"] == "2.0"
            if "error" in answer:
                assert answer["error"].keys() <= {"code", "message", "data"}
                raise Refused(answer["error"]["code"], answer["error"].get("data", []))
            return answer["result"]
        if status >= 400:
            assert answer["error"]["code"] == status
            assert answer["error"]["message"]
            raise Refused(status, answer["error"].get("details", []))
        return answer

    def events(self, what: str, **params: Any) -> Iterator[Any]:
        """The results of a stream, as they come."""
        with urllib.request.urlopen(self._request(what, params, {}), timeout=20) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer:
                if line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    assert self.binding != "JSONRPC" or (event["jsonrpc"], event["id"]) == ("2.0", 7)
                    yield event["result"] if self.binding == "JSONRPC" else event

    def refused(self, what: str, reason: str, **params: Any) -> None:
        """Ask for what has to be refused for this reason."""
        with pytest.raises(Refused) as caught:
            self.ask(what, **params)
        if self.binding == "JSONRPC":
            assert caught.value.code == CODES.get(reason, -32602)
        if reason in CODES:
            assert caught.value.reason == reason

    def _exchange(self, what: str, params: dict[str, Any], headers: dict[str, str]) -> tuple[int, str, bytes]:
        try:
            with urllib.request.urlopen(self._request(what, params, headers), timeout=20) as answer:
                return answer.status, answer.headers.get("content-type", ""), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers["content-type"], error.read()

    def _request(self, what: str, params: dict[str, Any], headers: dict[str, str]) -> urllib.request.Request:
        method, verb, path = METHODS[what]
        told = {"A2A-Version": "1.0", "Content-Type": "application/json", **headers}
        if self.binding == "JSONRPC":
            body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
            return urllib.request.Request(f"{self.url}/", body, told)
        names = [name for name in params if f"{{{name}}}" in path]
        rest = {name: value for name, value in params.items() if name not in names}
        url = self.url + path.format(**{name: params[name] for name in names})
        if verb == "GET":
            query = {name: str(value).lower() if value is True else value for name, value in rest.items()}
            return urllib.request.Request(f"{url}?{urlencode(query)}", headers=told)
        return urllib.request.Request(
            url, json.dumps(rest).encode() if rest or verb == "POST" else None, told, method=verb
        )


@pytest.fixture(scope="module")
def site() -> Generator[str]:
    with serving("agents", ["--agent", "tests.tck.agent:Agent"]) as served:
        yield f"http://localhost:{served.port}"


@pytest.fixture(scope="module")
def card(site: str) -> Any:
    with urllib.request.urlopen(f"{site}/.well-known/agent-card.json", timeout=20) as answer:
        assert answer.headers["content-type"].startswith("application/json")
        assert "max-age" in answer.headers["cache-control"]
        assert answer.headers["etag"]
        return json.loads(answer.read())


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def a2a(card: Any, request: pytest.FixtureRequest) -> Binding:
    (url,) = [
        one["url"]
        for one in card["supportedInterfaces"]
        if (one["protocolBinding"], one["protocolVersion"]) == (request.param, "1.0")
    ]
    return Binding(request.param, url)


def message(beginning: str, **more: Any) -> dict[str, Any]:
    return {
        "messageId": f"{beginning}-{next(_NUMBERS)}", "role": "ROLE_USER", "parts": [{"text": "Hello"}], **more
    }  # fmt: skip


def begun(a2a: Binding, beginning: str, **more: Any) -> Any:
    return a2a.ask("send", message=message(beginning, **more))["task"]


def state(task: Any) -> str:
    return task["status"]["state"]


def last_state(event: Any) -> str:
    return state(event.get("statusUpdate") or event.get("task"))


@pytest.mark.requirement("agents:tck:1.0")
def test_the_card_has_every_required_member(card: Any) -> None:
    required = {
        "name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes",
        "defaultOutputModes", "skills",
    }  # fmt: skip
    assert required <= card.keys()
    for skill in card["skills"]:
        assert {"id", "name", "description", "tags"} <= skill.keys()


@pytest.mark.requirement("agents:tck:1.0")
def test_a_send_waits_for_the_end_and_the_task_can_be_read(a2a: Binding) -> None:
    task = begun(a2a, "tck-complete-task")
    assert state(task) == "TASK_STATE_COMPLETED"
    assert task["status"]["message"]["role"] == "ROLE_AGENT"
    assert task["status"]["timestamp"].endswith("Z")
    assert a2a.ask("get", id=task["id"]) == task


def test_a_message_may_be_the_answer(a2a: Binding) -> None:
    answer = a2a.ask("send", message=message("tck-message-response"))
    assert answer["message"]["parts"] == [{"text": "Direct message response"}]
    assert "task" not in answer


def test_parts_of_every_kind_arrive_as_they_were_made(a2a: Binding) -> None:
    file = {"filename": "output.txt", "mediaType": "text/plain"}
    wanted = {
        "tck-artifact-text": {"text": "Generated text content"},
        "tck-artifact-file-url": {"url": "https://example.com/output.txt", **file},
        "tck-artifact-data": {"data": {"key": "value", "count": 42}},
    }
    for beginning, part in wanted.items():
        assert begun(a2a, beginning)["artifacts"][0]["parts"] == [part]
    raw = begun(a2a, "tck-artifact-file")["artifacts"][0]["parts"][0]
    assert raw.keys() == {"raw", "filename", "mediaType"}


@pytest.mark.requirement("agents:tck:1.0")
def test_what_is_unknown_or_over_is_refused_for_its_reason(a2a: Binding) -> None:
    over = begun(a2a, "tck-complete-task")
    for what in ("get", "cancel", "subscribe"):
        a2a.refused(what, "TASK_NOT_FOUND", id="no-such-task")
    a2a.refused("send", "TASK_NOT_FOUND", message=message("x", taskId="no-such-task"))
    a2a.refused("cancel", "TASK_NOT_CANCELABLE", id=over["id"])
    a2a.refused("subscribe", "UNSUPPORTED_OPERATION", id=over["id"])
    a2a.refused("send", "UNSUPPORTED_OPERATION", message=message("x", taskId=over["id"]))


@pytest.mark.requirement("agents:tck:1.0")
def test_a_task_that_waits_is_continued_in_its_context_alone(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    assert state(task) == "TASK_STATE_INPUT_REQUIRED"
    a2a.refused("send", "", message=message("x", taskId=task["id"], contextId="another"))
    done = begun(a2a, "tck-complete-task", taskId=task["id"])
    assert (done["id"], done["contextId"], state(done)) == (task["id"], task["contextId"], "TASK_STATE_COMPLETED")
    assert state(begun(a2a, "tck-reject-task")) == "TASK_STATE_REJECTED"


def test_a_task_that_waits_is_canceled(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    assert state(a2a.ask("cancel", id=task["id"])) == "TASK_STATE_CANCELED"
    assert state(a2a.ask("get", id=task["id"])) == "TASK_STATE_CANCELED"


def test_history_is_as_long_as_it_was_asked_for(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    begun(a2a, "tck-complete-task", taskId=task["id"])
    whole = a2a.ask("get", id=task["id"])["history"]
    assert len(whole) >= 2
    assert a2a.ask("get", id=task["id"], historyLength=1)["history"] == whole[-1:]
    assert "history" not in a2a.ask("get", id=task["id"], historyLength=0)


def test_a_caller_may_choose_not_to_wait(a2a: Binding) -> None:
    settings = {"returnImmediately": True}
    task = a2a.ask("send", message=message("test-resubscribe-message-id"), configuration=settings)["task"]
    assert state(task) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    assert state(a2a.ask("cancel", id=task["id"])) == "TASK_STATE_CANCELED"


@pytest.mark.requirement("agents:tck:1.0")
def test_a_stream_begins_with_the_task_keeps_the_order_and_ends_with_its_end(a2a: Binding) -> None:
    events = list(a2a.events("stream", message=message("tck-stream-artifact-chunked")))
    kinds = [next(iter(event)) for event in events]
    assert kinds == ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]
    first, second = (event["artifactUpdate"] for event in events[2:4])
    assert first["artifact"]["artifactId"] == second["artifact"]["artifactId"]
    assert (first.get("append", False), second["append"], second["lastChunk"]) == (False, True, True)
    assert last_state(events[-1]) == "TASK_STATE_COMPLETED"


def test_a_stream_may_be_a_message_alone(a2a: Binding) -> None:
    (event,) = a2a.events("stream", message=message("tck-message-response"))
    assert event.keys() == {"message"}


@pytest.mark.requirement("agents:tck:1.0")
def test_all_that_subscribe_have_the_task_first_and_hear_the_same_to_its_end(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    streams = [a2a.events("subscribe", id=task["id"]) for _ in range(2)]
    for stream in streams:
        first = next(stream)
        assert (first["task"]["id"], last_state(first)) == (task["id"], "TASK_STATE_INPUT_REQUIRED")
    ending = threading.Thread(target=begun, args=(a2a, "tck-complete-task"), kwargs={"taskId": task["id"]})
    ending.start()
    heard = [list(stream) for stream in streams]
    ending.join()
    assert heard[0] == heard[1]
    assert last_state(heard[0][-1]) == "TASK_STATE_COMPLETED"


def test_tasks_are_listed_newest_first_in_pages(a2a: Binding) -> None:
    first = begun(a2a, "tck-artifact-text")
    more = [begun(a2a, "tck-artifact-text", contextId=first["contextId"]) for _ in range(2)]
    wanted = [task["id"] for task in (*reversed(more), first)]
    page = a2a.ask("list", contextId=first["contextId"], pageSize=2)
    assert ([task["id"] for task in page["tasks"]], page["totalSize"], page["pageSize"]) == (wanted[:2], 3, 2)
    assert all("artifacts" not in task for task in page["tasks"])
    rest = a2a.ask(
        "list", contextId=first["contextId"], pageSize=2, pageToken=page["nextPageToken"], includeArtifacts=True
    )
    assert [task["id"] for task in rest["tasks"]] == wanted[2:]
    assert (rest["nextPageToken"], len(rest["tasks"][0]["artifacts"])) == ("", 1)
    only = a2a.ask("list", contextId=first["contextId"], status="TASK_STATE_CANCELED")
    assert (only["tasks"], only["totalSize"]) == ([], 0)
    a2a.refused("list", "", pageSize=101)


def test_push_configs_are_made_read_listed_and_deleted(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    made = a2a.ask("set push", taskId=task["id"], id="c1", url="https://example.com/hook", token="t")
    assert a2a.ask("get push", taskId=task["id"], id="c1") == made
    assert a2a.ask("list push", taskId=task["id"])["configs"] == [made]
    a2a.ask("delete push", taskId=task["id"], id="c1")
    assert a2a.ask("list push", taskId=task["id"]).get("configs", []) == []
    a2a.refused("get push", "TASK_NOT_FOUND", taskId="no-such-task", id="c1")


@pytest.mark.requirement("agents:tck:1.0")
def test_versions_and_extensions_are_negotiated(a2a: Binding) -> None:
    a2a.refused("send", "VERSION_NOT_SUPPORTED", headers={"A2A-Version": "99.0"}, message=message("x"))
    extensions = {"A2A-Extensions": "https://example.com/ext/v1, https://example.com/ext/v2"}
    assert state(a2a.ask("send", headers=extensions, message=message("x"))["task"]) == "TASK_STATE_COMPLETED"
    a2a.refused("send", "CONTENT_TYPE_NOT_SUPPORTED", headers={"Content-Type": "text/plain"}, message=message("x"))


def test_wrong_params_are_told_by_their_fields(a2a: Binding) -> None:
    a2a.refused("send", "")
    for wrong in ({"parts": "text"}, {"parts": []}, {"role": "ROLE_NOBODY"}, {"messageId": ""}):
        a2a.refused("send", "", message={**message("x"), **wrong})


class Old:
    """Version 0.3 over JSON-RPC, at the address the card has at its top."""

    def __init__(self, url: str) -> None:
        self.url = url

    def raw(self, body: Any) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())

    def ask(self, method: str, params: Any) -> Any:
        status, answer = self.raw({"jsonrpc": "2.0", "id": "r1", "method": method, "params": params})
        assert (status, answer["jsonrpc"], answer["id"]) == (200, "2.0", "r1")
        return answer.get("result") or answer["error"]["code"]

    def events(self, method: str, params: Any) -> list[Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": "r1", "method": method, "params": params}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return [json.loads(line[6:])["result"] for line in answer if line.startswith(b"data: ")]


@pytest.fixture(scope="module")
def old(card: Any) -> Old:
    return Old(card["url"])


def said(beginning: str, **more: Any) -> dict[str, Any]:
    parts = [{"kind": "text", "text": "Hello"}]
    made = {"kind": "message", "messageId": f"{beginning}-{next(_NUMBERS)}", "role": "user", "parts": parts}
    return {"message": {**made, **more}}


@pytest.mark.requirement("agents:tck:0.3")
def test_the_card_has_every_member_0_3_requires(card: Any) -> None:
    assert {
        "protocolVersion", "name", "description", "url", "preferredTransport", "version", "capabilities",
        "defaultInputModes", "defaultOutputModes", "skills",
    } <= card.keys()  # fmt: skip
    assert card["protocolVersion"].startswith("0.3")


@pytest.mark.requirement("agents:tck:0.3")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"jsonrpc": "2.0", "method": "message/send", "params": {"foo": "bar"}', -32700),
        ({"jsonrpc": "aaa", "method": "message/send", "params": {}}, -32600),
        ({"jsonrpc": "2.0", "params": {}}, -32600),
        ({"jsonrpc": "2.0", "method": "message/send", "params": {}, "id": {"bad": "type"}}, -32600),
        ([], -32600),
        ({"jsonrpc": "2.0", "method": "no/such/method", "id": "3", "params": {}}, -32601),
        ({"jsonrpc": "2.0", "method": "message/send", "id": "4", "params": "no object"}, -32602),
        ({"jsonrpc": "2.0", "method": "message/send", "id": "4", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "method": "message/send", "id": "5", "params": {"message": {"parts": "invalid"}}}, -32602),
        ({"jsonrpc": "2.0", "method": "tasks/get", "id": "6", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "method": "tasks/cancel", "id": "7", "params": {"id": 7}}, -32602),
    ],
)
def test_what_is_no_request_is_answered_with_its_code(old: Old, body: Any, code: int) -> None:
    status, answer = old.raw(body)
    assert (status, answer["error"]["code"]) == (200, code)
    assert answer["id"] == (body["id"] if isinstance(body, dict) and isinstance(body.get("id"), str) else None)


@pytest.mark.requirement("agents:tck:0.3")
def test_tasks_of_0_3_are_sent_read_continued_and_canceled(old: Old) -> None:
    task = old.ask("message/send", said("tck-complete-task"))
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    assert old.ask("tasks/get", {"id": task["id"]}) == task
    assert old.ask("tasks/get", {"id": task["id"], "historyLength": 0}).get("history", []) == []
    waiting = old.ask("message/send", said("tck-input-required"))
    assert waiting["status"]["state"] == "input-required"
    done = old.ask("message/send", said("tck-complete-task", taskId=waiting["id"], contextId=waiting["contextId"]))
    assert (done["id"], done["status"]["state"]) == (waiting["id"], "completed")
    other = old.ask("message/send", said("tck-input-required"))
    assert old.ask("tasks/cancel", {"id": other["id"]})["status"]["state"] == "canceled"
    assert old.ask("message/send", said("tck-message-response"))["kind"] == "message"


@pytest.mark.requirement("agents:tck:0.3")
def test_what_is_unknown_or_over_has_the_codes_of_0_3(old: Old) -> None:
    over = old.ask("message/send", said("tck-complete-task"))["id"]
    assert old.ask("tasks/get", {"id": "no-such-task"}) == -32001
    assert old.ask("tasks/cancel", {"id": "no-such-task"}) == -32001
    assert old.ask("message/send", said("x", taskId="no-such-task")) == -32001
    assert old.ask("tasks/resubscribe", {"id": "no-such-task"}) == -32001
    assert old.ask("tasks/cancel", {"id": over}) == -32002


def test_a_stream_of_0_3_ends_with_a_final_event(old: Old) -> None:
    events = old.events("message/stream", said("tck-stream-artifact-chunked"))
    assert [event["kind"] for event in events] == [
        "task", "status-update", "artifact-update", "artifact-update", "status-update"
    ]  # fmt: skip
    assert [event["final"] for event in events if event["kind"] == "status-update"] == [False, True]
    assert (events[2]["append"], events[3]["append"], events[3]["lastChunk"]) == (False, True, True)
