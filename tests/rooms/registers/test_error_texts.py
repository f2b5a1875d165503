"""Errors that people and models read: names instead of numbers, and nothing that contradicts itself."""

from typing import Any

import pytest

from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.objects.test_history_access import refusal
from tests.rooms.registers.opening import ADMIN
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


async def people_and_books(registers: Registers) -> tuple[Pair, Pair]:
    people = await pair_of(registers, "person", {"name": {"type": "string"}})
    return people, await pair_of(registers, "book", {"author": reference("person")})


@pytest.mark.requirement("registers:answers:texts")
async def test_a_broken_reference_names_schemas_by_their_slugs(registers: Registers):
    _, books = await people_and_books(registers)
    absent = "00000000-0000-7000-8000-000000000009"
    missing = await refusal(registers.objects.create(ADMIN, books, {"author": absent}))
    assert (
        f"must be the uuid of an object of schema 'person', and no such object exists ('{absent}')"
        in missing["message"]
    )
    book = await registers.objects.create(ADMIN, books, {})
    other = await refusal(registers.objects.create(ADMIN, books, {"author": book.uuid}))
    assert "must be an object of schema 'person', but is one of schema 'book'" in other["message"]


@pytest.mark.requirement("registers:answers:texts")
async def test_a_version_that_is_not_there_is_not_said_to_be_there(registers: Registers):
    people, _ = await people_and_books(registers)
    made = await registers.objects.create(ADMIN, people, {"name": "a"})
    error = await refusal(registers.history.diff(ADMIN, people, made.uuid, 3))
    assert error["message"] == f"Object {made.uuid} has no version 3 that you may read."
    assert error["hint"] == "Its history lists the versions you may read."


@pytest.mark.requirement("registers:answers:texts")
async def test_a_pattern_that_takes_too_long_is_not_called_null(registers: Registers):
    pair = await pair_of(registers, "slow", {"code": {"type": "string", "pattern": "^(a|a)*(?=c)d$"}})
    error = await refusal(registers.objects.create(ADMIN, pair, {"code": "a" * 200 + "!"}))
    assert "/code cannot be compared with its pattern in reasonable time" in error["message"]
    assert "null" not in error["message"]


@pytest.mark.requirement("registers:answers:texts")
async def test_a_missing_object_is_looked_for_by_names_that_people_know(site: Site):
    place = await site.pair({"n": {"type": "integer"}})
    register = (await site.send("GET", f"/api/registers/{place.split('/')[2]}")).json
    schema = (await site.send("GET", f"/api/schemas/{place.split('/')[3]}")).json
    async with site.app.client() as client:
        given: dict[str, Any] = {"action": "get", "register": register["id"], "schema": schema["id"], "id": "nothing"}
        text = (await client.call_tool("objects", given))["content"][0]["text"]
    assert f"register={register['slug']}, schema={schema['slug']}" in text
    assert (
        f"/api/objects/{register['slug']}/{schema['slug']}"
        in (await site.send("GET", f"/api{place}/nothing")).body.decode()
    )
