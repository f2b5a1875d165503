"""Talking to agents in the console: a conversation with one, and what the visitor can do about a task.

Everything that changes something is a call of the room's tools, made for the visitor.
"""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from mimetypes import guess_type
from typing import Any, Final
from urllib.parse import quote, urlencode

from msgspec import UNSET

from pentad.kernel import pages as ui
from pentad.kernel.errors import InvalidInput
from pentad.kernel.schema_forms import Suggestions, read_form, schema_form
from pentad.kernel.schema_nodes import MISSING
from pentad.mcp.rights import check_right
from pentad.rooms.agents.files import PATH as FILES
from pentad.rooms.agents.files import file_id_in
from pentad.rooms.agents.interface.approval_pages import PLACE as APPROVALS
from pentad.rooms.agents.interface.approval_pages import decision_form
from pentad.rooms.agents.interface.attempts import attempt_of
from pentad.rooms.agents.interface.lineage import message_references
from pentad.rooms.agents.interface.presentation import task_view
from pentad.rooms.agents.interface.resources import find_card
from pentad.rooms.agents.models import INTERRUPTED, TERMINAL, Message, Part, Task
from pentad.rooms.agents.service import Agents

_SEND_SECONDS: Final = 5.0
"""How long a form waits for a task, so that a quick one is shown with its result."""
_MOST_TASKS: Final = 50
_REFRESH: Final = 3.0
_BUDGET: Final = 20_000
_TEXT: Final = {"type": "string", "title": "Your message", "format": "multiline", "maxLength": 100_000}
_FILES: Final = {"type": "array", "title": "Files", "items": {"type": "string", "contentEncoding": "base64"}}
_CONTEXT: Final = {
    "type": "array",
    "title": "Context",
    "description": "Objects, passages, records, tasks or figures that it should read.",
    "items": {"type": "string", "description": "Words to find one, or its URI."},
    "maxItems": 10,
}
_ANSWER: Final = {"type": "object", "required": ["text"], "properties": {"text": {**_TEXT, "title": "Your answer"}}}


MESSAGE: Final = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": _TEXT, "files": _FILES, "context": _CONTEXT},
}
"""What a message to an agent consists of."""
_ITEM: Final = "/context/"
_FOUND_AT_ONCE: Final = 5
_NO_CONTEXT: Final = frozenset({"tool", "agent"})
"""Kinds of things that the search finds and no agent reads."""


def task_forms(visit: ui.Visit, task: Task) -> list[ui.Block]:
    """What the visitor can do about a task of theirs: answer what it waits for, or cancel it."""
    if task.state in TERMINAL or not visit.principal.may("agents", "write"):
        return []
    path = f"/console/agents/tasks/{task.id}"
    blocks: list[ui.Block] = []
    if task.state in INTERRUPTED:
        form = schema_form(_ANSWER, visit, [ui.Button("Send answer")], f"{path}/answer")
        sends = ui.ToolCall("agents_send_task", {"agent": task.agent, "task_id": task.id, "seconds": _SEND_SECONDS})
        blocks.append(ui.Section("Answer it", [replace(form, call=sends)]))
    cancels = ui.ToolCall("agents_cancel_task", {"task_id": task.id})
    cancel = ui.Form((), [ui.Button("Cancel task", kind="bad")], f"{path}/cancel", call=cancels)
    return [*blocks, ui.Section("Stop it", [ui.Note("What it has done so far stays."), cancel], folded=True)]


async def approval_form(agents: Agents, visit: ui.Visit, task: Task) -> list[ui.Block]:
    """The approval that a task waits for, with the form if the visitor may decide it."""
    approval = await agents.tasks.approvals.awaited(task)
    if approval is None:
        return []
    more = ui.Links([ui.Cell("See the approval", ui.Place((*APPROVALS.parts, approval.id)))])
    if not agents.tasks.approvals.may_decide(visit.principal, approval):
        return [more]
    return [ui.Section("It asks for your approval", [ui.Prose(approval.what), decision_form(approval), more])]


async def answer(agents: Agents, visit: ui.Visit) -> None:
    """What the form for an answer does."""
    check_right(visit.principal, "agents", "write")
    task = await agents.tasks.get(visit.principal, visit.path["task"])
    text = _typed_text(_ANSWER, visit)
    arguments = {"agent": task.agent, "task_id": task.id, "text": text, "seconds": _SEND_SECONDS}
    await visit.call("agents_send_task", arguments)


async def cancel(_agents: Agents, visit: ui.Visit) -> None:
    """What the button for cancelling does."""
    await visit.call("agents_cancel_task", {"task_id": visit.path["task"]})


async def chat(agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """A conversation with an agent."""
    card = await find_card(agents, visit.path["card"])
    name = agents.hosted_name(card)
    if name is None:
        raise InvalidInput("Only agents that run here take messages from this page.", hint="Use a client for it.")
    context = visit.typed("context") or visit.asked("context", 200)
    tasks: list[Task] = []
    if context:
        page = await agents.tasks.list(visit.principal, context_id=context, agent=name, page_size=_MOST_TASKS)
        tasks = sorted(page.tasks, key=lambda one: one.created_at)
    said = [message for task in tasks for message in _messages(task, visit)]
    blocks: list[ui.Block] = [ui.Conversation(said, f"Say something to {card.metadata.name}.")]
    last = tasks[-1] if tasks else None
    if last is not None and last.state in INTERRUPTED:
        blocks += await approval_form(agents, visit, last)
    if visit.principal.may("agents", "write"):
        hidden = [ui.Hidden("context", context)] if context else []
        blocks.append(await message_form(visit, "/chat", {"context": context} if context else {}, extra=hidden))
    else:
        blocks.append(ui.Note("You may read here, but not send messages. Ask an administrator for agents:write."))
    if said:
        blocks.append(ui.Links([ui.Cell("New conversation", ui.Place(("cards", visit.path["card"], "chat")))]))
    works = last is not None and last.state not in TERMINAL | INTERRUPTED
    trail = [ui.Cell(card.metadata.name, ui.Place(("cards", visit.path["card"])))]
    return ui.Sheet("Chat", blocks, lead=card.metadata.description, trail=trail, refresh=_REFRESH if works else None)


async def say(agents: Agents, visit: ui.Visit) -> ui.Place | ui.Sheet:
    """What the form of a conversation does: go on with the task that waits, or begin one in the same conversation."""
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
        trail = [ui.Cell(card.metadata.name, ui.Place(("cards", visit.path["card"])))]
        return ui.Sheet("Chat", [ui.Prose(str(sent.get("text") or ""))], trail=trail)
    return ui.Place(("cards", visit.path["card"], "chat"), {"context": str(sent["context_id"])})


def card_path(visit: ui.Visit) -> str:
    """The path of the agent's page."""
    return f"/console/agents/cards/{quote(visit.path['card'], safe='')}"


async def message_form(
    visit: ui.Visit, below: str, query: Mapping[str, str], value: Any = MISSING, *, extra: Sequence[ui.Field] = ()
) -> ui.Form:
    """The form for a message, on the page of an agent or `below` it. What it should read is found while one types."""
    path = card_path(visit) + below
    options = await _found(visit)
    suggestions = Suggestions(options, f"{path}?{urlencode(query)}" if query else path)
    return schema_form(
        MESSAGE,
        visit,
        [ui.Button("Send")],
        path,
        value,
        extra=extra,
        suggest=lambda at, _node: suggestions if at.startswith(_ITEM) else None,
    )


async def _found(visit: ui.Visit) -> list[tuple[str, str]]:
    """What the search finds for the words in a field for context: each with its URI."""
    given = [text for name, text in (*visit.query.items(), *visit.fields.items()) if name.startswith(_ITEM)]
    words = next((text.strip()[:200] for text in given if text.strip() and not is_uri(text)), "")
    if not words:
        return []
    answer = await visit.call("search", {"query": words, "limit": _FOUND_AT_ONCE})
    return [
        (str(hit["uri"]), f"{group['kind']}: {hit['title']} (for {words})")  # browsers show what has the typed words
        for group in answer["groups"]
        if group["kind"] not in _NO_CONTEXT
        for hit in group["hits"]
    ]


async def message_arguments(agents: Agents, visit: ui.Visit) -> dict[str, Any]:
    """The message that was typed, as arguments of the tool that sends tasks. Its files are stored."""
    text = _typed_text(MESSAGE, visit)
    typed = read_form(MESSAGE, visit.fields)
    uris = [str(one).strip() for one in typed.get("context") or ()]
    problems = [
        {"path": f"{_ITEM}{number}", "message": "That is no URI. Pick one of what is found, or write a whole URI."}
        for number, uri in enumerate(uris)
        if not is_uri(uri)
    ]
    if problems:
        raise InvalidInput("The context has something that is no URI.", details={"problems": problems})
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
    """The URL of a file that was chosen, which is now stored."""
    media_type, _ = guess_type(name)
    file = await agents.files.write(visit.principal.id, b64decode(content), name=name, media_type=media_type)
    return agents.files.url(file.id)


def _typed_text(schema: Mapping[str, Any], visit: ui.Visit) -> str:
    text = str(read_form(schema, visit.fields).get("text") or "").strip()
    if not text:
        problem = {"path": "/text", "message": "There is nothing to send. Write what the agent shall do."}
        raise InvalidInput("There is nothing to send.", details={"problems": [problem]})
    return text


def _messages(task: Task, visit: ui.Visit) -> list[ui.Message]:
    """What was said in a task, and what came of it."""
    said = [_message(one, task, visit) for one in task.history]
    view = task_view(task, task.agent, _BUDGET)
    known = {one.id for one in task.history}
    blocks: list[ui.Block] = []
    if task.status_message is not None and task.status_message.id not in known and task.status_message.text:
        blocks.append(ui.Prose(task.status_message.text))
    for artifact in view.artifacts:
        blocks += [ui.Prose(artifact.text)] if artifact.text else []
        blocks += [ui.Tree(one) for one in artifact.data or ()]
    if task.state in TERMINAL and task.state != "completed":
        blocks.append(ui.Note(f"The task is {task.state}.", "bad"))
    elif task.state in INTERRUPTED:
        blocks.append(ui.Note(f"It waits for {view.waiting_for}."))
    elif task.state not in TERMINAL:
        blocks.append(ui.Note("It is at work."))
    link = ui.Links([ui.Cell("Task", ui.Place(("tasks", task.id)))])
    if said and not blocks and not said[-1].own:  # the agent's last words are all that came of it
        *said, last = said
        blocks = list(last.blocks)
    return [*said, ui.Message(task.agent, ui.when(task.updated_at), [*blocks, link])]


def _message(message: Message, task: Task, visit: ui.Visit) -> ui.Message:
    own = message.role == "user"
    blocks: list[ui.Block] = [ui.Prose(message.text or "A message without text.")]
    files = [_file(one) for one in message.parts if one.url is not UNSET or one.raw is not UNSET]
    blocks.append(ui.Links([*files, *message_references(message)]))
    return ui.Message(visit.principal.name if own else task.agent, "", blocks, own=own)


def _file(part: Part) -> ui.Cell:
    """A file of a message. Ours is downloaded; one elsewhere is a link."""
    name = part.filename or "file"
    if part.url is UNSET:
        return ui.Cell(name)
    file_id = file_id_in(part)
    return ui.Cell(name, ui.Download(f"{FILES}/{file_id}") if file_id is not None else part.url)
