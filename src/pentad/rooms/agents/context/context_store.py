"""Stores contents that are too large to send: once per hash, and readable by their owner as `context://<sha256>`.

Contents are bytes: text as UTF-8, anything else as exact JSON. The reader verifies the hash. Owners see only what they
stored themselves, and cannot find out whether someone else stored the same bytes.

A context that is too large for the log is stored the same way; the log has a marker in its place.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from pentad.kernel.clock import Clock
from pentad.kernel.default_limits import KIB, MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.context.integrity import SHA256, SIZE, bytes_hash, content_bytes, exact_json, items_hash
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits

SCHEME: Final = "context"
OTHER_REF: Final = "x-ref"
"""Where an item keeps its own reference when its content is replaced by one."""
SNAPSHOT: Final = "x-snapshot"
"""True if the content behind an item's reference must not change: it is copied when the message is accepted."""
MAX_CONTENT_BYTES: Final = 16 * MIB
MAX_STORED_BYTES: Final = 1024 * MIB
"""Per owner, all contents together."""
_FRAME: Final = 1 * KIB
"""Reserved for the members around the content of an item."""
_DAY: Final = 86_400.0
_TOUCH: Final = "UPDATE agent_content_owners SET kept_at = ? WHERE owner = ? AND sha256 = ? AND kept_at < ?"
"""Storing a content again renews it, at most once a day."""
_OLD: Final = (
    "SELECT owner, sha256 FROM agent_content_owners AS o WHERE kept_at < ? AND NOT EXISTS ("
    "SELECT 1 FROM agent_tasks AS t WHERE t.owner = o.owner"
    " AND t.state IN ('submitted', 'working', 'input-required', 'auth-required')"
    " AND o.kept_at >= t.created_at - ?) LIMIT ?"
)
_URI: Final = re.compile(r"context://([0-9a-f]{64})")
SMALL: Final = 4 * 1024
"""A context up to this size stays in the log as it is."""
_MARK: Final = frozenset({"ref", "sha256", "size"})


class StoredContent(Struct, frozen=True):
    """A stored content."""

    sha256: str
    body: bytes
    media_type: str | None

    @property
    def uri(self) -> str:
        return address(self.sha256)


def address(sha256: str) -> str:
    """The URI of a stored content."""
    return f"{SCHEME}://{sha256}"


def hash_in(uri: str) -> str:
    """The hash in a `context://` URI."""
    found = _URI.fullmatch(uri)
    if found is None:
        raise InvalidInput(f"{uri[:100]!r} is not the address of a content.", hint="It is context:// and a SHA-256.")
    return found[1]


class ContentStore:
    """The stored contents of one database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def keep(self, caller: Principal, bodies: Mapping[str, tuple[bytes, str | None]]) -> None:
        """Store contents (body and media type) by hash, all or none. Known contents cost nothing."""
        for sha256, (body, _) in bodies.items():
            if len(body) > MAX_CONTENT_BYTES:
                raise LimitExceeded(f"A content has {len(body)} bytes; the maximum is {MAX_CONTENT_BYTES}.")
            if bytes_hash(body) != sha256:
                raise InvalidInput("A content does not have the hash it is stored under.")
        if bodies:
            await self._database.write(lambda tx: self.write(tx, caller.id, bodies))

    def write(self, tx: Transaction, owner: str, bodies: Mapping[str, tuple[bytes, str | None]]) -> None:
        """Like `keep`, within a transaction, for contents already checked."""
        now = self._clock.now()
        for sha256, (body, media_type) in bodies.items():
            known = tx.value("SELECT 1 FROM agent_content_owners WHERE owner = ? AND sha256 = ?", owner, sha256)
            if known is not None:
                tx.run(_TOUCH, now, owner, sha256, now - _DAY)
                continue
            put_body(tx, sha256, body, now)
            tx.run(
                "INSERT INTO agent_content_owners (owner, sha256, media_type, size, kept_at) VALUES (?, ?, ?, ?, ?)",
                owner, sha256, media_type, len(body), now,
            )  # fmt: skip
        stored = tx.value("SELECT coalesce(sum(size), 0) FROM agent_content_owners WHERE owner = ?", owner)
        if stored > MAX_STORED_BYTES:
            raise LimitExceeded(
                f"You would store {stored} bytes of contents; the maximum is {MAX_STORED_BYTES}.",
                hint="Send less, or ask the operator to delete old contents (keep_days).",
            )

    async def read(self, caller: Principal, uri: str) -> StoredContent:
        """A content by URI, verified; NotFound if the caller has not stored it."""
        sha256 = hash_in(uri)
        row = await self._database.lookup(
            "SELECT contents.body, owners.media_type FROM agent_content_owners AS owners"
            " JOIN agent_contents AS contents ON contents.sha256 = owners.sha256"
            " WHERE owners.owner = ? AND owners.sha256 = ?",
            caller.id,
            sha256,
        )
        if row is None:
            raise NotFound(f"There is no content {uri}.", hint="Only its owner can read it.")
        body = bytes(row[0])
        if bytes_hash(body) != sha256:
            raise Unavailable(f"The content {uri} is damaged in the store.", hint="Restore a backup, or send it again.")
        return StoredContent(sha256, body, row[1])

    async def store_large(
        self, caller: Principal, items: Mapping[str, Any], limits: ContextLimits = DEFAULT_LIMITS
    ) -> tuple[dict[str, Any], list[str]]:
        """Store contents that are too large; returns the items with references, and the names of those items."""
        made, bodies, names = plan_storage(items, limits)
        await self.keep(caller, bodies)
        return made, names


def plan_storage(
    items: Mapping[str, Any], limits: ContextLimits = DEFAULT_LIMITS
) -> tuple[dict[str, Any], dict[str, tuple[bytes, str | None]], list[str]]:
    """What `store_large` would return and store, largest first until everything fits."""
    made: dict[str, Any] = dict(items)
    if len(exact_json(items)) < min(limits.item_bytes, limits.total_bytes):
        return made, {}, []
    sizes = {name: len(exact_json(item)) + len(name.encode()) + 4 for name, item in items.items()}
    total = sum(sizes.values()) + 2
    bodies: dict[str, tuple[bytes, str | None]] = {}
    names: list[str] = []
    for name in sorted(sizes, key=lambda one: -sizes[one]):
        if sizes[name] <= limits.item_bytes and total <= limits.total_bytes:
            break
        item = cast("dict[str, Any]", items[name])
        if item.get("content") is None or sizes[name] <= _FRAME:
            continue
        made[name], body = as_reference(item)
        bodies[body.sha256] = (body.body, body.media_type)
        total += len(exact_json(made[name])) + len(name.encode()) + 4 - sizes[name]
        names.append(name)
    return made, bodies, names


def as_reference(item: Mapping[str, Any], body: bytes | None = None) -> tuple[dict[str, Any], StoredContent]:
    """The item with a reference in place of its content, and the content to store; `body` if it is known as bytes."""
    content = item.get("content")
    body = content_bytes(content) if body is None else body
    media = item.get("mediaType") or ("text/plain" if isinstance(content, str) else "application/json")
    stored = StoredContent(bytes_hash(body), body, str(media))
    metadata = {**cast("Mapping[str, Any]", item.get("metadata") or {}), SHA256: stored.sha256, SIZE: len(body)}
    if isinstance(item.get("ref"), str):
        metadata[OTHER_REF] = item["ref"]
    rest = {key: value for key, value in item.items() if key not in ("content", "ref", "metadata")}
    return {**rest, "mediaType": stored.media_type, "ref": stored.uri, "metadata": metadata}, stored


def is_stored(item: Any) -> bool:
    """Whether an item has a reference in place of its content (`as_reference`)."""
    ref: Any = cast("Mapping[str, Any]", item).get("ref") if isinstance(item, Mapping) else None
    return isinstance(ref, str) and _URI.fullmatch(ref) is not None


def with_content(item: Mapping[str, Any], content: Any) -> dict[str, Any]:
    """The item as it was before `as_reference`, with its content and its own reference."""
    metadata = dict(cast("Mapping[str, Any]", item.get("metadata") or {}))
    own_ref = metadata.pop(OTHER_REF, None)
    for key in (SHA256, SIZE):
        metadata.pop(key, None)
    made: dict[str, Any] = {key: value for key, value in item.items() if key not in ("ref", "metadata")}
    made["content"] = content
    if own_ref is not None:
        made["ref"] = own_ref
    if metadata:
        made["metadata"] = metadata
    return made


def put_body(tx: Transaction, sha256: str, body: bytes, now: float) -> None:
    """Store bytes under their hash, if they are new."""
    tx.run(
        "INSERT INTO agent_contents (sha256, size, body, created_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (sha256) DO NOTHING",
        sha256, len(body), body, now,
    )  # fmt: skip


def get_body(rows: Rows, sha256: str) -> bytes:
    """Bytes by hash, for callers already known to have access."""
    return bytes(rows.value("SELECT body FROM agent_contents WHERE sha256 = ?", sha256))


def drop_unused(tx: Transaction, sha256: str) -> None:
    """Delete unreferenced bytes."""
    tx.run(
        "DELETE FROM agent_contents WHERE sha256 = ?"
        " AND NOT EXISTS (SELECT 1 FROM agent_content_owners AS o WHERE o.sha256 = agent_contents.sha256)"
        " AND NOT EXISTS (SELECT 1 FROM agent_contexts AS c WHERE c.body = agent_contents.sha256)"
        " AND NOT EXISTS (SELECT 1 FROM agent_lent_contents AS l WHERE l.sha256 = agent_contents.sha256)",
        sha256,
    )


def touch(tx: Transaction, owner: str, items: Mapping[str, Any], now: float) -> None:
    """Renew the contents these items refer to."""
    refs = {str(cast("Mapping[str, Any]", item).get("ref")) for item in items.values()}
    for found in filter(None, map(_URI.fullmatch, refs)):
        tx.run(_TOUCH, now, owner, found[1], now - _DAY)


def forget_old_content(tx: Transaction, until: float, most: int) -> int:
    """Delete contents not used since a time, in batches; returns how many.

    An unfinished task may still need contents that were sent while it ran.
    """
    old = tx.all(_OLD, until, _DAY, most)
    tx.run_many("DELETE FROM agent_content_owners WHERE owner = ? AND sha256 = ?", [(one, key) for one, key in old])
    for _, sha256 in old:
        drop_unused(tx, str(sha256))
    return len(old)


def is_small(context: Mapping[str, Any]) -> bool:
    """Whether a context stays in the log as it is."""
    return len(exact_json(context)) <= SMALL


def large_context(context: Any) -> StoredContent | None:
    """The content to store for a context; None if it is small."""
    if not isinstance(context, dict):
        return None
    body = exact_json(cast("Mapping[str, Any]", context))
    return StoredContent(bytes_hash(body), body, "application/json") if len(body) > SMALL else None


def context_marker(context: Mapping[str, Any], whole: StoredContent) -> dict[str, Any]:
    """The log's stand-in for a context: its URI, canonical hash and size."""
    return {"ref": whole.uri, "sha256": items_hash(context.get("items") or {}), "size": len(whole.body)}


def is_marker(found: Any) -> bool:
    """Whether this is a marker in place of a context."""
    return isinstance(found, dict) and cast("dict[str, Any]", found).keys() == _MARK


async def restore_context(found: Any, contents: ContentStore, caller: Principal) -> dict[str, Any] | None:
    """The context behind a marker; None if it is not a marker."""
    if not is_marker(found):
        return None
    ref: Any = cast("dict[str, Any]", found)["ref"]
    if not isinstance(ref, str) or not ref.startswith(f"{SCHEME}://"):
        return None
    return msgspec.json.decode((await contents.read(caller, ref)).body)
