"""Profiles: a selection of tools at its own URL, with the same rights, limits and audit as everywhere."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.access.audit import AuditEntry
from pentad.app import App, open_app
from pentad.kernel.errors import Misconfigured, NotFound
from pentad.mcp.profiles import Profile, find_profile
from pentad.settings.model import Settings, checked
from tests.behaviour.clients import (
    ALL_CAPABILITIES,
    HTTP_MODERN,
    SESSION,
    STATELESS,
    HttpClient,
    Object,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import AppMaker, connect_http, front_of
from tests.behaviour.http_wire import send
from tests.behaviour.test_client_requests import answered
from tests.http.conftest import PAGES, UNHURRIED, Closed

pytestmark = pytest.mark.anyio

SEARCH = ["search_tools", "describe_tool", "call_tool", "search"]
HTTP_WIRES = pytest.mark.parametrize("wire", [SESSION, STATELESS, HTTP_MODERN], ids=wire_name)
OWN = {
    "notes": Profile(tools=("write_note", "echo")),
    "pages": Profile(rooms=("pages",)),
    "readers": Profile(rooms=("lab",), read_only=True),
    "mixed": Profile(rooms=("pages",), tools=("add", "search_tools")),
    "small": Profile(rooms=("lab",), lists="search"),
}


@pytest.fixture(scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Closed]:
    """Two rooms and some profiles, behind credentials."""
    settings = Settings(
        data=tmp_path_factory.mktemp("team"), rooms=(LAB, PAGES), public_url="https://pentad.example", limits=UNHURRIED,
        profiles=OWN,
    )  # fmt: skip
    async with open_app(checked(settings)) as app:
        scopes = {"reader": ["*:read"], "writer": ["*:read", "*:write"], "admin": ["*:*"], "pages": ["pages:*"]}
        keys = {role: (await app.api_keys.create(role, scopes=wanted)).token for role, wanted in scopes.items()}
        yield Closed(app, front_of(app), {role: f"Bearer {token}" for role, token in keys.items()})


async def client_of(team: Closed, path: str, role: str = "admin", wire: Wire = HTTP_MODERN) -> HttpClient:
    client = await connect_http(
        team.app, wire, ALL_CAPABILITIES, path=path, authorization=team.headers[role], host="pentad.example"
    )
    client.extra = {"authorization": team.headers[role], "host": "pentad.example"}
    return client


async def names(client: HttpClient) -> list[str]:
    return [tool["name"] for tool in await client.everything("tools/list", "tools")]


async def noted(app: App) -> list[AuditEntry]:
    await app.audit.flush()
    return (await app.audit.recent(limit=1000))[::-1]


@HTTP_WIRES
@pytest.mark.requirement("tools:profiles:selection")
async def test_a_profile_offers_its_selection(team: Closed, wire: Wire) -> None:
    assert await names(await client_of(team, "/mcp/notes", wire=wire)) == ["echo", "write_note"]
    assert await names(await client_of(team, "/mcp/pages", wire=wire)) == ["page"]
    assert await names(await client_of(team, "/mcp/mixed/", wire=wire)) == ["add", "page", "search_tools"]
    assert await names(await client_of(team, "/mcp/small", wire=wire)) == SEARCH
    assert await names(await client_of(team, "/mcp/core", wire=wire)) == SEARCH
    everything = await names(await client_of(team, "/mcp", wire=wire))
    assert await names(await client_of(team, "/mcp/full", wire=wire)) == [*everything, "event_rules"]


@pytest.mark.requirement("tools:profiles:selection")
async def test_tags_select_within_rooms(make_app: AppMaker) -> None:
    app = await make_app(
        rooms=("directory", "metrics", "registers", "agents"),
        profiles={"find": Profile(tags=("search",)), "out": Profile(rooms=("metrics", "agents"), tags=("export",))},
    )
    for name, expected in (
        ("find", ["agents_list", "agntcy_dir_search_local", "objects"]),
        ("out", ["exportMetrics", "loadMetrics"]),
    ):
        assert sorted(await names(await connect_http(app, HTTP_MODERN, path=f"/mcp/{name}"))) == expected


@HTTP_WIRES
@pytest.mark.requirement("tools:profiles:selection")
async def test_a_tool_outside_the_selection_is_unknown_also_to_call_tool(team: Closed, wire: Wire) -> None:
    client = await client_of(team, "/mcp/notes", wire=wire)
    unknown = (await client.call("wipe")).error
    assert (unknown["code"], unknown["message"]) == (
        -32602, "Unknown tool: 'wipe'. This profile offers some tools only; /mcp has all.",
    )  # fmt: skip
    small = await client_of(team, "/mcp/small", wire=wire)
    assert (await small.call("call_tool", {"name": "page"})).error["code"] == -32602
    found = (await small.call("search_tools", {"query": "hello page"})).result["content"][0]["text"]
    assert "page" not in [one["name"] for one in json.loads(found)["tools"]]
    assert "for you here" in (await small.call("describe_tool", {"name": "page"})).complaint


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.requirement("tools:profiles:unknown")
async def test_an_unknown_profile_is_a_404_that_lists_the_names_to_who_logged_in(team: Closed, method: str) -> None:
    headers = {"host": "pentad.example", "content-type": "application/json"}
    stranger = send(team.front, method, "/mcp/cor", headers, b"{}")
    assert (await stranger.head()).status == 401
    assert b"notes" not in await stranger.body()
    answer = send(team.front, method, "/mcp/cor", {**headers, "authorization": team.headers["reader"]}, b"{}")
    assert (await answer.head()).status == 404
    error = json.loads(await answer.body())["error"]
    assert "Did you mean 'core'?" in error["hint"]
    assert all(name in error["hint"] for name in ("core", "full", "read-only", *OWN))


@pytest.mark.requirement("tools:profiles:metadata")
async def test_a_profile_is_a_protected_resource_for_its_own_rooms(team: Closed) -> None:
    for path, rooms in (("/mcp/pages", ["pages"]), ("/mcp/core", ["lab", "pages"]), ("/mcp/notes", ["lab"])):
        answer = send(team.front, "POST", path, {"host": "pentad.example", "content-type": "application/json"}, b"{}")
        challenge = dict(reversed((await answer.head()).header_list))["www-authenticate"]
        place = f"/.well-known/oauth-protected-resource{path}"
        assert f'resource_metadata="https://pentad.example{place}"' in challenge
        assert f'scope="{" ".join(f"{room}:read" for room in rooms)}"' in challenge
        document = json.loads(await send(team.front, "GET", place, {"host": "pentad.example"}).body())
        assert document["resource"] == f"https://pentad.example{path}"
        assert {scope.partition(":")[0] for scope in document["scopes_supported"]} == set(rooms)
    place = "/.well-known/oauth-protected-resource/mcp/readers"
    document = json.loads(await send(team.front, "GET", place, {"host": "pentad.example"}).body())
    assert document["scopes_supported"] == ["lab:read"], "a scope to write is worth nothing there"


@HTTP_WIRES
@pytest.mark.requirement("tools:call-tool:same-rights")
async def test_call_tool_has_exactly_the_rights_of_a_direct_call(team: Closed, wire: Wire) -> None:
    through = await client_of(team, "/mcp/core", "reader", wire)
    direct = await client_of(team, "/mcp", "reader", wire)
    for name, arguments in (("wipe", {}), ("write_note", {"name": "x", "text": "y"})):
        wrapped = await through.call("call_tool", {"name": name, "arguments": arguments})
        plain = await direct.call(name, arguments)
        assert wrapped.error == plain.error
        assert wrapped.http is not None
        assert plain.http is not None
        assert (wrapped.http.status, plain.http.status) == (403, 403)
        assert "insufficient_scope" in wrapped.http.headers["www-authenticate"]
    hidden = await through.call("describe_tool", {"name": "wipe"})
    assert "for you here" in hidden.complaint
    only_pages = await client_of(team, "/mcp/core", "pages", wire)
    found = (await only_pages.call("search_tools")).result["content"][0]["text"]
    assert [one["name"] for one in json.loads(found)["tools"]] == ["page", "event_rules"]


@HTTP_WIRES
@pytest.mark.requirement("tools:call-tool:same-audit")
async def test_call_tool_leaves_the_audit_entry_of_the_inner_call_and_no_other(team: Closed, wire: Wire) -> None:
    client = await client_of(team, "/mcp/core", "reader", wire)
    before = len(await noted(team.app))
    await client.call("call_tool", {"name": "add", "arguments": {"a": 1, "b": 2}})
    await client.call("call_tool", {"name": "wipe"})
    await client.call("call_tool", {"name": "no_such_tool"})
    entries = [(one.room, one.tool, one.outcome) for one in (await noted(team.app))[before:]]
    assert entries == [("lab", "add", "ok"), ("lab", "wipe", "-31403"), ("", "(unknown tool)", "-32602")]


@HTTP_WIRES
@pytest.mark.requirement("tools:call-tool:same-answer")
async def test_call_tool_answers_as_the_tool_would(team: Closed, wire: Wire) -> None:
    through, direct = await client_of(team, "/mcp/core", wire=wire), await client_of(team, "/mcp", wire=wire)
    calls: list[tuple[str, Object]] = [
        ("add", {"a": 1, "b": 2}), ("add", {"a": "1", "b": 2}), ("add", {"a": 1}), ("add", {"a": 1, "b": 2, "c": 3}),
        ("shapes", {}), ("composed", {}), ("literal", {}), ("nothing", {}), ("refuse", {"key": "k"}),
        ("plus", {"a": 1, "b": 1}),
        ("late", {}), ("large", {}),
    ]  # fmt: skip
    for name, arguments in calls:
        wrapped = await through.call("call_tool", {"name": name, "arguments": arguments})
        assert wrapped.final["result"] == (await direct.call(name, arguments)).final["result"], name
    progress = await through.call(
        "call_tool", {"name": "count", "arguments": {"steps": 2}}, meta={"progressToken": "p"}
    )
    assert len(progress.notified("notifications/progress")) == 2


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("tools:call-tool:same-answer")
async def test_a_tool_called_through_call_tool_asks_the_person(team: Closed, wire: Wire) -> None:
    client = await client_of(team, "/mcp/core", wire=wire)
    for name, text in (("ask_person", "Hello Ada"), ("ask_twice", "Ada likes red")):
        reply, _ = await answered(client, "tools/call", {"name": "call_tool", "arguments": {"name": name}})
        assert reply.text == text


@HTTP_WIRES
@pytest.mark.requirement("tools:call-tool:strict")
async def test_what_is_no_call_is_refused_with_a_reason(team: Closed, wire: Wire) -> None:
    client = await client_of(team, "/mcp/core", wire=wire)
    wrong: list[tuple[Any, str]] = [
        ({}, "Missing argument 'name'"),
        ({"name": 7}, "name"),
        ({"name": "add", "arguments": [1]}, "arguments"),
        ({"name": "add", "arguments": '{"a": 1, "b": 2}'}, "must be an object, not text"),
        ({"name": "add", "argument": {}}, "Did you mean 'arguments'?"),
        (
            {"name": "call_tool", "arguments": {"name": "add", "arguments": {"a": 1, "b": 2}}},
            "call_tool does not call itself",
        ),
    ]
    for arguments, said in wrong:
        reply = await client.call("call_tool", arguments)
        assert said in reply.complaint, arguments


@HTTP_WIRES
@pytest.mark.requirement("tools:read-only:profile")
async def test_a_read_only_profile_changes_nothing_for_anybody(team: Closed, wire: Wire) -> None:
    for path in ("/mcp/readers", "/mcp/read-only"):
        client = await client_of(team, path, "admin", wire)
        entries = await client.everything("tools/list", "tools")
        assert "echo" in [tool["name"] for tool in entries]
        assert all(tool["annotations"]["readOnlyHint"] for tool in entries if "annotations" in tool)
        for name in ("wipe", "write_note"):
            assert name not in [tool["name"] for tool in entries]
            refused = await client.call(name, {"name": "x", "text": "y"} if name == "write_note" else {})
            assert "read-only" in refused.error["message"]
            assert refused.http is not None
            assert "www-authenticate" not in refused.http.headers, "no scope would help"
        assert (await client.call("echo", {"text": "hi"})).text == "hi"
    writer = await client_of(team, "/mcp", "admin", wire)
    assert (await writer.call("wipe")).text == "wiped", "elsewhere the same key may"


@pytest.mark.requirement("tools:profiles:settings")
def test_names_and_rules_of_profiles_are_checked() -> None:
    for name in ("core", "Full", "", "a b", "../x", "a/b"):
        with pytest.raises(Misconfigured, match="profile"):
            checked(Settings(profiles={name: Profile()}))
    checked(Settings(profiles={"team-1": Profile()}))
    for entry in ("permits/permit", ":permit", "registers:", ""):
        with pytest.raises(Misconfigured, match="typed"):
            checked(Settings(profiles={"team-1": Profile(typed=(entry,))}))
    checked(Settings(profiles={"team-1": Profile(typed=("registers:permits/permit",))}))
    with pytest.raises(NotFound, match="no profile 'x'"):
        find_profile("x", {})


@pytest.mark.requirement("mcp:sessions:bound-to-endpoint")
async def test_a_session_of_one_profile_is_no_session_of_another(team: Closed) -> None:
    client = await client_of(team, "/mcp/full", wire=SESSION)
    client.path = "/mcp/readers"
    answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert (await answer.head()).status == 404
