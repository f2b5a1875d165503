"""Announces changes of registers and schemas to every process and follower, and purges objects before a deletion.

Schema changes run one at a time, and object writes wait for them (`schema_locks.py`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from pentad.kernel.clock import Clock
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import ANONYMOUS
from pentad.mcp.changes import list_changed, resource_updated
from pentad.rooms.registers import store
from pentad.rooms.registers.access.authorization import read_block
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue import entries
from pentad.rooms.registers.catalogue.definition_checks import DefinitionChecks
from pentad.rooms.registers.catalogue.entries import refuse_nonempty
from pentad.rooms.registers.catalogue.pairs import Pairs
from pentad.rooms.registers.models import Caller, Register, Schema
from pentad.rooms.registers.objects.pending_changes import current_time, provenance_of
from pentad.rooms.registers.objects.purge import PORTION, agree_to_purge, purge_portion, purgeable
from pentad.rooms.registers.schema_locks import lock_catalogue

E = TypeVar("E", Register, Schema)
T = TypeVar("T")

CHANNEL: Final = "registers.catalogue"


class CatalogueChanges:
    """Writes to the catalogue, shared by registers and schemas."""

    def __init__(self, database: Database, clock: Clock, access: AccessRules, pairs: Pairs) -> None:
        self._database = database
        self._clock = clock
        self._access = access
        self._pairs = pairs

    async def write(self, work: Callable[[Transaction], T]) -> T:
        try:
            return await self._database.write(work)
        finally:
            self._pairs.forget()

    async def write_schemas(self, work: Callable[[Transaction], T]) -> T:
        """Run a unit of work that writes schemas, or objects because of them; only one runs at a time."""

        def locked(tx: Transaction) -> T:
            lock_catalogue(tx, self._database.dialect)
            return work(tx)

        try:
            return await self._database.write(locked, locking=True)
        finally:
            self._pairs.forget()

    def announce_change(self, tx: Transaction, entity: E, before: E | None = None) -> E:
        self.announce(tx, entity, before or entity)
        resource_updated(tx, entity.uri, self._audience(tx, entity))
        return entity

    def announce(self, tx: Transaction, *states: Register | Schema) -> None:
        """After the commit, signal to every process that a register or schema changed.

        Followers of the lists are notified if they may see one of its `states`, before or after the change.
        """
        tx.signal(CHANNEL)
        for audience in {self._audience(tx, state) for state in states}:
            list_changed(tx, "resources", "registers", audience)
            list_changed(tx, "generated_tools", "registers", audience)
            resource_updated(tx, "openregister://registers", audience)
            resource_updated(tx, "openregister://schemas", audience)

    def _audience(self, rows: Rows, entity: Register | Schema) -> str:
        everybody = Caller(ANONYMOUS)
        if isinstance(entity, Register):
            public = self._pairs.view(rows, everybody).sees(entity)
        else:
            public = self._access.sees(everybody, entity)
        return self._access.audience(entity, public=public).text()

    async def purge_in(
        self,
        caller: Caller,
        kind: store.Kind,
        find: Callable[[Rows], E],
        if_version: str | None,
        confirm: str | None,
        check: Callable[[Rows, E], None] = lambda _rows, _entity: None,
    ) -> None:
        """Purge the deleted objects that remain in a register or schema about to be deleted.

        `check` raises if the deletion is not possible, before anything is purged.
        """

        def look(rows: Rows) -> list[str]:
            entity = find(rows)
            self._access.check_define(caller, entity)
            entries.check_version(entity, if_version)
            pair_of = self._pairs.pairs_in(rows)
            with_count = self._access.is_unrestricted(caller)
            refuse_nonempty(rows, kind, entity, with_count=with_count, purgeable=True)
            found = purgeable(rows, self._access, caller, pair_of, **{kind: entity.id})
            refuse_nonempty(rows, kind, entity, with_count=with_count, purgeable=found is not None)
            check(rows, entity)
            if not found:
                return []
            by_pair = Counter(pair_of(one.register, one.schema).label for one in found)
            uuids = [one.uuid for one in found]
            agree_to_purge(
                confirm, uuids, f"of {kind} {entity.slug!r}", {"deleted": len(uuids), "by_pair": dict(by_pair)}
            )
            return uuids

        await self.purge(caller, await self._database.read(look))

    async def purge(self, caller: Caller, uuids: Sequence[str]) -> int:
        """Purge objects, in batches, if they are still deleted and the caller may purge them; returns their number."""
        purged = 0
        for start in range(0, len(uuids), PORTION):
            portion, now = uuids[start : start + PORTION], current_time(self._clock)

            def work(tx: Transaction, portion: Sequence[str] = portion, now: float = now) -> int:
                dialect, pair_of = self._database.dialect, self._pairs.pairs_in(tx)
                return purge_portion(tx, dialect, self._access, pair_of, portion, now, provenance_of(caller))

            purged += await self._database.write(work)
        return purged


class Draft(NamedTuple):
    """The fields that a new register and a new schema have in common."""

    uuid: str
    slug: str
    title: str
    version: str
    body: dict[str, Any]


class CatalogueEntries:
    """What the operations on registers share with those on schemas."""

    def __init__(
        self, database: Database, clock: Clock, access: AccessRules, pairs: Pairs, changes: CatalogueChanges
    ) -> None:
        self._database = database
        self._clock = clock
        self._access = access
        self._pairs = pairs
        self._changes = changes
        self._checks = DefinitionChecks(access, pairs.definitions)

    def draft(self, caller: Caller, kind: store.Kind, data: Mapping[str, Any]) -> Callable[[Rows], Draft]:
        """Check a new entry. The rest is determined in the unit of work that stores it."""
        fields = entries.check_fields(kind, data)
        self._access.check_define(caller, None)
        read_block(fields.get("authorization"), "authorization")
        title, uuid = entries.title_of(kind, data), entries.given_uuid(kind, data)

        def finish(rows: Rows) -> Draft:
            organisation = self._checks.choose_organisation(rows, caller, data, self._access.organisation(caller))
            body = entries.body_of(fields, owner=caller.principal.id, organisation=organisation)
            slug = entries.chosen_slug(rows, kind, data, title, organisation, partial(self._access.sees, caller))
            entries.refuse_taken_uuid(rows, kind, uuid)
            return Draft(uuid or str(uuid7(self._clock)), slug, title, entries.first_version(data), body)

        return finish
