"""Content ids against the one confirmed vector, and against a slow reference written from the rules."""

import hashlib
import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pentad.kernel.cid import canonical_json, cid_of, is_cid
from pentad.kernel.errors import InvalidInput, LimitExceeded

VECTOR = {"version": "1.0.0", "schema_version": "0.7.0", "name": "test-agent"}
VECTOR_CID = "baeareifx2kwsn23pstno64xnd23rgxxs2oc7eam7klockwijurxisnvgmu"

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('<>&\u2028\u2029\b\f\n\r\t\x00\x1f\x7f/"\\'))
floats = st.floats(allow_nan=False, allow_infinity=False)
magnitudes = st.builds(
    lambda digits, power, sign: sign * float(f"{digits}e{power}"),
    st.integers(1, 10**17), st.integers(-30, 25), st.sampled_from([1, -1]),
)  # fmt: skip
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | floats | magnitudes | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)


def reference(value: Any) -> str:
    """The canonical text, by the rules alone."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return '"' + "".join(map(_character, value)) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{reference(key)}:{reference(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(reference, value)) + "]"
    return _number(float(value))


def _character(character: str) -> str:
    short = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
    if character in short:
        return short[character]
    return f"\\u{ord(character):04x}" if character < " " or character in "<>&\u2028\u2029" else character


def _number(value: float) -> str:
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    if 1e-6 <= abs(value) < 1e21:
        plain = format(Decimal(repr(value)), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = exponent + len(digits) - 1
    first, rest = str(digits[0]), "".join(map(str, digits[1:]))
    return f"{'-' if sign else ''}{first}{'.' if rest else ''}{rest}e{'-' if power < 0 else '+'}{abs(power)}"


def test_the_confirmed_vector_gives_the_confirmed_id():
    text = canonical_json(VECTOR)
    assert text == b'{"name":"test-agent","schema_version":"0.7.0","version":"1.0.0"}'
    assert hashlib.sha256(text).hexdigest() == "b7d2ad26eb6f94daef72ed1eb7135ef2d385f2019f52dc255909a46e8936a665"
    assert cid_of(text) == VECTOR_CID


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (9.5e-7, "9.5e-7"),
        (1.5e-5, "0.000015"),
        (123456789.125, "123456789.125"),
        (1.2345678901234567e20, "123456789012345670000"),
        (2**53, "9007199254740992"),
        (2**53 + 1, "9007199254740992"),
        (-(2**53) - 1, "-9007199254740992"),
        (2**64, "18446744073709552000"),
        (10**21, "1e+21"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        ("<a href='&'>", "\"\\u003ca href='\\u0026'\\u003e\""),
        ("a\u2028b\u2029c", '"a\\u2028b\\u2029c"'),
        ("\b\f\n\r\t\x00\x1f\x7f", '"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f"'),
        ("/ é 🎉", '"/ é 🎉"'),
        ({"\U00010000": 1, "\uffff": 2, "a": 3}, '{"a":3,"\uffff":2,"\U00010000":1}'),
        ({"b": None, "a": [True, False]}, '{"a":[true,false],"b":null}'),
        (["12:30:00.5,", "x:1.5]"], '["12:30:00.5,","x:1.5]"]'),
    ],
)
def test_each_rule_of_the_canonical_form_holds(value: Any, text: str):
    assert canonical_json(value).decode() == text


@given(values)
@example({"<": 1.5, "\u2028": {"&": [1e-7, -0.0, 2**60]}})
@example([None, 0.1])
def test_the_fast_form_is_the_form_of_the_rules(value: Any):
    assert canonical_json(value).decode() == reference(value)


@given(values)
def test_reading_the_canonical_text_and_writing_it_again_changes_nothing(value: Any):
    text = canonical_json(value)
    assert canonical_json(json.loads(text, parse_int=float)) == text
    if b"-0" not in text:  # an integer has no negative zero
        assert canonical_json(msgspec.json.decode(text)) == text


@given(st.dictionaries(texts, values, min_size=2, max_size=5))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]):
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@pytest.mark.parametrize(
    ("text", "read"), [("\ud800", "\ufffd"), ("a\udc00b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("\ud83d x", "\ufffd x")]
)
def test_half_a_surrogate_pair_becomes_the_replacement_character(text: str, read: str):
    assert canonical_json({text: text}).decode() == f'{{"{read}":"{read}"}}'


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}, 10**400, {1: "a"}, object()])
def test_what_json_cannot_say_is_refused(value: Any):
    with pytest.raises(InvalidInput):
        canonical_json(value)


def test_nesting_without_end_is_refused():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(LimitExceeded):
        canonical_json(deep)


@given(st.binary())
def test_an_id_is_recognised_as_one(data: bytes):
    cid = cid_of(data)
    assert len(cid) == 59
    assert is_cid(cid)
    assert not is_cid(cid.upper())
    assert not is_cid(cid[:-1])
    assert not is_cid(cid + "a")


@pytest.mark.parametrize("text", ["", "bafkreiabcd1234567890", "fail-test", VECTOR_CID[:-1] + "b", VECTOR_CID + "\n"])
def test_other_text_is_not_an_id(text: str):
    assert not is_cid(text)
