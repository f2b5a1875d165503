"""Conversations with agents in the console, and the forms to answer and cancel tasks.

Every change calls the room's tools as the visitor.
"""

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, zip_longest
from mimetypes import guess_type
from typing import Any, Final
from urllib.parse import quote, urlencode

from msgspec import UNSET

from pentad.kernel import pages as ui
from pentad.kernel.errors import InvalidInput
from pentad.kernel.page_values import value_blocks
from pentad.kernel.schema_forms import Suggestions, read_form, schema_form
from pentad.kernel.schema_nodes import MISSING
from pentad.mcp.rights import check_right
from pentad.rooms.agents.files import PATH as FILES
from pentad.rooms.agents.files import file_id_in
from pentad.rooms.agents.interface.approval_pages import PLACE as APPROVALS
from pentad.rooms.agents.interface.approval_pages import decision_form
from pentad.rooms.agents.interface.lineage import message_references
from pentad.rooms.agents.interface.presentation import TASKS, task_view
from pentad.rooms.agents.interface.resources import find_card
from pentad.rooms.agents.interface.retry_form import attempt_of
from pentad.rooms.agents.models import INTERRUPTED, TERMINAL, Message, Part, Task
from pentad.rooms.agents.registry.store import CardRecord
from pentad.rooms.agents.service import Agents

_SEND_SECONDS: Final = 5.0
"""How long a form waits, so that a quick task is shown with its result."""
_MOST_TASKS: Final = 50
_REFRESH: Final = 3.0
_BUDGET: Final = 20_000
_MOST_NAMES: Final = 40
"""References beyond this number are shown by their URIs: each name is looked up in its room."""
_TEXT: Final = {"type": "string", "title": "Your message", "format": "multiline", "maxLength": 100_000}
_FILES: Final = {"type": "array", "title": "Files", "items": {"type": "string", "contentEncoding": "base64"}}
_CONTEXT: Final = {
    "type": "array",
    "title": "Context",
    "description": "Objects, passages, records, tasks or metrics the agent should read.",
    "items": {"type": "string", "description": "Type words to search all rooms, or paste a URI."},
    "maxItems": 10,
}
_ANSWER: Final = {"type": "object", "required": ["text"], "properties": {"text": {**_TEXT, "title": "Your answer"}}}


MESSAGE: Final = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": _TEXT, "files": _FILES, "context": _CONTEXT},
}
"""The parts of a message to an agent."""
_ITEM: Final = "/context/"
_FOUND_AT_ONCE: Final = 5
_NO_CONTEXT: Final = frozenset({"tool", "agent"})
"""Kinds of search results that cannot be an agent's context."""


def task_forms(visit: ui.Visit, task: Task, *, asks_approval: bool = False) -> list[ui.Block]:
    """Forms to answer and cancel a task. A task that asks for an approval is decided rather than answered."""
    if task.state in TERMINAL or not visit.principal.may("agents", "write"):
        return []
    path = f"/console/agents/tasks/{task.id}"
    blocks: list[ui.Block] = []
    if task.state in INTERRUPTED and not asks_approval:
        form = schema_form(_ANSWER, visit, [ui.Button("Send answer")], f"{path}/answer")
        sends = ui.ToolCall("agents_send_task", {"agent": task.agent, "task_id": task.id, "seconds": _SEND_SECONDS})
        blocks.append(ui.Section("Answer", [replace(form, call=sends)]))
    cancels = ui.ToolCall("agents_cancel_task", {"task_id": task.id})
    cancel = ui.Form((), [ui.Button("Cancel task", kind="bad")], f"{path}/cancel", call=cancels)
    return [*blocks, ui.Section("Cancel", [ui.Note("What the agent has done so far stays."), cancel], folded=True)]


async def approval_form(agents: Agents, visit: ui.Visit, task: Task) -> list[ui.Block]:
    """The approval a task waits for, with a form if the visitor may decide."""
    approval = await agents.tasks.approvals.awaited(task)
    if approval is None:
        return []
    more = ui.Links([ui.Cell("See the approval", ui.Place((*APPROVALS.parts, approval.id)))])
    if not agents.tasks.approvals.may_decide(visit.principal, approval):
        return [more]
    return [ui.Section("The agent asks for your approval", [ui.Prose(approval.what), more, decision_form(approval)])]


async def answer(agents: Agents, visit: ui.Visit) -> None:
    """Send an answer."""
    check_right(visit.principal, "agents", "write")
    task = await agents.tasks.get(visit.principal, visit.path["task"])
    text = _typed_text(_ANSWER, visit)
    arguments = {"agent": task.agent, "task_id": task.id, "text": text, "seconds": _SEND_SECONDS}
    await visit.call("agents_send_task", arguments)


async def cancel(_agents: Agents, visit: ui.Visit) -> None:
    """Cancel a task."""
    await visit.call("agents_cancel_task", {"task_id": visit.path["task"]})


async def chat(agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """A conversation with an agent."""
    card = await find_card(agents, visit.path["card"])
    name = agents.hosted_name(card)
    if name is None:
        raise InvalidInput("Only agents hosted here can chat.", hint="Send a remote agent a task on its page.")
    context = visit.typed("context") or visit.asked("context", 200)
    cursor = visit.asked("cursor", 200) or None if not visit.posted else None
    tasks: list[Task] = []
    pager: list[ui.Block] = []
    here = ui.Place(("cards", visit.path["card"], "chat"), {"context": context})
    if context:
        page = await agents.tasks.list(
            visit.principal, context_id=context, agent=name, page_size=_MOST_TASKS, cursor=cursor
        )
        tasks = list(reversed(page.tasks))
        tasks.sort(key=lambda one: one.created_at)
        if page.next or cursor:
            earlier = replace(here, query={**here.query, "cursor": page.next}) if page.next else None
            shown = f"{len(tasks):,} of {page.total:,} tasks of this conversation."
            pager = [ui.Pager(shown, earlier, here if cursor else None, ("Earlier messages", "Latest messages"))]
    title = card.metadata.name
    names = await _names(visit, tasks)
    said = [message for task in tasks for message in _messages(task, title, visit, names)]
    blocks: list[ui.Block] = [*pager, ui.Conversation(said, "No messages yet. Write the first one below.")]
    if cursor:  # what comes next belongs below the latest messages
        return ui.Sheet(_title(card), [*blocks, *pager], lead=card.metadata.description, trail=_trail(card, visit))
    last = tasks[-1] if tasks else None
    if last is not None and last.state in INTERRUPTED:
        blocks += await approval_form(agents, visit, last)
    if visit.principal.may("agents", "write"):
        hidden = [ui.Hidden("context", context)] if context else []
        blocks.append(await message_form(visit, "/chat", {"context": context} if context else {}, extra=hidden))
    else:
        blocks.append(ui.Note("You may read messages, but not send any. Ask an administrator for agents:write."))
    if said:
        blocks.append(ui.Links([ui.Cell("New conversation", ui.Place(("cards", visit.path["card"], "chat")))]))
    is_working = last is not None and last.state not in TERMINAL | INTERRUPTED
    return ui.Sheet(
        _title(card),
        blocks,
        lead=card.metadata.description,
        trail=_trail(card, visit),
        refresh=_REFRESH if is_working else None,
        events={"room": "agents", "subject": TASKS + last.id} if last is not None else None,
    )


async def say(agents: Agents, visit: ui.Visit) -> ui.Place | ui.Sheet:
    """Send a message: the answer to a waiting task, otherwise a new task in the same conversation."""
    check_right(visit.principal, "agents", "write")
    card = await find_card(agents, visit.path["card"])
    name, context = agents.hosted_name(card), visit.typed("context")
    arguments = {**await message_arguments(agents, visit), "agent": name, "seconds": _SEND_SECONDS}
    if context:
        page = await agents.tasks.list(visit.principal, context_id=context, agent=name, page_size=1)
        waiting = [one.id for one in page.tasks if one.state in INTERRUPTED]
        arguments |= {"task_id": waiting[0]} if waiting else {"context_id": context}
    sent = await visit.call("agents_send_task", arguments)
    if not sent.get("task_id"):
        return ui.Sheet(_title(card), [ui.Prose(str(sent.get("text") or ""))], trail=_trail(card, visit))
    return ui.Place(("cards", visit.path["card"], "chat"), {"context": str(sent["context_id"])})


def _title(card: CardRecord) -> str:
    return f"Chat with {card.metadata.name}"


def _trail(card: CardRecord, visit: ui.Visit) -> list[ui.Cell]:
    return [ui.Cell(card.metadata.name, ui.Place(("cards", visit.path["card"])))]


def card_path(visit: ui.Visit) -> str:
    """The path of the agent's page."""
    return f"/console/agents/cards/{quote(visit.path['card'], safe='')}"


async def message_form(
    visit: ui.Visit, below: str, query: Mapping[str, str], value: Any = MISSING, *, extra: Sequence[ui.Field] = ()
) -> ui.Form:
    """The form for a message, on an agent's page or `below` it. Context is suggested while the visitor types."""
    path = card_path(visit) + below
    options = await _found(visit)
    suggestions = Suggestions(options, f"{path}?{urlencode(query)}" if query else path)
    form = schema_form(
        MESSAGE,
        visit,
        [ui.Button("Send")],
        path,
        value,
        extra=extra,
        suggest=lambda at, _node: suggestions if at.startswith(_ITEM) else None,
    )
    if visit.posted or _typed_context(visit) or (value is not MISSING and "context" in value):
        return form
    text, files, context, *rest = form.fields
    return replace(form, fields=[text, ui.Group("Files and context", [files, context], folded=True), *rest])


def _typed_context(visit: ui.Visit) -> list[str]:
    return [text for name, text in (*visit.query.items(), *visit.fields.items()) if name.startswith(_ITEM)]


async def _found(visit: ui.Visit) -> list[tuple[str, str]]:
    """Search results for the words typed as context, each with its URI."""
    given = _typed_context(visit)
    words = next((text.strip()[:200] for text in given if text.strip() and not is_uri(text)), "")
    if not words:
        return []
    answer = await visit.call("search", {"query": words, "limit": _FOUND_AT_ONCE})
    return [
        (str(hit["uri"]), f"{group['kind']}: {hit['title']} (for {words})")  # browsers filter by these words
        for group in answer["groups"]
        if group["kind"] not in _NO_CONTEXT
        for hit in group["hits"]
    ]


async def message_arguments(agents: Agents, visit: ui.Visit) -> dict[str, Any]:
    """The typed message as arguments of the send tool. Its files are stored."""
    text = _typed_text(MESSAGE, visit)
    typed = read_form(MESSAGE, visit.fields)
    uris = [str(one).strip() for one in typed.get("context") or ()]
    problems = [
        {"path": f"{_ITEM}{number}", "message": "This is not a URI. Pick a suggestion, or paste a whole URI."}
        for number, uri in enumerate(uris)
        if not is_uri(uri)
    ]
    if problems:
        raise InvalidInput("A context item is not a URI.", details={"problems": problems})
    attempt = await attempt_of(agents, visit)
    kept = {} if attempt is None else await attempt.arguments(agents, visit)
    items: dict[str, Any] = dict(kept.pop("context", {}).get("items", {}))
    names = (name for number in count(1) if (name := f"item-{number}") not in items)
    items |= dict(zip(names, ({"ref": uri} for uri in uris), strict=False))
    urls = [
        await _stored(agents, visit, content, visit.typed(f"{ui.FILE_NAME}/files/{number}"))
        for number, content in enumerate(typed.get("files") or ())
    ]
    urls = [*kept.pop("files", ()), *urls]
    return {
        **kept,
        "text": text,
        **({"context": {"items": items}} if items else {}),
        **({"files": urls} if urls else {}),
    }


def is_uri(text: str) -> bool:
    scheme, colon, rest = text.strip().partition(":")
    return bool(colon and rest and scheme[:1].isalpha()) and " " not in text.strip()


async def _stored(agents: Agents, visit: ui.Visit, content: str, name: str) -> str:
    """Store an uploaded file; its URL."""
    media_type, _ = guess_type(name)
    file = await agents.files.write(visit.principal.id, b64decode(content), name=name, media_type=media_type)
    return agents.files.url(file.id)


def _typed_text(schema: Mapping[str, Any], visit: ui.Visit) -> str:
    text = str(read_form(schema, visit.fields).get("text") or "").strip()
    if not text:
        problem = {"path": "/text", "message": "There is nothing to send. Write what the agent should do."}
        raise InvalidInput("There is nothing to send.", details={"problems": [problem]})
    return text


async def named_references(visit: ui.Visit, uris: Iterable[str]) -> list[ui.Text]:
    """References by the names of what they refer to."""
    known = list(dict.fromkeys(uris))
    names = [await visit.name_of(uri) for uri in known[:_MOST_NAMES]]
    return [_reference(uri, name) for uri, name in zip_longest(known, names, fillvalue="")]


def _reference(uri: str, name: str) -> ui.Text:
    return ui.Cell(name, uri=uri) if name else uri


async def _names(visit: ui.Visit, tasks: Sequence[Task]) -> Mapping[str, str]:
    """The names of what the messages refer to, by URI."""
    uris = dict.fromkeys(uri for task in reversed(tasks) for one in task.history for uri in message_references(one))
    return {uri: await visit.name_of(uri) for uri in list(uris)[:_MOST_NAMES]}


def _messages(task: Task, agent: str, visit: ui.Visit, names: Mapping[str, str]) -> list[ui.Message]:
    """The messages of a task, then its results and state."""
    said = [_message(one, agent, visit, names) for one in task.history]
    view = task_view(task, task.agent, _BUDGET)
    known = {one.id for one in task.history}
    results: list[ui.Block] = []
    if task.status_message is not None and task.status_message.id not in known and task.status_message.text:
        results.append(ui.Prose(task.status_message.text))
    for artifact in view.artifacts:
        results += [ui.Prose(artifact.text)] if artifact.text else []
        results += [block for one in artifact.data or () for block in value_blocks(one)]
    below: list[ui.Block] = [ui.Links([ui.Cell("Open the task", ui.Place(("tasks", task.id)))])]
    if task.state in TERMINAL and task.state != "completed":
        below.insert(0, ui.Note(f"The task is {task.state}.", "bad"))
    elif task.state in INTERRUPTED:
        below.insert(0, ui.Note(f"Waiting for {view.waiting_for}."))
    elif task.state not in TERMINAL:
        below.insert(0, ui.Note("Working …"))
    if said and not results and not said[-1].own:  # there is only the agent's last message
        *said, last = said
        results = list(last.blocks)
    return [*said, ui.Message(agent, ui.when(task.updated_at), [*results, *below])]


def _message(message: Message, agent: str, visit: ui.Visit, names: Mapping[str, str]) -> ui.Message:
    own = message.role == "user"
    blocks: list[ui.Block] = [ui.Prose(message.text or "(no text)")]
    references = [_reference(uri, names.get(uri, "")) for uri in message_references(message)]
    blocks.append(ui.Links([*message_files(message), *references]))
    return ui.Message(visit.principal.name if own else agent, "", blocks, own=own)


def message_files(message: Message) -> list[ui.Cell]:
    """The files of a message, as links."""
    return [_file(one) for one in message.parts if one.url is not UNSET or one.raw is not UNSET]


def _file(part: Part) -> ui.Cell:
    """A download for a file stored here, a link for one stored elsewhere."""
    name = part.filename or "file"
    if part.url is UNSET:
        return ui.Cell(name)
    file_id = file_id_in(part)
    return ui.Cell(name, ui.Download(f"{FILES}/{file_id}") if file_id is not None else part.url)
