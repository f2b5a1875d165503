"""The room's tasks for MCP clients that support tasks: a call of agents_send_task can continue as its task.

The task id is the room's, the state comes from the log, and the result is what the tool would have returned, so nothing
else is stored. For a remote agent's task only its location is stored, and the agent is asked. If an agent fails or
rejects, the call itself still succeeded: `failed` is the protocol's word for a broken call, and is never used here. A
task that waits for an approval is `working`, unless the caller may decide it and the client can show the form.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from pentad.kernel.errors import Conflict
from pentad.kernel.principal import Principal
from pentad.mcp.client_requests import Elicit
from pentad.mcp.tasks import TaskState
from pentad.rooms.agents.approvals.store import Approval
from pentad.rooms.agents.delegation import Delegation, TaskRequest, cancel_delegated, delegate, read_delegated
from pentad.rooms.agents.interface.approvals import decision_question
from pentad.rooms.agents.interface.presentation import DEFAULT_BUDGET, TASKS, task_view
from pentad.rooms.agents.models import INTERRUPTED, TERMINAL, Message, Part, Task
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.remote_tasks import RemoteTask, is_remote

_TOOL: Final = "agents_send_task"
_BUDGET: Final = "pentad.max_characters"
_LONGEST_NOTE: Final = 200
_ASKS: Final = "elicitation"


class Answer(BaseModel):
    """A person's answer to an agent."""

    answer: Annotated[str, Field(title="Answer", min_length=1)]


class LoginAnswer(BaseModel):
    """A person's answer after a login, which happens outside this client."""

    answer: Annotated[
        str, Field(title="Answer", description="Say when it is done. No password or key belongs here.", min_length=1)
    ]


class CallerTasks:
    """The tasks of the caller."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    async def get(self, principal: Principal, task_id: str, can: Callable[[str], bool]) -> TaskState:
        if is_remote(task_id):
            remote = await self._agents.remote_tasks.get(principal, task_id)
            return remote_state(await self._task_of(principal, remote), remote, asks=can(_ASKS))
        return await self._state(principal, await self._agents.tasks.get(principal, task_id), can)

    async def _state(self, principal: Principal, task: Task, can: Callable[[str], bool]) -> TaskState:
        approval = await self._agents.tasks.approvals.awaited(task)
        if approval is None:
            return state_of(task, asks=can(_ASKS))
        found = _working(task)
        if not can(_ASKS) or not self._agents.tasks.approvals.may_decide(principal, approval):
            return found  # it continues on its own after the decision
        return replace(found, status="input_required", questions={approval.id: decision_question(approval)})

    async def update(self, principal: Principal, task_id: str, responses: Mapping[str, Any]) -> None:
        """Turn the answer into the next turn. Declining cancels the task, because no one else would answer."""
        if is_remote(task_id):
            remote = await self._agents.remote_tasks.get(principal, task_id)
            task, agent = await self._task_of(principal, remote), remote.agent
        else:
            task = await self._agents.tasks.get(principal, task_id)
            agent = task.agent
            if (approval := await self._agents.tasks.approvals.awaited(task)) is not None:
                await self._decide(principal, approval, responses)
                return
        if task.state not in INTERRUPTED or (key := _key(task)) not in responses:
            return
        given = _question(task, agent).read(responses[key])
        if given.content is None:
            await self.cancel(principal, task_id)
            return
        request = TaskRequest(agent, (Part(text=given.content.answer),), task_id=task.id, idempotency_key=key)
        await delegate(self._agents, principal, request, seconds=0)

    async def _decide(self, principal: Principal, approval: Approval, responses: Mapping[str, Any]) -> None:
        """Decide as the form says. Closing the form leaves the approval to others."""
        if approval.id not in responses:
            return
        given = decision_question(approval).read(responses[approval.id]).content
        if given is not None:
            await self._agents.tasks.approvals.decide(
                principal, approval.id, approve=given.decision == "approve", reason=given.reason
            )

    async def cancel(self, principal: Principal, task_id: str) -> None:
        with suppress(Conflict):
            if is_remote(task_id):
                remote = await self._agents.remote_tasks.get(principal, task_id)
                await cancel_delegated(self._agents, principal, remote.task, remote.agent)
            else:
                await self._agents.tasks.cancel(principal, task_id)

    def address(self, task_id: str) -> str | None:
        """The URI of a task; None for a remote task, because nothing signals its changes."""
        return None if is_remote(task_id) else TASKS + task_id

    async def defer(
        self, principal: Principal, delegated: Delegation, budget: int, can: Callable[[str], bool]
    ) -> TaskState | None:
        """The task in place of a result, if it is not finished."""
        if isinstance(delegated.result, Message) or delegated.task.state in TERMINAL:
            return None
        if delegated.is_local:
            state = await self._state(principal, delegated.task, can)
            return None if state.status == "completed" else state
        if state_of(delegated.task, asks=can(_ASKS)).status == "completed":
            return None
        remote = await self._agents.remote_tasks.keep(principal, delegated.agent, delegated.task.id, budget)
        return remote_state(delegated.task, remote, asks=can(_ASKS))

    async def _task_of(self, principal: Principal, remote: RemoteTask) -> Task:
        return (await read_delegated(self._agents, principal, remote.task, remote.agent)).task


def budget_metadata(characters: int) -> dict[str, Any] | None:
    """The metadata that limits the result of the call to the requested size."""
    return None if characters == DEFAULT_BUDGET else {_BUDGET: characters}


def state_of(task: Task, *, asks: bool) -> TaskState:
    """A task in MCP's terms. If the client cannot ask a person, the agent's question is the result of the call, and
    the model continues with the task id.
    """
    return _with_outcome(_working(task), task, task.agent, _budget(task), asks=asks, is_local=True)


def _working(task: Task) -> TaskState:
    return TaskState(
        id=task.id,
        status="working",
        created_at=task.created_at,
        updated_at=task.updated_at,
        message=_note(task),
    )


def remote_state(task: Task, remote: RemoteTask, *, asks: bool) -> TaskState:
    """Like `state_of`, for a remote agent's task, with our id."""
    found = TaskState(
        id=remote.id,
        status="working",
        created_at=remote.created_at,
        updated_at=max(task.updated_at, remote.created_at),
        ttl_milliseconds=round((remote.expires_at - remote.created_at) * 1000),
        message=_note(task),
    )
    return _with_outcome(found, task, remote.agent, remote.budget, asks=asks, is_local=False)


def _with_outcome(found: TaskState, task: Task, agent: str, budget: int, *, asks: bool, is_local: bool) -> TaskState:
    if task.state == "canceled":
        return replace(found, status="cancelled")
    if task.state in INTERRUPTED and asks:
        return replace(found, status="input_required", questions={_key(task): _question(task, agent)})
    if task.state in TERMINAL or task.state in INTERRUPTED:
        return replace(found, status="completed", tool=_TOOL, value=task_view(task, agent, budget, is_local=is_local))
    return found


def _question(task: Task, agent: str) -> Elicit[Any]:
    text = task.status_message.text if task.status_message is not None else ""
    if task.state == "auth-required":
        return Elicit(text or f"The agent {agent} needs a login.", LoginAnswer)
    return Elicit(text or f"The agent {agent} needs an answer.", Answer)


def _key(task: Task) -> str:
    """The name of the open question: unique per question, and the same in every process."""
    turns = sum(1 for message in task.history if message.role == "user")
    return f"answer-{turns}-{round(task.status_at * 1000)}"


def _note(task: Task) -> str | None:
    text = task.status_message.text if task.status_message is not None else ""
    return " ".join(text.split())[:_LONGEST_NOTE] or None


def _budget(task: Task) -> int:
    budget = (task.metadata or {}).get(_BUDGET)
    return budget if isinstance(budget, int) else DEFAULT_BUDGET
