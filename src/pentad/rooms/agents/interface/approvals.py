"""Approvals for clients: the tool `agents_approvals`, the routes below `/api/agents/approvals`, and the form that MCP
clients show to a person.

Agents may list approvals for the caller they act for, but not decide them: a call from inside the server decides
nothing.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from pydantic import BaseModel, Field

from pentad.kernel.clock import iso
from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.kernel.principal import Principal
from pentad.kernel.query_parameters import number_in
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.client_requests import Elicit, Elicited
from pentad.mcp.compact_schema import without_properties
from pentad.mcp.declarations import input_schema_of, tool
from pentad.platform import Operation, Parameter, is_yes, parse_body, protected_route
from pentad.rooms.agents.approvals.approvers import names_text
from pentad.rooms.agents.approvals.inbox import MAX_PAGE, Inbox
from pentad.rooms.agents.approvals.store import Approval
from pentad.rooms.agents.service import Agents

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

PATH: Final = "/api/agents/approvals"
_DEFAULT_PAGE: Final = 20
_INTERNAL: Final = "internal"
_LONGEST_DETAILS: Final = 4_000

ApprovalId = Annotated[str, Field(min_length=1, max_length=100)]
Reason = Annotated[str, Field(description="For the agent and the audit trail.", max_length=2000)]


class ApprovalView(BaseModel):
    """`state` is pending, approved, refused, expired or withdrawn. `may_decide`: you can."""

    id: str
    what: str
    state: str
    by: list[str]
    agent: str
    task_id: str
    requester: str
    may_decide: bool
    created: str
    expires: str
    details: dict[str, Any] | None = None
    decided_by: str | None = None
    decided: str | None = None
    reason: str | None = None


class ApprovalList(BaseModel):
    """`next_cursor` is set if there are more."""

    approvals: list[ApprovalView]
    next_cursor: str | None = None


class DecisionForm(BaseModel):
    """A person's decision."""

    decision: Annotated[Literal["approve", "refuse"], Field(title="Decision")]
    reason: Annotated[str, Field(title="Reason", max_length=2000)] = ""


def approval_view(inbox: Inbox, principal: Principal, approval: Approval) -> ApprovalView:
    return ApprovalView(
        id=approval.id,
        what=approval.what,
        state=approval.state,
        by=list(approval.approvers),
        agent=approval.agent,
        task_id=approval.task,
        requester=approval.requester,
        may_decide=inbox.may_decide(principal, approval),
        created=iso(approval.created_at),
        expires=iso(approval.expires_at),
        details=approval.details,
        decided_by=approval.decided_by or None,
        decided=None if approval.decided_at is None else iso(approval.decided_at),
        reason=approval.reason or None,
    )


async def list_approvals(
    inbox: Inbox, principal: Principal, *, pending: bool, limit: int, cursor: str | None
) -> ApprovalList:
    page = await inbox.list(principal, pending=pending, limit=limit, cursor=cursor)
    return ApprovalList(
        approvals=[approval_view(inbox, principal, one) for one in page.approvals], next_cursor=page.next
    )


def decision_question(approval: Approval) -> Elicit[DecisionForm]:
    """The form for a person who may decide."""
    text = f"{approval.agent} asks for approval by {names_text(approval.approvers)}: {approval.what}"
    if approval.details is not None:
        text += "\n" + msgspec.json.format(msgspec.json.encode(approval.details)).decode()[:_LONGEST_DETAILS]
    return Elicit(text, DecisionForm)


def can_ask(call: Call[Any]) -> bool:
    """Whether the call comes from a client that can show the form to a person."""
    return call.peer.transport != _INTERNAL and call.client_supports(Elicit.capability)


def may_approve(call: Call[Any]) -> bool:
    """Whether the words of a call can decide: it comes from outside, and no form can be shown."""
    return call.peer.transport != _INTERNAL and not can_ask(call)


async def decide_in_form(call: Call[Agents], approval: Approval, reason: str = "") -> Approval | None:
    """Show the form and decide as the person says; None if they close it.

    On the newest revision the tool runs again with the answer, so change nothing before this.
    """
    key = f"approval-{approval.id}"
    answered: Elicited[DecisionForm] = (await call.ask({key: decision_question(approval)}))[key]
    if (given := answered.content) is None:
        return None
    return await _decide(call, approval, given.decision, given.reason or reason)


class ApprovalsArguments(Arguments):
    approval_id: Annotated[ApprovalId | None, Field(description="Only this one.")] = None
    decision: Annotated[Literal["approve", "refuse"] | None, Field(description="Decide it, as the user told you.")] = (
        None
    )
    reason: Reason = ""
    all: Annotated[bool, Field(description="Also those that are not pending.")] = False
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = _DEFAULT_PAGE
    cursor: Annotated[str | None, Field(max_length=100)] = None


@tool(
    "agents_approvals",
    title="Approvals",
    action="read",
    idempotent=True,
    listed="room",
    rare=("all", "limit", "cursor"),
    read_schema=without_properties(input_schema_of(ApprovalsArguments), ("decision", "reason")),
)
async def approvals(arguments: ApprovalsArguments, call: Call[Agents]) -> ApprovalList:
    """List approvals that you may decide or asked for. Decide one with its `approval_id`."""
    inbox, principal = call.service.tasks.approvals, call.principal
    if arguments.approval_id is None:
        if arguments.decision is not None:
            raise InvalidInput("Which approval do you mean?", hint="Pass its approval_id.")
        return await list_approvals(
            inbox, principal, pending=not arguments.all, limit=arguments.limit, cursor=arguments.cursor
        )
    found = await inbox.get(principal, arguments.approval_id)
    if arguments.decision is not None:
        if call.peer.transport == _INTERNAL:
            raise Forbidden("A person decides about approvals, not an agent.")
        if can_ask(call) and inbox.may_decide(principal, found):
            found = await decide_in_form(call, found, arguments.reason)
        else:
            found = await _decide(call, found, arguments.decision, arguments.reason)
        if found is None:
            raise Forbidden("The user closed the form, so nothing was decided.")
    return ApprovalList(approvals=[approval_view(inbox, principal, found)])


async def _decide(call: Call[Agents], approval: Approval, decision: str, reason: str) -> Approval:
    call.justify(reason)
    inbox = call.service.tasks.approvals
    return await inbox.decide(call.principal, approval.id, approve=decision == "approve", reason=reason)


def approval_routes(agents: Agents) -> "list[BaseRoute]":
    """REST: the inbox, one approval, and its decision."""

    inbox = agents.tasks.approvals

    async def listed(request: "Request", principal: Principal) -> dict[str, Any]:
        query = request.query_params
        limit = number_in(query.get("limit"), "limit", _DEFAULT_PAGE, 1, MAX_PAGE)
        pending, cursor = not is_yes(query.get("all")), query.get("cursor") or None
        return _json(await list_approvals(inbox, principal, pending=pending, limit=limit, cursor=cursor))

    async def one(request: "Request", principal: Principal) -> dict[str, Any]:
        return _json(approval_view(inbox, principal, await inbox.get(principal, request.path_params["id"])))

    async def decide(request: "Request", principal: Principal) -> dict[str, Any]:
        hint = 'Send {"decision": "approve" or "refuse", "reason": "..."}.'
        given = parse_body(DecisionForm, await request.body(), hint)
        approve, reason = given.decision == "approve", given.reason
        found = await inbox.decide(principal, request.path_params["id"], approve=approve, reason=reason)
        return _json(approval_view(inbox, principal, found))

    filters = (
        Parameter("all", "true: also those that are not pending.", "boolean"),
        Parameter("limit", f"How many at most, up to {MAX_PAGE} (default {_DEFAULT_PAGE}).", "integer"),
        Parameter("cursor", "`next_cursor` of the previous page."),
    )
    listing = Operation("What you may approve or asked for.", "agents", filters, answer=ApprovalList)
    reading = Operation("One approval.", "agents", answer=ApprovalView)
    deciding = Operation("Approve or refuse.", "agents", body=DecisionForm, answer=ApprovalView)
    return [
        protected_route("GET", PATH, "agents:read", listing, listed),
        protected_route("GET", PATH + "/{id}", "agents:read", reading, one),
        protected_route("POST", PATH + "/{id}", "agents:write", deciding, decide),
    ]


def _json(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(exclude_none=True)
