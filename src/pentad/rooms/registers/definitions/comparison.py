"""What a new version of a schema changes, property by property: added, removed, renamed, tightened or loosened.

Judged by keyword, so it says what an author did; whether stored objects still fit is for `evolution.py` to find out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal

from pentad.rooms.registers.definitions.compiled import CompiledSchema
from pentad.rooms.registers.definitions.diffing import quoted
from pentad.rooms.registers.definitions.properties import Property, every
from pentad.rooms.registers.definitions.shapes import members
from pentad.rooms.registers.definitions.translation import types_of

ChangeKind = Literal["added", "removed", "renamed", "tightened", "loosened", "changed"]
_SIMILAR: Final = 0.6
_LOWER_BOUNDS: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER_BOUNDS: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_NARROWING: Final = ("pattern", "format", "const", "multipleOf", "unique", "immutable", "uniqueItems", "not", "items")


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; `name` is the property, nested ones with dots, and `rule` the keyword it is about.

    `breaking` means that stored objects may no longer fit.
    """

    name: str
    kind: ChangeKind
    rule: str
    message: str
    to: str | None = None

    @property
    def breaking(self) -> bool:
        return self.kind in ("removed", "renamed", "tightened")

    def as_json(self) -> dict[str, Any]:
        body = {"property": self.name, "kind": self.kind, "rule": self.rule, "message": self.message}
        return {**body, "to": self.to, "breaking": True} if self.to else {**body, "breaking": self.breaking}


def compare(old: CompiledSchema, new: CompiledSchema) -> list[Change]:
    """All changes, in the order of the old schema, then what is new."""
    before = {".".join(found.path): found for found in every(old.properties)}
    after = {".".join(found.path): found for found in every(new.properties)}
    renamed = _renamed(
        {name: found for name, found in before.items() if name not in after},
        {name: found for name, found in after.items() if name not in before},
    )
    changes: list[Change] = []
    for name, found in before.items():
        if name in after:
            changes.extend(_compared(name, found, after[name]))
        elif name in renamed:
            message = f"looks renamed to {renamed[name]!r}"
            changes.append(Change(name, "renamed", "properties", message, to=renamed[name]))
        else:
            changes.append(Change(name, "removed", "properties", "is no longer a property"))
    for name, found in after.items():
        if name not in before and name not in renamed.values():
            changes.append(_added(name, found))
    changes.extend(_closed(old.body, new.body))
    return changes


def _added(name: str, found: Property) -> Change:
    if found.required and found.default is None:
        return Change(name, "tightened", "required", "is new and required, without a default")
    return Change(name, "added", "properties", "is new")


def _closed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Whether properties nobody declared are allowed."""
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        before, after = old.get(keyword) is False, new.get(keyword) is False
        if before != after:
            message = "undeclared properties are no longer allowed" if after else "undeclared properties are allowed"
            yield Change("", "tightened" if after else "loosened", keyword, message)


def _renamed(gone: Mapping[str, Property], come: Mapping[str, Property]) -> dict[str, str]:
    """Pairs of the same shape whose names or titles are alike; each new name is used once."""
    scored = sorted(
        (
            (_likeness(name, before, other, after), name, other)
            for name, before in gone.items()
            for other, after in come.items()
            if before.types == after.types and before.format == after.format and before.path[:-1] == after.path[:-1]
        ),
        reverse=True,
    )
    pairs: dict[str, str] = {}
    for score, name, other in scored:
        if score >= _SIMILAR and name not in pairs and other not in pairs.values():
            pairs[name] = other
    return pairs


def _likeness(name: str, before: Property, other: str, after: Property) -> float:
    if before.title and before.title == after.title:
        return 1.0
    return SequenceMatcher(None, name[:100].casefold(), other[:100].casefold()).ratio()


def _compared(name: str, old: Property, new: Property) -> Iterator[Change]:
    if old.required != new.required:
        kind: ChangeKind = "tightened" if new.required else "loosened"
        yield Change(name, kind, "required", "is now required" if new.required else "is no longer required")
    before, after = old.definition, new.definition
    for rule, judge in _JUDGES:
        if before.get(rule) != after.get(rule) and (verdict := judge(before, after, rule)) is not None:
            yield Change(name, verdict, rule, f"{rule}: {quoted(before.get(rule))} became {quoted(after.get(rule))}")


def _types(before: Mapping[str, Any], after: Mapping[str, Any], _: str) -> ChangeKind:
    old, new = set(types_of(before)), set(types_of(after))
    if "number" in new:
        new.add("integer")
    if not new:
        return "loosened"
    return "loosened" if old and old <= new else "tightened"


def _values(before: Mapping[str, Any], after: Mapping[str, Any], rule: str) -> ChangeKind:
    if after.get(rule) is None:
        return "loosened"
    kept = all(value in members(after[rule]) for value in members(before.get(rule)))
    return "loosened" if before.get(rule) is not None and kept else "tightened"


def _lower(before: Mapping[str, Any], after: Mapping[str, Any], rule: str) -> ChangeKind | None:
    return _bound(before.get(rule), after.get(rule), upward=True)


def _upper(before: Mapping[str, Any], after: Mapping[str, Any], rule: str) -> ChangeKind | None:
    return _bound(before.get(rule), after.get(rule), upward=False)


def _bound(old: Any, new: Any, *, upward: bool) -> ChangeKind | None:
    if new is None:
        return "loosened"
    if old is None:
        return "tightened"
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return "changed"
    return "tightened" if (new > old) is upward else "loosened"


def _narrowing(before: Mapping[str, Any], after: Mapping[str, Any], rule: str) -> ChangeKind:
    return "loosened" if not after.get(rule) else "tightened"


def _neutral(before: Mapping[str, Any], after: Mapping[str, Any], rule: str) -> ChangeKind:
    return "changed"


_Judge = Callable[[Mapping[str, Any], Mapping[str, Any], str], ChangeKind | None]
_JUDGES: Final[list[tuple[str, _Judge]]] = [
    ("type", _types),
    ("enum", _values),
    *((rule, _lower) for rule in _LOWER_BOUNDS),
    *((rule, _upper) for rule in _UPPER_BOUNDS),
    *((rule, _narrowing) for rule in _NARROWING),
    *((rule, _neutral) for rule in ("title", "description", "default", "$ref", "onDelete", "computed")),
]
