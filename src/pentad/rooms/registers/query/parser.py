"""Queries and aggregations from JSON, checked against the schema.

{"metrics": {"n": "count", "worth": {"sum": "price"}}, "group_by": ["status", {"path": "due", "by": "month"}],
 "having": {"n": {"gte": 2}}, "sort": ["-worth"], "limit": 10, "filter": {...}}
"""

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeVar, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.query.datetimes import parse_as_of
from pentad.rooms.registers.query.filters import ValueReader, parse_filter, read_bool, read_operator
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import (
    DEFAULT_GROUPS,
    DEFAULT_LIMIT,
    LARGEST_LIMIT,
    AggregateQuery,
    And,
    AsOf,
    Bucket,
    Exists,
    Facet,
    Function,
    GroupKey,
    Having,
    Histogram,
    Instant,
    Kind,
    Metric,
    Query,
    Ranges,
    RelatedValue,
    Sort,
    Terms,
)
from pentad.rooms.registers.query.query_fields import (
    NeedsRelatedSchemas,
    QueryField,
    QuerySchema,
    is_metadata,
    resolve_field,
)
from pentad.rooms.registers.query.relative_times import has_relative
from pentad.rooms.registers.query.search_words import words

BUCKETS: Final[tuple[Bucket, ...]] = ("day", "week", "month", "quarter", "year")
_MOST_KEYS: Final = 8
_MOST_FACETS: Final = 20
_MOST_BUCKETS: Final = 200
_MOST_BOUNDS: Final = 50
_MOST_FIELDS: Final = 200
MOST_RELATED: Final = 20
"""The most related values in one row."""
FURTHEST: Final = 1_000_000_000
_LONGEST_SEARCH: Final = 1_000
_MEMBERS: Final = (
    *("filter", "search", "sort", "fields", "limit", "offset", "page", "cursor"),
    *("count", "facets", "as_of", "include_deleted", "deleted"),
)
_IS_DELETED: Final = Exists((SELF, "deleted"))

T = TypeVar("T")


def parse_query(schema: QuerySchema, raw: Mapping[str, Any], now: float, *, related: bool = False) -> Query:
    """A query from its JSON members; InvalidInput names the member that is wrong.

    Relative times are relative to `now`. With `related`, `fields` may name properties of related objects.
    """
    check_members(raw, _MEMBERS, "query")
    limit = read_integer(raw.get("limit"), "limit", DEFAULT_LIMIT, LARGEST_LIMIT)
    offset = read_integer(raw.get("offset"), "offset", 0, FURTHEST)
    page = read_integer(raw.get("page"), "page", 0, FURTHEST)
    cursor = raw.get("cursor")
    if cursor is not None and (not isinstance(cursor, str) or offset or page):
        raise InvalidInput("A cursor is a text and already holds the position.", hint="Leave out offset and page.")
    search, as_of = parse_search(raw.get("search")), read_as_of(raw.get("as_of"), now)
    if as_of is not None and search is not None:
        raise InvalidInput("The past cannot be searched by words.", hint="Use a filter with like or contains.")
    written = [raw.get("filter"), raw.get("as_of")]
    deleted = _read_deleted(raw)
    fields, far = _read_fields(schema, raw.get("fields")) if related else (parse_fields(schema, raw.get("fields")), ())
    if far and as_of is not None:
        raise InvalidInput(f"fields: {far[0][0]} shows the present only.", hint="Leave out as_of, or use extend.")
    criteria = parse_filter(schema, raw.get("filter"), now)
    if deleted == "only":
        criteria = _IS_DELETED if criteria is None else And((_IS_DELETED, criteria))
    return Query(
        filter=criteria,
        search=search,
        sort=parse_sort(schema, raw.get("sort")),
        fields=fields,
        limit=limit,
        offset=(page - 1) * limit if page else offset,
        cursor=cursor or None,
        count=True if raw.get("count") is None else read_bool(raw["count"], "count"),
        facets=parse_facets(schema, raw.get("facets"), now),
        as_of=as_of,
        include_deleted=deleted is not None,
        as_written=repr(written) if has_relative(written) else None,
        related=far,
    )


def _read_deleted(raw: Mapping[str, Any]) -> Literal["include", "only"] | None:
    """Whether deleted objects are included, or are the only ones."""
    given = raw.get("deleted")
    if given in ("include", "only"):
        return given
    if given is not None:
        raise InvalidInput("deleted is 'include' or 'only'.", hint="Leave it out for objects that are not deleted.")
    included = raw.get("include_deleted")
    return "include" if included is not None and read_bool(included, "include_deleted") else None


def read_as_of(raw: Any, now: float) -> AsOf | None:
    return None if raw is None or raw == "" else parse_as_of(raw, now)


def check_members(raw: Mapping[str, Any], members: tuple[str, ...], what: str) -> None:
    """Raise InvalidInput for an unknown member."""
    for name in raw:
        if name not in members:
            guess = did_you_mean(name, members)
            raise InvalidInput(
                f"A {what} has no member {name[:60]!r}.{' ' + guess if guess else ''}",
                hint=f"It has {', '.join(members)}.",
            )


def read_integer(raw: Any, name: str, default: int, largest: int) -> int:
    """An integer from 0 to the largest allowed, also as text."""
    if raw is None or raw == "":
        return default
    if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) < 19:
        raw = int(raw)
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 0:
        raise InvalidInput(f"{name} must be a whole number from 0 to {largest}.")
    if raw > largest:
        raise LimitExceeded(f"{name} is at most {largest}, not {raw}.", hint="Go on with the cursor of the answer.")
    return raw


def parse_search(raw: Any) -> str | None:
    """The words to look for; None if there is only whitespace."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None
    if not isinstance(raw, str):
        raise InvalidInput("search must be a text.")
    if len(raw) > _LONGEST_SEARCH:
        raise LimitExceeded(f"search has at most {_LONGEST_SEARCH} characters.")
    if not words(raw):
        raise InvalidInput(f"search {raw[:60]!r} has no word in it.", hint="Words are made of letters and digits.")
    return raw


def parse_sort(schema: QuerySchema, raw: Any) -> tuple[Sort, ...]:
    """`"-price"`, `"-price,name"`, `["-price", "name"]`, or `{"price": "desc"}`."""
    return tuple(_sort(resolve_field(schema, name), descending) for name, descending in _order(raw, _MOST_KEYS))


def _order(raw: Any, most: int) -> list[tuple[str, bool]]:
    """The names to sort by, each with whether it is descending."""
    if raw is None or raw in ("", [], {}):
        return []
    if isinstance(raw, str):
        raw = [name for name in raw.split(",") if name]
    if isinstance(raw, list) and all(isinstance(one, str) for one in cast("list[Any]", raw)):
        pairs = [(one.removeprefix("-"), one.startswith("-")) for one in cast("list[str]", raw)]
    elif isinstance(raw, dict):
        pairs = [(name, _descends(name, way)) for name, way in cast("dict[str, Any]", raw).items()]
    else:
        raise InvalidInput("sort must be names.", hint='Write ["-price", "name"] or {"price": "desc"}.')
    check_length(pairs, most, "sort")
    return pairs


def _descends(name: str, way: Any) -> bool:
    if not isinstance(way, str) or way.lower() not in ("asc", "desc"):
        raise InvalidInput(f"sort: the direction of {name[:60]!r} must be asc or desc.")
    return way.lower() == "desc"


def _sort(at: QueryField, descending: bool) -> Sort:
    return Sort(at.path, ordered_kind(at, "sorted by"), descending, at.hops)


def ordered_kind(at: QueryField, purpose: str, *, to_many: bool = False) -> Kind:
    """The kind of a place with one kind of value; with `to_many`, several related objects are allowed."""
    if at.to_many and not to_many:
        raise InvalidInput(
            f"{at.name} cannot be {purpose}: there may be several related objects.",
            hint="Only single references have one value; use filter, facets or aggregate.",
        )
    if at.many or at.lists or at.kind is None:
        raise InvalidInput(
            f"{at.name} cannot be {purpose}: it is {at.described}.", hint="Choose a text, number, date or truth value."
        )
    return at.kind


def parse_fields(schema: QuerySchema, raw: Any) -> tuple[str, ...] | None:
    """The names of the object's own properties and metadata to show, or None for all."""
    try:
        names, related = _read_fields(schema, raw)
    except NeedsRelatedSchemas as error:  # anything may be there: only own properties are shown
        raise InvalidInput(error.message, hint=error.hint, details=error.details) from None
    if related:
        raise InvalidInput(
            f"fields: {related[0][0]} belongs to a related object.", hint="Show related objects whole, with extend."
        )
    return names


def _read_fields(schema: QuerySchema, raw: Any) -> tuple[tuple[str, ...] | None, tuple[tuple[str, RelatedValue], ...]]:
    """The object's own names to show, and those that follow references to one object each."""
    if raw is None or raw in ("", []):
        return None, ()
    if isinstance(raw, str):
        raw = [name.strip() for name in raw.split(",") if name.strip()]
    if not isinstance(raw, list) or not all(isinstance(one, str) for one in cast("list[Any]", raw)):
        raise InvalidInput("fields must be names.", hint='Write ["title", "address.city"].')
    names = cast("list[str]", raw)
    check_length(names, _MOST_FIELDS, "fields")
    related: dict[str, RelatedValue] = {}
    for name in names:
        if name == "id" or is_metadata(name) or name in schema.properties or _is_embedded(schema, name):
            continue
        at = resolve_field(schema, name)
        if at.to_many:
            raise InvalidInput(
                f"fields: {name} leads to several objects.", hint="Show them whole, with extend, or query their schema."
            )
        if at.lists:
            raise InvalidInput(f"fields: {name} is in a list of objects.", hint="Name the list: it is shown whole.")
        if at.hops:
            related[name] = RelatedValue(at.hops, at.path)
    check_length(list(related), MOST_RELATED, "fields of related objects")
    return tuple(name for name in dict.fromkeys(names) if name not in related), tuple(related.items())


def _is_embedded(schema: QuerySchema, name: str) -> bool:
    """Whether the name may lead into an object embedded in place of a reference."""
    facts = schema.properties.get(name.partition(".")[0])
    return facts is not None and facts.ref is not None and facts.ref.embeds


def parse_facets(schema: QuerySchema, raw: Any, now: float) -> tuple[Facet, ...]:
    """`["status"]`, or `{"status": {"size": 5}, "price": {"ranges": [10, 100]}, "due": {"by": "month"}}`."""
    if raw is None or raw in ("", [], {}):
        return ()
    if isinstance(raw, str):
        raw = [name.strip() for name in raw.split(",") if name.strip()]
    if isinstance(raw, list) and all(isinstance(one, str) for one in cast("list[Any]", raw)):
        raw = dict.fromkeys(cast("list[str]", raw))
    if not isinstance(raw, dict):
        raise InvalidInput("facets must be names.", hint='Write ["status"] or {"price": {"ranges": [10, 100]}}.')
    entries = cast("dict[str, Any]", raw)
    check_length(list(entries), _MOST_FACETS, "facets")
    return tuple(_facet(schema, name, how, now) for name, how in entries.items())


def _facet(schema: QuerySchema, name: str, how: Any, now: float) -> Facet:
    at = resolve_field(schema, name)
    if how is not None and not isinstance(how, dict):
        raise InvalidInput(
            f"facets.{name} must be an object.", hint='Write {"size": 5}, {"by": "month"} or {"ranges": []}.'
        )
    options = cast("dict[str, Any]", how or {})
    check_members(options, ("size", "by", "ranges"), "facet")
    size = read_integer(options.get("size"), f"facets.{name}.size", 10, _MOST_BUCKETS)
    if options.get("by") is not None:
        return Histogram(
            name, at.path, bucket_of(at, options["by"]), size if "size" in options else 100, timed_kind(at), at.hops
        )
    if options.get("ranges") is not None:
        bounds = _bounds(at, options["ranges"], now)
        return Ranges(name, at.path, ordered_kind(at, "cut into ranges"), bounds, at.hops)
    if at.kind is None or at.lists or (at.many and at.to_many):
        raise InvalidInput(f"{at.name} cannot be a facet: it is {at.described}.", hint="Choose a member of it.")
    return Terms(name, at.path, at.kind, size, at.many, at.hops)


def bucket_of(at: QueryField, raw: Any) -> Bucket:
    """The time bucket for a field that holds times."""
    if raw not in BUCKETS:
        raise InvalidInput(f"{at.name}: times are grouped by {', '.join(BUCKETS)}.")
    if not at.single or not (at.time or at.kind in ("text", "moment")):
        what = "there may be several related objects" if at.to_many else f"it is {at.described}"
        raise InvalidInput(f"{at.name} has no times to group by: {what}.")
    return raw


def timed_kind(at: QueryField) -> Kind:
    """The kind of the times at a place."""
    return "moment" if at.kind == "moment" else "text"


def _bounds(at: QueryField, raw: Any, now: float) -> tuple[str | int | float | Instant, ...]:
    values: list[Any] = cast("list[Any]", raw) if isinstance(raw, list) else []
    read = [ValueReader(now).read(at, value) for value in values]
    if not read or len(read) > _MOST_BOUNDS or any(value is None or isinstance(value, bool) for value in read):
        raise InvalidInput(
            f"facets.{at.name}.ranges takes 1 to {_MOST_BOUNDS} bounds.", hint='Write {"ranges": [10, 100]}.'
        )
    return tuple(sorted(set(cast("list[Any]", read))))


def check_length(listed: list[T], most: int, name: str) -> None:
    if len(listed) > most:
        raise LimitExceeded(f"{name} has at most {most} entries, not {len(listed)}.")


FUNCTIONS: Final[tuple[Function, ...]] = ("count", "sum", "avg", "min", "max", "distinct")
_AGGREGATE_MEMBERS: Final = ("metrics", "group_by", "having", "sort", "limit", "offset", "filter", "search", "as_of")
_MOST_METRICS: Final = 20
_MOST_GROUP_KEYS: Final = 5


def parse_aggregate(schema: QuerySchema, raw: Mapping[str, Any], now: float) -> AggregateQuery:
    """An aggregation from its JSON members. Without metrics it counts; relative times are relative to `now`."""
    check_members(raw, _AGGREGATE_MEMBERS, "aggregation")
    search, as_of = parse_search(raw.get("search")), read_as_of(raw.get("as_of"), now)
    if as_of is not None and search is not None:
        raise InvalidInput("The past cannot be searched by words.", hint="Use a filter with like or contains.")
    keys = _keys(schema, raw.get("group_by"))
    metrics = _metrics(schema, raw.get("metrics"))
    names = [*(key.name for key in keys), *(metric.name for metric in metrics)]
    if len(set(names)) < len(names):
        raise InvalidInput("Two metrics or groups have the same name.", hint="Give each metric a name of its own.")
    if any(_is_to_many(key) for key in keys) and any(_is_to_many(metric) for metric in metrics):
        raise InvalidInput(
            "A group and a figure both ask for several related objects, and need not mean the same ones.",
            hint="Aggregate over the related schema itself, where each of those objects is counted once.",
        )
    return AggregateQuery(
        metrics=metrics,
        filter=parse_filter(schema, raw.get("filter"), now),
        search=search,
        group_by=keys,
        having=_having(metrics, raw.get("having")),
        sort=_group_order(names, raw.get("sort")),
        limit=max(1, read_integer(raw.get("limit"), "limit", DEFAULT_GROUPS, LARGEST_LIMIT)),
        offset=read_integer(raw.get("offset"), "offset", 0, FURTHEST),
        as_of=as_of,
    )


def _is_to_many(one: GroupKey | Metric) -> bool:
    return any(hop.to_many for hop in one.hops)


def _metrics(schema: QuerySchema, raw: Any) -> tuple[Metric, ...]:
    if raw is None or raw in ({}, []):
        return (Metric("count", "count"),)
    if not isinstance(raw, dict):
        raise InvalidInput("metrics must be an object.", hint='Write {"n": "count", "worth": {"sum": "price"}}.')
    entries = cast("dict[str, Any]", raw)
    check_length(list(entries), _MOST_METRICS, "metrics")
    return tuple(_metric(schema, name, how) for name, how in entries.items())


def _metric(schema: QuerySchema, name: str, how: Any) -> Metric:
    if how == "count":
        return Metric(name, "count")
    options = cast("dict[str, Any]", how) if isinstance(how, dict) else {}
    if len(options) != 1:
        raise InvalidInput(f"metrics.{name[:60]} must be one function.", hint='Write "count" or {"sum": "price"}.')
    (function, path), *_ = options.items()
    if function not in FUNCTIONS:
        guess = did_you_mean(function, FUNCTIONS)
        raise InvalidInput(
            f"There is no function {function[:40]!r}.{' ' + guess if guess else ''}",
            hint=f"Functions are {', '.join(FUNCTIONS)}.",
        )
    if not isinstance(path, str):
        raise InvalidInput(f"metrics.{name[:60]}.{function} takes the name of a property.")
    at = resolve_field(schema, path)
    kind = ordered_kind(at, f"put into {function}", to_many=True)
    if (kind != "number" and function in ("sum", "avg")) or (kind == "boolean" and function in ("min", "max")):
        raise InvalidInput(f"{function} needs numbers; {at.name} is {at.described}.", hint="Use count or distinct.")
    return Metric(name, function, at.path, kind, at.hops)


def _keys(schema: QuerySchema, raw: Any) -> tuple[GroupKey, ...]:
    if raw is None or raw == "":
        return ()
    listed = cast("list[Any]", raw) if isinstance(raw, list) else [raw]
    check_length(listed, _MOST_GROUP_KEYS, "group_by")
    return tuple(_key(schema, one) for one in listed)


def _key(schema: QuerySchema, raw: Any) -> GroupKey:
    options = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {"path": raw}
    check_members(options, ("path", "by"), "group")
    if not isinstance(options.get("path"), str):
        raise InvalidInput("group_by takes names.", hint='Write ["status"] or [{"path": "due", "by": "month"}].')
    at = resolve_field(schema, options["path"])
    if options.get("by") is None:
        return GroupKey(at.name, at.path, ordered_kind(at, "grouped by", to_many=True), hops=at.hops)
    return GroupKey(at.name, at.path, timed_kind(at), bucket_of(at, options["by"]), at.hops)


def _having(metrics: tuple[Metric, ...], raw: Any) -> tuple[Having, ...]:
    if raw is None:
        return ()
    numbers = [metric.name for metric in metrics if metric.kind == "number" or metric.function in ("count", "distinct")]
    bounds: list[Having] = []
    for name, how in cast("dict[str, Any]", raw).items() if isinstance(raw, dict) else [("", None)]:
        if name not in numbers or not isinstance(how, dict):
            raise InvalidInput(
                f"having takes the numeric metrics {', '.join(numbers)}, not {name[:60]!r}.",
                hint='Write {"n": {"gte": 2}}.',
            )
        for sign, value in cast("dict[str, Any]", how).items():
            op = read_operator(sign)
            if op not in ("eq", "ne", "gt", "gte", "lt", "lte") or not _is_number(value):
                raise InvalidInput(f"having.{name[:60]} compares with a number, by eq, ne, gt, gte, lt or lte.")
            bounds.append(Having(name, op, value))
    return tuple(bounds)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _group_order(names: list[str], raw: Any) -> tuple[tuple[str, bool], ...]:
    pairs = _order(raw, _MOST_GROUP_KEYS)
    for name, _ in pairs:
        if name not in names:
            guess = did_you_mean(name, names)
            raise InvalidInput(
                f"Groups are sorted by {', '.join(names)}, not by {name[:60]!r}.{' ' + guess if guess else ''}",
                hint='Write ["-n"].',
            )
    return tuple(pairs)
