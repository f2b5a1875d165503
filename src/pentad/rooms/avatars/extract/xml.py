"""XML as a stream of elements, without anything XML can do beyond that: no entities, no external parts."""

from collections.abc import Mapping
from typing import Final, Protocol
from xml.parsers import expat

from pentad.rooms.avatars.extract.document import Unreadable

_DEEPEST: Final = 400


class Elements(Protocol):
    """What is told of a document. Names come without their namespaces."""

    def begin(self, name: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


def parse(data: bytes, told: Elements, what: str) -> None:
    """Tell the elements of `data`; Unreadable for what is not XML and for XML that declares entities."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise Unreadable("unsafe", f"{what} is nested deeper than {_DEEPEST} levels.")
        told.begin(_local(name), {_local(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        told.end(_local(name))

    def entity(*_: object) -> None:
        raise Unreadable("unsafe", f"{what} declares entities of its own, which a document has no use for.")

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = told.text
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError):
        raise Unreadable("damaged", f"It is damaged: {what} is not XML that can be read.") from None


def _local(name: str) -> str:
    return name.rsplit(" ", 1)[-1]
