"""Objects and questions that hypothesis makes up: mixed types under one name, odd names, values near one another."""

from typing import Any

from hypothesis import strategies as st

from pentad.rooms.registers.query.datetimes import parse_instant
from pentad.rooms.registers.query.models import (
    AggregateQuery,
    And,
    AnyElement,
    Compare,
    Contains,
    Empty,
    Exists,
    Facet,
    Filter,
    GroupKey,
    Histogram,
    Hop,
    Hops,
    In,
    Kind,
    Like,
    Metric,
    Not,
    Or,
    Path,
    Query,
    Ranges,
    Related,
    Scope,
    Sort,
    Terms,
)
from tests.rooms.registers.query.oracle import Thing
from tests.rooms.registers.query.seeding import simple, uuid_of

ODD = "we'ird \"na.me$[0]?%s"
NAMES = ("name", "n", "flag", "tags", "address", "when", "lines", ODD, "")
PATHS: tuple[Path, ...] = (
    *((name,) for name in NAMES),
    ("address", "city"), ("address", ODD), ("tags", 0), ("tags", 1), ("address", "list", 0),
)  # fmt: skip
TEXTS = (
    "",
    "a",
    "A",
    "b",
    "ab",
    "aB%",
    "a_b",
    "é",
    "É",
    "z!",
    "\\",
    "'",
    '"',
    "1",
    "true",
    "日本",
    "null",
    "[1]",
    "😀",
)
DAYS = (
    "2026-01-01",
    "2026-01-04T23:59:59Z",
    "2025-12-29",
    "2026-02-31",
    "2026-13-01",
    "0000-01-01",
    "2024-02-29x",
    "20",
)
MOMENTS = (
    "2026-01-04T10:00:00Z",
    "2026-01-04T10:00:00+02:00",
    "2026-01-04T08:00:00.000Z",
    "2026-01-04T08:00:00.50Z",
    "2026-01-04T08:00:00.500000000001-00:30",
    "2026-01-04T00:30:00+01:00",
    "2025-12-31T23:59:59.9999999Z",
    "1969-07-20T20:17:40.1Z",
    "0099-12-31T23:00:00-01:00",
)
NO_MOMENTS = (
    "2026-13-04T10:00:00Z",
    "2026-01-04T10:00:00",
    "2026-01-04T24:00:00Z",
    "2026-01-04T10:00:00.x5Z",
    "2026-01-04",
)
KINDS: tuple[Kind, ...] = ("text", "number", "boolean", "moment")
ORGANISATIONS = ("home", "away")
OWNERS = ("user:ada", "user:bob")

texts = st.sampled_from(TEXTS) | st.text(st.sampled_from("abAB%_é\\ !"), max_size=4)
numbers = st.integers(-3, 3) | st.integers(-1_000, 1_000).map(lambda n: n / 4)
extremes = st.sampled_from((2**63 - 1, -(2**63), 2**53, 2**53 + 1, 1e300, -1e300, 5e-324, 0.1, 1e22))
scalars = st.none() | st.booleans() | numbers | texts
moments = st.sampled_from(MOMENTS)
instants = moments.map(lambda text: parse_instant(text, "when"))
values = scalars | st.lists(scalars, max_size=3)
lines = st.lists(st.dictionaries(st.sampled_from(("city", "n")), values, max_size=2), max_size=2)
indexed = st.sampled_from((frozenset[Path](), frozenset({("name",), ("n",), ("flag",), ("when",), ("ref",)})))
uuids = st.integers(1, 14).map(uuid_of)
LINE = {"city": scalars, "n": scalars, "ref": uuids}
filled_line = st.fixed_dictionaries({}, optional={**LINE, "when": moments, "lines": lines})
anything = (
    values
    | st.sampled_from(DAYS)
    | moments
    | st.sampled_from(NO_MOMENTS)
    | st.lists(moments, max_size=3)
    | st.dictionaries(st.sampled_from(("city", ODD, "list", "0")), values, max_size=3)
    | st.lists(st.dictionaries(st.sampled_from(("city", "n", "when", "lines")), values | moments | lines, max_size=3))
    | st.lists(st.lists(scalars, max_size=2) | st.fixed_dictionaries({"city": scalars}), max_size=2)
)
asked_paths = st.sampled_from(PATHS)
metadata = st.sampled_from((("@self", "owner"), ("@self", "version"), ("@self", "slug"), ("@self", "created")))
every_path = asked_paths | metadata


@st.composite
def things(draw: st.DrawFn) -> list[Thing]:
    found: list[Thing] = []
    for number in range(1, draw(st.integers(0, 14)) + 1):
        data: dict[str, Any] = draw(st.dictionaries(st.sampled_from(NAMES), anything, max_size=6))
        if draw(st.booleans()):
            data["big"] = draw(extremes | numbers)
        if draw(st.booleans()):
            data["lines"] = draw(st.lists(filled_line, min_size=1, max_size=3))
        if draw(st.booleans()):
            data["ref"] = draw(uuids | scalars)
        if draw(st.booleans()):
            data["refs"] = draw(st.lists(uuids, max_size=3) | scalars)
        found.append(
            simple(
                number, data,
                register=draw(st.sampled_from((1, 1, 1, 2))), schema=draw(st.sampled_from((1, 1, 1, 2))),
                version=draw(st.integers(1, 3)), slug=draw(st.none() | st.sampled_from(("x", "Y"))),
                owner=draw(st.sampled_from(OWNERS)), organisation=draw(st.sampled_from(ORGANISATIONS)),
                created=draw(st.sampled_from((0.5, 86_399.999, 86_400.0, 1.7e9))),
                deleted=draw(st.sampled_from((None, None, None, "{}"))),
            )
        )  # fmt: skip
    return found


@st.composite
def leaves(draw: st.DrawFn) -> Filter:
    path = draw(every_path | st.just(("big",)))
    value = draw(extremes | numbers if path == ("big",) else scalars | instants)
    match draw(st.integers(0, 6)):
        case 0:
            return In(path, tuple(draw(st.lists(scalars | instants, max_size=4))), draw(st.booleans()))
        case 1:
            return Like(path, draw(texts | st.sampled_from(("%a%", "A_", "\\%%", "%\\", "a%b", "_"))))
        case 2:
            return Exists(path, draw(st.booleans()))
        case 3:
            return Contains(path, value)
        case 4 if path[0] != "@self":
            return Empty(path, draw(st.sampled_from(("array", "object"))))
        case _:
            return Compare(path, draw(st.sampled_from(("eq", "ne", "gt", "gte", "lt", "lte"))), value)


@st.composite
def leaves_inside(draw: st.DrawFn) -> Filter:
    """A question about one object of a list, or about the lists in it."""
    path: Path = (draw(st.sampled_from(("city", "n", "when"))),)
    if draw(st.integers(0, 3)) == 0:
        return AnyElement(("lines",), draw(leaves_inside()))
    value = draw(scalars | instants)
    if draw(st.booleans()):
        return Not(Compare(path, "eq", value))
    return Compare(path, draw(st.sampled_from(("eq", "ne", "gt", "lte"))), value)


tenants = st.sampled_from((("home",), ("home", "away"), ())).map(lambda names: In(("@self", "organisation"), names))


@st.composite
def far_scopes(draw: st.DrawFn, schema: int) -> Scope:
    rule = draw(st.none() | leaves() | tenants)
    return Scope(draw(st.sampled_from((1, 1, 2, None))), (schema,), rule, draw(indexed))


@st.composite
def hops(draw: st.DrawFn, *, single: bool = False, inside: bool = False) -> Hop:
    """A hop by one of the references, with rights of its own; `inside` an object of a list."""
    schema = draw(st.sampled_from((1, 1, 1, 2)))
    scope = draw(far_scopes(schema))
    ways = [Hop(schema, ("ref",), scope=scope)]
    if not single:
        ways.append(Hop(schema, ("refs",), many=True, scope=scope))
    if not single and not inside:
        ways += [Hop(schema, ("ref",), back=True, scope=scope), Hop(schema, ("refs", "*"), True, True, scope=scope)]
    return draw(st.sampled_from(ways))


@st.composite
def chains(draw: st.DrawFn, *, single: bool = False) -> Hops:
    return tuple(draw(st.lists(hops(single=single), min_size=1, max_size=3)))


list_paths = st.sampled_from((("lines",), ("lines",), ("lines", 0, "lines"), ("tags",), ("address", "list")))
filters = st.recursive(
    leaves()
    | st.builds(AnyElement, list_paths, leaves_inside())
    | st.builds(AnyElement, st.just(("lines",)), st.builds(Related, hops(single=True, inside=True), leaves()))
    | st.builds(Related, hops(), leaves()),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inner, max_size=3).map(lambda parts: Or(tuple(parts)))
        | inner.map(Not)
        | st.builds(Related, hops(), inner)
    ),
    max_leaves=6,
)
scopes = st.builds(
    Scope,
    register=st.sampled_from((1, 1, 1, 2, None)),
    schemas=st.sampled_from(((1,), (1,), (2,), (1, 2), ())),
    rule=st.none() | leaves() | tenants | st.builds(lambda one, other: And((one, other)), leaves(), tenants),
    indexed=indexed,
)


def written(path: Path) -> st.SearchStrategy[Kind]:
    return st.just("text") if path[0] == "@self" else st.sampled_from(("text", "moment"))


@st.composite
def sorts(draw: st.DrawFn) -> Sort:
    if draw(st.booleans()):
        way = draw(st.just(()) | chains(single=True))
        return Sort(draw(asked_paths), draw(st.sampled_from(KINDS)), draw(st.booleans()), way)
    plain: tuple[tuple[Path, Kind], ...] = (
        (("@self", "created"), "number"), (("@self", "slug"), "text"), (("big",), "number")
    )  # fmt: skip
    path, kind = draw(st.sampled_from(plain))
    return Sort(path, kind, draw(st.booleans()))


@st.composite
def facets(draw: st.DrawFn) -> list[Facet]:
    made: list[Facet] = []
    for number in range(draw(st.integers(0, 4))):
        path, kind, name = draw(asked_paths), draw(st.sampled_from(KINDS)), f"facet {number}"
        match draw(st.integers(0, 3)):
            case 0:
                made.append(Terms(name, path, kind, draw(st.integers(1, 4)), many=True))
            case 1:
                kind = "number" if kind == "boolean" else kind
                bound = {"text": texts, "number": numbers, "moment": instants}[kind]
                bounds = tuple(sorted(draw(st.sets(bound, min_size=1, max_size=3))))
                made.append(Ranges(name, path, kind, bounds, draw(st.just(()) | chains(single=True))))
            case 2:
                when = draw(st.sampled_from((("when",), ("@self", "created"), path)))
                made.append(Histogram(name, when, draw(buckets), draw(st.integers(1, 5)), draw(written(when))))
            case _:
                way = draw(st.just(()) | chains())
                made.append(Terms(name, path, kind, draw(st.integers(1, 4)), hops=way))
    return made


buckets = st.sampled_from(("day", "week", "month", "quarter", "year"))
queries = st.builds(
    Query,
    filter=st.none() | filters,
    sort=st.lists(sorts(), max_size=3).map(tuple),
    limit=st.integers(0, 6),
    offset=st.integers(0, 8),
    facets=facets().map(tuple),
    include_deleted=st.booleans(),
)


@st.composite
def aggregations(draw: st.DrawFn) -> AggregateQuery:
    keys: list[GroupKey] = []
    grouped = draw(st.booleans())
    several = st.just(()) | chains()
    one = st.just(()) | chains(single=True)
    for number in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            way = draw(several if grouped else one)
            keys.append(GroupKey(f"key {number}", draw(asked_paths), draw(st.sampled_from(KINDS)), hops=way))
        else:
            when = draw(st.sampled_from((("when",), ("@self", "created"))))
            keys.append(GroupKey(f"key {number}", when, draw(written(when)), draw(buckets)))
    metrics = [Metric("objects", "count")]
    for number, function in enumerate(
        draw(st.lists(st.sampled_from(("count", "sum", "avg", "min", "max", "distinct")), max_size=4))
    ):
        kind: Kind = "number" if function in ("sum", "avg") else draw(st.sampled_from(("text", "number", "moment")))
        metrics.append(Metric(f"metric {number}", function, draw(asked_paths), kind, draw(one if grouped else several)))
    return AggregateQuery(tuple(metrics), draw(st.none() | filters), group_by=tuple(keys), limit=1_000)
