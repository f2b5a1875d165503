"""The queue of webhook deliveries: rows in the store, so that a delivery survives the process that made it out.

A change becomes one delivery for each webhook that wants it, in the transaction that moves the webhook's position, so
it is made out exactly once however many processes look. A process sends what it has leased; a lease that runs out
means the process is gone, and another sends it again under the same message id. Deliveries may overtake one another:
`seq` in the message says the order.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from pentad.kernel.clock import iso
from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Row, Rows, Transaction

State = Literal["waiting", "delivered", "failed"]

KEPT_SECONDS: Final = 30 * 86_400.0
"""How long the log keeps what is over."""

_SELECT: Final = "SELECT id, webhook, seq, attempt, state, status, problem, due_at, at FROM webhook_deliveries"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One change for one webhook. `attempt` counts the tries so far, `at` is when the last thing happened to it."""

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
        """What receivers know it by; the same for every try."""
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


def lease(transaction: Transaction, now: float, until: float, most: int) -> list[Delivery]:
    """Take what is due and nobody else is sending."""
    rows = transaction.all(
        f"{_SELECT} WHERE state = 'waiting' AND due_at <= ? AND leased_until <= ? ORDER BY due_at, id LIMIT ?",
        now, now, most,
    )  # fmt: skip
    transaction.run_many(
        "UPDATE webhook_deliveries SET leased_until = ? WHERE id = ?", [(until, row[0]) for row in rows]
    )
    return [_delivery(row) for row in rows]


def next_due(rows: Rows) -> float | None:
    """When somebody should look again: the earliest moment a delivery is due and not leased."""
    found = rows.value(
        "SELECT min(CASE WHEN leased_until > due_at THEN leased_until ELSE due_at END) "
        "FROM webhook_deliveries WHERE state = 'waiting'"
    )
    return None if found is None else float(found)


def settle(transaction: Transaction, delivery: Delivery) -> None:
    """Write down what became of a try, and give the lease back."""
    transaction.run(
        "UPDATE webhook_deliveries SET attempt = ?, state = ?, status = ?, problem = ?, due_at = ?, at = ?, "
        "leased_until = 0 WHERE id = ?",
        delivery.attempt, delivery.state, delivery.status, delivery.problem, delivery.due_at, delivery.at, delivery.id,
    )  # fmt: skip


def again(transaction: Transaction, webhook: str, delivery_id: int, now: float) -> Delivery:
    """Have a delivery sent once more, from its first try."""
    changed = transaction.run(
        "UPDATE webhook_deliveries SET state = 'waiting', attempt = 0, due_at = ?, leased_until = 0, at = ? "
        "WHERE id = ? AND webhook = ?",
        now, now, delivery_id, webhook,
    )  # fmt: skip
    row = transaction.one(f"{_SELECT} WHERE id = ?", delivery_id)
    if not changed or row is None:
        raise NotFound(f"The webhook has no delivery {delivery_id}.", hint="Its log lists the deliveries.")
    return _delivery(row)


def withdraw(transaction: Transaction, delivery_id: int) -> None:
    """Forget a delivery whose change is not to be told any more; its log would tell of it, too."""
    transaction.run("DELETE FROM webhook_deliveries WHERE id = ?", delivery_id)


def give_up(transaction: Transaction, webhook: str, problem: str, now: float) -> None:
    """End everything that still waits for a webhook."""
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
