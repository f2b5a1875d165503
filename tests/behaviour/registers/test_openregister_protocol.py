"""OpenRegister's endpoint: envelope, order of checks, codes, sessions and credentials, as its document promises."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.clocks import TurnedClock
from tests.behaviour.registers.openregister import OpenRegister
from tests.rooms.registers.site import Site, open_site

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "body", [b"", b"{not valid json}", b"null", b"  ", b'{"a":', b"\xff\xfe", b'{"a":"\xed\xa0\x80"}']
)
@pytest.mark.requirement("openregister:parse-error")
async def test_what_is_no_json_is_a_parse_error(endpoint: OpenRegister, body: bytes) -> None:
    reply = await endpoint.post(body)
    assert reply.status == 200
    assert reply.json["error"]["code"] == -32700
    assert "Parse error" in reply.json["error"]["message"]
    assert reply.json["id"] is None


@pytest.mark.parametrize(
    ("message", "request_id"),
    [
        ({"method": "ping", "id": 1}, 1),
        ({"jsonrpc": "1.0", "method": "ping", "id": 42}, 42),
        ({"jsonrpc": "1.0", "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": "a", "method": 5}, "a"),
        ({"jsonrpc": "2.0", "id": "a", "method": ""}, "a"),
        ([{"jsonrpc": "2.0", "method": "ping", "id": 1}], None),
        ([], None),
        (5, None),
        ("ping", None),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
    ],
)
@pytest.mark.requirement("openregister:invalid-request")
async def test_what_is_no_request_is_invalid_and_keeps_its_id(
    endpoint: OpenRegister, message: object, request_id: object
) -> None:
    reply = await endpoint.post(message)
    assert reply.status == 200
    assert reply.json["error"]["code"] == -32600
    assert "Invalid JSON-RPC 2.0 request" in reply.json["error"]["message"]
    assert reply.json["id"] == request_id


@pytest.mark.parametrize("extra", [{}, {"id": None}])
@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/x", "ping"])
@pytest.mark.requirement("openregister:notifications")
async def test_a_message_without_an_id_is_taken_and_not_answered(
    endpoint: OpenRegister, method: str, extra: dict[str, None]
) -> None:
    for session in (None, "nonsense", await endpoint.session()):
        reply = await endpoint.post({"jsonrpc": "2.0", "method": method, **extra}, session=session)
        assert reply.status == 202
        assert reply.body == b""


async def test_a_call_without_an_id_does_nothing(endpoint: OpenRegister) -> None:
    before = await endpoint.call("registers", action="list", limit=1000)
    params = {"name": "registers", "arguments": {"action": "create", "data": {"title": "Never"}}}
    reply = await endpoint.post({"jsonrpc": "2.0", "method": "tools/call", "params": params})
    assert reply.status == 202
    assert len(await endpoint.call("registers", action="list", limit=1000)) == len(before)


@pytest.mark.requirement("openregister:initialize")
async def test_initialize_agrees_on_the_originals_revision_and_gives_a_session(endpoint: OpenRegister) -> None:
    params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1.0"}}
    reply = await endpoint.initialize(params)
    assert reply.status == 200
    result = reply.json["result"]
    assert result["protocolVersion"] == "2025-03-26"
    assert result["serverInfo"] == {"name": "OpenRegister", "version": "1.0.0"}
    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
    }
    assert result["instructions"]
    assert re.fullmatch(r"[A-Za-z0-9]{32}", reply.headers["mcp-session-id"])


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-03-26"),
        ("1999-01-01", "2025-03-26"),
        (5, "2025-03-26"),
    ],
)
@pytest.mark.requirement("openregister:later-revision")
async def test_a_later_revision_that_is_known_is_echoed_and_no_other(
    endpoint: OpenRegister, asked: object, agreed: str
) -> None:
    assert (await endpoint.initialize({"protocolVersion": asked})).json["result"]["protocolVersion"] == agreed


@pytest.mark.parametrize("params", [None, {}, [], "x"])
async def test_initialize_ignores_what_its_params_are(endpoint: OpenRegister, params: object) -> None:
    reply = await endpoint.initialize(params)
    assert reply.json["result"]["protocolVersion"] == "2025-03-26"
    assert reply.headers["mcp-session-id"]


async def test_initialize_works_without_params(endpoint: OpenRegister) -> None:
    assert (await endpoint.initialize()).json["result"]["protocolVersion"] == "2025-03-26"


@pytest.mark.requirement("openregister:internal-error")
async def test_a_session_that_cannot_be_begun_is_an_initialize_failure(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        await site.app.database.write(lambda tx: tx.run("DROP TABLE mcp_subscriptions"))
        await site.app.database.write(lambda tx: tx.run("DROP TABLE mcp_sessions"))
        reply = await OpenRegister(site, "/api/mcp").initialize()
    assert reply.status == 200
    assert reply.json["error"]["code"] == -32603
    assert "Initialize failed" in reply.json["error"]["message"]
    assert "mcp_sessions" not in reply.body.decode(), "nothing of the inside is told"


@pytest.mark.requirement("openregister:session-required")
async def test_every_other_method_needs_a_session(endpoint: OpenRegister) -> None:
    for method in ("ping", "tools/list", "unknown/method"):
        message = {"jsonrpc": "2.0", "id": 1, "method": method}
        for session in (None, ""):
            reply = await endpoint.post(message, session=session)
            assert reply.status == 200
            assert reply.json["error"] == {"code": -32000, "message": "Mcp-Session-Id header required"}
        reply = await endpoint.post(message, session="bogus")
        assert reply.status == 200
        assert reply.json["error"] == {"code": -32000, "message": "Invalid or expired session"}


@pytest.mark.parametrize("request_id", ["request-abc", 999, 0, "", 2**60])
@pytest.mark.requirement("openregister:ids")
async def test_ids_come_back_unchanged(endpoint: OpenRegister, request_id: object) -> None:
    assert (await endpoint.request("ping", request_id=request_id))["result"] == {}


@pytest.mark.requirement("openregister:ping")
async def test_ping_answers_an_empty_object(endpoint: OpenRegister) -> None:
    reply = await endpoint.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, session=await endpoint.session())
    assert reply.json == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert "mcp-session-id" not in reply.headers


@pytest.mark.requirement("openregister:method-not-found")
async def test_an_unknown_method_is_named(endpoint: OpenRegister) -> None:
    assert await endpoint.error("unknown/method") == {"code": -32601, "message": "Method not found: unknown/method"}


@pytest.mark.requirement("openregister:basic-auth")
async def test_without_credentials_nothing_is_answered(endpoint: OpenRegister) -> None:
    reply = await endpoint.initialize(who="")
    assert reply.status == 401
    challenges = [value for name, value in reply.header_list if name == "www-authenticate"]
    assert any(challenge.startswith("Basic ") for challenge in challenges)


@pytest.mark.requirement("openregister:quick-start")
async def test_the_login_of_the_document_works_as_plain_curl_sends_it(endpoint: OpenRegister) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}
    reply = await endpoint.post(message, who="admin:admin", accept="*/*")
    assert reply.status == 200
    session = reply.headers["mcp-session-id"]
    listed = await endpoint.post(
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, session=session, who="admin:admin"
    )
    assert len(listed.json["result"]["tools"]) == 3
    wrong = await endpoint.initialize(who="admin:wrong")
    assert wrong.status == 401


@pytest.mark.requirement("openregister:cors")
async def test_a_page_of_any_origin_may_ask_and_call(endpoint: OpenRegister) -> None:
    origin = {"origin": "https://elsewhere.example"}
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,mcp-session-id"}
    reply = await endpoint.site.send("OPTIONS", endpoint.path, who="", headers=origin | asked)
    assert reply.status == 204
    assert reply.headers["access-control-allow-origin"] == "https://elsewhere.example"
    assert "mcp-session-id" in reply.headers["access-control-allow-headers"]
    assert "POST" in reply.headers["access-control-allow-methods"]
    called = await endpoint.post({"jsonrpc": "2.0", "id": 1, "method": "initialize"}, **origin)
    assert called.status == 200
    assert "mcp-session-id" in called.headers["access-control-expose-headers"]


@pytest.mark.requirement("access:guards:shared-paths")
async def test_a_page_of_another_origin_never_gets_by_with_a_login_the_browser_remembers(
    endpoint: OpenRegister,
) -> None:
    origin = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        sent = await endpoint.post(body, who="admin:admin", **{**origin, "content-type": kind})
        assert sent.status == 403
    read = await endpoint.site.send("GET", f"{endpoint.path}/v1/discover/registers", who="admin:admin", headers=origin)
    assert read.status == 403
    public = await endpoint.site.send("GET", f"{endpoint.path}/v1/discover", who="", headers=origin)
    assert public.status == 200


@pytest.mark.requirement("openregister:session-owner")
async def test_a_session_is_of_no_use_to_anybody_else(endpoint: OpenRegister) -> None:
    session = await endpoint.session()
    reply = await endpoint.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, session=session, who="writer")
    assert reply.json["error"] == {"code": -32000, "message": "Invalid or expired session"}


async def test_a_session_lives_on_both_paths(site: Site) -> None:
    session = await OpenRegister(site, "/api/mcp").session()
    other = OpenRegister(site, "/index.php/apps/openregister/api/mcp/")
    assert (await other.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, session=session)).json["result"] == {}


@pytest.mark.requirement("openregister:session-hour")
async def test_a_session_lives_an_hour_from_its_last_use(tmp_path: Path) -> None:
    clock = TurnedClock()
    async with open_site(tmp_path, clock=clock) as site:
        client = OpenRegister(site, "/api/mcp")
        for _ in range(4):
            await client.result("ping")
            clock.pass_seconds(3000)
        await client.result("ping")
        clock.pass_seconds(3700)
        assert (await client.error("ping")) == {"code": -32000, "message": "Invalid or expired session"}


async def test_a_session_can_be_ended(endpoint: OpenRegister) -> None:
    session = (await endpoint.initialize()).headers["mcp-session-id"]
    ended = await endpoint.site.send("DELETE", endpoint.path, headers={"mcp-session-id": session})
    assert ended.status == 204
    reply = await endpoint.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, session=session)
    assert reply.json["error"]["code"] == -32000


async def test_there_is_no_stream_here(endpoint: OpenRegister) -> None:
    reply = await endpoint.site.send("GET", endpoint.path)
    assert reply.status == 405
    assert "POST" in reply.headers["allow"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", "x"),
        ("tools/call", [1]),
        ("tools/call", {"name": 5}),
        ("tools/call", {"name": "registers", "arguments": "x"}),
        ("tools/call", {"name": "registers", "arguments": {"action": "list", "limit": "5"}}),
        ("tools/call", {"name": "registers", "arguments": {"action": "list", "limit": -1}}),
        ("tools/call", {"name": "registers", "arguments": {"action": "list", "limit": True}}),
        ("tools/call", {"name": "registers", "arguments": {"action": "list", "offset": 1.5}}),
        ("tools/call", {"name": "registers", "arguments": {"action": 5}}),
        ("tools/call", {"name": "registers", "arguments": {"action": "get", "id": [1]}}),
        ("tools/call", {"name": "registers", "arguments": {"action": "create", "data": "x"}}),
        ("tools/call", {"name": "objects", "arguments": {"action": "list", "register": {}, "schema": 1}}),
        ("resources/read", {"uri": 5}),
        ("resources/read", "x"),
    ],
)
@pytest.mark.requirement("openregister:invalid-params")
async def test_a_wrong_type_is_an_error_of_the_protocol(endpoint: OpenRegister, method: str, params: object) -> None:
    assert (await endpoint.error(method, params))["code"] == -32602


@pytest.mark.requirement("openregister:limit-offset")
@pytest.mark.parametrize("tool", ["registers", "schemas", "objects"])
async def test_an_enormous_limit_or_offset_is_as_good_as_a_large_one(endpoint: OpenRegister, tool: str) -> None:
    place: dict[str, Any] = {}
    if tool == "objects":
        schema = await endpoint.call("schemas", action="create", data={"title": "Thing"})
        register = await endpoint.call("registers", action="create", data={"title": "Things"})
        place = {"register": register["id"], "schema": schema["id"]}
    everything = await endpoint.call(tool, action="list", limit=1000, **place)
    assert await endpoint.call(tool, action="list", limit=10**30, **place) == everything
    assert await endpoint.call(tool, action="list", offset=10**30, **place) == []


async def test_hostile_json_is_refused_in_the_protocols_own_words(endpoint: OpenRegister) -> None:
    deep = await endpoint.post(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 5000 + b"]" * 5000 + b"}")
    assert deep.status == 200
    assert deep.json["error"]["code"] in (-32600, -32700)


async def test_two_calls_at_once_do_not_mix(endpoint: OpenRegister) -> None:
    session = await endpoint.session()
    replies = await asyncio.gather(
        *(endpoint.post({"jsonrpc": "2.0", "id": number, "method": "ping"}, session=session) for number in range(20))
    )
    assert [reply.json["id"] for reply in replies] == list(range(20))


@pytest.mark.requirement("access:lists:openregister")
async def test_who_may_not_read_registers_is_listed_nothing(site: Site, endpoint: OpenRegister) -> None:
    token = (await site.app.api_keys.create("elsewhere", scopes=["metrics:*"])).token
    stranger = Site(site.app, site.front, {"stranger": token})
    lists = (
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    )
    for method, key in lists:
        assert (await endpoint.result(method))[key]
        assert (await OpenRegister(stranger, endpoint.path, "stranger").result(method))[key] == []
    path = endpoint.path + "/v1/discover/objects"
    assert (await stranger.send("GET", path, who="stranger")).status == 403
