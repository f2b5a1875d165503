"""Compiled schemas: what storage and queries need to know, and `prepare`, which validates an object.

Compiling reports every mistake in the schema itself; `prepare` then only reports mistakes in the object. Both are pure:
no store, no clock, no network.

Headings are an object's name, description, summary, image and slug. The schema's configuration says which property,
dotted path or template each one comes from. A heading made from a hidden property is hidden too.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.json_patch import same_json
from pentad.kernel.json_values import as_object, text_or_none
from pentad.kernel.schema import JsonSchema, Path, SchemaBounds, bounded_copy, compile_json_schema
from pentad.rooms.registers.definitions.composition import Parents, Resolved, resolve
from pentad.rooms.registers.definitions.defaults import Defaults
from pentad.rooms.registers.definitions.evaluation import evaluate
from pentad.rooms.registers.definitions.expressions import (
    Expression,
    ExpressionError,
    Lookup,
    Template,
    is_template,
    parse_template,
)
from pentad.rooms.registers.definitions.formats import EXTRA_FORMATS
from pentad.rooms.registers.definitions.json_schema import to_json_schema
from pentad.rooms.registers.definitions.object_validation import (
    Problem,
    add_suggestions,
    json_text,
    problem,
    read_failures,
)
from pentad.rooms.registers.definitions.properties import (
    Indexed,
    Kind,
    Property,
    derived_from,
    read_properties,
    references_of,
    uri_references_of,
    walk_properties,
)
from pentad.rooms.registers.definitions.references import EACH, Reference, canonical_reference, values_at
from pentad.rooms.registers.definitions.schema_validation import (
    check_body,
    check_names,
    check_write_back,
    finding,
    schema_error,
    unique_sets,
)
from pentad.rooms.registers.models import DEFAULT_ORGANISATION

Heading = Literal["name", "description", "summary", "image", "slug"]
HEADING_SETTINGS: Final[dict[Heading, str]] = {
    "name": "objectNameField",
    "description": "objectDescriptionField",
    "summary": "objectSummaryField",
    "image": "objectImageField",
    "slug": "objectSlugField",
}
_COMMON_NAMES: Final = ("name", "title", "label")


def heading_sources(body: Mapping[str, Any], properties: Collection[str]) -> dict[str, str | None]:
    """The property or dotted path that each heading comes from; None for a template."""
    configuration = as_object(body.get("configuration"))
    found: dict[str, str | None] = {
        heading: None if is_template(field) else field
        for heading, name in HEADING_SETTINGS.items()
        if (field := text_or_none(configuration.get(name))) is not None
    }
    if "name" not in found and (usual := next((name for name in _COMMON_NAMES if name in properties), None)):
        found["name"] = usual
    return found


def slug_sources(body: Mapping[str, Any], properties: Collection[str]) -> frozenset[str]:
    """The top-level properties that the slug is made from."""
    field = text_or_none(as_object(body.get("configuration")).get(HEADING_SETTINGS["slug"]))
    if field is None:
        return frozenset()
    if is_template(field):
        return parse_template(field).properties()
    return frozenset({field if field in properties else field.partition(".")[0]})


_LONGEST_HEADING: Final = 255


class _CommonNames(msgspec.Struct):
    """The properties used as an object's name if its schema does not choose one."""

    name: Any = None
    title: Any = None
    label: Any = None


_DECODE_COMMON_NAMES: Final = msgspec.json.Decoder(_CommonNames)


class Headings:
    """The headings of one schema, each from a property, a dotted path or a template."""

    __slots__ = ("_rules",)

    def __init__(self, body: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
        configuration = as_object(body.get("configuration"))
        self._rules: dict[Heading, Expression | Template] = {
            heading: _heading_rule(field, properties)
            for heading, name in HEADING_SETTINGS.items()
            if (field := text_or_none(configuration.get(name))) is not None
        }

    def heading(self, which: Heading, data: Mapping[str, Any]) -> str | None:
        """The text of a heading, or None. An expression that fails means no heading, never an error."""
        rule = self._rules.get(which)
        if rule is not None:
            try:
                value = evaluate(rule, data, now=0.0)
            except ExpressionError:
                return None
            return _heading_text(value)
        if which == "name":
            return _common_name(data.get("name"), data.get("title"), data.get("label"))
        return None

    def name_in(self, text: str) -> str | None:
        """The name of an object that is still JSON text, decoding only what is needed."""
        if "name" in self._rules:
            return self.heading("name", msgspec.json.decode(text))
        found = _DECODE_COMMON_NAMES.decode(text)
        return _common_name(found.name, found.title, found.label)

    def slug(self, data: Mapping[str, Any]) -> str | None:
        found = self.heading("slug", data)
        return slugify(found) if found is not None else None


def slugify(value: str) -> str | None:
    """Lower-case words joined by hyphens, without accents; None when nothing is left."""
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", value[:_LONGEST_HEADING])
        if not unicodedata.combining(letter)
    )
    return re.sub(r"[\W_]+", "-", plain.casefold()).strip("-")[:_LONGEST_HEADING] or None


def _heading_rule(field: str, properties: Mapping[str, Any]) -> Expression | Template:
    if is_template(field):
        return parse_template(field)
    path = (field,) if field in properties else tuple(field.split("."))
    return Expression(field, Lookup(path))


def _common_name(*values: Any) -> str | None:
    for value in values:
        if value is not None and (found := _heading_text(value)) is not None:
            return found
    return None


def _heading_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip()[:_LONGEST_HEADING] or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


BOUNDS: Final = SchemaBounds()
LONGEST_SEARCH_TEXT: Final = 100_000
_NO_FACTS: Final[Mapping[str, Any]] = {}


@dataclass(slots=True)
class Prepared:
    """An object as it would be stored. `problems` prevent storing it; `warnings` come from soft validation."""

    data: dict[str, Any]
    problems: list[Problem]
    warnings: list[Problem]
    text: str


@dataclass(frozen=True, slots=True)
class Unique:
    """Paths whose combined values must be unique in a schema."""

    paths: tuple[tuple[str, ...], ...]
    kinds: tuple[Kind, ...]


class CompiledSchema:
    """One schema merged with its parents; build it with `compile_schema`."""

    relations: None = None
    """A compiled schema does not know its related schemas; see `query_fields.QuerySchema`."""

    def __init__(self, resolved: Resolved, rules: JsonSchema, properties: dict[str, Property]) -> None:
        body = resolved.body
        self.body: Mapping[str, Any] = body
        self.version = text_or_none(body.get("version"))
        self.organisation = text_or_none(body.get("organisation")) or DEFAULT_ORGANISATION
        self.properties: Mapping[str, Property] = properties
        self.required = frozenset(cast("list[str]", body["required"]))
        self.references = tuple(references_of(properties))
        self.uri_references = tuple(uri_references_of(properties))
        self._reference_paths = tuple(dict.fromkeys(reference.path for reference in self.references))
        self.written_back = tuple(reference for reference in self.references if reference.write_back)
        self.unique = tuple(_unique_constraints(body, properties))
        self.indexed = tuple(_indexed_paths(properties, self.unique))
        self.soft = body.get("hardValidation") is False
        self.searchable = body.get("searchable") is not False
        self.hybrid = self.searchable and as_object(body.get("configuration")).get("search") == "hybrid"
        protected = frozenset(
            name for name, found in properties.items() if found.authorization and "read" in found.authorization
        )
        self.derived: Mapping[str, frozenset[str]] = {
            name: sources & protected
            for name, sources in derived_from(properties).items()
            if not sources.isdisjoint(protected)
        }
        """Properties made from protected ones, each with its protected sources; they are protected too."""
        self.unsearchable = protected.union(self.derived)
        self.slug_is_protected = not self.unsearchable.isdisjoint(slug_sources(body, properties))
        """Whether slugs would reveal protected properties: a caller who guesses a slug finds its object."""
        self.concealed = frozenset[str]()
        self.headings: Mapping[str, str | None] = heading_sources(body, properties)
        self.immutable = body.get("immutable") is True
        self.immutable_paths = tuple(found.path for found in walk_properties(properties) if found.immutable)
        self._rules = rules
        self._defaults = Defaults(body, properties)
        self._headings = Headings(body, properties)
        self._has_defaults = self._defaults.needed
        self._has_immutable = self.immutable or bool(self.immutable_paths)
        self._is_valid = rules.is_valid
        more = ("additionalProperties", "unevaluatedProperties", "patternProperties")
        self._names_matter = bool(properties) and all(body.get(keyword) in (None, {}) for keyword in more)

    def prepare(
        self,
        data: dict[str, Any],
        *,
        previous: Mapping[str, Any] | None = None,
        now: float = 0.0,
        caller_facts: Mapping[str, Any] = _NO_FACTS,
    ) -> Prepared:
        """The object with defaults and computed values, validated. Does not modify `data`."""
        hard: list[Problem] = []
        found: list[Problem] = []
        if self._has_defaults:
            data, found = self._defaults.fill(data, now=now, facts=caller_facts)
        data = self.with_uuid_references(data)
        if self._has_immutable and previous is not None:
            hard.extend(self._immutable_problems(data, previous))
        text, unstorable = json_text(data)
        if unstorable is not None:
            return Prepared(data, [unstorable], [], text)
        if not self.is_valid(data):
            found = [*found, *self.problems(data)]
        if not found:
            return Prepared(data, hard, [], text)
        return Prepared(data, hard, found, text) if self.soft else Prepared(data, [*hard, *found], [], text)

    def is_valid(self, data: Any) -> bool:
        """Whether the object is valid as it is, without filling anything in."""
        try:
            return self._is_valid(data)
        except ValueError:
            return False

    def problems(self, data: Any, *, brief: bool = False) -> list[Problem]:
        """All problems of the object as it is, with suggestions unless `brief`."""
        failures = self._rules.failures(data)
        if brief:
            return read_failures(failures)
        return add_suggestions(read_failures(failures), data, self._rules.failures, self._definitions_at)

    def tolerated(self, data: Mapping[str, Any]) -> list[Problem]:
        """The problems of an object that was stored anyway because validation is soft."""
        if not self.soft or self.is_valid(data):
            return []
        not_stored = {reference.path[0] for reference in self.written_back if reference.filled}
        return [one for one in self.problems(data) if not one.where or one.where[0] not in not_stored]

    def undeclared(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        """The properties of an object that the schema does not declare; none if it explicitly allows others."""
        if not self._names_matter or data.keys() <= self.properties.keys():
            return ()
        return tuple(name for name in data if name not in self.properties)

    def with_computed(self, data: dict[str, Any], *, now: float) -> dict[str, Any]:
        """The object with its properties computed on reading."""
        return self._defaults.show(data, now=now, facts=_NO_FACTS)

    def name_of(self, data: Mapping[str, Any]) -> str | None:
        return self._headings.heading("name", data)

    def name_in(self, text: str) -> str | None:
        """The name of an object that is still JSON text."""
        return self._headings.name_in(text)

    def slug_of(self, data: Mapping[str, Any]) -> str | None:
        """The object's slug. All callers share it, so it is never made from a property that some may not read."""
        return None if self.slug_is_protected else self._headings.slug(data)

    def heading_of(self, which: Heading, data: Mapping[str, Any]) -> str | None:
        """The text of a heading, following the schema's configuration."""
        return self._headings.heading(which, data)

    def headings_from(self, hidden: Collection[str]) -> frozenset[str]:
        """The headings that could reveal hidden properties; a template may read any of them."""
        return frozenset(
            heading
            for heading, source in self.headings.items()
            if hidden and (source is None or source in hidden or source.partition(".")[0] in hidden)
        )

    def texts(self, data: Mapping[str, Any]) -> str:
        """All texts of the object for full-text search; empty if the schema is not searchable.

        All callers share the index, so it contains only properties everybody may read. It contains no references
        either: part of a uuid would match everything that refers to objects created at about the same time.
        """
        if not self.searchable:
            return ""
        data = self._without_references(data)
        values: Iterable[Any] = data.values()
        if self.unsearchable:
            values = [value for name, value in data.items() if name not in self.unsearchable]
        return "\n".join(_strings_in(values))[:LONGEST_SEARCH_TEXT]

    def texts_by_property(self, data: Mapping[str, Any]) -> dict[str, str]:
        """The same texts, each with its property."""
        if not self.searchable:
            return {}
        found = (
            (name, "\n".join(_strings_in([value])))
            for name, value in self._without_references(data).items()
            if name not in self.unsearchable
        )
        return {name: text for name, text in found if text}

    def _without_references(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data without references to other objects; embedded objects stay."""
        return _with_texts(data, self._reference_paths, lambda _: None) if self._reference_paths else data

    def with_uuid_references(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data with each reference as a uuid; the same dict if all of them already are uuids."""
        if self.references and any(canonical_reference(value) != value for _, value in self.targets(data)):
            return _with_texts(data, self._reference_paths, canonical_reference)
        return data

    def targets(self, data: Mapping[str, Any]) -> list[tuple[Reference, str]]:
        """All objects this one refers to, each with its relation."""
        return [
            (reference, value)
            for reference in self.references
            for value in values_at(data, reference.path)
            if isinstance(value, str) and value
        ]

    def _immutable_problems(self, data: Mapping[str, Any], previous: Mapping[str, Any]) -> Iterator[Problem]:
        if self.immutable and not same_json(data, previous):
            yield problem((), "immutable", "may not be changed once it is written")
            return
        for path in self.immutable_paths:
            old = next(iter(values_at(previous, path)), None)
            new = next(iter(values_at(data, path)), None)
            if old is not None and not same_json(old, new):
                there = "replace" if any(True for _ in values_at(data, path)) else "add"
                found = problem(path, "immutable", "may not be changed once it is set", new, old)
                patch = {"op": there, "path": found.pointer, "value": old}
                yield msgspec.structs.replace(found, suggestions=(old,), patch=(patch,))

    def _definitions_at(self, path: Path) -> Mapping[str, Any]:
        node: Mapping[str, Any] = self.body
        for step in path:
            node = as_object(
                node.get("items") if isinstance(step, int) else as_object(node.get("properties")).get(step)
            )
        return as_object(node.get("properties"))


def compile_schema(body: Mapping[str, Any], *, parents: Parents) -> CompiledSchema:
    """Compile a schema. Raises InvalidInput with all problems of its definition."""
    plain = bounded_copy(body, BOUNDS)
    if findings := check_body(plain):
        raise schema_error(findings)
    resolved = resolve(plain, parents)
    bounded_copy(resolved.body, BOUNDS)
    known = {**resolved.body, "properties": {**resolved.alternatives, **resolved.body["properties"]}}
    properties = read_properties(known)
    if findings := [*check_names(resolved.body, properties), *check_write_back(properties)]:
        raise schema_error(findings)
    rules = compile_json_schema(to_json_schema(resolved.body), formats=EXTRA_FORMATS, bounds=BOUNDS)
    try:
        return CompiledSchema(resolved, rules, properties)
    except ExpressionError as error:
        raise schema_error([finding(("configuration",), "template", error.message)]) from None


def _unique_constraints(body: Mapping[str, Any], properties: Mapping[str, Property]) -> Iterator[Unique]:
    for found in walk_properties(properties):
        if found.unique and found.kind is not None:
            yield Unique((found.path,), (found.kind,))
    for names in unique_sets(body):
        yield Unique(tuple((name,) for name in names), tuple(properties[name].kind or "text" for name in names))


def _indexed_paths(properties: Mapping[str, Property], unique: tuple[Unique, ...]) -> Iterator[Indexed]:
    alone = {constraint.paths[0] for constraint in unique if len(constraint.paths) == 1}
    for found in walk_properties(properties):
        needs_index = found.indexed or found.facetable or found.ref is not None or found.path in alone
        if needs_index and found.kind is not None:
            yield Indexed(found.path, found.kind, found.path in alone)


def _with_texts(node: Any, paths: Sequence[tuple[str, ...]], change: Callable[[str], str | None]) -> Any:
    """A copy with the texts at some paths changed; everything else is shared."""
    if isinstance(node, str):
        return change(node) if () in paths else node
    if isinstance(node, list):
        inner = [path[1:] for path in paths if path[:1] == (EACH,)]
        return [_with_texts(one, inner, change) for one in cast("list[Any]", node)] if inner else cast("Any", node)
    if not isinstance(node, Mapping):
        return node
    members = dict(cast("Mapping[str, Any]", node))
    for name in {path[0] for path in paths if path}:
        if name in members:
            members[name] = _with_texts(members[name], [path[1:] for path in paths if path[:1] == (name,)], change)
    return members


def _strings_in(values: Iterable[Any]) -> list[str]:
    """The strings among some values, then those nested inside the others, level by level."""
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
