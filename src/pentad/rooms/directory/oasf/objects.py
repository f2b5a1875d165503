"""The objects of each version: attributes, constraints and value types, read from the embedded tables on first use.

`validator.py` turns them into checks, `json_schema.py` into a JSON Schema.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal

import msgspec

from pentad.rooms.directory.oasf.taxonomy import table_text

Requirement = Literal["required", "recommended", "optional"]
ShapeFamily = Literal["object", "skill_base", "domain_base", "module"]

_REQUIREMENTS: Final[dict[str, Requirement]] = {"!": "required", "+": "recommended", "?": "optional"}
_ATTRIBUTE: Final = re.compile(r" (\w+)([!+?]) ([\w:]+)(?:<(\w+)>)?(\[\])?( one-of)?(?: = (\S+))?")


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an object."""

    name: str
    type: str
    """A value type, the name of an object, or `class_t:<base>`."""
    requirement: Requirement
    array: bool
    values: tuple[str, ...]
    map_of: str | None
    one_of: bool

    def is_class(self) -> bool:
        """Whether it is a class of the taxonomy, or a list of them."""
        return self.type.startswith("class_t:")


@dataclass(frozen=True, slots=True)
class Constraint:
    kind: Literal["at_least_one", "just_one"]
    attributes: tuple[str, ...]


@dataclass(slots=True)
class Shape:
    """The attributes of an object. An `open` object declares none and accepts anything."""

    family: ShapeFamily
    name: str
    extends: str | None
    open: bool = False
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    constraints: list[Constraint] = field(default_factory=list[Constraint])

    def required(self) -> list[str]:
        """Required attributes, without mutually exclusive ones, which a constraint covers."""
        excluded = {name for rule in self.constraints if rule.kind == "just_one" for name in rule.attributes}
        return [a.name for a in self.attributes.values() if a.requirement == "required" and a.name not in excluded]

    def recommended(self) -> list[str]:
        return [a.name for a in self.attributes.values() if a.requirement == "recommended"]


@dataclass(frozen=True, slots=True)
class ValueType:
    """A value type, with everything it inherits. `kind` is its JSON type."""

    name: str
    kind: Literal["string", "integer", "number", "boolean", "map", "any"]
    max_len: int | None = None
    inherited: bool = False
    """`max_len` comes from the wider type."""
    low: float | None = None
    high: float | None = None
    regex: str | None = None


class Objects:
    """The objects and value types of one version."""

    __slots__ = ("root", "shapes", "types", "version")

    def __init__(self, version: str, shapes: dict[tuple[str, str], Shape], types: dict[str, ValueType]) -> None:
        self.version = version
        self.shapes = shapes
        self.types = types
        self.root = shapes["object", "agent" if version == "0.3.1" else "record"]

    def object(self, name: str) -> Shape:
        return self.shapes["object", name]

    def choices(self, base: str) -> list[Shape]:
        """The objects that extend another, ordered by name."""
        return [shape for shape in self.shapes.values() if shape.family == "object" and shape.extends == base]


@cache
def objects(version: str) -> Objects:
    """The objects of an embedded version."""
    types = _types(msgspec.json.decode(table_text("types", version, "json"), type=dict[str, dict[str, Any]]))
    return Objects(version, _shapes(table_text("objects", version)), types)


def _shapes(text: str) -> dict[tuple[str, str], Shape]:
    shapes: dict[tuple[str, str], Shape] = {}
    shape: Shape | None = None
    for line in text.splitlines():
        if not line.startswith(" "):
            family, name, *extends = line.split(" ")
            shape = Shape(msgspec.convert(family, ShapeFamily), name, extends[0] if extends else None)
            shapes[family, name] = shape
        elif shape is None:
            raise ValueError(f"an attribute before any object: {line!r}")
        elif line == " (any)":
            shape.open = True
        elif line.startswith(" @"):
            kind, *attributes = line[2:].split(" ")
            shape.constraints.append(
                Constraint(msgspec.convert(kind, Literal["at_least_one", "just_one"]), tuple(attributes))
            )
        else:
            attribute = _attribute(line)
            shape.attributes[attribute.name] = attribute
    return shapes


def _attribute(line: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise ValueError(f"not a line of an object table: {line!r}")
    name, mark, kind, map_of, array, one_of, values = match.groups()
    return Attribute(
        name=name,
        type=kind,
        requirement=_REQUIREMENTS[mark],
        array=array is not None,
        values=tuple(values.split(",")) if values else (),
        map_of=map_of,
        one_of=one_of is not None,
    )


_KINDS: Final[dict[str, Literal["string", "integer", "number", "boolean", "map", "any"]]] = {
    "boolean_t": "boolean",
    "bytestring_t": "string",
    "string_t": "string",
    "integer_t": "integer",
    "long_t": "integer",
    "float_t": "number",
    "string_map_t": "map",
    "typed_map_t": "map",
    "json_t": "any",
    "class_t": "any",
}


def _types(table: dict[str, dict[str, Any]]) -> dict[str, ValueType]:
    types: dict[str, ValueType] = {}
    for name, entry in table.items():
        base = table[entry["of"]] if "of" in entry else {}
        low, high = entry.get("range", (None, None))
        types[name] = ValueType(
            name=name,
            kind=_KINDS[entry.get("of", name)],
            max_len=entry.get("max_len", base.get("max_len")),
            inherited="max_len" not in entry and "max_len" in base,
            low=low,
            high=high,
            regex=entry.get("regex", base.get("regex")),
        )
    return types
