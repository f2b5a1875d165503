"""Object changes for the event feed, read from the history: nothing extra is stored."""

from typing import Final

from pentad.kernel.events import Event, EventSource
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.change_log import Change
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.webhooks.targets import EVENTS as ACTIONS

KINDS: Final = {
    "object.created": "An object was created.",
    "object.updated": "An object was changed.",
    "object.reverted": "An object was set back to an earlier version.",
    "object.migrated": "An object was changed by a new version of its schema.",
    "object.deleted": "An object was deleted.",
    "object.restored": "A deleted object is back.",
    "object.purged": "A deleted object was erased.",
    "object.locked": "An object was locked.",
    "object.unlocked": "An object was unlocked.",
}
"""The kinds of events, the same as for webhooks."""

_TASK: Final = "agents://tasks/"


async def after(registers: Registers, principal: Principal, position: str, limit: int) -> tuple[list[Event], str]:
    """The changes the caller may see."""
    changes, following = await registers.history.feed(Caller(principal), position or None, limit=limit)
    return [_event(change) for change in changes], following


async def newest(registers: Registers, back: int) -> str:
    return await registers.history.newest(back)


def _event(change: Change) -> Event:
    """A change without its values: read the object, or its history, for them."""
    data = {
        "register": change.register,
        "schema": change.schema,
        "uuid": change.uuid,
        "version": change.version,
        "change": change.seq,
        "changed": sorted(change.changed) if change.changed else None,
        "reason": change.reason,
        "plan": change.plan,
    }
    return Event(
        "registers",
        ACTIONS[change.action],
        f"openregister://objects/{change.register}/{change.schema}/{change.uuid}",
        change.at,
        change.cursor,
        change.principal,
        data={name: value for name, value in data.items() if value is not None},
        cause=change.call if change.call is not None and change.call.startswith(_TASK) else "",
    )


EVENTS: Final = EventSource(after, newest)
