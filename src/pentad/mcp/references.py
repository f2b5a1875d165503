"""Resolves references: from a URI to bytes, with the caller's rights.

A reference is the URI of a resource of any open room, or a web address. Resources are read like a `resources/read` from
outside (on a server by `InternalClient`, in a verb by its client); web addresses only through the guarded fetcher. If a
hash is given, the content is verified against it. A reference may carry the hash of its content:
`...?snapshot=sha256:<64 hex digits>`.
"""

import base64
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256 as hash_of
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct, to_builtins

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal
from pentad.mcp.content import Contents

ONE_REFERENCE: Final = 16 * MIB
CACHED: Final = 32 * MIB
WEB: Final = ("https", "http")
REFUSED_SCHEMES: Final = {
    "file": "It would name a file on the reader's machine.",
    "javascript": "It is code.",
    "vbscript": "It is code.",
    "data": "Put the data into `content`.",
    "blob": "It has a meaning in one browser only.",
    "about": "It names nothing.",
}
"""Schemes that can never be a reference, and why."""
CONTENTS: Final = "context://"
"""The scheme for contents by hash, readable by whoever stored them."""
_SNAPSHOT: Final = re.compile(r"[?&]snapshot=sha256:([0-9a-f]{64})")
_SERVER: Final = "mcp+"
_OWN_SERVER: Final = "mcp+pentad"
_LONGEST_SHOWN: Final = 200


class ResourceReader(Protocol):
    """Reads resources with a caller's rights, and says which schemes it knows."""

    async def read(self, principal: Principal, uri: str) -> Sequence[Contents]: ...

    def schemes(self) -> Sequence[str]:
        """The schemes of all resources, such as `openregister`."""
        ...


ReadOwn = Callable[[Principal, str], Awaitable[tuple[bytes, str | None]]]
"""Reads a resource of the room itself: bytes and media type."""


class Resolved(Struct, frozen=True):
    """The content a reference points to."""

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
        """As a value: decoded JSON, a text, or base64."""
        media = (self.media_type or "").partition(";")[0].strip().lower()
        if media == "application/json" or media.endswith("+json"):
            try:
                return msgspec.json.decode(self.body)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                return self.text
        return self.text


def scheme_of(ref: str) -> str:
    """The scheme of a reference, in lower case; empty if it has none."""
    scheme, colon, _ = ref.partition(":")
    return scheme.lower() if colon else ""


def split_snapshot(uri: str) -> tuple[str, str | None]:
    """A URI without its snapshot hash, and the hash."""
    found = _SNAPSHOT.search(uri)
    if found is None or found.end() != len(uri):
        return uri, None
    return uri[: found.start()], found[1]


def body_of(contents: Sequence[Contents]) -> tuple[bytes, str | None]:
    """The contents of a resource as bytes, and their media type. Several contents become JSON."""
    if len(contents) != 1:
        return msgspec.json.encode([to_builtins(one) for one in contents]), "application/json"
    (one,) = contents
    if one.blob is not None:
        return base64.b64decode(one.blob), one.mime_type
    return (one.text or "").encode(), one.mime_type


def hash_mismatch(shown: str, expected: str, found: str) -> Conflict:
    """The error for content whose hash differs from the expected one."""
    return Conflict(
        f"{shown} has changed: its hash differs.",
        hint="Ask the sender for the context again.",
        details={"reason": "context-integrity", "expected": expected, "found": found},
    )


class References:
    """Resolves references. Contents requested by hash are cached, separately for each caller."""

    def __init__(
        self,
        reader: ResourceReader,
        fetcher: Fetcher | None,
        *,
        own: Mapping[str, ReadOwn] | None = None,
        printable: Callable[[str], str] | None = None,
        cached: int = CACHED,
    ) -> None:
        """`own` reads schemes of the room itself, without the dispatcher. `printable` makes a reference safe for
        messages; by default it removes secrets."""
        self._reader = reader
        self._fetcher = fetcher
        self._own = own or {}
        self._printable = printable
        self._cache = LruCache[tuple[str, str], Resolved](cached, size=lambda found: len(found.body))

    def schemes(self) -> tuple[str, ...]:
        """The supported schemes."""
        web = () if self._fetcher is None else WEB
        return tuple(dict.fromkeys([*self._reader.schemes(), *self._own, *web]))

    async def resolve(
        self, caller: Principal, ref: str, *, sha256: str | None = None, size: int | None = None, max_bytes: int
    ) -> Resolved:
        """Resolve one reference. Conflict if its hash or size is wrong, LimitExceeded if it is too large."""
        if scheme_of(ref) in WEB:  # the hash in the URI of a resource is checked where it is read
            ref, pinned = split_snapshot(ref)
            sha256 = sha256 or pinned
        if size is not None and size > max_bytes:
            raise self._too_large(ref, max_bytes)
        if sha256 is not None and (known := self._cache.get((caller.id, sha256))) is not None:
            return known
        body, media_type = await self._read(caller, ref, min(max_bytes, ONE_REFERENCE))
        if len(body) > max_bytes:
            raise self._too_large(ref, max_bytes)
        found = Resolved(ref, body, media_type, hash_of(body).hexdigest())
        if sha256 is None:
            return found
        if found.sha256 != sha256:
            raise hash_mismatch(self._shown(ref), sha256, found.sha256)
        if len(body) <= self._cache.limit:
            self._cache.put((caller.id, sha256), found)
        return found

    async def _read(self, caller: Principal, ref: str, most: int) -> tuple[bytes, str | None]:
        scheme = scheme_of(ref)
        if scheme.startswith(_SERVER):
            if scheme != _OWN_SERVER:
                raise self._unknown(scheme, f"Only {_OWN_SERVER}: leads to resources this server can read.")
            return await self._resource(caller, ref.partition(":")[2])
        if (read := self._own.get(scheme)) is not None:
            return await read(caller, ref)
        if scheme in WEB and self._fetcher is not None:
            return await self._fetch(self._fetcher, ref, most)
        if scheme in self._reader.schemes():
            return await self._resource(caller, ref)
        raise self._unknown(scheme, REFUSED_SCHEMES.get(scheme, ""))

    async def _resource(self, caller: Principal, uri: str) -> tuple[bytes, str | None]:
        found = await self._reader.read(caller, uri)
        if not found:
            raise NotFound(f"{self._shown(uri)} is empty.")
        return body_of(found)

    async def _fetch(self, fetcher: Fetcher, url: str, most: int) -> tuple[bytes, str | None]:
        answer = await fetcher.fetch(url, max_bytes=most)
        shown = self._shown(url)
        if answer.status in (401, 403):
            raise Forbidden(f"{shown} may not be read.", hint="It requires a login, and references have none.")
        if answer.status in (404, 410):
            raise NotFound(f"There is nothing at {shown}.")
        if answer.status != 200:
            raise Unavailable(f"{shown} answered {answer.status}.", hint="Try again in a moment.")
        media_type = next((value for key, value in answer.headers.items() if key.lower() == "content-type"), None)
        return answer.body, media_type

    def _shown(self, ref: str) -> str:
        shown = ref[:_LONGEST_SHOWN]
        return _scrubbed(shown) if self._printable is None else self._printable(shown)

    def _unknown(self, scheme: str, why: str) -> InvalidInput:
        problem = f"References by {scheme[:40]!r} are not supported." if scheme else "The reference has no scheme."
        return InvalidInput(
            f"{problem} {why}".strip(),
            hint=f"Known: {', '.join((*self.schemes(), _OWN_SERVER))}.",
            details={"reason": "ref-refused", "scheme": scheme[:40]},
        )

    def _too_large(self, ref: str, most: int) -> LimitExceeded:
        return LimitExceeded(
            f"{self._shown(ref)} has more than the {most} bytes that are left.",
            hint="Raise the budget, or request fewer.",
        )


def _scrubbed(text: str) -> str:
    from pentad.kernel.secrets.text import scrub_text  # slow to import, and only errors need it

    return scrub_text(text)
