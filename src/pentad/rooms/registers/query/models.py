"""The query model: plain values without SQL, JSON or schema.

A filter is either true or false for an object, never unknown, so `Not` is its exact complement:

* Comparisons are typed: text compares only with text (by bytes), numbers with numbers, booleans with booleans, and
  instants with date-time texts, by the moment they denote.
* Null means "null or missing". `ne`, `In(negated)` and `Exists(False)` are the complements of their opposites.
* `Like` and the text form of `Contains` ignore the case of a-z; no other case is folded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pentad.search.documents import Retrieval

Path = tuple[str | int, ...]
"""Property names from the outside in, with an int for an array position. ("@self", "created") is metadata."""


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A moment to compare date-times with: its sortable key (see `datetimes`), and its display text."""

    key: str
    text: str = field(compare=False)


Scalar = str | int | float | bool | Instant | None
Comparison = Literal["eq", "ne", "gt", "gte", "lt", "lte"]
Kind = Literal["text", "number", "boolean", "moment"]
"""How values compare. A moment is a date-time text and compares by time."""
Bucket = Literal["day", "week", "month", "quarter", "year"]
Function = Literal["count", "sum", "avg", "min", "max", "distinct"]

DEFAULT_LIMIT: Final = 20
LARGEST_LIMIT: Final = 1_000
DEFAULT_GROUPS: Final = 100


@dataclass(frozen=True, slots=True)
class Compare:
    """Compares the value at a path with one value. Booleans and null support only eq and ne."""

    path: Path
    op: Comparison
    value: Scalar


@dataclass(frozen=True, slots=True)
class In:
    """The value at a path is one of these."""

    path: Path
    values: tuple[Scalar, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    """The text at a path matches a pattern: % is any run of characters, _ any one, a backslash escapes the next."""

    path: Path
    pattern: str


@dataclass(frozen=True, slots=True)
class Exists:
    """There is a value at the path that is not null (or the opposite)."""

    path: Path
    expected: bool = True


@dataclass(frozen=True, slots=True)
class Contains:
    """The array at a path has this element, or the text has this part."""

    path: Path
    value: Scalar


@dataclass(frozen=True, slots=True)
class Empty:
    """There is an empty list or object at the path."""

    path: Path
    holds: Literal["array", "object"]


@dataclass(frozen=True, slots=True)
class AnyElement:
    """Some object in the array at a path matches the part; the part's paths start in that object."""

    path: Path
    part: "Filter"


@dataclass(frozen=True, slots=True)
class Hop:
    """One step from objects to related ones, through the reference at a path.

    Forward, the near object refers to objects of `schema`; `lists` are the lists of objects that contain the reference.
    With `back`, objects of `schema` refer to the near one, and `path` has a `*` for every list in them. `many` means
    that the path holds a list of references; with `embeds` it may also hold whole objects.

    `scope` limits the far objects to those the caller may read, and `as_of` reads them from the past. Both are filled
    in when the query runs (`bind_relations`), so current rights apply.
    """

    schema: int
    path: Path
    many: bool = False
    back: bool = False
    lists: tuple[Path, ...] = ()
    embeds: bool = False
    scope: "Scope | None" = field(default=None, compare=False, repr=False)
    as_of: "AsOf | None" = field(default=None, compare=False, repr=False)

    @property
    def to_many(self) -> bool:
        """Whether an object may have several related ones."""
        return self.many or self.back or bool(self.lists)


Hops = tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Some related object matches the part; the part's paths start in that object."""

    hop: Hop
    part: "Filter"


@dataclass(frozen=True, slots=True)
class And:
    """All parts are true; true if there are none."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part is true; false if there are none."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part is not true."""

    part: "Filter"


Filter = Compare | In | Like | Exists | Contains | Empty | AnyElement | Related | And | Or | Not


def filter_paths(node: Filter | None) -> list[Path]:
    """All paths in a filter; for related objects, only that of the reference."""
    if node is None:
        return []
    if isinstance(node, And | Or):
        return [path for part in node.parts for path in filter_paths(part)]
    if isinstance(node, Related):
        return [] if node.hop.back else [node.hop.path]
    return filter_paths(node.part) if isinstance(node, Not) else [node.path]


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort key. Values of another kind count as missing, and missing values come last in both directions."""

    path: Path
    kind: Kind
    descending: bool = False
    hops: Hops = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """Counts of each value, most frequent first. `many` counts the elements of an array, each once per object."""

    name: str
    path: Path
    kind: Kind
    size: int = 10
    many: bool = False
    hops: Hops = ()


@dataclass(frozen=True, slots=True)
class Ranges:
    """How many values lie between neighbouring bounds: below the first, [first, second), ..., from the last up."""

    name: str
    path: Path
    kind: Kind
    bounds: tuple[str | int | float | Instant, ...]
    hops: Hops = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many values fall into each day, week, month, quarter or year, in chronological order."""

    name: str
    path: Path
    bucket: Bucket
    size: int = 100
    kind: Kind = "text"
    hops: Hops = ()


Facet = Terms | Ranges | Histogram


@dataclass(frozen=True, slots=True)
class AsOf:
    """A point in the past: a time, or right after a change of the feed."""

    at: float | None = None
    change: int | None = None


@dataclass(frozen=True, slots=True)
class RelatedValue:
    """The value at a path in the one object at the end of the hops."""

    hops: Hops
    path: Path


@dataclass(frozen=True, slots=True)
class Query:
    """A query: which objects, in which order, how many, and what else to count."""

    filter: Filter | None = None
    search: str | None = None
    any_word: bool = False
    """Whether an object needs only one of the words, as for a question; otherwise it needs all of them."""
    sort: tuple[Sort, ...] = ()
    fields: tuple[str, ...] | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    cursor: str | None = None
    count: bool = True
    count_to: int | None = None
    """Stop counting here, unless counts are cached."""
    facets: tuple[Facet, ...] = ()
    as_of: AsOf | None = None
    include_deleted: bool = False
    ignored: tuple[str, ...] = ()
    as_written: str | None = None
    """The filter and `as_of` as written, if they have relative times: a cursor belongs to the query, not to the moment
    it was sent."""
    related: tuple[tuple[str, RelatedValue], ...] = ()
    """The names in `fields` that follow references to one object each."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How much each word and the vector contribute to a hit's score; the parts add up to the score. `cosine` is None
    for an object without a vector; `fields` lists the matched words by property.
    """

    words: Mapping[str, float] = field(default_factory=dict[str, float])
    meaning: float = 0.0
    cosine: float | None = None
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def score(self) -> float:
        return round(sum(self.words.values()) + self.meaning, 4)

    def wire(self) -> dict[str, Any]:
        by_words: dict[str, Any] = {}
        if self.words:
            by_words = {"words": dict(self.words), "fields": {name: list(found) for name, found in self.fields.items()}}
        return by_words if self.cosine is None else {**by_words, "meaning": self.meaning, "cosine": self.cosine}


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows with the columns of a StoredObject. `total` is None unless requested.

    `retrieval` is set if a hybrid schema was searched, `lexical_because` if vectors could not be used, and
    `no_good_match` if nothing on the first page is likely to be what the caller wants.
    """

    rows: list[tuple[Any, ...]]
    total: int | None
    cursor: str | None
    facets: dict[str, Any] = field(default_factory=dict[str, Any])
    relevance: list[float] = field(default_factory=list[float])
    ignored: tuple[str, ...] = ()
    why: list[Explanation] = field(default_factory=list[Explanation])
    retrieval: Retrieval | None = None
    lexical_because: str | None = None
    no_good_match: bool = False
    cursor_after: Callable[[int], str] | None = field(default=None, compare=False, repr=False)
    """Makes the cursor after the first rows, for callers that use fewer of them; None if there are no rows."""

    def retrieval_info(self) -> dict[str, str | bool]:
        """How a hybrid schema was searched, for the answer; empty for a search by words only."""
        said = {
            "retrieval": self.retrieval,
            "lexical_because": self.lexical_because,
            "no_good_match": self.no_good_match or None,
        }
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure per group. Without a path, `count` counts objects. Related objects count once per object."""

    name: str
    function: Function
    path: Path | None = None
    kind: Kind = "number"
    hops: Hops = ()


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A group key: a value of a kind, or the time bucket it falls into."""

    name: str
    path: Path
    kind: Kind = "text"
    bucket: Bucket | None = None
    hops: Hops = ()


@dataclass(frozen=True, slots=True)
class Having:
    """A limit on a figure of the groups."""

    metric: str
    op: Comparison
    value: int | float


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """Figures for groups of objects. `sort` names metrics or group keys, each with whether it is descending."""

    metrics: tuple[Metric, ...]
    filter: Filter | None = None
    search: str | None = None
    group_by: tuple[GroupKey, ...] = ()
    having: tuple[Having, ...] = ()
    sort: tuple[tuple[str, bool], ...] = ()
    limit: int = DEFAULT_GROUPS
    offset: int = 0
    as_of: AsOf | None = None


@dataclass(frozen=True, slots=True)
class AggregateResult:
    """One row per group: keys and metrics by name. `more` means that the limit cut off groups.

    `total` has the figures over all objects, if requested and there is more than one group.
    """

    groups: list[dict[str, Any]]
    more: bool = False
    retrieval: Retrieval | None = None
    total: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a caller may query, whatever the query says.

    `register` None means all registers, empty `schemas` all schemas. In a scope of one schema, `indexed` are the paths
    with an index and `unique` those of a single property whose values are unique; they affect speed, never answers.
    """

    register: int | None = None
    schemas: tuple[int, ...] = ()
    rule: Filter | None = None
    indexed: frozenset[Path] = frozenset()
    unique: frozenset[Path] = frozenset()
