"""What can be asked of objects, as plain values without SQL, JSON or schema.

A filter is either true or false of an object, never unknown, so `Not` is its exact complement:

* Comparisons are typed: text meets only text (by bytes), a number only numbers, a boolean only booleans, and an instant
  only texts that are date-times, by the moment they denote.
* Null means "null or missing". `ne`, `In(negated)` and `Exists(False)` are the complements of their opposites.
* `Like` and the text form of `Contains` ignore the case of a-z; nothing else is folded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pentad.search.documents import Retrieval

Path = tuple[str | int, ...]
"""Property names from the outside in, an int for a place in an array. ("@self", "created") is metadata."""


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A moment to compare date-times with: its key (see `instants`), and the text it is shown as."""

    key: str
    text: str = field(compare=False)


Scalar = str | int | float | bool | Instant | None
Comparison = Literal["eq", "ne", "gt", "gte", "lt", "lte"]
Kind = Literal["text", "number", "boolean", "moment"]
"""How values compare. A moment is a text that says a date and a time; it compares by when that is."""
Bucket = Literal["day", "week", "month", "quarter", "year"]
Function = Literal["count", "sum", "avg", "min", "max", "distinct"]

DEFAULT_LIMIT: Final = 20
LARGEST_LIMIT: Final = 1_000
DEFAULT_GROUPS: Final = 100


@dataclass(frozen=True, slots=True)
class Compare:
    """The value at a path against one value. Truth values and null know only eq and ne."""

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
    """The text at a path has this shape: % is any run of characters, _ any one, a backslash makes the next plain."""

    path: Path
    pattern: str


@dataclass(frozen=True, slots=True)
class Exists:
    """There is a value at the path, and it is not null (or the other way round)."""

    path: Path
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Contains:
    """An array with such an element, or a text with such a part."""

    path: Path
    value: Scalar


@dataclass(frozen=True, slots=True)
class Empty:
    """There is a list without elements at the path, or an object without members."""

    path: Path
    holds: Literal["array", "object"]


@dataclass(frozen=True, slots=True)
class AnyElement:
    """The array at a path has an object the part is true of; the paths of the part begin in that object."""

    path: Path
    part: "Filter"


@dataclass(frozen=True, slots=True)
class And:
    """All of them; true when there are none."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of them at least; false when there are none."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Whatever the part is not true of."""

    part: "Filter"


Filter = Compare | In | Like | Exists | Contains | Empty | AnyElement | And | Or | Not


def filter_paths(node: Filter | None) -> list[Path]:
    """Every path a filter looks at."""
    if node is None:
        return []
    if isinstance(node, And | Or):
        return [path for part in node.parts for path in filter_paths(part)]
    return filter_paths(node.part) if isinstance(node, Not) else [node.path]


@dataclass(frozen=True, slots=True)
class Sort:
    """One key of an order. Values of another kind count as missing, and what is missing comes last either way."""

    path: Path
    kind: Kind
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """How often each value occurs, most frequent first. `many`: the elements of an array, each once an object."""

    name: str
    path: Path
    kind: Kind
    size: int = 10
    many: bool = False


@dataclass(frozen=True, slots=True)
class Ranges:
    """How many values lie between neighbouring bounds: below the first, [first, second) ..., from the last on."""

    name: str
    path: Path
    kind: Kind
    bounds: tuple[str | int | float | Instant, ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many values fall into each day, week, month, quarter or year, in order of time."""

    name: str
    path: Path
    bucket: Bucket
    size: int = 100
    kind: Kind = "text"


Facet = Terms | Ranges | Histogram


@dataclass(frozen=True, slots=True)
class AsOf:
    """The past: as it was at a time, or right after a change of the feed."""

    at: float | None = None
    change: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """Which objects, in which order, how many, and what else to count."""

    filter: Filter | None = None
    search: str | None = None
    sort: tuple[Sort, ...] = ()
    fields: tuple[str, ...] | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    cursor: str | None = None
    count: bool = True
    facets: tuple[Facet, ...] = ()
    as_of: AsOf | None = None
    include_deleted: bool = False
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a hit of a search owes to which word and to its meaning; their sum is its score. `cosine` is how near the
    question it is, None for an object without a vector; `fields` says which properties have which words."""

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
    """The rows have the columns of a StoredObject. `total` is None where it was not asked for.

    `retrieval` is said where a hybrid schema was searched, `lexical_because` where vectors took no part nevertheless,
    `no_good_match` where nothing on the first page is likely to be what was asked for.
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
    """The cursor that goes on behind so many of the rows, for who shows fewer; None where there are none."""

    def retrieval_info(self) -> dict[str, str | bool]:
        """How a hybrid schema was searched, for an answer; nothing where only words were ever asked for."""
        said = {
            "retrieval": self.retrieval,
            "lexical_because": self.lexical_because,
            "no_good_match": self.no_good_match or None,
        }
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of each group. Without a path, `count` counts objects."""

    name: str
    function: Function
    path: Path | None = None
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What objects are grouped by: a value of a kind, or the bucket of time that it falls into."""

    name: str
    path: Path
    kind: Kind = "text"
    bucket: Bucket | None = None


@dataclass(frozen=True, slots=True)
class Having:
    """A bound on a figure of the groups."""

    metric: str
    op: Comparison
    value: int | float


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """Figures over groups of objects. `sort` names metrics or group keys, each with whether it descends."""

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
    """One row a group: its keys and figures by name. `more` says that the limit cut groups off."""

    groups: list[dict[str, Any]]
    more: bool = False
    retrieval: Retrieval | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a caller may ask about, whatever the query says.

    `register` None is every register, `schemas` empty every schema. In a scope of one schema, `indexed` are the paths
    with an index of their own; knowing them changes speed, never answers.
    """

    register: int | None = None
    schemas: tuple[int, ...] = ()
    rule: Filter | None = None
    indexed: frozenset[Path] = frozenset()
