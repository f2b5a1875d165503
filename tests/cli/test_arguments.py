"""`key=value`: the schema decides what a text means."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.cli.call import arguments_from_words
from pentad.kernel.errors import InvalidInput

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "numbers": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        "where": {"$ref": "#/$defs/Place"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["integer", "string"]},
        "colour": {"enum": ["red", "1"]},
        "free": {},
    },
    "$defs": {"Place": {"type": "object"}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["name=7"], {"name": "7"}),
        (["name=true"], {"name": "true"}),
        (["name=a=b"], {"name": "a=b"}),
        (["name="], {"name": ""}),
        (["count=7"], {"count": 7}),
        (["count=-7"], {"count": -7}),
        (["ratio=1"], {"ratio": 1}),
        (["ratio=1e3"], {"ratio": 1000.0}),
        (["loud=false"], {"loud": False}),
        (["tags=a", "tags=b"], {"tags": ["a", "b"]}),
        (['tags=["a", "b"]', "tags=c"], {"tags": ["a", "b", "c"]}),
        (["numbers=4", "numbers=5"], {"numbers": [4, 5]}),
        (["numbers=null"], {"numbers": None}),
        (['where={"x": [1]}'], {"where": {"x": [1]}}),
        (["maybe=null"], {"maybe": None}),
        (["maybe=3"], {"maybe": 3}),
        (["either=3"], {"either": 3}),
        (["either=three"], {"either": "three"}),
        (["colour=1"], {"colour": "1"}),
        (["free=1"], {"free": 1}),
        (["free=one"], {"free": "one"}),
    ],
)
def test_a_text_becomes_what_the_schema_asks_for(words: list[str], expected: dict[str, Any]) -> None:
    assert arguments_from_words(words, SCHEMA) == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["count=seven"], "integer"),
        (["count=1.5"], "integer"),
        (["count=true"], "integer"),
        (["ratio=NaN"], "number"),
        (["loud=maybe"], "boolean"),
        (["where=here"], "object"),
        (["nmae=x"], "'name'"),
        (["name"], "key=value"),
        (["=x"], "key=value"),
        (["name=a", "name=b"], "more than once"),
        (["numbers=x"], "integer"),
        (["tags=[1"], "array"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_can(words: list[str], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        arguments_from_words(words, SCHEMA)
    assert said in caught.value.sentence()


def test_further_arguments_pass_where_the_tool_takes_them() -> None:
    assert arguments_from_words(["x=1"], {"type": "object"}) == {"x": 1}


@given(st.sampled_from(["name", "count", "ratio", "loud", "tags", "where", "free"]), st.text(max_size=30))
def test_any_text_is_a_value_of_the_asked_type_or_refused(name: str, text: str) -> None:
    kinds = {
        "name": str,
        "count": int,
        "ratio": (int, float),
        "loud": bool,
        "tags": list,
        "where": dict,
        "free": object,
    }
    try:
        (value,) = arguments_from_words([f"{name}={text}"], SCHEMA).values()
    except InvalidInput:
        assert name not in ("name", "free")
        return
    assert isinstance(value, kinds[name])
    json.dumps(value, allow_nan=False)


def test_a_reference_that_goes_in_circles_means_anything() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}
    assert arguments_from_words(["a=x"], schema) == {"a": "x"}
