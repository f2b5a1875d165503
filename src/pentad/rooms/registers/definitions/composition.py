"""Schemas built from other stored schemas, named by the root `allOf`, `anyOf` and `oneOf`.

`allOf` inherits: the schema takes over its parents' properties and requirements, through any number of levels. If
parent and child both define a property, both definitions must hold. `anyOf` and `oneOf` treat the named schemas as
alternatives. Cycles are refused.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json_values import as_list, as_object
from pentad.rooms.registers.definitions.json_schema import required_names
from pentad.rooms.registers.definitions.references import composed_reference

Parents = Callable[[int | str], Mapping[str, Any] | None]

MOST_ANCESTORS: Final = 64
_MERGED_BY_NAME: Final = ("properties", "patternProperties", "$defs", "definitions")
_INHERITED: Final = (
    *("additionalProperties", "unevaluatedProperties", "propertyNames", "minProperties", "maxProperties"),
    *("dependentRequired", "dependentSchemas", "not", "if", "then", "else"),
)
_ANNOTATIONS: Final = frozenset(
    {
        *("title", "description", "default", "defaultBehavior", "examples", "order", "facetable", "visible"),
        *("hideOnCollection", "hideOnForm", "required", "x-index", "authorization", "translatable", "computed"),
    }
)


@dataclass(slots=True)
class Resolved:
    """A body merged with its parents, and the parent each inherited property came from.

    `alternatives` are the properties an object may have because of anyOf or oneOf.
    """

    body: dict[str, Any]
    alternatives: dict[str, Any] = field(default_factory=dict[str, Any])


def resolve(body: Mapping[str, Any], parents: Parents) -> Resolved:
    """Resolve a schema's compositions; InvalidInput for an unknown parent or a cycle of parents."""
    own = [body.get(name) for name in ("id", "uuid", "slug") if body.get(name) is not None]
    return _Composer(parents).resolve(body, [frozenset(own)] if own else [])


class _Composer:
    def __init__(self, parents: Parents) -> None:
        self._parents = parents
        self._seen = 0

    def resolve(self, body: Mapping[str, Any], chain: list[frozenset[Any]]) -> Resolved:
        result = Resolved(deepcopy(dict(body)))
        result.body["properties"] = dict(as_object(body.get("properties")))
        result.body["required"] = required_names(body)
        self._alternatives(result, chain)
        inherited = [entry for entry in as_list(body.get("allOf")) if composed_reference(entry) is not None]
        result.body["allOf"] = [
            rest for entry in as_list(body.get("allOf")) if (rest := _beside_reference(entry)) != {}
        ]
        for entry in reversed(inherited):
            target, parent = self._parent(entry, "allOf", chain)
            _inherit(result, target, parent)
        return result

    def _alternatives(self, result: Resolved, chain: list[frozenset[Any]]) -> None:
        for keyword in ("anyOf", "oneOf"):
            entries = as_list(result.body.get(keyword))
            for index, entry in enumerate(entries):
                if composed_reference(entry) is None:
                    continue
                target, parent = self._parent(entry, keyword, chain)
                for name, value in {**parent.alternatives, **parent.body["properties"]}.items():
                    result.alternatives.setdefault(name, value)
                entries[index] = {"type": "object", **_asserting(parent.body)}
                _merge_named(result.body, parent.body, "$defs", target)
            if entries:
                result.body[keyword] = entries

    def _parent(self, entry: Any, keyword: str, chain: list[frozenset[Any]]) -> tuple[int | str, Resolved]:
        target = composed_reference(entry)
        assert target is not None  # noqa: S101  callers pass entries that name a schema
        self._seen += 1
        if self._seen > MOST_ANCESTORS:
            raise LimitExceeded(f"A schema is made of at most {MOST_ANCESTORS} others.", hint="Flatten the hierarchy.")
        body = self._parents(target)
        if body is None:
            raise unknown_parent(keyword, target)
        names = frozenset([target, *(body.get(name) for name in ("id", "uuid", "slug") if body.get(name) is not None)])
        if any(names & earlier for earlier in chain):
            raise _composition_error(
                keyword, f"the schema {target!r} is built upon this one", "Remove one of the two references."
            )
        return target, self.resolve(body, [*chain, names])


def _inherit(result: Resolved, target: int | str, parent: Resolved) -> None:
    """Merge one parent. Parents are merged from last to first, so the first parent's properties come first."""
    own = cast("dict[str, Any]", result.body["properties"])
    merged: dict[str, Any] = {}
    for name, theirs in cast("dict[str, Any]", parent.body["properties"]).items():
        merged[name] = _merge_property(theirs, own[name]) if name in own else theirs
    result.body["properties"] = {**merged, **{name: value for name, value in own.items() if name not in merged}}
    result.body["required"] = list(dict.fromkeys([*parent.body["required"], *result.body["required"]]))
    for keyword in _MERGED_BY_NAME[1:]:
        _merge_named(result.body, parent.body, keyword, target)
    for keyword in _INHERITED:
        if parent.body.get(keyword) is None:
            continue
        if result.body.get(keyword) is None:
            result.body[keyword] = parent.body[keyword]
        elif keyword not in ("additionalProperties", "unevaluatedProperties"):
            result.body["allOf"].append({keyword: parent.body[keyword]})
    result.body["allOf"] = [*as_list(parent.body.get("allOf")), *result.body["allOf"]]
    for keyword in ("anyOf", "oneOf"):
        if theirs := as_list(parent.body.get(keyword)):
            result.body["allOf"].append({keyword: theirs})
    if isinstance(parent.body.get("configuration"), Mapping):
        result.body["configuration"] = {**parent.body["configuration"], **as_object(result.body.get("configuration"))}
    result.alternatives = {**parent.alternatives, **result.alternatives}


def _merge_property(theirs: Any, ours: Any) -> Any:
    """One property that satisfies both schemas."""
    if not isinstance(theirs, Mapping) or not isinstance(ours, Mapping):
        return cast("Any", theirs if ours is True else ours)
    parent, child = cast("Mapping[str, Any]", theirs), cast("Mapping[str, Any]", ours)
    merged = {**parent, **child}
    disputed = {
        keyword: value
        for keyword, value in parent.items()
        if keyword not in _ANNOTATIONS and keyword in child and child[keyword] != value and value is not None
    }
    if disputed:
        merged["allOf"] = [*as_list(child.get("allOf")), disputed]
    return merged


def _merge_named(body: dict[str, Any], parent: Mapping[str, Any], keyword: str, target: int | str) -> None:
    theirs = as_object(parent.get(keyword))
    if not theirs:
        return
    ours = dict(as_object(body.get(keyword)))
    for name, value in theirs.items():
        if name in ours and ours[name] != value:
            where = f"{keyword}/{name}"
            raise _composition_error(
                "allOf", f"{where} is defined differently here and in the schema {target!r}", "Rename one."
            )
        ours[name] = value
    body[keyword] = ours


def _beside_reference(entry: Any) -> Any:
    """The members of an entry other than the name of a stored schema."""
    if composed_reference(entry) is None:
        return entry
    named = as_object(entry)
    return {keyword: value for keyword, value in named.items() if keyword != "$ref"}


def _asserting(body: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("properties", "required", "patternProperties", "allOf", "anyOf", "oneOf", *_INHERITED)
    return {keyword: body[keyword] for keyword in kept if body.get(keyword) not in (None, [], {})}


def unknown_parent(keyword: str, target: int | str) -> InvalidInput:
    """The finding for a schema with an unknown parent."""
    return _composition_error(
        keyword, f"there is no schema {target!r} to build upon", "Create it first, or correct the name."
    )


def _composition_error(keyword: str, message: str, hint: str) -> InvalidInput:
    problem = {"path": f"/{keyword}", "rule": keyword, "message": message}
    return InvalidInput(f"The schema cannot be composed: {message}.", hint=hint, details={"problems": [problem]})
