"""Taking back changes of objects whose schema was migrated since: old states come back in the form of today."""

from typing import Any

import pytest

from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Object

pytestmark = pytest.mark.anyio

RENAME: Object = {"op": "rename", "property": "pages", "to": "sheets"}


async def schemas(shelf: Shelf, action: str, **arguments: Any) -> Object:
    """A change of the schema, confirmed if it loses something."""
    result = await shelf.raw("schemas", action=action, id=shelf.schema, **arguments)
    if result["isError"] and "confirm" not in arguments:
        token = result["_meta"]["pentad/error"]["details"]["confirm"]
        return await schemas(shelf, action, confirm=token, **arguments)
    assert result["isError"] is False, result
    return result["structuredContent"]


@pytest.mark.requirement("registers:history:migrated-states")
async def test_a_revert_to_a_version_before_a_rename_keeps_the_new_name(shelf: Shelf) -> None:
    made = await shelf.book("One", pages=5)
    await shelf.objects("patch", id=made["id"], data={"pages": 6})
    await schemas(shelf, "patch", operations=[RENAME])
    await shelf.objects("patch", id=made["id"], data={"sheets": 7})
    back = await shelf.objects("revert", id=made["id"], version=1)
    assert (back["sheets"], "pages" in back, "warnings" in back["@self"]) == (5, False, False)
    back = await shelf.objects("revert", id=made["id"], version=2)
    assert (back["sheets"], "pages" in back) == (6, False)
    back = await shelf.objects("revert", id=made["id"], as_of=made["@self"]["updated"])
    assert (back["sheets"], "pages" in back) == (5, False)
    assert (await shelf.objects("get", id=made["id"], as_of=made["@self"]["updated"]))["pages"] == 5
    assert (await shelf.objects("verify", id=made["id"]))["valid"] is True


@pytest.mark.requirement("registers:history:migrated-states")
async def test_an_old_state_goes_through_every_later_migration_and_losses_are_named(shelf: Shelf) -> None:
    made = await shelf.book("One", author="ada", isbn="111", pages=5)
    other = await shelf.book("Two", isbn="abc", printed="2020-01-01")
    for one in (made, other):
        await shelf.objects("update", id=one["id"], data={"title": "Now"})
    await schemas(shelf, "patch", operations=[RENAME])
    await schemas(
        shelf,
        "update",
        data={
            "properties": {
                "isbn": {"type": "integer"},
                "author": {"enum": ["Ada"]},
                "kind": {"type": "string"},
                "printed": None,
            },
            "required": ["title", "kind"],
        },
        migration=[
            {"step": "cast", "property": "isbn", "to": "integer"},
            {"step": "enum_map", "property": "author", "values": {"ada": "Ada"}},
            {"step": "default", "property": "kind", "value": "book"},
            {"step": "drop", "property": "printed"},
        ],
    )
    back = await shelf.objects("revert", id=made["id"], version=1)
    found = {name: back[name] for name in ("title", "author", "isbn", "sheets", "kind")}
    assert found == {"title": "One", "author": "Ada", "isbn": 111, "sheets": 5, "kind": "book"}
    assert "warnings" not in back["@self"]
    back = await shelf.objects("revert", id=other["id"], version=1)
    assert (back["title"], back["kind"], "isbn" in back, "printed" in back) == ("Two", "book", False, False)
    assert [(one["path"], one["rule"]) for one in back["@self"]["warnings"]] == [
        ("/printed", "migration"), ("/isbn", "migration"),
    ]  # fmt: skip
    assert "abc" not in str(back["@self"]["warnings"])


@pytest.mark.requirement("registers:history:migrated-states")
async def test_a_migration_that_was_taken_back_does_not_touch_old_states(shelf: Shelf) -> None:
    made = await shelf.book("One", pages=5)
    await shelf.objects("patch", id=made["id"], data={"pages": 6})
    await schemas(shelf, "patch", operations=[RENAME])
    between = await shelf.objects("patch", id=made["id"], data={"sheets": 7})
    await schemas(shelf, "undo")
    await shelf.objects("patch", id=made["id"], data={"pages": 8})
    back = await shelf.objects("revert", id=made["id"], version=1)
    assert (back["pages"], "sheets" in back) == (5, False)
    back = await shelf.objects("revert", id=made["id"], version=int(between["@self"]["version"]))
    assert (back["pages"], "sheets" in back) == (7, False)


@pytest.mark.requirement("registers:history:migrated-states")
async def test_a_deleted_object_is_restored_in_the_form_of_today(shelf: Shelf) -> None:
    made, other = await shelf.book("One", pages=5, author="Ada"), await shelf.book("Two", pages=6)
    for one in (made, other):
        await shelf.objects("delete", id=one["id"])
    await schemas(shelf, "patch", operations=[RENAME, {"op": "drop", "property": "author"}])
    back = await shelf.objects("restore", id=made["id"])
    assert (back["sheets"], "pages" in back, "author" in back) == (5, False, False)
    assert [one["path"] for one in back["@self"]["warnings"]] == ["/author"]
    await shelf.objects("restore", filter={"title": "Two"})
    again = await shelf.objects("get", id=other["id"])
    assert (again["sheets"], "pages" in again) == (6, False)


@pytest.mark.requirement("registers:history:migrated-states")
async def test_a_plan_and_an_import_are_undone_after_a_migration(shelf: Shelf) -> None:
    made, gone = await shelf.book("One", isbn="1", pages=5), await shelf.book("Two", isbn="2", pages=6)
    rows: list[Object] = [
        {"action": "patch", "id": made["id"], "data": {"pages": 7}},
        {"action": "delete", "id": gone["id"]},
    ]
    plan = (await shelf.objects("plan", operations=rows))["id"]
    await shelf.objects("commit", plan=plan)
    await schemas(shelf, "patch", operations=[RENAME])
    await shelf.objects("undo", plan=plan)
    for one, sheets in ((made, 5), (gone, 6)):
        back = await shelf.objects("get", id=one["id"])
        assert (back["sheets"], "pages" in back) == (sheets, False)
    place = {"register": shelf.register, "schema": shelf.schema}
    content = "isbn,title,sheets\n1,One,9\n3,Three,1\n"
    done = (await shelf.raw("transfer", action="import", **place, content=content, key=["isbn"]))["structuredContent"]
    await schemas(shelf, "patch", operations=[{"op": "rename", "property": "sheets", "to": "leaves"}])
    undone = (await shelf.raw("transfer", action="undo", id=done["id"]))["structuredContent"]["undo"]
    assert (undone["deleted"], undone["reverted"], undone["skipped"]) == (1, 1, 0)
    back = await shelf.objects("get", id=made["id"])
    assert (back["leaves"], "sheets" in back, "pages" in back) == (5, False, False)


@pytest.mark.requirement("registers:objects:undo-last")
async def test_undo_takes_back_the_last_change_of_an_object(shelf: Shelf) -> None:
    made = await shelf.book("One", pages=5)
    assert "only one version" in (await shelf.refusal("undo", id=made["id"]))[0]
    await shelf.objects("patch", id=made["id"], data={"pages": 6})
    await schemas(shelf, "patch", operations=[RENAME])
    text, error = await shelf.refusal("undo", id=made["id"], if_version=2)
    assert (error["code"], "version 3, not 2" in text) == ("version_mismatch", True)
    back = await shelf.objects("undo", id=made["id"], if_version=3, fields=["sheets", "@self.version"], reason="oops")
    assert (back["sheets"], back["@self"]["version"]) == (5, "4")
    newest, _, patched, _ = (await shelf.objects("history", id=made["id"]))["results"]
    assert (newest["action"], newest["plan"], newest["reason"]) == ("revert", f"undo:{patched['id']}", "oops")
    again = await shelf.objects("undo", id=made["id"])  # the last change is the undo itself
    assert again["sheets"] == 6


@pytest.mark.requirement("registers:objects:undo-last")
async def test_undo_brings_a_deleted_object_back(shelf: Shelf) -> None:
    made = await shelf.book("One", pages=5)
    await shelf.objects("delete", id=made["id"])
    back = await shelf.objects("undo", id=made["id"])
    assert (back["title"], "deleted" in back["@self"]) == ("One", False)
    assert (await shelf.objects("get", id=made["id"]))["pages"] == 5
    text, _ = await shelf.refusal("undo", id=made["id"])
    assert "action=delete" in text


@pytest.mark.requirement("registers:objects:unchanged")
async def test_a_write_that_changes_nothing_has_a_note(shelf: Shelf) -> None:
    note = "Nothing changed: the object already had these values."
    made = await shelf.book("One", isbn="111")
    same = await shelf.objects("patch", id=made["id"], data={"title": "One"})
    assert same["note"] == note
    assert (await shelf.objects("revert", id=made["id"], version=1))["note"] == note
    changed = await shelf.objects("update", id=made["id"], data={**same, "title": "Two"})
    assert "note" not in changed
    assert "note" not in await shelf.objects("get", id=made["id"])
    await schemas(shelf, "update", data={"properties": {"note": {"type": "string"}}})
    await shelf.objects("patch", id=made["id"], data={"note": "mine"})
    assert (await shelf.objects("patch", id=made["id"], data={"title": "Two"}))["note"] == "mine"


@pytest.mark.requirement("registers:objects:upsert-status")
async def test_an_upsert_says_whether_it_made_or_changed_the_object(shelf: Shelf) -> None:
    for pages, status in ((5, "created"), (6, "updated"), (6, "unchanged")):
        for _ in range(2):  # a repeated call has the same answer
            data = {"isbn": "111", "title": "One", "pages": pages}
            answer = await shelf.objects("upsert", key=["isbn"], data=data, idempotency_key=f"{pages}-{status}")
            assert answer["@self"]["status"] == status
    plain = await shelf.objects("upsert", key=["isbn"], data={"isbn": "1", "title": "One"}, fields=["title"])
    assert plain["@self"] == {"status": "created"}
    assert "status" not in (await shelf.objects("get", id=plain["id"]))["@self"]
