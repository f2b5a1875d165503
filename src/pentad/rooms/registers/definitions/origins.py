"""Which properties a property's value is made from: what it computes, and the templates of its defaults at any depth.

A value made from others tells of them, so whoever may not read one of those may not read it either.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pentad.rooms.registers.definitions.defaults import read_default
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.definitions.shapes import mapping


def made_from(properties: Mapping[str, Property]) -> dict[str, frozenset[str]]:
    """For each property that is made from others, all of them: also those that the others are made from."""
    direct = {name: frozenset(reads(found)) for name, found in properties.items()}
    found = {name: sources for name, sources in direct.items() if sources}
    growing = True
    while growing:
        growing = False
        for name, sources in found.items():
            whole = sources.union(*(found[source] for source in sources if source in found))
            growing = growing or whole != sources
            found[name] = whole
    return found


def reads(found: Property) -> Iterator[str]:
    """The top-level properties that a property's own definition reads."""
    if found.computed is not None:
        yield from found.computed.rule.properties()
    yield from _defaults(found.definition)


def _defaults(node: Mapping[str, Any]) -> Iterator[str]:
    default = read_default(node)
    if default is not None and default.template is not None:
        yield from default.template.properties()
    for inner in mapping(node.get("properties")).values():
        yield from _defaults(mapping(inner))
    if "items" in node:
        yield from _defaults(mapping(node.get("items")))
