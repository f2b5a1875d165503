"""File formats: what readers make of real and of hostile files, and that what is written reads back the same."""

import io
import json
import zipfile
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.registers.transfer.csv_format import CsvWriter, escape_formula, read_csv, unescape_formula
from pentad.rooms.registers.transfer.excel_format import ExcelWriter, read_excel
from pentad.rooms.registers.transfer.formats import RawRow, format_named
from pentad.rooms.registers.transfer.json_format import JsonWriter, read_json, read_jsonl
from pentad.rooms.registers.transfer.tables import IDENTITY, VERSION, Column, columns_of

SCHEMA: dict[str, Any] = {
    "properties": {
        "name": {"type": "string"},
        "height": {"type": "number"},
        "count": {"type": "integer"},
        "alive": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"street": {"type": "string"}, "number": {"type": "integer"}}},
        "planted": {"type": "string", "format": "date"},
    }
}


def csv_rows(text: str | bytes, schema: dict[str, Any] = SCHEMA, encoding: str | None = None) -> list[RawRow]:
    return list(read_csv(io.BytesIO(text.encode() if isinstance(text, str) else text), schema, encoding))


def workbook(*rows: list[Any]) -> bytes:
    book = Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_a_csv_row_becomes_an_object_with_nested_properties_and_lists():
    (row,) = csv_rows('name,height,tags,place.street,place.number\nLinden,4.5,old;tall,"Main, North",12\n')
    assert row.number == 2
    assert row.data == {
        "name": "Linden",
        "height": 4.5,
        "tags": ["old", "tall"],
        "place": {"street": "Main, North", "number": 12},
    }


def test_an_empty_cell_is_a_property_not_given_and_an_empty_row_is_nothing():
    rows = csv_rows("name,height\nOak,\n,\nElm,3\n")
    assert [row.data for row in rows] == [{"name": "Oak"}, {"name": "Elm", "height": 3}]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_in_the_header(separator: str):
    (row,) = csv_rows(separator.join(["name", "height"]) + "\n" + separator.join(["Oak", "3"]))
    assert row.data == {"name": "Oak", "height": 3}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_files_are_recognised_by_their_mark(encoding: str):
    (row,) = csv_rows("name\nKöln 🌳\n".encode(encoding))
    assert row.data == {"name": "Köln 🌳"}


def test_another_encoding_is_refused_until_it_is_named():
    file = "name\nKöln\n".encode("windows-1252")
    with pytest.raises(InvalidInput, match="is not utf-8 text"):
        csv_rows(file)
    assert csv_rows(file, encoding="windows-1252")[0].data == {"name": "Köln"}
    with pytest.raises(InvalidInput, match="no encoding 'klingon'"):
        csv_rows(file, encoding="klingon")


def test_a_bad_cell_names_its_row_column_and_problem_and_the_rest_is_still_read():
    good, bad = csv_rows("name,height,count\nOak,3,1\nElm,tall,many\n")
    assert not good.problems
    assert [(problem.row, problem.column) for problem in bad.problems] == [(3, "height"), (3, "count")]
    assert "'tall' is not a number" in bad.problems[0].problem


def test_a_row_that_is_too_long_is_a_bad_row():
    (row,) = csv_rows("name,height\nOak,3,extra\n")
    assert "more cells than the 2 columns" in row.problems[0].problem


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("nam", "did you mean 'name'"),
        ("name,name", "already sets this property"),
        ("place,place.street", "already sets this property"),
        ("place.street,place", "already sets this property"),
        (",,", "no column names"),
        ("", "empty"),
        (",".join(f"c{number}" for number in range(2_001)), "2001 columns"),
    ],
)
def test_a_header_that_cannot_be_meant_is_refused(header: str, complaint: str):
    with pytest.raises(InvalidInput, match=complaint):
        csv_rows(header + ("\nx\n" if header else ""))


def test_a_column_the_schema_does_not_know_is_taken_where_it_says_so():
    (row,) = csv_rows("name,note\nOak,12\n", {**SCHEMA, "additionalProperties": True})
    assert row.data == {"name": "Oak", "note": 12}


def test_identity_columns_are_not_business_data():
    (row,) = csv_rows("@self.id,@self.version,@self.owner,name\nu-1,3,ada,Oak\n")
    assert (row.uuid, row.version, row.data) == ("u-1", 3, {"name": "Oak"})


def test_business_properties_called_id_and_uuid_stay_business_data():
    schema = {"properties": {"id": {"type": "integer"}, "uuid": {"type": "string"}}}
    (row,) = csv_rows("id,uuid\n7,x\n", schema)
    assert (row.uuid, row.data) == (None, {"id": 7, "uuid": "x"})


def test_an_open_quotation_mark_and_a_huge_cell_are_clear_errors():
    with pytest.raises(InvalidInput, match="cannot be read"):
        csv_rows('name\n"Oak\n')
    with pytest.raises(LimitExceeded, match="longer than"):
        csv_rows("name\n" + "x" * 1_100_000)


@pytest.mark.parametrize("text", ["=1+1", "+49 221", "-2", "@sum", "\tx", "\rx", "'=x", "''=x"])
@pytest.mark.requirement("registers:transfer:formulas")
def test_text_a_spreadsheet_would_run_is_guarded_and_comes_back_as_it_was(text: str):
    assert escape_formula(text) == "'" + text
    assert unescape_formula(escape_formula(text)) == text


def test_numbers_are_not_guarded():
    assert escape_formula(-2) == -2
    writer = CsvWriter(["height"])
    writer.add([-2.5])
    assert writer.end().endswith(b"\r\n-2.5\r\n")


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=8)
OBJECTS = st.lists(
    st.fixed_dictionaries(
        {"name": TEXT},
        optional={
            "height": st.floats(allow_nan=False, allow_infinity=False, width=32),
            "count": st.integers(-(2**60), 2**60),
            "alive": st.booleans(),
            "tags": st.lists(TEXT, min_size=1, max_size=3),
            "place": st.fixed_dictionaries({"street": TEXT}, optional={"number": st.integers(0, 99)}),
        },
    ),
    max_size=4,
)


def table(make: Callable[[list[str]], Any], objects: list[dict[str, Any]]) -> bytes:
    columns = columns_of(SCHEMA)
    writer = make([column.header for column in columns])
    for data in objects:
        writer.add([column.cell_of(data) for column in columns])
    return writer.drain() + writer.end()


@given(OBJECTS)
@pytest.mark.requirement("registers:transfer:csv")
def test_what_is_written_as_csv_reads_back_the_same(objects: list[dict[str, Any]]):
    assert [row.data for row in csv_rows(table(CsvWriter, objects))] == objects


@given(OBJECTS)
@pytest.mark.requirement("registers:transfer:excel")
def test_what_is_written_as_excel_reads_back_the_same(objects: list[dict[str, Any]]):
    rows = list(read_excel(io.BytesIO(table(ExcelWriter, objects)), SCHEMA, None))
    assert [row.problems for row in rows] == [[] for _ in objects]
    assert [row.data for row in rows] == objects


@given(OBJECTS, st.booleans())
@pytest.mark.requirement("registers:transfer:json")
def test_what_is_written_as_json_reads_back_the_same(objects: list[dict[str, Any]], lines: bool):
    writer = JsonWriter(lines=lines)
    for data in objects:
        writer.add(data)
    file = io.BytesIO(writer.drain() + writer.end())
    rows = list((read_jsonl if lines else read_json)(file, SCHEMA, None))
    assert [row.data for row in rows] == objects


def test_an_excel_formula_is_not_made_from_text():
    file = table(ExcelWriter, [{"name": "=HYPERLINK(1)"}])
    sheet = zipfile.ZipFile(io.BytesIO(file)).read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in sheet
    assert [row.data for row in read_excel(io.BytesIO(file), SCHEMA, None)] == [{"name": "=HYPERLINK(1)"}]


def test_excel_dates_become_text_of_the_propertys_format():
    file = workbook(["name", "planted"], ["Oak", date(2020, 3, 1)])
    assert [row.data for row in read_excel(io.BytesIO(file), SCHEMA, None)] == [
        {"name": "Oak", "planted": "2020-03-01"}
    ]


def test_what_excel_cannot_hold_is_refused_rather_than_cut():
    with pytest.raises(LimitExceeded, match=r"32,767"):
        table(ExcelWriter, [{"name": "x" * 40_000}])


@pytest.mark.parametrize("text", ["a\x01b", "line\r\nbreak", "_x0041_", " edges ", "<&>\"'", "\uffff", "tab\there"])
def test_what_xml_cannot_hold_survives_a_workbook(text: str):
    file = table(ExcelWriter, [{"name": text}])
    assert [row.data for row in read_excel(io.BytesIO(file), SCHEMA, None)] == [{"name": text}]


def zipped(parts: dict[str, bytes]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return io.BytesIO(file.getvalue())


def hostile(name: str) -> io.BytesIO:
    with zipfile.ZipFile(io.BytesIO(workbook(["name"], ["Oak"]))) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    match name:
        case "bomb":
            return zipped({**parts, "xl/media/huge.bin": bytes(20 * 1024 * 1024)})
        case "many parts":
            return zipped({**parts, **{f"xl/media/{number}": b"x" for number in range(1_200)}})
        case "entities":
            return zipped({**parts, sheet: b'<!DOCTYPE x [<!ENTITY a "b">]>' + parts[sheet]})
        case "far row":
            far = b'<row r="1048576"><c r="A1048576" t="inlineStr"><is><t>x</t></is></c></row></sheetData>'
            return zipped({**parts, sheet: parts[sheet].replace(b"</sheetData>", far)})
        case "no sheet":
            return zipped({part: content for part, content in parts.items() if part != sheet})
        case "cut":
            return io.BytesIO(zipped(parts).getvalue()[:-300])
        case _:
            return io.BytesIO(b"name\nOak\n")


@pytest.mark.parametrize("name", ["bomb", "many parts", "entities", "far row", "no sheet", "cut", "not a zip"])
@pytest.mark.requirement("registers:transfer:bombs")
def test_a_hostile_workbook_is_refused(name: str):
    with pytest.raises(InvalidInput):
        list(read_excel(hostile(name), SCHEMA, None))


def test_an_excel_cell_far_to_the_right_is_a_row_with_too_many_cells():
    file = io.BytesIO(workbook(["name"], ["Oak", "x"]))
    (row,) = read_excel(file, SCHEMA, None)
    assert "more cells" in row.problems[0].problem


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{}", "not an array"),
        ("", "not an array"),
        ("[1]", "not an object"),
        ('[{"a": 1}', "ends too early"),
        ('[{"a": 1} {"b": 2}]', "lacks a comma"),
        ('[{"a": 1},]', "not an object"),
        ('[{"a": }]', "cannot be read"),
        ('[{"a": ' + "[" * 200_000, "nested too deep"),
        ('[{"a": "\xff"}]'.encode("latin-1"), "UTF-8"),
    ],
)
def test_broken_json_is_refused_in_words(text: str | bytes, complaint: str):
    with pytest.raises(InvalidInput, match=complaint):
        list(read_json(io.BytesIO(text.encode() if isinstance(text, str) else text), SCHEMA, None))


def test_json_that_cannot_be_stored_is_a_bad_row_and_not_something_else():
    text = '[{"height": NaN}, {"height": 1e999}, {"name": "\\ud800"}, {"name": "Oak"}]'
    rows = list(read_json(io.BytesIO(text.encode()), SCHEMA, None))
    assert [bool(row.problems) for row in rows] == [True, True, True, False]


def test_an_object_larger_than_the_window_is_read_whole():
    big = {"name": "x" * 300_000}
    file = io.BytesIO(json.dumps([big, {"name": "Oak"}]).encode())
    assert [row.data for row in read_json(file, SCHEMA, None)] == [big, {"name": "Oak"}]


def test_a_json_line_names_its_number_and_a_huge_one_is_refused():
    rows = list(read_jsonl(io.BytesIO(b'{"name": "Oak"}\n\nnonsense\n[1]\n'), SCHEMA, None))
    assert [(row.number, bool(row.problems)) for row in rows] == [(1, False), (3, True), (4, True)]
    with pytest.raises(LimitExceeded, match="Line 1"):
        list(read_jsonl(io.BytesIO(b'"' + b"x" * 5_000_000), SCHEMA, None))


def test_an_object_with_its_metadata_keeps_its_identity():
    text = b'{"id": "u-1", "name": "Oak", "@self": {"id": "u-1", "version": "4"}}\n{"id": "mine", "name": "Elm"}\n'
    first, second = read_jsonl(io.BytesIO(text), SCHEMA, None)
    assert (first.uuid, first.version, first.data) == ("u-1", 4, {"name": "Oak"})
    assert (second.uuid, second.data) == ("mine", {"name": "Elm"})


def test_only_an_object_with_its_metadata_replaces_the_whole_object():
    part, whole, new = read_jsonl(
        io.BytesIO(b'{"id": "u-1", "name": "Oak"}\n{"name": "Elm", "@self": {"id": "u-2"}}\n{"name": "Ash"}\n'),
        SCHEMA,
        None,
    )
    assert [(row.uuid, row.whole) for row in (part, whole, new)] == [("u-1", False), ("u-2", True), (None, True)]


def test_a_format_is_known_by_name_or_ending_and_misspelt_ones_are_guessed():
    assert format_named("trees.CSV") == "csv"
    assert format_named("ndjson") == "jsonl"
    with pytest.raises(InvalidInput, match="no format 'xslx'") as refused:
        format_named("a.xslx")
    assert refused.value.hint == "Did you mean 'xlsx'?"


def test_columns_carry_identity_under_names_no_property_can_take():
    assert isinstance(columns_of(SCHEMA)[0], Column)
    assert {IDENTITY, VERSION}.isdisjoint(column.header for column in columns_of(SCHEMA))
