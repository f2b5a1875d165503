"""The limits of the engine, from the room's settings (`[rooms.agents]`, `PENTAD_AGENTS_*`)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from pentad.kernel.errors import Misconfigured
from pentad.rooms.agents.tasks.store import Bounds

_YES: Final = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """Defaults that suit a team: counts, bytes or seconds."""

    message_bytes: int = 1024 * 1024
    artifact_bytes: int = 4 * 1024 * 1024
    task_bytes: int = 64 * 1024 * 1024
    task_messages: int = 1_000
    open_tasks: int = 1_000
    tasks: int = 1_000_000
    orphan_seconds: float = 600.0
    """After this time a task fails if no process hosts its agent any more."""
    keep_days: float | None = None
    """After this many days finished tasks and unused contents are deleted. None keeps them."""

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.task_messages, self.task_bytes)


def task_limits(settings: Mapping[str, Any]) -> TaskLimits:
    """The operator's limits on top of the defaults."""
    given: dict[str, Any] = {}
    for one in fields(TaskLimits):
        if one.name not in settings:
            continue
        kind = float if one.name.endswith(("_seconds", "_days")) else int
        try:
            given[one.name] = kind(settings[one.name])
        except (TypeError, ValueError):
            raise Misconfigured(f"rooms.agents.{one.name} is not a number.") from None
        if given[one.name] <= 0:
            raise Misconfigured(f"rooms.agents.{one.name} has to be more than 0.")
    return TaskLimits(**given)


def is_enabled(value: Any) -> bool:
    """Whether a setting is on, also as text from the environment."""
    return value is True or str(value).lower() in _YES
