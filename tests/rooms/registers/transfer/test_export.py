"""Export: what the caller may see of what was asked for, complete, and fit to be imported again."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer.formats import FORMATS, Format
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, opened, with_trees
from tests.stores import Stores

pytestmark = pytest.mark.anyio

ROWS: list[dict[str, Any]] = [
    {"number": "T-1", "kind": "lime", "height": 4.5, "tags": ["old", "=cmd"], "place": {"street": "Mill", "house": 3}},
    {"number": "T-2", "kind": "oak", "height": -0.0, "count": 7, "note": "=1+1"},
    {"number": "T-3", "note": 'Größe, "quoted"\nsecond line'},
]


@pytest.fixture
async def trees(registers: Registers) -> Pair:
    pair = await with_trees(registers)
    for row in ROWS:
        await registers.objects.create(WRITER, pair, row)
    return pair


async def exported(registers: Registers, pair: Pair, kind: Format, caller: Caller = ADMIN, **asked: Any) -> bytes:
    return b"".join([part async for part in registers.transfer.export(caller, pair, kind, asked)])


async def state(registers: Registers, pair: Pair) -> dict[str, tuple[int, dict[str, Any]]]:
    rows = (await registers.objects.find(ADMIN, pair, Query(limit=1000))).rows
    return {found.uuid: (found.version, found.data) for found in (StoredObject(*row) for row in rows)}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.requirement("registers:transfer:round-trip")
async def test_what_was_exported_imports_as_no_change_and_elsewhere_as_the_same(
    registers: Registers, trees: Pair, kind: Format, tmp_path: Path
):
    file = await exported(registers, trees, kind)
    before = await state(registers, trees)
    report = await registers.transfer.import_file(WRITER, trees, io.BytesIO(file), kind)
    assert (report.unchanged, report.problems) == (3, [])
    elsewhere = Stores(None, tmp_path / "elsewhere")
    try:
        async with opened(elsewhere) as other:
            pair = await with_trees(other)
            report = await other.transfer.import_file(WRITER, pair, io.BytesIO(file), kind)
            assert (report.created, report.problems) == (3, [])
            assert await state(other, pair) == before
    finally:
        await elsewhere.close()


async def test_an_object_that_was_deleted_does_not_come_back_by_an_import(registers: Registers, trees: Pair):
    file = await exported(registers, trees, "jsonl")
    for uuid in await state(registers, trees):
        await registers.objects.delete(ADMIN, trees, uuid)
    report = await registers.transfer.import_file(WRITER, trees, io.BytesIO(file), "jsonl")
    assert (report.failed, report.written) == (3, False)
    assert await state(registers, trees) == {}


async def test_a_csv_has_a_mark_a_header_and_no_formulas(registers: Registers, trees: Pair):
    text = (await exported(registers, trees, "csv")).decode("utf-8")
    assert text.startswith("\ufeff_id,_version,number,kind,height,count,tags,place.street,place.house,note")
    assert ",'=1+1\r\n" in text


@pytest.mark.requirement("registers:transfer:choice")
async def test_filter_sort_and_fields_choose_what_is_exported(registers: Registers, trees: Pair):
    asked: dict[str, Any] = {"filter": {"height": {"exists": True}}, "sort": "-number", "fields": ["number", "height"]}
    rows = [json.loads(line) for line in (await exported(registers, trees, "jsonl", **asked)).splitlines()]
    assert [(row["number"], row["height"]) for row in rows] == [("T-2", 0), ("T-1", 4.5)]
    table = (await exported(registers, trees, "csv", **asked)).decode("utf-8-sig").splitlines()
    assert table[0] == "_id,_version,number,height"
    assert len(table) == 3


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_a_table_has_its_columns_in_the_order_asked_for(registers: Registers, trees: Pair, kind: Format):
    file = await exported(registers, trees, kind, fields=["note", "place.house", "number", "place"])
    if kind == "csv":
        header = file.decode("utf-8-sig").splitlines()[0].split(",")
    else:
        header = [cell.value for cell in next(load_workbook(io.BytesIO(file)).active.iter_rows())]  # type: ignore[union-attr]
    assert header[2:] == ["note", "place.house", "number", "place.street"]


async def test_a_member_of_an_object_can_be_a_field(registers: Registers, trees: Pair):
    table = (await exported(registers, trees, "csv", fields=["place.street"], sort="number")).decode("utf-8-sig")
    assert table.splitlines()[0] == "_id,_version,place.street"
    assert table.splitlines()[1].endswith(",Mill")


@pytest.mark.requirement("registers:transfer:streaming")
async def test_more_than_a_page_is_exported_exactly_once(registers: Registers, trees: Pair):
    table = "number\n" + "".join(f"T-{number}\n" for number in range(100, 2_400))
    await registers.transfer.import_file(WRITER, trees, io.BytesIO(table.encode()), "csv")
    rows = json.loads(await exported(registers, trees, "json"))
    numbers = [row["number"] for row in rows]
    assert len(numbers) == len(set(numbers)) == 2_303


async def test_an_export_of_nothing_is_still_a_file(registers: Registers, trees: Pair):
    assert json.loads(await exported(registers, trees, "json", filter={"number": "T-9"})) == []
    assert await exported(registers, trees, "jsonl", filter={"number": "T-9"}) == b""
    assert (await exported(registers, trees, "xlsx", filter={"number": "T-9"}))[:2] == b"PK"


@pytest.mark.requirement("registers:transfer:rights")
async def test_an_export_shows_no_more_than_the_caller_may_see(registers: Registers):
    schema = {
        "title": "Visit",
        "slug": "visit",
        "properties": {"place": {"type": "string"}, "fee": {"type": "number", "authorization": {"read": ["admin"]}}},
    }
    await registers.catalogue.schemas.create(ADMIN, schema)
    await registers.catalogue.registers.create(ADMIN, {"title": "Visits", "slug": "visits", "schemas": ["visit"]})
    pair = await registers.catalogue.pair(ADMIN, "visits", "visit")
    await registers.objects.create(ADMIN, pair, {"place": "Mill", "fee": 1275.125})
    for kind in ("csv", "json", "jsonl"):
        assert b"1275.125" not in await exported(registers, pair, kind, OTHER)
        assert b"1275.125" in await exported(registers, pair, kind, ADMIN)


async def test_a_misspelt_option_or_property_is_refused(registers: Registers, trees: Pair):
    with pytest.raises(InvalidInput, match="takes no 'limit'"):
        await exported(registers, trees, "csv", limit=5)
    with pytest.raises(InvalidInput, match="heigth"):
        await exported(registers, trees, "csv", filter={"heigth": 1})
