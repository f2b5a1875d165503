"""Deleted objects over MCP and REST: listed, restored and purged many at once."""

from typing import Any

import pytest

from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


async def with_deleted(shelf: Shelf) -> list[str]:
    """Three books, of which two are deleted."""
    made = [(await shelf.book(title))["id"] for title in ("Emma", "Ulysses", "Walden")]
    for key in made[1:]:
        await shelf.objects("delete", id=key)
    return made


def titles(answer: Any) -> set[str]:
    return {row["title"] for row in answer["results"]}


@pytest.mark.requirement("registers:deleted:listed")
async def test_deleted_objects_are_listed_on_request(shelf: Shelf, site: Site) -> None:
    await with_deleted(shelf)
    assert titles(await shelf.objects("list")) == {"Emma"}
    only = await shelf.objects("list", deleted="only", filter={"title": {"like": "U%"}})
    assert (titles(only), only["total"]) == ({"Ulysses"}, 1)
    assert only["results"][0]["@self"]["deleted"]["deletedBy"]
    assert titles(await shelf.objects("list", deleted="include")) == {"Emma", "Ulysses", "Walden"}
    text, _ = await shelf.refusal("list", deleted="only", aggregate={"metrics": {"n": "count"}})
    assert "does not take deleted" in text
    path = f"/api/objects/{shelf.register}/{shelf.schema}"
    assert titles((await site.send("GET", f"{path}?_deleted=only")).json) == {"Ulysses", "Walden"}
    assert titles((await site.send("GET", f"{path}?_deleted=include&title=Emma")).json) == {"Emma"}
    assert titles((await site.send("GET", path)).json) == {"Emma"}


@pytest.mark.requirement("registers:deleted:purge")
async def test_one_call_purges_all_deleted_objects_once_it_is_confirmed(shelf: Shelf) -> None:
    made = await with_deleted(shelf)
    text, error = await shelf.refusal("purge", filter={"title": "Walden"})
    assert "1 deleted object of" in text
    assert "and all its states" in text
    assert error["details"]["confirm"] in text
    text, error = await shelf.refusal("purge")
    assert "2 deleted objects of" in text
    assert "and all their states" in text
    assert await shelf.objects("purge", confirm=error["details"]["confirm"]) == {"purged": 2}
    assert titles(await shelf.objects("list", deleted="include")) == {"Emma"}
    assert await shelf.objects("purge") == {"purged": 0}
    await shelf.objects("delete", id=made[0])
    assert (await shelf.objects("purge", id=made[0]))["purged"] is True


@pytest.mark.requirement("registers:deleted:listed")
async def test_deleted_objects_are_restored_by_a_filter(shelf: Shelf) -> None:
    made = await with_deleted(shelf)
    answer = await shelf.objects("restore", filter={"title": {"in": ["Ulysses", "Walden"]}})
    assert (answer["restored"], {row["status"] for row in answer["results"]}) == (2, {"restored"})
    assert {row["id"] for row in answer["results"]} == set(made[1:])
    assert titles(await shelf.objects("list")) == {"Emma", "Ulysses", "Walden"}


@pytest.mark.requirement("registers:deleted:restore-all")
async def test_nothing_is_restored_unless_the_caller_says_what(shelf: Shelf, site: Site) -> None:
    await with_deleted(shelf)
    text, _ = await shelf.refusal("restore")
    assert "Missing required parameter: id or filter" in text
    assert "filter {} restores all" in text
    path = f"/api/bulk/{shelf.register}/{shelf.schema}/restore"
    for body in (None, {}, {"filter": None}):
        refused = await site.send("POST", path, body)
        assert (refused.status, "filter" in refused.json["detail"]) == (422, True), refused.body
    assert titles(await shelf.objects("list")) == {"Emma"}
    back = await site.send("POST", path, {"filter": {}})
    assert (back.status, back.json["restored"]) == (200, 2)
    for title in ("Ulysses", "Walden"):
        [row] = (await shelf.objects("list", filter={"title": title}))["results"]
        await shelf.objects("delete", id=row["id"])
    assert (await shelf.objects("restore", filter={}))["restored"] == 2
    assert titles(await shelf.objects("list")) == {"Emma", "Ulysses", "Walden"}


@pytest.mark.requirement("registers:deleted:purge")
async def test_rest_purges_and_restores_many_at_once(shelf: Shelf, site: Site) -> None:
    await with_deleted(shelf)
    path = f"/api/bulk/{shelf.register}/{shelf.schema}"
    back = await site.send("POST", f"{path}/restore", {"filter": {"title": "Walden"}})
    assert (back.status, back.json["restored"]) == (200, 1)
    asked = await site.send("POST", f"{path}/purge", {"filter": {"title": "Ulysses"}})
    assert asked.status == 409
    assert "1 deleted object" in asked.body.decode()
    assert (await site.send("POST", f"{path}/purge", who="reader")).status == 403
    token = asked.json["error"]["details"]["confirm"]
    done = await site.send("POST", f"{path}/purge", {"filter": {"title": "Ulysses"}, "confirm": token})
    assert (done.status, done.json) == (200, {"purged": 1})
    assert titles(await shelf.objects("list", deleted="include")) == {"Emma", "Walden"}


@pytest.mark.requirement("registers:deleted:containers")
async def test_a_register_with_only_deleted_objects_is_deleted_with_a_token(shelf: Shelf, site: Site) -> None:
    made = await with_deleted(shelf)
    await shelf.objects("delete", id=made[0])
    refused = await shelf.raw("schemas", action="delete", id=shelf.schema)
    assert "3 deleted objects of schema" in refused["content"][0]["text"]
    asked = await site.send("DELETE", f"/api/registers/{shelf.register}")
    assert asked.status == 409
    token = asked.json["details"]["confirm"]
    gone = await site.send("DELETE", f"/api/registers/{shelf.register}?_confirm={token}")
    assert gone.status == 200
    done = await shelf.raw("schemas", action="delete", id=shelf.schema)
    assert done["isError"] is False, done


@pytest.mark.requirement("registers:deleted:containers")
@pytest.mark.parametrize("kind", ["registers", "schemas"])
async def test_the_tools_delete_a_container_with_deleted_objects_once_it_is_confirmed(shelf: Shelf, kind: str) -> None:
    made = await with_deleted(shelf)
    await shelf.objects("delete", id=made[0])
    key = shelf.register if kind == "registers" else shelf.schema

    async def delete(**more: str) -> Any:
        return await shelf.raw(kind, action="delete", id=key, **more)

    asked = await delete()
    token = asked["_meta"]["pentad/error"]["details"]["confirm"]
    text = asked["content"][0]["text"]
    assert (asked["isError"], "3 deleted objects of" in text) == (True, True)
    assert text.endswith(f'To go ahead, repeat the call with confirm "{token}".')
    stale = await delete(confirm="0123456789")
    assert "belongs to another change" in stale["content"][0]["text"]
    await shelf.objects("restore", id=made[0])
    assert (await delete(confirm=token))["isError"], "it has an object again"
    await shelf.objects("delete", id=made[0])
    gone = await delete(confirm=(await delete())["_meta"]["pentad/error"]["details"]["confirm"])
    assert gone["isError"] is False, gone
    assert (await shelf.raw(kind, action="get", id=key))["isError"], "it is gone"
