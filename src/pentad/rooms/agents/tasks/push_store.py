"""Push notification configs in SQL: where to send notifications, and how far the receiver has been notified.

The column `told` is the last delivered event. Only a config's job moves it, and only forward, so a receiver gets every
event in order, at least once. The job is queued in the transaction that appends an event, so no event is missed. A
stopped config keeps the reason in `problem` until it is set again. Configs contain tokens and credentials, so they are
encrypted as a whole.
"""

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from pentad.access.sealed_columns import SealedColumn
from pentad.access.secret_box import SecretBox
from pentad.jobs.queue import JobQueue
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.agents.models import PushConfig

PUSH_JOB: Final = "agents.push"
"""Sends the events of one task to one receiver; the key names both."""

_DECODE: Final = msgspec.json.Decoder(PushConfig).decode
CONFIG_COLUMN: Final = SealedColumn("agent_pushes", "config", ("task", "id"))
_SELECT: Final = (
    "SELECT p.task, p.id, p.config, p.told, p.problem, j.attempt, j.error, j.state FROM agent_pushes p"
    " LEFT JOIN jobs j ON j.name = 'agents.push' AND j.key = p.task || ' ' || p.id WHERE p.task = ?"
)
_TICK: Final = 0.001
"""Times have milliseconds. Each config of a task gets a distinct time, because a request without an id means the first
one."""


PushState = Literal["told", "waiting", "failing", "dead", "stopped"]


@dataclass(frozen=True, slots=True)
class PushStatus:
    """A config, and whether its events are delivered (`told`), waiting, failing (and retried), dead (all attempts
    failed) or stopped (the owner may no longer read the task).
    """

    task: str
    config: PushConfig
    delivered: int
    """The number of the last delivered event."""
    attempt: int
    problem: str | None
    state: PushState


def job_key(task_id: str, config_id: str) -> str:
    """The key of the job. The id of a config contains no space."""
    return f"{task_id} {config_id}"


def ids_in(key: str) -> tuple[str, str]:
    """The task and the config in a job key."""
    task_id, _, config_id = key.rpartition(" ")
    return task_id, config_id


def insert_config(
    transaction: Transaction,
    box: SecretBox,
    jobs: JobQueue,
    task_id: str,
    config: PushConfig,
    *,
    delivered: int,
    now: float,
) -> None:
    """Add a config after the others, or replace the one with its id. Deliveries start after event `delivered`."""
    body = CONFIG_COLUMN.seal(box, msgspec.json.encode(config), task_id, config.id)
    last: float | None = transaction.value("SELECT max(created_at) FROM agent_pushes WHERE task = ?", task_id)
    created = now if last is None or last < now else last + _TICK
    transaction.run(
        "INSERT INTO agent_pushes (task, id, config, told, problem, created_at) VALUES (?, ?, ?, ?, NULL, ?)"
        " ON CONFLICT (task, id) DO UPDATE SET config = excluded.config, problem = NULL",
        task_id, config.id, body, delivered, created,
    )  # fmt: skip
    key = job_key(task_id, config.id)
    jobs.cancel(transaction, PUSH_JOB, key)  # otherwise it would wait for the replaced config's retry
    jobs.enqueue(transaction, PUSH_JOB, key=key)


def enqueue_pushes(transaction: Transaction, jobs: JobQueue, task_id: str) -> None:
    """Queue a delivery for every config of a task."""
    sql = "SELECT id FROM agent_pushes WHERE task = ? AND problem IS NULL"
    for (config_id,) in transaction.all(sql, task_id):
        jobs.enqueue(transaction, PUSH_JOB, key=job_key(task_id, config_id))


def update_count(transaction: Transaction, task_id: str) -> None:
    """Store the number of configs in the task's row, the only place appends check."""
    transaction.run(
        "UPDATE agent_tasks SET pushes = (SELECT count(*) FROM agent_pushes WHERE task = ?) WHERE id = ?",
        task_id, task_id,
    )  # fmt: skip


def configs_of(rows: Rows, box: SecretBox, task_id: str) -> list[PushStatus]:
    return [_status(row, box) for row in rows.all(f"{_SELECT} ORDER BY p.created_at, p.id", task_id)]


def get_config(rows: Rows, box: SecretBox, task_id: str, config_id: str) -> PushStatus | None:
    row = rows.one(f"{_SELECT} AND p.id = ?", task_id, config_id)
    return None if row is None else _status(row, box)


def delete_config(transaction: Transaction, jobs: JobQueue, task_id: str, config_id: str) -> bool:
    deleted = transaction.run("DELETE FROM agent_pushes WHERE task = ? AND id = ?", task_id, config_id)
    jobs.cancel(transaction, PUSH_JOB, job_key(task_id, config_id))
    update_count(transaction, task_id)
    return bool(deleted)


def save_progress(transaction: Transaction, one: PushStatus, delivered: int, stopped: str | None = None) -> None:
    """Store the last delivered event and, if deliveries stop, the reason."""
    transaction.run(
        "UPDATE agent_pushes SET told = ?, problem = ? WHERE task = ? AND id = ?",
        delivered, stopped, one.task, one.config.id,
    )  # fmt: skip


def _status(row: Row, box: SecretBox) -> PushStatus:
    task, config_id, config, delivered, stopped, attempt, error, job = row
    opened = _DECODE(CONFIG_COLUMN.open(box, config, task, config_id))
    problem = error if stopped is None else stopped
    return PushStatus(task, opened, delivered, attempt or 0, problem, _state(stopped, job, error))


def _state(stopped: str | None, job: str | None, error: str | None) -> PushState:
    if stopped is not None:
        return "stopped"
    if job is None:
        return "told"
    if job == "dead":
        return "dead"
    return "waiting" if error is None else "failing"
