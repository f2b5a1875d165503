"""Remote agents in the console: register one by its card, remove and restore it, send it a task."""

from typing import Any, Final

import msgspec

from pentad.kernel import pages as ui
from pentad.kernel.errors import InvalidInput
from pentad.kernel.page_values import value_blocks
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
            "url", "Card URL", visit.typed("url"), "Where an A2A or AgentVault card is.", kind="url", required=False
        ),
        ui.TextField("card", "Or the card as JSON", visit.fields.get("card", ""), required=False, lines=10, code=True),
    ]
    if visit.principal.may("directory", "write"):
        checked = not visit.posted or bool(visit.typed("listed"))
        fields.append(ui.CheckBox("listed", "List it in the directory", checked=checked))
    form = ui.Form(fields, [ui.Button("Register")], "/console/agents/register")
    return ui.Sheet(
        "Register an agent", [form], lead="Add an agent that runs elsewhere, to find it here and send it tasks."
    )


async def register(_agents: Agents, visit: ui.Visit) -> ui.Place:
    """Register the card in the form."""
    url, text = visit.typed("url"), visit.typed("card")
    if bool(url) == bool(text):
        raise InvalidInput("Give either a card URL or a card.", hint="Fill in exactly one of the two fields.")
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
    """The form to remove or restore a card, for its owner and administrators."""
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
    title = "Remove" if card.is_active else "Restore"
    about = "Lists no longer show it. You can restore it here." if card.is_active else "Lists show it again."
    form = ui.Form((), [button], f"{card_path(visit)}/active")
    return [ui.Section(title, [ui.Note(about), form], folded=True)]


async def send_remote(agents: Agents, card: CardRecord, visit: ui.Visit) -> ui.Sheet:
    """Send a task to a remote agent; shows the answer so far, with a link to what follows."""
    arguments = {**await message_arguments(agents, visit), "agent": card.id, "seconds": _SEND_SECONDS}
    sent = await visit.call("agents_send_task", arguments)
    task, state = str(sent.get("task_id") or ""), str(sent.get("state") or "")
    later = ui.Place(("tool", "agents_get_task"), {"/task_id": task}, "tools")
    blocks: list[ui.Block] = [
        ui.Prose(str(sent.get("text") or "No answer yet.")),
        *(block for one in sent.get("artifacts") or () for block in value_blocks(one)),
        ui.Facts([("State", state), ("Task", ui.Cell(task, later) if task else "")]),
    ]
    return ui.Sheet(card.metadata.name, blocks, trail=[ui.Cell(card.metadata.name, ui.Place(("cards", card.id)))])


def _card_in(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raise InvalidInput("The card is not a JSON object.", hint="Paste the whole card.") from None
