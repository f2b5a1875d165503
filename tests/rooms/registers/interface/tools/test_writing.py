"""Objects written with the tool: one by one, many at once, as a plan, and errors a model can act on."""

import pytest

from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


async def test_an_object_is_made_read_replaced_patched_and_deleted(shelf: Shelf) -> None:
    made = await shelf.book("One", pages=10)
    assert made["@self"]["version"] == "1"
    assert await shelf.objects("get", id=made["id"]) == made
    replaced = await shelf.objects("update", id=made["id"], data={"title": "Two"}, if_version=1)
    assert "pages" not in replaced
    patched = await shelf.objects("patch", id=made["id"], data={"pages": 3})
    assert (patched["title"], patched["pages"]) == ("Two", 3)
    stepped = await shelf.objects("patch", id=made["id"], json_patch=[{"op": "remove", "path": "/pages"}])
    assert "pages" not in stepped
    text, error = await shelf.refusal("update", id=made["id"], data={"title": "Lost"}, if_version=1)
    assert error["code"] == "version_mismatch"
    assert "version" in text
    gone = await shelf.objects("delete", id=made["id"])
    assert (gone["deleted"], gone["id"]) == (True, made["id"])
    back = await shelf.objects("restore", id=made["id"])
    assert back["title"] == "Two"
    await shelf.objects("delete", id=made["id"])
    assert (await shelf.objects("purge", id=made["id"]))["purged"] is True
    assert (await shelf.refusal("restore", id=made["id"]))[1]["code"] == "not_found"


async def test_a_patch_is_one_kind_of_patch(shelf: Shelf):
    made = await shelf.book("One")
    text, _ = await shelf.refusal(
        "patch", id=made["id"], data={"pages": 1}, json_patch=[{"op": "add", "path": "/pages", "value": 2}]
    )
    assert text == "A patch is given as data or as json_patch, not as both. Leave one of them out."


async def test_an_object_may_come_back_with_its_id_and_without_its_metadata(shelf: Shelf):
    made = await shelf.book("One", pages=1)
    seen = await shelf.objects("get", id=made["id"], fields=["title", "pages"])
    assert set(seen) == {"id", "title", "pages"}
    for action in ("update", "patch"):
        same = await shelf.objects(action, id=made["id"], data=seen)
        assert same["@self"]["version"] == "1"
    row = {"action": "update", "id": made["id"], "data": seen}
    assert (await shelf.objects("bulk", operations=[row]))["unchanged"] == 1
    text, _ = await shelf.refusal("patch", id=made["id"], data={"id": "a number of its own"})
    assert text.startswith(f"The data has the id 'a number of its own', but this is object {made['id']}.")


async def test_what_is_not_deleted_is_not_purged_and_the_error_says_so(shelf: Shelf):
    made = await shelf.book("One")
    text, error = await shelf.refusal("purge", id=made["id"])
    assert error["code"] == "conflict"
    assert text == f"Object {made['id']} is not deleted. Delete it first; purging cannot be undone."


@pytest.mark.requirement("registers:tools:errors")
async def test_a_validation_error_says_where_what_and_how_to_mend_it(shelf: Shelf) -> None:
    text, error = await shelf.refusal("create", data={"title": "One", "pages": "12"})
    assert "/pages" in text
    (problem,) = error["details"]["problems"]
    assert (problem["path"], problem["rule"], problem["received"]) == ("/pages", "type", "12")
    assert problem["patch"] == [{"op": "replace", "path": "/pages", "value": 12}]


async def test_a_field_nobody_knows_is_refused_before_anything_is_written(shelf: Shelf):
    text, _ = await shelf.refusal("create", data={"title": "One"}, fields=["titel"])
    assert text.startswith("The schema has no property 'titel'. Did you mean 'title'?")
    assert (await shelf.objects("list"))["total"] == 0


async def test_bulk_writes_upsert_and_report_each_row(shelf: Shelf) -> None:
    first = await shelf.book("One", isbn="111")
    rows = [
        {"action": "upsert", "key": ["isbn"], "data": {"title": "One again", "isbn": "111"}},
        {"action": "upsert", "key": ["isbn"], "data": {"title": "Two", "isbn": "222"}},
        {"action": "create", "data": {"pages": 5}},
        {"action": "patch", "id": first["id"], "data": {"pages": 9}},
    ]
    partly = await shelf.objects("bulk", operations=rows, atomic=False)
    assert [row["status"] for row in partly["results"]] == ["updated", "created", "failed", "updated"]
    assert partly["results"][2]["error"]["code"] == "invalid_input"
    before = (await shelf.objects("list"))["total"]
    text, _ = await shelf.refusal("bulk", operations=rows)
    assert "title" in text
    assert (await shelf.objects("list"))["total"] == before, "all or nothing"


@pytest.mark.requirement("registers:writes:repeated-keys")
async def test_a_batch_with_one_key_twice_is_refused_and_both_rows_named(shelf: Shelf) -> None:
    rows = [
        {"action": "upsert", "key": ["isbn"], "data": {"title": title, "isbn": isbn}}
        for title, isbn in (("One", "111"), ("Two", "222"), ("Eins", "111"))
    ]
    text, error = await shelf.refusal("bulk", operations=rows)
    assert "Rows 0 and 2 are both for the object with isbn '111'." in text
    assert error["details"]["rows"][0]["error"]["details"] == {"rule": "repeated", "repeats": 0}
    assert (await shelf.objects("list"))["total"] == 0
    plan = await shelf.objects("plan", operations=rows)
    assert plan["valid"] is False
    assert plan["preview"][2]["error"]["message"].startswith("Rows 0 and 2 are both")


async def test_a_key_makes_a_call_happen_once(shelf: Shelf) -> None:
    key = f"key-{shelf.register}"
    first = await shelf.objects("create", data={"title": "One"}, idempotency_key=key)
    again = await shelf.objects("create", data={"title": "One"}, idempotency_key=key)
    assert first["id"] == again["id"]
    assert (await shelf.objects("list"))["total"] == 1


async def test_a_plan_is_previewed_committed_and_undone(shelf: Shelf) -> None:
    made = await shelf.book("One")
    plan = await shelf.objects("plan", operations=[{"action": "delete", "id": made["id"]}])
    assert plan["valid"] is True
    assert (await shelf.objects("list"))["total"] == 1
    await shelf.objects("commit", plan=plan["id"])
    assert (await shelf.objects("list"))["total"] == 0
    await shelf.objects("undo", plan=plan["id"])
    assert (await shelf.objects("list"))["results"][0]["title"] == "One"
    assert "Missing required parameter: plan" in (await shelf.refusal("commit"))[0]


async def test_an_object_is_locked_and_unlocked(shelf: Shelf, site: Site) -> None:
    made = await shelf.book("One")
    locked = await shelf.objects("lock", id=made["id"], seconds=60, reason="import")
    assert locked["@self"]["locked"]["user"] == "local"
    path = f"/api/objects/{shelf.register}/{shelf.schema}/{made['id']}"
    assert (await site.send("PUT", path, {"title": "x"}, who="writer")).status == 423
    unlocked = await shelf.objects("unlock", id=made["id"])
    assert "locked" not in unlocked["@self"]
    report = await shelf.objects("can_delete", id=made["id"])
    assert report["deletable"] is True


@pytest.mark.requirement("registers:objects:unchanged")
async def test_a_write_that_changes_nothing_says_so(shelf: Shelf, site: Site) -> None:
    made = await shelf.book("One", isbn="111")
    assert "unchanged" not in made["@self"]
    whole = {"title": "One", "isbn": "111"}
    for answer in (
        await shelf.objects("patch", id=made["id"], data={"title": "One"}),
        await shelf.objects("update", id=made["id"], data=whole),
        await shelf.objects("upsert", key=["isbn"], data=whole),
        await shelf.objects("patch", id=made["id"], data={"title": "One"}, idempotency_key=made["id"]),
        await shelf.objects("patch", id=made["id"], data={"title": "One"}, idempotency_key=made["id"]),
        await shelf.objects("patch", id=made["id"], data={"title": "One"}, fields=["title"]),
    ):
        assert answer["@self"]["unchanged"] is True
    place = f"/api/objects/{shelf.register}/{shelf.schema}/{made['id']}"
    assert (await site.send("PATCH", place, {"title": "One"})).json["@self"]["unchanged"] is True
    changed = await shelf.objects("patch", id=made["id"], data={"title": "Two"})
    assert (changed["@self"]["version"], "unchanged" in changed["@self"]) == ("2", False)
    assert "unchanged" not in (await shelf.objects("get", id=made["id"]))["@self"]


@pytest.mark.requirement("registers:objects:upsert-merges")
async def test_an_upsert_merges_and_says_what_it_found(shelf: Shelf) -> None:
    made = await shelf.book("One", isbn="111", pages=5)
    merged = await shelf.objects("upsert", key=["isbn"], data={"isbn": "111", "author": "Ada"})
    assert (merged["id"], merged["title"], merged["pages"], merged["author"]) == (made["id"], "One", 5, "Ada")
    text, error = await shelf.refusal("upsert", key=["isbn"], data={"isbn": "111", "pages": 0})
    assert text.startswith(f"Object {made['id']} was found, to be changed.")
    assert error["details"]["problems"][0]["path"] == "/pages"
    text, error = await shelf.refusal("upsert", key=["isbn"], data={"isbn": "222", "pages": 3})
    assert text.startswith("No object was found, so one has to be created.")
    assert error["details"]["problems"][0]["path"] == "/title"


@pytest.mark.requirement("registers:objects:way-back")
async def test_answers_name_the_call_that_takes_a_change_back(shelf: Shelf) -> None:
    made = await shelf.book("One", isbn="111")
    text, _ = await shelf.refusal("undo", id=made["id"])
    assert "only one version" in text
    assert "action=delete" in text
    await shelf.objects("patch", id=made["id"], data={"title": "Two"})
    await shelf.objects("lock", id=made["id"])
    assert (await shelf.objects("undo", id=made["id"]))["title"] == "One"
    gone = await shelf.objects("delete", id=made["@self"]["id"])
    assert gone["id"] == made["id"]
    assert "restore" in gone["next"]
    assert "Missing required parameter: plan" in (await shelf.refusal("undo"))[0]
    place = {"register": shelf.register, "schema": shelf.schema}
    done = (await shelf.raw("transfer", action="import", **place, content="title\nX\n"))["structuredContent"]
    text, _ = await shelf.refusal("undo", plan=done["id"])
    assert f"action=undo id={done['id']}" in text
    assert "You have no plan" in (await shelf.refusal("undo", plan="none"))[0]
