"""Generates the JSON Schema (draft-07) of a record from the tables of a version.

The schema is for people and other programs; Pentad validates with `validator.py`. The two agree with three exceptions:
a pattern mismatch is an error in the schema but only a warning in the validator, the schema cannot compare the types of
locators, and it accepts any text for schema_version. Mutually exclusive attributes are never required, so that such an
object can be valid at all.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from pentad.rooms.directory.oasf.class_rules import FEATURE_NAMES, NUMBERED_SKILL, OLD_MODULE_NAMES
from pentad.rooms.directory.oasf.objects import Attribute, Constraint, Objects, Shape, ValueType, objects
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import Family

SERVER: Final = "https://schema.oasf.outshift.com"
"""The public OASF server, whose addresses identify the schemas."""

Json = dict[str, Any]

_KINDS: Final = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}
_FAMILIES: Final[dict[str, Family]] = {"base_skill": "skill", "base_domain": "domain", "base_module": "module"}


@cache
def json_schema(version: str) -> Json:
    """The schema of a record of an embedded version. Shared: copy it before changing it."""
    return _Writer(version).record()


class _Writer:
    def __init__(self, version: str) -> None:
        self._version = version
        self._tables: Objects = objects(version)
        self._needed: dict[str, Json] = {}

    def record(self) -> Json:
        root = self._tables.root
        body = self._object(root)
        groups: dict[str, Json] = {
            "skills": {entry.short: self._numbered(entry) for entry in self._usable("skill")}
            if self._version == "0.3.1"
            else self._classes("skill"),
            "domains": {} if self._version == "0.3.1" else self._classes("domain"),
            "modules": {} if self._version == "0.3.1" else self._modules(),
            "features": self._features() if self._version == "0.3.1" else {},
        }
        groups["objects"] = dict(sorted(self._needed.items()))
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": f"{SERVER}/schema/{self._version}/objects/{root.name}",
            **body,
            "$defs": {name: group for name, group in groups.items() if group},
        }

    def _object(self, shape: Shape, replaced: Json | None = None) -> Json:
        properties = {name: self._attribute(attribute) for name, attribute in shape.attributes.items()}
        properties |= replaced or {}
        body: Json = {"title": _caption(shape.name), "type": "object"}
        if properties:
            body |= {"properties": properties, "additionalProperties": False}
        else:
            body["additionalProperties"] = True
        if required := sorted(shape.required()):
            body["required"] = required
        for constraint in shape.constraints:
            _add_constraint(body, constraint)
        return body

    def _attribute(self, attribute: Attribute) -> Json:
        if attribute.type.startswith("class_t:"):
            item = self._one_class(attribute.type.removeprefix("class_t:"))
        elif (kind := self._tables.types.get(attribute.type)) is None:
            item = self._reference(attribute)
        elif kind.kind == "map":
            values = _value(self._tables.types[attribute.map_of]) if attribute.map_of else {"type": "string"}
            item = {"type": "object", "additionalProperties": values}
        else:
            item = _value(kind, attribute.values)
        title = {"title": _caption(attribute.name)}
        if not attribute.array:
            return title | item
        least = {"minItems": 1} if attribute.requirement == "required" else {}
        return {**title, "type": "array", "items": item, "uniqueItems": True, **least}

    def _reference(self, attribute: Attribute) -> Json:
        if attribute.one_of:
            return {"oneOf": [self._named(shape.name) for shape in self._tables.choices(attribute.type)]}
        return self._named(attribute.type)

    def _named(self, name: str) -> Json:
        if name not in self._needed:
            self._needed[name] = {}
            self._needed[name] = self._object(self._tables.object(name))
        return {"$ref": f"#/$defs/objects/{name}"}

    def _one_class(self, base: str) -> Json:
        if base == "base_feature":
            known = [{"$ref": f"#/$defs/features/{short}"} for short in FEATURE_NAMES.values()]
            return {"oneOf": [*known, _any_other(list(FEATURE_NAMES))]}
        family = _FAMILIES[base]
        known = [{"$ref": f"#/$defs/{family}s/{entry.short}"} for entry in self._usable(family)]
        if family == "module" and self._version in ("0.7.0", "0.8.0"):
            names = {entry.name for entry in taxonomy(self._version, family).all}
            known.append(_any_other(sorted(names | (set(OLD_MODULE_NAMES) if self._version == "0.7.0" else set()))))
        return {"oneOf": known}

    def _usable(self, family: Family) -> list[ClassEntry]:
        return [entry for entry in taxonomy(self._version, family).all if not entry.grouping]

    def _classes(self, family: Family) -> Json:
        shape = self._tables.shapes["skill_base" if family == "skill" else "domain_base", f"base_{family}"]
        return {
            entry.short: self._object(shape, {"id": {"const": entry.id}, "name": {"const": entry.name}})
            | {"title": entry.caption}
            for entry in self._usable(family)
        }

    def _modules(self) -> Json:
        modules: Json = {}
        for entry in self._usable("module"):
            old = [name for name, new in OLD_MODULE_NAMES.items() if new == entry.name and self._version == "0.7.0"]
            name: Json = {"enum": [entry.name, *old]} if old else {"const": entry.name}
            shape = self._tables.shapes["module", entry.short]
            modules[entry.short] = self._object(shape, {"id": {"const": entry.id}, "name": name}) | {
                "title": entry.caption
            }
        return modules

    def _features(self) -> Json:
        return {
            short: self._object(self._tables.shapes["module", short], {"name": {"const": name}})
            for name, short in FEATURE_NAMES.items()
        }

    def _numbered(self, entry: ClassEntry) -> Json:
        top = taxonomy(self._version, "skill").parents(entry)[0]
        numbers = {"class_uid": {"const": entry.id}, "category_uid": {"const": top.id}}
        return self._object(NUMBERED_SKILL, numbers) | {"title": entry.caption}


def _value(kind: ValueType, values: tuple[str, ...] = ()) -> Json:
    if kind.kind == "any":
        return {}
    if len(values) == 1:
        return {"const": values[0]}
    body: Json = {"type": _KINDS[kind.kind]}
    if values:
        return body | {"enum": list(values)}
    limits = {"maxLength": kind.max_len, "pattern": kind.regex, "minimum": kind.low, "maximum": kind.high}
    return body | {name: limit for name, limit in limits.items() if limit is not None}


def _add_constraint(body: Json, constraint: Constraint) -> None:
    def others(name: str) -> list[Json]:
        return [{"required": [other]} for other in constraint.attributes if other != name]

    branch: Callable[[str], Json] = (
        (lambda name: {"required": [name]})
        if constraint.kind == "at_least_one"
        else (lambda name: {"required": [name], "not": {"anyOf": others(name)}})
    )
    body["anyOf" if constraint.kind == "at_least_one" else "oneOf"] = [branch(name) for name in constraint.attributes]


def _any_other(names: list[str]) -> Json:
    """An object with any content whose name is not one of the known ones."""
    return {"type": "object", "properties": {"name": {"type": "string", "not": {"enum": names}}}, "required": ["name"]}


def _caption(name: str) -> str:
    return name.replace("_", " ").title()
