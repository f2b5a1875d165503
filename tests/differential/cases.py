"""The requests that are sent to Pentad and to its twin: right ones, and ones that are wrong in every usual way."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.conformance.wire import LEGACY, MODERN, PREFIX, Answer, Headers, Modern, Session, Wire

Exchange = Callable[[Wire], Answer]

VERSION: Final = PREFIX + "protocolVersion"
SIMPLE: Final[dict[str, Any]] = {"name": "test_simple_text", "arguments": {}}
ROUTED: Final[dict[str, Any]] = {"name": "test_custom_headers", "arguments": {"region": "Hello", "retries": 3}}

REQUESTS: Final[dict[str, tuple[str, Any]]] = {
    "tools-list": ("tools/list", {}),
    "prompts-list": ("prompts/list", {}),
    "resources-list": ("resources/list", {}),
    "call": ("tools/call", SIMPLE),
    "call-without-arguments": ("tools/call", {"name": "test_simple_text"}),
    "call-null-arguments": ("tools/call", {"name": "test_simple_text", "arguments": None}),
    "call-list-arguments": ("tools/call", {"name": "test_simple_text", "arguments": [1]}),
    "call-text-arguments": ("tools/call", {"name": "test_simple_text", "arguments": "{}"}),
    "call-surplus-argument": ("tools/call", {"name": "test_simple_text", "arguments": {"x": 1}}),
    "call-failing": ("tools/call", {"name": "test_error_handling", "arguments": {}}),
    "call-adding": ("tools/call", {"name": "test_add", "arguments": {"a": 1, "b": 2}}),
    "call-missing-argument": ("tools/call", {"name": "test_add", "arguments": {"a": 1}}),
    "call-wrong-type": ("tools/call", {"name": "test_add", "arguments": {"a": [], "b": 2}}),
    "call-quoted-integer": ("tools/call", {"name": "test_add", "arguments": {"a": "1", "b": 2}}),
    "call-unknown-tool": ("tools/call", {"name": "nobody", "arguments": {}}),
    "call-without-name": ("tools/call", {"arguments": {}}),
    "call-number-as-name": ("tools/call", {"name": 5, "arguments": {}}),
    "read": ("resources/read", {"uri": "test://static-text"}),
    "read-unknown": ("resources/read", {"uri": "test://nowhere"}),
    "read-without-uri": ("resources/read", {}),
    "read-number-as-uri": ("resources/read", {"uri": 5}),
    "prompt": ("prompts/get", {"name": "test_simple_prompt"}),
    "prompt-unknown": ("prompts/get", {"name": "nobody"}),
    "prompt-missing-argument": ("prompts/get", {"name": "test_prompt_with_arguments"}),
    "prompt-number-argument": (
        "prompts/get",
        {"name": "test_prompt_with_arguments", "arguments": {"arg1": 1, "arg2": "2"}},
    ),
    "prompt-without-name": ("prompts/get", {}),
    "unknown-method": ("unknown/method", {}),
    "empty-method": ("", {}),
    "initialize-again": ("initialize", {}),
    "ping": ("ping", {}),
    "set-level": ("logging/setLevel", {"level": "info"}),
    "set-unknown-level": ("logging/setLevel", {"level": "loud"}),
    "subscribe": ("resources/subscribe", {"uri": "test://static-text"}),
    "discover": ("server/discover", {}),
    "cursor-number": ("tools/list", {"cursor": 5}),
    "complete-without-ref": ("completion/complete", {"argument": {"name": "a", "value": ""}}),
}

ENVELOPES: Final[dict[str, dict[str, Any]]] = {
    "id-text": {"id": "text"},
    "id-zero": {"id": 0},
    "id-null": {"id": None},
    "id-fraction": {"id": 1.5},
    "id-boolean": {"id": True},
    "id-list": {"id": [1]},
    "jsonrpc-1": {"jsonrpc": "1.0"},
    "jsonrpc-number": {"jsonrpc": 2.0},
    "jsonrpc-missing": {"jsonrpc": ...},
    "method-missing": {"method": ...},
    "method-number": {"method": 5},
    "method-null": {"method": None},
    "params-list": {"params": []},
    "params-text": {"params": "x"},
    "params-null": {"params": None},
    "surplus-member": {"surplus": 1},
}

BODIES: Final[dict[str, bytes]] = {
    "empty-body": b"",
    "no-json": b"hello",
    "cut-off": b'{"jsonrpc": "2.0", "id": 1, "meth',
    "byte-order-mark": b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}',
    "not-utf-8": b'{"jsonrpc": "2.0", "id": 1, "method": "\xff\xfe"}',
    "utf-16": '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'.encode("utf-16"),
    "nan": b'{"jsonrpc": "2.0", "id": NaN, "method": "tools/list"}',
    "number": b"5",
    "text": b'"hello"',
    "null": b"null",
    "empty-object": b"{}",
    "empty-batch": b"[]",
    "batch-of-numbers": b"[1, 2]",
    "two-values": b"{} {}",
    "deep": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": ' + b"[" * 5000 + b"]" * 5000 + b"}",
}

MODERN_HEADERS: Final[dict[str, tuple[str, Any, Headers]]] = {
    "no-version": ("tools/list", {}, {"MCP-Protocol-Version": None}),
    "legacy-version": ("tools/list", {}, {"MCP-Protocol-Version": LEGACY}),
    "unknown-version": ("tools/list", {}, {"MCP-Protocol-Version": "v999.0.0"}),
    "no-method": ("tools/list", {}, {"Mcp-Method": None}),
    "other-method": ("tools/list", {}, {"Mcp-Method": "prompts/list"}),
    "method-in-capitals": ("tools/list", {}, {"Mcp-Method": "TOOLS/LIST"}),
    "padded-method": ("tools/list", {}, {"Mcp-Method": "  tools/list  "}),
    "no-name": ("tools/call", SIMPLE, {"Mcp-Name": None}),
    "other-name": ("tools/call", SIMPLE, {"Mcp-Name": "nobody"}),
    "padded-name": ("tools/call", SIMPLE, {"Mcp-Name": "  test_simple_text  "}),
    "wrapped-name": ("tools/call", SIMPLE, {"Mcp-Name": "=?base64?dGVzdF9zaW1wbGVfdGV4dA==?="}),
    "unpadded-name": ("tools/call", SIMPLE, {"Mcp-Name": "=?base64?dGVzdF9zaW1wbGVfdGV4dA?="}),
    "param": ("tools/call", ROUTED, {"Mcp-Param-Region": "Hello", "Mcp-Param-Retries": "3"}),
    "param-wrapped": ("tools/call", ROUTED, {"Mcp-Param-Region": "=?base64?SGVsbG8=?=", "Mcp-Param-Retries": "3.0"}),
    "param-missing": ("tools/call", ROUTED, {"Mcp-Param-Retries": "3"}),
    "param-other": ("tools/call", ROUTED, {"Mcp-Param-Region": "Bye", "Mcp-Param-Retries": "3"}),
    "param-other-number": ("tools/call", ROUTED, {"Mcp-Param-Region": "Hello", "Mcp-Param-Retries": "4"}),
}

PLAIN_HEADERS: Final[dict[str, Headers]] = {
    "text-content": {"Content-Type": "text/plain"},
    "no-content-type": {"Content-Type": None},
    "charset": {"Content-Type": "application/json; charset=utf-8"},
    "accept-anything": {"Accept": "*/*"},
    "accept-json": {"Accept": "application/json"},
    "accept-events": {"Accept": "text/event-stream"},
    "accept-html": {"Accept": "text/html"},
    "no-accept": {"Accept": None},
    "foreign-origin": {"Origin": "http://evil.example.com"},
    "foreign-host": {"Host": "evil.example.com"},
}

SESSIONS: Final[dict[str, Headers]] = {
    "no-session": {"Mcp-Session-Id": None},
    "made-up-session": {"Mcp-Session-Id": "0123456789abcdef0123456789abcdef"},
    "unknown-version": {"MCP-Protocol-Version": "1999-01-01"},
    "older-version": {"MCP-Protocol-Version": "2025-03-26"},
    "no-version": {"MCP-Protocol-Version": None},
}


@dataclass(frozen=True)
class Case:
    """One request by name; `exchange` sends it."""

    name: str
    exchange: Exchange


def cases() -> Iterator[Case]:
    yield from _modern_cases()
    yield from _legacy_cases()


def _changed(message: dict[str, Any], change: dict[str, Any]) -> bytes:
    merged = {**message, **change}
    return json.dumps({key: value for key, value in merged.items() if value is not ...}).encode()


def _modern_cases() -> Iterator[Case]:
    def case(name: str, exchange: Callable[[Modern], Answer]) -> Case:
        return Case(f"modern {name}", lambda wire: exchange(Modern(wire)))

    for name, (method, params) in REQUESTS.items():
        yield case(name, lambda client, method=method, params=params: _named(client, method, params))
    for name, (method, params, headers) in MODERN_HEADERS.items():
        yield case(f"header {name}", lambda client, m=method, p=params, h=headers: client.call(m, p, headers=h))
    for name, headers in PLAIN_HEADERS.items():
        yield case(f"header {name}", lambda client, h=headers: client.call("tools/list", headers=h))
    for name, change in ENVELOPES.items():
        yield case(f"envelope {name}", lambda client, c=change: _modern_raw(client, _changed(_listing(client), c)))
    for name, body in BODIES.items():
        yield case(f"body {name}", lambda client, b=body: _modern_raw(client, b))
    for name, value in {"version-number": 5, "version-unknown": "v999.0.0", "version-missing": None}.items():
        yield case(name, lambda client, v=value: client.call("tools/list", meta={VERSION: v}))
    yield case("capabilities-missing", lambda c: c.call("tools/list", meta={PREFIX + "clientCapabilities": None}))
    yield case("capabilities-text", lambda c: c.call("tools/list", meta={PREFIX + "clientCapabilities": "x"}))
    unknown = {"MCP-Protocol-Version": "v999.0.0"}
    yield case("version-both", lambda c: c.call("tools/list", meta={VERSION: "v999.0.0"}, headers=unknown))
    yield case("batch", lambda client: _modern_raw(client, json.dumps([_listing(client)]).encode()))
    yield case("notification", lambda client: _modern_raw(client, _changed(_listing(client), {"id": ...})))
    yield case("response", lambda client: _modern_raw(client, b'{"jsonrpc": "2.0", "id": 1, "result": {}}'))
    for verb in ("GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"):
        headers = {"MCP-Protocol-Version": MODERN, "Accept": "text/event-stream"}
        yield case(f"verb {verb}", lambda client, v=verb, h=headers: client.wire.send(None, h, verb=v))


def _named(client: Modern, method: str, params: dict[str, Any]) -> Answer:
    """A request whose name header fits even when the name in the body is no text."""
    value = params.get("name", params.get("uri"))
    fitting: Headers = {"Mcp-Name": str(value)} if value is not None and not isinstance(value, str) else {}
    return client.call(method, params, headers=fitting)


def _listing(client: Modern) -> dict[str, Any]:
    return client.body("tools/list")


def _modern_raw(client: Modern, body: bytes) -> Answer:
    return client.wire.send(body, client.headers(_listing(client)))


def _legacy_cases() -> Iterator[Case]:
    def case(name: str, exchange: Callable[[Session], Answer], version: str = LEGACY) -> Case:
        return Case(f"legacy {name}", lambda wire: exchange(Session.start(wire, version)))

    listing: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for name, (method, params) in REQUESTS.items():
        yield case(name, lambda session, m=method, p=params: session.call(m, p))
    for name, headers in {**PLAIN_HEADERS, **SESSIONS}.items():
        yield case(f"header {name}", lambda session, h=headers: session.call("tools/list", {}, headers=h))
    for name, change in ENVELOPES.items():
        yield case(f"envelope {name}", lambda session, c=change: _legacy_raw(session, _changed(listing, c)))
    for name, body in BODIES.items():
        yield case(f"body {name}", lambda session, b=body: _legacy_raw(session, b))
    batch = json.dumps([listing]).encode()
    yield case("batch", lambda session: _legacy_raw(session, batch))
    yield case("batch-2025-03-26", lambda session: _legacy_raw(session, batch), "2025-03-26")
    yield case("notification", lambda session: session.notify("notifications/unknown"))
    yield case("cancel-nothing", lambda session: session.notify("notifications/cancelled", {"requestId": 99}))
    yield case("cancel-malformed", lambda session: session.notify("notifications/cancelled", {"requestId": []}))
    yield case("response", lambda session: session.respond("never-asked", {}))
    yield case("end", lambda session: session.end())
    yield case("call-after-end", lambda session: (session.end(), session.call("tools/list"))[1])
    yield case("end-twice", lambda session: (session.end(), session.end())[1])
    for verb in ("PUT", "PATCH", "HEAD", "OPTIONS"):
        yield case(f"verb {verb}", lambda session, v=verb: session.wire.send(None, session.headers(), verb=v))
    yield case("listen-for-json", lambda session: _get(session, {"Accept": "application/json"}))
    yield case("listen-without-session", lambda session: _get(session, {"Mcp-Session-Id": None}))
    yield case("end-without-session", lambda s: s.wire.send(None, s.headers({"Mcp-Session-Id": None}), verb="DELETE"))
    for name, version in {"unknown": "1999-01-01", "number": 5}.items():
        yield Case(f"legacy initialize-{name}", lambda wire, v=version: _initialize(wire, {"protocolVersion": v}))
    yield Case("legacy initialize-without-version", lambda wire: _initialize(wire, {}))
    yield Case("legacy initialize-text-capabilities", lambda wire: _initialize(wire, {"capabilities": "x"}))


def _legacy_raw(session: Session, body: bytes) -> Answer:
    return session.wire.send(body, session.headers())


def _get(session: Session, changed: Headers) -> Answer:
    headers = session.headers({"Accept": "text/event-stream", "Content-Type": None, **changed})
    return session.wire.send(None, headers, verb="GET")


def _initialize(wire: Wire, changed: dict[str, Any]) -> Answer:
    usual: dict[str, Any] = {"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    if "capabilities" in changed:
        usual["protocolVersion"] = LEGACY
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**usual, **changed}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return wire.send(json.dumps(body).encode(), headers)
