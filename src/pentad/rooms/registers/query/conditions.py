"""Filters as SQL conditions.

SQL has a third truth value and filters do not: a comparison with NULL is unknown, which acts like false until it is
negated. So negation is pushed down to the leaves, and a negated leaf becomes IS NOT TRUE. Other leaves stay as they
are, because only a bare comparison uses an index.
"""

import math
from typing import Final, assert_never

from pentad.kernel.ports import Value
from pentad.kernel.sql import FALSE, TRUE, Sql, joined, select
from pentad.rooms.registers.query.dialects import SqlDialect
from pentad.rooms.registers.query.json_sql import bool_value, exists, json_type, typed_value
from pentad.rooms.registers.query.metadata import Column, column_of
from pentad.rooms.registers.query.models import (
    And,
    AnyElement,
    Compare,
    Comparison,
    Contains,
    Empty,
    Exists,
    Filter,
    In,
    Instant,
    Kind,
    Like,
    Not,
    Or,
    Path,
    Related,
    Scalar,
)

_CAPITALS: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_MEANINGFUL: Final = "%_!"


def ascii_lower(text: str) -> str:
    """The text with only A-Z lower-cased, like `lower` in both dialects."""
    return text.translate(_CAPITALS)


def like_parameter(pattern: str) -> str:
    """The pattern with `!` as the escape character, because the dialects treat backslashes differently."""
    written: list[str] = []
    characters = iter(ascii_lower(pattern))
    for character in characters:
        if character == "\\":
            plain = next(characters, "\\")
            written.append(f"!{plain}" if plain in _MEANINGFUL else plain)
        else:
            written.append("!!" if character == "!" else character)
    return "".join(written)


SQL_OPERATORS: dict[Comparison, str] = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def condition(sql: SqlDialect, criteria: Filter, *, negated: bool = False) -> Sql:
    """The SQL condition for a filter, or for its exact complement if `negated`."""
    match criteria:
        case And() | Or():
            if not criteria.parts:
                return TRUE if isinstance(criteria, And) is not negated else FALSE
            word = "AND" if isinstance(criteria, And) is not negated else "OR"
            return joined(word, [condition(sql, part, negated=negated) for part in criteria.parts])
        case Not():
            return condition(sql, criteria.part, negated=not negated)
        case Compare(op="ne"):
            return condition(sql, Compare(criteria.path, "eq", criteria.value), negated=not negated)
        case In(negated=True):
            return condition(sql, In(criteria.path, criteria.values), negated=not negated)
        case Exists(expected=False):
            return condition(sql, Exists(criteria.path), negated=not negated)
        case _:
            leaf = _leaf(sql, criteria)
            return Sql(f"({leaf.text}) IS NOT TRUE", leaf.params) if negated else leaf


def value_sql(sql: SqlDialect, path: Path, kind: Kind) -> str:
    """SQL for the value at a path; NULL if it is missing or of another kind."""
    column = column_of(path)
    return typed_value(sql.dialect, path, kind) if column is None else column.sql


def scalar_kind(value: str | float | Instant) -> Kind:
    return "text" if isinstance(value, str) else "moment" if isinstance(value, Instant) else "number"


def parameter(sql: SqlDialect, value: str | float | Instant) -> tuple[str, Value]:
    """The placeholder and parameter for a text, a number or a moment."""
    if isinstance(value, str | Instant):
        return "?", value if isinstance(value, str) else value.key
    return sql.number_mark, sql.number(_bounded(value))


def _bounded(value: float) -> float:
    """A number the store can hold: a double beyond 64 bits, infinity beyond the range of doubles."""
    if isinstance(value, float) or -(2**63) <= value < 2**63:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _leaf(sql: SqlDialect, criteria: Compare | In | Like | Exists | Contains | Empty | AnyElement | Related) -> Sql:
    match criteria:
        case Compare():
            return _comparison(sql, criteria.path, criteria.op, criteria.value)
        case In():
            return _one_of(sql, criteria)
        case Like():
            column = column_of(criteria.path)
            if column is not None and column.kind != "text":
                return FALSE
            return Sql(sql.like(value_sql(sql, criteria.path, "text")), (like_parameter(criteria.pattern),))
        case Exists():
            return _existence(sql, criteria.path)
        case Contains():
            return _containment(sql, criteria.path, criteria.value)
        case Empty():
            return Sql(sql.empty(criteria.path, criteria.holds))
        case AnyElement():
            found = select("1", Sql(sql.objects_in(criteria.path)), condition(sql, criteria.part))
            return Sql(f"EXISTS ({found.text})", found.params)
        case Related():
            from pentad.rooms.registers.query.related_rows import has_related  # imports this module

            return has_related(sql, criteria)
        case _:
            assert_never(criteria)


def _comparison(sql: SqlDialect, path: Path, op: Comparison, value: Scalar) -> Sql:
    column = column_of(path)
    if value is None:
        return Sql(f"NOT ({_existence(sql, path).text})") if op == "eq" else FALSE
    if isinstance(value, bool):
        if op != "eq" or column is not None:
            return FALSE
        return Sql(f"{bool_value(sql.dialect, path)} = {int(value)}")
    if column is not None and column.kind != scalar_kind(value):
        return FALSE
    mark, bound = parameter(sql, value)
    return Sql(f"{value_sql(sql, path, scalar_kind(value))} {SQL_OPERATORS[op]} {mark}", (bound,))


def _one_of(sql: SqlDialect, criteria: In) -> Sql:
    """The condition for `In`: texts, numbers and moments as one list each; booleans and null as single comparisons."""
    column = column_of(criteria.path)
    pieces = [
        _comparison(sql, criteria.path, "eq", value)
        for value in dict.fromkeys(value for value in criteria.values if value is None or isinstance(value, bool))
    ]
    for kind in ("text", "number", "moment"):
        listed = [
            parameter(sql, value)
            for value in criteria.values
            if value is not None and not isinstance(value, bool) and scalar_kind(value) == kind
        ]
        if listed and _may_be(column, kind):
            marks = ", ".join(mark for mark, _ in listed)
            pieces.append(
                Sql(f"{value_sql(sql, criteria.path, kind)} IN ({marks})", tuple(bound for _, bound in listed))
            )
    return joined("OR", pieces) if pieces else FALSE


def _may_be(column: Column | None, kind: Kind) -> bool:
    return column is None or column.kind == kind


def _existence(sql: SqlDialect, path: Path) -> Sql:
    column = column_of(path)
    return Sql(exists(sql.dialect, path) if column is None else f"{column.sql} IS NOT NULL")


def _containment(sql: SqlDialect, path: Path, value: Scalar) -> Sql:
    column = column_of(path)
    if column is not None:
        if column.kind != "text" or not isinstance(value, str):
            return FALSE
        return Sql(sql.has_part(column.sql), (ascii_lower(value),))
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = _bounded(value)
        if not math.isfinite(value):
            return FALSE
    element = sql.has_element(path, value)
    if not isinstance(value, str):
        return Sql(f"{json_type(sql.dialect, path)} = 'array' AND {element.text}", element.params)
    part = sql.has_part(value_sql(sql, path, "text"))
    text = f"CASE WHEN {json_type(sql.dialect, path)} = 'array' THEN {element.text} ELSE {part} END"
    return Sql(text, (*element.params, ascii_lower(value)))
