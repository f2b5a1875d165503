"""Import: everything or nothing, every bad row named, and tables that update what they know."""

import io
import json
from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer.formats import Format
from pentad.rooms.registers.transfer.imports import MOST_PROBLEMS, ImportOptions, ImportReport
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio


async def bring(registers: Registers, pair: Pair, text: str, kind: Format = "csv", **options: Any) -> ImportReport:
    file = io.BytesIO(text.encode())
    return await registers.transfer.import_file(WRITER, pair, file, kind, ImportOptions(**options))


async def stored(registers: Registers, pair: Pair) -> dict[str, StoredObject]:
    rows = (await registers.objects.find(ADMIN, pair, Query(limit=1000))).rows
    return {found.data["number"]: found for found in (StoredObject(*row) for row in rows)}


def numbered(count: int, first: int = 1) -> str:
    return "number,height\n" + "".join(f"T-{number},{number}\n" for number in range(first, first + count))


async def test_a_file_of_many_rows_is_imported_as_a_whole(registers: Registers, trees: Pair):
    report = await bring(registers, trees, numbered(1_700))
    assert report.wire() == {
        "mode": "all or nothing", "rows": 1_700, "created": 1_700, "updated": 0, "unchanged": 0, "failed": 0,
        "written": True, "problems": [],
    }  # fmt: skip
    found = await registers.objects.find(ADMIN, trees, Query(limit=0))
    assert found.total == 1_700


@pytest.mark.requirement("registers:transfer:whole")
async def test_one_bad_row_keeps_every_row_out(registers: Registers, trees: Pair):
    report = await bring(registers, trees, numbered(600) + "T-x,5\nT-9999,-1\nT-10000,tall\n")
    assert (report.failed, report.written, report.created) == (3, False, 0)
    assert [(problem.row, problem.column) for problem in report.problems] == [
        (602, "number"), (603, "height"), (604, "height"),
    ]  # fmt: skip
    assert await stored(registers, trees) == {}


@pytest.mark.requirement("registers:transfer:integrity")
async def test_what_only_the_store_knows_keeps_every_row_out_too(registers: Registers, trees: Pair):
    await registers.objects.create(WRITER, trees, {"number": "T-900"})
    report = await bring(registers, trees, numbered(1_000))
    assert (report.failed, report.written) == (1, False)
    assert report.problems[0].row == 901
    assert list(await stored(registers, trees)) == ["T-900"]
    twice = await bring(registers, trees, "number\nT-1\nT-1\n")
    assert (twice.failed, twice.written) == (1, False)
    assert list(await stored(registers, trees)) == ["T-900"]


async def test_what_the_file_and_what_the_store_say_against_it_are_told_together(registers: Registers, trees: Pair):
    report = await bring(registers, trees, "number,height\nT-1,4\nT-1,5\nT-x,6\nT-2,tall\n", key=("height",))
    assert (report.failed, report.created, report.written) == (3, 0, False)
    assert [problem.row for problem in report.problems] == [3, 4, 5]
    assert await stored(registers, trees) == {}


@pytest.mark.requirement("registers:transfer:partial")
@pytest.mark.parametrize("key", [(), ("number",)])
@pytest.mark.requirement("registers:transfer:whole")
async def test_every_problem_of_a_row_is_reported(registers: Registers, trees: Pair, key: tuple[str, ...]):
    rows = "number,kind,height,count,place.house\nT-1,lime,5,1,2\nT-x,birch,tall,many,2\nT-1,elm,-1,1,x\n"
    report = await bring(registers, trees, rows, key=key)
    found = {(problem.row, problem.column) for problem in report.problems}
    wanted = {(3, "number"), (3, "kind"), (3, "height"), (3, "count"), (4, "kind"), (4, "height"), (4, "place.house")}
    assert found - {(4, "number")} == wanted
    assert ((4, "number") in found) == bool(key), "row 2 has the same key"
    assert (report.failed, report.rows) == (2, 3)
    missing = await bring(registers, trees, "kind,height\nlime,tall\n")
    assert {(one.row, one.column) for one in missing.problems} == {(2, "height"), (2, "number")}


async def test_a_bad_row_does_not_stand_in_the_way_of_a_good_one_with_its_key(registers: Registers, trees: Pair):
    report = await bring(registers, trees, "number,height\nT-1,tall\nT-1,5\n", key=("number",), partial=True)
    assert (report.created, report.failed) == (1, 1)


async def test_the_problems_of_one_row_do_not_fill_the_report(registers: Registers):
    many = {f"p{number}": {"type": "integer"} for number in range(50)}
    await registers.catalogue.schemas.create(ADMIN, {"title": "Wide", "slug": "wide", "properties": many})
    await registers.catalogue.registers.create(ADMIN, {"title": "W", "slug": "w", "schemas": ["wide"]})
    pair = await registers.catalogue.pair(ADMIN, "w", "wide")
    row = ",".join("x" for _ in many)
    report = await bring(registers, pair, f"{','.join(many)}\n{row}\n{row}\n")
    assert [one.row for one in report.problems] == [2] * 20 + [3] * 20


async def test_a_partial_import_keeps_the_good_rows_and_says_so(registers: Registers, trees: Pair):
    report = await bring(registers, trees, numbered(600) + "T-x,5\nT-1,7\n", partial=True)
    assert (report.mode, report.created, report.failed, report.written) == ("partial", 600, 2, True)
    assert [problem.row for problem in report.problems] == [602, 603]
    assert len(await stored(registers, trees)) == 600


@pytest.mark.requirement("registers:transfer:dry-run")
async def test_a_dry_run_tells_what_would_happen_and_changes_nothing(registers: Registers, trees: Pair):
    await registers.objects.create(WRITER, trees, {"number": "T-1"})
    report = await bring(registers, trees, numbered(3), key=("number",), dry_run=True)
    assert (report.mode, report.created, report.updated, report.written) == ("dry run", 2, 1, False)
    found = await stored(registers, trees)
    assert list(found) == ["T-1"]
    assert found["T-1"].version == 1


async def test_a_table_updates_by_key_only_the_columns_it_has(registers: Registers, trees: Pair):
    await registers.objects.create(WRITER, trees, {"number": "T-1", "note": "kept", "height": 1})
    report = await bring(registers, trees, "number,height\nT-1,9\nT-2,2\n", key=("number",))
    assert (report.created, report.updated) == (1, 1)
    found = await stored(registers, trees)
    assert found["T-1"].data == {"number": "T-1", "note": "kept", "height": 9}
    same = await bring(registers, trees, "number,height\nT-1,9\nT-2,2\n", key=("number",))
    assert (same.unchanged, same.updated) == (2, 0)


async def test_a_table_that_was_exported_and_edited_cannot_overwrite_somebody_elses_change(
    registers: Registers, trees: Pair
):
    kept = await registers.objects.create(WRITER, trees, {"number": "T-1", "height": 1})
    table = f"@self.id,@self.version,height\n{kept.uuid},1,5\n"
    assert (await bring(registers, trees, table)).updated == 1
    again = await bring(registers, trees, table)
    assert (again.failed, again.written) == (1, False)
    assert "version" in again.problems[0].problem
    assert (await stored(registers, trees))["T-1"].data["height"] == 5


async def test_json_replaces_objects_and_keeps_their_identity(registers: Registers, trees: Pair):
    uuid = "01890000-0000-7000-8000-000000000001"
    text = json.dumps([{"number": "T-1", "height": 2, "@self": {"id": uuid}}])
    assert (await bring(registers, trees, text, "json")).created == 1
    changed = json.dumps({"number": "T-1", "note": "new", "@self": {"id": uuid, "version": "1"}})
    assert (await bring(registers, trees, changed, "jsonl")).updated == 1
    (found,) = (await stored(registers, trees)).values()
    assert (found.uuid, found.version, found.data) == (uuid, 2, {"number": "T-1", "note": "new"})


async def test_the_history_says_who_imported_each_object(registers: Registers, trees: Pair):
    file = io.BytesIO(b"number\nT-1\n")
    caller = Caller(WRITER.principal, agent="import desk", reason="first survey")
    await registers.transfer.import_file(caller, trees, file, "csv")
    (found,) = (await stored(registers, trees)).values()
    (change,) = await registers.history.of(ADMIN, trees, found.uuid)
    assert (change.action, change.principal, change.agent, change.reason) == (
        "create", "user:wil", "import desk", "first survey",
    )  # fmt: skip


async def test_a_report_of_a_hopeless_file_stays_small(registers: Registers, trees: Pair):
    report = await bring(registers, trees, "number,height\n" + "bad,bad\n" * 3_000)
    assert (report.rows, report.failed) == (3_000, 3_000)
    assert len(report.problems) == MOST_PROBLEMS


async def test_an_empty_table_imports_nothing(registers: Registers, trees: Pair):
    report = await bring(registers, trees, "number,height\n")
    assert (report.ok, report.rows, report.written) == (True, 0, False)


async def test_a_key_must_be_a_property(registers: Registers, trees: Pair):
    with pytest.raises(InvalidInput, match="no property 'numbr'") as refused:
        await bring(registers, trees, numbered(1), key=("numbr",))
    assert refused.value.hint == "Did you mean 'number'?"


async def test_a_reader_cannot_import(registers: Registers, trees: Pair):
    reader = Caller(Principal("user:rob", "rob", role_scopes("reader")))
    with pytest.raises(Forbidden):
        await registers.transfer.import_file(reader, trees, io.BytesIO(b"number\nT-1\n"), "csv")
    assert await stored(registers, trees) == {}


@pytest.mark.requirement("registers:transfer:progress")
async def test_progress_is_told_while_reading_and_while_writing(registers: Registers, trees: Pair):
    told: list[tuple[str, int, int | None]] = []
    file = io.BytesIO(numbered(1_200).encode())
    await registers.transfer.import_file(
        WRITER, trees, file, "csv", None, lambda phase, done, total: told.append((phase, done, total))
    )
    assert ("reading", 1_200, None) in told
    assert ("writing", 1_200, 1_200) in told
    assert [done for phase, done, _ in told if phase == "writing"] == [500, 1_000, 1_200]


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
async def test_text_no_store_can_hold_is_a_bad_row(registers: Registers, trees: Pair, text: str):
    line = json.dumps({"number": "T-1", "note": text})
    report = await bring(registers, trees, line + '\n{"number": "T-2"}\n', "jsonl")
    assert (report.failed, report.problems[0].row, report.written) == (1, 1, False)
