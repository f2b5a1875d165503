"""Views of MCP Apps: declared, served, and added to results of clients that show them; nothing else changes."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest

from pentad.console.app_views import AppViews
from pentad.kernel.principal import LOCAL
from pentad.mcp.app_views import EXTENSION, FRAGMENT, MIME_TYPE
from pentad.mcp.revisions import REVISIONS
from tests.behaviour.clients import EVERY_REVISION, HTTP_MODERN, WITHOUT_STRUCTURE, Object, Wire, wire_name
from tests.behaviour.connecting import connect_http
from tests.behaviour.together.conftest import House
from tests.rooms.directory.oasf.samples import sample

pytestmark = pytest.mark.anyio

SHOWS: Object = {"extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}}
VIEWS = {
    "getMetricHistory": "chart",
    "getPlatformMetricsByCollector": "figures",
    "objects": "objects",
    "agntcy_dir_pull_record": "record",
    "agents_send_task": "task",
    "agents_get_task": "task",
    "generate_response": "answer",
}
QUESTION = "How much does a colony need for the winter?"
LIST: dict[str, Any] = {"action": "list", "register": "town", "schema": "permit"}
HISTORY: dict[str, Any] = {"collector": "pentad", "metricKey": "calls.total"}
HOSTILE = "</article><script>alert(1)</script>"
MOVING = ("getPlatformMetricsByCollector", "agents_send_task", "generate_response")
"""Tools whose results differ between two calls, in figures and ids."""
FIGURES = re.compile(r"source\W+\w+|answers/[\w-]+|[0-9A-Za-z_-]*[0-9][0-9A-Za-z_.:-]*")


def rendered(tool: str, arguments: dict[str, Any]) -> str:
    return f"ui://pentad/rendered/{tool}/{quote(json.dumps(arguments), safe='')}"


async def view_uris(house: House, path: str = "/mcp") -> dict[str, str]:
    client = await connect_http(house.app, HTTP_MODERN, path=path)
    (tools,) = await client.pages("tools/list", "tools")
    return {one["name"]: one["_meta"]["ui"]["resourceUri"] for one in tools if "ui" in one.get("_meta", {})}


@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("apps:negotiation")
async def test_tools_name_their_views_where_the_revision_can(house: House, wire: Wire) -> None:
    client = await connect_http(house.app, wire)
    (tools,) = await client.pages("tools/list", "tools")
    found = {one["name"]: one["_meta"]["ui"]["resourceUri"] for one in tools if "ui" in one.get("_meta", {})}
    expected = {} if wire.revision in WITHOUT_STRUCTURE else VIEWS
    assert {name: uri.removeprefix("ui://pentad/").partition(".")[0] for name, uri in found.items()} == expected
    offered = house.app.all_rooms.registry.capabilities(REVISIONS[wire.revision])
    assert (EXTENSION in offered.get("extensions", {})) is bool(expected)


@pytest.mark.requirement("apps:documents")
async def test_a_document_needs_nothing_from_anywhere(house: House) -> None:
    client = await connect_http(house.app, HTTP_MODERN)
    (resources, *_) = await client.pages("resources/list", "resources")
    listed = {one["uri"]: one for one in resources if one["uri"].startswith("ui://")}
    assert set(listed) >= set((await view_uris(house)).values()), "those of tools that are not listed, too"
    for uri, entry in listed.items():
        (content,) = (await client.request("resources/read", {"uri": uri})).result["contents"]
        assert content["mimeType"] == entry["mimeType"] == MIME_TYPE
        assert content["_meta"] == entry["_meta"]
        assert content["_meta"]["ui"]["csp"] == {
            "connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []
        }  # fmt: skip
        html = content["text"]
        assert html.startswith('<!doctype html><html lang="en" data-tool=')
        assert "<title>" in html
        assert " src=" not in html.partition("<script>")[0]
        assert "@import" not in html
        assert len(html.encode()) < 150_000


@pytest.mark.requirement("apps:documents")
async def test_an_old_conversation_gets_the_current_document(house: House) -> None:
    client = await connect_http(house.app, HTTP_MODERN)
    current = (await view_uris(house))["objects"]
    (now,) = (await client.request("resources/read", {"uri": current})).result["contents"]
    (old,) = (await client.request("resources/read", {"uri": "ui://pentad/objects.000000"})).result["contents"]
    assert (old["text"], old["uri"]) == (now["text"], "ui://pentad/objects.000000")
    assert (await client.request("resources/read", {"uri": "ui://pentad/nothing.000000"})).error


@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("apps:fallback")
async def test_the_rest_of_a_result_is_the_same_with_and_without_views(house: House, wire: Wire) -> None:
    await house.create("permit", {"title": HOSTILE})
    task = await house.call("agents_send_task", LOCAL, agent="echo", text=HOSTILE)
    record = json.dumps({**sample("1.0.0"), "description": HOSTILE})
    pushed = await house.call("agntcy_dir_push_record", LOCAL, record_json=record)
    calls: dict[str, dict[str, Any]] = {
        "getMetricHistory": {**HISTORY, "to": "2026-11-18T00:00:00Z", "from": "2026-11-01T00:00:00Z"},
        "getPlatformMetricsByCollector": {"collector": "pentad"},
        "objects": LIST,
        "agntcy_dir_pull_record": {"cid": pushed["cid"]},
        "agents_send_task": {"agent": "echo", "text": HOSTILE},
        "agents_get_task": {"task_id": task["task_id"]},
        "generate_response": {"avatar": "tomas-orlik", "question": QUESTION},
    }
    assert calls.keys() == VIEWS.keys()
    with_views = await connect_http(house.app, wire, SHOWS)
    without = await connect_http(house.app, wire)
    for tool, arguments in calls.items():
        shown, plain = (await with_views.call(tool, arguments)).result, (await without.call(tool, arguments)).result
        assert FRAGMENT not in plain.get("_meta", {}), tool
        html = shown.get("_meta", {}).pop(FRAGMENT, None)
        assert (html is None) is (wire.revision in WITHOUT_STRUCTURE), tool
        if not shown.get("_meta"):
            shown.pop("_meta", None)
        if tool in MOVING:
            assert FIGURES.sub("#", json.dumps(shown)) == FIGURES.sub("#", json.dumps(plain)), tool
        else:
            assert json.dumps(shown) == json.dumps(plain), tool


@pytest.mark.requirement("apps:views")
async def test_every_view_shows_what_the_tool_found(house: House) -> None:
    client = await connect_http(house.app, HTTP_MODERN, SHOWS)
    await house.create("permit", {"title": HOSTILE})

    async def fragment(tool: str, arguments: dict[str, Any]) -> str:
        return (await client.call(tool, arguments)).result["_meta"][FRAGMENT]

    table = await fragment("objects", LIST)
    assert "<script" not in table
    assert "&lt;/article&gt;" in table
    assert 'data-tool="objects"' in table
    answer = await fragment("generate_response", {"avatar": "tomas-orlik", "question": QUESTION})
    assert "<mark>" in answer
    assert "Confidence" in answer
    assert "How this answer was made" not in answer, "a view cannot open that page"
    assert "[1] " in answer.partition("Sources")[2], "it names them, although it cannot open their pages"
    assert "data-chart" in await fragment("getMetricHistory", {**HISTORY, "metricKey": "process.memory"})
    assert "A counter is charted as a rate" in await fragment("getMetricHistory", HISTORY)
    assert "<table>" in await fragment("getPlatformMetricsByCollector", {"collector": "pentad"})
    task = await fragment("agents_send_task", {"agent": "echo", "text": HOSTILE})
    assert "<script" not in task
    assert "echo" in task


@pytest.mark.requirement("apps:fragments")
async def test_a_fragment_can_be_read_by_its_call_which_never_changes_anything(house: House) -> None:
    shows, plain = await connect_http(house.app, HTTP_MODERN, SHOWS), await connect_http(house.app, HTTP_MODERN)
    (read,) = (await plain.request("resources/read", {"uri": rendered("objects", LIST)})).result["contents"]
    assert read["text"] == (await shows.call("objects", LIST)).result["_meta"][FRAGMENT]
    before = await house.call("objects", **LIST)
    create = {**LIST, "action": "create", "data": {"title": "Made by reading"}}
    for tool, arguments in (("objects", create), ("agents_send_task", {"agent": "echo", "text": "x"}), ("nothing", {})):
        refused = await plain.request("resources/read", {"uri": rendered(tool, arguments)})
        assert refused.error, tool
    assert (await house.call("objects", **LIST))["total"] == before["total"]


@pytest.mark.requirement("apps:actions")
async def test_a_view_calls_tools_that_are_not_listed_through_one_that_is(house: House) -> None:
    shows = {
        path: await connect_http(house.app, HTTP_MODERN, SHOWS, path=path) for path in ("/mcp", "/rooms/agents/mcp")
    }
    for path, client in shows.items():
        waiting = (await client.call("agents_send_task", {"agent": "cautious", "text": "Do it"})).result
        html = waiting["_meta"][FRAGMENT]
        assert waiting["structuredContent"]["approval_id"] in html
        assert "Approve" in html
        expected = 'data-tool="call_tool"' if path == "/mcp" else 'data-tool="agents_approvals"'
        assert expected in html
        assert 'data-refresh="3"' in html


@pytest.mark.requirement("apps:fallback")
async def test_a_view_that_cannot_be_made_leaves_the_result_alone(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError("a bug")

    monkeypatch.setattr(AppViews, "fragment", broken)
    client = await connect_http(house.app, HTTP_MODERN, SHOWS)
    result = (await client.call("objects", LIST)).result
    assert FRAGMENT not in result["_meta"]
    assert "results" in result["structuredContent"]
