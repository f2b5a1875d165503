"""Plans by filter: the same change of every object that a filter finds, seen before it is made, and taken back."""

import pytest

from pentad.rooms.registers.objects import plans
from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:plans:filter")
async def test_every_object_that_a_filter_finds_is_changed_and_changed_back(shelf: Shelf) -> None:
    thick = [await shelf.book(f"Thick {number}", pages=900 + number) for number in range(3)]
    thin = await shelf.book("Thin", pages=9)
    planned = await shelf.objects("plan", filter={"pages": {"gte": 900}}, data={"pages": 899})
    assert planned["valid"] is True
    was = {(row["uuid"], row["diff"][0]["was"], row["diff"][0]["value"]) for row in planned["preview"]}
    assert was == {(book["id"], book["pages"], 899) for book in thick}
    assert (await shelf.objects("get", id=thick[0]["id"]))["pages"] == 900
    assert planned["next"] == "Nothing is written yet: action=commit with this id as plan does it."

    committed = await shelf.objects("commit", plan=planned["id"])
    assert committed["next"] == "action=undo with this id as plan takes it back."
    assert {(await shelf.objects("get", id=book["id"]))["pages"] for book in thick} == {899}
    assert (await shelf.objects("get", id=thin["id"]))["pages"] == 9

    undone = await shelf.objects("undo", plan=planned["id"])
    assert "next" not in undone
    assert [(await shelf.objects("get", id=book["id"]))["pages"] for book in thick] == [900, 901, 902]


@pytest.mark.requirement("registers:plans:filter")
async def test_an_object_that_was_changed_since_the_preview_stops_the_plan(shelf: Shelf) -> None:
    book = await shelf.book("One", pages=900)
    planned = await shelf.objects("plan", filter={"pages": 900}, data={"pages": 899})
    await shelf.objects("patch", id=book["id"], data={"pages": 5})
    refused = await shelf.raw(
        "objects", action="commit", register=shelf.register, schema=shelf.schema, plan=planned["id"]
    )
    assert refused["isError"] is True
    assert (await shelf.objects("get", id=book["id"]))["pages"] == 5


@pytest.mark.requirement("registers:plans:filter")
async def test_a_plan_says_what_it_takes(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        await shelf.book("Same", pages=1)
    monkeypatch.setattr(plans, "MOST_OPERATIONS", 1)
    place = {"register": shelf.register, "schema": shelf.schema}
    told = {
        text: await shelf.raw("objects", action="plan", **place, **given)
        for text, given in {
            "A plan takes operations, or filter and data.": {"filter": {"pages": 1}},
            "The filter finds no objects, so there is nothing to plan.": {"filter": {"pages": 2}, "data": {"pages": 3}},
            "The filter finds 2 objects; a plan has at most 1 operations.": {
                "filter": {"pages": 1},
                "data": {"pages": 3},
            },
        }.items()
    }
    assert {text for text, result in told.items() if text in result["content"][0]["text"]} == set(told)
    failing = await shelf.objects(
        "plan", filter={"@self.id": (await shelf.book("Other"))["id"]}, data={"pages": "many"}
    )
    assert (failing["valid"], failing["next"]) == (
        False,
        "Nothing is written. Correct the rows with an error, and plan again.",
    )


@pytest.mark.requirement("registers:plans:filter")
async def test_over_rest_a_plan_takes_a_filter_too(site: Site) -> None:
    place = await site.pair({"name": {"type": "string"}, "status": {"type": "string"}})
    _, _, register, schema = place.split("/")
    made = [await site.made(place, {"name": name, "status": "open"}) for name in ("Ada", "Eve")]
    chosen = {"register": register, "schema": schema, "filter": {"status": "open"}}
    planned = await site.send("POST", "/api/plans", {**chosen, "data": {"status": "closed"}})
    assert (planned.status, {row["diff"][0]["was"] for row in planned.json["preview"]}) == (201, {"open"})
    committed = await site.send("POST", f"/api/plans/{planned.json['id']}/commit")
    assert (committed.status, len(committed.json["outcomes"])) == (200, 2)
    assert (await site.send("GET", f"/api{place}/{made[0]['id']}")).json["status"] == "closed"
    for body in (chosen, {"register": register, "schema": schema}, {**chosen, "operations": [{"data": {}}]}):
        refused = await site.send("POST", "/api/plans", body)
        assert refused.status == 422, refused.body
        assert "A plan takes operations, or filter and data." in refused.body.decode()
