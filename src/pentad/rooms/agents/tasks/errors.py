"""The errors of the engine. Codecs map their `reason` to a code."""

from collections.abc import Iterable

from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.names import did_you_mean


def task_not_found(task_id: str) -> NotFound:
    return NotFound(
        f"There is no task {task_id[:100]!r}.",
        hint="Only its owner can see a task. List tasks to see yours.",
        details={"reason": "task-not-found"},
    )


def agent_not_found(name: str, known: Iterable[str]) -> NotFound:
    return NotFound(
        f"There is no agent {name[:100]!r} here.",
        hint=did_you_mean(name, known) or "List the agents.",
        details={"reason": "agent-not-found"},
    )


def task_terminal(state: str) -> Conflict:
    return Conflict(
        f"The task is {state}; it takes no more messages.",
        hint="Start a new task in the same context.",
        details={"reason": "task-terminal"},
    )


def not_cancelable(state: str) -> Conflict:
    return Conflict(f"The task is {state} and cannot be canceled.", details={"reason": "not-cancelable"})


def waiting_for_approval() -> Conflict:
    return Conflict(
        "The task waits for an approval, not for a message.",
        hint="An approver answers approve or refuse.",
        details={"reason": "waiting-for-approval"},
    )


def context_mismatch() -> InvalidInput:
    return InvalidInput(
        "The task belongs to another context.",
        hint="Leave the context out, or pass the task's own.",
        details={"reason": "context-mismatch"},
    )


def message_too_large(size: int, maximum: int) -> LimitExceeded:
    return LimitExceeded(
        f"The message has {size} bytes; the maximum is {maximum}.",
        hint="Upload large content first (POST /api/agents/upload), and send its URL.",
        details={"reason": "message-limit"},
    )


def empty_message() -> InvalidInput:
    return InvalidInput("The message has no parts.", hint="Send at least one.", details={"reason": "empty-message"})
