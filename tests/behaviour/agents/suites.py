"""Clients for both versions of A2A, which send plain requests to a server process as the conformance suites do.

pentad serve --auth none --rooms agents --agent tests.tck.agent:Agent
"""

import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conformance.server import serving

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
    """Version 1.0 over one of its bindings, at the URL that the card names for it."""

    def __init__(self, binding: str, url: str) -> None:
        self.binding = binding
        self.url = url

    def ask(self, what: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
        """The result of an operation; raises Refused for an error."""
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
        """The results of a stream, as they arrive."""
        with urllib.request.urlopen(self._request(what, params, {}), timeout=20) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer:
                if line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    assert self.binding != "JSONRPC" or (event["jsonrpc"], event["id"]) == ("2.0", 7)
                    yield event["result"] if self.binding == "JSONRPC" else event

    def refused(self, what: str, reason: str, **params: Any) -> None:
        """Send a request that must be refused for this reason."""
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


@pytest.fixture(scope="session")
def suites_site() -> Generator[str]:
    """A server process that hosts the agent for the suites."""
    with serving("agents", ["--agent", "tests.tck.agent:Agent"]) as served:
        yield f"http://localhost:{served.port}"


@pytest.fixture(scope="session")
def card(suites_site: str) -> Any:
    with urllib.request.urlopen(f"{suites_site}/.well-known/agent-card.json", timeout=20) as answer:
        assert answer.headers["content-type"].startswith("application/json")
        assert "max-age" in answer.headers["cache-control"]
        assert answer.headers["etag"]
        return json.loads(answer.read())


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


class Old:
    """Version 0.3 over JSON-RPC, at the card's top-level URL."""

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
            found = [json.loads(line[6:]) for line in answer if line.startswith(b"data: ")]
        return [event.get("result") or event["error"]["code"] for event in found]


def said(beginning: str, **more: Any) -> dict[str, Any]:
    parts = [{"kind": "text", "text": "Hello"}]
    made = {"kind": "message", "messageId": f"{beginning}-{next(_NUMBERS)}", "role": "user", "parts": parts}
    return {"message": {**made, **more}}
