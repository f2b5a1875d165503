"""Credentials and rights at the front: 401 with what to send, 403 with what is missing."""

import base64
import json
from typing import Any

import pytest

from tests.behaviour.clients import HTTP_MODERN, SESSION, STATELESS, Wire, wire_name
from tests.behaviour.connecting import AppMaker, connect_http, front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.behaviour.room import ROOM as LAB
from tests.http.conftest import Closed

pytestmark = pytest.mark.anyio

ECHO = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}
METADATA = "https://pentad.example/.well-known/oauth-protected-resource"
HOST = {"host": "pentad.example"}


def post(closed: Closed, headers: dict[str, str], body: Any = ECHO, path: str = "/mcp") -> HttpAnswer:
    sent = {**HOST, "content-type": "application/json", **headers}
    return send(closed.front, "POST", path, sent, json.dumps(body).encode())


BAD_CREDENTIALS = [
    {},
    {"authorization": ""},
    {"authorization": "Bearer"},
    {"authorization": "Bearer nonsense"},
    {"authorization": "Basic nonsense"},
    {"authorization": "Basic " + base64.b64encode(b"ada:wrong").decode()},
    {"authorization": "Digest x"},
]


@pytest.mark.parametrize("headers", BAD_CREDENTIALS)
@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE", "HEAD"])
@pytest.mark.parametrize("path", ["/mcp", "/rooms/lab/mcp/"])
@pytest.mark.requirement("access:401:challenges")
async def test_without_valid_credentials_every_verb_is_unauthorized(
    closed: Closed, headers: dict[str, str], verb: str, path: str
) -> None:
    answer = send(closed.front, verb, path, {**HOST, **headers})
    body = await answer.json()
    assert answer.status == 401
    assert body["error"]["code"] == "unauthenticated"
    challenges = [value for name, value in answer.header_list if name == "www-authenticate"]
    assert [challenge.partition(" ")[0] for challenge in challenges] == ["Bearer", "Basic"]
    assert f'resource_metadata="{METADATA}{path.rstrip("/")}"' in challenges[0]


@pytest.mark.requirement("access:basic", "access:key")
async def test_a_password_or_a_key_opens_the_door(make_app: AppMaker) -> None:
    app = await make_app(auth="required")
    await app.users.add("ada", "correct horse battery", role="reader")
    token = (await app.api_keys.create("key", scopes=["*:read"])).token
    basic = base64.b64encode(b"ada:correct horse battery").decode()
    for header, name in ((f"Basic {basic}", "user:ada"), (f"Bearer {token}", "key:"), (f"  Bearer {token} ", "key:")):
        client = await connect_http(app, STATELESS, authorization=header)
        who = json.loads((await client.call("whoami")).text)
        assert who["principal"].startswith(name)
        await client.close()


@pytest.mark.requirement("access:key")
async def test_a_revoked_key_is_refused_at_the_next_request(make_app: AppMaker) -> None:
    app = await make_app(auth="required")
    key = await app.api_keys.create("key", scopes=["*:read"])
    client = await connect_http(app, SESSION, authorization=f"Bearer {key.token}")
    assert (await client.call("echo", {"text": "x"})).text == "x"
    await app.api_keys.revoke(key.key.id)
    answer = client.post(ECHO)
    await answer.body()
    assert answer.status == 401
    await client.close()


ALLOWED = {
    "reader": {"read"},
    "writer": {"read", "write"},
    "admin": {"read", "write", "admin"},
    "pages only": set[str](),
}


@pytest.mark.parametrize("role", ALLOWED)
@pytest.mark.parametrize("name", ["echo", "write_note", "change", "wipe"])
@pytest.mark.parametrize("wire", [STATELESS, SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:scopes:tools", "access:403:scope")
async def test_a_tool_is_called_only_with_its_scope(closed: Closed, role: str, name: str, wire: Wire) -> None:
    arguments = {
        "echo": {"text": "x"},
        "write_note": {"name": "n", "text": "x"},
        "change": {"kind": "tools"},
        "wipe": {},
    }
    action = {tool.name: tool.action for tool in LAB.tools}[name]
    client = await connect_http(closed.app, wire, authorization=closed.headers[role], host="pentad.example")
    reply = await client.call(name, arguments[name])
    assert reply.http is not None
    if action in ALLOWED[role]:
        assert reply.result["isError"] is False
    else:
        assert reply.http.status == 403
        assert f"lab:{action}" in reply.error["message"]
        challenge = reply.http.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in challenge
        assert f'scope="lab:{action}"' in challenge
        assert f'resource_metadata="{METADATA}/mcp"' in challenge
        assert "Basic" not in challenge
    await client.close()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "lab://static/text"}),
        ("resources/read", {"uri": "lab://notes/alpha"}),
        ("prompts/get", {"name": "greeting", "arguments": {"name": "Ada"}}),
    ],
)
@pytest.mark.parametrize("wire", [STATELESS, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:scopes:resources-prompts")
async def test_resources_and_prompts_are_read_only_with_the_rooms_scope(
    closed: Closed, method: str, params: dict[str, Any], wire: Wire
) -> None:
    for role, status in (("reader", 200), ("pages only", 403)):
        client = await connect_http(closed.app, wire, authorization=closed.headers[role], host="pentad.example")
        reply = await client.request(method, params)
        assert reply.http is not None
        assert reply.http.status == status
        await client.close()


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:scopes:subscriptions")
async def test_who_may_not_read_a_room_does_not_hear_of_its_resources(closed: Closed, wire: Wire) -> None:
    stranger = await connect_http(closed.app, wire, authorization=closed.headers["pages only"], host="pentad.example")
    uri = "lab://notes/alpha"
    if not wire.modern:
        reply = await stranger.request("resources/subscribe", {"uri": uri})
        assert reply.http is not None
        assert reply.http.status == 403
        assert "lab:read" in reply.error["message"]
    else:
        exchange = await stranger.open("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        first = await exchange.next()
        promised = first["params"]["notifications"]
        assert not any(promised.values()), "what may not be heard is not promised"
        await stranger.cancel(exchange)
    await stranger.close()


@pytest.mark.requirement("access:scopes:listing")
async def test_what_a_room_lists_at_run_time_is_shown_to_its_readers_only(closed: Closed) -> None:
    seen = {}
    for role in ("reader", "pages only"):
        client = await connect_http(closed.app, STATELESS, authorization=closed.headers[role], host="pentad.example")
        seen[role] = {entry["uri"] for entry in await client.everything("resources/list", "resources")}
        await client.close()
    assert "lab://notes/alpha" in seen["reader"]
    assert not any(uri.startswith("lab://notes/") for uri in seen["pages only"])


@pytest.mark.requirement("access:scopes:completion")
async def test_completion_tells_nothing_to_who_may_not_read_the_room(closed: Closed) -> None:
    client = await connect_http(
        closed.app, STATELESS, authorization=closed.headers["pages only"], host="pentad.example"
    )
    ref = {"type": "ref/resource", "uri": "lab://notes/{name}"}
    reply = await client.request("completion/complete", {"ref": ref, "argument": {"name": "name", "value": ""}})
    assert reply.http is not None
    assert reply.http.status == 403
    await client.close()


@pytest.mark.requirement("access:rfc9728")
async def test_the_protected_resource_describes_itself_to_everybody(closed: Closed) -> None:
    for path, resource in (("", "/mcp"), ("/mcp", "/mcp"), ("/rooms/lab/mcp", "/rooms/lab/mcp")):
        answer = send(closed.front, "GET", f"/.well-known/oauth-protected-resource{path}", HOST)
        document = await answer.json()
        assert answer.status == 200
        assert document["resource"] == f"https://pentad.example{resource}"
        assert "lab:read" in document["scopes_supported"]
        assert document["bearer_methods_supported"] == ["header"]


@pytest.mark.requirement("access:ordinary-routes:principal")
async def test_an_ordinary_route_knows_who_asks(closed: Closed) -> None:
    anonymous = await send(closed.front, "GET", "/api/whoami", HOST).json()
    assert anonymous == {"principal": "anonymous"}
    known = send(closed.front, "GET", "/api/whoami", {**HOST, "authorization": closed.headers["reader"]})
    assert (await known.json())["principal"].startswith("key:")
    wrong = send(closed.front, "GET", "/api/whoami", {**HOST, "authorization": "Bearer nonsense"})
    await wrong.body()
    assert wrong.status == 401, "wrong credentials are never taken for none"


@pytest.mark.requirement("access:audit:every-call", "access:audit:no-secrets")
async def test_every_call_is_in_the_trail_without_its_arguments(make_app: AppMaker) -> None:
    app = await make_app(auth="required")
    key = await app.api_keys.create("key", scopes=["*:read"])
    client = await connect_http(app, STATELESS, authorization=f"Bearer {key.token}")
    await client.call("echo", {"text": "argument-canary"})
    await client.call("refuse", {"key": "argument-canary"})
    await client.call("wipe")
    await client.call("no_such_tool_canary", {"text": "argument-canary"})
    await client.request("tools/list")
    await client.close()
    await app.audit.flush()
    [batch] = await app.database.read(lambda rows: rows.all("SELECT entries FROM audit_batches"))
    text = batch[0].decode().replace('"', "'")
    assert "canary" not in text
    assert key.token not in text
    for word in ("'echo'", "'ok'", "'refuse'", "'invalid_input'", "'wipe'", "'-31403'", "'tools/list'"):
        assert word in text
    assert text.count(f"'key:{key.key.id}'") == 2 * 5  # once as the caller, once as the key that was used
    assert front_of(app) is client.app
