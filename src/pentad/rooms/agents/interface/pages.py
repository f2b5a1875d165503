"""The room's pages: agents, each with a form to send it tasks; the visitor's tasks and their events; approvals."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from pentad.kernel import pages as ui
from pentad.kernel.clock import iso, to_second
from pentad.kernel.json_values import as_object
from pentad.kernel.page_values import label, value_blocks
from pentad.mcp.rights import check_right
from pentad.rooms.agents import store
from pentad.rooms.agents.interface.approval_pages import PLACE as APPROVALS
from pentad.rooms.agents.interface.approval_pages import decide, inbox, one_approval
from pentad.rooms.agents.interface.chat_pages import (
    answer,
    approval_form,
    cancel,
    chat,
    message_arguments,
    message_files,
    message_form,
    named_references,
    say,
    task_forms,
)
from pentad.rooms.agents.interface.lineage import context_references
from pentad.rooms.agents.interface.presentation import (
    TASKS,
    ArtifactView,
    describe_event,
    task_view,
    trace_json,
)
from pentad.rooms.agents.interface.registry_pages import (
    REGISTER,
    owner_forms,
    register,
    register_form,
    send_remote,
    set_active,
)
from pentad.rooms.agents.interface.resources import find_card
from pentad.rooms.agents.interface.retry_form import again, attempt_of
from pentad.rooms.agents.interface.trace_blocks import has_steps, state_words, trace_table
from pentad.rooms.agents.models import (
    BUDGET_KEY,
    INTERRUPTED,
    TERMINAL,
    Body,
    MessageEvent,
    StatusEvent,
    Task,
)
from pentad.rooms.agents.registry.store import CardQuery, CardRecord
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.verbs import FIRST_CONTENT

_AT_ONCE: Final = 25
_RECENT: Final = 8
_MAX_EVENTS: Final = 500
_REFRESH: Final = 3.0
_EVENTS: Final = {"room": "agents"}
_SEND_SECONDS: Final = 5.0
"""How long the form waits, so that a quick task is shown with its result."""
_BUDGET: Final = 100_000
"""The most characters of results and JSON that a page shows."""
_CELL: Final = 400
"""More characters than a cell shows, so that a longer text ends with an ellipsis."""
_LONGEST_TITLE: Final = 60
_COUNTED: Final = 5_001
"""Tasks beyond this number are not counted: counting 100,000 takes longer than the rest of the page."""
_TASKS: Final = (
    "Task",
    ui.Column("State", short=True),
    "What the agent said",
    ui.Column("Changed", short=True),
)
_NO_AGENTS: Final = ui.Hint("There are no agents yet. Register one here, or with", FIRST_CONTENT)
_NO_TASKS: Final = ui.Hint(
    "You have no tasks yet. Open an agent to send it one, or use", "pentad agents send AGENT TEXT"
)
_ENDS: Final = {
    "failed": "The task failed.",
    "rejected": "The agent rejected the task.",
    "canceled": "The task was canceled.",
}
_PUSHES: Final = {
    "told": "delivered",
    "waiting": "waiting",
    "failing": "retrying",
    "dead": "gave up",
    "stopped": "stopped",
}


async def overview(agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """The agents, filtered by search words, and the visitor's latest tasks."""
    words, offset = visit.asked(), visit.number("offset") or 0
    found = await agents.registry.search(CardQuery(text=words), limit=_AT_ONCE, offset=offset)
    rows = [
        (
            ui.Cell(one.metadata.name, _card(one.id)),
            "here" if one.hosted else "remote",
            one.metadata.description,
            _protocols(one.metadata.all("dialect")),
        )
        for one in found.cards
    ]
    columns = ("Agent", ui.Column("Runs", short=True), "What it does", ui.Column("Speaks", short=True))
    blocks: list[ui.Block] = [
        ui.Links(_ways(visit, await _waiting_approvals(agents, visit)), actions=True),
        ui.SearchBox("Search agents by name and what they do", words),
        ui.Table(columns, rows, "No agent matches. Try fewer or other words." if words else _NO_AGENTS),
    ]
    end = offset + len(found.cards)
    following = ui.Place((), {"q": words, "offset": str(end)}) if end < found.total else None
    if following or offset:
        blocks.append(ui.Pager(f"{found.total:,} agents", following, ui.Place((), {"q": words}) if offset else None))
    if not words and not offset:
        tasks = await agents.tasks.latest(visit.principal, _RECENT + 1)
        more = [ui.Links([ui.Cell("All tasks", ui.Place(("tasks",)))])] if len(tasks) > _RECENT else []
        blocks.append(ui.Section("Your latest tasks", [_table(tasks[:_RECENT]), *more]))
    lead = "Agents you can send tasks to, hosted here or remote, and your latest tasks."
    return ui.Sheet("Agents", blocks, lead=lead, events=_EVENTS)


async def one_card(agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """An agent and its card."""
    card = await find_card(agents, visit.path["card"])
    metadata = card.metadata
    details = [
        ("Readable id", metadata.readable_id),
        ("Version", metadata.version),
        ("Address", ui.Cell(metadata.url, metadata.url)),
        ("Speaks", _protocols(metadata.all("dialect"))),
        ("Authentication", ", ".join(metadata.all("auth"))),
        ("Accepts context", "yes" if ("feature", "mcp") in metadata.marks else "no"),
        ("Registered", "" if card.hosted else ui.when(card.created_at)),
    ]
    blocks: list[ui.Block] = [ui.Facts(details)]
    if not card.is_active:
        blocks.insert(0, ui.Note("This card was removed.", "bad"))
    blocks += _skills(card)
    if tags := metadata.all("tag"):
        blocks.append(ui.Section("Tags", [ui.Links(tags)]))
    name = agents.hosted_name(card)
    if visit.principal.may("agents", "write") and card.is_active:
        attempt, text = await attempt_of(agents, visit), _example(card.card)
        value = attempt.value() if attempt is not None else {"text": text} if text else {}
        form = await message_form(visit, "", {}, value, extra=attempt.fields(visit) if attempt is not None else ())
        if name is not None:
            chat = ui.Cell("Chat", ui.Place(("cards", visit.path["card"], "chat")))
            blocks.insert(0, ui.Links([chat], actions=True))
        blocks.append(ui.Section("Send it a task", [form]))
    elif card.is_active:
        blocks.append(ui.Note("You may not send it tasks. Ask an administrator for agents:write."))
    if name is not None:
        latest = await agents.tasks.latest(visit.principal, _RECENT, agent=name)
        if latest:
            blocks.append(ui.Section("Your latest tasks with it", [_table(latest)]))
    blocks += owner_forms(visit, card)
    blocks.append(ui.Section("The card as JSON", [ui.Code(_pretty(card.card))], folded=True))
    return ui.Sheet(metadata.name, blocks, lead=metadata.description)


def _skills(card: CardRecord) -> list[ui.Block]:
    """The skills of a card: with their descriptions if the card has any."""
    given = [
        (str(one.get("name") or one.get("id") or ""), str(one.get("description") or "")) for one in _skills_in(card)
    ]
    if any(about for _, about in given):
        return [ui.Section("Skills", [ui.Facts([(name, about or "-") for name, about in given])])]
    names = [name for name, _ in given if name] or card.metadata.all("skill")
    return [ui.Section("Skills", [ui.Links(names)])] if names else []


def _skills_in(card: CardRecord) -> list[Mapping[str, Any]]:
    found = card.card.get("skills")
    skills = cast("list[Any]", found) if isinstance(found, list) else []
    return [one for one in skills if isinstance(one, Mapping)]


def _ways(visit: ui.Visit, waiting: str) -> list[ui.Cell]:
    """Links to what the visitor can do, with waiting approvals first."""
    ways = [ui.Cell("Register an agent", REGISTER)] if visit.principal.may("agents", "write") else []
    approvals = ui.Cell(waiting or "Approvals", APPROVALS)
    return [approvals, *ways] if waiting else [*ways, approvals]


def _protocols(dialects: Sequence[str]) -> str:
    names = {"mcp": "MCP", "agentvault": "AgentVault"}
    return ", ".join(names.get(one, f"A2A {one}") for one in dialects)


def _example(card: Mapping[str, Any]) -> str:
    """The first example among the skills of a card."""
    examples = [text for skill in card.get("skills") or () for text in skill.get("examples") or ()]
    return examples[0] if examples else ""


async def send(agents: Agents, visit: ui.Visit) -> ui.Place | ui.Sheet:
    """Send the form's message. Redirects to the task, or shows the answer if the agent created none."""
    check_right(visit.principal, "agents", "write")
    card = await find_card(agents, visit.path["card"])
    if (name := agents.hosted_name(card)) is None:
        return await send_remote(agents, card, visit)
    arguments = {**await message_arguments(agents, visit), "agent": name, "seconds": _SEND_SECONDS}
    sent = await visit.call("agents_send_task", arguments)
    if not sent.get("task_id"):
        return ui.Sheet(card.metadata.name, [ui.Prose(str(sent.get("text") or ""))], trail=[ui.Cell(name, _card(name))])
    return ui.Place(("tasks", str(sent["task_id"])))


async def all_tasks(agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """The visitor's tasks, most recently changed first."""
    cursor = visit.query.get("cursor") or None
    page = await agents.tasks.list(visit.principal, page_size=_AT_ONCE, cursor=cursor, count_to=_COUNTED)
    following = ui.Place(("tasks",), {"cursor": page.next}) if page.next else None
    pager = ui.Pager(f"{_count(page.total)} tasks", following, ui.Place(("tasks",)) if cursor else None)
    return ui.Sheet("Tasks", [_table(page.tasks), pager], lead="Your tasks, most recent first.", events=_EVENTS)


async def one_task(agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """A task: its state, its results, and every event."""
    task = await agents.tasks.get(visit.principal, visit.path["task"])
    blocks = await task_blocks(agents, visit, task)
    if pushes := await agents.tasks.push.statuses(task.id):
        columns = ("Webhook", ui.Column("State", short=True), ui.Column("Delivered", numeric=True), "Problem")
        rows = [(one.config.id, _push_state(one.state), f"{one.delivered:,}", one.problem or "") for one in pushes]
        dead = any(one.state == "dead" for one in pushes) and visit.principal.may("access", "admin")
        jobs = [ui.Links([ui.Cell("Retry under failed jobs", ui.Place(("jobs",), room="admin"))])] if dead else []
        blocks.append(ui.Section("Push notifications", [ui.Table(columns, rows), *jobs]))
    after = visit.number("after")
    is_folded = task.state in TERMINAL and after is None
    blocks.append(ui.Section("Events", await _events(agents, task, after or 0), folded=is_folded))
    blocks.append(ui.Section("The task as JSON", [ui.Code(_pretty(msgspec.to_builtins(task))[:_BUDGET])], folded=True))
    refresh = None if task.state in TERMINAL | INTERRUPTED else _REFRESH
    events = {**_EVENTS, "subject": TASKS + task.id}
    trail = [ui.Cell("Tasks", ui.Place(("tasks",)))]
    return ui.Sheet(_title(task), blocks, trail=trail, refresh=refresh, events=events)


async def task_sheet(agents: Agents, visit: ui.Visit, task_id: str) -> ui.Sheet:
    """A task for a view. The view refreshes it until the task ends."""
    task = await agents.tasks.get(visit.principal, task_id)
    refresh = None if task.state in TERMINAL else _REFRESH
    again = ui.ToolCall("agents_get_task", {"task_id": task.id})
    return ui.Sheet(_title(task), await task_blocks(agents, visit, task), refresh=refresh, call=again)


async def task_blocks(agents: Agents, visit: ui.Visit, task: Task) -> list[ui.Block]:
    """A task for a page or a view: its state, actions, results and trace."""
    view = task_view(task, task.agent, _BUDGET)
    blocks: list[ui.Block] = []
    asks = await approval_form(agents, visit, task) if task.state in INTERRUPTED else []
    if task.state in INTERRUPTED:
        blocks.append(ui.Note(f"This task waits for {view.waiting_for}."))
        blocks += asks
    elif task.state in TERMINAL and task.state != "completed":
        blocks.append(ui.Note(_ENDS.get(task.state, f"The task is {task.state}."), "bad"))
    if view.text and not asks:
        blocks.append(ui.Prose(view.text))
    if task.state in TERMINAL and task.state != "completed":
        blocks += again(visit, task)
    blocks += task_forms(visit, task, asks_approval=bool(asks))
    blocks.append(
        ui.Facts(
            [
                ("Agent", ui.Cell(task.agent, _card(task.agent))),
                ("State", _state(task)),
                ("Started", ui.when(task.created_at)),
                ("Changed", ui.when(task.updated_at)),
                ("Conversation", ui.Cell("Read all of it", _chat(task))),
                ("Received via", _protocols([task.dialect])),
                ("Task", task.id),
                ("Context", await named_references(visit, await context_references(agents, visit.principal, task))),
                *await _origin(visit, task),
            ]
        )
    )
    lineage = ui.Cell("What it used", ui.Place(query={"uri": TASKS + task.id}, room="lineage"))
    blocks.append(ui.Links([lineage]))
    blocks += _request(task)
    blocks += [ui.Section(label(one.name or one.id), _made(one)) for one in view.artifacts]
    trace = trace_json(await agents.tasks.trace(visit.principal, task.id))
    if has_steps(trace["task"]):
        timeline = ui.Cell("Full trace", ui.Place((trace["trace_id"],), room="traces"))
        blocks.append(ui.Section("What the agent did", [trace_table(trace["task"]), ui.Links([timeline])]))
    return blocks


async def figures(agents: Agents, visit: ui.Visit) -> Sequence[tuple[str, str]]:
    found = await agents.registry.search(CardQuery(), limit=1)
    tasks = await agents.tasks.list(visit.principal, page_size=1, count_to=_COUNTED)
    return [("agents", f"{found.total:,}"), ("tasks", _count(tasks.total))]


def _count(total: int) -> str:
    return f"{total:,}" if total < _COUNTED else f"{_COUNTED - 1:,}+"


async def needs(agents: Agents, visit: ui.Visit) -> Sequence[tuple[ui.Cell, str]]:
    """Approvals the visitor may decide, and tasks that wait for the visitor's answer."""
    inbox = agents.tasks.approvals
    found = await inbox.list(visit.principal, limit=_AT_ONCE)
    asked = [one for one in found.approvals if inbox.may_decide(visit.principal, one)]
    rows = [
        (ui.Cell(one.what, ui.Place((*APPROVALS.parts, one.id))), f"{one.agent} asks for approval") for one in asked
    ]
    waiting = await agents.tasks.latest(visit.principal, _RECENT, waiting=True)
    known = {one.task for one in found.approvals}
    rest = [one for one in waiting if one.id not in known]
    return [*rows, *((ui.Cell(_title(one), ui.Place(("tasks", one.id))), _awaited(one)) for one in rest)]


def _awaited(task: Task) -> str:
    """Why a task needs the visitor. That it waits for an approval is only what its agent says."""
    return state_words(task.state, task.status_message).replace(" an answer", " your answer")


async def _waiting_approvals(agents: Agents, visit: ui.Visit) -> str:
    """How many approvals wait for the visitor; empty if none do."""
    approvals = agents.tasks.approvals
    page = await approvals.list(visit.principal, limit=_AT_ONCE)
    count = sum(approvals.may_decide(visit.principal, one) for one in page.approvals)
    more = "more than " if page.next else ""
    return f"Approvals: {more}{count} wait for you" if count else ""


PAGES: Final[ui.Pages[Agents]] = ui.Pages(
    [
        ui.Page("", overview),
        ui.Page("register", register_form),
        ui.Page("cards/{card}", one_card),
        ui.Page("cards/{card}/chat", chat),
        ui.Page("tasks", all_tasks),
        ui.Page("tasks/{task}", one_task),
        ui.Page("approvals", inbox),
        ui.Page("approvals/{id}", one_approval),
    ],
    figures,
    actions=[
        ui.Action("register", register_form, register, ""),
        ui.Action("cards/{card}", one_card, send, "cards/{card}"),
        ui.Action("cards/{card}/active", one_card, set_active, ""),
        ui.Action("cards/{card}/chat", chat, say, "cards/{card}/chat"),
        ui.Action("tasks/{task}/answer", one_task, answer, "tasks/{task}"),
        ui.Action("tasks/{task}/cancel", one_task, cancel, "tasks/{task}"),
        ui.Action("approvals/{id}", one_approval, decide, "approvals/{id}"),
    ],
    needs=needs,
    resources={"agents://tasks/{task}": "tasks/{task}", "agents://cards/{card}": "cards/{card}"},
)


def _request(task: Task) -> list[ui.Block]:
    """What the visitor asked for, unless the title already says it all."""
    first = next((one for one in task.history if one.role == "user"), None)
    if first is None:
        return []
    files = message_files(first)
    if not files and len(" ".join(first.text.split())) <= _LONGEST_TITLE:
        return []
    return [ui.Section("Request", [ui.Prose(first.text), ui.Links(files)])]


async def _events(agents: Agents, task: Task, after: int) -> list[ui.Block]:
    """The events after a number, one page of them."""
    events = await agents.platform.database.read(lambda rows: store.events_after(rows, task.id, after, _MAX_EVENTS))
    rows = [(str(one.seq), _clock(one.at), _kind(one.body), _event_text(one.body)) for one in events]
    columns = (ui.Column("No.", numeric=True), ui.Column("Time", short=True), ui.Column("Event", short=True), "Text")
    table = ui.Table(columns, rows, "The task has no further events.")
    if task.seq <= len(events):
        return [table]
    here = ("tasks", task.id)
    last = events[-1].seq if events else after
    following = ui.Place(here, {"after": str(last)}) if last < task.seq else None
    shown = f"Events {events[0].seq:,} to {last:,} of {task.seq:,}" if events else f"{task.seq:,} events"
    return [table, ui.Pager(shown, following, ui.Place(here, {"after": "0"}) if after else None)]


def _event_text(body: Body) -> str:
    text = describe_event(body)
    if isinstance(body, StatusEvent):
        return state_words(body.state, body.message) + text.removeprefix(body.state)
    return text


async def _origin(visit: ui.Visit, task: Task) -> list[tuple[str, Any]]:
    """The task that sent this one, and how much of the budget it used."""
    found: list[tuple[str, Any]] = []
    if task.origin is not None and task.origin.parent is not None:
        parent = task.origin.parent
        name = await visit.name_of(TASKS + parent) or f"task {parent}"
        found.append(("Sent by", ui.Cell(name, ui.Place(("tasks", parent)))))
    if used := as_object(as_object((task.metadata or {}).get(BUDGET_KEY)).get("used")):
        found.append(("Used", ", ".join(f"{value:g} {name}" for name, value in used.items())))
    return found


def _kind(body: Any) -> str:
    if isinstance(body, StatusEvent):
        return "status"
    if isinstance(body, MessageEvent):
        return "message" if body.message.role == "agent" else "your message"
    return "result"


def _push_state(state: str) -> ui.Cell:
    kind = "good" if state == "told" else "plain" if state == "waiting" else "bad"
    return ui.Cell(_PUSHES[state], kind=kind)


def _clock(seconds: float) -> str:
    """A time to the second."""
    return to_second(iso(seconds))


def _made(one: ArtifactView) -> list[ui.Block]:
    blocks: list[ui.Block] = [ui.Prose(one.text)] if one.text else []
    blocks += [block for value in one.data or () for block in value_blocks(value)]
    for file in one.files or ():
        named = str(file.get("filename") or file.get("media_type") or "file")
        blocks.append(
            ui.Links([ui.Cell(named, file.get("url")) if "url" in file else f"{named}, {file.get('bytes')} bytes"])
        )
    return blocks or [ui.Note("This result is empty, or too large to show here.")]


def _table(tasks: Sequence[Task]) -> ui.Table:
    rows = [
        (
            ui.Cell(_title(one), ui.Place(("tasks", one.id))),
            _state(one),
            task_view(one, one.agent, _CELL).text,
            ui.when(one.updated_at),
        )
        for one in tasks
    ]
    return ui.Table(_TASKS, rows, _NO_TASKS)


def _state(task: Task) -> ui.Cell:
    """The state of a task as a badge."""
    kind = "good" if task.state == "completed" else "bad" if task.state in TERMINAL else "plain"
    return ui.Cell(state_words(task.state, task.status_message), kind=kind)


def _title(task: Task) -> str:
    text = next((one.text for one in task.history if one.role == "user" and one.text), "")
    line = " ".join(text.split())
    if len(line) > _LONGEST_TITLE:
        line = f"{line[:_LONGEST_TITLE].rpartition(' ')[0] or line[:_LONGEST_TITLE]}…"
    return f"{task.agent}: {line}" if line else task.agent


def _chat(task: Task) -> ui.Place:
    return ui.Place(("cards", task.agent, "chat"), {"context": task.context_id})


def _card(name: str) -> ui.Place:
    return ui.Place(("cards", name))


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
