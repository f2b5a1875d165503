"""Tasks: long-running work for the protocol's Tasks extension.

A tool can defer its answer to a task (`call.defer`) if the client declared the extension; the client then polls by the
task's id. The core stores nothing: the room knows a task's owner, status and result (`TaskSource`), so tasks work in
every process and after a restart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from pentad.kernel.clock import iso
from pentad.kernel.principal import Principal
from pentad.mcp.client_requests import Question

TASKS: Final = "io.modelcontextprotocol/tasks"
"""The extension's name in the capabilities of both sides."""
CAPABILITY: Final = f"extensions.{TASKS}"

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
TaskSupport = Literal["optional", "required"]
"""Whether a tool may defer its answer, or always does; in that case, clients without the extension are refused."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task. Times are seconds since the epoch.

    An `input_required` task has `questions`, each under a key it never uses again. A `completed` one has the `value`
    that `tool` would have returned, even if that reports a failure. A `failed` one has the `error` that a call would
    have ended with.
    """

    id: str
    status: Status
    created_at: float
    updated_at: float
    message: str | None = None
    poll_milliseconds: int = 1000
    ttl_milliseconds: int | None = None
    questions: Mapping[str, Question] = field(default_factory=dict[str, Question])
    tool: str = ""
    value: Any = None
    error: Exception | None = None

    def as_json(self) -> dict[str, Any]:
        """The members of a task in every status."""
        body: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": iso(self.created_at),
            "lastUpdatedAt": iso(self.updated_at),
            "ttlMs": self.ttl_milliseconds,
            "pollIntervalMs": self.poll_milliseconds,
        }
        if self.message:
            body["statusMessage"] = self.message
        return body


class Deferred(Exception):
    """Ends a call with a task instead of an answer. Not an error: the client polls the task."""

    def __init__(self, task: TaskState) -> None:
        super().__init__("deferred")
        self.task = task


class TaskSource(Protocol):
    """A room's tasks by id. Raises NotFound for unknown tasks, and for callers who may not see a task."""

    async def get(self, principal: Principal, task_id: str, can: Callable[[str], bool]) -> TaskState:
        """The task's state. `can` says whether the client supports a kind of question (`elicitation`, ...)."""
        ...

    async def update(self, principal: Principal, task_id: str, responses: Mapping[str, Any]) -> None:
        """Take answers by the keys of their questions; unknown and answered keys are ignored."""
        ...

    async def cancel(self, principal: Principal, task_id: str) -> None:
        """Cancel the task, if it is not over."""
        ...

    def address(self, task_id: str) -> str | None:
        """The URI of the resource that changes with the task; None if clients can only poll it."""
        ...
