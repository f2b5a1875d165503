"""The room's tasks for clients that know MCP's tasks: a call of agents_send_task that goes on as the task it began.

The task's id is the room's, its state comes from the log, and its result is what the tool would have answered: nothing
is kept besides the task. Of a task that an agent elsewhere keeps, only where it is stays here, and the agent is asked.
An agent that fails or refuses has given an answer all the same: `failed` is the protocol's word for a call that broke,
and is never said here.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from pentad.kernel.errors import Conflict
from pentad.kernel.principal import Principal
from pentad.mcp.asking import Elicit
from pentad.mcp.tasks import TaskState
from pentad.rooms.agents.delegation import Errand, Handed, cancelled_task, given_task, hand_over
from pentad.rooms.agents.interface.presentation import DEFAULT_BUDGET, TASKS, shown_task
from pentad.rooms.agents.models import INTERRUPTED, TERMINAL, Event, Message, Part, Task
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.remote_tasks import Away, is_elsewhere

_TOOL: Final = "agents_send_task"
_BUDGET: Final = "pentad.max_characters"
_LONGEST_NOTE: Final = 200
_ASKS: Final = "elicitation"


class Answer(BaseModel):
    """What a person answers an agent."""

    answer: Annotated[str, Field(title="Answer", min_length=1)]


class LoginAnswer(BaseModel):
    """What a person says after a login, which happens elsewhere."""

    answer: Annotated[
        str, Field(title="Answer", description="Say when it is done. No password or key belongs here.", min_length=1)
    ]


class CallerTasks:
    """The tasks of whoever asks."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    async def get(self, principal: Principal, task_id: str, can: Callable[[str], bool]) -> TaskState:
        if is_elsewhere(task_id):
            away = await self._agents.elsewhere.get(principal, task_id)
            return state_elsewhere(await self._task_of(principal, away), away, asks=can(_ASKS))
        return state_of(await self._agents.tasks.get(principal, task_id), asks=can(_ASKS))

    async def update(self, principal: Principal, task_id: str, responses: Mapping[str, Any]) -> None:
        """An answer goes to the agent as the next turn. Who declines to answer ends the task: nobody else would."""
        if is_elsewhere(task_id):
            away = await self._agents.elsewhere.get(principal, task_id)
            task, agent = await self._task_of(principal, away), away.agent
        else:
            task = await self._agents.tasks.get(principal, task_id)
            agent = task.agent
        if task.state not in INTERRUPTED or (key := _key(task)) not in responses:
            return
        given = _question(task, agent).read(responses[key])
        if given.content is None:
            await self.cancel(principal, task_id)
            return
        errand = Errand(agent, (Part(text=given.content.answer),), task_id=task.id)
        await hand_over(self._agents, principal, errand, seconds=0, heard=_nobody_hears)

    async def cancel(self, principal: Principal, task_id: str) -> None:
        with suppress(Conflict):
            if is_elsewhere(task_id):
                away = await self._agents.elsewhere.get(principal, task_id)
                await cancelled_task(self._agents, principal, away.task, away.agent)
            else:
                await self._agents.tasks.cancel(principal, task_id)

    def address(self, task_id: str) -> str | None:
        """None for one elsewhere: nobody tells us of its changes."""
        return None if is_elsewhere(task_id) else TASKS + task_id

    async def put_off(
        self, principal: Principal, handed: Handed, budget: int, can: Callable[[str], bool]
    ) -> TaskState | None:
        """The task in place of an answer, if there is more to come of it."""
        if isinstance(handed.result, Message) or handed.task.state in TERMINAL:
            return None
        state = state_of(handed.task, asks=can(_ASKS))
        if state.status == "completed":
            return None
        if handed.here:
            return state
        away = await self._agents.elsewhere.keep(principal, handed.agent, handed.task.id, budget)
        return state_elsewhere(handed.task, away, asks=can(_ASKS))

    async def _task_of(self, principal: Principal, away: Away) -> Task:
        return (await given_task(self._agents, principal, away.task, away.agent)).task


def asked_budget(characters: int) -> dict[str, Any] | None:
    """What has to be kept of the call for its answer to be as it was asked for."""
    return None if characters == DEFAULT_BUDGET else {_BUDGET: characters}


def state_of(task: Task, *, asks: bool) -> TaskState:
    """A task in the words of the protocol. A client that cannot ask its person is told like the tool's caller: what the
    agent wants to know is then the answer of the call, and the model goes on with the task's id."""
    found = TaskState(
        id=task.id,
        status="working",
        created_at=task.created_at,
        updated_at=task.updated_at,
        message=_note(task),
    )
    return _told(found, task, task.agent, _budget(task), asks=asks, here=True)


def state_elsewhere(task: Task, away: Away, *, asks: bool) -> TaskState:
    """The same of a task an agent elsewhere keeps, under the id it has here."""
    found = TaskState(
        id=away.id,
        status="working",
        created_at=away.created_at,
        updated_at=max(task.updated_at, away.created_at),
        ttl_milliseconds=round((away.expires_at - away.created_at) * 1000),
        message=_note(task),
    )
    return _told(found, task, away.agent, away.budget, asks=asks, here=False)


def _told(found: TaskState, task: Task, agent: str, budget: int, *, asks: bool, here: bool) -> TaskState:
    if task.state == "canceled":
        return replace(found, status="cancelled")
    if task.state in INTERRUPTED and asks:
        return replace(found, status="input_required", questions={_key(task): _question(task, agent)})
    if task.state in TERMINAL or task.state in INTERRUPTED:
        return replace(found, status="completed", tool=_TOOL, value=shown_task(task, agent, budget, here=here))
    return found


def _question(task: Task, agent: str) -> Elicit[Any]:
    said = task.status_message.text if task.status_message is not None else ""
    if task.state == "auth-required":
        return Elicit(said or f"The agent {agent} needs a login.", LoginAnswer)
    return Elicit(said or f"The agent {agent} needs an answer.", Answer)


def _key(task: Task) -> str:
    """The name of the question that is open: another one for every question of the task, the same in every process."""
    turns = sum(1 for message in task.history if message.role == "user")
    return f"answer-{turns}-{round(task.status_at * 1000)}"


def _note(task: Task) -> str | None:
    said = task.status_message.text if task.status_message is not None else ""
    return " ".join(said.split())[:_LONGEST_NOTE] or None


def _budget(task: Task) -> int:
    kept = (task.metadata or {}).get(_BUDGET)
    return kept if isinstance(kept, int) else DEFAULT_BUDGET


async def _nobody_hears(event: Event) -> None:
    """The client asks again by itself."""
