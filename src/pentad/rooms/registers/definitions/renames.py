"""Property renames: the new paths, and the names in the rest of a schema. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.json_values import as_list, as_object
from pentad.rooms.registers.definitions.expressions import (
    Renames,
    is_template,
    rename_in_expression,
    rename_in_template,
    renamed_path,
)
from pentad.rooms.registers.definitions.migration import MigrationStep, step_path

_FIELDS: Final = (
    *("objectNameField", "objectDescriptionField", "objectSummaryField", "objectImageField"),
    "objectSlugField",
)
_SCHEMAS: Final = ("if", "then", "else", "not")
_LISTS_OF_SCHEMAS: Final = ("allOf", "anyOf", "oneOf")
_SCHEMA_OF_EACH: Final = "dependentSchemas"
"""Keywords whose schemas apply to the same object."""
_BY_PROPERTY: Final = ("dependentRequired", _SCHEMA_OF_EACH)
_ONLY_IN_CONDITIONS: Final = ("properties", "required")
"""Keywords that name properties of the object."""


def renames_of(steps: Sequence[MigrationStep]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The new path of each renamed property, by its path before all steps."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for step in steps:
        if step.kind == "rename":
            path = step_path(step)
            back = {new: old for old, new in found.items()}
            step_of = {path: (*path[:-1], step.to)}
            found = {old: renamed_path(new, step_of) for old, new in found.items()}
            found.setdefault(renamed_path(path, back), step_of[path])
    return found


def rename_in_body(body: dict[str, Any], renames: Renames) -> None:
    """Rename properties in computed values, default templates, access rules, conditions, headings and unique keys."""
    _rename_in_node(body, renames)
    _rename_in_conditions(body, (), renames, is_condition=False)
    configuration = body.get("configuration")
    if not isinstance(configuration, dict):
        return
    settings = cast("dict[str, Any]", configuration)
    for field in _FIELDS:
        if isinstance(value := settings.get(field), str):
            settings[field] = rename_in_template(value, renames) if is_template(value) else _renamed(value, renames)
    if "unique" in settings:
        settings["unique"] = _renamed(settings["unique"], renames)


def rename_required(body: dict[str, Any], renames: Renames) -> None:
    """Update the names of required properties where they are not next to the renamed properties."""
    if isinstance(names := body.get("required"), list):
        body["required"] = [_renamed(name, renames) for name in cast("list[Any]", names)]


def rename_in_authorization(block: Any, renames: Renames) -> Any:
    """Access rules with renamed properties updated in their conditions."""
    if not isinstance(block, dict):
        return block
    rights = cast("dict[str, Any]", block)
    return {right: _renamed_grants(grants, renames) for right, grants in rights.items()}


def _renamed_grants(grants: Any, renames: Renames) -> Any:
    if not isinstance(grants, list):
        return grants
    return [_renamed_grant(grant, renames) for grant in cast("list[Any]", grants)]


def _renamed_grant(grant: Any, renames: Renames) -> Any:
    match = as_object(grant).get("match")
    if not isinstance(match, dict):
        return grant
    conditions = cast("dict[str, Any]", match)
    return {**as_object(grant), "match": {_renamed(name, renames): how for name, how in conditions.items()}}


def _rename_in_node(node: dict[str, Any], renames: Renames) -> None:
    if isinstance(node.get("default"), str):
        node["default"] = rename_in_template(node["default"], renames)
    computed = node.get("computed")
    if isinstance(computed, str):
        node["computed"] = _renamed_rule(computed, renames)
    elif isinstance(expression := as_object(computed).get("expression"), str):
        node["computed"] = {**as_object(computed), "expression": _renamed_rule(expression, renames)}
    if "authorization" in node:
        node["authorization"] = rename_in_authorization(node["authorization"], renames)
    for inner in (*as_object(node.get("properties")).values(), node.get("items")):
        if isinstance(inner, dict):
            _rename_in_node(cast("dict[str, Any]", inner), renames)


def _rename_in_conditions(node: dict[str, Any], path: tuple[str, ...], renames: Renames, *, is_condition: bool) -> None:
    """Rename properties in an object schema's `if`, `dependentSchemas` and similar keywords.

    `path` leads to the object by the names before the renames. The schema that declares the properties already has
    their new names; a condition still has the old ones.
    """
    names = {str(old[-1]): str(new[-1]) for old, new in renames.items() if old[:-1] == path}
    former = {} if is_condition else {new: old for old, new in names.items()}
    for name, inner in as_object(node.get("properties")).items():
        if isinstance(inner, dict):
            deeper = (*path, former.get(name, name))
            _rename_in_conditions(cast("dict[str, Any]", inner), deeper, renames, is_condition=is_condition)
    alone, by_name = (node.get(keyword) for keyword in _SCHEMAS), as_object(node.get(_SCHEMA_OF_EACH)).values()
    for inner in (*alone, *by_name, *(one for keyword in _LISTS_OF_SCHEMAS for one in as_list(node.get(keyword)))):
        if isinstance(inner, dict):
            _rename_in_conditions(cast("dict[str, Any]", inner), path, renames, is_condition=True)
    for keyword in (*_BY_PROPERTY, *(_ONLY_IN_CONDITIONS if is_condition else ())):
        if names and keyword in node:
            node[keyword] = _with_names(node[keyword], names)


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    """A list of names, or a mapping by name to schemas or lists of names."""
    if isinstance(value, list):
        return list(dict.fromkeys(names.get(one, one) for one in cast("list[str]", value)))
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for name, one in cast("dict[str, Any]", value).items():
        new: str = names.get(name, name)
        rule: Any = _with_names(one, names) if isinstance(one, list) else one
        if new in result:  # there is a rule about an undeclared property with the new name: both apply from now on
            known = result[new]
            rule = [*known, *(other for other in rule if other not in known)] if isinstance(one, list) else {
                "allOf": [known, rule]
            }  # fmt: skip
        result[new] = rule
    return result


def _renamed_rule(rule: str, renames: Renames) -> str:
    return rename_in_template(rule, renames) if is_template(rule) else rename_in_expression(rule, renames)


def _renamed(value: Any, renames: Renames) -> Any:
    """A name or dotted path, or a list of them."""
    if isinstance(value, list):
        return [_renamed(one, renames) for one in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    path = (value,) if (value,) in renames else tuple(value.split("."))
    return ".".join(map(str, renamed_path(path, renames)))
