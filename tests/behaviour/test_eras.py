"""Which era a request belongs to, and what HTTP says in each."""

import json
from typing import Any

import pytest

from pentad.kernel.limits import Limits
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
    HttpClient,
    Object,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import AppMaker, Connect, connect_http, front_of
from tests.behaviour.http_wire import HttpAnswer, send

pytestmark = pytest.mark.anyio

ON_MODERN = pytest.mark.parametrize("wire", [HTTP_MODERN], ids=wire_name)
ON_SESSIONS = pytest.mark.parametrize("wire", [SESSION], ids=wire_name)
ECHO = {"name": "echo", "arguments": {"text": "hi"}}
JSON = {"content-type": "application/json"}


def message(method: str, params: Object | None = None, request_id: Any = 1) -> Object:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, **({"params": params} if params is not None else {})}


async def http(connect: Connect) -> HttpClient:
    client = await connect()
    assert isinstance(client, HttpClient)
    return client


async def told(answer: HttpAnswer) -> tuple[int, Any]:
    body = await answer.body()
    return answer.status, json.loads(body) if body else None


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


BATCH = [message("tools/call", ECHO, 1), message("ping", None, "two"), {"jsonrpc": "2.0", "method": "notifications/x"}]


@pytest.mark.parametrize("wire", [Wire("session", name) for name in LEGACY], ids=wire_name)
@pytest.mark.requirement("mcp:batches:2025-03-26-only")
async def test_batches_are_accepted_where_the_revision_has_them(connect: Connect, wire: Wire) -> None:
    client = await http(connect)
    status, body = await told(client.post(BATCH))
    if wire.revision == "2025-03-26":
        assert status == 200
        assert [answer["id"] for answer in body] == [1, "two"]
        assert body[0]["result"]["content"][0]["text"] == "hi"
    else:
        assert status == 400
        assert body["error"]["code"] == -32600


@pytest.mark.parametrize("transport", ["memory", "stdio"])
@pytest.mark.parametrize("wire", [MEMORY], ids=wire_name)
@pytest.mark.requirement("mcp:batches:connections")
async def test_batches_are_accepted_on_a_connection_too(connect: Connect, transport: str) -> None:
    client = await connect(Wire(transport, "2025-03-26"))
    assert isinstance(client, ConnectionClient)
    answers = await client.send_raw(json.dumps(BATCH).encode())
    assert [answer["id"] for answer in answers] == [1, "two"]
    newer = await connect(Wire(transport, "2025-11-25"))
    assert isinstance(newer, ConnectionClient)
    assert (await newer.send_raw(json.dumps(BATCH).encode()))["error"]["code"] == -32600


@ON_MODERN
@pytest.mark.requirement("mcp:batches:2025-03-26-only")
async def test_the_modern_era_has_no_batches(connect: Connect) -> None:
    client = await http(connect)
    status, body = await told(client.post([client.message("tools/list", {}, 1, None)]))
    assert status == 400
    assert body["error"]["code"] == -32600


@ON_SESSIONS
@pytest.mark.requirement("mcp:batches:parts")
async def test_each_part_of_a_batch_is_answered_for_itself(connect: Connect) -> None:
    client = await http(connect)
    parts = [message("no/such", None, 1), 7, {"id": 2}, message("initialize", {}, 3), message("tools/call", ECHO, 4)]
    status, body = await told(client.post(parts, JSON))
    assert status == 200
    assert [answer.get("error", {}).get("code") for answer in body] == [-32601, -32600, -32600, -32600, None]
    assert [answer["id"] for answer in body] == [1, None, None, 3, 4]


@ON_SESSIONS
@pytest.mark.parametrize("spaced", [b" \n\t[%b]", b"[%b]"])
@pytest.mark.requirement("mcp:batches:parts")
async def test_a_batch_may_have_blanks_in_front(connect: Connect, spaced: bytes) -> None:
    client = await http(connect)
    status, body = await told(client.post(spaced % json.dumps(message("ping")).encode(), JSON))
    assert (status, body) == (200, [{"jsonrpc": "2.0", "id": 1, "result": {}}])


@ON_SESSIONS
@pytest.mark.requirement("mcp:batches:limits")
async def test_an_empty_or_endless_batch_is_refused_and_one_of_notifications_accepted(connect: Connect) -> None:
    client = await http(connect)
    assert (await told(client.post([], JSON)))[0] == 400
    assert (await told(client.post([message("ping", None, n) for n in range(51)], JSON)))[0] == 400
    quiet = [{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 2
    assert await told(client.post(quiet, JSON)) == (202, None)


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


@ON_MODERN
@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities", None])
@pytest.mark.requirement("mcp:2026:meta-required")
async def test_a_modern_request_without_its_meta_is_invalid(connect: Connect, missing: str | None) -> None:
    client = await http(connect)
    request = client.message("tools/list", {}, 7, None)
    if missing is None:
        del request["params"]["_meta"]
    else:
        del request["params"]["_meta"][META + missing]
    status, body = await told(client.post(request, client.headers(request)))
    assert status == 400
    assert body["error"]["code"] == -32602
    assert body["id"] == 7


@ON_MODERN
@pytest.mark.requirement("mcp:2026:unsupported-version")
async def test_an_unknown_modern_version_is_refused_with_the_known_ones(connect: Connect) -> None:
    client = await http(connect)
    request = client.message("tools/list", {}, 1, {META + "protocolVersion": "v999"})
    headers = {**client.headers(request), "mcp-protocol-version": "v999"}
    status, body = await told(client.post(request, headers))
    assert status == 400
    assert body["error"]["code"] == -32022
    assert body["error"]["data"] == {"supported": [MODERN], "requested": "v999"}


@ON_MODERN
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("mcp-protocol-version", "v999"),
        ("mcp-protocol-version", None),
        ("mcp-method", "TOOLS/CALL"),
        ("mcp-method", "tools/list"),
        ("mcp-method", None),
        ("mcp-name", "add"),
        ("mcp-name", None),
        ("mcp-name", "=?base64?ZWNo?="),
        ("mcp-name", "=?base64?ZW!!Nobw==?="),
    ],
)
@pytest.mark.requirement("mcp:2026:header-mismatch")
async def test_headers_that_do_not_say_what_the_body_says_are_refused(
    connect: Connect, header: str, value: str | None
) -> None:
    client = await http(connect)
    request = client.message("tools/call", ECHO, 1, None)
    headers = {name: text for name, text in {**client.headers(request), header: value}.items() if text is not None}
    status, body = await told(client.post(request, headers))
    assert status == 400
    assert body["error"]["code"] == -32020


@ON_MODERN
@pytest.mark.parametrize("name", ["echo", "  echo  ", "\techo", "=?base64?ZWNobw==?=", " =?base64?ZWNobw==?= "])
@pytest.mark.requirement("mcp:2026:header-forms", "access:headers:whitespace")
async def test_a_name_may_be_padded_or_wrapped(connect: Connect, name: str) -> None:
    client = await http(connect)
    request = client.message("tools/call", ECHO, 1, None)
    status, _ = await told(client.post(request, {**client.headers(request), "mcp-name": name}))
    assert status == 200


@ON_MODERN
@pytest.mark.requirement("mcp:2026:header-repeated")
async def test_a_repeated_protocol_header_is_refused(connect: Connect) -> None:
    client = await http(connect)
    request = client.message("tools/call", ECHO, 1, None)
    pairs = [*client.headers(request).items(), ("mcp-name", "echo")]
    answer = send(client.app, "POST", "/mcp", pairs, json.dumps(request).encode())
    status, body = await told(answer)
    assert status == 400
    assert body["error"]["code"] == -32020


@ON_MODERN
@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        ({"region": "eu"}, {"mcp-param-region": "eu"}, 200),
        ({"region": "eu"}, {"mcp-param-region": " eu "}, 200),
        ({"region": "eu"}, {"mcp-param-region": "=?base64?ZXU=?="}, 200),
        ({"region": "eu"}, {}, 400),
        ({"region": "eu"}, {"mcp-param-region": "us"}, 400),
        ({"region": "eu"}, {"mcp-param-region": "EU"}, 400),
        ({"region": "eu", "count": 42}, {"mcp-param-region": "eu", "mcp-param-count": "42.0"}, 200),
        ({"region": "eu", "count": 42}, {"mcp-param-region": "eu", "mcp-param-count": "43"}, 400),
        ({"region": "eu", "count": None}, {"mcp-param-region": "eu"}, 200),
    ],
)
@pytest.mark.requirement("mcp:2026:param-headers")
async def test_mirrored_arguments_must_agree_with_their_headers(
    connect: Connect, arguments: Object, headers: dict[str, str], status: int
) -> None:
    client = await http(connect)
    request = client.message("tools/call", {"name": "route", "arguments": arguments}, 1, None)
    got, body = await told(client.post(request, {**client.headers(request), **headers}))
    assert got == status
    if status == 400:
        assert body["error"]["code"] == -32020


@ON_MODERN
@pytest.mark.requirement("mcp:2026:era-by-meta")
async def test_meta_alone_makes_a_request_modern(connect: Connect) -> None:
    client = await http(connect)
    request = client.message("initialize", {}, 1, None)
    headers = {**client.headers(request)}
    del headers["mcp-protocol-version"]
    status, body = await told(client.post(request, headers))
    assert status == 400
    assert body["error"]["code"] == -32020, "the missing header is what is wrong with it"
    status, body = await told(client.post(request, client.headers(request)))
    assert (status, body["error"]["code"]) == (404, -32601)


@ON_MODERN
@pytest.mark.requirement("mcp:2026:stateless")
async def test_session_and_event_ids_mean_nothing_to_the_modern_era(connect: Connect) -> None:
    client = await http(connect)
    request = client.message("tools/call", ECHO, 1, None)
    headers = {**client.headers(request), "mcp-session-id": "unknown", "last-event-id": "x.1"}
    answer = client.post(request, headers)
    assert (await told(answer))[0] == 200
    assert "mcp-session-id" not in answer.headers


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
