"""The `transfer` tool: files in and out over MCP, with progress, and what REST serves of them."""

import base64
import json
from typing import Any

import pytest

from tests.behaviour.clients import HTTP_MODERN, SESSION, Wire, wire_name
from tests.behaviour.connecting import connect_http
from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio

TABLE = "title,pages\nOne,1\nTwo,2\n"


async def transfer(shelf: Shelf, action: str, **arguments: Any) -> Any:
    place = {"register": shelf.register, "schema": shelf.schema} if action in ("import", "export") else {}
    result = await shelf.raw("transfer", action=action, **place, **arguments)
    assert result["isError"] is False, result
    return result["structuredContent"]


async def refused(shelf: Shelf, action: str, **arguments: Any) -> str:
    place = {"register": shelf.register, "schema": shelf.schema} if action in ("import", "export") else {}
    result = await shelf.raw("transfer", action=action, **place, **arguments)
    assert result["isError"] is True, result
    return result["content"][0]["text"]


@pytest.mark.requirement("registers:transfer:jobs")
async def test_a_small_file_is_imported_and_exported_in_one_call_each(shelf: Shelf):
    done = await transfer(shelf, "import", content=TABLE)
    assert (done["state"], done["created"]) == ("done", 2)
    out = await transfer(
        shelf, "export", format="jsonl", fields=["title"], sort=["-pages"], filter={"pages": {"gt": 0}}
    )
    assert (out["state"], out["rows"]) == ("done", 2)
    assert [json.loads(line)["title"] for line in out["content"].splitlines()] == ["Two", "One"]
    read = await shelf.client.request("resources/read", {"uri": out["uri"]})
    assert read["contents"][0]["text"] == out["content"]
    assert out["uri"] in out["note"]
    listed = await transfer(shelf, "list")
    assert {done["id"], out["id"]} <= {one["id"] for one in listed["results"]}
    assert (await transfer(shelf, "status", id=out["id"]))["state"] == "done"


@pytest.mark.requirement("registers:transfer:jobs")
async def test_a_workbook_comes_in_base64_and_goes_out_as_a_blob(shelf: Shelf):
    await transfer(shelf, "import", content=TABLE)
    out = await transfer(shelf, "export", format="xlsx")
    assert "content" not in out
    read = await shelf.client.request("resources/read", {"uri": out["uri"]})
    back = await transfer(shelf, "import", format="xlsx", base64=read["contents"][0]["blob"])
    assert (back["state"], back["unchanged"]) == ("done", 2)


@pytest.mark.requirement("registers:transfer:jobs")
async def test_bad_rows_are_told_in_words(shelf: Shelf):
    bad = await transfer(shelf, "import", content="title,pages\nOne,1\nTwo,none\n")
    assert (bad["state"], bad["failed"], bad["written"]) == ("failed", 1, False)
    assert bad["problems"] == [{"row": 3, "column": "pages", "problem": "'none' is not an integer."}]
    assert bad["note"].startswith("Nothing was written.")
    partial = await transfer(shelf, "import", content="title,pages\nOne,1\nTwo,none\n", partial=True)
    assert (partial["state"], partial["created"]) == ("done", 1)


@pytest.mark.requirement("registers:transfer:jobs")
async def test_arguments_are_checked_before_anything_is_queued(shelf: Shelf):
    assert "one file" in await refused(shelf, "import")
    assert "one file" in await refused(shelf, "import", content=TABLE, base64="")
    assert "not valid base64" in await refused(shelf, "import", base64="*")
    assert "no format" in await refused(shelf, "export", format="pdf")
    assert "titel" in await refused(shelf, "export", fields=["titel"])
    assert "You have no transfer" in await refused(shelf, "status", id="none")
    assert "Missing required parameter: id" in await refused(shelf, "cancel")


@pytest.mark.requirement("registers:transfer:jobs")
async def test_an_attached_file_can_be_imported(shelf: Shelf, site: Site):
    book = await shelf.book("Holder")
    place = f"/api/objects/{shelf.register}/{shelf.schema}/{book['id']}"
    assert (await site.send("PUT", f"{place}/files/more.csv", TABLE.encode())).status == 201
    done = await transfer(shelf, "import", attachment={"id": book["id"], "name": "more.csv"})
    assert done["created"] == 2
    assert "no file" in await refused(shelf, "import", attachment={"id": book["id"], "name": "none.csv"})


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("registers:transfer:jobs")
async def test_a_client_that_asks_is_told_of_the_progress(site: Site, shelf: Shelf, wire: Wire):
    client = await connect_http(site.app, wire, authorization=site.credentials("writer")["authorization"])
    try:
        table = "title\n" + "".join(f"Book {number}\n" for number in range(3_000))
        arguments = {
            "action": "import", "register": shelf.register, "schema": shelf.schema, "content": table, "wait": 40,
        }  # fmt: skip
        reply = await client.call("transfer", arguments, meta={"progressToken": "p"})
        answer = reply.answer(wire)
        assert (answer["state"], answer["created"]) == ("done", 3_000)
        told = reply.notified("notifications/progress")
        assert all(one["progressToken"] == "p" for one in told)
        assert [one["progress"] for one in told if "total" in one] == sorted(
            one["progress"] for one in told if "total" in one
        )
    finally:
        await client.close()


@pytest.mark.requirement("registers:transfer:jobs")
async def test_rest_serves_state_and_file_to_the_owner_only(site: Site, shelf: Shelf):
    client = await connect_http(site.app, HTTP_MODERN, authorization=site.credentials("writer")["authorization"])
    try:
        arguments = {"action": "export", "register": shelf.register, "schema": shelf.schema}
        state = (await client.call("transfer", arguments)).answer(HTTP_MODERN)
    finally:
        await client.close()
    path = f"/api/transfers/{state['id']}"
    assert (await site.send("GET", path, who="writer")).json["state"] == "done"
    assert state["id"] in {
        one["id"] for one in (await site.send("GET", "/api/transfers", who="writer")).json["results"]
    }
    content = await site.send("GET", state["download"], who="writer")
    assert content.headers["content-type"].startswith("text/csv")
    assert content.body.decode("utf-8-sig").startswith("_id,_version,title")
    for who in ("reader", "other", "admin"):
        for target in (path, f"{path}/content"):
            assert (await site.send("GET", target, who=who)).status == 404
        assert (await site.send("POST", f"{path}/cancel", who=who)).status == 404
    assert (await site.send("GET", path, who="")).status == 401
    assert (await site.send("POST", f"{path}/cancel", who="writer")).json["state"] == "done"


@pytest.mark.requirement("registers:transfer:jobs")
async def test_a_reader_exports_and_does_not_import(site: Site, shelf: Shelf):
    client = await connect_http(site.app, HTTP_MODERN, authorization=site.credentials("reader")["authorization"])
    try:
        place = {"register": shelf.register, "schema": shelf.schema}
        assert (await client.call("transfer", {"action": "export", **place})).answer(HTTP_MODERN)["state"] == "done"
        encoded = base64.b64encode(TABLE.encode()).decode()
        reply = await client.call("transfer", {"action": "import", **place, "base64": encoded})
        assert "registers:write" in reply.complaint
    finally:
        await client.close()


@pytest.mark.requirement("registers:transfer:undo")
async def test_an_import_names_its_undo_and_what_it_wrote(shelf: Shelf):
    made = await shelf.book("One", pages=9)
    done = await transfer(shelf, "import", content=TABLE, key=["title"], reason="spring list")
    assert f"action=undo id={done['id']}" in done["next"]
    assert f"action=changes plan={done['id']}" in done["next"]
    written = await shelf.objects("changes", plan=done["id"])
    assert sorted(row["action"] for row in written["results"]) == ["create", "update"]
    assert made["id"] in {row["uuid"] for row in written["results"]}
    [listed] = [one for one in (await transfer(shelf, "list"))["results"] if one["id"] == done["id"]]
    assert (listed["reason"], listed["created"], listed["updated"]) == ("spring list", 1, 1)
    assert listed["started"] <= listed["ended"]
    undone = await transfer(shelf, "undo", id=done["id"], reason="wrong list")
    assert (undone["state"], undone["undo"]["deleted"], undone["undo"]["reverted"]) == ("undone", 1, 1)
    assert [book["pages"] for book in (await shelf.objects("list"))["results"]] == [9]
    [last, *_] = (await shelf.objects("history", id=made["id"]))["results"]
    assert (last["action"], last["plan"], last["reason"]) == ("revert", f"undo:{done['id']}", "wrong list")
    assert "is undone" in await refused(shelf, "undo", id=done["id"])
    assert "next" not in await transfer(shelf, "status", id=done["id"])
    out = await transfer(shelf, "export")
    assert "it changed nothing" in await refused(shelf, "undo", id=out["id"])
    bad = await transfer(shelf, "import", content="title,pages\nX,none\n")
    assert "next" not in bad
    assert "wrote nothing" in await refused(shelf, "undo", id=bad["id"])


@pytest.mark.requirement("registers:transfer:undo")
async def test_an_upload_over_rest_can_be_undone(site: Site, shelf: Shelf):
    place = f"/api/registers/{shelf.register}/import?schema={shelf.schema}&format=csv"
    report = (await site.send("POST", place, TABLE.encode(), headers={"content-type": "text/csv"}, who="writer")).json
    path = f"/api/transfers/{report['transfer']}"
    assert f"{path}/undo" in report["next"]
    for who in ("reader", "other", "admin"):
        assert (await site.send("POST", f"{path}/undo", who=who)).status in (403, 404)
    written = (await site.send("GET", f"/api/audit?plan={report['transfer']}", who="writer")).json["results"]
    assert [(row["action"], row["schema"]) for row in written] == [("create", shelf.schema)] * 2
    undone = await site.send("POST", f"{path}/undo", who="writer")
    assert (undone.status, undone.json["state"], undone.json["undo"]["deleted"]) == (200, "undone", 2)
    assert (await site.send("POST", f"{path}/undo", who="writer")).status == 409
    assert (await shelf.objects("list"))["total"] == 0


@pytest.mark.requirement("registers:transfer:rights")
async def test_the_right_to_import_is_checked_before_the_request(site: Site, shelf: Shelf):
    more = (await shelf.raw("schemas", action="create", data={"title": "Second"}))["structuredContent"]
    await shelf.raw("registers", action="update", id=shelf.register, data={"schemas": [more["id"]]})
    place = f"/api/registers/{shelf.register}/import"
    assert (await site.send("POST", place, TABLE.encode(), who="writer")).status == 400
    assert (await site.send("POST", place, TABLE.encode(), who="reader")).status == 403
