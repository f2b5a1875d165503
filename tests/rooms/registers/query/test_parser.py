"""The filter language, queries and aggregations in JSON: what they mean and how they are refused."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.rooms.registers.query.datetimes import parse_as_of
from pentad.rooms.registers.query.filters import parse_filter
from pentad.rooms.registers.query.models import (
    And,
    AsOf,
    Compare,
    Contains,
    Exists,
    GroupKey,
    Having,
    Histogram,
    In,
    Like,
    Metric,
    Not,
    Or,
    Ranges,
    Sort,
    Terms,
)
from pentad.rooms.registers.query.parser import parse_aggregate, parse_query
from pentad.rooms.registers.query.query_fields import DeclaredKind


@dataclass
class Facts:
    types: tuple[str, ...]
    kind: DeclaredKind | None = None
    item_kind: DeclaredKind | None = None
    children: Mapping[str, "Facts"] = field(default_factory=dict[str, "Facts"])
    elements: Mapping[str, "Facts"] | None = None
    ref: None = None


@dataclass
class Schema:
    properties: Mapping[str, Facts]
    headings: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    concealed: frozenset[str] = frozenset()
    relations: None = None


TEXT, NUMBER, TRUTH, DATE = (
    Facts(("string",), "text"),
    Facts(("number",), "number"),
    Facts(("boolean", "null"), "boolean"),
    Facts(("string",), "date"),
)
NOW = 1_770_000_000.0
KNOWN = Schema(
    {
        "status": TEXT,
        "price": NUMBER,
        "open": TRUTH,
        "due": DATE,
        "tags": Facts(("array",), None, "text"),
        "marks": Facts(("array",), None, "number"),
        "items": Facts(("array",)),
        "address": Facts(("object",), children={"city": TEXT, "geo": Facts(("object",))}),
        "free": Facts(("object",)),
        "a.b": TEXT,
        "and": TEXT,
    }
)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ({}, None),
        (None, None),
        ({"status": "open"}, Compare(("status",), "eq", "open")),
        ({"status": None}, Compare(("status",), "eq", None)),
        ({"status": ["a", None]}, In(("status",), ("a", None), False)),
        ({"status": {"$nin": ["a"]}}, In(("status",), ("a",), True)),
        ({"status": {"ne": "a"}}, Compare(("status",), "ne", "a")),
        ({"status": {"like": "a%"}}, Like(("status",), "a%")),
        ({"status": {"contains": "b"}}, Contains(("status",), "b")),
        ({"open": True}, Compare(("open",), "eq", True)),
        ({"open": {"exists": False}}, Exists(("open",), False)),
        ({"price": {"gte": 5, "lt": 9}}, And((Compare(("price",), "gte", 5), Compare(("price",), "lt", 9)))),
        ({"price": 1, "open": False}, And((Compare(("price",), "eq", 1), Compare(("open",), "eq", False)))),
        ({"tags": "x"}, Contains(("tags",), "x")),
        ({"tags": ["x", "y"]}, Or((Contains(("tags",), "x"), Contains(("tags",), "y")))),
        ({"tags": {"ne": "x"}}, Not(Contains(("tags",), "x"))),
        ({"tags": {"eq": None}}, Compare(("tags",), "eq", None)),
        ({"tags.0": "x"}, Compare(("tags", 0), "eq", "x")),
        ({"items.1.name": 5}, Compare(("items", 1, "name"), "eq", 5)),
        ({"address.city": "Delft"}, Compare(("address", "city"), "eq", "Delft")),
        ({"address": {"city": {"in": ["Delft"]}}}, In(("address", "city"), ("Delft",), False)),
        ({"address.geo.lat": {"gt": 5}}, Compare(("address", "geo", "lat"), "gt", 5)),
        ({"free": {"deep": {"er": "x"}}}, Compare(("free", "deep", "er"), "eq", "x")),
        ({"a.b": "x"}, Compare(("a.b",), "eq", "x")),
        ({"and": "x"}, Compare(("and",), "eq", "x")),
        ({"$and": [{"price": 1}]}, And((Compare(("price",), "eq", 1),))),
        ({"or": [{"price": 1}, {"price": 2}]}, Or((Compare(("price",), "eq", 1), Compare(("price",), "eq", 2)))),
        ({"not": {"price": 1}}, Not(Compare(("price",), "eq", 1))),
        ({"@self.owner": "user:ada"}, Compare(("@self", "owner"), "eq", "user:ada")),
        ({"@self.created": {"gt": "1970-01-02"}}, Compare(("@self", "created"), "gt", 86_400.0)),
        ({"@self.version": "3"}, Compare(("@self", "version"), "eq", 3)),
        ({"@self": {"owner": "x"}}, Compare(("@self", "owner"), "eq", "x")),
    ],
)
@pytest.mark.requirement("registers:query:operators")
def test_a_filter_means_what_it_says(raw: Any, wanted: Any) -> None:
    assert parse_filter(KNOWN, raw, NOW) == wanted


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"statsu": "x"}, "no property 'statsu'. Did you mean 'status'"),
        ({"address.cty": "x"}, "Did you mean 'address.city'"),
        ({"status.x": "y"}, "no property 'status.x'"),
        ({"items.name": 1}, "no property 'items.name'"),
        ({"@self.creatd": 1}, "Did you mean '@self.created'?"),
        ({"status": 5}, "status is text; the filter gives the number 5"),
        ({"price": "5"}, "price is a number; the filter gives the text '5'"),
        ({"price": True}, "price is a number; the filter gives true"),
        ({"price": {"gt": 10**30}}, "price: the filter's number has more than 64 bits"),
        ({"open": 1}, "open is true or false; the filter gives the number 1"),
        ({"marks": "a"}, "marks is an array (a number each)"),
        ({"price": {"like": "5%"}}, "price.like compares texts"),
        ({"price": {"contains": 5}}, "price.contains asks for a part"),
        ({"price": {"gt": None}}, "price.gt is not possible"),
        ({"price": {"gt": [1]}}, "price.gt takes one value"),
        ({"price": {"in": 5}}, "price.in takes a list"),
        ({"tags": {"gt": "a"}}, "tags.gt is not possible"),
        ({"status": {"gtt": "a"}}, "no operator 'gtt'. Did you mean 'gt'?"),
        ({"status": {"eq": "a", "x": 1}}, "no operator 'x'"),
        ({"status": {}}, "an empty object is not a condition"),
        ({"status": {"exists": "maybe"}}, "must be true or false"),
        ({"price": float("nan")}, "price is a number"),
        ({"@self.created": "yesterday"}, "'yesterday' is not a time"),
        ({"or": {"price": 1}}, "'or' takes a list"),
        ({"not": 5}, "must be an object"),
        ([1], "must be an object"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused_in_words(raw: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_filter(KNOWN, raw, NOW)
    assert said in refused.value.message


def test_an_unknown_property_is_refused_with_what_there_is() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_filter(KNOWN, {"prise": 1}, NOW)
    assert refused.value.details["nearest"] == ["price"]
    assert "address.city" in (refused.value.hint or "")


def test_a_schema_that_declares_nothing_lets_anything_be_asked() -> None:
    assert parse_filter(Schema({}), {"x.y": 5}, NOW) == Compare(("x", "y"), "eq", 5)


def test_filters_are_bounded_in_depth_and_size() -> None:
    deep: dict[str, Any] = {"price": 1}
    for _ in range(40):
        deep = {"not": deep}
    for raw in (
        deep,
        {"or": [{"price": 1}] * 600},
        {"price": {"in": list(range(501))}},
        {"status": "x" * 10_001},
        {"status": {"like": "%" * 501}},
    ):
        with pytest.raises(LimitExceeded):
            parse_filter(KNOWN, raw, NOW)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("price", "status", "tags", "$or", "not", "in", "gt", "@self.created", ""))
            | st.text(max_size=5),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(raw=JSON)
def test_any_json_is_a_filter_or_is_refused(raw: Any) -> None:
    with contextlib.suppress(PentadError):
        parse_filter(KNOWN, raw, NOW)


@settings(deadline=None)
@given(
    raw=st.dictionaries(
        st.sampled_from(("filter", "search", "sort", "fields", "limit", "page", "facets", "as_of")), JSON
    )
)
def test_any_json_is_a_query_or_is_refused(raw: dict[str, Any]) -> None:
    with contextlib.suppress(PentadError):
        parse_query(KNOWN, raw, NOW)


@settings(deadline=None)
@given(raw=st.dictionaries(st.sampled_from(("metrics", "group_by", "having", "sort", "limit")), JSON))
def test_any_json_is_an_aggregation_or_is_refused(raw: dict[str, Any]) -> None:
    with contextlib.suppress(PentadError):
        parse_aggregate(KNOWN, raw, NOW)


def test_a_query_takes_all_its_members() -> None:
    query = parse_query(
        KNOWN,
        {
            "filter": {"open": True}, "search": "two words", "sort": ["-price", "address.city"],
            "fields": ["status", "@self.version", "id"], "limit": 5, "page": 3, "count": False,
            "facets": {"status": None, "tags": {"size": 3}, "price": {"ranges": [100, 10]}, "due": {"by": "month"}},
            "include_deleted": True,
        },
        NOW,
    )  # fmt: skip
    assert query.filter == Compare(("open",), "eq", True)
    assert query.sort == (Sort(("price",), "number", True), Sort(("address", "city"), "text"))
    assert (query.search, query.fields) == ("two words", ("status", "@self.version", "id"))
    assert (query.limit, query.offset, query.count, query.include_deleted) == (5, 10, False, True)
    assert query.facets == (
        Terms("status", ("status",), "text", 10),
        Terms("tags", ("tags",), "text", 3, many=True),
        Ranges("price", ("price",), "number", (10, 100)),
        Histogram("due", ("due",), "month", 100),
    )


def test_a_query_that_says_nothing_asks_for_twenty_and_their_number() -> None:
    query = parse_query(KNOWN, {}, NOW)
    assert (query.filter, query.limit, query.offset, query.count) == (None, 20, 0, True)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"limits": 5}, "no member 'limits'. Did you mean 'limit'?"),
        ({"limit": -1}, "limit must be a whole number"),
        ({"limit": 1001}, "limit is at most 1000"),
        ({"limit": True}, "limit must be a whole number"),
        ({"cursor": "x", "offset": 5}, "A cursor is a text"),
        ({"sort": "tags"}, "tags cannot be sorted by"),
        ({"sort": {"price": "up"}}, "must be asc or desc"),
        ({"sort": ["price"] * 9}, "sort has at most 8"),
        ({"fields": ["nope"]}, "no property 'nope'"),
        ({"facets": ["address"]}, "address cannot be a facet"),
        ({"facets": {"price": {"by": "month"}}}, "price has no times"),
        ({"facets": {"due": {"by": "eon"}}}, "grouped by day, week"),
        ({"facets": {"price": {"ranges": []}}}, "takes 1 to 50 bounds"),
        ({"search": "!!"}, "has no word"),
        ({"search": "x", "as_of": "2026-01-01"}, "cannot be searched"),
    ],
)
def test_a_query_that_cannot_be_meant_is_refused_in_words(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_query(KNOWN, raw, NOW)
    assert said in refused.value.message


def test_an_aggregation_takes_all_its_members() -> None:
    query = parse_aggregate(
        KNOWN,
        {
            "metrics": {"n": "count", "worth": {"sum": "price"}, "first": {"min": "due"}},
            "group_by": ["status", {"path": "due", "by": "quarter"}],
            "having": {"n": {"gte": 2}},
            "sort": ["-worth", "status"],
            "limit": 10,
        },
        NOW,
    )
    assert query.metrics == (
        Metric("n", "count"),
        Metric("worth", "sum", ("price",), "number"),
        Metric("first", "min", ("due",), "text"),
    )
    assert query.group_by == (GroupKey("status", ("status",), "text"), GroupKey("due", ("due",), "text", "quarter"))
    assert query.having == (Having("n", "gte", 2),)
    assert (query.sort, query.limit) == ((("worth", True), ("status", False)), 10)
    assert parse_aggregate(KNOWN, {}, NOW).metrics == (Metric("count", "count"),)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"metrics": {"x": {"sum": "status"}}}, "sum needs numbers"),
        ({"metrics": {"x": {"mean": "price"}}}, "no function 'mean'"),
        ({"metrics": {"x": {"sum": "prise"}}}, "no property 'prise'"),
        ({"metrics": {"status": "count"}, "group_by": "status"}, "have the same name"),
        ({"group_by": ["tags"]}, "tags cannot be grouped by"),
        ({"having": {"y": {"gt": 1}}}, "having takes the numeric metrics count"),
        ({"having": {"count": {"gt": "1"}}}, "compares with a number"),
        ({"sort": ["x"]}, "sorted by count"),
    ],
)
def test_an_aggregation_that_cannot_be_meant_is_refused_in_words(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_aggregate(KNOWN, raw, NOW)
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("1970-01-01T00:01:00Z", AsOf(at=60.0)),
        ("1970-01-01T01:01:00+01:00", AsOf(at=60.0)),
        ("1970-01-02", AsOf(at=86_400.0)),
        (90, AsOf(at=90.0)),
        ("90.5", AsOf(at=90.5)),
        ("change:12", AsOf(change=12)),
        ({"change": 12}, AsOf(change=12)),
    ],
)
def test_a_moment_is_a_time_or_a_change(raw: Any, wanted: AsOf) -> None:
    assert parse_as_of(raw, NOW) == wanted


@pytest.mark.parametrize(
    "raw", ["soon", "", True, [], "change:x", "change:-1", {"x": 1}, float("inf"), 1e300, "9" * 400]
)
def test_a_moment_that_is_none_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidInput):
        parse_as_of(raw, NOW)
