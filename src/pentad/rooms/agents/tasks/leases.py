"""Leases in SQL: which process runs which task, and whose process is gone.

A lease that has run out means that its holder is dead or cut off; whoever claims it takes the task over, and the old
holder's appends are refused by the log from then on.
"""

from collections.abc import Iterable, Sequence

from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.agents.tasks.store import Head, head


def renew(transaction: Transaction, holder: str, tasks: Iterable[str], until: float) -> None:
    """Keep the leases of the tasks this process still runs."""
    transaction.run_many(
        "UPDATE agent_tasks SET leased_until = ? WHERE id = ? AND holder = ?", [(until, task, holder) for task in tasks]
    )


def expired(rows: Rows, now: float, most: int) -> Sequence[tuple[str, str, float]]:
    """Tasks whose holder has not been heard of: id, agent, and until when it was held."""
    found = rows.all(
        "SELECT id, agent, leased_until FROM agent_tasks WHERE holder IS NOT NULL AND leased_until < ?"
        " ORDER BY leased_until LIMIT ?",
        now, most,
    )  # fmt: skip
    return [(task, agent, until) for task, agent, until in found]


def claim(transaction: Transaction, task_id: str, holder: str, now: float, until: float) -> Head | None:
    """Take a task over whose lease has run out; None if somebody else was faster."""
    taken = transaction.run(
        "UPDATE agent_tasks SET holder = ?, leased_until = ? WHERE id = ? AND holder IS NOT NULL AND leased_until < ?",
        holder, until, task_id, now,
    )  # fmt: skip
    return head(transaction, task_id) if taken else None


def release(transaction: Transaction, holder: str, tasks: Iterable[str]) -> None:
    """Say that this process runs them no longer, though they are not over: the next one takes them at once."""
    transaction.run_many(
        "UPDATE agent_tasks SET leased_until = 1 WHERE id = ? AND holder = ?", [(task, holder) for task in tasks]
    )
