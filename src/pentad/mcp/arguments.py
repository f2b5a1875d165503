"""Reads a tool's arguments: strictly first, then with a few safe repairs of mistakes that models often make.

Repairs are: a quoted number or boolean, a whole number in a list of strings, a single value instead of a list, and JSON
text instead of a list or object. Every repair is reported to the caller. Any other problem is an error that says what
is wrong and where. If possible, the error also has the nearest valid name or value and a JSON Patch for the arguments.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

import msgspec
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from pentad.kernel.errors import InvalidInput
from pentad.kernel.problems import (
    NO_VALUE,
    Finding,
    Place,
    convert_value,
    finding,
    nearest_names,
    pointer,
    replacement,
)

_MOST_SENTENCES: Final = 10
_MOST_PROBLEMS: Final = 50
_MOST_HOMES: Final = 6
"""How many actions a hint lists for an argument."""
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'")


class Arguments(BaseModel):
    """Base of every tool's arguments. Unknown arguments are refused; values do not change after validation. Validators
    are built at the first call, because a server starts faster than it could build all of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


class ActionTable(Struct, frozen=True):
    """The arguments that each action of a tool reads. Others are refused, because ignoring one would answer a different
    question.

    `fields` also includes the arguments that all actions read, by field name: if nothing else is set, nothing is
    refused.
    """

    actions: Mapping[str, frozenset[str]]
    fields: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, all_read: str, /, **actions: str) -> "ActionTable":
        """A table from words: the names of arguments as callers write them."""
        read = {action: frozenset(text.split()) for action, text in actions.items()}
        always = ("action", *all_read.split())
        fields = {
            action: frozenset(f"{name}{end}" for name in (*names, *always) for end in ("", "_"))
            for action, names in read.items()
        }
        return cls(read, fields)

    def refuse_unread(self, arguments: Arguments, action: str, label: str = "") -> None:
        """InvalidInput for arguments that the action does not read. Empty values and defaults count as not given.

        `label` is what errors call the action.
        """
        others = arguments.model_fields_set - self.fields[action]
        if not others or not (unread := _given(arguments, others)):
            return
        hint = [f"It takes {', '.join(sorted(self.actions[action])) or 'nothing more'}."]
        for name in unread:
            homes = [other for other, names in self.actions.items() if name in names]
            if 0 < len(homes) <= _MOST_HOMES:
                hint.append(f"{name} goes with action={'|'.join(homes)}.")
        asked = label or f"action={action}"
        raise InvalidInput(
            f"{asked} does not take {' or '.join(unread)}.", hint=" ".join(hint), details={"arguments": unread}
        )


def _given(arguments: Arguments, names: Iterable[str]) -> list[str]:
    """The fields whose value is neither empty nor the default, by the names callers use."""
    fields = type(arguments).model_fields
    values: dict[str, Any] = {name: getattr(arguments, name) for name in names}
    empty: tuple[Any, ...] = (None, "", [], {})
    return sorted(
        fields[name].alias or name
        for name, value in values.items()
        if value not in empty and value != fields[name].default
    )


class Repair(Struct, frozen=True):
    """One repaired value."""

    path: str
    received: Any
    taken_as: Any

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "received": self.received, "taken_as": self.taken_as}


Location = Sequence[int | str]


def read_with_repairs(model: type[BaseModel], raw: bytes, error: ValidationError) -> tuple[Any, list[Repair]]:
    """Read arguments that failed strict validation with `error`. Raises InvalidInput if repairs do not help."""
    try:
        given = msgspec.json.decode(raw)
    except msgspec.ValidationError:  # without a type, the decoder refuses only numbers of thousands of digits
        raise InvalidInput("The arguments contain a number that is too long.", hint="Send it as a string.") from None
    except (msgspec.DecodeError, RecursionError):
        raise InvalidInput("The arguments are not valid JSON.", hint="Send an object.") from None
    if not isinstance(given, dict):
        raise InvalidInput(f"The arguments must be an object, not {_kind(given)}.", hint="Send {} for none.")
    arguments = cast("dict[str, Any]", given)
    repairs = [
        repair
        for problem in error.errors(include_url=False, include_context=False)
        if (repair := _repair(arguments, problem["type"], problem["loc"])) is not None
    ]
    if repairs:
        try:
            return model.model_validate_json(msgspec.json.encode(arguments), strict=True), repairs
        except ValidationError as again:
            error = again
    raise argument_error(model, error, arguments)


def check_no_arguments(raw: bytes) -> None:
    """Refuse any arguments, for a tool that takes none."""
    try:
        given = msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise InvalidInput("The arguments must be an object.", hint="Send {} for none.") from None
    if given:
        names = ", ".join(repr(name) for name in list(given)[:_MOST_SENTENCES])
        raise InvalidInput(f"Unknown arguments: {names}.", hint="This tool takes no arguments.")


def argument_error(model: type[BaseModel], error: ValidationError, given: Any) -> InvalidInput:
    """All problems with the arguments as one error: readable, and as data in `details`."""
    names = [field.alias or name for name, field in model.model_fields.items()]
    problems: list[dict[str, Any]] = []
    sentences: list[str] = []
    taken = set(cast("dict[str, Any]", given)) if isinstance(given, dict) else set[str]()
    for problem in error.errors(include_url=False):
        sentence, found, more = _explain(problem, given, names, taken)
        sentences.append(sentence)
        problems.append({"path": found.pointer, "rule": found.code, "message": found.message, **more, **_fix(found)})
    hint = f"Valid arguments: {', '.join(names)}." if names else "This tool takes no arguments."
    details = {"problems": problems[:_MOST_PROBLEMS]}
    return InvalidInput(" ".join(sentences[:_MOST_SENTENCES]), hint=hint, details=details)


def _explain(
    problem: ErrorDetails, given: Any, names: Sequence[str], taken: set[str]
) -> tuple[str, Finding, dict[str, Any]]:
    """One problem as a sentence, as a finding, and as further members of the error's data.

    `taken` are names that already have a value, so no patch may move another value there.
    """
    rule = problem["type"]
    location = _location(given, problem["loc"], rule)
    place = _place(location)
    message = _MESSAGES.get(rule, problem["msg"])
    dotted = ".".join(str(part) for part in location) or "(the whole)"
    if rule == "missing":
        return f"Missing argument {dotted!r}.", finding(rule, message, place), {}
    if rule == "extra_forbidden" and len(location) == 1:
        name = str(location[0])
        near, certain = nearest_names(name, names)
        is_free = bool(near) and near[0] not in taken
        taken.update(near[:1])
        patch = ({"op": "move", "from": pointer(place), "path": pointer((None, near[0]))},) if is_free else ()
        found = finding(rule, message, place, suggestions=tuple(near), patch=patch, certain=certain and is_free)
        sentence = f"Unknown argument {name!r}." + (f" Did you mean {near[0]!r}?" if near else "")
        return sentence, found, {"valid": list(names)}
    value = problem["input"]
    near, certain = [], False
    if rule in ("literal_error", "enum") and isinstance(value, str):
        near, certain = nearest_names(value, _QUOTED.findall(str(problem.get("ctx", {}).get("expected", ""))))
    patch = tuple(replacement(place, near[0])) if near else ()
    found = finding(rule, message, place, suggestions=tuple(near), patch=patch, certain=certain)
    sentence = f"Argument {dotted!r}: {message}; received {_short(value)!r}."
    return sentence + (f" Did you mean {near[0]!r}?" if near else ""), found, {"received": _short(value)}


def _fix(found: Finding) -> dict[str, Any]:
    """Ways to correct a problem: the nearest names or values, and a JSON Patch that applies the first one."""
    fields: dict[str, Any] = {"suggestions": list(found.suggestions), "patch": list(found.patch)}
    return {name: value for name, value in {**fields, "certain": found.certain}.items() if value}


def _place(location: Location) -> Place:
    place: Place = None
    for part in location:
        place = (place, part)
    return place


def _location(given: Any, location: Location, rule: str) -> list[int | str]:
    """Where in the arguments a problem is. Pydantic also names the members of unions; they are left out."""
    found: list[int | str] = []
    for part in location[:-1] if rule == "missing" else location:
        if _holds(given, part):
            found.append(part)
            given = given[part]
    return [*found, location[-1]] if rule == "missing" else found


def _repair(arguments: dict[str, Any], rule: str, location: Location) -> Repair | None:
    """Repair one value in place, if its problem is a known mistake."""
    convert = _CONVERSIONS.get(rule)
    if convert is None or (rule == "string_type" and not isinstance(location[-1], int)):
        return None  # a number instead of a string may mean anything, but not inside a list of strings
    parent: Any = arguments
    for part in location[:-1]:
        if not _holds(parent, part):
            return None
        parent = parent[part]
    if not location or not _holds(parent, location[-1]):
        return None
    received = parent[location[-1]]
    if (value := convert(received)) is NO_VALUE:
        return None
    parent[location[-1]] = value
    return Repair(pointer(_place(location)), _short(received), _short(value))


def _holds(node: Any, key: int | str) -> bool:
    if isinstance(node, dict):
        return key in node
    return isinstance(node, list) and isinstance(key, int) and key < len(cast("list[Any]", node))


def _to_number(value: Any) -> Any:
    if not isinstance(value, str):
        return NO_VALUE
    try:
        return msgspec.json.decode(value.strip(), type=float)
    except msgspec.MsgspecError:
        return NO_VALUE


def _to_list(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip().startswith("["):
        parsed = _parse(value)
        return cast("list[Any]", parsed) if isinstance(parsed, list) else [value]
    return NO_VALUE if value is None or isinstance(value, dict) else [value]


def _to_object(value: Any) -> Any:
    parsed = _parse(value) if isinstance(value, str) and value.lstrip().startswith("{") else None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else NO_VALUE


def _parse(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "string_type": partial(convert_value, kind="string"),
    "int_type": partial(convert_value, kind="integer"),
    "int_from_float": partial(convert_value, kind="integer"),
    "float_type": _to_number,
    "bool_type": partial(convert_value, kind="boolean"),
    "list_type": _to_list,
    "tuple_type": _to_list,
    "set_type": _to_list,
    "dict_type": _to_object,
    "model_type": _to_object,
}
"""By pydantic's error type: converts a value, or returns NO_VALUE."""

_MESSAGES: Final = {
    "dict_type": "Input should be an object",
    "is_instance_of": "Input should be an object",  # pydantic's text would name a Python class
    "list_type": "Input should be a list",
}


def _kind(value: Any) -> str:
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list", type(None): "null"}
    return names.get(cast("type[Any]", type(value)), "an object")


def _short(value: Any) -> Any:
    """The value, shortened so that an error can quote it."""
    if isinstance(value, str):
        return value if len(value) <= 80 else value[:77] + "..."
    return value if value is None or isinstance(value, bool | int | float) else _kind(value)
