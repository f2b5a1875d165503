"""Compiled schemas, cached by id and number of changes, so a schema's row shows whether a compiled form is current.

Used inside units of work, so from several threads. Needs no lock: single dictionary operations are atomic, and
compiling twice does no harm.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.json_values import as_object
from pentad.kernel.ports import Rows
from pentad.rooms.registers import store
from pentad.rooms.registers.access.authorization import is_public
from pentad.rooms.registers.definitions.json_schema import embeds_objects
from pentad.rooms.registers.definitions.references import EACH, composed_reference, stored_reference
from pentad.rooms.registers.models import Schema
from pentad.rooms.registers.objects.indexes import IndexPlan, index_plan

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

_MOST_CACHED: Final = 2_000


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    """What the store needs to know about a definition: its indexes, and the properties filled on reading.

    `inverse` properties are filled from other objects. Callers may send values for those in `transient`, which are
    written into the other objects. `fills` says whether reading has to fill anything at all.
    """

    indexes: IndexPlan
    inverse: tuple[str, ...]
    fills: bool
    transient: tuple[str, ...] = ()
    references_by_key: tuple[str, ...] = ()
    """References that cannot embed objects, so an object there must be a natural key."""


class Definitions:
    """Compiled schemas, each compiled once per version."""

    def __init__(self) -> None:
        self._compiled: dict[int, tuple[tuple[int, float], CompiledSchema]] = {}
        self._facts: dict[int, tuple[CompiledSchema, SchemaFacts]] = {}

    def of(self, rows: Rows, schema: Schema) -> "CompiledSchema":
        """The compiled form of a stored schema."""
        stamp = (schema.changes, schema.updated_at)
        known = self._compiled.get(schema.id)
        if known is not None and known[0] == stamp:
            return known[1]
        compiled = self.compile_unsaved(rows, schema)
        if len(self._compiled) >= _MOST_CACHED:
            self._compiled.clear()
        self._compiled[schema.id] = (stamp, compiled)
        return compiled

    def facts(self, definition: "CompiledSchema") -> SchemaFacts:
        """The facts of a definition, computed once."""
        known = self._facts.get(id(definition))
        if known is None or known[0] is not definition:
            if len(self._facts) >= _MOST_CACHED:
                self._facts.clear()
            known = self._facts[id(definition)] = (definition, _facts(definition))
        return known[1]

    def by_id(self, rows: Rows, schema_id: int) -> "tuple[Schema, CompiledSchema] | None":
        """A stored schema with its compiled form."""
        schema = store.find_schema(rows, schema_id)
        return None if schema is None else (schema, self.of(rows, schema))

    def compile_unsaved(self, rows: Rows, schema: Schema, changed: Schema | None = None) -> "CompiledSchema":
        """Compile a schema that may not be stored yet; InvalidInput says what is wrong with it.

        If the schema is composed of `changed`, that is used instead of the stored one.
        """
        from pentad.rooms.registers.definitions.compiled_schema import compile_schema

        def parent(ref: int | str) -> Mapping[str, Any] | None:
            found = parent_of(rows, ref, schema.organisation)
            if found is None:
                return None
            if changed is not None and found.id == changed.id:
                found = changed
            whole = _whole(found)
            return whole if found.organisation == schema.organisation else _anchored(rows, whole, found.organisation)

        return compile_schema(_whole(schema), parents=parent)


def _whole(schema: Schema) -> dict[str, Any]:
    """The body with id, uuid, slug, title and version."""
    names = {"id": schema.id, "uuid": schema.uuid, "slug": schema.slug, "title": schema.title}
    return {**schema.body, **names, "version": schema.version}


def _facts(definition: "CompiledSchema") -> SchemaFacts:
    inverse = tuple(one.path[0] for one in definition.references if one.filled)
    transient = tuple(one.path[0] for one in definition.written_back if one.filled)
    shows = any(one.computed is not None and one.computed.on == "read" for one in definition.properties.values())
    return SchemaFacts(
        index_plan(definition), inverse, shows or bool(inverse), transient, tuple(_references_by_key(definition))
    )


def _references_by_key(definition: "CompiledSchema") -> Iterator[str]:
    for one in definition.references:
        name, rest = one.path[0], one.path[1:]
        if not one.filled and rest in ((), (EACH,)) and name in definition.properties:
            node = definition.properties[name].definition
            if not embeds_objects(as_object(node.get("items")) if rest else node):
                yield name


def target(rows: Rows, ref: int | str, organisation: str) -> Schema | None:
    """The schema that a `$ref` names by id, uuid, slug, or a URL that ends in one.

    It must belong to the organisation of the schema with the `$ref`, or be public.
    """
    named = _named(rows, ref)
    own = (one for one in named if one.organisation == organisation)
    return next(own, None) or next((one for one in named if is_public(one.body.get("authorization"))), None)


def parent_of(rows: Rows, ref: int | str, organisation: str) -> Schema | None:
    """Like `target`, for a parent in a composition; a parent taken from another organisation stays the parent."""
    return target(rows, ref, organisation) or next(iter(_named(rows, ref)), None)


def composed(schema: Schema) -> Iterator[tuple[str, int | str]]:
    """The schemas a schema is composed of, each with the keyword that names it."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        for entry in schema.body.get(keyword) or ():
            if (ref := composed_reference(entry)) is not None:
                yield keyword, ref


def dependents_of(rows: Rows, schema: Schema) -> list[Schema]:
    """The schemas composed of this one, directly or through others."""
    everyone = store.all_schemas(rows)
    parents = {
        one.id: {found.id for _, ref in composed(one) if (found := parent_of(rows, ref, one.organisation))}
        for one in everyone
    }
    reached = {schema.id}
    while more := {key for key, made_of in parents.items() if key not in reached and made_of & reached}:
        reached |= more
    return [one for one in everyone if one.id in reached and one.id != schema.id]


def _named(rows: Rows, ref: int | str) -> list[Schema]:
    return store.named_schemas(rows, ref.rstrip("/").rpartition("/")[2] if isinstance(ref, str) else ref)


def _anchored(rows: Rows, node: Any, organisation: str) -> Any:
    """Part of a schema, with slugs of other schemas replaced by uuids: slugs differ between organisations."""
    if isinstance(node, list):
        return [_anchored(rows, one, organisation) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    anchored = {name: _anchored(rows, value, organisation) for name, value in cast("dict[str, Any]", node).items()}
    ref = stored_reference(anchored.get("$ref"))
    if isinstance(ref, str) and (found := target(rows, ref, organisation)) is not None:
        anchored["$ref"] = found.uuid
    return anchored
