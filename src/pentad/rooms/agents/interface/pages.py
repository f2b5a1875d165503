"""The room's pages: agents, the visitor's tasks, and one task with all its events."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.pages import (
    Block,
    Cell,
    Code,
    Column,
    Facts,
    Links,
    Note,
    Page,
    Pager,
    Pages,
    Place,
    Prose,
    SearchBox,
    Section,
    Sheet,
    Table,
    Visit,
    when,
)
from pentad.rooms.agents import store
from pentad.rooms.agents.interface.presentation import ArtifactView, describe_event, task_view
from pentad.rooms.agents.interface.resources import find_card
from pentad.rooms.agents.models import INTERRUPTED, TERMINAL, MessageEvent, StatusEvent, Task
from pentad.rooms.agents.registry.store import CardQuery
from pentad.rooms.agents.service import Agents

_AT_ONCE: Final = 25
_RECENT: Final = 8
_MOST_EVENTS: Final = 500
_REFRESH: Final = 3.0
_BUDGET: Final = 100_000
_TASKS: Final = (
    Column("Task", short=True),
    Column("State", short=True),
    "What the agent said",
    Column("Changed", short=True),
)
_STATES: Final = {"input-required": "waits for an answer", "auth-required": "waits for a login"}


async def overview(agents: Agents, visit: Visit) -> Sheet:
    """The agents, filtered by the search words, and the visitor's latest tasks."""
    words, offset = visit.asked(), visit.number("offset") or 0
    found = await agents.registry.search(CardQuery(words=words), limit=_AT_ONCE, offset=offset)
    rows = [
        (
            Cell(one.metadata.name, _card(one.id)),
            "here" if one.hosted else "remote",
            one.metadata.description,
            ", ".join(one.metadata.all("dialect")),
        )
        for one in found.cards
    ]
    columns = ("Agent", Column("Runs", short=True), "What it does", Column("Speaks", short=True))
    blocks: list[Block] = [
        SearchBox("Search agents by name and what they do", words),
        Table(columns, rows, "No agents match." if words else "There are no agents."),
    ]
    end = offset + len(found.cards)
    following = Place((), {"q": words, "offset": str(end)}) if end < found.total else None
    if following or offset:
        blocks.append(Pager(f"{found.total:,} agents", following, Place((), {"q": words}) if offset else None))
    if not words and not offset:
        page = await agents.tasks.list(visit.principal, page_size=_RECENT)
        rest: list[Block] = [Links([Cell(f"All {page.total:,} tasks", Place(("tasks",)))])] if page.next else []
        blocks.append(Section("Your latest tasks", [_table(page.tasks), *rest]))
    return Sheet("Agents", blocks, lead="Agents that accept tasks, hosted here or remote, and your tasks with them.")


async def one_card(agents: Agents, visit: Visit) -> Sheet:
    """An agent and its card."""
    card = await find_card(agents, visit.path["card"])
    metadata = card.metadata
    details = [
        ("Readable id", metadata.readable_id),
        ("Version", metadata.version),
        ("Address", Cell(metadata.url, metadata.url)),
        ("Speaks", ", ".join(metadata.all("dialect"))),
        ("Log in by", ", ".join(metadata.all("auth"))),
        ("Takes context", "yes" if ("feature", "mcp") in metadata.marks else "no"),
        ("Registered", "" if card.hosted else when(card.created_at)),
    ]
    blocks: list[Block] = [Prose(metadata.description), Facts(details)]
    if not card.is_active:
        blocks.insert(0, Note("This card was removed.", "bad"))
    if skills := metadata.all("skill"):
        blocks.append(Section("Skills", [Links(skills)]))
    if tags := metadata.all("tag"):
        blocks.append(Section("Tags", [Links(tags)]))
    name = agents.hosted_name(card)
    if name is not None:
        page = await agents.tasks.list(visit.principal, agent=name, page_size=_RECENT)
        blocks.append(Section("Your tasks with it", [_table(page.tasks)]))
    blocks.append(Section("The card as JSON", [Code(_pretty(card.card))], folded=True))
    return Sheet(metadata.name, blocks)


async def all_tasks(agents: Agents, visit: Visit) -> Sheet:
    """The visitor's tasks, last changed first."""
    cursor = visit.query.get("cursor") or None
    page = await agents.tasks.list(visit.principal, page_size=_AT_ONCE, cursor=cursor)
    following = Place(("tasks",), {"cursor": page.next}) if page.next else None
    pager = Pager(f"{page.total:,} tasks", following, Place(("tasks",)) if cursor else None)
    return Sheet("Tasks", [_table(page.tasks), pager], lead="Your tasks, last changed first.")


async def one_task(agents: Agents, visit: Visit) -> Sheet:
    """A task: its state, its results, and every event."""
    task = await agents.tasks.get(visit.principal, visit.path["task"])
    shown = task_view(task, task.agent, _BUDGET)
    blocks: list[Block] = []
    if task.state in INTERRUPTED:
        blocks.append(Note(f"It waits for {shown.waiting_for}."))
    elif task.state in TERMINAL and task.state != "completed":
        blocks.append(Note(f"The task is {task.state}.", "bad"))
    if shown.text:
        blocks.append(Prose(shown.text))
    blocks.append(
        Facts(
            [
                ("Agent", Cell(task.agent, _card(task.agent))),
                ("State", task.state),
                ("Begun", when(task.created_at)),
                ("Changed", when(task.updated_at)),
                ("Conversation", task.context_id),
                ("Received via", {"mcp": "MCP", "agentvault": "AgentVault"}.get(task.dialect, f"A2A {task.dialect}")),
                ("Task", task.id),
            ]
        )
    )
    blocks += [Section(one.name or one.id, _made(one)) for one in shown.artifacts]
    if pushes := await agents.tasks.push.statuses(task.id):
        columns = ("Configuration", Column("State", short=True), Column("Delivered", numeric=True), "Problem")
        rows = [(one.config.id, one.state, str(one.delivered), one.problem or "") for one in pushes]
        blocks.append(Section("Push notifications", [Table(columns, rows)]))
    blocks.append(Section("Events", await _events(agents, task), folded=task.state in TERMINAL))
    blocks.append(Section("The task as JSON", [Code(_pretty(msgspec.to_builtins(task))[:_BUDGET])], folded=True))
    refresh = None if task.state in TERMINAL | INTERRUPTED else _REFRESH
    return Sheet(_title(task), blocks, trail=[Cell("Tasks", Place(("tasks",)))], refresh=refresh)


async def figures(agents: Agents, visit: Visit) -> Sequence[tuple[str, str]]:
    found = await agents.registry.search(CardQuery(), limit=1)
    tasks = await agents.tasks.list(visit.principal, page_size=1)
    return [("agents", f"{found.total:,}"), ("tasks", f"{tasks.total:,}")]


PAGES: Final[Pages[Agents]] = Pages(
    [
        Page("", overview),
        Page("cards/{card}", one_card),
        Page("tasks", all_tasks),
        Page("tasks/{task}", one_task),
    ],
    figures,
)


async def _events(agents: Agents, task: Task) -> list[Block]:
    events = await agents.platform.database.read(lambda rows: store.events_after(rows, task.id, 0, _MOST_EVENTS))
    rows = [(str(one.seq), when(one.at), _kind(one.body), describe_event(one.body)) for one in events]
    columns = (Column("No", numeric=True), Column("When", short=True), Column("Event", short=True), "What it says")
    more = [Note(f"The task has {task.seq:,} events; these are the first.")] if task.seq > len(events) else []
    return [Table(columns, rows), *more]


def _kind(body: Any) -> str:
    if isinstance(body, StatusEvent):
        return "status"
    if isinstance(body, MessageEvent):
        return "message" if body.message.role == "agent" else "from you"
    return "artifact"


def _made(one: ArtifactView) -> list[Block]:
    blocks: list[Block] = [Prose(one.text)] if one.text else []
    blocks += [Code(_pretty(value)) for value in one.data or ()]
    for file in one.files or ():
        named = str(file.get("filename") or file.get("media_type") or "file")
        blocks.append(Links([Cell(named, file.get("url")) if "url" in file else f"{named}, {file.get('bytes')} bytes"]))
    return blocks or [Note("It is empty, or too large to show here.")]


def _table(tasks: Sequence[Task]) -> Table:
    rows = [
        (
            Cell(_title(one), Place(("tasks", one.id))),
            _STATES.get(one.state, one.state),
            task_view(one, one.agent, 300).text,
            when(one.updated_at),
        )
        for one in tasks
    ]
    return Table(_TASKS, rows, "You have no tasks yet.")


def _title(task: Task) -> str:
    said = next((one.text for one in task.history if one.role == "user" and one.text), "")
    line = " ".join(said.split())
    return f"{task.agent}: {line if len(line) <= 60 else line[:57] + '...'}" if line else task.agent


def _card(wanted: str) -> Place:
    return Place(("cards", wanted))


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
