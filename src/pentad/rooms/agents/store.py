"""Tasks and their events in SQL. Only this module writes `agent_tasks` and `agent_events`.

Every function is part of a transaction. The task's row issues sequence numbers, so they have no gaps or duplicates
however many processes append. The same statement rejects a task that has ended, so a terminal state never changes. The
caller of `append` adds its own condition: that it holds the lease, or that no one does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from pentad.events.outbox import emit
from pentad.kernel import cursors
from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.ports import Rows, Transaction, Value
from pentad.kernel.principal import ANONYMOUS, Principal
from pentad.mcp.changes import resource_updated
from pentad.rooms.agents.models import (
    STATES,
    TERMINAL,
    Body,
    Dialect,
    Event,
    MessageEvent,
    Origin,
    State,
    StatusEvent,
    Task,
)

MAX_PAGE: Final = 100
CHANNEL: Final = "agents"
"""Signalled with `<origin> <task> <seq>` for every append to a task that others may follow."""

_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(Body).decode
_DECODE_JSON: Final = msgspec.json.Decoder().decode

OPEN: Final = "state IN ('submitted', 'working', 'input-required', 'auth-required')"
ENDED: Final = "state IN (" + ", ".join(f"'{state}'" for state in sorted(TERMINAL)) + ")"
_UNFINISHED: Final = f"(holder IS NOT NULL OR suspended = 1) AND {OPEN}"
HEAD_COLUMNS: Final = (
    "id, owner, agent, context, dialect, state, seq, turn, pushes, created_at, updated_at, metadata, holder, caller,"
    " bytes, suspended, code, parent, parent_step, trace, deadline"
)
_INSERT_TASK: Final = (
    "INSERT INTO agent_tasks (id, owner, agent, context, dialect, state, seq, turn, messages, bytes, pushes,"
    " created_at, updated_at, metadata, caller, holder, parent, parent_step, trace, deadline, number)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
    " (SELECT coalesce(max(number), 0) + 1 FROM agent_tasks WHERE context = ? AND owner = ?))"
)
_INSERT_EVENT: Final = "INSERT INTO agent_events (task, seq, at, body) VALUES (?, ?, ?, ?)"
_GROW: Final = "UPDATE agent_tasks SET seq = seq + ?, messages = messages + ?, bytes = bytes + ?"
COUNT_OPEN: Final = f"SELECT count(*) FROM agent_tasks WHERE owner = ? AND {OPEN}"  # noqa: S608  a constant
COUNT_ALL: Final = "SELECT count(*) FROM agent_tasks WHERE owner = ?"
_GREW: Final = (
    " RETURNING seq, state, pushes, messages, bytes, holder, suspended, children, deadline, needs, owner, agent"
)
_NO_ORIGIN: Final = Origin()
_AFTER_ALL: Final = 2**62


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """A body and its JSON, encoded once for the size limit, the log and the wire."""

    body: Body
    json: bytes


def encode_body(body: Body) -> Encoded:
    return Encoded(body, _ENCODE(body))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The maximum size of one task."""

    messages: int = 1_000
    bytes: int = 64 * 1024 * 1024


LAST_WORD: Final = Bounds(2**31, 2**40)
"""For the engine's own events: a task that has reached its limits must still be able to end."""


@dataclass(frozen=True, slots=True)
class Head:
    """The row of a task, without its content."""

    id: str
    owner: str
    agent: str
    context_id: str
    dialect: Dialect
    state: State
    seq: int
    turn: int
    pushes: int
    created_at: float
    updated_at: float
    metadata: bytes | None
    holder: str | None
    caller: bytes | None
    size: int
    suspended: int
    """1 if the turn is not over, but no process needs to run it."""
    code: str | None
    """The version of the agent's code that the turn is pinned to."""
    parent: str | None
    parent_step: str | None
    trace: str | None
    deadline: float | None
    """The caller's deadline for the task."""

    def blank(self) -> Task:
        """The task before its first event."""
        return Task(
            id=self.id,
            context_id=self.context_id,
            agent=self.agent,
            owner=self.owner,
            dialect=self.dialect,
            status_at=self.created_at,
            created_at=self.created_at,
            updated_at=self.created_at,
            metadata=None if self.metadata is None else _DECODE_JSON(self.metadata),
            origin=self.origin(),
            deadline=self.deadline,
        )

    def origin(self) -> Origin | None:
        """Where the task comes from."""
        if self.parent is None and self.trace is None:
            return None
        return Origin(self.parent, self.parent_step, self.trace)


@dataclass(frozen=True, slots=True)
class Appended:
    """The result of an append: the numbered events, and the current row."""

    events: list[Event]
    state: State
    pushes: int
    holder: str | None
    suspended: int
    children: int
    deadline: float | None
    needs: str
    """The rooms the turn needs, if it is suspended."""


Claim = Literal["none", "take", "release"]
"""What an append does with the lease: nothing, take it if free, or release it."""

Lease = tuple[str, bytes]
"""The process that runs the turn, and the caller to run it for if it has to run again."""


def create(
    transaction: Transaction,
    task: Task,
    bodies: Sequence[Encoded],
    at: float,
    *,
    bounds: Bounds,
    pushes: int = 0,
    lease: Lease | None = None,
) -> list[Event]:
    """Write a new task with its first events."""
    state, messages, size = _sums(bodies)
    _check(bounds, messages, size)
    holder, caller = lease or (None, None)
    metadata = None if task.metadata is None else _ENCODE(task.metadata)
    origin = task.origin or _NO_ORIGIN
    transaction.run(
        _INSERT_TASK, task.id, task.owner, task.agent, task.context_id, task.dialect, state or "submitted",
        len(bodies), messages, size, pushes, task.created_at, at, metadata, caller, holder,
        origin.parent, origin.step, origin.trace, task.deadline, task.context_id, task.owner,
    )  # fmt: skip
    _emit_event(transaction, task.id, task.owner, task.agent, state or "submitted", at)
    return _insert(transaction, task.id, 0, bodies, at)


def append(
    transaction: Transaction,
    origin: str,
    task_id: str,
    bodies: Sequence[Encoded],
    at: float,
    *,
    bounds: Bounds,
    holder: str | None = None,
    claim: Claim = "none",
    lease: Lease | None = None,
    journal_bytes: int = 0,
    code: str | None = None,
    only_in: State | None = None,
    deadline: float | None = None,
) -> Appended | None:
    """Add events. Returns None if the task has ended, another process holds it (`holder`), or it is in a different
    state (`only_in`). `lease` is for `take`; `code` pins the turn; `deadline` sets a new deadline.
    """
    state, messages, size = _sums(bodies)
    sql = _GROW
    params: list[Value] = [len(bodies), messages, size + journal_bytes]
    if state is not None:  # lists are ordered by the last state change, so artifact chunks do not move a task
        sql += ", state = ?, updated_at = ?"
        params += [state, at]
    if code is not None:
        sql += ", code = ?"
        params.append(code)
    if deadline is not None:
        sql += ", deadline = ?"
        params.append(deadline)
    if claim == "release":
        sql += ", holder = NULL, suspended = 0"
    elif claim == "take" and lease is not None:
        sql += ", turn = seq + 1, code = NULL, holder = ?, caller = ?"
        params += lease
    sql += f" WHERE id = ? AND {OPEN}"
    params.append(task_id)
    if holder is not None:
        sql += " AND holder = ?"
        params.append(holder)
    elif claim == "take":
        sql += " AND holder IS NULL AND suspended = 0"
    if only_in is not None:
        sql += " AND state = ?"
        params.append(only_in)
    row = transaction.one(sql + _GREW, *params)
    if row is None:
        return None
    seq, now, pushes, all_messages, all_bytes, held_by, suspended, children, until, needs, owner, agent = row
    _check(bounds, all_messages, all_bytes)
    if not bodies:
        return Appended([], now, pushes, held_by, suspended, children, until, needs)
    if state is not None and state != "working":
        _emit_event(transaction, task_id, owner, agent, state, at)
    events = _insert(transaction, task_id, seq - len(bodies), bodies, at)
    transaction.signal(CHANNEL, f"{origin} {task_id} {seq}")
    resource_updated(transaction, f"agents://tasks/{task_id}")
    return Appended(events, now, pushes, held_by, suspended, children, until, needs)


def _emit_event(transaction: Transaction, task_id: str, owner: str, agent: str, state: State, at: float) -> None:
    """Emit an event for the owner when a task is new, rests or has ended. Progress is in the task's own events."""
    kind = f"task.{state}"
    emit(transaction, "agents", kind, [f"agents://tasks/{task_id}"], audience=owner, at=at, data={"agent": agent})


def count_child(transaction: Transaction, parent: str, owner: str) -> bool:
    """Count one more child of a task; False if it has ended or belongs to someone else."""
    sql = f"UPDATE agent_tasks SET children = children + 1 WHERE id = ? AND owner = ? AND {OPEN}"  # noqa: S608  a constant
    return bool(transaction.run(sql, parent, owner))


def take_over(transaction: Transaction, task_id: str, holder: str) -> bool:
    """Take over a turn from a process that ended; False if the turn is over after all."""
    return bool(
        transaction.run(
            f"UPDATE agent_tasks SET holder = ?, suspended = 0 WHERE id = ? AND {_UNFINISHED}",  # noqa: S608  a constant
            holder, task_id,
        )
    )  # fmt: skip


def suspend(transaction: Transaction, task_id: str, seq: int, needs: Iterable[str]) -> bool:
    """Suspend the turn of a process that ended until something happens; False if something already has, after event
    `seq`. A process that has the rooms in `needs` open will then continue it.
    """
    return bool(
        transaction.run(
            "UPDATE agent_tasks SET holder = NULL, suspended = 1, needs = ?"  # noqa: S608  a constant
            f" WHERE id = ? AND seq = ? AND {_UNFINISHED}",
            " ".join(needs), task_id, seq,
        )
    )  # fmt: skip


def unpin(transaction: Transaction, task_id: str) -> bool:
    """Let the turn continue with different code; False if there is no unfinished turn."""
    return bool(
        transaction.run(f"UPDATE agent_tasks SET code = NULL WHERE id = ? AND {_UNFINISHED}", task_id)  # noqa: S608  a constant
    )


def waiting_since(rows: Rows, before: float, most: int) -> list[Head]:
    """Tasks that have waited for their caller since before a time. Approvals have their own deadlines."""
    found = rows.all(
        f"SELECT {HEAD_COLUMNS} FROM agent_tasks WHERE state IN ('input-required', 'auth-required')"  # noqa: S608  constants
        " AND updated_at < ? AND NOT EXISTS"
        " (SELECT 1 FROM agent_approvals AS a WHERE a.task = agent_tasks.id AND a.state = 'pending')"
        " ORDER BY id LIMIT ?",
        before, most,
    )  # fmt: skip
    return [Head(*row) for row in found]


HEAD_SQL: Final = f"SELECT {HEAD_COLUMNS} FROM agent_tasks WHERE id = ?"  # noqa: S608  column names


def get_head(rows: Rows, task_id: str) -> Head | None:
    row = rows.one(HEAD_SQL, task_id)
    return None if row is None else Head(*row)


def events_after(rows: Rows, task_id: str, after: int, most: int) -> list[Event]:
    """The next events of a task, in order."""
    found = rows.all(
        "SELECT seq, at, body FROM agent_events WHERE task = ? AND seq > ? ORDER BY seq LIMIT ?", task_id, after, most
    )
    return [Event(seq, at, _DECODE(body)) for seq, at, body in found]


def total_bytes(bodies: Sequence[Encoded]) -> int:
    return sum([len(one.json) for one in bodies])


def _sums(bodies: Sequence[Encoded]) -> tuple[State | None, int, int]:
    """The last state in the bodies, the number of messages, and their size in bytes."""
    state: State | None = None
    messages = size = 0
    for one in bodies:
        size += len(one.json)
        body = one.body
        if isinstance(body, StatusEvent):
            state = body.state
            if body.message is not None:
                messages += 1
        elif isinstance(body, MessageEvent):
            messages += 1
    return state, messages, size


def _check(bounds: Bounds, messages: int, size: int) -> None:
    if messages > bounds.messages:
        raise LimitExceeded(
            f"The task has {bounds.messages} messages already, which is the maximum.",
            hint="Start a new task in the same context.",
            details={"reason": "history-limit"},
        )
    if size > bounds.bytes:
        raise LimitExceeded(
            f"The task would hold more than {bounds.bytes} bytes.",
            hint="Start a new task, or send large content as a URL.",
            details={"reason": "task-limit"},
        )


def _insert(transaction: Transaction, task_id: str, base: int, bodies: Sequence[Encoded], at: float) -> list[Event]:
    rows: list[tuple[Any, ...]] = []
    events: list[Event] = []
    for seq, one in enumerate(bodies, base + 1):
        rows.append((task_id, seq, at, one.json))
        events.append(Event(seq, at, one.body))
    transaction.run_many(_INSERT_EVENT, rows)
    return events


@dataclass(frozen=True, slots=True)
class Listing:
    """Which tasks to list."""

    owner: str | None
    """None lists the tasks of all owners; only administrators may ask for that."""
    context_id: str | None
    state: str | None
    agent: str | None
    since: float | None
    page_size: int
    cursor: str | None
    count_to: int | None = None
    """Stop counting here: an exact total reads every matching row."""


@dataclass(frozen=True, slots=True)
class HeadPage:
    """A page of rows, the total number, and the cursor of the next page."""

    heads: list[Head]
    total: int
    next: str | None


def list_heads(rows: Rows, listing: Listing) -> HeadPage:
    if not 1 <= listing.page_size <= MAX_PAGE:
        raise InvalidInput(f"A page has 1 to {MAX_PAGE} tasks.", details={"reason": "page-size"})
    where, params = _conditions(listing)
    counted = f"SELECT 1 FROM agent_tasks WHERE {where}"  # noqa: S608  own words
    limit = "" if listing.count_to is None else f" LIMIT {listing.count_to:d}"
    total = int(rows.value(f"SELECT count(*) FROM ({counted}{limit}) AS counted", *params))  # noqa: S608  own words
    if listing.cursor is not None:
        at, task_id = _read_cursor(listing.cursor)
        where += " AND (updated_at, id) < (?, ?)"
        params += [at, task_id]
    found = rows.all(
        f"SELECT {HEAD_COLUMNS} FROM agent_tasks WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?",  # noqa: S608  own words
        *params, listing.page_size + 1,
    )  # fmt: skip
    heads = [Head(*row) for row in found[: listing.page_size]]
    more = len(found) > listing.page_size
    return HeadPage(heads, total, _cursor(heads[-1].updated_at, heads[-1].id) if more else None)


WAITING: Final = "state = 'input-required'"
"""A literal, like in the index of waiting tasks: with a parameter, SQLite would not use the index."""


def latest_heads(rows: Rows, owner: str, most: int, *, agent: str | None = None, waiting: bool = False) -> list[Head]:
    """The owner's last changed tasks, with an agent or waiting for an answer. They are not counted."""
    where = f"owner = ?{' AND agent = ?' if agent is not None else ''}{f' AND {WAITING}' if waiting else ''}"
    found = rows.all(
        f"SELECT {HEAD_COLUMNS} FROM agent_tasks WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?",  # noqa: S608  own words
        owner, *([] if agent is None else [agent]), most,
    )  # fmt: skip
    return [Head(*row) for row in found]


def _conditions(listing: Listing) -> tuple[str, list[Value]]:
    where, params = "1 = 1", list[Value]()
    if listing.state is not None:
        if listing.state not in STATES:
            raise InvalidInput(
                f"{listing.state!r} is not a state of a task.", hint=f"States are {', '.join(STATES)}.",
                details={"reason": "no-such-state"},
            )  # fmt: skip
        where += " AND state = ?"
        params.append(listing.state)
    for column, value in (("owner", listing.owner), ("context", listing.context_id), ("agent", listing.agent)):
        if value is not None:
            where += f" AND {column} = ?"
            params.append(value)
    if listing.since is not None:
        where += " AND updated_at > ?"
        params.append(listing.since)
    return where, params


def conversation_heads(rows: Rows, task: Task, limit: int, cursor: str | None) -> HeadPage:
    """The tasks of the same owner and context that were created before this one, newest first."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInput(f"A page has 1 to {MAX_PAGE} tasks.", details={"reason": "page-size"})
    if cursor is not None:
        number, task_id = _read_cursor(cursor)
    else:  # a task that is not stored yet counts as the last one
        number, task_id = rows.value("SELECT number FROM agent_tasks WHERE id = ?", task.id) or _AFTER_ALL, task.id
    found = rows.all(
        f"SELECT {HEAD_COLUMNS}, number FROM agent_tasks WHERE context = ? AND owner = ? AND id <> ?"  # noqa: S608  own words
        " AND (number, id) < (?, ?) ORDER BY number DESC, id DESC LIMIT ?",
        task.context_id, task.owner, task.id, int(number), task_id, limit + 1,
    )  # fmt: skip
    heads = [Head(*row[:-1]) for row in found[:limit]]
    return HeadPage(heads, 0, _cursor(found[limit - 1][-1], heads[-1].id) if len(found) > limit else None)


def _cursor(at: float, task_id: str) -> str:
    return cursors.pack((at, task_id))


def _read_cursor(text: str) -> tuple[float, str]:
    try:
        return cursors.unpack(text, tuple[float, str])
    except ValueError:
        raise InvalidInput(
            "The cursor is not valid.", hint="Pass the cursor of the previous page unchanged.",
            details={"reason": "bad-cursor"},
        ) from None  # fmt: skip


@lru_cache(1_024)
def encode_caller(caller: Principal) -> bytes:
    """The caller as stored in a task's row: a turn that runs again may do no more than the caller could then."""
    return _ENCODE([caller.id, caller.name, sorted(caller.scopes), caller.kind, caller.credential, caller.user])


def decode_caller(stored: bytes | None) -> Principal:
    """The stored caller; anonymous if there is none."""
    if stored is None:
        return ANONYMOUS
    found: Any = _DECODE_JSON(stored)
    return Principal(found[0], found[1], frozenset(found[2]), *found[3:])
