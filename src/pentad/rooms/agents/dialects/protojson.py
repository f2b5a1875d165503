"""The other names of members: JSON of protocol buffers is read by `taskId` and by `task_id`, and written by the first.

Only members that a message declares are renamed; what a caller brings along (metadata, data, contexts) stays as it is,
and nobody pays for it whose request has none of these names.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar, get_args

import msgspec
from msgspec.structs import fields

from pentad.rooms.agents.dialects.errors import Violation
from pentad.rooms.agents.dialects.reading import typed, wrong

T = TypeVar("T", bound=msgspec.Struct)

_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode: Final = msgspec.json.Encoder().encode


class _Member(NamedTuple):
    """A member of a message: the name it is written by, and what it has inside if that is a message."""

    written: str
    inside: "Mapping[str, _Member] | None"


class Reader(Generic[T]):
    """Reads one message of the protocol, by either name of its members."""

    def __init__(self, shape: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(shape)
        self._members = _members_of(shape)
        ends = sorted({name.partition("_")[2] for name in _other_names(self._members)})
        self._sign = re.compile(f'_(?:{"|".join(ends)})"'.encode()) if ends else None
        """How one of the other names ends; it begins with a letter that is rare in JSON, and found fast."""

    def __call__(self, params: msgspec.Raw) -> T:
        """The parameters in their shape, or a fault that names the field."""
        if self._sign is not None and self._sign.search(params) is not None:
            try:
                return typed(self._decoder, _renamed(params, self._members))
            except msgspec.DecodeError:
                pass  # it is not of this shape by any name: said below
        return typed(self._decoder, params)


def _members_of(shape: type[msgspec.Struct]) -> dict[str, _Member]:
    """The members of a message by each of their names."""
    made: dict[str, _Member] = {}
    for field in fields(shape):
        inner = _inside(field.type)
        member = _Member(field.encode_name, None if inner is None else _members_of(inner))
        made[field.name] = made[field.encode_name] = member
    return made


def _inside(kind: Any) -> type[msgspec.Struct] | None:
    """The message a field is, or has a list of, or may be."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((inner for one in get_args(kind) if (inner := _inside(one)) is not None), None)


def _other_names(members: Mapping[str, _Member]) -> Iterator[str]:
    for name, member in members.items():
        if name != member.written:
            yield name
        yield from _other_names(member.inside or {})


def _renamed(raw: msgspec.Raw, members: Mapping[str, _Member]) -> msgspec.Raw:
    """A message with its members under the names they are written by."""
    made: dict[str, msgspec.Raw] = {}
    for name, value in _object(raw).items():
        written, inside = members.get(name, (name, None))
        if written in made:
            raise wrong([Violation(written, "It is given twice, by both of its names.")])
        made[written] = value if inside is None else _inner(value, inside)
    return msgspec.Raw(_encode(made))


def _inner(raw: msgspec.Raw, members: Mapping[str, _Member]) -> msgspec.Raw:
    begins = bytes(memoryview(raw)[:1])
    if begins == b"{":
        return _renamed(raw, members)
    if begins == b"[":
        return msgspec.Raw(_encode([_inner(one, members) for one in _elements(raw)]))
    return raw
