"""RFC 8785: the examples of the document, and the laws a canonical form has to keep."""

import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.jcs import canonical

# The sample of numbers in RFC 8785, appendix B: the bits of the double, and how it is written.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(("bits", "text"), NUMBERS)
def test_a_number_is_written_as_the_document_says(bits: str, text: str):
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == text.encode()
    assert canonical([number]) == f"[{text}]".encode()


def test_keys_go_by_utf16_code_units():
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(canonical(value))) == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_the_example_of_the_document_is_written_as_it_shows():
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert (
        canonical(value)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


def test_a_peer_that_makes_floats_of_integers_changes_nothing():
    assert canonical({"n": 42, "deep": [1, {"m": -7}]}) == canonical({"n": 42.0, "deep": [1.0, {"m": -7.0}]})


def test_integers_beyond_the_doubles_fall_on_the_nearest_and_texts_stay_exact():
    assert canonical([2**53 + 1]) == canonical([float(2**53)])
    assert canonical(["9007199254740993"]) != canonical(["9007199254740992"])


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": -math.inf}, {"a": b"x"}, [{1}], 10**400, object()])
def test_what_json_cannot_say_is_refused(value: object):
    with pytest.raises(InvalidInput):
        canonical(value)


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(InvalidInput):
        canonical({"a": "\ud800"})


def test_endless_nesting_is_refused():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(LimitExceeded):
        canonical(deep)
    while deep:  # taken apart by hand: the interpreter would do so by recursion
        (deep,) = deep


@given(json_values)
def test_the_canonical_form_is_a_fixed_point(value: object):
    once = canonical(value)
    assert canonical(json.loads(once)) == once


@given(json_values)
def test_the_order_of_keys_and_the_kind_of_whole_numbers_do_not_matter(value: object):
    assert canonical(_other(value)) == canonical(value)


def _other(value: object) -> object:
    """The same value as another program might hold it."""
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case dict():
            return {key: _other(one) for key, one in reversed(value.items())}
        case list():
            return [_other(one) for one in value]
        case _:
            return value
