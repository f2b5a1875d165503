"""The record of webhook deliveries, which owners see as the webhook's log.

A change becomes one delivery for each webhook that wants it, in the transaction that moves the webhook's position, so
it is recorded exactly once. If the process that sends it dies, another sends it again under the same message id.
Deliveries may overtake one another: `seq` in the message gives the order.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from pentad.kernel.clock import iso
from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Row, Rows, Transaction

State = Literal["waiting", "delivered", "failed"]

KEPT_SECONDS: Final = 30 * 86_400.0
"""How long the log keeps finished deliveries."""

_SELECT: Final = "SELECT id, webhook, seq, attempt, state, status, problem, due_at, at FROM webhook_deliveries"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One change for one webhook. `attempt` counts the tries so far, `at` is when it last changed."""

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
        """The same for every try, so receivers can drop what they have."""
        return f"msg_{self.id}"

    def wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "id": self.id, "messageId": self.message_id, "change": self.seq, "attempt": self.attempt,
            "state": self.state, "status": self.status, "problem": self.problem, "at": iso(self.at),
            "due": iso(self.due_at) if self.state == "waiting" else None,
        }  # fmt: skip
        return {name: value for name, value in wire.items() if value is not None}


def make_out(transaction: Transaction, webhook: str, seqs: list[int], now: float) -> None:
    """Queue changes for a webhook."""
    transaction.run_many(
        "INSERT INTO webhook_deliveries (webhook, seq, attempt, state, due_at, at) VALUES (?, ?, 0, 'waiting', ?, ?)",
        [(webhook, seq, now, now) for seq in seqs],
    )


def due(rows: Rows, webhook: str, now: float, most: int) -> list[Delivery]:
    """What is to be sent to a webhook now."""
    found = rows.all(
        f"{_SELECT} WHERE webhook = ? AND state = 'waiting' AND due_at <= ? ORDER BY due_at, id LIMIT ?",
        webhook, now, most,
    )  # fmt: skip
    return [_delivery(row) for row in found]


def next_due(rows: Rows, webhook: str) -> float | None:
    """When the next delivery to a webhook is due."""
    found = rows.value("SELECT min(due_at) FROM webhook_deliveries WHERE webhook = ? AND state = 'waiting'", webhook)
    return None if found is None else float(found)


def settle(transaction: Transaction, delivery: Delivery) -> None:
    """Write down what became of a try."""
    transaction.run(
        "UPDATE webhook_deliveries SET attempt = ?, state = ?, status = ?, problem = ?, due_at = ?, at = ? "
        "WHERE id = ?",
        delivery.attempt, delivery.state, delivery.status, delivery.problem, delivery.due_at, delivery.at, delivery.id,
    )  # fmt: skip


def again(transaction: Transaction, webhook: str, delivery_id: int, now: float) -> Delivery:
    """Send a delivery once more, from its first try."""
    changed = transaction.run(
        "UPDATE webhook_deliveries SET state = 'waiting', attempt = 0, due_at = ?, at = ? "
        "WHERE id = ? AND webhook = ?",
        now, now, delivery_id, webhook,
    )  # fmt: skip
    row = transaction.one(f"{_SELECT} WHERE id = ?", delivery_id)
    if not changed or row is None:
        raise NotFound(f"The webhook has no delivery {delivery_id}.", hint="Its log lists the deliveries.")
    return _delivery(row)


def withdraw(transaction: Transaction, delivery_id: int) -> None:
    """Delete a delivery whose owner may no longer know of the change; the log must not mention it either."""
    transaction.run("DELETE FROM webhook_deliveries WHERE id = ?", delivery_id)


def give_up(transaction: Transaction, webhook: str, problem: str, now: float) -> None:
    """Fail every delivery that still waits for a webhook."""
    transaction.run(
        "UPDATE webhook_deliveries SET state = 'failed', problem = ?, at = ? WHERE webhook = ? AND state = 'waiting'",
        problem, now, webhook,
    )  # fmt: skip


def forget_old(transaction: Transaction, now: float) -> None:
    transaction.run("DELETE FROM webhook_deliveries WHERE state <> 'waiting' AND at < ?", now - KEPT_SECONDS)


def log_of(rows: Rows, webhook: str, limit: int, before: int | None) -> list[Delivery]:
    """The deliveries of one webhook, newest first."""
    found = rows.all(
        f"{_SELECT} WHERE webhook = ? AND id < ? ORDER BY id DESC LIMIT ?",
        webhook, 2**62 if before is None else before, limit,
    )  # fmt: skip
    return [_delivery(row) for row in found]


def _delivery(row: Row) -> Delivery:
    return Delivery(*row)
