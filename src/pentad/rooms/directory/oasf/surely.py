"""A quick yes for the data of modules, which is most of a large record.

The objects of a table become types of `msgspec`, which looks through a whole tree of values in one call. It is stricter
than the rules: what it takes has every attribute that is required or recommended and nothing to remark upon. What it
does not take is left to the rules, which say what is wrong, if anything is. A type is made at the first module that
needs it.
"""

import keyword
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pentad.rooms.directory.oasf.objects import Attribute, Objects, Shape, ValueType
from pentad.rooms.directory.oasf.rules import pattern

_FEW: Final = 16


class _NoTypeFor(Exception):
    """What has no such type: an object that holds itself, or is one of several."""


def surely_right(facts: Objects, name: str) -> Callable[[Any], bool]:
    """Whether a value is an object of this name beyond doubt; False is no verdict."""
    made: list[Any] = []

    def test(value: Any) -> bool:
        if not made:
            made.append(_made(facts, name))
        if made[0] is None or value.__class__ is not dict:
            return False
        try:
            msgspec.convert(value, made[0])
        except (msgspec.ValidationError, OverflowError, RecursionError):
            return False
        return True

    return test


def _made(facts: Objects, name: str) -> Any:
    try:
        return _Types(facts).object(name)
    except _NoTypeFor:
        return None


class _Types:
    def __init__(self, facts: Objects) -> None:
        self._facts = facts
        self._made: dict[str, Any] = {}

    def object(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = None
            shape = self._facts.object(name)
            self._made[name] = dict[str, Any] if shape.open else self._struct(shape)
        if self._made[name] is None:
            raise _NoTypeFor(name)
        return self._made[name]

    def _struct(self, shape: Shape) -> type[msgspec.Struct]:
        expected = {*shape.required(), *shape.recommended()}
        joined = {name for rule in shape.constraints for name in rule.attributes}
        fields: list[Any] = []
        for name, attribute in shape.attributes.items():
            if keyword.iskeyword(name) or (attribute.array and name in joined):
                raise _NoTypeFor(name)
            kind = self._attribute(attribute)
            absent = () if attribute.array else UNSET
            fields.append((name, kind) if name in expected else (name, kind | UnsetType, absent))
        return msgspec.defstruct(
            shape.name,
            fields,
            namespace=_afterwards(shape, expected),
            kw_only=True,
            forbid_unknown_fields=True,
            gc=False,
        )

    def _attribute(self, attribute: Attribute) -> Any:
        kind = self._facts.types.get(attribute.type)
        if attribute.one_of or attribute.type.startswith("class_t:"):
            raise _NoTypeFor(attribute.name)
        if kind is None:
            item = self.object(attribute.type)
        elif kind.kind == "map":
            item = dict[str, _value(self._facts.types[attribute.map_of]) if attribute.map_of else str]
        else:
            item = Literal[attribute.values] if attribute.values else _value(kind)
        if not attribute.array:
            return item
        return Annotated[list[item], Meta(min_length=1)] if attribute.requirement == "required" else list[item]


def _value(kind: ValueType) -> Any:
    match kind.kind:
        case "any":
            return Any
        case "boolean":
            return bool
        case "integer":
            return int
        case "number":
            low, high = (-sys.float_info.max, sys.float_info.max) if kind.low is None else (kind.low, kind.high)
            return Annotated[float, Meta(ge=low, le=high)]
        case "string":
            regex = None if kind.regex is None else f"(?a){pattern(kind.regex).pattern}"
            limits = kind.max_len is not None or regex is not None
            return Annotated[str, Meta(max_length=kind.max_len, pattern=regex)] if limits else str
        case "map":
            raise _NoTypeFor(kind.name)


def _afterwards(shape: Shape, expected: set[str]) -> dict[str, Any]:
    """What types cannot say: that no item comes twice, and which attributes go together."""
    lists = [attribute.name for attribute in shape.attributes.values() if attribute.array]
    constraints = [
        (attrgetter(*rule.attributes), len(rule.attributes) - 1, rule.kind == "just_one")
        for rule in shape.constraints
        if rule.kind == "just_one" or expected.isdisjoint(rule.attributes)
    ]
    single = attrgetter(lists[0]) if lists else None
    several = attrgetter(*lists) if len(lists) > 1 else None

    def look(made: Any) -> None:
        if several is not None:
            for items in several(made):
                if len(items) > 1 and _repeats(items):
                    raise ValueError
        elif single is not None:
            items = single(made)
            if len(items) > 1 and _repeats(items):
                raise ValueError
        for values_of, most, just_one in constraints:
            absent = values_of(made).count(UNSET)
            if absent > most or (just_one and absent < most):
                raise ValueError

    return {"__post_init__": look} if lists or constraints else {}


def _repeats(items: list[Any]) -> bool:
    """Whether an item may come twice. Long lists are left to the rules."""
    if len(items) == 2:
        return items[0] == items[1]
    return len(items) > _FEW or any(item in items[:index] for index, item in enumerate(items))
