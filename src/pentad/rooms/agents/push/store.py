"""Push configurations in SQL: where to tell somebody, how far they have been told, and when to try next.

`told` moves only forward and only by the process that has the lease, so a configuration is told of every event, in
order, at least once. What is due is marked in the transaction that appends the event, so nothing due is ever forgotten.
A configuration that was stopped is due `NEVER`, which no event changes; only setting it again does. Configurations hold
tokens and credentials, and are sealed as a whole.
"""

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from pentad.access.sealed_columns import SealedColumn
from pentad.access.secret_box import SecretBox
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.agents.models import PushConfig

_DECODE: Final = msgspec.json.Decoder(PushConfig).decode
CONFIG: Final = SealedColumn("agent_pushes", "config", ("task", "id"))
_COLUMNS: Final = "task, id, config, told, attempt, problem, due_at"
NEVER: Final = 2.0**62
"""When a configuration that was stopped is due."""
_TICK: Final = 0.001
"""Moments are kept to the millisecond, and the first one set is the one that is meant where none is named."""


@dataclass(frozen=True, slots=True)
class Pushing:
    """A configuration with how it fares."""

    task: str
    config: PushConfig
    told: int
    attempt: int
    problem: str | None
    due_at: float | None

    @property
    def state(self) -> Literal["told", "waiting", "failing", "stopped"]:
        if self.due_at == NEVER:
            return "stopped"
        if self.problem is not None:
            return "failing"
        return "told" if self.due_at is None else "waiting"


def insert_config(
    transaction: Transaction, box: SecretBox, task_id: str, config: PushConfig, *, told: int, now: float
) -> None:
    """Keep a configuration behind those that are there, or put it in the place of the one with its id."""
    body = CONFIG.seal(box, msgspec.json.encode(config), task_id, config.id)
    last: float | None = transaction.value("SELECT max(created_at) FROM agent_pushes WHERE task = ?", task_id)
    created = now if last is None or last < now else last + _TICK
    transaction.run(
        "INSERT INTO agent_pushes (task, id, config, told, attempt, due_at, leased_until, problem, created_at)"
        " VALUES (?, ?, ?, ?, 0, ?, 0, NULL, ?) ON CONFLICT (task, id) DO UPDATE"
        " SET config = excluded.config, attempt = 0, problem = NULL, due_at = excluded.due_at",
        task_id, config.id, body, told, now, created,
    )  # fmt: skip


def recount(transaction: Transaction, task_id: str) -> None:
    """Tell the task's row how many there are; appends look only there."""
    transaction.run(
        "UPDATE agent_tasks SET pushes = (SELECT count(*) FROM agent_pushes WHERE task = ?) WHERE id = ?",
        task_id, task_id,
    )  # fmt: skip


def configs_of(rows: Rows, box: SecretBox, task_id: str) -> list[Pushing]:
    found = rows.all(f"SELECT {_COLUMNS} FROM agent_pushes WHERE task = ? ORDER BY created_at, id", task_id)  # noqa: S608  column names
    return [_pushing(row, box) for row in found]


def delete_config(transaction: Transaction, task_id: str, config_id: str) -> bool:
    gone = transaction.run("DELETE FROM agent_pushes WHERE task = ? AND id = ?", task_id, config_id)
    recount(transaction, task_id)
    return bool(gone)


def lease_due(transaction: Transaction, box: SecretBox, now: float, until: float, most: int) -> list[Pushing]:
    """Take what is due and nobody else is telling."""
    found = transaction.all(
        f"SELECT {_COLUMNS} FROM agent_pushes WHERE due_at <= ? AND leased_until <= ? ORDER BY due_at LIMIT ?",  # noqa: S608  column names
        now, now, most,
    )  # fmt: skip
    due = [_pushing(row, box) for row in found]
    transaction.run_many(
        "UPDATE agent_pushes SET leased_until = ? WHERE task = ? AND id = ?",
        [(until, one.task, one.config.id) for one in due],
    )
    return due


def next_due(rows: Rows) -> float | None:
    """When somebody should look again."""
    found = rows.value(
        "SELECT min(CASE WHEN leased_until > due_at THEN leased_until ELSE due_at END) FROM agent_pushes"
        " WHERE due_at IS NOT NULL"
    )
    return None if found is None else float(found)


def settle(
    transaction: Transaction, one: Pushing, *, told: int, attempt: int, problem: str | None, due_at: float | None
) -> None:
    """Write down how far somebody has been told, and give the lease back; what came meanwhile is due at once."""
    if due_at is None and problem is None:
        newest = transaction.value("SELECT seq FROM agent_tasks WHERE id = ?", one.task)
        due_at = 1.0 if newest is not None and newest > told else None
    transaction.run(
        "UPDATE agent_pushes SET told = ?, attempt = ?, problem = ?, leased_until = 0, due_at = ?"
        " WHERE task = ? AND id = ?",
        told, attempt, problem, due_at, one.task, one.config.id,
    )  # fmt: skip


def _pushing(row: Row, box: SecretBox) -> Pushing:
    task, config_id, config, *fares = row
    return Pushing(task, _DECODE(CONFIG.open(box, config, task, config_id)), *fares)
