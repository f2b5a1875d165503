"""Tasks that agents start: parents and children, and their traces.

A child belongs to the caller of its parent, and ends with the parent. Each task is a span of a trace (W3C), and so is
each call its agent makes. Span ids are hashes of what they name, so nothing has to be stored, and a replay has the same
ids.
"""

from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import msgspec

from pentad.kernel.errors import Conflict, LimitExceeded
from pentad.kernel.json_values import as_object
from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.provenance import made_by
from pentad.kernel.trace import RequestMark, Span, TraceParent, current_traceparent, parse_traceparent, request_mark
from pentad.rooms.agents.models import TERMINAL, Json, Origin
from pentad.rooms.agents.store import HEAD_COLUMNS, OPEN, Head, count_child

CHILDREN: Final = "agents.children"
"""The job that ends the children of a task, whose id is the key."""
DEEPEST: Final = 6
MOST_TASKS: Final = 500
"""How many tasks of a tree to read."""
MOST_CALLS: Final = 1_000
"""How many calls of a task to read."""

SUMS: Final = (
    "CAST(coalesce(sum(calls), 0) AS BIGINT), CAST(coalesce(sum(tokens), 0) AS BIGINT), coalesce(sum(seconds), 0)"
)
"""Calls, tokens and seconds in `agent_usage`."""
_BELOW: Final = (  # CROSS JOIN with it makes SQLite start with the family rather than with all tasks
    "WITH RECURSIVE family(member, depth) AS ("
    " SELECT id, 0 FROM agent_tasks WHERE id = ?"
    " UNION ALL SELECT t.id, f.depth + 1 FROM agent_tasks t JOIN family f ON t.parent = f.member)"
)
_ABOVE: Final = (
    "WITH RECURSIVE line(member, up, depth, metadata) AS ("
    " SELECT id, parent, 0, metadata FROM agent_tasks WHERE id = ?"
    " UNION ALL SELECT t.id, t.parent, l.depth + 1, t.metadata FROM agent_tasks t JOIN line l ON t.id = l.up)"
    " SELECT member, metadata FROM line ORDER BY depth"
)
_OPEN_CHILDREN: Final = f"SELECT id FROM agent_tasks WHERE parent = ? AND {OPEN} ORDER BY id"  # noqa: S608  a constant

SEND_TOOL: Final = "agents_send_task"
_ROOM: Final = "agents"
_TASKS: Final = "agents://tasks/"
_SENDS: Final = f"(kind = 'send' OR (kind = 'tool' AND name = '{SEND_TOOL}'))"
"""Calls that send tasks: `turn.send`, and the tool."""


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call that an agent is making: its task, the place of the call in the journal, and the span of the call."""

    task: str
    step: str | None
    trace: str
    on_remote_task: Callable[[str, str], Awaitable[None]] | None = None
    """Called with the agent and task id once a remote agent has accepted a task."""
    is_stopped: Callable[[], bool] = lambda: False
    """Whether the run that makes the call was stopped. Then the call's tasks are not canceled with it: if the run's
    task has ended, a job ends its children; if the server stops, another run waits for them."""

    def origin(self) -> Origin:
        return Origin(self.task, self.step, self.trace)


current_call: Final[ContextVar[AgentCall | None]] = ContextVar("current_call", default=None)
"""Set while an agent's call runs: a task started meanwhile is a child of the agent's task."""


@contextmanager
def making_call(call: AgentCall, principal: str) -> Generator[None]:
    """Make a call inside the block. It continues the trace, and whatever it starts belongs to the task."""
    mark = RequestMark(call.task, call.trace[3:35], call.trace, principal=principal)
    call_before, mark_before = current_call.set(call), request_mark.set(mark)
    made_before = made_by.set(f"agents://tasks/{call.task}#{call.step or ''}")
    try:
        yield
    finally:
        made_by.reset(made_before)
        current_call.reset(call_before)
        request_mark.reset(mark_before)


def trace_of(task_id: str, origin: Origin | None) -> TraceParent:
    """The task as a span. Without a trace from its caller, the trace begins with the task."""
    above = None if origin is None else parse_traceparent(origin.trace)
    trace_id, sampled = (_hash(task_id, 16), True) if above is None else (above.trace_id, above.sampled)
    return TraceParent(trace_id, _hash(task_id, 8), sampled)


def span_of(task_id: str, place: str) -> str:
    """The id of a call as a span."""
    return _hash(f"{task_id} {place}", 8)


def _hash(text: str, size: int) -> str:
    return blake2b(text.encode(), digest_size=size).hexdigest()


def origin_of_request() -> Origin | None:
    """The origin of a task that a caller sends: the trace of the request, if it has one."""
    trace = current_traceparent()
    return None if trace is None else Origin(trace=trace)


def check_depth(rows: Rows, parent: str) -> None:
    """LimitExceeded if a child of this task would be too deep."""
    if len(rows.all(_ABOVE, parent)) > DEEPEST:
        raise LimitExceeded(
            f"Agents have sent tasks to one another {DEEPEST} levels deep.",
            hint="They probably call one another in a circle.",
            details={"reason": "too-deep"},
        )


def ancestors(rows: Rows, task_id: str) -> list[tuple[str, Json | None]]:
    """The task and those above it, nearest first, each with its metadata."""
    found = rows.all(_ABOVE, task_id)
    return [(member, None if metadata is None else msgspec.json.decode(metadata)) for member, metadata in found]


def adopt(transaction: Transaction, parent: str, owner: str) -> None:
    """Count a new child in the row of its parent; Conflict if the parent has ended or belongs to someone else."""
    if not count_child(transaction, parent, owner):
        raise Conflict("The task that started this one has ended.", details={"reason": "parent-ended"})


def find_child(rows: Rows, parent: str, step: str) -> str | None:
    """The child this call of the parent already created, if any."""
    return rows.value("SELECT id FROM agent_tasks WHERE parent = ? AND parent_step = ?", parent, step)


def open_children(rows: Rows, parent: str) -> list[str]:
    return [one for (one,) in rows.all(_OPEN_CHILDREN, parent)]


def open_remote_children(rows: Rows, parent: str) -> list[tuple[str, str]]:
    """The unfinished tasks a task sent to remote agents, according to its journal: the agent, and the id there."""
    found = rows.all(
        f"SELECT result FROM agent_steps WHERE task_id = ? AND {_SENDS} AND result IS NOT NULL"  # noqa: S608  a constant
        " ORDER BY at, turn, number",
        parent,
    )
    sent = [_remote_task(msgspec.json.decode(result)) for (result,) in found]
    last = {(one["agent"], one["task_id"]): one["state"] for one in sent if one is not None}
    return [child for child, state in last.items() if state not in TERMINAL]


def family(rows: Rows, task_id: str) -> Sequence[Head]:
    """The task and everything below it, oldest first, up to `MOST_TASKS`."""
    columns = ", ".join(f"t.{name.strip()}" for name in HEAD_COLUMNS.split(","))
    found = rows.all(
        f"{_BELOW} SELECT {columns} FROM family f CROSS JOIN agent_tasks t WHERE t.id = f.member"  # noqa: S608  own words
        " ORDER BY f.depth, t.created_at, t.id LIMIT ?",
        task_id, MOST_TASKS,
    )  # fmt: skip
    return [Head(*row) for row in found]


@dataclass(slots=True)
class CallSpan:
    """A call that an agent made. `task` is the task it started here."""

    kind: str
    name: str
    span_id: str
    at: float
    ended_at: float | None
    error: str | None = None
    task: "TaskSpan | None" = None
    remote_task: Json | None = None
    """The task that a remote agent did: `agent`, `task_id` and `state`."""


def origin_trace(rows: Rows, uri: str) -> str | None:
    """The trace in which the topmost ancestor of a URI's task was started (`Room.origin`)."""
    task_id = uri.removeprefix(_TASKS).partition("#")[0].partition("/")[0]
    above = rows.all(_ABOVE, task_id) if uri.startswith(_TASKS) else []
    return rows.value("SELECT trace FROM agent_tasks WHERE id = ?", above[-1][0]) if above else None


@dataclass(slots=True)
class TaskSpan:
    """A task in a trace: what its agent called, and tasks that were started in another way, such as by a tool."""

    head: Head
    span_id: str
    parent_span_id: str | None
    calls: list[CallSpan] = field(default_factory=list[CallSpan])
    tasks: list["TaskSpan"] = field(default_factory=list["TaskSpan"])


@dataclass(frozen=True, slots=True)
class TaskTrace:
    """A task and everything it started. `is_cut` means that there are more tasks than were read."""

    trace_id: str
    task: TaskSpan
    is_cut: bool


def read_trace(rows: Rows, task_id: str) -> TaskTrace:
    """The trace of a task, from its row and those below it."""
    heads = family(rows, task_id)
    spans: dict[str, TaskSpan] = {}
    for head in heads:
        above = parse_traceparent(head.trace)
        span = spans[head.id] = TaskSpan(head, trace_of(head.id, head.origin()).span_id, above and above.span_id)
        if head.id != task_id and head.parent is not None:
            spans[head.parent].tasks.append(span)
    started = {(one.head.parent, one.head.parent_step): one for one in spans.values()}
    for span in spans.values():
        _add_calls(rows, span, started)
    first = heads[0]
    return TaskTrace(trace_of(first.id, first.origin()).trace_id, spans[first.id], len(heads) == MOST_TASKS)


def spans_of_trace(rows: Rows, trace_id: str, owners: Sequence[str], since: float) -> list[Span]:
    """The tasks of these owners in a trace, with everything below them."""
    found: list[Span] = []
    for owner in owners:
        first = rows.all(
            "SELECT id FROM agent_tasks WHERE owner = ? AND updated_at >= ? AND trace >= ? AND trace < ?"
            " AND parent IS NULL ORDER BY created_at, id LIMIT ?",
            owner, since, f"00-{trace_id}-", f"00-{trace_id}.", MOST_TASKS,
        )  # fmt: skip
        for (task_id,) in first:
            found += _task_spans(read_trace(rows, task_id).task)
    return found


def _task_spans(task: TaskSpan) -> Iterator[Span]:
    head = task.head
    seconds = head.updated_at - head.created_at if head.state in TERMINAL else None
    yield Span(
        "task", _ROOM, head.agent, head.created_at, seconds, head.state, head.owner, task.span_id,
        task.parent_span_id or "", f"agents://tasks/{head.id}",
    )  # fmt: skip
    for call in task.calls:
        seconds = None if call.ended_at is None else call.ended_at - call.at
        remote = call.remote_task or {}
        name = " ".join([call.name, *(str(remote[key]) for key in ("agent", "task_id") if key in remote)])
        finished = "ok" if call.error is None else "failed"
        outcome = str(remote.get("state") or ("running" if seconds is None else finished))
        yield Span(call.kind, _ROOM, name, call.at, seconds, outcome, head.owner, call.span_id, task.span_id)
        if call.task is not None:
            yield from _task_spans(call.task)
    for child in task.tasks:
        yield from _task_spans(child)


def _add_calls(rows: Rows, span: TaskSpan, started: Mapping[tuple[str | None, str | None], TaskSpan]) -> None:
    """What the agent of a task did, from its journal; each child belongs to the call that started it."""
    found = rows.all(
        f"SELECT turn, number, kind, name, at, ended_at, error, CASE WHEN {_SENDS} THEN result END"  # noqa: S608  a constant
        " FROM agent_steps WHERE task_id = ?"
        " ORDER BY at, turn, number LIMIT ?",
        span.head.id, MOST_CALLS,
    )  # fmt: skip
    for turn, number, kind, name, at, ended_at, error, sent in found:
        place = f"{turn}.{number}"
        child = started.get((span.head.id, place))
        if child is not None:
            span.tasks.remove(child)
        message = None if error is None else _error_text(msgspec.json.decode(error))
        remote = None if sent is None or child is not None else _remote_task(msgspec.json.decode(sent))
        span.calls.append(CallSpan(kind, name, span_of(span.head.id, place), at, ended_at, message, child, remote))


def _remote_task(view: Any) -> Json | None:
    """The result of a send, if a remote agent has the task."""
    sent = as_object(view)
    if not sent.get("task_id") or "resource" in sent:
        return None
    return {name: sent[name] for name in ("agent", "task_id", "state") if name in sent}


def _error_text(error: Json) -> str:
    return str(error.get("message") or error.get("report") or error.get("type") or "failed")


def used_by_family(rows: Rows, task_id: str) -> tuple[Any, ...]:
    """The calls, tokens and seconds of a task, which may not be stored yet, and everything below it."""
    row = rows.one(
        f"{_BELOW}, members(task) AS (SELECT member FROM family UNION SELECT task FROM agent_usage WHERE task = ?)"  # noqa: S608  own words
        f" SELECT {SUMS} FROM members m CROSS JOIN agent_usage u WHERE u.task = m.task",
        task_id, task_id,
    )  # fmt: skip
    return (0, 0, 0.0) if row is None else tuple(row)
