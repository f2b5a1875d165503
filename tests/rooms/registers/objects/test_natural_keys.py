"""References by natural key: found by a unique property, among what the caller may read, in every way to write."""

import io
import json
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer.formats import Format
from pentad.rooms.registers.transfer.imports import ImportOptions
from tests.rooms.registers.objects.test_history_access import refusal
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER

pytestmark = pytest.mark.anyio

PERSON: dict[str, Any] = {
    "bsn": {"type": "string", "unique": True}, "city": {"type": "string"}, "badge": {"type": "integer", "unique": True},
}  # fmt: skip
PERMIT: dict[str, Any] = {
    "number": {"type": "string", "unique": True},
    "applicant": {"type": "string", "$ref": "person"},
    "witnesses": {"type": "array", "items": {"type": "string", "$ref": "person"}},
    "embedded": {"type": "object", "$ref": "person"},
}


async def permits(registers: Registers, **authorization: Any) -> tuple[Pair, Pair]:
    rules = {"authorization": authorization} if authorization else {}
    await registers.catalogue.schemas.create(
        ADMIN, {"title": "Person", "slug": "person", "properties": PERSON, "configuration": {"unique": []}, **rules}
    )
    await registers.catalogue.schemas.create(ADMIN, {"title": "Permit", "slug": "permit", "properties": PERMIT})
    town = {"title": "Town", "slug": "town", "schemas": ["person", "permit"]}
    await registers.catalogue.registers.create(ADMIN, town)
    pair = registers.catalogue.pair
    return await pair(ADMIN, "town", "person"), await pair(ADMIN, "town", "permit")


async def bring(registers: Registers, pair: Pair, text: str, kind: Format = "csv", **options: Any) -> Any:
    return await registers.transfer.import_file(WRITER, pair, io.BytesIO(text.encode()), kind, ImportOptions(**options))


@pytest.mark.requirement("registers:transfer:natural-keys")
async def test_a_column_with_a_unique_property_of_the_target_finds_the_object(registers: Registers):
    people, pair = await permits(registers)
    # a number with a leading zero stays text, because the target's property is text
    ada = await registers.objects.create(ADMIN, people, {"bsn": "0123", "badge": 7})
    report = await bring(registers, pair, "number,applicant.bsn\nP-1,0123\nP-2,\n")
    assert (report.created, report.problems) == (2, [])
    by_badge = await bring(registers, pair, "number,applicant.badge\nP-3,7\n")
    assert by_badge.created == 1
    for number, expected in (("P-1", ada.uuid), ("P-2", None), ("P-3", ada.uuid)):
        found = await registers.objects.write(ADMIN, pair, Operation("upsert", {"number": number}, key=("number",)))
        [before] = [one for one in await registers.history.of(ADMIN, pair, found.uuid) if one.action == "create"]
        assert (before.changed or {}).get("applicant", {}).get("new") == expected


@pytest.mark.requirement("registers:transfer:natural-keys")
async def test_a_key_that_finds_nothing_is_an_error_of_its_row_with_the_value(registers: Registers):
    people, pair = await permits(registers)
    await registers.objects.create(ADMIN, people, {"bsn": "1"})
    report = await bring(registers, pair, "number,applicant.bsn\nP-1,1\nP-2,404\n")
    assert (report.failed, report.written) == (1, False)
    [problem] = report.problems
    assert (problem.row, problem.column) == (3, "applicant")
    assert problem.problem == "no object of schema 'person' has bsn = '404'"
    partial = await bring(registers, pair, "number,applicant.bsn\nP-1,1\nP-2,404\n", partial=True)
    assert (partial.created, partial.failed) == (1, 1)


@pytest.mark.requirement("registers:transfer:natural-keys")
async def test_a_column_that_is_not_unique_or_not_there_is_refused_with_the_nearest(registers: Registers):
    _, pair = await permits(registers)
    for header in ("applicant.bsm", "applicant.city"):
        with pytest.raises(InvalidInput, match=f"'{header}' cannot be imported"):
            await bring(registers, pair, f"number,{header}\nP-1,1\n")
    with pytest.raises(InvalidInput, match=r"did you mean 'applicant\.bsn'"):
        await bring(registers, pair, "number,applicant.bsm\nP-1,1\n")


@pytest.mark.requirement("registers:transfer:natural-keys")
async def test_data_and_json_take_natural_keys_too(registers: Registers):
    people, pair = await permits(registers)
    ada = await registers.objects.create(ADMIN, people, {"bsn": "1"})
    bob = await registers.objects.create(ADMIN, people, {"bsn": "2"})
    both = {"witnesses": [{"bsn": "1"}, bob.uuid, {"bsn": "2"}]}
    made = await registers.objects.create(WRITER, pair, {"number": "P-1", "applicant": {"bsn": "1"}, **both})
    assert made.data == {"number": "P-1", "applicant": ada.uuid, "witnesses": [ada.uuid, bob.uuid, bob.uuid]}
    patched = await registers.objects.write(WRITER, pair, Operation("patch", {"applicant": {"bsn": "2"}}, made.uuid))
    assert patched.data["applicant"] == bob.uuid
    rows = [
        Operation("create", {"number": "P-2", "applicant": {"bsn": "1"}}),
        Operation("create", {"number": "P-3", "applicant": {"bsn": "404"}}),
    ]
    first, second = await registers.objects.bulk(WRITER, pair, rows, atomic=False)
    assert (first.status, second.status) == ("created", "failed")
    plan = await registers.plans.make(WRITER, pair, rows[:1])
    assert plan.preview[0]["error"]["code"] == "conflict"  # the number is taken; the reference was found
    text = json.dumps([{"number": "P-4", "applicant": {"bsn": "2"}}])
    assert (await bring(registers, pair, text, "json")).created == 1


@pytest.mark.requirement("registers:transfer:natural-keys")
async def test_what_the_schema_leaves_open_is_not_taken_for_a_key(registers: Registers):
    people, pair = await permits(registers)
    await registers.objects.create(ADMIN, people, {"bsn": "1"})
    made = await registers.objects.create(WRITER, pair, {"number": "P-1", "embedded": {"bsn": "1"}})
    assert made.data["embedded"] == {"bsn": "1"}
    for given in ({"city": "Rome"}, {}, {"bsn": "1", "city": "Rome"}):
        error = await refusal(registers.objects.create(WRITER, pair, {"number": "P-2", "applicant": given}))
        assert "is not a unique key of schema 'person'" in error["message"]
        assert "bsn or badge" in error["hint"]


@pytest.mark.requirement("registers:transfer:natural-keys")
async def test_the_own_register_comes_first_and_several_others_are_ambiguous(registers: Registers):
    people, pair = await permits(registers)
    found: dict[str, str] = {}
    for slug in ("east", "west"):
        await registers.catalogue.registers.create(ADMIN, {"title": slug, "slug": slug, "schemas": ["person"]})
        there = await registers.catalogue.pair(ADMIN, slug, "person")
        for bsn in ("1", slug):
            found[slug + bsn] = (await registers.objects.create(ADMIN, there, {"bsn": bsn})).uuid
    error = await refusal(registers.objects.create(ADMIN, pair, {"applicant": {"bsn": "1"}}))
    assert "2 objects of schema 'person' have bsn = '1'" in error["message"]
    only = await registers.objects.create(ADMIN, pair, {"applicant": {"bsn": "east"}})
    assert only.data["applicant"] == found["easteast"]
    here = await registers.objects.create(ADMIN, people, {"bsn": "1"})
    nearest = await registers.objects.create(ADMIN, pair, {"applicant": {"bsn": "1"}})
    assert nearest.data["applicant"] == here.uuid


@pytest.mark.requirement("registers:transfer:natural-keys-hidden")
async def test_a_hidden_object_and_an_absent_one_are_one_answer(registers: Registers):
    rule = {"group": "writer", "match": {"city": "open"}}
    people, pair = await permits(registers, read=[rule], create=["admin"], update=["admin"])
    await registers.objects.create(ADMIN, people, {"bsn": "hid1", "city": "shut"})
    await registers.objects.create(ADMIN, people, {"bsn": "seen", "city": "open"})
    assert (await registers.objects.create(OTHER, pair, {"applicant": {"bsn": "seen"}})).version == 1
    hidden = await refusal(registers.objects.create(OTHER, pair, {"applicant": {"bsn": "hid1"}}))
    absent = await refusal(registers.objects.create(OTHER, pair, {"applicant": {"bsn": "none"}}))
    assert str(hidden).replace("hid1", "none") == str(absent)
    reports = [await bring(registers, pair, f"applicant.bsn\n{bsn}\n") for bsn in ("hid1", "none")]
    assert str(reports[0].wire()).replace("hid1", "none") == str(reports[1].wire())


@pytest.mark.requirement("registers:transfer:natural-keys-hidden")
async def test_a_hidden_property_is_no_key(registers: Registers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(PERSON, "bsn", {"type": "string", "unique": True, "authorization": {"read": ["admin"]}})
    people, pair = await permits(registers)
    await registers.objects.create(ADMIN, people, {"bsn": "1", "badge": 1})
    assert (await registers.objects.create(ADMIN, pair, {"applicant": {"bsn": "1"}})).version == 1
    for bsn in ("1", "404"):
        error = await refusal(registers.objects.create(WRITER, pair, {"applicant": {"bsn": bsn}}))
        assert error["message"] == "/applicant: bsn is not a unique key of schema 'person'."
        assert error["hint"] == "Its unique keys are badge."
        with pytest.raises(InvalidInput, match="cannot be imported"):
            await bring(registers, pair, f"applicant.bsn\n{bsn}\n")


@pytest.mark.requirement("registers:transfer:natural-keys")
async def test_rows_of_one_file_refer_to_one_another_by_key_in_any_order(registers: Registers):
    properties = {"code": {"type": "string", "unique": True}, "manager": {"type": "string", "$ref": "employee"}}
    await registers.catalogue.schemas.create(ADMIN, {"title": "E", "slug": "employee", "properties": properties})
    await registers.catalogue.registers.create(ADMIN, {"title": "Staff", "slug": "staff", "schemas": ["employee"]})
    pair = await registers.catalogue.pair(ADMIN, "staff", "employee")
    count = 700
    table = "code,manager.code\n" + "".join(f"E-{one},E-{one + 1}\n" for one in range(count)) + f"E-{count},\n"
    report = await bring(registers, pair, table)
    assert (report.created, report.problems) == (count + 1, [])
    again = await bring(registers, pair, table, key=("code",))
    assert (again.unchanged, again.problems) == (count + 1, [])
    rows = [
        Operation("create", {"code": "A", "manager": {"code": "B"}}),
        Operation("create", {"code": "B", "manager": {"code": "E-1"}}),
        Operation("create", {"code": "C", "manager": {"code": "nobody"}}),
    ]
    first, second, third = await registers.objects.bulk(WRITER, pair, rows, atomic=False)
    assert (first.status, second.status, third.status) == ("created", "created", "failed")
    assert (await registers.objects.get(ADMIN, pair, first.uuid or "")).data["manager"] == second.uuid
    bad = await bring(registers, pair, "code,manager.code\nX,Y\nY,nobody\n", partial=True)
    assert (bad.created, bad.failed) == (0, 2)
