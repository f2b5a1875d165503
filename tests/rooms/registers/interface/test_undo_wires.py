"""An undo says what it undid, and a plan which steps would change nothing: over MCP, REST and the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pentad.rooms.registers.models import MOST_IDS
from tests.rooms.registers.interface.terminal import Terminal
from tests.rooms.registers.interface.tools.conftest import shelf
from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Object, Site

__all__ = ["shelf"]

RENAME = [{"op": "rename", "property": "pages", "to": "sheets"}]


@pytest.mark.anyio
@pytest.mark.parametrize("over", ["mcp", "rest"])
@pytest.mark.requirement("registers:undo:says")
async def test_the_undo_of_a_plan_counts_objects_by_what_became_of_them(site: Site, shelf: Shelf, over: str) -> None:
    changed, gone = await shelf.book("One", pages=5), await shelf.book("Two", pages=6)
    rows: list[Object] = [
        {"action": "patch", "id": changed["id"], "data": {"pages": 7}},
        {"action": "delete", "id": gone["id"]},
        *({"action": "create", "data": {"title": f"New {number}"}} for number in range(MOST_IDS + 1)),
    ]
    if over == "mcp":
        plan = (await shelf.objects("plan", operations=rows))["id"]
        done, again = [await shelf.objects(action, plan=plan) for action in ("commit", "undo")]
    else:
        data: Object = {"register": shelf.register, "schema": shelf.schema, "operations": rows}
        plan = (await site.send("POST", "/api/plans", data)).json["id"]
        done, again = [(await site.send("POST", f"/api/plans/{plan}/{action}")).json for action in ("commit", "undo")]
    assert "undone" not in done
    undone = again["undone"]
    ids = undone.pop("ids")
    assert undone == {"deleted": MOST_IDS + 1, "reverted": 1, "restored": 1, "skipped": 0}
    assert (ids["reverted"], ids["restored"], len(ids["deleted"])) == ([changed["id"]], [gone["id"]], MOST_IDS)
    assert set(ids["deleted"]) < {one["uuid"] for one in done["outcomes"]}


@pytest.mark.anyio
@pytest.mark.parametrize("over", ["mcp", "rest"])
@pytest.mark.requirement("registers:undo:says")
async def test_the_undo_of_an_import_lists_the_objects(site: Site, shelf: Shelf, over: str) -> None:
    made = await shelf.book("One", pages=9)
    place = {"register": shelf.register, "schema": shelf.schema}
    content = "title,pages\nOne,5\nTwo,6\n"
    if over == "mcp":
        done = (await shelf.raw("transfer", action="import", **place, content=content, key=["title"]))[
            "structuredContent"
        ]
        undone = (await shelf.raw("transfer", action="undo", id=done["id"]))["structuredContent"]["undo"]
    else:
        target = f"/api/registers/{shelf.register}/import?schema={shelf.schema}&format=csv&key=title"
        done = (await site.send("POST", target, content.encode(), headers={"content-type": "text/csv"})).json
        undone = (await site.send("POST", f"/api/transfers/{done['transfer']}/undo")).json["undo"]
    assert (undone["deleted"], undone["reverted"], undone["ids"]["reverted"]) == (1, 1, [made["id"]])
    assert len(undone["ids"]["deleted"]) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("over", ["mcp", "rest"])
@pytest.mark.requirement("registers:undo:says")
async def test_the_undo_of_a_schema_and_of_an_object_name_the_change(site: Site, shelf: Shelf, over: str) -> None:
    made = await shelf.book("One", pages=5)
    await shelf.objects("patch", id=made["id"], data={"pages": 6})
    await shelf.raw("schemas", action="patch", id=shelf.schema, operations=RENAME)
    if over == "mcp":
        schema = (await shelf.raw("schemas", action="undo", id=shelf.schema))["structuredContent"]
        book = await shelf.objects("undo", id=made["id"])
    else:
        schema = (await site.send("POST", f"/api/schemas/{shelf.schema}/undo")).json
        book = (await site.send("POST", f"/api/objects/{shelf.register}/{shelf.schema}/{made['id']}/undo")).json
    assert schema["undone"] == {"version": 2, "action": "patch", "ids": [made["id"]]}
    assert book["@self"]["undone"] == {"version": 2, "action": "update"}
    sent_back = await shelf.raw("schemas", action="update", id=shelf.schema, data=schema)
    assert "undone" not in sent_back["structuredContent"]
    assert "undone" not in (await shelf.objects("get", id=made["id"]))["@self"]


@pytest.mark.anyio
@pytest.mark.parametrize("over", ["mcp", "rest"])
@pytest.mark.requirement("registers:schema-change:unused-steps")
async def test_a_plan_names_the_steps_that_would_change_no_object(site: Site, shelf: Shelf, over: str) -> None:
    await shelf.book("One", pages=5)
    steps: list[Any] = [
        {"op": "change", "property": "pages", "value": 1},
        {"op": "change", "property": "author", "value": "unknown"},
    ]
    if over == "mcp":
        told = await shelf.raw("schemas", action="plan", id=shelf.schema, operations=steps)
        plan = told["structuredContent"]
    else:
        plan = (await site.send("POST", f"/api/schemas/{shelf.schema}/plan", {"operations": steps})).json
    assert plan["migrated"]["objects"] == 1
    assert plan["unused_steps"] == [{"step": "default", "property": "pages", "value": 1, "objects": 0}]


@pytest.mark.requirement("registers:undo:says", "registers:schema-change:unused-steps")
def test_a_terminal_says_what_was_undone_and_what_would_do_nothing(tmp_path: Path, database_url: str | None) -> None:
    terminal = Terminal(tmp_path, database_url)
    terminal.define("shelf", book={"properties": {"title": {"type": "string"}, "pages": {"type": "integer"}}})
    place = {"register": "shelf", "schema": "book"}
    made = terminal.call("objects", action="create", **place, data={"title": "One", "pages": 9})
    (tmp_path / "books.csv").write_text("title,pages\nOne,5\nTwo,6\n", encoding="utf-8")
    done = terminal.run("registers", "import", "books.csv", "-r", "shelf", "-s", "book", "--key", "title")
    [transfer] = re.findall(r"pentad registers undo (\S+)", done.stderr)
    undone = terminal.run("registers", "undo", transfer)
    rows = [line.split(maxsplit=1) for line in undone.stdout.splitlines()]
    assert [row[1] for row in rows] == ["was", "deleted", "changed back"]
    assert rows[2][0] == made["id"]
    assert undone.stderr == "1 deleted, 1 changed back, 0 left alone.\n"
    assert terminal.run("registers", "schema", "patch", "book", json.dumps(RENAME)).returncode == 0
    undone = terminal.run("registers", "schema", "undo", "book")
    assert undone.stderr.splitlines()[0] == "Version 2 (patch) was taken back."
    assert undone.stdout.splitlines()[-1] == made["id"]
    step = json.dumps([{"op": "change", "property": "pages", "value": 1}])
    planned = terminal.run("registers", "schema", "plan", "book", step)
    assert "The step default of pages would change no object." in planned.stderr.splitlines()
