"""Converts values to table cells and back, using the property's JSON Schema.

A table has only text (CSV), or text, numbers, booleans and dates (Excel); the schema says what a cell means. An empty
cell means "not given". If the schema leaves the type open, text that could be read as something else is written as
JSON, so reading it returns the same value.
"""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.references import stored_reference

Schema = Mapping[str, Any]

EXACT_IN_DOUBLE: Final = 2**53
LIST_SEPARATOR: Final = ";"
_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,40}(?:\.0*)?\Z")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?\Z")
_TYPE_ORDER: Final = ("null", "boolean", "integer", "number", "array", "object", "string")


def types_of(schema: Schema) -> tuple[str, ...]:
    """The JSON types of a schema, in the order to try them on a cell; empty if it names none."""
    named = schema.get("type")
    if isinstance(named, str):
        return (named,) if named in _TYPE_ORDER else ("string",)
    if isinstance(named, Sequence):
        return tuple(kind for kind in _TYPE_ORDER if kind in named)
    if stored_reference(schema.get("$ref")) is not None:  # a reference is a uuid or another text
        return ("string",)
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and choices and all(isinstance(choice, str) for choice in cast("Any", choices)):
        return ("string",)
    return ()


def read_cell(cell: Any, schema: Schema) -> Any:
    """The value of a cell; InvalidInput says what was expected."""
    kinds = types_of(schema)
    if not kinds:
        return _read_open(cell)
    for kind in kinds:
        try:
            return _READERS[kind](cell, schema)
        except ValueError:
            continue
    expected = " or ".join(kind for kind in kinds if kind != "null") or "null"
    raise InvalidInput(f"{_quote(cell)} is not {'an' if expected[0] in 'aeiou' else 'a'} {expected}.")


def write_cell(value: Any, schema: Schema) -> str | int | float | bool | None:
    """The cell for a value: text, a number or a boolean; None for an empty cell."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    kinds = types_of(schema)
    if isinstance(value, str):
        return value if kinds and (kinds == ("string",) or not _reads_as_other(value, schema)) else _open_text(value)
    if isinstance(value, list) and "array" in kinds:
        items = cast("list[Any]", value)
        if (plain := _joined(items, schema)) is not None:
            return plain
    return msgspec.json.encode(value).decode()


def _reads_as_other(value: str, schema: Schema) -> bool:
    try:
        return read_cell(value, schema) != value
    except InvalidInput:
        return True


def _open_text(value: str) -> str:
    """Text for an open type: quoted if it could be read as JSON."""
    return value if _read_open(value) == value else msgspec.json.encode(value).decode()


def _read_open(cell: Any) -> Any:
    if not isinstance(cell, str):
        return _plain(cell)
    try:
        return msgspec.json.decode(cell)
    except (msgspec.DecodeError, RecursionError):
        return cell


def _read_string(cell: Any, schema: Schema) -> str:
    if isinstance(cell, str):
        if len(types_of(schema)) > 1 and cell.startswith('"'):
            return _quoted(cell)
        return cell
    if isinstance(cell, (datetime, date, time)):
        return _time_text(cell, str(schema.get("format", "")))
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(_plain(cell))


def _quoted(cell: str) -> str:
    try:
        return msgspec.json.decode(cell, type=str)
    except msgspec.MsgspecError:
        return cell


def _read_integer(cell: Any, schema: Schema) -> int:
    if isinstance(cell, str):
        text = cell.strip()
        if not _INTEGER.match(text):
            raise ValueError
        return int(text.partition(".")[0])
    value = _plain(cell)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError  # noqa: TRY004  another type may still fit
    return value


def _read_number(cell: Any, schema: Schema) -> int | float:
    if isinstance(cell, str):
        text = cell.strip()
        if not _NUMBER.match(text):
            raise ValueError
        value = int(text) if text.lstrip("+-").isdigit() else float(text)
    else:
        value = _plain(cell)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError
    return value


def _read_boolean(cell: Any, schema: Schema) -> bool:
    if isinstance(cell, bool):
        return cell
    if len(types_of(schema)) > 1:  # with other types allowed, only words are booleans: 1 is a number
        words = {"true": True, "false": False}
        if not isinstance(cell, str) or cell not in words:
            raise ValueError
        return words[cell]
    known = _BOOLEANS.get(str(_plain(cell)).strip().lower())
    if known is None:
        raise ValueError
    return known


def _read_null(cell: Any, schema: Schema) -> None:
    if cell != "null":
        raise ValueError


def _read_array(cell: Any, schema: Schema) -> list[Any]:
    """JSON, or values separated by semicolons if the schema has no other type."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        return cast("list[Any]", _read_json(cell, list))
    if set(types_of(schema)) - {"array", "null"}:
        raise ValueError
    items: Schema = schema.get("items") or {"type": "string"}
    parts = cell.split(LIST_SEPARATOR) if isinstance(cell, str) else [cell]
    try:
        return [read_cell(part.strip() if isinstance(part, str) else part, items) for part in parts]
    except InvalidInput as problem:
        raise ValueError from problem


def _read_object(cell: Any, schema: Schema) -> dict[str, Any]:
    return cast("dict[str, Any]", _read_json(cell, dict))


def _read_json(cell: Any, kind: type) -> Any:
    if not isinstance(cell, str):
        raise ValueError  # noqa: TRY004  another type may still fit
    try:
        value = msgspec.json.decode(cell)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError from error
    if not isinstance(value, kind):
        raise ValueError  # noqa: TRY004  another type may still fit
    return value


def _joined(items: list[Any], schema: Schema) -> str | None:
    """A list as values separated by semicolons, if that reads back as the same list."""
    within: Schema = schema.get("items") or {"type": "string"}
    if not items or any(isinstance(item, (dict, list)) or item is None for item in items):
        return None
    cells = [write_cell(item, within) for item in items]
    text = LIST_SEPARATOR.join(_text(cell) for cell in cells)
    try:
        return text if text and read_cell(text, schema) == items else None
    except InvalidInput:
        return None


def _text(cell: str | float | bool | None) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return "" if cell is None else str(cell)


def _plain(cell: Any) -> Any:
    """A spreadsheet value as JSON: whole numbers become integers, times become text."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= EXACT_IN_DOUBLE:
        return int(cell)
    if isinstance(cell, (datetime, date, time)):
        return _time_text(cell, "")
    return str(cell) if isinstance(cell, timedelta) else cell


def _time_text(cell: datetime | date | time, format_: str) -> str:
    """Spreadsheets have no time zones; a format that needs one gets UTC."""
    if isinstance(cell, datetime):
        if format_ == "date" or (not format_ and cell.time() == time()):
            return cell.date().isoformat()
        return cell.isoformat() + ("Z" if cell.tzinfo is None else "")
    if isinstance(cell, date):
        return cell.isoformat() + ("T00:00:00Z" if format_ == "date-time" else "")
    return cell.isoformat() + ("Z" if format_ == "time" and cell.tzinfo is None else "")


def _quote(cell: Any) -> str:
    text = str(cell)
    return repr(text if len(text) <= 60 else text[:57] + "...")


_READERS: Final = {
    "null": _read_null,
    "boolean": _read_boolean,
    "integer": _read_integer,
    "number": _read_number,
    "array": _read_array,
    "object": _read_object,
    "string": _read_string,
}
