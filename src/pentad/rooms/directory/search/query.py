"""Queries to the directory and their results. Plain values; `filters.py` says what each filter means.

Filters of one kind are alternatives. Of different kinds, all must match (match="all") or any (match="any"). What a
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
    """What a filter looks at. The numbers are those of RecordQueryType in the wire format."""

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


_ABOUT_VERSIONS: Final = frozenset({FilterKind.VERSION, FilterKind.SCHEMA_VERSION, FilterKind.CREATED_AT})

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
"""The arrays of the search tool, in the order in which their elements become filters."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition: a value, a pattern or a comparison, as the caller wrote it."""

    kind: FilterKind
    value: str
    negate: bool = False

    def __post_init__(self) -> None:
        if "\0" in self.value:  # PostgreSQL cannot store it; the index has the same replacement
            object.__setattr__(self, "value", self.value.replace("\0", "\ufffd"))


@dataclass(frozen=True, slots=True)
class PushFilter:
    """Filters by who pushed a record, and when. None means anyone, any time."""

    who: str | None = None
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One search. A limit of 0 returns everything. Without filters and words it finds every record."""

    filters: tuple[Filter, ...] = ()
    words: str | None = None
    match: Match = "all"
    sort: Sort | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    cursor: str | None = None
    id_version: str | None = None
    pushed: PushFilter | None = None
    latest: bool | None = None
    """Whether to find only the newest version of each agent; None lets `newest_only` decide."""
    quarantined: bool = False
    """Whether to find records in quarantine too."""

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise InvalidInput("limit must be positive")
        if self.offset < 0:
            raise InvalidInput("offset cannot be negative")
        if self.cursor is not None and self.offset:
            raise InvalidInput(
                "offset and cursor exclude each other", hint="The cursor already says where to continue."
            )
        if len(self.filters) > MOST_FILTERS:
            raise LimitExceeded(f"a search takes at most {MOST_FILTERS} filters")

    @property
    def order(self) -> Sort:
        """Relevance if there are words and the caller does not name another order."""
        return self.sort or ("relevance" if self.words else "recency")

    @property
    def newest_only(self) -> bool:
        """Filters alone find every version, as in the original. Words find only the newest, unless a filter is about
        versions."""
        if self.latest is not None:
            return self.latest
        about_versions = self.pushed is not None or any(one.kind in _ABOUT_VERSIONS for one in self.filters)
        return bool(self.words) and not about_versions


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that was found. With words in the query, `score` is the sum of its reasons and means the same in every
    search (`search/relevance.py`). `meaning` is the cosine of query and record if both have a vector. `trusted_by`
    names the policy entries among its signers; None if a remote directory does not say. `quarantined` is the reason for
    a quarantine, and `state` the record's state unless it is approved."""

    cid: str
    score: float | None = None
    why: tuple[Reason, ...] = ()
    meaning: float | None = None
    trusted_by: tuple[str, ...] | None = None
    quarantined: str | None = None
    state: str | None = None

    def as_json(self) -> dict[str, Any]:
        hit: dict[str, Any] = {"cid": self.cid}
        if self.score is not None:
            hit |= {"score": self.score, "why": [reason.as_json() for reason in self.why]}
        optional = {
            "meaning": self.meaning, "trusted_by": self.trusted_by, "quarantined": self.quarantined, "state": self.state
        }  # fmt: skip
        return hit | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Found:
    """One page of results. `total` counts all pages (None if a remote directory does not say); `cursor` continues after
    this page. `retrieval` names the ranking method. `waiting` counts the records without a vector, which only their
    words can find. `no_good_match` says that nothing on the first page is likely to answer the query; the hits are then
    the nearest candidates."""

    hits: list[Hit] = field(default_factory=list[Hit])
    total: int | None = 0
    has_more: bool = False
    cursor: str | None = None
    retrieval: Retrieval | None = None
    waiting: int | None = None
    no_good_match: bool = False


def filters_of(arrays: Mapping[str, Sequence[str]], *, negate: bool = False) -> list[Filter]:
    """One filter per element, in the order of FILTER_ARRAYS."""
    return [Filter(kind, value, negate) for name, kind in FILTER_ARRAYS.items() for value in arrays.get(name, ())]


def build_query(
    arrays: Mapping[str, Sequence[str]],
    *,
    exclude: Mapping[str, Sequence[str]] | None = None,
    trust: Sequence[Filter] = (),
    words: str = "",
    match: Match = "all",
    sort: Sort | None = None,
    limit: int = 0,
    offset: int = 0,
    cursor: str = "",
    id_version: str = "",
    latest: bool | None = None,
    quarantined: bool = False,
) -> Query:
    """The query in a tool's arguments. Errors use the texts that clients of the original know."""
    if limit > LARGEST_LIMIT:
        raise InvalidInput(f"limit cannot exceed {LARGEST_LIMIT}")
    if limit < 0:
        raise InvalidInput("limit must be positive")
    filters = [*filters_of(arrays), *trust, *filters_of(exclude or {}, negate=True)]
    if not filters and not words.strip():
        raise InvalidInput("at least one query filter must be provided")
    return Query(
        tuple(filters), words.strip() or None, match, sort, limit or DEFAULT_LIMIT, offset, cursor or None,
        id_version or None, latest=latest, quarantined=quarantined,
    )  # fmt: skip
