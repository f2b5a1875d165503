"""Encodes plain JSON as `google.protobuf.Struct` bytes and decodes it, without protobuf message objects.

A record travels as a Struct, and converting protobuf's objects to dictionaries would cost more than the rest of a push
or pull. This module reads the layout that common writers produce. Anything else the format allows (unknown fields,
repeated fields) goes to protobuf's own parser, so that both agree on every input. Numbers are doubles on the wire:
whole ones become integers, as in JSON text.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from struct import Struct as Layout
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from pentad.kernel.errors import InvalidInput, LimitExceeded

if TYPE_CHECKING:
    from google.protobuf.message import Message

M = TypeVar("M", bound="Message")

DEEPEST: Final = 64
"""Levels of nesting; the same limit as for JSON text."""
_WHOLE_MOST: Final = 1e21
"""From here on a whole number is written with an exponent, which JSON parsers read as a float."""

_double: Final = Layout("<d")
_pack: Final = _double.pack
_unpack_from: Final = _double.unpack_from
_NULL, _TRUE, _FALSE = b"\x08\x00", b"\x20\x01", b"\x20\x00"
_SHORT: Final = [bytes([number]) for number in range(128)]
_MEDIUM: Final = [bytes([number & 127 | 128, number >> 7]) for number in range(4096)]
_KEYS_MOST: Final = 4096
_KEY_LONGEST: Final = 64
_keys: dict[str, bytes] = {}
_MINUS_ZERO: Final = re.compile(r"-0[,\]}]")  # JSON parsers read minus zero as the integer 0


class _OtherShape(Exception):
    """The bytes do not have the common layout."""


def encoded_struct(data: Mapping[str, Any]) -> bytes:
    """The wire form of a JSON object as a Struct."""
    return _encoded_object(data, DEEPEST)


def encoded_record(text: str) -> bytes:
    """The wire form of a `core.v1.Record` from a record's canonical JSON."""
    if "-0" in text and _MINUS_ZERO.search(text):
        data = json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))
    else:
        data = msgspec.json.decode(text)
    return length_delimited(b"\x0a", encoded_struct(data))


def decoded_record(raw: bytes) -> dict[str, Any]:
    """The data of a `core.v1.Record` from its wire form; empty if it has no data."""
    try:
        if not raw or raw[0] != 0x0A:
            raise _OtherShape
        length, at = _length(raw, 1, len(raw))
        if at + length != len(raw):
            raise _OtherShape
    except (_OtherShape, IndexError):
        return _record_by_protobuf(raw)
    return decoded_struct(raw[at:])


def length_delimited(tag: bytes, body: bytes) -> bytes:
    """A length-delimited field: tag, length, bytes."""
    return tag + _varint(len(body)) + body


def decoded_struct(raw: bytes) -> dict[str, Any]:
    """The JSON object of a Struct's wire form; InvalidInput if it is not a Struct."""
    try:
        return _decoded_object(raw, 0, len(raw), DEEPEST)
    except (_OtherShape, IndexError):
        return _decoded_by_protobuf(raw)
    except UnicodeDecodeError:
        raise InvalidInput("A text in the record is not valid UTF-8.") from None


def plain_struct(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A protobuf Struct message (its `fields.items()`) as plain JSON."""
    return {name: _plain_value(value, DEEPEST) for name, value in fields}


def _varint(number: int) -> bytes:
    if number < 128:
        return _SHORT[number]
    if number < 4096:
        return _MEDIUM[number]
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _encoded_object(data: Mapping[str, Any], depth: int) -> bytes:
    if depth <= 0:
        raise _too_deep()
    parts: list[bytes] = []
    for name, item in data.items():
        if item.__class__ is str:  # inlined: most values are texts, and a call for each would double the time
            text = item.encode()
            size = len(text)
            value = b"\x1a" + (_SHORT[size] if size < 128 else _varint(size)) + text
        else:
            value = _encoded_value(item, depth)
        size = len(value)
        entry = (_keys.get(name) or _encoded_key(name)) + (_SHORT[size] if size < 128 else _varint(size))
        size += len(entry)
        parts += (b"\x0a", _SHORT[size] if size < 128 else _varint(size), entry, value)
    return b"".join(parts)


def _encoded_key(name: str) -> bytes:
    """An entry's key and the tag of its value; cached, because all records use the same few keys."""
    encoded = length_delimited(b"\x0a", name.encode()) + b"\x12"
    if len(_keys) < _KEYS_MOST and len(encoded) < _KEY_LONGEST:
        _keys[name] = encoded
    return encoded


def _encoded_value(value: Any, depth: int) -> bytes:
    kind: Any = value.__class__
    if kind is str:
        text = value.encode()
        return b"\x1a" + _varint(len(text)) + text
    if kind is int or kind is float:
        return b"\x11" + _pack(value)
    if kind is dict:
        body = _encoded_object(value, depth - 1)
        return b"\x2a" + _varint(len(body)) + body
    if kind is list:
        body = _encoded_list(value, depth - 1)
        return b"\x32" + _varint(len(body)) + body
    if value is None:
        return _NULL
    return _TRUE if value else _FALSE


def _encoded_list(items: list[Any], depth: int) -> bytes:
    if depth <= 0:
        raise _too_deep()
    parts: list[bytes] = []
    for item in items:
        if item.__class__ is str:
            text = item.encode()
            size = len(text)
            value = b"\x1a" + (_SHORT[size] if size < 128 else _varint(size)) + text
        else:
            value = _encoded_value(item, depth)
        size = len(value)
        parts += (b"\x0a", _SHORT[size] if size < 128 else _varint(size), value)
    return b"".join(parts)


def _length(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """A length above 127, and the offset behind it."""
    length = shift = 0
    while True:
        byte = raw[at]
        at += 1
        length |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 28:
            raise _OtherShape
    if at + length > end:
        raise _OtherShape
    return length, at


def _decoded_object(raw: bytes, at: int, end: int, depth: int) -> dict[str, Any]:
    if depth <= 0:
        raise _too_deep()
    found: dict[str, Any] = {}
    while at < end:
        if raw[at] != 0x0A:
            raise _OtherShape
        if (length := raw[at + 1]) < 128:
            at += 2
        else:
            length, at = _length(raw, at + 1, end)
        after = at + length
        if after > end or length < 2 or raw[at] != 0x0A:
            raise _OtherShape
        if (length := raw[at + 1]) < 128:
            at += 2
        else:
            length, at = _length(raw, at + 1, after)
        key_end = at + length
        if key_end + 1 >= after or raw[key_end] != 0x12:
            raise _OtherShape
        name = raw[at:key_end].decode()
        if (length := raw[key_end + 1]) < 128:
            at = key_end + 2
        else:
            length, at = _length(raw, key_end + 1, after)
        if at + length != after:
            raise _OtherShape
        found[name] = _decoded_value(raw, at, after, depth)
        at = after
    return found


def _decoded_value(raw: bytes, at: int, end: int, depth: int) -> Any:
    if at == end:
        return None
    tag = raw[at]
    if tag == 0x11:
        if end - at != 9:
            raise _OtherShape
        return _number(_unpack_from(raw, at + 1)[0])
    if tag == 0x20 or tag == 0x08:
        if end - at != 2 or raw[at + 1] > 1:
            raise _OtherShape
        return bool(raw[at + 1]) if tag == 0x20 else None
    if tag not in (0x1A, 0x2A, 0x32) or at + 1 >= end:
        raise _OtherShape
    if (length := raw[at + 1]) < 128:
        at += 2
    else:
        length, at = _length(raw, at + 1, end)
    if at + length != end:
        raise _OtherShape
    if tag == 0x1A:
        return raw[at:end].decode()
    if tag == 0x2A:
        return _decoded_object(raw, at, end, depth - 1)
    return _decoded_list(raw, at, end, depth - 1)


def _decoded_list(raw: bytes, at: int, end: int, depth: int) -> list[Any]:
    if depth <= 0:
        raise _too_deep()
    found: list[Any] = []
    while at < end:
        if raw[at] != 0x0A:
            raise _OtherShape
        if (length := raw[at + 1]) < 128:
            at += 2
        else:
            length, at = _length(raw, at + 1, end)
        after = at + length
        if after > end:
            raise _OtherShape
        found.append(_decoded_value(raw, at, after, depth))
        at = after
    return found


def _number(value: float) -> int | float:
    if -_WHOLE_MOST < value < _WHOLE_MOST:
        whole = int(value)
        return whole if whole == value and (whole or math.copysign(1.0, value) > 0) else value
    if not math.isfinite(value):
        raise InvalidInput("A number in the record is not finite.", hint="JSON has neither NaN nor Infinity.")
    return value


def _decoded_by_protobuf(raw: bytes) -> dict[str, Any]:
    from google.protobuf.struct_pb2 import Struct

    return plain_struct(_parsed(Struct(), raw).fields.items())


def _record_by_protobuf(raw: bytes) -> dict[str, Any]:
    from pentad.rooms.directory.wire.protos.core_pb2 import Record

    return plain_struct(_parsed(Record(), raw).data.fields.items())


def _parsed(message: M, raw: bytes) -> M:
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(raw)
    except DecodeError:
        raise InvalidInput("The record is not a readable Struct, or is nested too deeply.") from None
    return message


def _plain_value(value: Any, depth: int) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        return _number(value.number_value)
    if kind == "string_value":
        return value.string_value
    if kind == "bool_value":
        return value.bool_value
    if kind is None or kind == "null_value":
        return None
    if depth <= 1:
        raise _too_deep()
    if kind == "struct_value":
        return {name: _plain_value(item, depth - 1) for name, item in value.struct_value.fields.items()}
    return [_plain_value(item, depth - 1) for item in value.list_value.values]


def _too_deep() -> LimitExceeded:
    return LimitExceeded(f"The record is nested deeper than {DEEPEST} levels.", hint="Flatten it.")
