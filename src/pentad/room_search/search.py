"""Searches all rooms at once and ranks their hits together.

Rooms apply the caller's rights in their own queries and score on one scale (`search/relevance.py`), so their hits are
comparable. A room that fails or takes too long does not delay the others: the answer names it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from pentad.kernel.clock import iso, parse_iso
from pentad.kernel.errors import Forbidden, InvalidInput, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import ANY_ROOM, Principal
from pentad.platform import OpenRoom
from pentad.search.index import SearchIndex
from pentad.search.relevance import GOOD_MATCH, RELATED
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource, snippet
from pentad.search.text import words

SECONDS: Final = 10.0
"""How long a room may take. After that the answer lists it as missing."""
LIMIT: Final = 5
MOST: Final = 50
TOKENS: Final = 4_000
FEWEST_TOKENS: Final = 200
MOST_TOKENS: Final = 50_000
LONGEST_QUERY: Final = 1_000
ME: Final = "me"
_LONGEST_TITLE: Final = 200
_BYTES_PER_TOKEN: Final = 4
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a search. Empty means everything; `owner` may be `me`; times are ISO 8601."""

    rooms: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    owner: str | None = None
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A source with its room and that room's service."""

    room: str
    declared: SearchSource[Any]
    service: Any

    @property
    def kind(self) -> str:
        return self.declared.kind


@dataclass(frozen=True, slots=True)
class RankedItem:
    """A hit with its rank among the hits of all rooms, from 1."""

    rank: int
    source: Source
    item: FoundItem
    snippet: str

    def as_json(self) -> dict[str, Any]:
        item = self.item
        shown: dict[str, Any] = {
            "rank": self.rank,
            "uri": item.uri,
            "title": item.title[:_LONGEST_TITLE],
            "score": round(item.score, _DIGITS),
            "snippet": self.snippet,
            "why": [reason.as_json() for reason in item.why],
        }
        if item.owner is not None:
            shown["owner"] = item.owner
        if item.time is not None:
            shown["time"] = iso(item.time)
        return shown


@dataclass(frozen=True, slots=True)
class Group:
    """The hits of one kind, best first. `more` means that there are others."""

    source: Source
    hits: Sequence[RankedItem]
    more: bool

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"kind": self.source.kind, "room": self.source.room or "core"}
        shown["hits"] = [hit.as_json() for hit in self.hits]
        return {**shown, "more": True} if self.more else shown


@dataclass(frozen=True, slots=True)
class Gap:
    """A kind that is completely or partly missing from the answer, and the reason."""

    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a search: groups by kind, starting with the one that has the best hit.

    `incomplete` names kinds that failed or took too long, `left_out` those that a filter does not apply to, and `stale`
    the number of items of a kind without a vector yet. `cut` is the number of hits that did not fit into the token
    budget.
    """

    query: str
    groups: Sequence[Group]
    no_good_match: bool
    incomplete: Sequence[Gap] = ()
    left_out: Sequence[Gap] = ()
    stale: Mapping[str, int] = field(default_factory=dict[str, int])
    cut: int = 0

    @property
    def hits(self) -> list[RankedItem]:
        """The hits of all kinds, best first."""
        return sorted((hit for group in self.groups for hit in group.hits), key=lambda hit: hit.rank)

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"query": self.query, "groups": [group.as_json() for group in self.groups]}
        if self.no_good_match:
            shown["no_good_match"] = True
        for name, gaps in (("incomplete", self.incomplete), ("left_out", self.left_out)):
            if gaps:
                shown[name] = [{"kind": gap.kind, "reason": gap.reason} for gap in gaps]
        if self.stale:
            shown["stale"] = [{"kind": kind, "waiting": waiting} for kind, waiting in self.stale.items()]
        if self.cut:
            shown["cut"] = self.cut
        return shown


class RoomSearch:
    """The search over some open rooms, and over the sources that belong to no room (`own`)."""

    def __init__(
        self,
        rooms: Sequence[OpenRoom],
        index: SearchIndex,
        own: Sequence[tuple[SearchSource[Any], Any]] = (),
        seconds: float = SECONDS,
    ) -> None:
        self._index = index
        self._seconds = seconds
        self.sources = [
            Source(opened.room.name, declared, opened.service)
            for opened in rooms
            for declared in opened.room.search_sources
        ]
        self.sources += [Source(ANY_ROOM, declared, service) for declared, service in own]

    async def find(
        self,
        caller: Principal,
        query: str,
        filters: Filters = Filters(),  # noqa: B008  frozen
        *,
        limit: int = LIMIT,
        tokens: int | None = TOKENS,
    ) -> Answer:
        """The best hits of each kind the caller may read: at most `limit` of each, within the token budget."""
        if not caller.may(ANY_ROOM, "read"):
            raise Forbidden(f"{caller.name!r} may not search: it has no scopes.")
        request = _request(caller, query, filters, limit)
        chosen, left_out = self._choose(caller, filters)
        await self._index.embed_query(request.text)  # only once: the rooms then find its vector in the cache
        found = await asyncio.gather(*(self._ask(source, request) for source in chosen))
        incomplete = [one for one in found if isinstance(one, Gap)]
        answered = [(source, one) for source, one in zip(chosen, found, strict=True) if isinstance(one, FoundItems)]
        incomplete += [Gap(source.kind, one.incomplete) for source, one in answered if one.incomplete]
        stale = {source.kind: one.waiting for source, one in answered if one.waiting}
        groups = _grouped(answered, request)
        best = max((hit.item.score for group in groups for hit in group.hits), default=0.0)
        answer = Answer(request.text, groups, best < GOOD_MATCH, incomplete, left_out, stale)
        return answer if tokens is None else _fitted(answer, tokens)

    def _choose(self, caller: Principal, filters: Filters) -> tuple[list[Source], list[Gap]]:
        """The sources to search, and the kinds that a filter excludes because they lack the filtered property."""
        kinds, rooms = {source.kind for source in self.sources}, {source.room for source in self.sources if source.room}
        _check_names("kind", filters.kinds, kinds)
        _check_names("room", filters.rooms, rooms)
        chosen: list[Source] = []
        left_out: list[Gap] = []
        for source in self.sources:
            if (filters.rooms and source.room not in filters.rooms) or not caller.may(source.room, "read"):
                continue
            if filters.kinds and source.kind not in filters.kinds:
                continue
            if filters.owner is not None and not source.declared.has_owner:
                left_out.append(Gap(source.kind, "It has no owner to filter by."))
            elif (filters.since or filters.until) is not None and not source.declared.has_time:
                left_out.append(Gap(source.kind, "It has no time to filter by."))
            else:
                chosen.append(source)
        return chosen, left_out

    async def _ask(self, source: Source, request: SearchRequest) -> FoundItems | Gap:
        doing = f"Searching {source.kind}s"
        try:
            async with asyncio.timeout(self._seconds):
                return await source.declared.find(source.service, request)
        except TimeoutError:
            return Gap(source.kind, f"It took longer than {self._seconds:g} seconds.")
        except PentadError as error:
            return Gap(source.kind, ensure_logged(error, doing).sentence())
        except Exception as error:  # noqa: BLE001  one broken room must not hide the hits of the others
            return Gap(source.kind, internal_error(error, doing).sentence())


def _request(caller: Principal, query: str, filters: Filters, limit: int) -> SearchRequest:
    text = " ".join(query.replace("\0", " ").split())
    if not text:
        raise InvalidInput("The query is empty.", hint="A few words are enough.", details={"field": "query"})
    if len(text) > LONGEST_QUERY:
        raise InvalidInput(f"The query has {len(text)} characters; at most {LONGEST_QUERY} are read.")
    if not 1 <= limit <= MOST:
        raise InvalidInput(f"limit is {limit}.", hint=f"It is 1 to {MOST}.", details={"field": "limit"})
    owner = caller.id if filters.owner == ME else filters.owner
    since, until = _moment("since", filters.since), _moment("until", filters.until)
    return SearchRequest(text, caller, limit, owner, since, until)


def _moment(name: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parse_iso(text).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{name} is {text[:40]!r}.", hint="Write a date or time, such as 2026-01-31.", details={"field": name}
        ) from None


def _check_names(what: str, given: Sequence[str], known: set[str]) -> None:
    for name in given:
        if name not in known:
            guess = did_you_mean(name, known)
            raise InvalidInput(
                f"There is no {what} {name[:60]!r} to search.{' ' + guess if guess else ''}",
                hint=f"Known: {', '.join(sorted(known))}.",
                details={"field": f"{what}s"},
            )


def _grouped(answered: Sequence[tuple[Source, FoundItems]], request: SearchRequest) -> list[Group]:
    """The hits of all kinds, ranked together and grouped by kind, without unrelated ones."""
    asked = words(request.text)
    every = [(source, item) for source, found in answered for item in found.items if item.score >= RELATED]
    every.sort(key=lambda pair: (-round(pair[1].score, _DIGITS), pair[1].uri))
    by_kind: dict[str, list[RankedItem]] = {}
    for rank, (source, item) in enumerate(every, 1):
        by_kind.setdefault(source.kind, []).append(RankedItem(rank, source, item, snippet(item.text, asked)))
    more = {source.kind for source, found in answered if found.more}
    return [Group(hits[0].source, hits, kind in more) for kind, hits in by_kind.items()]


def _fitted(answer: Answer, tokens: int) -> Answer:
    """The answer with its last hits dropped until it fits into the token budget."""
    size = [0]
    for hit in answer.hits:
        size.append(size[-1] + len(msgspec.json.encode(hit.as_json())) + 1)
    frame = len(msgspec.json.encode(_first_hits(answer, 0).as_json())) + sum(
        len(msgspec.json.encode(Group(group.source, (), more=True).as_json())) for group in answer.groups
    )
    left = tokens * _BYTES_PER_TOKEN - frame
    kept = max(count for count, taken in enumerate(size) if taken <= max(left, 0))
    return answer if kept == len(answer.hits) else _first_hits(answer, kept)


def _first_hits(answer: Answer, kept: int) -> Answer:
    shown: list[Group] = []
    for group in answer.groups:
        hits = [hit for hit in group.hits if hit.rank <= kept]
        if hits:
            shown.append(Group(group.source, hits, group.more or len(hits) < len(group.hits)))
    return replace(answer, groups=shown, cut=len(answer.hits) - kept)
