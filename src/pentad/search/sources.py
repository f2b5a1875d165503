"""The items of a room that the search across rooms can find (`Room.search_sources`), by kind.

The function applies the caller's rights and the filters in its query, so nothing is found, counted or ranked that the
caller may not see. Its scores are those of `relevance.py`, which mean the same in every room.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pentad.kernel.principal import Principal
from pentad.search.documents import Hit, Ranking
from pentad.search.scoring import Reason, WordMatch, reasons
from pentad.search.text import stem, terms, words

S = TypeVar("S")

SNIPPET: Final = 240
"""The most characters of a snippet."""
_READ: Final = 20_000
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search request and its caller. `owner` is a principal's id; times are seconds since 1970."""

    text: str
    caller: Principal
    limit: int
    owner: str | None = None
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item that was found. Its snippet is cut from `text`; `page` is its console page, below the room's first
    page."""

    uri: str
    title: str
    score: float
    text: str = ""
    why: Sequence[Reason] = ()
    owner: str | None = None
    time: float | None = None
    page: tuple[str | int, ...] | None = None


@dataclass(frozen=True, slots=True)
class FoundItems:
    """The best items of one kind, best first. `more` means that there are others.

    `waiting` is the number of items without a vector yet, which only words can find. If something was not searched,
    `incomplete` says what.
    """

    items: Sequence[FoundItem] = ()
    more: bool = False
    waiting: int = 0
    incomplete: str | None = None


@dataclass(frozen=True, slots=True)
class SearchSource(Generic[S]):
    """One kind of item in a room, for callers who may read the room. Kinds are unique across rooms."""

    kind: str
    find: Callable[[S, SearchRequest], Awaitable[FoundItems]]
    has_owner: bool = True
    """Whether items have an owner; if not, a search by owner leaves the kind out."""
    has_time: bool = True
    """Whether items have a time; if not, a search by time leaves the kind out."""


def explained(query: str, ranking: Ranking, hit: Hit, texts: Mapping[str, str]) -> list[Reason]:
    """Why a collection's document was found: its words by field, and its vector. `texts` are its fields."""
    asked = {stem(word): word for word in words(query)}
    counted = {name: Counter(terms(text)) for name, text in texts.items()}
    given: dict[tuple[str, str], float] = {}
    for term, value in hit.terms.items():
        times = {name: count for name, found in counted.items() if (count := found[term])}
        for name, count in times.items():
            given[name, asked[term]] = value * count / sum(times.values())
    return reasons(WordMatch(given, ranking.idf), hit.score, hit.by_words, has_vector=hit.cosine is not None)


def snippet(text: str, asked: Iterable[str], most: int = SNIPPET) -> str:
    """The part of a text with most of the words, as one line."""
    line = " ".join(_printable(text[:_READ]).split())
    if len(line) <= most:
        return line
    stems = {stem(word) for word in asked}
    places = [(found.start(), one) for found in _WORD.finditer(line) if (one := stem(found.group().lower())) in stems]
    start = max((place for place, _ in places), key=lambda place: (_worth(places, place, most), -place), default=0)
    return _cut(line, _beginning(line, start, most), most)


def _worth(places: Sequence[tuple[int, str]], start: int, most: int) -> int:
    """How many of the words are in the part that begins at `start`."""
    return len({one for place, one in places if start <= place < start + most * 3 // 4})


def _beginning(line: str, start: int, most: int) -> int:
    """The beginning of a part with the word near its start: after a full stop, or a few words before the word."""
    earliest = max(0, start - most // 4)
    stop = line.rfind(". ", earliest, start)
    if stop >= 0:
        return stop + 2
    return 0 if not earliest else line.find(" ", earliest, start) + 1 or start


def _cut(line: str, start: int, most: int) -> str:
    end = len(line) if start + most >= len(line) else line.rfind(" ", start, start + most - 2)
    end = end if end > start else start + most - 2
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _printable(text: str) -> str:
    return "".join(" " if unicodedata.category(one) in ("Cc", "Cf") else one for one in text) if _odd(text) else text


def _odd(text: str) -> bool:
    return not text.isprintable()


def found_items(items: Sequence[FoundItem], limit: int, **facts: Any) -> FoundItems:
    """The first `limit` of the items; `more` if there are others."""
    return FoundItems(items[:limit], more=len(items) > limit, **facts)
