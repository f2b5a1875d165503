"""The rules for the skills of 0.3.1, which are numbers: `class_uid`, and the `category_uid` of its top class.

Names may stand beside the numbers for people. They are not compared by a machine, so a wrong one is only a warning.
"""

from typing import Any, Final, Literal

from pentad.rooms.directory.oasf.findings import Place, Report, finding
from pentad.rooms.directory.oasf.objects import Attribute, Shape, ValueType
from pentad.rooms.directory.oasf.problems import Rule, is_integer, replacing
from pentad.rooms.directory.oasf.remedies import folded, folded_name
from pentad.rooms.directory.oasf.rules import list_of_objects, map_rule, object_check, scalar_rule
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, Taxonomy

_INTEGER: Final = ValueType("integer_t", "integer")
_STRING: Final = ValueType("string_t", "string")


def _attribute(name: str, kind: str, requirement: Literal["required", "optional"]) -> Attribute:
    return Attribute(name, kind, requirement, array=False, values=(), map_of=None, one_of=False)


NUMBERED: Final = Shape(
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
"""An item of a list of skills in 0.3.1: the object table leaves it open."""


def numbered_list(classes: Taxonomy, *, required: bool) -> Rule:
    """The rule for the list of skills of 0.3.1."""
    rules: dict[str, Rule] = {
        name: scalar_rule(attribute, _INTEGER if attribute.type == "integer_t" else _STRING)
        for name, attribute in NUMBERED.attributes.items()
    }
    rules["annotations"] = map_rule(NUMBERED.attributes["annotations"], _STRING)
    others = object_check(NUMBERED, rules, {}, NUMBERED.required())

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
                patch=tuple(replacing((place, "category_uid"), top.id)),
                certain=classes.by_id(group) is None,
            )
        )
    for name, meant in (("class_name", entry), ("category_name", top)):
        _check_sibling(name, item.get(name), meant, place, out)


def _check_sibling(name: str, given: Any, meant: ClassEntry, place: Place, out: Report) -> None:
    if not isinstance(given, str) or given == meant.caption:
        return
    if folded(given) not in (folded_name(meant.caption), folded_name(meant.short), folded_name(meant.name)):
        out.warning(
            finding(
                "attribute_enum_sibling_incorrect",
                f'Attribute "{name}" does not match its number; {meant.id} is {meant.caption}.',
                (place, name),
                value=given,
                suggestions=(meant.caption,),
                patch=tuple(replacing((place, name), meant.caption)),
            )
        )
