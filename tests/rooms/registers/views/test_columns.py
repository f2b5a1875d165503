"""The columns of a view, parsed and computed without a store."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.registers.presentation import VisibleSchema
from pentad.rooms.registers.query.query_fields import FarSchema
from pentad.rooms.registers.views.columns import MOST_COLUMNS, parse_columns, row_values
from tests.rooms.registers.definitions.making import compiled

NOW = 1_770_000_000.0
KNOWN = compiled(
    {
        "number": {"type": "string"},
        "price": {"type": "number"},
        "amount": {"type": "integer"},
        "place": {"type": "object", "properties": {"city": {"type": "string"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
    }
)


class NoRelations:
    """A schema that no other refers to."""

    def targets(self, reference: object) -> list[FarSchema]:
        return []

    def referring(self, name: str) -> None:
        return None

    def names(self) -> list[str]:
        return []


SCHEMA = VisibleSchema(KNOWN.properties, KNOWN.headings, KNOWN.concealed, NoRelations())
DATA: dict[str, Any] = {"number": "A-1", "price": 5, "amount": 3, "place": {"city": "Delft"}, "tags": ["x", "y"]}
METADATA: dict[str, Any] = {"id": "u-1", "created": "2026-01-01T00:00:00Z"}


def row(*columns: Any, data: dict[str, Any] = DATA) -> dict[str, Any]:
    parsed, errors = parse_columns(SCHEMA, list(columns), NOW)
    assert errors == []
    return row_values(parsed, data, METADATA, {}, 0.0)


def refused(*columns: Any) -> str:
    _, errors = parse_columns(SCHEMA, list(columns), NOW)
    return errors[-1].error.message


@pytest.mark.requirement("registers:views:columns")
def test_a_row_has_the_uuid_and_a_value_for_each_column() -> None:
    assert row("number", "place.city", "tags", "tags.1", "@self.created") == {
        "id": "u-1", "number": "A-1", "place.city": "Delft", "tags": ["x", "y"], "tags.1": "y",
        "@self.created": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    assert row("id", {"name": "City", "path": "place.city"}) == {"id": "u-1", "City": "Delft"}


def test_a_missing_value_is_null() -> None:
    assert row("number", "place.city", data={}) == {"id": "u-1", "number": None, "place.city": None}


@pytest.mark.requirement("registers:views:columns")
def test_an_expression_reads_properties_and_the_columns_before_it() -> None:
    assert row(
        {"name": "Total", "expression": "price * amount"},
        {"name": "City", "path": "place.city"},
        {"name": "Label", "expression": "concat(City, ': ', Total)"},
    ) == {"id": "u-1", "Total": 15, "City": "Delft", "Label": "Delft: 15"}


def test_an_expression_that_cannot_be_computed_is_null() -> None:
    assert row({"name": "Bad", "expression": "price / 0"}, {"name": "Odd", "expression": "number * 2"}) == {
        "id": "u-1", "Bad": None, "Odd": None,
    }  # fmt: skip


@pytest.mark.requirement("registers:views:checked")
def test_unknown_names_are_refused_with_the_nearest() -> None:
    assert "Did you mean 'number'" in refused("nubmer")
    assert "Did you mean 'price'" in refused({"name": "T", "expression": "prize * 2"})
    later = [{"name": "T", "expression": "Later"}, {"name": "Later", "path": "price"}]
    _, errors = parse_columns(SCHEMA, later, NOW)
    assert "neither a property nor a column before it" in errors[0].error.message


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (5, "a name or an object"),
        ({"name": "x"}, "exactly one source"),
        ({"name": "x", "path": "price", "expression": "price"}, "exactly one source"),
        ({"expression": "price"}, "needs a name"),
        ({"name": "id", "path": "price"}, "uuid"),
        ({"name": "x\n", "path": "price"}, "printable"),
        ({"path": "price", "colour": "red"}, "no member"),
        ({"name": "x", "expression": "@user"}, "@user"),
        ({"name": "x", "expression": "price +"}, "value is expected"),
        ("lines.sku", "list of objects"),
        ("@self.nonsense", "no metadata"),
    ],
)
def test_a_bad_column_says_what_is_wrong(column: Any, message: str) -> None:
    assert message in refused(column)


def test_names_are_unique_and_the_number_of_columns_is_bounded() -> None:
    assert "Two columns" in refused("price", {"name": "price", "path": "amount"})
    with pytest.raises(LimitExceeded):
        parse_columns(SCHEMA, ["price"] * (MOST_COLUMNS + 1), NOW)
    for nothing in ([], "price", {}):
        with pytest.raises(InvalidInput):
            parse_columns(SCHEMA, nothing, NOW)


def test_a_column_after_one_that_is_left_out_cannot_read_it() -> None:
    columns, errors = parse_columns(
        SCHEMA, [{"name": "a", "path": "nope"}, {"name": "b", "expression": "a + 1"}, "price"], NOW
    )
    assert [column.name for column in columns] == ["price"]
    assert [error.index for error in errors] == [0, 1]
