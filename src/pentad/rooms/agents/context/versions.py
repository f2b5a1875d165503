"""The context of a conversation over its turns: merged, patched, with items removed. Each version is stored once, by
hash.

    merge    given items replace those of the same name, the others stay
    patch    members of the given items are merged into existing ones (RFC 7396: null removes)
    replace  the given items are all there is

The functions are pure; `ContextVersions` stores the versions. A turn can name the version it is based on (`base`), and
is rejected if that is no longer the latest.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from pentad.kernel.clock import Clock
from pentad.kernel.errors import NotFound, VersionMismatch
from pentad.kernel.json_patch import merge_patch
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.problems import Place
from pentad.rooms.agents.context.context_store import drop_unused, get_body, put_body, touch
from pentad.rooms.agents.context.findings import Issues, Level, refusal
from pentad.rooms.agents.context.integrity import bytes_hash, exact_json, items_hash
from pentad.rooms.agents.context.rules import EXPIRES, expiry
from pentad.rooms.agents.context.validation import validate

Items = dict[str, Any]
MODES: Final = ("merge", "patch", "replace")
MAX_VERSIONS: Final = 50
"""Per conversation; the oldest are deleted."""
_NEWEST: Final = 2**62
_TURN: Final[Place] = (None, "turn")


class Version(Struct, frozen=True):
    """One version of a conversation's context, and the names of items that have expired since."""

    number: int
    items: Items
    sha256: str
    expired: list[str]


def merge_items(items: Mapping[str, Any], given: Mapping[str, Any]) -> Items:
    """The items with the given ones added or replaced."""
    return {**items, **given}


def patch_items(items: Mapping[str, Any], given: Mapping[str, Any]) -> Items:
    """The items with the given ones merged in, member by member; null removes an item."""
    return cast("Items", merge_patch(dict(items), dict(given)))


def remove_items(items: Mapping[str, Any], names: list[str]) -> Items:
    """The items without these names. Unknown names are ignored, because a removal may be repeated."""
    return {name: item for name, item in items.items() if name not in names}


def same_items(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two contexts are equal as JSON: numbers by value (also beyond 2^53), but true is not 1."""
    if before != after:
        return False
    return exact_json(before) == exact_json(after) or items_hash(before) == items_hash(after)


def after_turn(items: Mapping[str, Any], given: Mapping[str, Any], turn: Mapping[str, Any] | None) -> Items:
    """The items after a turn. The default mode is merge."""
    given_turn = turn or {}
    mode, names = given_turn.get("mode", "merge"), given_turn.get("remove", [])
    issues = Issues("standard")
    if mode not in MODES:
        message = f"There is no mode {str(mode)[:40]!r}."
        issues.add_value("bad-turn", (_TURN, "mode"), message, mode, MODES, f"Modes are {', '.join(MODES)}.")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        issues.add("bad-turn", (_TURN, "remove"), "`remove` is a list of names.", "Name the items to remove.")
    if not issues.valid:
        raise refusal(issues.errors)
    left = remove_items(items, cast("list[str]", names))
    if mode == "replace":
        return dict(given)
    return patch_items(left, given) if mode == "patch" else merge_items(left, given)


def without_expired(items: Mapping[str, Any], now: float) -> tuple[Items, list[str]]:
    """The items that are still valid, and the names of expired ones."""
    expired: list[str] = []
    for name, item in items.items():
        until = expiry(cast("dict[str, Any]", item.get("metadata") or {}).get(EXPIRES))
        if until is not None and until <= now:
            expired.append(name)
    return remove_items(items, expired), expired


class ContextVersions:
    """The contexts of all conversations in one store. A conversation belongs to its owner."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add_turn(
        self,
        owner: str,
        context_id: str,
        given: Mapping[str, Any],
        turn: Mapping[str, Any] | None = None,
        *,
        level: Level = "standard",
        earlier: Mapping[str, Any] | None = None,
    ) -> Version:
        """Add a turn; returns the resulting version. An unchanged context keeps its version.

        `earlier` is the context of earlier turns, if no version was stored yet.
        """
        return await self._database.write(
            lambda tx: self._add_turn(tx, owner, context_id, given, turn, level, earlier)
        )  # fmt: skip

    def _add_turn(
        self,
        tx: Transaction,
        owner: str,
        context_id: str,
        given: Mapping[str, Any],
        turn: Mapping[str, Any] | None,
        level: Level,
        earlier: Mapping[str, Any] | None,
    ) -> Version:
        now = self._clock.now()
        number, before = _latest(tx, owner, context_id)
        if earlier and not number:
            number, before = self._put(tx, owner, context_id, 1, earlier), dict(earlier)
        base = (turn or {}).get("base")
        if base is not None and base != number:
            raise VersionMismatch(
                f"The context is at version {number}, not at {base}.",
                hint="Read it and send the change again.",
                details={"reason": "context-version", "problems": [
                    {"path": "/turn/base", "rule": "context-version", "message": f"The context is at {number}."}
                ]},
            )  # fmt: skip
        after, expired = without_expired(after_turn(before, given, turn), now)
        if number and same_items(before, after):
            return Version(number, before, items_hash(before), expired)
        shaped, issues = validate({"items": after}, level, now=now)
        if shaped is None or not issues.valid:
            raise refusal(issues.errors)
        self._put(tx, owner, context_id, number + 1, after)
        touch(tx, owner, after, now)
        _trim(tx, owner, context_id, number + 1 - MAX_VERSIONS)
        return Version(number + 1, after, items_hash(after), expired)

    def _put(self, tx: Transaction, owner: str, context_id: str, number: int, items: Mapping[str, Any]) -> int:
        now = self._clock.now()
        body = exact_json(items)
        put_body(tx, key := bytes_hash(body), body, now)
        tx.run(
            "INSERT INTO agent_contexts (owner, context, version, sha256, body, changed_at) VALUES (?, ?, ?, ?, ?, ?)",
            owner, context_id, number, items_hash(items), key, now,
        )  # fmt: skip
        return number

    async def read(self, owner: str, context_id: str, version: int | None = None) -> Version:
        """The context of a conversation, current or at a version; NotFound if there is none."""

        def work(rows: Rows) -> Version:
            found = _at(rows, owner, context_id, version)
            if found is None:
                raise NotFound("There is no such context.", hint="Only its owner can see a context.")
            number, items, sha256 = found
            valid, expired = without_expired(items, self._clock.now())
            return Version(number, valid, sha256, expired)

        return await self._database.read(work)

    async def latest(self, owner: str, context_id: str) -> tuple[int, str] | None:
        """Number and hash of the latest version; None if there is none."""
        row = await self._database.lookup(
            "SELECT version, sha256 FROM agent_contexts WHERE owner = ? AND context = ? ORDER BY version DESC LIMIT 1",
            owner,
            context_id,
        )
        return None if row is None else (int(row[0]), str(row[1]))


def _latest(rows: Rows, owner: str, context_id: str) -> tuple[int, Items]:
    found = _at(rows, owner, context_id, None)
    return (found[0], found[1]) if found else (0, {})


def _at(rows: Rows, owner: str, context_id: str, version: int | None) -> tuple[int, Items, str] | None:
    row = rows.one(
        "SELECT version, body, sha256 FROM agent_contexts WHERE owner = ? AND context = ? AND version <= ?"
        " ORDER BY version DESC LIMIT 1",
        owner, context_id, _NEWEST if version is None else version,
    )  # fmt: skip
    if row is not None and version is not None and row[0] != version:
        return None
    if row is None:
        return None
    return row[0], msgspec.json.decode(get_body(rows, row[1])), row[2]


def _trim(tx: Transaction, owner: str, context_id: str, upto: int) -> None:
    """Delete the versions up to a number, and contents only they used."""
    expired = tx.all(
        "SELECT body FROM agent_contexts WHERE owner = ? AND context = ? AND version <= ?", owner, context_id, upto
    )
    tx.run("DELETE FROM agent_contexts WHERE owner = ? AND context = ? AND version <= ?", owner, context_id, upto)
    for (body,) in expired:
        drop_unused(tx, body)


def forget_contexts(tx: Transaction, until: float, most: int) -> int:
    """Delete contexts of conversations without tasks or recent turns; returns how many."""
    expired = tx.all(
        "SELECT owner, context, max(version) FROM agent_contexts AS c WHERE NOT EXISTS"
        " (SELECT 1 FROM agent_tasks AS t WHERE t.context = c.context AND t.owner = c.owner)"
        " GROUP BY owner, context HAVING max(changed_at) < ? LIMIT ?",
        until, most,
    )  # fmt: skip
    for owner, context_id, version in expired:
        _trim(tx, owner, context_id, version)
    return len(expired)
