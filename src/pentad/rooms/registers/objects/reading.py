"""Reading objects: one by its name, some by a query, figures over many; now, or as they were.

One read is one hop. A single object without properties that others fill or that are computed on reading is one look-up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database, Rows
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.catalogue import Catalogue
from pentad.rooms.registers.definitions.headings import concealed
from pentad.rooms.registers.definitions.storable import text_of
from pentad.rooms.registers.missing import Missing
from pentad.rooms.registers.models import OBJECT_COLUMNS, Caller, Page, Pair, StoredObject
from pentad.rooms.registers.objects import integrity, store
from pentad.rooms.registers.objects.meanings import collection_of
from pentad.rooms.registers.objects.past_rights import PastRights
from pentad.rooms.registers.objects.targets import named_object
from pentad.rooms.registers.objects.visibility import visibility
from pentad.rooms.registers.query import run
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.tallies import Tallies
from pentad.rooms.registers.query.text_search import Searched
from pentad.rooms.registers.query.tree import (
    Aggregated,
    AggregateQuery,
    And,
    AsOf,
    Compare,
    Filter,
    Found,
    Or,
    Path,
    Query,
    Scope,
    filter_paths,
)
from pentad.rooms.registers.query.words import searchable_fields
from pentad.search.documents import Asked
from pentad.search.index import SearchIndex
from pentad.search.searchable import SearchField

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
        self._past = PastRights(database.dialect, catalogue, access)
        self._tallies = Tallies()

    async def get(self, caller: Caller, pair: Pair, ref: int | str, *, as_of: AsOf | None = None) -> StoredObject:
        """One object of a pair, now or as it was."""
        free = self._access.is_free(caller)
        if as_of is None and not self._fills(pair) and (free or store.is_unique(ref)):
            where, value = store.place_of(ref)
            row = await self._database.lookup(
                f"SELECT {OBJECT_COLUMNS} FROM objects WHERE {where} AND register = ? AND schema = ?"  # noqa: S608  own
                " AND deleted IS NULL ORDER BY id LIMIT 1",
                value, pair.register.id, pair.schema.id,
            )  # fmt: skip
            return self._access.found(caller, pair, "read", ref, None if row is None else StoredObject(*row))

        def read(rows: Rows) -> StoredObject:
            moment = None if as_of is None else self._past.time_of(rows, caller, as_of)
            held = named_object(rows, self._access, caller, pair, ref)
            found = None if held is None else held.stored
            if found is not None and moment is not None:
                found = self._past.state(rows, caller, pair, found, moment)
            if found is not None and found.is_deleted:
                found = None
            found = self._access.found(caller, pair, "read", ref, found)
            return self._filled_then(rows, caller, pair, [found], moment)[0]

        return await self._database.read(read)

    async def find_by_uuid(self, caller: Caller, uuid: str) -> tuple[Pair, StoredObject]:
        """An object wherever it lives."""
        return await self._anywhere(caller, uuid, deleted=False)

    async def related(
        self, caller: Caller, uuids: Sequence[str], *, as_of: AsOf | None = None
    ) -> dict[str, tuple[Pair, StoredObject]]:
        """Those of some objects that there are, or were, and the caller may see, by uuid."""

        def read(rows: Rows) -> dict[str, tuple[Pair, StoredObject]]:
            pair_of = self._catalogue.pairs_in(rows)
            moment = None if as_of is None else self._past.time_of(rows, caller, as_of)
            found: dict[str, tuple[Pair, StoredObject]] = {}
            for uuid, held in store.held_by_uuid(rows, uuids).items():
                pair = pair_of(held.stored.register, held.stored.schema)
                stored = held.stored
                if moment is not None:
                    stored = self._past.state(rows, caller, pair, stored, moment)
                if stored is None or stored.is_deleted or not self._access.sees_object(caller, pair, stored):
                    continue
                found[uuid] = (pair, self._filled_then(rows, caller, pair, [stored], moment)[0])
            return found

        return await self._database.read(read)

    async def find_deleted(self, caller: Caller, uuid: str) -> tuple[Pair, StoredObject]:
        """A deleted object wherever it lived."""
        return await self._anywhere(caller, uuid, deleted=True)

    async def deleted(self, caller: Caller, limit: int = 100, offset: int = 0) -> Page[tuple[Pair, StoredObject]]:
        """Objects that wait to be restored or purged, the last deleted first."""

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

    async def find(self, caller: Caller, pair: Pair | None, query: Query) -> Found:
        """The objects a query asks for: of one pair, or of all the caller may read."""
        if pair is None:
            return await self.find_in(caller, None, query)

        def read(rows: Rows) -> Found:
            asked = query if query.as_of is None else replace(query, as_of=self._pinned(rows, caller, query.as_of))
            scope = self.scope_of(caller, pair)
            found = run.find(
                rows, self._database.dialect, scope, asked, self._tallies, _searched(rows, [pair], question)
            )
            moment = None if asked.as_of is None else asked.as_of.at
            if not self._fills(pair) and moment is None:
                return found
            objects = self._filled_then(rows, caller, pair, [StoredObject(*row) for row in found.rows], moment)
            return replace(found, rows=[stored.row for stored in objects])

        paths = _paths(query)
        self._refuse_hidden(caller, pair, paths)
        question = await self._question(query.search) if pair.definition.hybrid and query.as_of is None else None
        return await self._database.read(read)

    async def find_in(
        self, caller: Caller, pairs: Sequence[Pair] | None, query: Query, *, words: bool = False
    ) -> Found:
        """The objects of some pairs, or (None) of all the caller may read, as one listing; by `words` alone if so."""
        paths = _paths(query)

        def hybrid(rows: Rows) -> bool:
            return any(pair.definition.hybrid for pair, _ in self._places(rows, caller, pairs, paths))

        def read(rows: Rows) -> Found:
            asked = query if query.as_of is None else replace(query, as_of=self._pinned(rows, caller, query.as_of))
            moment = None if asked.as_of is None else asked.as_of.at
            places = self._places(rows, caller, pairs, paths)
            searched = _searched(rows, [pair for pair, _ in places], question)
            scope = Scope(rule=Or(tuple(place for _, place in places)))
            found = run.find(rows, self._database.dialect, scope, asked, None, searched)
            known = {(pair.register.id, pair.schema.id): pair for pair, _ in places}
            shown = [
                self._filled_then(rows, caller, known[row[2], row[3]], [StoredObject(*row)], moment)[0].row
                for row in found.rows
            ]
            return replace(found, rows=shown)

        by_meaning = not words and query.search is not None and query.as_of is None
        question = None
        if by_meaning and await self._database.read(hybrid):
            question = await self._question(query.search)
        return await self._database.read(read)

    async def _question(self, search: str | None) -> "_Question | None":
        return None if search is None else _Question(self._index, await self._index.asked(search))

    async def aggregate(self, caller: Caller, pair: Pair, query: AggregateQuery) -> Aggregated:
        """Figures over the objects of a pair."""
        metrics = [metric.path for metric in query.metrics if metric.path is not None]
        self._refuse_hidden(
            caller, pair, [*metrics, *(key.path for key in query.group_by), *filter_paths(query.filter)]
        )

        def read(rows: Rows) -> Aggregated:
            asked = replace(query, as_of=self._pinned(rows, caller, query.as_of))
            searched = _searched(rows, [pair], question)
            return run.aggregate(rows, self._database.dialect, self.scope_of(caller, pair), asked, searched)

        question = await self._question(query.search) if pair.definition.hybrid and query.as_of is None else None
        return await self._database.read(read)

    def scope_of(self, caller: Caller, pair: Pair) -> Scope:
        """What a caller may ask about in a pair."""
        self._access.check(caller, pair, "read")
        indexes = self._catalogue.definitions.facts(pair.definition).indexes
        indexed = frozenset(path for path, _ in indexes.plain) | {key.paths[0] for key in indexes.unique}
        rule = self._access.row_filter(caller, pair, "read")
        return Scope(pair.register.id, (pair.schema.id,), rule=rule, indexed=indexed)

    def _places(
        self, rows: Rows, caller: Caller, pairs: Sequence[Pair] | None, paths: Sequence[Path]
    ) -> list[tuple[Pair, Filter]]:
        """The pairs with objects the caller may see and nothing hidden where it asks, each with its condition."""
        places: list[tuple[Pair, Filter]] = []
        if pairs is None:
            pair_of = self._catalogue.pairs_in(rows)
            filled = rows.all("SELECT DISTINCT register, schema FROM objects WHERE deleted IS NULL")
            pairs = [pair_of(register, schema) for register, schema in filled]
        for pair in pairs:
            register, schema = pair.register.id, pair.schema.id
            if not self._access.sees_both(caller, pair.register, pair.schema):
                continue
            if self._hidden_at(caller, pair, paths) is not None:
                continue
            here: list[Filter] = [
                Compare(("@self", "register"), "eq", register), Compare(("@self", "schema"), "eq", schema)
            ]  # fmt: skip
            rule = self._access.row_filter(caller, pair, "read")
            places.append((pair, And((*here, rule)) if rule is not None else And(tuple(here))))
        return places

    async def _anywhere(self, caller: Caller, uuid: str, *, deleted: bool) -> tuple[Pair, StoredObject]:
        def read(rows: Rows) -> tuple[Pair, StoredObject]:
            row = rows.one(store.SELECT_BY_UUID, uuid.lower().replace("\0", ""))
            stored = None if row is None else StoredObject(*row)
            pair = None if stored is None else self._catalogue.pairs_in(rows)(stored.register, stored.schema)
            if stored is None or pair is None or stored.is_deleted != deleted:
                raise Missing(f"Object {uuid[:80]!r} not found.", "objects")
            if not self._access.sees_object(caller, pair, stored):
                raise Missing(f"Object {uuid[:80]!r} not found.", "objects")
            return pair, stored if deleted else self.filled(rows, caller, pair, [stored])[0]

        return await self._database.read(read)

    def _filled_then(
        self, rows: Rows, caller: Caller, pair: Pair, objects: Sequence[StoredObject], moment: float | None
    ) -> list[StoredObject]:
        """Objects filled in; those of the past without what is hidden today or was then."""
        filled = self.filled(rows, caller, pair, objects, moment)
        return filled if moment is None else self._past.readable(rows, caller, pair, filled)

    def filled(
        self, rows: Rows, caller: Caller, pair: Pair, objects: Sequence[StoredObject], moment: float | None = None
    ) -> list[StoredObject]:
        """Objects with what others that the caller may see say about them, and what is computed on reading.

        What others said in the past is not known, and what they say now is not of then: of the past it is left out.
        """
        if not self._fills(pair):
            return list(objects)
        if moment is None:
            now = self._clock.now()
            visible = visibility(rows, self._access, caller, self._catalogue.pairs_in(rows))
            seen = None if visible is None else visible.objects
            inverse = integrity.inverse_of(rows, pair.definition, [stored.uuid for stored in objects], seen)
        else:
            now, inverse = min(self._clock.now(), moment), {}
        return [
            _with_data(stored, pair.definition.shown({**stored.data, **inverse.get(stored.uuid, {})}, now=now))
            for stored in objects
        ]

    def _pinned(self, rows: Rows, caller: Caller, as_of: AsOf | None) -> AsOf | None:
        """A point in the past as a time: a change means the moment it happened."""
        return None if as_of is None else AsOf(at=self._past.time_of(rows, caller, as_of))

    def _fills(self, pair: Pair) -> bool:
        """Whether an object of the pair reads differently from how it is stored."""
        return self._catalogue.definitions.facts(pair.definition).fills

    def _refuse_hidden(self, caller: Caller, pair: Pair, paths: Sequence[Path]) -> None:
        """What a caller may not read it may not ask about either."""
        if (name := self._hidden_at(caller, pair, paths)) is not None:
            raise InvalidInput(f"{pair.schema.slug!r} has no property {name!r}.", hint="Leave it out.")

    def _hidden_at(self, caller: Caller, pair: Pair, paths: Sequence[Path]) -> str | None:
        """The first of the paths that leads to something hidden: a property, or metadata made from one."""
        hidden = self._access.hidden(caller, pair)
        if not hidden:
            return None
        hiding = concealed(pair.definition.headings, hidden)
        return next(
            (str(path[-1]) for path in paths if path[0] in hidden or (path[0] == SELF and path[-1] in hiding)), None
        )


@dataclass(frozen=True, slots=True)
class _Question:
    """The words of a search with their vector, if they have one."""

    index: SearchIndex
    asked: Asked


def _searched(rows: Rows, pairs: Sequence[Pair], question: _Question | None) -> Searched:
    """What of the objects of some pairs a search looks into; by meaning where there is a question with its vector."""
    texts = {pair.schema.id: pair.definition.texts_by_property for pair in pairs}
    fields: dict[str, SearchField] = {}
    for pair in pairs:
        fields |= searchable_fields(pair.definition.headings.get("name"))
    searched = Searched(lambda stored: texts[stored.schema](stored.data), fields)
    if question is None:
        return searched
    schemas = dict.fromkeys(pair.schema.id for pair in pairs if pair.definition.hybrid)
    named = (question.index.vector_query(rows, collection_of(schema), question.asked) for schema in schemas)
    queries = [query for query in named if query is not None]
    because = None if queries else question.asked.lexical_because or _NO_VECTORS
    return replace(searched, hybrid=True, queries=queries, because=because)


def _with_data(stored: StoredObject, data: dict[str, Any]) -> StoredObject:
    return stored.altered(text=text_of(data)[0], data=data)


def _paths(query: Query) -> list[Path]:
    return [*filter_paths(query.filter), *(key.path for key in query.sort), *(facet.path for facet in query.facets)]
