"""The columns of a view: a property, an expression, a value through references, or a rollup over a relation.

    "status"    "address.city"    "@self.created"    {"name": "City", "path": "address.city"}
    {"name": "Total", "expression": "price * amount"}

Columns are parsed against what one caller may read, so a hidden property is as unknown as one that does not exist. An
expression may read properties and the columns before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.definitions.evaluation import evaluate
from pentad.rooms.registers.definitions.expressions import Expression, ExpressionError, parse_expression
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import Path
from pentad.rooms.registers.query.query_fields import QuerySchema, is_metadata, resolve_field

ID: Final = "id"
"""Every row has the uuid of its object under this name."""
MOST_COLUMNS: Final = 100
_LONGEST_NAME: Final = 200
_KINDS: Final = ("path", "expression")


@dataclass(frozen=True, slots=True)
class PropertyColumn:
    """A property of the object, or a part of one. A path below `@self` is metadata."""

    name: str
    path: Path
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class ExpressionColumn:
    """A value computed from the row. A value that cannot be computed is null."""

    name: str
    expression: Expression
    numeric: bool = False


Column = PropertyColumn | ExpressionColumn


@dataclass(frozen=True, slots=True)
class ColumnError:
    """A column that cannot be shown: its place in the list, and why."""

    index: int
    error: InvalidInput | LimitExceeded


def parse_columns(schema: QuerySchema, raw: Any) -> tuple[list[Column], list[ColumnError]]:
    """The columns that can be shown, and what is wrong with the others."""
    if not isinstance(raw, list) or not raw:
        raise InvalidInput("columns must be a list of columns.", hint='Write ["number", {"name": ..., "path": ...}].')
    entries = cast("list[Any]", raw)
    if len(entries) > MOST_COLUMNS:
        raise LimitExceeded(f"A view has at most {MOST_COLUMNS} columns, not {len(entries)}.")
    columns: list[Column] = []
    errors: list[ColumnError] = []
    for index, entry in enumerate(entries):
        try:
            column = _column(schema, entry, columns)
            if any(column.name == other.name for other in columns):
                raise InvalidInput(f"Two columns are called {column.name!r}.", hint="Give one of them another name.")
            columns.append(column)
        except (InvalidInput, LimitExceeded) as error:
            errors.append(ColumnError(index, error))
    return columns, errors


def _column(schema: QuerySchema, entry: Any, before: Sequence[Column]) -> Column:
    given: dict[str, Any] = {"path": entry} if isinstance(entry, str) else entry
    if not isinstance(given, dict):  # pyright: ignore[reportUnnecessaryIsInstance]  it is whatever the caller sent
        raise InvalidInput("A column is a name or an object.", hint='Write "status" or {"name": ..., "path": ...}.')
    kinds = [kind for kind in _KINDS if kind in given]
    if len(kinds) != 1:
        raise InvalidInput(
            "A column has exactly one source.", hint=f"Give one of {', '.join(_KINDS)}, and a name if you like."
        )
    _check_members(given, ("name", kinds[0]))
    source = given[kinds[0]]
    if not isinstance(source, str) or not source:
        raise InvalidInput(f"{kinds[0]} of a column must be a text.")
    name = _name(given.get("name", source if kinds[0] == "path" else None))
    if name == ID and source != ID:
        raise InvalidInput(f"The column {ID!r} is the object's uuid.", hint="Give this column another name.")
    if kinds[0] == "expression":
        return ExpressionColumn(name, _expression(schema, source, before))
    return _property(schema, name, source)


def _property(schema: QuerySchema, name: str, source: str) -> Column:
    if source == ID and ID not in schema.properties:
        return PropertyColumn(name, (SELF, ID))
    if source == ID and name == ID:
        raise InvalidInput(
            f"The column {ID!r} is the object's uuid, and the schema has a property of that name.",
            hint=f'Give it another name: {{"name": "number", "path": "{ID}"}}.',
        )
    if is_metadata(source):
        return PropertyColumn(name, tuple(source.split(".")))
    at = resolve_field(schema, source)
    if at.lists:
        raise InvalidInput(f"{source} is in a list of objects.", hint="Name the list: it is shown whole.")
    return PropertyColumn(name, at.path, at.kind == "number" and at.single)


def _expression(schema: QuerySchema, source: str, before: Sequence[Column]) -> Expression:
    expression = parse_expression(source)
    if facts := expression.facts():
        raise InvalidInput(f"An expression of a view has no @{min(facts)}.", hint="It reads the row, not the caller.")
    names = [*schema.properties, *(column.name for column in before)]
    for name in sorted(expression.properties()) if schema.properties else ():
        if name not in names:
            guess = did_you_mean(name, names)
            raise InvalidInput(
                f"The expression {source[:80]!r} reads {name[:80]!r}, which is neither a property nor a column before"
                f" it.{' ' + guess if guess else ''}",
                details={"property": name[:200], "nearest": []},
            )
    return expression


def _name(raw: Any) -> str:
    if not isinstance(raw, str) or not 0 < len(raw.strip()) <= _LONGEST_NAME or not raw.isprintable():
        raise InvalidInput(f"A column needs a name of 1 to {_LONGEST_NAME} printable characters.")
    return raw.strip()


def _check_members(given: Mapping[str, Any], members: Sequence[str]) -> None:
    for name in given:
        if name not in members:
            guess = did_you_mean(name, members)
            raise InvalidInput(
                f"A column with {members[-1]!r} has no member {name[:60]!r}.{' ' + guess if guess else ''}",
                hint=f"It has {', '.join(members)}.",
            )


def row_values(
    columns: Sequence[Column], data: Mapping[str, Any], metadata: Mapping[str, Any], now: float
) -> dict[str, Any]:
    """One row: the uuid and the value of each column. `data` and `metadata` are what the caller may read."""
    row: dict[str, Any] = {ID: metadata[ID]}
    for column in columns:
        if isinstance(column, ExpressionColumn):
            row[column.name] = _evaluated(column.expression, {**row, **data}, now)
        elif column.path[0] == SELF:
            row[column.name] = _value_at(metadata, column.path[1:])
        else:
            row[column.name] = _value_at(data, column.path)
    return row


def reads_metadata(columns: Sequence[Column]) -> bool:
    return any(isinstance(column, PropertyColumn) and column.path[0] == SELF for column in columns)


def _evaluated(expression: Expression, data: Mapping[str, Any], now: float) -> Any:
    try:
        return evaluate(expression, data, now=now)
    except ExpressionError:
        return None


def _value_at(node: Any, path: Path) -> Any:
    for step in path:
        if isinstance(node, Mapping) and isinstance(step, str):
            node = cast("Mapping[str, Any]", node).get(step)
        elif isinstance(node, list) and isinstance(step, int):
            members = cast("list[Any]", node)
            node = members[step] if step < len(members) else None
        else:
            return None
    return node
