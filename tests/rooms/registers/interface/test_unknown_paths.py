"""A path that no property has is refused on every wire, wherever one can be named, and the nearest name is offered.

A filter that finds nothing looks like an answer, and one that is not read purges or exports everything.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.rooms.registers.interface.terminal import Terminal
from tests.rooms.registers.site import Object, Site

PROPERTIES: Object = {
    "kind": {"enum": ["tree", "house"]},
    "fee": {"type": "number"},
    "place": {"type": "object", "properties": {"city": {"type": "string"}}},
}
UNKNOWN = [("kind.foo", "'kind'"), ("fee.nothing_like_it", "'fee'"), ("fie", "'fee'"), ("place.cty", "'place.city'")]
"""A path, and the nearest name there is."""


@pytest.fixture
async def place(site: Site) -> str:
    """Two objects, one of them deleted."""
    place = await site.pair(PROPERTIES)
    gone, _ = [await site.made(place, {"kind": "tree", "fee": fee}) for fee in (1, 2)]
    assert (await site.send("DELETE", f"/api{place}/{gone['id']}")).status in (200, 204)
    return place


async def untouched(site: Site, place: str) -> None:
    for query in ("_deleted=only", ""):
        assert (await site.send("GET", f"/api{place}?{query}")).json["total"] == 1


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:misspelt")
@pytest.mark.parametrize(("path", "nearest"), UNKNOWN)
async def test_tools_refuse_it_wherever_a_path_is_named(site: Site, place: str, path: str, nearest: str) -> None:
    _, _, register, schema = place.split("/")
    where = {"register": register, "schema": schema}
    calls: list[tuple[str, Object]] = [
        ("objects", {"action": "list", "filter": {path: "x"}}),
        ("objects", {"action": "list", "sort": [path]}),
        ("objects", {"action": "list", "facets": [path]}),
        ("objects", {"action": "list", "fields": [path]}),
        ("objects", {"action": "list", "aggregate": {"group_by": [path]}}),
        ("objects", {"action": "list", "deleted": "only", "filter": {path: "x"}}),
        ("objects", {"action": "restore", "filter": {path: "x"}}),
        ("objects", {"action": "purge", "filter": {path: "x"}}),
        ("transfer", {"action": "export", "filter": {path: "x"}}),
        ("transfer", {"action": "export", "fields": [path]}),
        ("transfer", {"action": "export", "sort": [path]}),
    ]
    async with site.app.client() as client:
        for tool, arguments in calls:
            result = await client.call_tool(tool, {**where, **arguments})
            text = result["content"][0]["text"]
            assert (result["isError"], nearest in text) == (True, True), (arguments, text)
        view = {"title": "V", **where, "query": {"filter": {path: "x"}}}
        result = await client.call_tool("views", {"action": "create", "data": view})
        assert (result["isError"], nearest in result["content"][0]["text"]) == (True, True)
    await untouched(site, place)


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:misspelt")
@pytest.mark.parametrize(("path", "nearest"), UNKNOWN)
async def test_rest_refuses_it_wherever_a_path_is_named(site: Site, place: str, path: str, nearest: str) -> None:
    _, _, register, schema = place.split("/")
    where = {"register": int(register), "schema": int(schema)}
    chosen = quote(json.dumps({path: "x"}))
    requests: list[tuple[str, str, Any]] = [
        ("GET", f"{place}?{path}=x", None),
        ("GET", f"{place}?_filter={chosen}", None),
        ("GET", f"{place}?_order[{path}]=asc", None),
        ("GET", f"{place}?_facets={path}", None),
        ("GET", f"{place}?_fields={path}", None),
        ("GET", f"{place}?_deleted=only&{path}=x", None),
        ("GET", f"/registers/{register}/export?_filter={chosen}", None),
        ("GET", f"/registers/{register}/export?_fields={path}", None),
        ("POST", f"/bulk/{register}/{schema}/purge", {"filter": {path: "x"}}),
        ("POST", f"/bulk/{register}/{schema}/restore", {"filter": {path: "x"}}),
        ("POST", "/search", {**where, "filter": {path: "x"}}),
        ("POST", "/search/aggregate", {**where, "aggregate": {"group_by": [path]}}),
        ("POST", "/views", {"title": "V", **where, "query": {"filter": {path: "x"}}}),
    ]
    for verb, target, body in requests:
        reply = await site.send(verb, f"/api{target}", body)
        text = json.dumps(reply.json)
        assert (reply.status in (400, 422), nearest in text) == (True, True), (verb, target, reply.status, text)
    await untouched(site, place)


@pytest.mark.requirement("registers:relations:misspelt")
def test_the_command_line_refuses_it_wherever_a_path_is_named(tmp_path: Path, database_url: str | None) -> None:
    terminal = Terminal(tmp_path, database_url)
    terminal.define("city", thing={"properties": PROPERTIES})
    where = {"register": "city", "schema": "thing"}
    gone = terminal.call("objects", action="create", **where, data={"fee": 1})
    terminal.call("objects", action="delete", **where, id=gone["id"])
    for path, nearest in UNKNOWN[:1]:
        chosen = json.dumps({path: "x"})
        for words in (
            ("registers", "export", "-r", "city", "-s", "thing", "--filter", chosen),
            ("registers", "export", "-r", "city", "-s", "thing", "--fields", path),
            ("registers", "purge", "-r", "city", "-s", "thing", "--filter", chosen),
        ):
            done = terminal.run(*words)
            assert (done.returncode != 0, done.stdout, nearest in done.stderr) == (True, "", True), (words, done.stderr)
        assert nearest in terminal.refusal("objects", action="list", **where, filter={path: "x"})
    assert terminal.call("objects", action="list", **where, deleted="only")["total"] == 1
