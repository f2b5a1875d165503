"""How much work a JSON Schema can make of one value, found out before it is ever used.

A few lines of schema can ask for the same value to be checked a million times (`anyOf` doubled through `$ref`), and a
recursive schema can double its work with every level of the instance. The bound counted here is the number of
subschemas applied along one path into an instance of a given depth. It never looks at an instance.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import unquote

from pentad.kernel.errors import InvalidInput, LimitExceeded

CEILING: Final = 1_000_000_000
_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else", "propertyNames")
_DEEPER: Final = ("additionalProperties", "unevaluatedProperties", "items", "contains", "unevaluatedItems")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas")
_REFERENCES: Final = ("$ref", "$dynamicRef")
_APPLYING: Final = frozenset({*_IN_PLACE_LISTS, *_IN_PLACE, *_DEEPER, *_NAMED, *_REFERENCES, "prefixItems"})


class SchemaCost:
    """Counts over one schema; asked for a depth, it answers with the number of checks on the way there."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._anchors = _anchors(schema)
        self._known: dict[tuple[int, int], int] = {}
        self._targets: dict[str, Any] = {}
        self._open: list[tuple[int, int]] = []
        self._refers = any(keyword in node for _, node in subschemas(schema) for keyword in _REFERENCES)

    def at(self, depth: int) -> int:
        """Subschemas applied along one path of `depth` levels, at most CEILING."""
        try:
            # Level by level, so that a recursive schema finds its own lower levels counted.
            for level in range(depth if self._refers else 0):
                self._of(self._root, level)
            return self._of(self._root, depth)
        except RecursionError:
            raise LimitExceeded("The schema chains too many $refs.", hint="Refer to the last one directly.") from None

    def _of(self, schema: Any, depth: int) -> int:
        if not isinstance(schema, dict):
            return 1
        node = cast("dict[str, Any]", schema)
        if _APPLYING.isdisjoint(node):
            return 1
        key = (id(node), depth)
        if (known := self._known.get(key)) is not None:
            return known
        if key in self._open:
            raise InvalidInput(
                "The schema refers to itself without going deeper into the data, so checking would never end.",
                hint="Put the recursive $ref under properties or items.",
            )
        self._open.append(key)
        total = 1 + sum(self._of(inner, depth) for inner in self._beside(node))
        if depth:
            total += max(self._below_object(node, depth - 1), self._below_array(node, depth - 1))
        self._open.pop()
        self._known[key] = min(total, CEILING)
        return self._known[key]

    def _beside(self, node: Mapping[str, Any]) -> Iterator[Any]:
        """Subschemas for the same value."""
        for keyword in _IN_PLACE_LISTS:
            yield from _members(node.get(keyword))
        for keyword in _IN_PLACE:
            if keyword in node:
                yield node[keyword]
        yield from _values(node.get("dependentSchemas"))
        for keyword in _REFERENCES:
            if isinstance(reference := node.get(keyword), str):
                if reference not in self._targets:
                    self._targets[reference] = self._target(reference)
                yield self._targets[reference]

    def _below_object(self, node: Mapping[str, Any], depth: int) -> int:
        declared = [self._of(inner, depth) for inner in _values(node.get("properties"))]
        rest = self._of(node["additionalProperties"], depth) if "additionalProperties" in node else 0
        patterns = sum(self._of(inner, depth) for inner in _values(node.get("patternProperties")))
        late = self._of(node["unevaluatedProperties"], depth) if "unevaluatedProperties" in node else 0
        return max([rest, *declared]) + patterns + late

    def _below_array(self, node: Mapping[str, Any], depth: int) -> int:
        first = [self._of(inner, depth) for inner in _members(node.get("prefixItems"))]
        rest = self._of(node["items"], depth) if "items" in node else 0
        others = sum(self._of(node[name], depth) for name in ("contains", "unevaluatedItems") if name in node)
        return max([rest, *first]) + others

    def _target(self, reference: str) -> Any:
        """What a reference inside the document points at; anything else was refused, or counts as one."""
        if reference in self._anchors:
            return self._anchors[reference]
        if reference == "#":
            return self._root
        if not reference.startswith("#/"):
            return True
        node: Any = self._root
        for part in reference[2:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, list):
                members = cast("list[Any]", node)
                node = members[int(name)] if name.isdecimal() and int(name) < len(members) else True
            else:
                node = cast("dict[str, Any]", node).get(name, True) if isinstance(node, dict) else True
        return node


def subschemas(schema: Any) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every subschema with its path, the root first; only where JSON Schema says that a subschema stands."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), schema)]
    while waiting:
        path, found = waiting.pop()
        if not isinstance(found, dict):
            continue
        node = cast("dict[str, Any]", found)
        yield path, node
        waiting.extend(((*path, keyword), node[keyword]) for keyword in (*_IN_PLACE, *_DEEPER) if keyword in node)
        for keyword in (*_IN_PLACE_LISTS, "prefixItems"):
            waiting.extend(((*path, keyword, index), inner) for index, inner in enumerate(_members(node.get(keyword))))
        for keyword in (*_NAMED, "$defs", "definitions"):
            inner = node.get(keyword)
            if isinstance(inner, dict):
                named = cast("dict[str, Any]", inner)
                waiting.extend(((*path, keyword, name), value) for name, value in named.items())


def _anchors(schema: Any) -> dict[str, Any]:
    return {
        f"#{node[keyword]}": node
        for _, node in subschemas(schema)
        for keyword in ("$anchor", "$dynamicAnchor")
        if isinstance(node.get(keyword), str)
    }


def _members(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _values(value: Any) -> list[Any]:
    return list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else []
