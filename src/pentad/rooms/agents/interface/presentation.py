"""How tools, resources and the command line show tasks and cards, within a budget of characters.

Text that exceeds the budget is cut, with a note. The whole task is always available at its URI.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec import UNSET, ValidationError, convert, to_builtins
from pydantic import BaseModel, ConfigDict

from pentad.kernel.clock import iso
from pentad.kernel.json_values import as_object
from pentad.kernel.principal import Principal
from pentad.rooms.agents.approvals.approvers import names_text
from pentad.rooms.agents.approvals.inbox import approval_id_in, awaited_approvers
from pentad.rooms.agents.context.extension import FOUND_KEY, MASKED_KEY, found_json, masked_json
from pentad.rooms.agents.delegation import Delegation
from pentad.rooms.agents.message_contexts import context_hash
from pentad.rooms.agents.models import (
    BUDGET_KEY,
    INTERRUPTED,
    TERMINAL,
    Artifact,
    ArtifactEvent,
    Body,
    Message,
    Part,
    StatusEvent,
    Task,
)
from pentad.rooms.agents.registry.store import CardRecord
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.child_tasks import MOST_TASKS, CallSpan, TaskSpan, TaskTrace

TASKS: Final = "agents://tasks/"
CARDS: Final = "agents://cards/"
DEFAULT_BUDGET: Final = 40_000
FEWEST: Final = 500
_LONGEST_NOTE: Final = 200
_LONGEST_LINE: Final = 100
_LISTED_CHARACTERS: Final = 2_000


class ArtifactView(BaseModel):
    """`text` and `data` come from its parts. Files have a URL or a size."""

    id: str
    name: str | None = None
    text: str | None = None
    data: list[Any] | None = None
    files: list[dict[str, Any]] | None = None


class TaskView(BaseModel):
    """A task. `text`, `data` and `files` are the agent's last message; `waiting_for` is set if it needs an answer, a
    login or the approval `approval_id`.

    `masked` lists secrets removed from the last message, `secrets_found` those left in.
    """

    model_config = ConfigDict(extra="forbid")

    task_id: str | None = None
    context_id: str | None = None
    agent: str
    state: str
    text: str = ""
    data: list[Any] | None = None
    files: list[dict[str, Any]] | None = None
    waiting_for: str | None = None
    approval_id: str | None = None
    artifacts: list[ArtifactView] = []
    budget: dict[str, Any] | None = None
    context_sha256: str | None = None
    masked: list[dict[str, str]] | None = None
    secrets_found: list[dict[str, str]] | None = None
    updated_at: str | None = None
    resource: str | None = None
    cut: str | None = None
    hint: str | None = None


class AgentView(BaseModel):
    """An agent by its card. Pass `id` to agents_send_task."""

    id: str
    card_id: str
    name: str
    description: str
    version: str
    url: str
    hosted_here: bool
    skills: list[str]
    tags: list[str]
    auth_schemes: list[str]
    dialects: list[str]
    mcp_context: bool


class _Budget:
    """The remaining characters."""

    def __init__(self, characters: int) -> None:
        self.left = characters
        self.cut = 0

    def take(self, text: str) -> str:
        taken = text[: max(self.left, 0)]
        self.left -= len(taken)
        self.cut += len(text) - len(taken)
        return taken


def task_view(task: Task, agent: str, budget: int = DEFAULT_BUDGET, *, is_local: bool = True) -> TaskView:
    """The task, cut to a budget of characters. `is_local` means that we store it, and it has a URI."""
    left = _Budget(budget)
    message = task.status_message or next((one for one in reversed(task.history) if one.role == "agent"), None)
    parts = () if message is None else message.parts
    text, data = left.take(_text(parts)), _data(parts, left)
    artifacts = [_artifact(one, left) for one in task.artifacts]
    address = TASKS + task.id if is_local else None
    return TaskView(
        task_id=task.id,
        context_id=task.context_id,
        agent=agent,
        state=task.state,
        text=text,
        data=data,
        files=_files(parts),
        waiting_for=waiting_for(task),
        approval_id=approval_id_in(task) if is_local else None,
        artifacts=artifacts,
        budget=as_object((task.metadata or {}).get(BUDGET_KEY)) or None,
        context_sha256=context_hash(task),
        masked=_secrets_json(task, MASKED_KEY) if is_local else None,
        secrets_found=_secrets_json(task, FOUND_KEY) if is_local else None,
        updated_at=iso(task.updated_at) if task.updated_at else None,
        resource=address,
        cut=_cut(left, address),
        hint=_hint(task),
    )


async def list_tasks(agents: Agents, caller: Principal, state: str | None, limit: int) -> list[dict[str, Any]]:
    """The caller's tasks, last changed first, each cut to a few lines."""
    page = await agents.tasks.list(caller, state=state, page_size=limit)
    return [task_view(one, one.agent, _LISTED_CHARACTERS).model_dump(exclude_none=True) for one in page.tasks]


def message_view(message: Message, agent: str, budget: int = DEFAULT_BUDGET) -> TaskView:
    """An answer without a task."""
    left = _Budget(budget)
    text, data = left.take(_text(message.parts)), _data(message.parts, left)
    return TaskView(
        context_id=message.context_id,
        agent=agent,
        state="completed",
        text=text,
        data=data,
        files=_files(message.parts),
        cut=_cut(left, None),
    )


def delegation_view(delegated: Delegation, budget: int = DEFAULT_BUDGET) -> TaskView:
    """The result of a delegation."""
    if isinstance(delegated.result, Message):
        view = message_view(delegated.result, delegated.agent, budget)
    else:
        view = task_view(delegated.result, delegated.agent, budget, is_local=delegated.is_local)
    if not delegated.masked:
        return view
    secrets = {"masked": masked_json(delegated.masked) or None, "secrets_found": found_json(delegated.masked) or None}
    return view.model_copy(update=secrets)


def agent_view(card: CardRecord) -> AgentView:
    metadata = card.metadata
    return AgentView(
        id=metadata.readable_id,
        card_id=card.id,
        name=metadata.name,
        description=metadata.description,
        version=metadata.version,
        url=metadata.url,
        hosted_here=card.hosted,
        skills=metadata.all("skill"),
        tags=metadata.all("tag"),
        auth_schemes=metadata.all("auth"),
        dialects=metadata.all("dialect"),
        mcp_context=("feature", "mcp") in metadata.marks,
    )


def task_json(task: Task) -> dict[str, Any]:
    """A whole task as JSON."""
    found: dict[str, Any] = to_builtins(task)
    del found["origin"]
    if task.origin is not None and task.origin.parent is not None:
        found["parent"] = task.origin.parent
    for key in ("created_at", "updated_at", "status_at"):
        found[key] = iso(found[key])
    return found


def trace_json(trace: TaskTrace) -> dict[str, Any]:
    """A trace as nested JSON: tasks, the calls of their agents, and the tasks these started."""
    found = {"trace_id": trace.trace_id, "task": _task_span(trace.task)}
    return {**found, "cut": f"Only {MOST_TASKS} tasks are shown."} if trace.is_cut else found


def _task_span(span: TaskSpan) -> dict[str, Any]:
    head = span.head
    found: dict[str, Any] = {
        "task_id": head.id,
        "agent": head.agent,
        "state": head.state,
        "at": iso(head.created_at),
        "seconds": round(head.updated_at - head.created_at, 3),
        "span_id": span.span_id,
        "parent_span_id": span.parent_span_id,
        "calls": [_call_span(one) for one in span.calls] or None,
        "tasks": [_task_span(one) for one in span.tasks] or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _call_span(call: CallSpan) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": call.kind,
        "name": call.name,
        "at": iso(call.at),
        "seconds": None if call.ended_at is None else round(call.ended_at - call.at, 3),
        "error": call.error,
        "span_id": call.span_id,
        "task": None if call.task is None else _task_span(call.task),
        "remote_task": call.remote_task,
    }
    return {name: value for name, value in found.items() if value is not None}


def trace_lines(task: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """A trace as an indented list: tasks, and below each the calls of its agent."""
    yield f"{indent}{task['agent']} {task['state']} {task['seconds']:g} s ({task['task_id']})"
    indent += "  "
    for call in task.get("calls", ()):
        if "task" in call:
            yield from trace_lines(call["task"], indent)
            continue
        seconds = f" {call['seconds']:g} s" if "seconds" in call else " ..."
        remote = f" ({call['remote_task']['task_id']})" if "remote_task" in call else ""
        problem = f": {_short(call['error'])}" if "error" in call else ""
        yield f"{indent}{call['kind']} {_short(call['name'])}{seconds}{remote}{problem}"
    for one in task.get("tasks", ()):
        yield from trace_lines(one, indent)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3]}..."


def describe_event(body: Body) -> str:
    """An event on one short line, for progress."""
    if isinstance(body, ArtifactEvent):
        more = "more of " if body.append else ""
        text = f"{more}{body.artifact.name or body.artifact.id}: {_text(body.artifact.parts)}"
    else:
        text = "" if body.message is None else _text(body.message.parts)
        if isinstance(body, StatusEvent):
            text = f"{body.state}: {text}" if text else body.state
    return " ".join(text.split())[:_LONGEST_NOTE]


def _artifact(one: Artifact, left: _Budget) -> ArtifactView:
    texts = [part.text for part in one.parts if part.text is not UNSET]
    data = _data(one.parts, left)
    return ArtifactView(
        id=one.id,
        name=one.name,
        text=left.take("".join(str(text) for text in texts)) if texts else None,
        data=data,
        files=_files(one.parts),
    )


def _data(parts: tuple[Part, ...], left: _Budget) -> list[Any] | None:
    """The values that fit; None if there are none."""
    data: list[Any] = []
    for part in parts:
        if part.data is UNSET:
            continue
        size = len(str(part.data))
        if size <= left.left:
            left.left -= size
            data.append(part.data)
        else:
            left.cut += size
    return data or None


def _files(parts: tuple[Part, ...]) -> list[dict[str, Any]] | None:
    return [_file(part) for part in parts if part.raw is not UNSET or part.url is not UNSET] or None


def _file(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = {"filename": part.filename, "media_type": part.media_type}
    if part.url is not UNSET:
        found["url"] = part.url
    elif part.raw is not UNSET:
        found["bytes"] = len(part.raw) * 3 // 4
    return {key: value for key, value in found.items() if value is not None}


def _text(parts: tuple[Part, ...]) -> str:
    return "\n".join(part.text for part in parts if part.text is not UNSET)


def _secrets_json(task: Task, key: str) -> list[dict[str, str]] | None:
    """The secrets that were masked, or found and left in place, in the user's last message."""
    message = next((one for one in reversed(task.history) if one.role == "user"), None)
    secrets = None if message is None else (message.metadata or {}).get(key)
    with suppress(ValidationError):  # callers can write anything there
        return convert(secrets, list[dict[str, str]])
    return None


def waiting_for(task: Task) -> str | None:
    """What an interrupted task waits for."""
    if task.state not in INTERRUPTED:
        return None
    if (names := awaited_approvers(task)) is not None:
        return f"an approval by {names_text(names)}"
    return "an answer" if task.state == "input-required" else "a login"


def _hint(task: Task) -> str | None:
    if (approval := approval_id_in(task)) is not None:
        return f"It continues when the approval {approval} is decided; agents_approvals shows it."
    if task.state in INTERRUPTED:
        return "Answer with agents_send_task and this task_id."
    if task.state not in TERMINAL:
        return "It is running. Check with agents_get_task, or subscribe to its resource."
    return None


def _cut(left: _Budget, address: str | None) -> str | None:
    if not left.cut:
        return None
    where = f" Read {address} for all of it." if address else ""
    return f"{left.cut} characters did not fit the budget.{where}"
