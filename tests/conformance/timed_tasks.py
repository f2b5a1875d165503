"""Tasks of the conformance room. The clock and the answers decide how far one is; nothing runs in the background."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.mcp.client_requests import Question
from pentad.mcp.tasks import TaskState

_LIFE_MILLISECONDS: Final = 600_000
_POLL_MILLISECONDS: Final = 200


@dataclass(slots=True)
class TimedTask:
    """A task that is over `seconds` after its start and when every question has its answer."""

    tool: str
    value: Callable[[Mapping[str, Any]], Any]
    """The tool's result, made from the answers."""
    seconds: float = 0.0
    questions: Mapping[str, Question] = field(default_factory=dict[str, Question])
    error: Exception | None = None
    """Instead of a result."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    created_at: float = field(default_factory=time.time)
    updated_at: float = field(default_factory=time.time)
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    is_cancelled: bool = False

    @property
    def state(self) -> TaskState:
        working = TaskState(
            id=self.id,
            status="working",
            created_at=self.created_at,
            updated_at=self.updated_at,
            poll_milliseconds=_POLL_MILLISECONDS,
            ttl_milliseconds=_LIFE_MILLISECONDS,
        )
        if self.is_cancelled:
            return replace(working, status="cancelled")
        if open_questions := {key: asked for key, asked in self.questions.items() if key not in self.answers}:
            return replace(working, status="input_required", questions=open_questions)
        if not self.is_due:
            return working
        if self.error is not None:
            return replace(working, status="failed", error=self.error)
        return replace(working, status="completed", tool=self.tool, value=self.value(self.answers))

    @property
    def is_due(self) -> bool:
        return time.time() >= self.created_at + self.seconds

    def answer(self, responses: Mapping[str, Any]) -> None:
        for key in responses.keys() & self.questions.keys() - self.answers.keys():
            self.answers[key] = self.questions[key].read(responses[key])
            self.updated_at = time.time()

    def cancel(self) -> None:
        if self.state.status in ("working", "input_required"):
            self.is_cancelled, self.updated_at = True, time.time()


class TimedTasks:
    """The room's tasks, in memory, for every caller: the suites have only one."""

    def __init__(self) -> None:
        self._tasks: dict[str, TimedTask] = {}

    def start(self, task: TimedTask) -> TaskState:
        """Keep the task and return how it looks at its start: never finished, so that the client polls it."""
        self._tasks[task.id] = task
        return replace(task.state, status="working", questions={}, value=None, error=None)

    async def get(self, principal: Principal, task_id: str, can: Callable[[str], bool]) -> TaskState:
        return self._task(task_id).state

    async def update(self, principal: Principal, task_id: str, responses: Mapping[str, Any]) -> None:
        self._task(task_id).answer(responses)

    async def cancel(self, principal: Principal, task_id: str) -> None:
        self._task(task_id).cancel()

    def address(self, task_id: str) -> str | None:
        """Clients can only poll: the clock changes a task, and the clock signals nothing."""
        return None

    def _task(self, task_id: str) -> TimedTask:
        if task_id not in self._tasks:
            raise NotFound("There is no such task.")
        return self._tasks[task_id]
