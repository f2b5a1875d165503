"""Views over MCP, REST and the console: one thing, with the same rights on each."""

import csv
import io
import json
from typing import Any

import pytest
from openpyxl import load_workbook

from tests.rooms.registers.interface.tools.conftest import shelf
from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Object, Site

__all__ = ["shelf"]

pytestmark = pytest.mark.anyio

COLUMNS: list[Any] = ["title", {"name": "Sheets", "expression": "pages / 2"}]


async def views(shelf: Shelf, action: str, **arguments: Any) -> Any:
    result = await shelf.raw("views", action=action, **arguments)
    assert result["isError"] is False, result
    return result["structuredContent"]


async def made(shelf: Shelf, title: str = "Thick books", **query: Any) -> Object:
    data = {"title": title, "register": shelf.register, "schema": shelf.schema, "query": query}
    return await views(shelf, "create", data=data)


async def stacked(shelf: Shelf, count: int = 3) -> None:
    for number in range(1, count + 1):
        await shelf.book(f"Book {number:02}", pages=number * 100, isbn="=1+1")


@pytest.mark.requirement("registers:views:columns")
async def test_a_view_is_saved_run_changed_and_deleted_over_mcp(shelf: Shelf) -> None:
    await stacked(shelf)
    view = await made(shelf, filter={"pages": {"gte": 200}}, sort=["-pages"], columns=COLUMNS)
    assert view["slug"].startswith("thick-books")
    ran = await views(shelf, "run", id=view["slug"])
    assert [(row["title"], row["Sheets"]) for row in ran["results"]] == [("Book 03", 150), ("Book 02", 100)]
    assert (ran["total"], ran["columns"]) == (2, ["title", "Sheets"])
    narrow = await views(shelf, "run", id=view["id"], filter={"pages": {"lt": 300}})
    assert [row["title"] for row in narrow["results"]] == ["Book 02"]
    changed = await views(shelf, "update", id=view["id"], data={"query": {"columns": ["pages"]}, "title": "Sizes"})
    assert changed["query"] == {"filter": {"pages": {"gte": 200}}, "sort": ["-pages"], "columns": ["pages"]}
    assert view["id"] in [one["id"] for one in (await views(shelf, "list"))["results"]]
    assert await views(shelf, "delete", id=view["id"]) == {"deleted": True, "id": view["id"]}
    gone = await shelf.raw("views", action="get", id=view["id"])
    assert "There is no view" in gone["content"][0]["text"]


async def test_a_run_stays_within_its_budget_and_goes_on(shelf: Shelf) -> None:
    await stacked(shelf, 30)
    view = await made(shelf, sort=["title"], columns=["title", "isbn", "pages"], limit=30)
    titles: list[str] = []
    cursor: str | None = None
    for _ in range(30):
        page = await views(shelf, "run", id=view["id"], max_tokens=300, **({"cursor": cursor} if cursor else {}))
        titles += [row["title"] for row in page["results"]]
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert titles == [f"Book {number:02}" for number in range(1, 31)]
    listed = await views(shelf, "list", limit=1)
    assert len(listed["results"]) == 1


@pytest.mark.requirement("registers:answers:more")
async def test_a_view_without_a_limit_returns_what_fits_an_answer(shelf: Shelf) -> None:
    rows = [{"data": {"title": f"Book {number:03}", "author": "a" * 60, "pages": 1}} for number in range(102)]
    await shelf.objects("bulk", operations=rows)
    small = await views(shelf, "run", id=(await made(shelf, "Names", sort=["title"], columns=["title"]))["id"])
    assert (len(small["results"]), small["total"]) == (100, 102)
    assert small["note"] == "100 of 102 rows. Repeat the call with this cursor for more."
    wide = await made(shelf, "Wide", sort=["title"], columns=["title", "author", {"name": "Twice", "path": "author"}])
    page = await views(shelf, "run", id=wide["id"])
    assert 20 < len(page["results"]) < 100
    assert page["cut"] == {"max_tokens": 4000, "rows_left_out": 100 - len(page["results"])}
    rest = await views(shelf, "run", id=wide["id"], cursor=page["cursor"])
    assert rest["results"][0]["title"] == f"Book {len(page['results']):03}"
    assert len((await views(shelf, "run", id=wide["id"], limit=100))["results"]) == 100


async def test_what_is_missing_or_wrong_is_said(shelf: Shelf) -> None:
    for arguments, said in (
        ({"action": "run"}, "Missing required parameter: id"),
        ({"action": "create"}, "Missing required parameter: data"),
        ({"action": "create", "data": {"title": "x"}}, "register"),
        ({"action": "list", "cursor": "x"}, "cursor"),
        ({"action": "run", "id": "none"}, "There is no view"),
    ):
        result = await shelf.raw("views", **arguments)
        assert result["isError"] is True
        assert said in result["content"][0]["text"]
    data = {"title": "T", "register": shelf.register, "schema": shelf.schema, "query": {"columns": ["tilte"]}}
    refused = await shelf.raw("views", action="create", data=data)
    assert "'title'" in refused["content"][0]["text"]


PLACE: Object = {"name": {"type": "string"}, "level": {"type": "number"}}


async def rest_view(site: Site, who: str = "writer", **more: Any) -> Object:
    place = await site.pair(PLACE)
    _, _, register, schema = place.split("/")
    for name, level in (("one", 1), ("=2+2", 2)):
        await site.made(place, {"name": name, "level": level})
    query = {"columns": ["name", {"name": "Double", "expression": "level * 2"}], "sort": ["level"]}
    data = {"title": "Doubled", "register": register, "schema": schema, "query": query, **more}
    return await site.made("/views", data, who=who)


@pytest.mark.requirement("registers:views:changed", "registers:views:shared")
async def test_a_view_over_rest(site: Site) -> None:
    view = await rest_view(site, shared=True, description="Twice")
    path = f"/api/views/{view['id']}"
    ran = (await site.send("GET", f"{path}/results?_limit=1", who="reader")).json
    assert (ran["columns"], [row["Double"] for row in ran["results"]], ran["total"]) == (["name", "Double"], [2], 2)
    more = (await site.send("GET", f"{path}/results?_limit=1&_cursor={ran['cursor']}", who="reader")).json
    assert [row["Double"] for row in more["results"]] == [4]
    only = await site.send("GET", path + '/results?_filter={"level":2}', who="reader")
    assert only.json["total"] == 1
    assert (await site.send("GET", path + "/results?_filter=[1]", who="reader")).status in (400, 422)
    assert (await site.send("GET", path + "/results?_filter={", who="reader")).status in (400, 422)
    assert (await site.send("PATCH", path, {"title": "Mine"}, who="other")).status == 403
    patched = await site.send("PATCH", path, {"query": {"sort": None}, "shared": False}, who="writer")
    assert (patched.status, "sort" in patched.json["query"], patched.json["shared"]) == (200, False, False)
    put = await site.send("PUT", path, {"query": {"columns": ["level"]}}, who="writer")
    assert put.json["query"] == {"columns": ["level"]}
    assert (await site.send("PATCH", path, {"query": {"columns": ["levle"]}}, who="writer")).status == 422
    assert (await site.send("GET", f"{path}/results", who="reader")).status == 404


@pytest.mark.requirement("registers:views:versions")
async def test_the_version_of_a_view_is_checked_over_rest(site: Site) -> None:
    view = await rest_view(site)
    path = f"/api/views/{view['id']}"
    read = await site.send("GET", path, who="writer")
    assert (read.json["version"], read.headers["etag"]) == (1, '"1"')
    changed = await site.send("PATCH", path, {"title": "A"}, who="writer", headers={"if-match": '"1"'})
    assert (changed.status, changed.json["version"], changed.headers["etag"]) == (200, 2, '"2"')
    for verb, body in (("PATCH", {"title": "B"}), ("PUT", {"title": "B"}), ("DELETE", None)):
        late = await site.send(verb, path, body, who="writer", headers={"if-match": '"1"'})
        assert late.status == 412, (verb, late.body)
        odd = await site.send(verb, path, body, who="writer", headers={"if-match": '"x"'})
        assert odd.status == 412
    assert (await site.send("GET", path, who="writer")).json["title"] == "A"
    assert (await site.send("PUT", path, {"title": "C"}, who="writer")).json["version"] == 3
    assert (await site.send("DELETE", path, who="writer", headers={"if-match": '"3"'})).status == 204


@pytest.mark.requirement("registers:views:versions")
async def test_the_version_of_a_view_is_checked_over_mcp(shelf: Shelf) -> None:
    view = await made(shelf, columns=COLUMNS)
    assert view["version"] == 1
    changed = await views(shelf, "update", id=view["id"], data={"title": "A"}, if_version=1)
    assert changed["version"] == 2
    for action, data in (("update", {"data": {"title": "B"}}), ("delete", {})):
        late = await shelf.raw("views", action=action, id=view["id"], if_version=1, **data)
        error = late["_meta"]["pentad/error"]
        assert (error["code"], error["details"]["current"]) == ("version_mismatch", 2)
    assert (await views(shelf, "get", id=view["id"]))["title"] == "A"
    await views(shelf, "delete", id=view["id"], if_version=2)


@pytest.mark.requirement("registers:views:export")
async def test_an_export_has_exactly_the_columns(site: Site) -> None:
    path = f"/api/views/{(await rest_view(site))['id']}/export"
    exported = await site.send("GET", f"{path}?format=csv", who="writer")
    assert exported.headers["content-type"].startswith("text/csv")
    assert list(csv.reader(io.StringIO(exported.body.decode("utf-8-sig")))) == [
        ["name", "Double"], ["one", "2"], ["'=2+2", "4"],
    ]  # fmt: skip
    assert (await site.send("GET", f"{path}?format=json", who="writer")).json == [
        {"name": "one", "Double": 2}, {"name": "=2+2", "Double": 4},
    ]  # fmt: skip
    lines = (await site.send("GET", f"{path}?format=jsonl", who="writer")).body.splitlines()
    assert json.loads(lines[0]) == {"name": "one", "Double": 2}
    book = (await site.send("GET", f"{path}?format=xlsx", who="writer")).body
    sheet = load_workbook(io.BytesIO(book), read_only=True).worksheets[0]
    assert [[cell.value for cell in row] for row in sheet.iter_rows()][:2] == [["name", "Double"], ["one", 2]]
    assert (await site.send("GET", f"{path}?format=odt", who="writer")).status in (400, 422)
    assert (await site.send("GET", path, who="reader")).status == 404
    some = await site.send("GET", path + '?format=json&_filter={"level":1}', who="writer")
    assert some.json == [{"name": "one", "Double": 2}]


@pytest.mark.requirement("registers:views:export")
async def test_a_view_without_columns_is_exported_like_its_objects(site: Site) -> None:
    place = await site.pair(PLACE)
    _, _, register, schema = place.split("/")
    for level in (1, 2, 3):
        await site.made(place, {"name": f"n{level}", "level": level})
    query = {"filter": {"level": {"gte": 2}}, "fields": ["name"]}
    view = await site.made("/views", {"title": "High", "register": register, "schema": schema, "query": query})
    path = f"/api/views/{view['id']}/export?format=json"
    assert [row["name"] for row in (await site.send("GET", path)).json] == ["n2", "n3"]
    narrow = await site.send("GET", path + '&_filter={"level":3}')
    assert [row["name"] for row in narrow.json] == ["n3"]


@pytest.mark.requirement("registers:views:addresses")
async def test_a_view_has_a_page_that_escapes_everything(site: Site) -> None:
    evil = "<script>alert(1)</script>"
    place = await site.pair({"name": {"type": "string"}, "level": {"type": "number"}})
    _, _, register, schema = place.split("/")
    await site.made(place, {"name": evil, "level": 7})
    query = {"columns": ["name", {"name": evil, "path": "level"}]}
    data = {"title": evil, "description": evil, "register": register, "schema": schema, "query": query}
    view = await site.made("/views", data)
    listed = await site.send("GET", "/console/registers/views", who="admin:admin")
    assert listed.status == 200
    page = await site.send("GET", f"/console/registers/views/{view['id']}", who="admin:admin")
    for shown in (listed, page):
        assert evil.encode() not in shown.body
        assert b"&lt;script&gt;" in shown.body
    assert (await site.send("GET", "/console/registers/views/none", who="admin:admin")).status == 404
