"""`describe`: one call shows what a register holds, within a budget, and nothing the caller may not see."""

import json
from typing import Any

import pytest

from tests.rooms.registers.interface.tools.test_rights import rpc
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio


async def city(site: Site, **permit: Any) -> tuple[int, str]:
    """A register of persons and permits, with two objects each; its id, and the word all its slugs begin with."""
    word = f"c{(await site.app.database.read(lambda rows: rows.value('SELECT count(*) FROM schemas')))}"
    person = await site.made(
        "/schemas",
        {"title": "Person", "slug": f"{word}person", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    )
    body: Object = {
        "title": "Permit", "slug": f"{word}permit", "description": "A permit to build.",
        "properties": {
            "number": {"type": "string", "unique": True},
            "status": {"enum": ["open", "closed"]},
            "applicant": {"$ref": f"{word}person"},
            "note": {"type": "string", "description": "Anything."},
            "secret": {"type": "string", "authorization": {"read": ["admin"]}},
        },
        "required": ["number"], **permit,
    }  # fmt: skip
    kind = await site.made("/schemas", body)
    register = await site.made("/registers", {"title": "City", "slug": word, "schemas": [person["id"], kind["id"]]})
    ada = (await site.made(f"/objects/{word}/{word}person", {"name": "Ada"}))["id"]
    for number in range(3):
        data = {"number": f"P-{number}", "status": "open", "applicant": ada, "note": "x" * 500, "secret": "ruby"}
        await site.made(f"/objects/{word}/{word}permit", data)
    return register["id"], word


async def describe(site: Site, who: str, register: int | str, **more: Any) -> Object:
    answer = await rpc(site, who, "registers", action="describe", id=register, **more)
    assert answer["isError"] is False, answer
    return answer["structuredContent"]


@pytest.mark.requirement("registers:describe:content")
async def test_one_call_shows_schemas_relations_counts_and_examples(site: Site) -> None:
    register, word = await city(site)
    found = await describe(site, "admin", word)
    assert (found["register"]["id"], found["register"]["objects"]) == (register, 4)
    person, permit = found["schemas"]
    assert (permit["slug"], permit["objects"]) == (f"{word}permit", 3)
    assert permit["properties"]["number"] == {"type": "string", "required": True, "unique": True}
    assert permit["properties"]["status"] == {"type": "string", "enum": ["open", "closed"]}
    assert permit["properties"]["applicant"] == {"type": "string", "reference": f"{word}person"}
    assert permit["relations"] == {"applicant": f"one {word}person"}
    [(name, leads)] = person["relations"].items()
    assert name in (f"{word}permit", f"{word}permits")
    assert leads.startswith(f"many {word}permit")
    assert len(permit["examples"]) == 2
    assert "@self" not in permit["examples"][0]
    assert any("objects action=list" in one for one in found["next"])
    grouped = await rpc(
        site, "admin", "objects", action="list", register=word, schema=f"{word}person",
        filter={f"{name}.status": "open"},
    )  # fmt: skip
    assert grouped["structuredContent"]["total"] == 1, "the names of relations work in queries"


@pytest.mark.requirement("registers:describe:budget")
@pytest.mark.parametrize("budget", [60, 150, 300, 600, 2_000])
async def test_the_answer_fits_the_budget_and_says_what_was_cut(site: Site, budget: int) -> None:
    _, word = await city(site)
    found = await describe(site, "admin", word, max_tokens=budget)
    assert len(json.dumps(found, separators=(",", ":"), ensure_ascii=False)) <= budget * 4
    whole = await describe(site, "admin", word, max_tokens=10_000)
    assert "cut" not in whole
    if found != whole:
        assert found["cut"]["max_tokens"] == budget
        assert found["cut"]["shortened"]


@pytest.mark.requirement("registers:describe:default")
async def test_a_large_register_is_described_in_about_two_thousand_tokens(site: Site) -> None:
    properties = {f"property_{number}": {"type": "string", "description": "d" * 100} for number in range(100)}
    schemas = [(await site.made("/schemas", {"title": f"S{n}", "properties": properties}))["id"] for n in range(8)]
    register = await site.made("/registers", {"title": "Large", "schemas": schemas})
    found = await describe(site, "admin", register["id"])
    assert len(json.dumps(found, separators=(",", ":"))) <= 8_000
    assert found["cut"]["schemas_left_out"] > 0


@pytest.mark.requirement("registers:describe:hidden")
async def test_hidden_things_are_not_described(site: Site) -> None:
    rules = {"read": [{"group": "authenticated", "match": {"status": "open"}}], "create": ["admin"]}
    _, word = await city(site, authorization=rules)
    await site.made(f"/objects/{word}/{word}permit", {"number": "P-9", "status": "closed"})
    found = await describe(site, "reader", word)
    _, permit = found["schemas"]
    assert permit["objects"] == 3
    assert "secret" not in json.dumps(found)
    assert "ruby" not in json.dumps(found)
    assert (await describe(site, "admin", word))["schemas"][1]["objects"] == 4
    closed, other = await city(site, authorization={"read": ["admin"]})
    found = await describe(site, "reader", closed)
    assert [one["slug"] for one in found["schemas"]] == [f"{other}person"]
    assert "relations" not in found["schemas"][0], "a hidden schema is not at the far end of a relation"


@pytest.mark.requirement("registers:describe:wires")
async def test_rest_describes_the_same(site: Site) -> None:
    _, word = await city(site)
    reply = await site.send("GET", f"/api/registers/{word}/describe?max_tokens=500")
    assert reply.status == 200, reply.body
    assert reply.json == await describe(site, "admin", word, max_tokens=500)
    assert (await site.send("GET", f"/api/registers/{word}/describe?max_tokens=5")).status == 422
    assert (await site.send("GET", f"/api/registers/{word}/describe", who="")).status == 401
    assert (await site.send("GET", "/api/registers/nothing-here/describe")).status == 404


@pytest.mark.requirement("registers:describe:content")
async def test_the_bounds_of_properties_are_shown(site: Site) -> None:
    bounded: Object = {
        "fee": {"type": "number", "minimum": 0, "maximum": 500},
        "code": {"type": "string", "pattern": "^[A-Z]{2}$", "maxLength": 2},
        "due": {"type": "string", "format": "date"},
    }
    _, word = await city(site, properties=bounded, required=[])
    shown = (await describe(site, "admin", word))["schemas"][1]["properties"]
    assert shown == bounded
