"""Object history for callers: changes, differences between versions, verification, reverting.

Reverting is an ordinary change, a new version with the old data, so it can be undone too.

Each change's hash covers the previous hash, the change's details and the resulting state; the object has the newest
hash. To tamper unnoticed, one would have to rewrite everything that follows, and the object.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.access.rules import AccessRules, is_admin
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.definitions.json_diff import differences
from pentad.rooms.registers.definitions.object_validation import validation_error
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.objects import change_log, store
from pentad.rooms.registers.objects.change_log import ERASED, Change, digest_of
from pentad.rooms.registers.objects.history_access import HistoryAccess
from pentad.rooms.registers.objects.lookup import check_version, find_object, object_not_found
from pentad.rooms.registers.objects.old_states import OldStates
from pentad.rooms.registers.objects.pending_changes import (
    NO_HASH,
    ExistingObject,
    PendingChange,
    Provenance,
    WriteContext,
    chain_facts,
    chain_hash,
    state_digest,
)
from pentad.rooms.registers.objects.service import Objects
from pentad.rooms.registers.query.datetimes import parse_time
from pentad.rooms.registers.query.models import AsOf
from pentad.rooms.registers.schema_locks import check_current

FIND_HISTORY: Final = "SELECT uuid FROM object_changes WHERE uuid = ? AND +register = ? AND +schema = ? LIMIT 1"
"""The `+` makes SQLite look up the uuid. Without it, SQLite reads all changes of the register and schema."""
_PORTION: Final = 200
_MOST_EXAMINED: Final = 5_000
_NEUTRAL: Final = frozenset({"lock", "unlock"})
_MOST_PROBLEMS: Final = 20
_HIDDEN: Final = "a change you may not read"


class NothingToUndo(Conflict):
    """The object has no earlier state to undo to. The hint is for tool callers."""


@dataclass(slots=True)
class Verification:
    """The verdict on one object's history."""

    uuid: str
    changes: int
    """How many the caller may know of."""
    head: str | None
    """The hash of the newest; None where the caller may not have it."""
    problems: list[str] = field(default_factory=list[str])

    @property
    def valid(self) -> bool:
        return not self.problems

    def wire(self) -> dict[str, Any]:
        head = {} if self.head is None else {"head": self.head}
        found = {"uuid": self.uuid, "valid": self.valid, "changes": self.changes, **head}
        return {**found, "problems": self.problems[:_MOST_PROBLEMS]}

    def add(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def verify_chain(
    uuid: str, history: Sequence[tuple[Change, bool]], existing: ExistingObject | None, known: Callable[[Change], bool]
) -> Verification:
    """Check a whole history, oldest first, against the current object; `existing` is None if it was purged.

    `known` are the changes the caller may read; problems in others are reported without naming them.
    """
    head = history[-1][0].hash.hex() if history else ""
    verdict = Verification(uuid, sum(known(change) for change, _ in history), head)
    states = _states(history, existing)
    previous = NO_HASH
    version, since, deleted = 0, None, False
    for (change, found_deleted), state in zip(history, states, strict=True):
        name = f"change {change.seq} ({change.action}, version {change.version})" if known(change) else _HIDDEN
        if change.hash != _expected_hash(previous, change, state):
            verdict.add(f"{name}: its hash does not fit what it says or what came before.")
        previous = change.hash
        if change.action in _NEUTRAL:
            if change.version != version:
                verdict.add(f"{name}: it is not about {_version(name, version)}.")
            continue
        if change.version != version + 1:
            verdict.add(f"{name}: {_version(name, version + 1)} should be here.")
        erased = change.before is not None and change.before.startswith(ERASED)
        if change.since != since or (found_deleted != deleted and not erased):
            verdict.add(f"{name}: what it replaced is not what was there.")
        version, since, deleted = change.version, change.at, change.action == "delete"
    _check_end(verdict, history, existing, version, since, deleted)
    return verdict


def _version(name: str, version: int) -> str:
    return "another version" if name == _HIDDEN else f"version {version}"


def _check_end(
    verdict: Verification,
    history: Sequence[tuple[Change, bool]],
    existing: ExistingObject | None,
    version: int,
    since: float | None,
    deleted: bool,
) -> None:
    last = history[-1][0] if history else None
    if existing is None:
        if last is None or last.action != "purge":
            verdict.problems.append("The object is gone, and no change says so.")
        return
    stored = existing.stored
    if last is None or last.hash != existing.hash:
        verdict.problems.append("The object does not hold the hash of its newest change.")
    if (stored.version, stored.updated_at, stored.is_deleted) != (version, since, deleted):
        verdict.problems.append("The object's version, time or deletion is not what its history says.")


def _states(history: Sequence[tuple[Change, bool]], existing: ExistingObject | None) -> list[bytes]:
    """The digest of the state after each change: the state the next change replaced, or the current one."""
    following = state_digest("") if existing is None else state_digest(existing.stored.text)
    states: list[bytes] = []
    for change, _ in reversed(history):
        states.append(state_digest("") if change.action == "purge" else following)
        if change.before is not None and change.action not in _NEUTRAL:
            following = digest_of(change.before)
    return states[::-1]


def _expected_hash(previous: bytes, change: Change, state: bytes) -> bytes:
    provenance = Provenance(change.principal, change.agent, change.session, change.call, change.reason, change.plan)
    shared = chain_facts(change.register, change.schema, change.version, change.action, change.at, provenance)
    return chain_hash(previous, change.uuid, shared, state)


class History:
    """Reads and verifies the history, and reverts objects."""

    def __init__(
        self, database: Database, clock: Clock, catalogue: Catalogue, access: AccessRules, objects: Objects
    ) -> None:
        self._database = database
        self._clock = clock
        self._catalogue = catalogue
        self._access = access
        self._history_access = HistoryAccess(database.dialect, catalogue, access)
        self._objects = objects

    async def of(
        self, caller: Caller, pair: Pair, ref: int | str, limit: int = 50, before: int | None = None
    ) -> list[Change]:
        """The changes of an object, newest first; `before` is the number of a change to continue from."""

        def read(rows: Rows) -> list[Change]:
            uuid, current = self._find_or_purged(rows, caller, pair, ref)
            found = islice(self._changes(rows, caller, pair, uuid, current, before, limit), limit)
            changes = [self._history_access.redacted(caller, pair, change) for change in found]
            return self._history_access.with_values(rows, caller, changes)

        return await self._database.read(read)

    async def count(self, caller: Caller, pair: Pair, ref: int | str) -> int:
        """The number of changes that the caller may read."""

        def read(rows: Rows) -> int:
            uuid, current = self._find_or_purged(rows, caller, pair, ref)
            if not self._access.depends_on_data(caller, pair):
                return change_log.count_changes(rows, uuid)
            return sum(1 for _ in self._changes(rows, caller, pair, uuid, current, None, _PORTION))

        return await self._database.read(read)

    async def entry(self, caller: Caller, seq: int) -> Change:
        """One change by its number."""

        def read(rows: Rows) -> Change:
            found = change_log.get_change(rows, self._database.dialect, seq)
            changes = self._history_access.readable_changes(rows, caller, [found] if found is not None else [])
            for change in self._history_access.with_values(rows, caller, changes):
                return change
            raise NotFound(f"There is no change {seq}.", hint="The changes feed lists the changes you may read.")

        return await self._database.read(read)

    async def feed(
        self,
        caller: Caller,
        cursor: str | None = None,
        register: int | None = None,
        schema: int | None = None,
        limit: int = 100,
        plan: str | None = None,
    ) -> tuple[list[Change], str]:
        """The changes of objects the caller may see, oldest first, and the next cursor; with `plan`, only those of this
        plan or import.

        There may be more if the limit is reached. Hidden changes are skipped and do not count. Unless very many are
        skipped, they do not move the cursor either, because that would reveal that something happened.
        """
        at_once = limit if is_admin(caller.principal) or not limit else max(limit, _PORTION)

        def read(rows: Rows) -> tuple[list[Change], str]:
            changes, following = find(rows)
            return self._history_access.with_values(rows, caller, changes), following

        def find(rows: Rows) -> tuple[list[Change], str]:
            seen: list[Change] = []
            at, looked_at = cursor, 0
            while True:
                portion, at = change_log.feed(
                    rows, self._database.dialect, at, register=register, schema=schema, plan=plan, limit=at_once
                )
                seen += self._history_access.readable_changes(rows, caller, portion)
                looked_at += len(portion)
                if len(seen) >= limit:
                    return seen[:limit], seen[limit - 1].cursor if limit else at
                if len(portion) < at_once:
                    return seen, seen[-1].cursor if seen else cursor or change_log.start()
                if looked_at >= _MOST_EXAMINED:
                    return seen, at

        return await self._database.read(read)

    async def newest(self, back: int = 0) -> str:
        """The cursor behind everything that has happened so far, or behind all but the last `back` changes."""
        return await self._database.read(lambda rows: change_log.newest(rows, self._database.dialect, back))

    async def sees_changes(self, caller: Caller, pair: Pair, span: store.ChangeSpan) -> bool:
        """Whether a transaction changed an object of the pair the caller may see."""
        if (rule := self._access.row_filter(caller, pair)) is None:
            return True
        return await self._database.read(lambda rows: self._history_access.sees_changes(rows, caller, pair, rule, span))

    async def diff(self, caller: Caller, pair: Pair, ref: int | str, a: int, b: int | None = None) -> dict[str, Any]:
        """The difference between two versions, or a version and now, as a JSON Patch and as readable lines."""

        def read(rows: Rows) -> dict[str, Any]:
            current = self._find(rows, caller, pair, ref).stored
            old = self._state_at_version(rows, caller, pair, current, a)
            new = self._state_at_version(rows, caller, pair, current, current.version if b is None else b)
            hidden = self._access.hidden_in(caller, pair, current, old, new)
            found = [one for one in differences(old.data, new.data) if not (one.path and one.path[0] in hidden)]
            return {
                "uuid": current.uuid,
                "from": a,
                "to": new.version,
                "patch": [one.operation() for one in found],
                "changes": [one.sentence() for one in found],
            }

        return await self._database.read(read)

    async def verify(self, caller: Caller, pair: Pair, ref: int | str) -> Verification:
        """Check that an object's history is complete and unmodified."""

        def read(rows: Rows) -> Verification:
            uuid, current = self._find_or_purged(rows, caller, pair, ref)
            existing = store.existing_by_uuid(rows, [uuid]).get(uuid)
            history = change_log.all_changes_of(rows, self._database.dialect, uuid)
            verdict = verify_chain(uuid, history, existing, self._history_access.may_read_change(caller, pair, current))
            return replace(verdict, head=None) if self._access.hides_some(caller, pair) else verdict

        return await self._database.read(read)

    async def revert(
        self,
        caller: Caller,
        pair: Pair,
        ref: int | str,
        *,
        version: int | None = None,
        at: float | str | None = None,
        change: int | None = None,
        if_version: int | None = None,
    ) -> StoredObject:
        """Restore the data of a version, at a time, or after a change."""
        if sum(one is not None for one in (version, at, change)) != 1:
            raise InvalidInput("Say where to go back to.", hint="Give one of version, at and change.")
        point = AsOf(at=None if at is None else parse_time(at, "at", self._clock.now()), change=change)

        def attempt(pair: Pair) -> Callable[[Transaction], StoredObject]:
            context = self._objects.write_context(caller, pair)

            def revert(tx: Transaction) -> StoredObject:
                check_current(tx, self._database.dialect, pair)
                moment = self._history_access.time_of(tx, caller, point) if version is None else 0.0
                existing = self._find(tx, caller, pair, ref)
                check_version(existing.stored, if_version)
                if version is not None:
                    past = self._state_at_version(tx, caller, pair, existing.stored, version)
                else:
                    past = self._history_access.state(tx, caller, pair, existing.stored, moment)
                if past is None:
                    raise NotFound(f"Object {existing.stored.uuid} did not exist then.", hint="Look at its history.")
                return self._restore_state(tx, context, existing, past)

            return revert

        return await self._objects.write_with_retry(caller, pair, attempt)

    async def undo_last(
        self, caller: Caller, pair: Pair, ref: int | str, *, if_version: int | None = None
    ) -> StoredObject:
        """Undo the last change of an object that is not a migration, even a deletion."""
        self._access.require_write(caller)

        def attempt(pair: Pair) -> Callable[[Transaction], StoredObject]:
            def undo(tx: Transaction) -> StoredObject:
                check_current(tx, self._database.dialect, pair)
                existing = self._find(tx, caller, pair, ref)
                current = existing.stored
                check_version(current, if_version)
                last = change_log.last_edit(tx, current.uuid)
                if last is None or last[1] == 1:
                    raise NothingToUndo(
                        f"Object {current.uuid} has only one version.", hint="action=delete takes it away."
                    )
                number, version, action = last
                before = change_log.state_at_version(tx, current, version - 1)
                if before is not None and before[1]:
                    raise NothingToUndo(
                        f"The last change of {current.uuid} brought it back.", hint="action=delete deletes it again."
                    )
                past = self._state_at_version(tx, caller, pair, current, version - 1)
                context = self._objects.write_context(caller, pair, f"undo:{number}")
                done = self._restore_state(tx, context, existing, past)
                return msgspec.structs.replace(done, undone={"version": version, "action": action})

            return undo

        return await self._objects.write_with_retry(caller, pair, attempt)

    def _restore_state(
        self, tx: Transaction, context: WriteContext, existing: ExistingObject, past: StoredObject
    ) -> StoredObject:
        """Restore a past state, if the caller may and the schema still allows it."""
        past = OldStates(tx).migrated(context.pair.definition, past)
        pending = self.revert_change(context, existing, past)
        if pending is None:
            return existing.stored.altered(unchanged=True)
        return self._objects.writer.write_one(tx, context, pending).altered(warnings=past.warnings)

    def revert_change(
        self, context: WriteContext, existing: ExistingObject, past: StoredObject
    ) -> PendingChange | None:
        """The change that restores a past state, given in today's form; None if it equals the current one."""
        writer, current = self._objects.writer, existing.stored
        if current.is_deleted:
            self._access.check_object(context.caller, context.pair, "delete", current)
        else:
            writer.editable_object(context, existing, current.uuid, None)
        if past.text == current.text and not current.is_deleted:
            return None
        self._access.writable(context.caller, context.pair, past.data, current.data, current.owner)
        definition = context.pair.definition
        if not definition.soft and not definition.is_valid(past.data):
            raise validation_error(definition.problems(past.data), "That state")
        return writer.pending_update(context, "revert", existing, past.data, past.text)

    # internals

    def _find(self, rows: Rows, caller: Caller, pair: Pair, ref: int | str) -> ExistingObject:
        existing = find_object(rows, self._database.dialect, self._access, caller, pair, ref, deleted=True)
        if existing is None:
            raise object_not_found(pair, ref)
        return existing

    def _find_or_purged(
        self, rows: Rows, caller: Caller, pair: Pair, ref: int | str
    ) -> tuple[str, StoredObject | None]:  # fmt: skip
        """The object and its uuid. The object is None if it was purged; only administrators see that history."""
        if is_admin(caller.principal) and isinstance(ref, str):
            uuid = rows.value(FIND_HISTORY, ref.lower().replace("\0", ""), pair.register.id, pair.schema.id)
            if uuid is not None and not store.existing_by_uuid(rows, [uuid]):
                return str(uuid), None
        stored = self._find(rows, caller, pair, ref).stored
        return stored.uuid, stored

    def _changes(
        self, rows: Rows, caller: Caller, pair: Pair, uuid: str, current: StoredObject | None, before: int | None,
        at_once: int,
    ) -> Iterator[Change]:  # fmt: skip
        """The readable changes of an object, newest first, read in batches."""
        judged = self._access.depends_on_data(caller, pair)
        known = self._history_access.may_read_change(caller, pair, current)
        while at_once:
            portion = change_log.changes_of(rows, self._database.dialect, uuid, limit=at_once, before=before)
            yield from (filter(known, portion) if judged else portion)
            if len(portion) < at_once:
                return
            before = portion[-1].seq

    def _state_at_version(
        self, rows: Rows, caller: Caller, pair: Pair, current: StoredObject, version: int
    ) -> StoredObject:
        """A version of an object; NotFound if the caller could not see it, whatever the object is now."""
        found = change_log.state_at_version(rows, current, version) if version < 2**62 else None
        if found is None or not self._access.sees_past(caller, pair, current, found[0]):
            raise NotFound(
                f"Object {current.uuid} has no version {version} that you may read.",
                hint="Its history lists the versions you may read.",
            )
        stored, is_deleted = found
        if is_deleted:
            raise Conflict(f"Version {version} of {current.uuid} is a deletion.", hint="Choose the one before.")
        return stored
