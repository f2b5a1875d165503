"""The room's tools: find agents, send them tasks, manage tasks, register cards, check contexts."""

import itertools
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.app_views import AppView
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.compact_schema import without_properties
from pentad.mcp.declarations import ToolResult, input_schema_of, tool
from pentad.rooms.agents.approvals.store import Approval
from pentad.rooms.agents.client.remote_agent import fetch_card
from pentad.rooms.agents.delegation import (
    Delegation,
    TaskRequest,
    cancel_delegated,
    delegate,
    delegate_remote,
    follow_delegated,
    is_local,
    read_delegated,
)
from pentad.rooms.agents.delegator_agent import DELEGATOR, MOST_ATTEMPTS
from pentad.rooms.agents.interface.approvals import approvals, can_ask, decide_in_form, may_approve
from pentad.rooms.agents.interface.mcp_tasks import CallerTasks, budget_metadata
from pentad.rooms.agents.interface.presentation import (
    CARDS,
    DEFAULT_BUDGET,
    FEWEST,
    AgentView,
    TaskView,
    agent_view,
    delegation_view,
    describe_event,
    task_view,
)
from pentad.rooms.agents.models import Event, Message, Part, Task
from pentad.rooms.agents.registry.store import CardQuery
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.budgets import limits_in

if TYPE_CHECKING:
    from pentad.kernel.pages import Sheet

_MAX_AGENTS: Final = 100
_LONGEST_WAIT: Final = 600.0
_ASKED: Final = "approval_task"
_QUICK_SECONDS: Final = 0.25
"""How long a client with task support waits; a result within this time saves a second request."""

AgentName = Annotated[
    str,
    Field(description="Name, readable id, card URL, or CID or name of a record.", min_length=1, max_length=2000),
]
TaskId = Annotated[str, Field(min_length=1, max_length=200)]
Budget = Annotated[int, Field(description="Most characters of content.", ge=FEWEST, le=500_000)]
RemoteAgentName = Annotated[str | None, Field(description="If it is a remote one.", max_length=2000)]


class ListArguments(Arguments):
    query: Annotated[str, Field(description="What it should do, in your words.", max_length=500)] = ""
    tags: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    skill: Annotated[str | None, Field(description="Id or name.", max_length=200)] = None
    auth_scheme: Annotated[str | None, Field(description="none, apiKey, bearer, oauth2, ...", max_length=50)] = None
    dialect: Literal["agentvault", "0.3", "1.0"] | None = None
    mcp_context: Annotated[bool | None, Field(description="Accepts context.")] = None
    tee: Annotated[bool | None, Field(description="Claims a trusted environment.")] = None
    tee_type: Annotated[str | None, Field(max_length=50)] = None
    extension: Annotated[str | None, Field(description="A URI it declares.", max_length=500)] = None
    limit: Annotated[int, Field(ge=1, le=_MAX_AGENTS)] = 20
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0


class AgentList(BaseModel):
    """`next_offset` is set if there are more."""

    agents: list[AgentView]
    total: int
    next_offset: int | None = None
    no_good_match: bool | None = None


@tool(
    "agents_list", title="Find agents", read_only=True, tags=("search",),
    rare=("auth_scheme", "dialect", "mcp_context", "tee", "tee_type", "extension"),
)  # fmt: skip
async def list_agents(arguments: ListArguments, call: Call[Agents]) -> AgentList:
    """Find agents that accept tasks, best match first. For agent records (OASF) use agntcy_dir_search_local."""
    query = CardQuery(
        text=arguments.query,
        tags=arguments.tags,
        skill=arguments.skill,
        auth_scheme=arguments.auth_scheme,
        dialect=arguments.dialect,
        extension=arguments.extension,
        tee_type=arguments.tee_type,
        has_tee=arguments.tee,
        has_mcp=arguments.mcp_context,
    )
    found = await call.service.registry.search(query, limit=arguments.limit, offset=arguments.offset)
    end = arguments.offset + len(found.cards)
    following = end if found.cards and end < found.total else None
    return AgentList(
        agents=[agent_view(one) for one in found.cards],
        total=found.total,
        next_offset=following,
        no_good_match=found.no_good_match or None,
    )


class SendArguments(Arguments):
    agent: AgentName
    text: Annotated[str | None, Field(description="The request as text.")] = None
    data: Annotated[dict[str, Any] | None, Field(description="Structured input.")] = None
    files: Annotated[
        tuple[str, ...],
        Field(description="URLs of files; upload your own with POST /api/agents/upload.", max_length=20),
    ] = ()
    context: Annotated[
        dict[str, Any] | None,
        Field(description='{"items": {name: {"content" or "ref", "mediaType", "metadata"}}}'),
    ] = None
    task_id: Annotated[str | None, Field(description="Continue this task, e.g. with an answer.", max_length=200)] = None
    context_id: Annotated[str | None, Field(description="The conversation to start it in.", max_length=200)] = None
    event: Annotated[str | None, Field(description="Signal this event to the task.", min_length=1, max_length=200)] = (
        None
    )
    deadline: Annotated[float | None, Field(description="Seconds until the task must be over.", gt=0)] = None
    budget: Annotated[dict[str, Any] | None, Field(description="Limits: calls, tokens, seconds.")] = None
    wait: Annotated[bool, Field(description="false: return at once.")] = True
    seconds: Annotated[float, Field(description="Longest wait; the task continues.", gt=0, le=_LONGEST_WAIT)] = 60
    max_characters: Budget = DEFAULT_BUDGET
    idempotency_key: Annotated[str | None, Field(description="same key, done once", min_length=1, max_length=255)] = (
        None
    )

    def parts(self) -> tuple[Part, ...]:
        found = [Part(text=self.text)] if self.text else []
        if self.data is not None:
            found.append(Part(data=self.data, media_type="application/json"))
        for url in self.files:
            if not url.startswith(("http://", "https://")):
                raise InvalidInput(f"{url[:100]!r} is not the URL of a file.", hint="Begin it with https://.")
            found.append(Part(url=url))
        if not found and self.event is not None:
            found.append(Part(text=self.event))
        if not found:
            raise InvalidInput("There is nothing to send.", hint="Pass text, data or files.")
        return tuple(found)


async def _show_task(call: Call[Agents], _arguments: Any, found: Mapping[str, Any]) -> "Sheet | None":
    """The view of a local task, with its trace, and forms to answer, approve or cancel it."""
    from pentad.kernel.pages import Visit
    from pentad.rooms.agents.interface.pages import task_sheet

    if not found.get("resource") or not isinstance(task_id := found.get("task_id"), str):
        return None
    return await task_sheet(call.service, Visit(call.principal), task_id)


_TASK_VIEW: Final = AppView("task", "Task", _show_task, "agents_get_task", ("task_id",))


@tool(
    "agents_send_task",
    title="Send a task",
    view=_TASK_VIEW,
    destructive=False,
    open_world=True,
    seconds=_LONGEST_WAIT + 60,
    task="optional",
    rare=("files", "context_id", "event", "deadline", "budget", "seconds", "max_characters", "idempotency_key"),
)
async def send_task(arguments: SendArguments, call: Call[Agents]) -> TaskView:
    """Send a task to an agent, here or remote, and wait for the result. Cancelling the call cancels the task.

    If it has `waiting_for`, answer by calling this again with its `task_id`.
    """
    return await _send(arguments, call)


async def _send(arguments: SendArguments, call: Call[Agents]) -> TaskView:
    steps = itertools.count(1)

    async def on_event(event: Event) -> None:
        await call.progress(next(steps), message=describe_event(event.body))

    seconds, request = arguments.seconds if arguments.wait else 0.0, task_request(arguments)
    request = replace(request, may_approve=may_approve(call))
    if not (arguments.wait and arguments.task_id is None and call.can_defer):  # only for new tasks
        delegated = await _asked_before(arguments, call)
        if delegated is None:
            delegated = await delegate(call.service, call.principal, request, seconds=seconds, on_event=on_event)
        while (approval := await _to_decide(call, delegated)) is not None:
            call.state[_ASKED] = delegated.task.id
            if not await decide_in_form(call, approval):
                break
            delegated = await follow_delegated(call.service, call.principal, delegated.task, seconds, on_event)
        return delegation_view(delegated, arguments.max_characters)
    quick = min(seconds, _QUICK_SECONDS)
    if not await is_local(call.service, call.principal, arguments.agent):
        delegated = await delegate_remote(call.service, call.principal, request, seconds=quick)
    else:
        request = replace(request, metadata=budget_metadata(arguments.max_characters))
        delegated = await delegate(call.service, call.principal, request, seconds=quick, on_event=on_event)
    book, budget = CallerTasks(call.service), arguments.max_characters
    if (later := await book.defer(call.principal, delegated, budget, call.client_supports)) is not None:
        call.defer(later)
    return delegation_view(delegated, arguments.max_characters)


async def _to_decide(call: Call[Agents], delegated: Delegation) -> Approval | None:
    """The approval the task waits for, if the caller may decide it in a form."""
    approvals = call.service.tasks.approvals
    if not can_ask(call) or not delegated.is_local or isinstance(delegated.result, Message):
        return None
    found = await approvals.awaited(delegated.result)
    return found if found is not None and approvals.may_decide(call.principal, found) else None


async def _asked_before(arguments: SendArguments, call: Call[Agents]) -> Delegation | None:
    """The task whose approval the caller decides, now or in an earlier round of this call. No message is sent to it."""
    known: str | None = call.state.get(_ASKED)
    if (task_id := known or arguments.task_id) is None or not can_ask(call):
        return None
    if known is None and not await is_local(call.service, call.principal, arguments.agent):
        return None
    found = await read_delegated(call.service, call.principal, task_id, None)
    return found if known is not None or await _to_decide(call, found) is not None else None


def task_request(arguments: SendArguments) -> TaskRequest:
    """The task request in the arguments."""
    if arguments.event is not None and arguments.task_id is None:
        raise InvalidInput("Which task waits for the event?", hint="Pass its task_id.")
    if arguments.budget is not None:
        limits_in(arguments.budget)
        if arguments.task_id is not None:
            raise InvalidInput("A task gets its budget when it starts.", hint="Pass task_id without budget.")
    return TaskRequest(
        arguments.agent,
        arguments.parts(),
        arguments.context,
        arguments.task_id,
        arguments.context_id,
        event=arguments.event,
        deadline=arguments.deadline,
        budget=arguments.budget,
        idempotency_key=arguments.idempotency_key,
    )


_UNLISTED: Final = ("attempts", "wait", "seconds", "idempotency_key")
"""Arguments of agents_delegate left out of its listing, to keep it short."""


class DelegateArguments(Arguments):
    work: Annotated[str, Field(min_length=1, max_length=20_000)]
    context: dict[str, Any] | None = None
    dry_run: Annotated[bool, Field(description="Only show the plan.")] = False
    attempts: Annotated[int, Field(description="Agents to try.", ge=1, le=MOST_ATTEMPTS)] = 3
    deadline: Annotated[float | None, Field(gt=0)] = None
    budget: dict[str, Any] | None = None
    wait: bool = True
    seconds: Annotated[float, Field(gt=0, le=_LONGEST_WAIT)] = 60
    idempotency_key: Annotated[str | None, Field(min_length=1, max_length=255)] = None

    def send_arguments(self) -> SendArguments:
        """The task for the delegator."""
        return SendArguments(
            agent=DELEGATOR,
            text=self.work,
            data={"dry_run": self.dry_run, "attempts": self.attempts},
            context=self.context,
            deadline=self.deadline,
            budget=self.budget,
            wait=self.wait,
            seconds=self.seconds,
            idempotency_key=self.idempotency_key,
        )


@tool(
    "agents_delegate", title="Delegate work", destructive=False, open_world=True, seconds=_LONGEST_WAIT + 60,
    task="optional", listed="room",
    input_schema=without_properties(input_schema_of(DelegateArguments), _UNLISTED),
)  # fmt: skip
async def delegate_work(arguments: DelegateArguments, call: Call[Agents]) -> ToolResult:
    """Find an agent for the work and send it there. Agents outside the allow-list need the user's consent."""
    view = await _send(arguments.send_arguments(), call)
    return ToolResult(structured=view.model_dump(exclude_none=True))


class GetArguments(Arguments):
    task_id: TaskId
    agent: RemoteAgentName = None
    seconds: Annotated[float, Field(description="Wait for a result.", ge=0, le=_LONGEST_WAIT)] = 0
    max_characters: Budget = DEFAULT_BUDGET


@tool(
    "agents_get_task", title="Get a task", read_only=True, open_world=True, seconds=_LONGEST_WAIT + 60, view=_TASK_VIEW,
    rare=("seconds", "max_characters"),
)  # fmt: skip
async def get_task(arguments: GetArguments, call: Call[Agents]) -> TaskView:
    """A task's state, the agent's last message and its artifacts."""
    delegated = await read_delegated(
        call.service, call.principal, arguments.task_id, arguments.agent, arguments.seconds
    )
    return delegation_view(delegated, arguments.max_characters)


class CancelArguments(Arguments):
    task_id: TaskId
    agent: RemoteAgentName = None


@tool("agents_cancel_task", title="Cancel a task", idempotent=True, open_world=True)
async def cancel_task(arguments: CancelArguments, call: Call[Agents]) -> TaskView:
    """Cancel a task that has not ended."""
    delegated = await cancel_delegated(call.service, call.principal, arguments.task_id, arguments.agent)
    return delegation_view(delegated)


class OperateArguments(Arguments):
    reason: Annotated[str, Field(description="For the audit trail.", min_length=3, max_length=400)]
    task_id: Annotated[str | None, Field(description="One task, in full.", max_length=200)] = None
    cancel: bool = False
    migrate: Annotated[bool, Field(description="Continue with the agent's current code.")] = False
    owner: Annotated[str | None, Field(max_length=400)] = None
    state: Annotated[str | None, Field(max_length=40)] = None
    agent: Annotated[str | None, Field(max_length=200)] = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Annotated[str | None, Field(max_length=500)] = None


class PushView(BaseModel):
    """The push notifications of one receiver. `state` is `told` (all delivered), `waiting`, `failing` (retried), `dead`
    or `stopped`; `told` is the last delivered event; `problem` says why nothing arrives."""

    id: str
    state: str
    told: int
    problem: str | None = None


class OperatedTask(TaskView):
    """A task with its owner and, if it is the only one, the state of its push notifications and the version of the
    agent's code that its turn continues with."""

    owner: str
    pushes: list[PushView] | None = None
    code: str | None = None


class OperatedTasks(BaseModel):
    """`next_cursor` is set if there are more."""

    tasks: list[OperatedTask]
    total: int
    next_cursor: str | None = None


_OPERATED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tasks": {"type": "array", "items": {"type": "object"}},
        "total": {"type": "integer"},
        "next_cursor": {"type": "string"},
    },
    "required": ["tasks", "total"],
}
"""Written by hand: tasks look as in agents_get_task, and every conversation pays for the tool list."""


@tool(
    "agents_operate", title="Operate all tasks", action="admin", idempotent=False, listed="room", tags=("admin",),
    output_schema=_OPERATED,
)  # fmt: skip
async def operate(arguments: OperateArguments, call: Call[Agents]) -> OperatedTasks:
    """For administrators: list the tasks of all users, inspect, cancel or migrate one."""
    call.justify(arguments.reason)
    tasks, caller = call.service.tasks, call.principal
    if arguments.task_id is not None:
        if arguments.migrate:
            await tasks.migrate(caller, arguments.task_id)
        found = await (tasks.cancel_any if arguments.cancel else tasks.inspect)(caller, arguments.task_id)
        pushes = [
            PushView(id=one.config.id, state=one.state, told=one.delivered, problem=one.problem)
            for one in await tasks.push.statuses(found.id)
        ]
        code = await tasks.pinned_code(caller, found.id)
        view = _operated(found, DEFAULT_BUDGET).model_copy(update={"pushes": pushes or None, "code": code})
        return OperatedTasks(tasks=[view], total=1)
    if arguments.cancel or arguments.migrate:
        raise InvalidInput("Which task should be changed?", hint="Pass its task_id.")
    page = await tasks.list_all(
        caller,
        owner=arguments.owner,
        state=arguments.state,
        agent=arguments.agent,
        page_size=arguments.limit,
        cursor=arguments.cursor,
    )
    return OperatedTasks(tasks=[_operated(one, FEWEST) for one in page.tasks], total=page.total, next_cursor=page.next)


def _operated(task: Task, budget: int) -> OperatedTask:
    return OperatedTask(owner=task.owner, **task_view(task, task.agent, budget).model_dump())


class RegisterArguments(Arguments):
    card: Annotated[dict[str, Any] | None, Field(description="AgentVault's or A2A's.")] = None
    url: Annotated[str | None, Field(description="Of the card, instead.", max_length=2000)] = None
    card_id: Annotated[str | None, Field(description="Update this card.", max_length=100)] = None
    list_in_directory: Annotated[bool, Field(description="Also create a directory record.")] = True


class RegisteredCard(BaseModel):
    """`directory` says whether a directory record was created."""

    agent: AgentView
    resource: str
    directory: dict[str, str] | None = None


@tool(
    "agents_register_card", title="Register an agent", destructive=False, idempotent=False, open_world=True,
    listed="room",
)  # fmt: skip
async def register_card(arguments: RegisterArguments, call: Call[Agents]) -> RegisteredCard:
    """Register an agent by its card, or update one. Tasks can then be sent to its readable id.

    An invalid card is rejected with every problem.
    """
    agents = call.service
    card = arguments.card
    if card is None:
        if arguments.url is None:
            raise InvalidInput("There is no card.", hint="Pass card or url.")
        _, card = await fetch_card(arguments.url, agents.fetcher)
    if arguments.card_id is None:
        record = await agents.registry.register(call.principal, card, list_it=arguments.list_in_directory)
    else:
        record = await agents.registry.update(
            call.principal, arguments.card_id, card, list_it=arguments.list_in_directory
        )
    listed = await agents.directory_entry(call.principal, record) if arguments.list_in_directory else None
    return RegisteredCard(agent=agent_view(record), resource=CARDS + record.id, directory=listed)


class LintArguments(Arguments):
    context: Any
    level: Annotated[Literal["lenient", "standard", "strict"], Field(description="lenient: as AgentVault.")] = (
        "standard"
    )


class LintReport(BaseModel):
    """Each of `issues` has a JSON pointer, a code, a message and a hint. `sha256` is the hash of the canonical form."""

    valid: bool
    level: str
    items: int
    bytes: int
    depth: int
    sha256: str | None = None
    issues: list[dict[str, Any]]
    issues_left_out: int = 0


@tool("agents_lint_context", title="Check a context", read_only=True, listed="room")
async def lint_context(arguments: LintArguments) -> LintReport:
    """Check a context (`mcp_context`) before you send it: shape, content types, references, limits, secrets."""
    from pentad.rooms.agents.context.lint import lint

    return LintReport.model_validate(lint(arguments.context, arguments.level, now=time.time()).as_json())


TOOLS: Final = (
    list_agents,
    send_task,
    delegate_work,
    get_task,
    cancel_task,
    approvals,
    operate,
    register_card,
    lint_context,
)
