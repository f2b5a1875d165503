"""Lists, finds, creates, changes and deletes registers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.registers import store
from pentad.rooms.registers.access.authorization import read_block
from pentad.rooms.registers.catalogue import entries
from pentad.rooms.registers.catalogue.changes import CatalogueEntries
from pentad.rooms.registers.catalogue.entries import (
    CatalogueView,
    page_of,
    refuse_nonempty,
)
from pentad.rooms.registers.confirmation import confirm_token, require_confirm
from pentad.rooms.registers.models import Caller, Page, Register
from pentad.rooms.registers.objects.pending_changes import current_time
from pentad.rooms.registers.store import Ref


class RegisterEntries(CatalogueEntries):
    """The registers of the catalogue."""

    async def list(self, caller: Caller, limit: int = 100, offset: int = 0) -> Page[Register]:
        return page_of(
            await self._database.read(lambda rows: self._pairs.view(rows, caller).registers()), limit, offset
        )

    async def get(self, caller: Caller, ref: Ref) -> Register:
        def look(rows: Rows) -> Register:
            view = self._pairs.view(rows, caller)
            return view.with_visible_schemas(view.register(ref))

        return await self._database.read(look)

    async def create(self, caller: Caller, data: Mapping[str, Any]) -> Register:
        draft = self.draft(caller, "register", data)
        schemas, now = data.get("schemas") or (), current_time(self._clock)

        def create(tx: Transaction) -> Register:
            made = draft(tx)
            own = tuple(_schema_ids(self._pairs.view(tx, caller), schemas))
            register = Register(0, *made, own, now, now)
            self._checks.refuse_opening(tx, caller, replace(register, body={}, schemas=()), register)
            return self._changes.announce_change(tx, store.insert_register(tx, register))

        return await self._changes.write(create)

    async def update(
        self,
        caller: Caller,
        ref: Ref,
        data: Mapping[str, Any],
        *,
        if_version: str | None = None,
        merge: bool = False,
        confirm: str | None = None,
    ) -> Register:
        """Set the given fields; the others stay. With `merge`, merge objects among them and add to `schemas`.

        Raises ConfirmNeeded if a schema with objects would be detached and `confirm` is not the token of this change.
        """
        fields = entries.check_fields("register", data)
        now = current_time(self._clock)

        def update(tx: Transaction) -> Register:
            view = self._pairs.view(tx, caller)
            current = view.register(ref)
            self._access.check_define(caller, current)
            entries.check_version(current, if_version)
            proposed = entries.apply_fields(current, fields, merge=merge)
            proposed = self._checks.with_slug_and_organisation(tx, caller, "register", proposed, current, data)
            proposed = replace(proposed, schemas=_changed_schemas(view, current, fields, merge=merge))
            self._confirm_detached(tx, caller, current, proposed, confirm)
            if proposed == current:
                return view.with_visible_schemas(current)
            read_block(proposed.body.get("authorization"), "authorization")
            self._checks.refuse_opening(tx, caller, current, proposed)
            if proposed.version == current.version:
                proposed = replace(proposed, version=entries.next_version(current.version))
            proposed = replace(proposed, updated_at=max(now, current.updated_at))
            store.update_register(tx, proposed)
            return view.with_visible_schemas(self._changes.announce_change(tx, proposed, current))

        return await self._changes.write(update)

    def _confirm_detached(
        self, rows: Rows, caller: Caller, current: Register, proposed: Register, confirm: str | None
    ) -> None:
        """ConfirmNeeded if schemas with objects leave the register. Only administrators learn the number of objects."""
        gone = [key for key in current.schemas if key not in proposed.schemas]
        if not gone:
            return
        free, report = self._access.is_unrestricted(caller), list[dict[str, Any]]()
        for schema in filter(None, (store.find_schema(rows, key) for key in gone)):
            count = store.count_pair(rows, current.id, schema.id) if free else None
            if count != 0:
                report.append({"schema": schema.slug, "id": schema.id, **({} if count is None else {"objects": count})})
        if report:
            names = ", ".join(
                f"{one['schema']!r}" + (f" with {counted(one['objects'], 'object')}" if "objects" in one else "")
                for one in report
            )
            token = confirm_token("register", current.id, current.version, gone)
            require_confirm(confirm, token, f"from the register the schemas {names}", {"detached": report})

    async def delete(
        self, caller: Caller, ref: Ref, *, if_version: str | None = None, confirm: str | None = None
    ) -> Register:
        """Delete a register; Conflict while it has objects. Deleted objects are purged after confirmation."""

        def delete(tx: Transaction) -> Register:
            register = self._pairs.register_in(tx, caller, ref)
            self._access.check_define(caller, register)
            entries.check_version(register, if_version)
            refuse_nonempty(tx, "register", register, with_count=self._access.is_unrestricted(caller))
            store.delete_entity(tx, "register", register.id)
            return self._changes.announce_change(tx, register)

        await self._changes.purge_in(
            caller, "register", lambda rows: self._pairs.register_in(rows, caller, ref), if_version, confirm
        )
        return await self._changes.write(delete)


def _changed_schemas(
    view: CatalogueView, current: Register, fields: Mapping[str, Any], *, merge: bool
) -> tuple[int, ...]:
    """The schemas of a register after a change. A merge adds, `detach` removes; schemas hidden from the caller stay."""
    kept = list(current.schemas)
    if fields.get("schemas") is not None:
        given = _schema_ids(view, fields["schemas"])
        unseen = set(current.schemas).difference(view.with_visible_schemas(current).schemas)
        kept = list(dict.fromkeys([*kept, *given])) if merge else [*given, *sorted(unseen)]
    gone = _schema_ids(view, fields.get("detach") or ())
    return tuple(key for key in kept if key not in gone)


def _schema_ids(view: CatalogueView, refs: Sequence[Any]) -> list[int]:
    found: list[int] = []
    for ref in refs:
        if isinstance(ref, bool) or not isinstance(ref, int | str):
            raise InvalidInput("schemas is a list of ids, uuids or slugs of schemas.")
        found.append(view.schema(ref).id)
    return list(dict.fromkeys(found))
