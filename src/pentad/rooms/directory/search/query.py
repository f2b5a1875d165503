"""What is asked of the directory, and what it answers. Values only: `meaning.py` says what they mean.

Filters of one kind are alternatives, different kinds must all hold (match="all") or any of them (match="any"); what a
negated filter matches is left out either way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, Literal

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.search.documents import Retrieval
from pentad.search.scoring import Reason

LARGEST_LIMIT: Final = 1_000
DEFAULT_LIMIT: Final = 100
MOST_FILTERS: Final = 500

Match = Literal["all", "any"]
Sort = Literal["recency", "popularity", "relevance"]


class FilterKind(IntEnum):
    """What a filter looks at; the numbers are those of the wire's RecordQueryType."""

    NAME = 1
    VERSION = 2
    SKILL_ID = 3
    SKILL_NAME = 4
    LOCATOR = 5
    MODULE_NAME = 6
    DOMAIN_ID = 7
    DOMAIN_NAME = 8
    CREATED_AT = 9
    AUTHOR = 10
    SCHEMA_VERSION = 11
    MODULE_ID = 12
    VERIFIED = 13
    TRUSTED = 14
    ANNOTATION = 15
    SCAN_SEVERITY = 17
    SCAN_SAFE = 18
    DESCRIPTION = 19


FILTER_ARRAYS: Final[Mapping[str, FilterKind]] = {
    "names": FilterKind.NAME,
    "versions": FilterKind.VERSION,
    "skill_ids": FilterKind.SKILL_ID,
    "skill_names": FilterKind.SKILL_NAME,
    "locators": FilterKind.LOCATOR,
    "module_names": FilterKind.MODULE_NAME,
    "domain_ids": FilterKind.DOMAIN_ID,
    "domain_names": FilterKind.DOMAIN_NAME,
    "created_ats": FilterKind.CREATED_AT,
    "authors": FilterKind.AUTHOR,
    "schema_versions": FilterKind.SCHEMA_VERSION,
    "module_ids": FilterKind.MODULE_ID,
    "annotations": FilterKind.ANNOTATION,
    "descriptions": FilterKind.DESCRIPTION,
}
"""The arrays of the search tool, in the order their elements become filters."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition: a value, a pattern or a comparison, as the caller wrote it."""

    kind: FilterKind
    value: str
    negate: bool = False

    def __post_init__(self) -> None:
        if "\0" in self.value:  # no store keeps one: records are indexed with the same stand-in
            object.__setattr__(self, "value", self.value.replace("\0", "\ufffd"))


@dataclass(frozen=True, slots=True)
class Query:
    """A whole question. A limit of 0 returns everything; without filters and words every record is found."""

    filters: tuple[Filter, ...] = ()
    words: str | None = None
    match: Match = "all"
    sort: Sort | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    cursor: str | None = None
    id_version: str | None = None

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise InvalidInput("limit must be positive")
        if self.offset < 0:
            raise InvalidInput("offset cannot be negative")
        if self.cursor is not None and self.offset:
            raise InvalidInput("offset and cursor exclude each other", hint="A cursor knows where to go on.")
        if len(self.filters) > MOST_FILTERS:
            raise LimitExceeded(f"a search takes at most {MOST_FILTERS} filters")

    @property
    def order(self) -> Sort:
        """Words rank unless the caller wants another order."""
        return self.sort or ("relevance" if self.words else "recency")


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that was found. `score`, where words were asked for, is the sum of its reasons and means the same in
    every search (`search/relevance.py`). `meaning` is the cosine of question and record, where both have a vector."""

    cid: str
    score: float | None = None
    why: tuple[Reason, ...] = ()
    meaning: float | None = None

    def as_json(self) -> dict[str, Any]:
        if self.score is None:
            return {"cid": self.cid}
        shown = {"cid": self.cid, "score": self.score, "why": [reason.as_json() for reason in self.why]}
        return shown if self.meaning is None else {**shown, "meaning": self.meaning}


@dataclass(frozen=True, slots=True)
class Found:
    """One page. `total` counts all pages; a remote directory may not tell it. `cursor` goes on behind this page.

    `retrieval` says by what a ranking was made; `waiting` how many records have no vector yet and so are only found by
    their words; `no_good_match` that nothing on the first page is likely to be what was asked for.
    """

    hits: list[Hit] = field(default_factory=list[Hit])
    total: int | None = 0
    has_more: bool = False
    cursor: str | None = None
    retrieval: Retrieval | None = None
    waiting: int | None = None
    no_good_match: bool = False


def filters_of(arrays: Mapping[str, Sequence[str]], *, negate: bool = False) -> list[Filter]:
    """One filter for each element, in the order of FILTER_ARRAYS."""
    return [Filter(kind, value, negate) for name, kind in FILTER_ARRAYS.items() for value in arrays.get(name, ())]


def asked(
    arrays: Mapping[str, Sequence[str]],
    *,
    exclude: Mapping[str, Sequence[str]] | None = None,
    marks: Sequence[Filter] = (),
    words: str = "",
    match: Match = "all",
    sort: Sort | None = None,
    limit: int = 0,
    offset: int = 0,
    cursor: str = "",
    id_version: str = "",
) -> Query:
    """The query a tool's arguments mean; InvalidInput in the words its callers know."""
    if limit > LARGEST_LIMIT:
        raise InvalidInput(f"limit cannot exceed {LARGEST_LIMIT}")
    if limit < 0:
        raise InvalidInput("limit must be positive")
    filters = [*filters_of(arrays), *marks, *filters_of(exclude or {}, negate=True)]
    if not filters and not words.strip():
        raise InvalidInput("at least one query filter must be provided")
    return Query(
        tuple(filters), words.strip() or None, match, sort, limit or DEFAULT_LIMIT, offset, cursor or None,
        id_version or None,
    )  # fmt: skip
