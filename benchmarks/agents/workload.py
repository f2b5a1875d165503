"""The same requests for every server: a short text with some 250 bytes of context, as a task that completes at once or
as one that streams. `{id}` stands for a fresh number each time."""

import http.client
import json
from typing import Any, Final

from benchmarks.messages import Request

CHUNKS: Final = 200
STEPS: Final = 20
"""Durable steps of one task."""
EVENTS: Final = CHUNKS + 3
"""What a stream sends: the task, working, the chunks, completed."""

_CONTEXT: Final = {
    "items": {
        "user_profile": {
            "mediaType": "application/json",
            "content": {"name": "Noor", "language": "nl", "units": "celsius", "since": 2019},
            "metadata": {"origin": "profile service"},
        },
        "brief": {"mediaType": "text/plain", "content": "Keep the answer short and name the source of every figure."},
    }
}
_METADATA: Final = {"mcp_context": _CONTEXT}
_A2A: Final = {"Content-Type": "application/json", "A2A-Version": "1.0"}
_STREAM: Final = {**_A2A, "Accept": "text/event-stream"}
_DONE: Final = '"TASK_STATE_COMPLETED"'


def send(path: str) -> Request:
    """A task that completes at once, answered with the task (A2A 1.0)."""
    return Request(_A2A, _a2a("SendMessage", "hello world"), path=path, expected=_DONE)


def stream(path: str) -> Request:
    """A task that is streamed to its end (A2A 1.0)."""
    return Request(_STREAM, _a2a("SendStreamingMessage", f"stream {CHUNKS}"), path=path, expected=_DONE)


def steps(path: str) -> Request:
    """A task that takes durable steps, answered when it has completed (A2A 1.0)."""
    return Request(_A2A, _a2a("SendMessage", f"steps {STEPS}"), path=path, expected=_DONE)


def tasks_send(path: str) -> Request:
    """A task in AgentVault's dialect, answered with its id."""
    message = {"role": "user", "parts": [{"type": "text", "content": "hello world"}], "metadata": _METADATA}
    headers = {"Content-Type": "application/json"}
    return Request(headers, _call("tasks/send", {"message": message}), path=path, expected='"result":{"id":"')


def check(port: int, request: Request) -> None:
    """Send it once and look at the whole answer; a wrong one ends the run."""
    connection = http.client.HTTPConnection("localhost", port, timeout=60)
    try:
        connection.request("POST", request.path, request.body.replace("{id}", "1").encode(), request.headers)
        response = connection.getresponse()
        body = response.read().decode()
    finally:
        connection.close()
    events = body.count("\ndata: ") + body.startswith("data: ")
    wanted = EVENTS if request.headers.get("Accept") == "text/event-stream" else 0
    if response.status != 200 or events != wanted or request.expected not in body:
        raise SystemExit(
            f"A server under measurement answers wrongly: {response.status}, {events} events, {body[:500]}"
        )


def _a2a(method: str, text: str) -> str:
    message = {"messageId": "m-{id}", "role": "ROLE_USER", "parts": [{"text": text}], "metadata": _METADATA}
    return _call(method, {"message": message})


def _call(method: str, params: dict[str, Any]) -> str:
    return '{"jsonrpc":"2.0","id":{id},' + json.dumps({"method": method, "params": params}, separators=(",", ":"))[1:]
