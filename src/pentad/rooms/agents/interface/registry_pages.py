"""Agents that run elsewhere: register one by its card, take it out of the lists, bring it back, send it a task."""

from typing import Any, Final

import msgspec

from pentad.kernel import pages as ui
from pentad.kernel.errors import InvalidInput
from pentad.mcp.rights import check_right
from pentad.rooms.agents.interface.chat_pages import card_path, message_arguments
from pentad.rooms.agents.interface.resources import find_card
from pentad.rooms.agents.registry.store import CardRecord
from pentad.rooms.agents.service import Agents

REGISTER: Final = ui.Place(("register",))
_SEND_SECONDS: Final = 20.0


async def register_form(_agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """The form for a card."""
    check_right(visit.principal, "agents", "write")
    fields: list[ui.Field] = [
        ui.TextField(
            "url", "Address of its card", visit.typed("url"), "An A2A or AgentVault card.", kind="url", required=False
        ),
        ui.TextField(
            "card", "Or the card", visit.fields.get("card", ""), "As JSON.", required=False, lines=10, code=True
        ),
    ]
    if visit.principal.may("directory", "write"):
        checked = not visit.posted or bool(visit.typed("listed"))
        fields.append(ui.CheckBox("listed", "List it in the directory", checked=checked))
    form = ui.Form(fields, [ui.Button("Register")], "/console/agents/register")
    return ui.Sheet("Register an agent", [form], lead="An agent that runs elsewhere. Tasks can then be sent to it.")


async def register(_agents: Agents, visit: ui.Visit) -> ui.Place:
    """What the form does."""
    url, text = visit.typed("url"), visit.typed("card")
    if bool(url) == bool(text):
        raise InvalidInput("There is no card.", hint="Give its address, or the card itself.")
    given: dict[str, Any] = {"url": url} if url else {"card": _card_in(text)}
    found = await visit.call("agents_register_card", {**given, "list_in_directory": bool(visit.typed("listed"))})
    return ui.Place(("cards", str(found["agent"]["card_id"])))


async def set_active(agents: Agents, visit: ui.Visit) -> ui.Place:
    """Take a card out of the lists, or bring it back."""
    check_right(visit.principal, "agents", "write")
    card = await find_card(agents, visit.path["card"])
    await agents.registry.update(visit.principal, card.id, None, is_active=visit.typed("do") == "restore")
    return ui.Place(("cards", card.id))


def owner_forms(visit: ui.Visit, card: CardRecord) -> list[ui.Block]:
    """What the owner of a card, or an administrator, can do about it."""
    principal = visit.principal
    if card.hosted or not principal.may("agents", "write"):
        return []
    if card.owner != principal.id and not principal.may("agents", "admin"):
        return []
    button = (
        ui.Button("Remove agent", "do", "remove", kind="bad")
        if card.is_active
        else ui.Button("Restore agent", "do", "restore", kind="plain")
    )
    title = "Remove it" if card.is_active else "Restore it"
    about = "Lists leave it out, and it can be restored here." if card.is_active else "It will be listed again."
    form = ui.Form((), [button], f"{card_path(visit)}/active")
    return [ui.Section(title, [ui.Note(about), form], folded=True)]


async def send_remote(agents: Agents, card: CardRecord, visit: ui.Visit) -> ui.Sheet:
    """Send a task to an agent elsewhere; what it said so far, and the way to what it says later."""
    arguments = {**await message_arguments(agents, visit), "agent": card.id, "seconds": _SEND_SECONDS}
    sent = await visit.call("agents_send_task", arguments)
    task, state = str(sent.get("task_id") or ""), str(sent.get("state") or "")
    later = ui.Place(("tool", "agents_get_task"), {"/task_id": task}, "tools")
    blocks: list[ui.Block] = [
        ui.Prose(str(sent.get("text") or "It said nothing yet.")),
        *(ui.Tree(one) for one in sent.get("artifacts") or ()),
        ui.Facts([("State", state), ("Task", ui.Cell(task, later) if task else "")]),
    ]
    return ui.Sheet(card.metadata.name, blocks, trail=[ui.Cell(card.metadata.name, ui.Place(("cards", card.id)))])


def _card_in(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raise InvalidInput("The card is not a JSON object.", hint="Paste the whole card.") from None
