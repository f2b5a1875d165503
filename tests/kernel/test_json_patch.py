"""Merge patch and JSON Patch, against the examples of their RFCs and against each other."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json_patch import (
    PatchTestFailed,
    json_patch,
    merge_patch,
    same_json,
)
from pentad.kernel.json_pointer import split_pointer
from pentad.rooms.registers.definitions.json_diff import as_patch, differences

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | st.text("ab~/0", max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab~/0-", max_size=3), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
@pytest.mark.requirement("registers:writes:merge-patch")
def test_merge_patch_does_what_appendix_a_of_rfc_7386_says(document: Any, patch: Any, result: Any) -> None:
    before = deepcopy(document)
    assert merge_patch(document, patch) == result
    assert document == before


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
        (
            {"foo": ["bar", "baz"]},
            [{"op": "add", "path": "/foo/1", "value": "qux"}],
            {"foo": ["bar", "qux", "baz"]},
        ),
        ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
        ({"baz": "qux"}, [{"op": "replace", "path": "/baz", "value": "boo"}], {"baz": "boo"}),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        ({"baz": "qux"}, [{"op": "test", "path": "/baz", "value": "qux"}], {"baz": "qux"}),
        ({"foo": "bar"}, [{"op": "add", "path": "/child", "value": {"a": {}}}], {"foo": "bar", "child": {"a": {}}}),
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}], {"foo": "bar", "baz": "qux"}),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        ({"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["abc"]}], {"foo": ["bar", ["abc"]]}),
        ({"a": 1}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": 1, "b": 1}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": [1]}], [1]),
        ({"a": None}, [{"op": "test", "path": "/a", "value": None}], {"a": None}),
        ({"": 1}, [{"op": "replace", "path": "/", "value": 2}], {"": 2}),
        ({"a": 1}, [], {"a": 1}),
    ],
)
@pytest.mark.requirement("registers:writes:json-patch")
def test_json_patch_does_what_rfc_6902_says(document: Any, patch: list[Any], result: Any) -> None:
    before = deepcopy(document)
    assert json_patch(document, patch) == result
    assert document == before


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        ({"foo": "bar"}, {"op": "add", "path": "/baz/bat", "value": "qux"}),
        ({"a": 1}, {"op": "remove", "path": "/b"}),
        ({"a": 1}, {"op": "replace", "path": "/b", "value": 1}),
        ({"a": [1]}, {"op": "add", "path": "/a/5", "value": 1}),
        ({"a": [1]}, {"op": "add", "path": "/a/01", "value": 1}),
        ({"a": [1]}, {"op": "remove", "path": "/a/-"}),
        ({"a": [1]}, {"op": "replace", "path": "/a/x", "value": 1}),
        ({"a": {"b": 1}}, {"op": "move", "from": "/a", "path": "/a/b"}),
        ({"a": 1}, {"op": "copy", "from": "/x", "path": "/b"}),
        ({"a": 1}, {"op": "copy", "from": 5, "path": "/b"}),
        ({"a": 1}, {"op": "add", "path": "/b"}),
        ({"a": 1}, {"op": "spam", "path": "/b"}),
        ({"a": 1}, {"op": ["add"], "path": "/b"}),
        ({"a": 1}, {"op": "add", "value": 1}),
        ({"a": 1}, {"op": "add", "path": "b", "value": 1}),
        ({"a": 1}, {"op": "add", "path": "/~2", "value": 1}),
        ({"a": "text"}, {"op": "add", "path": "/a/0", "value": 1}),
        ({"a": 1}, "add"),
    ],
)
def test_an_operation_that_cannot_be_done_is_refused(document: Any, operation: Any) -> None:
    with pytest.raises(InvalidInput):
        json_patch(document, [operation])


@pytest.mark.parametrize(("there", "asked"), [("ten", 10), (1, True), ([1], [True]), ({"a": 1}, {"a": 1, "b": 2})])
def test_a_test_of_another_value_stops_the_patch(there: Any, asked: Any) -> None:
    document = {"a": there}
    with pytest.raises(PatchTestFailed):
        json_patch(document, [{"op": "test", "path": "/a", "value": asked}])


def test_a_patch_has_a_limited_number_of_operations() -> None:
    with pytest.raises(LimitExceeded):
        json_patch({}, [{"op": "add", "path": "/a", "value": 1}] * 1001)


def test_copies_that_double_are_stopped_long_before_they_fill_the_memory() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{name}"} for name in "xy"] * 30
    with pytest.raises(LimitExceeded, match="copies more than"):
        json_patch({"a": {"b": 1}}, doubling)


def test_a_patch_cannot_nest_an_object_deeper_than_a_request_could() -> None:
    deeper = [{"op": "copy", "from": "/a", "path": "/a/x"}] * 100
    with pytest.raises(LimitExceeded, match="deeper than 64"):
        json_patch({"a": {"b": 1}}, deeper)
    added = [{"op": "add", "path": "/a" * number, "value": {}} for number in range(1, 100)]
    with pytest.raises(LimitExceeded, match="deeper than 64"):
        json_patch({}, added)


def test_a_patched_value_is_not_shared_with_the_patch() -> None:
    value: list[int] = []
    result = json_patch({}, [{"op": "add", "path": "/a", "value": value}, {"op": "add", "path": "/a/-", "value": 1}])
    assert (result, value) == ({"a": [1]}, [])


def test_pointers_are_split_and_unescaped() -> None:
    assert split_pointer("") == ()
    assert split_pointer("/a~1b/~01/") == ("a/b", "~1", "")


@given(JSON, JSON)
def test_the_patch_of_two_documents_turns_one_into_the_other(old: Any, new: Any) -> None:
    assert same_json(json_patch(old, as_patch(old, new)), new)


@given(JSON)
def test_equal_documents_have_no_differences(document: Any) -> None:
    assert differences(document, deepcopy(document)) == []


@given(st.dictionaries(st.text("ab", max_size=2), JSON, max_size=4), JSON)
def test_a_merge_patch_applied_twice_is_applied_once(document: Any, patch: Any) -> None:
    once = merge_patch(document, patch)
    assert same_json(merge_patch(once, patch), once)


def test_a_member_put_into_a_list_is_one_operation() -> None:
    assert as_patch({"a": [1, 2, 3]}, {"a": [1, 9, 2, 3]}) == [{"op": "add", "path": "/a/1", "value": 9}]


def test_differences_read_as_sentences() -> None:
    found = differences({"a": 1, "b": {"c": "x"}, "d": [1]}, {"b": {"c": "y"}, "d": [1], "e": True})
    assert [one.sentence() for one in found] == ["a: removed 1", "b.c: 'x' became 'y'", "e: added true"]
