"""Rules for skills, domains and modules, whose id and name must belong to the same class of the version's table.

Classes are looked up in dictionaries, so the size of a table does not matter, and a finding about a wrong id or name
can include the right one. The name of a module decides which data it must have. In 1.x a module must be in the table;
in earlier versions a module with any other name may have any content. The skills of 0.3.1 are numbers: `class_uid`, and
the `category_uid` of the top class. Their names are for people only, so a wrong name is just a warning.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from pentad.kernel.problems import Finding, Place, finding, fold, fold_known, nearest_names, pointer, replacement
from pentad.rooms.directory.oasf.fast_validation import with_fast_path
from pentad.rooms.directory.oasf.findings import (
    RENAMED_VALUES,
    Report,
    Rule,
    Rules,
    is_integer,
    quote_value,
    wrong_type,
)
from pentad.rooms.directory.oasf.objects import Attribute, Objects, Shape, ValueType
from pentad.rooms.directory.oasf.rules import (
    ANY_LENGTH,
    Check,
    any_value,
    list_of_objects,
    map_rule,
    object_check,
    reject_list,
    report_duplicates,
    scalar_rule,
)
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, Taxonomy


def class_list(classes: Taxonomy, shape: Shape, rules: Rules, *, required: bool) -> Rule:
    """The rule for a list of skills or domains."""
    usable = {entry.name: entry.id for entry in classes.all if not entry.grouping and not entry.deprecated}
    id_of = usable.get
    check = class_check(classes, shape, rules)

    def rule(value: Any, place: Place, name: str, out: Report) -> None:
        if value.__class__ is not list or not value:
            reject_list(rule, value, required, place, name, out)
            return
        here = (place, name)
        for index, item in enumerate(value):
            if item.__class__ is dict and len(item) == 2:
                called, number = item.get("name"), item.get("id")
                if called.__class__ is str and number.__class__ is int and id_of(called) == number:
                    continue
            check(item, (here, index), out)
        if len(value) > 1 and (len(value) != 2 or value[0] == value[1]):
            report_duplicates(value, name, here, out)

    return rule


def class_check(classes: Taxonomy, shape: Shape, rules: Rules) -> Check:
    """The check of a skill or domain that did not pass the quick test."""
    others = object_check(without_identity(shape), {**rules, "id": any_value, "name": any_value}, {}, ())

    def check(value: Any, place: Place, out: Report) -> None:
        others(value, place, out)
        if value.__class__ is dict and ("id" in value or "name" in value):
            check_identity(classes, value, place, out)

    return check


def check_identity(classes: Taxonomy, item: Mapping[str, Any], place: Place, out: Report) -> ClassEntry | None:
    """Report problems with the id and name of a class. Returns the class they mean, if any."""
    called, number = item.get("name"), item.get("id")
    named = _by_name(classes, item, place, out) if "name" in item else None
    numbered = _by_id(classes, item, named, place, out) if "id" in item else None
    if named is not None and numbered is not None and named is not numbered:
        message = f"The id {number:g} is {numbered.name}, but the name is {called}; they must be the same class."
        near = (f"id {named.id}", f"name {numbered.name}")
        out.error(finding("id_name_mismatch", message, (place, "id"), value=number, suggestions=near))
    meant = named or numbered
    if meant is None:
        return None
    if "id" not in item or "name" not in item:
        _report_missing_half(classes, meant, "name" if "id" in item else "id", place, out)
    if meant.grouping:
        below = tuple(entry.name for entry in classes.children(meant.name)[:5])
        message = f"Class {meant.name} ({meant.id}) only groups other classes and cannot be used itself."
        where = (place, "name" if "name" in item else "id")
        out.error(finding("base_class_used", message, where, value=called or number, suggestions=below))
    if meant.deprecated:
        out.warning(finding("class_deprecated", f"Class {meant.name} ({meant.id}) is deprecated.", place))
    return meant


def _report_missing_half(classes: Taxonomy, meant: ClassEntry, name: str, place: Place, out: Report) -> None:
    """Report an id without a name, or a name without an id. The other half follows from it."""
    value = meant.id if name == "id" else meant.name
    needed = name == "name" and classes.family == "module"
    report, word = (out.error, "Required") if needed else (out.warning, "Recommended")
    report(
        finding(
            f"attribute_{word.lower()}_missing",
            f'{word} attribute "{name}" is missing.',
            (place, name),
            expected=str(value),
            suggestions=(str(value),),
            patch=({"op": "add", "path": pointer((place, name)), "value": value},),
            certain=True,
        )
    )


def _by_name(classes: Taxonomy, item: Mapping[str, Any], place: Place, out: Report) -> ClassEntry | None:
    called = item["name"]
    if not isinstance(called, str):
        wrong_type(called, (place, "name"), "name", "string_t", "none", out)
        return None
    entry = classes.by_name(called)
    if entry is None or entry.name != called:
        if not out.is_full():
            out.error(unknown_name(classes, item, called, place, out))
        return None
    return entry


def unknown_name(classes: Taxonomy, item: Mapping[str, Any], called: str, place: Place, out: Report) -> Finding:
    """The finding for an unknown class name, with the classes it may mean."""
    near, sure = near_classes(classes, called) if out.may_search() else ([], False)
    number = item.get("id")
    numbered = classes.by_id(number) if is_integer(number) else None
    if numbered is not None and not sure:
        sure = bool(near) and near[0] is numbered
        near = [numbered, *(entry for entry in near if entry is not numbered)]
    elif sure and numbered is not None:
        sure = near[0] is numbered
    return finding(
        "name_unknown",
        f'Unknown "name" value; no class is defined for {quote_value(called)}.',
        (place, "name"),
        value=quote_value(called),
        expected=f"a {classes.family} of OASF {classes.version}",
        suggestions=tuple(entry.name for entry in near),
        patch=tuple(replacement((place, "name"), near[0].name)) if near else (),
        certain=sure,
    )


def near_classes(classes: Taxonomy, called: str) -> tuple[list[ClassEntry], bool]:
    """Classes that a name may mean, best first, and whether the first is certain."""
    called = called[:200]
    last = called.rstrip("/").rsplit("/", 1)[-1]
    usable = [entry for entry in classes.all if not entry.grouping]
    whole, end = fold(called), fold(last)
    same = [e for e in usable if end in (fold_known(e.short), fold_known(e.caption)) or whole == fold_known(e.name)]
    if same:
        return same[:3], len(same) == 1
    shorts = {entry.short: entry for entry in usable}
    names, sure = nearest_names(last, shorts, RENAMED_VALUES)
    return [shorts[name] for name in names], sure


def _by_id(
    classes: Taxonomy, item: Mapping[str, Any], named: ClassEntry | None, place: Place, out: Report
) -> ClassEntry | None:
    number = item["id"]
    if not is_integer(number):
        wrong_type(number, (place, "id"), "id", "integer_t", "integer", out)
        return None
    entry = classes.by_id(number)
    if entry is None:
        out.error(
            finding(
                "id_unknown",
                f'Unknown "id" value; no class is defined for {number:g}.',
                (place, "id"),
                value=number,
                expected=f"a {classes.family} of OASF {classes.version}",
                suggestions=() if named is None else (str(named.id),),
                patch=() if named is None else tuple(replacement((place, "id"), named.id)),
                certain=named is not None,
            )
        )
    return entry


def without_identity(shape: Shape) -> Shape:
    """The same shape without id and name, but with its constraints."""
    kept = {name: attribute for name, attribute in shape.attributes.items() if name not in ("id", "name")}
    return Shape(shape.family, shape.name, shape.extends, attributes=kept, constraints=shape.constraints)


OLD_MODULE_NAMES: Final = {
    "observability": "observability/observability_observability",
    "observability/observability": "observability/observability_observability",
    "evaluation": "evaluation/evaluation_evaluation",
    "evaluation/evaluation": "evaluation/evaluation_evaluation",
}
"""Names of two modules in early patches of 0.7, and their later names."""

FEATURE_NAMES: Final = {
    "schema.oasf.agntcy.org/features//manifest": "manifest",
    "schema.oasf.agntcy.org/features//observability": "observability",
    "schema.oasf.agntcy.org/features//evaluation": "evaluation",
}
"""The names that 0.3.1 reserves for its own features."""

_IDENTITY: Final = ("id", "name")


def module_names(version: str, classes: Taxonomy) -> dict[str, str]:
    """Every name a module may have in a version, and the module's short name."""
    if version == "0.3.1":
        return FEATURE_NAMES
    names = {entry.name: entry.short for entry in classes.all if not entry.grouping}
    if version == "0.7.0":
        names |= {old: new.rsplit("/", 1)[-1] for old, new in OLD_MODULE_NAMES.items()}
    return names


def module_check(classes: Taxonomy, tables: Objects, rules: Mapping[str, tuple[Rules, Mapping[str, int]]]) -> Check:
    """The check of one module. `rules` holds the rules and text limits of each module's own object, by short name."""
    open_names = classes.version in ("0.7.0", "0.8.0")
    canonical = OLD_MODULE_NAMES if classes.version == "0.7.0" else {}
    usable = {entry.name: entry.id for entry in classes.all if not entry.grouping and not entry.deprecated}
    checks = {
        name: with_fast_path(
            _one_module(shape := tables.shapes["module", short], *rules[short]), tables, shape, _IDENTITY
        )
        for name, short in module_names(classes.version, classes).items()
    }
    unnamed = _one_module(tables.shapes["module", "base_module"], *rules["base_module"])
    id_of = usable.get

    def check(value: Any, place: Place, out: Report) -> None:
        if value.__class__ is not dict:
            wrong_type(value, place, "modules", "base_module", "object", out)
            return
        name = value.get("name")
        if not isinstance(name, str):
            unnamed(value, place, out)
            _report_nameless(classes, value, place, out)
            return
        known = checks.get(name)
        if known is None:
            if open_names and not _groups(classes, name):
                return
            unnamed(value, place, out)
            check_identity(classes, value, place, out)
            return
        known(value, place, out)
        number = value.get("id")
        full = canonical.get(name, name)
        if number.__class__ is not int or id_of(full) != number:
            check_identity(classes, {**value, "name": full}, place, out)

    return check


def feature_check(tables: Objects, rules: Mapping[str, tuple[Rules, Mapping[str, int]]]) -> Check:
    """The check of one extension of 0.3.1: three names are reserved, any other may have any content."""
    checks = {
        name: with_fast_path(
            object_check(shape := tables.shapes["module", short], *rules[short], shape.required()), tables, shape
        )
        for name, short in FEATURE_NAMES.items()
    }

    def check(value: Any, place: Place, out: Report) -> None:
        if value.__class__ is not dict:
            wrong_type(value, place, "extensions", "base_feature", "object", out)
            return
        name = value.get("name")
        if not isinstance(name, str):
            if "name" in value:
                wrong_type(name, (place, "name"), "name", "string_t", "string", out)
            else:
                _report_missing_name(place, out)
        elif (known := checks.get(name)) is not None:
            known(value, place, out)

    return check


def _one_module(shape: Shape, rules: Rules, texts: Mapping[str, int]) -> Check:
    bare = without_identity(shape)
    limits = {**texts, "name": ANY_LENGTH}
    return object_check(bare, {**rules, "id": any_value, "name": any_value}, limits, bare.required())


def _report_nameless(classes: Taxonomy, value: Mapping[str, Any], place: Place, out: Report) -> None:
    before = len(out.errors)
    if "id" in value or "name" in value:
        check_identity(classes, value, place, out)
    if "name" not in value and len(out.errors) == before:
        _report_missing_name(place, out)


def _report_missing_name(place: Place, out: Report) -> None:
    message = 'Required attribute "name" is missing.'
    out.error(finding("attribute_required_missing", message, (place, "name")))


def _groups(classes: Taxonomy, name: str) -> bool:
    entry = classes.by_name(name)
    return entry is not None and entry.grouping and entry.name == name


_INTEGER: Final = ValueType("integer_t", "integer")
_STRING: Final = ValueType("string_t", "string")


def _attribute(name: str, kind: str, requirement: Literal["required", "optional"]) -> Attribute:
    return Attribute(name, kind, requirement, array=False, values=(), map_of=None, one_of=False)


NUMBERED_SKILL: Final = Shape(
    "skill_base",
    "base_skill",
    "base_class",
    attributes={
        attribute.name: attribute
        for attribute in (
            _attribute("annotations", "string_map_t", "optional"),
            _attribute("category_name", "string_t", "optional"),
            _attribute("category_uid", "integer_t", "required"),
            _attribute("class_name", "string_t", "optional"),
            _attribute("class_uid", "integer_t", "required"),
        )
    },
)
"""A skill in 0.3.1, which the object table leaves open."""


def numbered_list(classes: Taxonomy, *, required: bool) -> Rule:
    """The rule for the list of skills of 0.3.1."""
    rules: dict[str, Rule] = {
        name: scalar_rule(attribute, _INTEGER if attribute.type == "integer_t" else _STRING)
        for name, attribute in NUMBERED_SKILL.attributes.items()
    }
    rules["annotations"] = map_rule(NUMBERED_SKILL.attributes["annotations"], _STRING)
    others = object_check(NUMBERED_SKILL, rules, {}, NUMBERED_SKILL.required())

    def check(value: Any, place: Place, out: Report) -> None:
        others(value, place, out)
        if value.__class__ is dict and is_integer(value.get("class_uid")):
            _check_numbers(classes, value, place, out)

    return list_of_objects(check, required=required)


def _check_numbers(classes: Taxonomy, item: dict[str, Any], place: Place, out: Report) -> None:
    number, group = item["class_uid"], item.get("category_uid")
    entry = classes.by_id(number)
    if entry is None:
        message = f'Unknown "class_uid" value; no class is defined for {number:g}.'
        out.error(finding("id_unknown", message, (place, "class_uid"), value=number))
        return
    if entry.grouping:
        message = f"Class {entry.name} ({entry.id}) only groups other classes and cannot be used itself."
        out.error(finding("base_class_used", message, (place, "class_uid"), value=number))
        return
    top = classes.parents(entry)[0]
    if is_integer(group) and group != top.id:
        out.error(
            finding(
                "id_name_mismatch",
                f"The class {entry.id} is in category {top.id}, not {group:g}.",
                (place, "category_uid"),
                value=group,
                suggestions=(str(top.id),),
                patch=tuple(replacement((place, "category_uid"), top.id)),
                certain=classes.by_id(group) is None,
            )
        )
    for name, meant in (("class_name", entry), ("category_name", top)):
        _check_sibling(name, item.get(name), meant, place, out)


def _check_sibling(name: str, given: Any, meant: ClassEntry, place: Place, out: Report) -> None:
    if not isinstance(given, str) or given == meant.caption:
        return
    if fold(given) not in (fold_known(meant.caption), fold_known(meant.short), fold_known(meant.name)):
        out.warning(
            finding(
                "attribute_enum_sibling_incorrect",
                f'Attribute "{name}" does not match its number; {meant.id} is {meant.caption}.',
                (place, name),
                value=given,
                suggestions=(meant.caption,),
                patch=tuple(replacement((place, name), meant.caption)),
            )
        )
