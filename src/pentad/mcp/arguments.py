"""From raw argument bytes to a tool's model: strict first, then a narrow repair of the slips models make.

Repaired are a quoted number or boolean, a whole number in a list of texts, a lone value where a list is wanted, and
JSON text where a list or object is wanted. Every repair is reported to the caller; anything else is refused with what
was wrong, where, and the valid names.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.kernel.schema import pointer

_INTEGER: Final = re.compile(r" *-?[0-9]{1,19} *")


class Arguments(BaseModel):
    """What a tool takes. Subclass it: unknown arguments are refused, values are not changed after the check."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


@dataclass(frozen=True, slots=True)
class Repair:
    """One slip that was mended."""

    path: str
    received: Any
    taken_as: Any

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "received": self.received, "taken_as": self.taken_as}


Location = Sequence[int | str]
Reader = Callable[[bytes], Any]


def read_strictly(model: type[BaseModel]) -> Reader:
    """The fast path: bytes to model in one C call. Raises pydantic's ValidationError."""
    validate = model.__pydantic_validator__.validate_json

    def read(raw: bytes) -> Any:
        return validate(raw, strict=True)

    return read


def read_leniently(model: type[BaseModel], raw: bytes, error: ValidationError) -> tuple[Any, list[Repair]]:
    """Second chance after the strict reading failed with `error`: repaired, or refused in words."""
    try:
        given = msgspec.json.decode(raw)
    except msgspec.ValidationError:  # of what needs no type, only a number of thousands of digits fails so
        raise InvalidInput("The arguments hold a number too long to be read.", hint="Send it as a text.") from None
    except (msgspec.DecodeError, RecursionError):
        raise InvalidInput("The arguments are not valid JSON.", hint="Send an object.") from None
    if not isinstance(given, dict):
        raise InvalidInput(f"The arguments must be an object, not {_kind(given)}.", hint="Send {} for none.")
    arguments = cast("dict[str, Any]", given)
    repairs: list[Repair] = []
    for problem in error.errors(include_url=False, include_context=False):
        _mend(arguments, problem["type"], problem["loc"], repairs)
    if repairs:
        try:
            value = model.__pydantic_validator__.validate_json(msgspec.json.encode(arguments), strict=True)
        except ValidationError as again:
            error = again
        else:
            return value, repairs
    raise refusal(model, error, arguments)


def refusal(model: type[BaseModel], error: ValidationError, given: Any) -> InvalidInput:
    """All that is wrong with the arguments, as one readable error with the facts in `details`."""
    known = argument_names(model)
    problems: list[dict[str, Any]] = []
    sentences: list[str] = []
    for problem in error.errors(include_url=False, include_context=False):
        location, kind = _place(given, problem["loc"], problem["type"]), problem["type"]
        path = pointer(location)
        message = _IN_WORDS_OF_JSON.get(kind, problem["msg"])
        entry: dict[str, Any] = {"path": path, "rule": kind, "message": message}
        if kind == "extra_forbidden" and len(location) == 1:
            name = str(location[0])
            guess = did_you_mean(name, known)
            sentences.append(f"Unknown argument {name!r}.{' ' + guess if guess else ''}")
            entry["valid"] = known
        elif kind == "missing":
            sentences.append(f"Missing argument {dotted(location)!r}.")
        else:
            entry["received"] = _short(problem["input"])
            sentences.append(f"Argument {dotted(location)!r}: {message}; received {_short(problem['input'])!r}.")
        problems.append(entry)
    hint = f"Valid arguments: {', '.join(known)}." if known else "This tool takes no arguments."
    return InvalidInput(" ".join(sentences[:10]), hint=hint, details={"problems": problems[:50]})


def argument_names(model: type[BaseModel]) -> list[str]:
    """The names a caller may use, as they are on the wire."""
    return [field.alias or name for name, field in model.model_fields.items()]


def dotted(location: Location) -> str:
    return ".".join(str(part) for part in location) or "(the whole)"


def _place(given: Any, location: Location, rule: str) -> list[int | str]:
    """Where in the arguments a problem is, without pydantic's names for the kinds a value may have."""
    place: list[int | str] = []
    for part in location[:-1] if rule == "missing" else location:
        if _holds(given, part):
            place.append(part)
            given = given[part]
    return [*place, location[-1]] if rule == "missing" else place


def _mend(arguments: dict[str, Any], rule: str, location: Location, repairs: list[Repair]) -> None:
    mend = _MENDERS.get(rule)
    if rule == "string_type" and not isinstance(location[-1], int):
        return  # a number alone may be anything; in a list of texts it can only be one of them
    found = _parent(arguments, location) if mend else None
    if mend is None or found is None:
        return
    parent, key = found
    received = parent[key]
    mended = mend(received)
    if mended is not None:
        parent[key] = mended
        repairs.append(Repair(pointer(location), _short(received), _short(mended)))


def _parent(arguments: dict[str, Any], location: Location) -> tuple[Any, int | str] | None:
    node: Any = arguments
    for part in location[:-1]:
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            return None
    key = location[-1] if location else None
    if key is None or not _holds(node, key):
        return None
    return node, key


def _holds(node: Any, key: int | str) -> bool:
    if isinstance(node, dict):
        return key in node
    return isinstance(node, list) and isinstance(key, int) and key < len(cast("list[Any]", node))


def _as_integer(value: Any) -> int | None:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else None


def _as_number(value: Any) -> float | int | None:
    if not isinstance(value, str):
        return None
    try:
        number = msgspec.json.decode(value.strip(), type=float)
    except msgspec.MsgspecError:
        return None
    return number


def _as_boolean(value: Any) -> bool | None:
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def _as_list(value: Any) -> list[Any] | None:
    if isinstance(value, str) and value.lstrip().startswith("["):
        parsed = _parsed(value)
        return cast("list[Any]", parsed) if isinstance(parsed, list) else [value]
    return None if value is None or isinstance(value, dict) else [value]


def _as_object(value: Any) -> dict[str, Any] | None:
    parsed = _parsed(value) if isinstance(value, str) and value.lstrip().startswith("{") else None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _as_text(value: Any) -> str | None:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


_MENDERS: Final[dict[str, Callable[[Any], Any]]] = {
    "string_type": _as_text,
    "int_type": _as_integer,
    "int_from_float": _as_integer,
    "float_type": _as_number,
    "bool_type": _as_boolean,
    "list_type": _as_list,
    "tuple_type": _as_list,
    "set_type": _as_list,
    "dict_type": _as_object,
    "model_type": _as_object,
}


_IN_WORDS_OF_JSON: Final = {
    "dict_type": "Input should be an object",
    "is_instance_of": "Input should be an object",  # only objects are taken as they are
    "list_type": "Input should be a list",
}


def _kind(value: Any) -> str:
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list", type(None): "null"}
    return names.get(cast("type[Any]", type(value)), "an object")


def _short(value: Any) -> Any:
    """A value small enough to be quoted in an error."""
    if isinstance(value, str):
        return value if len(value) <= 80 else value[:77] + "..."
    return value if value is None or isinstance(value, bool | int | float) else _kind(value)
