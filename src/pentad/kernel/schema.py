"""Compiled JSON Schemas (2020-12) with limits on compiling and running; failures have a path, a rule and a value.

Schemas come from callers. Before one is used, its size, nesting, patterns, references and branching are checked, and
nothing is fetched. A pattern runs in linear time; one with look-around runs under a small backtracking limit and on
short strings only.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import msgspec

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json_pointer import pointer, unescape

if TYPE_CHECKING:
    # Imported on first use: many callers only read failures and pointers.
    import jsonschema_rs

Path = tuple[str | int, ...]
FormatCheck = Callable[[str], bool]

_META_URI: Final = "https://json-schema.org/draft/2020-12/schema"
_DEEPEST_INSTANCE: Final = 64
_PATTERNS_TOGETHER: Final = 64 * 1024 * 1024
_ONE_PATTERN: Final = 8 * 1024 * 1024
_LONGEST_FOR_LOOKAROUND: Final = 1_000
_BACKTRACKS: Final = 1_000
_EXPLAIN_BUDGET: Final = 20_000
CEILING: Final = 1_000_000_000
FORMAT_EXAMPLES: Final[Mapping[str, str]] = {
    "date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "P3DT12H",
    "email": "ada@example.org", "uri": "https://example.org/",
}  # fmt: skip
_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else", "propertyNames")
_DEEPER: Final = ("additionalProperties", "unevaluatedProperties", "items", "contains", "unevaluatedItems")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas")
_REFERENCES: Final = ("$ref", "$dynamicRef")
_APPLYING: Final = frozenset({*_IN_PLACE_LISTS, *_IN_PLACE, *_DEEPER, *_NAMED, *_REFERENCES, "prefixItems"})


@dataclass(frozen=True, slots=True)
class SchemaBounds:
    """The limits of a schema."""

    depth: int = 32
    size: int = 256 * 1024
    pattern: int = 1_000
    checks: int = 10_000


@dataclass(frozen=True, slots=True)
class Failure:
    """One rule that a value breaks. `branches` holds the failures of each alternative of anyOf and oneOf."""

    path: Path
    rule: str
    message: str
    received: Any
    expected: Any = None
    branches: tuple[tuple["Failure", ...], ...] = ()


class JsonSchema:
    """A schema ready for use; build it with `compile_json_schema`."""

    __slots__ = ("_alternatives", "_cost", "_validator", "deepest", "is_valid")

    def __init__(self, document: Any, validator: "jsonschema_rs.Validator", cost: "SchemaCost", most: int) -> None:
        self._validator = validator
        self._cost = cost
        self._alternatives = any("anyOf" in node or "oneOf" in node for _, node in subschemas(document))
        self.deepest = _deepest(cost, most)
        self.is_valid: Callable[[Any], bool] = validator.is_valid if self.deepest is None else self._is_valid_if_shallow

    def failures(self, instance: Any, *, limit: int = 50) -> list[Failure]:
        """The failures, in the order of the schema; at most `limit`."""
        depth, nodes = measure(instance)
        if depth > _DEEPEST_INSTANCE or (self.deepest is not None and depth > self.deepest):
            most = min(_DEEPEST_INSTANCE, self.deepest or _DEEPEST_INSTANCE)
            return [Failure((), "depth", f"nested {depth} levels deep; this schema allows {most}", None, most)]
        try:
            if self._validator.is_valid(instance):
                return []
            if nodes * self._cost.at(depth) > _EXPLAIN_BUDGET:
                return [self._first_failure(instance)]
            return [_failure(error) for error in islice(self._validator.iter_errors(instance), limit)]
        except (ValueError, OverflowError) as error:
            return [Failure((), "json", f"is not plain JSON: {str(error)[:120]}", None)]

    def _first_failure(self, instance: Any) -> Failure:
        """For large values: to find the first failure, the library would collect those of all alternatives."""
        import jsonschema_rs

        if not self._alternatives:
            try:
                self._validator.validate(instance)
            except jsonschema_rs.ValidationError as error:
                return _failure(error)
        return Failure((), "schema", "does not match the schema; it is too large to say where", None)

    def _is_valid_if_shallow(self, instance: Any) -> bool:
        return measure(instance)[0] <= (self.deepest or _DEEPEST_INSTANCE) and self._validator.is_valid(instance)


def compile_json_schema(
    schema: Mapping[str, Any],
    *,
    formats: Mapping[str, FormatCheck] | None = None,
    bounds: SchemaBounds = SchemaBounds(),  # noqa: B008  frozen, so one instance may be shared
) -> JsonSchema:
    """The compiled schema; InvalidInput with `details.problems`, each with path, rule and message."""
    document = bounded_copy(schema, bounds)
    problems = [*_meta_problems(document), *_reference_problems(document), *_pattern_problems(document, bounds)]
    if problems:
        raise _refusal(problems)
    cost = SchemaCost(document)
    if (checks := cost.at(4)) > bounds.checks:
        raise LimitExceeded(
            f"The schema applies {checks} subschemas to one value; the limit is {bounds.checks}.",
            hint="Flatten nested anyOf, oneOf and allOf.",
        )
    return JsonSchema(document, _validator(document, dict(formats or {})), cost, bounds.checks)


def measure(instance: Any) -> tuple[int, int]:
    """Depth and number of values in a JSON value; counting stops beyond the deepest allowed."""
    depth, nodes = 0, 1
    level: list[Any] = [instance]
    while level:
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner.extend(cast("dict[str, Any]", value).values())
            elif isinstance(value, list | tuple):
                inner.extend(cast("list[Any]", value))
        if not inner and not any(isinstance(value, dict | list | tuple) for value in level):
            break
        depth += 1
        nodes += len(inner)
        if depth > _DEEPEST_INSTANCE:
            break
        level = inner
    return depth, nodes


def _deepest(cost: "SchemaCost", most: int) -> int | None:
    """None if the cost does not explode with depth; otherwise the greatest depth with an acceptable cost."""
    if cost.at(_DEEPEST_INSTANCE) <= most:
        return None
    return next(depth for depth in range(_DEEPEST_INSTANCE, 0, -1) if cost.at(depth) <= most)


def bounded_copy(schema: Mapping[str, Any], bounds: SchemaBounds) -> dict[str, Any]:
    """A plain copy of the schema; LimitExceeded if it is too large or too deep."""
    try:
        text = msgspec.json.encode(schema)
    except RecursionError:
        raise LimitExceeded(f"The schema is nested deeper than {bounds.depth} levels.", hint="Use $defs.") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"The schema is not plain JSON: {str(error)[:120]}.", hint="Send JSON.") from None
    if len(text) > bounds.size:
        raise LimitExceeded(
            f"The schema has {len(text)} bytes; the limit is {bounds.size}.", hint="Split it into several schemas."
        )
    # One schema level is two JSON levels: the keyword, and the name or number under it.
    if measure(schema)[0] > min(2 * bounds.depth, _DEEPEST_INSTANCE):
        raise LimitExceeded(f"The schema is nested deeper than {bounds.depth} levels.", hint="Use $defs.")
    return cast("dict[str, Any]", msgspec.json.decode(text))


@cache
def _meta() -> "jsonschema_rs.Validator":
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator({"$ref": _META_URI}, validate_formats=False, offline=True)


def _meta_problems(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"path": pointer(error.instance_path), "rule": error.kind.name, "message": _about_schema(error)}
        for error in islice(_meta().iter_errors(document), 20)
    ]


def _about_schema(error: "jsonschema_rs.ValidationError") -> str:
    if error.instance_path and error.instance_path[-1] == "type":
        return f"{error.instance!r} is not a type; use string, number, integer, boolean, array, object or null"
    return error.message[:200]


def _reference_problems(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path, node in subschemas(document):
        for keyword in ("$ref", "$dynamicRef"):
            reference = node.get(keyword)
            if isinstance(reference, str) and not reference.startswith("#") and reference != _META_URI:
                message = f"{reference[:200]!r} points outside the schema; nothing is fetched"
                yield {"path": pointer((*path, keyword)), "rule": keyword, "message": message}
        if "$id" in node and path:
            yield {"path": pointer((*path, "$id")), "rule": "$id", "message": "a subschema may not rename itself"}


def _pattern_problems(document: dict[str, Any], bounds: SchemaBounds) -> list[dict[str, Any]]:
    """Refuse long or invalid patterns; patterns with look-around get a limit on the string."""
    import jsonschema_rs

    patterns = [(path, node, pattern) for path, node in subschemas(document) for pattern in _patterns(node)]
    share = min(_ONE_PATTERN, _PATTERNS_TOGETHER // max(1, len(patterns)))
    linear = jsonschema_rs.RegexOptions(size_limit=share, dfa_size_limit=1024 * 1024)
    problems: list[dict[str, Any]] = []
    for path, node, pattern in patterns:
        if len(pattern) > bounds.pattern:
            message = f"the pattern has {len(pattern)} characters; the limit is {bounds.pattern}"
        elif _compiles(pattern, linear):
            continue
        elif node.get("pattern") == pattern and _compiles(pattern, _lookaround(share)):
            _shorten(node)
            continue
        else:
            message = f"{pattern[:80]!r} is not a regular expression this server can run safely"
        problems.append({"path": pointer((*path, "pattern")), "rule": "pattern", "message": message})
    return problems


def _shorten(node: dict[str, Any]) -> None:
    """Run a pattern that may backtrack on short strings only; longer strings fail before it starts."""
    short = {"maxLength": _LONGEST_FOR_LOOKAROUND}
    guarded = {"if": {"type": "string", **short}, "then": {"pattern": node.pop("pattern")}}
    limit = node.get("maxLength")
    node["maxLength"] = min(limit, _LONGEST_FOR_LOOKAROUND) if isinstance(limit, int) else _LONGEST_FOR_LOOKAROUND
    node["allOf"] = [*node.get("allOf", []), guarded]


def _patterns(node: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(pattern := node.get("pattern"), str):
        yield pattern
    if isinstance(named := node.get("patternProperties"), dict):
        yield from cast("dict[str, Any]", named)


def _lookaround(share: int) -> "jsonschema_rs.FancyRegexOptions":
    import jsonschema_rs

    return jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=share, dfa_size_limit=1024 * 1024)


def _compiles(pattern: str, options: "jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions") -> bool:
    import jsonschema_rs

    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options, offline=True)
    except ValueError:
        return False
    return True


def _validator(document: dict[str, Any], formats: dict[str, FormatCheck]) -> "jsonschema_rs.Validator":
    import jsonschema_rs

    # The look-around engine runs patterns without look-around in linear time.
    try:
        return jsonschema_rs.Draft202012Validator(
            document,
            formats=formats,
            validate_formats=True,
            pattern_options=_lookaround(_ONE_PATTERN),
            offline=True,
        )
    except jsonschema_rs.ValidationError as error:
        raise _refusal(
            [{"path": pointer(error.instance_path), "rule": error.kind.name, "message": error.message[:200]}]
        ) from None
    except ValueError as error:
        raise InvalidInput(f"The schema cannot be compiled: {str(error)[:120]}.", hint="Simplify it.") from None


def _refusal(problems: list[dict[str, Any]]) -> InvalidInput:
    first = "; ".join(f"{problem['path'] or '/'}: {problem['message']}" for problem in problems[:5])
    return InvalidInput(
        f"The schema is not valid JSON Schema: {first}.",
        hint="Correct these places and send it again.",
        details={"problems": problems[:50]},
    )


def _failure(error: "jsonschema_rs.ValidationError") -> Failure:
    kind = error.kind
    facts = kind.as_dict()
    context = cast("list[list[jsonschema_rs.ValidationError]]", facts.get("context") or [])
    expected = next((value for name, value in facts.items() if name not in ("context", "error", "message")), None)
    branches = tuple(tuple(_failure(inner) for inner in branch[:20]) for branch in context[:20])
    rule = str(error.schema_path[-1]) if kind.name == "contains" and error.schema_path else kind.name
    return Failure(tuple(error.instance_path), rule, error.message[:300], error.instance, expected, branches)


class SchemaCost:
    """Estimates how much work a schema can cause for one value, before the schema is used.

    A few lines of schema can check the same value a million times (`anyOf` doubled through `$ref`), and a recursive one
    can double its work with every level of the value. The cost is the number of subschemas applied along one path.
    """

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
            # Level by level, so that the lower levels of a recursive schema are already counted.
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
        """Subschemas that apply to the same value."""
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
        """The target of a reference inside the document; others were rejected, or count as one."""
        if reference in self._anchors:
            return self._anchors[reference]
        if reference == "#":
            return self._root
        if not reference.startswith("#/"):
            return True
        node: Any = self._root
        for part in reference[2:].split("/"):
            name = unescape(unquote(part))
            if isinstance(node, list):
                members = cast("list[Any]", node)
                node = members[int(name)] if name.isdecimal() and int(name) < len(members) else True
            else:
                node = cast("dict[str, Any]", node).get(name, True) if isinstance(node, dict) else True
        return node


def subschemas(schema: Any) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every subschema with its path, the root first; only at places where JSON Schema has subschemas."""
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
