"""Objects are named by any unique value, on each store; a hidden one is no name."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio
PROPERTIES: dict[str, Any] = {
    "number": {"type": "string", "unique": True},
    "code": {"type": "integer", "unique": True},
    "opened": {"type": "string", "format": "date-time", "unique": True},
    "title": {"type": "string"},
}


async def permits(registers: Registers, **more: Any) -> Pair:
    return await pair_of(registers, "permit", {**PROPERTIES, **more}, configuration={"objectSlugField": "title"})


@pytest.mark.requirement("registers:objects:unique-names")
async def test_every_action_finds_an_object_by_a_unique_value(registers: Registers):
    pair, objects, history = await permits(registers), registers.objects, registers.history
    made = await objects.create(ADMIN, pair, {"number": "P-2026-00001", "code": 777001, "title": "Old Oak"})
    for name in ("P-2026-00001", 777001, "777001", "old-oak", made.uuid):
        assert (await objects.get(ADMIN, pair, name)).uuid == made.uuid
        assert (await objects.get(WRITER, pair, name)).uuid == made.uuid
    assert (await objects.write(ADMIN, pair, Operation("patch", {"title": "New"}, "P-2026-00001"))).version == 2
    changed = await objects.replace(ADMIN, pair, "P-2026-00001", {"number": "P-2026-00001", "title": "Newer"})
    assert (changed.uuid, changed.version) == (made.uuid, 3)
    assert len(await history.of(ADMIN, pair, "P-2026-00001", 10, None)) == 3
    rows = [Operation("patch", {"title": "Bulk"}, "P-2026-00001"), Operation("patch", {"title": "x"}, "P-2026-00009")]
    outcomes = await objects.bulk(ADMIN, pair, rows, atomic=False)
    assert [one.status for one in outcomes] == ["updated", "failed"]
    await objects.lock(ADMIN, pair, "P-2026-00001")
    await objects.unlock(ADMIN, pair, "P-2026-00001")
    assert (await objects.can_delete(ADMIN, pair, "P-2026-00001")).uuid == made.uuid
    await objects.delete(ADMIN, pair, "P-2026-00001")
    with pytest.raises(NotFound):
        await objects.get(ADMIN, pair, "P-2026-00001")
    assert (await history.of(ADMIN, pair, "P-2026-00001", 1, None))[0].action == "delete"
    assert (await objects.restore(ADMIN, pair, "P-2026-00001")).uuid == made.uuid


async def test_a_name_that_means_several_objects_is_refused(registers: Registers):
    pair, objects = await permits(registers), registers.objects
    first = await objects.create(ADMIN, pair, {"number": "5001", "title": "one"})
    second = await objects.create(ADMIN, pair, {"code": 5001, "title": "two"})
    with pytest.raises(InvalidInput) as refused:
        await objects.get(ADMIN, pair, "5001")
    assert refused.value.details["objects"] == sorted((first.uuid, second.uuid))
    for change in (
        objects.delete(ADMIN, pair, "5001"),
        objects.write(ADMIN, pair, Operation("patch", {"title": "x"}, "5001")),
    ):
        with pytest.raises(InvalidInput):
            await change
    by_slug = await objects.create(ADMIN, pair, {"number": "one"})
    with pytest.raises(InvalidInput) as refused:
        await objects.get(ADMIN, pair, "one")
    assert refused.value.details["objects"] == sorted((first.uuid, by_slug.uuid))


async def test_a_uuid_comes_first_and_is_never_ambiguous(registers: Registers):
    pair, objects = await permits(registers), registers.objects
    named = await objects.create(ADMIN, pair, {"title": "one"})
    await objects.create(ADMIN, pair, {"number": named.uuid})
    assert (await objects.get(ADMIN, pair, named.uuid)).uuid == named.uuid
    foreign = "00000000-0000-7000-8000-00000000dead"
    other = await objects.create(ADMIN, pair, {"number": foreign})
    assert (await objects.get(ADMIN, pair, foreign)).uuid == other.uuid
    assert (await objects.write(ADMIN, pair, Operation("patch", {"title": "two"}, foreign))).uuid == other.uuid


async def test_a_hidden_unique_value_names_nothing(registers: Registers):
    secret = {"type": "string", "unique": True, "authorization": {"read": ["admin"]}}
    pair, objects = await permits(registers, secret=secret), registers.objects
    await objects.create(ADMIN, pair, {"secret": "hidden-one", "title": "a"})
    assert (await objects.get(ADMIN, pair, "hidden-one")).data["title"] == "a"

    async def said(name: str) -> list[str]:
        texts: list[str] = []
        for asked in (
            objects.get(WRITER, pair, name),
            objects.write(WRITER, pair, Operation("patch", {"title": "b"}, name)),
            objects.delete(WRITER, pair, name),
            objects.can_delete(WRITER, pair, name),
            objects.neighbours(WRITER, pair, name, "used", 1, 0),
        ):
            with pytest.raises(PentadError) as refused:
                await asked
            texts.append(str(refused.value.as_json()).replace(name, "<name>"))
        return texts

    assert await said("hidden-one") == await said("hidden-two")


async def test_a_hidden_object_is_not_found_by_its_unique_value(registers: Registers):
    rule = {"read": [{"group": "authenticated", "match": {"title": "open"}}]}
    pair = await pair_of(registers, "permit", PROPERTIES, authorization=rule)
    objects = registers.objects
    await objects.create(ADMIN, pair, {"number": "N-1", "title": "shut", "code": 1})
    shown = await objects.create(ADMIN, pair, {"number": "N-2", "title": "open"})
    await objects.create(ADMIN, pair, {"code": 99, "number": "x", "title": "shut"})
    seen = await objects.create(ADMIN, pair, {"number": "99", "title": "open"})
    assert (await objects.get(WRITER, pair, "N-2")).uuid == shown.uuid
    assert (await objects.get(WRITER, pair, "99")).uuid == seen.uuid
    with pytest.raises(NotFound):
        await objects.get(WRITER, pair, "N-1")
