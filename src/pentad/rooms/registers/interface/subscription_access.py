"""Who may subscribe to a resource: callers who may read it. Checked on subscribing and before each notification.

The check looks at the current state, so losing the right ends the notifications. If something is gone, or a list
changed, the signal carries its audience. A change among the objects of a pair is for callers who may see one of the
changed objects: if no rule hides anything from a caller, it is notified at once; otherwise the objects are looked up.
"""

from collections.abc import Mapping
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Rows
from pentad.kernel.principal import Principal
from pentad.mcp.registry import Guard
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.interface.resources import (
    one_object,
    one_register,
    one_schema,
    one_view,
    pair_objects,
    saved_query,
    split_moment,
)
from pentad.rooms.registers.models import Audience, Caller, Pair, read_audience
from pentad.rooms.registers.objects.lookup import find_object, object_not_found
from pentad.rooms.registers.objects.store import ChangeSpan
from pentad.rooms.registers.service import Registers

Variables = Mapping[str, str]


async def _register(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> None:
    await registers.catalogue.get_register(Caller(principal), at["id"])


async def _schema(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> None:
    await registers.catalogue.get_schema(Caller(principal), at["id"])


async def _pair(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> None:
    schema, _ = split_moment(at["schema"])
    await registers.catalogue.pair(Caller(principal), at["register"], schema)


async def _object(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> None:
    caller = Caller(principal)
    ref, _ = split_moment(at["id"])
    pair = await registers.catalogue.pair(caller, at["register"], at["schema"])

    def look(rows: Rows) -> bool:
        """Whether it may be followed: it exists, or was deleted after the subscription."""
        dialect = registers.platform.database.dialect
        held = find_object(rows, dialect, registers.access, caller, pair, ref, deleted=notifying)
        return held is not None and (notifying or not held.stored.is_deleted)

    if not await registers.platform.database.read(look):
        raise object_not_found(pair, ref)


async def _view(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> None:
    caller = Caller(principal)
    view = await registers.views.get(caller, at["id"])
    pair = await registers.catalogue.pair(caller, view.register, view.schema)
    if notifying:
        owner = await registers.platform.database.read(
            lambda rows: registers.platform.owner_now(rows, view.saved_owner)
        )
        if owner is None:
            return
        other = Caller(owner)
        here = _sees_as_much(registers.access, caller, other, pair)
        if not here or not await registers.objects.sees_as_much(caller, other, view.uses):
            raise NotFound("The answer that changed is not the one you see.")


def _sees_as_much(access: AccessRules, caller: Caller, owner: Caller, pair: Pair) -> bool:
    """Whether the caller, such as a key of the owner with fewer rights, sees everything that the owner sees.

    Only the owner's result is compared, so a caller who sees less must not learn that it changed.
    """
    rule = access.row_filter(caller, pair)
    same = rule is None or rule == access.row_filter(owner, pair)
    return same and access.hidden(caller, pair) <= access.hidden(owner, pair)


async def may_be_notified(registers: Registers, principal: Principal, audience: str) -> bool:
    """Whether a follower belongs to the audience of a change, or may see one of the objects that changed."""
    change = read_audience(audience)
    if isinstance(change, Audience):
        return registers.access.is_of(principal, change)
    caller = Caller(principal)
    pair = await registers.catalogue.pair(caller, change.register, change.schema)
    return await registers.history.sees_changes(caller, pair, ChangeSpan(change.xact, change.after, change.last))


GUARDS: Final[Mapping[str, Guard]] = {
    one_register.uri: _register,
    one_schema.uri: _schema,
    pair_objects.uri: _pair,
    one_object.uri: _object,
    one_view.uri: _view,
    saved_query.uri: _view,
}
