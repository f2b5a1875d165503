"""The references of a context: each resolved once, on demand, all within one budget.

`pentad.mcp.references` resolves a single one; stored contents are read from the room's own store.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal
from pentad.kernel.secrets.text import scrub_text
from pentad.mcp.references import CACHED, ReadOwn, References, Resolved, ResourceReader
from pentad.rooms.agents.context.context_store import SCHEME, ContentStore
from pentad.rooms.agents.context.integrity import SHA256, SIZE
from pentad.rooms.agents.context.temporary_links import without_token

ALL_REFERENCES: Final = 32 * MIB


class Resolver:
    """Opens the references of contexts. One per room."""

    def __init__(
        self,
        reader: ResourceReader,
        contents: ContentStore | None,
        fetcher: Fetcher | None,
        *,
        cached: int = CACHED,
    ) -> None:
        own: dict[str, ReadOwn] = {} if contents is None else {SCHEME: _stored_content(contents)}
        self.references = References(reader, fetcher, own=own, printable=_printable, cached=cached)

    def open(self, caller: Principal, items: Mapping[str, Any], max_bytes: int = ALL_REFERENCES) -> "Resolution":
        """The references of some items for this caller. Nothing is read before it is needed."""
        return Resolution(self.references, caller, items, max_bytes)


class Resolution:
    """The references of one context for one caller: each resolved once, all within one budget."""

    def __init__(self, references: References, caller: Principal, items: Mapping[str, Any], max_bytes: int) -> None:
        self._references = references
        self._caller = caller
        self._items = items
        self._left = max_bytes
        self._found: dict[str, Resolved] = {}
        self._one_at_a_time = asyncio.Lock()

    async def resolved(self, name: str) -> Resolved:
        """What the reference of an item points to."""
        item = cast("Mapping[str, Any] | None", self._items.get(name))
        ref = item.get("ref") if item is not None else None
        if item is None or not isinstance(ref, str):
            raise NotFound(f"There is no item {name[:100]!r} with a reference.")
        async with self._one_at_a_time:  # two in parallel would each get the whole remaining budget
            if ref not in self._found:
                self._found[ref] = await self._follow(ref, item)
            return self._found[ref]

    async def _follow(self, ref: str, item: Mapping[str, Any]) -> Resolved:
        metadata = cast("Mapping[str, Any]", item.get("metadata") or {})
        sha256, size = metadata.get(SHA256), metadata.get(SIZE)
        found = await self._references.resolve(
            self._caller,
            ref,
            sha256=sha256 if isinstance(sha256, str) else None,
            size=size if isinstance(size, int) else None,
            max_bytes=self._left,
        )
        self._left -= len(found.body)
        return found

    async def content(self, name: str) -> Any:
        """The content of an item: its own, or what its reference points to."""
        item = cast("Mapping[str, Any] | None", self._items.get(name))
        if item is None:
            raise NotFound(f"There is no item {name[:100]!r} in the context.")
        if item.get("ref") is None:
            return item.get("content")
        return (await self.resolved(name)).content()

    async def all(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """The items with the contents of these (or all) references filled in. The references stay."""
        chosen = [name for name in self._items if names is None or name in names]
        made = dict(self._items)
        for name in chosen:
            if isinstance(self._items[name].get("ref"), str):
                found = await self.resolved(name)
                media = self._items[name].get("mediaType") or found.media_type
                made[name] = {**self._items[name], "mediaType": media, "content": found.content()}
        return made


def _stored_content(contents: ContentStore) -> ReadOwn:
    async def read(caller: Principal, ref: str) -> tuple[bytes, str | None]:
        stored = await contents.read(caller, ref)
        return stored.body, stored.media_type

    return read


def _printable(ref: str) -> str:
    """A reference for messages, without secrets such as the URL of a temporary link."""
    return scrub_text(without_token(ref))
