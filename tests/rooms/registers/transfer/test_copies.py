"""Files that repeat themselves, and exports that become copies in another register."""

import io
from typing import Any

import pytest

from pentad.rooms.registers.models import Operation, Pair, StoredObject
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer.formats import FORMATS, Format
from pentad.rooms.registers.transfer.imports import ImportOptions
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio

NODE: dict[str, Any] = {
    "title": "Node",
    "slug": "node",
    "properties": {
        "code": {"type": "string", "unique": True},
        "parent": {"type": "string", "$ref": "node"},
        "friends": {"type": "array", "items": {"type": "string", "$ref": "node"}},
        "note": {"type": "string"},
    },
}


async def bring(registers: Registers, pair: Pair, file: str | bytes, kind: Format = "csv", **options: Any) -> Any:
    content = file.encode() if isinstance(file, str) else file
    return await registers.transfer.import_file(WRITER, pair, io.BytesIO(content), kind, ImportOptions(**options))


async def exported(registers: Registers, pair: Pair, kind: Format) -> bytes:
    return b"".join([part async for part in registers.transfer.export(ADMIN, pair, kind)])


async def objects(registers: Registers, pair: Pair) -> dict[str, StoredObject]:
    rows = (await registers.objects.find(ADMIN, pair, Query(limit=1000))).rows
    return {found.data["code"]: found for found in (StoredObject(*row) for row in rows)}


async def nodes(registers: Registers) -> tuple[Pair, Pair]:
    """The same schema in two registers, with a small tree in the first; children come before their parents."""
    await registers.catalogue.schemas.create(ADMIN, NODE)
    for slug in ("old", "new"):
        await registers.catalogue.registers.create(ADMIN, {"title": slug, "slug": slug, "schemas": ["node"]})
    old = await registers.catalogue.pair(ADMIN, "old", "node")
    child = await registers.objects.create(WRITER, old, {"code": "child"})
    root = await registers.objects.create(WRITER, old, {"code": "root", "note": "-1"})
    await registers.objects.write(
        WRITER, old, Operation("patch", {"parent": root.uuid, "friends": [child.uuid, root.uuid]}, child.uuid)
    )
    return old, await registers.catalogue.pair(ADMIN, "new", "node")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.requirement("registers:transfer:copies")
async def test_an_export_is_copied_into_another_register_with_the_references_between_its_rows(
    registers: Registers, kind: Format
):
    old, new = await nodes(registers)
    file = await exported(registers, old, kind)
    refused = await bring(registers, new, file, kind)
    assert (refused.failed, refused.written) == (2, False)
    assert refused.problems[0].column == "id"
    assert "is in old/node. To copy it here, import with new ids" in refused.problems[0].problem
    report = await bring(registers, new, file, kind, new_ids=True)
    assert (report.created, report.problems) == (2, [])
    before, copies = await objects(registers, old), await objects(registers, new)
    child, root = copies["child"], copies["root"]
    assert {child.uuid, root.uuid}.isdisjoint(one.uuid for one in before.values())
    assert child.data == {"code": "child", "parent": root.uuid, "friends": [child.uuid, root.uuid]}
    assert root.data == {"code": "root", "note": "-1"}
    assert before["child"].data["parent"] == before["root"].uuid
    again = await bring(registers, new, file, kind, new_ids=True, key=("code",))
    assert (again.created, again.failed) == (0, 0)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.requirement("registers:transfer:headers")
async def test_an_export_imports_again_as_it_is(registers: Registers, kind: Format):
    old, _ = await nodes(registers)
    file = await exported(registers, old, kind)
    if kind == "csv":
        assert file.decode("utf-8-sig").splitlines()[0] == "_id,_version,code,parent,friends,note"
        assert b",'-1\r\n" in file  # a value may be a formula; a header of ours is not
    report = await bring(registers, old, file, kind)
    assert (report.unchanged, report.problems) == (2, [])


@pytest.mark.requirement("registers:transfer:headers")
async def test_properties_with_the_short_names_leave_the_long_ones_to_the_metadata(registers: Registers):
    properties = {"_id": {"type": "string"}, "_version": {"type": "integer"}, "code": {"type": "string"}}
    await registers.catalogue.schemas.create(ADMIN, {"title": "Odd", "slug": "odd", "properties": properties})
    await registers.catalogue.registers.create(ADMIN, {"title": "Odds", "slug": "odds", "schemas": ["odd"]})
    pair = await registers.catalogue.pair(ADMIN, "odds", "odd")
    await registers.objects.create(WRITER, pair, {"_id": "mine", "_version": 7, "code": "a"})
    for kind in FORMATS:
        report = await bring(registers, pair, await exported(registers, pair, kind), kind)
        assert (report.unchanged, report.problems) == (1, []), kind


@pytest.mark.requirement("registers:transfer:repeated-rows")
async def test_two_rows_with_one_key_are_refused_and_both_are_named(registers: Registers):
    _, pair = await nodes(registers)
    table = "code,note\na,1\nb,2\na,3\n"
    report = await bring(registers, pair, table, key=("code",))
    assert (report.failed, report.written) == (1, False)
    [problem] = report.problems
    assert (problem.row, problem.column, problem.problem) == (4, "code", "Row 2 has code = 'a' too.")
    assert await objects(registers, pair) == {}
    partial = await bring(registers, pair, table, key=("code",), partial=True)
    assert (partial.created, partial.updated, partial.failed) == (2, 0, 1)
    assert partial.problems[0].problem == "Row 2 has code = 'a' too. Only row 2 is imported."
    assert (await objects(registers, pair))["a"].data["note"] == "1"


@pytest.mark.requirement("registers:transfer:repeated-rows")
async def test_two_rows_with_one_id_are_refused(registers: Registers):
    old, _ = await nodes(registers)
    uuid = (await objects(registers, old))["root"].uuid
    for kind, text in (
        ("csv", f"_id,note\n{uuid},x\n{uuid},y\n"),
        ("jsonl", f'{{"id": "{uuid}", "note": "x"}}\n{{"id": "{uuid}", "note": "y"}}\n'),
    ):
        report = await bring(registers, old, text, kind)  # pyright: ignore[reportArgumentType]  one of the formats
        assert (report.failed, report.written) == (1, False)
        assert f"has the id {uuid} too" in report.problems[0].problem
    assert (await objects(registers, old))["root"].data["note"] == "-1"


@pytest.mark.requirement("registers:transfer:repeated-rows")
async def test_keys_are_compared_as_the_store_compares_them(registers: Registers):
    properties = {"n": {"type": "number", "unique": True}, "at": {"type": "string", "format": "date-time"}}
    await registers.catalogue.schemas.create(ADMIN, {"title": "Number", "slug": "number", "properties": properties})
    await registers.catalogue.registers.create(ADMIN, {"title": "Numbers", "slug": "numbers", "schemas": ["number"]})
    pair = await registers.catalogue.pair(ADMIN, "numbers", "number")
    assert (await bring(registers, pair, "n\n1\n1.0\n", key=("n",))).failed == 1
    assert (await bring(registers, pair, "n\n1\n10\n", key=("n",))).failed == 0
    times = "at\n2026-01-01T10:00:00Z\n2026-01-01T12:00:00+02:00\n"
    assert (await bring(registers, pair, times, key=("at",))).failed == 1


@pytest.mark.requirement("registers:transfer:repeated-rows")
async def test_a_unique_value_twice_in_one_file_names_the_other_row(registers: Registers):
    _, pair = await nodes(registers)
    report = await bring(registers, pair, "code,note\na,1\nb,2\na,3\n")
    assert (report.failed, report.written) == (1, False)
    [problem] = report.problems
    assert (problem.row, problem.column, problem.problem) == (4, "code", "Row 2 has the same code.")
    partial = await bring(registers, pair, "code,note\na,1\na,3\n", partial=True)
    assert (partial.created, partial.problems[0].problem) == (1, "Row 2 has the same code. Only row 2 is imported.")
