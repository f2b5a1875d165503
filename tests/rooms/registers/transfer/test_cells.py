"""Cells: what a table's cell means by its schema, and that a written cell reads back as the same value."""

from datetime import date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.transfer.cells import read_cell, write_cell


@pytest.mark.parametrize(
    ("cell", "schema", "value"),
    [
        ("12", {"type": "integer"}, 12),
        (" -3 ", {"type": "integer"}, -3),
        ("12.0", {"type": "integer"}, 12),
        (12.0, {"type": "integer"}, 12),
        ("2.50", {"type": "number"}, 2.5),
        ("7", {"type": "number"}, 7),
        ("yes", {"type": "boolean"}, True),
        ("FALSE", {"type": "boolean"}, False),
        (1.0, {"type": "boolean"}, True),
        ("007", {"type": "string"}, "007"),
        (7.0, {"type": "string"}, "7"),
        ("a; b ;c", {"type": "array", "items": {"type": "string"}}, ["a", "b", "c"]),
        ("1;2", {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ('["a;b"]', {"type": "array"}, ["a;b"]),
        ("a;b", {"type": ["array", "null"], "items": {"type": "string"}}, ["a", "b"]),
        ("null", {"type": ["array", "null"], "items": {"type": "string"}}, None),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("null", {"type": ["string", "null"]}, None),
        ("nul", {"type": ["string", "null"]}, "nul"),
        ("5", {"type": ["string", "integer"]}, 5),
        ('"5"', {"type": ["string", "integer"]}, "5"),
        ("red", {"enum": ["red", "blue"]}, "red"),
        ("12", {}, 12),
        ("plain words", {}, "plain words"),
        (
            datetime.fromisoformat("2024-05-01T12:30:00"),
            {"type": "string", "format": "date-time"},
            "2024-05-01T12:30:00Z",
        ),
        (datetime.fromisoformat("2024-05-01"), {"type": "string", "format": "date"}, "2024-05-01"),
        (date(2024, 5, 1), {"type": "string", "format": "date-time"}, "2024-05-01T00:00:00Z"),
        (time(8, 15), {"type": "string"}, "08:15:00"),
    ],
)
def test_a_cell_is_read_by_the_type_of_its_property(cell: Any, schema: dict[str, Any], value: Any):
    read = read_cell(cell, schema)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("cell", "schema"),
    [
        ("1,5", {"type": "number"}),
        ("twelve", {"type": "integer"}),
        ("1.5", {"type": "integer"}),
        ("nan", {"type": "number"}),
        ("1e999", {"type": "number"}),
        ("maybe", {"type": "boolean"}),
        ("{", {"type": "object"}),
        ("[1", {"type": "array"}),
        ("a;2", {"type": "array", "items": {"type": "integer"}}),
        ("[" * 100_000, {"type": "array"}),
        (True, {"type": "integer"}),
    ],
)
def test_a_cell_that_is_not_of_the_type_is_refused_in_words(cell: Any, schema: dict[str, Any]):
    with pytest.raises(InvalidInput, match=r"is not an? "):
        read_cell(cell, schema)


def test_null_is_not_offered_as_a_type_for_a_cell():
    with pytest.raises(InvalidInput, match=r"^'x' is not an integer or boolean\.$|^'x' is not a boolean or integer\.$"):
        read_cell("x", {"type": ["null", "integer", "boolean"]})


def test_a_long_cell_is_not_repeated_in_full():
    with pytest.raises(InvalidInput) as refused:
        read_cell("x" * 10_000, {"type": "integer"})
    assert len(refused.value.message) < 120


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=12)
SCALARS = st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
TYPED = st.one_of(
    st.tuples(st.just({"type": "string"}), TEXT),
    st.tuples(st.just({"type": "integer"}), st.integers(-(2**70), 2**70)),
    st.tuples(st.just({"type": "number"}), st.floats(allow_nan=False, allow_infinity=False) | st.integers()),
    st.tuples(st.just({"type": "boolean"}), st.booleans()),
    st.tuples(st.just({"type": ["string", "null", "integer", "boolean"]}), TEXT | st.integers() | st.booleans()),
    st.tuples(st.just({"type": "array", "items": {"type": "string"}}), st.lists(TEXT)),
    st.tuples(st.just({"type": "array", "items": {"type": "integer"}}), st.lists(st.integers())),
    st.tuples(st.just({"type": ["null", "array"]}), st.lists(TEXT | st.just("null"))),
    st.tuples(st.just({"type": "array"}), st.lists(VALUES)),
    st.tuples(st.just({"type": "object"}), st.dictionaries(TEXT, VALUES)),
    st.tuples(st.just({}), VALUES),
)


@given(TYPED)
def test_a_written_cell_reads_back_as_the_same_value(case: tuple[dict[str, Any], Any]):
    schema, value = case
    cell = write_cell(value, schema)
    text = "true" if cell is True else "false" if cell is False else str(cell)
    assert read_cell(text, schema) == value
