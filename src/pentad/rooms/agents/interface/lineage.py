"""Where tasks and artifacts come from (`Room.lineage`).

Nothing extra is stored: a task has its agent, owner and parent, its messages have their contexts' references, and the
journal has what the agent read, called and sent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import quote, unquote

import msgspec

from pentad.kernel.errors import NotFound
from pentad.kernel.json_values import as_object
from pentad.kernel.ports import Rows
from pentad.kernel.principal import Principal
from pentad.kernel.provenance import Link, Origin, Thing, person
from pentad.mcp.references import scheme_of
from pentad.rooms.agents.approvals import store as approvals
from pentad.rooms.agents.context.context_store import OTHER_REF
from pentad.rooms.agents.context.extension import PLAIN_KEY
from pentad.rooms.agents.interface.presentation import CARDS, TASKS
from pentad.rooms.agents.interface.resources import find_card
from pentad.rooms.agents.message_contexts import artifact_of
from pentad.rooms.agents.models import TERMINAL, Message, Task
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.child_tasks import TaskSpan, span_of, trace_of

_TASK: Final = re.compile(r"agents://tasks/([^/?#]+)(?:#.*)?")
_CARD: Final = re.compile(r"agents://cards/([^?#]+)")
_ARTIFACT: Final = re.compile(r"(?:agents://tasks/([^/]+)/artifacts/|a2a-artifact:([^/]+)/)(.+)")
_MOST_USED: Final = 100
_MOST_CALLS: Final = 500


async def lineage(agents: Agents, caller: Principal, uri: str) -> Origin | None:
    """The origin of a task or an artifact, or the name of an agent."""
    if (found := _ARTIFACT.fullmatch(uri)) is not None:
        return await _artifact(agents, caller, found[1] or found[2], unquote(found[3]))
    if (found := _TASK.fullmatch(uri)) is not None:
        return await _task(agents, caller, found[1])
    if (found := _CARD.fullmatch(uri)) is not None:
        card = await find_card(agents, unquote(found[1]))
        return Origin(Thing(uri, "agent", "agent", card.metadata.name))
    return None


async def _artifact(agents: Agents, caller: Principal, task_id: str, name: str) -> Origin:
    task = await agents.tasks.get(caller, task_id)
    made = artifact_of(task, name)
    thing = Thing(f"{TASKS}{task.id}/artifacts/{quote(made.id)}", "entity", "artifact", made.name or made.id)
    return Origin(thing, [Link("wasGeneratedBy", TASKS + task.id)])


async def _task(agents: Agents, caller: Principal, task_id: str) -> Origin:
    task = await agents.tasks.get(caller, task_id)
    trace = await agents.tasks.trace(caller, task_id)
    owner = trace.task.head.owner
    agent = Thing(CARDS + quote(task.agent), "agent", "agent", task.agent)
    links = [
        Link("wasAssociatedWith", agent),
        Link("actedOnBehalfOf", person(owner), source=agent.uri),
    ]
    if task.origin is not None and task.origin.parent is not None:
        links.append(Link("wasStartedBy", TASKS + task.origin.parent, task.created_at))
    links += [Link("used", uri) for uri in await context_references(agents, caller, task)]
    used, more = await _used(agents, task_id)
    links += used
    links += _children(trace.task)
    links += await _approvals(agents, task_id)
    ended = task.updated_at if task.state in TERMINAL else None
    facts = {"state": task.state, "trace": trace_of(task.id, task.origin).trace_id}
    thing = Thing(TASKS + task.id, "activity", "task", _title(task), task.created_at, ended, facts)
    return Origin(thing, links, more)


async def context_references(agents: Agents, caller: Principal, task: Task) -> list[str]:
    """The references in the contexts of the messages to the agent."""
    found: dict[str, None] = {}
    for message in task.history:
        if message.role != "user" or PLAIN_KEY not in (message.metadata or {}):
            continue
        try:
            whole = await agents.intake.from_log(message, caller)
        except NotFound:  # a large context that retention has removed
            continue
        found |= dict.fromkeys(message_references(whole))
    return list(found)


def message_references(message: Message) -> Iterator[str]:
    items = as_object(as_object((message.metadata or {}).get(PLAIN_KEY)).get("items"))
    yield from filter(None, map(item_reference, items.values()))


def item_reference(item: Any) -> str:
    """The reference of an item of a context; empty if it has none."""
    members = as_object(item)
    ref = as_object(members.get("metadata")).get(OTHER_REF) or members.get("ref")
    return ref.removeprefix("mcp+pentad:") if isinstance(ref, str) else ""


async def _used(agents: Agents, task_id: str) -> tuple[list[Link], str]:
    """What the agent read, and what its tools' answers refer to, such as passages an avatar cites."""
    neighbours = agents.platform.neighbours
    schemes = frozenset(neighbours.schemes())
    steps = await agents.platform.database.read(lambda rows: _steps(rows, task_id))
    found: dict[str, Link] = {}
    for kind, name, at, result in steps:
        if kind == "read":
            found.setdefault(name, Link("used", name, at))
        elif neighbours.only_reads(name):
            for uri in _uris(msgspec.json.decode(result), schemes):
                found.setdefault(uri, Link("used", uri, at, role=name))
    more = len(found) > _MOST_USED or len(steps) == _MOST_CALLS
    return list(found.values())[:_MOST_USED], "A task used more than is shown." if more else ""


def _steps(rows: Rows, task_id: str) -> Sequence[tuple[str, str, float, bytes]]:
    return rows.all(
        "SELECT kind, name, at, result FROM agent_steps WHERE task_id = ? AND kind IN ('read', 'tool')"
        " AND result IS NOT NULL AND error IS NULL ORDER BY at, turn, number LIMIT ?",
        task_id, _MOST_CALLS,
    )  # fmt: skip


def _uris(value: Any, schemes: frozenset[str]) -> Iterator[str]:
    """The URIs of resources in a result, wherever a member is called `uri`."""
    if isinstance(value, dict):
        for name, one in cast("Mapping[str, Any]", value).items():
            if name == "uri" and isinstance(one, str) and scheme_of(one) in schemes:
                yield one
            else:
                yield from _uris(one, schemes)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _uris(one, schemes)


def _children(span: TaskSpan) -> Iterator[Link]:
    """The tasks it sent to other agents, local and remote."""
    for child in (*(one.task for one in span.calls if one.task is not None), *span.tasks):
        yield Link("wasInformedBy", TASKS + child.head.id)
    for call in span.calls:
        if call.remote_task is not None:
            task, agent = str(call.remote_task.get("task_id")), str(call.remote_task.get("agent"))
            uri = f"urn:pentad:remote-task:{span_of(span.head.id, task)}"
            yield Link("wasInformedBy", Thing(uri, "activity", "task of a remote agent", f"{agent}: {task}", call.at))


async def _approvals(agents: Agents, task_id: str) -> list[Link]:
    """What people decided during the task."""
    links: list[Link] = []
    for one in await agents.platform.database.read(lambda rows: approvals.decided_of(rows, task_id)):
        facts = {"outcome": one.state}
        uri = f"urn:pentad:approval:{one.id}"
        links.append(
            Link("wasInformedBy", Thing(uri, "activity", "approval", one.what, one.created_at, one.decided_at, facts))
        )
        if one.decided_by:
            links.append(Link("wasAssociatedWith", person(one.decided_by), source=uri))
    return links


def _title(task: Task) -> str:
    text = next((one.text for one in task.history if one.role == "user" and one.text), "")
    line = " ".join(text.split())
    return f"{task.agent}: {line if len(line) <= 60 else line[:57] + '...'}" if line else task.agent
