"""Work that outlasts its call: what a room says of it, and how the protocol's Tasks extension writes that.

A tool of a room that keeps tasks may put its answer off (`call.defer`) for a client that declared the extension; the
client asks for the rest by the task's id. The core keeps nothing of it: whose the task is, how it stands and what came
of it is the room's to know (`TaskBook`), so it holds in every process and after a restart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from pentad.kernel.clock import iso
from pentad.kernel.principal import Principal
from pentad.mcp.asking import Question

TASKS: Final = "io.modelcontextprotocol/tasks"
"""The extension's name in the capabilities of both sides."""
CAPABILITY: Final = f"extensions.{TASKS}"

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
TaskSupport = Literal["optional", "required"]
"""Whether a tool may put its answer off, or cannot answer otherwise: then a client without the extension is refused."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task as it stands. Times are seconds since the epoch.

    `questions` are there while it is `input_required`, each under a key it never uses again. Once it is `completed` the
    `value` is what `tool` would have returned; a tool that reports a failure has completed. `failed` is for a call the
    protocol itself would have answered with an error, which is `error` then.
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
        """What every form of a task has."""
        shown: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": iso(self.created_at),
            "lastUpdatedAt": iso(self.updated_at),
            "ttlMs": self.ttl_milliseconds,
            "pollIntervalMs": self.poll_milliseconds,
        }
        if self.message:
            shown["statusMessage"] = self.message
        return shown


class Deferred(Exception):
    """Ends a call with a task in place of its answer: no error, the extension's way to wait."""

    def __init__(self, task: TaskState) -> None:
        super().__init__("deferred")
        self.task = task


class TaskBook(Protocol):
    """A room's tasks by id, each for who may see it; NotFound for everybody else, as for an id that is none."""

    async def get(self, principal: Principal, task_id: str, can: Callable[[str], bool]) -> TaskState:
        """The task as it stands. `can` tells whether the client can be asked something (`elicitation`, ...)."""
        ...

    async def update(self, principal: Principal, task_id: str, responses: Mapping[str, Any]) -> None:
        """Take answers by the keys of their questions; what nobody asked, or was answered before, is passed over."""
        ...

    async def cancel(self, principal: Principal, task_id: str) -> None:
        """End the task, if it is not over."""
        ...

    def address(self, task_id: str) -> str | None:
        """The resource whose changes are the task's; None for one that can only be asked for."""
        ...
