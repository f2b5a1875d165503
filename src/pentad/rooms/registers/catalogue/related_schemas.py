"""The schemas related to a schema, for query names that follow references.

A forward name is that of a reference. A backward name is that of the property with `inversedBy`, or the slug of a
schema in the same register whose objects refer here: `permit` or `permits`, and `permit_applicant` with the property's
name. If several properties of that schema refer here, only the last form works.

Includes only schemas and referring properties that the caller may see.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Rows
from pentad.rooms.registers import store
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, target
from pentad.rooms.registers.definitions.references import EACH, Reference
from pentad.rooms.registers.models import Caller, Pair, Schema
from pentad.rooms.registers.presentation import VisibleSchema, visible_schema
from pentad.rooms.registers.query.query_fields import FarSchema, QueryReference


@dataclass(frozen=True, slots=True)
class SchemaReader:
    """Reads schemas for one caller, within one unit of work."""

    rows: Rows
    definitions: Definitions
    access: AccessRules
    caller: Caller
    assumed: Schema | None = None
    """A schema as it would be after a change; its slug is part of the names that lead to its objects."""

    def with_relations(self, pair: Pair) -> VisibleSchema:
        """The names the caller may use in a query on the pair, including related schemas."""
        visible = visible_schema(self.access, self.caller, pair)
        return replace(visible, relations=RelatedSchemas(self, pair))

    def schemas(self) -> list[Schema]:
        return [self._present(schema) for schema in store.all_schemas(self.rows)]

    def target(self, ref: int | str, organisation: str) -> Schema | None:
        """The schema that a `$ref` names. References follow slugs, so the old slug means the assumed schema too."""
        found = target(self.rows, ref, organisation)
        if self.assumed is None or (found is not None and found.id != self.assumed.id):
            return found
        named = ref.rstrip("/").rpartition("/")[2].lower() if isinstance(ref, str) else ""
        return self.assumed if found is not None or named == self.assumed.slug.lower() else None

    def _present(self, schema: Schema) -> Schema:
        return self.assumed if self.assumed is not None and schema.id == self.assumed.id else schema

    def far(self, pair: Pair, schema: Schema, reference: Reference | None = None) -> FarSchema | None:
        """A schema as the far side of a relation; None if the caller may not see it, or the reference."""
        if not self.access.sees(self.caller, schema):
            return None
        far = Pair(pair.register, schema, self.definitions.of(self.rows, schema))
        try:
            visible = self.with_relations(far)
        except InvalidInput:  # no property the caller may query
            return None
        if reference is not None and reference.path[0] not in visible.properties:
            return None
        return FarSchema(schema.id, visible, reference)


class RelatedSchemas:
    """The relations of one pair's schema; see `query_fields.Relations`."""

    def __init__(self, reader: SchemaReader, pair: Pair) -> None:
        self._reader = reader
        self._pair = pair
        self._referring: dict[str, tuple[Schema, Reference]] | None = None

    def targets(self, reference: QueryReference) -> Sequence[FarSchema]:
        pair, found = self._pair, dict[int, FarSchema]()
        for one in pair.definition.references:
            if one.path == reference.path and (schema := self._target(pair, one)) is not None:
                far = self._reader.far(pair, schema)
                if far is not None:
                    found.setdefault(far.id, far)
        return list(found.values())

    def referring(self, name: str) -> FarSchema | None:
        found = self._names().get(name.lower())
        return None if found is None else self._reader.far(self._pair, *found)

    def names(self) -> Iterable[str]:
        best: dict[tuple[int, tuple[str, ...]], str] = {}
        for name, (schema, reference) in self._names().items():
            if self._reader.far(self._pair, schema, reference) is not None:
                best.setdefault((schema.id, reference.path), name)
        return best.values()

    def _names(self) -> dict[str, tuple[Schema, Reference]]:
        """All backward names, best first."""
        if self._referring is None:
            by_schema = [(schema, self._references_here(schema)) for schema in self._neighbours()]
            alone = [(schema, here[0]) for schema, here in by_schema if len(here) == 1]
            known: dict[str, tuple[Schema, Reference]] = {}
            for schema, reference in alone:
                known.setdefault(f"{schema.slug.lower()}s", (schema, reference))
            for schema, reference in alone:  # one schema's name may be the plural of another's
                known[schema.slug.lower()] = (schema, reference)
            for schema, here in by_schema:
                for reference in here:
                    known.setdefault(f"{schema.slug}_{_joined(reference)}".lower(), (schema, reference))
            self._referring = known
        return self._referring

    def _neighbours(self) -> list[Schema]:
        """The schemas of the register that the caller may see."""
        reader, register = self._reader, self._pair.register
        return [
            schema
            for schema in reader.schemas()
            if schema.id in register.schemas and reader.access.sees_both(reader.caller, register, schema)
        ]

    def _references_here(self, schema: Schema) -> list[Reference]:
        reader = self._reader
        pair = Pair(self._pair.register, schema, reader.definitions.of(reader.rows, schema))
        hidden = reader.access.hidden(reader.caller, pair)
        return [
            reference
            for reference in pair.definition.references
            if not reference.filled
            and reference.path[0] not in hidden
            and (found := self._target(pair, reference)) is not None
            and found.id == self._pair.schema.id
        ]

    def _target(self, pair: Pair, reference: Reference) -> Schema | None:
        return self._reader.target(reference.target, pair.definition.organisation)


def _joined(reference: Reference) -> str:
    return "_".join(step for step in reference.path if step != EACH)
