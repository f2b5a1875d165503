"""Tasks and their events in SQL. Only this module writes `agent_tasks` and `agent_events`.

Every function is part of a transaction. The row of a task hands out sequence numbers, so they have no gaps or
duplicates however many processes append. The same statement rejects a task that has ended, so a terminal state never
changes. The caller of `append` adds its own condition: that it holds the lease, or that no one does.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.ports import Rows, Transaction, Value
from pentad.kernel.principal import ANONYMOUS, Principal
from pentad.mcp.changes import resource_updated
from pentad.rooms.agents.models import STATES, Body, Dialect, Event, MessageEvent, State, StatusEvent, Task

MAX_PAGE: Final = 100
CHANNEL: Final = "agents"
"""Signalled with `<origin> <task> <seq>` for every append to a task that others may follow."""

_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(Body).decode
_DECODE_JSON: Final = msgspec.json.Decoder().decode

_OPEN: Final = "state IN ('submitted', 'working', 'input-required', 'auth-required')"
HEAD_COLUMNS: Final = (
    "id, owner, agent, context, dialect, state, seq, turn, pushes, created_at, updated_at, metadata, holder, caller,"
    " bytes"
)
_INSERT_TASK: Final = (
    "INSERT INTO agent_tasks (id, owner, agent, context, dialect, state, seq, turn, messages, bytes, pushes,"
    " created_at, updated_at, metadata, caller, holder)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_EVENT: Final = "INSERT INTO agent_events (task, seq, at, body) VALUES (?, ?, ?, ?)"
_GROW: Final = "UPDATE agent_tasks SET seq = seq + ?, messages = messages + ?, bytes = bytes + ?"
COUNT_OPEN: Final = f"SELECT count(*) FROM agent_tasks WHERE owner = ? AND {_OPEN}"  # noqa: S608  a constant
COUNT_ALL: Final = "SELECT count(*) FROM agent_tasks WHERE owner = ?"
_GREW: Final = " RETURNING seq, state, pushes, messages, bytes, holder"


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
        )


@dataclass(frozen=True, slots=True)
class Appended:
    """The result of an append: the numbered events, and the row as it is now."""

    events: list[Event]
    state: State
    pushes: int
    holder: str | None


Claim = Literal["none", "take", "release"]
"""What an append does with the lease: nothing, take it if it is free, or release it."""

Lease = tuple[str, bytes]
"""The process that runs the turn, and the caller to run it for again."""


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
    transaction.run(
        _INSERT_TASK, task.id, task.owner, task.agent, task.context_id, task.dialect, state or "submitted",
        len(bodies), messages, size, pushes, task.created_at, at, metadata, caller, holder,
    )  # fmt: skip
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
) -> Appended | None:
    """Add events. Returns None if the task has ended, or if another process holds it (`holder`). `lease` goes with
    `take`."""
    state, messages, size = _sums(bodies)
    sql = _GROW
    params: list[Value] = [len(bodies), messages, size]
    if state is not None:  # lists are ordered by the last change of state, so chunks of artifacts do not move a task
        sql += ", state = ?, updated_at = ?"
        params += [state, at]
    if claim == "release":
        sql += ", holder = NULL"
    elif claim == "take" and lease is not None:
        sql += ", turn = seq + 1, holder = ?, caller = ?"
        params += lease
    sql += f" WHERE id = ? AND {_OPEN}"
    params.append(task_id)
    if holder is not None:
        sql += " AND holder = ?"
        params.append(holder)
    elif claim == "take":
        sql += " AND holder IS NULL"
    row = transaction.one(sql + _GREW, *params)
    if row is None:
        return None
    seq, now, pushes, all_messages, all_bytes, held_by = row
    _check(bounds, all_messages, all_bytes)
    events = _insert(transaction, task_id, seq - len(bodies), bodies, at)
    transaction.signal(CHANNEL, f"{origin} {task_id} {seq}")
    resource_updated(transaction, f"agents://tasks/{task_id}")
    return Appended(events, now, pushes, held_by)


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
    """The last state in the bodies, the number of messages, and their bytes."""
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
    total = int(rows.value(f"SELECT count(*) FROM agent_tasks WHERE {where}", *params))  # noqa: S608  own words
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
    return HeadPage(heads, total, _cursor(heads[-1]) if more else None)


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


def _cursor(last: Head) -> str:
    return base64.urlsafe_b64encode(f"{last.updated_at!r} {last.id}".encode()).decode().rstrip("=")


def _read_cursor(text: str) -> tuple[float, str]:
    try:
        at, _, task_id = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(" ")
        return float(at), task_id
    except (ValueError, binascii.Error):
        raise InvalidInput(
            "The cursor is not valid.", hint="Pass the cursor of the previous page unchanged.",
            details={"reason": "bad-cursor"},
        ) from None  # fmt: skip


@lru_cache(1_024)
def encode_caller(caller: Principal) -> bytes:
    """The caller for the row of a task: a turn that runs again may do no more than the caller could then."""
    return _ENCODE([caller.id, caller.name, sorted(caller.scopes), caller.kind, caller.credential, caller.user])


def decode_caller(stored: bytes | None) -> Principal:
    """The stored caller; anonymous if there is none."""
    if stored is None:
        return ANONYMOUS
    found: Any = _DECODE_JSON(stored)
    return Principal(found[0], found[1], frozenset(found[2]), *found[3:])
