"""Which era a request belongs to, and the HTTP responses in each."""

import json
from typing import Any

import pytest

from pentad.kernel.default_limits import Limits
from tests.behaviour.clients import (
    HTTP_MODERN,
    LEGACY,
    MEMORY,
    MEMORY_MODERN,
    META,
    MODERN,
    SESSION,
    STATELESS,
    STDIO,
    ConnectionClient,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import AppMaker, Connect, connect_http, front_of
from tests.behaviour.http_wire import send
from tests.behaviour.plain_http import ECHO, JSON, ON_MODERN, ON_SESSIONS, http, message, told

pytestmark = pytest.mark.anyio


@ON_SESSIONS
@pytest.mark.parametrize("headers", [{}, JSON, {**JSON, "accept": "*/*"}, {"accept": "application/json"}])
@pytest.mark.requirement("mcp:http:plain-post", "mcp:http:curl")
async def test_a_plain_post_of_a_call_is_served_without_any_ceremony(connect: Connect, headers: dict[str, str]) -> None:
    client = await http(connect)
    status, body = await told(client.post(message("tools/call", ECHO), headers))
    assert status == 200
    assert body == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"content": [{"type": "text", "text": "hi"}], "isError": False},
    }
    _, who = await told(client.post(message("tools/call", {"name": "whoami"}), headers))
    assert json.loads(who["result"]["content"][0]["text"])["revision"] == "2025-03-26"


@ON_SESSIONS
@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.requirement("mcp:http:version-header")
async def test_without_a_session_the_version_header_decides(connect: Connect, revision: str) -> None:
    client = await http(connect)
    headers = {**JSON, "mcp-protocol-version": f" {revision} "}
    _, who = await told(client.post(message("tools/call", {"name": "whoami"}), headers))
    assert json.loads(who["result"]["content"][0]["text"])["revision"] == revision


@ON_SESSIONS
@pytest.mark.parametrize("revision", ["1999-01-01", "nonsense", "", "2025-11-25, 2025-06-18"])
@pytest.mark.requirement("mcp:http:version-header-unknown")
async def test_an_unknown_version_header_is_a_bad_request(connect: Connect, revision: str) -> None:
    client = await http(connect)
    for headers in (JSON, client.headers()):
        answer = client.post(message("tools/list"), {**headers, "mcp-protocol-version": revision})
        status, body = await told(answer)
        assert status == 400
        assert "2025-11-25" in body["error"]["message"]


@ON_SESSIONS
@pytest.mark.parametrize("revision", [None, "2025-11-25", "2024-11-05"])
@pytest.mark.requirement("mcp:http:initialize-with-or-without-version-header")
async def test_a_handshake_may_or_may_not_name_a_version_in_its_header(connect: Connect, revision: str | None) -> None:
    client = await http(connect)
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers = {**JSON, **({"mcp-protocol-version": revision} if revision else {})}
    status, body = await told(client.post(message("initialize", params), headers))
    assert status == 200
    assert body["result"]["protocolVersion"] == "2025-06-18"


BROKEN = [
    (b"", -32700),
    (b"{", -32700),
    (b"nonsense", -32700),
    (b"\xff\xfe", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700),
    (b"7", -32600),
    (b"null", -32600),
    (b'"text"', -32600),
    (b"{}", -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    (b'{"jsonrpc":"2.0","id":1}', -32600),
]


@pytest.mark.parametrize(("body", "code"), BROKEN)
@pytest.mark.parametrize("wire", [SESSION, STATELESS, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:jsonrpc:malformed")
async def test_a_malformed_message_is_refused_by_its_code(connect: Connect, body: bytes, code: int) -> None:
    client = await http(connect)
    status, answer = await told(client.post(body))
    assert status == 400
    assert answer["error"]["code"] == code
    assert answer["jsonrpc"] == "2.0"


@pytest.mark.parametrize(("body", "code"), [case for case in BROKEN if case[0]])
@pytest.mark.parametrize("wire", [MEMORY, STDIO, MEMORY_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:jsonrpc:malformed")
async def test_a_malformed_line_is_refused_and_the_conversation_goes_on(
    connect: Connect, body: bytes, code: int
) -> None:
    client = await connect()
    assert isinstance(client, ConnectionClient)
    exchange = await client.open("tools/list", request_id=1)
    await exchange.reply()
    reply = await client.send_raw(body)
    assert reply["error"]["code"] == code
    assert (await client.call("echo", {"text": "on"})).text == "on"


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:limits:json-depth", "access:limits:json-keys")
async def test_deep_or_wide_json_is_refused_by_the_name_of_the_limit(make_app: AppMaker, wire: Wire) -> None:
    client = await connect_http(await make_app(limits=Limits(json_depth=8, json_keys=20)), wire)
    deep = client.message("tools/call", {"name": "echo", "arguments": json.loads("[" * 9 + "]" * 9)}, 1, None)
    status, body = await told(client.post(deep, client.headers(deep)))
    assert status == 413
    assert "deeper than 8" in body["error"]["message"]
    wide = client.message("tools/call", {"name": "echo", "arguments": {str(n): n for n in range(21)}}, 1, None)
    status, body = await told(client.post(wide, client.headers(wide)))
    assert status == 413
    assert "limit is 20" in body["error"]["message"]
    await client.close()


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:http:notification-202")
async def test_a_notification_is_accepted_without_a_body(connect: Connect) -> None:
    client = await http(connect)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert await told(client.post(note)) == (202, None)


@ON_MODERN
@pytest.mark.requirement("mcp:2026:no-client-responses")
async def test_a_modern_client_sends_no_answers(connect: Connect) -> None:
    client = await http(connect)
    status, body = await told(client.post({"jsonrpc": "2.0", "id": "x", "result": {}}))
    assert status == 400
    assert body["error"]["code"] == -32600


@ON_MODERN
@pytest.mark.requirement("mcp:2026:discover")
async def test_discovery_names_versions_capabilities_and_the_server(connect: Connect) -> None:
    client = await http(connect)
    result = (await client.request("server/discover")).result
    assert result["supportedVersions"] == [MODERN]
    assert "tools" in result["capabilities"]
    assert result["instructions"] == "Use `echo` to hear yourself."
    info = result["_meta"][META + "serverInfo"]
    assert info["name"] == "pentad"
    assert info["version"]
    assert result["resultType"] == "complete"
    assert isinstance(result["ttlMs"], int)


@pytest.mark.parametrize("wire", [HTTP_MODERN, MEMORY_MODERN], ids=wire_name)
@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)
@pytest.mark.requirement("mcp:2026:removed-methods")
async def test_methods_of_the_old_era_are_not_found_in_the_new(connect: Connect, method: str) -> None:
    client = await connect()
    reply = await client.request(method, {"uri": "lab://static/text", "level": "info"})
    assert reply.error["code"] == -32601
    if reply.http is not None:
        assert reply.http.status == 404


@ON_SESSIONS
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
@pytest.mark.requirement("mcp:legacy:no-modern-methods")
async def test_methods_of_the_new_era_are_not_found_in_the_old(connect: Connect, method: str) -> None:
    client = await http(connect)
    assert (await client.request(method)).error["code"] == -32601


@pytest.mark.parametrize("wire", [MEMORY], ids=wire_name)
@pytest.mark.requirement("mcp:connection:both-eras")
async def test_both_eras_are_served_on_one_connection(connect: Connect) -> None:
    client = await connect()
    assert (await client.request("ping")).result == {}
    client.wire = MEMORY_MODERN
    assert (await client.request("server/discover")).result["resultType"] == "complete"
    client.wire = MEMORY
    assert (await client.request("ping")).result == {}


@pytest.mark.parametrize(
    ("verb", "headers", "status"),
    [
        ("GET", {"mcp-protocol-version": MODERN}, 405),
        ("GET", {}, 405),
        ("DELETE", {"mcp-protocol-version": MODERN}, 405),
        ("DELETE", {}, 400),
        ("HEAD", {}, 405),
        ("OPTIONS", {}, 405),
        ("PUT", {}, 405),
        ("PATCH", {}, 405),
        ("GET", {"mcp-session-id": "unknown"}, 404),
        ("GET", {"mcp-session-id": "unknown", "accept": "application/json"}, 406),
    ],
)
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/rooms/lab/mcp", "/rooms/lab/mcp/"])
@pytest.mark.requirement("mcp:http:verbs", "mcp:http:no-redirect")
async def test_other_verbs_are_answered_by_era(
    lab: Any, verb: str, headers: dict[str, str], status: int, path: str
) -> None:
    answer = send(front_of(lab), verb, path, headers)
    await answer.body()
    assert answer.status == status
    if status == 405:
        assert "POST" in answer.headers["allow"]


@ON_SESSIONS
@pytest.mark.requirement("mcp:http:get-stream")
async def test_a_session_may_hold_a_stream_open_for_news(connect: Connect) -> None:
    client = await http(connect)
    answer = await client.get().head()
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-accel-buffering"] == "no"
    await answer.leave()


@pytest.mark.requirement("mcp:limits:streams")
async def test_a_principal_has_only_so_many_streams(make_app: AppMaker) -> None:
    app = await make_app(limits=Limits(streams_per_principal=2))
    client = await connect_http(app, SESSION)
    streams = [await client.get().head() for _ in range(2)]
    refused = client.get()
    await refused.body()
    assert refused.status == 503
    await streams[0].leave()
    again = await client.get().head()
    assert again.status == 200
    for stream in (streams[1], again):
        await stream.leave()
    await client.close()
