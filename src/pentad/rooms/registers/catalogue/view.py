"""What of the catalogue a caller may know of, within one unit of work.

A slug means the one of the caller's own organisation first, then one that everybody may read. Whatever else it names,
and whatever id or uuid is another organisation's, is answered to the letter like what does not exist.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from pentad.kernel.ports import Rows
from pentad.rooms.registers import store
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.refusals import missing_entity
from pentad.rooms.registers.models import Caller, Register, Schema
from pentad.rooms.registers.store import Ref

E = TypeVar("E", Register, Schema)


class Sight:
    """One caller's view of registers and schemas."""

    def __init__(self, access: AccessRules, rows: Rows, caller: Caller) -> None:
        self._access = access
        self._rows = rows
        self._caller = caller
        self._own = access.organisation(caller)
        self._schemas: dict[int, Schema | None] = {}

    def register(self, ref: Ref) -> Register:
        """A register with all of its schemas; NotFound, with what there is, where there is none for the caller."""
        for found in self._own_first(store.named_registers(self._rows, ref)):
            if self.sees(found):
                return found
        raise missing_entity("register", ref, self.registers())

    def schema(self, ref: Ref) -> Schema:
        """A schema; NotFound, with what there is, where there is none for the caller."""
        for found in self._own_first(store.named_schemas(self._rows, ref)):
            if self._access.sees(self._caller, found):
                return found
        raise missing_entity("schema", ref, self.schemas())

    def registers(self) -> list[Register]:
        """All registers, each as it may be shown."""
        if not self._access.is_free(self._caller):
            self._schemas.update((one.id, one) for one in store.all_schemas(self._rows))
        return [self.shown(one) for one in store.all_registers(self._rows) if self.sees(one)]

    def schemas(self) -> list[Schema]:
        return [one for one in store.all_schemas(self._rows) if self._access.sees(self._caller, one)]

    def shown(self, register: Register) -> Register:
        """A register with those of its schemas that the caller may know of."""
        if self._access.is_free(self._caller):
            return register
        return replace(register, schemas=tuple(key for key in register.schemas if self.schema_in(register, key)))

    def sees(self, register: Register) -> bool:
        """Whether a register is the caller's to know of, by itself or for a schema in it that everybody may read."""
        return self._access.sees(self._caller, register) or any(
            self.schema_in(register, key) is not None for key in register.schemas
        )

    def schema_in(self, register: Register, key: int) -> Schema | None:
        """One of a register's schemas, if the caller may know of both."""
        if key not in self._schemas:
            self._schemas[key] = store.find_schema(self._rows, key)
        found = self._schemas[key]
        return found if found is not None and self._access.sees_both(self._caller, register, found) else None

    def _own_first(self, found: Iterable[E]) -> list[E]:
        return sorted(found, key=lambda one: one.organisation != self._own)
