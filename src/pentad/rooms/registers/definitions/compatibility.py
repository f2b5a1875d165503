"""Whether a changed schema can make a difference to parts of objects that its author may not read.

Judged by the definitions alone. If a change that might matter were tried against hidden values, whether it is accepted
would tell them: an author could find any value by making a bound narrower step by step.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled import CompiledSchema

_TEXTS: Final = frozenset({"title", "description", "summary", "order", "example", "examples", "$comment", "visible"})
_OF_A_PROPERTY: Final = _TEXTS | {"authorization", "hideOnCollection", "hideOnForm", "deprecated"}
_OF_A_SCHEMA: Final = _TEXTS | {
    "id", "uuid", "slug", "version", "uri", "icon", "owner", "organisation", "application", "authorization", "groups",
    "configuration", "source", "archive", "published", "depublished", "hooks", "searchable", "updated", "created",
    "deleted", "folder", "immutable",
}  # fmt: skip
"""What says nothing about whether an object fits."""


def leaves_alone(old: "CompiledSchema", new: "CompiledSchema", unseen: frozenset[str] | None) -> bool:
    """Whether objects fit the new schema as they fitted the old one, as far as these properties are concerned.

    None stands for whole objects, whatever properties they have.
    """
    before, after = old.body, new.body
    for keyword in (before.keys() | after.keys()) - _OF_A_SCHEMA - {"properties", "required"}:
        if before.get(keyword) != after.get(keyword):
            return False
    if before.get("configuration") != after.get("configuration") and old.unique != new.unique:
        return False
    changed = _changed(before.get("properties") or {}, after.get("properties") or {})
    demanded = new.required - old.required
    if unseen is not None:
        return unseen.isdisjoint(changed | demanded)
    closed = before.get("additionalProperties") is False
    return not demanded and (not changed or (closed and changed.isdisjoint(old.properties)))


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
    """The properties that are defined in another way, or no longer, or only now."""
    return frozenset(
        name for name in before.keys() | after.keys() if _rules(before.get(name)) != _rules(after.get(name))
    )


def _rules(definition: Any) -> Any:
    if not isinstance(definition, Mapping):
        return definition
    return {keyword: value for keyword, value in definition.items() if keyword not in _OF_A_PROPERTY}  # pyright: ignore[reportUnknownVariableType]  plain JSON
