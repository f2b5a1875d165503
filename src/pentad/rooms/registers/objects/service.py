"""The objects API. Every write is one transaction and returns what it wrote.

A write is retried if the schema changed meanwhile, or if another writer just took a unique value (so that the error can
name that object).
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, PentadError
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.sql import chunks
from pentad.platform import Neighbours
from pentad.rooms.registers.access.rules import AccessRules, is_admin
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.models import Caller, Operation, Outcome, Pair, StoredObject
from pentad.rooms.registers.objects import idempotency, locks, store
from pentad.rooms.registers.objects import purge as purging
from pentad.rooms.registers.objects.deletion import DeletionReport
from pentad.rooms.registers.objects.lookup import find_object, object_not_found
from pentad.rooms.registers.objects.old_states import OldStates
from pentad.rooms.registers.objects.pending_changes import (
    ExistingObject,
    PendingChange,
    WriteContext,
    WriteStep,
    atomic_failure,
    current_time,
    provenance_of,
    row_error,
    write_steps,
)
from pentad.rooms.registers.objects.reader import ObjectReader
from pentad.rooms.registers.objects.uri_references import NONE_UNREADABLE, Unreadable, UriReferences
from pentad.rooms.registers.objects.writer import ChangeNotifications, ObjectWriter, notify_changes
from pentad.rooms.registers.presentation import readable_warnings
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.schema_locks import StaleDefinition, check_current
from pentad.search.index import SearchIndex

T = TypeVar("T")

MOST_OPERATIONS: Final = 10_000
_TRIES: Final = 10


class Objects(ObjectReader):
    """Reads and writes objects for a caller."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        catalogue: Catalogue,
        access: AccessRules,
        index: SearchIndex,
        neighbours: Neighbours,
    ) -> None:
        super().__init__(database, clock, catalogue, access, index)
        self._uri_references = UriReferences(neighbours)
        self.writer = ObjectWriter(database.dialect, catalogue, access)

    async def create(
        self, caller: Caller, pair: Pair, data: Mapping[str, Any], *, uuid: str | None = None,
        idempotency_key: str | None = None,
    ) -> StoredObject:  # fmt: skip
        return await self.write(caller, pair, Operation("create", dict(data), uuid=uuid), idempotency_key)

    async def write(
        self, caller: Caller, pair: Pair, operation: Operation, idempotency_key: str | None = None
    ) -> StoredObject:
        """Carry out one operation."""
        key = idempotency_key
        if key is None:
            return await self._write_all(caller, pair, [operation], True, None, lambda steps: _stored(steps[0]))

        def again(rows: Rows, row: Any) -> Any:
            """The stored answer, limited to what the caller may still read."""
            then = StoredObject(*row)
            ref = then.uuid if operation.ref is None else operation.ref
            existing = store.existing_by_uuid(rows, [then.uuid]).get(then.uuid)
            self._access.found(caller, pair, "read", ref, None if existing is None else existing.stored)
            return (*self._history_access.readable(rows, caller, pair, [then])[0].row, None, then.unchanged)

        return StoredObject(
            *await self._write_all(caller, pair, [operation], True, key, lambda steps: _row_of(steps[0]), again)
        )

    async def replace(
        self, caller: Caller, pair: Pair, ref: int | str, data: Mapping[str, Any], *, if_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> StoredObject:  # fmt: skip
        """Replace all data of the object."""
        operation = Operation("update", dict(data), ref, if_version=if_version)
        return await self.write(caller, pair, operation, idempotency_key)

    async def delete(
        self, caller: Caller, pair: Pair, ref: int | str, *, if_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> StoredObject:  # fmt: skip
        """Soft-delete the object, with cascades; it can be restored."""
        return await self.write(caller, pair, Operation("delete", None, ref, if_version=if_version), idempotency_key)

    async def bulk(
        self,
        caller: Caller,
        pair: Pair,
        operations: Sequence[Operation],
        *,
        atomic: bool,
        idempotency_key: str | None = None,
    ) -> list[Outcome]:
        """Run many writes, with one outcome each; with `atomic`, all or none."""
        if len(operations) > MOST_OPERATIONS:
            raise LimitExceeded(
                f"{len(operations)} operations are more than {MOST_OPERATIONS} at a time.",
                hint="Send them in portions.",
            )

        def answer(steps: Sequence[WriteStep]) -> list[Outcome]:
            return [step.outcome(pair.definition) for step in steps]

        outcomes = await self._write_all(caller, pair, operations, atomic, idempotency_key, answer)
        return outcomes if idempotency_key is None else msgspec.convert(outcomes, list[Outcome])  # stored as plain JSON

    async def can_delete(self, caller: Caller, pair: Pair, ref: int | str) -> DeletionReport:
        """What deleting the object would do."""
        context = self.write_context(caller, pair)

        def look(rows: Rows) -> DeletionReport:
            existing = find_object(rows, self._database.dialect, self._access, caller, pair, ref)
            if existing is None or existing.stored.is_deleted:
                raise object_not_found(pair, ref)
            return self.writer.deletion.plan(rows, context, existing).report

        return await self._database.read(look)

    async def restore(self, caller: Caller, pair: Pair, ref: int | str) -> StoredObject:
        """Restore a deleted object, applying the schema migrations since its deletion."""

        def restore(tx: Transaction, context: WriteContext, existing: ExistingObject) -> StoredObject:
            found, change = self._restored(context, existing, OldStates(tx))
            if change is None:
                return found
            return self.writer.write_one(tx, context, change).altered(warnings=found.warnings)

        return await self._with_existing(caller, pair, ref, restore)

    async def purge(self, caller: Caller, pair: Pair, ref: int | str) -> None:
        """Erase a deleted object and all its states. The record of who changed it, and when, stays."""

        def purge(tx: Transaction, context: WriteContext, existing: ExistingObject) -> None:
            old = existing.stored
            self._access.check_object(caller, context.pair, "delete", old)
            if not old.is_deleted:
                raise Conflict(f"Object {old.uuid} is not deleted.", hint="Delete it first; purging cannot be undone.")
            pair_of = self._catalogue.pairs_in(tx)
            purging.purge(
                tx, self._database.dialect, self._access, pair_of, [existing], context.now, context.provenance
            )

        await self._with_existing(caller, pair, ref, purge)

    async def purge_all(self, caller: Caller, pair: Pair, query: Query, confirm: str | None) -> int:
        """Purge the deleted objects a query finds, after confirmation; returns their number.

        Objects the caller may see but not delete are left alone.
        """
        self._access.check(caller, pair, "delete")
        found = [
            stored
            async for stored in self._deleted_in(caller, pair, query)
            if purging.may_purge(self._access, caller, pair, stored)
        ]
        if not found:
            return 0
        uuids = [stored.uuid for stored in found]
        report = {"register": pair.register.slug, "schema": pair.schema.slug, "objects": len(uuids)}
        purging.agree_to_purge(confirm, uuids, f"of {pair.label}", report)
        return await self._catalogue.changes.purge(caller, uuids)

    async def restore_all(self, caller: Caller, pair: Pair, query: Query) -> list[Outcome]:
        """Restore the deleted objects a query finds, in batches, with one outcome each."""
        self._access.check(caller, pair, "delete")
        outcomes: list[Outcome] = []
        uuids = [stored.uuid async for stored in self._deleted_in(caller, pair, query)]
        # a write-back may change any object, so with write-backs objects are restored one at a time
        for part in chunks(uuids, 1 if pair.definition.written_back else purging.PORTION):
            attempt = partial(self._restore_portion, caller, part)
            for uuid, found in (await self.write_with_retry(caller, pair, attempt)).items():
                if isinstance(found, PentadError):
                    outcomes.append(Outcome(len(outcomes), "failed", uuid, None, row_error(found)))
                else:
                    warnings = readable_warnings(self._access, caller, pair, found) or None
                    outcomes.append(Outcome(len(outcomes), "restored", uuid, found.version, warnings=warnings))
        return outcomes

    def _restore_portion(
        self, caller: Caller, uuids: Sequence[str], pair: Pair
    ) -> Callable[[Transaction], dict[str, StoredObject | PentadError]]:
        """Restore as many of these deleted objects as possible; returns the result of each."""

        def restore(tx: Transaction) -> dict[str, StoredObject | PentadError]:
            check_current(tx, self._database.dialect, pair)
            context, notifications = self.write_context(caller, pair), ChangeNotifications()
            existing, states = store.existing_by_uuid(tx, uuids), OldStates(tx)
            found: dict[str, StoredObject | PentadError] = {}
            pending: list[PendingChange] = []
            for uuid in uuids:
                here = existing.get(uuid)
                if here is None or not self._access.sees_object(caller, pair, here.stored):
                    found[uuid] = object_not_found(pair, uuid)
                    continue
                try:
                    found[uuid], change = self._restored(context, here, states)
                except PentadError as error:
                    found[uuid] = error
                else:
                    pending += [] if change is None else [change]
            found |= self.writer.write_prepared(tx, context, pending, notifications, write_back=True)
            self.writer.send(tx, notifications)
            return found

        return restore

    def _restored(
        self, context: WriteContext, existing: ExistingObject, states: OldStates
    ) -> tuple[StoredObject, PendingChange | None]:
        """A deleted object after the schema migrations since, and the change that restores it; None if it is not
        deleted.
        """
        if not existing.stored.is_deleted:
            return existing.stored, None
        self._access.check_object(context.caller, context.pair, "delete", existing.stored)
        past = states.migrated(context.pair.definition, existing.stored)
        change = self.writer.pending_update(context, "restore", existing, past.data, past.text)
        return change.after.altered(warnings=past.warnings), change

    async def _deleted_in(self, caller: Caller, pair: Pair, query: Query) -> AsyncGenerator[StoredObject]:
        """All deleted objects a query finds."""
        page = replace(query, limit=purging.PORTION, offset=0, cursor=None, count=False, sort=(), facets=())
        for count in range(0, purging.MOST_AT_ONCE + 1, purging.PORTION):
            found = await self.find(caller, pair, page)
            purging.check_count(count + len(found.rows))
            for row in found.rows:
                if (stored := StoredObject(*row)).is_deleted:
                    yield stored
            if found.cursor is None:
                return
            page = replace(page, cursor=found.cursor)

    async def lock(
        self, caller: Caller, pair: Pair, ref: int | str, *, seconds: float = 3600, process: str | None = None
    ) -> StoredObject:
        """Temporarily keep others from changing the object. The same caller may extend the lock."""

        def lock(tx: Transaction, context: WriteContext, existing: ExistingObject) -> StoredObject:
            existing = self.writer.editable_object(context, existing, ref, None)
            return self._write_lock(tx, context, locks.lock_change(context, existing, seconds, process))

        return await self._with_existing(caller, pair, ref, lock)

    async def unlock(self, caller: Caller, pair: Pair, ref: int | str) -> StoredObject:
        """Release the lock."""

        def unlock(tx: Transaction, context: WriteContext, existing: ExistingObject) -> StoredObject:
            if existing.stored.is_deleted:
                raise object_not_found(pair, ref)
            self._access.check_object(caller, context.pair, "update", existing.stored)
            pending = locks.unlock_change(context, existing, administrator=is_admin(caller.principal))
            return existing.stored if pending is None else self._write_lock(tx, context, pending)

        return await self._with_existing(caller, pair, ref, unlock)

    # for other modules of the room

    def pairs_in(self, rows: Rows) -> Callable[[int, int], Pair]:
        """A function that finds the pairs of stored objects in one unit of work."""
        return self._catalogue.pairs_in(rows)

    async def unreadable(self, caller: Caller, pair: Pair, operations: Iterable[Operation]) -> Unreadable:
        """The URIs in operations that lead to nothing the caller may read, for `write_context`."""
        if not pair.definition.uri_references:
            return NONE_UNREADABLE
        return await self._uri_references.unreadable(caller.principal, pair.definition, operations)

    def write_context(
        self, caller: Caller, pair: Pair, plan: str | None = None, unreadable: Unreadable = NONE_UNREADABLE
    ) -> WriteContext:
        return WriteContext(caller, pair, current_time(self._clock), provenance_of(caller, plan), unreadable)

    async def write_with_retry(
        self, caller: Caller, pair: Pair, attempt: Callable[[Pair], Callable[[Transaction], T]]
    ) -> T:
        """Write, and retry with the current definition if the schema changed or a unique value was just taken."""
        for tries_left in reversed(range(_TRIES)):
            try:
                return await self._catalogue.locks.write(attempt(pair))
            except StaleDefinition:
                if not tries_left:
                    raise Conflict(f"The schema {pair.schema.slug!r} keeps changing.", hint="Try again.") from None
                self._catalogue.forget()
                pair = await self._catalogue.pair(caller, pair.register.id, pair.schema.id)
            except Conflict as error:
                if not tries_left or error.details != {"rule": "unique"}:
                    raise
        raise AssertionError

    # internals

    async def _write_all(
        self,
        caller: Caller,
        pair: Pair,
        operations: Sequence[Operation],
        atomic: bool,
        key: str | None,
        answer: Callable[[Sequence[WriteStep]], T],
        again: Callable[[Rows, T], T] | None = None,
    ) -> T:
        request = idempotency.fingerprint(pair.register.id, pair.schema.id, atomic, operations) if key else b""
        resolved = await self._resolve_natural_keys(caller, pair, operations)
        unreadable = await self.unreadable(caller, pair, operations)

        def attempt(pair: Pair) -> Callable[[Transaction], T]:
            context = self.write_context(caller, pair, unreadable=unreadable)
            ready = [WriteStep(step.index, step.operation, error=step.error) for step in resolved]
            self.writer.prepare_creates(context, ready)
            # once a row has failed, an atomic write needs no transaction; a known key may still have an answer
            if atomic and key is None and (error := atomic_failure(ready)) is not None:
                raise error

            def write(tx: Transaction) -> T:
                if key is not None:
                    known = idempotency.recall(tx, caller.principal.id, key, request, context.now)
                    if known is not None:
                        return known if again is None else again(tx, known)
                steps = [WriteStep(step.index, step.operation, step.pending, error=step.error) for step in ready]
                self.writer.write(tx, context, steps)
                if atomic and (error := atomic_failure(steps)) is not None:
                    raise error
                given = answer(steps)
                if key is not None:
                    idempotency.store(tx, caller.principal.id, key, request, given, context.now)
                return given

            return write

        return await self.write_with_retry(caller, pair, attempt)

    async def _resolve_natural_keys(
        self, caller: Caller, pair: Pair, operations: Sequence[Operation]
    ) -> list[WriteStep]:  # fmt: skip
        """The steps of a write with natural keys replaced by uuids; a step fails if its key is not found."""
        steps = write_steps(operations)
        names = self._catalogue.definitions.facts(pair.definition).references_by_key
        if names and self.writer.natural_keys.occur_in(pair, operations):
            await self._database.read(lambda rows: self.writer.natural_keys.resolve(rows, caller, pair, steps))
        return steps

    async def _with_existing(
        self, caller: Caller, pair: Pair, ref: int | str, work: Callable[[Transaction, WriteContext, ExistingObject], T]
    ) -> T:
        """Run one transaction on an object the caller may see, deleted or not."""

        def attempt(pair: Pair) -> Callable[[Transaction], T]:
            context = self.write_context(caller, pair)

            def write(tx: Transaction) -> T:
                check_current(tx, self._database.dialect, pair)
                existing = find_object(tx, self._database.dialect, self._access, caller, pair, ref, deleted=True)
                if existing is None:
                    raise object_not_found(pair, ref)
                return work(tx, context, existing)

            return write

        return await self.write_with_retry(caller, pair, attempt)

    def _write_lock(self, tx: Transaction, context: WriteContext, pending: PendingChange) -> StoredObject:
        store.write_changes(tx, self._database.dialect, [pending], context.provenance)
        notify_changes(tx, self._database.dialect, [pending])
        return pending.after


def _stored(step: WriteStep) -> StoredObject:
    if step.stored is None:
        raise InvalidInput("The operation wrote nothing.")
    return msgspec.structs.replace(step.stored, unchanged=True) if step.status == "unchanged" else step.stored


def _row_of(step: WriteStep) -> Any:
    stored = _stored(step)
    return (*stored.row, None, stored.unchanged)
