"""Pages of lists, encoded and cached. A page contains only what its caller may use.

A list is encoded once for each revision and set of rights, because most callers share a few roles. A cursor is bound to
the rights it was made with: if they change between two pages, the caller has to start again, so that it misses no
entries.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import msgspec.structs
from msgspec import Struct

from pentad.kernel import cursors
from pentad.kernel.lru import LruCache
from pentad.kernel.principal import Action, Principal
from pentad.mcp.content import Annotations
from pentad.mcp.messages import encode
from pentad.mcp.revisions import Revision
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError

KEYS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
MOST_KEPT: Final = 64
"""Cached lists per endpoint."""


class Right(NamedTuple):
    """The scope `room:action` a caller needs to see an entry."""

    room: str
    action: Action


class ListEntry(Struct, frozen=True):
    right: Right
    entry: Callable[[], dict[str, Any]]


class Pages(Struct, frozen=True):
    """A list for one set of rights, which `tag` names in cursors. There is always at least one page."""

    method: str
    tag: str
    bodies: Sequence[bytes]
    is_empty: bool

    def at(self, position: int) -> tuple[bytes, bool]:
        """One page as an encoded object, and whether it is the last."""
        if not 0 <= position < len(self.bodies):
            raise invalid_cursor(self.method)
        return self.bodies[position], position == len(self.bodies) - 1

    def page(self, cursor: str | None) -> tuple[bytes, bool]:
        return self.at(0 if cursor is None else self.read(cursor).position)

    def cursor(self, position: int, inner: str | None = None) -> str:
        return make_cursor(self.method, self.tag, position, inner)

    def read(self, cursor: str) -> "Cursor":
        return read_cursor(cursor, self.method, self.tag)


class ListPages:
    """Every list of an endpoint. `also` are rights that a list depends on in addition to those of its entries."""

    def __init__(
        self, lists: Mapping[str, Sequence[ListEntry]], size: int, also: Mapping[str, Sequence[Right]] | None = None
    ) -> None:
        self._lists = lists
        self._size = size
        self._rights = {
            method: tuple(dict.fromkeys([*(one.right for one in entries), *(also or {}).get(method, ())]))
            for method, entries in lists.items()
        }
        self._kept = LruCache[tuple[Any, ...], tuple[Pages, Sequence[ListEntry]]](MOST_KEPT)

    def of(self, method: str, revision: Revision, principal: Principal, more: Sequence[ListEntry] = ()) -> Pages:
        """The list this caller may see, plus `more` entries made for this caller."""
        held = tuple(right for right in self._rights[method] if principal.may(right.room, right.action))
        if more:
            more = [one for one in more if principal.may(one.right.room, one.right.action)]
        key = (method, revision.name, held, *map(id, more))
        if (known := self._kept.get(key)) is None:
            known = (self._encoded(method, revision, held, more), more)  # keeps the entries, and so their ids
            self._kept.put(key, known)
        return known[0]

    def _encoded(
        self, method: str, revision: Revision, held: tuple[Right, ...], more: Sequence[ListEntry] = ()
    ) -> Pages:
        fields = revision.tool_fields if method == "tools/list" else revision.named_fields
        listed = [*(one for one in self._lists[method] if one.right in held), *more]
        entries = [visible(one.entry(), fields, revision) for one in listed]
        slices = [entries[start : start + self._size] for start in range(0, len(entries), self._size)] or [[]]
        further = encode(entries[len(entries) - len(more) :]) if more else b""
        tag = hashlib.blake2b(msgspec.json.encode(sorted(held)) + further, digest_size=6).hexdigest()
        bodies: list[bytes] = []
        for index, entries_of_page in enumerate(slices):
            body: dict[str, Any] = {KEYS[method]: entries_of_page}
            if index + 1 < len(slices):
                body["nextCursor"] = make_cursor(method, tag, index + 1)
            bodies.append(encode(body))
        return Pages(method, tag, bodies, not entries)


def visible(entry: Mapping[str, Any], allowed: frozenset[str], revision: Revision) -> dict[str, Any]:
    """A list entry with the members the revision has."""
    fields = {key: value for key, value in entry.items() if key in allowed}
    annotations = fields.get("annotations")
    if isinstance(annotations, Annotations) and not revision.meta_on_content:
        fields["annotations"] = msgspec.structs.replace(annotations, last_modified=None)
    return fields


class Cursor(NamedTuple):
    """A position in a list. Inside a room's own listing, it includes that listing's cursor."""

    position: int
    inner: str | None


def make_cursor(method: str, tag: str, position: int, inner: str | None = None) -> str:
    """An opaque cursor, valid for this list and for callers with the same rights."""
    return cursors.pack([method, tag, position, inner])


def read_cursor(cursor: str, method: str, tag: str) -> Cursor:
    try:
        made_by, made_for, position, inner = cursors.unpack(cursor, tuple[str, str, int, str | None])
    except ValueError:
        made_by, made_for, position, inner = "", "", -1, None
    if made_by != method:
        raise ProtocolError(
            INVALID_PARAMS, f"{method}: the cursor belongs to another list or has expired. Start without a cursor."
        )
    if made_for != tag:
        raise invalid_cursor(method)
    return Cursor(position, inner)


def invalid_cursor(method: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"{method}: the cursor is not valid. Start again without a cursor.")
