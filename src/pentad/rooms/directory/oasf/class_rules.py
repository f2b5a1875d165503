"""The rules for skills, domains and modules: an id and a name that must be the same class of the version's table.

A class is found in a dictionary, never by trying one after the other, so a table of 500 classes costs what one of 50
does, and a wrong id or name can be answered with the right one.
"""

from collections.abc import Mapping
from typing import Any

from pentad.rooms.directory.oasf.findings import Finding, Place, Report, finding, pointer
from pentad.rooms.directory.oasf.objects import Shape
from pentad.rooms.directory.oasf.problems import Rule, Rules, is_integer, replacing, shown, wrong_type
from pentad.rooms.directory.oasf.remedies import folded, folded_name, misspelled
from pentad.rooms.directory.oasf.rules import Check, anything, object_check, refuse_list, report_duplicates
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, Taxonomy


def class_list(classes: Taxonomy, shape: Shape, rules: Rules, *, required: bool) -> Rule:
    """The rule for a list of skills or domains."""
    usable = {entry.name: entry.id for entry in classes.all if not entry.grouping and not entry.deprecated}
    id_of = usable.get
    check = class_check(classes, shape, rules)

    def rule(value: Any, place: Place, name: str, out: Report) -> None:
        if value.__class__ is not list or not value:
            refuse_list(rule, value, required, place, name, out)
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
    """The check of one skill or domain that is not simply right."""
    others = object_check(without_identity(shape), {**rules, "id": anything, "name": anything}, {}, ())

    def check(value: Any, place: Place, out: Report) -> None:
        others(value, place, out)
        if value.__class__ is dict and ("id" in value or "name" in value):
            check_identity(classes, value, place, out)

    return check


def check_identity(classes: Taxonomy, item: Mapping[str, Any], place: Place, out: Report) -> ClassEntry | None:
    """Report what is wrong with the id and the name of a class; the class they mean, if there is one."""
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
        _half(classes, meant, "name" if "id" in item else "id", place, out)
    if meant.grouping:
        below = tuple(entry.name for entry in classes.children(meant.name)[:5])
        message = f"Class {meant.name} ({meant.id}) only groups other classes and cannot be used itself."
        where = (place, "name" if "name" in item else "id")
        out.error(finding("base_class_used", message, where, value=called or number, suggestions=below))
    if meant.deprecated:
        out.warning(finding("class_deprecated", f"Class {meant.name} ({meant.id}) is deprecated.", place))
    return meant


def _half(classes: Taxonomy, meant: ClassEntry, name: str, place: Place, out: Report) -> None:
    """One of id and name is there, and known: the other follows from it."""
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
    """The finding for a name no class has, with the classes it may mean."""
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
        f'Unknown "name" value; no class is defined for {shown(called)}.',
        (place, "name"),
        value=shown(called),
        expected=f"a {classes.family} of OASF {classes.version}",
        suggestions=tuple(entry.name for entry in near),
        patch=tuple(replacing((place, "name"), near[0].name)) if near else (),
        certain=sure,
    )


def near_classes(classes: Taxonomy, called: str) -> tuple[list[ClassEntry], bool]:
    """Classes a name may mean, best first, and whether the first is surely meant."""
    called = called[:200]
    last = called.rstrip("/").rsplit("/", 1)[-1]
    usable = [entry for entry in classes.all if not entry.grouping]
    whole, end = folded(called), folded(last)
    same = [e for e in usable if end in (folded_name(e.short), folded_name(e.caption)) or whole == folded_name(e.name)]
    if same:
        return same[:3], len(same) == 1
    shorts = {entry.short: entry for entry in usable}
    names, sure = misspelled(last, shorts)
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
                patch=() if named is None else tuple(replacing((place, "id"), named.id)),
                certain=named is not None,
            )
        )
    return entry


def without_identity(shape: Shape) -> Shape:
    """The same object, with nothing asked of id and name but the constraint."""
    kept = {name: attribute for name, attribute in shape.attributes.items() if name not in ("id", "name")}
    return Shape(shape.family, shape.name, shape.extends, attributes=kept, constraints=shape.constraints)
