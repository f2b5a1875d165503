"""The findings of a validation: the report, and the finding for each kind of wrong value.

The rules only answer yes or no, as fast as they can. Messages, suggestions and patches are made here, after a rule has
rejected a value.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeGuard

from msgspec.structs import replace as replaced

from pentad.kernel.problems import (
    NO_VALUE,
    Finding,
    Patch,
    Place,
    as_rfc3339,
    convert_value,
    finding,
    nearest_names,
    path,
    pointer,
    replacement,
    same_spelling,
)
from pentad.rooms.directory.oasf.objects import Attribute, Constraint, Shape, ValueType

MOST_FINDINGS: Final = 1000
"""Errors (or warnings) beyond this number are only counted."""

MOST_LOOKUPS: Final = 24
"""How often one validation may search for similar names. The search is slow, and a record may be hostile."""

RENAMED_VALUES: Final = {
    "docker_image": "container_image",
    "container_image": "docker_image",
    "python_package": "package",
    "local": "stdio",
    "http": "streamable-http",
}
"""Values with another name in another OASF version."""


_MOMENT_FORM: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}")


class Report:
    """Errors and warnings of one validation. Warnings do not make a record invalid."""

    __slots__ = ("_lookups", "errors", "more_errors", "more_warnings", "version", "warnings")

    def __init__(self, version: str) -> None:
        self.version = version
        """The version the record names."""
        self.errors: list[Finding] = []
        self.warnings: list[Finding] = []
        self.more_errors = 0
        self.more_warnings = 0
        self._lookups = 0

    @property
    def valid(self) -> bool:
        return not self.errors

    def lines(self) -> list[str]:
        """Errors first, then warnings, each with its prefix."""
        lines = [f"ERROR: {finding.line()}" for finding in self.errors]
        if self.more_errors:
            lines.append(f"ERROR: Validation Error: {self.more_errors} further errors are not listed.")
        lines += [f"WARNING: {finding.line()}" for finding in self.warnings]
        if self.more_warnings:
            lines.append(f"WARNING: Validation Error: {self.more_warnings} further warnings are not listed.")
        return lines

    def error(self, finding: Finding) -> None:
        if len(self.errors) < MOST_FINDINGS:
            self.errors.append(finding)
        else:
            self.more_errors += 1

    def warning(self, finding: Finding) -> None:
        if len(self.warnings) < MOST_FINDINGS:
            self.warnings.append(finding)
        else:
            self.more_warnings += 1

    def is_full(self) -> bool:
        """Whether the list of errors is full. If so, counts one more, so that the caller need not build it."""
        if len(self.errors) < MOST_FINDINGS:
            return False
        self.more_errors += 1
        return True

    def may_search(self) -> bool:
        """Whether another search for similar names is allowed. Counts it."""
        self._lookups += 1
        return self._lookups <= MOST_LOOKUPS


Rule = Callable[[Any, Place, str, Report], None]
"""Checks one attribute: its value, the place of its container, its name, and the report."""

Rules = Mapping[str, Rule]
"""Rules by attribute name."""


def json_type(value: Any) -> str:
    """The type of a value, as the type tables call it."""
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
    """The value has the wrong JSON type."""
    if out.is_full():
        return
    changed = convert_value(value, kind)
    patch = replacement(place, changed) if changed is not NO_VALUE else []
    out.error(
        finding(
            "attribute_wrong_type",
            f'Attribute "{name}" value has wrong type; expected {expected}, got {json_type(value)}.',
            place,
            value=quote_value(value),
            expected=expected,
            suggestions=() if changed is NO_VALUE else (str(changed),),
            patch=tuple(patch),
            certain=bool(patch),
        )
    )


def not_a_list(rule: Rule, value: Any, place: Place, name: str, out: Report) -> None:
    """A single value instead of a list. If a list of that value would be valid, the fix is certain."""
    wrapped = value is not None and fits_rule(rule, [value], name)
    out.error(
        finding(
            "attribute_wrong_type",
            f'Attribute "{name}" value has wrong type; expected array, got {json_type(value)}.',
            place,
            value=quote_value(value),
            expected="array",
            patch=tuple(replacement(place, [value])) if wrapped else (),
            certain=wrapped,
        )
    )


def null_value(name: str, required: bool, rule: Rule, place: Place, out: Report) -> None:
    """A null. If the attribute is not required, the fix is to remove it."""
    trial = Report("")
    rule(None, place, name, trial)
    for found in trial.errors:
        patch = () if required else ({"op": "remove", "path": pointer((place, name))},)
        out.error(replaced(found, patch=patch, certain=not required))


def wrong_value(attribute: Attribute, kind: ValueType, value: Any, place: Place, out: Report) -> None:
    """A scalar that its rule rejected."""
    name = attribute.name
    if not fits(value, kind.kind):
        wrong_type(value, place, name, kind.name, kind.kind, out)
    elif attribute.values and value not in attribute.values:
        _unknown_value(attribute, value, place, out)
    elif kind.max_len is not None and isinstance(value, str) and len(value) > kind.max_len:
        code = "super_type_max_len" if kind.inherited else "max_len"
        limit = f"max length of {kind.max_len} of type {kind.name}"
        message = f'Attribute "{name}" value length of {len(value)} exceeds {limit}.'
        out.error(finding(f"attribute_value_exceeds_{code}", message, place, value=quote_value(value), expected=limit))
    elif kind.kind == "number":
        limit = "range of a number" if kind.low is None else f"range of {kind.low:g} to {kind.high:g}"
        message = f'Attribute "{name}" value {value} is outside the {limit} of type {kind.name}.'
        out.error(finding("attribute_value_exceeds_range", message, place, value=value, expected=limit))
    else:
        _unmatched(attribute, kind, value, place, out)


def _unknown_value(attribute: Attribute, value: Any, place: Place, out: Report) -> None:
    meant = same_spelling(value, attribute.values, RENAMED_VALUES)
    near = [meant] if meant else nearest_names(value, attribute.values, RENAMED_VALUES)[0] if out.may_search() else []
    code = "attribute_enum_array_value_unknown" if attribute.array else "attribute_enum_value_unknown"
    quoted = quote_value(value)
    out.error(
        finding(
            code,
            f'Unknown value for "{attribute.name}"; "{quoted}" is not one of {", ".join(attribute.values)}.',
            place,
            value=quote_value(value),
            expected=", ".join(attribute.values),
            suggestions=tuple(near),
            patch=tuple(replacement(place, near[0])) if near else (),
            certain=meant is not None,
        )
    )


def is_moment(text: str) -> bool:
    """Whether a text in the form of a time names an existing day and second."""
    try:
        datetime.fromisoformat(text)  # much faster than parsing it here, but does not know leap seconds
    except ValueError:
        return _is_moment_by_parts(text)
    return True


def _is_moment_by_parts(text: str) -> bool:
    try:
        seconds = int(text[17:19])
        datetime(int(text[:4]), int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16]), tzinfo=UTC)
    except ValueError:
        return False
    return seconds <= 60  # a leap second


def _unmatched(attribute: Attribute, kind: ValueType, value: str, place: Place, out: Report) -> None:
    if kind.name == "datetime_t" and _MOMENT_FORM.match(value) and not is_moment(value):
        message = f'Attribute "{attribute.name}" value "{quote_value(value)}" is not an existing date or time.'
        out.error(finding("attribute_value_not_a_time", message, place, value=quote_value(value), expected=kind.name))
        return
    meant = as_rfc3339(value) if kind.name == "datetime_t" else None
    out.warning(
        finding(
            "attribute_value_regex_not_matched",
            f'Attribute "{attribute.name}" value does not match the pattern of type {kind.name}.',
            place,
            value=quote_value(value),
            expected=kind.regex,
            suggestions=(meant,) if meant else (),
            patch=tuple(replacement(place, meant)) if meant else (),
            certain=meant is not None,
        )
    )


def fits(value: Any, kind: str) -> bool:
    """Whether a value has a JSON type. 1.0 counts as an integer."""
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


def missing_attribute(name: str, required: bool, holder: Mapping[str, Any], place: Place, out: Report) -> None:
    """A required or recommended attribute is missing."""
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
    """Cached, because most records lack one of the recommended attributes."""
    message = f'{requirement.capitalize()} attribute "{name}" is missing.'
    return Finding(f"attribute_{requirement}_missing", message, name, f"/{name}")


def unknown_attribute(
    name: str, shape: Shape, rules: Rules, holder: Mapping[str, Any], place: Place, out: Report
) -> None:
    """An attribute that the object does not define. The correction is certain if its value is valid for the nearest
    name, and that name is very close or the only candidate."""
    if out.is_full():
        return
    near, sure = (
        nearest_names(name[:100], [n for n in rules if n not in holder], RENAMED_VALUES)
        if out.may_search()
        else ([], False)
    )
    patch: Patch = []
    if (sure or len(near) == 1) and fits_rule(rules[near[0]], holder[name], near[0]):
        patch = [{"op": "move", "from": pointer((place, name)), "path": pointer((place, near[0]))}]
    message = f'Unknown attribute "{quote_value(name)}"; it is not defined in {_describe_shape(shape)}.'
    out.error(
        finding(
            "attribute_unknown",
            message,
            (place, name),
            value=quote_value(holder[name]),
            suggestions=tuple(near),
            patch=tuple(patch),
            certain=bool(patch),
        )
    )


def fits_rule(rule: Rule, value: Any, name: str) -> bool:
    """Whether a value is valid for a rule, or can be fixed with certainty."""
    trial = Report("")
    rule(value, None, name, trial)
    return all(found.certain for found in trial.errors)


def constraint_failed(shape: Shape, rule: Constraint, holder: Mapping[str, Any], place: Place, out: Report) -> None:
    words = {"at_least_one": "at least one", "just_one": "exactly one"}[rule.kind]
    out.error(
        finding(
            "constraint_failed",
            f"{_describe_shape(shape).capitalize()} needs {words} of {', '.join(rule.attributes)}.",
            place,
            expected=f"{words} of {', '.join(rule.attributes)}",
            constraint={rule.kind: list(rule.attributes)},
        )
    )


def empty_list(name: str, place: Place, out: Report) -> None:
    message = f'Required attribute "{name}" is empty.'
    out.error(finding("attribute_required_empty", message, place, value=[], expected="at least one item"))


def empty_text(name: str, place: Place, out: Report) -> None:
    message = f'Required attribute "{name}" is empty.'
    out.error(finding("attribute_required_empty", message, place, value="", expected="a text"))


def duplicate_item(name: str, first: int, index: int, place: Place, out: Report) -> None:
    """A list contains the same item twice."""
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


def quote_value(value: Any) -> Any:
    """The value as a finding quotes it, shortened."""
    if isinstance(value, str):
        return value if len(value) <= 200 else value[:200] + "..."
    return value if value is None or isinstance(value, bool | int | float) else json_type(value)


def _describe_shape(shape: Shape) -> str:
    kinds = {"object": "object", "module": "module", "skill_base": "skill", "domain_base": "domain"}
    return (
        f'{kinds[shape.family]} "{shape.name}"' if shape.family in ("object", "module") else f"a {kinds[shape.family]}"
    )
