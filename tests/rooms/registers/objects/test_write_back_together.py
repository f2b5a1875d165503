"""Writing back as part of plans, beside other writers, and whatever else is done to both sides; over both stores."""

import asyncio
import json
import random
from typing import Any

import pytest

from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.rooms.registers.models import Operation
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.objects.writing_back import data_of, library, listed, new
from tests.rooms.registers.opening import ADMIN, opened
from tests.stores import Stores

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("removed", [False, True])
async def test_a_plan_shows_what_is_written_back_and_undoing_takes_it_back(registers: Registers, removed: bool):
    authors, books = await library(registers, removeAfterWriteBack=removed)
    one, two = await new(registers, books, 2)
    author = await registers.objects.create(ADMIN, authors, {"books": [one]})
    before = [await data_of(registers, books, uuid) for uuid in (one, two)]
    rows = [Operation("patch", {"books": [two]}, author.uuid), Operation("create", {"books": [one]})]
    plan = await registers.plans.make(ADMIN, authors, rows)
    moved, made = plan.preview
    assert {row["uuid"]: row["diff"] for row in moved["also"]} == {
        one: [{"op": "remove", "path": "/author", "was": author.uuid}],
        two: [{"op": "add", "path": "/author", "value": author.uuid}],
    }
    assert [row["uuid"] for row in made["also"]] == [one]
    assert [await data_of(registers, books, uuid) for uuid in (one, two)] == before
    await registers.plans.commit(ADMIN, plan.id)
    assert (await data_of(registers, books, one)) == {"author": made["uuid"]}
    await registers.plans.undo(ADMIN, plan.id)
    assert [await data_of(registers, books, uuid) for uuid in (one, two)] == before
    assert (await data_of(registers, authors, author.uuid))["books"] == [one]
    with pytest.raises(NotFound):
        await registers.objects.get(ADMIN, authors, made["uuid"])


async def test_writers_who_name_the_same_object_at_once_all_get_written_into_it(registers: Registers, stores: Stores):
    shelf = await pair_of(registers, "shelf", {"books": listed("book")})
    books = await pair_of(registers, "book", {"shelf": reference("shelf", inversedBy="books", writeBack=True)})
    [place] = await new(registers, shelf, 1)
    async with opened(stores) as elsewhere:
        made = await asyncio.gather(
            *(room.objects.create(ADMIN, books, {"shelf": place}) for room in (registers, elsewhere) for _ in range(4))
        )
    held = await registers.objects.get(ADMIN, shelf, place)
    assert sorted(held.data["books"]) == sorted(one.uuid for one in made)
    assert (await registers.history.verify(ADMIN, shelf, place)).valid


async def test_the_version_a_caller_knows_is_that_of_the_object_it_names(registers: Registers):
    authors, books = await library(registers)
    [book] = await new(registers, books, 1)
    author = await registers.objects.create(ADMIN, authors, {"books": []})
    await registers.objects.write(ADMIN, books, Operation("patch", {"title": "T"}, book))
    changed = await registers.objects.write(
        ADMIN, authors, Operation("patch", {"books": [book]}, author.uuid, if_version=1)
    )
    assert changed.version == 2
    assert await data_of(registers, books, book) == {"title": "T", "author": author.uuid}


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_done_on_either_side_both_say_the_same(registers: Registers, seed: int):
    parent = reference("node", "SET_NULL", inversedBy="children", writeBack=True)
    children = listed("node", inversedBy="parent", writeBack=True, onDelete="SET_NULL")
    nodes = await pair_of(registers, "node", {"parent": parent, "children": children})
    known, chance = await new(registers, nodes, 5), random.Random(seed)

    async def step() -> None:
        some = {"parent": chance.choice(known), "children": chance.sample(known, chance.randrange(4))}
        data = {name: some[name] for name in chance.sample(sorted(some), 1)}
        one = chance.choice(known)
        match chance.choice(("create", "patch", "replace", "delete", "restore", "revert", "bulk")):
            case "create":
                known.append((await registers.objects.create(ADMIN, nodes, data)).uuid)
            case "patch":
                await registers.objects.write(ADMIN, nodes, Operation("patch", data, one))
            case "replace":
                await registers.objects.replace(ADMIN, nodes, one, data)
            case "delete":
                await registers.objects.delete(ADMIN, nodes, one)
            case "restore":
                await registers.objects.restore(ADMIN, nodes, one)
            case "revert":
                await registers.history.revert(ADMIN, nodes, one, version=1)
            case _:
                rows = [Operation("create", data), Operation("patch", data, one), Operation("create", data)]
                made = await registers.objects.bulk(ADMIN, nodes, rows, atomic=False)
                known.extend(row.uuid for row in made if row.status == "created" and row.uuid)

    done = 0
    for _ in range(60):
        try:
            await step()
            done += 1
        except (InvalidInput, NotFound, Conflict):
            pass
        found = await registers.objects.find(ADMIN, nodes, Query(limit=1000))
        state: dict[str, dict[str, Any]] = {row[1]: json.loads(row[5]) for row in found.rows}
        down = {(uuid, child) for uuid, data in state.items() for child in data.get("children") or ()}
        up = {(data["parent"], uuid) for uuid, data in state.items() if data.get("parent")}
        assert down == up
    assert done > 20
    for uuid in known:
        assert (await registers.history.verify(ADMIN, nodes, uuid)).valid
