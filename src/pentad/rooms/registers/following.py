"""Who may follow an address: those who may read it. It is checked when they subscribe and before each notification.

The check looks at what is there now, so losing the right ends the notifications. If something is gone, or a list
changed, the announcement says who may hear of it. A change among the objects of a pair is for those who may see one of
the objects that changed: callers from whom no rule hides anything hear of it at once, others cost a look-up.
"""

from collections.abc import Mapping
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Rows
from pentad.kernel.principal import Principal
from pentad.mcp.registry import Guard
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.audiences import Audience, read_audience
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.objects.lookup import find_object, object_not_found
from pentad.rooms.registers.objects.store import ChangeSpan
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
        held = find_object(rows, registers.access, caller, pair, ref)
        return held is not None and (told or not held.stored.is_deleted)

    if not await registers.platform.database.read(look):
        raise object_not_found(pair, ref)


async def _saved_query(registers: Registers, principal: Principal, at: Variables, told: bool) -> None:
    caller = Caller(principal)
    saved = await registers.saved.get(caller, at["id"])
    pair = await registers.catalogue.pair(caller, saved.register, saved.schema)
    if told:
        owner = await registers.platform.database.read(
            lambda rows: registers.platform.owner_now(rows, saved.saved_owner)
        )
        if owner is not None and not _sees_as_much(registers.access, caller, Caller(owner), pair):
            raise NotFound("The answer that changed is not the one you see.")


def _sees_as_much(access: AccessRules, caller: Caller, owner: Caller, pair: Pair) -> bool:
    """Whether nothing the owner of a query sees is hidden from the caller, which may be a lesser key of the owner's.

    The owner's answer is the one that is compared, so what only the owner sees must not be told to the key.
    """
    rule = access.row_filter(caller, pair)
    same = rule is None or rule == access.row_filter(owner, pair)
    return same and access.hidden(caller, pair) <= access.hidden(owner, pair)


async def hears(registers: Registers, principal: Principal, audience: str) -> bool:
    """Whether a follower is of the audience that a change was announced for.

    A follower of a pair hears of changes to objects it may see. Where rules hide none from it, that needs no look-up.
    """
    wanted = read_audience(audience)
    if isinstance(wanted, Audience):
        return registers.access.is_of(principal, wanted)
    caller = Caller(principal)
    pair = await registers.catalogue.pair(caller, wanted.register, wanted.schema)
    return await registers.history.sees_changes(caller, pair, ChangeSpan(wanted.xact, wanted.after, wanted.last))


GUARDS: Final[Mapping[str, Guard]] = {
    one_register.uri: _register,
    one_schema.uri: _schema,
    pair_objects.uri: _pair,
    one_object.uri: _object,
    saved_query.uri: _saved_query,
}
