"""The Struct codec agrees with protobuf's own on every possible input."""

import math
from typing import Any

import msgspec
import pytest
from google.protobuf.json_format import Error as JsonError
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.cid import canonical_json
from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.directory.wire.protos.core_pb2 import Record
from pentad.rooms.directory.wire.structs import (
    DEEPEST,
    decoded_record,
    decoded_struct,
    encoded_record,
    encoded_struct,
    length_delimited,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALAR = (
    st.none() | st.booleans() | TEXT | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=4)


def message_of(data: dict[str, Any]) -> Struct:
    made = Struct()
    made.update(data)
    return made


def as_json(value: Any) -> Any:
    """The same value with every whole number as a parser of canonical JSON would give it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 and math.copysign(1, value) > 0:
        return int(value)
    if isinstance(value, float) and value.is_integer() and 0 < abs(value) < 1e21:
        return int(value)
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    return value


def spelled(value: Any) -> str:
    """Tells -0.0 from 0, 1 from 1.0 and True from 1; the order of keys means nothing."""
    if isinstance(value, dict):
        return str(sorted((key, spelled(one)) for key, one in value.items()))
    if isinstance(value, list):
        return str([spelled(one) for one in value])
    return repr(value)


@given(OBJECT)
def test_what_protobuf_writes_is_read_as_plain_json(data: dict[str, Any]) -> None:
    assert spelled(decoded_struct(message_of(data).SerializeToString())) == spelled(as_json(data))


@given(OBJECT)
def test_what_is_written_protobuf_reads(data: dict[str, Any]) -> None:
    assert Struct.FromString(encoded_struct(data)) == message_of(data)


@given(OBJECT)
def test_a_record_comes_back_from_the_wire_with_the_same_canonical_text(data: dict[str, Any]) -> None:
    text = canonical_json(data)
    raw = encoded_record(text.decode())
    assert canonical_json(decoded_record(raw)) == text
    assert MessageToDict(Record.FromString(raw).data) == MessageToDict(message_of(msgspec.json.decode(text)))


@given(st.binary(max_size=60) | OBJECT.map(lambda data: message_of(data).SerializeToString()), st.data())
def test_whatever_bytes_come_protobuf_and_the_codec_agree_on_them(raw: bytes, drawn: st.DataObject) -> None:
    """Bytes are flipped, cut and doubled; both parsers refuse them or both read the same."""
    if raw and drawn.draw(st.booleans()):
        at = drawn.draw(st.integers(0, len(raw) - 1))
        raw = raw[:at] + drawn.draw(st.binary(max_size=3)) + raw[at + drawn.draw(st.integers(0, 2)) :]
    try:
        ours: Any = decoded_struct(raw)
    except InvalidInput:
        ours = None
    try:
        theirs: Any = as_json(MessageToDict(Struct.FromString(raw)))
    except (DecodeError, JsonError):
        theirs = None
    if ours is None or theirs is None:
        assert ours == theirs or _says_what_json_cannot(raw)
    else:
        assert spelled(ours) == spelled(theirs)


def _says_what_json_cannot(raw: bytes) -> bool:
    """Numbers that are not finite; and a value of no kind, which protobuf's JSON refuses and Go reads as null."""
    try:
        found = Struct.FromString(raw)
    except DecodeError:
        return False
    return any(_odd(value) for value in found.fields.values())


def _odd(value: Value) -> bool:
    match value.WhichOneof("kind"):
        case None:
            return True
        case "number_value":
            return not math.isfinite(value.number_value)
        case "struct_value":
            return any(_odd(one) for one in value.struct_value.fields.values())
        case "list_value":
            return any(_odd(one) for one in value.list_value.values)
        case _:
            return False


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_json_does_not_have_are_refused(number: float) -> None:
    nested = Struct(fields={"a": Value(list_value=ListValue(values=[Value(number_value=number)]))})
    with pytest.raises(InvalidInput, match="not finite"):
        decoded_struct(nested.SerializeToString())


def test_unknown_fields_are_skipped() -> None:
    raw = encoded_struct({"a": 1}) + b"\x7a\x03abc" + encoded_struct({"b": 2})
    assert decoded_struct(raw) == {"a": 1, "b": 2}
    assert decoded_record(b"\x10\x05" + length_delimited(b"\x0a", raw)) == {"a": 1, "b": 2}


def test_of_a_key_said_twice_the_last_word_counts() -> None:
    raw = encoded_struct({"a": 1, "b": 2}) + encoded_struct({"a": {"c": True}})
    assert decoded_struct(raw) == {"a": {"c": True}, "b": 2}


def test_an_entry_without_value_or_of_no_kind_is_null() -> None:
    assert decoded_struct(b"\x0a\x03\x0a\x01a") == {"a": None}
    assert decoded_struct(b"\x0a\x05\x0a\x01a\x12\x00") == {"a": None}


def test_a_record_without_data_is_an_empty_object() -> None:
    assert decoded_record(b"") == {}
    assert decoded_record(b"\x0a\x00") == {}


def test_keys_keep_their_order() -> None:
    names = ["zebra", "ant", "moth", "bee"]
    assert list(decoded_struct(encoded_struct(dict.fromkeys(names)))) == names


def nested(levels: int) -> bytes:
    """`levels` objects within one another."""
    raw = encoded_struct({})
    for _ in range(levels - 1):
        value = length_delimited(b"\x2a", raw)
        raw = length_delimited(b"\x0a", length_delimited(b"\x0a", b"a") + length_delimited(b"\x12", value))
    return raw


def test_a_long_text_has_a_long_length() -> None:
    for length in (127, 128, 4095, 4096, 70_000):
        data = {"k" * length: ["v" * length]}
        assert Struct.FromString(encoded_struct(data)) == message_of(data)
        assert decoded_struct(encoded_struct(data)) == data


def test_nesting_is_bounded_both_ways() -> None:
    found = decoded_struct(nested(DEEPEST))
    assert encoded_struct(found) == nested(DEEPEST)
    for levels in (DEEPEST + 1, 5_000):
        with pytest.raises(LimitExceeded, match="nested deeper"):
            decoded_struct(nested(levels))
    with pytest.raises(LimitExceeded, match="nested deeper"):
        encoded_struct({"a": found})
    deep: list[Any] = []
    for _ in range(DEEPEST):
        deep = [deep]
    with pytest.raises(LimitExceeded, match="nested deeper"):
        encoded_struct({"a": deep})


def test_minus_zero_keeps_its_sign() -> None:
    raw = encoded_record('{"a":-0,"b":[-0],"c":"-0,"}')
    assert spelled(decoded_record(raw)) == spelled({"a": -0.0, "b": [-0.0], "c": "-0,"})


def test_text_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(InvalidInput):
        decoded_struct(length_delimited(b"\x0a", b"\x0a\x01a" + length_delimited(b"\x12", b"\x1a\x01\xff")))
