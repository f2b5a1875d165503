"""What a webhook's receiver is told of a change: no more than the webhook's owner may read, now and as it was then."""

from typing import TYPE_CHECKING, Any

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.ports import Rows
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.change_log import ERASED
from pentad.rooms.registers.webhook_targets import EVENTS

if TYPE_CHECKING:
    from pentad.rooms.registers.access import AccessRules
    from pentad.rooms.registers.catalogue import Catalogue


class Messages:
    """Makes messages out, each for the owner of a webhook."""

    def __init__(self, catalogue: "Catalogue", access: "AccessRules") -> None:
        self._catalogue = catalogue
        self._access = access

    def is_for(self, rows: Rows, owner: Caller, uuid: str, seq: int) -> bool:
        """Whether the owner of a webhook may know of a change."""
        if self._access.is_free(owner):
            return True
        return self._hidden(rows, owner, uuid, _state_after(rows, uuid, seq)) is not None

    def of(self, rows: Rows, owner: Caller, seq: int) -> bytes | None:
        """The event, who did it, and the object as the change left it; None where the owner may not know of it."""
        row = rows.one(
            "SELECT uuid, register, schema, version, action, at, principal, agent, reason FROM object_changes "
            "WHERE seq = ?",
            seq,
        )
        if row is None:
            return msgspec.json.encode({"type": "object.forgotten", "seq": seq})
        uuid, register, schema, version, action, at, principal, agent, reason = row
        state = _state_after(rows, uuid, seq)
        hidden = self._hidden(rows, owner, uuid, state)
        if hidden is None:
            return None
        about: dict[str, Any] = {
            "seq": seq, "uuid": uuid, "register": register, "schema": schema, "version": version,
            "principal": principal, "agent": agent, "reason": reason,
            "uri": f"openregister://objects/{register}/{schema}/{uuid}",
            "object": None if state is None else _without(state, hidden),
        }  # fmt: skip
        return msgspec.json.encode({"type": EVENTS.get(action, action), "timestamp": iso(at), "data": about})

    def _hidden(self, rows: Rows, owner: Caller, uuid: str, state: str | None) -> frozenset[str] | None:
        """The properties of an object that its state must not tell; None where not even the object is to be told of."""
        if self._access.is_free(owner):
            return frozenset()
        held = store.existing_by_uuid(rows, [uuid]).get(uuid)
        if held is None:
            return None
        now = held.stored
        pair = self._catalogue.pairs_in(rows)(now.register, now.schema)
        if not self._access.sees_both(owner, pair.register, pair.schema):
            return None
        hidden = frozenset[str]()
        for one in (now,) if state is None else (now, now.altered(text=state)):
            if not self._access.sees_object(owner, pair, one):
                return None
            hidden |= self._access.hidden(owner, pair, one.data, one.owner)
        return hidden


def _state_after(rows: Rows, uuid: str, seq: int) -> str | None:
    """The data a change left behind: what the next change replaced, or what is there now; None when it is purged."""
    text = rows.value(
        "SELECT before FROM object_changes WHERE uuid = ? AND seq > ? AND before IS NOT NULL ORDER BY seq LIMIT 1",
        uuid, seq,
    )  # fmt: skip
    if text is None:
        text = rows.value("SELECT data FROM objects WHERE uuid = ?", uuid)
    return None if text is None or text.startswith(ERASED) else text


def _without(state: str, hidden: frozenset[str]) -> Any:
    if not hidden:
        return msgspec.Raw(state.encode())
    data: dict[str, Any] = msgspec.json.decode(state)
    return {name: value for name, value in data.items() if name not in hidden}
