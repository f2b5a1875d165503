"""Patterns of `Like` as both dialects read them.

XXX Filters as SQL conditions.

SQL knows a third truth value and the tree does not: a condition that meets NULL is unknown, which is as good as false
until it is negated. So negation is carried down to the leaves, and a negated leaf says IS NOT TRUE. Leaves that are not
negated stay bare, because only a bare comparison is looked up in an index.
"""

import math
from typing import Final, assert_never

from pentad.kernel.ports import Value
from pentad.kernel.sql import FALSE, TRUE, Sql, joined, select
from pentad.rooms.registers.query.dialects import Parts
from pentad.rooms.registers.query.json_sql import bool_value, exists, json_type, typed_value
from pentad.rooms.registers.query.metadata import Column, column_of
from pentad.rooms.registers.query.models import (
    And,
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
    Scalar,
    Some,
)

_CAPITALS: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_MEANINGFUL: Final = "%_!"


def small(text: str) -> str:
    """The text with A-Z as a-z and nothing else changed, as `lower` does it in both dialects."""
    return text.translate(_CAPITALS)


def like_parameter(pattern: str) -> str:
    """The pattern with `!` as the mark of plain characters: a backslash is read differently by each dialect."""
    written: list[str] = []
    characters = iter(small(pattern))
    for character in characters:
        if character == "\\":
            plain = next(characters, "\\")
            written.append(f"!{plain}" if plain in _MEANINGFUL else plain)
        else:
            written.append("!!" if character == "!" else character)
    return "".join(written)


SIGNS: dict[Comparison, str] = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def condition(parts: Parts, wanted: Filter, *, negated: bool = False) -> Sql:
    """A condition that is true of exactly the objects the filter is true of (or, negated, of exactly the others)."""
    match wanted:
        case And() | Or():
            if not wanted.parts:
                return TRUE if isinstance(wanted, And) is not negated else FALSE
            word = "AND" if isinstance(wanted, And) is not negated else "OR"
            return joined(word, [condition(parts, part, negated=negated) for part in wanted.parts])
        case Not():
            return condition(parts, wanted.part, negated=not negated)
        case Compare(op="ne"):
            return condition(parts, Compare(wanted.path, "eq", wanted.value), negated=not negated)
        case In(negated=True):
            return condition(parts, In(wanted.path, wanted.values), negated=not negated)
        case Exists(wanted=False):
            return condition(parts, Exists(wanted.path), negated=not negated)
        case _:
            leaf = _leaf(parts, wanted)
            return Sql(f"({leaf.text}) IS NOT TRUE", leaf.params) if negated else leaf


def value_of(parts: Parts, path: Path, kind: Kind) -> str:
    """The value at a path as SQL, NULL where there is none of this kind."""
    column = column_of(path)
    return typed_value(parts.dialect, path, kind) if column is None else column.sql


def kind_of(value: str | float | Instant) -> Kind:
    return "text" if isinstance(value, str) else "moment" if isinstance(value, Instant) else "number"


def parameter(parts: Parts, value: str | float | Instant) -> tuple[str, Value]:
    """The mark and the parameter of a text, a number or a moment."""
    if isinstance(value, str | Instant):
        return "?", value if isinstance(value, str) else value.key
    return parts.number_mark, parts.number(_bounded(value))


def _bounded(value: float) -> float:
    """A number the store can hold: beyond 64 bits a double, beyond those infinity."""
    if isinstance(value, float) or -(2**63) <= value < 2**63:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _leaf(parts: Parts, wanted: Compare | In | Like | Exists | Contains | Empty | Some) -> Sql:
    match wanted:
        case Compare():
            return _comparison(parts, wanted.path, wanted.op, wanted.value)
        case In():
            return _one_of(parts, wanted)
        case Like():
            column = column_of(wanted.path)
            if column is not None and column.kind != "text":
                return FALSE
            return Sql(parts.like(value_of(parts, wanted.path, "text")), (like_parameter(wanted.pattern),))
        case Exists():
            return _existence(parts, wanted.path)
        case Contains():
            return _containment(parts, wanted.path, wanted.value)
        case Empty():
            return Sql(parts.empty(wanted.path, wanted.holds))
        case Some():
            found = select("1", Sql(parts.objects_in(wanted.path)), condition(parts, wanted.part))
            return Sql(f"EXISTS ({found.text})", found.params)
        case _:
            assert_never(wanted)


def _comparison(parts: Parts, path: Path, op: Comparison, value: Scalar) -> Sql:
    column = column_of(path)
    if value is None:
        return Sql(f"NOT ({_existence(parts, path).text})") if op == "eq" else FALSE
    if isinstance(value, bool):
        if op != "eq" or column is not None:
            return FALSE
        return Sql(f"{bool_value(parts.dialect, path)} = {int(value)}")
    if column is not None and column.kind != kind_of(value):
        return FALSE
    mark, bound = parameter(parts, value)
    return Sql(f"{value_of(parts, path, kind_of(value))} {SIGNS[op]} {mark}", (bound,))


def _one_of(parts: Parts, wanted: In) -> Sql:
    """Texts, numbers and moments each as one list; truth values and null are single comparisons."""
    column = column_of(wanted.path)
    pieces = [
        _comparison(parts, wanted.path, "eq", value)
        for value in dict.fromkeys(value for value in wanted.values if value is None or isinstance(value, bool))
    ]
    for kind in ("text", "number", "moment"):
        listed = [
            parameter(parts, value)
            for value in wanted.values
            if value is not None and not isinstance(value, bool) and kind_of(value) == kind
        ]
        if listed and _may_be(column, kind):
            marks = ", ".join(mark for mark, _ in listed)
            pieces.append(
                Sql(f"{value_of(parts, wanted.path, kind)} IN ({marks})", tuple(bound for _, bound in listed))
            )
    return joined("OR", pieces) if pieces else FALSE


def _may_be(column: Column | None, kind: Kind) -> bool:
    return column is None or column.kind == kind


def _existence(parts: Parts, path: Path) -> Sql:
    column = column_of(path)
    return Sql(exists(parts.dialect, path) if column is None else f"{column.sql} IS NOT NULL")


def _containment(parts: Parts, path: Path, value: Scalar) -> Sql:
    column = column_of(path)
    if column is not None:
        if column.kind != "text" or not isinstance(value, str):
            return FALSE
        return Sql(parts.has_part(column.sql), (small(value),))
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = _bounded(value)
        if not math.isfinite(value):
            return FALSE
    element = parts.has_element(path, value)
    if not isinstance(value, str):
        return Sql(f"{json_type(parts.dialect, path)} = 'array' AND {element.text}", element.params)
    part = parts.has_part(value_of(parts, path, "text"))
    text = f"CASE WHEN {json_type(parts.dialect, path)} = 'array' THEN {element.text} ELSE {part} END"
    return Sql(text, (*element.params, small(value)))
