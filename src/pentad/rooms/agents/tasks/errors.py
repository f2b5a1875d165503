"""The errors of the engine. Codecs map their `reason` to a code."""

from collections.abc import Iterable

from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.names import did_you_mean


def task_not_found(task_id: str) -> NotFound:
    return NotFound(
        f"There is no task {task_id[:100]!r}.",
        hint="Tasks are known to their owner only; list them to see yours.",
        details={"reason": "task-not-found"},
    )


def agent_not_found(name: str, known: Iterable[str]) -> NotFound:
    return NotFound(
        f"There is no agent {name[:100]!r} here.",
        hint=did_you_mean(name, known) or "List the agents to see which there are.",
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


def context_mismatch() -> InvalidInput:
    return InvalidInput(
        "The task belongs to another context.",
        hint="Leave the context out, or give the task's own.",
        details={"reason": "context-mismatch"},
    )


def message_too_large(size: int, most: int) -> LimitExceeded:
    return LimitExceeded(
        f"The message has {size} bytes; the most is {most}.",
        hint="Send large content by its address.",
        details={"reason": "message-limit"},
    )


def empty_message() -> InvalidInput:
    return InvalidInput("The message has no parts.", hint="Give it at least one.", details={"reason": "empty-message"})
