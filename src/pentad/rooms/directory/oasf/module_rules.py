"""The rules for modules: the name says which module it is, and so what its data must be.

In 1.x a module must be one of the table. Before, a module of any other name was allowed with any content, and is.
"""

from collections.abc import Mapping
from typing import Any, Final

from pentad.rooms.directory.oasf.class_rules import check_identity, without_identity
from pentad.rooms.directory.oasf.findings import Place, Report, finding
from pentad.rooms.directory.oasf.objects import Objects, Shape
from pentad.rooms.directory.oasf.problems import Rules, wrong_type
from pentad.rooms.directory.oasf.rules import ANY_LENGTH, Check, anything, object_check
from pentad.rooms.directory.oasf.surely import unless_surely_right
from pentad.rooms.directory.oasf.taxonomy import Taxonomy

OLD_NAMES: Final = {
    "observability": "observability/observability_observability",
    "observability/observability": "observability/observability_observability",
    "evaluation": "evaluation/evaluation_evaluation",
    "evaluation/evaluation": "evaluation/evaluation_evaluation",
}
"""What early patches of 0.7 call two of their modules."""

RESERVED: Final = {
    "schema.oasf.agntcy.org/features//manifest": "manifest",
    "schema.oasf.agntcy.org/features//observability": "observability",
    "schema.oasf.agntcy.org/features//evaluation": "evaluation",
}
"""The names 0.3.1 keeps for its own features."""

_IDENTITY: Final = ("id", "name")


def names_of_modules(version: str, classes: Taxonomy) -> dict[str, str]:
    """Every name a module of the version may be given, and the short name of the module."""
    if version == "0.3.1":
        return RESERVED
    names = {entry.name: entry.short for entry in classes.all if not entry.grouping}
    if version == "0.7.0":
        names |= {old: new.rsplit("/", 1)[-1] for old, new in OLD_NAMES.items()}
    return names


def module_check(classes: Taxonomy, facts: Objects, rules: Mapping[str, tuple[Rules, Mapping[str, int]]]) -> Check:
    """The check of one module. `rules` are the rules and plain texts of each module's own object, by short name."""
    open_names = classes.version in ("0.7.0", "0.8.0")
    canonical = OLD_NAMES if classes.version == "0.7.0" else {}
    usable = {entry.name: entry.id for entry in classes.all if not entry.grouping and not entry.deprecated}
    checks = {
        name: unless_surely_right(
            _one_module(shape := facts.shapes["module", short], *rules[short]), facts, shape, _IDENTITY
        )
        for name, short in names_of_modules(classes.version, classes).items()
    }
    unnamed = _one_module(facts.shapes["module", "base_module"], *rules["base_module"])
    id_of = usable.get

    def check(value: Any, place: Place, out: Report) -> None:
        if value.__class__ is not dict:
            wrong_type(value, place, "modules", "base_module", "object", out)
            return
        name = value.get("name")
        if not isinstance(name, str):
            unnamed(value, place, out)
            _nameless(classes, value, place, out)
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


def feature_check(facts: Objects, rules: Mapping[str, tuple[Rules, Mapping[str, int]]]) -> Check:
    """The check of one extension of 0.3.1: three names are reserved, any other is free."""
    checks = {
        name: unless_surely_right(
            object_check(shape := facts.shapes["module", short], *rules[short], shape.required()), facts, shape
        )
        for name, short in RESERVED.items()
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
                _name_missing(place, out)
        elif (known := checks.get(name)) is not None:
            known(value, place, out)

    return check


def _one_module(shape: Shape, rules: Rules, texts: Mapping[str, int]) -> Check:
    bare = without_identity(shape)
    limits = {**texts, "name": ANY_LENGTH}
    return object_check(bare, {**rules, "id": anything, "name": anything}, limits, bare.required())


def _nameless(classes: Taxonomy, value: Mapping[str, Any], place: Place, out: Report) -> None:
    before = len(out.errors)
    if "id" in value or "name" in value:
        check_identity(classes, value, place, out)
    if "name" not in value and len(out.errors) == before:
        _name_missing(place, out)


def _name_missing(place: Place, out: Report) -> None:
    message = 'Required attribute "name" is missing.'
    out.error(finding("attribute_required_missing", message, (place, "name")))


def _groups(classes: Taxonomy, name: str) -> bool:
    entry = classes.by_name(name)
    return entry is not None and entry.grouping and entry.name == name
