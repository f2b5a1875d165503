"""Who may follow what by its address: whoever may read it, asked when a subscription is made and before each telling.

Telling looks at what is there now: rights that were taken away end it, while what is gone can still be told of to those
who followed it. A pair is known in memory; anything else costs one look-up.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Rows
from pentad.kernel.principal import Principal
from pentad.mcp.registry import Guard
from pentad.rooms.registers import catalogue_store
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.refusals import missing
from pentad.rooms.registers.objects.targets import named_object
from pentad.rooms.registers.resources import (
    one_object,
    one_register,
    one_schema,
    pair_objects,
    saved_query,
    split_moment,
)
from pentad.rooms.registers.service import Registers

Variables = Mapping[str, str]


async def _register(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    catalogue = registers.catalogue
    await _look(registers, told, catalogue_store.find_register, catalogue.register_in, Caller(principal), at["id"])


async def _schema(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    catalogue = registers.catalogue
    await _look(registers, told, catalogue_store.find_schema, catalogue.schema_in, Caller(principal), at["id"])


async def _look(
    registers: Registers,
    told: bool,
    find: Callable[[Rows, str], object],
    read: Callable[[Rows, Caller, str], object],
    caller: Caller,
    ref: str,
) -> None:
    def look(rows: Rows) -> None:
        if not told or find(rows, ref) is not None:
            read(rows, caller, ref)

    await registers.platform.database.read(look)


async def _pair(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    schema, _ = split_moment(at["schema"])
    await registers.catalogue.pair(Caller(principal), at["register"], schema)


async def _object(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    caller = Caller(principal)
    ref, _ = split_moment(at["id"])
    pair = await registers.catalogue.pair(caller, at["register"], at["schema"])

    def look(rows: Rows) -> bool:
        """Whether it may be followed: it lives, or has been deleted or purged since it was."""
        held = named_object(rows, registers.access, caller, pair, ref)
        if held is None:
            return told and store.held_by_ref(rows, pair.register.id, pair.schema.id, ref) is None
        return told or not held.stored.is_deleted

    if not await registers.platform.database.read(look):
        raise missing(pair, ref)


async def _saved_query(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    caller = Caller(principal)
    try:
        saved = await registers.saved.get(caller, at["id"])
    except NotFound:
        if told and not await registers.saved.exists(at["id"]):
            return
        raise
    await registers.catalogue.pair(caller, saved.register, saved.schema)


GUARDS: Final[Mapping[str, Guard]] = {
    one_register.uri: _register,
    one_schema.uri: _schema,
    pair_objects.uri: _pair,
    one_object.uri: _object,
    saved_query.uri: _saved_query,
}
