"""Who may subscribe to a resource: callers who may read it. Checked on subscribing and before each notification.

A resource may be named by id, uuid or slug; changes are announced under its URI by id, which the check returns. The
check uses the current state, so losing the right ends the notifications. If something is gone, or a list changed, the
signal carries its audience. A change among a pair's objects is for callers who may see one of the changed objects: if
no rule hides anything from a caller, it is notified at once; otherwise the objects are looked up.
"""

from collections.abc import Mapping
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Rows
from pentad.kernel.principal import Principal
from pentad.mcp.registry import Guard
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.attachments.files import attachment_uri
from pentad.rooms.registers.interface.resources import (
    attachment,
    attachment_text,
    exported_file,
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


async def _register(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> str:
    return (await registers.catalogue.registers.get(Caller(principal), at["id"])).uri


async def _schema(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> str:
    return (await registers.catalogue.schemas.get(Caller(principal), at["id"])).uri


async def _pair(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> str | None:
    schema, moment = split_moment(at["schema"], registers.now())
    pair = await registers.catalogue.pair(Caller(principal), at["register"], schema)
    return pair.uri if moment is None else None  # the past does not change


async def _object(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> str | None:
    caller = Caller(principal)
    ref, moment = split_moment(at["id"], registers.now())
    pair = await registers.catalogue.pair(caller, at["register"], at["schema"])

    def look(rows: Rows) -> str | None:
        """The resource's URI, if it can be followed: it exists, or was deleted after the subscription."""
        dialect = registers.platform.database.dialect
        held = find_object(rows, dialect, registers.access, caller, pair, ref, deleted=notifying)
        return held.stored.uri if held is not None and (notifying or not held.stored.is_deleted) else None

    if (uri := await registers.platform.database.read(look)) is None:
        raise object_not_found(pair, ref)
    return uri if moment is None else None


async def _attachment(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> str | None:
    uri = await _object(registers, principal, at, notifying)
    return None if uri is None else attachment_uri(uri, at["name"])


async def _attachment_text(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> str | None:
    uri = await _attachment(registers, principal, at, notifying)
    return None if uri is None else f"{uri}/text"


async def _view(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> str:
    caller = Caller(principal)
    view = await registers.views.get(caller, at["id"])
    pair = await registers.catalogue.pair(caller, view.register, view.schema)
    if notifying:
        owner = await registers.platform.database.read(
            lambda rows: registers.platform.owner_now(rows, view.saved_owner)
        )
        if owner is None:
            return view.uri
        other = Caller(owner)
        here = _sees_as_much(registers.access, caller, other, pair)
        if not here or not await registers.objects.sees_as_much(caller, other, view.uses):
            raise NotFound("What changed in this view is not visible to you.")
    return view.uri


def _sees_as_much(access: AccessRules, caller: Caller, owner: Caller, pair: Pair) -> bool:
    """Whether the caller, such as an owner's key with fewer rights, sees everything the owner sees.

    Changes are detected in the owner's result, and a caller who sees less must not learn about those.
    """
    rule = access.row_filter(caller, pair)
    same = rule is None or rule == access.row_filter(owner, pair)
    return same and access.hidden(caller, pair) <= access.hidden(owner, pair)


async def may_be_notified(registers: Registers, principal: Principal, audience: str) -> bool:
    """Whether a subscriber is in the audience of a change, or may see one of the changed objects."""
    change = read_audience(audience)
    if isinstance(change, Audience):
        return registers.access.is_of(principal, change)
    caller = Caller(principal)
    pair = await registers.catalogue.pair(caller, change.register, change.schema)
    return await registers.history.sees_changes(caller, pair, ChangeSpan(change.xact, change.after, change.last))


async def _exported_file(registers: Registers, principal: Principal, at: Variables, notifying: bool) -> str:
    return (await registers.transfers.get(Caller(principal), at["id"])).uri


GUARDS: Final[Mapping[str, Guard]] = {
    one_register.uri: _register,
    one_schema.uri: _schema,
    pair_objects.uri: _pair,
    one_object.uri: _object,
    attachment.uri: _attachment,
    attachment_text.uri: _attachment_text,
    one_view.uri: _view,
    saved_query.uri: _view,
    exported_file.uri: _exported_file,
}
