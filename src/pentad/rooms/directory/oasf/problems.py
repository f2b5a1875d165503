"""Says what is wrong with a value, once a rule has refused it.

The rules only say yes or no, as fast as they can; the words, the nearest names and the patch are found here.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeGuard

from msgspec.structs import replace as replaced

from pentad.rooms.directory.oasf.findings import Finding, Patch, Place, Report, finding, path, pointer
from pentad.rooms.directory.oasf.objects import Attribute, Constraint, Shape, ValueType
from pentad.rooms.directory.oasf.remedies import NOTHING, converted, misspelled, spelled, timed

Rule = Callable[[Any, Place, str, Report], None]
"""Checks one attribute: its value, the place of what holds it, its name, and where findings go."""

Rules = Mapping[str, Rule]
"""By the name of the attribute."""


def json_type(value: Any) -> str:
    """What a value is, in the words of the type tables."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean_t"
        case int():
            return "integer_t"
        case float():
            return "float_t"
        case str():
            return "string_t"
        case list():
            return "array"
        case _:
            return "object"


def wrong_type(value: Any, place: Place, name: str, expected: str, kind: str, out: Report) -> None:
    """The value is of another JSON type."""
    if out.is_full():
        return
    changed = converted(value, kind)
    patch = replacing(place, changed) if changed is not NOTHING else []
    out.error(
        finding(
            "attribute_wrong_type",
            f'Attribute "{name}" value has wrong type; expected {expected}, got {json_type(value)}.',
            place,
            value=shown(value),
            expected=expected,
            suggestions=() if changed is NOTHING else (str(changed),),
            patch=tuple(patch),
            certain=bool(patch),
        )
    )


def no_list(rule: Rule, value: Any, place: Place, name: str, out: Report) -> None:
    """A single value where a list belongs. A list of that value is meant, if it would be right."""
    wrapped = value is not None and fits_rule(rule, [value], name)
    out.error(
        finding(
            "attribute_wrong_type",
            f'Attribute "{name}" value has wrong type; expected array, got {json_type(value)}.',
            place,
            value=shown(value),
            expected="array",
            patch=tuple(replacing(place, [value])) if wrapped else (),
            certain=wrapped,
        )
    )


def nothing(name: str, required: bool, rule: Rule, place: Place, out: Report) -> None:
    """A null. It says the same as leaving the attribute out, where it may be left out."""
    trial = Report("")
    rule(None, place, name, trial)
    for found in trial.errors:
        patch = () if required else ({"op": "remove", "path": pointer((place, name))},)
        out.error(replaced(found, patch=patch, certain=not required))


def wrong_value(attribute: Attribute, kind: ValueType, value: Any, place: Place, out: Report) -> None:
    """A scalar its rule has refused."""
    name = attribute.name
    if not fits(value, kind.kind):
        wrong_type(value, place, name, kind.name, kind.kind, out)
    elif attribute.values and value not in attribute.values:
        _unknown_value(attribute, value, place, out)
    elif kind.max_len is not None and isinstance(value, str) and len(value) > kind.max_len:
        code = "super_type_max_len" if kind.inherited else "max_len"
        limit = f"max length of {kind.max_len} of type {kind.name}"
        message = f'Attribute "{name}" value length of {len(value)} exceeds {limit}.'
        out.error(finding(f"attribute_value_exceeds_{code}", message, place, value=shown(value), expected=limit))
    elif kind.kind == "number":
        limit = "range of a number" if kind.low is None else f"range of {kind.low:g} to {kind.high:g}"
        message = f'Attribute "{name}" value {value} is outside the {limit} of type {kind.name}.'
        out.error(finding("attribute_value_exceeds_range", message, place, value=value, expected=limit))
    else:
        _unmatched(attribute, kind, value, place, out)


def _unknown_value(attribute: Attribute, value: Any, place: Place, out: Report) -> None:
    meant = spelled(value, attribute.values)
    near = [meant] if meant else misspelled(value, attribute.values)[0] if out.may_search() else []
    code = "attribute_enum_array_value_unknown" if attribute.array else "attribute_enum_value_unknown"
    out.error(
        finding(
            code,
            f'Unknown value for "{attribute.name}"; "{shown(value)}" is not one of {", ".join(attribute.values)}.',
            place,
            value=shown(value),
            expected=", ".join(attribute.values),
            suggestions=tuple(near),
            patch=tuple(replacing(place, near[0])) if near else (),
            certain=meant is not None,
        )
    )


def _unmatched(attribute: Attribute, kind: ValueType, value: str, place: Place, out: Report) -> None:
    meant = timed(value) if kind.name == "datetime_t" else None
    out.warning(
        finding(
            "attribute_value_regex_not_matched",
            f'Attribute "{attribute.name}" value does not match the pattern of type {kind.name}.',
            place,
            value=shown(value),
            expected=kind.regex,
            suggestions=(meant,) if meant else (),
            patch=tuple(replacing(place, meant)) if meant else (),
            certain=meant is not None,
        )
    )


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a JSON type. A number without fraction is an integer, however it is written."""
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return is_integer(value)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case _:
            return True


def is_integer(value: Any) -> TypeGuard[float]:
    return value.__class__ is int or (value.__class__ is float and value.is_integer())


def missing(name: str, required: bool, holder: Mapping[str, Any], place: Place, out: Report) -> None:
    """An attribute that is not there, and must or should be."""
    if required:
        out.error(_missing("required", name, place))
    else:
        out.warning(_missing("recommended", name, place))


def _missing(requirement: str, name: str, place: Place) -> Finding:
    if place is None:
        return _missing_in_record(requirement, name)
    message = f'{requirement.capitalize()} attribute "{name}" is missing.'
    return finding(f"attribute_{requirement}_missing", message, (place, name))


@cache
def _missing_in_record(requirement: str, name: str) -> Finding:
    """Kept: most records lack one of the attributes that are only recommended."""
    message = f'{requirement.capitalize()} attribute "{name}" is missing.'
    return Finding(f"attribute_{requirement}_missing", message, name, f"/{name}")


def unknown(name: str, shape: Shape, rules: Rules, holder: Mapping[str, Any], place: Place, out: Report) -> None:
    """An attribute the object does not have. It is surely a misspelling when its value fits the name it is near to, and
    it is very near, or near no other.
    """
    if out.is_full():
        return
    near, sure = misspelled(name[:100], [n for n in rules if n not in holder]) if out.may_search() else ([], False)
    patch: Patch = []
    if (sure or len(near) == 1) and fits_rule(rules[near[0]], holder[name], near[0]):
        patch = [{"op": "move", "from": pointer((place, name)), "path": pointer((place, near[0]))}]
    message = f'Unknown attribute "{shown(name)}"; it is not defined in {_named(shape)}.'
    out.error(
        finding(
            "attribute_unknown",
            message,
            (place, name),
            value=shown(holder[name]),
            suggestions=tuple(near),
            patch=tuple(patch),
            certain=bool(patch),
        )
    )


def fits_rule(rule: Rule, value: Any, name: str) -> bool:
    """Whether the value is right there, or can surely be put right."""
    trial = Report("")
    rule(value, None, name, trial)
    return all(found.certain for found in trial.errors)


def constraint_failed(shape: Shape, rule: Constraint, holder: Mapping[str, Any], place: Place, out: Report) -> None:
    words = {"at_least_one": "at least one", "just_one": "exactly one"}[rule.kind]
    out.error(
        finding(
            "constraint_failed",
            f"{_named(shape).capitalize()} needs {words} of {', '.join(rule.attributes)}.",
            place,
            expected=f"{words} of {', '.join(rule.attributes)}",
            constraint={rule.kind: list(rule.attributes)},
        )
    )


def empty(name: str, place: Place, out: Report) -> None:
    message = f'Required attribute "{name}" is empty.'
    out.error(finding("attribute_required_empty", message, place, value=[], expected="at least one item"))


def duplicate(name: str, first: int, index: int, place: Place, out: Report) -> None:
    """An item of a list that is there before."""
    if out.is_full():
        return
    here = (place, index)
    out.error(
        finding(
            "attribute_array_duplicate",
            f'Attribute "{name}" has the same item twice: {path((place, first))} and {path(here)}.',
            here,
            expected="unique items",
            patch=({"op": "remove", "path": pointer(here)},),
            certain=True,
        )
    )


def replacing(place: Place, value: Any) -> Patch:
    return [{"op": "replace", "path": pointer(place), "value": value}]


def shown(value: Any) -> Any:
    """The value as a finding repeats it: no longer than a line or two."""
    if isinstance(value, str):
        return value if len(value) <= 200 else value[:200] + "..."
    return value if value is None or isinstance(value, bool | int | float) else json_type(value)


def _named(shape: Shape) -> str:
    kinds = {"object": "object", "module": "module", "skill_base": "skill", "domain_base": "domain"}
    return (
        f'{kinds[shape.family]} "{shape.name}"' if shape.family in ("object", "module") else f"a {kinds[shape.family]}"
    )
