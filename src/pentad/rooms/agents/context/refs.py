"""Resolves the references of a context: by scheme, on demand, within a budget, and verified.

Pentad's own resources are read through the neighbours with the caller's rights, stored contents from the store,
artifacts from the caller's tasks, and the web only through the guarded fetcher. Unknown schemes are rejected by name.
Hashed contents are cached in memory for the caller that read them, and for no one else.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, cast

import msgspec
from msgspec import Struct, to_builtins

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal
from pentad.kernel.secrets.text import scrub_text
from pentad.mcp.content import Contents as ResourceContents
from pentad.rooms.agents.context.context_store import ContentStore
from pentad.rooms.agents.context.integrity import SHA256, SIZE, bytes_hash, exact_json
from pentad.rooms.agents.context.limits import OWN_SCHEMES, REF_SCHEMES, REFUSED_SCHEMES
from pentad.rooms.agents.context.temporary_links import without_token

ONE_REFERENCE: Final = 16 * MIB
ALL_REFERENCES: Final = 32 * MIB
CACHED: Final = 32 * MIB
_OWN_SERVER: Final = "pentad"


class ResourceReader(Protocol):
    """Reads resources with a caller's rights."""

    async def read(self, principal: Principal, uri: str) -> Sequence[ResourceContents]: ...


ReadArtifact = Callable[[Principal, str, str], Awaitable[tuple[bytes, str | None]]]
"""Reads an artifact of one of the caller's tasks, by the two ids: bytes and media type."""


class Resolved(Struct, frozen=True):
    """What a reference points to."""

    ref: str
    body: bytes
    media_type: str | None
    sha256: str

    @property
    def text(self) -> str:
        """As text; base64 if it is not text."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return base64.b64encode(self.body).decode("ascii")

    def content(self) -> Any:
        """As the content of an item: a JSON value, a text, or base64."""
        media = (self.media_type or "").partition(";")[0].strip().lower()
        if media == "application/json" or media.endswith("+json"):
            try:
                return msgspec.json.decode(self.body)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                return self.text
        return self.text


class Resolver:
    """Resolves references by scheme. One per room."""

    def __init__(
        self,
        neighbours: ResourceReader,
        contents: ContentStore | None,
        fetcher: Fetcher | None,
        read_artifact: ReadArtifact | None = None,
        *,
        resource_schemes: Sequence[str] = OWN_SCHEMES,
        cached: int = CACHED,
    ) -> None:
        self._neighbours = neighbours
        self._contents = contents
        self._fetcher = fetcher
        self._read_artifact = read_artifact
        self._resource_schemes = resource_schemes
        self._cache = _Cache(cached)

    def open(self, caller: Principal, items: Mapping[str, Any], max_bytes: int = ALL_REFERENCES) -> "Resolution":
        """The references of some items for this caller. Nothing is read before it is needed."""
        return Resolution(self, caller, items, max_bytes)

    async def resolve(
        self, caller: Principal, ref: str, *, sha256: str | None = None, size: int | None = None, max_bytes: int
    ) -> Resolved:
        """Resolve one reference. Conflict if its hash or size is wrong, LimitExceeded if it is too large."""
        if size is not None and size > max_bytes:
            raise _too_large(ref, max_bytes)
        if sha256 is not None and (known := self._cache.get(caller.id, sha256)) is not None:
            return known
        body, media_type = await self._read(caller, ref, min(max_bytes, ONE_REFERENCE))
        if len(body) > max_bytes:
            raise _too_large(ref, max_bytes)
        found = Resolved(ref, body, media_type, bytes_hash(body))
        if sha256 is not None:
            if found.sha256 != sha256:
                raise Conflict(
                    f"{_printable(ref)} has changed: its hash is another.",
                    hint="Ask the sender for the context again.",
                    details={"reason": "context-integrity", "expected": sha256, "found": found.sha256},
                )
            self._cache.put(caller.id, found)
        return found

    async def _read(self, caller: Principal, ref: str, most: int) -> tuple[bytes, str | None]:
        scheme, _, rest = ref.partition(":")
        scheme = scheme.lower()
        if scheme.startswith("mcp+"):
            if scheme != f"mcp+{_OWN_SERVER}":
                raise _unknown_scheme(scheme, f"Only mcp+{_OWN_SERVER}: leads to resources this server can read.")
            return await self._resource(caller, rest)
        if scheme == "cid":
            return await self._resource(caller, f"directory://records/{rest}")
        if scheme in self._resource_schemes:
            return await self._resource(caller, ref)
        if scheme == "context" and self._contents is not None:
            stored = await self._contents.read(caller, ref)
            return stored.body, stored.media_type
        if scheme == "a2a-artifact" and self._read_artifact is not None:
            task, slash, artifact = rest.partition("/")
            if not (task and slash and artifact):
                raise InvalidInput(
                    f"{_printable(ref)} names no artifact.", hint="Write a2a-artifact:<task>/<artifact>."
                )
            return await self._read_artifact(caller, task, artifact)
        if scheme in ("http", "https") and self._fetcher is not None:
            return await _fetch(self._fetcher, ref, most)
        raise _unknown_scheme(scheme if ":" in ref else "", REFUSED_SCHEMES.get(scheme, ""))

    async def _resource(self, caller: Principal, uri: str) -> tuple[bytes, str | None]:
        found = await self._neighbours.read(caller, uri)
        if not found:
            raise NotFound(f"{_printable(uri)} is empty.")
        if len(found) > 1:
            return exact_json([to_builtins(one) for one in found]), "application/json"
        (one,) = found
        if one.blob is not None:
            return base64.b64decode(one.blob), one.mime_type
        return (one.text or "").encode(), one.mime_type


class Resolution:
    """The references of one context for one caller: each resolved once, all within one budget."""

    def __init__(self, resolver: Resolver, caller: Principal, items: Mapping[str, Any], max_bytes: int) -> None:
        self._resolver = resolver
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
        async with self._one_at_a_time:  # or two at once would each have all that is left
            if ref not in self._found:
                self._found[ref] = await self._follow(ref, item)
            return self._found[ref]

    async def _follow(self, ref: str, item: Mapping[str, Any]) -> Resolved:
        metadata = cast("Mapping[str, Any]", item.get("metadata") or {})
        sha256, size = metadata.get(SHA256), metadata.get(SIZE)
        found = await self._resolver.resolve(
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
        """The items with the contents of these (or all) references put in. The references stay."""
        chosen = [name for name in self._items if names is None or name in names]
        made = dict(self._items)
        for name in chosen:
            if isinstance(self._items[name].get("ref"), str):
                found = await self.resolved(name)
                media = self._items[name].get("mediaType") or found.media_type
                made[name] = {**self._items[name], "mediaType": media, "content": found.content()}
        return made


class _Cache:
    """A cache of contents by reader and hash, limited in bytes."""

    def __init__(self, most: int) -> None:
        self._found = LruCache[tuple[str, str], Resolved](most, size=lambda found: len(found.body))

    def get(self, caller: str, sha256: str) -> Resolved | None:
        return self._found.get((caller, sha256))

    def put(self, caller: str, found: Resolved) -> None:
        if len(found.body) <= self._found.limit:
            self._found.put((caller, found.sha256), found)


async def _fetch(fetcher: Fetcher, url: str, most: int) -> tuple[bytes, str | None]:
    answer = await fetcher.fetch(url, max_bytes=most)
    if answer.status in (401, 403):
        raise Forbidden(f"{_printable(url)} may not be read.", hint="It requires a login, and references have none.")
    if answer.status in (404, 410):
        raise NotFound(f"There is nothing at {_printable(url)}.")
    if answer.status != 200:
        raise Unavailable(f"{_printable(url)} answered {answer.status}.", hint="Try again in a moment.")
    return answer.body, next((value for key, value in answer.headers.items() if key.lower() == "content-type"), None)


def _printable(ref: str) -> str:
    """A reference for messages, without secrets. The URL of a temporary link is one."""
    return scrub_text(without_token(ref)[:200])


def _unknown_scheme(scheme: str, why: str) -> InvalidInput:
    problem = f"References by {scheme[:40]!r} are not followed." if scheme else "The reference has no scheme."
    return InvalidInput(
        f"{problem} {why}".strip(),
        hint=f"Known are {', '.join(REF_SCHEMES)} and mcp+{_OWN_SERVER}.",
        details={"reason": "ref-refused", "scheme": scheme[:40]},
    )


def _too_large(ref: str, most: int) -> LimitExceeded:
    return LimitExceeded(
        f"{_printable(ref)} has more than the {most} bytes that are left.", hint="Raise the budget, or ask for fewer."
    )
