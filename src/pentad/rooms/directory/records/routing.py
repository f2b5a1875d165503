"""Published records by label: `/skills/...`, `/domains/...`, `/modules/...`, `/locators/<type>`.

A query names a class or one of its parents; a locator's type must match exactly. A search covers the records of this
node and scores them by the number of queries they match; `federation/peer_search.py` asks the others.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.kernel.sql import Sql, among, composed, joined
from pentad.rooms.directory import store
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.index_fields import Kind, clean, labels_of
from pentad.rooms.directory.records.publications import Publications, PublishRequest
from pentad.rooms.directory.records.service import check_author, record_not_found
from pentad.rooms.directory.records.trust_marks import NOT_QUARANTINED

_ANNOUNCED: Final = f"r.published_at IS NOT NULL AND {NOT_QUARANTINED}"
_HEAD: Final = 200
_NO_LIMIT: Final = 2**62
_RARE: Final = 10_000
_PAGE: Final = 500
MOST_SCORED: Final = 10_000
"""A search scores at most this many records: the newest."""


class RouteQueryType(IntEnum):
    """The numbers are part of the wire format."""

    SKILL = 1
    LOCATOR = 2
    DOMAIN = 3
    MODULE = 4


_KINDS: Final = {
    RouteQueryType.SKILL: (Kind.SKILL, "/skills/"),
    RouteQueryType.LOCATOR: (Kind.LOCATOR, "/locators/"),
    RouteQueryType.DOMAIN: (Kind.DOMAIN, "/domains/"),
    RouteQueryType.MODULE: (Kind.MODULE, "/modules/"),
}


@dataclass(frozen=True, slots=True)
class RouteQuery:
    """A class, a parent class, or a locator's type."""

    type: RouteQueryType
    value: str

    @property
    def label(self) -> str:
        """The label to look for, in lower case."""
        prefix = _KINDS[self.type][1]
        return prefix + clean(self.value).strip().lower().removeprefix(prefix).strip("/")

    def matches(self, labels: Sequence[str]) -> bool:
        """Whether a record with these labels matches the query."""
        own = self.label
        exact = self.type is RouteQueryType.LOCATOR
        return any(label == own or (not exact and label.startswith(own + "/")) for label in map(str.lower, labels))


@dataclass(frozen=True, slots=True)
class PublishedRecord:
    """A published record and its labels."""

    cid: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A published record, and the queries it matches."""

    cid: str
    labels: tuple[str, ...]
    queries: tuple[RouteQuery, ...]

    @property
    def score(self) -> int:
        return len(self.queries)


@dataclass(frozen=True, slots=True)
class RouteMatches:
    """The result of a search. `truncated` if more records carry a label than the search reads."""

    records: "list[RouteMatch]"
    truncated: bool = False


class Routing:
    """The records that this node announces."""

    def __init__(self, database: Database, clock: Clock, events: Events, publications: Publications) -> None:
        self._database = database
        self._clock = clock
        self._events = events
        self._publications = publications

    async def publish(self, who: Principal, request: PublishRequest) -> str:
        """Announce records. Returns the id of the publication."""
        return await self._publications.create(who, request)

    async def unpublish(self, who: Principal, cids: Sequence[str]) -> None:
        """Stop announcing records. They must exist, but need not be announced. Forbidden for all but their authors and
        administrators of the directory."""
        if not cids:
            raise InvalidInput("unpublish request must specify record_refs")

        def work(tx: Transaction) -> None:
            known = store.ids_of(tx, [cid for cid in cids if "\0" not in cid])
            for cid in cids:
                if cid not in known:
                    raise record_not_found(cid)
                author = tx.value("SELECT pushed_by FROM directory_records WHERE id = ?", known[cid])
                check_author(who, f"The record {cid}", author)
            tx.run_many(
                "UPDATE directory_records SET published_at = NULL WHERE id = ?",
                [(record,) for record in sorted(known.values())],
            )
            self._events.emit(tx, EventType.RECORD_UNPUBLISHED, list(dict.fromkeys(cids)))

        await self._database.write(work)

    async def list(self, queries: Sequence[RouteQuery] = (), limit: int = 0) -> "list[PublishedRecord]":
        """Published records that match every query, newest first. A limit of 0 means no limit."""
        return [one async for one in self.stream(queries, limit)]

    async def stream(self, queries: Sequence[RouteQuery] = (), limit: int = 0) -> AsyncIterator[PublishedRecord]:
        """The same as a stream, with one page in memory at a time."""
        below, left = _NO_LIMIT, limit or _NO_LIMIT
        while left > 0:
            count = min(left, _PAGE)
            page = await self._database.read(
                lambda rows, below=below, count=count: self._page(rows, queries, below, count)
            )  # fmt: skip
            for _, one in page:
                yield one
            if len(page) < count:
                return
            left -= count
            below = page[-1][0]

    def _page(
        self, rows: Rows, queries: Sequence[RouteQuery], below: int, count: int
    ) -> "list[tuple[int, PublishedRecord]]":  # fmt: skip
        terms = [self._terms(rows, query) for query in queries]
        if not all(terms):
            return []
        conditions = [Sql(f"{_ANNOUNCED} AND r.id < ?", (below,)), *map(self._has, terms)]
        found = self._read(rows, joined("AND", conditions), count)
        return [(key, PublishedRecord(cid, labels)) for key, cid, labels in found]

    async def search(self, queries: Sequence[RouteQuery], min_match_score: int = 1, limit: int = 0) -> "RouteMatches":
        """Published records that match enough queries: best matches first, then the newest."""

        def work(rows: Rows) -> "RouteMatches":
            terms = [found for query in queries if (found := self._terms(rows, query))]
            if not terms:
                return RouteMatches([])
            conditions = [self._has(found) for found in terms]
            condition = composed(_ANNOUNCED, " AND ", joined("OR", conditions))
            found = self._read(rows, condition, MOST_SCORED + 1)
            routed = [
                RouteMatch(cid, labels, tuple(query for query in queries if query.matches(labels)))
                for _, cid, labels in found[:MOST_SCORED]
            ]
            enough = [one for one in routed if one.score >= max(min_match_score, 1)]
            best = sorted(enough, key=lambda one: -one.score)[: limit or None]
            return RouteMatches(best, truncated=len(found) > MOST_SCORED)

        return await self._database.read(work)

    async def provider_count(self, cid: str) -> int:
        """The number of nodes that announce a record: one or none."""
        if not cid:
            raise InvalidInput("cid is required")
        sql = "SELECT published_at FROM directory_records WHERE cid = ?"
        row = await self._database.lookup(sql, cid.replace("\0", ""))
        return int(row is not None and row[0] is not None)

    def _terms(self, rows: Rows, query: RouteQuery) -> "dict[int, int]":
        """The terms that match a query, and the number of records of each."""
        kind, prefix = _KINDS[query.type]
        name = query.label.removeprefix(prefix)
        sql = "SELECT id, text, records FROM directory_terms WHERE kind = ? AND "
        found = rows.all(f"{sql}substr(text, 1, {_HEAD}) = ?", int(kind), name[:_HEAD])
        if query.type is not RouteQueryType.LOCATOR and len(name) < _HEAD:  # longer ones are among those found
            found += rows.all(
                f"{sql}substr(text, 1, {_HEAD}) >= ? AND substr(text, 1, {_HEAD}) < ?",
                int(kind), f"{name}/", f"{name}0",
            )  # fmt: skip
        return {key: records for key, text, records in found if query.matches([prefix + text])}

    def _has(self, terms: Mapping[int, int]) -> Sql:
        """The condition that a record has one of the terms: rare terms select their records, common ones are tested."""
        condition = among(self._database.dialect, "p.term", list(terms))
        if sum(terms.values()) <= _RARE:
            return composed("r.id IN (SELECT p.record FROM directory_postings p WHERE ", condition, ")")
        return composed("EXISTS (SELECT 1 FROM directory_postings p WHERE p.record = r.id AND ", condition, ")")

    def _read(self, rows: Rows, condition: Sql, limit: int) -> "list[tuple[int, str, tuple[str, ...]]]":
        found = rows.all(
            "SELECT r.id, r.cid, t.data FROM directory_records r JOIN directory_texts t ON t.record = r.id"  # noqa: S608  own conditions
            f" WHERE {condition.text} ORDER BY r.id DESC LIMIT ?",
            *condition.params, limit,
        )  # fmt: skip
        return [(key, cid, _labels(text)) for key, cid, text in found]


def _labels(text: str) -> tuple[str, ...]:
    data: dict[str, Any] = msgspec.json.decode(text)
    return labels_of(data)
