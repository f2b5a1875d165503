"""Answers that leave something out say so where a model reads, with the way to get the rest."""

from typing import Any

import pytest

from tests.behaviour.registers.openregister import OpenRegister
from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


async def books(shelf: Shelf, count: int) -> list[Any]:
    rows = [{"data": {"title": f"Book {number}", "author": f"A{number}", "pages": 1}} for number in range(count)]
    return (await shelf.objects("bulk", operations=rows))["results"]


async def views(shelf: Shelf, action: str, **arguments: Any) -> Any:
    result = await shelf.raw("views", action=action, **arguments)
    assert result["isError"] is False, result
    return result["structuredContent"]


@pytest.mark.requirement("registers:answers:more")
async def test_a_list_that_goes_on_says_so_and_how(shelf: Shelf):
    made = await books(shelf, 5)
    page = await shelf.objects("list", limit=2)
    assert page["note"] == "2 of 5 rows. Repeat the call with this cursor for more."
    assert page["cursor"]
    last = await shelf.objects("list", limit=2, cursor=(await shelf.objects("list", limit=4))["cursor"])
    assert ("note" in last, "cursor" in last) == (False, False)
    groups = await shelf.objects("list", aggregate={"group_by": ["author"]}, limit=2)
    assert groups["note"] == "The first 2 groups. Repeat the call with this cursor for more."
    following = await shelf.objects("list", aggregate={"group_by": ["author"]}, limit=2, cursor=groups["cursor"])
    assert following["note"].startswith("The next 2 groups. ")
    for action in ("history", "changes"):
        for _ in range(2):
            await shelf.objects("patch", id=made[0]["id"], data={"pages": 3 if action == "history" else 4})
            await shelf.objects("patch", id=made[0]["id"], data={"pages": 5})
        arguments = {"id": made[0]["id"]} if action == "history" else {}
        assert "The first 2 changes. Repeat the call" in (await shelf.objects(action, limit=2, **arguments))["note"]
    cut = await shelf.objects("list", max_tokens=200)
    assert cut["cut"]["rows_left_out"] > 0
    assert "for more" in cut["note"]
    listed = (await shelf.raw("schemas", action="list", limit=1))["structuredContent"]
    if listed["total"] > 1:
        assert "offset=1" in listed["note"]
    resource = f"openregister://objects/{shelf.register}/{shelf.schema}"
    assert "for more" not in str(await shelf.client.request("resources/read", {"uri": resource}))


@pytest.mark.requirement("registers:answers:more")
async def test_neighbours_and_views_that_go_on_say_so_too(shelf: Shelf):
    schema = (await shelf.raw("schemas", action="get", id=shelf.schema))["structuredContent"]
    sequel = {"properties": {"sequel_of": {"type": "string", "$ref": schema["slug"]}}}
    await shelf.raw("schemas", action="update", id=shelf.schema, data=sequel)
    [first, *rest] = await books(shelf, 4)
    for one in rest:
        await shelf.objects("patch", id=one["id"], data={"sequel_of": first["id"]})
    used = await shelf.objects("used", id=first["id"], limit=2)
    assert used["note"] == "2 of 3 rows. Repeat the call with this cursor for more."
    assert "note" not in await shelf.objects("used", id=first["id"], limit=2, cursor=used["cursor"])
    data = {"register": shelf.register, "schema": shelf.schema}
    queries: list[Any] = [{"columns": ["title"]}, {"aggregate": {"group_by": ["author"]}}]
    made = [await views(shelf, "create", data={**data, "title": "View", "query": query}) for query in queries]
    ran = await views(shelf, "run", id=made[0]["id"], limit=1)
    assert ran["note"] == "1 of 4 rows. Repeat the call with this cursor for more."
    last = await views(shelf, "run", id=made[0]["id"], limit=3, cursor=ran["cursor"])
    assert ("note" in last, "cursor" in last) == (False, False)
    groups = await views(shelf, "run", id=made[1]["id"], limit=1)
    assert groups["note"] == "The first group. Repeat the call with this cursor for more."
    listed = await views(shelf, "list", limit=1)
    assert listed["note"] == f"1 of {listed['total']} views. Repeat the call with this cursor for more."


@pytest.mark.requirement("registers:answers:more")
async def test_a_cut_names_fields_only_where_the_call_takes_them(shelf: Shelf):
    await shelf.book("Long", author="a" * 2000)
    objects = await shelf.objects("list", max_tokens=100)
    assert objects["cut"]["hint"] == "Name what you need in fields, or raise max_tokens."
    data = {"title": "V", "register": shelf.register, "schema": shelf.schema, "query": {"columns": ["title", "author"]}}
    view = await views(shelf, "create", data=data)
    ran = await views(shelf, "run", id=view["id"], max_tokens=100)
    assert ran["cut"]["properties_left_out"] == ["author"]
    assert ran["cut"]["hint"] == "Raise max_tokens to see the rest."


@pytest.mark.parametrize("path", ["/api/mcp", "/index.php/apps/openregister/api/mcp"])
@pytest.mark.requirement("registers:answers:more")
async def test_openregisters_endpoint_says_it_beside_the_bare_list(site: Site, shelf: Shelf, path: str):
    await books(shelf, 3)
    client = OpenRegister(site, path)
    place = {"register": shelf.register, "schema": shelf.schema}
    asked = {"name": "objects", "arguments": {"action": "list", "limit": 2, **place}}
    result = await client.result("tools/call", asked)
    assert len(await client.call("objects", action="list", limit=2, **place)) == 2
    text = "2 of 3 rows. Repeat the call with offset=2 for more."
    assert result["content"][1] == {"type": "text", "text": text}
    whole = await client.result("tools/call", {"name": "objects", "arguments": {"action": "list", **place}})
    assert len(whole["content"]) == 1
