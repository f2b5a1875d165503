"""Who may follow what by its address: whoever may read it, asked when a subscription is made and before each telling.

Telling looks at what is there now: rights that were taken away end it. Where something is gone, or a list changed, the
announcement says who may hear of it. A pair is known in memory; any other object or query costs one look-up.
"""

from collections.abc import Mapping
from typing import Final

from pentad.kernel.ports import Rows
from pentad.kernel.principal import Principal
from pentad.mcp.registry import Guard
from pentad.rooms.registers.audiences import read_audience
from pentad.rooms.registers.models import Caller
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
    await registers.catalogue.get_register(Caller(principal), at["id"])


async def _schema(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    await registers.catalogue.get_schema(Caller(principal), at["id"])


async def _pair(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    schema, _ = split_moment(at["schema"])
    await registers.catalogue.pair(Caller(principal), at["register"], schema)


async def _object(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    caller = Caller(principal)
    ref, _ = split_moment(at["id"])
    pair = await registers.catalogue.pair(caller, at["register"], at["schema"])

    def look(rows: Rows) -> bool:
        """Whether it may be followed: it lives, or has been deleted since it was."""
        held = named_object(rows, registers.access, caller, pair, ref)
        return held is not None and (told or not held.stored.is_deleted)

    if not await registers.platform.database.read(look):
        raise missing(pair, ref)


async def _saved_query(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    caller = Caller(principal)
    saved = await registers.saved.get(caller, at["id"])
    await registers.catalogue.pair(caller, saved.register, saved.schema)


def hears(registers: Registers, principal: Principal, audience: str) -> bool:
    """Whether a change that was announced for an audience is to be told to somebody."""
    return registers.access.is_of(principal, read_audience(audience))


GUARDS: Final[Mapping[str, Guard]] = {
    one_register.uri: _register,
    one_schema.uri: _schema,
    pair_objects.uri: _pair,
    one_object.uri: _object,
    saved_query.uri: _saved_query,
}
