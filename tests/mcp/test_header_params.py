"""Arguments mirrored in headers: the wrapper, the comparison, and which may be annotated."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import Misconfigured
from pentad.mcp.header_params import HeaderParam, decode_header_value, header_params


def wrapped(text: str) -> bytes:
    return b"=?base64?" + base64.b64encode(text.encode()) + b"?="


@given(st.text(st.characters(codec="utf-8"), max_size=50))
@pytest.mark.requirement("mcp:2026:header-forms")
def test_any_text_survives_the_wrapper(text: str) -> None:
    assert decode_header_value(wrapped(text)) == text


@given(st.from_regex(r"[!-~]([ -~]*[!-~])?", fullmatch=True))
@pytest.mark.requirement("mcp:2026:header-forms")
def test_visible_text_without_the_wrapper_is_itself(text: str) -> None:
    raw = text.encode()
    if not (raw.startswith(b"=?base64?") and raw.endswith(b"?=")):
        assert decode_header_value(raw) == text
        assert decode_header_value(b" \t" + raw + b"\t ") == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (None, None),
        (b"", ""),
        (b"=?base64?SGVsbG8=?=", "Hello"),
        (b"=?base64?SGVsbG8?=", None),
        (b"=?base64?SGVs!!!bG8=?=", None),
        (b"=?base64?SGVsbG9=?=", None),
        (b"=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        (b"=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        (b"SGVsbG8=?=", "SGVsbG8=?="),
        (b"=?base64??=", ""),
        (b"=?base64?=", "=?base64?="),
        (b"=?base64?/w==?=", None),
        (b"caf\xc3\xa9", None),
        (b"a\x00b", None),
        (b"a\r\nb", None),
    ],
)
@pytest.mark.requirement("mcp:2026:header-forms")
def test_wrapped_values_by_example(raw: bytes | None, text: str | None) -> None:
    assert decode_header_value(raw) == text


NUMBER = HeaderParam(("n",), b"mcp-param-n")


@pytest.mark.parametrize(
    ("value", "sent", "agree"),
    [
        (42, b"42", True), (42, b"42.0", True), (42, b"4.2e1", True), (42, b" 42 ", True), (42, b"43", False),
        (42, b"x", False), (42, b"nan", False), (42, b"inf", False), (0, b"-0", True),
        (2**53 - 1, b"9007199254740991", True), (2**53 + 1, b"9007199254740993", False),
        (True, b"true", True), (True, b"True", False), (True, b"1", False),
        (False, b"false", True), ("true", b"true", True), ("x", b"X", False), ("", b"", True), (None, b"x", True),
        ("Hello", b"=?base64?SGVsbG8=?=", True), (["x"], b"x", False),
    ],
)  # fmt: skip
@pytest.mark.requirement("mcp:2026:param-headers")
def test_values_are_compared_as_what_they_are(value: Any, sent: bytes, agree: bool) -> None:
    assert NUMBER.agrees({"n": value}, {b"mcp-param-n": sent}) is agree


@given(st.integers(-(2**53) + 1, 2**53 - 1))
@pytest.mark.requirement("mcp:2026:param-headers")
def test_every_safe_integer_agrees_with_itself_and_not_with_its_neighbour(number: int) -> None:
    assert NUMBER.agrees({"n": number}, {b"mcp-param-n": b"%d" % number})
    assert not NUMBER.agrees({"n": number}, {b"mcp-param-n": b"%d" % (number + 1)})


@pytest.mark.parametrize("arguments", [{}, {"n": None}, None, [], "x", {"m": 1}])
@pytest.mark.requirement("mcp:2026:param-headers")
def test_an_absent_argument_expects_no_header(arguments: Any) -> None:
    assert NUMBER.agrees(arguments, {})


@pytest.mark.requirement("mcp:2026:param-headers")
def test_annotations_are_found_through_chains_of_properties() -> None:
    schema = {
        "properties": {
            "place": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
            "plain": {"type": "string"},
        }
    }
    assert header_params(schema, "tool") == (HeaderParam(("place", "region"), b"mcp-param-region"),)
    deep = {"place": {"region": "eu"}}
    assert header_params(schema, "tool")[0].agrees(deep, {b"mcp-param-region": b"eu"})


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "number", "x-mcp-header": "A"}},
        {"a": {"type": "array", "x-mcp-header": "A"}},
        {"a": {"type": "string", "x-mcp-header": ""}},
        {"a": {"type": "string", "x-mcp-header": "A B"}},
        {"a": {"type": "string", "x-mcp-header": "Ä"}},
        {"a": {"type": "string", "x-mcp-header": 7}},
        {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}},
    ],
)
@pytest.mark.requirement("mcp:declare:bad")
def test_a_wrong_annotation_is_refused_where_it_is_declared(properties: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured):
        header_params({"properties": properties}, "tool")
