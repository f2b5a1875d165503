"""A schema made ready: its facts for storage and queries, and `prepare`, the one way an object passes its rules.

Compiling is the time for every complaint about the schema itself; preparing an object then only complains about the
object. Both are pure: no store, no clock, no network.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_patch import same_json
from pentad.kernel.schema import JsonSchema, Path, SchemaBounds, bounded_copy, compile_json_schema
from pentad.rooms.registers.definitions.checks import Finding, check_body, check_names, finding, unique_sets
from pentad.rooms.registers.definitions.composition import Parents, Resolved, resolve
from pentad.rooms.registers.definitions.expressions import ExpressionError
from pentad.rooms.registers.definitions.filling import Filling
from pentad.rooms.registers.definitions.formats import EXTRA_FORMATS
from pentad.rooms.registers.definitions.headings import Heading, heading_sources, slug_sources
from pentad.rooms.registers.definitions.naming import Naming
from pentad.rooms.registers.definitions.origins import made_from
from pentad.rooms.registers.definitions.problems import Problem, read_failures
from pentad.rooms.registers.definitions.properties import (
    Indexed,
    Kind,
    Property,
    every,
    read_properties,
    references_of,
)
from pentad.rooms.registers.definitions.references import EACH, Reference
from pentad.rooms.registers.definitions.shapes import mapping, text
from pentad.rooms.registers.definitions.storable import text_of
from pentad.rooms.registers.definitions.suggestions import with_suggestions
from pentad.rooms.registers.definitions.translation import to_json_schema
from pentad.rooms.registers.definitions.writing_back import check_write_back
from pentad.rooms.registers.models import DEFAULT_ORGANISATION

BOUNDS: Final = SchemaBounds()
LONGEST_SEARCH_TEXT: Final = 100_000
_NO_FACTS: Final[Mapping[str, Any]] = {}


@dataclass(slots=True)
class Prepared:
    """An object as it would be stored. `problems` forbid storing it; `warnings` are those of a soft schema."""

    data: dict[str, Any]
    problems: list[Problem]
    warnings: list[Problem]
    text: str


@dataclass(frozen=True, slots=True)
class Unique:
    """Paths whose values together may occur once in a schema."""

    paths: tuple[tuple[str, ...], ...]
    kinds: tuple[Kind, ...]


class CompiledSchema:
    """One schema with its parents folded in; build it with `compile_schema`."""

    def __init__(self, resolved: Resolved, rules: JsonSchema, properties: dict[str, Property]) -> None:
        body = resolved.body
        self.body: Mapping[str, Any] = body
        self.version = text(body.get("version"))
        self.organisation = text(body.get("organisation")) or DEFAULT_ORGANISATION
        self.sources: Mapping[str, int | str] = resolved.sources
        self.properties: Mapping[str, Property] = properties
        self.required = frozenset(cast("list[str]", body["required"]))
        self.references = tuple(references_of(properties))
        self.written_back = tuple(reference for reference in self.references if reference.write_back)
        self.unique = tuple(_unique(body, properties))
        self.indexed = tuple(_indexed(properties, self.unique))
        self.soft = body.get("hardValidation") is False
        self.searchable = body.get("searchable") is not False
        self.hybrid = self.searchable and mapping(body.get("configuration")).get("search") == "hybrid"
        protected = frozenset(
            name for name, found in properties.items() if found.authorization and "read" in found.authorization
        )
        self.derived: Mapping[str, frozenset[str]] = {
            name: sources & protected
            for name, sources in made_from(properties).items()
            if not sources.isdisjoint(protected)
        }
        """Properties whose values are made from protected ones, each with those: they are as protected."""
        self.unsearched = protected.union(self.derived)
        self.unnamed = not self.unsearched.isdisjoint(slug_sources(body, properties))
        """Whether slugs would tell of protected properties: whoever knows one finds its object by it."""
        self.concealed = frozenset[str]()
        self.headings: Mapping[str, str | None] = heading_sources(body, properties)
        self.immutable = body.get("immutable") is True
        self.immutable_paths = tuple(found.path for found in every(properties) if found.immutable)
        self._rules = rules
        self._filling = Filling(body, properties)
        self._naming = Naming(body, properties)
        self._fills = self._filling.needed
        self._freezes = self.immutable or bool(self.immutable_paths)
        self._is_valid = rules.is_valid

    def prepare(
        self,
        data: dict[str, Any],
        *,
        previous: Mapping[str, Any] | None = None,
        now: float = 0.0,
        caller_facts: Mapping[str, Any] = _NO_FACTS,
    ) -> Prepared:
        """The object with defaults and computed values, checked. The given `data` is left as it is."""
        hard: list[Problem] = []
        found: list[Problem] = []
        if self._fills:
            data, found = self._filling.fill(data, now=now, facts=caller_facts)
        if self._freezes and previous is not None:
            hard.extend(self._frozen(data, previous))
        text, unstorable = text_of(data)
        if unstorable is not None:
            return Prepared(data, [unstorable], [], text)
        if not self.is_valid(data):
            found = [*found, *self.problems(data)]
        if not found:
            return Prepared(data, hard, [], text)
        return Prepared(data, hard, found, text) if self.soft else Prepared(data, [*hard, *found], [], text)

    def is_valid(self, data: Any) -> bool:
        """Whether the object obeys the schema as it is, without filling anything in."""
        try:
            return self._is_valid(data)
        except ValueError:
            return False

    def problems(self, data: Any) -> list[Problem]:
        """All that is wrong with the object as it is, with what would mend it."""
        failures = self._rules.failures(data)
        return with_suggestions(read_failures(failures), data, self._rules.failures, self._definitions_at)

    def shown(self, data: dict[str, Any], *, now: float, caller_facts: Mapping[str, Any] = _NO_FACTS) -> dict[str, Any]:
        """The object with the properties that are computed on reading."""
        return self._filling.show(data, now=now, facts=caller_facts)

    def property(self, path: tuple[str, ...]) -> Property | None:
        """A property at any level of nested objects."""
        level: Mapping[str, Property] = self.properties
        found: Property | None = None
        for name in path:
            found = level.get(name)
            if found is None:
                return None
            level = found.children
        return found

    def name_of(self, data: Mapping[str, Any]) -> str | None:
        return self._naming.heading("name", data)

    def name_in(self, text: str) -> str | None:
        """The same for an object that is still JSON."""
        return self._naming.name_in(text)

    def slug_of(self, data: Mapping[str, Any]) -> str | None:
        """A slug is one for all callers, so none is made from a property that not everybody may read."""
        return None if self.unnamed else self._naming.slug(data)

    def heading_of(self, which: Heading, data: Mapping[str, Any]) -> str | None:
        """Name, description, summary, image or slug text, as the configuration says."""
        return self._naming.heading(which, data)

    def texts(self, data: Mapping[str, Any]) -> str:
        """All texts of the object for full-text search; nothing when the schema is not searchable.

        The index is one for all callers, so a property that not everybody may read is not in it.
        """
        if not self.searchable:
            return ""
        values: Iterable[Any] = data.values()
        if self.unsearched:
            values = [value for name, value in data.items() if name not in self.unsearched]
        return "\n".join(_texts(values))[:LONGEST_SEARCH_TEXT]

    def texts_by_property(self, data: Mapping[str, Any]) -> dict[str, str]:
        """The same texts, each with the property it stands in."""
        if not self.searchable:
            return {}
        found = ((name, "\n".join(_texts([value]))) for name, value in data.items() if name not in self.unsearched)
        return {name: text for name, text in found if text}

    def targets(self, data: Mapping[str, Any]) -> list[tuple[Reference, str]]:
        """Every other object this one points at, with the relation by which it does."""
        return [
            (reference, value)
            for reference in self.references
            for value in _values(data, reference.path)
            if isinstance(value, str) and value
        ]

    def _frozen(self, data: Mapping[str, Any], previous: Mapping[str, Any]) -> Iterator[Problem]:
        if self.immutable and not same_json(data, previous):
            yield Problem((), "immutable", "may not be changed once it is written")
            return
        for path in self.immutable_paths:
            old = next(iter(_values(previous, path)), None)
            new = next(iter(_values(data, path)), None)
            if old is not None and not same_json(old, new):
                there = "replace" if any(True for _ in _values(data, path)) else "add"
                problem = Problem(path, "immutable", "may not be changed once it is set", new, old, old)
                yield _patched(problem, there, old)

    def _definitions_at(self, path: Path) -> Mapping[str, Any]:
        node: Mapping[str, Any] = self.body
        for step in path:
            node = mapping(node.get("items") if isinstance(step, int) else mapping(node.get("properties")).get(step))
        return mapping(node.get("properties"))


def compile_schema(body: Mapping[str, Any], *, parents: Parents) -> CompiledSchema:
    """The schema made ready, or InvalidInput with every problem of its definition."""
    plain = bounded_copy(body, BOUNDS)
    if findings := check_body(plain):
        raise refusal(findings)
    resolved = resolve(plain, parents)
    bounded_copy(resolved.body, BOUNDS)
    known = {**resolved.body, "properties": {**resolved.alternatives, **resolved.body["properties"]}}
    properties = read_properties(known, resolved.sources)
    if findings := [*check_names(resolved.body, properties), *check_write_back(properties)]:
        raise refusal(findings)
    rules = compile_json_schema(to_json_schema(resolved.body), formats=EXTRA_FORMATS, bounds=BOUNDS)
    try:
        return CompiledSchema(resolved, rules, properties)
    except ExpressionError as error:
        raise refusal([finding(("configuration",), "template", error.message)]) from None


def refusal(findings: list[Finding]) -> InvalidInput:
    """A schema that cannot be, with every place that is wrong."""
    spoken = "; ".join(f"{found['path']}: {found['message'].rstrip('.')}" for found in findings[:8])
    more = f"; and {len(findings) - 8} more" if len(findings) > 8 else ""
    return InvalidInput(
        f"The schema is not right: {spoken}{more}{'' if (spoken + more).endswith('?') else '.'}",
        hint="Correct these places of the schema and send it again.",
        details={"problems": findings[:50]},
    )


def _unique(body: Mapping[str, Any], properties: Mapping[str, Property]) -> Iterator[Unique]:
    for found in every(properties):
        if found.unique and found.kind is not None:
            yield Unique((found.path,), (found.kind,))
    for names in unique_sets(body):
        yield Unique(tuple((name,) for name in names), tuple(properties[name].kind or "text" for name in names))


def _indexed(properties: Mapping[str, Property], unique: tuple[Unique, ...]) -> Iterator[Indexed]:
    alone = {constraint.paths[0] for constraint in unique if len(constraint.paths) == 1}
    for found in every(properties):
        wanted = found.indexed or found.facetable or found.ref is not None or found.path in alone
        if wanted and found.kind is not None:
            yield Indexed(found.path, found.kind, found.path in alone)


def _patched(problem: Problem, operation: str, value: Any) -> Problem:
    step = {"op": operation, "path": problem.path, "value": value}
    return Problem(
        problem.where, problem.rule, problem.message, problem.received, problem.expected, problem.nearest, (step,)
    )


def _values(node: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """What stands at a path; a `*` in it goes through every member of a list."""
    for depth, step in enumerate(path):
        if isinstance(node, list) and step == EACH:
            for member in cast("list[Any]", node):
                yield from _values(member, path[depth + 1 :])
            return
        if not isinstance(node, Mapping) or step not in node:
            return
        node = cast("Mapping[str, Any]", node)[step]
    yield node


def _texts(values: Iterable[Any]) -> list[str]:
    """The texts among some values first, then those inside of the others, level by level."""
    found: list[str] = []
    levels: list[Iterable[Any]] = [values]
    for level in levels:
        for value in level:
            kind = value.__class__
            if kind is str:
                found.append(value)
            elif kind is list:
                levels.append(value)
            elif kind is dict:
                levels.append(value.values())
    return found
