"""Lenient is AgentVault: the edges of its formatter, and its models rebuilt as a referee for everything else."""

import math
import re
from collections import UserDict
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import PydanticSerializationError

from pentad.rooms.agents.context.findings import Issues
from pentad.rooms.agents.context.lint import lint
from pentad.rooms.agents.context.shape import shape


def formatted(value: Any) -> dict[str, Any] | None:
    """The context as the lenient level would send it, or None."""
    issues = Issues("lenient")
    shaped = shape(value, issues)
    return shaped if issues.valid else None


class Item(BaseModel):
    """AgentVault's item, as its document describes it."""

    id: str | None = None
    media_type: str | None = Field(default=None, alias="mediaType")
    content: Any | None = None
    ref: str | None = None
    metadata: dict[str, Any] | None = None


class Referee(BaseModel):
    items: dict[str, Item] = Field(default_factory=dict)


def of_referee(value: Any) -> Any:
    try:
        return Referee.model_validate(value).model_dump(mode="json", exclude_unset=True, by_alias=True)
    except (ValidationError, PydanticSerializationError, UnicodeDecodeError):
        return None


ITEM = {"id": "1", "mediaType": "text/plain", "content": "x", "ref": "a:b", "metadata": {"k": [1]}}
NULLS = dict.fromkeys(ITEM)

EDGES = [
    ({}, {}),
    ({"user_pref": "celsius"}, {}),
    ({"items": {}}, {"items": {}}),
    ({"items": {"a": ITEM}, "more": 1}, {"items": {"a": ITEM}}),
    ({"items": []}, None),
    ({"items": None}, None),
    ({"items": {"a": "x"}}, None),
    ({"items": {"a": None}}, None),
    ({"items": {1: {}}}, None),
    ({"items": {b"k": {}}}, {"items": {"k": {}}}),
    ({"items": {"a": {"mediaType": 123}}}, None),
    ({"items": {"a": {"metadata": [1]}}}, None),
    ({"items": {"a": {"metadata": {1: 2}}}}, None),
    ({"items": {"a": {"id": 1}}}, None),
    ({"items": {"a": {"ref": True}}}, None),
    ({"items": {"a": {"media_type": "x", "unknown": 1}}}, {"items": {"a": {}}}),
    ({"items": {"a": NULLS}}, {"items": {"a": NULLS}}),
    ({"items": {"a": {"content": b"x"}}}, {"items": {"a": {"content": "x"}}}),
    ({"items": {"a": {"content": b"\xff"}}}, None),
    ({"items": {"a": {"content": {"b": b"\xff"}}}}, None),
    ({"items": {"a": {"content": math.nan}}}, {"items": {"a": {"content": None}}}),
    ({"items": {"a": {"content": {"n": math.inf}}}}, {"items": {"a": {"content": {"n": None}}}}),
    ({"items": {"a": {"content": {3}}}}, {"items": {"a": {"content": [3]}}}),
    ({"items": {"a": {"content": (1, {2})}}}, {"items": {"a": {"content": [1, [2]]}}}),
    ({"items": {"a": {"content": {1: 2, None: 3}}}}, {"items": {"a": {"content": {"1": 2, "None": 3}}}}),
    ({"items": {"a": {"content": UUID(int=1)}}}, {"items": {"a": {"content": "00000000-0000-0000-0000-000000000001"}}}),
    ({"items": {"a": {"content": object()}}}, None),
    ({"items": {"a": {"content": 2**70}}}, {"items": {"a": {"content": 2**70}}}),
    ({"items": {"a": {"id": b"x"}}}, {"items": {"a": {"id": "x"}}}),
    ({"items": {"a": {"id": b"\xff"}}}, None),
    ({"items": UserDict(a={})}, {"items": {"a": {}}}),
    ({"items": {"a": {"content": Item(id="q")}}}, {"items": {"a": {"content": {"id": "q"}}}}),
    ({"items": {"a": Item(id="q")}}, {"items": {"a": {"id": "q"}}}),
    ({"items": {"": {}}}, {"items": {"": {}}}),
    ({"items": {"a": {"content": "x" * 10_000_000}}}, {"items": {"a": {"content": "x" * 10_000_000}}}),
    ("x", None),
    (None, None),
    ([1], None),
]


@pytest.mark.parametrize(
    ("given_value", "expected"), EDGES, ids=[re.sub(r" at 0x\w+", "", repr(value))[:60] for value, _ in EDGES]
)
def test_the_formatter_gives_what_agentvault_gives(given_value: Any, expected: Any):
    result = formatted(given_value)
    assert result == expected
    if result is not None and "items" in result:
        for item in result["items"].values():
            assert list(item) == [member for member in ITEM if member in item], "members go in the model's order"


def test_any_depth_is_let_pass():
    value: dict[str, Any] = {}
    for _ in range(2_000):
        value = {"a": value}
    context = {"items": {"deep": {"content": value}, "set": {"content": {1}}}}
    report = lint(context, "lenient")
    assert report.valid
    assert report.depth == 2_003
    made = formatted(context)
    assert made is not None
    inner, levels = made["items"]["deep"]["content"], 0
    while inner:
        inner, levels = inner["a"], levels + 1
    assert levels == 2_000


@pytest.mark.parametrize(
    ("context", "codes"),
    [
        ({"user_pref": 1}, ["unknown-root-member"]),
        ({"items": {"a": {"media_type": "x"}}}, ["unknown-item-member"]),
        ({"items": {"a": {"kind": "text"}}}, ["unknown-item-member"]),
        ({"items": {}, "integrity": {}}, ["unknown-root-member"]),
        ({"items": {"a": {"content": [math.nan, {1}, b"x"]}}}, ["converted", "converted", "not-finite"]),
        ({"items": {"a": {"content": "\ud800"}}}, ["half-surrogate"]),
    ],
)
def test_nothing_is_lost_without_a_word(context: Any, codes: list[str]):
    report = lint(context, "lenient")
    assert report.valid
    assert sorted(issue.code for issue in report.issues) == codes
    assert {issue.severity for issue in report.issues} == {"warning"}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
members = st.sampled_from([*ITEM, "media_type", "kind", "x"])
contexts = st.dictionaries(
    st.sampled_from(["items", "integrity", "other"]),
    st.dictionaries(st.text(max_size=5), st.dictionaries(members, values, max_size=4) | values, max_size=3) | values,
    max_size=3,
)


@given(contexts)
def test_any_json_comes_out_as_from_the_models(context: dict[str, Any]):
    assert formatted(context) == of_referee(context)
