"""Webhook deliveries: the log in the store, and the messages.

A change becomes one delivery for each matching webhook, in the transaction that advances the webhook's position, so it
is recorded exactly once. If the sending process dies, another one sends the delivery again with the same message id.
Deliveries may overtake each other; `seq` in the message gives the order.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.change_log import ERASED
from pentad.rooms.registers.webhooks.targets import EVENTS

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.catalogue.catalogue import Catalogue

State = Literal["waiting", "delivered", "failed"]

KEPT_SECONDS: Final = 30 * 86_400.0
"""How long the log keeps finished deliveries."""

_SELECT: Final = "SELECT id, webhook, seq, attempt, state, status, problem, due_at, at FROM webhook_deliveries"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One change for one webhook. `attempt` counts the attempts so far, `at` is when it last changed."""

    id: int
    webhook: str
    seq: int
    attempt: int
    state: State
    status: int | None
    problem: str | None
    due_at: float
    at: float

    @property
    def message_id(self) -> str:
        """Identical for every attempt, so receivers can drop duplicates."""
        return f"msg_{self.id}"

    def wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "id": self.id, "messageId": self.message_id, "change": self.seq, "attempt": self.attempt,
            "state": self.state, "status": self.status, "problem": self.problem, "at": iso(self.at),
            "due": iso(self.due_at) if self.state == "waiting" else None,
        }  # fmt: skip
        return {name: value for name, value in wire.items() if value is not None}


def add_deliveries(transaction: Transaction, webhook: str, seqs: list[int], now: float) -> None:
    """Queue changes for a webhook."""
    transaction.run_many(
        "INSERT INTO webhook_deliveries (webhook, seq, attempt, state, due_at, at) VALUES (?, ?, 0, 'waiting', ?, ?)",
        [(webhook, seq, now, now) for seq in seqs],
    )


def due_deliveries(rows: Rows, webhook: str, now: float, most: int) -> list[Delivery]:
    """The deliveries to send to a webhook now."""
    found = rows.all(
        f"{_SELECT} WHERE webhook = ? AND state = 'waiting' AND due_at <= ? ORDER BY due_at, id LIMIT ?",
        webhook, now, most,
    )  # fmt: skip
    return [Delivery(*row) for row in found]


def next_due(rows: Rows, webhook: str) -> float | None:
    """When the next delivery to a webhook is due."""
    found = rows.value("SELECT min(due_at) FROM webhook_deliveries WHERE webhook = ? AND state = 'waiting'", webhook)
    return None if found is None else float(found)


def update_delivery(transaction: Transaction, delivery: Delivery) -> None:
    """Store the result of an attempt."""
    transaction.run(
        "UPDATE webhook_deliveries SET attempt = ?, state = ?, status = ?, problem = ?, due_at = ?, at = ? "
        "WHERE id = ?",
        delivery.attempt, delivery.state, delivery.status, delivery.problem, delivery.due_at, delivery.at, delivery.id,
    )  # fmt: skip


def restart_delivery(transaction: Transaction, webhook: str, delivery_id: int, now: float) -> Delivery:
    """Queue a delivery again, starting from its first attempt."""
    changed = transaction.run(
        "UPDATE webhook_deliveries SET state = 'waiting', attempt = 0, due_at = ?, at = ? "
        "WHERE id = ? AND webhook = ?",
        now, now, delivery_id, webhook,
    )  # fmt: skip
    row = transaction.one(f"{_SELECT} WHERE id = ?", delivery_id)
    if not changed or row is None:
        raise NotFound(f"The webhook has no delivery {delivery_id}.", hint="Its log lists the deliveries.")
    return Delivery(*row)


def delete_delivery(transaction: Transaction, delivery_id: int) -> None:
    """Delete a delivery whose change the owner may no longer see; the log must not mention it either."""
    transaction.run("DELETE FROM webhook_deliveries WHERE id = ?", delivery_id)


def fail_waiting(transaction: Transaction, webhook: str, problem: str, now: float) -> None:
    """Mark all waiting deliveries of a webhook as failed."""
    transaction.run(
        "UPDATE webhook_deliveries SET state = 'failed', problem = ?, at = ? WHERE webhook = ? AND state = 'waiting'",
        problem, now, webhook,
    )  # fmt: skip


def delete_old(transaction: Transaction, now: float) -> None:
    transaction.run("DELETE FROM webhook_deliveries WHERE state <> 'waiting' AND at < ?", now - KEPT_SECONDS)


def delivery_log(rows: Rows, webhook: str, limit: int) -> list[Delivery]:
    """The deliveries of one webhook, newest first."""
    found = rows.all(f"{_SELECT} WHERE webhook = ? ORDER BY id DESC LIMIT ?", webhook, limit)
    return [Delivery(*row) for row in found]


class MessageBuilder:
    """Builds messages with only what the webhook's owner may read, both now and in the object's state at the time."""

    def __init__(self, catalogue: "Catalogue", access: "AccessRules") -> None:
        self._catalogue = catalogue
        self._access = access

    def may_know(self, rows: Rows, owner: Caller, uuid: str, seq: int) -> bool:
        """Whether a webhook's owner may see a change."""
        if self._access.is_unrestricted(owner):
            return True
        return self._hidden(rows, owner, uuid, _state_after(rows, uuid, seq)) is not None

    def build(self, rows: Rows, owner: Caller, seq: int) -> bytes | None:
        """The event, who caused it, and the object after the change; None if the owner may not see it."""
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
        """The properties to leave out of a state; None if the owner may not see the object."""
        if self._access.is_unrestricted(owner):
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
    """The data after a change: what the next change replaced, or the current data; None if it was purged."""
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
