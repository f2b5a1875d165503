"""The requests that are measured, on both wires, and the check that they are answered right.

The check comes before the clock: the speed of a wrong answer means nothing.
"""

import http.client
import json
from dataclasses import dataclass, field
from typing import Any, Final

TEXT: Final = "hello world"
LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
CONNECTIONS: Final = 16

_COMMON: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_META: Final = "io.modelcontextprotocol/"
_CLIENT: Final = {"name": "benchmark", "version": "1"}
_CALL: Final = {"name": "echo", "arguments": {"text": TEXT}}


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is sent again and again; `{id}` in its body stands for a fresh id each time."""

    headers: dict[str, str]
    body: str
    sessions: tuple[str, ...] = field(default=())
    """Legacy sessions the requests take turns in."""
    path: str = "/mcp"
    expected: str = ""
    """What every answer holds; empty where only the status is looked at."""


def modern(method: str, token: str | None = None) -> Request:
    """A stateless request."""
    named = {"Mcp-Name": "echo"} if method == "tools/call" else {}
    headers = {**_COMMON, **_login(token), "MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named}
    meta = {f"{_META}protocolVersion": MODERN, f"{_META}clientCapabilities": {}, f"{_META}clientInfo": _CLIENT}
    return Request(headers, _body(method, {**_params(method), "_meta": meta}))


def legacy(method: str, port: int, token: str | None = None) -> Request:
    """A request in sessions, one for each connection of the load; they are begun here."""
    headers = {**_COMMON, **_login(token), "MCP-Protocol-Version": LEGACY}
    sessions = tuple(begin_sessions(port, CONNECTIONS, token))
    return Request(headers, _body(method, _params(method)), sessions)


def begin_sessions(port: int, count: int, token: str | None = None) -> list[str]:
    """Shake hands that many times over one connection; the sessions' ids."""
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
    connection = http.client.HTTPConnection("localhost", port, timeout=30)
    found: list[str] = []
    try:
        for number in range(count):
            message = _body("initialize", params).replace("{id}", str(number))
            response, _ = _post(connection, {**_COMMON, **_login(token)}, message)
            session = response.headers["Mcp-Session-Id"]
            ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
            _post(connection, {**_COMMON, **_login(token), "Mcp-Session-Id": session}, ready)
            found.append(session)
    finally:
        connection.close()
    return found


def check(port: int, request: Request) -> None:
    """Send it once and look at the answer; a wrong one ends the run."""
    connection = http.client.HTTPConnection("localhost", port, timeout=30)
    session = {"Mcp-Session-Id": request.sessions[0]} if request.sessions else {}
    try:
        _, answer = _post(connection, {**request.headers, **session}, request.body.replace("{id}", "1"))
    finally:
        connection.close()
    if not answers(answer):
        raise SystemExit(f"A server under measurement answers wrongly: {answer!r}")


def answers(answer: bytes) -> bool:
    """Whether a message is the right answer to one of the requests here."""
    result: dict[str, Any] = json.loads(answer).get("result", {})
    said = [block.get("text") for block in result.get("content", ())]
    listed = [tool.get("name") for tool in result.get("tools", ())]
    return said == [TEXT] or listed == ["echo"]


def stdio_opening() -> bytes:
    """What a client of stdio says before its first call."""
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return f"{_body('initialize', params).replace('{id}', '0')}\n{ready}\n".encode()


def stdio_call() -> bytes:
    """One call over stdio; `%d` stands for its id."""
    return _body("tools/call", _CALL).replace("{id}", "%d").encode() + b"\n"


def _params(method: str) -> dict[str, Any]:
    return dict(_CALL) if method == "tools/call" else {}


def _body(method: str, params: dict[str, Any]) -> str:
    return '{"jsonrpc":"2.0","id":{id},' + json.dumps({"method": method, "params": params}, separators=(",", ":"))[1:]


def _login(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def _post(
    connection: http.client.HTTPConnection, headers: dict[str, str], message: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection.request("POST", "/mcp", message.encode(), headers)
    response = connection.getresponse()
    body = response.read()
    if response.status not in (200, 202):
        raise SystemExit(f"A server under measurement refused a request: {response.status} {body!r}")
    return response, body
