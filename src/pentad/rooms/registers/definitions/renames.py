"""Renamed properties: what became of a path, and everything in a schema that names a property. Pure."""

from collections.abc import Sequence
from typing import Any, Final, cast

from pentad.rooms.registers.definitions.expressions import (
    Renames,
    is_template,
    rename_in_expression,
    rename_in_template,
    renamed_path,
)
from pentad.rooms.registers.definitions.json_values import as_mapping
from pentad.rooms.registers.definitions.migration import MigrationStep, step_path

_FIELDS: Final = (
    *("objectNameField", "objectDescriptionField", "objectSummaryField", "objectImageField"),
    "objectSlugField",
)


def renames_of(steps: Sequence[MigrationStep]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The new path of each renamed property by the path it had before all steps."""
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
    """Let computed values, default templates, access rules, headings and what is unique together follow renamed
    properties.
    """
    _rename_in_node(body, renames)
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
    """Let the names of required properties follow, where they are not next to the renamed properties."""
    if isinstance(names := body.get("required"), list):
        body["required"] = [_renamed(name, renames) for name in cast("list[Any]", names)]


def rename_in_authorization(block: Any, renames: Renames) -> Any:
    """Access rules whose conditions follow renamed properties."""
    if not isinstance(block, dict):
        return block
    rights = cast("dict[str, Any]", block)
    return {right: _renamed_grants(grants, renames) for right, grants in rights.items()}


def _renamed_grants(grants: Any, renames: Renames) -> Any:
    if not isinstance(grants, list):
        return grants
    return [_renamed_grant(grant, renames) for grant in cast("list[Any]", grants)]


def _renamed_grant(grant: Any, renames: Renames) -> Any:
    match = as_mapping(grant).get("match")
    if not isinstance(match, dict):
        return grant
    conditions = cast("dict[str, Any]", match)
    return {**as_mapping(grant), "match": {_renamed(name, renames): how for name, how in conditions.items()}}


def _rename_in_node(node: dict[str, Any], renames: Renames) -> None:
    if isinstance(node.get("default"), str):
        node["default"] = rename_in_template(node["default"], renames)
    computed = node.get("computed")
    if isinstance(computed, str):
        node["computed"] = _renamed_rule(computed, renames)
    elif isinstance(expression := as_mapping(computed).get("expression"), str):
        node["computed"] = {**as_mapping(computed), "expression": _renamed_rule(expression, renames)}
    if "authorization" in node:
        node["authorization"] = rename_in_authorization(node["authorization"], renames)
    for inner in (*as_mapping(node.get("properties")).values(), node.get("items")):
        if isinstance(inner, dict):
            _rename_in_node(cast("dict[str, Any]", inner), renames)


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
