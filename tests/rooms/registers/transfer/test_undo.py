"""Imports taken back: what they made is deleted, what they changed gets its earlier values, and what others changed
since is left alone.
"""

import io
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from pentad.kernel.errors import Conflict, Forbidden, NotFound
from pentad.kernel.ids import uuid7
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer import transfer_jobs
from pentad.rooms.registers.transfer.imports import ImportOptions
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.objects.writing_back import data_of, library, new
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("registers:transfer:undo")]


async def imported(registers: Registers, pair: Pair, text: str, caller: Caller = WRITER, **options: Any) -> str:
    given = ImportOptions(key=("number",), **options)
    source = io.BytesIO(text.encode())
    report = await registers.transfers.import_now(caller, pair, source, "csv", given, file="trees.csv")
    return report["transfer"]


async def tree(registers: Registers, pair: Pair, number: str, **data: Any) -> str:
    return (await registers.objects.create(WRITER, pair, {"number": number, **data})).uuid


async def numbers(registers: Registers, pair: Pair) -> dict[str, Any]:
    found = await registers.objects.find(ADMIN, pair, Query(limit=100))
    objects = [await registers.objects.get(ADMIN, pair, row[1]) for row in found.rows]
    return {one.data["number"]: one.data for one in objects}


async def test_an_import_is_taken_back_as_a_whole(registers: Registers, trees: Pair):
    uuid = await tree(registers, trees, "T-1", height=1, note="old")
    made = await imported(registers, trees, "number,height,kind\nT-1,5,oak\nT-2,2,lime\nT-3,3,\n")
    assert set(await numbers(registers, trees)) == {"T-1", "T-2", "T-3"}
    state = await registers.transfers.undo(replace(WRITER, reason="wrong file"), made)
    assert state.state == "undone"
    told = state.wire()["undo"]
    assert (told["deleted"], told["reverted"], told["skipped"]) == (2, 1, 0)
    assert await numbers(registers, trees) == {"T-1": {"number": "T-1", "height": 1, "note": "old"}}
    last, *_ = await registers.history.of(WRITER, trees, uuid)
    assert (last.action, last.plan, last.reason) == ("revert", f"undo:{made}", "wrong file")
    assert (await registers.history.verify(WRITER, trees, uuid)).wire()["valid"]
    with pytest.raises(Conflict, match="is undone"):
        await registers.transfers.undo(WRITER, made)


async def test_a_list_of_transfers_says_what_each_was_and_when_it_ended(registers: Registers, trees: Pair):
    made = await imported(registers, trees, "number\nT-1\n", replace(WRITER, reason="from the survey"))
    [before] = await registers.transfers.list(WRITER)
    listed = before.wire()
    assert (listed["register_slug"], listed["schema_slug"]) == (trees.register.slug, trees.schema.slug)
    assert (listed["file"], listed["key"], listed["reason"]) == ("trees.csv", ["number"], "from the survey")
    undone = await registers.transfers.undo(WRITER, made)
    assert (undone.updated_at, undone.wire()["ended"]) == (before.updated_at, listed["ended"])
    assert undone.wire()["undo"]["at"] >= listed["ended"]


async def test_what_was_changed_since_is_left_alone_and_named(registers: Registers, trees: Pair):
    touched = await tree(registers, trees, "T-1", height=1)
    beside = await tree(registers, trees, "T-2", height=2, note="x")
    made = await imported(registers, trees, "number,height\nT-1,10\nT-2,20\nT-3,30\nT-4,40\n")
    await registers.objects.write(OTHER, trees, Operation("patch", {"height": 11}, touched))
    await registers.objects.write(OTHER, trees, Operation("patch", {"note": "y"}, beside))
    changed = (await registers.objects.write(OTHER, trees, _noted("T-3"))).uuid
    told = (await registers.transfers.undo(WRITER, made)).wire()["undo"]
    assert {(one["id"], one["reason"]) for one in told["left"]} == {
        (touched, "It was changed since: height."),
        (changed, "It was changed since: note."),
    }
    left = await numbers(registers, trees)
    assert {number: data.get("height") for number, data in left.items()} == {"T-1": 11, "T-2": 2, "T-3": 30}
    assert left["T-2"]["note"] == "y"


def _noted(number: str) -> Operation:
    return Operation("upsert", {"number": number, "note": "mine"}, key=("number",))


async def test_an_object_that_others_refer_to_stays(registers: Registers, trees: Pair):
    site: dict[str, Any] = {
        "title": "Site",
        "slug": "site",
        "properties": {"tree": {"type": "string", "format": "uuid", "objectConfiguration": {}, "$ref": "tree"}},
    }
    schema = await registers.catalogue.schemas.create(ADMIN, site)
    made = await imported(registers, trees, "number\nT-1\nT-2\n")
    uuids = await by_number(registers, trees)
    sites = await registers.catalogue.pair(ADMIN, trees.register.id, schema.id)
    await registers.objects.create(ADMIN, sites, {"tree": uuids["T-1"]})
    told = (await registers.transfers.undo(WRITER, made)).wire()["undo"]
    assert told["left"] == [{"id": uuids["T-1"], "reason": "Other objects refer to it."}]
    assert set(await numbers(registers, trees)) == {"T-1"}


async def by_number(registers: Registers, pair: Pair) -> dict[str, str]:
    found = await registers.objects.find(ADMIN, pair, Query(limit=100))
    return {(await registers.objects.get(ADMIN, pair, row[1])).data["number"]: row[1] for row in found.rows}


async def test_a_unique_value_goes_back_to_its_first_holder(registers: Registers, trees: Pair):
    uuid = await tree(registers, trees, "T-1", height=1)
    text = f"_id,number\n{uuid},T-9\n"
    source = io.BytesIO((text + ",T-1\n").encode())
    report = await registers.transfers.import_now(WRITER, trees, source, "csv", ImportOptions())
    assert (report["updated"], report["created"]) == (1, 1)
    await registers.transfers.undo(WRITER, report["transfer"])
    assert await by_number(registers, trees) == {"T-1": uuid}


async def test_rights_of_now_decide_and_only_the_owner_undoes(registers: Registers, trees: Pair):
    theirs = (await registers.objects.create(OTHER, trees, {"number": "T-1", "height": 1})).uuid
    made = await imported(registers, trees, "number,height\nT-1,2\n")
    for caller in (OTHER, ADMIN):
        with pytest.raises(NotFound):
            await registers.transfers.undo(caller, made)
    with pytest.raises(Forbidden):
        await registers.transfers.undo(Caller(WRITER.principal.reading_only()), made)
    rules: dict[str, Any]
    for rules, told in (
        ({"update": ["nobody"]}, {"deleted": 0, "reverted": 0, "skipped": 1}),
        ({"read": ["nobody"], "update": ["nobody"]}, {"deleted": 0, "reverted": 0, "skipped": 0}),
    ):
        await registers.catalogue.schemas.update(ADMIN, trees.schema.id, {"authorization": rules})
        state = await registers.transfers.undo(WRITER, made)
        assert state.state == "done"
        said = state.wire()["undo"]
        assert {name: said[name] for name in told} == told
        assert (theirs in str(said)) == bool(told["skipped"])
    assert (await numbers(registers, trees))["T-1"]["height"] == 2


async def test_nothing_is_undone_where_nothing_was_written(registers: Registers, trees: Pair):
    await tree(registers, trees, "T-1")
    source = io.BytesIO(b"number\nT-1\n")
    report = await registers.transfers.import_now(WRITER, trees, source, "csv", ImportOptions(key=("number",)))
    assert "transfer" not in report
    dry = await registers.transfers.import_now(
        WRITER, trees, io.BytesIO(b"number\nT-5\n"), "csv", ImportOptions(dry_run=True)
    )
    assert "transfer" not in dry
    assert await registers.transfers.list(WRITER) == []


async def test_records_tell_when_who_why_and_which_file(registers: Registers, trees: Pair):
    caller = Caller(WRITER.principal, agent="desk", reason="survey")
    made = await imported(registers, trees, "number\nT-1\nT-2\n", caller, partial=True)
    [state] = await registers.transfers.list(WRITER)
    told = state.wire()
    assert (told["id"], told["principal"], told["agent"], told["reason"], told["file"], told["created"]) == (
        made, WRITER.principal.id, "desk", "survey", "trees.csv", 2,
    )  # fmt: skip
    assert told["started"]
    assert told["ended"]
    changes, _ = await registers.history.feed(WRITER, plan=made)
    assert [change.action for change in changes] == ["create", "create"]
    assert {change.call for change in changes} == {made}


async def test_old_records_make_room(registers: Registers, trees: Pair, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transfer_jobs, "MOST_KEPT", {"export": 1, "import": 2})
    made = [await imported(registers, trees, f"number\nT-{number}\n") for number in range(3)]
    kept = {state.id for state in await registers.transfers.list(WRITER)}
    assert kept == set(made[1:])


async def test_what_was_written_back_is_taken_back_too(registers: Registers):
    authors, books = await library(registers)
    one, two = await new(registers, books, 2, {"title": "T"})
    author = await registers.objects.create(ADMIN, authors, {"name": "A", "books": [one]})
    rows = [{"id": author.uuid, "name": "B", "books": [two]}, {"name": "C", "books": [one]}]
    report = await registers.transfers.import_now(
        ADMIN, authors, io.BytesIO(msgspec.json.encode(rows)), "json", ImportOptions()
    )
    assert (report["created"], report["updated"]) == (1, 1)
    assert (await data_of(registers, books, two))["author"] == author.uuid
    told = (await registers.transfers.undo(ADMIN, report["transfer"])).wire()["undo"]
    assert told["skipped"] == 0, told
    assert await data_of(registers, authors, author.uuid) == {"name": "A", "books": [one]}
    assert await data_of(registers, books, one) == {"title": "T", "author": author.uuid}
    assert await data_of(registers, books, two) == {"title": "T"}
    for uuid in (one, two):
        assert (await registers.history.verify(ADMIN, books, uuid)).valid


async def test_a_kept_object_keeps_those_it_refers_to(registers: Registers):
    people = await pair_of(registers, "person", {"name": {"type": "string"}, "boss": reference("person")})
    ids = [str(uuid7()) for _ in range(3)]
    rows = [
        {"id": ids[0], "name": "Ada"},
        {"id": ids[1], "name": "Ben", "boss": ids[0]},
        {"id": ids[2], "name": "Cy", "boss": ids[0]},
    ]
    report = await registers.transfers.import_now(
        ADMIN, people, io.BytesIO(msgspec.json.encode(rows)), "json", ImportOptions()
    )
    assert report["created"] == 3, report
    await registers.objects.write(ADMIN, people, Operation("patch", {"name": "Cyd"}, ids[2]))
    told = (await registers.transfers.undo(ADMIN, report["transfer"])).wire()["undo"]
    assert {one["id"]: one["reason"] for one in told["left"]} == {
        ids[2]: "It was changed since: name.", ids[0]: "Other objects refer to it.",
    }  # fmt: skip
    assert told["deleted"] == 1


async def test_a_long_partial_import_is_taken_back_in_portions(registers: Registers, trees: Pair):
    rows = "".join(f"T-{number},{number}\n" for number in range(1_200))
    made = await imported(registers, trees, f"number,height\n{rows}bad,1\n", partial=True)
    told = (await registers.transfers.undo(WRITER, made)).wire()["undo"]
    assert (told["deleted"], told["skipped"]) == (1_200, 0)
    assert (await registers.objects.find(ADMIN, trees, Query(limit=0))).total == 0
