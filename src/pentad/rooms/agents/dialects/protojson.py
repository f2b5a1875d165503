"""The other names of members: JSON of protocol buffers is read by `taskId` and by `task_id`, and written by the first.

Only members that a message declares are renamed; what a caller brings along (metadata, data, contexts) stays as it is,
and nobody pays for it whose request has none of these names.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar, get_args

import msgspec
from msgspec.structs import fields

from pentad.rooms.agents.dialects.errors import Violation
from pentad.rooms.agents.dialects.reading import typed, wrong

T = TypeVar("T", bound=msgspec.Struct)

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode: Final = msgspec.json.Encoder().encode


class Reader(Generic[T]):
    """Reads one message of the protocol, by either name of its members."""

    def __init__(self, shape: type[T]) -> None:
        self._shape = shape
        self._decoder = msgspec.json.Decoder(shape)
        ends = sorted({name.partition("_")[2] for name in _other_names(shape)})
        self._sign = re.compile(f'_(?:{"|".join(ends)})"'.encode()) if ends else None
        """How one of the other names ends; it begins with a letter that is rare in JSON, and found fast."""

    def __call__(self, params: msgspec.Raw) -> T:
        """The parameters in their shape, or a fault that names the field."""
        if self._sign is not None and self._sign.search(params) is not None:
            try:
                return typed(self._decoder, _renamed(params, self._shape))
            except msgspec.DecodeError:
                pass  # it is not of this shape by any name: said below
        return typed(self._decoder, params)


def _other_names(shape: type[msgspec.Struct]) -> Iterator[str]:
    for field in fields(shape):
        if field.name != field.encode_name:
            yield field.name
        if (inner := _inside(field.type)) is not None:
            yield from _other_names(inner)


def _inside(kind: Any) -> type[msgspec.Struct] | None:
    """The message a field is, or has a list of, or may be."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((inner for one in get_args(kind) if (inner := _inside(one)) is not None), None)


def _renamed(raw: msgspec.Raw, shape: type[msgspec.Struct]) -> msgspec.Raw:
    """A message with its members under the names they are written by."""
    known = {field.name: field for field in fields(shape)}
    by_name = {field.encode_name: field for field in known.values()}
    made: dict[str, msgspec.Raw] = {}
    for name, value in _members(raw).items():
        field = by_name.get(name) or known.get(name)
        if field is None:
            made[name] = value
            continue
        if field.encode_name in made:
            raise wrong([Violation(field.encode_name, f"It is given twice: {field.name} is its other name.")])
        inner = _inside(field.type)
        made[field.encode_name] = value if inner is None else _inner(value, inner)
    return msgspec.Raw(_encode(made))


def _inner(raw: msgspec.Raw, shape: type[msgspec.Struct]) -> msgspec.Raw:
    begins = bytes(memoryview(raw)[:1])
    if begins == b"{":
        return _renamed(raw, shape)
    if begins == b"[":
        return msgspec.Raw(_encode([_inner(one, shape) for one in _elements(raw)]))
    return raw
