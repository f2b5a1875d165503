"""Parses the text of a record strictly.

A record is hashed and signed, so its text must have exactly one reading: no duplicate keys, no NaN, no lone surrogates.
Only the JSON types of the known top-level fields are checked here; the validator checks the rest.
"""

import json
from functools import cache
from typing import Any, Final, cast

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json import check_bounds
from pentad.rooms.directory.oasf.objects import objects
from pentad.rooms.directory.oasf.versions import EMBEDDED, embedded_version

MOST_BYTES: Final = 4 * MIB
MOST_DEPTH: Final = 64
MOST_KEYS: Final = 100_000

_DIGITS: Final = 300
_KINDS: Final[dict[str, type]] = {"string": str, "map": dict, "any": object}
_WORDS: Final[dict[type, str]] = {str: "a string", list: "an array", dict: "an object"}


def parse_record(text: str | bytes) -> dict[str, Any]:
    """The record in a text. InvalidInput if it is not a record, LimitExceeded if it is too large."""
    return check_record(parse_json(text))


def parse_json(text: str | bytes) -> Any:
    """The value in a JSON text that has exactly one reading and is not too large."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(body) > MOST_BYTES:
        raise LimitExceeded(
            f"the record has {len(body)} bytes; the most allowed are {MOST_BYTES} bytes",
            hint="Store large data in another place and refer to it by a locator.",
        )
    if not body.strip():
        raise InvalidInput("the text is empty", hint="Send the record as one JSON object.")
    check_bounds(body, depth=MOST_DEPTH, keys=MOST_KEYS)
    return _decoded(body)


def check_record(data: Any) -> dict[str, Any]:
    """The same value, if its version is known and its top-level fields have the right JSON types."""
    if not isinstance(data, dict):
        raise InvalidInput("the record is not a JSON object", hint="Send one object with a schema_version.")
    record = cast("dict[str, Any]", data)
    wrong = [
        f"the field {name} is not {_WORDS[kind]}"
        for name, kind in _field_kinds(_table_of(record.get("schema_version"))).items()
        if record.get(name) is not None and not isinstance(record[name], kind)
    ]
    if wrong:
        raise InvalidInput("; ".join(wrong), hint="Compare the record with the schema of its version.")
    return record


def _table_of(version: Any) -> str:
    """The embedded version that serves a version."""
    known = f"Use one of {', '.join(EMBEDDED)}."
    if version is None or version == "":
        raise InvalidInput("schema_version field is missing", hint=known)
    if not isinstance(version, str):
        raise InvalidInput("schema_version is not a string", hint=known)
    if version[0] in "vV":
        raise InvalidInput(f"schema_version {version[:40]!r} must not begin with 'v'", hint=known)
    if len(version.split(".")) != 3:
        raise InvalidInput(f"schema_version {version[:40]!r} does not have three parts", hint=known)
    served = embedded_version(version)
    if served is None:
        raise InvalidInput(f"unsupported OASF version {version[:40]!r}", hint=known)
    return served.version


@cache
def _field_kinds(version: str) -> dict[str, type]:
    tables = objects(version)
    kinds: dict[str, type] = {}
    for name, attribute in tables.root.attributes.items():
        value = tables.types.get(attribute.type)
        kinds[name] = list if attribute.array else dict if value is None else _KINDS[value.kind]
    return kinds


def _decoded(body: bytes) -> Any:
    try:
        text = body.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InvalidInput("the text is not UTF-8", hint="Send it as UTF-8, without lone surrogates.") from None
    try:
        data = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_number, parse_int=_integer
        )
        if "\\ud" in text or "\\uD" in text:
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidInput("a text has half of a surrogate pair", hint="Write the character as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}", hint="Correct the text there."
        ) from None
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in members if names.count(name) > 1)
        raise InvalidInput(f"the key {duplicate[:40]!r} is there twice in one object", hint="Keep one of the two.")
    return members


def _constant(name: str) -> Any:
    raise InvalidInput(f"{name} is not JSON", hint="Use a number, or leave the field out.")


def _number(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise InvalidInput("a number is too large", hint="Numbers are at most 1.8e308.")
    return number


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise InvalidInput("a number is too large", hint=f"Integers have at most {_DIGITS} digits.")
    return int(text)
