"""The properties of a schema as storage, queries, forms and access rules need them.

`derived_from` says which properties a value is made from, through computed values and default templates. Such a value
reveals its sources, so it is hidden from callers who may not read all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pentad.kernel.json_values import as_list, as_object, text_or_none
from pentad.rooms.registers.definitions.defaults import Computed, Default, read_computed, read_default
from pentad.rooms.registers.definitions.json_schema import required_names, types_of
from pentad.rooms.registers.definitions.references import EACH, Reference, read_reference

Kind = Literal["text", "number", "boolean", "date", "moment"]


@dataclass(frozen=True, slots=True)
class Property:
    """One property. `path` starts at the root; `kind` is how its values compare, None for lists and objects.

    `elements` are the properties of objects in a list (empty if they may have any), or None if it holds no objects.
    """

    name: str
    path: tuple[str, ...]
    definition: Mapping[str, Any]
    types: tuple[str, ...]
    kind: Kind | None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    enum: tuple[Any, ...] = ()
    required: bool = False
    facetable: bool = False
    indexed: bool = False
    unique: bool = False
    immutable: bool = False
    visible: bool = True
    hide_on_collection: bool = False
    computed: Computed | None = None
    default: Default | None = None
    ref: Reference | None = None
    authorization: Mapping[str, Any] | None = None
    item_kind: Kind | None = None
    elements: Mapping[str, "Property"] | None = None
    children: Mapping[str, "Property"] = field(default_factory=dict[str, "Property"])

    @property
    def many(self) -> bool:
        return "array" in self.types

    @property
    def value_types(self) -> tuple[str, ...]:
        """The JSON types of its values: those it declares, or those of its enum, its const or a reference."""
        if self.types:
            return self.types
        found = {"string"} if self.ref is not None else _types_of_values(self.definition)
        return () if "other" in found else tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class Indexed:
    """A path to index, and how its values compare."""

    path: tuple[str, ...]
    kind: Kind
    unique: bool = False


def read_properties(body: Mapping[str, Any]) -> dict[str, Property]:
    """The properties of a schema already merged with its parents; nested ones are below their parents."""
    return _level(body, ())


def _level(node: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Property]:
    required = frozenset(required_names(node))
    return {
        name: _read(name, as_object(value), (*path, name), name in required)
        for name, value in as_object(node.get("properties")).items()
    }


def walk_properties(properties: Mapping[str, Property]) -> Iterator[Property]:
    """All properties, nested ones after their parent."""
    for found in properties.values():
        yield found
        yield from walk_properties(found.children)


def references_of(properties: Mapping[str, Property]) -> Iterator[Reference]:
    """Every relation, also inside nested objects and lists of objects."""
    for found in walk_properties(properties):
        yield from _references(found.definition, found.path, found.definition, nested=False)


def uri_references_of(properties: Mapping[str, Property]) -> Iterator[tuple[str, ...]]:
    """The paths of all properties with `format: uri-reference`, with `*` for every list on the way."""
    for found in properties.values():
        yield from _uri_references(found.definition, found.path)


def _uri_references(node: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if node.get("format") == "uri-reference":
        yield path
    if items := as_object(node.get("items")):
        yield from _uri_references(items, (*path, EACH))
    for name, value in as_object(node.get("properties")).items():
        yield from _uri_references(as_object(value), (*path, name))


def _read(name: str, node: Mapping[str, Any], path: tuple[str, ...], required: bool) -> Property:
    items = as_object(node.get("items"))
    reference = next(_references(node, path, node, nested=False), None)
    facet = node.get("facetable")
    return Property(
        name=name,
        path=path,
        definition=node,
        types=types_of(node),
        kind="text" if reference and not reference.many else _kind(node),
        format=text_or_none(node.get("format")),
        title=text_or_none(node.get("title")),
        description=text_or_none(node.get("description")),
        enum=tuple(as_list(node.get("enum"))),
        required=required,
        facetable=facet is True or isinstance(facet, Mapping),
        indexed=bool(node.get("x-index")),
        unique=node.get("unique") is True,
        immutable=node.get("immutable") is True,
        visible=node.get("visible") is not False,
        hide_on_collection=node.get("hideOnCollection") is True,
        computed=read_computed(node),
        default=read_default(node),
        ref=reference,
        authorization=as_object(node.get("authorization")) or None,
        item_kind=("text" if reference else _kind(items)) if "array" in types_of(node) else None,
        children=_level(node, path),
        elements=_elements(node, path),
    )


def _elements(node: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Property] | None:
    items = as_object(node.get("items"))
    if "array" not in types_of(node) or "prefixItems" in node:
        return None
    return _level(items, (*path, EACH)) if "object" in types_of(items) or not types_of(items) else None


def _references(
    node: Mapping[str, Any], path: tuple[str, ...], owner: Mapping[str, Any], *, nested: bool
) -> Iterator[Reference]:
    """The references of one property, including those in its list, its alternatives and the objects in its list."""
    if (found := read_reference(node, path, owner)) is not None:
        yield found
    for keyword in ("allOf", "anyOf", "oneOf"):
        for entry in as_list(node.get(keyword)):
            yield from _references(as_object(entry), path, owner, nested=nested)
    if items := as_object(node.get("items")):
        yield from _references(items, (*path, EACH), node, nested=True)
    if nested:
        for name, inner in as_object(node.get("properties")).items():
            yield from _references(as_object(inner), (*path, name), as_object(inner), nested=True)


def _kind(node: Mapping[str, Any]) -> Kind | None:
    rest = {name for name in types_of(node) if name != "null"} or _types_of_values(node)
    if rest == {"string"}:
        kinds: dict[str | None, Kind] = {"date": "date", "date-time": "moment"}
        return kinds.get(text_or_none(node.get("format")), "text")
    if rest and rest <= {"number", "integer"}:
        return "number"
    return "boolean" if rest == {"boolean"} else None


def _types_of_values(node: Mapping[str, Any]) -> set[str]:
    """The types of a property without `type`, from its enum or const."""
    values = [node["const"]] if "const" in node else as_list(node.get("enum"))
    names = {str: "string", bool: "boolean", int: "number", float: "number"}
    return {names.get(cast("type[Any]", type(value)), "other") for value in values if value is not None}


def derived_from(properties: Mapping[str, Property]) -> dict[str, frozenset[str]]:
    """All direct and indirect sources of each property that is made from others."""
    direct = {name: frozenset(properties_read(found)) for name, found in properties.items()}
    found = {name: sources for name, sources in direct.items() if sources}
    growing = True
    while growing:
        growing = False
        for name, sources in found.items():
            whole = sources.union(*(found[source] for source in sources if source in found))
            growing = growing or whole != sources
            found[name] = whole
    return found


def properties_read(found: Property) -> Iterator[str]:
    """The top-level properties that a property's own definition reads."""
    if found.computed is not None:
        yield from found.computed.rule.properties()
    yield from _defaults(found.definition)


def _defaults(node: Mapping[str, Any]) -> Iterator[str]:
    default = read_default(node)
    if default is not None and default.template is not None:
        yield from default.template.properties()
    for inner in as_object(node.get("properties")).values():
        yield from _defaults(as_object(inner))
    if "items" in node:
        yield from _defaults(as_object(node.get("items")))
