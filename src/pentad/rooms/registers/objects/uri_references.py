"""Properties with `format: uri-reference`: a URI of a resource on this server must exist.

Such URIs are read before the transaction, with the caller's rights. A new one that leads to nothing the caller may read
is refused; one the object already had is left alone. Any other URI, such as a web address, is plain data. Objects of
the same write do not count as existing; use relations (`$ref`) for those.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, PentadError
from pentad.kernel.principal import Principal
from pentad.mcp.references import scheme_of
from pentad.platform import Neighbours
from pentad.rooms.registers.definitions.object_validation import problem, validation_error
from pentad.rooms.registers.definitions.references import values_at
from pentad.rooms.registers.models import Operation
from pentad.rooms.registers.objects.pending_changes import PendingChange

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

Unreadable = Mapping[str, str]
"""URIs that lead nowhere for the caller, each with its problem."""
NONE_UNREADABLE: Final[Unreadable] = {}
FORMAT: Final = "uri-reference"
_AT_ONCE: Final = 8
_NOTHING: Final = "leads to nothing that you may read here"


class UriReferences:
    """Finds the URIs in a write that lead nowhere."""

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours

    async def unreadable(
        self, principal: Principal, definition: "CompiledSchema", operations: Iterable[Operation]
    ) -> Unreadable:
        """The URIs in operations that lead nowhere. With soft validation, none are checked."""
        if definition.soft:
            return NONE_UNREADABLE
        schemes = frozenset(self._neighbours.schemes())
        given = {uri for one in operations for uri in _given(definition, one) if scheme_of(uri) in schemes}
        if not given:
            return NONE_UNREADABLE
        turn = asyncio.Semaphore(_AT_ONCE)

        async def look(uri: str) -> str | None:
            async with turn:
                return await self._problem(principal, uri)

        uris = sorted(given)
        found = await asyncio.gather(*map(look, uris))
        return {uri: wrong for uri, wrong in zip(uris, found, strict=True) if wrong is not None}

    async def _problem(self, principal: Principal, uri: str) -> str | None:
        try:
            await self._neighbours.read(principal, uri)
        except (NotFound, Forbidden):
            return _NOTHING  # one text for both, so it does not reveal what exists
        except Conflict:
            return "has changed since its snapshot"
        except InvalidInput as error:
            return f"is not the address of a resource: {error.message}"
        except PentadError as error:
            return f"cannot be checked at the moment ({error.code})"
        return None


def refused_changes(
    definition: "CompiledSchema", pending_changes: Sequence[PendingChange], unreadable: Unreadable
) -> dict[int, InvalidInput]:
    """The changes, by position, that add a URI leading nowhere."""
    refused: dict[int, InvalidInput] = {}
    for position, pending in enumerate(pending_changes):
        before = pending.before
        old = frozenset(uri for _, uri in uris_in(definition, {} if before is None else before.stored.data))
        wrong = [
            problem(path, FORMAT, unreadable[uri], uri)
            for path, uri in uris_in(definition, pending.after.data)
            if uri in unreadable and uri not in old
        ]
        if wrong:
            refused[position] = validation_error(wrong)
    return refused


def uris_in(definition: "CompiledSchema", data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The values of all `uri-reference` properties, each with its path."""
    for path in definition.uri_references:
        for value in values_at(data, path):
            if isinstance(value, str) and value:
                yield path, value


def _given(definition: "CompiledSchema", operation: Operation) -> Collection[str]:
    named = [uri for _, uri in uris_in(definition, operation.data or {})]
    return [*named, *(text for step in operation.patch for text in _texts(step.get("value")))]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in cast("dict[str, Any]", value).values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _texts(one)
