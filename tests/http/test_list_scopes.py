"""Lists contain only what the caller may use, in both eras and on every endpoint: tools, prompts and resources."""

import base64

import pytest

from pentad.kernel.default_limits import Limits
from pentad.mcp.changes import list_changed
from tests.behaviour.clients import HTTP_MODERN, SESSION, STATELESS, Exchange, HttpClient, Object, Wire, wire_name
from tests.behaviour.connecting import AppMaker, connect_http
from tests.behaviour.room import ROOM as LAB
from tests.http.conftest import Closed

pytestmark = pytest.mark.anyio

ALLOWED = {"reader": {"read"}, "writer": {"read", "write"}, "admin": {"read", "write", "admin"}, "pages only": set()}
LISTS = (
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
)
WIRES = pytest.mark.parametrize("wire", [STATELESS, SESSION, HTTP_MODERN], ids=wire_name)


async def client_of(closed: Closed, role: str, wire: Wire, path: str = "/mcp") -> HttpClient:
    return await connect_http(closed.app, wire, authorization=closed.headers[role], host="pentad.example", path=path)


@pytest.mark.parametrize("role", ALLOWED)
@pytest.mark.parametrize("path", ["/mcp", "/rooms/lab/mcp"])
@WIRES
@pytest.mark.requirement("access:lists:tools")
async def test_a_tool_is_listed_only_to_who_may_call_it(closed: Closed, role: str, path: str, wire: Wire) -> None:
    client = await client_of(closed, role, wire, path)
    listed = {entry["name"] for entry in await client.everything("tools/list", "tools")} - {"page", "search", "lineage"}
    assert listed == {tool.name for tool in LAB.tools if tool.action in ALLOWED[role]}
    await client.close()


@pytest.mark.parametrize(("method", "key"), LISTS[1:])
@WIRES
@pytest.mark.requirement("access:lists:resources-prompts")
async def test_prompts_and_resources_are_listed_only_to_who_may_read_them(
    closed: Closed, method: str, key: str, wire: Wire
) -> None:
    seen: dict[str, list[Object]] = {}
    for role in ("reader", "pages only"):
        client = await client_of(closed, role, wire)
        listed = await client.everything(method, key)
        seen[role] = [one for one in listed if not str(one.get("uri", one.get("uriTemplate"))).startswith("pentad://")]
        await client.close()
    assert seen["reader"]
    assert seen["pages only"] == []


@WIRES
@pytest.mark.requirement("access:lists:capabilities")
async def test_what_a_server_can_do_is_the_same_for_every_caller(closed: Closed, wire: Wire) -> None:
    offered: list[object] = []
    for role in ("admin", "pages only"):
        client = await client_of(closed, role, wire)
        method, params = ("server/discover", {}) if wire.modern else ("initialize", {"protocolVersion": wire.revision})
        told = (await client.request(method, {"capabilities": {}, "clientInfo": {"name": "t"}, **params})).result
        offered.append(told["capabilities"])
        assert (LAB.instructions in told.get("instructions", "")) == (role == "admin"), "instructions follow scopes"
        await client.close()
    assert offered[0] == offered[1]


@pytest.mark.parametrize(
    ("method", "meant", "almost"), [("tools/call", "wipe", "wype"), ("prompts/get", "greeting", "grieting")]
)
@WIRES
@pytest.mark.requirement("access:lists:suggestions")
async def test_a_misspelt_name_is_not_corrected_to_one_the_caller_may_not_use(
    closed: Closed, method: str, meant: str, almost: str, wire: Wire
) -> None:
    for role, is_told in (("admin", True), ("pages only", False)):
        client = await client_of(closed, role, wire)
        said = (await client.request(method, {"name": almost, "arguments": {}})).error["message"]
        assert (meant in said) == is_told
        await client.close()


@WIRES
@pytest.mark.requirement("access:lists:suggestions")
async def test_a_wrong_completion_does_not_tell_the_arguments_of_a_hidden_prompt(closed: Closed, wire: Wire) -> None:
    client = await client_of(closed, "pages only", wire)
    for ref in ({"type": "ref/prompt", "name": "greeting"}, {"type": "ref/resource", "uri": "lab://notes/{name}"}):
        asked = {"ref": ref, "argument": {"name": "no such", "value": ""}}
        reply = await client.request("completion/complete", asked)
        assert reply.http is not None
        assert reply.http.status == 403
        assert "It takes" not in reply.error["message"]
    await client.close()


@pytest.mark.requirement("access:lists:per-request")
async def test_a_session_sees_its_lists_by_the_rights_of_the_moment(make_app: AppMaker) -> None:
    app = await make_app(auth="required")
    for name in ("ada", "grace"):
        await app.users.add(name, "correct horse battery", role="admin")
    login = "Basic " + base64.b64encode(b"ada:correct horse battery").decode()
    client = await connect_http(app, SESSION, authorization=login)
    before = {entry["name"] for entry in await client.everything("tools/list", "tools")}
    await app.users.remove("ada")
    await app.users.add("ada", "correct horse battery", role="reader")
    after = {entry["name"] for entry in await client.everything("tools/list", "tools")}
    assert "wipe" in before
    assert "wipe" not in after
    assert "echo" in after
    await client.close()


@pytest.mark.requirement("access:lists:cursors")
async def test_a_cursor_leads_only_callers_with_the_same_rights_on(make_app: AppMaker) -> None:
    app = await make_app(auth="required", limits=Limits(list_page=3))
    tokens = {
        role: (await app.api_keys.create(role, scopes=scopes)).token
        for role, scopes in {"admin": ["*:*"], "reader": ["*:read"], "second reader": ["lab:read"]}.items()
    }
    clients = {
        role: await connect_http(app, STATELESS, authorization=f"Bearer {token}") for role, token in tokens.items()
    }
    for method, key in (("tools/list", "tools"), ("resources/list", "resources")):
        first = (await clients["reader"].request(method)).result
        following = {"cursor": first["nextCursor"]}
        own = (await clients["reader"].request(method, following)).result[key]
        assert own
        assert (await clients["second reader"].request(method, following)).result[key] == own
        if method == "tools/list":
            assert "is not valid" in (await clients["admin"].request(method, following)).error["message"]
    for client in clients.values():
        await client.close()


async def told(exchange: Exchange) -> str:
    return (await exchange.next())["method"]


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:lists:changes")
async def test_who_may_not_see_a_list_does_not_hear_that_it_changed(closed: Closed, wire: Wire) -> None:
    kinds = ("tools", "prompts", "resources")
    stranger, reader = [await client_of(closed, role, wire) for role in ("pages only", "reader")]
    async with stranger.following(kinds) as strange, reader.following(kinds) as known:
        for kind in kinds:
            await closed.app.database.write(lambda tx, kind=kind: list_changed(tx, kind, "lab"))
        assert [await told(known) for _ in kinds] == [f"notifications/{kind}/list_changed" for kind in kinds]
        await closed.app.database.write(lambda tx: list_changed(tx, "tools", "pages"))
        assert await told(known) == "notifications/tools/list_changed"
        assert await told(strange) == "notifications/tools/list_changed", "the first it hears of is its own room's"
        assert strange.arrived.empty()
    for client in (stranger, reader):
        await client.close()


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:lists:changes")
async def test_an_endpoint_tells_of_the_lists_of_its_own_rooms_alone(closed: Closed, wire: Wire) -> None:
    client = await client_of(closed, "admin", wire, "/rooms/lab/mcp")
    async with client.following(("tools", "prompts")) as news:
        await closed.app.database.write(lambda tx: list_changed(tx, "tools", "pages"))
        await closed.app.database.write(lambda tx: list_changed(tx, "prompts", "lab"))
        assert await told(news) == "notifications/prompts/list_changed"
    await client.close()
