"""Describes a schema change in readable lines, such as `fee: renamed to amount`. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from pentad.kernel.json_patch import same_json
from pentad.kernel.json_values import as_list, as_object
from pentad.rooms.registers.definitions.expressions import Renames
from pentad.rooms.registers.definitions.json_diff import quoted
from pentad.rooms.registers.definitions.json_schema import required_names, types_of

_MOST_NAMED: Final = 20
_OF_OBJECTS: Final = frozenset({"properties", "required", "additionalProperties"})
_OF_PROPERTIES: Final = _OF_OBJECTS | {"type", "enum", "items"}
"""Keywords with special wording."""
_ABSENT: Final[Any] = object()


def change_lines(old: Mapping[str, Any], new: Mapping[str, Any], renames: Renames) -> list[str]:
    """The differences between two definitions of a schema; `renames` maps renamed properties to their new paths."""
    named = {*as_object(old.get("properties")), *as_object(new.get("properties"))}
    own: list[str] = []
    for keyword, before, after in _changed("", old, new, _OF_OBJECTS):
        label = f"schema {keyword}" if keyword in named else keyword
        if before is _ABSENT:
            own.append(f"{label}: added {_words(after)}")
        elif after is _ABSENT:
            own.append(f"{label}: removed {_words(before)}")
        else:
            own.append(f"{label}: {_words(before)} became {_words(after)}")
    return [*own, *_object(old, new, (), (), renames), *_reordered(old, new, ())]


def reordered(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The places where properties are in a different order, which JSON equality ignores."""
    return list(_reordered(old, new, ()))


def _object(
    old: Mapping[str, Any], new: Mapping[str, Any], was: tuple[str, ...], path: tuple[str, ...], renames: Renames
) -> Iterator[str]:
    """The properties of an object schema that moved from `was` to `path`, and whether each is required."""
    before, after = as_object(old.get("properties")), as_object(new.get("properties"))
    required_before, required = set(required_names(old)), set(required_names(new))
    present: dict[str, str] = {}
    for name in before:
        to = str(renames.get((*was, name), (name,))[-1])
        present[name] = to if to in after else name
    for name, definition in before.items():
        label, to = _label((*path, name)), present[name]
        if to not in after:
            yield f"{label}: removed {_definition_words(definition)}"
            continue
        if to != name:
            yield f"{label}: renamed to {to}"
            label = _label((*path, to))
        if (to in required) != (name in required_before):
            yield f"{label}: {'becomes' if to in required else 'is no longer'} required"
        yield from _definition(label, definition, after[to], (*was, name), (*path, to), renames)
    known = set(present.values())
    for name, definition in after.items():
        if name not in known:
            yield (f"{_label((*path, name))}: added {_definition_words(definition)}{', required' * (name in required)}")
    undeclared = {*required_before, *required} - {*before, *after}
    for name in sorted(undeclared & (required_before ^ required)):
        yield f"{_label((*path, name))}: {'becomes' if name in required else 'is no longer'} required"
    yield from _undeclared_properties(old, new, path)


def _definition(
    label: str, old: Any, new: Any, was: tuple[str, ...], path: tuple[str, ...], renames: Renames
) -> Iterator[str]:
    """How the definition of one property differs."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        if not same_json(old, new):
            yield f"{label}: {_definition_words(old)} became {_definition_words(new)}"
        return
    before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
    if types_of(before) != types_of(after):
        types = [" or ".join(types_of(one)) or "any value" for one in (before, after)]
        yield f"{label}: {types[0]} became {types[1]}"
    if not same_json(before.get("enum"), after.get("enum")):
        yield f"{label}: {_allowed(before.get('enum'), after.get('enum'))}"
    for keyword, one, other in _changed("", before, after, _OF_PROPERTIES):
        if one is _ABSENT:
            yield f"{label}: {keyword} {_words(other)} added"
        elif other is _ABSENT:
            yield f"{label}: {keyword} {_words(one)} removed"
        else:
            yield f"{label}: {keyword} {_words(one)} became {_words(other)}"
    yield from _object(before, after, was, path, renames)
    if not same_json(before.get("items"), after.get("items")):
        inside = (*was, "[]"), (*path, "[]")
        yield from _definition(f"{label}[]", before.get("items", {}), after.get("items", {}), *inside, renames)


def _allowed(old: Any, new: Any) -> str:
    """The enum values added and removed."""
    if not isinstance(new, list):
        return "allows every value"
    if not isinstance(old, list):
        return f"allows only {_listed(as_list(new))}"
    come = [one for one in as_list(new) if not any(same_json(one, known) for known in as_list(old))]
    gone = [one for one in as_list(old) if not any(same_json(one, known) for known in as_list(new))]
    parts = [f"now allows {_listed(come)}"] if come else []
    parts += [f"no longer allows {_listed(gone)}"] if gone else []
    return ", ".join(parts) or f"allows the same values in the order {_listed(as_list(new))}"


def _undeclared_properties(old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Whether an object may have properties that its schema does not declare."""
    before, after = old.get("additionalProperties", True), new.get("additionalProperties", True)
    if same_json(before, after):
        return
    where = f"{_label(path)}: " if path else ""
    match after:
        case True:
            yield f"{where}undeclared properties are allowed"
        case False:
            yield f"{where}undeclared properties are refused"
        case _:
            yield f"{where}undeclared properties must be {_definition_words(after)}"


def _changed(
    label: str, old: Mapping[str, Any], new: Mapping[str, Any], special: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Any, Any]]:
    """The members that differ, with objects taken apart: label, old and new value."""
    for name in dict.fromkeys((*old, *new)):
        before, after, where = old.get(name, _ABSENT), new.get(name, _ABSENT), f"{label}{name}"
        if name in special:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _changed(f"{where}.", cast("dict[str, Any]", before), cast("dict[str, Any]", after))
        elif before is _ABSENT or after is _ABSENT or not same_json(before, after):
            yield where, before, after


def _words(value: Any) -> str:
    """A short form of a value; for an object, its member names."""
    if isinstance(value, dict):
        return f"({_names(list(cast('dict[str, Any]', value)))})"
    return f"({_listed(as_list(value))})" if isinstance(value, list) else quoted(value)


def _listed(values: list[Any]) -> str:
    return _names([quoted(value) for value in values])


def _names(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")


def _label(path: tuple[str, ...]) -> str:
    """The place of a property: `address.city`, `lines[].price`."""
    return ".".join(path).replace(".[]", "[]")


def _reordered(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return
    before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
    names = [name for name in after if name in before]
    if path[-1:] == ("properties",) and names != [name for name in before if name in after]:
        yield f"{'.'.join(path)}: the order became {_names(list(after))}"
    for name in names:
        yield from _reordered(before[name], after[name], (*path, name))


def _definition_words(value: Any) -> str:
    """A short form of a property's definition: `(string, date)`."""
    definition = as_object(value)
    words = [" or ".join(types_of(definition))] if "type" in definition else []
    for keyword, text in (("format", "{}"), ("$ref", "reference to {}")):
        if isinstance(given := definition.get(keyword), str):
            words.append(text.format(given.rpartition("/")[2][:60]))
    if "enum" in definition:
        words.append("enum")
    return f"({', '.join(words) or 'any value'})" if isinstance(value, dict) else quoted(value)
