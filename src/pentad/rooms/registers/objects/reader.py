"""Reads objects: single ones by reference, many by query, and aggregates; now, or as they were in the past.

Each read is one call to the store. A single object takes one lookup, unless some of its properties are filled on
reading.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database, Rows
from pentad.rooms.registers import store as store_of_registers
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.catalogue.related_schemas import SchemaReader
from pentad.rooms.registers.definitions.object_validation import json_text
from pentad.rooms.registers.models import OBJECT_COLUMNS, Caller, Page, Pair, StoredObject
from pentad.rooms.registers.not_found import EntityNotFound
from pentad.rooms.registers.objects import integrity, store
from pentad.rooms.registers.objects.history_access import HistoryAccess
from pentad.rooms.registers.objects.lookup import find_object, has_unique_values, visibility_of
from pentad.rooms.registers.objects.neighbours import Direction, neighbours
from pentad.rooms.registers.objects.vectors import collection_name
from pentad.rooms.registers.presentation import visible_schema
from pentad.rooms.registers.query import execution
from pentad.rooms.registers.query.count_cache import CountCache
from pentad.rooms.registers.query.dialects import sql_dialect
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import (
    AggregateQuery,
    AggregateResult,
    And,
    AsOf,
    Compare,
    Facet,
    Filter,
    GroupKey,
    In,
    Metric,
    Or,
    Path,
    Query,
    QueryResult,
    Related,
    RelatedValue,
    Scope,
    Sort,
    filter_paths,
)
from pentad.rooms.registers.query.parser import parse_aggregate, parse_query
from pentad.rooms.registers.query.query_fields import NeedsRelatedSchemas, QuerySchema
from pentad.rooms.registers.query.related_values import Rollup, read_related, roll_up
from pentad.rooms.registers.query.relations import bind_relations, related_paths
from pentad.rooms.registers.query.search_words import searchable_fields
from pentad.rooms.registers.query.text_search import SearchSettings
from pentad.rooms.registers.query.url_parameters import parse_parameters
from pentad.search.documents import EmbeddedQuery
from pentad.search.index import SearchIndex
from pentad.search.searchable import SearchField

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

T = TypeVar("T")
Q = TypeVar("Q", Query, AggregateQuery)

_NO_VECTORS: Final = "No object here has a vector yet."


class ObjectReader:
    """Finds objects for a caller."""

    def __init__(
        self, database: Database, clock: Clock, catalogue: Catalogue, access: AccessRules, index: SearchIndex
    ) -> None:
        self._index = index
        self._database = database
        self._clock = clock
        self._catalogue = catalogue
        self._access = access
        self._history_access = HistoryAccess(database.dialect, catalogue, access)
        self._count_cache = CountCache()

    async def get(self, caller: Caller, pair: Pair, ref: int | str, *, as_of: AsOf | None = None) -> StoredObject:
        """One object of a pair, now or as it was."""
        keyed = has_unique_values(pair)
        quick = store.is_uuid(ref) or (not keyed and (store.is_unique_ref(ref) or self._access.is_unrestricted(caller)))
        if as_of is None and not self._is_filled_on_read(pair) and quick:
            column, value = store.ref_column(ref)
            row = await self._database.lookup(
                f"SELECT {OBJECT_COLUMNS} FROM objects WHERE {column} = ? AND register = ? AND schema = ?"  # noqa: S608
                " AND deleted IS NULL ORDER BY id LIMIT 1",
                value, pair.register.id, pair.schema.id,
            )  # fmt: skip
            if row is not None or not keyed:
                return self._access.found(caller, pair, "read", ref, None if row is None else StoredObject(*row))

        def read(rows: Rows) -> StoredObject:
            moment = None if as_of is None else self._history_access.time_of(rows, caller, as_of)
            existing = find_object(
                rows, self._database.dialect, self._access, caller, pair, ref, deleted=as_of is not None
            )
            found = None if existing is None else existing.stored
            if found is not None and moment is not None:
                found = self._history_access.state(rows, caller, pair, found, moment)
            if found is not None and found.is_deleted:
                found = None
            found = self._access.found(caller, pair, "read", ref, found)
            return self._filled_as_of(rows, caller, pair, [found], moment)[0]

        return await self._database.read(read)

    async def find_by_uuid(self, caller: Caller, uuid: str) -> tuple[Pair, StoredObject]:
        """An object by uuid, in any pair."""
        return await self._find_anywhere(caller, uuid, deleted=False)

    async def related(
        self, caller: Caller, uuids: Sequence[str], *, as_of: AsOf | None = None
    ) -> dict[str, tuple[Pair, StoredObject]]:
        """The visible objects among these that exist, or existed at a time, by uuid."""

        def read(rows: Rows) -> dict[str, tuple[Pair, StoredObject]]:
            pair_of = self._catalogue.pairs_in(rows)
            moment = None if as_of is None else self._history_access.time_of(rows, caller, as_of)
            found: dict[str, tuple[Pair, StoredObject]] = {}
            for uuid, existing in store.existing_by_uuid(rows, uuids).items():
                pair = pair_of(existing.stored.register, existing.stored.schema)
                stored = existing.stored
                if moment is not None:
                    stored = self._history_access.state(rows, caller, pair, stored, moment)
                if stored is None or stored.is_deleted or not self._access.sees_object(caller, pair, stored):
                    continue
                found[uuid] = (pair, self._filled_as_of(rows, caller, pair, [stored], moment)[0])
            return found

        return await self._database.read(read)

    async def neighbours(
        self, caller: Caller, pair: Pair, ref: int | str, direction: Direction, limit: int, offset: int
    ) -> Page[tuple[Pair, StoredObject]]:
        """The objects an object refers to, or those that refer to it."""

        def read(rows: Rows) -> Page[tuple[Pair, StoredObject]]:
            dialect, access = self._database.dialect, self._access
            existing = find_object(rows, dialect, access, caller, pair, ref)
            if existing is not None and existing.stored.is_deleted:
                existing = None
            stored = access.found(caller, pair, "read", ref, None if existing is None else existing.stored)
            pair_of = self._catalogue.pairs_in(rows)
            found = neighbours(rows, dialect, access, caller, pair_of, pair, stored, direction, limit, offset)
            return replace(found, items=[(there, self.filled(rows, caller, there, [one])[0]) for there, one in found])

        return await self._database.read(read)

    async def find_deleted(self, caller: Caller, uuid: str) -> tuple[Pair, StoredObject]:
        """A deleted object, from any pair."""
        return await self._find_anywhere(caller, uuid, deleted=True)

    async def deleted(self, caller: Caller, limit: int = 100, offset: int = 0) -> Page[tuple[Pair, StoredObject]]:
        """Deleted objects that are not purged yet, most recently deleted first."""

        def read(rows: Rows) -> Page[tuple[Pair, StoredObject]]:
            pair_of = self._catalogue.pairs_in(rows)
            page: list[tuple[Pair, StoredObject]] = []
            total = 0
            for stored in store.stream_deleted(rows):
                pair = pair_of(stored.register, stored.schema)
                if self._access.sees_object(caller, pair, stored):
                    if offset <= total < offset + limit:
                        page.append((pair, stored))
                    total += 1
            return Page(page, total, limit, offset)

        return await self._database.read(read)

    async def query_of(self, caller: Caller, pair: Pair, raw: Mapping[str, Any], *, related: bool = False) -> Query:
        """A query from its JSON members; `related` allows fields of related objects, for `add_related`."""
        return await self.parsed(
            caller, pair, lambda schema: parse_query(schema, raw, self._clock.now(), related=related)
        )

    async def parameters_of(self, caller: Caller, pair: Pair, parameters: Iterable[tuple[str, str]]) -> Query:
        """A query from the parameters of a URL, perhaps with fields of related objects."""
        given = list(parameters)
        return await self.parsed(caller, pair, lambda schema: parse_parameters(schema, given, self._clock.now()))

    async def aggregate_of(self, caller: Caller, pair: Pair, raw: Mapping[str, Any]) -> AggregateQuery:
        """An aggregation from its JSON members."""
        return await self.parsed(caller, pair, lambda schema: parse_aggregate(schema, raw, self._clock.now()))

    async def parsed(self, caller: Caller, pair: Pair, parse: Callable[[QuerySchema], T]) -> T:
        """Parse what the caller asks for. Reads the store only for names that lead out of the schema."""
        try:
            return parse(visible_schema(self._access, caller, pair))
        except NeedsRelatedSchemas:
            definitions, access = self._catalogue.definitions, self._access
            return await self._database.read(
                lambda rows: parse(SchemaReader(rows, definitions, access, caller).with_relations(pair))
            )

    async def find(self, caller: Caller, pair: Pair | None, query: Query) -> QueryResult:
        """Run a query over one pair, or over all pairs the caller may read."""
        if pair is None:
            return await self.find_in(caller, None, query)

        def read(rows: Rows) -> QueryResult:
            resolved = self._bound(rows, caller, query)
            scope = self.scope_of(caller, pair)
            found = execution.find(
                rows,
                self._database.dialect,
                scope,
                resolved,
                self._count_cache,
                _search_settings(rows, [pair], question, query.search),
            )
            moment = None if resolved.as_of is None else resolved.as_of.at
            if not self._is_filled_on_read(pair) and moment is None:
                return found
            objects = self._filled_as_of(rows, caller, pair, [StoredObject(*row) for row in found.rows], moment)
            return replace(found, rows=[stored.row for stored in objects])

        paths = _paths(query)
        self._check_not_hidden(caller, pair, paths)
        question = await self._embed_question(query.search) if pair.definition.hybrid and query.as_of is None else None
        return await self._database.read(read)

    async def find_in(
        self, caller: Caller, pairs: Sequence[Pair] | None, query: Query, *, words: bool = False
    ) -> QueryResult:
        """Run a query over some pairs or (None) all readable ones, as one list. `words` turns vector search off."""
        paths = _paths(query)

        def hybrid(rows: Rows) -> bool:
            return any(pair.definition.hybrid for pair, _ in self._readable_pairs(rows, caller, pairs, paths))

        def read(rows: Rows) -> QueryResult:
            resolved = self._bound(rows, caller, query)
            moment = None if resolved.as_of is None else resolved.as_of.at
            readable = self._readable_pairs(rows, caller, pairs, paths)
            settings = _search_settings(rows, [pair for pair, _ in readable], question, query.search)
            scope = Scope(rule=Or(tuple(condition for _, condition in readable)))
            found = execution.find(rows, self._database.dialect, scope, resolved, None, settings)
            known = {(pair.register.id, pair.schema.id): pair for pair, _ in readable}
            shown = [
                self._filled_as_of(rows, caller, known[row[2], row[3]], [StoredObject(*row)], moment)[0].row
                for row in found.rows
            ]
            return replace(found, rows=shown)

        by_meaning = not words and query.search is not None and query.as_of is None
        question = None
        if by_meaning and await self._database.read(hybrid):
            question = await self._embed_question(query.search)
        return await self._database.read(read)

    async def _embed_question(self, search: str | None) -> "_EmbeddedQuestion | None":
        return None if search is None else _EmbeddedQuestion(self._index, await self._index.embed_query(search))

    async def aggregate(
        self, caller: Caller, pair: Pair, query: AggregateQuery, *, total: bool = False
    ) -> AggregateResult:
        """Aggregate figures for groups of a pair's objects; with `total`, also over all of them."""
        values = [_own_path(one) for one in (*query.metrics, *query.group_by)]
        self._check_not_hidden(caller, pair, [*(one for one in values if one), *filter_paths(query.filter)])

        def read(rows: Rows) -> AggregateResult:
            resolved = self._bound(rows, caller, query)
            settings = _search_settings(rows, [pair], question, query.search)
            scope = self.scope_of(caller, pair)
            return execution.aggregate(rows, self._database.dialect, scope, resolved, settings, total=total)

        question = await self._embed_question(query.search) if pair.definition.hybrid and query.as_of is None else None
        return await self._database.read(read)

    async def add_related(
        self, caller: Caller, query: Query, objects: Sequence[StoredObject], rows: Sequence[dict[str, Any]]
    ) -> None:
        """Add the related objects' fields that a query asks for to its rows, under the requested names."""
        values = await self.related_values(caller, [one for _, one in query.related], objects)
        for (name, _), found in zip(query.related, values, strict=True):
            for stored, row in zip(objects, rows, strict=True):
                row[name] = found.get(stored.uuid)

    async def related_values(
        self, caller: Caller, wanted: Sequence[RelatedValue | Rollup], objects: Sequence[StoredObject]
    ) -> list[dict[str, Any]]:
        """Values of related objects for some objects: for each requested value, the results by uuid.

        Takes one statement for all single values and one for each rollup, whatever the number of objects.
        """
        ids, sql = [stored.id for stored in objects], sql_dialect(self._database.dialect)
        if not ids or not wanted:
            return [{} for _ in wanted]

        def read(rows: Rows) -> list[dict[str, Any]]:
            bound = [self._bound_value(rows, caller, one) for one in wanted]
            single = [one for one in bound if isinstance(one, RelatedValue)]
            values = read_related(rows, sql, single, ids) if single else {}
            found: list[dict[str, Any]] = []
            place = 0
            for one in bound:
                if isinstance(one, Rollup):
                    found.append(roll_up(rows, sql, one, ids))
                else:
                    found.append({uuid: listed[place] for uuid, listed in values.items()})
                    place += 1
            return found

        return await self._database.read(read)

    def _bound_value(self, rows: Rows, caller: Caller, one: RelatedValue | Rollup) -> RelatedValue | Rollup:
        """A related value with the access rules of every hop filled in."""
        named = [one.path, one.by] if isinstance(one, Rollup) else [one.path]
        criteria = one.criteria if isinstance(one, Rollup) else None
        query = AggregateQuery(
            tuple(Metric(str(number), "count", path, hops=one.hops) for number, path in enumerate(named)),
            None if criteria is None else Related(one.hops[-1], criteria),
        )
        bound = self._bound(rows, caller, query)
        hops = bound.metrics[0].hops
        if isinstance(one, RelatedValue):
            return replace(one, hops=hops)
        return replace(one, hops=hops, criteria=bound.filter.part if isinstance(bound.filter, Related) else None)

    async def sees_as_much(self, caller: Caller, other: Caller, schemas: Collection[int]) -> bool:
        """Whether the caller sees everything in some schemas that another caller sees, in all registers."""
        if self._access.is_unrestricted(caller) or not schemas:
            return True

        def read(rows: Rows) -> bool:
            for schema in schemas:
                mine, pair = self._far_scope(rows, caller, schema, None)
                theirs, known = self._far_scope(rows, other, schema, None)
                if mine != theirs or (pair is None) is not (known is None):
                    return False
                if pair is not None and not self._access.hidden(caller, pair) <= self._access.hidden(other, pair):
                    return False
            return True

        return await self._database.read(read)

    def scope_of(self, caller: Caller, pair: Pair) -> Scope:
        """What a caller may query in a pair."""
        self._access.check(caller, pair, "read")
        rule = self._access.row_filter(caller, pair, "read")
        indexed, unique = self._indexed(pair.definition), self._unique(pair.definition)
        return Scope(pair.register.id, (pair.schema.id,), rule=rule, indexed=indexed, unique=unique)

    def _unique(self, definition: "CompiledSchema") -> frozenset[Path]:
        keys = self._catalogue.definitions.facts(definition).indexes.unique
        return frozenset(key.paths[0] for key in keys if len(key.paths) == 1)

    def _indexed(self, definition: "CompiledSchema") -> frozenset[Path]:
        indexes = self._catalogue.definitions.facts(definition).indexes
        return frozenset(path for path, _ in indexes.plain) | {key.paths[0] for key in indexes.unique}

    def _bound(self, rows: Rows, caller: Caller, query: Q) -> Q:
        """The query with `as_of` as a time and, for every relation, what the caller may read at its far end."""
        if query.as_of is not None:
            query = replace(query, as_of=self._resolve_as_of(rows, caller, query.as_of))
        far: dict[int, tuple[Scope, Pair | None]] = {}
        for schema, path in related_paths(query):
            if schema not in far:
                far[schema] = self._far_scope(rows, caller, schema, query.as_of)
            if (pair := far[schema][1]) is not None:
                self._check_not_hidden(caller, pair, [path])
        return bind_relations(query, lambda schema: far[schema][0])

    def _far_scope(
        self, rows: Rows, caller: Caller, schema_id: int, as_of: AsOf | None
    ) -> tuple[Scope, Pair | None]:  # fmt: skip
        """What the caller may read of a schema in any register, by the same rules as for lists of each pair.

        Names the registers even if there are no rules, because they come first in every index.
        """
        found, pair = self._catalogue.definitions.by_id(rows, schema_id), None
        registers: dict[Filter | None, list[int]] = {}
        if found is not None:
            schema, definition = found
            for register in store_of_registers.all_registers(rows):
                if not self._access.sees_both(caller, register, schema):
                    continue
                if as_of is None and not store_of_registers.has_objects(rows, register.id, schema_id):
                    continue
                pair = Pair(register, schema, definition)
                registers.setdefault(self._access.row_filter(caller, pair, "read"), []).append(register.id)
        if pair is None:
            return Scope(None, (schema_id,), rule=Or(())), None
        indexed = self._indexed(pair.definition)
        if len(registers) == 1:
            [(rule, ids)] = registers.items()
            if len(ids) == 1:
                return Scope(ids[0], (schema_id,), rule=rule, indexed=indexed), pair
        parts = [
            And((In((SELF, "register"), tuple(ids)), *([] if rule is None else [rule])))
            for rule, ids in registers.items()
        ]
        return Scope(None, (schema_id,), rule=Or(tuple(parts)), indexed=indexed), pair

    def _readable_pairs(
        self, rows: Rows, caller: Caller, pairs: Sequence[Pair] | None, paths: Sequence[Path]
    ) -> list[tuple[Pair, Filter]]:
        """The pairs whose queried properties are visible to the caller, each with its condition."""
        readable: list[tuple[Pair, Filter]] = []
        if pairs is None:
            pair_of = self._catalogue.pairs_in(rows)
            filled = rows.all("SELECT DISTINCT register, schema FROM objects WHERE deleted IS NULL")
            pairs = [pair_of(register, schema) for register, schema in filled]
        for pair in pairs:
            register, schema = pair.register.id, pair.schema.id
            if not self._access.sees_both(caller, pair.register, pair.schema):
                continue
            if self._first_hidden(caller, pair, paths) is not None:
                continue
            here: list[Filter] = [
                Compare(("@self", "register"), "eq", register), Compare(("@self", "schema"), "eq", schema)
            ]  # fmt: skip
            rule = self._access.row_filter(caller, pair, "read")
            readable.append((pair, And((*here, rule)) if rule is not None else And(tuple(here))))
        return readable

    async def _find_anywhere(self, caller: Caller, uuid: str, *, deleted: bool) -> tuple[Pair, StoredObject]:
        def read(rows: Rows) -> tuple[Pair, StoredObject]:
            row = rows.one(store.SELECT_BY_UUID, uuid.lower().replace("\0", ""))
            stored = None if row is None else StoredObject(*row)
            pair = None if stored is None else self._catalogue.pairs_in(rows)(stored.register, stored.schema)
            if stored is None or pair is None or stored.is_deleted != deleted:
                raise EntityNotFound(f"Object {uuid[:80]!r} not found.", "objects")
            if not self._access.sees_object(caller, pair, stored):
                raise EntityNotFound(f"Object {uuid[:80]!r} not found.", "objects")
            return pair, stored if deleted else self.filled(rows, caller, pair, [stored])[0]

        return await self._database.read(read)

    def _filled_as_of(
        self, rows: Rows, caller: Caller, pair: Pair, objects: Sequence[StoredObject], moment: float | None
    ) -> list[StoredObject]:
        """Objects with properties filled in; past ones without what is hidden today or was hidden then."""
        filled = self.filled(rows, caller, pair, objects, moment)
        return filled if moment is None else self._history_access.readable(rows, caller, pair, filled)

    def filled(
        self, rows: Rows, caller: Caller, pair: Pair, objects: Sequence[StoredObject], moment: float | None = None
    ) -> list[StoredObject]:
        """Objects with visible inverse references and values computed on reading.

        Inverse references of the past are unknown, so past objects have none.
        """
        if not self._is_filled_on_read(pair):
            return list(objects)
        if moment is None:
            now = self._clock.now()
            visible = visibility_of(rows, self._access, caller, self._catalogue.pairs_in(rows))
            seen = None if visible is None else visible.objects
            inverse = integrity.inverse_values(rows, pair.definition, [stored.uuid for stored in objects], seen)
        else:
            now, inverse = min(self._clock.now(), moment), {}
        return [
            _with_data(stored, pair.definition.with_computed({**stored.data, **inverse.get(stored.uuid, {})}, now=now))
            for stored in objects
        ]

    def _resolve_as_of(self, rows: Rows, caller: Caller, as_of: AsOf | None) -> AsOf | None:
        """Resolve a point in the past to a time; a change means the moment it happened."""
        return None if as_of is None else AsOf(at=self._history_access.time_of(rows, caller, as_of))

    def _is_filled_on_read(self, pair: Pair) -> bool:
        """Whether an object of the pair reads differently from how it is stored."""
        return self._catalogue.definitions.facts(pair.definition).fills

    def _check_not_hidden(self, caller: Caller, pair: Pair, paths: Sequence[Path]) -> None:
        """Raise InvalidInput if a query uses a property the caller may not read."""
        if (name := self._first_hidden(caller, pair, paths)) is not None:
            raise InvalidInput(f"{pair.schema.slug!r} has no property {name!r}.", hint="Leave it out.")

    def _first_hidden(self, caller: Caller, pair: Pair, paths: Sequence[Path]) -> str | None:
        """The first path that leads to something hidden: a property, or metadata made from one."""
        hidden = self._access.hidden(caller, pair)
        if not hidden:
            return None
        hiding = pair.definition.headings_from(hidden)
        return next(
            (str(path[-1]) for path in paths if path[0] in hidden or (path[0] == SELF and path[-1] in hiding)), None
        )


@dataclass(frozen=True, slots=True)
class _EmbeddedQuestion:
    """The words of a search, and their vector if there is one."""

    index: SearchIndex
    query: EmbeddedQuery


def _search_settings(
    rows: Rows, pairs: Sequence[Pair], question: _EmbeddedQuestion | None, search: str | None
) -> SearchSettings:
    """The settings of a search over some pairs; vectors are used if there is an embedded question."""
    texts = {pair.schema.id: pair.definition.texts_by_property for pair in pairs}
    fields: dict[str, SearchField] = {}
    for pair in pairs:
        fields |= searchable_fields(pair.definition.headings.get("name"))
    searched = dict.fromkeys(pair.schema.id for pair in pairs if pair.definition.searchable)
    attachments = () if search is None else store.with_attachment_texts(rows, list(searched))
    settings = SearchSettings(lambda stored: texts[stored.schema](stored.data), fields, attachments=attachments)
    if question is None:
        return settings
    schemas = dict.fromkeys(pair.schema.id for pair in pairs if pair.definition.hybrid)
    named = (question.index.vector_query(rows, collection_name(schema), question.query) for schema in schemas)
    queries = [query for query in named if query is not None]
    because = None if queries else question.query.lexical_because or _NO_VECTORS
    return replace(settings, hybrid=True, queries=queries, because=because)


def _with_data(stored: StoredObject, data: dict[str, Any]) -> StoredObject:
    return stored.altered(text=json_text(data)[0], known_data=data)


def _paths(query: Query) -> list[Path]:
    values = [*query.sort, *query.facets]
    return [*filter_paths(query.filter), *(path for one in values if (path := _own_path(one)) is not None)]


def _own_path(one: Sort | Facet | GroupKey | Metric) -> Path | None:
    """The path of a value in the object itself: to the value, or to the reference that leads to it."""
    if not one.hops:
        return one.path
    first = one.hops[0]
    return None if first.back else first.lists[0] if first.lists else first.path
