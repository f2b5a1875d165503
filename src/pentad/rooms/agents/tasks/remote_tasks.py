"""Tasks of remote agents: our id, and the agent's own id for it.

`RemoteTasks` are those of MCP clients. The agent stores the task and is asked for it every time; a row is kept for a
week. `ForwardedTasks` are those of agents mounted here: the task is in our log, and a row says where the work is done.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ids import uuid7_text
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.models import Task
from pentad.rooms.agents.store import ENDED
from pentad.rooms.agents.tasks.errors import task_not_found

_ENDED: Final = (
    "SELECT forwarded.task, url, remote_task, remote_context, message FROM agent_forwarded_tasks AS forwarded"  # noqa: S608  constants
    " JOIN agent_tasks AS tasks ON tasks.id = forwarded.task WHERE forwarded.is_open = 1 AND tasks.agent = ?"
    f" AND tasks.{ENDED} AND tasks.updated_at > ? LIMIT ?"
)
KEPT_SECONDS: Final = 7 * 86_400.0
_MARK: Final = "elsewhere-"


class RemoteTask(Struct, frozen=True):
    """A task of a remote agent."""

    id: str
    agent: str
    """The agent as the caller named it."""
    task: str
    budget: int
    """The most characters its answer may have."""
    created_at: float
    expires_at: float


class RemoteTasks:
    """The rows of one store. Only its owner can see a row."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def keep(self, caller: Principal, agent: str, task: str, budget: int) -> RemoteTask:
        now = self._clock.now()
        made = RemoteTask(_MARK + uuid7_text(self._clock), agent, task, budget, now, now + KEPT_SECONDS)

        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO agent_tasks_elsewhere (id, owner, agent, task, budget, created_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                made.id, caller.id, agent, task, budget, made.created_at, made.expires_at,
            )  # fmt: skip

        await self._database.write(work)
        return made

    async def get(self, caller: Principal, task_id: str) -> RemoteTask:
        """A row; NotFound if it does not exist, belongs to another owner, or has expired."""
        row = None
        with suppress(InvalidInput):  # an id no store could hold
            row = await self._database.lookup(
                "SELECT id, agent, task, budget, created_at, expires_at FROM agent_tasks_elsewhere"
                " WHERE id = ? AND owner = ? AND expires_at > ?",
                task_id, caller.id, self._clock.now(),
            )  # fmt: skip
        if row is None:
            raise task_not_found(task_id)
        return RemoteTask(*row)


class ForwardedTask(Struct, frozen=True):
    """Where the work for a mounted agent's task is done."""

    task: str
    url: str
    remote_task: str
    remote_context: str
    """The remote conversation; empty if not known."""
    message: str
    """The last message passed on."""


class ForwardedTasks:
    """The rows of one store, by our task ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, row: ForwardedTask) -> None:
        await self._database.write(
            lambda tx: tx.run(
                "INSERT INTO agent_forwarded_tasks (task, url, remote_task, remote_context, message, is_open)"
                " VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT (task) DO UPDATE SET url = excluded.url,"
                " remote_task = excluded.remote_task, remote_context = excluded.remote_context,"
                " message = excluded.message, is_open = 1",
                row.task, row.url, row.remote_task, row.remote_context, row.message,
            )
        )  # fmt: skip

    async def close(self, task_id: str) -> None:
        """Record that the remote task has ended."""
        await self._database.write(
            lambda tx: tx.run("UPDATE agent_forwarded_tasks SET is_open = 0 WHERE task = ?", task_id)
        )

    async def get(self, task_id: str) -> ForwardedTask | None:
        row = await self._database.lookup(
            "SELECT task, url, remote_task, remote_context, message FROM agent_forwarded_tasks WHERE task = ?", task_id
        )
        return None if row is None else ForwardedTask(*row)

    async def ended(self, agent: str, since: float, most: int) -> list[ForwardedTask]:
        """Tasks of an agent that ended here since a time, but perhaps not there."""
        found = await self._database.read(lambda rows: rows.all(_ENDED, agent, since, most))
        return [ForwardedTask(*row) for row in found]

    async def remote_context(self, task: Task, url: str) -> str | None:
        """The remote conversation for the conversation of a local task. Owners never share one."""
        sql = (
            "SELECT forwarded.remote_context FROM agent_tasks AS tasks"
            " JOIN agent_forwarded_tasks AS forwarded ON forwarded.task = tasks.id"
            " WHERE tasks.context = ? AND tasks.owner = ? AND tasks.agent = ? AND forwarded.url = ?"
            " ORDER BY tasks.created_at DESC LIMIT 1"
        )
        found = await self._database.read(
            lambda rows: rows.value(sql, task.context_id, task.owner, task.agent, url)
        )  # fmt: skip
        return found or None

    async def remote_ids(self, owner: str, url: str, tasks: Sequence[str]) -> tuple[str, ...]:
        """The remote ids of an owner's tasks. Others are left out."""
        sql = (
            "SELECT forwarded.remote_task FROM agent_tasks AS tasks"
            " JOIN agent_forwarded_tasks AS forwarded ON forwarded.task = tasks.id"
            " WHERE tasks.id = ? AND tasks.owner = ? AND forwarded.url = ?"
        )
        found = await self._database.read(lambda rows: [rows.value(sql, one, owner, url) for one in tasks])
        return tuple(one for one in found if one is not None)


def is_remote(task_id: str) -> bool:
    """Whether an id belongs to a task of a remote agent."""
    return task_id.startswith(_MARK)


def forget_remote_tasks(tx: Transaction, now: float, most: int) -> int:
    """Delete expired rows, in batches; returns how many."""
    over = tx.all("SELECT id FROM agent_tasks_elsewhere WHERE expires_at <= ? LIMIT ?", now, most)
    tx.run_many("DELETE FROM agent_tasks_elsewhere WHERE id = ?", [(one,) for (one,) in over])
    return len(over)
