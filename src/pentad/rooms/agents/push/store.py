"""Push configurations in SQL: where to tell somebody, and how far they have been told.

`told` moves only forward, by the job that tells the address, so an address is told of every event, in order, at least
once. The job is queued in the transaction that appends an event, so no event is forgotten. A configuration that was
stopped keeps the reason in `problem` until it is set again. Configurations hold tokens and credentials, and are sealed
as a whole.
"""

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from pentad.access.sealed_columns import SealedColumn
from pentad.access.secret_box import SecretBox
from pentad.jobs.queue import JobQueue
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.agents.models import PushConfig

JOB: Final = "agents.push"
"""Tells one address of the events of one task; the key names both."""

_DECODE: Final = msgspec.json.Decoder(PushConfig).decode
CONFIG: Final = SealedColumn("agent_pushes", "config", ("task", "id"))
_SELECT: Final = (
    "SELECT p.task, p.id, p.config, p.told, p.problem, j.attempt, j.error, j.state FROM agent_pushes p"
    " LEFT JOIN jobs j ON j.name = 'agents.push' AND j.key = p.task || ' ' || p.id WHERE p.task = ?"
)
_TICK: Final = 0.001
"""Moments are kept to the millisecond, and the first one set is the one that is meant where none is named."""


@dataclass(frozen=True, slots=True)
class Pushing:
    """A configuration, and how telling its address goes."""

    task: str
    config: PushConfig
    told: int
    attempt: int
    problem: str | None
    state: Literal["told", "waiting", "failing", "stopped"]


def key_of(task_id: str, config_id: str) -> str:
    """The key of the job; an id of a configuration has no blank in it."""
    return f"{task_id} {config_id}"


def ids_of(key: str) -> tuple[str, str]:
    """The task and the configuration that a key names."""
    task_id, _, config_id = key.rpartition(" ")
    return task_id, config_id


def insert_config(
    transaction: Transaction, box: SecretBox, jobs: JobQueue, task_id: str, config: PushConfig, *, told: int, now: float
) -> None:
    """Add a configuration behind the others, or replace the one with its id; its address is told from now on."""
    body = CONFIG.seal(box, msgspec.json.encode(config), task_id, config.id)
    last: float | None = transaction.value("SELECT max(created_at) FROM agent_pushes WHERE task = ?", task_id)
    created = now if last is None or last < now else last + _TICK
    transaction.run(
        "INSERT INTO agent_pushes (task, id, config, told, problem, created_at) VALUES (?, ?, ?, ?, NULL, ?)"
        " ON CONFLICT (task, id) DO UPDATE SET config = excluded.config, problem = NULL",
        task_id, config.id, body, told, created,
    )  # fmt: skip
    key = key_of(task_id, config.id)
    jobs.cancel(transaction, JOB, key)  # it does not wait for what failed before
    jobs.enqueue(transaction, JOB, key=key)


def enqueue_pushes(transaction: Transaction, jobs: JobQueue, task_id: str) -> None:
    """Have every address of a task told of what was just appended."""
    sql = "SELECT id FROM agent_pushes WHERE task = ? AND problem IS NULL"
    for (config_id,) in transaction.all(sql, task_id):
        jobs.enqueue(transaction, JOB, key=key_of(task_id, config_id))


def recount(transaction: Transaction, task_id: str) -> None:
    """Note in the task's row how many there are; appends look only there."""
    transaction.run(
        "UPDATE agent_tasks SET pushes = (SELECT count(*) FROM agent_pushes WHERE task = ?) WHERE id = ?",
        task_id, task_id,
    )  # fmt: skip


def configs_of(rows: Rows, box: SecretBox, task_id: str) -> list[Pushing]:
    return [_pushing(row, box) for row in rows.all(f"{_SELECT} ORDER BY p.created_at, p.id", task_id)]


def config_of(rows: Rows, box: SecretBox, task_id: str, config_id: str) -> Pushing | None:
    row = rows.one(f"{_SELECT} AND p.id = ?", task_id, config_id)
    return None if row is None else _pushing(row, box)


def delete_config(transaction: Transaction, jobs: JobQueue, task_id: str, config_id: str) -> bool:
    gone = transaction.run("DELETE FROM agent_pushes WHERE task = ? AND id = ?", task_id, config_id)
    jobs.cancel(transaction, JOB, key_of(task_id, config_id))
    recount(transaction, task_id)
    return bool(gone)


def note_told(transaction: Transaction, one: Pushing, told: int, stopped: str | None = None) -> None:
    """Write down how far an address has been told, and why it is told no more."""
    transaction.run(
        "UPDATE agent_pushes SET told = ?, problem = ? WHERE task = ? AND id = ?",
        told, stopped, one.task, one.config.id,
    )  # fmt: skip


def _pushing(row: Row, box: SecretBox) -> Pushing:
    task, config_id, config, told, stopped, attempt, error, job = row
    state: Literal["told", "waiting", "failing", "stopped"] = (
        "stopped" if stopped is not None else "told" if job is None else "waiting" if error is None else "failing"
    )
    opened = _DECODE(CONFIG.open(box, config, task, config_id))
    return Pushing(task, opened, told, attempt or 0, error if stopped is None else stopped, state)
