"""The fast path of validation: accepts most valid records and modules in one call.

Each object of a table becomes a `msgspec` type, which checks a whole tree of values at once. It is stricter than the
rules: a value it accepts has every required and recommended attribute, and no findings. If it does not accept a value,
the rules check the value and report any findings. Types are built on first use.
"""

import keyword
import sys
from collections.abc import Callable, Collection
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pentad.kernel.problems import Place
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.objects import Attribute, Objects, Shape, ValueType
from pentad.rooms.directory.oasf.rules import Check, pattern

_FEW: Final = 16


def with_fast_path(check: Check, tables: Objects, shape: Shape, unchecked: Collection[str] = ()) -> Check:
    """The same check, skipped for objects that the fast test accepts."""
    test = fast_test(tables, shape, unchecked)

    def check_in_doubt(value: Any, place: Place, out: Report) -> None:
        if not test(value):
            check(value, place, out)

    return check_in_doubt


class _NoType(Exception):
    """The object has no type, because it contains itself or is one of several."""


def fast_test(tables: Objects, shape: Shape, unchecked: Collection[str] = ()) -> Callable[[Any], bool]:
    """A test that accepts valid objects; False proves nothing. The `unchecked` attributes are left to the rules: they
    may have any value or be missing."""
    built: list[Any] = []

    def test(value: Any) -> bool:
        if not built:
            built.append(_build_type(tables, shape, unchecked))
        if built[0] is None or value.__class__ is not dict:
            return False
        try:
            msgspec.convert(value, built[0])
        except (msgspec.ValidationError, OverflowError, RecursionError):
            return False
        return True

    return test


def _build_type(tables: Objects, shape: Shape, unchecked: Collection[str]) -> Any:
    try:
        return _Types(tables).build(shape, unchecked)
    except _NoType:
        return None


class _Types:
    def __init__(self, tables: Objects) -> None:
        self._tables = tables
        self._built: dict[str, Any] = {}

    def object(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = None
            self._built[name] = self.build(self._tables.object(name))
        if self._built[name] is None:
            raise _NoType(name)
        return self._built[name]

    def build(self, shape: Shape, unchecked: Collection[str] = ()) -> Any:
        return dict[str, Any] if shape.open else self._struct(shape, unchecked)

    def _struct(self, shape: Shape, unchecked: Collection[str]) -> type[msgspec.Struct]:
        expected = {*shape.required(), *shape.recommended()}.difference(unchecked)
        fields: list[Any] = []
        for name, attribute in shape.attributes.items():
            if keyword.iskeyword(name):
                raise _NoType(name)
            kind = Any if name in unchecked else self._attribute(attribute)
            absent = () if attribute.array else UNSET
            fields.append((name, kind) if name in expected else (name, kind | UnsetType, absent))
        return msgspec.defstruct(
            shape.name,
            fields,
            namespace=_post_init_check(shape, unchecked),
            kw_only=True,
            forbid_unknown_fields=True,
            gc=False,
        )

    def _attribute(self, attribute: Attribute) -> Any:
        kind = self._tables.types.get(attribute.type)
        if attribute.one_of or attribute.is_class():
            raise _NoType(attribute.name)
        if kind is None:
            item = self.object(attribute.type)
        elif kind.kind == "map":
            item = dict[str, _value(self._tables.types[attribute.map_of]) if attribute.map_of else str]
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
            raise _NoType(kind.name)


def _post_init_check(shape: Shape, unchecked: Collection[str]) -> dict[str, Any]:
    """Checks what types cannot express: duplicate items, and constraints between attributes. It runs for every object
    of a record, so each type gets a generated function that reads its attributes directly."""
    absent = {name: "== ()" if attribute.array else "is UNSET" for name, attribute in shape.attributes.items()}
    faults = [
        f"len(self.{name}) > 1 and has_duplicates(self.{name})"
        for name, attribute in shape.attributes.items()
        if attribute.array and name not in unchecked
    ]
    for rule in shape.constraints:
        count = " + ".join(f"(self.{name} {absent[name]})" for name in rule.attributes)
        wrong = "!=" if rule.kind == "just_one" else ">"
        faults.append(f"{count} {wrong} {len(rule.attributes) - 1}")
    if not faults:
        return {}
    text = f"def check(self):\n    if {' or '.join(faults)}:\n        raise ValueError"
    names: dict[str, Any] = {"UNSET": UNSET, "has_duplicates": _has_duplicates}
    exec(text, names)  # noqa: S102  the names in the text are those of the embedded tables, never a caller's
    return {"__post_init__": names["check"]}


def _has_duplicates(items: list[Any]) -> bool:
    """Whether a list may have duplicates. Long lists are left to the rules."""
    if len(items) == 2:
        return items[0] == items[1]
    return len(items) > _FEW or any(item in items[:index] for index, item in enumerate(items))
