"""View columns: a property, an expression, a value of a related object, or a rollup over a relation.

    "status"    "address.city"    "@self.created"    {"name": "City", "path": "address.city"}
    {"name": "Total", "expression": "price * amount"}
    "applicant.city"    {"name": "Permits", "count": "permits"}
    {"name": "Open fees", "sum": "permits.fee", "filter": {"status": "open"}}
    {"name": "Last decision", "latest": "permits.decision", "by": "decided"}

Columns are parsed against what the caller may read, so a hidden property is treated as nonexistent. An expression may
read properties and earlier columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, get_args

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.definitions.evaluation import evaluate
from pentad.rooms.registers.definitions.expressions import Expression, ExpressionError, parse_expression
from pentad.rooms.registers.query.filters import parse_filter
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import Path, Query, RelatedValue
from pentad.rooms.registers.query.parser import MOST_RELATED, ordered_kind
from pentad.rooms.registers.query.query_fields import (
    NeedsRelatedSchemas,
    QueryField,
    QuerySchema,
    is_metadata,
    resolve_field,
    resolve_related,
)
from pentad.rooms.registers.query.related_values import Rollup, RollupFunction, value_at
from pentad.rooms.registers.query.relations import related_paths

ID: Final = "id"
"""The name under which every row has its object's uuid."""
MOST_COLUMNS: Final = 100
_LONGEST_NAME: Final = 200
_ROLLUPS: Final[tuple[RollupFunction, ...]] = get_args(RollupFunction)
_KINDS: Final = ("path", "expression", *_ROLLUPS)


@dataclass(frozen=True, slots=True)
class PropertyColumn:
    """A property of the object, or part of one. A path below `@self` is metadata."""

    name: str
    path: Path
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class ExpressionColumn:
    """A value computed from the row; null if it cannot be computed."""

    name: str
    expression: Expression
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class RelatedColumn:
    """A value of a related object, or a rollup. `embedded` is the value's path if the related object is embedded."""

    name: str
    value: RelatedValue | Rollup
    numeric: bool = False
    embedded: Path | None = None

    @property
    def empty(self) -> int | None:
        """The value if there are no related objects, or none of them has a value."""
        return 0 if isinstance(self.value, Rollup) and self.value.function in ("count", "sum") else None


Column = PropertyColumn | ExpressionColumn | RelatedColumn


@dataclass(frozen=True, slots=True)
class ColumnError:
    """A column that cannot be shown: its position in the list, and the reason."""

    index: int
    error: InvalidInput | LimitExceeded


def parse_columns(schema: QuerySchema, raw: Any, now: float) -> tuple[list[Column], list[ColumnError]]:
    """The columns that can be shown, and the errors of the others."""
    if not isinstance(raw, list) or not raw:
        raise InvalidInput("columns must be a list of columns.", hint='Write ["number", {"name": ..., "path": ...}].')
    entries = cast("list[Any]", raw)
    if len(entries) > MOST_COLUMNS:
        raise LimitExceeded(f"A view has at most {MOST_COLUMNS} columns, not {len(entries)}.")
    columns: list[Column] = []
    errors: list[ColumnError] = []
    for index, entry in enumerate(entries):
        try:
            column = _column(schema, entry, columns, now)
            if sum(isinstance(one, RelatedColumn) for one in (*columns, column)) > MOST_RELATED:
                raise LimitExceeded(f"A view has at most {MOST_RELATED} columns through relations.")
            if any(column.name == other.name for other in columns):
                raise InvalidInput(f"Two columns are called {column.name!r}.", hint="Give one of them another name.")
            columns.append(column)
        except NeedsRelatedSchemas:  # the related schemas have to be read first
            raise
        except (InvalidInput, LimitExceeded) as error:
            errors.append(ColumnError(index, error))
    return columns, errors


def _column(schema: QuerySchema, entry: Any, before: Sequence[Column], now: float) -> Column:
    given: dict[str, Any] = {"path": entry} if isinstance(entry, str) else entry
    if not isinstance(given, dict):  # pyright: ignore[reportUnnecessaryIsInstance]  it is whatever the caller sent
        raise InvalidInput("A column is a name or an object.", hint='Write "status" or {"name": ..., "path": ...}.')
    kinds = [kind for kind in _KINDS if kind in given]
    if len(kinds) != 1:
        raise InvalidInput(
            "A column has exactly one source.", hint=f"Give one of {', '.join(_KINDS)}, and a name if you like."
        )
    kind = kinds[0]
    more = ("filter", "by") if kind == "latest" else ("filter",) if kind in _ROLLUPS else ()
    _check_members(given, ("name", *more, kind))
    source = given[kind]
    if not isinstance(source, str) or not source:
        raise InvalidInput(f"{kind} of a column must be a text.")
    usual = {"path": source, "expression": None}.get(kind, f"{kind} {source}")
    name = _name(given.get("name", usual))
    if name == ID and source != ID:
        raise InvalidInput(f"The column {ID!r} is the object's uuid.", hint="Give this column another name.")
    if kind == "expression":
        return ExpressionColumn(name, _expression(schema, source, before))
    if kind == "path":
        return _property(schema, name, source)
    return _rollup(schema, name, cast("RollupFunction", kind), source, given, now)


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
    if source in schema.properties:
        return PropertyColumn(name, (source,), schema.properties[source].kind == "number")
    at = resolve_field(schema, source)
    if at.to_many:
        raise InvalidInput(
            f"{source} leads to several objects.", hint=f'Use a rollup: {{"count": "{source.partition(".")[0]}"}}.'
        )
    if at.lists:
        raise InvalidInput(f"{source} is in a list of objects.", hint="Name the list: it is shown whole.")
    numeric = at.kind == "number" and at.single and not at.time
    if not at.hops:
        return PropertyColumn(name, at.path, numeric)
    embedded = tuple(source.split(".")) if at.hops[0].embeds else None
    return RelatedColumn(name, RelatedValue(at.hops, at.path), numeric, embedded)


def _rollup(
    schema: QuerySchema, name: str, function: RollupFunction, source: str, given: Mapping[str, Any], now: float
) -> Column:
    at = resolve_field(schema, source)
    if function == "count" and (at.is_relation or at.is_reference):
        hops, far = resolve_related(schema, source)
        return RelatedColumn(
            name, Rollup(function, hops, criteria=parse_filter(far, given.get("filter"), now)), numeric=True
        )
    if not at.hops or at.is_relation or at.schema is None:
        raise InvalidInput(
            f"{function} needs a property of related objects; {source} is {at.described}.",
            hint='Write {"sum": "permits.fee"}; {"count": "permits"} counts the objects.',
        )
    if at.lists or any(isinstance(step, int) for hop in at.hops for step in hop.path):
        raise InvalidInput(f"{source} is in a list.", hint="Name the list without a number, or another property.")
    criteria = parse_filter(at.schema, given.get("filter"), now)
    if function == "latest":
        by = _latest_by(at.schema, given.get("by"))
        rollup = Rollup(function, at.hops, at.path, criteria=criteria, **by)
        return RelatedColumn(name, rollup, at.kind == "number" and not at.many)
    kind = ordered_kind(at, f"put into {function}", to_many=True)
    if (kind != "number" and function in ("sum", "avg")) or (kind == "boolean" and function in ("min", "max")):
        raise InvalidInput(f"{function} needs numbers; {source} is {at.described}.", hint="Use count or latest.")
    if at.time and function != "count":
        raise InvalidInput(f"{function} cannot be asked of {source}.", hint="Use latest.")
    return RelatedColumn(name, Rollup(function, at.hops, at.path, kind, criteria), kind == "number")


def _latest_by(far: QuerySchema, raw: Any) -> dict[str, Any]:
    """The value that decides which object is the latest; by default its creation time."""
    if raw is None:
        return {}
    if not isinstance(raw, str):
        raise InvalidInput("by of a column must be a text.", hint="Name a property of the related objects.")
    at: QueryField = resolve_field(far, raw)
    kind = ordered_kind(at, "compared by latest")
    if at.hops:
        raise InvalidInput(f"by: {raw[:80]!r} belongs to yet another object.", hint="Name a property of the objects.")
    return {"by": at.path, "by_kind": kind}


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
    columns: Sequence[Column],
    data: Mapping[str, Any],
    metadata: Mapping[str, Any],
    related: Mapping[str, Any],
    now: float,
) -> dict[str, Any]:
    """One row: the uuid and the value of each column, from values the caller may read.

    `related` has the values of related columns by name.
    """
    row: dict[str, Any] = {ID: metadata[ID]}
    for column in columns:
        if isinstance(column, ExpressionColumn):
            row[column.name] = _evaluated(column.expression, {**row, **data}, now)
        elif isinstance(column, RelatedColumn):
            value = related.get(column.name)
            row[column.name] = value_at(data, column.embedded) if value is None and column.embedded else value
        elif column.path[0] == SELF:
            row[column.name] = value_at(metadata, column.path[1:])
        else:
            row[column.name] = value_at(data, column.path)
    return row


def schemas_used(columns: Sequence[Column]) -> set[int]:
    """The schemas columns read through relations."""
    used: set[int] = set()
    for column in columns:
        if isinstance(column, RelatedColumn):
            used |= {hop.schema for hop in column.value.hops}
            if isinstance(column.value, Rollup):
                used |= {schema for schema, _ in related_paths(Query(filter=column.value.criteria))}
    return used


def reads_metadata(columns: Sequence[Column]) -> bool:
    return any(isinstance(column, PropertyColumn) and column.path[0] == SELF for column in columns)


def _evaluated(expression: Expression, data: Mapping[str, Any], now: float) -> Any:
    try:
        return evaluate(expression, data, now=now)
    except ExpressionError:
        return None
