"""Validates a record against the tables of its OASF version.

The tables are compiled into rules once, at the first record of a version. Each record is then walked once, object by
object, and nothing is allocated for a valid value.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from pentad.kernel.problems import Place, finding, path, pointer
from pentad.rooms.directory.oasf.class_rules import class_list, feature_check, module_check, numbered_list
from pentad.rooms.directory.oasf.fast_validation import fast_test
from pentad.rooms.directory.oasf.findings import Report, Rule, empty_text, wrong_type
from pentad.rooms.directory.oasf.objects import Attribute, Objects, Shape, ValueType, objects
from pentad.rooms.directory.oasf.rules import (
    Check,
    any_value,
    list_of_objects,
    list_rule,
    map_rule,
    object_check,
    scalar_rule,
    text_limit,
)
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, NEWEST, Family, Standing, embedded_version, numbers

_BASES: Mapping[str, Family] = {"base_skill": "skill", "base_domain": "domain"}
_STRING = ValueType("string_t", "string")


def validate(data: Mapping[str, Any]) -> Report:
    """All findings about a record, by the version it names."""
    version = data.get("schema_version")
    if version.__class__ is str and version in EMBEDDED:
        out = Report(version)
        record_check(version)(data, None, out)
        return out
    return _validate_other(data, version)


def _validate_other(data: Mapping[str, Any], version: Any) -> Report:
    """A record whose version is missing, malformed, unknown, or served by the tables of another version."""
    if not isinstance(version, str):
        out = Report(NEWEST)
        record_check(NEWEST)(data, None, out)
        return out
    out = Report(version)
    place = (None, "schema_version")
    served = embedded_version(version)
    if served is not None:
        record_check(served.version)(data, None, out)
        _report_standing(served.standing, version, served.version, place, out)
    elif numbers(version) is None:
        message = f'Version "{version[:40]}" has an invalid format; expected a semantic version such as {NEWEST}.'
        out.error(finding("version_invalid_format", message, place, value=version[:40], suggestions=(NEWEST,)))
    else:
        early = version.startswith("0.")
        code = "version_incompatible_initial_development" if early else "version_incompatible_later"
        message = f"Version {version[:40]} is not compatible with any of {', '.join(EMBEDDED)}."
        out.error(finding(code, message, place, value=version[:40], suggestions=EMBEDDED))
    return out


def _report_standing(standing: Standing, version: str, table: str, place: Place, out: Report) -> None:
    if standing in ("version_earlier", "version_later"):
        word = standing.removeprefix("version_")
        message = f"Version {version[:40]} is {word} than {table}, by which it was validated."
        out.warning(finding(standing, message, place, value=version[:40], suggestions=(table,)))
    elif standing != "same":
        word = "a pre-release" if standing.endswith("prerelease") else "later"
        message = f"Version {version[:40]} is {word}, so not compatible with {table}, by which it was validated."
        out.error(finding(standing, message, place, value=version[:40], suggestions=(table,)))


@cache
def record_check(version: str) -> Check:
    """The compiled check of a record of an embedded version."""
    return _Compiler(version).record()


class _Compiler:
    """Compiles the tables of one version into checks. An object may contain itself, so some are looked up late."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._tables: Objects = objects(version)
        self._checks: dict[str, Check] = {}

    def record(self) -> Check:
        """The check of a record. If the fast test accepts it, only the attributes left to the rules are checked."""
        root = self._tables.root
        rules, texts = self._rules(root)
        left = {name for name, attribute in root.attributes.items() if self._left_to_rules(attribute)}
        rules_left = {name: rule if name in left else any_value for name, rule in rules.items()}
        if self._version != "0.3.1":
            rules["locators"] = _unique_types(rules["locators"])
            rules_left["locators"] = _unique_types(any_value)
        check = object_check(root, rules, texts, root.required())
        check_left = object_check(root, rules_left, {}, root.required())
        test = fast_test(self._tables, root, left)

        def check_record(value: Any, place: Place, out: Report) -> None:
            (check_left if test(value) else check)(value, place, out)
            # The type allows any text, but a record without a name cannot be found by it.
            if value.__class__ is dict and (name := value.get("name")).__class__ is str and not name.strip():
                empty_text("name", (place, "name"), out)

        return check_record

    def _left_to_rules(self, attribute: Attribute) -> bool:
        """Whether the rules check an attribute instead of the fast test: classes need more than a type, recommended
        attributes are often missing, and rules match patterns faster."""
        kind = self._tables.types.get(attribute.type)
        patterned = kind is not None and kind.regex is not None
        return attribute.is_class() or attribute.requirement == "recommended" or patterned

    def _object(self, shape: Shape) -> Check:
        if shape.open:
            return _any_object(shape)
        return object_check(shape, *self._rules(shape), shape.required())

    def _rules(self, shape: Shape) -> tuple[dict[str, Rule], dict[str, int]]:
        rules = {name: self._rule(attribute) for name, attribute in shape.attributes.items()}
        limits = {name: text_limit(a, self._tables.types.get(a.type)) for name, a in shape.attributes.items()}
        return rules, {name: limit for name, limit in limits.items() if limit is not None}

    def _rule(self, attribute: Attribute) -> Rule:
        kind = self._tables.types.get(attribute.type)
        if attribute.is_class():
            return self._classes(attribute)
        if kind is None:
            return self._objects(attribute)
        if kind.kind == "map":
            return map_rule(attribute, self._tables.types[attribute.map_of] if attribute.map_of else _STRING)
        return list_rule(attribute, kind) if attribute.array else scalar_rule(attribute, kind)

    def _classes(self, attribute: Attribute) -> Rule:
        base = attribute.type.removeprefix("class_t:")
        required = attribute.requirement == "required"
        if family := _BASES.get(base):
            classes = taxonomy(self._version, family)
            if self._version == "0.3.1":
                return numbered_list(classes, required=required)
            shape = self._tables.shapes["skill_base" if family == "skill" else "domain_base", base]
            return class_list(classes, shape, self._rules(shape)[0], required=required)
        shapes = [shape for shape in self._tables.shapes.values() if shape.family == "module"]
        rules = {shape.name: self._rules(shape) for shape in shapes}
        if base == "base_feature":
            return list_of_objects(feature_check(self._tables, rules), required=required)
        check = module_check(taxonomy(self._version, "module"), self._tables, rules)
        return list_of_objects(check, required=required)

    def _objects(self, attribute: Attribute) -> Rule:
        check = self._choice(attribute.type) if attribute.one_of else self._check_of(attribute.type)
        if attribute.array:
            return list_of_objects(check, required=attribute.requirement == "required")

        def rule(value: Any, place: Place, name: str, out: Report) -> None:
            check(value, (place, name), out)

        return rule

    def _check_of(self, name: str) -> Check:
        if name not in self._checks:
            self._checks[name] = _unfinished
            self._checks[name] = self._object(self._tables.object(name))
        if self._checks[name] is not _unfinished:
            return self._checks[name]
        checks = self._checks

        def check(value: Any, place: Place, out: Report) -> None:
            checks[name](value, place, out)

        return check

    def _choice(self, base: str) -> Check:
        """Exactly one of the objects that extend `base`, identified by the attribute with a single allowed value."""
        shapes = self._tables.choices(base)
        checks = {shape.name: self._check_of(shape.name) for shape in shapes}
        marks = {shape.name: _mark(shape) for shape in shapes}

        def check(value: Any, place: Place, out: Report) -> None:
            if value.__class__ is not dict:
                wrong_type(value, place, base, base, "object", out)
                return
            fitting = [name for name, mark in marks.items() if mark is None or value.get(mark[0]) == mark[1]]
            if fitting:
                checks[fitting[0]](value, place, out)
                return
            known = [f'{mark[0]} "{mark[1]}"' for mark in marks.values() if mark]
            message = f'The object is none of those that extend "{base}": {", ".join(checks)}.'
            out.error(
                finding(
                    "enum_object_not_matched", message, place, expected=" or ".join(known), suggestions=tuple(known)
                )
            )

        return check


def _unfinished(value: Any, place: Place, out: Report) -> None:
    raise RuntimeError("an object was checked before its rules were made")


def _any_object(shape: Shape) -> Check:
    def check(value: Any, place: Place, out: Report) -> None:
        if value.__class__ is not dict:
            wrong_type(value, place, shape.name, shape.name, "object", out)

    return check


def _mark(shape: Shape) -> tuple[str, str] | None:
    single = [a for a in shape.attributes.values() if len(a.values) == 1 and a.requirement == "required"]
    return (single[0].name, single[0].values[0]) if single else None


def _unique_types(rule: Rule) -> Rule:
    """The rule for locators: each type once per record."""

    def unique(value: Any, place: Place, name: str, out: Report) -> None:
        rule(value, place, name, out)
        if value.__class__ is list and len(value) > 1 and not _plainly_different(value):
            _report_repeated_types(cast("list[Any]", value), (place, name), out)

    return unique


def _plainly_different(locators: list[Any]) -> bool:
    """A cheap test for the usual case: each locator has its own type."""
    try:
        return len({locator["type"] for locator in locators}) == len(locators)
    except (TypeError, KeyError):
        return False


def _report_repeated_types(locators: list[Any], place: Place, out: Report) -> None:
    seen: dict[str, int] = {}
    for index, locator in enumerate(locators):
        kind = locator.get("type") if locator.__class__ is dict else None
        if not isinstance(kind, str) or (first := seen.setdefault(kind, index)) == index or locator == locators[first]:
            continue
        if out.is_full():
            continue
        here = (place, index)
        patch = _merged(locators[first], locator, (place, first), here)
        message = f'Locator type "{kind[:40]}" is used twice: {path((place, first))} and {path(here)}.'
        out.error(
            finding(
                "attribute_locators_duplicate_type",
                message,
                (here, "type"),
                value=kind[:40],
                patch=tuple(patch),
                certain=bool(patch),
            )
        )


def _merged(first: dict[str, Any], second: dict[str, Any], there: Place, here: Place) -> list[dict[str, Any]]:
    """The patch that merges two locators which differ only in their URLs."""
    urls, more = first.get("urls"), second.get("urls")
    if not isinstance(urls, list) or not isinstance(more, list) or {**first, "urls": more} != second:
        return []
    new = [url for url in cast("list[Any]", more) if url not in urls]
    added = [{"op": "add", "path": f"{pointer(there)}/urls/-", "value": url} for url in new]
    return [*added, {"op": "remove", "path": pointer(here)}]
