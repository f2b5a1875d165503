"""Approvals in the console: the inbox, and a form to approve or refuse."""

from typing import Final

import msgspec

from pentad.kernel import pages as ui
from pentad.kernel.errors import InvalidInput
from pentad.kernel.page_values import value_blocks
from pentad.rooms.agents.approvals.approvers import names_text
from pentad.rooms.agents.approvals.store import Approval
from pentad.rooms.agents.interface.presentation import TASKS
from pentad.rooms.agents.service import Agents

PLACE: Final = ui.Place(("approvals",))
_AT_ONCE: Final = 25
_COLUMNS: Final = (
    "Request",
    ui.Column("Agent", short=True),
    ui.Column("Asked by", short=True),
    ui.Column("Approvers", short=True),
    ui.Column("State", short=True),
    ui.Column("Expires", short=True),
)


async def inbox(agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """Approvals the visitor may decide or asked for: the pending ones or, with `all`, every one."""
    everything, cursor = visit.query.get("all") == "yes", visit.query.get("cursor") or None
    found = await agents.tasks.approvals.list(
        visit.principal, pending=not everything, limit=_AT_ONCE, cursor=cursor
    )  # fmt: skip
    rows = [_row(one) for one in found.approvals]
    asked = {"all": "yes"} if everything else {}
    other = ui.Cell("Pending only", PLACE) if everything else ui.Cell("Show all", ui.Place(PLACE.parts, {"all": "yes"}))
    empty = "No agent has asked for an approval yet." if everything else "Nothing waits for your approval."
    blocks: list[ui.Block] = [ui.Links([other]), ui.Table(_COLUMNS, rows, empty)]
    if found.next or cursor:
        following = ui.Place(PLACE.parts, {**asked, "cursor": found.next}) if found.next else None
        blocks.append(ui.Pager("", following, ui.Place(PLACE.parts, asked) if cursor else None))
    return ui.Sheet("Approvals", blocks, lead="What agents may do only after a person agrees.")


async def one_approval(agents: Agents, visit: ui.Visit) -> ui.Sheet:
    """One approval, with a form if the visitor may decide it."""
    approvals = agents.tasks.approvals
    found = await approvals.get(visit.principal, visit.path["id"])
    blocks: list[ui.Block] = []
    if found.state != "pending":
        blocks.append(ui.Note(_state(found), "good" if found.state == "approved" else "bad"))
    elif not approvals.may_decide(visit.principal, found):
        blocks.append(ui.Note(f"This waits for a decision by {names_text(found.approvers)}."))
    task: ui.Text = found.task
    if found.owner == visit.principal.id:
        name = await visit.name_of(TASKS + found.task)
        task = ui.Cell(name or found.task, ui.Place(("tasks", found.task)))
    blocks.append(
        ui.Facts(
            [
                ("Agent", ui.Cell(found.agent, ui.Place(("cards", found.agent)))),
                ("Asked by", found.requester),
                ("Approvers", names_text(found.approvers)),
                ("Asked", ui.when(found.created_at)),
                ("Expires", ui.when(found.expires_at)),
                ("Decided by", found.decided_by),
                ("Decided", "" if found.decided_at is None else ui.when(found.decided_at)),
                ("Reason", found.reason),
                ("Task", task),
            ]
        )
    )
    if found.details is not None:
        blocks.append(ui.Section("Details", value_blocks(msgspec.to_builtins(found.details))))
    if approvals.may_decide(visit.principal, found):
        blocks.append(ui.Section("Your decision", [decision_form(found)]))
    return ui.Sheet(found.what, blocks, trail=[ui.Cell("Approvals", PLACE)])


def decision_form(approval: Approval) -> ui.Form:
    """The form to approve or refuse."""
    reason = ui.TextField("reason", "Reason", hint="Shown to the agent and kept in the audit trail.", required=False)
    buttons = [ui.Button("Approve", "decision", "approve"), ui.Button("Refuse", "decision", "refuse", kind="bad")]
    call = ui.ToolCall("agents_approvals", {"approval_id": approval.id})
    return ui.Form([reason], buttons, f"/console/agents/approvals/{approval.id}", call=call)


async def decide(agents: Agents, visit: ui.Visit) -> None:
    """Decide an approval."""
    decision = visit.typed("decision")
    if decision not in ("approve", "refuse"):
        raise InvalidInput("The form says neither approve nor refuse.", hint="Press one of the two buttons.")
    await agents.tasks.approvals.decide(
        visit.principal, visit.path["id"], approve=decision == "approve", reason=visit.typed("reason")
    )


def _row(one: Approval) -> tuple[ui.Text, ...]:
    return (
        ui.Cell(one.what, ui.Place(("approvals", one.id))),
        one.agent,
        one.requester,
        names_text(one.approvers),
        _state_badge(one),
        ui.when(one.expires_at),
    )


def _state_badge(one: Approval) -> ui.Cell:
    kind = "good" if one.state == "approved" else "bad" if one.state in ("refused", "expired") else "plain"
    return ui.Cell(one.state, kind=kind)


def _state(one: Approval) -> str:
    return {
        "approved": "Approved.",
        "refused": "Refused.",
        "expired": "Nobody decided in time.",
        "withdrawn": "The task has ended or moved on, so there is nothing left to decide.",
    }[one.state]
