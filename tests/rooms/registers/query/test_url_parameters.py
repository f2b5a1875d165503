"""Queries in the parameters of a URL, as OpenRegister's clients write them."""

import contextlib
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.rooms.registers.query.models import And, Compare, Contains, Exists, In, Like, Or, Query, Sort, Terms
from pentad.rooms.registers.query.url_parameters import parse_parameters
from tests.rooms.registers.query.test_parser import KNOWN, NOW


def asked(text: str) -> Query:
    return parse_parameters(KNOWN, parse_qsl(text, keep_blank_values=True), NOW)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", None),
        ("status=open", Compare(("status",), "eq", "open")),
        ("status=", Compare(("status",), "eq", "")),
        ("status=5", Compare(("status",), "eq", "5")),
        ("status=a&status=b", In(("status",), ("a", "b"), False)),
        ("status[]=a&status[]=b", In(("status",), ("a", "b"), False)),
        ("status[in]=a,b", In(("status",), ("a", "b"), False)),
        ("status[nin]=a", In(("status",), ("a",), True)),
        ("status[$ne]=a", Compare(("status",), "ne", "a")),
        ("status[like]=a%25", Like(("status",), "a%")),
        ("status[exists]=true", Exists(("status",), True)),
        ("status=IS NULL", Compare(("status",), "eq", None)),
        ("status=IS NOT NULL", Compare(("status",), "ne", None)),
        ("price=5", Compare(("price",), "eq", 5)),
        ("price[gte]=5.5", Compare(("price",), "gte", 5.5)),
        ("price[gte]=5&price[lt]=9", And((Compare(("price",), "gte", 5), Compare(("price",), "lt", 9)))),
        ("open=true", Compare(("open",), "eq", True)),
        ("open=0", Compare(("open",), "eq", False)),
        ("tags=x", Contains(("tags",), "x")),
        ("tags[]=x&tags[]=y", Or((Contains(("tags",), "x"), Contains(("tags",), "y")))),
        ("marks=5", Contains(("marks",), 5)),
        ("address.city=Delft", Compare(("address", "city"), "eq", "Delft")),
        ("address[city]=Delft", Compare(("address", "city"), "eq", "Delft")),
        ("address[city][like]=D%25", Like(("address", "city"), "D%")),
        ("@self[owner]=user:ada", Compare(("@self", "owner"), "eq", "user:ada")),
        ("@self[created][gt]=1970-01-02", Compare(("@self", "created"), "gt", 86_400.0)),
        ("@self[version]=2", Compare(("@self", "version"), "eq", 2)),
        ('_filter={"price":{"gt":5}}', Compare(("price",), "gt", 5)),
        ('open=1&_filter={"price":5}', And((Compare(("open",), "eq", True), Compare(("price",), "eq", 5)))),
    ],
)
def test_a_filter_means_what_it_says(text: str, wanted: Any) -> None:
    assert asked(text).filter == wanted


def test_steering_parameters_steer() -> None:
    query = asked(
        "_limit=5&_page=2&_order[price]=desc&_order[address.city]=asc&_search=words&_fields=status,price"
        "&_facets=status&_count=false&_includeDeleted=true"
    )
    assert (query.limit, query.offset, query.search, query.count, query.include_deleted) == (5, 5, "words", False, True)
    assert query.sort == (Sort(("price",), "number", True), Sort(("address", "city"), "text"))
    assert query.fields == ("status", "price")
    assert query.facets == (Terms("status", ("status",), "text"),)


def test_other_ways_to_write_lists_are_read() -> None:
    assert asked('_order={"price":"desc"}').sort == asked("_order=-price").sort == (Sort(("price",), "number", True),)
    assert (
        asked("_fields[]=status&_fields[]=price").fields == asked("_filter=status,price").fields == ("status", "price")
    )
    assert asked('_facets={"status":{"size":2}}').facets == (Terms("status", ("status",), "text", 2),)
    assert asked("_asOf=1970-01-02").as_of == asked("_asOf=86400").as_of


@pytest.mark.parametrize(
    "text",
    [
        "_order=-price&_order[status]=asc",
        '_order=["-price"]&_order[status]=asc',
        '_order[price]=desc&_order={"status":"asc"}',
        "_order[price]=desc&_order=status",
    ],
)
def test_an_order_may_come_in_parts_of_every_form(text: str) -> None:
    assert asked(text).sort == (Sort(("price",), "number", True), Sort(("status",), "text"))


def test_what_is_asked_in_parts_is_asked_as_a_whole() -> None:
    terms = (Terms("status", ("status",), "text", 2), Terms("price", ("price",), "number"))
    assert asked('_facets={"status":{"size":2}}&_facets=price').facets == terms
    assert asked('_fields=["status"]&_fields=price, open').fields == ("status", "price", "open")
    both = asked('_filter={"status":"x"}&_filter={"price":5}').filter
    assert both == And((Compare(("status",), "eq", "x"), Compare(("price",), "eq", 5)))
    assert asked("_order=-_created").sort == asked("_order[@self.created]=desc").sort


def test_what_steers_nothing_is_named() -> None:
    assert asked("_extend=all&_rbac=false&status=x&_fuzzy=false").ignored == ("_rbac", "_fuzzy")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("statsu=x", "Did you mean 'status'"),
        ("_fuzzy=true", "_fuzzy is not known here"),
        ("price=cheap", "price is a number; the filter gives the text 'cheap'"),
        ("price=nan", "price is a number"),
        ("open=maybe", "open is true or false"),
        ("@self[created]=soon", "'soon' is not a time"),
        ("_limit=many", "limit must be a whole number"),
        ("_filter={x", "_filter is not valid JSON"),
        ("_order[price]=up", "must be asc or desc"),
        ("_order=[1]", "_order must be names"),
        ("_fields={}&_fields=status", "_fields must be names"),
        ('_facets=["status",{}]', "_facets must be names"),
        ("_limit=1&_limit=2", "_limit is there more than once"),
        ("_limit=1&_limit=1", "_limit is there more than once"),
        ("_search=a&_search=b", "_search is there more than once"),
        ("_deleted=only&_deleted=include", "_deleted is there more than once"),
        ("&".join(["status=x"] * 501), "more than 500 parameters"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        asked(text)
    assert said in refused.value.message


NAMES = st.sampled_from(
    (
        "status",
        "price[gte]",
        "_limit",
        "_order[price]",
        "_order",
        "_facets",
        "_fields",
        "@self[created]",
        "_filter",
        "a[b][",
        "][",
        "_fields[]",
    )
) | st.text(max_size=6)


@settings(deadline=None)
@given(
    pairs=st.lists(
        st.tuples(
            NAMES, st.sampled_from(("[]", "{}", '["status"]', "[{}]", '{"price":{}}', "price")) | st.text(max_size=6)
        ),
        max_size=5,
    )
)
def test_any_parameters_are_a_query_or_are_refused(pairs: list[tuple[str, str]]) -> None:
    with contextlib.suppress(PentadError):
        parse_parameters(KNOWN, pairs, NOW)
