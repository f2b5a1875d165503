"""Protocol buffers JSON accepts two names for a field: `taskId` and `task_id`. This reads both.

Only declared fields are renamed; the caller's own objects (metadata, data, contexts) stay as they are. A request
without snake-case names costs one regex search.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar, get_args

import msgspec
from msgspec.structs import fields

from pentad.rooms.agents.codecs.errors import Violation
from pentad.rooms.agents.codecs.json_rpc import invalid_params, typed

T = TypeVar("T", bound=msgspec.Struct)

_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode: Final = msgspec.json.Encoder().encode


class _Member(NamedTuple):
    """A field of a message: the name we write, and its own fields if it is a message."""

    written: str
    inside: "Mapping[str, _Member] | None"


class Reader(Generic[T]):
    """Reads a protocol message, accepting both names of each field."""

    def __init__(self, shape: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(shape)
        self._members = _members_of(shape)
        ends = sorted({name.partition("_")[2] for name in _other_names(self._members)})
        self._sign = re.compile(f'_(?:{"|".join(ends)})"'.encode()) if ends else None
        """Matches the end of a snake-case name. It starts with an underscore: rare in JSON, so quick to find."""

    def __call__(self, params: msgspec.Raw) -> T:
        """The decoded parameters, or a Fault that names the invalid field."""
        if self._sign is not None and self._sign.search(params) is not None:
            try:
                return typed(self._decoder, _renamed(params, self._members))
            except msgspec.DecodeError:
                pass  # invalid with either name: reported below
        return typed(self._decoder, params)


def _members_of(shape: type[msgspec.Struct]) -> dict[str, _Member]:
    """The fields of a message, by both names."""
    made: dict[str, _Member] = {}
    for field in fields(shape):
        inner = _inside(field.type)
        member = _Member(field.encode_name, None if inner is None else _members_of(inner))
        made[field.name] = made[field.encode_name] = member
    return made


def _inside(kind: Any) -> type[msgspec.Struct] | None:
    """The message type of a field, also in lists and unions."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((inner for one in get_args(kind) if (inner := _inside(one)) is not None), None)


def _other_names(members: Mapping[str, _Member]) -> Iterator[str]:
    for name, member in members.items():
        if name != member.written:
            yield name
        yield from _other_names(member.inside or {})


def _renamed(raw: msgspec.Raw, members: Mapping[str, _Member]) -> msgspec.Raw:
    """The message with its fields renamed to the names we write."""
    made: dict[str, msgspec.Raw] = {}
    for name, value in _object(raw).items():
        written, inside = members.get(name, (name, None))
        if written in made:
            raise invalid_params([Violation(written, "It is given twice, by both of its names.")])
        made[written] = value if inside is None else _inner(value, inside)
    return msgspec.Raw(_encode(made))


def _inner(raw: msgspec.Raw, members: Mapping[str, _Member]) -> msgspec.Raw:
    begins = bytes(memoryview(raw)[:1])
    if begins == b"{":
        return _renamed(raw, members)
    if begins == b"[":
        return msgspec.Raw(_encode([_inner(one, members) for one in _elements(raw)]))
    return raw
